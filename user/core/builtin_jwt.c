/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Web Tokens: RFC 7519 section 3 and RFC 7515 section 7.1, three parts in base64url (RFC 4648
 * section 5, no padding) apart by periods. The first is a JSON object with the member `alg` (RFC
 * 7515 section 4.1.1); the last is empty where it says `none` (RFC 7519 section 6.1). The first good
 * example is that of RFC 7519 section 3.1.
 */
#include "core/builtin.h"

#include <string.h>

#include "core/base64.h"

#define HEADER_DIGITS 1024

/* The digits that differ from base64's; anything else ends the header. */
static uint8_t plain(uint8_t c)
{
	return c == '-' ? '+' : c == '_' ? '/' : c;
}

static size_t decode(const uint8_t *text, size_t len, char *ret_json, size_t size)
{
	struct base64 base64 = {0};
	size_t n = 0;

	for (size_t i = 0; i < len && text[i] != '.' && n + 1 < size; i++) {
		uint8_t byte;

		if (base64_push(&base64, plain(text[i]), &byte) == BASE64_BYTE)
			ret_json[n++] = (char)byte;
	}
	ret_json[n] = '\0';
	return n;
}

/* A member's name, a colon and a string: enough to tell a header from other text. */
static bool names_alg(const uint8_t *text, size_t len)
{
	static const char space[] = " \t\r\n";
	char json[HEADER_DIGITS / 4 * 3 + 4];
	size_t n = decode(text, len, json, sizeof(json));

	while (n > 0 && strchr(space, json[n - 1]))
		n--;
	if (n == 0 || json[n - 1] != '}')
		return false;
	for (const char *at = json; (at = strstr(at, "\"alg\"")); at++) {
		const char *value = at + strlen("\"alg\"");

		value += strspn(value, space);
		if (*value != ':')
			continue;
		value++;
		value += strspn(value, space);
		if (*value == '"')
			return true;
	}
	return false;
}

static const struct builtin_rule rules[] = {
	{
		.name = "jwt",
		/* {" or { and a space or line end, in base64url. */
		.pattern = "(?<![0-9A-Za-z_-])(?:ey[AJ]|ew[0ko])[0-9A-Za-z_-]{9,1021}\\."
			   "[0-9A-Za-z_-]{2,8192}\\.[0-9A-Za-z_-]{0,2048}",
		.check = names_alg,
		.good = {"eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
			 "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvb"
			 "S9pc1"
			 "9yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
			 "eyJhbGciOiJub25lIn0.eyJpc3MiOiJqb2UifQ.",
			 "eyAiYWxnIiA6ICJIUzI1NiIgfQ.e30.c2ln",
			 "eyJraWQiOiI_Pz8-Pj4iLCJhbGciOiJIUzI1NiJ9.e30.c2ln"},
		/* No alg, alg that is no string, no JSON object, two parts. */
		.bad = {"eyJ0eXAiOiJKV1QifQ.eyJpc3MiOiJqb2UifQ.c2ln",
			"eyJhbGciOiAxMjM0NX0.eyJpc3MiOiJqb2UifQ.c2ln",
			"eyJhbGciOiJIUzI1NiIs.eyJpc3MiOiJqb2UifQ.c2ln",
			"eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UifQ"},
	},
};

const struct builtin_set builtin_jwt = {"jwt", rules, ARRAY_SIZE(rules)};
