/* SPDX-License-Identifier: Apache-2.0 */
/* Spans: where they end, what their windows hold, how they are lent and cleared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "core/span.h"
#include "core/utf8.h"

#define ALL UINT32_MAX /* as many in flight as there are */

static struct span_set *make(enum span_cadence cadence, uint32_t span, uint32_t window,
			     uint32_t in_flight)
{
	const struct span_config config = {
		.cadence = cadence,
		.coverage = {.span = span, .window = window, .detectable = window - span + 1},
		.in_flight = in_flight,
	};
	struct span_set *set;

	assert_int_equal(span_set_new(&config, &set), 0);
	return set;
}

static struct span_channel *begin(struct span_set *set, const char *name)
{
	struct span_channel *channel;

	assert_int_equal(span_open(set, name, SPAN_TEXT, &channel), 0);
	return channel;
}

static void say(struct span_set *set, struct span_channel *channel, const char *text)
{
	size_t len = strlen(text);

	assert_int_equal(span_text(set, channel, (const uint8_t *)text, len,
				   utf8_count((const uint8_t *)text, len)),
			 0);
}

/* The next item is that window, of which so many runes are below its span. */
static uint64_t lent(struct span_set *set, const char *window, uint64_t before, uint64_t start,
		     uint64_t end, bool final)
{
	struct span_item item;

	assert_true(span_next(set, &item));
	assert_int_equal(item.len, strlen(window));
	assert_memory_equal(item.text, window, item.len);
	assert_int_equal(item.runes, utf8_count(item.text, item.len));
	assert_int_equal(item.before, before);
	assert_int_equal(item.start, start);
	assert_int_equal(item.end, end);
	assert_int_equal(item.final, final);
	return item.id;
}

static void none_lent(struct span_set *set)
{
	struct span_item item;

	assert_false(span_next(set, &item));
}

/* The spans a text is cut into, with a bar behind each: "one| two". */
static void spans_are(enum span_cadence cadence, uint32_t span, const char *text,
		      const char *expected)
{
	struct span_set *set = make(cadence, span, span, ALL);
	struct span_channel *channel = begin(set, "content");
	struct span_item item;
	char spans[256] = "";
	size_t len = 0;

	say(set, channel, text);
	assert_int_equal(span_close(set, channel), 0);
	while (span_next(set, &item)) {
		const uint8_t *at = item.text;

		for (uint64_t i = 0; i < item.before; i++)
			at += utf8_length(*at);
		len += (size_t)snprintf(spans + len, sizeof(spans) - len, "%.*s|",
					(int)(item.text + item.len - at), (const char *)at);
	}
	assert_string_equal(spans, expected);
	span_set_free(set);
}

static void a_span_ends_after_s_runes(void **state)
{
	(void)state;
	spans_are(SPAN_RUNES, 4, "abcdefghij", "abcd|efgh|ij|");
	spans_are(SPAN_RUNES, 4, "abcdefgh", "abcd|efgh|");
	spans_are(SPAN_RUNES, 1, "a\xc3\xa9\xf0\x9f\x98\x80", "a|\xc3\xa9|\xf0\x9f\x98\x80|");
	spans_are(SPAN_RUNES, 3, "\xc3\xa9\xc3\xa9g\xe4\xb8\x96x",
		  "\xc3\xa9\xc3\xa9g|\xe4\xb8\x96x|");
	spans_are(SPAN_RUNES, 4, "a. b\nc", "a. b|\nc|");
	spans_are(SPAN_RUNES, 4, "", "");
	spans_are(SPAN_UNIT, 4, "abcdef", "abcd|ef|");
}

static void a_span_ends_with_a_sentence(void **state)
{
	(void)state;
	spans_are(SPAN_SENTENCE, 20, "One. Two! Three? Four", "One.| Two!| Three?| Four|");
	spans_are(SPAN_SENTENCE, 20, "Well... yes", "Well...| yes|");
	spans_are(SPAN_SENTENCE, 20, "3.14 a.b.", "3.14 a.b.|");
	spans_are(SPAN_SENTENCE, 20, "a\nb\n\nc", "a\n|b\n|\n|c|");
	spans_are(SPAN_SENTENCE, 20, "a.\nb.\r\nc", "a.\n|b.\r\n|c|");
	spans_are(SPAN_SENTENCE, 20,
		  "a.\xe2\x80\xa8"
		  "b\xe2\x80\xa9"
		  "c\xe2\x80\xaa",
		  "a.\xe2\x80\xa8|b\xe2\x80\xa9|c\xe2\x80\xaa|");
	spans_are(SPAN_SENTENCE, 20,
		  "a.\xc2\xa0"
		  "b.\xe3\x80\x80"
		  "c.\td",
		  "a.|\xc2\xa0"
		  "b.|\xe3\x80\x80"
		  "c.|\td|");
	/* The wide forms need no space. */
	spans_are(SPAN_SENTENCE, 20,
		  "\xe4\xb8\x96\xe3\x80\x82\xe4\xb8\x96\xef\xbc\x81\xe4\xb8\x96\xef\xbc\x9f"
		  "\xe4\xb8\x96\xef\xbc\x8e\xe4\xb8\x96\xef\xbd\xa1\xe4\xb8\x96",
		  "\xe4\xb8\x96\xe3\x80\x82|\xe4\xb8\x96\xef\xbc\x81|\xe4\xb8\x96\xef\xbc\x9f|"
		  "\xe4\xb8\x96\xef\xbc\x8e|\xe4\xb8\x96\xef\xbd\xa1|\xe4\xb8\x96|");
	/* S runes at the latest, and a sentence goes on behind that. */
	spans_are(SPAN_SENTENCE, 4, "abcdef. g", "abcd|ef.| g|");
	spans_are(SPAN_SENTENCE, 4, "abc. d", "abc.| d|");
	spans_are(SPAN_SENTENCE, 4, "abc\nd", "abc\n|d|");
}

