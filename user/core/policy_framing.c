/* SPDX-License-Identifier: Apache-2.0 */
#include "core/policy_parse.h"

#include <errno.h>
#include <string.h>

static const struct policy_choice framing_kinds[] = {
	{"ndjson", FRAMING_NDJSON, true},
	{"sentinel", FRAMING_SENTINEL, true},
	{"lenprefix", FRAMING_LENPREFIX, true},
	{"sse", FRAMING_SSE, true},
	{"http1", FRAMING_HTTP1, true},
	{"auto", FRAMING_AUTO, true},
	{"http2", -1, false},
	{"jsonrpc_cl", FRAMING_JSONRPC_CL, true},
	{"ws", -1, false},
	{"grpc", -1, false},
};

static const struct policy_choice lenprefix_types[] = {
	{"u8", LENPREFIX_U8, true},	    {"u16", LENPREFIX_U16, true},
	{"u32", LENPREFIX_U32, true},	    {"u64", LENPREFIX_U64, true},
	{"varint", LENPREFIX_VARINT, true},
};

static const struct policy_choice endians[] = {{"big", true, true}, {"little", false, true}};

static const struct policy_choice extract_kinds[] = {
	{"auto", EXTRACT_AUTO, true},
	{"raw", EXTRACT_RAW, true},
	{"path:MEMBER.MEMBER", EXTRACT_PATH, true},
	{"openai_chat", EXTRACT_OPENAI_CHAT, true},
	{"ollama_chat", EXTRACT_OLLAMA_CHAT, true},
	{"openai_responses", EXTRACT_OPENAI_RESPONSES, true},
	{"anthropic", EXTRACT_ANTHROPIC, true},
	{"gemini", EXTRACT_GEMINI, true},
	{"bedrock", EXTRACT_BEDROCK, true},
	{"cohere", EXTRACT_COHERE, true},
	{"a2a", EXTRACT_A2A, true},
	{"mcp", EXTRACT_MCP, true},
	{"jsonrpc", EXTRACT_JSONRPC, true},
};

static const struct policy_choice joins[] = {{"stream", false, true}, {"unit", true, true}};

static const char *choice_name(const struct policy_choice *choices, size_t count, int value)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (choices[i].built && choices[i].value == value)
			return choices[i].name;
	return "none";
}

const char *policy_framing_name(enum framing_kind kind)
{
	return choice_name(framing_kinds, ARRAY_SIZE(framing_kinds), (int)kind);
}

const char *policy_lenprefix_name(enum lenprefix_type type)
{
	return choice_name(lenprefix_types, ARRAY_SIZE(lenprefix_types), (int)type);
}

const char *policy_extract_name(enum extract_kind kind)
{
	return kind == EXTRACT_PATH
		       ? "path"
		       : choice_name(extract_kinds, ARRAY_SIZE(extract_kinds), (int)kind);
}

