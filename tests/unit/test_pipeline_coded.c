/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies in a content coding: read decoded, released as they came; in every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/macros.h"
#include "core/session.h"
#include "unit/coded.h"
#include "unit/flow.h"

#define SSE	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"

enum format { FORMAT_GZIP = 15 + 16, FORMAT_ZLIB = 15, FORMAT_RAW = -15 };

static const struct flow_config responses = {
	.framing = {.kind = FRAMING_HTTP1},
	.extract = {.kind = EXTRACT_RAW},
	.terms = {{"bomb"}},
	.request_count = 1,
};

/* Bytes on the wire, and a coder that they go through. */
struct wire {
	uint8_t data[8192];
	size_t len;
	z_stream coder;
};

static void plain(struct wire *wire, const void *data, size_t len)
{
	assert_true(wire->len + len <= sizeof(wire->data));
	memcpy(wire->data + wire->len, data, len);
	wire->len += len;
}

static void line(struct wire *wire, const char *text)
{
	plain(wire, text, strlen(text));
}

static void begin(struct wire *wire, const char *head, enum format format)
{
	memset(wire, 0, sizeof(*wire));
	assert_int_equal(deflateInit2(&wire->coder, 9, Z_DEFLATED, format, 8, Z_DEFAULT_STRATEGY),
			 Z_OK);
	line(wire, head);
}

/* What the coder makes of the text, and of what it held back before. */
static size_t code(struct wire *wire, const char *text, int flush, uint8_t *out, size_t room)
{
	int r;

	wire->coder.next_in = (uint8_t *)text;
	wire->coder.avail_in = (uInt)strlen(text);
	wire->coder.next_out = out;
	wire->coder.avail_out = (uInt)room;
	r = deflate(&wire->coder, flush);
	assert_true(r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR);
	assert_true(wire->coder.avail_out > 0);
	return room - wire->coder.avail_out;
}

/* A chunk of it; returns the offset of its last byte's end. */
static size_t chunk(struct wire *wire, const char *text, int flush)
{
	uint8_t coded[2048];
	size_t len = code(wire, text, flush, coded, sizeof(coded)), end;
	char size[32];

	if (!len)
		return wire->len;
	snprintf(size, sizeof(size), "%zx\r\n", len);
	line(wire, size);
	plain(wire, coded, len);
	end = wire->len;
	line(wire, "\r\n");
	return end;
}

static void end(struct wire *wire)
{
	assert_true(deflateEnd(&wire->coder) != Z_STREAM_ERROR);
}

static void run(const struct flow_config *config, struct wire *wire, enum fault fault,
		uint64_t released, struct flow *ret_flow)
{
	end(wire);
	flow_run_splits(config, wire->data, wire->len, ret_flow);
	assert_string_equal(fault_name(ret_flow->fault), fault_name(fault));
	assert_int_equal(ret_flow->released, released);
}

static void events_leave_where_chunk_and_coder_agree(void **state)
{
	size_t head, first, second, third, last;
	struct wire wire;
	struct flow flow;

	(void)state;
	begin(&wire, SSE CHUNKED, FORMAT_GZIP);
	head = wire.len;
	first = chunk(&wire, "data: 1\n\n", Z_SYNC_FLUSH);
	/* The second chunk ends within an event; the third with it, and with another. */
	second = chunk(&wire, "data: 2", Z_SYNC_FLUSH);
	third = chunk(&wire, "\n\ndata: 3\n\n: c\n\n", Z_SYNC_FLUSH);
	last = chunk(&wire, "", Z_FINISH);
	line(&wire, "0\r\n\r\n");
	run(&responses, &wire, FAULT_NONE, wire.len, &flow);
	assert_int_equal(flow_at(&flow, head)->released, head);
	assert_int_equal(flow_at(&flow, head)->mark.place, REFUSAL_NONE);
	assert_int_equal(flow_at(&flow, first - 1)->released, head);
	assert_int_equal(flow_at(&flow, first)->released, first);
	assert_int_equal(flow_at(&flow, first)->mark.place, REFUSAL_NONE);
	assert_int_equal(flow_at(&flow, first + 1)->released, first);
	assert_int_equal(flow_at(&flow, first + 2)->released, first + 2);
	for (size_t i = first + 2; i < third; i++)
		assert_int_equal(flow_at(&flow, i)->released, first + 2);
	assert_true(second > first && last > third);
	assert_int_equal(flow_at(&flow, third)->released, third);
	assert_string_equal(flow_payloads(&flow), "1|2|3|");
	assert_int_equal(flow.messages, 3);
	assert_int_equal(flow.sessions[0].end, SESSION_COMPLETE_END);
	flow_done(&flow);
}

