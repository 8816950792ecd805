/* SPDX-License-Identifier: Apache-2.0 */
/* Who would have the rest of a term by saying that it is of something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "unit/retry.h"

#define BEGIN	     GET("/f") "Range: bytes=0-3\r\n\r\n"
#define REST	     GET("/f") "Range: bytes=4-\r\n\r\n"
#define RANGE(range) "Content-Range: " range "\r\n"
#define FORB	     PART TEXT TAG RANGE("bytes 0-3/9") "\r\nforb"
#define IDDEN	     PART TEXT TAG RANGE("bytes 4-8/9") "\r\nidden"

static const struct retry_config terms = {
	.terms = {"forbidden"},
	.extract = {.kind = EXTRACT_AUTO},
};

/* Another server that is asked by the same name has its own. */
static void another_peer(struct retry *retry)
{
	retry_passes(retry, BEGIN, FORB, RETRY_CLOSED);
	retry->peer = 1;
	retry_refused(retry, REST);
	retry_passes(retry, BEGIN, PART TEXT TAG RANGE("bytes 0-3/9") "\r\nxxxx", RETRY_CLOSED);
	retry_passes(retry, REST, IDDEN, RETRY_CLOSED);
	retry->peer = 0;
	retry_denied(retry, REST, IDDEN);
	retry_passes(retry, EVENTS, STREAM(EVENT("1", "forb")), RETRY_CLOSED);
	retry->peer = 1;
	retry_refused(retry, AFTER("1"));
}

/* One name is not that of another, at the same address. */
static void another_host(struct retry *retry)
{
	retry_passes(retry, BEGIN, FORB, RETRY_CLOSED);
	retry_refused(retry, "GET /f HTTP/1.1\r\nHost: b\r\nRange: bytes=4-\r\n\r\n");
	retry_refused(retry, "GET /f HTTP/1.0\r\nRange: bytes=4-\r\n\r\n");
}

/* Versions by turns: which of them a client has is not known any more. */
static void another_validator(struct retry *retry)
{
	retry_passes(retry, BEGIN, FORB, RETRY_CLOSED);
	retry_passes(retry, BEGIN, PART TEXT "ETag: \"o\"\r\n" RANGE("bytes 0-3/9") "\r\nxxxx",
		     RETRY_CLOSED);
	retry_refused(retry, REST);
	retry_passes(retry, BEGIN, PART TEXT TAG RANGE("bytes 0-3/9") "\r\nxxxx", RETRY_CLOSED);
	retry_refused(retry, REST);
}

/* A new version that ends there in the same is as good. */
static void the_same_in_a_new_version(struct retry *retry)
{
	retry_passes(retry, BEGIN, PART TEXT "ETag: \"o\"\r\n" RANGE("bytes 0-3/9") "\r\nforb",
		     RETRY_CLOSED);
	retry_passes(retry, BEGIN, FORB, RETRY_CLOSED);
	retry_answer_refused(retry, REST,
			     PART TEXT "ETag: \"o\"\r\n" RANGE("bytes 4-8/9") "\r\nidden");
	retry_denied(retry, REST, IDDEN);
}

static void whose_it_is(void **state)
{
	(void)state;
	retry_tell(&terms, another_peer);
	retry_tell(&terms, another_host);
	retry_tell(&terms, another_validator);
	retry_tell(&terms, the_same_in_a_new_version);
}

/* Of a part that was not asked for so, or that is told in another way. */
static void ranges(struct retry *retry)
{
	static const char *const fields[] = {
		RANGE("bytes 4-8/9"),  RANGE("items 4-8/9"),
		RANGE("bytes: 4-8/9"), RANGE("bytes=4-8/9"),
		RANGE("4-8/9"),	       RANGE("bytes\t4-8/9"),
		RANGE("bytes */9"),    RANGE(""),
		RANGE("items */9"),    RANGE("x") RANGE("bytes 4-8/9"),
	};
	static const char *const statuses[] = {"200", "201", "206", "404", "302", "416"};

	retry_passes(retry, BEGIN, FORB, RETRY_CLOSED);
	for (size_t i = 0; i < ARRAY_SIZE(statuses) * ARRAY_SIZE(fields); i++) {
		const char *status = statuses[i / ARRAY_SIZE(fields)];
		const char *field = fields[i % ARRAY_SIZE(fields)];
		char response[256];

		/* That is what it may be. */
		if ((!strcmp(status, "206") && !(i % ARRAY_SIZE(fields))) ||
		    (!strcmp(status, "416") && !strcmp(field, RANGE("bytes */9"))))
			continue;
		snprintf(response, sizeof(response), "HTTP/1.1 %s X\r\n" TEXT TAG "%s\r\nidden",
			 status, field);
		retry_answer_refused(retry, REST, response);
	}
	retry_passes(retry, REST, "HTTP/1.1 416 X\r\n" RANGE("bytes */4") TEXT "\r\nno",
		     RETRY_CLOSED);
	retry_denied(retry, REST, IDDEN);
}

