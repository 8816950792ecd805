/* SPDX-License-Identifier: Apache-2.0 */
#include "core/http1_head.h"

#include <string.h>

#include "core/http1_websocket.h"

#define SLICE(s) ((struct http1_slice){(const uint8_t *)(s), sizeof(s) - 1})

static bool same(struct http1_slice a, struct http1_slice b)
{
	return a.len == b.len && (!a.len || memcmp(a.at, b.at, a.len) == 0);
}

static bool takes(struct http1_slice *text, struct http1_slice prefix)
{
	if (text->len < prefix.len || memcmp(text->at, prefix.at, prefix.len) != 0)
		return false;
	http1_drop(text, prefix.len);
	return true;
}

static enum fault version(struct http1_facts *facts, struct http1_slice text)
{
	if (!takes(&text, SLICE("HTTP/")) || text.len != 3 || text.at[1] != '.' ||
	    !(http1_sets[text.at[0]] & HTTP1_DIGIT) || !(http1_sets[text.at[2]] & HTTP1_DIGIT))
		return FAULT_BAD_HEADER;
	if (text.at[0] != '1' || text.at[2] > '1')
		return FAULT_PROTOCOL;
	facts->version_1_0 = text.at[2] == '0';
	return FAULT_NONE;
}

/* uri-host and maybe a port (RFC 3986 3.2.2 and 3.2.3); user information is refused. */
static bool is_authority(struct http1_slice text, bool need_port)
{
	bool literal = text.len && text.at[0] == '[';
	size_t host;

	if (literal) {
		const uint8_t *end = memchr(text.at, ']', text.len);

		if (!end)
			return false;
		host = (size_t)(end - text.at) + 1;
		for (size_t i = 1; i < host - 1; i++)
			if (text.at[i] != ':' && !(http1_sets[text.at[i]] & HTTP1_HOST))
				return false;
		if (host == 2)
			return false;
	} else {
		host = http1_span(text, HTTP1_HOST);
	}
	http1_drop(&text, host);
	if (!text.len)
		return host && !need_port;
	if (!host || text.at[0] != ':')
		return false;
	http1_drop(&text, 1);
	return text.len ? http1_all(text, HTTP1_DIGIT) : !need_port;
}

/* RFC 9112 3.2: which form there may be depends on the method. */
static bool is_target(struct http1_facts *facts, struct http1_slice method,
		      struct http1_slice target)
{
	struct http1_slice rest = target, scheme;

	if (!http1_all(target, HTTP1_TARGET))
		return false;
	if (same(method, SLICE("CONNECT")))
		return is_authority(target, true);
	if (target.at[0] == '/')
		return true;
	if (same(target, SLICE("*")))
		return same(method, SLICE("OPTIONS"));
	scheme = (struct http1_slice){target.at, http1_span(target, HTTP1_TCHAR)};
	facts->https = http1_equal(scheme, "https");
	if (!facts->https && !http1_equal(scheme, "http"))
		return false;
	http1_drop(&rest, scheme.len);
	if (!takes(&rest, SLICE("://")))
		return false;
	facts->authority.at = rest.at;
	while (facts->authority.len < rest.len && rest.at[facts->authority.len] != '/' &&
	       rest.at[facts->authority.len] != '?')
		facts->authority.len++;
	return is_authority(facts->authority, false);
}

enum fault http1_head_request(struct http1_facts *facts, struct http1_slice line,
			      struct http1_head *head, struct http1_slice *ret_target)
{
	struct http1_slice rest = line;
	struct http1_slice method = http1_until(&rest, ' '), target = http1_until(&rest, ' ');
	enum fault fault = version(facts, rest);

