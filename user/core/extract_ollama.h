/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of Ollama's answers, of its chat and of its generate. Each text that is joined has
 * a channel:
 *
 *   content    message.content
 *   thinking   message.thinking, and thinking
 *   response   response
 *   toolM.name, toolM.arguments   message.tool_calls[].function.name, .arguments; M is
 *                                 the position of the call in its message
 *
 * Any other string, number or name is evaluated as in any JSON (extract_tokens.h).
 *
 * Invariants:
 *  L1. A call comes whole, in one message, and its texts end with it. Arguments that are
 *      an object or an array are the text of their JSON as it stands; what is in them is
 *      evaluated as in any JSON besides.
 *  L2. The two sources of `thinking` are two texts under one name.
 */
#ifndef SLUICE_CORE_EXTRACT_OLLAMA_H
#define SLUICE_CORE_EXTRACT_OLLAMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/extract_channels.h"
#include "core/extract_tokens.h"
#include "core/extract_tree.h"
#include "core/fault.h"
#include "core/json.h"

struct extract_ollama {
	struct extract_tokens *tokens;
	struct extract_tree tree;
	struct extract_channels channels;
	struct channel *current; /* of the string under way; NULL where it is not joined */
	uint32_t call;		 /* position of the call under way */
	bool done;		 /* a message said that the exchange is complete */
	/* The arguments under way: those kept, and where they go on in what is being scanned. */
	const uint8_t *from;
	uint8_t *bytes;
	size_t len, capacity;
};

void extract_ollama_init(struct extract_ollama *ollama, struct extract_tokens *tokens);
void extract_ollama_done(struct extract_ollama *ollama);

/* With struct extract_ollama as the context. */
extern const struct json_sink extract_ollama_sink;

/* Around each scan: the data it is of, and the end of what it took. */
void extract_ollama_resume(struct extract_ollama *ollama, const uint8_t *data);
enum fault extract_ollama_pause(struct extract_ollama *ollama, const uint8_t *end) must_check;

size_t extract_ollama_memory(const struct extract_ollama *ollama); /* beside the struct itself */

#endif
