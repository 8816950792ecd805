/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice: what the operator would write into the policy where a refusal is not what he
 * wants, which rule refused, or which interceptor gave no verdict, and why. A daemon may log
 * warnings alone (that of a run does): each watch keeps what its summary then says.
 */
#ifndef SLUICE_DAEMON_ADVICE_H
#define SLUICE_DAEMON_ADVICE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"
#include "sluice/abi.h"

/* Reasons that have one. */
#define ADVICE_MAX 7
/* Of a line, with its end. */
#define ADVICE_LEN 400u

struct policy;

/* Of a reason the first line; "": there is none. */
struct advice {
	char first[ADVICE_MAX][ADVICE_LEN];
};

/* False, and nothing is written: no line would help a stream that ended for this reason. */
bool advice_format(const char *reason, const struct sluice_address *peer, char *text, size_t len);
/*
 * Which rule of the policy denies the address: its number in the file, and its text. False, and
 * nothing is written: none does.
 */
bool advice_format_denied(const struct policy *policy, const struct sluice_address *peer,
			  char *text, size_t len);
/* Keeps the first line of a reason, or of refused_denied; what is none of those is left out. */
void advice_note(struct advice *advice, const char *reason, const char *text);
/* {reason: line}. A new reference, NULL without memory. */
json_t *advice_json(const struct advice *advice) must_check;

#endif
