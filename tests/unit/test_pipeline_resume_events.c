/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of events that are broken off and go on: judged as one text, or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/retry.h"

static const struct retry_config terms = {
	.terms = {"forbidden"},
	.extract = {.kind = EXTRACT_AUTO},
};

static void reconnects(struct retry *retry)
{
	retry_passes(retry, EVENTS, STREAM(EVENT("1", "for") EVENT("2", "bid")), RETRY_CLOSED);
	retry_refused(retry, AFTER("1"));
	retry_refused(retry, AFTER("3"));
	retry_refused(retry, GET("/t") "Last-Event-ID: 2\r\n\r\n");
	retry_denied(retry, AFTER("2"), STREAM(EVENT("3", "den")));
	/* What was withheld stays without a place, and what was not, known. */
	retry_refused(retry, AFTER("3"));
	retry_passes(retry, AFTER("2"), STREAM(EVENT("3", "ding")), RETRY_CLOSED);
	retry_passes(retry, AFTER("3"), STREAM(":\n\n" EVENT("4", "den")), RETRY_CLOSED);
	/* Another query may be that of another stream, whose events have the same ids. */
	retry_refused(retry, GET("/s?retry=1") "Last-Event-ID: 2\r\n\r\n");
}

/* What a matcher still holds when the stream breaks has not left, nor has its id. */
static void breaks_off(struct retry *retry)
{
	struct retry_result result;
	static const char stream[] =
		OK SSE "Transfer-Encoding: chunked\r\n\r\n"
		       "21\r\n" EVENT("1", "a ")
			       EVENT("2", "bad") "\r\n14\r\n" EVENT("3", "forbid") "\r\n";

	retry_run(retry, EVENTS, stream, RETRY_CLOSED, &result);
	assert_int_equal(result.response, FAULT_TRUNCATED);
	retry_result_done(&result);
	retry_refused(retry, AFTER("3"));
	retry_denied(retry, AFTER("2"), STREAM(EVENT("3", "forbid") EVENT("4", "den")));
	retry_passes(retry, AFTER("2"), STREAM(EVENT("3", "forbid") EVENT("4", "ding")),
		     RETRY_CLOSED);
}

/* One whose client ended its side may be back before the server has noticed. */
static void client_is_gone(struct retry *retry)
{
	struct retry_result result;

	retry_run(retry, EVENTS, STREAM(EVENT("1", "forbid")), RETRY_HALF_OPEN, &result);
	assert_int_equal(result.known, 0);
	assert_int_equal(result.response, FAULT_NONE);
	assert_true(result.released < result.sent);
	retry_result_done(&result);
	retry_run(retry, EVENTS, STREAM(EVENT("1", "forbear") EVENT("2", "for")), RETRY_HALF_OPEN,
		  &result);
	assert_int_equal(result.known, 1);
	retry_result_done(&result);
	retry_run(retry, AFTER("1"), STREAM(EVENT("3", "x")), RETRY_LEFT, &result);
	assert_int_equal(result.known, 2);
	retry_result_done(&result);
	retry_passes(retry, AFTER("1"), STREAM(EVENT("2", "x")), RETRY_CLOSED);
}

/* Whether it ends, is denied, or its client is gone: what was delivered is known. */
static void every_end(struct retry *retry)
{
	retry_passes(retry, EVENTS, STREAM(EVENT("1", "xxx")), RETRY_OPEN);
	retry_passes(retry, AFTER("1"), STREAM(EVENT("2", "yyy")), RETRY_HALF_OPEN);
	retry_denied(retry, AFTER("2"), STREAM(EVENT("3", "z") EVENT("4", "forbidden")));
	retry_passes(retry, AFTER("3"), STREAM(EVENT("4", "fine")), RETRY_CLOSED);
	/* One that brings nothing new leaves it where it was. */
	retry_passes(retry, AFTER("4"), STREAM(""), RETRY_CLOSED);
	retry_passes(retry, AFTER("4"), OK SSE "Content-Length: 0\r\n\r\n", RETRY_OPEN);
	retry_passes(retry, AFTER("4"), "HTTP/1.1 204 No Content\r\n\r\n", RETRY_OPEN);
	retry_passes(retry, AFTER("4"), STREAM(EVENT("5", "fine")), RETRY_CLOSED);
}

