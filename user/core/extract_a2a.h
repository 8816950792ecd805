/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of agents that speak A2A, in a JSON-RPC result or without:
 *
 *   artifactN   artifact.parts[].text, N being the order in which its artifactId was first
 *               seen; also of artifactUpdate
 *   status      status.message.parts[].text, also of statusUpdate, whole
 *   message     parts[].text of a message, whole
 */
#ifndef SLUICE_CORE_EXTRACT_A2A_H
#define SLUICE_CORE_EXTRACT_A2A_H

#include "core/extract_form.h"

extern const struct extract_form extract_a2a;

#endif
