/* SPDX-License-Identifier: Apache-2.0 */
/* The retry boundary through pipelines: what is broken off and goes on is judged as one text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "unit/retry.h"

#define FILE		  GET("/f") "\r\n"
#define FROM(n)		  GET("/f") "Range: bytes=" n "-\r\n\r\n"
#define WHOLE(body)	  OK TEXT TAG "\r\n" body
#define REST(range, body) PART TEXT TAG "Content-Range: bytes " range "\r\n\r\n" body

static const struct retry_config terms = {
	.terms = {"forbidden"},
	.extract = {.kind = EXTRACT_AUTO},
};

/* A rune each, up to the last of the term. */
static void deliver_by_runes(struct retry *retry)
{
	static const char word[] = "forbidde";

	retry_passes(retry, FILE, WHOLE("f"), RETRY_CLOSED);
	for (size_t i = 1; i < sizeof(word) - 1; i++) {
		char request[128], response[256];

		snprintf(request, sizeof(request), FROM("%zu"), i);
		snprintf(response, sizeof(response), REST("%zu-%zu/*", "%c"), i, i, word[i]);
		retry_passes(retry, request, response, RETRY_CLOSED);
	}
}

static void last_is_denied(struct retry *retry)
{
	deliver_by_runes(retry);
	retry_denied(retry, FROM("8"), REST("8-8/*", "n"));
}

static void last_leaks(struct retry *retry)
{
	deliver_by_runes(retry);
	retry_passes(retry, FROM("8"), REST("8-8/*", "n"), RETRY_CLOSED);
}

static void a_term_over_many_short_attempts(void **state)
{
	struct retry_config seven = terms;

	(void)state;
	seven.keep = 7;
	retry_tell(&terms, last_is_denied);
	retry_tell(&seven, last_leaks);
}

static void two_each(struct retry *retry)
{
	retry_passes(retry, FILE, WHOLE("fo"), RETRY_CLOSED);
	retry_passes(retry, FROM("2"), REST("2-3/9", "rb"), RETRY_CLOSED);
	retry_passes(retry, FROM("4"), REST("4-5/9", "id"), RETRY_CLOSED);
	retry_passes(retry, FROM("6"), REST("6-7/9", "de"), RETRY_CLOSED);
	retry_denied(retry, FROM("8"), REST("8-8/9", "n"));
}

/* Another letter amid it, and another text altogether that ends as the term does. */
static void harmless(struct retry *retry)
{
	retry_passes(retry, FILE, WHOLE("fo"), RETRY_CLOSED);
	retry_passes(retry, FROM("2"), REST("2-3/9", "rm"), RETRY_CLOSED);
	retry_passes(retry, FROM("4"), REST("4-8/9", "idden"), RETRY_CLOSED);
	retry_passes(retry, GET("/g") "\r\n", WHOLE("den"), RETRY_CLOSED);
}

static void a_term_over_attempts_and_none(void **state)
{
	(void)state;
	retry_tell(&terms, two_each);
	retry_tell(&terms, harmless);
}

/* The span is clamped to the track's first rune, and the track goes on where it stopped. */
static void span_of_the_denial(struct retry *retry)
{
	struct retry_result result;

	retry_passes(retry, FILE, WHOLE("forbi"), RETRY_CLOSED);
	retry_run(retry, FROM("5"), REST("5-9/*", "dden!"), RETRY_CLOSED, &result);
	assert_int_equal(result.response, FAULT_BLOCKED);
	assert_true(result.start >= result.state.track[SESSION_RESPONSE].confirmed);
	assert_int_equal(result.end - result.start, 4);
	/* What was delivered before is shown to the tasks alone. */
	assert_memory_equal(result.shown, "dden", 4);
	retry_result_done(&result);
}

static void whole_against_incremental(struct retry *retry)
{
	retry_denied(retry, FILE, WHOLE("a forbidden thing"));
	retry_passes(retry, FILE, WHOLE("a forbid"), RETRY_CLOSED);
	retry_denied(retry, FROM("8"), REST("8-16/17", "den thing"));
}

static void spans_and_snapshots(void **state)
{
	(void)state;
	retry_tell(&terms, span_of_the_denial);
	retry_tell(&terms, whole_against_incremental);
}

#define DOCUMENT OK TEXT TAG "Content-Length: 40\r\n\r\n"

/* A document is held whole: of one that was broken off nothing left, though all was cleared. */
static void never_emitted(struct retry *retry)
{
	struct retry_result result;

	retry_run(retry, FILE, DOCUMENT "clean and cleared ", RETRY_CLOSED, &result);
	assert_int_equal(result.response, FAULT_TRUNCATED);
	assert_int_equal(result.released, 0);
	retry_result_done(&result);
	/* What its frontier would be is not where anything ended. */
	retry_refused(retry, FROM("18"));
	retry_passes(retry, GET("/f") "Range: bytes=0-\r\n\r\n", REST("0-4/5", "den n"),
		     RETRY_CLOSED);
}

