/* SPDX-License-Identifier: Apache-2.0 */
#include "core/regex_syntax.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/regex_literals.h"
#include "core/regex_node.h"
#include "core/utf8.h"

#define UNSUPPORTED_GROUP "a group or flag that is not supported on a stream"

struct reader {
	const char *pattern;
	size_t at;
	unsigned int depth;
	bool unbounded;
	size_t unbounded_at;
	const char *reason; /* why it is refused, at `at` */
};

static int read_branches(struct reader *reader, bool caseless, struct regex_node *ret_node);

static int refuse(struct reader *reader, size_t at, const char *reason)
{
	reader->at = at;
	reader->reason = reason;
	return -EINVAL;
}

static bool starts(const struct reader *reader, const char *text)
{
	return strncmp(reader->pattern + reader->at, text, strlen(text)) == 0;
}

static uint32_t take_rune(struct reader *reader)
{
	const uint8_t *text = (const uint8_t *)reader->pattern + reader->at;
	unsigned int len = utf8_rune(text, strlen((const char *)text));
	uint32_t rune = len < 2 ? text[0] : text[0] & (0x7fu >> len);

	for (unsigned int i = 1; i < len; i++)
		rune = rune << 6 | (text[i] & 0x3f);
	reader->at += len;
	return rune;
}

/* Past the closing brace of \x{..}, \p{..} and the like. */
static void skip_braces(struct reader *reader)
{
	if (reader->pattern[reader->at] != '{')
		return;
	while (reader->pattern[reader->at] && reader->pattern[reader->at] != '}')
		reader->at++;
	reader->at += reader->pattern[reader->at] == '}';
}

static void skip_digits(struct reader *reader, unsigned int most)
{
	while (most-- && isxdigit((unsigned char)reader->pattern[reader->at]))
		reader->at++;
}

static int read_escape_anchor(struct reader *reader, char kind, struct regex_node *node)
{
	switch (kind) {
	case 'A':
		regex_node_anchor(node, 1, 0);
		return 0;
	case 'z':
		regex_node_anchor(node, 0, 1);
		return 0;
	case 'b':
	case 'B':
		regex_node_anchor(node, 1, 1);
		return 0;
	}
	return refuse(reader, reader->at - 2, "an escape that is not supported on a stream");
}

/* Comments, and the ends of quotes: a quantifier behind them is of what stands before. */
static void skip_nothings(struct reader *reader)
{
	for (;;) {
		if (starts(reader, "(?#")) {
			reader->at += strcspn(reader->pattern + reader->at, ")");
			reader->at += reader->pattern[reader->at] == ')';
		} else if (starts(reader, "\\Q\\E")) {
			reader->at += 4;
		} else if (starts(reader, "\\E")) {
			reader->at += 2;
		} else {
			return;
		}
	}
}

/* Behind \R. Of a counted one PCRE2's interpreter forgets that an LF may follow a final CR. */
static int read_line_end(struct reader *reader, struct regex_node *node)
{
	size_t begin = reader->at - 2;

	regex_node_any(node, 1, 2);
	skip_nothings(reader);
	if (reader->pattern[reader->at] && strchr("?*+{", reader->pattern[reader->at]))
		return refuse(reader, begin, "a quantifier of \\R: write (?:\\R)");
	return 0;
}

/* A letter or digit behind a backslash. */
static int read_escape_letter(struct reader *reader, char kind, struct regex_node *node)
{
	regex_node_any(node, 1, 1);
	if (strchr("dDwWsShHvVNtnrfea", kind)) {
		/* \N{U+hh} is a rune by its number; \N{2} is two of any but a line feed. */
		if (kind == 'N' && starts(reader, "{U"))
			skip_braces(reader);
		return 0;
	}
	switch (kind) {
	case 'R':
		return read_line_end(reader, node);
	case 'p':
	case 'P':
		if (reader->pattern[reader->at] == '{')
			skip_braces(reader);
		else
			reader->at++;
		return 0;
	case 'x':
		if (reader->pattern[reader->at] == '{')
			skip_braces(reader);
		else
			skip_digits(reader, 2);
		return 0;
	case '0':
		for (unsigned int i = 0; i < 2 && strchr("01234567", reader->pattern[reader->at]) &&
					 reader->pattern[reader->at];
		     i++)
			reader->at++;
		return 0;
	case 'o':
		skip_braces(reader);
		return 0;
	case 'c':
		reader->at++;
		return 0;
	}
	return read_escape_anchor(reader, kind, node);
}

/* At a backslash: one item. */
static int read_escape(struct reader *reader, bool caseless, struct regex_node *node)
{
	char kind = reader->pattern[++reader->at];
	int r;

	if (isdigit((unsigned char)kind) && kind != '0')
		return refuse(reader, reader->at - 1, "a back reference");
	if (!isalnum((unsigned char)kind)) {
		regex_node_literal(node, take_rune(reader), caseless);
		return 0;
	}
	reader->at++;
	r = read_escape_letter(reader, kind, node);
	if (r == 0 && strchr("dws", kind))
		regex_head_class(&node->head, reader->pattern + reader->at - 2, 2, caseless);
	return r;
}

