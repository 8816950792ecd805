/* SPDX-License-Identifier: Apache-2.0 */
/* The policy file: every refusal with its line and column, and what is just not refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/policy_text.h"

struct refusal {
	const char *text;
	int err;
	unsigned int line, column;
	const char *message;
};

static void check_refusals(const struct refusal *cases, size_t count)
{
	struct policy_error error;
	struct policy *policy = NULL;
	size_t i;

	for (i = 0; i < count; i++) {
		int err = policy_text_load(cases[i].text, &policy, &error);

		if (err != cases[i].err || error.line != cases[i].line ||
		    error.column != cases[i].column || !strstr(error.message, cases[i].message))
			fail_msg("'%s' gives %d %u:%u: %s", cases[i].text, err, error.line,
				 error.column, error.message);
		assert_null(policy);
		assert_null(strchr(error.message, '\n'));
	}
}

#define V "version: 1\n"

static void keys_and_words_are_checked(void **state)
{
	static const struct refusal cases[] = {
		{"- 1\n", -EINVAL, 1, 1, "'policy' is a list here; it must be a map"},
		{"name: x\n", -EINVAL, 1, 1, "has no 'version'"},
		{"version: 2\n", -EINVAL, 1, 10, "allowed: 1"},
		{"version: \"1\"\n", -EINVAL, 1, 10, "version"},
		{"version:\n", -EINVAL, 1, 9, "version"},
		{V "nam: x\n", -EINVAL, 2, 1, "unknown key 'nam'; allowed: version, name, mode"},
		{V "<<: {}\n", -EINVAL, 2, 1, "unknown key '<<'"},
		{V "name: \"a b\"\n", -EINVAL, 2, 1, "letters, digits"},
		{V "name: \n", -EINVAL, 2, 6, "empty"},
		{V "name: [a]\n", -EINVAL, 2, 7, "'name' is a list here; it must be a value"},
		{V "mode: off\n", -EINVAL, 2, 7,
		 "mode 'off' is unknown; allowed: enforce, observe"},
		{V "mode: Observe\n", -EINVAL, 2, 7, "mode 'Observe' is unknown"},
		{V "mode: [observe]\n", -EINVAL, 2, 7, "'mode' is a list here"},
		{V "safety_level: full\n", -EINVAL, 2, 15,
		 "safety_level 'full' is unknown; allowed: blocking, complete, deferred"},
		{V "safety_level: {}\n", -EINVAL, 2, 15, "'safety_level' is a map here"},
		{V "on_deny: drop\n", -EINVAL, 2, 10, "allowed: refuse, reset"},
		{V "opaque_bodies: pass\n", -EINVAL, 2, 16, "allowed: refuse, release"},
		{V "join: line\n", -EINVAL, 2, 7, "allowed: stream, unit"},
	};

	(void)state;
	check_refusals(cases, ARRAY_SIZE(cases));
}

static void framings_and_extractors_are_checked(void **state)
{
	static const struct refusal cases[] = {
		{V "framing: http2\n", -EOPNOTSUPP, 2, 10,
		 "'http2' is not built yet; allowed: ndjson, sentinel, lenprefix, sse, http1, "
		 "auto, "
		 "jsonrpc_cl"},
		{V "framing: ws\n", -EOPNOTSUPP, 2, 10, "'ws'"},
		{V "framing: http\n", -EINVAL, 2, 10, "framing 'http' is unknown"},
		{V "framing: {kind: http1, inner: sse}\n", -EINVAL, 2, 24, "unknown key 'inner'"},
		{V "framing: {kind: sse, bom: true}\n", -EINVAL, 2, 22, "unknown key 'bom'"},
		{V "framing: {kind: grpc}\n", -EOPNOTSUPP, 2, 17, "'grpc'"},
		{V "framing: {kind: auto, inner: sse}\n", -EINVAL, 2, 23, "unknown key 'inner'"},
		{V "framing: {kind: jsonrpc_cl, type: u8}\n", -EINVAL, 2, 29, "unknown key 'type'"},
		{V "framing: xml\n", -EINVAL, 2, 10, "framing 'xml' is unknown"},
		{V "framing: {type: u8}\n", -EINVAL, 2, 10, "has no 'kind'"},
		{V "framing: [ndjson]\n", -EINVAL, 2, 10, "a value or a map"},
		{V "framing: lenprefix\n", -EINVAL, 2, 10, "needs its type"},
		{V "framing: sentinel\n", -EINVAL, 2, 10, "needs its bytes"},
		{V "framing: {kind: ndjson, hex: 00}\n", -EINVAL, 2, 25, "unknown key 'hex'"},
		{V "framing: {kind: lenprefix}\n", -EINVAL, 2, 10, "has no 'type'"},
		{V "framing: {kind: lenprefix, type: u24}\n", -EINVAL, 2, 34, "u8, u16, u32, u64"},
		{V "framing: {kind: lenprefix, type: u8, endian: middle}\n", -EINVAL, 2, 46, "big"},
		{V "framing: {kind: lenprefix, type: varint, endian: big}\n", -EINVAL, 2, 42,
		 "varint"},
		{V "framing: {kind: lenprefix, type: u8, includes_header: 1}\n", -EINVAL, 2, 55,
		 "true"},
		{V "framing: {kind: sentinel, hex: \"\"}\n", -EINVAL, 2, 32, "1 to 64 bytes"},
		{V "framing: {kind: sentinel, hex: \"0d0\"}\n", -EINVAL, 2, 32, "two digits each"},
		{V "framing: {kind: sentinel, hex: \"0x0a\"}\n", -EINVAL, 2, 32, "hexadecimal"},
		{V "extract: text\n", -EINVAL, 2, 10, "allowed: auto, raw, path:"},
		{V "extract: \"path:\"\n", -EINVAL, 2, 10, "member names"},
		{V "extract: \"path:a..b\"\n", -EINVAL, 2, 10, "member names"},
		{V "extract: \"path:.a\"\n", -EINVAL, 2, 10, "member names"},
	};

	(void)state;
	check_refusals(cases, ARRAY_SIZE(cases));
}

#define D V "destinations:\n  - "

static void destinations_are_checked(void **state)
{
	static const struct refusal cases[] = {
		{D "x\n", -EINVAL, 3, 5, "'destination' is a value here"},
		{D "{match: \"*:1\"}\n", -EINVAL, 3, 5, "has no 'action'"},
		{D "{action: deny}\n", -EINVAL, 3, 5, "has no 'match'"},
		{D "{match: \"*:1\", action: drop}\n", -EINVAL, 3, 28,
		 "allowed: mediate, pass, deny"},
		{D "{match: \"*:1\", action: deny, port: 1}\n", -EINVAL, 3, 34,
		 "unknown key 'port'"},
		{D "{match: \"*:1\", action: mediate, framing: ws}\n", -EOPNOTSUPP, 3, 46, "'ws'"},
		{D "{match: \"*:1\", action: pass, framing: auto}\n", -EINVAL, 3, 34,
		 "action pass"},
		{D "{match: \"*:1\", action: pass, tls: true}\n", -EOPNOTSUPP, 3, 34,
		 "'tls: true'"},
		{D "{match: \"*:1\", action: pass, tls: 1}\n", -EINVAL, 3, 39, "true or false"},
		{D "{match: \"*:1\", action: pass, framing: ndjson}\n", -EINVAL, 3, 34,
		 "action pass"},
		{D "{match: \"*:1\", action: deny, join: unit}\n", -EINVAL, 3, 34, "action deny"},
		{D "{match: \"*:1\", action: mediate, framing: ndjson, join: unit}\n", -EINVAL, 3,
		 54, "'join' goes with"},
		{D "{match: \"api.example.com:443\", action: deny}\n", -EOPNOTSUPP, 3, 13,
		 "name rule ('api.example.com') is not built yet"},
		{D "{match: \"*.example.com:443\", action: deny}\n", -EOPNOTSUPP, 3, 13,
		 "name rule"},
		{D "{match: \"10.0.0.1\", action: deny}\n", -EINVAL, 3, 13, "ADDRESS:PORT"},
		{D "{match: \":80\", action: deny}\n", -EINVAL, 3, 13, "ADDRESS:PORT"},
		{D "{match: \"*:80-90\", action: deny}\n", -EINVAL, 3, 13,
		 "one number from 1 to 65535"},
		{D "{match: \"*:0\", action: deny}\n", -EINVAL, 3, 13, "one number from 1"},
		{D "{match: \"*:65536\", action: deny}\n", -EINVAL, 3, 13, "one number from 1"},
		{D "{match: \"10.0.0.1/8:*\", action: deny}\n", -EINVAL, 3, 13, "bits set beyond"},
		{D "{match: \"[2001:db8::1]/64:*\", action: deny}\n", -EINVAL, 3, 13,
		 "bits set beyond"},
		{D "{match: \"10.0.0.0/33:*\", action: deny}\n", -EINVAL, 3, 13, "0 to 32"},
		{D "{match: \"[2001::]/129:*\", action: deny}\n", -EINVAL, 3, 13, "0 to 128"},
		{D "{match: \"10.0.0.0/:*\", action: deny}\n", -EINVAL, 3, 13, "0 to 32"},
		{D "{match: \"10.0.0:*\", action: deny}\n", -EINVAL, 3, 13, "is no address"},
		{D "{match: \"2001:db8::1:80\", action: deny}\n", -EINVAL, 3, 13, "is no address"},
		{D "{match: \"[10.0.0.1]:80\", action: deny}\n", -EINVAL, 3, 13, "is no address"},
		{D "{match: \"[::/8]/8:80\", action: deny}\n", -EINVAL, 3, 13, "is no address"},
		{D "{match: \"[::]/0:*\", action: deny}\n", -EINVAL, 3, 13,
		 "every IPv4 address too"},
		{D "{match: \"[::]/80:*\", action: deny}\n", -EINVAL, 3, 13,
		 "every IPv4 address too"},
		{D "{match: \"169.254.169.254:80\", action: pass}\n", -EINVAL, 3, 13,
		 "always denied"},
		{D "{match: \"*:1\", action: deny}\n  - {match: \"*:1\", action: pass}\n", -EINVAL,
		 4, 13, "says again"},
	};
	struct policy *policy;

	(void)state;
	check_refusals(cases, ARRAY_SIZE(cases));
	policy = policy_text_load_good(D "{match: \"0.0.0.0/0:*\", action: deny}\n");
	assert_non_null(policy_text_match(policy, "1.2.3.4:5"));
	assert_null(policy_text_match(policy, "[2001::1]:5"));
	policy_unref(policy);
	policy = policy_text_load_good(D "{match: \"*:*\", action: deny}\n");
	assert_non_null(policy_text_match(policy, "[2001::1]:5"));
	policy_unref(policy);
}

static void the_number_of_destinations_is_bounded(void **state)
{
	char *text = malloc(64 + 64 * (POLICY_DESTINATIONS_MAX + 1)), *at;
	struct policy_error error;
	struct policy *policy = NULL;
	unsigned int count, i;

	(void)state;
	assert_non_null(text);
	for (count = POLICY_DESTINATIONS_MAX; count <= POLICY_DESTINATIONS_MAX + 1; count++) {
		at = text + sprintf(text, V "destinations:\n");
		for (i = 0; i < count; i++)
			at += sprintf(at, "  - {match: \"*:%u\", action: deny}\n", i + 1);
		if (count == POLICY_DESTINATIONS_MAX) {
			policy_unref(policy_text_load_good(text));
			continue;
		}
		assert_int_equal(policy_text_load(text, &policy, &error), -EINVAL);
		assert_non_null(strstr(error.message, "more than 120 destinations"));
	}
	free(text);
}

#define T V "tasks:\n  t: "

static void tasks_are_checked(void **state)
{
	static const struct refusal cases[] = {
		{T "{kind: magic}\n", -EINVAL, 3, 13,
		 "allowed: terms, regex, builtin, interceptor"},
		{T "{terms: [x]}\n", -EINVAL, 3, 3, "task 't' has no 'kind'"},
		{T "[x]\n", -EINVAL, 3, 6, "task 't' must be a map"},
		{T "{kind: terms}\n", -EINVAL, 3, 6, "'t' has no 'terms'"},
		{T "{kind: terms, terms: []}\n", -EINVAL, 3, 27, "1 to 100000 terms"},
		{T "{kind: terms, terms: x}\n", -EINVAL, 3, 27, "must be a list"},
		{T "{kind: terms, terms: [a, \"\"]}\n", -EINVAL, 3, 31, "a term must not be empty"},
		{T "{kind: terms, terms: [a, ]}\n  u: {kind: terms, terms: [~]}\n", -EINVAL, 4, 28,
		 "null"},
		{T "{kind: terms, terms: [[a]]}\n", -EINVAL, 3, 28, "not a list"},
		{T "{kind: terms, terms: [a, \"\\u200b\"], fold: [ignorable]}\n", -EINVAL, 3, 31,
		 "after folding"},
		{T "{kind: terms, terms: [a], fold: [upper]}\n", -EINVAL, 3, 39,
		 "casefold, nfkc, nfc"},
		{T "{kind: terms, terms: [a], fold: [nfc, nfc]}\n", -EINVAL, 3, 44, "twice"},
		{T "{kind: terms, terms: [a], warn_only: yes}\n", -EINVAL, 3, 43,
		 "'warn_only' must be true or false"},
		{T "{kind: terms, terms: [a], span: 1}\n", -EINVAL, 3, 32, "unknown key 'span'"},
		{V "tasks:\n  \"a b\": {kind: terms, terms: [a]}\n", -EINVAL, 3, 3, "letters"},
		{V "request: {tasks: [x]}\n", -EINVAL, 2, 19, "task 'x' is not defined"},
		{V "request: {tasks: x}\n", -EINVAL, 2, 18, "must be a list"},
		{V "response: {task: [x]}\n", -EINVAL, 2, 12, "unknown key 'task'"},
		{V "request: {tasks: [[x]]}\n", -EINVAL, 2, 19, "not a list"},
		{V "output: {tasks: [x]}\n", -EINVAL, 2, 18, "task 'x' is not defined"},
		{V "output: {}\n", -EINVAL, 2, 9, "'output' has no 'tasks'"},
		{T "{kind: terms, terms: [a], warn_only: true}\nresponse: {tasks: [t, t]}\n",
		 -EINVAL, 4, 23, "twice"},
		{T "{kind: terms, terms: [a]}\nmode: observe\noutput: {tasks: [t, t]}\n", -EINVAL,
		 5, 21, "twice"},
		{T "{kind: terms, terms: [a]}\nresponse: {tasks: [t, t]}\n", -EINVAL, 4, 23,
		 "twice"},
	};
	struct policy *policy;

	(void)state;
	check_refusals(cases, ARRAY_SIZE(cases));
	/* Defined and not used is allowed. */
	policy = policy_text_load_good(T "{kind: terms, terms: [a, yes, 1.5]}\n");
	assert_int_equal(policy->task_count, 1);
	assert_int_equal(policy->track_task_count[SESSION_REQUEST], 0);
	policy_unref(policy);
}

