/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of Ollama's answers, of its chat and of its generate:
 *
 *   content    message.content
 *   thinking   message.thinking, and thinking
 *   response   response
 *   toolM.name, toolM.arguments   message.tool_calls[].function.name, .arguments; M is the
 *                                 position of the call in its message
 *
 * A call comes whole, in one message, and its texts end with that. done_reason is why the
 * exchange has finished.
 */
#ifndef SLUICE_CORE_EXTRACT_OLLAMA_H
#define SLUICE_CORE_EXTRACT_OLLAMA_H

#include "core/extract_form.h"

extern const struct extract_form extract_ollama;

#endif