/* In a class, at its member: past it. */
static int skip_member(struct reader *reader)
{
	const char *end;

	if (starts(reader, "[:") && (end = strstr(reader->pattern + reader->at + 2, ":]")) &&
	    strcspn(reader->pattern + reader->at + 2, "]\\") >=
		    (size_t)(end - reader->pattern) - reader->at - 1) {
		reader->at = (size_t)(end - reader->pattern) + 2;
		return 0;
	}
	if (starts(reader, "\\Q") || starts(reader, "\\E"))
		return refuse(reader, reader->at, "\\Q or \\E in a class");
	/* What follows \c is a part of it, be it the bracket that would close. */
	if (starts(reader, "\\c"))
		reader->at += 2;
	else
		reader->at += reader->pattern[reader->at] == '\\';
	take_rune(reader);
	return 0;
}

/* At a bracket: a class, which is one rune. */
static int read_class(struct reader *reader, bool caseless, struct regex_node *node)
{
	size_t begin = ++reader->at;
	int r;

	reader->at += reader->pattern[reader->at] == '^';
	/* A bracket that closes at once is a member. */
	do {
		r = skip_member(reader);
		if (r < 0)
			return r;
	} while (reader->pattern[reader->at] && reader->pattern[reader->at] != ']');
	regex_node_any(node, 1, 1);
	if (!caseless)
		regex_literals_class(&node->literals, reader->pattern + begin, reader->at - begin);
	reader->at += reader->pattern[reader->at] == ']';
	regex_head_class(&node->head, reader->pattern + begin - 1, reader->at - begin + 1,
			 caseless);
	return 0;
}

static int read_inner(struct reader *reader, bool caseless, struct regex_node *node)
{
	size_t at = reader->at;
	int r;

	if (++reader->depth > REGEX_NEST_MAX)
		return refuse(reader, at, "too many groups within groups");
	r = read_branches(reader, caseless, node);
	reader->depth--;
	reader->at += reader->pattern[reader->at] == ')';
	return r;
}

/*
 * At the flags of (?i) or (?i:..): past them, and past the bracket that ends the
 * former, which is no group; the latter is answered with ret_group.
 */
static int read_flags(struct reader *reader, bool *caseless, bool *ret_group)
{
	size_t begin = reader->at;
	bool on = true;

	for (; !strchr(":)", reader->pattern[reader->at]); reader->at++) {
		switch (reader->pattern[reader->at]) {
		case '-':
			on = false;
			break;
		case 'i':
			*caseless = on;
			break;
		case 'm':
		case 's':
			break;
		default:
			return refuse(reader, begin - 2, UNSUPPORTED_GROUP);
		}
	}
	*ret_group = reader->pattern[reader->at++] == ':';
	return 0;
}

static int read_look(struct reader *reader, size_t skip, bool caseless, struct regex_node *node)
{
	bool behind = reader->pattern[reader->at] == '<';
	int r;

	reader->at += skip;
	r = read_inner(reader, caseless, node);
	if (r == 0)
		regex_node_look(node, behind);
	return r;
}

/* At an opening bracket: a group, or flags for what follows. */
static int read_group(struct reader *reader, bool *caseless, struct regex_node *node)
{
	size_t begin = reader->at++;
	bool inner = *caseless, group;
	int r;

	if (starts(reader, "*"))
		return refuse(reader, begin, "a verb");
	if (!starts(reader, "?"))
		return read_inner(reader, *caseless, node);
	reader->at++;
	if (starts(reader, "=") || starts(reader, "!"))
		return read_look(reader, 1, *caseless, node);
	if (starts(reader, "<=") || starts(reader, "<!"))
		return read_look(reader, 2, *caseless, node);
	if (starts(reader, "<*"))
		return refuse(reader, begin, UNSUPPORTED_GROUP);
	if (starts(reader, "P<") || starts(reader, "<") || starts(reader, "'")) {
		bool quoted = starts(reader, "'");

		reader->at += starts(reader, "P") ? 2 : 1;
		reader->at += strcspn(reader->pattern + reader->at, quoted ? "'" : ">") + 1;
		return read_inner(reader, *caseless, node);
	}
	if (starts(reader, ">") || starts(reader, "|")) {
		reader->at++;
		return read_inner(reader, *caseless, node);
	}
	r = read_flags(reader, &inner, &group);
	if (r < 0)
		return r;
	if (group)
		return read_inner(reader, inner, node);
	*caseless = inner;
	regex_node_empty(node);
	return 0;
}

/* {n}, {n,} or {n,m}; anything else in braces is literal. */
static bool read_counts(struct reader *reader, uint32_t *ret_min, uint32_t *ret_max)
{
	const char *p = reader->pattern + reader->at + 1;
	char *end;

	if (!isdigit((unsigned char)*p))
		return false;
	*ret_min = *ret_max = (uint32_t)strtoul(p, &end, 10);
	if (*end == ',') {
		*ret_max = REGEX_UNBOUNDED;
		p = end + 1;
		end = (char *)p;
		if (isdigit((unsigned char)*p))
			*ret_max = (uint32_t)strtoul(p, &end, 10);
	}
	if (*end != '}')
		return false;
	reader->at = (size_t)(end - reader->pattern) + 1;
	return true;
}

