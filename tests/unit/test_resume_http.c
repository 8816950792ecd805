/* SPDX-License-Identifier: Apache-2.0 */
/* What of a head asks for the rest of a response, or says that it is it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/macros.h"
#include "core/resume_http.h"

#define ZEROS                                                            \
	"00000000000000000000000000000000000000000000000000000000000000" \
	"00000000000000000000000000000000000000000000000000000000000000" \
	"00000000000000000000000000000000000000000000000000000000000000"

static struct http1_slice slice(const char *text)
{
	return (struct http1_slice){(const uint8_t *)text, strlen(text)};
}

/* Lines that an LF ends. */
static struct resume_request read_request(const char *target, const char *lines)
{
	struct resume_request request = {.kind = RESUME_NONE};
	struct http1_slice rest = slice(lines);

	resume_request_target(&request, slice(target));
	while (rest.len)
		resume_request_field(&request, http1_until(&rest, '\n'));
	return request;
}

static void asks(const char *target, const char *lines, enum resume_kind kind, uint64_t from)
{
	struct resume_request request = read_request(target, lines);

	assert_false(request.refused);
	assert_int_equal(request.kind, kind);
	assert_int_equal(request.from, from);
}

static void refused(const char *target, const char *lines)
{
	assert_true(read_request(target, lines).refused);
}

static void ranges(void **state)
{
	(void)state;
	asks("/", "Range: bytes=5-\n", RESUME_RANGE, 5);
	asks("/", "RANGE: Bytes= 5-6 \nAccept: x\n", RESUME_RANGE, 5);
	asks("/", "range:bytes=18446744073709551615-\n", RESUME_RANGE, UINT64_MAX);
	asks("/", "Range: bytes=0-\n", RESUME_NONE, 0);
	asks("/", "Range: bytes=0-99\n", RESUME_NONE, 0);
	assert_true(read_request("/", "Range: bytes=0-99\n").ranged);
	assert_false(read_request("/", "X-Range: bytes=5-\n").ranged);
	refused("/", "Range: bytes=-5\n");
	refused("/", "Range: bytes=5\n");
	refused("/", "Range: bytes=\n");
	refused("/", "Range: 5-\n");
	refused("/", "Range:\n");
	refused("/", "Range: bytes=6-5\n");
	refused("/", "Range: bytes=0-0,5-6\n");
	refused("/", "Range: bytes=5-6, 8-\n");
	refused("/", "Range: lines=5-\n");
	refused("/", "Range: bytes=18446744073709551616-\n");
	refused("/", "Range: bytes=5-18446744073709551616\n");
	refused("/", "Range: bytes=5-x\n");
	refused("/", "Range: bytes=5 -\n");
	refused("/", "Range: bytes=0-\nRange: bytes=5-\n");
	refused("/", "Range: bytes=5-\nRange: bytes=5-\n");
	refused("/", "Request-Range: bytes=0-\n");
}

static void conditions_and_hosts(void **state)
{
	char line[400] = "If-Range: ";
	struct resume_request request =
		read_request("/", "Host: EXAMPLE.com:80\nIf-Range: \"a\"\n");

	(void)state;
	assert_true(request.has_condition);
	assert_string_equal(request.condition, "\"a\"");
	assert_int_equal(request.host_len, 14);
	assert_memory_equal(request.host, "example.com:80", 14);
	refused("/", "If-Range: \"a\"\nIf-Range: \"a\"\n");
	memset(line + 10, 'x', 255);
	asks("/", line, RESUME_NONE, 0);
	line[10 + 255] = 'x';
	refused("/", line);
	memcpy(line, "Host: ", 6);
	memset(line + 6, 'x', 269);
	line[6 + 269] = '\0';
	assert_int_equal(read_request("/", line).host_len, 269);
	line[6 + 269] = 'x';
	line[6 + 270] = '\0';
	assert_true(read_request("/", line).long_host);
}

static void event_ids(void **state)
{
	char line[400] = "Last-Event-ID: ";
	struct resume_request request = read_request("/", "last-event-id: a b \n");

	(void)state;
	assert_int_equal(request.kind, RESUME_EVENT);
	assert_int_equal(request.event.len, 3);
	assert_memory_equal(request.event.text, "a b", 3);
	asks("/", "Last-Event-ID:\n", RESUME_NONE, 0);
	refused("/", "Last-Event-ID: 1\nLast-Event-ID: 1\n");
	refused("/", "Last-Event-ID: 1\nRange: bytes=5-\n");
	refused("/?starting_after=1", "Last-Event-ID: 1\n");
	memset(line + 15, 'x', RESUME_ID_MAX);
	asks("/", line, RESUME_EVENT, 0);
	line[15 + RESUME_ID_MAX] = 'x';
	refused("/", line);
}

