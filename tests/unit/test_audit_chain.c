/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of an audit trail: whatever is done to a small one, verification says where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/audit_chain.h"

#define TRAIL_MAX 32768u

/* Files of a trail, one behind the other; where each begins. */
struct trail {
	char text[TRAIL_MAX];
	size_t len;
	size_t begins[8];
	size_t count;
	struct audit_head head;
};

struct result {
	enum audit_fault fault;
	size_t line; /* over all files, from 1; 0: behind the end */
	uint64_t found;
};

static void add(struct trail *trail, struct audit_chain *chain, const char *members)
{
	char *record = trail->text + trail->len;
	int len = snprintf(record, TRAIL_MAX - trail->len,
			   "{\"seq\":%llu,\"time\":\"2026-11-30T00:00:00.000000000Z\",%s",
			   (unsigned long long)chain->head.seq + 1, members);

	assert_true(trail->len + (size_t)len + AUDIT_SEAL_LEN < TRAIL_MAX);
	assert_int_equal(audit_chain_seal(chain, record, (size_t)len), 0);
	trail->len += (size_t)len + AUDIT_SEAL_LEN;
	trail->head = chain->head;
}

static void add_file(struct trail *trail, struct audit_chain *chain, uint64_t oldest)
{
	char members[256];

	(void)snprintf(members, sizeof(members),
		       "\"event\":\"file\",\"version\":1,\"previous\":\"%s\",\"oldest\":%llu",
		       chain->head.hash, (unsigned long long)oldest);
	trail->begins[trail->count++] = trail->len;
	add(trail, chain, members);
}

/* Two files: records 1 to 4 and 5 to 8, numbers over 9 in the middle of neither. */
static void make(struct trail *trail, uint64_t seq)
{
	struct audit_chain chain;
	struct audit_head head;

	*trail = (struct trail){0};
	audit_head_init(&head);
	head.seq = seq;
	assert_int_equal(audit_chain_init(&chain, &head), 0);
	add_file(trail, &chain, seq + 1);
	add(trail, &chain, "\"event\":\"a\",\"stream\":1");
	add(trail, &chain, "\"event\":\"b\",\"stream\":1");
	add(trail, &chain, "\"event\":\"b\",\"stream\":1");
	add_file(trail, &chain, seq + 1);
	add(trail, &chain, "\"event\":\"c\",\"stream\":2");
	add(trail, &chain, "\"event\":\"d\",\"stream\":2");
	add(trail, &chain, "\"event\":\"e\",\"stream\":2");
	audit_chain_done(&chain);
}

static struct result verify(const struct trail *trail, const struct audit_head *head)
{
	struct audit_verifier verifier;
	struct result result = {0};
	size_t at = 0, file = 0;

	assert_int_equal(audit_verifier_init(&verifier, head), 0);
	while (!result.fault && at < trail->len) {
		const char *newline = memchr(trail->text + at, '\n', trail->len - at);
		size_t end = newline ? (size_t)(newline + 1 - trail->text) : trail->len;
		bool begins = file < trail->count && trail->begins[file] == at;

		if (begins)
			file++;
		result.line++;
		result.fault = audit_verifier_line(&verifier, trail->text + at, end - at, begins);
		at = end;
	}
	if (!result.fault) {
		result.fault = audit_verifier_end(&verifier, true);
		result.line = 0;
	}
	result.found = verifier.found;
	audit_verifier_done(&verifier);
	return result;
}

static void expect(const struct trail *trail, const struct audit_head *head, enum audit_fault fault,
		   size_t line)
{
	struct result result = verify(trail, head);

	assert_string_equal(audit_fault_name(result.fault), audit_fault_name(fault));
	assert_int_equal(result.line, line);
}

static size_t line_of(const struct trail *trail, size_t at)
{
	size_t line = 1;

	for (size_t i = 0; i < at; i++)
		line += trail->text[i] == '\n';
	return line;
}

static size_t line_at(const struct trail *trail, size_t line)
{
	size_t at = 0;

	while (--line)
		at = (size_t)((const char *)memchr(trail->text + at, '\n', trail->len - at) + 1 -
			      trail->text);
	return at;
}

static void cut_out(struct trail *trail, size_t at, size_t len)
{
	(void)memmove(trail->text + at, trail->text + at + len, trail->len - at - len);
	trail->len -= len;
	for (size_t i = 0; i < trail->count; i++)
		if (trail->begins[i] > at)
			trail->begins[i] -= len;
}

