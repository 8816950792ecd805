/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of random texts, several channels of them at once, cut into random calls, lent and
 * cleared in random orders, beside a model that has every rune by itself: each is in one span,
 * of the right bounds; each window holds what it must; the frontier is exact, and only rises.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/span.h"
#include "core/utf8.h"

#define ROUNDS	     1500
#define STEPS	     160
#define CHANNELS     3u
#define TEXT_MAX     2048u
#define TRACK_MAX    8192u
#define IN_FLIGHT    5u
#define NO_TEXT	     UINT32_MAX
#define PIECE_MAX    7u
#define ALPHABET_MAX 12u

/* A rune of the track, or of what was delivered before. */
struct model_rune {
	uint32_t rune;
	uint64_t track;
	bool unit_end; /* a unit ends behind it */
};

struct model_text {
	struct model_rune runes[TEXT_MAX];
	size_t primed, count, spanned; /* in spans that were lent */
	struct span_channel *channel;
	bool closed, waits;
};

struct model_loan {
	uint64_t id;
	struct model_text *text;
	size_t from, to;
};

struct model {
	struct span_config config;
	struct span_set *set;
	unsigned int seed;
	struct model_text texts[CHANNELS];
	struct model_loan loans[IN_FLIGHT];
	size_t loan_count;
	bool cleared[TRACK_MAX];
	uint64_t track, frontier;
	uint64_t lent;
};

static const uint32_t alphabet[ALPHABET_MAX] = {'a',  'b',    '.',    ' ',     '!', '\n',
						0xe9, 0x3002, 0x4e16, 0x1f600, 'c', '?'};

static unsigned int draw(struct model *model, unsigned int below)
{
	return (unsigned int)rand_r(&model->seed) / 7u % below;
}

static void encode(const struct model_rune *runes, size_t count, uint8_t *ret_text, size_t *ret_len)
{
	size_t len = 0;

	for (size_t i = 0; i < count; i++)
		len += utf8_encode(runes[i].rune, ret_text + len);
	*ret_len = len;
}

/* Where the span ends that begins with that rune of a text; the count: not as far as is known. */
static size_t end_of_span(const struct model *model, const struct model_text *text, size_t from,
			  bool *ret_known)
{
	for (size_t i = from; i < text->count; i++) {
		const struct model_rune *at = &text->runes[i];
		bool next = i + 1 < text->count;

		*ret_known = true;
		if (i + 1 - from == model->config.coverage.span)
			return i + 1;
		if (model->config.cadence == SPAN_UNIT && at->unit_end)
			return i + 1;
		if (model->config.cadence != SPAN_SENTENCE)
			continue;
		if (at->rune == '\n' || at->rune == 0x3002)
			return i + 1;
		if (strchr(".!?", (int)MIN(at->rune, 0x7fu)) && next && at[1].rune == ' ')
			return i + 1;
	}
	*ret_known = text->closed;
	return text->count;
}

/* The text whose next span begins first of those that are cut, and its end. */
static struct model_text *next_text(struct model *model, size_t *ret_end)
{
	struct model_text *first = NULL;

	for (size_t i = 0; i < CHANNELS; i++) {
		struct model_text *text = &model->texts[i];
		bool known = false;
		size_t end = end_of_span(model, text, text->spanned, &known);

		if (!known || text->spanned == text->count)
			continue;
		if (first && first->runes[first->spanned].track < text->runes[text->spanned].track)
			continue;
		first = text;
		*ret_end = end;
	}
	return first;
}

static void check_item(const struct model *model, const struct model_text *text, size_t end,
		       const struct span_item *item)
{
	size_t window = model->config.coverage.window, from = end > window ? end - window : 0, len;
	uint8_t bytes[TEXT_MAX * UTF8_MAX];

	assert_int_equal(item->channel[0], 'a' + (text - model->texts));
	assert_int_equal(item->start, text->runes[text->spanned].track);
	assert_int_equal(item->end, text->runes[end - 1].track + 1);
	assert_int_equal(item->runes, end - from);
	assert_int_equal(item->before, text->spanned - from);
	encode(text->runes + from, end - from, bytes, &len);
	assert_int_equal(item->len, len);
	assert_memory_equal(item->text, bytes, len);
	assert_int_equal(item->final, text->closed && end == text->count);
}

