/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of OpenAI's responses, and of its realtime events, N being the output_index and M the
 * content_index or summary_index, which is left out where it is 0. What `delta` is the type
 * says:
 *
 *   outN.text.M               response.output_text.delta
 *   outN.refusal.M            response.refusal.delta
 *   outN.reasoning_summary.M  response.reasoning_summary_text.delta
 *   outN.reasoning_text.M     response.reasoning_text.delta
 *   outN.transcript.M         response.output_audio_transcript.delta and its other names
 *   outN.arguments            response.function_call_arguments.delta, of MCP calls as well
 *   outN.input                response.custom_tool_call_input.delta
 *   outN.code                 response.code_interpreter_call_code.delta
 *   outN.name                 item.name in response.output_item.added
 *   transcript                deltas of transcriptions
 *
 * What an item, a part or the response has when it is added begins the same texts. Their
 * repetition in what is done is any string. Calls are complete when they or their item are
 * done, the exchange and all calls at response.completed. Why it has finished is the status of
 * `response`, or what its incomplete_details say.
 */
#ifndef SLUICE_CORE_EXTRACT_RESPONSES_H
#define SLUICE_CORE_EXTRACT_RESPONSES_H

#include "core/extract_form.h"

extern const struct extract_form extract_responses;

#endif