static bool read_quantifier(struct reader *reader, uint32_t *ret_min, uint32_t *ret_max)
{
	skip_nothings(reader);
	*ret_min = 0;
	*ret_max = REGEX_UNBOUNDED;
	switch (reader->pattern[reader->at]) {
	case '{':
		return read_counts(reader, ret_min, ret_max);
	case '?':
		*ret_max = 1;
		break;
	case '+':
		*ret_min = 1;
		break;
	case '*':
		break;
	default:
		return false;
	}
	reader->at++;
	return true;
}

static void repeat(struct reader *reader, struct regex_node *node)
{
	size_t at = reader->at;
	uint32_t min, max;

	while (read_quantifier(reader, &min, &max)) {
		regex_node_repeat(node, min, max);
		/* Lazy or possessive, which changes what is tried first, not what fits. */
		if (starts(reader, "?") || starts(reader, "+"))
			reader->at++;
		if (!reader->unbounded && (node->extent.max == REGEX_UNBOUNDED)) {
			reader->unbounded = true;
			reader->unbounded_at = at;
		}
	}
}

/* Between \Q and \E all is literal; a quantifier behind is of the last rune. */
static void read_quoted(struct reader *reader, bool caseless, struct regex_node *all,
			struct regex_node *last)
{
	reader->at += 2;
	while (reader->pattern[reader->at] && !starts(reader, "\\E")) {
		regex_node_follow(all, last);
		regex_node_literal(last, take_rune(reader), caseless);
	}
	reader->at += starts(reader, "\\E") ? 2 : 0;
}

/* At a brace that PCRE2 10.42 takes for itself: {,3} and { 1, 3 } are counts from 10.43 on. */
static int read_brace(struct reader *reader, struct regex_node *node)
{
	const char *inner = reader->pattern + reader->at + 1;
	size_t len = strspn(inner, " \t,0123456789");

	if (inner[len] == '}' && strcspn(inner, "0123456789") < len)
		return refuse(reader, reader->at, "a brace that may begin a count: write \\{");
	regex_node_literal(node, take_rune(reader), false);
	return 0;
}

/* Not at the end of a branch: one item, before its quantifier. */
static int read_item(struct reader *reader, bool *caseless, struct regex_node *node)
{
	switch (reader->pattern[reader->at]) {
	case '\\':
		return read_escape(reader, *caseless, node);
	case '[':
		return read_class(reader, *caseless, node);
	case '(':
		return read_group(reader, caseless, node);
	case '{':
		return read_brace(reader, node);
	case '.':
		reader->at++;
		regex_node_any(node, 1, 1);
		return 0;
	case '^':
		reader->at++;
		regex_node_anchor(node, 1, 0);
		return 0;
	case '$':
		reader->at++;
		regex_node_anchor(node, 0, 1);
		return 0;
	}
	regex_node_literal(node, take_rune(reader), *caseless);
	return 0;
}

static int read_branch(struct reader *reader, bool *caseless, struct regex_node *ret_node)
{
	struct regex_node item;
	int r = 0;

	regex_node_empty(ret_node);
	skip_nothings(reader);
	while (!strchr("|)", reader->pattern[reader->at])) {
		regex_node_empty(&item);
		if (starts(reader, "\\Q"))
			read_quoted(reader, *caseless, ret_node, &item);
		else
			r = read_item(reader, caseless, &item);
		if (r < 0)
			return r;
		repeat(reader, &item);
		regex_node_follow(ret_node, &item);
	}
	return 0;
}

/* Up to the end of the pattern or the bracket that closes the group. */
static int read_branches(struct reader *reader, bool caseless, struct regex_node *ret_node)
{
	int r = read_branch(reader, &caseless, ret_node);

	while (r == 0 && reader->pattern[reader->at] == '|') {
		struct regex_node other;

		reader->at++;
		r = read_branch(reader, &caseless, &other);
		if (r == 0)
			regex_node_or(ret_node, &other);
	}
	return r;
}

int regex_syntax_read(const char *pattern, struct regex_syntax *ret_syntax, size_t *ret_offset,
		      const char **ret_reason)
{
	struct reader reader = {.pattern = pattern};
	struct regex_node node;
	int r = read_branches(&reader, false, &node);

	if (r == 0 && pattern[reader.at])
		r = refuse(&reader, reader.at, "a bracket that closes nothing");
	if (r < 0) {
		*ret_offset = reader.at;
		*ret_reason = reader.reason;
		return r;
	}
	*ret_syntax = (struct regex_syntax){
		.extent = node.extent,
		.literals = node.literals,
		.head = node.head,
		.unbounded_at = reader.unbounded_at,
	};
	return 0;
}