static void a_whole_trail_is_whole(void **unused)
{
	struct trail trail;

	(void)unused;
	make(&trail, 0);
	expect(&trail, NULL, AUDIT_OK, 0);
	expect(&trail, &trail.head, AUDIT_OK, 0);
	assert_int_equal(trail.head.seq, 8);
}

/* The definition of a hash, taken by hand. */
static void a_hash_is_of_what_the_header_says(void **unused)
{
	struct sha256 sha256;
	char hash[SHA256_HEX_SIZE];
	struct trail trail;
	size_t len;

	(void)unused;
	make(&trail, 0);
	len = line_at(&trail, 2) - AUDIT_SEAL_LEN;
	assert_int_equal(sha256_init(&sha256), 0);
	assert_int_equal(sha256_update(&sha256, AUDIT_GENESIS, 64), 0);
	assert_int_equal(sha256_update(&sha256, trail.text, len), 0);
	assert_int_equal(sha256_hex(&sha256, hash), 0);
	assert_memory_equal(trail.text + len, ",\"hash\":\"", 9);
	assert_memory_equal(trail.text + len + 9, hash, 64);
	assert_memory_equal(trail.text + len + 73, "\"}\n", 3);
	sha256_done(&sha256);
}

static void every_cut_is_found(void **unused)
{
	struct trail trail;
	size_t whole;

	(void)unused;
	make(&trail, 0);
	whole = trail.len;
	for (size_t len = 0; len < whole; len++) {
		make(&trail, 0);
		trail.len = len;
		while (trail.count && trail.begins[trail.count - 1] >= len)
			trail.count--;
		if (!len) {
			expect(&trail, NULL, AUDIT_EMPTY, 0);
		} else if (trail.text[len - 1] == '\n') {
			/* Only a head can tell. */
			expect(&trail, NULL, AUDIT_OK, 0);
			expect(&trail, &trail.head, AUDIT_TRUNCATED, 0);
		} else {
			expect(&trail, NULL, AUDIT_CUT_OFF, line_of(&trail, len));
		}
	}
}

static void every_byte_taken_out_is_found(void **unused)
{
	struct trail trail;
	size_t whole;

	(void)unused;
	make(&trail, 0);
	whole = trail.len;
	for (size_t at = 0; at < whole; at++) {
		size_t line;
		struct result result;

		make(&trail, 0);
		line = line_of(&trail, at);
		cut_out(&trail, at, 1);
		result = verify(&trail, NULL);
		assert_int_not_equal(result.fault, AUDIT_OK);
		assert_int_equal(result.line, line);
	}
}

static void every_edit_is_found(void **unused)
{
	static const char others[] = {0, '\n', '"', '0', '9', 'a', 'Z', '}', ' ', (char)0xff};
	struct trail trail;
	size_t whole;

	(void)unused;
	make(&trail, 0);
	whole = trail.len;
	for (size_t at = 0; at < whole; at++) {
		for (size_t other = 0; other <= sizeof(others); other++) {
			struct result result;
			size_t line;
			char byte;

			make(&trail, 0);
			byte = other < sizeof(others) ? others[other] : (char)(trail.text[at] ^ 1);
			if (byte == trail.text[at])
				continue;
			line = line_of(&trail, at);
			trail.text[at] = byte;
			result = verify(&trail, NULL);
			assert_int_not_equal(result.fault, AUDIT_OK);
			assert_int_equal(result.line, line);
		}
	}
}

static void a_record_that_is_missing_is_found(void **unused)
{
	struct trail trail;

	(void)unused;
	for (size_t line = 2; line < 8; line++) {
		size_t at;

		if (line == 5)
			continue; /* the first of a file is another matter */
		make(&trail, 0);
		at = line_at(&trail, line);
		cut_out(&trail, at, line_at(&trail, line + 1) - at);
		expect(&trail, NULL, AUDIT_MISSING, line);
		assert_int_equal(verify(&trail, NULL).found, line + 1);
	}
	make(&trail, 0);
	cut_out(&trail, 0, line_at(&trail, 2));
	trail.begins[0] = 0;
	expect(&trail, NULL, AUDIT_NO_BEGINNING, 1);
	make(&trail, 0);
	cut_out(&trail, trail.begins[1], line_at(&trail, 6) - trail.begins[1]);
	expect(&trail, NULL, AUDIT_NO_BEGINNING, 5);
}