static void patterns_are_checked(void **state)
{
	static const struct refusal cases[] = {
		{T "{kind: regex}\n", -EINVAL, 3, 6, "'t' has no 'patterns'"},
		{T "{kind: regex, patterns: []}\n", -EINVAL, 3, 30, "1 to 10000 patterns"},
		{T "{kind: regex, patterns: x}\n", -EINVAL, 3, 30, "must be a list"},
		{T "{kind: regex, patterns: [[a]]}\n", -EINVAL, 3, 31, "not a list"},
		{T "{kind: regex, patterns: [a, '']}\n", -EINVAL, 3, 34,
		 "a pattern must not be empty"},
		{T "{kind: regex, patterns: [a, ~]}\n", -EINVAL, 3, 34, "null"},
		{T "{kind: regex, terms: [a]}\n", -EINVAL, 3, 20, "unknown key 'terms'"},
		{T "{kind: regex, patterns: [a], fold: [nfc]}\n", -EINVAL, 3, 35,
		 "unknown key 'fold'"},
		{T "{kind: terms, terms: [a], max_runes: 9}\n", -EINVAL, 3, 32, "unknown key"},
		{T "\n    kind: regex\n    patterns:\n      - ok\n      - 'a(b'\n", -EINVAL, 7, 9,
		 "at byte 3 of the pattern: missing closing parenthesis"},
		{T "{kind: regex, patterns: ['(a)\\1']}\n", -EINVAL, 3, 31,
		 "at byte 3 of the pattern: "},
		{T "{kind: regex, patterns: ['a*']}\n", -EINVAL, 3, 31, "empty text"},
		{T "{kind: regex, patterns: ['ab', 'xyz+']}\n", -EINVAL, 3, 37,
		 "at byte 3 of the pattern: its matches have no bound; max_runes has to give"},
		{T "{kind: regex, patterns: ['a{60000}']}\n", -EINVAL, 3, 31, "max_runes"},
		{T "{kind: regex, patterns: [a], max_runes: 0}\n", -EINVAL, 3, 46,
		 "from 1 to 16384"},
		{T "{kind: regex, patterns: [a], max_runes: 16385}\n", -EINVAL, 3, 46,
		 "from 1 to 16384"},
		{T "{kind: regex, patterns: [a], max_runes: [1]}\n", -EINVAL, 3, 46,
		 "must be a value"},
		{T "{kind: regex, patterns: [a], warn_only: 1}\n", -EINVAL, 3, 46,
		 "'warn_only' must be true or false"},
	};

	(void)state;
	check_refusals(cases, ARRAY_SIZE(cases));
}

