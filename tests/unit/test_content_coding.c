/* SPDX-License-Identifier: Apache-2.0 */
/* Content codings undone: what is packed comes out in every cut; what is broken does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/allocation.h"
#include "unit/coded.h"

static void every_level_and_format_round_trips(void **state)
{
	static const struct coded_cuts cuts[] = {
		{SIZE_MAX, SIZE_MAX, false}, {1, 1, false}, {2, 7, false}, {1, 5000, false}};

	(void)state;
	for (int content = 0; content < _CODED_CONTENT_MAX; content++) {
		struct coded_outcome plain = {.fault = FAULT_NONE};

		coded_content((enum coded_content)content, content == CODED_ZEROS ? 300000 : 40000,
			      &plain.body);
		for (int format = 0; format < _CODED_FORMAT_MAX; format++) {
			for (int level = 0; level <= 9; level++) {
				struct coded_packing packing = {.format = (enum coded_format)format,
								.level = level};
				struct coded_bytes packed = {.data = NULL};

				coded_pack(&packing, plain.body.data, plain.body.len, &packed);
				for (size_t i = 0; i < ARRAY_SIZE(cuts); i++)
					coded_check_cut(coded_coding((enum coded_format)format),
							&packed, &cuts[i], &plain);
				coded_bytes_done(&packed);
			}
		}
		coded_outcome_done(&plain);
	}
}

static void a_small_body_in_every_cut(void **state)
{
	(void)state;
	for (int format = 0; format < _CODED_FORMAT_MAX; format++) {
		for (int content = 0; content < _CODED_CONTENT_MAX; content++) {
			struct coded_bytes plain = {.data = NULL}, packed = {.data = NULL};
			struct coded_outcome outcome;

			coded_content((enum coded_content)content, 400, &plain);
			coded_pack_simply((enum coded_format)format, plain.data, plain.len,
					  &packed);
			coded_check_cuts(coded_coding((enum coded_format)format), &packed, false,
					 &outcome);
			assert_int_equal(outcome.fault, FAULT_NONE);
			coded_assert_bytes(&outcome.body, &plain);
			coded_bytes_done(&plain);
			coded_bytes_done(&packed);
			coded_outcome_done(&outcome);
		}
	}
}

/* What the sender flushed comes out before any later byte does, and nothing is held. */
static void check_flushes(enum coded_format format, int flush, const struct coded_bytes *plain,
			  size_t part)
{
	size_t parts = plain->len / part, at = 0, flushed[64];
	const struct coded_packing packing = {
		.format = format, .level = 6, .flush = flush, .part = part, .flushed = flushed};
	struct coded_bytes packed = {.data = NULL};
	struct coded_outcome outcome = {.fault = FAULT_NONE};
	struct decoder *decoder = NULL;

	coded_pack(&packing, plain->data, plain->len, &packed);
	assert_int_equal(decoder_new(coded_coding(format), &decoder), 0);
	for (size_t i = 0; i < parts - 1; i++) {
		assert_int_equal(coded_feed(decoder, packed.data + at, flushed[i] - at, &outcome),
				 FAULT_NONE);
		assert_false(decoder_holds(decoder));
		assert_int_equal(outcome.body.len, (i + 1) * part);
		assert_memory_equal(outcome.body.data, plain->data, outcome.body.len);
		at = flushed[i];
	}
	assert_int_equal(decoder_end(decoder), FAULT_TRUNCATED);
	decoder_free(decoder);
	coded_outcome_done(&outcome);
	coded_bytes_done(&packed);
}

static void a_flush_gives_out_what_came_before(void **state)
{
	static const int flushes[] = {Z_SYNC_FLUSH, Z_PARTIAL_FLUSH, Z_FULL_FLUSH};
	const size_t part = 61, parts = 40;
	struct coded_bytes plain = {.data = NULL};

	(void)state;
	coded_content(CODED_TEXT, part * parts, &plain);
	plain.len = part * parts;
	for (int format = 0; format < _CODED_FORMAT_MAX; format++)
		for (size_t i = 0; i < (format < _CODED_ZLIB_MAX ? ARRAY_SIZE(flushes) : 1); i++)
			check_flushes((enum coded_format)format, flushes[i], &plain, part);
	coded_bytes_done(&plain);
}

