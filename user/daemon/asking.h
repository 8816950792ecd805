/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking: what of a flow's text interceptors have to judge goes to them, and what they say
 * comes back to its pipeline.
 */
#ifndef SLUICE_DAEMON_ASKING_H
#define SLUICE_DAEMON_ASKING_H

#include "base/macros.h"
#include "core/fault.h"

struct asking;
struct flow;

/* *ret_asking is NULL where no interceptor gates the flow. -ENOMEM. */
int asking_new(struct flow *flow, struct asking **ret_asking) must_check;
/* What is out is cancelled. Accepts NULL. */
void asking_free(struct asking *asking);

/*
 * Asks whatever may be asked now. FAULT_INTERCEPTOR_FAILED, or as pipeline_verdict(): it
 * could not be asked. Accepts NULL.
 */
enum fault asking_ask(struct asking *asking) must_check;

#endif