static void rule_sets_are_checked(void **state)
{
	static const struct refusal cases[] = {
		{T "{kind: builtin}\n", -EINVAL, 3, 6, "'t' has no 'rules'"},
		{T "{kind: builtin, rules: []}\n", -EINVAL, 3, 29, "1 to 5 rule sets"},
		{T "{kind: builtin, rules: jwt}\n", -EINVAL, 3, 29, "must be a list"},
		{T "{kind: builtin, rules: [jwt, cards]}\n", -EINVAL, 3, 35,
		 "rule set 'cards' is unknown; allowed: api_keys, iban, jwt, payment_cards, "
		 "private_keys"},
		{T "{kind: builtin, rules: [[jwt]]}\n", -EINVAL, 3, 30, "rule set '' is unknown"},
		{T "{kind: builtin, rules: [jwt, iban, jwt]}\n", -EINVAL, 3, 41,
		 "rule set 'jwt' stands here twice"},
		{T "{kind: builtin, rules: [jwt], patterns: [a]}\n", -EINVAL, 3, 36,
		 "unknown key 'patterns'"},
		{T "{kind: builtin, rules: [jwt], max_runes: 9}\n", -EINVAL, 3, 36,
		 "unknown key 'max_runes'"},
	};

	(void)state;
	check_refusals(cases, ARRAY_SIZE(cases));
}

