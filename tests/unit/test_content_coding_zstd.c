/* SPDX-License-Identifier: Apache-2.0 */
/* zstd: frames written by hand, and what no decoder would give out refused in each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/macros.h"
#include "unit/coded.h"

#define MAGIC	  "\x28\xb5\x2f\xfd"
#define WINDOW_1K "\x00\x00"   /* no size and no check sum, and a window of 1 KiB */
#define LAST_AB	  "\x11\0\0ab" /* the last block: two bytes as they are */
#define AB	  "\x10\0\0ab"

struct frame {
	const char *bytes;
	size_t len;
	const char *body; /* what is given out */
	enum fault fault;
};

#define FRAME(bytes, body, fault)                             \
	{                                                     \
		bytes, sizeof(bytes) - 1, body, FAULT_##fault \
	}

static void check_frames(const struct frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct coded_bytes packed = {.data = (uint8_t *)(uintptr_t)frames[i].bytes,
					     .len = frames[i].len};
		struct coded_outcome outcome;

		coded_check_cuts(CODING_ZSTD, &packed, false, &outcome);
		if (outcome.fault != frames[i].fault)
			print_message("frame %zu\n", i);
		assert_string_equal(fault_name(outcome.fault), fault_name(frames[i].fault));
		assert_int_equal(outcome.body.len, strlen(frames[i].body));
		if (outcome.body.len)
			assert_memory_equal(outcome.body.data, frames[i].body, outcome.body.len);
		coded_outcome_done(&outcome);
	}
}

static void headers(void **state)
{
	static const struct frame frames[] = {
		FRAME(MAGIC WINDOW_1K LAST_AB, "ab", NONE),
		FRAME(MAGIC WINDOW_1K AB LAST_AB MAGIC WINDOW_1K LAST_AB, "ababab", NONE),
		FRAME(MAGIC WINDOW_1K AB "\1\0\0", "ab", NONE),
		FRAME(MAGIC "\0\x68" LAST_AB, "ab", NONE),	 /* 8 MiB */
		FRAME(MAGIC "\0\x69" LAST_AB, "", BAD_ENCODING), /* and an eighth of it more */
		FRAME(MAGIC "\0\xff" LAST_AB, "", BAD_ENCODING),
		/* Sizes of one, two, four and eight bytes. */
		FRAME(MAGIC "\x20\2" LAST_AB, "ab", NONE),
		FRAME(MAGIC "\x20\3" LAST_AB, "a", BAD_ENCODING),
		FRAME(MAGIC "\x20\1" LAST_AB, "", BAD_ENCODING),
		FRAME(MAGIC "\x40\0\2\0" LAST_AB, "a", BAD_ENCODING), /* 258 */
		FRAME(MAGIC "\x80\0\2\0\0\0" LAST_AB, "ab", NONE),
		FRAME(MAGIC "\xa0\2\0\0\0" LAST_AB, "ab", NONE),
		FRAME(MAGIC "\xe0\2\0\0\0\0\0\0\0" LAST_AB, "ab", NONE),
		FRAME(MAGIC "\xe0\2\0\0\0\0\0\0\1" LAST_AB, "", BAD_ENCODING),
		FRAME(MAGIC "\xa0\1\0\x80\0" LAST_AB, "", BAD_ENCODING), /* 8 MiB and a byte */
		FRAME(MAGIC "\xa0\0\0\x80\0" AB, "ab", TRUNCATED),
		/* Bits without a meaning, and reserved. */
		FRAME(MAGIC "\x10\0" LAST_AB, "", BAD_ENCODING),
		FRAME(MAGIC "\x08\0" LAST_AB, "", BAD_ENCODING),
		/* A check sum, that of nothing, and a wrong one. */
		FRAME(MAGIC "\x24\0\1\0\0\x99\xe9\xd8\x51", "", NONE),
		FRAME(MAGIC "\x24\0\1\0\0\x99\xe9\xd8\x52", "", BAD_ENCODING),
		FRAME(MAGIC "\x24\0\1\0\0\x99\xe9\xd8", "", TRUNCATED),
	};

	(void)state;
	check_frames(frames, ARRAY_SIZE(frames));
}

