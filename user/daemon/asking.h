/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking: what of a flow's text interceptors have to judge goes to them, and what they say
 * comes back to its pipeline.
 */
#ifndef SLUICE_DAEMON_ASKING_H
#define SLUICE_DAEMON_ASKING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"
#include "core/fault.h"
#include "daemon/interceptor.h"

struct asking;
struct flow;

/* *ret_asking is NULL where no interceptor judges the flow. -ENOMEM. */
int asking_new(struct flow *flow, struct asking **ret_asking) must_check;
/*
 * The flow breaks off: who was asked about a response that has not ended is told, as far as that
 * costs nobody anything (interceptor_tell()). Accepts NULL.
 */
void asking_tell_left(struct asking *asking);
/* What is out is cancelled. Accepts NULL. */
void asking_free(struct asking *asking);

/* What an interceptor of that number (pipeline_work()) is asked; nothing where asking is NULL. */
void asking_get(const struct asking *asking, size_t number, struct asker_state *ret_state);

/*
 * "task 'judge' at http://127.0.0.1:8090/evaluate: Connection refused": why an interceptor gave
 * a flow no verdict. False, and nothing is written, where that is not known.
 */
bool asking_explain(const struct asking *asking, const char *task, char *text,
		    size_t len) must_check;

/*
 * Asks whatever may be asked now. FAULT_INTERCEPTOR_FAILED, or as pipeline_verdict(): it
 * could not be asked. Accepts NULL.
 */
enum fault asking_ask(struct asking *asking) must_check;

#endif
