/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebSocket framing: every rule with what keeps it and what breaks it, against a
 * reference that has the whole flow before it, in every cut.
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
#include "unit/ws_reference.h"
#include "unit/ws_story.h"

static const struct frame_ws_config server = {.max_message = 1 << 20};
static const struct frame_ws_config client = {.client = true, .max_message = 1 << 20};

#define CHECK(config, data, text, partial) ws_check(config, data, sizeof(data) - 1, text, partial)
#define FAULT(config, data, text, fault, at) \
	ws_check_fault(config, data, sizeof(data) - 1, text, fault, at)

/* RFC 6455 5.7 */
static void examples_of_the_standard(void **state)
{
	(void)state;
	CHECK(&server, "\x81\x05Hello", "T(Hello)@7 ", false);
	CHECK(&client, "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", "T(Hello)@11 ", false);
	CHECK(&server, "\x01\x03Hel\x80\x02lo", "T(Hello)@9 ", false);
	CHECK(&server, "\x89\x05Hello", "P(Hello)U@7 ", false);
	CHECK(&client, "\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", "P(Hello)U@11 ", false);
}

/* The same, with 256 bytes and 64 KiB of payload, and at the edges of every length. */
static void lengths_in_their_shortest_form(void **state)
{
	static const size_t lengths[] = {0, 1, 125, 126, 127, 256, 65535, 65536, 65537};
	static const char *const heads[] = {
		"\x82\x00",
		"\x82\x01",
		"\x82\x7d",
		"\x82\x7e\x00\x7e",
		"\x82\x7e\x00\x7f",
		"\x82\x7e\x01\x00",
		"\x82\x7e\xff\xff",
		"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00",
		"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x01",
	};
	uint8_t *payload = calloc(1, 65537);

	(void)state;
	assert_non_null(payload);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		size_t head = lengths[i] < 126 ? 2 : lengths[i] < 65536 ? 4 : 10;
		const struct ws_cuts cuts[] = {{70000, 1, 0}, {1, 1, 0}, {3, 5000, 0}, {0, 0, 1}};

		for (size_t j = 0; j < 2 * ARRAY_SIZE(cuts); j++) {
			const struct frame_ws_config *config = j % 2 ? &client : &server;
			struct coded_bytes bytes = {.data = NULL};
			struct ws_story expected, got;

			ws_frame_add(&bytes, config->client, 0x82, payload, lengths[i]);
			if (!config->client)
				assert_memory_equal(bytes.data, heads[i], head);
			ws_reference(config, bytes.data, bytes.len, &expected);
			ws_run(config, bytes.data, bytes.len, &cuts[j / 2], &got);
			ws_assert_same(&got, &expected);
			assert_int_equal(got.fault, FAULT_NONE);
			assert_true(got.text.len > lengths[i]);
			ws_story_done(&got);
			ws_story_done(&expected);
			coded_bytes_done(&bytes);
		}
	}
	free(payload);
}

static void lengths_in_longer_forms(void **state)
{
	(void)state;
	FAULT(&server, "\x81\x7e\x00\x05hello", "", FAULT_PROTOCOL, 3);
	FAULT(&server, "\x81\x7e\x00\x7dhello", "", FAULT_PROTOCOL, 3);
	FAULT(&server, "\x81\x7e\x00\x00", "", FAULT_PROTOCOL, 3);
	FAULT(&server, "\x81\x7f\0\0\0\0\0\0\xff\xff", "", FAULT_PROTOCOL, 9);
	FAULT(&server, "\x81\x7f\0\0\0\0\0\0\0\1x", "", FAULT_PROTOCOL, 9);
	FAULT(&client, "\x81\xfe\x00\x01\1\2\3\4x", "", FAULT_PROTOCOL, 3);
	/* The most significant bit is not there to be set. */
	FAULT(&server, "\x81\x7f\x80\0\0\0\0\0\0\1x", "", FAULT_PROTOCOL, 2);
	FAULT(&server, "\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff", "", FAULT_PROTOCOL, 2);
	FAULT(&server, "\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", "", FAULT_TOO_LARGE, 9);
}

