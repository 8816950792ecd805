/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a pipeline that does not know its framing yet (`auto`). The flow of the
 * client is told by its first bytes (identify.h), which are kept until then; the flow of
 * the server is framed as the client's was, and is unframed where it speaks first.
 */
#ifndef SLUICE_CORE_PIPELINE_AUTO_H
#define SLUICE_CORE_PIPELINE_AUTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/identify.h"
#include "core/pipeline_internal.h"

struct pipeline_auto {
	struct pipeline_config config; /* without its tasks, which the pipeline has */
	uint8_t bytes[IDENTIFY_MAX];
	size_t len;
};

/* -EINVAL: without exchanges. -ENOMEM. */
int pipeline_auto_new(struct pipeline *p, const struct pipeline_config *config) must_check;
void pipeline_auto_free(struct pipeline *p); /* accepts a pipeline that is framed */

/*
 * Takes some of len (at least 1) bytes. Once the framing is known p->automatic is NULL, the
 * pipeline has it, and none of the bytes kept has been fed: *ret_kept of them, in room.
 * FAULT_UNFRAMED, FAULT_TLS_UNMEDIATED.
 */
enum fault pipeline_auto_feed(struct pipeline *p, const uint8_t *data, size_t len, size_t *ret_used,
			      uint8_t room[static IDENTIFY_MAX], size_t *ret_kept) must_check;
/*
 * The flow ended. A server's that said nothing is framed all the same, if its client's is:
 * it may owe an answer. FAULT_UNFRAMED: there are bytes that nobody can frame.
 */
enum fault pipeline_auto_end(struct pipeline *p) must_check;

#endif
