/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of a verdict's transform. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/verdict_path.h"

#define PATH(text) text, sizeof(text) - 1

static const struct {
	const char *text;
	size_t len;
	bool good;
} rows[] = {
	{PATH("$target"), true},
	{PATH("$policy_target"), true},
	{PATH("$target.content"), true},
	{PATH("$target.messages[0].content"), true},
	{PATH("$target[10][0]"), true},
	{PATH("$target[\"a b\"]"), true},
	{PATH("$target[\"\"].x_1"), true},
	{PATH("$target[\"a\\\"]\"]"), true},
	{PATH("$target[\"\xc3\xa9\xf0\x9f\x8c\x8a\"]"), true},
	{PATH("$policy_target[\"a\"][0]._b"), true},
	{PATH(""), false},
	{PATH("target"), false},
	{PATH("$"), false},
	{PATH("$.target"), false},
	{PATH(" $target"), false},
	{PATH("$target "), false},
	{PATH("$targets"), false},
	{PATH("$Target"), false},
	{PATH("$target."), false},
	{PATH("$target..a"), false},
	{PATH("$target.1a"), false},
	{PATH("$target.a-b"), false},
	{PATH("$target.\xc3\xa9"), false},
	{PATH("$target.*"), false},
	{PATH("$target["), false},
	{PATH("$target[]"), false},
	{PATH("$target[0"), false},
	{PATH("$target[00]"), false},
	{PATH("$target[01]"), false},
	{PATH("$target[-1]"), false},
	{PATH("$target[1.0]"), false},
	{PATH("$target[*]"), false},
	{PATH("$target[a]"), false},
	{PATH("$target['a']"), false},
	{PATH("$target[\"a]"), false},
	{PATH("$target[\"a\""), false},
	{PATH("$target[\"a\\\"]"), false},
	{PATH("$target[\"a\\n\"]"), false},
	{PATH("$target[\"a\\"), false},
	{PATH("$target[\"a\0\"]"), false},
	{PATH("$target[0]x"), false},
	{PATH("$target[0}"), false},
	{PATH("$target[\"a\"}"), false},
	{PATH("$target\0"), false},
	{PATH("$policy"), false},
	{PATH("$tool.args"), false},
};

static void a_path_is_rooted_at_the_target(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		/* Of that size, so that nothing past it is read unnoticed. */
		uint8_t *text = malloc(rows[i].len + !rows[i].len);

		assert_non_null(text);
		memcpy(text, rows[i].text, rows[i].len);
		if (verdict_path_is_good(text, rows[i].len) != rows[i].good)
			fail_msg("%s", rows[i].text);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_is_rooted_at_the_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