static void lend(struct model *model)
{
	struct model_text *text;
	struct span_item item;
	size_t end = 0;

	text = model->loan_count < IN_FLIGHT ? next_text(model, &end) : NULL;
	assert_int_equal(span_next(model->set, &item), text != NULL);
	if (!text)
		return;
	check_item(model, text, end, &item);
	model->loans[model->loan_count++] = (struct model_loan){
		.id = item.id,
		.text = text,
		.from = text->spanned,
		.to = end,
	};
	text->spanned = end;
	model->lent++;
}

static void answer(struct model *model)
{
	struct model_loan *loan;

	if (!model->loan_count)
		return;
	loan = &model->loans[draw(model, (unsigned int)model->loan_count)];
	assert_int_equal(span_clear(model->set, loan->id), 0);
	for (size_t i = loan->from; i < loan->to; i++) {
		assert_false(model->cleared[loan->text->runes[i].track]);
		model->cleared[loan->text->runes[i].track] = true;
	}
	*loan = model->loans[--model->loan_count];
}

/* The first rune that is in no span that is cut. */
static uint64_t first_uncut(const struct model *model)
{
	uint64_t first = model->track;

	for (size_t i = 0; i < CHANNELS; i++) {
		const struct model_text *text = &model->texts[i];
		size_t from = text->spanned;
		bool known = from < text->count;

		while (known && from < text->count) {
			size_t end = end_of_span(model, text, from, &known);

			from = known ? end : from;
		}
		if (from < text->count || text->waits)
			first = MIN(first, text->runes[from].track);
	}
	return first;
}

static void check_frontier(struct model *model)
{
	uint64_t frontier = span_frontier(model->set), expected = model->frontier;

	while (expected < model->track && model->cleared[expected])
		expected++;
	assert_int_equal(frontier, expected);
	assert_true(frontier >= model->frontier);
	assert_int_equal(span_reach(model->set), first_uncut(model));
	model->frontier = frontier;
}

static void open_text(struct model *model, struct model_text *text)
{
	const char name[] = {(char)('a' + (text - model->texts)), '\0'};
	uint8_t bytes[16 * UTF8_MAX];
	size_t len;

	/* The spans of the text before are lent and cleared: their runes are to be kept. */
	for (size_t i = 0; i < model->loan_count; i++)
		if (model->loans[i].text == text)
			return;
	if (text->closed && text->spanned < text->count)
		return;
	memset(text, 0, sizeof(*text));
	assert_int_equal(span_open(model->set, name, SPAN_TEXT, &text->channel), 0);
	if (draw(model, 3))
		return;
	text->primed = draw(model, 16);
	for (size_t i = 0; i < text->primed; i++)
		text->runes[i].rune = alphabet[draw(model, ALPHABET_MAX)];
	encode(text->runes, text->primed, bytes, &len);
	assert_int_equal(span_prime(model->set, text->channel, bytes, len), 0);
	if (text->primed >= model->config.coverage.window) {
		size_t kept = model->config.coverage.window - 1;

		memmove(text->runes, text->runes + text->primed - kept,
			kept * sizeof(text->runes[0]));
		text->primed = kept;
	}
	text->count = text->spanned = text->primed;
}

static void say(struct model *model, struct model_text *text)
{
	size_t count = 1 + draw(model, PIECE_MAX), first = text->count, len;
	uint8_t bytes[PIECE_MAX * UTF8_MAX];

	if (text->count + count > TEXT_MAX)
		return;
	for (size_t i = 0; i < count; i++) {
		struct model_rune *rune = &text->runes[text->count++];

		if (!text->waits || i)
			*rune = (struct model_rune){.track = model->track++};
		rune->rune = alphabet[draw(model, ALPHABET_MAX)];
	}
	encode(text->runes + first, count, bytes, &len);
	assert_int_equal(span_text(model->set, text->channel, bytes, len, count), 0);
	text->waits = false;
}

static void wait_for_a_rune(struct model *model, struct model_text *text)
{
	if (text->waits || text->count == TEXT_MAX)
		return;
	text->runes[text->count] = (struct model_rune){.track = model->track++};
	text->waits = true;
	assert_int_equal(span_wait(model->set, text->channel), 0);
}