	if (!http1_all(method, HTTP1_TCHAR))
		return FAULT_BAD_HEADER;
	if (fault)
		return fault;
	head->request.head = same(method, SLICE("HEAD"));
	head->request.connect = same(method, SLICE("CONNECT"));
	/* Who ignores the case of a method reads the answer to these two differently. */
	if ((!head->request.head && http1_equal(method, "head")) ||
	    (!head->request.connect && http1_equal(method, "connect")))
		return FAULT_BAD_HEADER;
	if (!is_target(facts, method, target))
		return FAULT_BAD_HEADER;
	*ret_target = target;
	return FAULT_NONE;
}

enum fault http1_head_status(struct http1_facts *facts, struct http1_slice line,
			     struct http1_head *head)
{
	struct http1_slice reason = line;
	struct http1_slice name = http1_until(&reason, ' ');
	struct http1_slice code;
	enum fault fault = version(facts, name);

	if (fault)
		return fault;
	if (!reason.at)
		return FAULT_BAD_HEADER;
	code = http1_until(&reason, ' ');
	/* The SP is there even where the reason is not. */
	if (!reason.at || code.len != 3 || !http1_all(code, HTTP1_DIGIT) || code.at[0] == '0' ||
	    http1_span(reason, HTTP1_VALUE) != reason.len)
		return FAULT_BAD_HEADER;
	head->status =
		(uint16_t)((code.at[0] - '0') * 100 + (code.at[1] - '0') * 10 + (code.at[2] - '0'));
	return FAULT_NONE;
}

/* *ret_value has no white space around it. */
static bool split_field(struct http1_slice line, struct http1_slice *ret_name,
			struct http1_slice *ret_value)
{
	struct http1_slice value = line;
	struct http1_slice name = http1_until(&value, ':');

	if (!value.at || !http1_all(name, HTTP1_TCHAR) ||
	    http1_span(value, HTTP1_VALUE) != value.len)
		return false;
	*ret_name = name;
	*ret_value = http1_trim(value);
	return true;
}

static enum fault on_length(struct http1_facts *facts, struct http1_slice value)
{
	bool ill = facts->has_length || !http1_all(value, HTTP1_DIGIT);
	uint64_t length = 0;

	facts->has_length = true;
	for (size_t i = 0; i < value.len && !ill; i++)
		ill = __builtin_mul_overflow(length, 10, &length) ||
		      __builtin_add_overflow(length, (uint64_t)(value.at[i] - '0'), &length);
	facts->ambiguous |= ill;
	facts->length = length;
	return FAULT_NONE;
}

/* A coding with parameters is none that is known, and where chunked has some it is ambiguous. */
static enum fault on_transfer(struct http1_facts *facts, struct http1_slice value)
{
	struct http1_slice item;

	facts->has_transfer = true;
	while (http1_list_next(&value, &item)) {
		facts->ambiguous |= facts->chunked || !http1_all(item, HTTP1_TCHAR) ||
				    http1_equal(item, "identity");
		facts->chunked = http1_equal(item, "chunked");
		facts->other_transfer |= !facts->chunked;
	}
	return FAULT_NONE;
}

static const struct {
	const char *name;
	enum content_coding coding;
} codings[] = {
	{"identity", CODING_IDENTITY}, {"gzip", CODING_GZIP}, {"x-gzip", CODING_GZIP},
	{"deflate", CODING_DEFLATE},   {"br", CODING_BROTLI}, {"zstd", CODING_ZSTD},
};

static enum fault on_coding(struct http1_facts *facts, struct http1_slice value)
{
	if (!value.len)
		return FAULT_NONE;
	facts->unsupported |= facts->has_coding;
	facts->has_coding = true;
	for (size_t i = 0; i < ARRAY_SIZE(codings); i++) {
		if (http1_equal(value, codings[i].name)) {
			facts->coding = codings[i].coding;
			return FAULT_NONE;
		}
	}
	facts->unsupported = true;
	return FAULT_NONE;
}

/* Of two that differ in kind a reader may believe either. */
static enum fault on_media(struct http1_facts *facts, struct http1_slice value)
{
	enum media_class media = media_type_class(value.at, value.len);

