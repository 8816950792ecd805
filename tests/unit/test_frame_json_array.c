/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array whose elements are messages against a reference that has the whole input
 * before it, in every cut.
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
#include "core/frame_json_array.h"
#include "core/json.h"
#include "unit/piece_story.h"

static void codec_init(void *frame, const void *limit)
{
	frame_json_array_init(frame, *(const uint64_t *)limit);
	assert_false(frame_json_array_ended(frame));
}

static enum fault codec_next(void *frame, const uint8_t *data, size_t len,
			     struct h2_piece *ret_piece)
{
	struct piece piece;
	enum fault fault = frame_json_array_next(frame, data, len, &piece);

	if (!fault) {
		*ret_piece = piece_of_none(&piece);
		if (piece.kind == PIECE_UNIT)
			assert_true(frame_json_array_ended(frame));
	}
	return fault;
}

static bool codec_partial(const void *frame)
{
	return frame_json_array_partial(frame);
}

static bool is_space(uint8_t byte)
{
	return byte && strchr(" \t\r\n", byte);
}

/*
 * Where the element at `start` ends, found by a look at every byte before it anew; SIZE_MAX:
 * it does not. *ret_deep: where it nests too deep.
 */
static size_t element_end(const uint8_t *data, size_t start, size_t len, size_t *ret_deep)
{
	unsigned int depth = 0;
	bool quoted = false;

	*ret_deep = SIZE_MAX;
	if (!strchr("[{\"", data[start])) {
		for (size_t at = start; at < len; at++)
			if (is_space(data[at]) || data[at] == ',' || data[at] == ']')
				return at;
		return SIZE_MAX;
	}
	for (size_t at = start; at < len; at++) {
		if (quoted && data[at] == '\\') {
			at++;
			continue;
		}
		if (data[at] == '"')
			quoted = !quoted;
		else if (!quoted && (data[at] == '[' || data[at] == '{') &&
			 depth++ == JSON_DEPTH_MAX)
			*ret_deep = MIN(*ret_deep, at);
		else if (!quoted && (data[at] == ']' || data[at] == '}'))
			depth--;
		if (!quoted && !depth)
			return at + 1;
	}
	return SIZE_MAX;
}

/* Returns whether the element has ended; *at is moved behind it. */
static bool reference_element(const uint8_t *data, size_t len, uint64_t limit, size_t *at,
			      struct piece_story *story)
{
	size_t start = *at, deep, end = element_end(data, start, len, &deep);
	size_t stop = MIN(end, len);

	if (limit < stop - start)
		deep = MIN(deep, start + limit);
	stop = MIN(stop, deep);
	piece_tell_bytes(story, 'D', 0, data + start, stop - start);
	if (stop == deep) {
		piece_tell_fault(story, FAULT_TOO_LARGE, deep);
		return false;
	}
	if (end == SIZE_MAX)
		return false;
	piece_tell_message(story, 0, end);
	*at = end;
	return true;
}

/* Skips white space; returns whether there is something else. */
static bool skip_space(const uint8_t *data, size_t len, size_t *at)
{
	while (*at < len && is_space(data[*at]))
		++*at;
	return *at < len;
}

static void reference_tail(const uint8_t *data, size_t len, size_t at, struct piece_story *story)
{
	struct h2_piece unit = {.kind = PIECE_UNIT};

	piece_tell_unit(story, &unit, ++at);
	for (; at < len && is_space(data[at]); at++)
		piece_tell_unit(story, &unit, at + 1);
	if (at < len)
		piece_tell_fault(story, FAULT_BAD_JSON, at);
}