/* Two streams of one path that give their events the same ids: nobody knows which is meant. */
static void ids_of_two_streams(struct retry *retry)
{
	retry_passes(retry, EVENTS, STREAM(EVENT("1", "forbid")), RETRY_CLOSED);
	retry_passes(retry, EVENTS, STREAM(EVENT("1", "forbid")), RETRY_CLOSED);
	retry_passes(retry, AFTER("1"), STREAM(EVENT("2", "x")), RETRY_CLOSED);
	retry_passes(retry, EVENTS, STREAM(EVENT("1", "xxxxxx")), RETRY_CLOSED);
	retry_refused(retry, AFTER("1"));
	retry_passes(retry, AFTER("2"), STREAM(EVENT("3", "x")), RETRY_CLOSED);
	/* An id that was taken back is none. */
	retry_passes(retry, GET("/u") "\r\n", STREAM(EVENT("9", "a") "id\ndata: b\n\n"),
		     RETRY_CLOSED);
	retry_refused(retry, GET("/u") "Last-Event-ID: 9\r\n\r\n");
}

static void streams_of_events(void **state)
{
	(void)state;
	retry_tell(&terms, reconnects);
	retry_tell(&terms, breaks_off);
	retry_tell(&terms, every_end);
	retry_tell(&terms, client_is_gone);
	retry_tell(&terms, ids_of_two_streams);
}

#define CREATE "POST /v1/responses HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
#define CREATED                                                                                 \
	"data: "                                                                                \
	"{\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\"," \
	"\"status\":\"in_progress\"}}\n\n"
#define DELTA(number, s)                                                             \
	"data: {\"type\":\"response.output_text.delta\",\"sequence_number\":" number \
	",\"delta\":\"" s "\",\"output_index\":0,\"content_index\":0}\n\n"
#define GO_ON(path) GET("/v1/responses/" path) "\r\n"

static void responses(struct retry *retry)
{
	retry_passes(retry, CREATE, STREAM(CREATED DELTA("1", "for") DELTA("2", "bid")),
		     RETRY_CLOSED);
	retry_refused(retry, GO_ON("resp_1?stream=true&starting_after=1"));
	retry_refused(retry, GO_ON("resp_2?stream=true&starting_after=2"));
	retry_denied(retry, GO_ON("resp_1?stream=true&starting_after=2"),
		     STREAM(DELTA("3", "den")));
	retry_denied(retry, GO_ON("resp%5f1/?%73tarting%5Fafter=%32"), STREAM(DELTA("3", "den")));
	retry_passes(retry, GO_ON("resp_1?starting_after=2"), STREAM(DELTA("3", "de")),
		     RETRY_CLOSED);
	retry_denied(retry, GO_ON("resp_1?starting_after=3"), STREAM(DELTA("4", "n")));
	/* From its beginning, and pages of a list. */
	retry_passes(retry, GO_ON("resp_1?stream=true"), STREAM(CREATED DELTA("1", "for")),
		     RETRY_CLOSED);
	retry_denied(retry, GO_ON("resp_1?starting_after=1"), STREAM(DELTA("2", "bidden")));
	retry_passes(retry, GET("/v1/items?starting_after=item_7") "\r\n", OK TEXT "\r\nx",
		     RETRY_CLOSED);
}

static void responses_by_number(void **state)
{
	struct retry_config config = terms;

	(void)state;
	retry_tell(&config, responses);
	config.extract.kind = EXTRACT_OPENAI_RESPONSES;
	retry_tell(&config, responses);
}

