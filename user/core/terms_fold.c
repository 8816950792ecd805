/* SPDX-License-Identifier: Apache-2.0 */
#include "core/terms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/terms_automaton.h"
#include "core/terms_tail.h"
#include "core/utf8.h"

/*
 * From here on, up to the next mark, folded runes lie at original ones: one by
 * one, or, for a block, all of them at all of the segment's. A block is always
 * followed by another mark.
 */
struct mark {
	uint64_t folded, original;
	bool block;
};

/*
 * Between the text and the automaton: the segment that waits, and where folded
 * runes came from, as far back as a term can reach. Text that folds rune by rune
 * makes no marks.
 */
struct fold_cursor {
	struct fold_segment segment;
	/*
	 * Of the segment's original runes: judged, and known to have no part in a
	 * match. Each length of it is judged that more runes join, or that a call ends
	 * with, and what was found once stays: the answer is the same for any cut.
	 */
	uint64_t judged, clear;
	uint32_t before;   /* folded runes held before the segment, where none of it is clear */
	uint64_t folded;   /* runes that went through the automaton */
	uint64_t original; /* runes of the text they came from, or that fell out before */
	struct mark *marks;
	size_t count, capacity;
};

static const struct mark *find_mark(const struct fold_cursor *fold, uint64_t folded)
{
	static const struct mark beginning = {0};
	size_t low = 0, high = fold->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (fold->marks[middle].folded > folded)
			high = middle;
		else
			low = middle + 1;
	}
	return low > 0 ? &fold->marks[low - 1] : &beginning;
}

/* The first original rune of those a folded one came from. */
static uint64_t original_start(const struct fold_cursor *fold, uint64_t folded)
{
	const struct mark *mark = find_mark(fold, folded);

	return mark->block ? mark->original : mark->original + (folded - mark->folded);
}

/* The end of them. */
static uint64_t original_end(const struct fold_cursor *fold, uint64_t folded)
{
	const struct mark *mark = find_mark(fold, folded);

	return mark->block ? mark[1].original : mark->original + (folded - mark->folded) + 1;
}

