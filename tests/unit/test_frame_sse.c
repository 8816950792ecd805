/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event streams: lines, fields and blocks against a reference that has the whole
 * stream before it, in every cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/frame_sse.h"
#include "unit/sse_reference.h"

struct run {
	struct frame_sse frame;
	uint8_t payload[512], line[512];
	size_t payload_len, line_len;
	size_t at; /* of the stream */
	size_t data_pieces;
	struct sse_story *story;
};

static void append(uint8_t *buffer, size_t *len, const struct piece *piece)
{
	assert_true(piece->len > 0 && *len + piece->len <= 512);
	memcpy(buffer + *len, piece->data, piece->len);
	*len += piece->len;
}

static void take(struct run *run, const struct piece *piece)
{
	switch (piece->kind) {
	case PIECE_NOTHING:
		break;
	case PIECE_DATA:
		append(run->payload, &run->payload_len, piece);
		run->data_pieces++;
		break;
	case PIECE_META:
		append(run->line, &run->line_len, piece);
		break;
	case PIECE_META_END:
		assert_true(run->line_len > 0);
		sse_tell_text(run->story, 'M', run->line, run->line_len);
		run->line_len = 0;
		break;
	case PIECE_MESSAGE:
		sse_tell_text(run->story, 'E', run->payload, run->payload_len);
		sse_tell_end(run->story, run->at);
		run->payload_len = 0;
		break;
	case PIECE_UNIT:
		assert_int_equal(run->payload_len, 0);
		sse_tell(run->story, "B", 1);
		sse_tell_end(run->story, run->at);
		break;
	case PIECE_TAIL:
		sse_tell(run->story, "T", 1);
		sse_tell_end(run->story, run->at);
		break;
	}
}

/* Feeds one cut, in memory of its own, so that no byte beside it is read unnoticed. */
static void feed(struct run *run, const uint8_t *data, size_t len)
{
	uint8_t *cut = malloc(len ? len : 1);
	size_t used = 0, idle = 0;

	assert_non_null(cut);
	memcpy(cut, data, len);
	while (used < len && !run->story->fault) {
		struct piece piece = {.used = SIZE_MAX};
		size_t fault_at = run->at;

		run->story->fault = frame_sse_next(&run->frame, cut + used, len - used, &piece);
		if (run->story->fault) {
			run->story->fault_at = fault_at;
			assert_int_equal(piece.used, SIZE_MAX);
			break;
		}
		assert_true(piece.used <= len - used);
		assert_true(piece.kind != PIECE_NOTHING || piece.used == len - used);
		/* What takes nothing gives something, and not again. */
		idle = piece.used ? 0 : idle + 1;
		assert_true(idle < 2);
		used += piece.used;
		run->at += piece.used;
		take(run, &piece);
	}
	free(cut);
}

static void run_begin(struct run *run, uint64_t limit, struct sse_story *story)
{
	*story = (struct sse_story){.fault = FAULT_NONE};
	*run = (struct run){.story = story};
	frame_sse_init(&run->frame, limit);
	assert_false(frame_sse_partial(&run->frame));
}

static void run_end(struct run *run)
{
	if (run->line_len)
		sse_tell_text(run->story, 'm', run->line, run->line_len);
	if (run->payload_len)
		sse_tell_text(run->story, 'e', run->payload, run->payload_len);
	run->story->partial = frame_sse_partial(&run->frame);
}

/* size: of each cut, but the first, which has `first` bytes. */
static void codec_run(const uint8_t *data, size_t len, size_t first, size_t size, uint64_t limit,
		      struct sse_story *ret_story)
{
	struct run run;

	run_begin(&run, limit, ret_story);
	feed(&run, data, MIN(first, len));
	for (size_t at = first; at < len && !ret_story->fault; at += size)
		feed(&run, data + at, MIN(size, len - at));
	run_end(&run);
}

static void assert_same(const struct sse_story *got, const struct sse_story *expected)
{
	assert_int_equal(got->fault, expected->fault);
	assert_int_equal(got->len, expected->len);
	assert_memory_equal(got->text, expected->text, expected->len);
	if (!expected->fault)
		assert_int_equal(got->partial, expected->partial);
}

