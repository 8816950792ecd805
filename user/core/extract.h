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
 *      the extractor does not join goes to the channel of its path (extract_path.h)
 *      and ends with its unit: only within an array can the same path come twice
 *      in a unit, and then they are one text.
 *  E3. A joined channel is chosen by the exact sequence of member names; where a form is
 *      known (extract_form.h), by the types of the containers as well.
 */
#ifndef SLUICE_CORE_EXTRACT_H
#define SLUICE_CORE_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/extract_event.h"
#include "core/extract_known.h"
#include "core/extract_raw.h"
#include "core/extract_strict.h"
#include "core/extract_text.h"
#include "core/extract_tokens.h"
#include "core/fault.h"
#include "core/json.h"
#include "core/pipeline.h"

struct extractor {
	struct channel_set *set;
	bool lines;    /* payloads end at an LF that is not theirs */
	bool messages; /* they are messages of their own */
	bool json;     /* payloads are JSON */
	bool document; /* each has to be, also an empty one */
	bool text;     /* payloads are text as they are */
	bool join_unit;
	bool cr;       /* a CR that belongs to the payload unless an LF follows */
	bool complete; /* a whole unit said that the exchange is */
	struct extract_event event;
	struct extract_raw raw;
	struct extract_text raw_text; /* its literals, where they are read */
	struct extract_tokens tokens;
	struct extract_known *known;   /* NULL: no form is known */
	struct extract_strict *strict; /* NULL: whatever the form does not know is any text */
	struct json scanner;
};

/* What the payloads are, and what is wanted of them. */
#define EXTRACTOR_LINES (1u << 0) /* they are lines */
#define EXTRACTOR_JSON	(1u << 1) /* they have to be JSON whatever the kind */
#define EXTRACTOR_EVALUATE \
	(1u << 2) /* the text is wanted; without it only what the framing needs */
/*
 * They are the data of events: UTF-8 whatever the kind; where they are JSON an empty one
 * is no document, and one that is "[DONE]" ends every text (the exchange is complete):
 * any data after it is FAULT_PROTOCOL. Where the kind is EXTRACT_AUTO, and they do not
 * have to be JSON, one that begins neither with { nor with [ is text.
 */
#define EXTRACTOR_EVENTS (1u << 3)
/*
 * Text (EXTRACT_RAW) that may be JSON under a wrong label, or have some in it: its literals
 * are read besides (extract_literals.h). What is no JSON is no fault.
 */
#define EXTRACTOR_ATTEMPT (1u << 4)
/* They are messages of their own, as of a WebSocket: as events, but none of them is an end. */
#define EXTRACTOR_MESSAGES (1u << 5)

/* -EINVAL: no such kind, or no path. -ENOMEM. */
int extractor_init(struct extractor *extractor, const struct extract *config,
		   struct channel_set *set, unsigned int flags) must_check;
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