static void a_span_ends_with_its_unit(void **state)
{
	struct span_set *set = make(SPAN_UNIT, 4, 12, ALL);
	struct span_channel *a = begin(set, "a"), *b = begin(set, "b");

	(void)state;
	say(set, a, "xy");
	say(set, b, "z");
	none_lent(set);
	assert_int_equal(span_unit_end(set), 0);
	assert_int_equal(span_unit_end(set), 0);
	assert_int_equal(span_waiting(set), 2);
	lent(set, "xy", 0, 0, 2, false);
	lent(set, "z", 0, 2, 3, false);
	say(set, a, "12345");
	lent(set, "xy1234", 2, 3, 7, false);
	assert_int_equal(span_unit_end(set), 0);
	lent(set, "xy12345", 6, 7, 8, false);
	span_set_free(set);
}

static void units_end_no_span_of_another_cadence(void **state)
{
	static const enum span_cadence cadences[] = {SPAN_RUNES, SPAN_SENTENCE};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cadences); i++) {
		struct span_set *set = make(cadences[i], 4, 4, ALL);

		say(set, begin(set, "a"), "x.");
		assert_int_equal(span_unit_end(set), 0);
		assert_int_equal(span_waiting(set), 0);
		span_set_free(set);
	}
}

static void a_window_ends_where_its_span_does(void **state)
{
	struct span_set *set = make(SPAN_RUNES, 4, 12, ALL);
	struct span_channel *channel = begin(set, "content");

	(void)state;
	say(set, channel, "abcdefghijklmnopqr");
	lent(set, "abcd", 0, 0, 4, false);
	lent(set, "abcdefgh", 4, 4, 8, false);
	lent(set, "abcdefghijkl", 8, 8, 12, false);
	lent(set, "efghijklmnop", 8, 12, 16, false);
	none_lent(set);
	assert_int_equal(span_close(set, channel), 0);
	/* A short one sees as far back as there is room. */
	lent(set, "ghijklmnopqr", 10, 16, 18, true);
	none_lent(set);
	span_set_free(set);
}

static void a_text_sees_nothing_of_another(void **state)
{
	struct span_set *set = make(SPAN_RUNES, 4, 12, ALL);
	struct span_channel *a = begin(set, "a"), *b = begin(set, "b");

	(void)state;
	say(set, a, "ab");
	say(set, b, "wx");
	say(set, a, "cd");
	say(set, b, "yz");
	/* The numbers between the first and the last may be another's. */
	lent(set, "abcd", 0, 0, 6, false);
	lent(set, "wxyz", 0, 2, 8, false);
	assert_int_equal(span_close(set, a), 0);
	a = begin(set, "a");
	say(set, a, "e");
	assert_int_equal(span_close(set, a), 0);
	lent(set, "e", 0, 8, 9, true);
	span_set_free(set);
}

static void the_last_span_of_a_text_is_final(void **state)
{
	struct span_set *set = make(SPAN_RUNES, 4, 4, ALL);
	struct span_channel *channel = begin(set, "a");

	(void)state;
	/* Of one that ends where a span does, the span, if it has not been lent. */
	say(set, channel, "abcdefgh");
	assert_int_equal(span_close(set, channel), 0);
	lent(set, "abcd", 0, 0, 4, false);
	lent(set, "efgh", 0, 4, 8, true);
	channel = begin(set, "a");
	say(set, channel, "abcd");
	lent(set, "abcd", 0, 8, 12, false);
	assert_int_equal(span_close(set, channel), 0);
	none_lent(set);
	/* A text of nothing has no span. */
	assert_int_equal(span_close(set, begin(set, "b")), 0);
	none_lent(set);
	span_set_free(set);
}

