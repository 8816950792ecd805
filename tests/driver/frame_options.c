/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/frame_options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

__attribute__((format(printf, 3, 4))) static int refuse(struct frame_refusal *refusal,
							const char *error, const char *format, ...)
{
	va_list args;

	refusal->error = error;
	va_start(args, format);
	vsnprintf(refusal->detail, sizeof(refusal->detail), format, args);
	va_end(args);
	return -EINVAL;
}

static const char *get_string(const json_t *object, const char *key, const char *otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_string(value) ? json_string_value(value) : otherwise;
}

static bool get_bool(const json_t *object, const char *key, bool otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int frame_append_hex(const json_t *hex, struct frame_bytes *bytes)
{
	const char *text = json_string_value(hex);
	size_t len = json_string_length(hex);
	uint8_t *grown;

	if (!text || len % 2)
		return -EINVAL;
	grown = realloc(bytes->data, bytes->len + len / 2 + 1);
	if (!grown)
		return -ENOMEM;
	bytes->data = grown;
	for (size_t i = 0; i < len; i += 2) {
		int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		bytes->data[bytes->len++] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

static int get_lenprefix(const json_t *options, struct framing *framing,
			 struct frame_refusal *refusal)
{
	static const char *const types[] = {
		[LENPREFIX_U8] = "u8",	 [LENPREFIX_U16] = "u16",	[LENPREFIX_U32] = "u32",
		[LENPREFIX_U64] = "u64", [LENPREFIX_VARINT] = "varint",
	};
	const json_t *len = json_object_get(options, "len");
	const char *type = get_string(len, "type", "");
	const char *endian = get_string(len, "endian", "big");
	unsigned int i = 0;

	while (i < ARRAY_SIZE(types) && strcmp(types[i], type) != 0)
		i++;
	if (i == ARRAY_SIZE(types))
		return refuse(refusal, "bad_record", "no length type '%.20s'", type);
	if (strcmp(endian, "big") != 0 && strcmp(endian, "little") != 0)
		return refuse(refusal, "bad_record", "no byte order '%.20s'", endian);
	framing->kind = FRAMING_LENPREFIX;
	framing->type = (enum lenprefix_type)i;
	framing->big_endian = strcmp(endian, "big") == 0;
	framing->includes_header = get_bool(len, "includes_header", false);
	return 0;
}

static int get_sentinel(const json_t *options, struct framing *framing,
			struct frame_refusal *refusal)
{
	struct frame_bytes bytes = {0};
	int r = frame_append_hex(json_object_get(options, "sentinel_hex"), &bytes);

	if (r == 0 && bytes.len >= 1 && bytes.len <= SENTINEL_LEN_MAX) {
		framing->kind = FRAMING_SENTINEL;
		framing->sentinel_len = bytes.len;
		memcpy(framing->sentinel, bytes.data, bytes.len);
	} else {
		r = refuse(refusal, "bad_record", "sentinel_hex is not 1 to %u bytes",
			   SENTINEL_LEN_MAX);
	}
	free(bytes.data);
	return r;
}

/* http1, by itself or with what its bodies are made of. */
static int get_http(const char *name, const json_t *options, struct frame_options *parsed,
		    struct frame_refusal *refusal)
{
	const char *side = get_string(options, "http", "");

	if (strcmp(side, "request") != 0 && strcmp(side, "response") != 0)
		return refuse(refusal, "bad_record", "http is neither request nor response");
	parsed->framing.kind = FRAMING_HTTP1;
	parsed->framing.inner = strcmp(name, "http1>sse") == 0 ? HTTP1_INNER_SSE : HTTP1_INNER_NONE;
	if (strcmp(side, "request") == 0)
		parsed->track = SESSION_REQUEST;
	else
		parsed->requests = json_object_get(options, "requests");
	return 0;
}

static void get_ndjson(const json_t *options, struct framing *framing)
{
	framing->kind = FRAMING_NDJSON;
	framing->any_line = !get_bool(options, "json", true);
	framing->final_newline_optional =
		strcmp(get_string(options, "final_newline", "required"), "optional") == 0;
}

/* The sender of a WebSocket's frames decides on which side it is. */
static int get_ws(const json_t *options, struct frame_options *parsed,
		  struct frame_refusal *refusal)
{
	const char *from = get_string(options, "from", "");

	if (strcmp(from, "client") != 0 && strcmp(from, "server") != 0)
		return refuse(refusal, "bad_record", "from is neither client nor server");
	parsed->framing.kind = FRAMING_WS;
	parsed->framing.permessage_deflate = get_bool(options, "permessage_deflate", false);
	if (strcmp(from, "client") == 0)
		parsed->track = SESSION_REQUEST;
	return 0;
}

static int get_grpc(const json_t *options, struct frame_options *parsed,
		    struct frame_refusal *refusal)
{
	static const char *const codings[] = {
		[CODING_IDENTITY] = "identity", [CODING_GZIP] = "gzip",
		[CODING_DEFLATE] = "deflate",	[CODING_BROTLI] = "br",
		[CODING_ZSTD] = "zstd",
	};
	const char *coding = get_string(options, "grpc_encoding", "identity");
	unsigned int i = 0;

	while (i < ARRAY_SIZE(codings) && strcmp(codings[i], coding) != 0)
		i++;
	if (i == ARRAY_SIZE(codings))
		return refuse(refusal, "unsupported", "grpc_encoding %.40s", coding);
	parsed->framing.kind = FRAMING_GRPC;
	parsed->framing.coding = (enum content_coding)i;
	parsed->framing.grpc_web = get_bool(options, "grpc_web", false);
	return 0;
}

/* The framings that have no options of their own. */
static bool get_plain(const char *name, struct framing *framing)
{
	static const struct {
		const char *name;
		enum framing_kind kind;
	} plain[] = {
		{"sse", FRAMING_SSE},
		{"jsonrpc_cl", FRAMING_JSONRPC_CL},
		{"eventstream", FRAMING_EVENTSTREAM},
		{"json_array", FRAMING_JSON_ARRAY},
	};

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		if (strcmp(plain[i].name, name) == 0) {
			framing->kind = plain[i].kind;
			return true;
		}
	}
	return false;
}

static int get_framing(const json_t *record, const json_t *options, struct frame_options *parsed,
		       struct frame_refusal *refusal)
{
	const char *name = get_string(record, "framing", NULL);

	if (!name)
		return refuse(refusal, "bad_record", "framing is missing");
	if (get_plain(name, &parsed->framing))
		return 0;
	if (strcmp(name, "lenprefix") == 0)
		return get_lenprefix(options, &parsed->framing, refusal);
	if (strcmp(name, "sentinel") == 0)
		return get_sentinel(options, &parsed->framing, refusal);
	if (strcmp(name, "ws") == 0)
		return get_ws(options, parsed, refusal);
	parsed->h2 = strcmp(name, "h2+grpc") == 0;
	if (strcmp(name, "grpc") == 0 || parsed->h2)
		return get_grpc(options, parsed, refusal);
	if (strcmp(name, "http1") == 0 || strcmp(name, "http1>sse") == 0 ||
	    strcmp(name, "http1>ws") == 0)
		return get_http(name, options, parsed, refusal);
	if (strcmp(name, "ndjson") != 0)
		return refuse(refusal, "unsupported", "framing %.40s is not built", name);
	get_ndjson(options, &parsed->framing);
	return 0;
}

static int get_extract(const json_t *options, struct extract *extract,
		       struct frame_refusal *refusal)
{
	static const struct {
		const char *name;
		enum extract_kind kind;
	} kinds[] = {
		{"raw", EXTRACT_RAW},
		{"replicate", EXTRACT_AUTO},
		{"auto", EXTRACT_AUTO},
		{"jsonrpc", EXTRACT_JSONRPC},
		{"ollama_chat", EXTRACT_OLLAMA_CHAT},
		{"ollama_generate", EXTRACT_OLLAMA_CHAT},
		{"openai_chat", EXTRACT_OPENAI_CHAT},
		{"openai_responses", EXTRACT_OPENAI_RESPONSES},
		{"anthropic", EXTRACT_ANTHROPIC},
		{"gemini", EXTRACT_GEMINI},
		{"bedrock", EXTRACT_BEDROCK},
		{"bedrock_converse", EXTRACT_BEDROCK},
		{"bedrock_invoke", EXTRACT_BEDROCK},
		{"cohere", EXTRACT_COHERE},
		{"a2a", EXTRACT_A2A},
		{"mcp", EXTRACT_MCP},
	};
	const char *name = get_string(options, "extract", NULL);
	size_t i = 0;

	extract->replace_ill_formed = strcmp(get_string(options, "utf8", "strict"), "replace") == 0;
	if (!name) {
		extract->kind = EXTRACT_NONE;
		return 0;
	}
	if (strncmp(name, "path:", 5) == 0 && strlen(name + 5) < EXTRACT_PATH_MAX) {
		extract->kind = EXTRACT_PATH;
		memcpy(extract->path, name + 5, strlen(name + 5) + 1);
		return 0;
	}
	while (i < ARRAY_SIZE(kinds) && strcmp(kinds[i].name, name) != 0)
		i++;
	if (i == ARRAY_SIZE(kinds))
		return refuse(refusal, "unsupported", "extract %.60s is not built", name);
	extract->kind = kinds[i].kind;
	return 0;
}

static int get_fold(const json_t *policy, unsigned int *ret_fold, struct frame_refusal *refusal)
{
	static const struct {
		const char *name;
		unsigned int step;
	} steps[] = {
		{"casefold", TERMS_FOLD_CASEFOLD}, {"nfkc", TERMS_FOLD_NFKC},
		{"nfc", TERMS_FOLD_NFC},	   {"ignorable", TERMS_FOLD_IGNORABLE},
		{"strip_mn", TERMS_FOLD_STRIP_MN}, {"confusable", TERMS_FOLD_CONFUSABLE},
	};
	const json_t *list = json_object_get(policy, "fold");
	unsigned int fold = 0;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i)) ?: "";
		size_t at = 0;

		while (at < ARRAY_SIZE(steps) && strcmp(steps[at].name, name) != 0)
			at++;
		if (at == ARRAY_SIZE(steps))
			return refuse(refusal, "unsupported", "fold step '%.20s'", name);
		fold |= steps[at].step;
	}
	*ret_fold = fold;
	return 0;
}

