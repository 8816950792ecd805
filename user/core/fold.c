/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fold.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>

#include "core/fold_steps.h"
#include "core/terms.h"
#include "core/utf8.h"

/* Runes whose entries are remembered: the planes with the living scripts. */
#define FOLD_MEMO_RUNES 0x20000u
#define FOLD_STEPS_ALL                                                                   \
	(TERMS_FOLD_CASEFOLD | TERMS_FOLD_NFKC | TERMS_FOLD_NFC | TERMS_FOLD_IGNORABLE | \
	 TERMS_FOLD_STRIP_MN | TERMS_FOLD_CONFUSABLE)

struct fold {
	struct fold_tools tools;
	bool plain[256];
	/*
	 * Entries by rune, 0 where none was asked for yet. Each is computed from the
	 * rune alone, so that it does not matter who writes it first, or twice.
	 */
	_Atomic uint32_t *memo;
};

static int make_entry(const struct fold *fold, uint32_t rune, uint32_t *ret_entry)
{
	cleanup(fold_units_done) struct fold_units text;
	uint32_t entry = FOLD_KNOWN;
	struct fold_edges edges;
	int32_t at = 0;
	uint32_t first = 0;
	int r;

	fold_units_init(&text);
	r = fold_units_append(&text, (int32_t)rune);
	if (r == 0)
		r = fold_steps_run(&fold->tools, &text, &edges);
	if (r < 0)
		return r;
	if (text.len == 0)
		entry |= FOLD_GONE;
	else
		first = fold_units_next(&text, &at);
	if (text.len > 0 && at == text.len)
		entry |= FOLD_SINGLE | first;
	if (edges.before)
		entry |= FOLD_BEFORE;
	if (edges.before && edges.after)
		entry |= FOLD_ALONE;
	if (edges.dropped && edges.clear)
		entry |= FOLD_IGNORED;
	*ret_entry = entry;
	return 0;
}

int64_t fold_rune(const struct fold *fold, uint32_t rune)
{
	uint32_t entry = 0;
	int r;

	if (rune < FOLD_MEMO_RUNES)
		entry = atomic_load_explicit(&fold->memo[rune], memory_order_relaxed);
	if (entry)
		return entry;
	r = make_entry(fold, rune, &entry);
	if (r < 0)
		return r;
	if (rune < FOLD_MEMO_RUNES)
		atomic_store_explicit(&fold->memo[rune], entry, memory_order_relaxed);
	return entry;
}

bool fold_joins_case(const struct fold *fold)
{
	return fold->tools.steps & TERMS_FOLD_CASEFOLD;
}

unsigned int fold_decompose(const struct fold *fold, uint32_t rune,
			    uint32_t ret_parts[FOLD_PARTS_MAX])
{
	cleanup(fold_units_done) struct fold_units parts;
	unsigned int count = 0;
	int32_t at = 0;

	fold_units_init(&parts);
	fold_tools_decompose(&fold->tools, rune, &parts);
	while (at < parts.len && count < FOLD_PARTS_MAX)
		ret_parts[count++] = fold_units_next(&parts, &at);
	if (count == 0)
		ret_parts[count++] = rune;
	return count;
}

bool fold_is_mark(uint32_t rune)
{
	return u_getCombiningClass((UChar32)rune) != 0;
}

/* A prototype of a mark need not be one. */
bool fold_composes(const struct fold *fold)
{
	return (fold->tools.steps & (TERMS_FOLD_NFC | TERMS_FOLD_NFKC)) &&
	       !(fold->tools.steps & TERMS_FOLD_CONFUSABLE);
}

/* The last combining class, of U+0345 alone: what has it comes after all other marks. */
#define CLASS_LAST 240

/* Of a prototype the class may be another; without case folding it stays what it was. */
bool fold_only_trails(const struct fold *fold, uint32_t mark)
{
	return (fold->tools.steps & TERMS_FOLD_CASEFOLD) &&
	       !(fold->tools.steps & TERMS_FOLD_CONFUSABLE) &&
	       u_getCombiningClass((UChar32)mark) == CLASS_LAST;
}

