/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of Anthropic's messages as they are streamed, N being the `index` of its block:
 *
 *   bN.text        delta.text, content_block.text, message.content[].text by its position
 *   bN.thinking    delta.thinking, content_block.thinking, message.content[].thinking
 *   bN.signature   delta.signature, content_block.signature
 *   bN.compaction  delta.content, content_block.content where it is a string
 *   bN.json        delta.partial_json
 *   bN.name        content_block.name: of a tool
 *   bN.type, bN.input, bN.result   content_block.type, .input, .content[].text, each whole
 *   bN.cited_text  delta.citation.cited_text, each whole
 *
 * A tool's name and bN.json are complete at content_block_stop, the exchange at message_stop.
 * delta.stop_reason is why it has finished, and in a message that comes whole stop_reason.
 */
#ifndef SLUICE_CORE_EXTRACT_ANTHROPIC_H
#define SLUICE_CORE_EXTRACT_ANTHROPIC_H

#include "core/extract_form.h"

extern const struct extract_form extract_anthropic;

#endif