static void close_text(struct model *model, struct model_text *text)
{
	if (text->waits)
		text->runes[text->count++].rune = 0xfffd;
	text->waits = false;
	text->closed = true;
	assert_int_equal(span_close(model->set, text->channel), 0);
}

static void end_unit(struct model *model)
{
	for (size_t i = 0; i < CHANNELS; i++) {
		struct model_text *text = &model->texts[i];

		if (text->count > text->primed)
			text->runes[text->count - 1].unit_end = true;
	}
	assert_int_equal(span_unit_end(model->set), 0);
}

static void step(struct model *model)
{
	struct model_text *text = &model->texts[draw(model, CHANNELS)];
	unsigned int what = draw(model, 20);

	if (what >= 14)
		lend(model);
	else if (what >= 10)
		answer(model);
	else if (what == 9)
		end_unit(model);
	else if (!text->channel || text->closed)
		open_text(model, text);
	else if (what == 8)
		close_text(model, text);
	else if (what == 7)
		wait_for_a_rune(model, text);
	else
		say(model, text);
	check_frontier(model);
}

/* Ends the texts; then each rune is lent, and cleared. */
static void finish(struct model *model)
{
	for (size_t i = 0; i < CHANNELS; i++)
		if (model->texts[i].channel && !model->texts[i].closed)
			close_text(model, &model->texts[i]);
	for (;;) {
		uint64_t lent = model->lent;

		lend(model);
		if (lent == model->lent && !model->loan_count)
			break;
		answer(model);
		check_frontier(model);
	}
	assert_int_equal(model->frontier, model->track);
	assert_int_equal(span_waiting(model->set), 0);
}

static void all_runes_are_in_one_span_and_its_window(void **state)
{
	struct model *model = malloc(sizeof(*model));
	uint64_t lent = 0;

	(void)state;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		memset(model, 0, sizeof(*model));
		model->seed = round;
		model->config.cadence = (enum span_cadence)(round % 3);
		model->config.in_flight = IN_FLIGHT;
		model->config.coverage.span = 1 + draw(model, 9);
		model->config.coverage.detectable = 1 + draw(model, 9);
		model->config.coverage.window =
			(uint32_t)coverage_window(model->config.coverage.span,
						  model->config.coverage.detectable) +
			draw(model, 3);
		assert_int_equal(span_set_new(&model->config, &model->set), 0);
		for (unsigned int i = 0; i < STEPS; i++)
			step(model);
		finish(model);
		lent += model->lent;
		span_set_free(model->set);
	}
	/* There was something to see. */
	assert_true(lent > ROUNDS * 10);
	free(model);
}

/* In how many windows, of their last `window` runes, is the term that begins there whole? */
static unsigned int seen(const char *text, size_t at, size_t term, size_t window)
{
	const struct span_config config = {SPAN_RUNES, {4, 12, 9}, 1000, 0, false, false};
	struct span_set *set;
	struct span_channel *channel;
	struct span_item item;
	unsigned int count = 0;

	assert_int_equal(span_set_new(&config, &set), 0);
	assert_int_equal(span_open(set, "a", SPAN_TEXT, &channel), 0);
	assert_int_equal(span_text(set, channel, (const uint8_t *)text, strlen(text), strlen(text)),
			 0);
	assert_int_equal(span_close(set, channel), 0);
	while (span_next(set, &item)) {
		size_t len = MIN(item.len, window);

		if (memmem(item.text + item.len - len, len, text + at, term))
			count++;
	}
	span_set_free(set);
	return count;
}

/* Spans of 4 and a term of 9 need windows of 12; in windows of 10 or 11 some terms are in none. */
static void a_term_is_in_some_window_wherever_it_is(void **state)
{
	static const char text[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN";
	size_t missed[3] = {0};

	(void)state;
	for (size_t at = 0; at + 9 < sizeof(text); at++)
		for (size_t i = 0; i < ARRAY_SIZE(missed); i++)
			missed[i] += !seen(text, at, 9, 12 - i);
	assert_int_equal(missed[0], 0);
	assert_int_equal(missed[1], 8);
	assert_int_equal(missed[2], 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_runes_are_in_one_span_and_its_window),
		cmocka_unit_test(a_term_is_in_some_window_wherever_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
