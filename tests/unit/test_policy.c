/* SPDX-License-Identifier: Apache-2.0 */
/* The policy file: what each key comes to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "unit/policy_text.h"

#define V "version: 1\n"

static void a_short_policy_has_the_defaults(void **state)
{
	struct policy *policy = policy_text_load_good(V);

	(void)state;
	assert_string_equal(policy->name, "default");
	assert_int_equal(policy->framing.kind, FRAMING_AUTO);
	assert_int_equal(policy->extract.kind, EXTRACT_AUTO);
	assert_int_equal(policy->mode, POLICY_ENFORCE);
	assert_int_equal(policy->level, SESSION_BLOCKING);
	assert_false(policy->extract.strict);
	assert_false(policy->audit.watermarks);
	assert_int_equal(policy->audit.on_full, POLICY_ON_FULL_CLOSE);
	assert_int_equal(policy->audit.quota_bytes_per_hour, 67108864);
	assert_int_equal(policy->on_deny, POLICY_REFUSE);
	assert_false(policy->release_opaque);
	assert_int_equal(policy->dns, POLICY_DNS_RESOLVERS);
	assert_int_equal(policy->resolver_count, 0);
	assert_int_equal(policy->task_count, 0);
	assert_int_equal(policy->limits.eager_bytes, 0);
	assert_int_equal(policy->limits.max_message_bytes, 33554432);
	assert_int_equal(policy->limits.hold_bytes_per_flow, 67108864);
	assert_int_equal(policy->limits.hold_bytes_total, 1073741824);
	assert_int_equal(policy->limits.hold_timeout_s, 600);
	assert_int_equal(policy->limits.incomplete_message_timeout_s, 30);
	assert_int_equal(policy->limits.message_deadline_s, 300);
	assert_int_equal(policy->limits.verdict_timeout_ms, 2000);
	assert_int_equal(policy_hold_back(policy, SESSION_REQUEST), 0);
	policy_unref(policy);
}

static const char whole[] =
	"version: 1\n"
	"name: agents-1.a_b\n"
	"mode: enforce\n"
	"safety_level: blocking\n"
	"destinations:\n"
	"  - {match: \"169.254.0.0/16:*\", action: deny}\n"
	"  - {match: \"10.0.0.0/8:5432\", action: pass}\n"
	"  - {match: \"*:11434\", action: mediate, framing: ndjson, extract: ollama_chat, tls: "
	"false}\n"
	"  - {match: \"*:9000\", action: mediate, framing: {kind: lenprefix, type: u32, endian: "
	"big, "
	"includes_header: false}, extract: raw, join: unit}\n"
	"  - {match: \"*:9001\", action: mediate, framing: {kind: sentinel, hex: \"0d0A2e0d0a\"}}\n"
	"  - {match: \"[2001:db8::]/32:443\", action: mediate, extract: \"path:message.content\"}\n"
	"  - {match: \"[2001:db8:1::/48]:444\", action: deny}\n"
	"framing: {kind: ndjson}\n"
	"extract: auto\n"
	"join: stream\n"
	"request:  {tasks: [keys]}\n"
	"response: {tasks: [secrets, keys]}\n"
	"output:   {tasks: []}\n"
	"tasks:\n"
	"  secrets: {kind: terms, terms: [\"forbidden\"], fold: [casefold, nfkc, ignorable]}\n"
	"  keys:    {kind: terms, terms: [abc, 123], warn_only: false}\n"
	"on_deny: reset\n"
	"opaque_bodies: release\n"
	"dns: resolvers\n"
	"resolvers: [127.0.0.53, \"2001:db8::53\", \"[::1]\"]\n"
	"unix: [/run/x.sock, \"@abstract\"]\n"
	"limits: {eager_bytes: 65536, max_message_bytes: 1048576, hold_bytes_per_flow: 2097152, "
	"hold_bytes_total: 4194304, hold_timeout_s: 1, incomplete_message_timeout_s: 2, "
	"message_deadline_s: 3, verdict_timeout_ms: 4}\n"
	"audit: {watermarks: true, on_full: drop, quota_bytes_per_hour: 1048576}\n";

static void every_key_has_its_effect(void **state)
{
	struct policy *policy = policy_text_load_good(whole);
	const struct policy_destination *d = policy->destinations;

	(void)state;
	assert_string_equal(policy->name, "agents-1.a_b");
	assert_int_equal(policy->destination_count, 9);
	assert_true(d[0].builtin && d[1].builtin && !d[2].builtin);
	assert_int_equal(d[3].action, POLICY_PASS);
	assert_int_equal(d[3].prefix_len, 104);
	assert_int_equal(d[3].port, 5432);
	assert_int_equal(d[4].extract.kind, EXTRACT_OLLAMA_CHAT);
	assert_int_equal(d[4].prefix_len, 0);
	assert_int_equal(d[5].framing.kind, FRAMING_LENPREFIX);
	assert_int_equal(d[5].framing.type, LENPREFIX_U32);
	assert_true(d[5].framing.big_endian && !d[5].framing.includes_header);
	assert_int_equal(d[5].extract.kind, EXTRACT_RAW);
	assert_true(d[5].extract.join_unit);
	assert_int_equal(d[6].framing.kind, FRAMING_SENTINEL);
	assert_int_equal(d[6].framing.sentinel_len, 5);
	assert_memory_equal(d[6].framing.sentinel, "\r\n.\r\n", 5);
	assert_int_equal(d[6].extract.kind, EXTRACT_AUTO);
	assert_int_equal(d[7].framing.kind, FRAMING_NDJSON);
	assert_int_equal(d[7].extract.kind, EXTRACT_PATH);
	assert_string_equal(d[7].extract.path, "message.content");
	assert_false(d[7].extract.join_unit);
	assert_int_equal(d[7].prefix_len, 32);
	assert_int_equal(d[8].prefix_len, 48);
	assert_int_equal(policy->framing.kind, FRAMING_NDJSON);
	assert_int_equal(policy->on_deny, POLICY_RESET);
	assert_true(policy->release_opaque);
	assert_int_equal(policy->resolver_count, 3);
	assert_memory_equal(policy->resolvers[0], "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\x35", 16);
	assert_int_equal(policy->resolvers[2][15], 1);
	assert_int_equal(policy->unix_count, 2);
	assert_string_equal(policy->unix_addresses[1], "@abstract");
	assert_int_equal(policy->limits.eager_bytes, 65536);
	assert_int_equal(policy->limits.verdict_timeout_ms, 4);
	assert_true(policy->audit.watermarks);
	assert_int_equal(policy->audit.on_full, POLICY_ON_FULL_DROP);
	assert_int_equal(policy->audit.quota_bytes_per_hour, 1048576);
	policy_unref(policy);
}

static void a_framing_is_a_word_or_a_map(void **state)
{
	static const struct {
		const char *text;
		enum framing_kind framing;
		enum extract_kind extract;
	} cases[] = {
		{V "framing: http1\n", FRAMING_HTTP1, EXTRACT_AUTO},
		{V "framing: {kind: http1}\nextract: auto\n", FRAMING_HTTP1, EXTRACT_AUTO},
		{V "framing: http1\nextract: openai_chat\n", FRAMING_HTTP1, EXTRACT_OPENAI_CHAT},
		{V "framing: http1\nextract: ollama_chat\n", FRAMING_HTTP1, EXTRACT_OLLAMA_CHAT},
		{V "framing: http1\nextract: raw\n", FRAMING_HTTP1, EXTRACT_RAW},
		{V "framing: http1\nextract: path:a.b\n", FRAMING_HTTP1, EXTRACT_PATH},
		{V "framing: sse\n", FRAMING_SSE, EXTRACT_AUTO},
		{V "framing: {kind: sse}\nextract: openai_chat\n", FRAMING_SSE,
		 EXTRACT_OPENAI_CHAT},
		{V "framing: {kind: ndjson}\n", FRAMING_NDJSON, EXTRACT_AUTO},
		{V "framing: sse\nextract: openai_responses\n", FRAMING_SSE,
		 EXTRACT_OPENAI_RESPONSES},
		{V "framing: sse\nextract: anthropic\n", FRAMING_SSE, EXTRACT_ANTHROPIC},
		{V "framing: sse\nextract: gemini\n", FRAMING_SSE, EXTRACT_GEMINI},
		{V "framing: http1\nextract: bedrock\n", FRAMING_HTTP1, EXTRACT_BEDROCK},
		{V "framing: sse\nextract: cohere\n", FRAMING_SSE, EXTRACT_COHERE},
		{V "framing: sse\nextract: a2a\n", FRAMING_SSE, EXTRACT_A2A},
		{V "framing: ndjson\nextract: mcp\n", FRAMING_NDJSON, EXTRACT_MCP},
		{V "framing: ndjson\nextract: jsonrpc\n", FRAMING_NDJSON, EXTRACT_JSONRPC},
		{V "framing: auto\n", FRAMING_AUTO, EXTRACT_AUTO},
		{V "framing: {kind: auto}\nextract: raw\n", FRAMING_AUTO, EXTRACT_RAW},
		{V "extract: openai_chat\n", FRAMING_AUTO, EXTRACT_OPENAI_CHAT},
		{V "framing: jsonrpc_cl\n", FRAMING_JSONRPC_CL, EXTRACT_AUTO},
		{V "framing: {kind: jsonrpc_cl}\n", FRAMING_JSONRPC_CL, EXTRACT_AUTO},
	};
	struct policy *policy;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		policy = policy_text_load_good(cases[i].text);
		assert_int_equal(policy->framing.kind, cases[i].framing);
		assert_int_equal(policy->framing.inner, HTTP1_INNER_MEDIA);
		assert_int_equal(policy->extract.kind, cases[i].extract);
		policy_unref(policy);
	}
}

static void framing_is_told_by_the_stream_where_none_is_named(void **state)
{
	struct policy *policy = policy_text_load_good(
		V "destinations:\n"
		  "  - {match: \"*:1\", action: mediate}\n"
		  "  - {match: \"*:2\", action: mediate, framing: http1, extract: raw}\n");

	(void)state;
	assert_int_equal(policy_text_match(policy, "1.2.3.4:1")->framing.kind, FRAMING_AUTO);
	assert_int_equal(policy_text_match(policy, "1.2.3.4:2")->framing.kind, FRAMING_HTTP1);
	assert_int_equal(policy->framing.kind, FRAMING_AUTO);
	policy_unref(policy);
	policy = policy_text_load_good(V "framing: ndjson\n"
					 "destinations:\n"
					 "  - {match: \"*:1\", action: mediate}\n"
					 "  - {match: \"*:2\", action: mediate, framing: auto}\n");
	assert_int_equal(policy_text_match(policy, "1.2.3.4:1")->framing.kind, FRAMING_NDJSON);
	assert_int_equal(policy_text_match(policy, "1.2.3.4:2")->framing.kind, FRAMING_AUTO);
	assert_int_equal(policy->framing.kind, FRAMING_NDJSON);
	policy_unref(policy);
}

static void tasks_are_bound_to_their_tracks(void **state)
{
	struct policy *policy = policy_text_load_good(whole);

	(void)state;
	assert_int_equal(policy->task_count, 2);
	assert_string_equal(policy->tasks[0].name, "secrets");
	assert_int_equal(policy->tasks[0].fold,
			 TERMS_FOLD_CASEFOLD | TERMS_FOLD_NFKC | TERMS_FOLD_IGNORABLE);
	assert_int_equal(policy->tasks[0].rule_count, 1);
	assert_int_equal(policy->tasks[1].rule_count, 2);
	assert_int_equal(policy->track_task_count[SESSION_REQUEST], 1);
	assert_int_equal(policy->track_tasks[SESSION_REQUEST][0], 1);
	assert_int_equal(policy->track_task_count[SESSION_RESPONSE], 2);
	assert_int_equal(policy_hold_back(policy, SESSION_REQUEST), 2);
	assert_int_equal(policy_hold_back(policy, SESSION_RESPONSE), 8);
	policy_unref(policy);
}

static void the_first_match_wins(void **state)
{
	struct policy *policy = policy_text_load_good(whole);

	(void)state;
	assert_int_equal(policy_text_match(policy, "169.254.169.254:80")->action, POLICY_DENY);
	assert_true(policy_text_match(policy, "[fe80::1]:11434")->builtin);
	assert_true(policy_text_match(policy, "[febf::1]:1")->builtin);
	assert_null(policy_text_match(policy, "[fec0::1]:1"));
	assert_int_equal(policy_text_match(policy, "10.255.0.1:5432")->action, POLICY_PASS);
	assert_null(policy_text_match(policy, "11.0.0.1:5432"));
	assert_null(policy_text_match(policy, "10.0.0.1:5433"));
	assert_string_equal(policy_text_match(policy, "10.0.0.1:11434")->match, "*:11434");
	assert_string_equal(policy_text_match(policy, "[2001:db8::1]:11434")->match, "*:11434");
	assert_int_equal(policy_text_match(policy, "[2001:db8:1:2::]:444")->action, POLICY_DENY);
	assert_null(policy_text_match(policy, "[2001:db8:2::]:444"));
	policy_unref(policy);
}

static void a_peer_is_read_strictly(void **state)
{
	static const char *const bad[] = {
		"",
		"1.2.3.4",
		"1.2.3.4:",
		"1.2.3.4:0",
		"1.2.3.4:65536",
		"1.2.3:80",
		"1.2.3.4.5:80",
		"01.2.3.4:80",
		"256.1.1.1:1",
		"::1:80",
		"[::1]",
		"[1.2.3.4]:80",
		"[::1:80",
		"[1::2::3]:1",
		"[1:2:3:4:5:6:7:8:9]:1",
		"[12345::]:1",
		"[1:2:3:4:5:6:7]:1",
		"[:1::]:1",
		"[1:]:1",
		"[::1.2.3]:1",
		"[1:2:3:4:5:6:7:1.2.3.4]:1",
		"1.2.3.4:8x",
		"a:1",
		"[::g]:1",
		"[:::]:1",
	};
	static const uint8_t expected[16] = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0,
					     0,	   0, 0,   0,	 0, 0, 0, 1};
	uint8_t addr[16];
	uint16_t port;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (policy_parse_peer(bad[i], addr, &port) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
	assert_int_equal(policy_parse_peer("[2001:DB8::1]:65535", addr, &port), 0);
	assert_memory_equal(addr, expected, 16);
	assert_int_equal(port, 65535);
	assert_int_equal(policy_parse_peer("[2001:db8:0:0:0:0:0:1]:1", addr, &port), 0);
	assert_memory_equal(addr, expected, 16);
	assert_int_equal(policy_parse_peer("[::ffff:10.0.0.1]:1", addr, &port), 0);
	assert_memory_equal(addr, "\0\0\0\0\0\0\0\0\0\0\xff\xff\n\0\0\1", 16);
	assert_int_equal(policy_parse_peer("[1:2:3:4:5:6:7::]:1", addr, &port), 0);
	assert_int_equal(addr[15], 0);
	assert_int_equal(addr[13], 7);
}

static void a_reference_keeps_the_policy(void **state)
{
	struct policy *policy = policy_text_load_good(whole);

	(void)state;
	assert_ptr_equal(policy_ref(policy), policy);
	policy_unref(policy);
	assert_string_equal(policy->name, "agents-1.a_b");
	policy_unref(policy);
	policy_unref(NULL);
}

static void names_are_those_of_the_file(void **state)
{
	(void)state;
	assert_string_equal(policy_mode_name(POLICY_ENFORCE), "enforce");
	assert_string_equal(policy_mode_name(POLICY_OBSERVE), "observe");
	assert_string_equal(policy_mode_name((enum policy_mode)2), "none");
	assert_string_equal(policy_action_name(POLICY_PASS), "pass");
	assert_string_equal(policy_action_name(_POLICY_ACTION_MAX), "none");
	assert_string_equal(policy_framing_name(FRAMING_SENTINEL), "sentinel");
	assert_string_equal(policy_framing_name(FRAMING_HTTP1), "http1");
	assert_string_equal(policy_framing_name(FRAMING_AUTO), "auto");
	assert_string_equal(policy_framing_name(FRAMING_JSONRPC_CL), "jsonrpc_cl");
	assert_string_equal(policy_framing_name(FRAMING_WS), "none");
	assert_string_equal(policy_framing_name(FRAMING_SSE), "sse");
	assert_string_equal(policy_framing_name(_FRAMING_MAX), "none");
	assert_string_equal(policy_extract_name(EXTRACT_PATH), "path");
	assert_string_equal(policy_extract_name(EXTRACT_OPENAI_CHAT), "openai_chat");
	assert_string_equal(policy_extract_name(EXTRACT_A2A), "a2a");
	assert_string_equal(policy_extract_name(EXTRACT_NONE), "none");
	assert_string_equal(policy_lenprefix_name(LENPREFIX_VARINT), "varint");
	assert_string_equal(policy_fold_name(4), "strip_mn");
	assert_null(policy_fold_name(6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_policy_has_the_defaults),
		cmocka_unit_test(every_key_has_its_effect),
		cmocka_unit_test(a_framing_is_a_word_or_a_map),
		cmocka_unit_test(framing_is_told_by_the_stream_where_none_is_named),
		cmocka_unit_test(tasks_are_bound_to_their_tracks),
		cmocka_unit_test(the_first_match_wins),
		cmocka_unit_test(a_peer_is_read_strictly),
		cmocka_unit_test(a_reference_keeps_the_policy),
		cmocka_unit_test(names_are_those_of_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