/* An id of none is there or not; of any other it is never there. */
static void dictionaries_are_refused(void **state)
{
	static const struct frame frames[] = {
		FRAME(MAGIC "\1\0\0" LAST_AB, "ab", NONE),
		FRAME(MAGIC "\2\0\0\0" LAST_AB, "ab", NONE),
		FRAME(MAGIC "\3\0\0\0\0\0" LAST_AB, "ab", NONE),
		FRAME(MAGIC "\x21\0\2" LAST_AB, "ab", NONE),
		FRAME(MAGIC "\1\0\1" LAST_AB, "", BAD_ENCODING),
		FRAME(MAGIC "\2\0\0\1" LAST_AB, "", BAD_ENCODING),
		FRAME(MAGIC "\3\0bomb" LAST_AB, "", BAD_ENCODING),
		FRAME(MAGIC "\3\0\0\0\0\1", "", BAD_ENCODING),
		FRAME(MAGIC WINDOW_1K LAST_AB MAGIC "\1\0\1" LAST_AB, "ab", BAD_ENCODING),
	};
	/* One without an id that was used all the same: the body refers to what is not there. */
	ZSTD_CCtx *context = ZSTD_createCCtx();
	struct coded_bytes words = {.data = NULL}, dictionary = {.data = NULL};
	struct coded_outcome outcome;
	uint8_t buffer[256];
	struct coded_bytes packed = {.data = buffer};

	(void)state;
	check_frames(frames, ARRAY_SIZE(frames));
	assert_non_null(context);
	coded_content(CODED_NOISE, 1000, &words);
	coded_content(CODED_NOISE, 1000, &dictionary);
	packed.len = ZSTD_compress_usingDict(context, buffer, sizeof(buffer), words.data, words.len,
					     dictionary.data, dictionary.len, 3);
	ZSTD_freeCCtx(context);
	assert_false(ZSTD_isError(packed.len));
	coded_check_cuts(CODING_ZSTD, &packed, false, &outcome);
	assert_int_equal(outcome.fault, FAULT_BAD_ENCODING);
	assert_int_equal(outcome.body.len, 0);
	coded_outcome_done(&outcome);
	coded_bytes_done(&words);
	coded_bytes_done(&dictionary);
}

static void blocks(void **state)
{
	static const struct frame frames[] = {
		FRAME(MAGIC WINDOW_1K "\0\0\0\0\0\0\1\0\0", "", NONE),
		FRAME(MAGIC WINDOW_1K "\x23\0\0x", "xxxx", NONE),
		FRAME(MAGIC WINDOW_1K "\x22\0\0x" AB "\x23\0\0", "xxxxab", TRUNCATED),
		/* A byte that is repeated no time. */
		FRAME(MAGIC WINDOW_1K AB "\2\0\0b\2\0\0o\2\0\0m\2\0\0b" LAST_AB, "ab",
		      BAD_ENCODING),
		/* Reserved, and longer than the window. */
		FRAME(MAGIC WINDOW_1K "\7\0\0", "", BAD_ENCODING),
		FRAME(MAGIC WINDOW_1K "\1\x21\0a", "", BAD_ENCODING),
		FRAME(MAGIC WINDOW_1K "\3\x21\0a", "", BAD_ENCODING),
		FRAME(MAGIC WINDOW_1K "\5\x21\0a", "", BAD_ENCODING),
		/* Compressed: literals as they are, or one of them repeated; no sequences. */
		FRAME(MAGIC WINDOW_1K "\x25\0\0\x10pq\0", "pq", NONE),
		FRAME(MAGIC WINDOW_1K "\x1d\0\0\x19p\0", "ppp", NONE),
		FRAME(MAGIC WINDOW_1K "\x25\0\0\x35\0p\0", "ppp", NONE),
		FRAME(MAGIC WINDOW_1K "\x2d\0\0\x3d\0\0p\0", "ppp", NONE),
		FRAME(MAGIC WINDOW_1K "\x15\0\0\0\0", "", NONE),
		/* No literals, and a byte to repeat all the same. */
		FRAME(MAGIC WINDOW_1K "\x1d\0\0\1p\0", "", BAD_ENCODING),
		FRAME(MAGIC WINDOW_1K "\x1d\0\0\x09p\0", "p", NONE),
		FRAME(MAGIC WINDOW_1K "\x25\0\0\5\0p\0", "", BAD_ENCODING),
		FRAME(MAGIC WINDOW_1K "\x2d\0\0\x0d\0\0p\0", "", BAD_ENCODING),
		/* Or a code for them, or the one before. */
		FRAME(MAGIC WINDOW_1K "\x2d\0\0\2\x40\0pq", "", BAD_ENCODING),
		FRAME(MAGIC WINDOW_1K "\x2d\0\0\x0e\0\xfcpq", "", BAD_ENCODING),
		FRAME(MAGIC WINDOW_1K "\x2d\0\0\3\x40\0pq", "", BAD_ENCODING),
		/* Bytes behind what it says, and too few of them. */
		FRAME(MAGIC WINDOW_1K "\x2d\0\0\x10pq\0x", "", BAD_ENCODING),
		FRAME(MAGIC WINDOW_1K "\x1d\0\0\x10pq", "", BAD_ENCODING),
		FRAME(MAGIC WINDOW_1K "\x0d\0\0\0", "", BAD_ENCODING),
	};

	(void)state;
	check_frames(frames, ARRAY_SIZE(frames));
}