	if (facts->has_media && media != facts->media)
		media = MEDIA_OPAQUE;
	facts->has_media = true;
	facts->media = media;
	return FAULT_NONE;
}

/* An option names a field that the next recipient removes: one that frames has to stay. */
static enum fault on_connection(struct http1_facts *facts, struct http1_slice value)
{
	struct http1_slice item;

	while (http1_list_next(&value, &item)) {
		facts->connection_upgrade |= http1_equal(item, "upgrade");
		facts->ambiguous |= http1_equal(item, "content-length") ||
				    http1_equal(item, "transfer-encoding");
	}
	return FAULT_NONE;
}

static enum fault on_upgrade(struct http1_facts *facts, struct http1_slice value)
{
	struct http1_slice item;

	facts->has_upgrade |= value.len > 0;
	while (http1_list_next(&value, &item)) {
		if (http1_equal(item, "websocket"))
			facts->upgrade_websocket = true;
		else if (item.len)
			facts->upgrade_other = true;
	}
	return FAULT_NONE;
}

static enum fault on_extensions(struct http1_facts *facts, struct http1_slice value)
{
	http1_websocket_extensions(value, &facts->websocket, &facts->unknown_extension);
	return FAULT_NONE;
}

static enum fault on_expect(struct http1_facts *facts, struct http1_slice value)
{
	struct http1_slice item;

	while (http1_list_next(&value, &item))
		facts->expect_continue |= http1_equal(item, "100-continue");
	return FAULT_NONE;
}

static struct http1_slice without_port(struct http1_slice authority, const char *port)
{
	size_t len = strlen(port);

	if (authority.len > len && memcmp(authority.at + authority.len - len, port, len) == 0)
		authority.len -= len;
	return authority;
}

/* That of an absolute target, but for the port that its scheme implies (RFC 9112 3.2.2). */
static bool same_host(const struct http1_facts *facts, struct http1_slice host)
{
	const char *port = facts->https ? ":443" : ":80";
	struct http1_slice authority = without_port(facts->authority, port);

	host = without_port(host, port);
	if (host.len != authority.len)
		return false;
	for (size_t i = 0; i < host.len; i++) {
		uint8_t a = host.at[i], b = authority.at[i];

		if (a != b &&
		    ((a | 0x20) != (b | 0x20) || !((a | 0x20) >= 'a' && (a | 0x20) <= 'z')))
			return false;
	}
	return true;
}

static enum fault on_host(struct http1_facts *facts, struct http1_slice value)
{
	if (facts->has_host || (value.len && !is_authority(value, false)) ||
	    (facts->authority.at && !same_host(facts, value)))
		return FAULT_BAD_HEADER;
	facts->has_host = true;
	return FAULT_NONE;
}

typedef enum fault (*field_fn)(struct http1_facts *facts, struct http1_slice value);

/* The fields that say how the message is read. */
static const struct {
	const char *name;
	field_fn apply;
	bool request_only;
} fields[] = {
	{"content-length", on_length, false},
	{"transfer-encoding", on_transfer, false},
	{"content-encoding", on_coding, false},
	{"content-type", on_media, false},
	{"connection", on_connection, false},
	{"upgrade", on_upgrade, false},
	{"sec-websocket-extensions", on_extensions, false},
	{"host", on_host, true},
	{"expect", on_expect, true},
};

enum fault http1_head_field(struct http1_facts *facts, bool response, struct http1_slice line)
{
	struct http1_slice name, value;

	if (!split_field(line, &name, &value))
		return FAULT_BAD_HEADER;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (http1_equal(name, fields[i].name))
			return response && fields[i].request_only ? FAULT_NONE
								  : fields[i].apply(facts, value);
	return FAULT_NONE;
}

enum fault http1_head_trailer(struct http1_slice line)
{
	struct http1_slice name, value;

