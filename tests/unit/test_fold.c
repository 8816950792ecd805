/* SPDX-License-Identifier: Apache-2.0 */
/* Folding in pieces, against ICU's folding of the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>

#include "base/macros.h"
#include "core/fold.h"
#include "core/terms.h"
#include "core/utf8.h"
#include "unit/fold_reference.h"

static struct fold *make_fold(unsigned int steps)
{
	struct fold *fold = NULL;

	assert_int_equal(fold_new(steps, &fold), 0);
	return fold;
}

static void pieces_fold_as_the_whole(void **state)
{
	static uint8_t want[FOLDED_SIZE];
	unsigned int seed = 3;

	(void)state;
	for (unsigned int steps = 1; steps < STEPS_END; steps++) {
		struct fold *fold = make_fold(steps);

		for (unsigned int round = 0; round < 120; round++) {
			struct text text;
			uint8_t *got = NULL;
			size_t len = 0, want_len;

			text_random(&text, TEXT_RUNES, &seed);
			want_len = fold_whole(steps, text.runes, text.count, want);
			assert_int_equal(
				fold_text(fold, text.bytes, text.offsets[text.count], &got, &len),
				0);
			assert_int_equal(len, want_len);
			if (len)
				assert_memory_equal(got, want, len);
			free(got);
		}
		fold_free(fold);
	}
}

/* What skips folding for plain text relies on it. */
static void case_folded_text_has_no_ascii_capitals(void **state)
{
	static const unsigned int sets[] = {TERMS_FOLD_CASEFOLD,
					    TERMS_FOLD_CASEFOLD | TERMS_FOLD_NFKC,
					    TERMS_FOLD_CASEFOLD | TERMS_FOLD_STRIP_MN,
					    TERMS_FOLD_CASEFOLD | TERMS_FOLD_NFKC |
						    TERMS_FOLD_STRIP_MN,
					    TERMS_FOLD_CASEFOLD | TERMS_FOLD_CONFUSABLE,
					    TERMS_FOLD_CASEFOLD | TERMS_FOLD_NFC};

	(void)state;
	for (size_t s = 0; s < ARRAY_SIZE(sets); s++) {
		struct fold *fold = make_fold(sets[s]);

		for (uint32_t rune = 0; rune < 0x110000; rune += rune < 0x3000 ? 1 : 7) {
			uint8_t bytes[UTF8_MAX], *folded = NULL;
			size_t len;

			if (rune >= 0xd800 && rune < 0xe000)
				continue;
			/* Beyond the living scripts only what ICU knows. */
			if (rune > 0x20000 && u_charType((UChar32)rune) == U_UNASSIGNED)
				continue;
			if (rune >= 0x20000 && rune < 0xe0000 && rune % 101)
				continue;
			if (u_charType((UChar32)rune) == U_PRIVATE_USE_CHAR && rune % 101)
				continue;
			assert_int_equal(
				fold_text(fold, bytes, utf8_encode(rune, bytes), &folded, &len), 0);
			for (size_t i = 0; i < len; i++)
				assert_false(folded[i] >= 'A' && folded[i] <= 'Z');
			free(folded);
		}
		fold_free(fold);
	}
}

static void unknown_steps_are_refused(void **state)
{
	struct fold *fold = NULL;

	(void)state;
	assert_int_equal(fold_new(STEPS_END, &fold), -EINVAL);
	assert_null(fold);
	fold_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_fold_as_the_whole),
		cmocka_unit_test(case_folded_text_has_no_ascii_capitals),
		cmocka_unit_test(unknown_steps_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