/* What it has not given out is not known, and the end of an event in it neither. */
static void a_coder_that_holds_back_holds_all(void **state)
{
	struct wire wire;
	struct flow flow;
	size_t begun;

	(void)state;
	begin(&wire, SSE CHUNKED, FORMAT_GZIP);
	/* Its header alone: all was given out, and nothing has begun. */
	begun = chunk(&wire, "data: 1\n\n", Z_NO_FLUSH) + 2;
	assert_int_equal(chunk(&wire, "data: 2\n\n", Z_NO_FLUSH), begun);
	(void)chunk(&wire, "data: a bomb\n\n", Z_FINISH);
	line(&wire, "0\r\n\r\n");
	run(&responses, &wire, FAULT_BLOCKED, begun, &flow);
	assert_int_equal(flow.messages, 0);
	flow_done(&flow);
}

static void a_term_in_a_coded_event(void **state)
{
	struct wire wire;
	struct flow flow;
	size_t first;

	(void)state;
	begin(&wire, SSE CHUNKED, FORMAT_GZIP);
	first = chunk(&wire, "data: 1\n\n", Z_SYNC_FLUSH);
	(void)chunk(&wire, "data: bo", Z_SYNC_FLUSH);
	(void)chunk(&wire, "mb\n\n", Z_FINISH);
	line(&wire, "0\r\n\r\n");
	run(&responses, &wire, FAULT_BLOCKED, first + 2, &flow);
	assert_int_equal(flow.points[flow.point_count - 1].mark.place, REFUSAL_NONE);
	assert_int_equal(flow.sessions[0].end, SESSION_DENIED_END);
	flow_done(&flow);
}

/* A body of that coding, whole, by its length. */
static void document(struct wire *wire, const char *coding, enum format format, const char *text)
{
	uint8_t coded[2048];
	char head[256];
	size_t len;

	begin(wire, "", format);
	len = code(wire, text, Z_FINISH, coded, sizeof(coded));
	snprintf(head, sizeof(head),
		 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: %s\r\n"
		 "Content-Length: %zu\r\n\r\n",
		 coding, len);
	line(wire, head);
	plain(wire, coded, len);
}

static void documents_in_every_coding(void **state)
{
	static const struct {
		const char *coding;
		enum format format;
	} codings[] = {
		{"gzip", FORMAT_GZIP},	  {"x-gzip", FORMAT_GZIP}, {"GZip", FORMAT_GZIP},
		{"deflate", FORMAT_ZLIB}, {"deflate", FORMAT_RAW},
	};
	struct flow_config config = responses;
	struct wire wire;
	struct flow flow;

	(void)state;
	config.extract.kind = EXTRACT_AUTO;
	for (size_t i = 0; i < ARRAY_SIZE(codings); i++) {
		document(&wire, codings[i].coding, codings[i].format, "{\"a\":\"a b\\u006fmb\"}");
		run(&config, &wire, FAULT_BLOCKED, 0, &flow);
		flow_done(&flow);
		document(&wire, codings[i].coding, codings[i].format, "{\"a\":\"fine\"}");
		run(&config, &wire, FAULT_NONE, wire.len, &flow);
		assert_string_equal(flow_text(&flow, "a"), "fine");
		assert_string_equal(flow_payloads(&flow), "{\"a\":\"fine\"}|");
		flow_done(&flow);
	}
	/* What is not what it says. */
	document(&wire, "gzip", FORMAT_ZLIB, "{}");
	run(&config, &wire, FAULT_BAD_ENCODING, 0, &flow);
	flow_done(&flow);
	document(&wire, "compress", FORMAT_GZIP, "{}");
	run(&config, &wire, FAULT_UNSUPPORTED_CODING, 0, &flow);
	flow_done(&flow);
}

static void check_document(const char *name, enum coded_format format, const char *text,
			   enum fault fault)
{
	struct flow_config config = responses;
	struct coded_bytes packed = {.data = NULL};
	struct wire wire = {.len = 0};
	struct flow flow;
	char head[256];

	config.extract.kind = EXTRACT_AUTO;
	coded_pack_simply(format, text, strlen(text), &packed);
	snprintf(head, sizeof(head),
		 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: %s\r\n"
		 "Content-Length: %zu\r\n\r\n",
		 name, packed.len);
	line(&wire, head);
	plain(&wire, packed.data, packed.len);
	flow_run_splits(&config, wire.data, wire.len, &flow);
	assert_string_equal(fault_name(flow.fault), fault_name(fault));
	assert_int_equal(flow.released, fault ? 0 : wire.len);
	if (!fault)
		assert_string_equal(flow_text(&flow, "a"), "fine");
	flow_done(&flow);
	coded_bytes_done(&packed);
}

static void documents_in_codings_of_other_libraries(void **state)
{
	(void)state;
	check_document("br", CODED_BROTLI, "{\"a\":\"a b\\u006fmb\"}", FAULT_BLOCKED);
	check_document("br", CODED_BROTLI, "{\"a\":\"fine\"}", FAULT_NONE);
	check_document("zstd", CODED_ZSTD, "{\"a\":\"a b\\u006fmb\"}", FAULT_BLOCKED);
	check_document("zstd", CODED_ZSTD, "{\"a\":\"fine\"}", FAULT_NONE);
	check_document("zstd", CODED_BROTLI, "{\"a\":\"fine\"}", FAULT_BAD_ENCODING);
}