static void only_where_it_ended(struct retry *retry)
{
	retry_passes(retry, FILE, WHOLE("some text that forbid"), RETRY_CLOSED);
	retry_refused(retry, FROM("20"));
	retry_refused(retry, FROM("22"));
	retry_refused(retry, FROM("1"));
	retry_refused(retry, GET("/g") "Range: bytes=21-\r\n\r\n");
	retry_refused(retry, GET("/f?a") "Range: bytes=21-\r\n\r\n");
	retry_refused(retry, "GET /f HTTP/1.1\r\nHost: b\r\nRange: bytes=21-\r\n\r\n");
	retry->policy = "another";
	retry_refused(retry, FROM("21"));
	retry->policy = "policy";
	retry_denied(retry, "GET http://A/f HTTP/1.1\r\nHost: a\r\nRange: Bytes=21-40\r\n\r\n",
		     REST("21-23/24", "den"));
	/* Every end stays known, whoever asks. */
	retry->owner = 7;
	retry_passes(retry, FROM("21"), REST("21-22/24", "de"), RETRY_CLOSED);
	retry_denied(retry, FROM("23"), REST("23-23/24", "n"));
	retry_passes(retry, FROM("21"), REST("21-23/24", "ABC"), RETRY_CLOSED);
}

static void only_what_ended_there(void **state)
{
	(void)state;
	retry_tell(&terms, never_emitted);
	retry_tell(&terms, only_where_it_ended);
}

#define PART_OF(fields) PART TEXT fields "\r\nden"

static void answers(struct retry *retry)
{
	retry_passes(retry, FILE, WHOLE("forbid"), RETRY_CLOSED);
	retry_answer_refused(retry, FILE, PART_OF(TAG "Content-Range: bytes 6-8/9\r\n"));
	retry_answer_refused(retry, FILE, OK TEXT TAG "Content-Range: bytes 6-8/9\r\n\r\nden");
	retry_answer_refused(retry, FROM("6"), PART_OF(TAG));
	retry_answer_refused(retry, FROM("6"), PART_OF(TAG "Content-Range: bytes 5-7/9\r\n"));
	retry_answer_refused(retry, FROM("6"), PART_OF(TAG "Content-Range: bytes 6-8\r\n"));
	retry_answer_refused(retry, FROM("6"), PART_OF(TAG "Content-Range: runes 6-8/9\r\n"));
	retry_answer_refused(retry, FROM("6"),
			     PART_OF(TAG "Content-Range: bytes 6-8/9\r\n"
					 "Content-Range: bytes 6-8/9\r\n"));
	retry_answer_refused(retry, FROM("6"), PART_OF("Content-Range: bytes 6-8/9\r\n"));
	retry_answer_refused(retry, FROM("6"),
			     PART_OF("ETag: \"w\"\r\n"
				     "Content-Range: bytes 6-8/9\r\n"));
	retry_answer_refused(retry, FROM("6"),
			     PART_OF("ETag: W/\"v\"\r\n"
				     "Content-Range: bytes 6-8/9\r\n"));
	retry_answer_refused(retry, FROM("6"),
			     PART "Content-Type: multipart/byteranges; boundary=b\r\n" TAG
				  "Content-Range: bytes 6-8/9\r\n\r\nden");
	retry_answer_refused(
		retry, FROM("6"),
		PART_OF("Content-Encoding: gzip\r\n" TAG "Content-Range: bytes 6-8/9\r\n"));
	retry_refused(retry, GET("/f") "Range: bytes=6-\r\nIf-Range: \"w\"\r\n\r\n");
	retry_denied(retry, GET("/f") "Range: bytes=6-\r\nIf-Range: \"v\"\r\n\r\n",
		     PART_OF("Content-Range: bytes 6-8/9\r\n"));
	/* No part, and so no text that goes on. */
	retry_passes(retry, FROM("6"),
		     "HTTP/1.1 416 No\r\nContent-Range: bytes */6\r\n" TEXT "\r\nden",
		     RETRY_CLOSED);
}

/* The server begins anew: a first attempt, from which others go on. */
static void whole_after_all(struct retry *retry)
{
	retry_passes(retry, FILE, WHOLE("forbid"), RETRY_CLOSED);
	retry_passes(retry, FROM("6"), OK TEXT "ETag: \"w\"\r\n\r\nden forb", RETRY_CLOSED);
	retry_answer_refused(retry, FROM("8"), REST("8-13/14", "idden!"));
	retry_denied(retry, FROM("8"),
		     PART TEXT "ETag: \"w\"\r\n"
			       "Content-Range: bytes 8-13/14\r\n\r\nidden!");
}