struct mark_visit {
	fold_mark_fn visit;
	void *context;
	int r;
};

static UBool visit_range(const void *context, UChar32 start, UChar32 limit, UCharCategory type)
{
	/* The context is const only on its way through ICU. */
	struct mark_visit *visit = (struct mark_visit *)(uintptr_t)context;

	if (!(U_MASK(type) & U_GC_M_MASK))
		return true;
	for (UChar32 rune = start; rune < limit && visit->r == 0; rune++)
		if (fold_is_mark((uint32_t)rune))
			visit->r = visit->visit(visit->context, (uint32_t)rune);
	return visit->r == 0;
}

int fold_each_mark(const struct fold *fold, fold_mark_fn visit, void *context)
{
	struct mark_visit state = {.visit = visit, .context = context};

	if (!(fold->tools.steps & ~(unsigned int)(TERMS_FOLD_CASEFOLD | TERMS_FOLD_IGNORABLE)))
		return 0;
	u_enumCharTypes(visit_range, &state);
	return state.r;
}

static int find_plain(struct fold *fold)
{
	for (uint32_t c = 0; c < 0x80; c++) {
		bool upper = c >= 'A' && c <= 'Z' && fold_joins_case(fold);
		int64_t entry = fold_rune(fold, c);

		if (entry < 0)
			return (int)entry;
		fold->plain[c] = (entry & FOLD_SINGLE) && (entry & FOLD_BEFORE) &&
				 (entry & FOLD_RUNE) == (upper ? c | 0x20 : c);
	}
	return 0;
}

int fold_new(unsigned int steps, struct fold **ret_fold)
{
	cleanup(fold_freep) struct fold *fold = NULL;
	int r;

	if (steps & ~(unsigned int)FOLD_STEPS_ALL)
		return -EINVAL;
	fold = calloc(1, sizeof(*fold));
	if (!fold)
		return -ENOMEM;
	r = fold_tools_init(&fold->tools, steps);
	if (r < 0)
		return r;
	fold->memo = calloc(FOLD_MEMO_RUNES, sizeof(*fold->memo));
	if (!fold->memo)
		return -ENOMEM;
	r = find_plain(fold);
	if (r < 0)
		return r;
	*ret_fold = take_ptr(fold);
	return 0;
}

void fold_free(struct fold *fold)
{
	if (!fold)
		return;
	fold_tools_done(&fold->tools);
	free(fold->memo);
	free(fold);
}

size_t fold_plain(const struct fold *fold, const uint8_t *text, size_t len)
{
	size_t n = 0;

	while (n < len && fold->plain[text[n]])
		n++;
	return n;
}

/* Room is doubled from here, so that the cap is met when room runs out. */
#define FOLD_SEGMENT_FIRST 4u
_Static_assert(FOLD_SEGMENT_MAX % FOLD_SEGMENT_FIRST == 0 &&
		       (FOLD_SEGMENT_MAX & (FOLD_SEGMENT_MAX - 1)) == 0,
	       "FOLD_SEGMENT_MAX is reached by doubling");

