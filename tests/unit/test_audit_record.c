/* SPDX-License-Identifier: Apache-2.0 */
/* Records of every kind: JSON with their members in order, whatever names are like. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "daemon/audit_record.h"

static char text[AUDIT_RECORD_MAX];
static struct audit_line line;
static struct audit_stamp stamp;
static struct audit_chain chain;

static const struct audit_who who = {
	.stream = INT64_MAX,
	.policy = "test",
	.cgroup = "/sys/fs/cgroup/a",
	.pid = 12,
	.uid = 65534,
};

static int set_up(void **unused)
{
	struct audit_head head;

	(void)unused;
	audit_head_init(&head);
	if (audit_chain_init(&chain, &head))
		return -1;
	line.text = text;
	stamp = (struct audit_stamp){.seq = 1, .time = {.tv_sec = 1796059440, .tv_nsec = 12345}};
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	audit_chain_done(&chain);
	return 0;
}

/* Seals the record and reads it back; its members are those, in that order. */
static json_t *sealed(const char *members)
{
	char names[1024] = "";
	json_error_t wrong;
	json_t *record, *value;
	const char *name;

	assert_int_equal(audit_chain_seal(&chain, line.text, line.len), 0);
	assert_int_equal(line.text[line.len + AUDIT_SEAL_LEN - 1], '\n');
	record = json_loadb(line.text, line.len + AUDIT_SEAL_LEN, JSON_REJECT_DUPLICATES, &wrong);
	if (!record)
		fail_msg("%s: %.*s", wrong.text, (int)(line.len + AUDIT_SEAL_LEN), line.text);
	json_object_foreach(record, name, value)
	{
		(void)strcat(names, name);
		(void)strcat(names, " ");
	}
	assert_string_equal(names, members);
	return record;
}

static const char *text_of(const json_t *record, const char *name)
{
	return json_string_value(json_object_get(record, name));
}

static json_int_t number_of(const json_t *record, const char *name)
{
	return json_integer_value(json_object_get(record, name));
}

static void records_of_the_trail(void **unused)
{
	const struct audit_loss loss = {.reason = "audit_quota", .records = 7, .streams = 8};
	const struct audit_control_call call = {.uid = 1000, .pid = -1, .method = "deny"};
	json_t *record;

	(void)unused;
	audit_record_file(&line, &stamp, AUDIT_GENESIS, 1);
	record = sealed("seq time event version previous oldest hash ");
	assert_int_equal(number_of(record, "seq"), 1);
	assert_string_equal(text_of(record, "time"), "2026-11-30T17:24:00.000012345Z");
	assert_string_equal(text_of(record, "event"), "file");
	assert_int_equal(number_of(record, "version"), AUDIT_VERSION);
	json_decref(record);
	audit_record_started(&line, &stamp, "main", 99, true);
	record = sealed("seq time event instance pid program continues hash ");
	assert_true(json_is_true(json_object_get(record, "continues")));
	json_decref(record);
	audit_record_pruned(&line, &stamp, 17);
	record = sealed("seq time event oldest hash ");
	assert_int_equal(number_of(record, "oldest"), 17);
	json_decref(record);
	audit_record_stopped(&line, &stamp);
	json_decref(sealed("seq time event hash "));
	audit_record_recovered(&line, &stamp, "audit-1", 3);
	json_decref(sealed("seq time event file bytes hash "));
	audit_record_dropped(&line, &stamp, &loss);
	record = sealed("seq time event policy cgroup reason records streams_refused hash ");
	assert_true(json_is_null(json_object_get(record, "cgroup")));
	assert_int_equal(number_of(record, "streams_refused"), 8);
	json_decref(record);
	audit_record_control(&line, &stamp, &call);
	record = sealed("seq time event pid uid method target result hash ");
	assert_int_equal(number_of(record, "pid"), 0);
	assert_true(json_is_null(json_object_get(record, "target")));
	json_decref(record);
}

