/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fold_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/ustring.h>

#include "core/terms.h"

static int icu_error(UErrorCode status)
{
	if (U_SUCCESS(status))
		return 0;
	return status == U_MEMORY_ALLOCATION_ERROR ? -ENOMEM : -EIO;
}

int fold_tools_init(struct fold_tools *tools, unsigned int steps)
{
	UErrorCode status = U_ZERO_ERROR;

	*tools = (struct fold_tools){.steps = steps};
	tools->nfd = unorm2_getNFDInstance(&status);
	tools->nfc = unorm2_getNFCInstance(&status);
	tools->nfkc = unorm2_getNFKCInstance(&status);
	if (steps & TERMS_FOLD_CONFUSABLE)
		tools->spoof = uspoof_open(&status);
	return icu_error(status);
}

void fold_tools_done(struct fold_tools *tools)
{
	if (tools->spoof)
		uspoof_close(tools->spoof);
	tools->spoof = NULL;
}

void fold_units_init(struct fold_units *units)
{
	units->units = units->space;
	units->len = 0;
	units->capacity = FOLD_SPACE;
}

void fold_units_done(struct fold_units *units)
{
	if (units->units != units->space)
		free(units->units);
	fold_units_init(units);
}

/* Segments are short and steps lengthen them by a constant factor: no sum here wraps. */
static int reserve(struct fold_units *units, int32_t capacity)
{
	UChar *grown;

	if (capacity <= units->capacity)
		return 0;
	grown = malloc((size_t)capacity * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memcpy(grown, units->units, (size_t)units->len * sizeof(*grown));
	if (units->units != units->space)
		free(units->units);
	units->units = grown;
	units->capacity = capacity;
	return 0;
}

int fold_units_append(struct fold_units *units, int32_t rune)
{
	int r = 0;

	if (units->capacity - units->len < U16_MAX_LENGTH)
		r = reserve(units, 2 * units->capacity);
	if (r < 0)
		return r;
	U16_APPEND_UNSAFE(units->units, units->len, rune);
	return 0;
}

/* No decomposition is longer than FOLD_SPACE. */
void fold_tools_decompose(const struct fold_tools *tools, uint32_t rune,
			  struct fold_units *ret_parts)
{
	UErrorCode status = U_ZERO_ERROR;
	int32_t len = unorm2_getDecomposition(tools->nfd, (UChar32)rune, ret_parts->units,
					      ret_parts->capacity, &status);

	ret_parts->len = U_SUCCESS(status) && len > 0 ? len : 0;
}

/* Writes the step's form of in to out; as ICU's functions, answers the length it needs. */
typedef int32_t (*transform_fn)(const struct fold_tools *tools, const UChar *in, int32_t len,
				UChar *out, int32_t capacity, UErrorCode *status);
typedef bool (*drop_fn)(UChar32 rune);
typedef const UNormalizer2 *(*joins_fn)(const struct fold_tools *tools);

static const UNormalizer2 *joins_nfd(const struct fold_tools *tools)
{
	return tools->nfd;
}

static const UNormalizer2 *joins_nfc(const struct fold_tools *tools)
{
	return tools->nfc;
}

static const UNormalizer2 *joins_nfkc(const struct fold_tools *tools)
{
	return tools->nfkc;
}

static int32_t to_casefold(const struct fold_tools *tools, const UChar *in, int32_t len, UChar *out,
			   int32_t capacity, UErrorCode *status)
{
	(void)tools;
	return u_strFoldCase(out, capacity, in, len, U_FOLD_CASE_DEFAULT, status);
}

static int32_t to_skeleton(const struct fold_tools *tools, const UChar *in, int32_t len, UChar *out,
			   int32_t capacity, UErrorCode *status)
{
	return uspoof_getSkeleton(tools->spoof, /* type= */ 0, in, len, out, capacity, status);
}

static bool is_ignorable(UChar32 rune)
{
	return u_hasBinaryProperty(rune, UCHAR_DEFAULT_IGNORABLE_CODE_POINT);
}

static bool is_nonspacing(UChar32 rune)
{
	return u_charType(rune) == U_NON_SPACING_MARK;
}

struct step {
	unsigned int steps; /* done for any of these */
	joins_fn joins;	    /* normalizes, which joins runes */
	transform_fn transform;
	drop_fn drop;
};

/*
 * The skeleton is UTS #39's: decomposed, without ignorable runes, each replaced
 * by its prototype, decomposed again.
 */
static const struct step steps_in_order[] = {
	{.steps = TERMS_FOLD_CONFUSABLE, .joins = joins_nfd},
	{.steps = TERMS_FOLD_CONFUSABLE, .drop = is_ignorable},
	{.steps = TERMS_FOLD_CONFUSABLE, .transform = to_skeleton},
	{.steps = TERMS_FOLD_CONFUSABLE, .joins = joins_nfd},
	{.steps = TERMS_FOLD_NFKC, .joins = joins_nfkc},
	{.steps = TERMS_FOLD_CASEFOLD, .transform = to_casefold},
	{.steps = TERMS_FOLD_NFKC, .joins = joins_nfkc},
	{.steps = TERMS_FOLD_NFC, .joins = joins_nfc},
	{.steps = TERMS_FOLD_IGNORABLE, .drop = is_ignorable},
	{.steps = TERMS_FOLD_STRIP_MN, .joins = joins_nfd},
	{.steps = TERMS_FOLD_STRIP_MN, .drop = is_nonspacing},
};

static void drop_runes(struct fold_units *text, drop_fn drop)
{
	int32_t at = 0, kept = 0;

	while (at < text->len) {
		int32_t start = at;
		uint32_t rune = fold_units_next(text, &at);

		if (drop((UChar32)rune))
			continue;
		memmove(text->units + kept, text->units + start,
			(size_t)(at - start) * sizeof(*text->units));
		kept += at - start;
	}
	text->len = kept;
}

/* Replaces text by its transformed form. */
static int transform(const struct fold_tools *tools, const struct step *step,
		     struct fold_units *text)
{
	cleanup(fold_units_done) struct fold_units out;
	UErrorCode status;
	int32_t len;
	int r;

	fold_units_init(&out);
	do {
		status = U_ZERO_ERROR;
		if (step->joins)
			len = unorm2_normalize(step->joins(tools), text->units, text->len,
					       out.units, out.capacity, &status);
		else
			len = step->transform(tools, text->units, text->len, out.units,
					      out.capacity, &status);
		r = status == U_BUFFER_OVERFLOW_ERROR ? reserve(&out, len) : icu_error(status);
		if (r < 0)
			return r;
	} while (status == U_BUFFER_OVERFLOW_ERROR);
	r = reserve(text, len);
	if (r < 0)
		return r;
	memcpy(text->units, out.units, (size_t)len * sizeof(*text->units));
	text->len = len;
	return 0;
}

static void look_at_edges(const UNormalizer2 *joins, const struct fold_units *text,
			  struct fold_edges *edges)
{
	int32_t begin = 0, last;
	uint32_t rune;

	if (text->len == 0) {
		edges->clear = edges->before && edges->after;
		edges->dropped = true;
		edges->before = edges->after = false;
		return;
	}
	rune = fold_units_next(text, &begin);
	edges->before = edges->before && unorm2_hasBoundaryBefore(joins, (UChar32)rune);
	last = text->len - (U16_IS_TRAIL(text->units[text->len - 1]) ? 2 : 1);
	rune = fold_units_next(text, &last);
	edges->after = edges->after && unorm2_hasBoundaryAfter(joins, (UChar32)rune);
}

int fold_steps_run(const struct fold_tools *tools, struct fold_units *text,
		   struct fold_edges *ret_edges)
{
	struct fold_edges edges = {.before = true, .after = true};
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(steps_in_order); i++) {
		const struct step *step = &steps_in_order[i];

		if (!(step->steps & tools->steps))
			continue;
		if (step->joins && !edges.dropped)
			look_at_edges(step->joins(tools), text, &edges);
		if (step->drop) {
			drop_runes(text, step->drop);
			continue;
		}
		r = transform(tools, step, text);
		if (r < 0)
			return r;
	}
	if (ret_edges)
		*ret_edges = edges;
	return 0;
}