static void many_terms_are_taken(void **state)
{
	char *text = malloc(POLICY_TERMS_MAX * 16 + 256), *at;
	struct policy_error error;
	struct policy *policy;
	unsigned int i;

	(void)state;
	assert_non_null(text);
	at = text + sprintf(text, V "tasks:\n  t:\n    kind: terms\n    terms:\n");
	for (i = 0; i < POLICY_TERMS_MAX; i++)
		at += sprintf(at, "    - t%u\n", i);
	policy = policy_text_load_good(text);
	assert_int_equal(policy->tasks[0].rule_count, POLICY_TERMS_MAX);
	policy_unref(policy);
	policy = NULL;
	(void)sprintf(at, "    - last\n");
	assert_int_equal(policy_text_load(text, &policy, &error), -EINVAL);
	assert_non_null(strstr(error.message, "1 to 100000 terms"));
	free(text);
}

static void what_lies_outside_is_checked(void **state)
{
	static const struct refusal cases[] = {
		{V "dns: on\n", -EINVAL, 2, 6, "allowed: resolvers, any, deny"},
		{V "dns: any\nresolvers: [1.1.1.1]\n", -EINVAL, 3, 1, "'dns: resolvers' alone"},
		{V "resolvers: []\n", -EINVAL, 2, 12, "1 to 16 resolvers"},
		{V "resolvers: [\"1.1.1.1:53\"]\n", -EINVAL, 2, 13, "is no address"},
		{V "resolvers: [dns.example]\n", -EINVAL, 2, 13, "is no address"},
		{V "resolvers: [1.1.1.1, 1.1.1.1]\n", -EINVAL, 2, 22, "twice"},
		{V "unix: [run/x]\n", -EINVAL, 2, 8, "'/PATH' or '@ABSTRACT'"},
		{V "unix: [/]\n", -EINVAL, 2, 8, "'/PATH' or '@ABSTRACT'"},
		{V "unix: [/a, /a]\n", -EINVAL, 2, 12, "twice"},
		{V "unix: /a\n", -EINVAL, 2, 7, "must be a list"},
	};

	(void)state;
	check_refusals(cases, ARRAY_SIZE(cases));
}