/* The first record of a file is the one that a verifier looks for. */
static void a_file_begins_as_the_chain_says(void **unused)
{
	struct audit_verifier verifier;

	(void)unused;
	audit_record_file(&line, &stamp, AUDIT_GENESIS, 1);
	json_decref(sealed("seq time event version previous oldest hash "));
	assert_int_equal(audit_verifier_init(&verifier, NULL), 0);
	assert_int_equal(audit_verifier_line(&verifier, text, line.len + AUDIT_SEAL_LEN, true),
			 AUDIT_OK);
	assert_int_equal(verifier.oldest, 1);
	audit_verifier_done(&verifier);
}

static void records_of_streams(void **unused)
{
	struct audit_connection connection = {
		.comm = "curl", .peer = "[::1]:80", .action = "mediate"};
	const struct audit_settlement settlement = {
		.end = "failed",
		.error = "host_died",
		.reason = "host_error:x",
		.tracks[SESSION_RESPONSE] = {.received = 9,
					     .confirmed = 4,
					     .bytes_received = 100,
					     .bytes_released = 50},
		.sessions[SESSION_DENIED_END] = 3,
	};
	const json_t *part;
	json_t *record;

	(void)unused;
	audit_record_connection(&line, &stamp, &who, &connection);
	record = sealed("seq time event stream policy cgroup pid uid comm peer action hash ");
	assert_string_equal(text_of(record, "event"), "stream_opened");
	json_decref(record);
	connection.reason = "policy_denied";
	audit_record_connection(&line, &stamp, &who, &connection);
	record = sealed("seq time event stream policy cgroup pid uid comm peer reason hash ");
	assert_string_equal(text_of(record, "event"), "stream_refused");
	json_decref(record);
	audit_record_stream_settled(&line, &stamp, &who, &settlement);
	record = sealed("seq time event stream policy cgroup pid uid end reason request response "
			"sessions hash ");
	assert_int_equal(number_of(json_object_get(record, "sessions"), "denied"), 3);
	assert_null(json_object_get(json_object_get(record, "request"), "received"));
	json_decref(record);
	audit_record_session_settled(&line, &stamp, &who, 5, &settlement);
	record = sealed("seq time event stream session policy cgroup pid uid end error reason "
			"request response hash ");
	part = json_object_get(record, "response");
	assert_int_equal(number_of(record, "session"), 5);
	assert_int_equal(number_of(part, "residue"), 5);
	assert_int_equal(number_of(part, "flow_bytes_released"), 50);
	json_decref(record);
}

static void records_of_sessions(void **unused)
{
	const struct audit_outcome none = {.decision = "denied", .by = "operator"};
	struct audit_outcome outcome = {
		.has_track = true,
		.has_span = true,
		.has_rule = true,
		.track = SESSION_RESPONSE,
		.start = 1,
		.end = SESSION_RUNES_MAX,
		.task = "words",
		.rule = UINT32_MAX,
		.decision = "transformed",
		.by = "task",
		.enforcing = true,
		.reason = "bad_word",
		.evidence = "00ff",
		.warnings = 7,
		.warned = {"one", "", "three", "four"},
	};
	static const char members[] =
		"seq time event stream session policy cgroup pid uid track start end task rule "
		"decision by enforcing reason evidence warnings warned hash ";
	json_t *record;

	(void)unused;
	audit_record_session_opened(&line, &stamp, &who, 0, SESSION_DEFERRED);
	record = sealed("seq time event stream session policy cgroup pid uid level hash ");
	assert_string_equal(text_of(record, "level"), "deferred");
	json_decref(record);
	audit_record_outcome(&line, &stamp, &who, 0, &outcome);
	record = sealed(members);
	assert_string_equal(text_of(record, "track"), "response");
	assert_int_equal(number_of(record, "rule"), UINT32_MAX);
	assert_string_equal(text_of(record, "reason"), "bad_word");
	assert_string_equal(text_of(record, "evidence"), "00ff");
	assert_int_equal(number_of(record, "warnings"), 7);
	assert_int_equal(json_array_size(json_object_get(record, "warned")), 4);
	json_decref(record);
	audit_record_outcome(&line, &stamp, &who, 0, &none);
	record = sealed(members);
	assert_true(json_is_null(json_object_get(record, "track")));
	assert_true(json_is_null(json_object_get(record, "start")));
	assert_true(json_is_null(json_object_get(record, "rule")));
	assert_true(json_is_null(json_object_get(record, "reason")));
	assert_true(json_is_null(json_object_get(record, "evidence")));
	assert_int_equal(json_array_size(json_object_get(record, "warned")), 0);
	assert_true(json_is_false(json_object_get(record, "enforcing")));
	json_decref(record);
	audit_record_watermark(&line, &stamp, &who, 0, SESSION_REQUEST, 44);
	record = sealed("seq time event stream session policy cgroup pid uid track confirmed "
			"hash ");
	assert_int_equal(number_of(record, "confirmed"), 44);
	json_decref(record);
	audit_record_refusal(&line, &stamp, &who, 0, NULL, "truncated", "chunk");
	json_decref(sealed("seq time event stream session policy cgroup pid uid task reason place "
			   "hash "));
}