static void what_was_delivered_before_is_seen(void **state)
{
	struct span_set *set = make(SPAN_RUNES, 4, 6, ALL);
	struct span_channel *channel = begin(set, "a");
	const uint8_t tail[] = "01234567\xc3\xa9";

	(void)state;
	assert_int_equal(span_prime(set, channel, tail, sizeof(tail) - 1), 0);
	assert_int_equal(span_frontier(set), 0);
	say(set, channel, "a");
	assert_int_equal(span_close(set, channel), 0);
	/* N - 1 runes of it: more than that no window can hold. */
	lent(set,
	     "4567\xc3\xa9"
	     "a",
	     5, 0, 1, true);
	channel = begin(set, "a");
	assert_int_equal(span_prime(set, channel, tail, 2), 0);
	say(set, channel, "abcde");
	lent(set, "01abcd", 2, 1, 5, false);
	channel = begin(set, "none");
	assert_int_equal(span_prime(set, channel, tail, 0), 0);
	say(set, channel, "abcd");
	lent(set, "abcd", 0, 6, 10, false);
	span_set_free(set);
}

static void answers_come_in_any_order(void **state)
{
	struct span_set *set = make(SPAN_RUNES, 2, 2, 3);
	struct span_channel *channel = begin(set, "a");
	uint64_t ids[3], last;

	(void)state;
	say(set, channel, "abcdefghi");
	assert_int_equal(span_waiting(set), 4);
	ids[0] = lent(set, "ab", 0, 0, 2, false);
	ids[1] = lent(set, "cd", 0, 2, 4, false);
	ids[2] = lent(set, "ef", 0, 4, 6, false);
	/* No more than three are out. */
	none_lent(set);
	assert_int_equal(span_waiting(set), 1);
	assert_int_equal(span_clear(set, ids[1]), 0);
	assert_int_equal(span_frontier(set), 0);
	last = lent(set, "gh", 0, 6, 8, false);
	none_lent(set);
	assert_int_equal(span_clear(set, ids[0]), 0);
	assert_int_equal(span_frontier(set), 4);
	assert_int_equal(span_clear(set, last), 0);
	assert_int_equal(span_frontier(set), 4);
	assert_int_equal(span_clear(set, ids[2]), 0);
	/* The ninth rune is in a span that is not cut. */
	assert_int_equal(span_frontier(set), 8);
	assert_int_equal(span_close(set, channel), 0);
	assert_int_equal(span_clear(set, lent(set, "hi", 1, 8, 9, true)), 0);
	assert_int_equal(span_frontier(set), 9);
	span_set_free(set);
}

static void an_answer_to_nothing_clears_nothing(void **state)
{
	struct span_set *set = make(SPAN_RUNES, 2, 2, ALL);
	uint64_t id;

	(void)state;
	assert_int_equal(span_clear(set, 0), -ENOENT);
	say(set, begin(set, "a"), "abcd");
	/* Cut, and not lent: the ids are those of the spans to come. */
	assert_int_equal(span_clear(set, 0), -ENOENT);
	id = lent(set, "ab", 0, 0, 2, false);
	assert_int_equal(span_clear(set, id + 1), -ENOENT);
	assert_int_equal(span_clear(set, UINT64_MAX), -ENOENT);
	assert_int_equal(span_frontier(set), 0);
	assert_int_equal(span_clear(set, id), 0);
	assert_int_equal(span_clear(set, id), -ENOENT);
	assert_int_equal(span_frontier(set), 2);
	span_set_free(set);
}

static void a_rune_that_waits_is_not_cleared(void **state)
{
	struct span_set *set = make(SPAN_UNIT, 4, 4, ALL);
	struct span_channel *a = begin(set, "a"), *b = begin(set, "b");

	(void)state;
	say(set, a, "a");
	assert_int_equal(span_wait(set, a), 0);
	say(set, b, "xyz");
	assert_int_equal(span_unit_end(set), 0);
	assert_int_equal(span_clear(set, lent(set, "a", 0, 0, 1, false)), 0);
	assert_int_equal(span_frontier(set), 1);
	assert_int_equal(span_clear(set, lent(set, "xyz", 0, 2, 5, false)), 0);
	assert_int_equal(span_frontier(set), 1);
	/* Alone it is no span, however its unit ends. */
	assert_int_equal(span_unit_end(set), 0);
	none_lent(set);
	say(set, a,
	    "\xf0\x9f\x98\x80"
	    "b");
	assert_int_equal(span_unit_end(set), 0);
	assert_int_equal(span_clear(set, lent(set,
					      "a\xf0\x9f\x98\x80"
					      "b",
					      1, 1, 6, false)),
			 0);
	assert_int_equal(span_frontier(set), 6);
	/* Where its text ends, it is U+FFFD. */
	assert_int_equal(span_wait(set, b), 0);
	assert_int_equal(span_close(set, b), 0);
	assert_int_equal(span_frontier(set), 6);
	lent(set, "xyz\xef\xbf\xbd", 3, 6, 7, true);
	span_set_free(set);
}