/* What denies the output needs a session, and a session a track that a task gates. */
static void output_alone_is_refused(void **state)
{
	static const struct refusal cases[] = {
		{T "{kind: terms, terms: [a]}\noutput: {tasks: [t]}\n", -EINVAL, 4, 17,
		 "no track is mediated"},
		{T "{kind: terms, terms: [a]}\n  w: {kind: terms, terms: [b], warn_only: true}\n"
		   "request: {tasks: [w]}\nresponse: {tasks: [w]}\noutput: {tasks: [w, t]}\n",
		 -EINVAL, 7, 17, "need a task of 'request' or 'response' that enforces"},
	};

	(void)state;
	check_refusals(cases, ARRAY_SIZE(cases));
	/* Nothing here could deny. */
	policy_unref(policy_text_load_good(
		T "{kind: terms, terms: [a], warn_only: true}\noutput: {tasks: [t]}\n"));
	policy_unref(policy_text_load_good(
		T "{kind: terms, terms: [a]}\nmode: observe\noutput: {tasks: [t]}\n"));
	policy_unref(policy_text_load_good(
		T "{kind: terms, terms: [a]}\nrequest: {tasks: [t]}\noutput: {tasks: [t]}\n"));
}

#define S V "extract: openai_chat\nstrict: true\n"