int fold_segment_push(struct fold_segment *segment, uint32_t rune, uint32_t entry)
{
	bool repeats = segment->count && (segment->entry & entry & FOLD_IGNORED);

	if (!repeats && segment->count == segment->capacity) {
		uint32_t capacity = segment->capacity ? 2 * segment->capacity : FOLD_SEGMENT_FIRST;
		int32_t *grown;

		if (segment->count == FOLD_SEGMENT_MAX)
			return -E2BIG;
		grown = realloc(segment->runes, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		segment->runes = grown;
		segment->capacity = capacity;
	}
	if (!repeats)
		segment->runes[segment->count++] = (int32_t)rune;
	segment->entry = entry;
	segment->original++;
	return 0;
}

void fold_segment_clear(struct fold_segment *segment)
{
	segment->count = 0;
	segment->original = 0;
}

void fold_segment_done(struct fold_segment *segment)
{
	free(segment->runes);
	*segment = (struct fold_segment){0};
}

static int to_utf8(const struct fold_units *text, struct fold_result *ret_result)
{
	size_t most = (size_t)text->len * 3; /* bytes per UTF-16 unit */
	uint8_t *out = ret_result->space;
	int32_t at = 0;

	if (most > sizeof(ret_result->space))
		out = malloc(most);
	if (!out)
		return -ENOMEM;
	ret_result->text = out;
	ret_result->len = 0;
	while (at < text->len) {
		uint32_t rune = fold_units_next(text, &at);

		ret_result->len += utf8_encode(rune, out + ret_result->len);
	}
	return 0;
}

int fold_segment_apply(const struct fold *fold, const struct fold_segment *segment,
		       struct fold_result *ret_result)
{
	cleanup(fold_units_done) struct fold_units text;
	int r = 0;

	fold_units_init(&text);
	for (uint32_t i = 0; i < segment->count && r == 0; i++)
		r = fold_units_append(&text, segment->runes[i]);
	if (r == 0)
		r = fold_steps_run(&fold->tools, &text, NULL);
	return r < 0 ? r : to_utf8(&text, ret_result);
}

void fold_result_done(struct fold_result *result)
{
	if (result->text != result->space)
		free(result->text);
	result->text = NULL;
}

unsigned int fold_decode(const uint8_t *text, uint32_t *ret_rune)
{
	unsigned int len = utf8_length(text[0]);
	static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t rune = text[0] & masks[len];

	for (unsigned int i = 1; i < len; i++)
		rune = rune << 6 | (text[i] & 0x3f);
	*ret_rune = rune;
	return len;
}

/* Folds the segment and appends it to what *text holds. */
static int append_segment(const struct fold *fold, struct fold_segment *segment, uint8_t **text,
			  size_t *len)
{
	cleanup(fold_result_done) struct fold_result result = {0};
	uint8_t *grown;
	int r;

	if (segment->count == 0)
		return 0;
	r = fold_segment_apply(fold, segment, &result);
	if (r < 0)
		return r;
	grown = realloc(*text, *len + result.len + 1);
	if (!grown)
		return -ENOMEM;
	memcpy(grown + *len, result.text, result.len);
	*text = grown;
	*len += result.len;
	fold_segment_clear(segment);
	return 0;
}

static int fold_all(const struct fold *fold, const uint8_t *text, size_t len,
		    struct fold_segment *segment, uint8_t **folded, size_t *folded_len)
{
	size_t at = 0;
	int r = 0;

	while (at < len && r == 0) {
		uint32_t rune;
		int64_t entry;

		at += fold_decode(text + at, &rune);
		entry = fold_rune(fold, rune);
		if (entry < 0)
			return (int)entry;
		if (entry & FOLD_BEFORE)
			r = append_segment(fold, segment, folded, folded_len);
		if (r == 0)
			r = fold_segment_push(segment, rune, (uint32_t)entry);
		if (r == 0 && (entry & FOLD_ALONE))
			r = append_segment(fold, segment, folded, folded_len);
	}
	return r < 0 ? r : append_segment(fold, segment, folded, folded_len);
}

int fold_text(const struct fold *fold, const uint8_t *text, size_t len, uint8_t **ret_text,
	      size_t *ret_len)
{
	struct fold_segment segment = {0};
	uint8_t *folded = NULL;
	size_t folded_len = 0;
	int r = fold_all(fold, text, len, &segment, &folded, &folded_len);

	fold_segment_done(&segment);
	if (r < 0) {
		free(folded);
		return r;
	}
	*ret_text = folded;
	*ret_len = folded_len;
	return 0;
}
