/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of Amazon Bedrock's streams, N being the contentBlockIndex:
 *
 *   blockN.text       delta.text
 *   blockN.reasoning  delta.reasoningContent.text
 *   blockN.signature  delta.reasoningContent.signature
 *   blockN.result     delta.toolResult[].text
 *   blockN.input      delta.toolUse.input
 *   blockN.name       start.toolUse.name
 *   generation, outputText, completion, outputs.text   those members, as some models have them
 *
 * The same in contentBlockDelta, contentBlockStart. A block's calls are complete at a document
 * that has its index and neither. `bytes` is the base64 of a document of whatever form.
 * stopReason, or that of messageStop, is why the exchange has finished.
 */
#ifndef SLUICE_CORE_EXTRACT_BEDROCK_H
#define SLUICE_CORE_EXTRACT_BEDROCK_H

#include "core/extract_form.h"

extern const struct extract_form extract_bedrock;

#endif
