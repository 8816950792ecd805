/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy comes to, as text: the document that policy check --json prints, for people. */
#ifndef SLUICE_CLI_POLICY_PRINT_H
#define SLUICE_CLI_POLICY_PRINT_H

#include <jansson.h>

struct cli;

void policy_print(const struct cli *cli, const json_t *view);

#endif
