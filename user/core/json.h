/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An incremental scanner for one JSON text after another (RFC 8259, exactly): it
 * takes any cut of the input, and hands on the text of member names, strings and
 * numbers as it comes, unescaped, without keeping it.
 *
 * Invariants:
 *  J1. How the text is cut into calls changes no fault, and not what the pieces
 *      of each token join to.
 *  J2. What is accepted is a JSON text, in well-formed UTF-8, no object naming a
 *      member twice, nested at most JSON_DEPTH_MAX deep.
 *  J3. Everything accepted that is not handed on is one of []{}:," white space,
 *      an escape's spelling, true, false or null.
 *  J4. Memory is bounded by the names of the objects that are open.
 */
#ifndef SLUICE_CORE_JSON_H
#define SLUICE_CORE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/json_names.h"
#include "core/utf8.h"

#define JSON_DEPTH_MAX 1024u

enum json_token { JSON_NAME, JSON_STRING, JSON_NUMBER };

/* Which of a token's pieces this is; a piece that is both is the whole token. */
#define JSON_FIRST (1u << 0)
#define JSON_LAST  (1u << 1)

/*
 * Who gets the text. A surrogate escape is handed on as it stands, since its
 * other half may come in another text of the same channel. A fault that is
 * returned ends the scan and is its answer.
 */
struct json_sink {
	enum fault (*text)(void *context, enum json_token token, unsigned int flags,
			   const uint8_t *text, size_t len, uint64_t runes);
	enum fault (*surrogate)(void *context, enum json_token token, unsigned int flags,
				uint32_t unit);
	/* true, false or null, by its first letter; may be NULL */
	enum fault (*literal)(void *context, uint8_t first);
	/*
	 * A container opens, at its bracket, or closes, its bracket being the last byte before
	 * end; both lie in what is being scanned. json->depth counts it. Both may be NULL.
	 */
	enum fault (*open)(void *context, const uint8_t *at, bool object);
	enum fault (*close)(void *context, const uint8_t *end);
};

struct json {
	const struct json_sink *sink; /* NULL: only checked */
	void *context;
	bool by_line; /* an LF outside of strings ends the scan and is not taken */
	bool replace; /* U+FFFD per maximal ill-formed subpart, instead of FAULT_BAD_UTF8 */

	uint8_t state;
	uint8_t number; /* how far the number, the escape or the literal has come */
	uint8_t token;	/* enum json_token under way */
	bool begun;	/* its first piece is out */
	bool in_object; /* the innermost open container is one */
	uint16_t unit;	/* of a \u escape */
	uint8_t literal;
	uint8_t fault; /* enum fault, sticky */
	uint16_t depth;
	uint16_t arrays; /* of depth */
	struct utf8 utf8;
	struct json_names names;
	uint8_t objects[JSON_DEPTH_MAX / 8]; /* a bit per open container: is it an object? */
};

/* A scanner that is just inside of an array of a text's outermost object. */
struct json_mark {
	struct json_names_mark names;
};

void json_init(struct json *json, const struct json_sink *sink, void *context);
void json_done(struct json *json);

/*
 * Scans on. *ret_used is what was taken: all of it, or up to the LF that ends a
 * line, or up to the byte that is at fault.
 */
enum fault json_scan(struct json *json, const uint8_t *data, size_t len,
		     size_t *ret_used) must_check;

/*
 * Notes where the scanner stands, where it is as json_mark says (asked by the sink as the
 * array opens). False: that cannot be noted.
 */
bool json_note(const struct json *json, struct json_mark *ret_mark);
/* Where no text has begun, goes there: the bytes before need not be scanned. False: it cannot. */
bool json_recall(struct json *json, const struct json_mark *mark);

/* Has the text under way held nothing but white space? */
bool json_blank(const struct json *json);

/* The text ends here: FAULT_BAD_JSON where it is not whole. The next one may begin. */
enum fault json_end(struct json *json) must_check;

size_t json_memory(const struct json *json); /* beside the struct itself */

#endif
