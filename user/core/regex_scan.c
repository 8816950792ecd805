/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/regex_internal.h"
#include "core/utf8.h"

/* Text looked at as one, so that a cursor needs no room for more. */
#define PIECE 4096u

/* A look of all rules at the text at hand. */
struct pass {
	struct regex_look look;
	struct regex_text *text;
	size_t clean;	/* where the text ended before: nothing held begins past it */
	uint64_t runes; /* of the whole text, up to its end */
	bool all;	/* those too that hold much and have not got much more (X5) */
};

static void text_free(struct regex_text *text)
{
	if (!text)
		return;
	free(text->rules.places);
	free(text->rules.active);
	free(text->bytes);
	free(text);
}

void regex_cursor_init(struct regex_cursor *cursor)
{
	*cursor = (struct regex_cursor){0};
}

void regex_cursor_done(struct regex_cursor *cursor)
{
	text_free(cursor->text);
	regex_cursor_init(cursor);
}

static int reserve(struct regex_text *text, size_t capacity)
{
	uint8_t *grown;

	if (capacity <= text->capacity)
		return 0;
	grown = realloc(text->bytes, capacity);
	if (!grown)
		return -ENOMEM;
	text->bytes = grown;
	text->capacity = capacity;
	return 0;
}

/* Makes the rules active that may begin anywhere, at the text's end where they hold nothing. */
static int activate(const struct regex *regex, struct regex_text *text)
{
	struct regex_active *rules = &text->rules;

	if (!rules->places)
		rules->places = malloc((regex->count + 1) * sizeof(*rules->places));
	if (!rules->active)
		rules->active = calloc(regex->words, sizeof(*rules->active));
	if (!rules->places || !rules->active)
		return -ENOMEM;
	for (size_t w = 0; w < regex->words; w++) {
		uint64_t idle = regex->always[w] & ~rules->active[w];

		rules->active[w] |= idle;
		for (; idle; idle &= idle - 1) {
			size_t i = w * 64 + (size_t)__builtin_ctzll(idle);

			rules->places[i].from = rules->places[i].seen = (uint32_t)text->len;
		}
	}
	return 0;
}

static int append(const struct regex *regex, struct regex_cursor *cursor, const uint8_t *piece,
		  size_t len)
{
	struct regex_text *text = cursor->text;
	int r;

	if (!text)
		text = cursor->text = calloc(1, sizeof(*text));
	if (!text)
		return -ENOMEM;
	r = activate(regex, text);
	if (r == 0)
		r = reserve(text, text->len + len);
	if (r < 0)
		return r;
	if (len)
		memcpy(text->bytes + text->len, piece, len);
	text->len += len;
	return 0;
}

/* The first active rule from number i on, or the count of rules. */
static size_t next_active(const struct pass *pass, size_t i)
{
	const uint64_t *active = pass->text->rules.active;

	while (i < pass->look.regex->count) {
		uint64_t word = active[i / 64] >> i % 64;

		if (word)
			return i + (size_t)__builtin_ctzll(word);
		i = (i / 64 + 1) * 64;
	}
	return pass->look.regex->count;
}

static bool rests(const struct pass *pass, const struct regex_place *place)
{
	uint64_t held = place->seen - place->from;

	return !pass->all && place->from < pass->clean && held > REGEX_HELD_EXACT &&
	       (pass->text->len - place->from) * 8 < held * 9;
}

/*
 * Looks with every rule, without going on to what it finds (regex_place.next). 1: the
 * first match of those that begin first, as [*ret_start, *ret_end) of rule *ret_rule.
 */
static int look_all(const struct pass *pass, size_t *ret_rule, size_t *ret_start, size_t *ret_end)
{
	const struct regex_look *look = &pass->look;
	size_t first = SIZE_MAX, start, end;

	for (size_t i = next_active(pass, 0); i < look->regex->count;
	     i = next_active(pass, i + 1)) {
		struct regex_place *place = &pass->text->rules.places[i];
		int r;

		place->next = MIN(place->from, (uint32_t)look->len);
		if (place->from >= look->len || rests(pass, place))
			continue;
		r = regex_look(look, &look->regex->rules[i], place->from, &start, &end);
		if (r < 0)
			return r;
		place->next = (uint32_t)start;
		if (r == 0 || start >= first)
			continue;
		first = *ret_start = start;
		*ret_end = end;
		*ret_rule = i;
	}
	return first != SIZE_MAX;
}