static void reference(const void *limit, const uint8_t *data, size_t len, struct piece_story *story)
{
	char expected = '[';
	size_t at = 0, unit = 0;

	for (;;) {
		story->partial = len > unit;
		if (!skip_space(data, len, &at))
			return;
		story->partial = false;
		if (data[at] == ']' && expected != '[') {
			reference_tail(data, len, at, story);
			return;
		}
		if (data[at] != expected) {
			piece_tell_fault(story, FAULT_BAD_JSON, at);
			return;
		}
		at++;
		story->partial = true;
		if (!skip_space(data, len, &at))
			return;
		if (expected == '[' && data[at] == ']') {
			reference_tail(data, len, at, story);
			story->partial = false;
			return;
		}
		if (!data[at] || !strchr("[{\"-0123456789tfn", data[at])) {
			piece_tell_fault(story, FAULT_BAD_JSON, at);
			return;
		}
		if (!reference_element(data, len, *(const uint64_t *)limit, &at, story))
			return;
		unit = at;
		expected = ',';
	}
}

static const struct piece_codec codec = {
	.size = sizeof(struct frame_json_array),
	.init = codec_init,
	.next = codec_next,
	.partial = codec_partial,
	.reference = reference,
};

static const uint64_t limit = 10000;

#define CHECK(data, text, partial) \
	piece_check_text(&codec, &limit, data, sizeof(data) - 1, text, partial)

static void elements_are_messages(void **state)
{
	(void)state;
	CHECK("[{\"a\":1},\n {\"b\":[2,{}]}\n]\n",
	      "D({\"a\":1})E@8 D({\"b\":[2,{}]})E@23 U@25 U@26 ", false);
	CHECK("[]", "U@2 ", false);
	CHECK(" \t\r\n[ ] \r", "U@7 U@8 U@9 ", false);
	CHECK("[[],{},\"\"]", "D([])E@3 D({})E@6 D(\"\")E@9 U@10 ", false);
	CHECK("", "", false);
}

static void scalars_end_with_what_is_behind_them(void **state)
{
	(void)state;
	CHECK("[1,-2.5e3 ,true\n,null]", "D(1)E@2 D(-2.5e3)E@9 D(true)E@15 D(null)E@21 U@22 ",
	      false);
	CHECK("[12", "D(12)", true);
	CHECK("[12 ", "D(12)E@3 ", true);
	CHECK("[12]", "D(12)E@3 U@4 ", false);
	/* No element, but its reader says so. */
	CHECK("[1{2\"3,4]", "D(1{2\"3)E@6 D(4)E@8 U@9 ", false);
}

static void strings_hide_what_is_in_them(void **state)
{
	(void)state;
	CHECK("[\"]\",\"\\\"]\",{\"}\":\"[\"}]",
	      "D(\"]\")E@4 D(\"\\\"]\")E@10 D({\"}\":\"[\"})E@20 U@21 ", false);
	CHECK("[\"\\\\\",\"\\\\\\\"\"]", "D(\"\\\\\")E@5 D(\"\\\\\\\"\")E@12 U@13 ", false);
	CHECK("[\"\\", "D(\"\\)", true);
	CHECK("[\"a\\\"]", "D(\"a\\\"])", true);
}

static void what_is_no_array(void **state)
{
	(void)state;
	CHECK("{\"a\":1}", "F(bad_json)@0", false);
	CHECK(" x", "F(bad_json)@1", false);
	CHECK("\xef\xbb\xbf[]", "F(bad_json)@0", false);
	CHECK("[,1]", "F(bad_json)@1", false);
	CHECK("[1,,2]", "D(1)E@2 F(bad_json)@3", false);
	CHECK("[1,]", "D(1)E@2 F(bad_json)@3", false);
	CHECK("[1 2]", "D(1)E@2 F(bad_json)@3", false);
	CHECK("[{}{}]", "D({})E@3 F(bad_json)@3", false);
	CHECK("[}", "F(bad_json)@1", false);
	CHECK("[:", "F(bad_json)@1", false);
	CHECK("[1] []", "D(1)E@2 U@3 U@4 F(bad_json)@4", false);
	CHECK("[]]", "U@2 F(bad_json)@2", false);
	CHECK("[\"a\"],", "D(\"a\")E@4 U@5 F(bad_json)@5", false);
}