static void strict_goes_with_chat_in_events(void **state)
{
	static const struct refusal cases[] = {
		{V "strict: true\n", -EINVAL, 2, 1,
		 "'strict' goes with extract openai_chat, not auto"},
		{V "strict: true\nextract: path:a\n", -EINVAL, 2, 1, "not path"},
		{V "strict: 1\n", -EINVAL, 2, 9, "'strict' must be true or false"},
		{V "strict: []\n", -EINVAL, 2, 9, "must be a value"},
		{S "framing: ndjson\n", -EINVAL, 3, 1, "ndjson carries no events"},
		{S "framing: jsonrpc_cl\n", -EINVAL, 3, 1, "jsonrpc_cl carries no events"},
		{S "framing: {kind: lenprefix, type: u8}\n", -EINVAL, 3, 1,
		 "lenprefix carries no events"},
		{S "framing: {kind: sentinel, hex: 0a}\n", -EINVAL, 3, 1,
		 "sentinel carries no events"},
		{S "destinations:\n  - {match: \"*:1\", action: mediate, framing: ndjson}\n",
		 -EINVAL, 5, 37, "ndjson carries no events"},
		{D "{match: \"*:1\", action: mediate, strict: true}\n", -EINVAL, 3, 37, "not auto"},
		{D "{match: \"*:1\", action: mediate, strict: 1}\n", -EINVAL, 3, 45,
		 "'strict' must be true or false"},
		{D "{match: \"*:1\", action: mediate, extract: openai_chat, framing: ndjson, "
		   "strict: true}\n",
		 -EINVAL, 3, 76, "ndjson carries no events"},
		{S "destinations:\n  - {match: \"*:1\", action: mediate, extract: raw, strict: "
		   "true}\n",
		 -EINVAL, 5, 51, "not raw"},
		{D "{match: \"*:1\", action: pass, strict: false}\n", -EINVAL, 3, 34,
		 "'strict' means nothing with action pass"},
		{D "{match: \"*:1\", action: deny, strict: true}\n", -EINVAL, 3, 34, "action deny"},
	};

	(void)state;
	check_refusals(cases, ARRAY_SIZE(cases));
}

