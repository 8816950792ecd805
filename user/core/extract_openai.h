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
 *   cN.text               choices[].text
 *   cN.toolM.name, cN.toolM         choices[].delta.tool_calls[].function.name, .arguments
 *   cN.function.name, cN.function   choices[].delta.function_call.name, .arguments
 *   cN.logprobs.content, .refusal   choices[].logprobs.content[].token, .refusal[].token
 *   error                 error.message
 *
 * Any other string, number or name is evaluated as in any JSON (extract_tokens.h).
 *
 * Invariants:
 *  O1. A choice or call is known by its index, wherever in its object that stands: texts
 *      before it wait for it in a buffer, which is bounded by what came. A choice without
 *      one is 0; a call without one is its position among the calls around it.
 *  O2. An index that is not a number, or one below 0 or with a fraction or exponent, is
 *      FAULT_BAD_JSON; one over EXTRACT_INDEX_MAX is FAULT_TOO_LARGE.
 *  O3. Calls are held until they are complete (channel_complete()): when their choice has a
 *      reason to have finished, and else until the text ends.
 *  O4. The three sources of cN.reasoning are three texts under one name. Some servers send
 *      the same text in two of them; in one text each would hide what the other spells.
 */
#ifndef SLUICE_CORE_EXTRACT_OPENAI_H
#define SLUICE_CORE_EXTRACT_OPENAI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/extract_channels.h"
#include "core/extract_head.h"
#include "core/extract_tokens.h"
#include "core/extract_tree.h"
#include "core/fault.h"
#include "core/json.h"

struct openai_piece;

struct extract_openai {
	struct extract_tokens *tokens;
	struct extract_tree tree;
	struct extract_channels channels;
	struct extract_head head;
	uint8_t field;	/* of the string under way; 0 where it is not joined */
	uint8_t number; /* the index under way, or 0 */
	bool finished;	/* the choice under way is */
	uint32_t index; /* so far */
	int32_t choice; /* index of the one under way, or -1 */
	int32_t call;
	uint32_t calls; /* position of the one under way */
	/* Texts whose choice or call is not known yet, and the first that is of this call. */
	struct openai_piece *pieces;
	uint8_t *bytes;
	size_t piece_count, piece_capacity, byte_count, byte_capacity, call_pieces;
};

void extract_openai_init(struct extract_openai *openai, struct extract_tokens *tokens);
void extract_openai_done(struct extract_openai *openai);

/* With struct extract_openai as the context. */
extern const struct json_sink extract_openai_sink;

/* Around each scan: the data it is of, of which so many bytes need not be scanned. */
size_t extract_openai_resume(struct extract_openai *openai, struct json *json, const uint8_t *data,
			     size_t len);
void extract_openai_pause(struct extract_openai *openai);

size_t extract_openai_memory(const struct extract_openai *openai); /* beside the struct itself */

#endif