/* The shortest text in which one of the rules that match has decided. */
static int first_decided(const struct pass *pass, size_t *ret_decided)
{
	const struct regex_look *look = &pass->look;
	size_t first = look->len, start, end, decided;

	for (size_t i = next_active(pass, 0); i < look->regex->count;
	     i = next_active(pass, i + 1)) {
		const struct regex_rule *rule = &look->regex->rules[i];
		const struct regex_place *place = &pass->text->rules.places[i];
		int r;

		if (place->from >= look->len || rests(pass, place))
			continue;
		r = regex_look(look, rule, place->from, &start, &end);
		if (r > 0)
			r = regex_look_decided(look, rule, place->from, place->seen, &decided);
		else
			decided = look->len;
		if (r < 0)
			return r;
		first = MIN(first, decided);
	}
	*ret_decided = first;
	return 0;
}

static size_t first_open(const struct pass *pass)
{
	size_t first = pass->look.len;

	for (size_t i = next_active(pass, 0); i < pass->look.regex->count;
	     i = next_active(pass, i + 1))
		first = MIN(first, pass->text->rules.places[i].next);
	return first;
}

static uint64_t rune_at(const struct pass *pass, size_t at)
{
	return pass->runes - utf8_count(pass->text->bytes + at, pass->text->len - at);
}

/* Some rule has matched: answers as if the text had ended where the first one decided. */
static int settle(struct pass *pass, struct regex_cursor *cursor)
{
	size_t rule, start, end;
	int r = 1;

	if (!pass->look.last)
		r = first_decided(pass, &pass->look.len);
	if (r < 0)
		return r;
	/* What a literal of some rule was begun by there may have become something else since. */
	if (pass->look.len > pass->clean)
		regex_prefilter_run(pass->look.regex->prefilter, pass->text->bytes, pass->clean,
				    pass->look.len, &pass->text->rules);
	r = look_all(pass, &rule, &start, &end);
	if (r <= 0)
		return r < 0 ? r : -EIO;
	cursor->matched = true;
	cursor->match = (struct regex_match){
		.term = (uint32_t)rule,
		.start = rune_at(pass, start),
		.end = rune_at(pass, end),
		.decided = rune_at(pass, pass->look.len),
	};
	cursor->open = rune_at(pass, first_open(pass));
	return 1;
}

/* Goes on to what the rules hold, and forgets what no rule looks at any more. */
static void go_on(const struct pass *pass)
{
	struct regex_text *text = pass->text;
	size_t keep = first_open(pass);
	bool held = keep < text->len;

	keep = regex_back(text->bytes, keep, pass->look.regex->behind);
	for (size_t i = next_active(pass, 0); held && i < pass->look.regex->count;
	     i = next_active(pass, i + 1)) {
		struct regex_place *place = &text->rules.places[i];

		if (place->next == text->len) {
			text->rules.active[i / 64] &= ~(1ull << i % 64);
			continue;
		}
		if (!rests(pass, place))
			place->seen = (uint32_t)text->len;
		place->from = place->next - (uint32_t)keep;
		place->seen -= (uint32_t)keep;
	}
	if (!held) {
		free(take_ptr(text->rules.places));
		free(take_ptr(text->rules.active));
	}
	memmove(text->bytes, text->bytes + keep, text->len - keep);
	text->len -= keep;
}

/* The rules look at the text, of which all from `clean` on is new. */
static int pass_over(struct pass *pass, struct regex_cursor *cursor)
{
	size_t rule, start, end;
	int r;

	pass->text = cursor->text;
	pass->look.text = pass->text->bytes;
	pass->look.len = pass->text->len;
	regex_prefilter_run(pass->look.regex->prefilter, pass->text->bytes, pass->clean,
			    pass->text->len, &pass->text->rules);
	r = look_all(pass, &rule, &start, &end);
	if (r < 0)
		return r;
	if (r > 0)
		return settle(pass, cursor);
	cursor->open = rune_at(pass, first_open(pass));
	go_on(pass);
	return 0;
}