static void what_has_not_ended(void **state)
{
	(void)state;
	CHECK(" ", "", true);
	CHECK("[", "", true);
	CHECK("[{}", "D({})E@3 ", false);
	CHECK("[{} ", "D({})E@3 ", true);
	CHECK("[{},", "D({})E@3 ", true);
	CHECK("[{\"a", "D({\"a)", true);
}

static void an_element_at_the_limit_and_past_it(void **state)
{
	static const char *const inputs[] = {"[\"123\"]", "[[[]],[1,2],12345,\"\\\"1\"]",
					     "[ 12345 ,\n12345 ]", "[{\"\":1"};
	struct piece_story story;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(inputs); i++) {
		for (uint64_t max = 0; max < 6; max++) {
			piece_check(&codec, &max, inputs[i], strlen(inputs[i]), &story);
			assert_int_equal(story.fault, max < 5 ? FAULT_TOO_LARGE : FAULT_NONE);
			piece_story_done(&story);
		}
	}
	CHECK("[ 1]", "D(1)E@3 U@4 ", false);
}

static void nesting_at_the_limit_and_past_it(void **state)
{
	struct piece_bytes input = {.len = 0};
	struct piece_story story;

	(void)state;
	piece_add(&input, "[", 1);
	for (unsigned int i = 0; i < JSON_DEPTH_MAX; i++)
		piece_add(&input, i % 2 ? "[" : "{", 1);
	for (unsigned int i = JSON_DEPTH_MAX; i > 0; i--)
		piece_add(&input, i % 2 ? "}" : "]", 1);
	piece_check(&codec, &limit, input.data, input.len, &story);
	assert_int_equal(story.fault, FAULT_NONE);
	assert_false(story.partial);
	piece_story_done(&story);
	input.data[1 + JSON_DEPTH_MAX] = '[';
	piece_check(&codec, &limit, input.data, input.len, &story);
	assert_int_equal(story.fault, FAULT_TOO_LARGE);
	assert_non_null(strstr(story.text, "F(too_large)@1025"));
	piece_story_done(&story);
}

static void random_inputs(void **state)
{
	static const char *const parts[] = {
		"{",  "}",  "[",   "]",	   ",",	    "\"",   "\\", " ", "\n",
		"12", "{}", "[1]", "true", "\"a\"", "\\\"", ",1", "]", ",",
	};
	unsigned int seed = 20240614;
	size_t faults = 0, ends = 0;

	(void)state;
	for (size_t round = 0; round < 8000; round++) {
		struct piece_bytes input = {.len = 0};
		uint64_t max = piece_random(&seed) % 3 ? 1000 : piece_random(&seed) % 12;
		struct piece_story story;

		if (piece_random(&seed) % 8)
			piece_add(&input, "[", 1);
		for (size_t i = piece_random(&seed) % 16; i > 0; i--) {
			const char *part = parts[piece_random(&seed) % ARRAY_SIZE(parts)];

			piece_add(&input, part, strlen(part));
		}
		piece_check_random(&codec, &max, input.data, input.len, 4, &seed);
		piece_run(&codec, &max, input.data, input.len, 1, 1, &story);
		faults += story.fault != FAULT_NONE;
		ends += strstr(story.text, "U@") != NULL;
		piece_story_done(&story);
	}
	assert_true(faults > 500 && ends > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_are_messages),
		cmocka_unit_test(scalars_end_with_what_is_behind_them),
		cmocka_unit_test(strings_hide_what_is_in_them),
		cmocka_unit_test(what_is_no_array),
		cmocka_unit_test(what_has_not_ended),
		cmocka_unit_test(an_element_at_the_limit_and_past_it),
		cmocka_unit_test(nesting_at_the_limit_and_past_it),
		cmocka_unit_test(random_inputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