	if (!split_field(line, &name, &value))
		return FAULT_BAD_HEADER;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (http1_equal(name, fields[i].name))
			return FAULT_BAD_HEADER;
	return FAULT_NONE;
}

/* RFC 9112 6.3, but for what its length fields say. */
static enum http1_body body_of(const struct http1_head *head, bool response)
{
	if (!response)
		return HTTP1_NO_BODY;
	if (head->status == 101 || (head->request.connect && head->status / 100 == 2))
		return HTTP1_TUNNEL;
	if (head->status < 200 || head->status == 204 || head->status == 304 || head->request.head)
		return HTTP1_NO_BODY;
	return HTTP1_UNTIL_CLOSE;
}

/* Has it no body whatever its fields say? Then they must not announce one. */
static bool is_bare(const struct http1_head *head, bool response)
{
	if (!response)
		return head->request.connect;
	return head->status < 200 || head->status == 204 || body_of(head, true) == HTTP1_TUNNEL;
}

static enum fault late_fault(const struct http1_facts *facts, bool response,
			     const struct http1_head *head)
{
	bool announced = facts->has_transfer || facts->length;

	if (facts->ambiguous ||
	    (facts->has_transfer && (facts->has_length || facts->version_1_0 || !facts->chunked)))
		return FAULT_AMBIGUOUS_LENGTH;
	if (announced && is_bare(head, response))
		return FAULT_AMBIGUOUS_LENGTH;
	/* A protocol that was not offered, or is not named (RFC 9110 15.2.2). */
	if (head->status == 101 &&
	    !(head->request.upgrade && facts->connection_upgrade && facts->has_upgrade))
		return FAULT_PROTOCOL;
	if (head->body != HTTP1_NO_BODY && head->body != HTTP1_TUNNEL &&
	    (facts->other_transfer || facts->unsupported))
		return FAULT_UNSUPPORTED_CODING;
	return FAULT_NONE;
}

/* RFC 6455 4.1: an extension that was not offered is not agreed on. */
static bool agrees(const struct http1_facts *facts, const struct http1_head *head)
{
	return head->status == 101 && head->request.websocket && facts->upgrade_websocket &&
	       !facts->upgrade_other && !facts->unknown_extension &&
	       (!facts->websocket.deflate || head->request.deflate);
}

enum fault http1_head_whole(const struct http1_facts *facts, bool response, struct http1_head *head,
			    enum fault *ret_late)
{
	if (!response && !facts->has_host && !facts->version_1_0)
		return FAULT_BAD_HEADER;
	/* A server ignores both in HTTP/1.0 (RFC 9110 7.8, 10.1.1). */
	if (!response) {
		head->request.upgrade =
			facts->connection_upgrade && facts->has_upgrade && !facts->version_1_0;
		head->request.websocket = head->request.upgrade && facts->upgrade_websocket;
		head->request.deflate = head->request.websocket && facts->websocket.deflate;
	}
	head->interim = response && head->status < 200 && head->status != 101;
	head->body = body_of(head, response);
	if (head->body == HTTP1_UNTIL_CLOSE || (!response && !head->request.connect)) {
		if (facts->has_transfer)
			head->body = HTTP1_CHUNKED;
		else if (facts->has_length)
			head->body = facts->length ? HTTP1_LENGTH : HTTP1_NO_BODY;
	}
	*ret_late = late_fault(facts, response, head);
	if (*ret_late)
		head->body = HTTP1_NO_BODY;
	head->length = head->body == HTTP1_LENGTH ? facts->length : 0;
	head->coding = facts->unsupported ? CODING_IDENTITY : facts->coding;
	head->media = facts->media;
	head->websocket = facts->websocket;
	head->websocket.agreed = response && agrees(facts, head);
	head->expect_continue =
		facts->expect_continue && !facts->version_1_0 && head->body != HTTP1_NO_BODY;
	return FAULT_NONE;
}
