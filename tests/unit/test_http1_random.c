/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random messages, most of them slightly wrong: the codec, in random cuts, and a parser
 * written from the standard a second time tell the same of each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/fold_reference.h"
#include "unit/http1_pieces.h"
#include "unit/http1_reference.h"

#define ROUNDS	 8000u
#define DATA_MAX 1024u
#define CUTS_MAX 8u

struct input {
	char data[DATA_MAX];
	size_t len;
};

static const char *const starts[] = {
	"GET / HTTP/1.1\r\n",
	"POST /v1 HTTP/1.1\r\n",
	"GET / HTTP/1.0\r\n",
	"HEAD /x HTTP/1.1\r\n",
	"OPTIONS * HTTP/1.1\r\n",
	"CONNECT a:443 HTTP/1.1\r\n",
	"GET http://A/ HTTP/1.1\r\n",
	"GET https://a:443?q HTTP/1.1\r\n",
	"\r\n\r\n",
	"PRI * HTTP/2.0\r\n",
	"GET http://[::1]:80/ HTTP/1.0\r\n",
};

static const char *const statuses[] = {
	"HTTP/1.1 200 OK\r\n",	     "HTTP/1.1 200 OK\r\n",	   "HTTP/1.0 200 \r\n",
	"HTTP/1.1 100 Continue\r\n", "HTTP/1.1 101 Switching\r\n", "HTTP/1.1 204 None\r\n",
	"HTTP/1.1 304 Not Mod\r\n",  "HTTP/1.1 404 Not Found\r\n", "HTTP/1.1 500 \xff\r\n",
};

static const char *const fields[] = {
	"Host: a\r\n",
	"Content-Length: 5\r\n",
	"content-length: 0\r\n",
	"Content-Length: 2, 2\r\n",
	"Transfer-Encoding: chunked\r\n",
	"transfer-encoding: \tCHUNKED \r\n",
	"Transfer-Encoding: gzip, chunked\r\n",
	"Transfer-Encoding: identity\r\n",
	"Content-Encoding: gzip\r\n",
	"Content-Encoding: identity\r\n",
	"Content-Encoding: br\r\n",
	"Content-Encoding: zstd\r\n",
	"Content-Encoding: compress\r\n",
	"Content-Encoding:\r\n",
	"Content-Type: text/plain\r\n",
	"Content-Type: application/json\r\n",
	"Connection: upgrade\r\n",
	"Connection: close, Upgrade, x\r\n",
	"Connection: content-length\r\n",
	"Upgrade: websocket\r\n",
	"Upgrade:\r\n",
	"Expect: 100-continue\r\n",
	"X-Y: z\r\n",
	"Trailer: \t\r\n",
};

static const char *const chunks[] = {
	"5\r\nhello\r\n",
	"1;a\r\nx\r\n",
	"02;b=c;d=\"e\\\"f\"\r\n\r\n\r\n",
	"A\r\n0123456789\r\n",
};

/* What is put in the way. */
static const char *const bits[] = {
	"\r\n",	   "\n",    "\r",	"\r\n\r\n", " ",	"\t",
	":",	   ",",	    ";",	"=",	    "\"",	"\\",
	"0",	   "5",	    "a",	"f",	    "HTTP/1.1", "Content-Length",
	"chunked", "Host:", "identity", "+",	    "-",	"0x",
	"\x7f",	   "\x80",  "/",	"*",	    "@",	"[",
	"]",	   "#",	    "HEAD",	"head",	    "CONNECT",	"gzip",
};

static const struct http1_request requests[] = {
	{0}, {0}, {.head = true}, {.connect = true}, {.upgrade = true}};

static void add(struct input *input, const char *text)
{
	size_t len = strlen(text);

	if (len > sizeof(input->data) - input->len)
		return;
	memcpy(input->data + input->len, text, len);
	input->len += len;
}

#define ADD(input, list, seed) add(input, (list)[draw(seed, ARRAY_SIZE(list))])