/* What left uncleared, and all that went on from where that did, is not gone on from. */
static void uncleared(struct retry *retry)
{
	struct retry_result result;

	retry_passes(retry, EVENTS, STREAM(EVENT("1", "fine")), RETRY_CLOSED);
	retry_run(retry, AFTER("1"), STREAM(EVENT("2", "forbid")), RETRY_OPEN, &result);
	assert_int_equal(result.response, FAULT_NONE);
	assert_int_equal(result.released, result.sent);
	retry_result_done(&result);
	retry_refused(retry, AFTER("2"));
	retry_refused(retry, AFTER("1"));
}

static void cleared_all_the_same(struct retry *retry)
{
	retry_passes(retry, EVENTS, STREAM(EVENT("1", "forbid")), RETRY_CLOSED);
	retry_passes(retry, AFTER("1"), STREAM(EVENT("2", "ding")), RETRY_CLOSED);
}

static void held_whole(struct retry *retry)
{
	struct retry_result result;

	retry_run(retry, EVENTS, STREAM(EVENT("1", "fine")), RETRY_OPEN, &result);
	assert_int_equal(result.released, 0);
	retry_result_done(&result);
	retry_refused(retry, AFTER("1"));
	retry_passes(retry, EVENTS, STREAM(EVENT("1", "forbid")), RETRY_CLOSED);
	retry_denied(retry, AFTER("1"), STREAM(EVENT("2", "den")));
}

static void levels(void **state)
{
	struct retry_config config = terms;

	(void)state;
	config.level = SESSION_DEFERRED;
	retry_tell(&config, uncleared);
	retry_tell(&config, cleared_all_the_same);
	config.level = SESSION_COMPLETE;
	retry_tell(&config, held_whole);
}

/* Texts that ended with their event do not go on in the next attempt either. */
static void texts_that_ended(struct retry *retry)
{
	retry_passes(retry, EVENTS, STREAM(EVENT("1", "forbid") EVENT("2", "de")), RETRY_CLOSED);
	retry_passes(retry, AFTER("2"), STREAM(EVENT("3", "n")), RETRY_CLOSED);
	retry_passes(retry, EVENTS, STREAM(EVENT("8", "x") EVENT("9", "forbid")), RETRY_CLOSED);
	retry_denied(retry, AFTER("9"), STREAM(EVENT("10", "den")));
}

static void texts_that_end_with_their_event(void **state)
{
	struct retry_config config = terms;

	(void)state;
	config.extract = (struct extract){.kind = EXTRACT_RAW, .join_unit = true};
	retry_tell(&config, texts_that_ended);
}

/* Whatever memory is missing, and in which of them: both attempts do not leave whole. */
static void without_memory(struct retry *retry, unsigned int failing)
{
	static const char *const requests[] = {EVENTS, AFTER("2")};
	static const char *const responses[] = {STREAM(EVENT("1", "for") EVENT("2", "bid")),
						STREAM(EVENT("3", "den"))};
	bool left = true;

	for (unsigned int i = 0; i < 2; i++) {
		struct retry_result result;

		retry->failing = i == failing;
		retry_run(retry, requests[i], responses[i], RETRY_CLOSED, &result);
		left &= result.released == result.sent;
		retry_result_done(&result);
		if (i == failing && !retry->failed)
			retry->failing = false;
		else if (i == failing)
			retry->fail_at++;
	}
	assert_false(left);
}

static void memory_that_is_missing(void **state)
{
	(void)state;
	for (unsigned int failing = 0; failing < 2; failing++) {
		unsigned long fail_at = 0;
		bool failed;

		do {
			struct retry retry;

			retry_make(&terms, &retry);
			retry.fail_at = fail_at++;
			without_memory(&retry, failing);
			failed = retry.fail_at == fail_at;
			retry_done(&retry);
		} while (failed);
		assert_true(fail_at > 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_of_events),
		cmocka_unit_test(responses_by_number),
		cmocka_unit_test(levels),
		cmocka_unit_test(texts_that_end_with_their_event),
		cmocka_unit_test(memory_that_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
