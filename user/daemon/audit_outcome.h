/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the trail says of a task's outcome. The strings are those of what it is made from, and of
 * an interceptor's answer its reasons and the digest of its evidence alone.
 */
#ifndef SLUICE_DAEMON_AUDIT_OUTCOME_H
#define SLUICE_DAEMON_AUDIT_OUTCOME_H

#include <stdbool.h>

#include "base/macros.h"
#include "core/pipeline.h"
#include "core/session.h"
#include "core/verdict.h"
#include "daemon/audit_record.h"

/* A watcher found something, or did not judge. */
struct audit_outcome audit_outcome_found(enum session_track track,
					 const struct pipeline_finding *finding);

/* An interceptor allows, and warns. */
struct audit_outcome audit_outcome_warned(enum session_track track,
					  const struct pipeline_work *work, bool enforcing,
					  const struct verdict *verdict);

/*
 * The task of that track that ended a session, or failed it by giving no verdict. False: there is
 * none, or it is one of `output`, which was told of when it found something.
 */
bool audit_outcome_ended(enum session_track track, const struct pipeline *pipeline,
			 const struct session *session, const struct session_state *state,
			 struct audit_outcome *ret_outcome) must_check;

extern const struct audit_outcome audit_outcome_operator;

#endif