static void flushed_bodies_round_trip(void **state)
{
	static const struct coded_cuts cuts[] = {
		{SIZE_MAX, SIZE_MAX, false}, {1, 1, false}, {3, 64, false}};
	struct coded_outcome plain = {.fault = FAULT_NONE};

	(void)state;
	coded_content(CODED_TEXT, 20000, &plain.body);
	for (int format = 0; format < _CODED_FORMAT_MAX; format++) {
		for (size_t part = 1; part < 4000; part = 5 * part + 2) {
			struct coded_packing packing = {.format = (enum coded_format)format,
							.level = 6,
							.flush = Z_SYNC_FLUSH,
							.part = part};
			struct coded_bytes packed = {.data = NULL};

			coded_pack(&packing, plain.body.data, plain.body.len, &packed);
			for (size_t i = 0; i < ARRAY_SIZE(cuts); i++)
				coded_check_cut(coded_coding((enum coded_format)format), &packed,
						&cuts[i], &plain);
			coded_bytes_done(&packed);
		}
	}
	coded_outcome_done(&plain);
}

/* Three members, or frames, the second of them empty; ends[] are theirs. */
static void pack_members(enum coded_format format, struct coded_bytes *plain,
			 struct coded_bytes *packed, size_t ends[3])
{
	coded_content(CODED_TEXT, 150, plain);
	coded_pack_simply(format, plain->data, 100, packed);
	ends[0] = packed->len;
	coded_pack_simply(format, "", 0, packed);
	ends[1] = packed->len;
	coded_pack_simply(format, plain->data + 100, plain->len - 100, packed);
	ends[2] = packed->len;
}

static const enum coded_format many[] = {CODED_GZIP, CODED_ZSTD, CODED_ZSTD_UNCHECKED};

static void there_may_be_many_members(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		struct coded_bytes plain = {.data = NULL}, packed = {.data = NULL};
		struct coded_outcome outcome;
		size_t ends[3];

		pack_members(many[i], &plain, &packed, ends);
		coded_check_cuts(coded_coding(many[i]), &packed, false, &outcome);
		assert_int_equal(outcome.fault, FAULT_NONE);
		coded_assert_bytes(&outcome.body, &plain);
		coded_bytes_done(&plain);
		coded_bytes_done(&packed);
		coded_outcome_done(&outcome);
	}
}

/* Each beginning is truncated, but for those at a member's end, and gives a beginning. */
static void check_beginnings(enum coded_format format, const struct coded_bytes *plain,
			     const struct coded_bytes *packed, const size_t ends[3])
{
	for (size_t len = 0; len <= packed->len; len++) {
		struct coded_bytes beginning = {.data = packed->data, .len = len};
		bool whole = !len || len == ends[0] || len == ends[1] || len == ends[2];
		struct coded_outcome outcome;

		coded_check_cuts(coded_coding(format), &beginning, false, &outcome);
		assert_int_equal(outcome.fault, whole ? FAULT_NONE : FAULT_TRUNCATED);
		assert_true(outcome.body.len <= plain->len);
		if (outcome.body.len)
			assert_memory_equal(outcome.body.data, plain->data, outcome.body.len);
		if (len == packed->len)
			assert_int_equal(outcome.body.len, plain->len);
		coded_outcome_done(&outcome);
	}
}