/* What has no validator, or a coding, has no id, and nothing to go on from. */
static void without_an_id(struct retry *retry)
{
	retry_passes(retry, FILE, OK TEXT "\r\nforbid", RETRY_CLOSED);
	retry_refused(retry, FROM("6"));
	retry_passes(retry, FILE, OK TEXT "ETag: W/\"v\"\r\n\r\nforbid", RETRY_CLOSED);
	retry_refused(retry, FROM("6"));
	retry_passes(retry, FILE, OK TEXT "Last-Modified: now\r\n\r\nforbid", RETRY_CLOSED);
	retry_denied(retry, FROM("6"),
		     PART_OF("Last-Modified: now\r\n"
			     "Content-Range: bytes 6-8/9\r\n"));
	/* One that is whole has no rest. */
	retry_passes(retry, GET("/w") "\r\n", OK TEXT TAG "Content-Length: 6\r\n\r\nforbid",
		     RETRY_OPEN);
	retry_refused(retry, GET("/w") "Range: bytes=6-\r\n\r\n");
}

/* Of a stream that is cut in its middle so many bytes were delivered as its events have. */
static void bytes_of_events(struct retry *retry)
{
	retry_denied(retry, GET("/s") "\r\n",
		     OK SSE TAG "\r\nid: 1\ndata: ok\n\nid: 2\ndata: forbidden\n\n");
	retry_refused(retry, GET("/s") "Range: bytes=39-\r\n\r\n");
	retry_passes(retry, GET("/s") "Range: bytes=16-\r\n\r\n",
		     PART SSE TAG "Content-Range: bytes 16-24/39\r\n\r\ndata: x\n\n", RETRY_CLOSED);
}

static void what_a_server_answers(void **state)
{
	(void)state;
	retry_tell(&terms, answers);
	retry_tell(&terms, whole_after_all);
	retry_tell(&terms, without_an_id);
	retry_tell(&terms, bytes_of_events);
}

static void uploads(struct retry *retry)
{
	retry_passes(retry, FROM("6"), WHOLE("x"), RETRY_CLOSED);
	retry_refused(retry, "PATCH /u HTTP/1.1\r\nHost: a\r\nUpload-Offset: 6\r\n\r\n");
	retry_refused(retry, "PUT /u HTTP/1.1\r\nHost: a\r\nContent-Range: bytes 6-9/10\r\n\r\n");
	retry_passes(retry, "PATCH /u HTTP/1.1\r\nHost: a\r\nUpload-Offset: 0\r\n\r\n", WHOLE("x"),
		     RETRY_CLOSED);
	retry_passes(retry, "PUT /u HTTP/1.1\r\nHost: a\r\nContent-Range: bytes 0-9/10\r\n\r\n",
		     WHOLE("x"), RETRY_CLOSED);
}

static void nobody_looks(struct retry *retry)
{
	retry_passes(retry, FROM("6"), REST("6-8/9", "den"), RETRY_CLOSED);
	retry_passes(retry, AFTER("1"), STREAM(EVENT("2", "den")), RETRY_CLOSED);
	assert_int_equal(resume_table_count(retry->table), 0);
}

static void where_no_task_gates(void **state)
{
	struct retry_config config = terms;

	(void)state;
	config.ungated = true;
	retry_tell(&config, nobody_looks);
	config.upload = "secret";
	retry_tell(&config, uploads);
	config = terms;
	config.blind = true;
	retry_tell(&config, nobody_looks);
}

/* What folding drops takes no place in the tail. */
static void folded(struct retry *retry)
{
	retry_passes(retry, FILE,
		     WHOLE("For\u200b\u200b\u200b\u200b\u200b\u200b\u200b\u200b\u200b"
			   "bid"),
		     RETRY_CLOSED);
	retry_denied(retry, FROM("33"), REST("33-35/36", "DEN"));
}

static void a_term_that_is_folded(void **state)
{
	struct retry_config config = terms;

	(void)state;
	config.fold = TERMS_FOLD_CASEFOLD | TERMS_FOLD_IGNORABLE;
	retry_tell(&config, folded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_term_over_many_short_attempts),
		cmocka_unit_test(a_term_over_attempts_and_none),
		cmocka_unit_test(spans_and_snapshots),
		cmocka_unit_test(only_what_ended_there),
		cmocka_unit_test(what_a_server_answers),
		cmocka_unit_test(where_no_task_gates),
		cmocka_unit_test(a_term_that_is_folded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