/* Before, between and behind frames: skippable ones, and those of formats of the past. */
static void other_frames_are_refused(void **state)
{
	static const char frame[] = MAGIC WINDOW_1K LAST_AB;

	(void)state;
	for (unsigned int i = 0; i < 24; i++) {
		uint8_t skippable[] = {0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 'b', 'o', 'm', 'b'};
		uint8_t past[] = {0x20, 0xb5, 0x2f, 0xfd, 0, 0};

		skippable[0] = (uint8_t)(skippable[0] + i % 16);
		past[0] = (uint8_t)(past[0] + i % 8);
		for (size_t before = 0; before < 3; before++) {
			struct coded_bytes packed = {.data = NULL};
			struct coded_outcome outcome;

			for (size_t j = 0; j < before; j++)
				coded_bytes_add(&packed, frame, sizeof(frame) - 1);
			coded_bytes_add(&packed, i < 16 ? skippable : past,
					i < 16 ? sizeof(skippable) : sizeof(past));
			coded_bytes_add(&packed, frame, sizeof(frame) - 1);
			coded_check_cuts(CODING_ZSTD, &packed, false, &outcome);
			assert_int_equal(outcome.fault, FAULT_BAD_ENCODING);
			assert_int_equal(outcome.body.len, 2 * before);
			coded_outcome_done(&outcome);
			coded_bytes_done(&packed);
		}
	}
}

/* Bytes as they are come at once, and may leave; others are held until their block is whole. */
static void blocks_are_held_until_they_are_whole(void **state)
{
	static const char bytes[] = MAGIC WINDOW_1K AB "\x24\0\0\x10pq\0"
						       "\x22\0\0x" LAST_AB;
	static const char holds[] = "HHHHH."  /* the header of the frame */
				    "HH..."   /* bytes as they are */
				    "HHHHHH." /* compressed */
				    "HHH."    /* repeated */
				    "HH...";
	static const uint8_t given[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2,
					2, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 9, 10};
	struct coded_outcome outcome = {.fault = FAULT_NONE};
	struct decoder *decoder = NULL;

	(void)state;
	assert_int_equal(sizeof(holds), sizeof(bytes));
	assert_int_equal(sizeof(given), sizeof(bytes) - 1);
	assert_int_equal(decoder_new(CODING_ZSTD, &decoder), 0);
	assert_false(decoder_holds(decoder));
	for (size_t i = 0; i < sizeof(bytes) - 1; i++) {
		assert_int_equal(coded_feed(decoder, (const uint8_t *)bytes + i, 1, &outcome),
				 FAULT_NONE);
		assert_int_equal(decoder_holds(decoder), holds[i] == 'H');
		assert_int_equal(outcome.body.len, given[i]);
	}
	assert_int_equal(decoder_end(decoder), FAULT_NONE);
	decoder_free(decoder);
	coded_outcome_done(&outcome);
}

static void the_largest_window_is_counted(void **state)
{
	static const char bytes[] = MAGIC "\0\x68" AB;
	struct coded_outcome outcome = {.fault = FAULT_NONE};
	struct decoder *decoder = NULL;

	(void)state;
	assert_int_equal(decoder_new(CODING_ZSTD, &decoder), 0);
	assert_true(decoder_memory(decoder) < 256 << 10);
	assert_int_equal(coded_feed(decoder, (const uint8_t *)bytes, sizeof(bytes) - 1, &outcome),
			 FAULT_NONE);
	assert_int_equal(outcome.body.len, 2);
	assert_in_range(decoder_memory(decoder), 8 << 20, 9 << 20);
	decoder_free(decoder);
	coded_outcome_done(&outcome);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers),
		cmocka_unit_test(dictionaries_are_refused),
		cmocka_unit_test(blocks),
		cmocka_unit_test(other_frames_are_refused),
		cmocka_unit_test(blocks_are_held_until_they_are_whole),
		cmocka_unit_test(the_largest_window_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
