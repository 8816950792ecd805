/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The base protocol of the Language Server Protocol against a reference that has the
 * whole input before it, in every cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "core/frame_jsonrpc.h"
#include "unit/allocation.h"
#include "unit/piece_story.h"

static void codec_init(void *frame, const void *limit)
{
	frame_jsonrpc_init(frame, *(const uint64_t *)limit);
}

static void codec_done(void *frame)
{
	frame_jsonrpc_done(frame);
	assert_int_equal(frame_jsonrpc_memory(frame), 0);
}

static enum fault codec_next(void *frame, const uint8_t *data, size_t len,
			     struct h2_piece *ret_piece)
{
	struct piece piece;
	enum fault fault = frame_jsonrpc_next(frame, data, len, &piece);

	assert_true(frame_jsonrpc_memory(frame) <= 2 * JSONRPC_HEADER_MAX);
	if (!fault)
		*ret_piece = piece_of_none(&piece);
	return fault;
}

static bool codec_partial(const void *frame)
{
	return frame_jsonrpc_partial(frame);
}

struct reference {
	const uint8_t *data;
	size_t len, at, start; /* of the header */
	size_t stop;	       /* of what is there of it, within its limit */
	bool has_length, has_type, huge;
	uint64_t length;
	struct piece_story *story;
};

static bool refuse(struct reference *ref, enum fault fault, size_t at)
{
	piece_tell_fault(ref->story, fault, at);
	return false;
}

/* Nothing is there: of the input, or of what a header may have. */
static bool run_out(struct reference *ref)
{
	return ref->stop < ref->len ? refuse(ref, FAULT_TOO_LARGE, ref->stop) : false;
}

static bool bad_byte(struct reference *ref)
{
	enum fault fault = ref->data[ref->at] == '\n' ? FAULT_BARE_LF : FAULT_BAD_HEADER;

	return ref->at == ref->stop ? run_out(ref) : refuse(ref, fault, ref->at);
}

static size_t alike(const struct reference *ref, const char *name)
{
	size_t i = 0;

	while (name[i] && ref->at + i < ref->stop && tolower(ref->data[ref->at + i]) == name[i])
		i++;
	return i;
}

static void skip_space(struct reference *ref)
{
	while (ref->at < ref->stop && (ref->data[ref->at] == ' ' || ref->data[ref->at] == '\t'))
		ref->at++;
}

static bool reference_length(struct reference *ref)
{
	size_t digits;

	skip_space(ref);
	digits = ref->at;
	for (; ref->at < ref->stop && isdigit(ref->data[ref->at]); ref->at++) {
		unsigned __int128 value = (unsigned __int128)ref->length * 10 +
					  (unsigned int)(ref->data[ref->at] - '0');

		ref->huge = ref->huge || value > UINT64_MAX;
		ref->length = (uint64_t)value;
	}
	if (ref->at == digits)
		return bad_byte(ref);
	skip_space(ref);
	return true;
}

static bool matches(const char *text, const char *pattern)
{
	regex_t regex;
	bool match;

	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_ICASE | REG_NOSUB), 0);
	match = regexec(&regex, text, 0, NULL, 0) == 0;
	regfree(&regex);
	return match;
}

#define TOKEN "[a-z0-9.+_-]+"

/* As far as the tests' values go: no escapes, and no semicolon within quotes. */
static enum fault reference_type(char *text)
{
	char *rest = text, *part = strsep(&rest, ";");

	if (!matches(part, "^" TOKEN "/" TOKEN "[ \t]*$"))
		return FAULT_BAD_HEADER;
	while ((part = strsep(&rest, ";"))) {
		/* What a charset is comes before what is wrong behind it. */
		if (matches(part, "^[ \t]*charset=(" TOKEN "|\"[^\"]*\")") &&
		    !matches(part, "^[ \t]*charset=(utf-?8([^a-z0-9.+_-]|$)|\"utf-?8\")"))
			return FAULT_UNSUPPORTED_CODING;
		if (!matches(part, "^[ \t]*(" TOKEN "=(" TOKEN "|\"[^\"]*\")[ \t]*)?$"))
			return FAULT_BAD_HEADER;
	}
	return FAULT_NONE;
}

