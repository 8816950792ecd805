/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text extraction: the payload of each unit goes in once, as it comes; what of
 * it is text goes to the channels. Where payloads are JSON this is their parser,
 * and where lines are, it finds their ends as well, so that no byte is looked at
 * by two parsers.
 *
 * Invariants:
 *  E1. Every rune of a payload that is not fixed grammar reaches a channel.
 *  E2. Member names and numbers go to `meta` and end with their token. A string
 *      the extractor does not join goes to the channel of its path (member names
 *      joined by '.', with a backslash before their own, array indexes dropped;
 *      '$' is the path without names, "\\$" that of a member named so)
 *      and ends with its unit: only within an array can the same path come twice
 *      in a unit, and then they are one text.
 *  E3. A joined channel is chosen by the exact sequence of member names.
 */
#ifndef SLUICE_CORE_EXTRACT_H
#define SLUICE_CORE_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/fault.h"
#include "core/json.h"
#include "core/pipeline.h"
#include "core/utf8.h"

#define EXTRACT_JOINED_MAX 2u
/*
 * Bytes of the path of a string within an array. Looking it up takes time for each
 * such string, so that a unit with a longer one is too large.
 */
#define EXTRACT_NAME_MAX 1024u

/* A path whose strings are joined over units. */
struct extract_joined {
	const char *path;
	uint32_t names; /* in the path */
	struct channel *channel;
};

struct extractor {
	struct channel_set *set;
	uint8_t kind; /* enum extract_kind */
	bool lines;   /* payloads end at an LF that is not theirs */
	bool json;    /* payloads are JSON */
	bool raw;     /* payloads are text as they are */
	bool join_unit, replace;
	bool park;	  /* the string under way may go on in this unit */
	bool cr;	  /* a CR that belongs to the payload unless an LF follows */
	bool end_in_unit; /* the unit under way says that the exchange is complete */
	bool complete;	  /* a whole unit said so */
	struct channel *current;
	struct extract_joined joined[EXTRACT_JOINED_MAX];
	uint32_t joined_count;
	struct utf8 utf8; /* raw: a sequence under way */
	char *own_path;	  /* of EXTRACT_PATH */
	char *path;	  /* of the string under way */
	size_t path_len, path_capacity;
	/* Where each name of the path ends; the first path_names of them are still right. */
	uint32_t *path_ends;
	uint32_t path_names, path_ends_capacity;
	struct json scanner;
};

/*
 * lines: the payloads are lines; json: they have to be JSON whatever the kind;
 * evaluate: the text is wanted (without it payloads are only checked for what
 * the framing needs). -EINVAL: no such kind, or no path. -ENOMEM.
 */
int extractor_init(struct extractor *extractor, const struct extract *config,
		   struct channel_set *set, bool lines, bool json, bool evaluate) must_check;
void extractor_done(struct extractor *extractor);

/*
 * The next bytes of a payload. *ret_used is what was taken: all, or with lines
 * those before the LF that ends the payload, or those before the byte at fault.
 */
enum fault extractor_feed(struct extractor *extractor, const uint8_t *data, size_t len,
			  size_t *ret_used) must_check;

/* Has the payload under way held nothing but JSON's white space? For lines alone. */
bool extractor_blank(const struct extractor *extractor);

/* The payload ends; delimited: by what the framing has for that, not by the stream's end. */
enum fault extractor_unit_end(struct extractor *extractor, bool delimited) must_check;

/* The stream ended between units: what waited for more text is settled. */
enum fault extractor_end(struct extractor *extractor) must_check;

size_t extractor_memory(const struct extractor *extractor); /* beside the struct itself */

#endif