static void masks_by_role(void **state)
{
	(void)state;
	CHECK(&client, "\x81\x82\x00\x00\x00\x00yo", "T(yo)@8 ", false);
	FAULT(&client, "\x81\x02yo", "", FAULT_PROTOCOL, 1);
	FAULT(&client, "\x81\x00", "", FAULT_PROTOCOL, 1);
	FAULT(&client, "\x89\x00", "", FAULT_PROTOCOL, 1);
	FAULT(&client, "\x81\x7e\x00\x7e", "", FAULT_PROTOCOL, 1);
	FAULT(&server, "\x81\x82\x00\x00\x00\x00yo", "", FAULT_PROTOCOL, 1);
	FAULT(&server, "\x88\x80\x00\x00\x00\x00", "", FAULT_PROTOCOL, 1);
	/* The key begins anew with every frame. */
	CHECK(&client, "\x01\x83\1\2\3\4\x60\x60\x60\x80\x82\x10\x20\x30\x40\x74\x45",
	      "T(abcde)@17 ", false);
	CHECK(&client, "\x81\x80\1\2\3\4\x82\x80\1\2\3\4\x89\x80\1\2\3\4", "T()@6 B()@12 U@18 ",
	      false);
	CHECK(&client, "\x81\x80\1\2\3", "", true);
}

static void reserved_bits_and_opcodes(void **state)
{
	(void)state;
	for (unsigned int opcode = 0; opcode < 16; opcode++) {
		for (unsigned int bits = 0; bits < 8; bits++) {
			const uint8_t data[] = {(uint8_t)(0x80 | bits << 4 | opcode), 0};
			bool message = opcode == 1 || opcode == 2;
			bool control = opcode >= 8 && opcode <= 10;

			if (!bits && (message || control))
				ws_check(&server, data, sizeof(data),
					 control       ? "U@2 "
					 : opcode == 1 ? "T()@2 "
						       : "B()@2 ",
					 false);
			else
				ws_check_fault(&server, data, sizeof(data), "", FAULT_PROTOCOL, 0);
		}
	}
}

static void messages_in_fragments(void **state)
{
	(void)state;
	CHECK(&server,
	      "\x01\x01"
	      "a\x00\x01"
	      "b\x80\x01"
	      "c",
	      "T(abc)@9 ", false);
	CHECK(&server, "\x02\x00\x00\x00\x80\x00", "B()@6 ", false);
	CHECK(&server, "\x01\x00\x00\x02hi\x00\x00\x80\x00\x81\x01!", "T(hi)@10 T(!)@13 ", false);
	CHECK(&server,
	      "\x01\x01"
	      "a\x80\x01"
	      "b\x02\x01"
	      "c\x80\x01"
	      "d",
	      "T(ab)@6 B(cd)@12 ", false);
	FAULT(&server, "\x80\x01O", "", FAULT_PROTOCOL, 0);
	FAULT(&server, "\x00\x01O", "", FAULT_PROTOCOL, 0);
	FAULT(&client, "\x80\x81\x37\xfa\x21\x3d\x4f", "", FAULT_PROTOCOL, 0);
	FAULT(&server,
	      "\x81\x01"
	      "a\x80\x01"
	      "b",
	      "T(a)@3 ", FAULT_PROTOCOL, 3);
	FAULT(&server,
	      "\x01\x01"
	      "a\x81\x01"
	      "b",
	      "t(a)", FAULT_PROTOCOL, 3);
	FAULT(&server,
	      "\x01\x01"
	      "a\x01\x01"
	      "b",
	      "t(a)", FAULT_PROTOCOL, 3);
	FAULT(&server,
	      "\x02\x01"
	      "a\x82\x01"
	      "b",
	      "b(a)", FAULT_PROTOCOL, 3);
	FAULT(&server,
	      "\x01\x01"
	      "a\x80\x01"
	      "b\x80\x00",
	      "T(ab)@6 ", FAULT_PROTOCOL, 6);
}

static void control_frames(void **state)
{
	char ping[2 + 125], text[160];

	(void)state;
	CHECK(&server, "\x89\x00", "U@2 ", false);
	CHECK(&server,
	      "\x8a\x03"
	      "a\nb\x81\x01x",
	      "P(a\nb)U@5 T(x)@8 ", false);
	/* Between fragments it is no unit, and the message goes on behind it. */
	CHECK(&server,
	      "\x01\x05{\"a\":\x89\x00\x80\x03"
	      "17}",
	      "T({\"a\":17})@14 ", false);
	CHECK(&server,
	      "\x01\x01"
	      "a\x89\x01p\x8a\x01q\x00\x00\x89\x00\x80\x01"
	      "b",
	      "P(p)P(q)T(ab)@16 ", false);
	/* The payload of a ping is anyone's. */
	CHECK(&server, "\x89\x02\xff\xfe", "P(\xff\xfe)U@4 ", false);
	CHECK(&server, "\x01\x01\xc3\x89\x01\xff\x80\x01\xa9", "P(\xff)T(\xc3\xa9)@9 ", false);
	FAULT(&server, "\x09\x00", "", FAULT_PROTOCOL, 0);
	FAULT(&server, "\x08\x00", "", FAULT_PROTOCOL, 0);
	FAULT(&server, "\x0a\x01p", "", FAULT_PROTOCOL, 0);
	ping[0] = (char)0x89;
	ping[1] = 125;
	memset(ping + 2, 'p', 125);
	snprintf(text, sizeof(text), "P(%.125s)U@127 ", ping + 2);
	ws_check(&server, ping, 127, text, false);
	FAULT(&server, "\x89\x7e\x00\x7epppp", "", FAULT_PROTOCOL, 1);
	FAULT(&server, "\x8a\x7f\0\0\0\0\0\1\0\0", "", FAULT_PROTOCOL, 1);
	FAULT(&server, "\x88\x7e\x00\x7e\x03\xe8", "", FAULT_PROTOCOL, 1);
	/* They count towards no message. */
	CHECK(&(struct frame_ws_config){.max_message = 2},
	      "\x01\x01"
	      "a\x89\x05hello\x80\x01"
	      "b\x89\x05hello",
	      "P(hello)T(ab)@13 P(hello)U@20 ", false);
}