static int scan_pieces(const struct regex *regex, struct regex_cursor *cursor, const uint8_t *text,
		       size_t len, pcre2_match_data *data)
{
	uint64_t runes = cursor->runes;
	int r = 0;

	while (len && r == 0) {
		size_t n = MIN(len, (size_t)PIECE);
		struct pass pass = {.look = {.regex = regex, .data = data}};

		while (n < len && (text[n] & 0xc0) == 0x80)
			n++;
		pass.clean = cursor->text ? cursor->text->len : 0;
		runes += utf8_count(text, n);
		pass.runes = runes;
		r = append(regex, cursor, text, n);
		if (r == 0)
			r = pass_over(&pass, cursor);
		text += n;
		len -= n;
	}
	return r;
}

/* What is left is kept in no more room than it takes. */
static void shrink(struct regex_cursor *cursor)
{
	struct regex_text *text = cursor->text;
	uint8_t *smaller;

	if (!text)
		return;
	if (text->len == 0 || cursor->matched) {
		text_free(take_ptr(cursor->text));
		return;
	}
	smaller = realloc(text->bytes, text->len);
	if (!smaller)
		return;
	text->bytes = smaller;
	text->capacity = text->len;
}

int regex_scan(const struct regex *regex, struct regex_cursor *cursor, const uint8_t *text,
	       size_t len, uint64_t runes)
{
	pcre2_match_data *data;
	int r;

	if (cursor->matched || len == 0) {
		cursor->runes += runes;
		return cursor->matched;
	}
	data = pcre2_match_data_create(1, NULL);
	if (!data)
		return -ENOMEM;
	r = scan_pieces(regex, cursor, text, len, data);
	pcre2_match_data_free(data);
	cursor->runes += runes;
	shrink(cursor);
	return r;
}

/* Text that was seen before: patterns look at it, and none begins in it. */
static int remember(struct regex_cursor *cursor, const uint8_t *text, size_t len)
{
	int r;

	cursor->text = calloc(1, sizeof(*cursor->text));
	if (!cursor->text)
		return -ENOMEM;
	r = reserve(cursor->text, len);
	if (r < 0)
		return r;
	memcpy(cursor->text->bytes, text, len);
	cursor->text->len = len;
	return 0;
}

int regex_prime(const struct regex *regex, struct regex_cursor *cursor, const uint8_t *text,
		size_t len, uint64_t runes)
{
	/* There is text before these, which patterns would have to look at. */
	uint64_t before = runes < regex_tail(regex) ? 0 : regex->behind;
	size_t n = utf8_bytes(text, len, before);
	int r;

	r = n ? remember(cursor, text, n) : 0;
	if (r < 0)
		return r;
	cursor->runes = cursor->open = before;
	return regex_scan(regex, cursor, text + n, len - n, runes - before);
}

/* What is held is decided: first, all that more text would have decided as well (X5). */
static int end_held(const struct regex *regex, struct regex_cursor *cursor, pcre2_match_data *data)
{
	struct pass pass = {
		.look = {.regex = regex, .data = data},
		.runes = cursor->runes,
		.all = true,
	};
	int r = 0;

	for (unsigned int i = 0; i < 2 && r == 0; i++) {
		pass.clean = cursor->text->len;
		pass.look.last = i == 1;
		r = append(regex, cursor, NULL, 0);
		if (r == 0)
			r = pass_over(&pass, cursor);
	}
	return r;
}

int regex_end(const struct regex *regex, struct regex_cursor *cursor)
{
	pcre2_match_data *data;
	int r;

	if (cursor->matched)
		return 1;
	if (cursor->text && cursor->text->rules.places) {
		data = pcre2_match_data_create(1, NULL);
		if (!data)
			return -ENOMEM;
		r = end_held(regex, cursor, data);
		pcre2_match_data_free(data);
		if (r != 0) {
			shrink(cursor);
			return r;
		}
	}
	regex_cursor_done(cursor);
	return 0;
}

uint64_t regex_pending(const struct regex *regex, const struct regex_cursor *cursor)
{
	(void)regex;
	return cursor->runes - cursor->open;
}

size_t regex_cursor_memory(const struct regex *regex, const struct regex_cursor *cursor)
{
	const struct regex_text *text = cursor->text;

	if (!text)
		return 0;
	if (!text->rules.places)
		return sizeof(*text) + text->capacity;
	return sizeof(*text) + text->capacity + regex->words * sizeof(*text->rules.active) +
	       (regex->count + 1) * sizeof(*text->rules.places);
}