/* Makes room for a mark: forgets those before what any term can reach, or grows. */
static int reserve_mark(const struct terms *terms, struct fold_cursor *fold)
{
	uint64_t reach = fold->folded - MIN(fold->folded, terms->longest);
	size_t old = 0, capacity = fold->capacity ? 2 * fold->capacity : 4;
	struct mark *grown;

	if (fold->count < fold->capacity)
		return 0;
	while (old + 1 < fold->count && fold->marks[old + 1].folded <= reach)
		old++;
	/* At least half, so that the moves are paid for by the marks in between. */
	if (old > 0 && 2 * old >= fold->count) {
		fold->count -= old;
		memmove(fold->marks, fold->marks + old, fold->count * sizeof(*fold->marks));
		return 0;
	}
	grown = realloc(fold->marks, capacity * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	fold->marks = grown;
	fold->capacity = capacity;
	return 0;
}

static int add_mark(const struct terms *terms, struct fold_cursor *fold, uint64_t original,
		    bool block)
{
	struct mark *last = fold->count ? &fold->marks[fold->count - 1] : NULL;
	int r;

	/* One that covers nothing is replaced. */
	if (last && last->folded == fold->folded) {
		last->original = original;
		last->block = block;
		return 0;
	}
	r = reserve_mark(terms, fold);
	if (r < 0)
		return r;
	fold->marks[fold->count++] =
		(struct mark){.folded = fold->folded, .original = original, .block = block};
	return 0;
}

/* The automaton stands where a term ended: that term, in original runes. */
static void set_match(const struct terms *terms, struct terms_cursor *cursor)
{
	uint32_t term = terms->term[cursor->state];
	uint64_t end = cursor->fold->folded;

	cursor->matched = true;
	cursor->match.term = term;
	cursor->match.start = original_start(cursor->fold, end - terms->lengths[term]);
	cursor->match.end = original_end(cursor->fold, end - 1);
}

/* Steps over folded text that came from one segment; stops at a match. */
static bool step_over(const struct terms *terms, struct terms_cursor *cursor, const uint8_t *text,
		      size_t len)
{
	for (size_t i = 0; i < len; i++) {
		uint32_t next = terms_step(terms, cursor->state, text[i]);

		cursor->state = next & ~TERMS_MATCH;
		cursor->fold->folded += (text[i] & 0xc0) != 0x80;
		if (next & TERMS_MATCH)
			return true;
	}
	return false;
}

/* A segment of any other shape than one rune for one. */
static int flush_block(const struct terms *terms, struct terms_cursor *cursor, const uint8_t *text,
		       size_t len)
{
	struct fold_cursor *fold = cursor->fold;
	uint64_t end = fold->original + fold->segment.original;
	bool matched = false;
	int r;

	if (len > 0) {
		/* No match begins among what is clear, and a block has at least one rune. */
		uint64_t clear = MIN(fold->clear, fold->segment.original - 1);

		r = add_mark(terms, fold, fold->original + clear, /* block= */ true);
		if (r < 0)
			return r;
		matched = step_over(terms, cursor, text, len);
	}
	r = add_mark(terms, fold, end, /* block= */ false);
	if (r < 0)
		return r;
	fold->original = end;
	if (matched)
		set_match(terms, cursor);
	return 0;
}

/* Hands the segment that waits to the automaton. */
static int flush(const struct terms *terms, struct terms_cursor *cursor)
{
	cleanup(fold_result_done) struct fold_result result = {0};
	struct fold_cursor *fold = cursor->fold;
	struct fold_segment *segment = &fold->segment;
	uint32_t entry = segment->entry;
	uint8_t rune[UTF8_MAX];
	int r;

	if (segment->count == 0)
		return 0;
	if (segment->original == 1 && (entry & FOLD_SINGLE)) {
		unsigned int len = utf8_encode(entry & FOLD_RUNE, rune);
		bool matched = step_over(terms, cursor, rune, len);

		fold->original++;
		if (matched)
			set_match(terms, cursor);
		r = 0;
	} else if (segment->count == 1 && (entry & FOLD_GONE)) {
		r = flush_block(terms, cursor, NULL, 0);
	} else {
		r = fold_segment_apply(terms->fold, segment, &result);
		if (r == 0)
			r = flush_block(terms, cursor, result.text, result.len);
	}
	fold_segment_clear(segment);
	fold->judged = fold->clear = 0;
	return r;
}

/* Finds what of the segment that waits is clear. All but its last rune was judged. */
static int judge(const struct terms *terms, struct terms_cursor *cursor)
{
	struct fold_cursor *fold = cursor->fold;
	const struct fold_segment *segment = &fold->segment;
	struct terms_tail_answer answer;
	int r;

	if (fold->judged == segment->original)
		return 0;
	if (fold->judged == 0)
		fold->before = UINT32_MAX;
	else if (fold->clear == fold->judged && terms_tail_stays_clear(terms, segment)) {
		fold->clear = fold->judged = segment->original;
		return 0;
	}
	r = terms_tail_judge(terms, cursor->state, segment, &answer);
	if (r < 0)
		return r;
	if (answer.clear)
		fold->clear = segment->original;
	else
		fold->before = MIN(fold->before, answer.before);
	fold->judged = segment->original;
	return 0;
}

/* A stretch that folds byte by byte; its last rune may wait for what comes. */
static int scan_plain(const struct terms *terms, struct terms_cursor *cursor, const uint8_t *text,
		      size_t len)
{
	struct fold_cursor *fold = cursor->fold;
	int64_t entry = fold_rune(terms->fold, text[len - 1]);
	bool waits, matched;
	size_t done;
	int r;

	if (entry < 0)
		return (int)entry;
	r = flush(terms, cursor);
	if (r < 0 || cursor->matched)
		return r;
	waits = !(entry & FOLD_ALONE);
	done = terms_run(terms, &cursor->state, text, len - waits, &matched);
	fold->folded += done;
	fold->original += done;
	if (matched)
		set_match(terms, cursor);
	else if (waits)
		r = fold_segment_push(&fold->segment, text[len - 1], (uint32_t)entry);
	return r;
}

static int scan_rune(const struct terms *terms, struct terms_cursor *cursor, uint32_t rune)
{
	struct fold_segment *segment = &cursor->fold->segment;
	int64_t entry = fold_rune(terms->fold, rune);
	int r = 0;

	if (entry < 0)
		return (int)entry;
	if (entry & FOLD_BEFORE)
		r = flush(terms, cursor);
	else if (segment->count)
		r = judge(terms, cursor);
	if (r < 0 || cursor->matched)
		return r;
	r = fold_segment_push(segment, rune, (uint32_t)entry);
	if (r == 0 && (entry & FOLD_ALONE))
		r = flush(terms, cursor);
	return r;
}

int terms_scan_folded(const struct terms *terms, struct terms_cursor *cursor, const uint8_t *text,
		      size_t len)
{
	size_t at = 0;
	int r = 0;

	if (!cursor->fold)
		cursor->fold = calloc(1, sizeof(*cursor->fold));
	if (!cursor->fold)
		return -ENOMEM;
	while (at < len && r == 0 && !cursor->matched) {
		size_t plain = fold_plain(terms->fold, text + at, len - at);
		uint32_t rune;

		if (plain > 0) {
			r = scan_plain(terms, cursor, text + at, plain);
			at += plain;
		} else {
			at += fold_decode(text + at, &rune);
			r = scan_rune(terms, cursor, rune);
		}
	}
	if (r == 0 && !cursor->matched && cursor->fold->segment.count)
		r = judge(terms, cursor);
	return r;
}

int terms_end_folded(const struct terms *terms, struct terms_cursor *cursor)
{
	struct fold_cursor *fold = cursor->fold;
	int r;

	if (!fold)
		return 0;
	r = flush(terms, cursor);
	if (r < 0 || cursor->matched)
		return r;
	fold->folded = fold->original = 0;
	fold->count = 0;
	return 0;
}

uint64_t terms_cleared_folded(const struct terms *terms, const struct terms_cursor *cursor)
{
	const struct fold_cursor *fold = cursor->fold;
	uint32_t held = terms->runes[cursor->state];

	if (!fold)
		return 0;
	if (fold->segment.count) {
		if (fold->clear)
			return fold->original + fold->clear;
		held = fold->before;
	}
	return held ? original_start(fold, fold->folded - held) : fold->original;
}

void terms_cursor_done_folded(struct terms_cursor *cursor)
{
	if (!cursor->fold)
		return;
	fold_segment_done(&cursor->fold->segment);
	free(cursor->fold->marks);
	free(take_ptr(cursor->fold));
}

size_t terms_cursor_memory(const struct terms_cursor *cursor)
{
	const struct fold_cursor *fold = cursor->fold;

	if (!fold)
		return 0;
	return sizeof(*fold) + fold->segment.capacity * sizeof(*fold->segment.runes) +
	       fold->capacity * sizeof(*fold->marks);
}
