/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tokens of JSON texts as channels (E2 of extract.h): member names and numbers are
 * texts of `meta` and end with their token; a string goes to the channel of its path and
 * ends with its unit, or is joined over units where its path is the declared one.
 *
 * Invariants:
 *  K1. Outside of arrays no path comes twice in a unit; within one the texts of a path
 *      are one text.
 */
#ifndef SLUICE_CORE_EXTRACT_TOKENS_H
#define SLUICE_CORE_EXTRACT_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/extract_path.h"
#include "core/extract_text.h"
#include "core/fault.h"
#include "core/json.h"

struct resume_marks;

struct extract_tokens {
	struct channel_set *set;
	const struct json *json;
	struct resume_marks *marks; /* of the stream it is of; NULL: nobody wants them */
	bool park;		    /* the string under way may go on in this unit */
	struct channel *current;
	char *declared; /* the path whose strings are joined, or NULL; and the names in it */
	uint32_t declared_names;
	struct channel *joined;
	/* What may be JSON in it: the string under way, and the one that is joined. */
	struct extract_text string, joined_text;
	struct extract_text *text; /* the one under way; NULL where it is no string */
	struct extract_path path;
};

/* The scanner is the caller's, and hands its tokens on to these, or to extract_tokens_sink. */
void extract_tokens_init(struct extract_tokens *tokens, struct channel_set *set,
			 const struct json *json);
void extract_tokens_done(struct extract_tokens *tokens);

/* Declares a path; its name is that of its channel. -ENOMEM. */
int extract_tokens_join(struct extract_tokens *tokens, const char *path) must_check;

/* With struct extract_tokens as the context. */
extern const struct json_sink extract_tokens_sink;
enum fault extract_tokens_text(void *context, enum json_token token, unsigned int flags,
			       const uint8_t *text, size_t len, uint64_t runes) must_check;
enum fault extract_tokens_surrogate(void *context, enum json_token token, unsigned int flags,
				    uint32_t unit) must_check;

size_t extract_tokens_memory(const struct extract_tokens *tokens); /* beside the struct itself */

#endif
