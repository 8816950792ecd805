/* SPDX-License-Identifier: Apache-2.0 */
/* What replay found, as text: the document that --json prints, for people. */
#ifndef SLUICE_CLI_REPLAY_PRINT_H
#define SLUICE_CLI_REPLAY_PRINT_H

#include <jansson.h>

void replay_print(const json_t *view);

#endif