static void a_body_cut_short_is_truncated(void **state)
{
	struct coded_bytes plain = {.data = NULL}, packed = {.data = NULL};
	size_t ends[3] = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		plain.len = packed.len = 0;
		pack_members(many[i], &plain, &packed, ends);
		check_beginnings(many[i], &plain, &packed, ends);
	}
	for (int i = 0; i < 2 * _CODED_FORMAT_MAX; i++) {
		enum coded_format format = (enum coded_format)(i / 2);

		/* Zeros are more than one piece of output holds, within few bytes. */
		plain.len = packed.len = 0;
		coded_content(i % 2 ? CODED_ZEROS : CODED_TEXT, i % 2 ? 20000 : 200, &plain);
		coded_pack_simply(format, plain.data, plain.len, &packed);
		ends[0] = ends[1] = ends[2] = packed.len;
		check_beginnings(format, &plain, &packed, ends);
	}
	coded_bytes_done(&plain);
	coded_bytes_done(&packed);
}

static void check_behind(enum coded_format format, const void *behind, size_t len, enum fault fault)
{
	struct coded_bytes packed = {.data = NULL};
	struct coded_outcome outcome;

	coded_pack_simply(format, "whole", 5, &packed);
	coded_bytes_add(&packed, behind, len);
	coded_check_cuts(coded_coding((enum coded_format)format), &packed, false, &outcome);
	assert_string_equal(fault_name(outcome.fault), fault_name(fault));
	assert_int_equal(outcome.body.len, 5);
	assert_memory_equal(outcome.body.data, "whole", 5);
	coded_bytes_done(&packed);
	coded_outcome_done(&outcome);
}

static void bytes_behind_the_end_are_refused(void **state)
{
	/* Where another member, or frame, may begin. */
	static const unsigned int first[_CODED_FORMAT_MAX] = {
		[CODED_GZIP] = 0x1f,  [CODED_ZLIB] = 256,  [CODED_RAW] = 256,
		[CODED_BROTLI] = 256, [CODED_ZSTD] = 0x28, [CODED_ZSTD_UNCHECKED] = 0x28,
	};

	(void)state;
	for (int format = 0; format < _CODED_FORMAT_MAX; format++) {
		for (unsigned int byte = 0; byte < 256; byte++) {
			uint8_t behind[2] = {(uint8_t)byte, 'x'};
			bool begins = byte == first[format];

			check_behind((enum coded_format)format, behind, 1,
				     begins ? FAULT_TRUNCATED : FAULT_BAD_ENCODING);
			check_behind((enum coded_format)format, behind, 2, FAULT_BAD_ENCODING);
		}
	}
	check_behind(CODED_GZIP, "\x1f\x8b\x07\x00", 4, FAULT_BAD_ENCODING);
	check_behind(CODED_GZIP, "\x1f\x8b\x08\xe0", 4, FAULT_BAD_ENCODING); /* reserved flags */
	check_behind(CODED_GZIP, "\x1f\x8b\x08", 3, FAULT_TRUNCATED);
}

/*
 * With any bit turned the outcome is the same in any cut, and with a checksum the body
 * is the right one wherever nothing was found broken.
 */