/* A line behind its colon. */
static bool reference_value(struct reference *ref, bool type)
{
	char text[JSONRPC_HEADER_MAX + 1] = "";
	size_t start, len = 0;
	enum fault fault;

	if (!type && !reference_length(ref))
		return false;
	skip_space(ref);
	start = ref->at;
	while (type && ref->at < ref->stop &&
	       (ref->data[ref->at] == '\t' ||
		(ref->data[ref->at] >= ' ' && ref->data[ref->at] != 0x7f)))
		ref->at++;
	if (ref->at == ref->stop || ref->data[ref->at] != '\r')
		return bad_byte(ref);
	len = ref->at++ - start;
	if (ref->at == ref->stop)
		return run_out(ref);
	if (ref->data[ref->at] != '\n')
		return refuse(ref, FAULT_BAD_HEADER, ref->at);
	ref->at++;
	if (!type)
		return true;
	while (len && strchr(" \t", ref->data[start + len - 1]))
		len--;
	memcpy(text, ref->data + start, len);
	fault = reference_type(text);
	if (fault)
		return refuse(ref, fault, ref->at - 1);
	piece_tell_bytes(ref->story, 'M', 0, ref->data + start, len);
	if (ref->at == ref->len)
		return false;
	piece_tell_meta_end(ref->story);
	return true;
}

static bool reference_line(struct reference *ref)
{
	static const char *const names[] = {"content-length:", "content-type:"};
	size_t length = alike(ref, names[0]), type = alike(ref, names[1]);
	bool is_type = type > length;
	bool *has = is_type ? &ref->has_type : &ref->has_length;

	ref->at += MAX(length, type);
	if (names[is_type][MAX(length, type)])
		return bad_byte(ref);
	if (*has)
		return refuse(ref, is_type ? FAULT_BAD_HEADER : FAULT_AMBIGUOUS_LENGTH,
			      ref->at - 1);
	*has = true;
	return reference_value(ref, is_type);
}

static bool reference_message(struct reference *ref, uint64_t limit)
{
	size_t there;

	ref->start = ref->at;
	ref->stop = MIN(ref->len, ref->start + JSONRPC_HEADER_MAX);
	ref->has_length = ref->has_type = ref->huge = false;
	ref->length = 0;
	while (ref->at < ref->stop && ref->data[ref->at] != '\r')
		if (!reference_line(ref))
			return false;
	if (ref->stop - ref->at < 2)
		return run_out(ref);
	ref->at++;
	if (ref->data[ref->at] != '\n' || !ref->has_length)
		return refuse(ref, FAULT_BAD_HEADER, ref->at);
	if (ref->huge || ref->length > limit)
		return refuse(ref, FAULT_TOO_LARGE, ref->at);
	ref->at++;
	there = MIN(ref->length, ref->len - ref->at);
	piece_tell_bytes(ref->story, 'D', 0, ref->data + ref->at, there);
	ref->at += there;
	if (there < ref->length)
		return false;
	piece_tell_message(ref->story, 0, ref->at);
	return true;
}

static void reference(const void *limit, const uint8_t *data, size_t len, struct piece_story *story)
{
	struct reference ref = {.data = data, .len = len, .story = story};

	while (ref.at < len && !story->partial)
		story->partial = !reference_message(&ref, *(const uint64_t *)limit);
}

static const struct piece_codec codec = {
	.size = sizeof(struct frame_jsonrpc),
	.init = codec_init,
	.done = codec_done,
	.next = codec_next,
	.partial = codec_partial,
	.reference = reference,
};

static const uint64_t limit = 1000;

#define CHECK(data, text, partial) \
	piece_check_text(&codec, &limit, data, sizeof(data) - 1, text, partial)

static void a_length_counts_bytes(void **state)
{
	(void)state;
	CHECK("Content-Length: 14\r\n\r\n{\"m\":\"\346\225\260\346\215\256\"}Content-Length: 7"
	      "\r\n\r\n{\"n\":2}",
	      "D({\"m\":\"\346\225\260\346\215\256\"})E@36 D({\"n\":2})E@64 ", false);
	CHECK("content-LENGTH:0002 \t\r\n\r\n{}Content-Length:\t0\r\n\r\n", "D({})E@27 E@48 ",
	      false);
	CHECK("", "", false);
}