static int hex_value(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static int read_sentinel(struct policy_error *error, const struct doc_node *node,
			 struct framing *framing)
{
	static const struct policy_key keys[] = {
		{"kind", POLICY_FORM_SCALAR, true},
		{"hex", POLICY_FORM_SCALAR, true},
	};
	const struct doc_node *hex;
	size_t len, i;
	int err, high, low;

	err = policy_check_keys(error, node, "sentinel", keys, ARRAY_SIZE(keys));
	if (err)
		return err;
	hex = doc_node_get(node, "hex");
	len = strlen(hex->scalar);
	if (len == 0 || len % 2 || len / 2 > SENTINEL_LEN_MAX)
		return policy_refuse(error, -EINVAL, hex,
				     "'hex' must be 1 to %u bytes, two digits each",
				     SENTINEL_LEN_MAX);
	for (i = 0; i < len / 2; i++) {
		high = hex_value(hex->scalar[2 * i]);
		low = hex_value(hex->scalar[2 * i + 1]);
		if (high < 0 || low < 0)
			return policy_refuse(error, -EINVAL, hex,
					     "'hex' must be hexadecimal digits alone");
		framing->sentinel[i] = (uint8_t)(high << 4 | low);
	}
	framing->sentinel_len = len / 2;
	return 0;
}

static int read_lenprefix(struct policy_error *error, const struct doc_node *node,
			  struct framing *framing)
{
	static const struct policy_key keys[] = {
		{"kind", POLICY_FORM_SCALAR, true},
		{"type", POLICY_FORM_SCALAR, true},
		{"endian", POLICY_FORM_SCALAR, false},
		{"includes_header", POLICY_FORM_SCALAR, false},
	};
	const struct doc_node *endian, *includes;
	int err, type = 0, big = true;

	err = policy_check_keys(error, node, "lenprefix", keys, ARRAY_SIZE(keys));
	if (!err)
		err = policy_get_choice(error, doc_node_get(node, "type"), "type", lenprefix_types,
					ARRAY_SIZE(lenprefix_types), &type);
	if (err)
		return err;
	endian = doc_node_get(node, "endian");
	if (endian && type == LENPREFIX_VARINT)
		return policy_refuse_key(error, -EINVAL, endian, "a varint has no 'endian'");
	if (endian)
		err = policy_get_choice(error, endian, "endian", endians, ARRAY_SIZE(endians),
					&big);
	includes = doc_node_get(node, "includes_header");
	if (!err && includes)
		err = policy_get_bool(error, includes, &framing->includes_header);
	if (err)
		return err;
	framing->type = (enum lenprefix_type)type;
	framing->big_endian = big;
	return 0;
}

/* A map without any option but its kind is what the bare word would be. */
static int read_plain(struct policy_error *error, const struct doc_node *node,
		      enum framing_kind kind)
{
	static const struct policy_key keys[] = {{"kind", POLICY_FORM_SCALAR, true}};

	return policy_check_keys(error, node, policy_framing_name(kind), keys, ARRAY_SIZE(keys));
}

int policy_get_framing(struct policy_error *error, const struct doc_node *node,
		       struct framing *ret_framing)
{
	const struct doc_node *kind = node->kind == DOC_MAP ? doc_node_get(node, "kind") : node;
	struct framing framing = {.big_endian = true};
	int err, value = 0;

	if (!kind)
		return policy_refuse(error, -EINVAL, node, "'framing' has no 'kind'");
	err = policy_get_choice(error, kind, "framing", framing_kinds, ARRAY_SIZE(framing_kinds),
				&value);
	if (err)
		return err;
	framing.kind = (enum framing_kind)value;
	if (kind == node && framing.kind == FRAMING_SENTINEL)
		return policy_refuse(error, -EINVAL, node,
				     "'sentinel' needs its bytes: {kind: sentinel, hex: \"0d0a\"}");
	if (kind == node && framing.kind == FRAMING_LENPREFIX)
		return policy_refuse(error, -EINVAL, node,
				     "'lenprefix' needs its type: {kind: lenprefix, type: u32}");
	if (framing.kind == FRAMING_SENTINEL)
		err = read_sentinel(error, node, &framing);
	else if (framing.kind == FRAMING_LENPREFIX)
		err = read_lenprefix(error, node, &framing);
	else if (kind != node)
		err = read_plain(error, node, framing.kind);
	if (err)
		return err;
	*ret_framing = framing;
	return 0;
}

static int read_path(struct policy_error *error, const struct doc_node *node, const char *path,
		     struct extract *extract)
{
	size_t len = strlen(path);

	if (len == 0 || path[0] == '.' || path[len - 1] == '.' || strstr(path, ".."))
		return policy_refuse(error, -EINVAL, node,
				     "'path:' must be followed by member names joined by '.'");
	if (len >= EXTRACT_PATH_MAX)
		return policy_refuse(error, -EINVAL, node, "the path is longer than %u bytes",
				     EXTRACT_PATH_MAX - 1);
	memcpy(extract->path, path, len + 1);
	extract->kind = EXTRACT_PATH;
	return 0;
}

int policy_get_extract(struct policy_error *error, const struct doc_node *node,
		       struct extract *ret_extract)
{
	struct extract extract = {.join_unit = false};
	int err, value = 0;

	if (strncmp(node->scalar, "path:", 5) == 0) {
		err = read_path(error, node, node->scalar + 5, &extract);
	} else {
		err = policy_get_choice(error, node, "extract", extract_kinds,
					ARRAY_SIZE(extract_kinds), &value);
		extract.kind = (enum extract_kind)value;
	}
	if (err)
		return err;
	*ret_extract = extract;
	return 0;
}

int policy_get_join(struct policy_error *error, const struct doc_node *node, bool *ret_join_unit)
{
	int err, unit = 0;

	err = policy_get_choice(error, node, "join", joins, ARRAY_SIZE(joins), &unit);
	if (err)
		return err;
	*ret_join_unit = unit;
	return 0;
}

int policy_check_strict(struct policy_error *error, const struct doc_node *key,
			const struct framing *framing, const struct extract *extract)
{
	if (!extract->strict)
		return 0;
	if (extract->kind != EXTRACT_OPENAI_CHAT)
		return policy_refuse_key(error, -EINVAL, key,
					 "'strict' goes with extract openai_chat, not %s",
					 policy_extract_name(extract->kind));
	if (framing->kind != FRAMING_HTTP1 && framing->kind != FRAMING_SSE &&
	    framing->kind != FRAMING_AUTO)
		return policy_refuse_key(error, -EINVAL, key,
					 "'strict' goes with framing http1, sse and auto; %s "
					 "carries no events",
					 policy_framing_name(framing->kind));
	return 0;
}
