/* SPDX-License-Identifier: Apache-2.0 */
/* What replay found, as text: the document that --json prints, for people, on 80 columns. */
#ifndef SLUICE_CLI_REPLAY_PRINT_H
#define SLUICE_CLI_REPLAY_PRINT_H

#include <jansson.h>

#include "cli/cli.h"

/* One flow that is alone. */
void replay_print(const struct cli *cli, const json_t *view);
/* The streams of a capture, each with both flows; and a list of them. */
void replay_print_capture(const struct cli *cli, const json_t *view);
void replay_print_list(const struct cli *cli, const json_t *view);

#endif