/* A body of its kind most of the time, or any. */
static void add_message(struct input *input, bool response, unsigned int *seed)
{
	static const char *const framings[] = {"", "Content-Length: 5\r\n",
					       "Transfer-Encoding: chunked\r\n"};
	unsigned int kind = draw(seed, ARRAY_SIZE(framings));

	if (response)
		ADD(input, statuses, seed);
	else
		ADD(input, starts, seed);
	if (!response && draw(seed, 16))
		add(input, "Host: a\r\n");
	add(input, framings[kind]);
	while (draw(seed, 3) == 0)
		ADD(input, fields, seed);
	add(input, "\r\n");
	if (draw(seed, 8) == 0)
		kind = draw(seed, ARRAY_SIZE(framings));
	if (kind == 1)
		add(input, "hello");
	if (kind != 2)
		return;
	while (draw(seed, 3))
		ADD(input, chunks, seed);
	add(input, draw(seed, 4) ? "0\r\n" : "00;x=\"\"\r\n");
	while (draw(seed, 4) == 0)
		ADD(input, fields, seed);
	add(input, "\r\n");
}

static void mutate(struct input *input, unsigned int *seed)
{
	size_t at, len = 0;
	struct input old = *input;

	if (!input->len)
		return;
	at = draw(seed, (unsigned int)input->len);
	input->len = at;
	switch (draw(seed, 5)) {
	case 0: /* a byte is another one */
		input->data[input->len++] = (char)draw(seed, 256);
		len = 1;
		break;
	case 1: /* some are missing */
		len = 1 + draw(seed, 3);
		break;
	case 2: /* some come twice */
		len = 1 + draw(seed, 30);
		len = MIN(len, old.len - at);
		memcpy(input->data + at, old.data + at, len);
		input->len += len;
		len = 0;
		break;
	case 3: /* it is cut short */
		len = draw(seed, 3) ? 0 : old.len - at;
		break;
	default:
		ADD(input, bits, seed);
		break;
	}
	at = MIN(at + len, old.len);
	len = MIN(old.len - at, sizeof(input->data) - input->len);
	memcpy(input->data + input->len, old.data + at, len);
	input->len += len;
}

static void check(const struct http1_reference *reference, const struct http1_pieces_config *config,
		  const struct input *input, unsigned int *seed)
{
	size_t cuts[CUTS_MAX], count = input->len ? draw(seed, CUTS_MAX) : 0;
	struct http1_pieces expected, pieces;

	for (size_t i = 0; i < count; i++) {
		size_t cut = draw(seed, (unsigned int)input->len), at = i;

		for (; at > 0 && cuts[at - 1] > cut; at--)
			cuts[at] = cuts[at - 1];
		cuts[at] = cut;
	}
	http1_reference_run(reference, config, input->data, input->len, &expected);
	http1_pieces_run(config, input->data, input->len, cuts, count, &pieces);
	if (strcmp(expected.text, pieces.text) != 0 || strcmp(expected.ends, pieces.ends) != 0) {
		http1_pieces_put(stdout, input->data, input->len);
		fputc('\n', stdout);
	}
	http1_pieces_assert_same(&pieces, &expected);
	http1_pieces_done(&expected);
	http1_pieces_done(&pieces);
}

static void round_of(const struct http1_reference *reference, unsigned int *seed)
{
	struct http1_pieces_config config = {.response = draw(seed, 2)};
	struct input input = {.len = 0};

	for (size_t i = 0; i < HTTP1_PIECES_REQUESTS; i++)
		config.requests[i] = requests[draw(seed, ARRAY_SIZE(requests))];
	do
		add_message(&input, config.response, seed);
	while (draw(seed, 2));
	while (draw(seed, 2))
		mutate(&input, seed);
	check(reference, &config, &input, seed);
}

static void random_messages(void **state)
{
	struct http1_reference *reference = http1_reference_new();
	unsigned int seed = 1;

	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++)
		round_of(reference, &seed);
	http1_reference_free(reference);
}

/* Every byte at every place of a request, and of a response. */
static void every_byte_everywhere(void **state)
{
	static const char *const texts[] = {
		"\r\nPOST /a?b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		"3;x=\"y\"\r\nabc\r\n0\r\nT: u\r\n\r\nGET / HTTP/1.0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length:  2 \r\nX: y\r\n\r\nok",
	};
	struct http1_reference *reference = http1_reference_new();
	unsigned int seed = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct http1_pieces_config config = {.response = i == 1};

		for (size_t at = 0; texts[i][at]; at++) {
			for (unsigned int byte = 0; byte < 256; byte++) {
				struct input input = {.len = 0};

				add(&input, texts[i]);
				input.data[at] = (char)byte;
				check(reference, &config, &input, &seed);
			}
		}
	}
	http1_reference_free(reference);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_messages),
		cmocka_unit_test(every_byte_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