static void a_broken_bit_is_never_another_body(void **state)
{
	static const bool checked[_CODED_FORMAT_MAX] = {
		[CODED_GZIP] = true, [CODED_ZLIB] = true, [CODED_ZSTD] = true};

	(void)state;
	for (int format = 0; format < _CODED_FORMAT_MAX; format++) {
		struct coded_bytes plain = {.data = NULL}, packed = {.data = NULL};
		size_t broken = 0;

		coded_content(CODED_TEXT, 300, &plain);
		coded_pack_simply((enum coded_format)format, plain.data, plain.len, &packed);
		for (size_t bit = 0; bit < 8 * packed.len; bit++) {
			struct coded_cuts cuts = {SIZE_MAX, SIZE_MAX, true};
			struct coded_outcome outcome;

			packed.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
			coded_undo(coded_coding((enum coded_format)format), &packed, &cuts,
				   &outcome);
			if (checked[format] && bit >= 16 && !outcome.fault)
				coded_assert_bytes(&outcome.body, &plain);
			broken += outcome.fault != FAULT_NONE;
			cuts = (struct coded_cuts){1, 1, true};
			coded_check_cut(coded_coding((enum coded_format)format), &packed, &cuts,
					&outcome);
			cuts = (struct coded_cuts){bit / 8, 13, true};
			coded_check_cut(coded_coding((enum coded_format)format), &packed, &cuts,
					&outcome);
			coded_outcome_done(&outcome);
			packed.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		assert_true(broken > packed.len);
		coded_bytes_done(&plain);
		coded_bytes_done(&packed);
	}
}

static void check_bad(enum content_coding coding, const void *data, size_t len)
{
	struct coded_bytes packed = {.data = (uint8_t *)(uintptr_t)data, .len = len};
	struct coded_outcome outcome;

	coded_check_cuts(coding, &packed, false, &outcome);
	assert_int_equal(outcome.fault, FAULT_BAD_ENCODING);
	assert_int_equal(outcome.body.len, 0);
	coded_outcome_done(&outcome);
}

static void what_is_not_the_coding_is_refused(void **state)
{
	(void)state;
	check_bad(CODING_GZIP, "{\"a\":1}", 7);
	check_bad(CODING_GZIP, "\x1f\x9d", 2);
	check_bad(CODING_DEFLATE, "id: 1\n\n", 7); /* a stored block, were its lengths right */
	/* A preset dictionary, which nobody agreed on. */
	check_bad(CODING_DEFLATE, "\x78\xbb\x00\x00\x00\x01", 6);
	check_bad(CODING_BROTLI, "\x11\x03", 2); /* a window that there is not */
	check_bad(CODING_ZSTD, "{\"a\":1}", 7);
}

/* Some are so alike that only the end tells. */
static void one_coding_is_not_taken_for_another(void **state)
{
	struct coded_bytes packed = {.data = NULL};
	struct coded_outcome outcome;

	(void)state;
	for (int format = 0; format < _CODED_FORMAT_MAX; format++) {
		packed.len = 0;
		coded_pack_simply((enum coded_format)format, "abc", 3, &packed);
		for (int coding = CODING_GZIP; coding < _CODING_MAX; coding++)
			if (coding != (int)coded_coding((enum coded_format)format)) {
				coded_check_cuts((enum content_coding)coding, &packed, false,
						 &outcome);
				assert_int_not_equal(outcome.fault, FAULT_NONE);
				coded_outcome_done(&outcome);
			}
	}
	coded_bytes_done(&packed);
}

static void what_cannot_be_made(void **state)
{
	struct decoder *decoder = NULL;

	(void)state;
	assert_int_equal(decoder_new(CODING_IDENTITY, &decoder), -EINVAL);
	assert_int_equal(decoder_new(_CODING_MAX, &decoder), -EINVAL);
	for (int coding = CODING_GZIP; coding < _CODING_MAX; coding++) {
		for (unsigned long i = 0;; i++) {
			int r;

			allocation_fail_at(i);
			r = decoder_new((enum content_coding)coding, &decoder);
			if (!allocation_failed()) {
				assert_int_equal(r, 0);
				assert_true(i > 1);
				break;
			}
			assert_int_equal(r, -ENOMEM);
			assert_null(decoder);
		}
		decoder_free(decoder);
		decoder = NULL;
	}
	decoder_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_level_and_format_round_trips),
		cmocka_unit_test(a_small_body_in_every_cut),
		cmocka_unit_test(a_flush_gives_out_what_came_before),
		cmocka_unit_test(flushed_bodies_round_trip),
		cmocka_unit_test(there_may_be_many_members),
		cmocka_unit_test(a_body_cut_short_is_truncated),
		cmocka_unit_test(bytes_behind_the_end_are_refused),
		cmocka_unit_test(a_broken_bit_is_never_another_body),
		cmocka_unit_test(what_is_not_the_coding_is_refused),
		cmocka_unit_test(one_coding_is_not_taken_for_another),
		cmocka_unit_test(what_cannot_be_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
