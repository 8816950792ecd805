/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans: the text of one track as a task sees it that evaluates windows elsewhere, and answers
 * later and in any order. Each text is cut into spans; a span is lent, once, with the window
 * that has to be evaluated for it (core/coverage.h), and is cleared by its id.
 *
 * Invariants:
 *  S1. Each rune of a text is in exactly one span, and a span is of one text, in one piece: its
 *      start and end are the track's numbers of its first rune and behind its last, of which
 *      those between may belong to other texts.
 *  S2. A window ends where its span ends. It has N runes, or all that came before in its text
 *      and what was primed; never a rune of another text.
 *  S3. No rune below the frontier is without a clearance, and the frontier never goes back.
 *  S4. How a text is cut into calls, and when spans are lent or cleared, changes no span.
 *  S5. No more spans are lent and not cleared than in_flight says. Kept of a text is what its
 *      spans have not been lent of, and N - 1 runes below; of a set that finishes N.
 *  S6. Of a set that finishes one item is the last: of the spans that are not lent when no text
 *      comes any more the one lent last. Where all were lent before, or that one is of a text
 *      that passes and there were others, it is one of no runes, whose window is the end of the
 *      text that had the last rune, of those that do not pass. Where nothing was cut, none is.
 *
 * Where a span ends:
 *  SPAN_RUNES     after S runes; with long_first the first of a text after N.
 *  SPAN_UNIT      with the unit, or after S runes.
 *  SPAN_SENTENCE  behind a full stop, question or exclamation mark that a space follows, behind
 *                 one of the wide forms, behind a line feed or a separator of lines or
 *                 paragraphs, or after S runes.
 * And always with its text. In a text that is whole only after N runes, and then S, and where
 * the caller says that what came so far is complete.
 *
 * Units: runes; text is well-formed UTF-8 of whole runes. Numbers of the track are given in the
 * order of the calls, over all texts, as core/channel.h gives them.
 */
#ifndef SLUICE_CORE_SPAN_H
#define SLUICE_CORE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/coverage.h"

enum span_text_kind {
	SPAN_TEXT,
	SPAN_TEXT_WHOLE,   /* it is to be seen whole */
	SPAN_TEXT_PASSING, /* it ends with its unit, and is not seen again by the last item */
};

enum span_cadence { SPAN_RUNES, SPAN_UNIT, SPAN_SENTENCE };

struct span_config {
	enum span_cadence cadence;
	struct coverage coverage;
	uint32_t in_flight; /* at least 1 */
	uint64_t start;	    /* the track's number of the first rune */
	bool long_first;    /* the first span of a text, with nothing below it, has up to N runes */
	bool finishes;	    /* S6 */
};

/* What is to be evaluated. The text and the name are valid until the next call for the set. */
struct span_item {
	uint64_t id;	     /* of no other span of the set */
	const char *channel; /* as span_open() had it */
	const uint8_t *text; /* of the window; NULL: there is none to see, nor a name */
	size_t len;
	uint64_t runes;	     /* of the window */
	uint64_t before;     /* runes of the window below the span */
	uint64_t start, end; /* of the track */
	/* Its text ends with it. Of a text that ends where a span had been lent, none is. */
	bool final;
	bool last; /* S6 */
};

struct span_set;
struct span_channel; /* one text of a channel */

/* -EINVAL: in_flight is 0, or coverage_check() refuses. -ENOMEM. */
int span_set_new(const struct span_config *config, struct span_set **ret_set) must_check;
/* With all its texts. Accepts NULL. */
void span_set_free(struct span_set *set);
DEFINE_CLEANUP(struct span_set *, span_set_free)

/* A text of that channel begins; the name is copied. -ENOMEM. */
int span_open(struct span_set *set, const char *name, enum span_text_kind kind,
	      struct span_channel **ret_channel) must_check;

/*
 * What was delivered of the channel before, as the first windows have to see it; its last N - 1
 * runes are kept. It has no numbers. Before anything else of the text. -ENOMEM.
 */
int span_prime(struct span_set *set, struct span_channel *channel, const uint8_t *text,
	       size_t len) must_check;

/*
 * The text goes on, by that many runes. -ENOMEM: some of them were not taken, and the set is of
 * no use any more; the frontier is not above what was.
 */
int span_text(struct span_set *set, struct span_channel *channel, const uint8_t *text, size_t len,
	      uint64_t runes) must_check;

/*
 * A rune is numbered whose bytes are not all there: the first of the next span_text(). No
 * other may wait in this text. -ENOMEM.
 */
int span_wait(struct span_set *set, struct span_channel *channel) must_check;

/*
 * What comes next in the text does not go on from what came: windows that see both have a line
 * feed between them, which counts among their runes and has no number. Not while a rune waits.
 * -ENOMEM.
 */
int span_break(struct span_set *set, struct span_channel *channel) must_check;

/* A unit of the flow ends: with SPAN_UNIT, so do the spans under way. -ENOMEM. */
int span_unit_end(struct span_set *set) must_check;

/* What came of a text that is whole is complete; more may follow. -ENOMEM. */
int span_complete(struct span_set *set, struct span_channel *channel) must_check;

/*
 * The text ends: a rune that waited is U+FFFD. The channel is the set's, whatever is returned.
 * -ENOMEM as of span_text().
 */
int span_close(struct span_set *set, struct span_channel *channel) must_check;

/* No text comes any more, and all have ended; once is enough. S6. -ENOMEM. */
int span_finish(struct span_set *set) must_check;

/* Is one of no runes the last, and not cleared? */
bool span_last_is_due(const struct span_set *set);

/*
 * What was to be the last item, where no text comes any more and none was or will be: the end
 * of the text that had the last rune, and behind `before` what no item had. false: nothing was
 * lent, or the last item was. What it borrows is valid until the next call for the set.
 */
bool span_left(const struct span_set *set, struct span_item *ret_item) must_check;

/*
 * Lends the span that begins first of those that are cut and not lent. false: there is none,
 * or in_flight of them are out.
 */
bool span_next(struct span_set *set, struct span_item *ret_item) must_check;

/* The span of that id is cleared. -ENOENT: none is lent of that id, or it was cleared before. */
int span_clear(struct span_set *set, uint64_t id) must_check;

/* The track's number of the first rune that is not cleared, or of the next one to come. */
uint64_t span_frontier(const struct span_set *set);

/* The same, if every span that is cut were cleared. */
uint64_t span_reach(const struct span_set *set);

/* The track's number of the next rune to come. */
uint64_t span_end(const struct span_set *set);

/* Spans that are cut and not lent: where there are some, the caller stops reading. */
size_t span_waiting(const struct span_set *set);

/* Those, and the ones that are lent and not cleared. */
size_t span_pending(const struct span_set *set);

/* Bytes that are allocated, all told. */
size_t span_memory(const struct span_set *set);

#endif
