/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The framing guard's table, gate by gate, with the digests of the strings it is defined by;
 * and what is recorded of a flow's partial message for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "core/guard.h"
#include "core/pipeline.h"
#include "core/sha256.h"
#include "daemon/flow.h"
#include "daemon/partial.h"

static const char hash[] = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
static const char wait[] = "WAIT: Partial message in progress. Await remaining bytes.";

static void sha256_of(const char *text, char hex[static SHA256_HEX_SIZE])
{
	struct sha256 sha256 = {0};

	assert_int_equal(sha256_init(&sha256), 0);
	assert_int_equal(sha256_update(&sha256, text, strlen(text)), 0);
	assert_int_equal(sha256_hex(&sha256, hex), 0);
	sha256_done(&sha256);
}

static void check(const struct guard_record *record, double now, enum guard_verdict verdict,
		  const char *directive, const char *manifest)
{
	struct guard_decision decision;
	char hex[SHA256_HEX_SIZE];

	assert_int_equal(guard_decide(record, now, &decision), 0);
	assert_int_equal(decision.verdict, verdict);
	assert_string_equal(decision.directive, directive);
	sha256_of(manifest, hex);
	assert_string_equal(decision.digest, hex);
}

static void digests_are_sha256(void **state)
{
	struct sha256 sha256 = {0};
	char hex[SHA256_HEX_SIZE];

	(void)state;
	/* FIPS 180-4's examples. */
	sha256_of("", hex);
	assert_string_equal(hex,
			    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	sha256_of("abc", hex);
	assert_string_equal(hex,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	/* More may follow a digest. */
	assert_int_equal(sha256_init(&sha256), 0);
	assert_int_equal(sha256_update(&sha256, "a", 1), 0);
	assert_int_equal(sha256_hex(&sha256, hex), 0);
	assert_int_equal(sha256_update(&sha256, "bc", 2), 0);
	assert_int_equal(sha256_hex(&sha256, hex), 0);
	assert_string_equal(hex,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sha256_done(&sha256);
	sha256_done(&sha256);
}

static void an_unframed_flow_is_reset_whatever_is_recorded(void **state)
{
	static const char reset[] =
		"HALT: Unframed stream cannot be parsed reliably. Implement framing.";
	struct guard_record record = {.mode = GUARD_UNFRAMED, .timeout = 30};

	(void)state;
	check(&record, 0, GUARD_DISCARD_AND_RESET, reset, "UNFRAMED");
	record.partial_hash = hash;
	check(&record, 1e9, GUARD_DISCARD_AND_RESET, reset, "UNFRAMED");
	record.mode = (enum guard_mode)77;
	check(&record, 1, GUARD_DISCARD_AND_RESET, reset, "UNFRAMED");
}

static void nothing_held_is_a_clean_boundary(void **state)
{
	static const char proceed[] =
		"PROCEED: No partial buffer. Stream is at a clean message boundary.";
	struct guard_record record = {.mode = GUARD_DELIMITED, .timeout = 30, .expected_size = 9};

	(void)state;
	check(&record, 1e6, GUARD_MESSAGE_COMPLETE, proceed, "CLEAN");
	record.partial_hash = "";
	record.mode = GUARD_LENGTH_PREFIXED;
	check(&record, -1, GUARD_MESSAGE_COMPLETE, proceed, "CLEAN");
}

static void a_partial_message_is_waited_for_up_to_its_timeout(void **state)
{
	struct guard_record record = {
		.mode = GUARD_LENGTH_PREFIXED,
		.partial_hash = hash,
		.last_byte = 1000,
		.timeout = 30,
		.expected_size = 65536,
	};
	char manifest[256];

	(void)state;
	snprintf(manifest, sizeof(manifest),
		 "{\"age\": \"30.0\", \"buffer\": \"%s\", \"expected\": \"65536\"}", hash);
	/* At the timeout, and one part past it. */
	check(&record, 1030, GUARD_MESSAGE_IN_PROGRESS, wait, manifest);
	check(&record, nextafter(1030, INFINITY), GUARD_STALE_PARTIAL_BUFFER,
	      "HALT: Partial buffer is 30.0s old, exceeding 30.0s timeout. Discard.", "STALE:30.0");
	record.expected_size = 0;
	snprintf(manifest, sizeof(manifest),
		 "{\"age\": \"0.2\", \"buffer\": \"%s\", \"expected\": \"UNKNOWN\"}", hash);
	check(&record, 1000.25, GUARD_MESSAGE_IN_PROGRESS, wait, manifest);
	/* A clock that went back. */
	record.expected_size = UINT64_MAX;
	snprintf(manifest, sizeof(manifest),
		 "{\"age\": \"-5.0\", \"buffer\": \"%s\", \"expected\": \"18446744073709551615\"}",
		 hash);
	check(&record, 995, GUARD_MESSAGE_IN_PROGRESS, wait, manifest);
	snprintf(manifest, sizeof(manifest),
		 "{\"age\": \"-0.0\", \"buffer\": \"%s\", \"expected\": \"18446744073709551615\"}",
		 hash);
	check(&record, 999.96, GUARD_MESSAGE_IN_PROGRESS, wait, manifest);
}

static void timeouts_read_back_the_same(void **state)
{
	static const struct {
		double timeout;
		const char *text;
	} rows[] = {
		{0, "0.0"},
		{1, "1.0"},
		{0.05, "0.05"},
		{5.5, "5.5"},
		{0.1, "0.1"},
		{30, "30.0"},
		{100, "100.0"},
		{86400, "86400.0"},
		{1.0 / 3, "0.3333333333333333"},
		{2.0 / 3, "0.6666666666666666"},
		{0.1 + 0.2, "0.30000000000000004"},
		{123456.789, "123456.789"},
		{0.0001, "0.0001"},
		{0.00001, "1e-05"},
		{1234567890123456, "1234567890123456.0"},
		{1e15, "1000000000000000.0"},
		{1e16, "1e+16"},
		{1.5e300, "1.5e+300"},
		{-2.5, "-2.5"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct guard_record record = {
			.mode = GUARD_DELIMITED,
			.partial_hash = hash,
			.timeout = rows[i].timeout,
		};
		char directive[256];

		snprintf(directive, sizeof(directive), "exceeding %ss timeout. Discard.",
			 rows[i].text);
		{
			struct guard_decision decision;

			assert_int_equal(guard_decide(&record, 1e301, &decision), 0);
			assert_int_equal(decision.verdict, GUARD_STALE_PARTIAL_BUFFER);
			assert_non_null(strstr(decision.directive, directive));
		}
	}
}

static void ages_of_any_size_are_written_whole(void **state)
{
	struct guard_record record = {
		.mode = GUARD_DELIMITED, .partial_hash = hash, .timeout = 5.5};
	struct guard_decision decision;

	(void)state;
	check(&record, 1e5, GUARD_STALE_PARTIAL_BUFFER,
	      "HALT: Partial buffer is 100000.0s old, exceeding 5.5s timeout. Discard.",
	      "STALE:100000.0");
	record.last_byte = -1.7976931348623157e308;
	record.timeout = -1.7976931348623157e308;
	assert_int_equal(guard_decide(&record, 0, &decision), 0);
	assert_int_equal(strlen(decision.directive),
			 strlen("HALT: Partial buffer is s old, exceeding s timeout. Discard.") +
				 311 + strlen("-1.7976931348623157e+308"));
	/* What is no number proves nothing: closed. */
	record.last_byte = NAN;
	assert_int_equal(guard_decide(&record, 0, &decision), 0);
	assert_int_equal(decision.verdict, GUARD_STALE_PARTIAL_BUFFER);
	record.last_byte = 0;
	record.timeout = NAN;
	assert_int_equal(guard_decide(&record, 0, &decision), 0);
	assert_int_equal(decision.verdict, GUARD_STALE_PARTIAL_BUFFER);
}

static void held_bytes_need_their_hash(void **state)
{
	const uint8_t *held = (const uint8_t *)"abc";
	char hex[SHA256_HEX_SIZE];

	(void)state;
	sha256_of("abc", hex);
	assert_true(guard_partial_intact(hex, held, 3));
	assert_false(guard_partial_intact(hex, held, 2));
	assert_false(guard_partial_intact(hex, (const uint8_t *)"abd", 3));
	assert_false(guard_partial_intact(NULL, held, 3));
	assert_false(guard_partial_intact("", held, 3));
	assert_true(guard_partial_intact(NULL, held, 0));
	assert_true(guard_partial_intact("", NULL, 0));
	/* A hash of bytes that are not there. */
	assert_false(guard_partial_intact(hex, held, 0));
	hex[0] = (char)(hex[0] - 'a' + 'A');
	assert_false(guard_partial_intact(hex, held, 3));
	assert_false(guard_partial_intact("ba78", held, 3));
}

static void the_gates_alone_say_the_same(void **state)
{
	static const enum guard_mode modes[] = {GUARD_LENGTH_PREFIXED, GUARD_DELIMITED,
						GUARD_UNFRAMED};
	static const double ages[] = {-1, 0, 29.9, 30, 30.1, INFINITY, NAN};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes) * ARRAY_SIZE(ages) * 2; i++) {
		double age = ages[i / 2 % ARRAY_SIZE(ages)];
		struct guard_record record = {
			.mode = modes[i / 2 / ARRAY_SIZE(ages)],
			.partial_hash = i % 2 ? hash : NULL,
			.timeout = 30,
		};
		struct guard_decision decision;

		assert_int_equal(guard_decide(&record, age, &decision), 0);
		assert_int_equal(guard_judge(record.mode, i % 2, age, 30), decision.verdict);
	}
}

static struct flow new_flow(void)
{
	const struct pipeline_config config = {
		.framing = {.kind = FRAMING_NDJSON},
		.extract = {.kind = EXTRACT_AUTO},
		.max_message = 1 << 20,
		.max_pending_units = 16,
	};
	struct flow flow = {0};

	hold_init(&flow.hold, HOLD_MEDIUM);
	assert_int_equal(pipeline_new(&config, &flow.pipeline), 0);
	return flow;
}

static void free_flow(struct flow *flow, struct hold_pool *pool)
{
	hold_done(&flow->hold, pool);
	hold_pool_done(pool);
	pipeline_free(flow->pipeline);
}

static void take(struct flow *flow, struct hold_pool *pool, const char *bytes, size_t len)
{
	uint8_t *room;
	size_t size, part;

	for (; len; bytes += part, len -= part) {
		assert_int_equal(hold_reserve(&flow->hold, pool, &room, &size), 0);
		part = MIN(len, size);
		memcpy(room, bytes, part);
		hold_commit(&flow->hold, pool, part);
		assert_int_equal(pipeline_feed(flow->pipeline, room, part), FAULT_NONE);
		flow->received += part;
	}
}

/* A line of which so many bytes are there, behind a whole one of which some was sent. */
static void check_partial(size_t line_len, size_t cut, size_t sent)
{
	static const char first[] = "{\"t\": \"Transfer $10\"}\n";
	char line[20000];
	struct hold_pool pool = {0};
	struct flow flow = new_flow();
	struct guard_decision decision;
	struct guard_record record = {.mode = partial_mode(FRAMING_NDJSON), .timeout = 30};
	char hex[SHA256_HEX_SIZE];

	memset(line, ' ', line_len);
	memcpy(line, "{}", 2);
	line[line_len - 1] = '\n';
	take(&flow, &pool, first, sizeof(first) - 1);
	take(&flow, &pool, line, cut);
	hold_consume(&flow.hold, &pool, sent);
	flow.sent = sent;
	assert_int_equal(partial_hash(&flow, hex), 0);
	record.partial_hash = hex;
	assert_int_equal(guard_decide(&record, 1, &decision), 0);
	if (cut % line_len) {
		assert_int_equal(decision.verdict, GUARD_MESSAGE_IN_PROGRESS);
		assert_true(guard_partial_intact(hex, (const uint8_t *)line, cut));
		assert_false(guard_partial_intact(hex, (const uint8_t *)line, cut - 1));
	} else {
		assert_int_equal(decision.verdict, GUARD_MESSAGE_COMPLETE);
		assert_string_equal(hex, "");
	}
	free_flow(&flow, &pool);
}

static void the_hash_of_a_flow_is_that_of_its_partial_message(void **state)
{
	(void)state;
	for (size_t cut = 0; cut <= 40; cut++)
		for (size_t sent = 0; sent <= 22; sent += 11)
			check_partial(40, cut, sent);
	/* Over many chunks of the hold. */
	check_partial(20000, 4000, 0);
	check_partial(20000, 19999, 22);
	check_partial(20000, 20000, 22);
}

static void what_was_written_ahead_has_no_hash(void **state)
{
	struct hold_pool pool = {0};
	struct flow flow = new_flow();
	char hex[SHA256_HEX_SIZE];

	(void)state;
	take(&flow, &pool, "{}\n{\"half", 9);
	hold_consume(&flow.hold, &pool, 4);
	flow.sent = 4;
	assert_int_equal(partial_hash(&flow, hex), -ENODATA);
	free_flow(&flow, &pool);
}

static void every_framing_says_what_ends_a_message(void **state)
{
	static const struct {
		struct framing framing;
		enum guard_mode mode;
		const char *text;
	} rows[] = {
		{{.kind = FRAMING_NDJSON}, GUARD_DELIMITED, "LF"},
		{{.kind = FRAMING_SENTINEL, .sentinel = "\r\n.\xff", .sentinel_len = 4},
		 GUARD_DELIMITED,
		 "0d0a2eff"},
		{{.kind = FRAMING_LENPREFIX, .type = LENPREFIX_U32, .big_endian = true},
		 GUARD_LENGTH_PREFIXED,
		 "u32 big-endian length"},
		{{.kind = FRAMING_LENPREFIX, .type = LENPREFIX_U16, .includes_header = true},
		 GUARD_LENGTH_PREFIXED,
		 "u16 little-endian length that counts itself"},
		{{.kind = FRAMING_LENPREFIX, .type = LENPREFIX_U8},
		 GUARD_LENGTH_PREFIXED,
		 "u8 length"},
		{{.kind = FRAMING_LENPREFIX, .type = LENPREFIX_VARINT},
		 GUARD_LENGTH_PREFIXED,
		 "varint length"},
		{{.kind = FRAMING_SSE}, GUARD_DELIMITED, "event stream blank line"},
		{{.kind = FRAMING_HTTP1}, GUARD_DELIMITED, "HTTP/1 head and body"},
		{{.kind = FRAMING_JSONRPC_CL}, GUARD_LENGTH_PREFIXED, "Content-Length header"},
		/* It waits for what it is; only then is it unframed. */
		{{.kind = FRAMING_AUTO}, GUARD_DELIMITED, "not identified yet"},
		{{.kind = FRAMING_WS}, GUARD_LENGTH_PREFIXED, "WebSocket frame header"},
	};
	struct framing longest = {.kind = FRAMING_SENTINEL, .sentinel_len = SENTINEL_LEN_MAX};
	char text[PARTIAL_DELIMITER_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		partial_delimiter(&rows[i].framing, text);
		assert_string_equal(text, rows[i].text);
		assert_int_equal(partial_mode(rows[i].framing.kind), rows[i].mode);
	}
	partial_delimiter(&longest, text);
	assert_int_equal(strlen(text), 2 * SENTINEL_LEN_MAX);
}

static void every_verdict_has_a_name(void **state)
{
	(void)state;
	assert_string_equal(guard_verdict_name(GUARD_STALE_PARTIAL_BUFFER), "STALE_PARTIAL_BUFFER");
	assert_string_equal(guard_verdict_name(GUARD_MESSAGE_IN_PROGRESS), "MESSAGE_IN_PROGRESS");
	assert_string_equal(guard_verdict_name((enum guard_verdict)_GUARD_VERDICT_MAX), "UNKNOWN");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests_are_sha256),
		cmocka_unit_test(an_unframed_flow_is_reset_whatever_is_recorded),
		cmocka_unit_test(nothing_held_is_a_clean_boundary),
		cmocka_unit_test(a_partial_message_is_waited_for_up_to_its_timeout),
		cmocka_unit_test(timeouts_read_back_the_same),
		cmocka_unit_test(ages_of_any_size_are_written_whole),
		cmocka_unit_test(held_bytes_need_their_hash),
		cmocka_unit_test(the_gates_alone_say_the_same),
		cmocka_unit_test(the_hash_of_a_flow_is_that_of_its_partial_message),
		cmocka_unit_test(what_was_written_ahead_has_no_hash),
		cmocka_unit_test(every_framing_says_what_ends_a_message),
		cmocka_unit_test(every_verdict_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