static void what_is_not_sound_is_refused(void **state)
{
	static const struct span_config rows[] = {
		{SPAN_RUNES, {4, 12, 9}, 0, 0, false, false},
		{SPAN_RUNES, {4, 11, 9}, 1, 0, false, false},
		{SPAN_RUNES, {4, 10, 9}, 1, 0, false, false},
		{SPAN_RUNES, {0, 12, 9}, 1, 0, false, false},
		{SPAN_RUNES, {4, 12, 0}, 1, 0, false, false},
	};
	struct span_config sound = {SPAN_RUNES, {4, 12, 9}, 1, 77, false, false};
	struct span_set *set = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(span_set_new(&rows[i], &set), -EINVAL);
		assert_null(set);
	}
	assert_int_equal(span_set_new(&sound, &set), 0);
	assert_int_equal(span_frontier(set), 77);
	say(set, begin(set, "a"), "abcd");
	lent(set, "abcd", 0, 77, 81, false);
	span_set_free(set);
	span_set_free(NULL);
}

/* Of a text that is longer than what is kept, each window is still whole. */
static void windows_are_whole_in_a_long_text(void **state)
{
	struct span_set *set = make(SPAN_UNIT, 4, 6, ALL);
	struct span_channel *channel = begin(set, "a");
	char text[6000 * 2 + 1] = "", *at = text;

	(void)state;
	for (uint64_t i = 0; i < 6000; i++) {
		uint64_t runes = MIN(i + 1, (uint64_t)6);
		const char *window;

		/* Of two bytes each, and not soon the same again. */
		*at++ = (char)(0xc3 + i / 64 % 16);
		*at++ = (char)(0x80 + i % 64);
		*at = '\0';
		say(set, channel, at - 2);
		assert_int_equal(span_unit_end(set), 0);
		window = at - 2 * runes;
		assert_int_equal(span_clear(set, lent(set, window, runes - 1, i, i + 1, false)), 0);
	}
	assert_true(span_memory(set) < 1024);
	span_set_free(set);
}

/* The start of a text, of which no window has gone, is kept however much comes at once. */
static void a_window_has_all_there_is_below_n_runes(void **state)
{
	struct span_set *set = make(SPAN_UNIT, 400, 1000, ALL);
	struct span_channel *channel = begin(set, "a");
	char text[302] = "x";

	(void)state;
	say(set, channel, text);
	assert_int_equal(span_unit_end(set), 0);
	lent(set, text, 0, 0, 1, false);
	memset(text + 1, 'y', 300);
	say(set, channel, text + 1);
	assert_int_equal(span_unit_end(set), 0);
	lent(set, text, 1, 1, 301, false);
	span_set_free(set);
}

/* Texts that stand apart in one: the line feed between them is in windows, and has no number. */
static void a_break_parts_what_a_window_sees(void **state)
{
	struct span_set *set = make(SPAN_UNIT, 4, 7, ALL);
	struct span_channel *channel = begin(set, "a");

	(void)state;
	/* Nothing is before the first. */
	assert_int_equal(span_break(set, channel), 0);
	say(set, channel, "ab");
	assert_int_equal(span_break(set, channel), 0);
	say(set, channel, "c");
	lent(set, "ab\nc", 0, 0, 3, false);
	/* A span has just ended: the next one begins with the break. */
	assert_int_equal(span_break(set, channel), 0);
	say(set, channel, "de");
	assert_int_equal(span_unit_end(set), 0);
	lent(set, "ab\nc\nde", 4, 3, 5, false);
	assert_int_equal(span_pending(set), 2);
	span_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_ends_after_s_runes),
		cmocka_unit_test(a_span_ends_with_a_sentence),
		cmocka_unit_test(a_span_ends_with_its_unit),
		cmocka_unit_test(units_end_no_span_of_another_cadence),
		cmocka_unit_test(a_window_ends_where_its_span_does),
		cmocka_unit_test(a_text_sees_nothing_of_another),
		cmocka_unit_test(the_last_span_of_a_text_is_final),
		cmocka_unit_test(what_was_delivered_before_is_seen),
		cmocka_unit_test(answers_come_in_any_order),
		cmocka_unit_test(an_answer_to_nothing_clears_nothing),
		cmocka_unit_test(a_rune_that_waits_is_not_cleared),
		cmocka_unit_test(what_is_not_sound_is_refused),
		cmocka_unit_test(windows_are_whole_in_a_long_text),
		cmocka_unit_test(a_window_has_all_there_is_below_n_runes),
		cmocka_unit_test(a_break_parts_what_a_window_sees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
