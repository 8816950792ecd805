/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables of sluicectl: what is stored where, where options end, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"

struct first {
	const char *text;
	bool flag;
};

struct second {
	uint64_t number;
	unsigned int choice;
};

static const struct option_spec first_specs[] = {
	{"text", "TEXT", OPTION_TEXT, offsetof(struct first, text), "a text", 0, 0},
	{"flag", NULL, OPTION_FLAG, offsetof(struct first, flag), "a flag", 0, 0},
};
static const struct option_spec second_specs[] = {
	{"number", "N", OPTION_NUMBER, offsetof(struct second, number), "a number", 5, 10},
	{"choice", "one|two|twofold", OPTION_CHOICE, offsetof(struct second, choice), "one of them",
	 0, 0},
};

static struct first first;
static struct second second;
static int rest;

/* Parses words that blanks separate; standard error goes nowhere. */
static int parse(const char *words, bool stop_early)
{
	const struct option_group groups[] = {{first_specs, 2, &first}, {second_specs, 2, &second}};
	static char text[256];
	static char *argv[32];
	int argc = 0, saved, result;
	char *at;

	first = (struct first){NULL, false};
	second = (struct second){0};
	(void)snprintf(text, sizeof(text), "%s", words);
	for (at = strtok(text, " "); at; at = strtok(NULL, " "))
		argv[argc++] = at;
	argv[argc] = NULL;
	(void)fflush(stderr);
	saved = dup(STDERR_FILENO);
	assert_non_null(freopen("/dev/null", "w", stderr));
	result = options_parse(groups, 2, stop_early, argc, argv, &rest);
	(void)fflush(stderr);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	(void)close(saved);
	return result;
}

static void each_group_fills_its_own(void **state)
{
	(void)state;
	assert_int_equal(parse("x --text a --number 7 --flag b c", false), 0);
	assert_string_equal(first.text, "a");
	assert_true(first.flag);
	assert_int_equal(second.number, 7);
	assert_int_equal(rest, 6);
	assert_int_equal(parse("x --text=a", false), 0);
	assert_string_equal(first.text, "a");
	assert_false(first.flag);
	assert_int_equal(rest, 2);
}

static void options_end_where_they_should(void **state)
{
	(void)state;
	assert_int_equal(parse("x a --flag", false), 0);
	assert_true(first.flag);
	assert_int_equal(parse("x a --flag", true), 0);
	assert_false(first.flag);
	assert_int_equal(rest, 1);
	assert_int_equal(parse("x --flag -- --text", true), 0);
	assert_true(first.flag);
	assert_null(first.text);
	assert_int_equal(rest, 3);
}

static void help_is_told_from_an_error(void **state)
{
	(void)state;
	assert_int_equal(parse("x --help", false), 1);
	assert_int_equal(parse("x --flag --help", false), 1);
	assert_int_equal(parse("x --nonsense", false), -EINVAL);
	assert_int_equal(parse("x -f", false), -EINVAL);
	assert_int_equal(parse("x --text", false), -EINVAL);
	assert_int_equal(parse("x --flag=1", false), -EINVAL);
}

static void numbers_are_bounded(void **state)
{
	static const char *const bad[] = {
		"x --number 4",	 "x --number 11",
		"x --number -6", "x --number +6",
		"x --number 6x", "x --number 0x6",
		"x --number x",	 "x --number 99999999999999999999",
	};
	size_t i;

	(void)state;
	assert_int_equal(parse("x --number 5", false), 0);
	assert_int_equal(parse("x --number 10", false), 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (parse(bad[i], false) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
}

static void a_choice_is_one_of_its_words(void **state)
{
	(void)state;
	assert_int_equal(parse("test --choice two", false), 0);
	assert_int_equal(second.choice, 1);
	assert_int_equal(parse("test --choice=twofold", false), 0);
	assert_int_equal(second.choice, 2);
	assert_int_equal(parse("test --choice tw", false), -EINVAL);
	assert_int_equal(parse("test --choice one|two", false), -EINVAL);
	assert_int_equal(parse("test --choice=", false), -EINVAL);
	assert_int_equal(parse("test --choice twofolds", false), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_group_fills_its_own),
		cmocka_unit_test(options_end_where_they_should),
		cmocka_unit_test(help_is_told_from_an_error),
		cmocka_unit_test(numbers_are_bounded),
		cmocka_unit_test(a_choice_is_one_of_its_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