static void the_audit_is_checked(void **state)
{
	static const struct refusal cases[] = {
		{V "audit: x\n", -EINVAL, 2, 8, "must be a map"},
		{V "audit: {path: x}\n", -EINVAL, 2, 9,
		 "unknown key 'path'; allowed: watermarks, on_full, quota_bytes_per_hour"},
		{V "audit: {watermarks: yes}\n", -EINVAL, 2, 21, "true or false"},
		{V "audit: {watermarks: [true]}\n", -EINVAL, 2, 21, "must be a value"},
		{V "audit: {on_full: stop}\n", -EINVAL, 2, 18,
		 "on_full 'stop' is unknown; allowed: close, drop"},
		{V "audit: {quota_bytes_per_hour: 1048575}\n", -EINVAL, 2, 31,
		 "from 1048576 to 1099511627776"},
		{V "audit: {quota_bytes_per_hour: 1099511627777}\n", -EINVAL, 2, 31,
		 "from 1048576 to 1099511627776"},
		{V "audit: {quota_bytes_per_hour: 64M}\n", -EINVAL, 2, 31, "whole number"},
	};

	(void)state;
	check_refusals(cases, ARRAY_SIZE(cases));
}

#define L V "limits: "

static void limits_are_checked(void **state)
{
	static const struct refusal cases[] = {
		{L "{hold_s: 1}\n", -EINVAL, 2, 10, "unknown key 'hold_s'; allowed: eager_bytes"},
		{L "{hold_timeout_s: 0}\n", -EINVAL, 2, 26, "from 1 to 86400"},
		{L "{hold_timeout_s: 86401}\n", -EINVAL, 2, 26, "from 1 to 86400"},
		{L "{hold_timeout_s: -1}\n", -EINVAL, 2, 26, "whole number"},
		{L "{hold_timeout_s: 1.5}\n", -EINVAL, 2, 26, "whole number"},
		{L "{hold_timeout_s: \"1\"}\n", -EINVAL, 2, 26, "whole number"},
		{L "{hold_timeout_s: 18446744073709551617}\n", -EINVAL, 2, 26, "whole number"},
		{L "{hold_timeout_s: }\n", -EINVAL, 2, 26, "whole number"},
		{L "{eager_bytes: 1}\n", -EINVAL, 2, 23, "needs 'on_deny: reset'"},
		{V "on_deny: reset\nlimits: {eager_bytes: 16777217}\n", -EINVAL, 3, 23, "16777216"},
		{V "on_deny: reset\nsafety_level: complete\nlimits: {eager_bytes: 1}\n", -EINVAL, 4,
		 23, "'eager_bytes' over 0 goes with 'safety_level: blocking', not complete"},
		{V "on_deny: reset\nsafety_level: deferred\nlimits: {eager_bytes: 1}\n", -EINVAL, 4,
		 23, "not deferred"},
		{L "{max_message_bytes: 66912257}\n", -EINVAL, 2, 9, "plus at least 196608"},
		{L "{hold_bytes_total: 67108863}\n", -EINVAL, 2, 9, "smaller than"},
		{V "on_deny: reset\nlimits: {eager_bytes: 8192, max_message_bytes: 1, "
		   "hold_bytes_per_flow: 4096}\n",
		 -EINVAL, 3, 23, "larger than 'hold_bytes_per_flow'"},
		{L "{max_message_bytes: 1, hold_bytes_per_flow: 196608}\n", -EINVAL, 2, 9,
		 "plus at least 196608"},
	};

	(void)state;
	check_refusals(cases, ARRAY_SIZE(cases));
	policy_unref(policy_text_load_good(L "{max_message_bytes: 66912256}\n"));
	policy_unref(
		policy_text_load_good(L "{max_message_bytes: 1, hold_bytes_per_flow: 196609}\n"));
	policy_unref(policy_text_load_good(L "{hold_bytes_total: 67108864}\n"));
	policy_unref(policy_text_load_good(V "safety_level: complete\nlimits: {eager_bytes: 0}\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_and_words_are_checked),
		cmocka_unit_test(framings_and_extractors_are_checked),
		cmocka_unit_test(destinations_are_checked),
		cmocka_unit_test(the_number_of_destinations_is_bounded),
		cmocka_unit_test(tasks_are_checked),
		cmocka_unit_test(patterns_are_checked),
		cmocka_unit_test(rule_sets_are_checked),
		cmocka_unit_test(many_terms_are_taken),
		cmocka_unit_test(output_alone_is_refused),
		cmocka_unit_test(strict_goes_with_chat_in_events),
		cmocka_unit_test(the_audit_is_checked),
		cmocka_unit_test(what_lies_outside_is_checked),
		cmocka_unit_test(limits_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
