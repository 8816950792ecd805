/* SPDX-License-Identifier: Apache-2.0 */
/* Extensions of WebSocket, as heads offer and accept them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/frame_http1.h"
#include "core/http1_websocket.h"

/* In memory of exactly its size. */
static struct http1_websocket read_value(const char *value, bool *ret_unknown)
{
	struct http1_websocket websocket = {0};
	size_t len = strlen(value);
	uint8_t *copy = malloc(len + !len);

	assert_non_null(copy);
	memcpy(copy, value, len);
	*ret_unknown = false;
	http1_websocket_extensions((struct http1_slice){copy, len}, &websocket, ret_unknown);
	free(copy);
	return websocket;
}

static const struct {
	const char *value;
	bool client, server;
} known[] = {
	{"permessage-deflate", false, false},
	{"Permessage-DEFLATE", false, false},
	{"permessage-deflate; client_no_context_takeover", true, false},
	{"permessage-deflate;server_no_context_takeover", false, true},
	{"permessage-deflate ;\tserver_no_context_takeover ; client_no_context_takeover", true,
	 true},
	{"permessage-deflate; server_max_window_bits=8", false, false},
	{"permessage-deflate; server_max_window_bits = \"15\"", false, false},
	{"permessage-deflate; client_max_window_bits=10; server_max_window_bits=9", false, false},
	{", permessage-deflate ,", false, false},
};

static const char *const unknown[] = {
	"x-thing",
	"permessage-deflate-x",
	"permessage-bzip2",
	"permessage-deflate, x-thing",
	"x-thing, permessage-deflate",
	"permessage-deflate, permessage-deflate",
	"permessage-deflate;",
	"permessage-deflate; x",
	"permessage-deflate; client_no_context_takeover=1",
	"permessage-deflate; client_no_context_takeover; client_no_context_takeover",
	"permessage-deflate; server_no_context_takeover; server_no_context_takeover",
	"permessage-deflate; client_max_window_bits",
	"permessage-deflate; server_max_window_bits",
	"permessage-deflate; server_max_window_bits=",
	"permessage-deflate; server_max_window_bits=7",
	"permessage-deflate; server_max_window_bits=16",
	"permessage-deflate; server_max_window_bits=08",
	"permessage-deflate; server_max_window_bits=1",
	"permessage-deflate; server_max_window_bits=100",
	"permessage-deflate; server_max_window_bits=\"15",
	"permessage-deflate; server_max_window_bits=\"",
	"permessage-deflate; server_max_window_bits=\"\"",
	"permessage-deflate; server_max_window_bitsx=15",
	"permessage-deflate; server_max_window_bits=15; server_max_window_bits=15",
	"permessage-deflate; client_max_window_bits=15; client_max_window_bits=8",
	"\"permessage-deflate\"",
};

static void what_is_known(void **state)
{
	bool other;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		struct http1_websocket websocket = read_value(known[i].value, &other);

		assert_true(websocket.deflate);
		assert_int_equal(websocket.client_no_context_takeover, known[i].client);
		assert_int_equal(websocket.server_no_context_takeover, known[i].server);
		assert_false(websocket.agreed);
		assert_false(other);
	}
	assert_false(read_value("", &other).deflate);
	assert_false(other);
	assert_false(read_value(" , ,", &other).deflate);
	assert_false(other);
}

static void what_is_not(void **state)
{
	bool other;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		(void)read_value(unknown[i], &other);
		if (!other)
			fail_msg("'%s' is known", unknown[i]);
	}
}

/* A head, and what its codec says of it; request: what it answers, or NULL. */
static struct http1_head read_head(const char *head, const struct http1_request *request)
{
	const uint8_t *data = (const uint8_t *)head;
	size_t len = strlen(head), used = 0;
	struct http1_piece piece = {0};
	struct frame_http1 frame;
	struct http1_head got;

	frame_http1_init(&frame, request != NULL);
	if (request)
		frame_http1_answer(&frame, request);
	while (piece.kind != HTTP1_HEAD) {
		assert_int_equal(frame_http1_next(&frame, data + used, len - used, &piece),
				 FAULT_NONE);
		used += piece.used;
	}
	got = frame.head;
	frame_http1_done(&frame);
	return got;
}

static void a_request_offers_it(void **state)
{
	static const struct {
		const char *fields;
		bool upgrade, websocket, deflate;
	} offers[] = {
		{"", false, false, false},
		{"Upgrade: websocket\r\n", false, false, false},
		{"Connection: upgrade\r\n", false, false, false},
		{"Connection: upgrade\r\nUpgrade: h2c\r\n", true, false, false},
		{"Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n", true, true, false},
		{"Connection: upgrade\r\nUpgrade: h2c, websocket\r\n", true, true, false},
		{"Connection: upgrade\r\nUpgrade: websocket/13\r\n", true, false, false},
		{"Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: x, "
		 "permessage-deflate; client_max_window_bits\r\n",
		 true, true, true},
		{"Connection: upgrade\r\nUpgrade: h2c\r\nSec-WebSocket-Extensions: "
		 "permessage-deflate\r\n",
		 true, false, false},
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(offers); i++) {
		struct http1_head head;

		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n",
			 offers[i].fields);
		head = read_head(text, NULL);
		assert_int_equal(head.request.upgrade, offers[i].upgrade);
		assert_int_equal(head.request.websocket, offers[i].websocket);
		assert_int_equal(head.request.deflate, offers[i].deflate);
		assert_false(head.websocket.agreed);
	}
	/* HTTP/1.0 has none. */
	assert_false(read_head("GET / HTTP/1.0\r\nConnection: upgrade\r\n"
			       "Upgrade: websocket\r\n\r\n",
			       NULL)
			     .request.websocket);
}

static void a_response_agrees_to_it(void **state)
{
	static const struct http1_request all = {
		.upgrade = true,
		.websocket = true,
		.deflate = true,
	};
	static const struct http1_request plain = {.upgrade = true, .websocket = true};
	static const struct http1_request other = {.upgrade = true};
	static const struct {
		const struct http1_request *request;
		const char *fields;
		bool agreed;
	} answers[] = {
		{&plain, "Upgrade: websocket\r\n", true},
		{&plain, "Upgrade: WEBSOCKET\r\n", true},
		{&plain, "Upgrade: websocket, h2c\r\n", false},
		{&plain, "Upgrade: h2c\r\n", false},
		{&plain, "Upgrade: websocket\r\nUpgrade: h2c\r\n", false},
		{&other, "Upgrade: websocket\r\n", false},
		{&all, "Upgrade: websocket\r\n", true},
		{&all, "Upgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\n",
		 true},
		{&plain, "Upgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\n",
		 false},
		{&all, "Upgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate; x\r\n",
		 false},
		/* In two fields, twice. */
		{&all,
		 "Upgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"
		 "Sec-WebSocket-Extensions: permessage-deflate\r\n",
		 false},
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		snprintf(text, sizeof(text), "HTTP/1.1 101 X\r\nConnection: upgrade\r\n%s\r\n",
			 answers[i].fields);
		assert_int_equal(read_head(text, answers[i].request).websocket.agreed,
				 answers[i].agreed);
		/* And nothing else does. */
		memcpy(text + 9, "200", 3);
		assert_false(read_head(text, answers[i].request).websocket.agreed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_known),
		cmocka_unit_test(what_is_not),
		cmocka_unit_test(a_request_offers_it),
		cmocka_unit_test(a_response_agrees_to_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
