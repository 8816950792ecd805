/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What doctor is made of: rows about this machine, rows about its kernel, and
 * warnings about its network.
 *
 * A row has name, state ("yes", "no", "unknown"), required, use (what it is for),
 * loss (what is lost without it) and detail (text or null). A warning has kind,
 * namespace ("own", "daemon"), place (which rule, route, …), sees (what it means) and
 * remedy. Both are documented in sluicectl(8).
 */
#ifndef SLUICE_CLI_DOCTOR_H
#define SLUICE_CLI_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

enum doctor_state { DOCTOR_NO, DOCTOR_YES, DOCTOR_UNKNOWN };

/* What a row is about. */
struct doctor_subject {
	const char *name, *use, *loss;
	bool required;
};

/* detail may be NULL. */
void doctor_add(json_t *rows, const struct doctor_subject *subject, enum doctor_state state,
		const char *detail);

/* What this process and this machine offer, beside BPF. */
void doctor_check_host(json_t *rows);
/* What the kernel offers to BPF, as `sluiced --check` says. False after a line: it says nothing. */
bool doctor_check_kernel(json_t *rows);
/*
 * Adds what sees held bytes, or leads streams elsewhere, in this process's network
 * namespace, and in the daemon's (0: there is none) where that is another one.
 */
void doctor_check_network(json_t *warnings, pid_t daemon);

#endif