static void a_type_on_either_side(void **state)
{
	(void)state;
	CHECK("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 7\r\n"
	      "\r\n{\"n\":2}Content-Length: 7\r\nContent-Type: x/y\r\n\r\n{\"n\":2}",
	      "M(application/vscode-jsonrpc; charset=utf-8).D({\"n\":2})E@85 M(x/y).D({\"n\":2})"
	      "E@132 ",
	      false);
	CHECK("CONTENT-TYPE:x/y ; ; a=\"b c\" ;Charset=\"UTF8\"; \r\n",
	      "M(x/y ; ; a=\"b c\" ;Charset=\"UTF8\";)", true);
}

static void charsets(void **state)
{
	struct frame_jsonrpc frame;
	static const uint8_t escaped[] = "Content-Type: x/y; charset=\"\\u\\t\\f-\\8\"\r\n";
	struct piece piece;

	(void)state;
	CHECK("Content-Type: x/y;charset=latin1\r\n", "F(unsupported_coding)@33", false);
	CHECK("Content-Type: x/y;charset=utf-16\r\n", "F(unsupported_coding)@33", false);
	CHECK("Content-Type: x/y;charset=utf-8;charset=utf-7\r\n", "F(unsupported_coding)@46",
	      false);
	CHECK("Content-Type: x/y;charset=utf-88\r\n", "F(unsupported_coding)@33", false);
	CHECK("Content-Type: x/y;charset=\"\"\r\n", "F(unsupported_coding)@29", false);
	CHECK("Content-Type: x/y;charset=\r\n", "F(bad_header)@27", false);
	CHECK("Content-Type: x/y;charset\r\n", "F(bad_header)@26", false);
	CHECK("Content-Type: x/y charset=utf-8\r\n", "F(bad_header)@32", false);
	CHECK("Content-Type: json\r\n", "F(bad_header)@19", false);
	CHECK("Content-Type: \r\n", "F(bad_header)@15", false);
	/* A quoted string may escape what needs no escape. */
	frame_jsonrpc_init(&frame, limit);
	assert_int_equal(frame_jsonrpc_next(&frame, escaped, sizeof(escaped) - 1, &piece), 0);
	assert_int_equal(piece.kind, PIECE_META);
	assert_int_equal(piece.used, sizeof(escaped) - 1);
	frame_jsonrpc_done(&frame);
}

static void headers_that_are_none(void **state)
{
	(void)state;
	CHECK("X-Content-Length: 7\r\n\r\n{\"n\":2}", "F(bad_header)@0", false);
	CHECK("{\"n\":2}", "F(bad_header)@0", false);
	CHECK("Content-Lengths: 7\r\n", "F(bad_header)@14", false);
	CHECK("Content-Length : 7\r\n", "F(bad_header)@14", false);
	CHECK("Content-Length\r\n", "F(bad_header)@14", false);
	CHECK("Content-Encoding: x\r\n", "F(bad_header)@8", false);
	CHECK("Content-Length: 7\r\n 8\r\n", "F(bad_header)@19", false);
	CHECK("\r\n", "F(bad_header)@1", false);
	CHECK("Content-Type: x/y\r\n\r\n", "M(x/y).F(bad_header)@20", false);
	CHECK("Content-Length: 7\r\n\rx", "F(bad_header)@20", false);
	CHECK("Content-Length: 7\rx", "F(bad_header)@18", false);
	CHECK("Content-Type: x/\1y", "F(bad_header)@16", false);
	CHECK("Content-Type: x/y\r\nContent-Type: x/y", "M(x/y).F(bad_header)@31", false);
}

static void lines_end_in_crlf(void **state)
{
	(void)state;
	CHECK("\nContent-Length: 7", "F(bare_lf)@0", false);
	CHECK("Content-Length: 7\n\n", "F(bare_lf)@17", false);
	CHECK("Content-Length: 7 \n\n", "F(bare_lf)@18", false);
	CHECK("Content-Length:\n", "F(bare_lf)@15", false);
	CHECK("Content-Length\n", "F(bare_lf)@14", false);
	CHECK("Content-Type: x/y\n", "F(bare_lf)@17", false);
	CHECK("Content-Length: 7\r\n\n", "F(bare_lf)@19", false);
}