static int get_policy(const json_t *options, bool leveled, struct terms **ret_terms,
		      struct frame_refusal *refusal)
{
	const json_t *policy = json_object_get(options, "policy");
	const json_t *list = json_object_get(policy, "terms");
	size_t count = json_array_size(list), bad = 0;
	unsigned int fold = 0;
	const char **terms;
	int r;

	/* What a level says is said of tasks: one that finds nothing. */
	if (!policy && !leveled)
		return 0;
	r = get_fold(policy, &fold, refusal);
	if (r < 0)
		return r;
	terms = calloc(count + 1, sizeof(*terms));
	if (!terms)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		terms[i] = json_string_value(json_array_get(list, i)) ?: "";
	r = terms_new(terms, count, fold, &bad, ret_terms);
	free(terms);
	if (r < 0)
		return refuse(refusal, "bad_record", "the terms cannot be used (%s)", strerror(-r));
	return 0;
}

static int get_level(const json_t *options, struct frame_options *parsed,
		     struct frame_refusal *refusal)
{
	static const char *const levels[] = {
		[SESSION_BLOCKING] = "blocking",
		[SESSION_COMPLETE] = "complete",
		[SESSION_DEFERRED] = "deferred",
	};
	const char *name = get_string(options, "safety_level", NULL);