static void numbers_in_the_query(void **state)
{
	(void)state;
	asks("/r?starting_after=7", "", RESUME_AFTER, 7);
	asks("http://a/r?stream=true&starting_after=007", "", RESUME_AFTER, 7);
	asks("http://a?starting_after=0", "", RESUME_AFTER, 0);
	asks("/r?%73tarting%5Fafter=%37%30&x", "", RESUME_AFTER, 70);
	asks("/starting_after=7", "", RESUME_NONE, 0);
	asks("/r?starting=7&after=7&restarting_before=7", "", RESUME_NONE, 0);
	asks("/r?starting_after=" ZEROS "7", "", RESUME_AFTER, 7);
	/* Cursors of lists. */
	asks("/r?starting_after=ch_17", "", RESUME_NONE, 0);
	asks("/r?starting_after=Z", "", RESUME_NONE, 0);
	refused("/r?starting_after=18446744073709551616", "");
	refused("/r?starting_after=7&starting_after=7", "");
}

static void what_only_some_take_for_a_number(void **state)
{
	static const char *const values[] = {
		"",	   "+7",   "%207",   "-1",	"7.0",		 "1_0",
		"5f3a",	   "0x1",  "1e0",    "1%00",	"1%0B",		 "[1]",
		"%221%22", "%2B1", "%D9%A1", "a%C2%A0", "%EF%BC%91",	 "1%C2%A0",
		"a%201",   "a%00", "%7f",    "{1",	ZEROS ZEROS "1",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		char target[1000] = "/r?a=b&starting_after=";

		refused(strcat(target, values[i]), "");
	}
	refused("/r?starting_after", "");
}

/* Names that only some readers take for it, and that of other clients' event sources. */
static void other_names(void **state)
{
	static const char *const queries[] = {
		"Starting_after=7",    "starting_after[]=7",
		"starting_after%00=7", "+starting_after=7",
		"starting_after+=7",   "a=b;starting_after=7",
		"starting_after.=7",   "a[starting_after]=7",
		"startingAfter=7",     "start%69ng-after=7",
		"a=starting_after=7",  "lastEventId=7",
		"Last-Event-ID=7",     "last_event_id=7",
		"ll%61stEventID=7",    "starting_after=a;lastEventId=7",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		char target[100] = "/r?x&";

		refused(strcat(target, queries[i]), "");
	}
	refused("/", "Last_Event_ID: 7\n");
	refused("/", "LAST_event-ID:\n");
	refused("/", "If_Range: 7\n");
	asks("/", "Last.Event.ID: 7\nLast-Event-IDs: 7\nRange_: bytes=5-\n", RESUME_NONE, 0);
	assert_true(read_request("/", "Upload_Offset: 7\n").upload_refused);
	asks("/r?last=event&id=7&llasteventi=d", "", RESUME_NONE, 0);
}

static void uploads(void **state)
{
	(void)state;
	assert_false(read_request("/", "Content-Range: bytes 0-9/10\n").upload_refused);
	assert_false(read_request("/", "Content-Range: bytes */10\n").upload_refused);
	assert_false(read_request("/", "Upload-Offset: 0\n").upload_refused);
	assert_true(read_request("/", "Content-Range: bytes 1-9/10\n").upload_refused);
	assert_true(read_request("/", "Content-Range: bytes\n").upload_refused);
	assert_true(read_request("/", "Content-Range: x\n").upload_refused);
	assert_true(read_request("/", "Upload-Offset: 1\n").upload_refused);
	assert_true(read_request("/", "Upload-Offset: x\n").upload_refused);
	assert_true(read_request("/", "Upload-Offset: 0x\n").upload_refused);
	assert_false(read_request("/", "Upload-Offset: 1\n").refused);
}

static struct resume_answer read_answer(const char *lines)
{
	struct resume_answer answer = {.has_range = false};
	struct http1_slice rest = slice(lines);

	while (rest.len)
		resume_answer_field(&answer, http1_until(&rest, '\n'));
	return answer;
}