/* Who asked for no rest is told of parts of whatever there is. */
static void of_other_units(struct retry *retry)
{
	retry_passes(retry, GET("/f") "\r\n", OK TEXT TAG RANGE("0-24/319") "\r\nrows",
		     RETRY_CLOSED);
	retry_passes(retry, GET("/f") "\r\n", OK TEXT TAG RANGE("items 0-2/9") "\r\nrows",
		     RETRY_CLOSED);
	retry_answer_refused(retry, GET("/f") "\r\n", OK TEXT TAG RANGE("bytes 0-3/9") "\r\nforb");
}

/* A success, and none, without a part. */
static void statuses(struct retry *retry)
{
	static const char *const successes[] = {"201", "202", "203", "205", "206",
						"207", "208", "226", "299"};

	retry_passes(retry, BEGIN, FORB, RETRY_CLOSED);
	for (size_t i = 0; i < ARRAY_SIZE(successes); i++) {
		char response[256];

		snprintf(response, sizeof(response), "HTTP/1.1 %s X\r\n" TEXT TAG "\r\nidden",
			 successes[i]);
		retry_answer_refused(retry, REST, response);
	}
	retry_passes(retry, REST, "HTTP/1.1 204 No\r\n\r\n", RETRY_OPEN);
	retry_passes(retry, REST, "HTTP/1.1 404 No\r\n" TEXT "\r\nidden", RETRY_CLOSED);
	retry_denied(retry, REST, IDDEN);
}

/* curl takes the Content-Range of any head for that of the answer. */
static void interim(struct retry *retry)
{
	struct retry_result result;

	retry_passes(retry, BEGIN, FORB, RETRY_CLOSED);
	retry_run(retry, REST,
		  "HTTP/1.1 103 Early Hints\r\n" RANGE("bytes 4-8/9") "\r\n" OK TEXT TAG
								      "\r\nidden",
		  RETRY_CLOSED, &result);
	assert_int_equal(result.response, FAULT_RESUME_REFUSED);
	retry_result_done(&result);
	retry_run(retry, REST, "HTTP/1.1 103 Early Hints\r\n\r\n" IDDEN, RETRY_CLOSED, &result);
	assert_int_equal(result.response, FAULT_BLOCKED);
	retry_result_done(&result);
}

/* Read in another way the rest would be no text that goes on. */
static void media(struct retry *retry)
{
	static const char *const types[] = {
		"text/event-stream", "application/x-ndjson",
		"application/json",  "application/x-www-form-urlencoded",
		"image/png",	     "application/vnd.amazon.eventstream",
	};

	retry_passes(retry, BEGIN, FORB, RETRY_CLOSED);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		char response[256];

		snprintf(response, sizeof(response),
			 PART TAG "Content-Type: %s\r\n" RANGE("bytes 4-10/11") "\r\nidden\n\n",
			 types[i]);
		retry_answer_refused(retry, REST, response);
	}
	retry_answer_refused(retry, REST, PART TAG RANGE("bytes 4-8/9") "\r\nidden");
	retry_denied(retry, REST,
		     PART TAG "Content-Type: text/html\r\n" RANGE("bytes 4-8/9") "\r\nidden");
	/* Begun anew it is whatever it says. */
	retry_passes(retry, REST, OK "Content-Type: application/json\r\n\r\n\"idden\"",
		     RETRY_CLOSED);
}

