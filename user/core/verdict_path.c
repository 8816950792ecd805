/* SPDX-License-Identifier: Apache-2.0 */
#include "core/verdict_path.h"

#include <string.h>

#include "base/macros.h"

static bool is_letter(uint8_t c)
{
	return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

/* Each skips what it names, and returns NULL where that does not stand at p. */
static const uint8_t *skip_name(const uint8_t *p, const uint8_t *end)
{
	if (p == end || !is_letter(*p))
		return NULL;
	while (p < end && (is_letter(*p) || verdict_is_digit(*p)))
		p++;
	return p;
}

/* No zero in front. */
static const uint8_t *skip_index(const uint8_t *p, const uint8_t *end)
{
	if (p == end || !verdict_is_digit(*p))
		return NULL;
	if (*p == '0')
		return p + 1;
	while (p < end && verdict_is_digit(*p))
		p++;
	return p;
}

/* Up to the closing quote, and that. */
static const uint8_t *skip_quoted(const uint8_t *p, const uint8_t *end)
{
	while (p < end && *p != '"') {
		if (*p < 0x20)
			return NULL;
		if (*p == '\\' && (++p == end || (*p != '"' && *p != '\\')))
			return NULL;
		p++;
	}
	return p < end ? p + 1 : NULL;
}

static const uint8_t *skip_segment(const uint8_t *p, const uint8_t *end)
{
	if (*p == '.')
		return skip_name(p + 1, end);
	if (*p != '[')
		return NULL;
	p++;
	p = p < end && *p == '"' ? skip_quoted(p + 1, end) : skip_index(p, end);
	return p && p < end && *p == ']' ? p + 1 : NULL;
}

static bool is_path(const uint8_t *p, const uint8_t *end)
{
	while (p && p < end)
		p = skip_segment(p, end);
	return p;
}

bool verdict_path_is_good(const uint8_t *text, size_t len)
{
	static const char *const roots[] = {"$target", "$policy_target"};

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		size_t root = strlen(roots[i]);

		if (len >= root && memcmp(text, roots[i], root) == 0)
			return is_path(text + root, text + len);
	}
	return false;
}
