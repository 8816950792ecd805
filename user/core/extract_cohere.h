/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of Cohere's chat, of its second version (N being the `index`) and of its first:
 *
 *   contentN.text, contentN.thinking   delta.message.content.text, .thinking
 *   tool_plan                          delta.message.tool_plan
 *   toolN.name, toolN.arguments        delta.message.tool_calls.function.name, .arguments
 *   text                               text, where event_type is text-generation, or where
 *                                      there is neither that nor a type
 *
 * Calls are complete at tool-call-end, the exchange at message-end, which has delta.finish_reason.
 */
#ifndef SLUICE_CORE_EXTRACT_COHERE_H
#define SLUICE_CORE_EXTRACT_COHERE_H

#include "core/extract_form.h"

extern const struct extract_form extract_cohere;

#endif