static void what_a_server_answers_to_a_range(void **state)
{
	(void)state;
	retry_tell(&terms, ranges);
	retry_tell(&terms, of_other_units);
	retry_tell(&terms, statuses);
	retry_tell(&terms, interim);
	retry_tell(&terms, media);
}

#define LINES "Content-Type: application/x-ndjson\r\n"

/* Whatever succeeds goes on, or is nothing that could. */
static void events_by_status(struct retry *retry)
{
	static const char *const successes[] = {"200", "201", "203", "207", "226"};

	retry_passes(retry, EVENTS, STREAM(EVENT("1", "forb")), RETRY_CLOSED);
	for (size_t i = 0; i < ARRAY_SIZE(successes); i++) {
		char response[256];

		snprintf(response, sizeof(response),
			 "HTTP/1.1 %s X\r\n" SSE "\r\n" EVENT("2", "idden"), successes[i]);
		retry_denied(retry, AFTER("1"), response);
	}
	retry_answer_refused(retry, AFTER("1"), PART SSE "\r\n" EVENT("2", "idden"));
	retry_answer_refused(retry, AFTER("1"), OK LINES "\r\n\"idden\"\n");
	retry_answer_refused(retry, AFTER("1"), OK TEXT "\r\nidden");
	retry_answer_refused(retry, AFTER("1"), OK "\r\nidden");
	retry_passes(retry, AFTER("1"), "HTTP/1.1 404 No\r\n" TEXT "\r\nno", RETRY_CLOSED);
	/* And what it delivered counts: under another id, and under the same. */
	retry_passes(retry, AFTER("1"), "HTTP/1.1 201 X\r\n" SSE "\r\n" EVENT("2", "id"),
		     RETRY_CLOSED);
	retry_denied(retry, AFTER("2"), STREAM(EVENT("3", "den")));
	retry_passes(retry, EVENTS, "HTTP/1.1 201 X\r\n" SSE "\r\n" EVENT("1", "xxxx"),
		     RETRY_CLOSED);
	retry_refused(retry, AFTER("1"));
}

#define CHAT(s) "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" s "\"}}]}\n\n"

/* Events of another form, whose text has another name. */
static void events_by_form(struct retry *retry)
{
	retry_passes(retry, EVENTS, STREAM(EVENT("1", "forb")), RETRY_CLOSED);
	retry_denied(retry, AFTER("1"), STREAM(CHAT("idden")));
	retry_denied(retry, AFTER("1"), STREAM("event: x\n" EVENT("2", "idden")));
	/* A rune of it in each, and by turns. */
	retry_passes(retry, AFTER("1"), STREAM("id: 2\n" CHAT("id")), RETRY_CLOSED);
	retry_passes(retry, AFTER("2"), STREAM(EVENT("3", "-") "id: 4\n" CHAT("de")), RETRY_CLOSED);
	retry_denied(retry, AFTER("4"), STREAM(CHAT("n")));
	/* Within one response each is a text of its own. */
	retry_passes(retry, EVENTS, STREAM(EVENT("7", "forb") "id: 8\n" CHAT("idden")),
		     RETRY_CLOSED);
}

static void what_a_server_answers_behind_an_event(void **state)
{
	(void)state;
	retry_tell(&terms, events_by_status);
	retry_tell(&terms, events_by_form);
}

static void refused_whatever_is_known(struct retry *retry)
{
	retry_passes(retry, EVENTS, STREAM(EVENT("1", "forb")), RETRY_CLOSED);
	retry_refused(retry, GET("/s") "Last_Event_ID: 1\r\n\r\n");
	retry_refused(retry, GET("/s?lastEventId=1") "\r\n");
	retry_refused(retry, GET("/s?starting_after[]=1") "\r\n");
	retry_refused(retry, GET("/s?starting_after=%D9%A1") "\r\n");
}

static void what_only_some_read_as_a_resume(void **state)
{
	(void)state;
	retry_tell(&terms, refused_whatever_is_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whose_it_is),
		cmocka_unit_test(what_a_server_answers_to_a_range),
		cmocka_unit_test(what_a_server_answers_behind_an_event),
		cmocka_unit_test(what_only_some_read_as_a_resume),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
