/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of Gemini's answers, N being the `index` of its candidate and M the position of a
 * call among those of its content:
 *
 *   candN.text, candN.thought   candidates[].content.parts[].text, by the part's `thought`
 *   candN.code                  candidates[].content.parts[].executableCode.code, whole
 *   candN.output                candidates[].content.parts[].codeExecutionResult.output, whole
 *   candN.toolM.name, candN.toolM.arguments   functionCall.name, .args of a part, whole
 *   candN.partial               functionCall.partialArgs[].stringValue
 *   live.text, live.spoken, live.heard   serverContent.modelTurn.parts[].text,
 *                               .outputTranscription.text, .inputTranscription.text
 *
 * candN.partial is complete when its candidate has a reason to have finished. An index that
 * is none is at fault, and so is a `thought` that is neither true, false nor null.
 */
#ifndef SLUICE_CORE_EXTRACT_GEMINI_H
#define SLUICE_CORE_EXTRACT_GEMINI_H

#include "core/extract_form.h"

extern const struct extract_form extract_gemini;

#endif
