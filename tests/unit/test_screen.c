/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of sluicectl top: what is put is cut, filled and made safe; and the keys of terminals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "cli/screen.h"
#include "cli/terminal.h"

static struct screen screen;

static void begin(unsigned int rows, unsigned int columns, bool colors)
{
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	assert_int_equal(screen_begin(&screen, rows, columns, colors), 0);
}

static void ends_as(const char *text)
{
	assert_int_equal(screen_end(&screen), 0);
	assert_string_equal(screen.text, text);
	assert_int_equal(screen.len, strlen(text));
	screen_done(&screen);
}

static void lines_are_cut_to_the_width(void **state)
{
	(void)state;
	begin(3, 5, false);
	screen_put(&screen, STYLE_PLAIN, "%s", "abcdefgh");
	screen_put(&screen, STYLE_PLAIN, "never");
	screen_line(&screen);
	screen_put(&screen, STYLE_PLAIN, "ab");
	ends_as("\x1b[Habcde\x1b[K\r\nab\x1b[J");
}

/* A line feed behind the last row would scroll what is above it away. */
static void rows_beyond_the_last_are_dropped(void **state)
{
	(void)state;
	begin(1, 9, false);
	screen_put(&screen, STYLE_PLAIN, "one");
	screen_line(&screen);
	screen_put(&screen, STYLE_PLAIN, "two");
	screen_invert(&screen, true);
	screen_field(&screen, STYLE_PLAIN, 3, false, "x");
	screen_line(&screen);
	ends_as("\x1b[Hone\x1b[K");
}

static void control_characters_are_question_marks(void **state)
{
	(void)state;
	begin(2, 40, false);
	screen_put(&screen, STYLE_PLAIN, "%s", "a\x1b[31mb\tc\x7f");
	screen_field(&screen, STYLE_PLAIN, 4, false,
		     "\xc2\x9b"
		     "1m");
	screen_field(&screen, STYLE_PLAIN, 2, false, "\xff\xe2\x80\x8b");
	ends_as("\x1b[Ha?[31mb?c???1m ?? \x1b[J");
}

static void fields_have_their_width(void **state)
{
	(void)state;
	begin(2, 40, false);
	screen_field(&screen, STYLE_PLAIN, 4, false, "ab");
	screen_field(&screen, STYLE_PLAIN, 4, true, "ab");
	screen_field(&screen, STYLE_PLAIN, 4, true, "abcdef");
	/* One of two columns and one of two bytes. */
	screen_field(&screen, STYLE_PLAIN, 4, false, "\xe6\xbc\xa2\xc3\xa9");
	screen_field(&screen, STYLE_PLAIN, 3, false, "\xe6\xbc\xa2\xe6\xbc\xa2");
	ends_as("\x1b[Hab     ab abcd \xe6\xbc\xa2\xc3\xa9  \xe6\xbc\xa2  \x1b[J");
}

static void a_field_ends_with_the_line(void **state)
{
	(void)state;
	begin(2, 6, false);
	screen_field(&screen, STYLE_PLAIN, 4, false, "a");
	screen_field(&screen, STYLE_PLAIN, 9, true, "b");
	screen_field(&screen, STYLE_PLAIN, 9, true, "c");
	ends_as("\x1b[Ha     \x1b[J");
}

static void styles_end_where_they_began(void **state)
{
	(void)state;
	begin(2, 20, true);
	screen_put(&screen, STYLE_BAD, "a");
	screen_put(&screen, STYLE_STRONG, "b");
	screen_invert(&screen, true);
	screen_put(&screen, STYLE_PLAIN, "c");
	screen_invert(&screen, false);
	ends_as("\x1b[H\x1b[31ma\x1b[39m\x1b[1mb\x1b[22m\x1b[7mc\x1b[27m\x1b[J");
}

static void parses(const char *bytes, size_t len, const int *keys, int count)
{
	int found[TERMINAL_KEYS_MAX], i;

	assert_int_equal(terminal_parse_keys(bytes, len, found), count);
	for (i = 0; i < count; i++)
		assert_int_equal(found[i], keys[i]);
}

#define PARSES(bytes, ...)                                           \
	parses(bytes, sizeof(bytes) - 1, (const int[]){__VA_ARGS__}, \
	       (int)ARRAY_SIZE(((const int[]){__VA_ARGS__})))

static void keys_of_terminals(void **state)
{
	(void)state;
	PARSES("q", 'q');
	PARSES("\x1b[A\x1bOBx", KEY_UP, KEY_DOWN, 'x');
	PARSES("\x1b[5~\x1b[6~\x1b[1~\x1b[F", KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_HOME, KEY_END);
	PARSES("\x1b[D\x1b[C", KEY_LEFT, KEY_RIGHT);
	PARSES("\r\n\b\x7f", KEY_ENTER, KEY_ENTER, KEY_BACKSPACE, KEY_BACKSPACE);
	PARSES("\x1b", KEY_ESCAPE);
	PARSES("\x1bq", KEY_ESCAPE, 'q');
	/* With a modifier, of a mouse, cut: one key that nothing is bound to, and no letters. */
	PARSES("\x1b[1;5Aq", KEY_UNKNOWN, 'q');
	PARSES("\x1b[200~q", KEY_UNKNOWN, 'q');
	PARSES("\x1b[1;", KEY_UNKNOWN);
	PARSES("\xff", 0xff);
}

static void no_more_keys_than_there_is_room_for(void **state)
{
	char bytes[2 * TERMINAL_KEYS_MAX];
	int keys[TERMINAL_KEYS_MAX];

	(void)state;
	(void)memset(bytes, 'j', sizeof(bytes));
	assert_int_equal(terminal_parse_keys(bytes, sizeof(bytes), keys), TERMINAL_KEYS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_cut_to_the_width),
		cmocka_unit_test(rows_beyond_the_last_are_dropped),
		cmocka_unit_test(control_characters_are_question_marks),
		cmocka_unit_test(fields_have_their_width),
		cmocka_unit_test(a_field_ends_with_the_line),
		cmocka_unit_test(styles_end_where_they_began),
		cmocka_unit_test(keys_of_terminals),
		cmocka_unit_test(no_more_keys_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
