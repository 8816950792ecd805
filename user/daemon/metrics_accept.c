/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/metrics_accept.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t"

struct part {
	const char *text;
	size_t len;
};

/* A form, and how well it is liked so far: by the most specific range, in thousandths. */
struct form {
	const char *type, *subtype, *version;
	int specific; /* 0: no range yet; 1: any; 2: of its type; 3: itself; 4: and its version */
	int quality;
};

static struct part trim(struct part part)
{
	while (part.len && strchr(BLANKS, *part.text)) {
		part.text++;
		part.len--;
	}
	while (part.len && strchr(BLANKS, part.text[part.len - 1]))
		part.len--;
	return part;
}

/* What stands before the next of that sign outside of a quoted string; *rest goes on behind it. */
static struct part take(struct part *rest, char sign)
{
	struct part part = {.text = rest->text};
	bool quoted = false;

	while (part.len < rest->len && (quoted || rest->text[part.len] != sign)) {
		if (quoted && rest->text[part.len] == '\\' && part.len + 1 < rest->len)
			part.len++;
		else if (rest->text[part.len] == '"')
			quoted = !quoted;
		part.len++;
	}
	rest->text += part.len;
	rest->len -= part.len;
	if (rest->len) {
		rest->text++;
		rest->len--;
	}
	return trim(part);
}

static bool is(struct part part, const char *word)
{
	return part.len == strlen(word) && !strncasecmp(part.text, word, part.len);
}

/* qvalue: 0 or 1, and up to three digits behind a dot. -1: it is none. */
static int read_quality(struct part value)
{
	int quality, unit = 100;

	if (!value.len || (value.text[0] != '0' && value.text[0] != '1'))
		return -1;
	quality = (value.text[0] - '0') * 1000;
	if (value.len > 5 || (value.len > 1 && value.text[1] != '.'))
		return -1;
	for (size_t i = 2; i < value.len; i++, unit /= 10) {
		if (value.text[i] < '0' || value.text[i] > '9')
			return -1;
		quality += (value.text[i] - '0') * unit;
	}
	return quality <= 1000 ? quality : -1;
}

/* How specific the range is about the form; 0: it has it not. */
static int match(const struct form *form, struct part range, struct part version)
{
	struct part subtype = range, type = take(&subtype, '/');

	subtype = trim(subtype);
	if (is(type, "*") && is(subtype, "*"))
		return 1;
	if (!is(type, form->type))
		return 0;
	if (is(subtype, "*"))
		return 2;
	if (!is(subtype, form->subtype))
		return 0;
	if (!version.text)
		return 3;
	return is(version, form->version) ? 4 : 0;
}

static void weigh(struct form *form, struct part range, struct part version, int quality)
{
	int specific = match(form, range, version);

	if (!specific || specific < form->specific)
		return;
	if (specific > form->specific || quality > form->quality)
		form->quality = quality;
	form->specific = specific;
}

static struct part unquote(struct part value)
{
	if (value.len >= 2 && value.text[0] == '"' && value.text[value.len - 1] == '"')
		return (struct part){value.text + 1, value.len - 2};
	return value;
}

static void read_range(struct part rest, struct form *forms, size_t count)
{
	struct part range = take(&rest, ';'), version = {0};
	int quality = 1000;

	while (rest.len) {
		struct part value = take(&rest, ';'), name = take(&value, '=');

		if (is(name, "version"))
			version = unquote(trim(value));
		else if (is(name, "q"))
			quality = read_quality(trim(value));
	}
	/* What cannot be read is no wish. */
	for (size_t i = 0; quality >= 0 && i < count; i++)
		weigh(&forms[i], range, version, quality);
}

bool metrics_accept_openmetrics(const char *accept)
{
	struct form forms[] = {
		{.type = "application", .subtype = "openmetrics-text", .version = "1.0.0"},
		{.type = "text", .subtype = "plain", .version = "0.0.4"},
	};
	struct part rest = {.text = accept, .len = accept ? strlen(accept) : 0};

	while (rest.len)
		read_range(take(&rest, ','), forms, sizeof(forms) / sizeof(forms[0]));
	return forms[0].quality > forms[1].quality;
}
