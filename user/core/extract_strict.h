/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks of chat completions under `strict`: a stream is passed on only where a reader that puts
 * it together gets what was evaluated, and nothing else. The rules are those of the buffer-mode
 * streaming guard of the Agent Control Specification:
 *  - a chunk is an object; its member `choices` is a list of at most one object, null, or absent;
 *    its other members are any, and are evaluated as any text is;
 *  - the choice has index (the number 0, or absent), delta (an object) and finish_reason (a
 *    string); the delta has role and content (strings) and tool_calls (a list of objects); a call
 *    has index (a whole number, which has to be there), id and type (strings) and function, an
 *    object with name and arguments (strings). Each may be null but an index;
 *  - any other member of these is null, or an empty string, list or object;
 *  - id, type and name of a call are the same wherever they stand;
 *  - of events: at least one chunk comes before [DONE], and [DONE] before the end; none has a
 *    name of its own but "message", since readers differ in whether they take it for a chunk;
 *  - a body of a success that is neither events nor JSON is none that a chunk can be in.
 * Anything else is FAULT_UNREPRESENTED; a missing chunk or [DONE] FAULT_PROTOCOL or
 * FAULT_TRUNCATED, which are the extractor's to tell. Names and bodies are looked at where those
 * are read (core/pipeline_body.c, core/pipeline_reading.c).
 *
 * It stands before the sink of the known forms (extract_known.h), in the same scan, and finds its
 * way by their tree.
 *
 * Invariants:
 *  S1. What it does not refuse it hands on as it came.
 *  S2. Memory is bounded by the calls (EXTRACT_INDEX_MAX) and by STRICT_WORD_MAX.
 */
#ifndef SLUICE_CORE_EXTRACT_STRICT_H
#define SLUICE_CORE_EXTRACT_STRICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/extract_known.h"
#include "core/json.h"

/* Bytes of an id, a type or a name of a call; a longer one is FAULT_TOO_LARGE. */
#define STRICT_WORD_MAX 1024u

enum strict_word { STRICT_ID, STRICT_TYPE, STRICT_NAME, _STRICT_WORD_MAX };

struct strict_text {
	bool given;
	size_t len;
	uint8_t *bytes;
};

struct strict_call {
	struct strict_text words[_STRICT_WORD_MAX];
};

struct extract_strict {
	struct extract_known *known;
	const struct json *json;
	bool chunk;   /* one has come */
	bool choice;  /* the document has had its choice */
	bool empty;   /* the container that opened last has to be empty */
	uint8_t part; /* what the value under way has to be */
	/* The call under way, of a fragment. */
	bool indexed;
	uint32_t index;
	struct strict_call call;
	/* By their index. */
	struct strict_call *calls;
	uint32_t call_count;
};

/* Both are the caller's, who scans with extract_known_scan(). */
void extract_strict_init(struct extract_strict *strict, struct extract_known *known,
			 const struct json *json);
void extract_strict_done(struct extract_strict *strict);

/* With struct extract_strict as the context. */
extern const struct json_sink extract_strict_sink;

size_t extract_strict_memory(const struct extract_strict *strict); /* beside the struct itself */

#endif