static void lengths_that_are_none(void **state)
{
	(void)state;
	CHECK("Content-Length: \r\n", "F(bad_header)@16", false);
	CHECK("Content-Length: +7\r\n", "F(bad_header)@16", false);
	CHECK("Content-Length: -7\r\n", "F(bad_header)@16", false);
	CHECK("Content-Length: 7 7\r\n", "F(bad_header)@18", false);
	CHECK("Content-Length: 7,7\r\n", "F(bad_header)@17", false);
	CHECK("Content-Length: 0x7\r\n", "F(bad_header)@17", false);
	CHECK("Content-Length: 7\r\ncontent-length: 7\r\n", "F(ambiguous_length)@33", false);
}

static void limits(void **state)
{
	char header[JSONRPC_HEADER_MAX + 40];
	int len;

	(void)state;
	CHECK("Content-Length: 1001\r\n\r\n", "F(too_large)@23", false);
	CHECK("Content-Length: 18446744073709551616\r\n\r\n", "F(too_large)@39", false);
	CHECK("Content-Length: 99999999999999999999999\r\n\r\n", "F(too_large)@42", false);
	CHECK("Content-Length: 18446744073709551617", "", true);
	for (unsigned int spare = 0; spare < 3; spare++) {
		struct piece_story story;

		len = snprintf(header, sizeof(header), "Content-Length:%*s\r\n\r\n{}",
			       (int)(JSONRPC_HEADER_MAX - 15 - 4 - 1 + spare), "2");
		piece_check(&codec, &limit, header, (size_t)len, &story);
		assert_int_equal(story.fault, spare < 2 ? FAULT_NONE : FAULT_TOO_LARGE);
		piece_story_done(&story);
	}
}

static void what_has_not_ended(void **state)
{
	(void)state;
	CHECK("C", "", true);
	CHECK("\r", "", true);
	CHECK("Content-Length: 7\r\n\r", "", true);
	CHECK("Content-Length: 7\r\n\r\n", "", true);
	CHECK("Content-Length: 7\r\n\r\n{\"n\":2", "D({\"n\":2)", true);
	CHECK("Content-Length: 0\r\n\r\nC", "E@21 ", true);
}

static void random_inputs(void **state)
{
	static const char *const parts[] = {
		"Content-Length: 2\r\n",
		"Content-Length:",
		"content-type: a/b\r\n",
		"Content-Type:",
		"\r\n",
		"\r\n",
		"\r\n\r\n{}",
		"{}",
		" ",
		"5",
		"a/b",
		";charset=utf-8",
		";x=\"y\"",
		"; charset=x",
		"\n",
		"\r",
		"Content-Length: 2\r\n\r\n{}",
	};
	unsigned int seed = 20240613;
	size_t faults = 0;

	(void)state;
	for (size_t round = 0; round < 6000; round++) {
		struct piece_bytes input = {.len = 0};
		struct piece_story story;
		uint64_t max = piece_random(&seed) % 3 ? 1000 : piece_random(&seed) % 6;

		for (size_t i = piece_random(&seed) % 9; i > 0; i--) {
			const char *part = parts[piece_random(&seed) % ARRAY_SIZE(parts)];

			piece_add(&input, part, strlen(part));
		}
		piece_check_random(&codec, &max, input.data, input.len, 4, &seed);
		piece_run(&codec, &max, input.data, input.len, 3, 3, &story);
		faults += story.fault != FAULT_NONE;
		piece_story_done(&story);
	}
	assert_true(faults > 100 && faults < 5900);
}

static void no_memory(void **state)
{
	static const uint8_t data[] = "Content-Type: x/y\r\n";
	struct frame_jsonrpc frame;
	struct piece piece;

	(void)state;
	frame_jsonrpc_init(&frame, limit);
	allocation_fail_at(0);
	assert_int_equal(frame_jsonrpc_next(&frame, data, sizeof(data) - 1, &piece), FAULT_NONE);
	assert_int_equal(piece.used, 14);
	assert_int_equal(frame_jsonrpc_next(&frame, data + 14, 5, &piece), FAULT_NO_MEMORY);
	assert_true(allocation_failed());
	frame_jsonrpc_done(&frame);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_length_counts_bytes),
		cmocka_unit_test(a_type_on_either_side),
		cmocka_unit_test(charsets),
		cmocka_unit_test(headers_that_are_none),
		cmocka_unit_test(lines_end_in_crlf),
		cmocka_unit_test(lengths_that_are_none),
		cmocka_unit_test(limits),
		cmocka_unit_test(what_has_not_ended),
		cmocka_unit_test(random_inputs),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