static bool code_may_be_sent(unsigned int code)
{
	return (code >= 1000 && code <= 1014 && (code < 1004 || code > 1006)) ||
	       (code >= 3000 && code < 5000);
}

static void close_codes(void **state)
{
	(void)state;
	for (unsigned int code = 0; code <= UINT16_MAX; code++) {
		const uint8_t data[] = {0x88, 2, (uint8_t)(code >> 8), (uint8_t)code};
		struct frame_ws *frame = NULL;
		struct piece piece = {.used = 0};
		enum fault fault;
		size_t used = 0;

		assert_int_equal(frame_ws_new(&server, &frame), 0);
		do {
			fault = frame_ws_next(frame, data + used, sizeof(data) - used, &piece);
			used += fault ? 0 : piece.used;
		} while (!fault && used < sizeof(data));
		assert_int_equal(fault, code_may_be_sent(code) ? FAULT_NONE : FAULT_PROTOCOL);
		assert_int_equal(frame_ws_closed(frame), !fault);
		if (!fault)
			assert_int_equal(piece.kind, PIECE_UNIT);
		else
			assert_int_equal(used, 3);
		frame_ws_free(frame);
	}
	FAULT(&server, "\x88\x02\x03\xed", "", FAULT_PROTOCOL, 3);
	FAULT(&server, "\x88\x05\x03\xedxyz", "", FAULT_PROTOCOL, 3);
	FAULT(&server, "\x88\x01\x03", "", FAULT_PROTOCOL, 1);
	CHECK(&client, "\x88\x82\1\2\3\4\x02\xea", "U@8 ", false);
}

static void a_close_is_the_last_frame(void **state)
{
	struct ws_story story;

	(void)state;
	CHECK(&server, "\x88\x00", "U@2 ", false);
	CHECK(&server,
	      "\x88\x05\x03\xe8"
	      "bye",
	      "P(bye)U@7 ", false);
	CHECK(&client,
	      "\x88\x85\1\2\3\4\x02\xea"
	      "a}d",
	      "P(bye)U@11 ", false);
	FAULT(&server, "\x88\x00\x88\x00", "U@2 ", FAULT_PROTOCOL, 2);
	FAULT(&server, "\x88\x00\x89\x00", "U@2 ", FAULT_PROTOCOL, 2);
	FAULT(&server, "\x88\x02\x03\xe8\x81\x01x", "U@4 ", FAULT_PROTOCOL, 4);
	/* Behind it the message cannot end. */
	CHECK(&server,
	      "\x01\x01"
	      "a\x88\x04\x03\xe9"
	      "by",
	      "P(by)t(a)", true);
	CHECK(&server,
	      "\x01\x02"
	      "a\xc3\x88\x00",
	      "t(a\xc3)", true);
	FAULT(&server,
	      "\x01\x01"
	      "a\x88\x00\x80\x01"
	      "b",
	      "t(a)", FAULT_PROTOCOL, 5);
	ws_check_cuts(&server,
		      "\x88\x05\x03\xe8"
		      "by",
		      6, &story);
	assert_false(story.closed);
	ws_story_done(&story);
	ws_check_cuts(&server,
		      "\x88\x05\x03\xe8"
		      "bye",
		      7, &story);
	assert_true(story.closed);
	ws_story_done(&story);
	/* The reason is text. */
	CHECK(&server, "\x88\x06\x03\xe8\xf0\x9f\x98\x80", "P(\xf0\x9f\x98\x80)U@8 ", false);
	FAULT(&server,
	      "\x88\x05\x03\xe8"
	      "a\xff"
	      "b",
	      "p(a)", FAULT_BAD_UTF8, 5);
	FAULT(&server,
	      "\x88\x05\x03\xe8"
	      "a\xc3\xa9\xff",
	      "P(a\xc3\xa9)U@7 ", FAULT_PROTOCOL, 7);
	FAULT(&server,
	      "\x88\x04\x03\xe8"
	      "a\xc3",
	      "p(a\xc3)", FAULT_BAD_UTF8, 5);
	FAULT(&server, "\x88\x03\x03\xe8\xed", "p(\xed)", FAULT_BAD_UTF8, 4);
	FAULT(&server, "\x01\x01\xc3\x88\x03\x03\xe8\xa9", "t(\xc3)", FAULT_BAD_UTF8, 7);
}