static void expect_policy(const char *name, const char *want)
{
	struct audit_who named = who;
	json_t *record;

	named.policy = name;
	audit_record_session_opened(&line, &stamp, &named, 0, SESSION_BLOCKING);
	record = sealed("seq time event stream session policy cgroup pid uid level hash ");
	assert_string_equal(text_of(record, "policy"), want);
	json_decref(record);
}

static void names_are_made_printable(void **unused)
{
	(void)unused;
	expect_policy("", "");
	expect_policy("a\"b\\c", "a\"b\\c");
	expect_policy("\",\"hash\":\"", "\",\"hash\":\"");
	expect_policy("a\nb\x1b[0m\x7f", "a?b?[0m?");
	expect_policy("a\xc2\x80|\xc2\x9b|\xc2\x9f|\xc2\xa0", "a?\?|?\?|?\?|\xc2\xa0");
	expect_policy("t\xc3\xa4glich", "t\xc3\xa4glich");
	expect_policy("\xff\xc3(\xed\xa0\x80\xe2\x82", "?\?(?????");
}

static void long_names_are_cut(void **unused)
{
	struct audit_who named = who;
	char name[3 * AUDIT_TEXT_MAX];
	struct audit_outcome outcome = {.has_span = true, .decision = "denied", .by = "task"};
	struct audit_control_call call = {.uid = UINT32_MAX, .pid = INT32_MAX};
	json_t *record;

	(void)unused;
	for (int kind = 0; kind < 3; kind++) {
		(void)memset(name, "x\"\n"[kind], sizeof(name) - 1);
		name[sizeof(name) - 1] = '\0';
		named.policy = named.cgroup = outcome.task = name;
		call.method = call.target = call.result = name;
		outcome.start = outcome.end = INT64_MAX;
		audit_record_outcome(&line, &stamp, &named, INT64_MAX, &outcome);
		record = sealed("seq time event stream session policy cgroup pid uid track start "
				"end task rule decision by enforcing reason evidence warnings "
				"warned hash ");
		assert_int_equal(strlen(text_of(record, "task")),
				 kind ? (AUDIT_TEXT_MAX - 2) / 2 : AUDIT_TEXT_MAX - 2);
		json_decref(record);
		audit_record_control(&line, &stamp, &call);
		json_decref(sealed("seq time event pid uid method target result hash "));
	}
}

static void the_second_is_read_anew_when_it_changes(void **unused)
{
	static const struct {
		time_t second;
		long nanosecond;
		const char *text;
	} times[] = {
		{0, 999999999, "1970-01-01T00:00:00.999999999Z"},
		{1, 0, "1970-01-01T00:00:01.000000000Z"},
		{1, 5, "1970-01-01T00:00:01.000000005Z"},
		{951782400, 0, "2000-02-29T00:00:00.000000000Z"},
	};
	json_t *record;

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		stamp.time.tv_sec = times[i].second;
		stamp.time.tv_nsec = times[i].nanosecond;
		audit_record_stopped(&line, &stamp);
		record = sealed("seq time event hash ");
		assert_string_equal(text_of(record, "time"), times[i].text);
		json_decref(record);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(records_of_the_trail),
		TEST(a_file_begins_as_the_chain_says),
		TEST(records_of_streams),
		TEST(records_of_sessions),
		TEST(names_are_made_printable),
		TEST(long_names_are_cut),
		TEST(the_second_is_read_anew_when_it_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
