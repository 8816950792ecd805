/* SPDX-License-Identifier: Apache-2.0 */
/* Which Host a request may name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "daemon/web_host.h"

static const char *const names[] = {"metrics.example", "Box"};

static void check(bool allowed, const char *const *hosts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (web_host_allowed(hosts[i], names, ARRAY_SIZE(names)) != allowed)
			fail_msg("'%s' is %s", hosts[i], allowed ? "refused" : "allowed");
}

static void addresses_localhost_and_the_names_are_allowed(void **state)
{
	static const char *const hosts[] = {
		"127.0.0.1",  "127.0.0.1:9469",	 "10.1.2.3:80",
		"[::1]",      "[::1]:9469",	 "::1",
		"fe80::1",    "localhost",	 "LocalHost:9469",
		"localhost.", "localhost.:9469", "metrics.example",
		"box",	      "BOX:1",		 "metrics.example.:2",
		"127.0.0.1:",
	};

	(void)state;
	check(true, hosts, ARRAY_SIZE(hosts));
	assert_false(web_host_allowed("box", NULL, 0));
	assert_true(web_host_allowed("localhost", NULL, 0));
}

static void what_a_foreign_page_can_make_a_browser_send_is_not(void **state)
{
	static const char *const hosts[] = {
		"",
		":",
		"evil.example",
		"evil.example:9469",
		"localhost.evil",
		"127.0.0.1.evil",
		"127.0.0.1 evil",
		"127.0.0.1@evil",
		"evil:127.0.0.1",
		"localhost:x",
		"localhost:1x",
		"[localhost]",
		"[::1",
		"[::1]x",
		"[]",
		"[box]",
		"::1]",
		"0x7f.0.0.1",
		"127.1",
		"2130706433",
		"localhost..",
		".localhost",
		"localhost/",
		"metrics.example, x",
		" localhost",
		"localhost ",
		"box:1:2",
	};
	char longest[512];

	(void)state;
	check(false, hosts, ARRAY_SIZE(hosts));
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_false(web_host_allowed(longest, names, ARRAY_SIZE(names)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_localhost_and_the_names_are_allowed),
		cmocka_unit_test(what_a_foreign_page_can_make_a_browser_send_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