static void a_repeated_or_moved_record_is_found(void **unused)
{
	char moved[512];
	struct trail trail;
	size_t at, len, next;

	(void)unused;
	for (size_t line = 1; line <= 8; line++) {
		make(&trail, 0);
		at = line_at(&trail, line);
		len = (size_t)((char *)memchr(trail.text + at, '\n', trail.len) + 1 - trail.text) -
		      at;
		(void)memmove(trail.text + at + len, trail.text + at, trail.len - at);
		trail.len += len;
		for (size_t i = 0; i < trail.count; i++)
			if (trail.begins[i] > at)
				trail.begins[i] += len;
		expect(&trail, NULL, AUDIT_OUT_OF_ORDER, line + 1);
	}
	make(&trail, 0);
	at = line_at(&trail, 2);
	next = line_at(&trail, 3);
	len = next - at;
	(void)memcpy(moved, trail.text + at, len);
	(void)memmove(trail.text + at, trail.text + next, line_at(&trail, 4) - next);
	(void)memcpy(trail.text + line_at(&trail, 3), moved, len);
	expect(&trail, NULL, AUDIT_MISSING, 2);
}

/* Who knows the form can make a record that fits what comes before it, but not what follows. */
static void a_record_made_to_fit_is_found_behind_it(void **unused)
{
	struct trail trail, forged;
	struct audit_head head;
	struct audit_chain chain;
	size_t at;

	(void)unused;
	make(&trail, 0);
	at = line_at(&trail, 3);
	assert_int_equal(
		audit_record_head(trail.text + line_at(&trail, 2), at - line_at(&trail, 2), &head),
		0);
	assert_int_equal(audit_chain_init(&chain, &head), 0);
	forged = (struct trail){0};
	add(&forged, &chain, "\"event\":\"b\",\"stream\":9");
	audit_chain_done(&chain);
	(void)memcpy(trail.text + at, forged.text, forged.len);
	expect(&trail, NULL, AUDIT_CHANGED, 4);
}

static void a_trail_written_anew_needs_a_head(void **unused)
{
	struct trail trail, other;
	struct audit_chain chain;
	struct audit_head head;

	(void)unused;
	make(&trail, 0);
	other = (struct trail){0};
	audit_head_init(&head);
	assert_int_equal(audit_chain_init(&chain, &head), 0);
	add_file(&other, &chain, 1);
	for (int i = 0; i < 8; i++)
		add(&other, &chain, "\"event\":\"x\"");
	audit_chain_done(&chain);
	expect(&other, NULL, AUDIT_OK, 0);
	expect(&other, &trail.head, AUDIT_REWRITTEN, 8);
}

static void a_missing_file_is_found(void **unused)
{
	struct trail trail;
	struct audit_chain chain;
	struct audit_head head;

	(void)unused;
	make(&trail, 0);
	audit_head_init(&head);
	head = trail.head;
	assert_int_equal(audit_chain_init(&chain, &head), 0);
	add_file(&trail, &chain, 1);
	add(&trail, &chain, "\"event\":\"f\"");
	audit_chain_done(&chain);
	expect(&trail, NULL, AUDIT_OK, 0);
	/* The one in the middle. */
	cut_out(&trail, trail.begins[1], trail.begins[2] - trail.begins[1]);
	trail.begins[1] = trail.begins[2];
	trail.count = 2;
	expect(&trail, NULL, AUDIT_MISSING, 5);
	/* The oldest: the last file says that it is kept. */
	make(&trail, 0);
	cut_out(&trail, 0, trail.begins[1]);
	trail.begins[0] = 0;
	trail.count = 1;
	expect(&trail, NULL, AUDIT_OLDEST_GONE, 0);
}

static void an_older_file_may_make_room(void **unused)
{
	struct audit_chain chain;
	struct trail trail;

	(void)unused;
	for (int well = 0; well < 2; well++) {
		make(&trail, 0);
		assert_int_equal(audit_chain_init(&chain, &trail.head), 0);
		add(&trail, &chain,
		    well ? "\"event\":\"pruned\",\"oldest\":5"
			 : "\"event\":\"x\",\"event\":\"pruned\",\"oldest\":5");
		audit_chain_done(&chain);
		cut_out(&trail, 0, trail.begins[1]);
		trail.begins[0] = 0;
		trail.count = 1;
		expect(&trail, NULL, well ? AUDIT_OK : AUDIT_OLDEST_GONE, 0);
	}
}