/* In one piece, byte by byte, and cut in two at every offset. */
static void check_cuts(const void *data, size_t len, uint64_t limit, struct sse_story *ret_story)
{
	struct sse_story expected, got;

	sse_reference(data, len, limit, &expected);
	codec_run(data, len, 1, 1, limit, &got);
	assert_same(&got, &expected);
	if (expected.fault)
		assert_int_equal(got.fault_at, expected.fault_at);
	for (size_t cut = 1; cut <= len; cut++) {
		codec_run(data, len, cut, len, limit, &got);
		assert_same(&got, &expected);
	}
	*ret_story = expected;
}

static void check(const void *data, size_t len, const char *text, bool partial)
{
	struct sse_story story, got;

	check_cuts(data, len, UINT64_MAX, &story);
	assert_string_equal(story.text, text);
	assert_int_equal(story.partial, partial);
	for (size_t first = 1; first < len; first++) {
		for (size_t size = 1; size < len - first; size++) {
			codec_run(data, len, first, size, UINT64_MAX, &got);
			assert_same(&got, &story);
		}
	}
}

#define CHECK(data, text, partial) check(data, sizeof(data) - 1, text, partial)

static void lines_end_in_lf_cr_or_crlf(void **state)
{
	(void)state;
	CHECK("data: p1\r\ndata: p2\r\ndata: p3\r\n\r\n", "E(p1\np2\np3)@31 T@32 ", false);
	CHECK("data: cr-a\r\rdata: cr-b\r\r", "E(cr-a)@12 E(cr-b)@24 ", false);
	CHECK("id: 7\r\ndata: mix\n\ndata: n\r\r\ndata: o\n\r\n",
	      "M(id: 7)E(mix)@18 E(n)@27 T@28 E(o)@37 T@38 ", false);
	CHECK("data:a\n\n\n\r\r\n", "E(a)@8 B@9 B@10 B@11 T@12 ", false);
	CHECK("data:a\n\r", "E(a)@8 ", false);
	CHECK("data:a\n\rdata:b\r\n\n", "E(a)@8 E(b)@17 ", false);
	/* What other line readers split at is no line's end. */
	CHECK("data:\xe2\x80\xa8\xc2\x85\v\f\n\n", "E(\xe2\x80\xa8\xc2\x85\v\f)@14 ", false);
}

static void a_bom_may_come_first(void **state)
{
	(void)state;
	CHECK("\xef\xbb\xbf"
	      "data: first\n\ndata: second\n\n",
	      "E(first)@16 E(second)@30 ", false);
	CHECK("\xef\xbb\xbf\n", "B@4 ", false);
	CHECK("\xef\xbb\xbf\r\n", "B@4 T@5 ", false);
	CHECK("\xef\xbb\xbf", "", false);
	CHECK("\xef\xbb", "", false);
	CHECK("\xef", "", false);
	/* Anything else of the kind is part of a line. */
	CHECK("\xef\xbb\xbf\xef\xbb\xbf"
	      "data: a\n\n",
	      "M(\xef\xbb\xbf"
	      "data: a)B@15 ",
	      false);
	CHECK("\xef\xbb"
	      "data: a\n\n",
	      "M(\xef\xbb"
	      "data: a)B@11 ",
	      false);
	CHECK("\xef\xbb\n\n", "M(\xef\xbb)B@4 ", false);
	CHECK("\xef\xef\xbb\xbf\n\n", "M(\xef\xef\xbb\xbf)B@6 ", false);
	CHECK("data:a\n\n\xef\xbb\xbf"
	      "data:b\n\n",
	      "E(a)@8 M(\xef\xbb\xbf"
	      "data:b)B@19 ",
	      false);
	CHECK("\n\xef\xbb\xbf"
	      "data:b\n\n",
	      "B@1 M(\xef\xbb\xbf"
	      "data:b)B@12 ",
	      false);
	CHECK("data:\xef\xbb\xbf\n\n", "E(\xef\xbb\xbf)@10 ", false);
}