static void part(const char *line, uint64_t from, uint64_t last, uint64_t length)
{
	struct resume_answer answer = read_answer(line);

	assert_true(answer.has_range && answer.in_bytes);
	assert_false(answer.bad_range || answer.unsatisfied);
	assert_int_equal(answer.from, from);
	assert_int_equal(answer.last, last);
	assert_int_equal(answer.length, length);
}

static void answers(void **state)
{
	(void)state;
	part("Content-Range: bytes 5-9/10\n", 5, 9, 10);
	part("content-range:Bytes  5-9/*\n", 5, 9, UINT64_MAX);
	assert_true(read_answer("Content-Range: bytes */10\n").bad_range);
	assert_true(read_answer("Content-Range: bytes 5-9\n").bad_range);
	assert_true(read_answer("Content-Range: bytes 5-9/\n").bad_range);
	assert_true(read_answer("Content-Range: bytes 9-5/10\n").bad_range);
	assert_true(read_answer("Content-Range: bytes 5-9/10x\n").bad_range);
	assert_true(read_answer("Content-Range: bytes 5-9/10\nContent-Range: bytes 5-9/10\n")
			    .bad_range);
	assert_true(read_answer("Content-Range: bytes */10\n").unsatisfied);
	assert_false(read_answer("Content-Range: bytes */\n").unsatisfied);
	assert_false(read_answer("Content-Range: bytes */10 5-\n").unsatisfied);
	assert_false(read_answer("Content-Range: 5-9/10\nContent-Range: bytes */10\n").unsatisfied);
	assert_true(read_answer("Content-Type: Multipart/ByteRanges; boundary=x\n").several);
	assert_false(read_answer("Content-Type: multipart/mixed\n").several);
	assert_string_equal(read_answer("ETag: \"a\"\nLast-Modified: now\n").validator, "\"a\"");
	assert_string_equal(read_answer("Last-Modified: now\nETag: \"a\"\n").validator, "\"a\"");
	assert_string_equal(read_answer("Last-Modified: now\nETag: W/\"a\"\n").validator, "now");
	assert_string_equal(read_answer("ETag: W/\"a\"\n").validator, "");
}

/* A Content-Range, and none of bytes. */
static void parts_of_something_else(void **state)
{
	static const char *const values[] = {"items 5-9/10",
					     "bytes: 5-9/10",
					     "bytes=5-9/10",
					     "5-9/10",
					     "bytes\t5-9/10",
					     "bytes,5-9/10",
					     ""};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		char line[64] = "Content-Range: ";
		struct resume_answer answer = read_answer(strcat(line, values[i]));

		assert_true(answer.has_range && answer.bad_range);
		assert_false(answer.in_bytes || answer.unsatisfied);
	}
}

static void long_validators_are_none(void **state)
{
	char line[400] = "ETag: \"";

	(void)state;
	memset(line + 7, 'x', RESUME_VALIDATOR_MAX - 1);
	assert_int_equal(strlen(read_answer(line).validator), RESUME_VALIDATOR_MAX);
	line[7 + RESUME_VALIDATOR_MAX - 1] = 'x';
	assert_string_equal(read_answer(line).validator, "");
}

static void target_is(const char *target, const char *path, const char *query)
{
	struct http1_slice got_path, got_query;

	resume_split_target(slice(target), &got_path, &got_query);
	assert_int_equal(got_path.len, strlen(path));
	assert_int_equal(got_query.len, strlen(query));
	if (got_path.len)
		assert_memory_equal(got_path.at, path, got_path.len);
	if (got_query.len)
		assert_memory_equal(got_query.at, query, got_query.len);
}

static void targets(void **state)
{
	(void)state;
	target_is("/a/b?c=d?e", "/a/b", "c=d?e");
	target_is("/a:b", "/a:b", "");
	target_is("http://h:80/a?b", "/a", "b");
	target_is("http://h?b", "", "b");
	target_is("http://h", "", "");
	target_is("*", "*", "");
	target_is("h:80", "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges),
		cmocka_unit_test(conditions_and_hosts),
		cmocka_unit_test(event_ids),
		cmocka_unit_test(numbers_in_the_query),
		cmocka_unit_test(what_only_some_take_for_a_number),
		cmocka_unit_test(other_names),
		cmocka_unit_test(uploads),
		cmocka_unit_test(answers),
		cmocka_unit_test(parts_of_something_else),
		cmocka_unit_test(long_validators_are_none),
		cmocka_unit_test(targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