static void text_is_utf8_over_fragments(void **state)
{
	(void)state;
	CHECK(&server, "\x01\x01\xc3\x00\x03\xa9\xf0\x9f\x80\x02\x98\x80",
	      "T(\xc3\xa9\xf0\x9f\x98\x80)@12 ", false);
	CHECK(&server, "\x01\x01\xc3\x00\x00\x80\x01\xa9", "T(\xc3\xa9)@8 ", false);
	CHECK(&client, "\x01\x81\0\0\0\0\xe2\x80\x82\0\0\0\0\x82\xac", "T(\xe2\x82\xac)@15 ",
	      false);
	FAULT(&server,
	      "\x81\x02ok\x01\x01\xce\x80\x01"
	      "A",
	      "T(ok)@4 t(\xce)", FAULT_BAD_UTF8, 9);
	FAULT(&server, "\x01\x01\xce\x80\x00", "t(\xce)", FAULT_BAD_UTF8, 4);
	FAULT(&server, "\x81\x01\xce", "t(\xce)", FAULT_BAD_UTF8, 2);
	FAULT(&server,
	      "\x81\x03"
	      "ab\xce",
	      "t(ab\xce)", FAULT_BAD_UTF8, 4);
	FAULT(&server,
	      "\x81\x03"
	      "a\x80"
	      "b",
	      "t(a)", FAULT_BAD_UTF8, 3);
	FAULT(&server,
	      "\x81\x7e\x00\x7e"
	      "a\xed\xa0\x80",
	      "t(a\xed)", FAULT_BAD_UTF8, 6);
	FAULT(&server, "\x81\x02\xc0\x80", "", FAULT_BAD_UTF8, 2);
	FAULT(&server, "\x01\x01\xf4\x80\x02\x90\x80", "t(\xf4)", FAULT_BAD_UTF8, 5);
	FAULT(&server, "\x81\x01\xf5", "", FAULT_BAD_UTF8, 2);
	FAULT(&client, "\x81\x82\1\2\3\4\x60\xfd", "t(a)", FAULT_BAD_UTF8, 7);
	/* What is binary need not be. */
	CHECK(&server, "\x82\x03\xff\xfe\xc3\x02\x01\x80\x80\x01\xc0",
	      "B(\xff\xfe\xc3)@5 B(\x80\xc0)@11 ", false);
	/* A message does not begin in another's rune. */
	CHECK(&server,
	      "\x82\x01\xc3\x81\x01"
	      "a",
	      "B(\xc3)@3 T(a)@6 ", false);
}

static void what_has_not_ended(void **state)
{
	(void)state;
	CHECK(&server, "", "", false);
	CHECK(&server, "\x81", "", true);
	CHECK(&server, "\x81\x02", "", true);
	CHECK(&server,
	      "\x81\x02"
	      "a",
	      "t(a)", true);
	CHECK(&server,
	      "\x01\x01"
	      "a",
	      "t(a)", true);
	CHECK(&server, "\x01\x00", "", true);
	CHECK(&server, "\x82\x7e\x00", "", true);
	CHECK(&server, "\x82\x7f\0\0\0\0\0\1\0", "", true);
	CHECK(&server,
	      "\x01\x01"
	      "a\x89\x02p",
	      "p(p)t(a)", true);
	CHECK(&server, "\x89\x02p", "p(p)", true);
	CHECK(&server, "\x88\x03\x03", "", true);
	CHECK(&server, "\x88\x03\x03\xe8", "", true);
	CHECK(&client, "\x81\x81", "", true);
	CHECK(&client, "\x81\x81\1\2\3\4", "", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples_of_the_standard),
		cmocka_unit_test(lengths_in_their_shortest_form),
		cmocka_unit_test(lengths_in_longer_forms),
		cmocka_unit_test(masks_by_role),
		cmocka_unit_test(reserved_bits_and_opcodes),
		cmocka_unit_test(messages_in_fragments),
		cmocka_unit_test(control_frames),
		cmocka_unit_test(close_codes),
		cmocka_unit_test(a_close_is_the_last_frame),
		cmocka_unit_test(text_is_utf8_over_fragments),
		cmocka_unit_test(what_has_not_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