/* A chunk that ends within a compressed block, which can be read in part: it waits. */
static void a_block_in_two_chunks_is_judged_first(void **state)
{
	static const char fine[] = "data: fine fine fine fine fine fine fine fine fine fine\n\n";
	static const char bad[] = "data: a bomb a bomb a bomb a bomb a bomb a bomb a bomb\n\n";
	static const char zstd[] = "Transfer-Encoding: chunked\r\nContent-Encoding: zstd\r\n\r\n";
	const size_t begun = 12; /* of the second frame: its header, and some of its block */

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct coded_bytes packed = {.data = NULL};
		struct wire wire = {.len = 0};
		struct flow flow;
		size_t head, first, second;
		char size[32];

		coded_pack_simply(CODED_ZSTD, fine, strlen(fine), &packed);
		first = packed.len + begun;
		coded_pack_simply(CODED_ZSTD, i ? bad : fine, strlen(fine), &packed);
		assert_true(packed.len < 2 * strlen(fine)); /* compressed */
		line(&wire, SSE);
		line(&wire, zstd);
		head = wire.len;
		snprintf(size, sizeof(size), "%zx\r\n", first);
		line(&wire, size);
		plain(&wire, packed.data, first);
		snprintf(size, sizeof(size), "\r\n%zx\r\n", packed.len - first);
		second = wire.len;
		line(&wire, size);
		plain(&wire, packed.data + first, packed.len - first);
		line(&wire, "\r\n0\r\n\r\n");
		flow_run_splits(&responses, wire.data, wire.len, &flow);
		assert_int_equal(flow_at(&flow, second)->released, head);
		assert_int_equal(flow.fault, i ? FAULT_BLOCKED : FAULT_NONE);
		assert_int_equal(flow.released, i ? head : wire.len);
		flow_done(&flow);
		coded_bytes_done(&packed);
	}
}

static void a_coding_that_is_damaged_or_cut(void **state)
{
	struct wire wire;
	struct flow flow;

	(void)state;
	document(&wire, "gzip", FORMAT_GZIP, "{\"a\":\"fine\"}");
	wire.data[wire.len - 6] ^= 1; /* of the check sum */
	run(&responses, &wire, FAULT_BAD_ENCODING, 0, &flow);
	flow_done(&flow);
	/* The message is whole, and its coding is not. */
	begin(&wire, SSE CHUNKED, FORMAT_GZIP);
	(void)chunk(&wire, "data: 1\n\n", Z_SYNC_FLUSH);
	line(&wire, "0\r\n\r\n");
	run(&responses, &wire, FAULT_TRUNCATED, wire.len - 5, &flow);
	flow_done(&flow);
	/* More behind the end. */
	begin(&wire, SSE CHUNKED, FORMAT_GZIP);
	(void)chunk(&wire, "data: 1\n\n", Z_FINISH);
	line(&wire, "1\r\nx\r\n0\r\n\r\n");
	run(&responses, &wire, FAULT_BAD_ENCODING, wire.len - 11, &flow);
	flow_done(&flow);
}

/* Little on the wire that is much when it is read: held to the cap of a message. */
static void a_bomb_is_too_large(void **state)
{
	struct flow_config config = responses;
	char *zeros = malloc(100001);
	uint8_t coded[2048];
	struct wire wire;
	struct flow flow;
	size_t len;

	(void)state;
	assert_non_null(zeros);
	memset(zeros, '0', 100000);
	zeros[100000] = '\0';
	config.max_message = 65536;
	begin(&wire, "", FORMAT_GZIP);
	len = code(&wire, zeros, Z_FINISH, coded, sizeof(coded));
	snprintf(zeros, 200,
		 "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n", len);
	line(&wire, zeros);
	plain(&wire, coded, len);
	free(zeros);
	run(&config, &wire, FAULT_TOO_LARGE, 0, &flow);
	flow_done(&flow);
}

static void requests_are_decoded_as_well(void **state)
{
	struct flow_config config = responses;
	struct wire wire;
	struct flow flow;

	(void)state;
	config.request = true;
	config.request_count = 0;
	begin(&wire, "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" CHUNKED,
	      FORMAT_GZIP);
	(void)chunk(&wire, "{\"prompt\":\"a bo", Z_SYNC_FLUSH);
	(void)chunk(&wire, "mb\"}", Z_FINISH);
	line(&wire, "0\r\n\r\n");
	run(&config, &wire, FAULT_BLOCKED, 0, &flow);
	flow_done(&flow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_leave_where_chunk_and_coder_agree),
		cmocka_unit_test(a_coder_that_holds_back_holds_all),
		cmocka_unit_test(a_term_in_a_coded_event),
		cmocka_unit_test(documents_in_every_coding),
		cmocka_unit_test(documents_in_codings_of_other_libraries),
		cmocka_unit_test(a_block_in_two_chunks_is_judged_first),
		cmocka_unit_test(a_coding_that_is_damaged_or_cut),
		cmocka_unit_test(a_bomb_is_too_large),
		cmocka_unit_test(requests_are_decoded_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