	parsed->leveled = json_object_get(options, "safety_level");
	if (!parsed->leveled)
		return 0;
	while (parsed->level < _SESSION_LEVEL_MAX && strcmp(levels[parsed->level], name ?: "") != 0)
		parsed->level++;
	if (parsed->level == _SESSION_LEVEL_MAX)
		return refuse(refusal, "bad_record", "no safety_level '%.20s'", name ?: "");
	return 0;
}

static int get_strict(const json_t *options, struct extract *extract, struct frame_refusal *refusal)
{
	const json_t *strict = json_object_get(options, "strict");

	extract->strict = json_is_true(strict);
	if (strict && !json_is_boolean(strict))
		return refuse(refusal, "bad_record", "strict is neither true nor false");
	if (extract->strict && extract->kind != EXTRACT_OPENAI_CHAT)
		return refuse(refusal, "unsupported", "strict without openai_chat");
	return 0;
}

/* Choices of the format that this build makes one way only. */
static int check_fixed(const json_t *options, const struct frame_options *parsed,
		       struct frame_refusal *refusal)
{
	const char *surrogate = get_string(options, "lone_surrogate", "replace");
	const char *keys = get_string(options, "dup_keys", "reject");

	if (parsed->h2 &&
	    (parsed->extract.kind != EXTRACT_NONE || json_object_get(options, "policy")))
		return refuse(refusal, "unsupported", "text in frames of HTTP/2");
	if (strcmp(surrogate, "replace") != 0)
		return refuse(refusal, "unsupported", "lone_surrogate %.20s", surrogate);
	if (strcmp(keys, "reject") != 0)
		return refuse(refusal, "unsupported", "dup_keys %.20s", keys);
	return 0;
}

int frame_options_init(const json_t *record, struct frame_options *ret_options,
		       struct frame_refusal *ret_refusal)
{
	const json_t *options = json_object_get(record, "options");
	const json_t *max = json_object_get(options, "max_message");
	struct frame_options parsed = {
		.track = SESSION_RESPONSE,
		.eof = get_bool(options, "eof", true),
		.units = get_bool(options, "units", false),
	};
	int r = get_framing(record, options, &parsed, ret_refusal);

	/* A record without a limit has none. */
	parsed.max_message = json_is_integer(max) ? (uint64_t)json_integer_value(max) : UINT64_MAX;
	if (r == 0)
		r = get_extract(options, &parsed.extract, ret_refusal);
	if (r == 0)
		r = get_strict(options, &parsed.extract, ret_refusal);
	if (r == 0)
		r = get_level(options, &parsed, ret_refusal);
	if (r == 0)
		r = check_fixed(options, &parsed, ret_refusal);
	if (r == 0)
		r = get_policy(options, parsed.leveled, &parsed.terms, ret_refusal);
	if (r == 0)
		*ret_options = parsed;
	return r;
}

void frame_options_done(struct frame_options *options)
{
	terms_free(options->terms);
}
