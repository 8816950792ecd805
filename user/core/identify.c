/* SPDX-License-Identifier: Apache-2.0 */
#include "core/identify.h"

#include <stdbool.h>
#include <string.h>

#include "base/macros.h"

#define TLS_HANDSHAKE 0x16u

/* Each with the space behind it. */
static const char methods[] =
	"GET POST PUT HEAD DELETE PATCH OPTIONS CONNECT TRACE QUERY "
	"ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT COPY LABEL LINK LOCK MERGE MKACTIVITY "
	"MKCALENDAR MKCOL MKREDIRECTREF MKWORKSPACE MOVE ORDERPATCH PROPFIND PROPPATCH REBIND "
	"REPORT SEARCH UNBIND UNCHECKOUT UNLINK UNLOCK UPDATE UPDATEREDIRECTREF VERSION-CONTROL ";

static const char *const fields[] = {"content-length:", "content-type:"};

static uint8_t lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

/* The beginning of a text that is known, as far as there are bytes. */
static bool matches(const char *text, size_t text_len, const uint8_t *bytes, size_t len,
		    bool any_case)
{
	for (size_t i = 0; i < MIN(text_len, len); i++)
		if ((any_case ? lower(bytes[i]) : bytes[i]) != (uint8_t)text[i])
			return false;
	return true;
}

/* What begins with a text that is known, or may yet. */
static enum identity identity_of(const uint8_t *bytes, size_t len)
{
	enum identity identity = IDENTITY_UNKNOWN;
	size_t text_len;

	for (const char *text = methods; *text; text += text_len) {
		text_len = strcspn(text, " ") + 1;
		if (!matches(text, text_len, bytes, len, false))
			continue;
		if (len >= text_len)
			return IDENTITY_HTTP1;
		identity = IDENTITY_MORE;
	}
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		text_len = strlen(fields[i]);
		if (!matches(fields[i], text_len, bytes, len, true))
			continue;
		if (len >= text_len)
			return IDENTITY_JSONRPC_CL;
		identity = IDENTITY_MORE;
	}
	return identity;
}

enum identity identify(const uint8_t *bytes, size_t len)
{
	if (len && (bytes[0] == '{' || bytes[0] == '['))
		return IDENTITY_NDJSON;
	if (len && bytes[0] == TLS_HANDSHAKE)
		return IDENTITY_TLS;
	return identity_of(bytes, len);
}
