/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random HTTP: event streams in random chunks against a plain search of their text,
 * and messages with a byte damaged, of which every cut has to say the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/flow.h"

#define TERM "abba"
#define OK   "HTTP/1.1 200 OK\r\n"

static unsigned int pick(unsigned int *seed, unsigned int below)
{
	return (unsigned int)rand_r(seed) % below;
}

/* An event stream; text: that of its events, one after the other. */
static size_t random_events(unsigned int *seed, char *data, char *text)
{
	static const char *const ends[] = {"\n\n", "\r\n\r\n", "\r\r", "\n\r\n"};
	unsigned int events = 1 + pick(seed, 8);
	char *at = data;

	*text = '\0';
	for (unsigned int i = 0; i < events; i++) {
		if (pick(seed, 4) == 0)
			at += sprintf(at, ": c%s", ends[pick(seed, 4)]);
		at += sprintf(at, "data: ");
		for (unsigned int j = pick(seed, 5); j > 0; j--) {
			char c = "aab"[pick(seed, 3)];

			*at++ = c;
			sprintf(text + strlen(text), "%c", c);
		}
		at += sprintf(at, "%s", ends[pick(seed, 4)]);
	}
	return (size_t)(at - data);
}

/* The same in a response of random chunks. */
static size_t in_chunks(unsigned int *seed, const char *events, size_t len, char *data)
{
	char *at = data;
	size_t from = 0;

	at += sprintf(at,
		      OK "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
	while (from < len) {
		size_t size = 1 + pick(seed, 30);

		size = MIN(size, len - from);
		at += sprintf(at, "%zx%s\r\n", size, pick(seed, 5) ? "" : ";x=y");
		memcpy(at, events + from, size);
		at += size;
		at += sprintf(at, "\r\n");
		from += size;
	}
	at += sprintf(at, "0\r\n%s\r\n", pick(seed, 3) ? "" : "X: y\r\n");
	return (size_t)(at - data);
}

/* The text of the messages that were released. */
static size_t released_text(const struct flow *flow)
{
	const char *payloads = flow_payloads(flow);
	size_t len = 0;

	for (size_t i = 0; i < flow->units && flow->unit[i].end <= flow->released; i++) {
		for (uint32_t left = flow->unit[i].messages; left > 0; payloads++) {
			left -= *payloads == '|';
			len += *payloads != '|';
		}
	}
	return len;
}

static void random_events_against_a_plain_search(void **state)
{
	const struct flow_config config = {
		.framing = {.kind = FRAMING_HTTP1},
		.extract = {.kind = EXTRACT_RAW},
		.terms = {{TERM}},
		.request_count = 1,
	};
	unsigned int seed = 11, denied = 0;

	(void)state;
	for (unsigned int round = 0; round < 400; round++) {
		char events[512], text[128], data[4096];
		size_t len = random_events(&seed, events, text);
		const char *found = strstr(text, TERM);
		struct flow flow;

		len = in_chunks(&seed, events, len, data);
		flow_run_random(&config, data, len, seed, 6, &flow);
		assert_string_equal(fault_name(flow.fault), found ? "blocked" : "none");
		/* Not a letter of the term leaves. */
		if (found)
			assert_in_range(released_text(&flow), 0, found - text);
		else
			assert_int_equal(flow.released, len);
		denied += found != NULL;
		flow_done(&flow);
	}
	assert_in_range(denied, 40, 360);
}

static const char *const responses[] = {
	OK "Content-Length: 10\r\nContent-Type: application/json\r\n\r\n{\"a\":\"bo\"}",
	OK "Transfer-Encoding: chunked\r\n\r\n5;a=\"b;c\"\r\nhello\r\n0\r\nX: y\r\n\r\n",
	OK "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	   "9\r\ndata: 1\n\n\r\n10\r\nid: 1\r\ndata: 2\r\n\r\r\n1\r\n\n\r\n0\r\n\r\n",
	OK "Content-Type: text/event-stream\r\nContent-Length: 9\r\n\r\ndata: 1\n\n",
	OK "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
	   "7\r\n{}\n[1]\n\r\n4\r\n\"x\"\n\r\n0\r\n\r\n",
	"HTTP/1.1 204 No Content\r\n\r\n",
	"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
	"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" OK "Content-Length: 0\r\n\r\n",
	OK "Content-Encoding: gzip\r\nContent-Length: 20\r\n\r\n"
	   "\x1f\x8b\x08\x08\x01\x01\x01\x01\x02\x03 is no gzip",
};
static const char *const requests[] = {
	"GET /a%20b?c=d+e HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
	"Content-Type: application/x-www-form-urlencoded\r\n\r\na=%62",
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok",
	"GET / HTTP/1.0\r\nConnection: close\r\n\r\n",
	"\r\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
};

/* Some of the messages in a row, and in most rounds a byte of them changed. */
static size_t damaged(unsigned int *seed, const char *const *messages, unsigned int count,
		      char *data)
{
	static const char bytes[] = "\r\n\t :;,0159aZ\"{}[]%+\\\x80\xc3\xff\x16";
	unsigned int rounds = 1 + pick(seed, 3);
	size_t len = 0;

	for (unsigned int i = 0; i < rounds; i++) {
		const char *message = messages[pick(seed, count)];

		memcpy(data + len, message, strlen(message));
		len += strlen(message);
	}
	if (pick(seed, 8))
		data[pick(seed, (unsigned int)len)] = bytes[pick(seed, sizeof(bytes))];
	if (pick(seed, 8) == 0)
		len = pick(seed, (unsigned int)len);
	return len;
}

static void damaged_messages_in_every_cut(void **state)
{
	unsigned int seed = 23;

	(void)state;
	for (unsigned int round = 0; round < 1500; round++) {
		struct flow_config config = {
			.framing = {.kind = FRAMING_HTTP1},
			.extract = {.kind = EXTRACT_AUTO},
			.terms = {{"bomb", "secret"}, {"xyz"}},
			.request = round % 2,
			.request_count = round % 2 ? 0 : 3,
			/* A body may be read in two ways. */
			.twice = true,
			.no_end = round % 5 == 0,
		};
		struct flow flow;
		char data[1024];
		size_t len;

		if (config.request)
			len = damaged(&seed, requests, ARRAY_SIZE(requests), data);
		else
			len = damaged(&seed, responses, ARRAY_SIZE(responses), data);
		if (round % 7 == 0)
			config.max_message = 8;
		flow_run_random(&config, data, len, seed, 6, &flow);
		flow_done(&flow);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_events_against_a_plain_search),
		cmocka_unit_test(damaged_messages_in_every_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
