/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of documents whose forms are known (extract_form.h): each goes to the channel of its
 * place (extract_nodes.h). Any other string, number or name is evaluated as in any JSON
 * (extract_tokens.h).
 *
 * Invariants:
 *  O1. A text is known by its numbers and its document's type, wherever in the document those
 *      stand: texts before them wait (extract_place.h). A number that is missing is 0, of a call
 *      its position among the calls around it.
 *  O2. Calls are held until they are complete (channel_complete()): when what they belong to says
 *      so, and else until the text ends.
 *  O3. An object that is a text is that of its JSON as it stands; what is in it is evaluated as in
 *      any JSON besides.
 *  O4. Of two places with channels of one name each has its own. Some servers send the same text in
 *      two of them; in one text each would hide what the other spells.
 */
#ifndef SLUICE_CORE_EXTRACT_KNOWN_H
#define SLUICE_CORE_EXTRACT_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/extract_form.h"
#include "core/extract_head.h"
#include "core/extract_inner.h"
#include "core/extract_nodes.h"
#include "core/extract_place.h"
#include "core/extract_tokens.h"
#include "core/extract_tree.h"
#include "core/fault.h"
#include "core/json.h"

/* Bytes of the type of a document, or of the name of an artifact, that are looked at. */
#define EXTRACT_VALUE_MAX 128u

enum extract_bytes {
	BYTES_PLAIN,   /* a member `bytes` is what any string is */
	BYTES_PERHAPS, /* where it is base64 of a document, that is read */
	BYTES_CERTAIN, /* it is */
};

struct extract_artifact {
	size_t len;
	uint8_t name[EXTRACT_VALUE_MAX];
};

struct extract_known {
	struct extract_tokens *tokens;
	struct extract_place place;
	struct extract_tree tree;
	struct extract_head head;
	enum extract_bytes bytes;      /* the caller's, after init */
	struct extract_inner *inner;   /* NULL: there was none yet */
	uint8_t text;		       /* place of the string under way, where it is a known text */
	uint8_t class;		       /* of any other string under way that is known */
	uint8_t line;		       /* its place, where it is a line */
	bool finished;		       /* the choice under way is */
	bool block;		       /* the document has a contentBlockIndex */
	bool filled;		       /* and what a block's beginning or delta has */
	bool indexed;		       /* it has one of the two indexes */
	bool over;		       /* a document said that the exchange is complete */
	uint32_t count[_REGISTER_MAX]; /* positions: of the next one */
	/* The number under way: what it is of, and so far. */
	uint8_t number;
	int32_t index;
	/* The value under way, as far as it has room. */
	size_t value_len;
	uint8_t value[EXTRACT_VALUE_MAX];
	/* The raw text under way: what it is, what is kept, where it goes on in this scan. */
	uint8_t raw;
	const uint8_t *from;
	uint8_t *kept;
	size_t kept_len, kept_capacity;
	struct extract_artifact *artifacts;
	uint32_t artifact_count, artifact_capacity;
};

/* The forms are borrowed. */
void extract_known_init(struct extract_known *known, struct extract_tokens *tokens,
			const struct extract_form *const *forms, size_t count);
void extract_known_done(struct extract_known *known);

/* With struct extract_known as the context; json_scan() by way of the next one. */
extern const struct json_sink extract_known_sink;
enum fault extract_known_scan(struct extract_known *known, struct json *json, const uint8_t *data,
			      size_t len, size_t *ret_used) must_check;

/* The unit ends. */
enum fault extract_known_end_texts(struct extract_known *known) must_check;
static inline enum fault extract_known_unit_end(struct extract_known *known)
{
	return known->place.unit || known->inner ? extract_known_end_texts(known) : FAULT_NONE;
}

size_t extract_known_memory(const struct extract_known *known); /* beside the struct itself */

#endif
