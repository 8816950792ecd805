/* SPDX-License-Identifier: Apache-2.0 */
/* The retry boundary where tasks search for patterns, which look behind as well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/retry.h"

#define FILE		  GET("/f") "\r\n"
#define FROM(n)		  GET("/f") "Range: bytes=" n "-\r\n\r\n"
#define WHOLE(body)	  OK TEXT TAG "\r\n" body
#define REST(range, body) PART TEXT TAG "Content-Range: bytes " range "\r\n\r\n" body

static struct retry_config patterns(const char *first, const char *second)
{
	return (struct retry_config){
		.terms = {first, second},
		.extract = {.kind = EXTRACT_AUTO},
		.patterns = true,
	};
}

static void key(struct retry *retry)
{
	retry_passes(retry, FILE, WHOLE("x AKIA"), RETRY_CLOSED);
	retry_passes(retry, FROM("6"), REST("6-8/*", "012"), RETRY_CLOSED);
	retry_denied(retry, FROM("9"), REST("9-10/*", "3 "));
}

static void no_key(struct retry *retry)
{
	retry_passes(retry, FILE, WHOLE("x AKIA"), RETRY_CLOSED);
	retry_passes(retry, FROM("6"), REST("6-8/*", "01-"), RETRY_CLOSED);
	retry_passes(retry, FROM("9"), REST("9-10/*", "34"), RETRY_CLOSED);
}

static void a_match_over_attempts(void **state)
{
	const struct retry_config config = patterns("AKIA[0-9]{4}", NULL);

	(void)state;
	retry_tell(&config, key);
	retry_tell(&config, no_key);
}

static void looks_behind(struct retry *retry)
{
	retry_passes(retry, FILE, WHOLE("abcdex"), RETRY_CLOSED);
	retry_denied(retry, FROM("6"), REST("6-8/*", "cat"));
}

static void sees_no_beginning(struct retry *retry)
{
	retry_passes(retry, FILE, WHOLE("abcdex"), RETRY_CLOSED);
	retry_passes(retry, FROM("6"), REST("6-9/*", "cat!"), RETRY_CLOSED);
}

static void what_came_before_is_looked_at(void **state)
{
	static const char *const none[] = {"\\bcat", "^cat", "(?<!x)cat", "(?<=\\A)cat"};
	const struct retry_config config = patterns("(?<=x)cat", NULL);

	(void)state;
	retry_tell(&config, looks_behind);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		const struct retry_config harmless = patterns(none[i], NULL);

		retry_tell(&harmless, sees_no_beginning);
	}
}

/* The tail begins with what would be a match, did the text begin there. */
static void cut_amid_a_word(struct retry *retry)
{
	retry_passes(retry, FILE, WHOLE("some concatxyzw"), RETRY_CLOSED);
	retry_passes(retry, FROM("15"), REST("15-16/*", "h!"), RETRY_CLOSED);
}

static void a_tail_begins_no_text(void **state)
{
	static const char *const all[] = {"\\bcat", "^cat", "(?<!n)cat"};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct retry_config config = patterns(all[i], "abcdefg");

		retry_tell(&config, cut_amid_a_word);
	}
}

static void all_but_the_last(struct retry *retry)
{
	retry_passes(retry, FILE, WHOLE("xxxxabcdefghi"), RETRY_CLOSED);
	retry_denied(retry, FROM("13"), REST("13-13/*", "j"));
}

static void last_leaks(struct retry *retry)
{
	retry_passes(retry, FILE, WHOLE("xxxxabcdefghi"), RETRY_CLOSED);
	retry_passes(retry, FROM("13"), REST("13-13/*", "j"), RETRY_CLOSED);
}

/* One pattern looks behind and another is the longest: what the tail needs is both. */
static void the_tail_is_long_enough(void **state)
{
	const struct retry_config config = patterns("(?<!qq)zz", "abcdefghij");
	struct retry_config less = config;

	(void)state;
	retry_tell(&config, all_but_the_last);
	less.keep = 8;
	retry_tell(&less, last_leaks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_match_over_attempts),
		cmocka_unit_test(what_came_before_is_looked_at),
		cmocka_unit_test(a_tail_begins_no_text),
		cmocka_unit_test(the_tail_is_long_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