static void data_is_a_whole_name(void **state)
{
	(void)state;
	CHECK("data: up\ndata: down\n\n", "E(up\ndown)@21 ", false);
	CHECK("data:{\"x\":1}\n\ndata:  two\n\n", "E({\"x\":1})@14 E( two)@26 ", false);
	CHECK("data:\n\n: c\n\ndata\ndata\n\n", "E()@7 M(: c)B@12 E(\n)@23 ", false);
	CHECK("data: \n\n", "E()@8 ", false);
	CHECK("data:\ta\n\n", "E(\ta)@9 ", false);
	CHECK("data::\n\n", "E(:)@8 ", false);
	CHECK("data\ndata:a\ndata\n\n", "E(\na\n)@18 ", false);
	CHECK("database: x\n\n", "M(database: x)B@13 ", false);
	CHECK("dat: x\n\n", "M(dat: x)B@8 ", false);
	CHECK("d\n\n", "M(d)B@3 ", false);
	CHECK("dat\n\n", "M(dat)B@5 ", false);
	CHECK("ddata:a\n\n", "M(ddata:a)B@9 ", false);
	CHECK("dadata:a\n\n", "M(dadata:a)B@10 ", false);
	CHECK("Data: x\n\n", "M(Data: x)B@9 ", false);
	CHECK("DATA: x\n\n", "M(DATA: x)B@9 ", false);
	CHECK(" data: x\n\n", "M( data: x)B@10 ", false);
	CHECK("data : x\n\n", "M(data : x)B@10 ", false);
	CHECK("data: data: x\n\n", "E(data: x)@15 ", false);
}

static void all_other_lines_are_handed_on(void **state)
{
	(void)state;
	CHECK("id: 1\ndata: a\n\n: ping\n\ndata: b\n\n", "M(id: 1)E(a)@15 M(: ping)B@23 E(b)@32 ",
	      false);
	CHECK(":\n\n", "M(:)B@3 ", false);
	CHECK("event: e\nretry: 5\nid\nno such field\n\n",
	      "M(event: e)M(retry: 5)M(id)M(no such field)B@36 ", false);
	CHECK("data: a\nevent: e\ndata: b\n: c\n\n", "M(event: e)M(: c)E(a\nb)@30 ", false);
}

static void a_nul_is_a_byte_like_others(void **state)
{
	static const char data[] = "id: q\0z\ndata: nul-id\ndata: \0\n\n\0\n";
	static const char text[] = "M(id: q\0z)E(nul-id\n\0)@30 M(\0)";
	struct sse_story story;

	(void)state;
	check_cuts(data, sizeof(data) - 1, UINT64_MAX, &story);
	assert_int_equal(story.len, sizeof(text) - 1);
	assert_memory_equal(story.text, text, sizeof(text));
	assert_true(story.partial);
}

static void what_has_not_ended(void **state)
{
	(void)state;
	CHECK("data: {\"n\":1}\n\ndata: {\"n\":2}\n", "E({\"n\":1})@15 e({\"n\":2})", true);
	CHECK("", "", false);
	CHECK("d", "", true);
	CHECK("data", "", true);
	CHECK("data:", "", true);
	CHECK("data: ", "", true);
	CHECK("data: a", "e(a)", true);
	CHECK("data: a\r", "e(a)", true);
	CHECK("data: a\r\n", "e(a)", true);
	CHECK("data: a\ndata", "e(a)", true);
	CHECK("data: a\ndata:", "e(a\n)", true);
	CHECK("dato", "m(dato)", true);
	CHECK(": a", "m(: a)", true);
	CHECK(": a\n", "M(: a)", true);
}

static void a_payload_at_the_limit_and_past_it(void **state)
{
	static const char *const at_limit[] = {
		"data: 12345\n\n",
		"data:1\ndata: 2\ndata:3\n\n",
		"data: 12345\r\n\r\n",
		"data\ndata\ndata\ndata\ndata\ndata\n\n",
		"data:1234\ndata\n\n",
		"data:12345\n\ndata:12345\n\n",
		"data: 12345\nid: 678901\n\n",
		": 678901\ndata:12345",
	};
	static const char *const past[] = {
		"data: 123456\n\n",
		"data:1\ndata: 2\ndata:34\n\n",
		"data:12345\ndata\n\n",
		"data\ndata\ndata\ndata\ndata\ndata\ndata\n\n",
		"data:12345\ndata:\n\n",
		"data:12345\n\ndata:1234567890\n\n",
		"data: 12345\nid: 6\ndata:\n",
		"data:       \n\n",
	};
	struct sse_story story;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(at_limit); i++) {
		check_cuts(at_limit[i], strlen(at_limit[i]), 5, &story);
		assert_int_equal(story.fault, FAULT_NONE);
		check_cuts(at_limit[i], strlen(at_limit[i]), 4, &story);
		assert_int_equal(story.fault, FAULT_TOO_LARGE);
	}
	for (size_t i = 0; i < ARRAY_SIZE(past); i++) {
		check_cuts(past[i], strlen(past[i]), 5, &story);
		assert_int_equal(story.fault, FAULT_TOO_LARGE);
	}
	/* What is no payload has no limit here. */
	check_cuts(": 1234567\nidentifier: 8\n\n", 25, 1, &story);
	assert_int_equal(story.fault, FAULT_NONE);
}

