/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/fold_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uspoof.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

#include "base/macros.h"
#include "core/fold.h"
#include "core/terms.h"

#define SPACE 8192

/*
 * Runes that compose, reorder, expand, shrink or vanish, in some step, next to some
 * neighbour; the plain ones first, so that they come up more often.
 */
static const uint32_t tricky[] = {
	'a',	 'b',	  'A',	  'B',	   'e',	   'E',	   'i',	    'm',     '0',     ' ',
	'=',	 0xe9,	  0x301,  0x301,   0x327,  0x345,  0x338,   0x316,   0x200b,  0x200d,
	0xad,	 0x34f,	  0xfe0f, 0x3164,  0x115f, 0x1100, 0x1161,  0x11a8,  0xac00,  0xac01,
	0x3131,	 0x314f,  0xffa1, 0xffc2,  0xff76, 0xff9e, 0x30ab,  0x3099,  0x130,   0x131,
	0xdf,	 0x1e9e,  0xfb01, 0xfb03,  0x149,  0x1f0,  0x390,   0x3b1,   0x3c2,   0x3c3,
	0x3a3,	 0x1f80,  0x1fb3, 0x212a,  0x212b, 0x17f,  0xff33,  0xff53,  0x2460,  0xfdfa,
	0x1d165, 0x1d15f, 0x302e, 0x16ff0, 0x9be,  0x9c7,  0x9cb,   0xbc6,   0xbbe,   0x915,
	0x93c,	 0x958,	  0xf71,  0xf72,   0xf77,  0x5d0,  0x5bc,   0xfb2a,  0x627,   0x653,
	0x430,	 0x456,	  0x44c,  0x438,   0x306,  0x4e2d, 0x1f600, 0x1d400, 0xe0001, 0x20000,
};

unsigned int draw(unsigned int *seed, unsigned int below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % below;
}

/* --- The reference: each step over the whole string, by ICU --------------------------------- */

struct string {
	UChar units[SPACE];
	int32_t len;
};

static void normalize(struct string *text, const UNormalizer2 *form)
{
	UErrorCode status = U_ZERO_ERROR;
	struct string out;

	out.len = unorm2_normalize(form, text->units, text->len, out.units, SPACE, &status);
	assert_true(U_SUCCESS(status));
	*text = out;
}

static void drop(struct string *text, bool ignorable)
{
	struct string out = {.len = 0};
	int32_t at = 0;

	while (at < text->len) {
		UChar32 rune;
		bool gone;

		U16_NEXT(text->units, at, text->len, rune);
		gone = ignorable ? u_hasBinaryProperty(rune, UCHAR_DEFAULT_IGNORABLE_CODE_POINT)
				 : u_charType(rune) == U_NON_SPACING_MARK;
		if (!gone)
			U16_APPEND_UNSAFE(out.units, out.len, rune);
	}
	*text = out;
}

static void skeleton(struct string *text, const UNormalizer2 *nfd)
{
	UErrorCode status = U_ZERO_ERROR;
	USpoofChecker *checker = uspoof_open(&status);
	struct string out;

	normalize(text, nfd);
	drop(text, /* ignorable= */ true);
	out.len = uspoof_getSkeleton(checker, 0, text->units, text->len, out.units, SPACE, &status);
	assert_true(U_SUCCESS(status));
	uspoof_close(checker);
	*text = out;
	normalize(text, nfd);
}

size_t fold_whole(unsigned int steps, const uint32_t *runes, unsigned int count, uint8_t *out)
{
	UErrorCode status = U_ZERO_ERROR;
	const UNormalizer2 *nfd = unorm2_getNFDInstance(&status);
	const UNormalizer2 *nfc = unorm2_getNFCInstance(&status);
	const UNormalizer2 *nfkc = unorm2_getNFKCInstance(&status);
	struct string text = {.len = 0}, folded;
	int32_t at = 0, len = 0;

	for (unsigned int i = 0; i < count; i++)
		U16_APPEND_UNSAFE(text.units, text.len, runes[i]);
	if (steps & TERMS_FOLD_CONFUSABLE)
		skeleton(&text, nfd);
	if (steps & TERMS_FOLD_NFKC)
		normalize(&text, nfkc);
	if (steps & TERMS_FOLD_CASEFOLD) {
		folded.len = u_strFoldCase(folded.units, SPACE, text.units, text.len,
					   U_FOLD_CASE_DEFAULT, &status);
		text = folded;
	}
	if (steps & TERMS_FOLD_NFKC)
		normalize(&text, nfkc);
	if (steps & TERMS_FOLD_NFC)
		normalize(&text, nfc);
	if (steps & TERMS_FOLD_IGNORABLE)
		drop(&text, /* ignorable= */ true);
	if (steps & TERMS_FOLD_STRIP_MN) {
		normalize(&text, nfd);
		drop(&text, /* ignorable= */ false);
	}
	assert_true(U_SUCCESS(status));
	while (at < text.len) {
		uint32_t rune;

		U16_NEXT(text.units, at, text.len, rune);
		len += (int32_t)utf8_encode(rune, out + len);
	}
	return (size_t)len;
}

void text_append(struct text *text, uint32_t rune)
{
	size_t at = text->offsets[text->count];

	text->runes[text->count++] = rune;
	text->offsets[text->count] = at + utf8_encode(rune, text->bytes + at);
}

void text_random(struct text *text, unsigned int most, unsigned int *seed)
{
	unsigned int count = draw(seed, most + 1), among = 10 + draw(seed, ARRAY_SIZE(tricky) - 9);

	text->count = 0;
	text->offsets[0] = 0;
	for (unsigned int i = 0; i < count; i++) {
		unsigned int kind = draw(seed, 16);

		if (kind == 0)
			text_append(text, 0xa0 + draw(seed, 0x3000));
		else
			text_append(text, tricky[kind < 4 ? draw(seed, 16) : draw(seed, among)]);
	}
}

struct terms *fold_terms_new(const char *const *list, size_t count, unsigned int steps)
{
	struct terms *terms = NULL;
	size_t bad;

	assert_int_equal(terms_new(list, count, steps, &bad, &terms), 0);
	return terms;
}

bool folds_to_itself(unsigned int steps, const char *term)
{
	struct fold *fold = NULL;
	uint8_t *again = NULL;
	size_t len = 0;
	bool same;

	assert_int_equal(fold_new(steps, &fold), 0);
	assert_int_equal(fold_text(fold, (const uint8_t *)term, strlen(term), &again, &len), 0);
	same = len == strlen(term) && !memcmp(again, term, len);
	free(again);
	fold_free(fold);
	return same;
}
