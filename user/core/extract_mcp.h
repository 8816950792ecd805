/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of MCP's messages, each whole:
 *
 *   result         result.content[].text
 *   notification   params.data: a string, or each in it, and an LF behind it
 *   progress       params.message
 */
#ifndef SLUICE_CORE_EXTRACT_MCP_H
#define SLUICE_CORE_EXTRACT_MCP_H

#include "core/extract_form.h"

extern const struct extract_form extract_mcp;

#endif