static const struct token {
	const char *text;
	size_t len;
} tokens[] = {
	{"data", 4}, {"d", 1},	{"dat", 3},	     {":", 1},	      {" ", 1},	 {"x", 1},
	{"\n", 1},   {"\r", 1}, {"\xef\xbb\xbf", 3}, {"\xef\xbb", 2}, {"\0", 1},
};

#define TOKENS_MAX 4u

/* All streams of up to four of the tokens, each in every cut, at a limit that some pass. */
static void every_short_stream(void **state)
{
	struct sse_story story;
	size_t count = 1, faults = 0, events = 0;

	(void)state;
	for (size_t i = 0; i < TOKENS_MAX; i++)
		count *= ARRAY_SIZE(tokens);
	for (size_t i = 0; i < count; i++) {
		uint8_t data[TOKENS_MAX * 4];
		size_t len = 0, rest = i;

		for (size_t j = 0; j < TOKENS_MAX; j++, rest /= ARRAY_SIZE(tokens)) {
			const struct token *token = &tokens[rest % ARRAY_SIZE(tokens)];

			memcpy(data + len, token->text, token->len);
			len += token->len;
		}
		check_cuts(data, len, 3, &story);
		faults += story.fault != FAULT_NONE;
		events += strstr(story.text, "E(") != NULL;
	}
	assert_true(faults > 20 && events > 20);
}

static unsigned int next_random(unsigned int *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Longer ones of whole fields, with many cuts. */
static void random_streams(void **state)
{
	static const char *const parts[] = {
		"data: ",
		"data:",
		"data",
		"\n",
		"\n",
		"\r\n",
		"\r",
		"\n\n",
		"x",
		": c",
		"id: 1",
		"database",
		"d\n",
		"dat",
		"\r\n\r\n",
		"\xef\xbb\xbf",
		"a rather long value, longer than a word of the machine",
	};
	unsigned int seed = 20240611;

	(void)state;
	for (size_t round = 0; round < 4000; round++) {
		char data[512];
		size_t len = 0, count = next_random(&seed) % 24;
		struct sse_story expected, got;
		uint64_t limit = next_random(&seed) % 4 ? UINT64_MAX : next_random(&seed) % 80;

		for (size_t i = 0; i < count; i++) {
			const char *part = parts[next_random(&seed) % ARRAY_SIZE(parts)];

			if (len + strlen(part) > 400)
				break;
			memcpy(data + len, part, strlen(part));
			len += strlen(part);
		}
		sse_reference(data, len, limit, &expected);
		for (size_t i = 0; i < 12; i++) {
			codec_run((const uint8_t *)data, len, 1 + next_random(&seed) % 40,
				  1 + next_random(&seed) % 20, limit, &got);
			assert_same(&got, &expected);
		}
	}
}

/* A line of data comes in one piece, however long, and its payload where it stands. */
static void a_line_of_data_is_one_piece(void **state)
{
	const size_t value = 66000, len = 6 + value + 2;
	char *data = malloc(len);
	struct frame_sse frame;
	struct piece piece;

	(void)state;
	assert_non_null(data);
	memcpy(data, "data: ", 6);
	memset(data + 6, 'z', value);
	memcpy(data + 6 + value, "\n\n", 2);
	frame_sse_init(&frame, value);
	assert_int_equal(frame_sse_next(&frame, (uint8_t *)data, len, &piece), FAULT_NONE);
	assert_int_equal(piece.kind, PIECE_DATA);
	assert_ptr_equal(piece.data, data + 6);
	assert_int_equal(piece.len, value);
	assert_int_equal(piece.used, 6 + value);
	assert_int_equal(frame_sse_next(&frame, (uint8_t *)data + 6 + value, 2, &piece), 0);
	assert_int_equal(piece.kind, PIECE_MESSAGE);
	assert_int_equal(piece.used, 2);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_end_in_lf_cr_or_crlf),
		cmocka_unit_test(a_bom_may_come_first),
		cmocka_unit_test(data_is_a_whole_name),
		cmocka_unit_test(all_other_lines_are_handed_on),
		cmocka_unit_test(a_nul_is_a_byte_like_others),
		cmocka_unit_test(what_has_not_ended),
		cmocka_unit_test(a_payload_at_the_limit_and_past_it),
		cmocka_unit_test(every_short_stream),
		cmocka_unit_test(random_streams),
		cmocka_unit_test(a_line_of_data_is_one_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
