/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of chat completions as they are streamed in the form that OpenAI gave them, and
 * those who followed. Each text that is joined has a channel, N being the `index` of its
 * choice and M that of its tool call:
 *
 *   cN.content            choices[].delta.content, a string, or the text of its items
 *   cN.reasoning          choices[].delta.reasoning_content, .reasoning, and
 *                         .content[].thinking[].text
 *   cN.reasoning_details  choices[].delta.reasoning_details[].text
 *   cN.refusal            choices[].delta.refusal
 *   cN.transcript         choices[].delta.audio.transcript
 *   cN.text               choices[].text
 *   cN.toolM.name, cN.toolM         choices[].delta.tool_calls[].function.name, .arguments
 *   cN.function.name, cN.function   choices[].delta.function_call.name, .arguments
 *   cN.logprobs.content, .refusal   choices[].logprobs.content[].token, .refusal[].token
 *   error                 error.message, here and in any other form
 *
 * Calls are complete when their choice has a reason to have finished. An index that is none
 * is at fault wherever it stands.
 */
#ifndef SLUICE_CORE_EXTRACT_OPENAI_H
#define SLUICE_CORE_EXTRACT_OPENAI_H

#include "core/extract_form.h"

extern const struct extract_form extract_openai;

#endif
