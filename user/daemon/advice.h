/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice: what the operator would write into the policy where a refusal is not what he
 * wants. A daemon may log warnings alone (that of a run does): each watch keeps what its
 * summary then says.
 */
#ifndef SLUICE_DAEMON_ADVICE_H
#define SLUICE_DAEMON_ADVICE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"
#include "sluice/abi.h"

/* Reasons that have one. */
#define ADVICE_MAX 3
/* Of a line, with its end. */
#define ADVICE_LEN 160u

/* Of streams that ended so, the peer of the first. */
struct advice {
	struct {
		bool given;
		struct sluice_address peer;
	} first[ADVICE_MAX];
};

/* False, and nothing is written: no line would help a stream that ended for this reason. */
bool advice_format(const char *reason, const struct sluice_address *peer, char *text, size_t len);
void advice_note(struct advice *advice, const char *reason, const struct sluice_address *peer);
/* {reason: line}. A new reference, NULL without memory. */
json_t *advice_json(const struct advice *advice) must_check;

#endif
