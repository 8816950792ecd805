/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/partial.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/flow.h"
#include "daemon/policies.h"
#include "daemon/stream.h"

static const struct {
	enum guard_mode mode;
	const char *delimiter; /* NULL: as it is configured */
} framings[] = {
	[FRAMING_NDJSON] = {GUARD_DELIMITED, "LF"},
	[FRAMING_SENTINEL] = {GUARD_DELIMITED, NULL},
	[FRAMING_LENPREFIX] = {GUARD_LENGTH_PREFIXED, NULL},
	[FRAMING_SSE] = {GUARD_DELIMITED, "event stream blank line"},
	[FRAMING_HTTP1] = {GUARD_DELIMITED, "HTTP/1 head and body"},
	[FRAMING_JSONRPC_CL] = {GUARD_LENGTH_PREFIXED, "Content-Length header"},
	[FRAMING_AUTO] = {GUARD_DELIMITED, "not identified yet"},
	[FRAMING_WS] = {GUARD_LENGTH_PREFIXED, "WebSocket frame header"},
	[FRAMING_GRPC] = {GUARD_LENGTH_PREFIXED, "gRPC message prefix"},
	[FRAMING_EVENTSTREAM] = {GUARD_LENGTH_PREFIXED, "AWS event stream prelude"},
	[FRAMING_JSON_ARRAY] = {GUARD_DELIMITED, "JSON array element"},
};
_Static_assert(ARRAY_SIZE(framings) == _FRAMING_MAX, "every framing ends its messages somehow");

enum guard_mode partial_mode(enum framing_kind kind)
{
	return framings[kind].mode;
}

static void format_sentinel(const struct framing *framing,
			    char ret_text[static PARTIAL_DELIMITER_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	size_t at = 0;

	for (size_t i = 0; i < framing->sentinel_len; i++) {
		ret_text[at++] = digits[framing->sentinel[i] >> 4];
		ret_text[at++] = digits[framing->sentinel[i] & 0xf];
	}
	ret_text[at] = '\0';
}

static void format_lenprefix(const struct framing *framing,
			     char ret_text[static PARTIAL_DELIMITER_SIZE])
{
	const char *order = framing->big_endian ? " big-endian" : " little-endian";

	/* One byte has no order, and a varint always the same. */
	if (framing->type == LENPREFIX_U8 || framing->type == LENPREFIX_VARINT)
		order = "";
	(void)snprintf(ret_text, PARTIAL_DELIMITER_SIZE, "%s%s length%s",
		       policy_lenprefix_name(framing->type), order,
		       framing->includes_header ? " that counts itself" : "");
}

void partial_delimiter(const struct framing *framing, char ret_text[static PARTIAL_DELIMITER_SIZE])
{
	const char *delimiter = framings[framing->kind].delimiter;

	if (delimiter)
		(void)snprintf(ret_text, PARTIAL_DELIMITER_SIZE, "%s", delimiter);
	else if (framing->kind == FRAMING_SENTINEL)
		format_sentinel(framing, ret_text);
	else
		format_lenprefix(framing, ret_text);
}

static int hash_piece(void *context, const uint8_t *bytes, size_t len)
{
	struct sha256 *sha256 = context;

	return sha256_update(sha256, bytes, len);
}

int partial_hash(const struct flow *flow, char ret_hex[static SHA256_HEX_SIZE])
{
	cleanup(sha256_done) struct sha256 sha256 = {0};
	uint64_t framed = pipeline_framed(flow->pipeline);
	int r;

	if (flow->received == framed) {
		*ret_hex = '\0';
		return 0;
	}
	if (flow->sent > framed)
		return -ENODATA;
	r = sha256_init(&sha256);
	if (r == 0)
		r = hold_visit(&flow->hold, (size_t)(framed - flow->sent), hash_piece, &sha256);
	return r < 0 ? r : sha256_hex(&sha256, ret_hex);
}