static void a_trail_may_begin_later(void **unused)
{
	struct audit_verifier verifier;
	struct trail trail;
	struct audit_head head;

	(void)unused;
	make(&trail, 100);
	expect(&trail, NULL, AUDIT_OK, 0);
	head = trail.head;
	head.seq = 99;
	expect(&trail, &head, AUDIT_HEAD_GONE, 0);
	/* A first record follows nothing. */
	make(&trail, 0);
	(void)memcpy(strstr(trail.text, "\"previous\":\"") + 12, "1", 1);
	expect(&trail, NULL, AUDIT_NO_BEGINNING, 1);
	assert_int_equal(audit_verifier_init(&verifier, NULL), 0);
	assert_int_equal(audit_verifier_end(&verifier, true), AUDIT_EMPTY);
	audit_verifier_done(&verifier);
}

static void lines_that_are_no_records(void **unused)
{
	char line[2 * AUDIT_RECORD_MAX];
	struct audit_head head;
	struct trail trail;
	size_t len;

	(void)unused;
	make(&trail, 0);
	len = line_at(&trail, 2);
	assert_int_equal(audit_record_head(trail.text, len, &head), 0);
	assert_int_equal(head.seq, 1);
	assert_int_equal(audit_record_head(trail.text, len - 1, &head), -EINVAL);
	assert_int_equal(audit_record_head(trail.text, 0, &head), -EINVAL);
	(void)memset(line, 'x', sizeof(line));
	assert_int_equal(audit_record_head(line, sizeof(line), &head), -EINVAL);
	assert_int_equal(audit_record_head(line, AUDIT_SEAL_LEN, &head), -EINVAL);
	*(strstr(trail.text, "2026") + 1) = '\0';
	assert_int_equal(audit_record_head(trail.text, len, &head), -EINVAL);
}

static void heads_are_read_and_written(void **unused)
{
	static const char *const bad[] = {
		"",
		":",
		"1",
		"1:",
		"0:" AUDIT_GENESIS,
		"01:" AUDIT_GENESIS,
		"1:" AUDIT_GENESIS "0",
		"1:A000000000000000000000000000000000000000000000000000000000000000",
		"18446744073709551617:" AUDIT_GENESIS,
		"-1:" AUDIT_GENESIS,
		" 1:" AUDIT_GENESIS,
		"1:000000",
	};
	char text[AUDIT_HEAD_TEXT_LEN];
	struct audit_head head;

	(void)unused;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(audit_head_parse(bad[i], &head), -EINVAL);
	assert_int_equal(audit_head_parse("18446744073709551615:" AUDIT_GENESIS, &head), 0);
	assert_true(head.seq == UINT64_MAX);
	audit_head_format(&head, text);
	assert_string_equal(text, "18446744073709551615:" AUDIT_GENESIS);
}

static void names_of_files(void **unused)
{
	static const char *const bad[] = {
		"",
		"lock",
		"audit-1.jsonl",
		"audit-00000000000000000001.json",
		"audit-00000000000000000000.jsonl",
		"audit-99999999999999999999.jsonl",
		"audit-0000000000000000000x.jsonl",
		"audit_00000000000000000001.jsonl",
		"audit-00000000000000000001.jsonl~",
	};
	char name[AUDIT_NAME_LEN];

	(void)unused;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(audit_name_first(bad[i]), 0);
	audit_name_format(4711, name);
	assert_string_equal(name, "audit-00000000000000004711.jsonl");
	assert_int_equal(audit_name_first(name), 4711);
	audit_name_format(UINT64_MAX, name);
	assert_true(audit_name_first(name) == UINT64_MAX);
	audit_name_format(100, name);
	assert_int_equal(audit_name_first(name), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_trail_is_whole),
		cmocka_unit_test(a_hash_is_of_what_the_header_says),
		cmocka_unit_test(every_cut_is_found),
		cmocka_unit_test(every_byte_taken_out_is_found),
		cmocka_unit_test(every_edit_is_found),
		cmocka_unit_test(a_record_that_is_missing_is_found),
		cmocka_unit_test(a_repeated_or_moved_record_is_found),
		cmocka_unit_test(a_record_made_to_fit_is_found_behind_it),
		cmocka_unit_test(a_trail_written_anew_needs_a_head),
		cmocka_unit_test(a_missing_file_is_found),
		cmocka_unit_test(an_older_file_may_make_room),
		cmocka_unit_test(a_trail_may_begin_later),
		cmocka_unit_test(lines_that_are_no_records),
		cmocka_unit_test(heads_are_read_and_written),
		cmocka_unit_test(names_of_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
