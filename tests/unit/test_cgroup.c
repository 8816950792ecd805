/* SPDX-License-Identifier: Apache-2.0 */
/* What is read from /proc about cgroups and resolvers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "sys/cgroup.h"
#include "sys/resolvers.h"

static void mount_is_found(void **unused)
{
	static const char hybrid[] =
		"29 23 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
		"30 29 0:27 /a /mnt/part rw - cgroup2 cgroup2 rw\n"
		"31 29 0:27 / /sys/fs/cgroup/uni\\040fied rw,nosuid shared:9 - cgroup2 none rw\n"
		"32 29 0:27 / /second rw - cgroup2 none rw\n";
	char path[64] = "as it was";

	(void)unused;
	assert_int_equal(cgroup_parse_mountinfo(hybrid, path, sizeof(path)), 0);
	assert_string_equal(path, "/sys/fs/cgroup/uni fied");
	/* Exactly enough room, and one byte too little. */
	assert_int_equal(cgroup_parse_mountinfo(hybrid, path, 24), 0);
	assert_int_equal(cgroup_parse_mountinfo(hybrid, path, 23), -ENAMETOOLONG);
}

static void no_mount(void **unused)
{
	static const char *const texts[] = {
		"",
		"\n\n",
		"30 29 0:27 / /sys/fs/cgroup rw - cgroup none rw\n",
		"30 29 0:27 /deep /sys/fs/cgroup rw - cgroup2 none rw\n",
		"30 29 0:27 / - cgroup2",
		" - cgroup2 none rw\n",
	};
	char path[64] = "as it was";

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(cgroup_parse_mountinfo(texts[i], path, sizeof(path)), -ENOENT);
	assert_string_equal(path, "as it was");
}

static void membership(void **unused)
{
	char path[32] = "as it was";

	(void)unused;
	assert_int_equal(cgroup_parse_membership("9:pids:/x\n0::/a/b c\n", path, sizeof(path)), 0);
	assert_string_equal(path, "/a/b c");
	assert_int_equal(cgroup_parse_membership("0::/\n", path, sizeof(path)), 0);
	assert_string_equal(path, "/");
	assert_int_equal(cgroup_parse_membership("10::/not\n1:name=0::/:/n\n", path, sizeof(path)),
			 -ENOENT);
	assert_int_equal(cgroup_parse_membership("0::/a", path, 2), -ENAMETOOLONG);
	assert_string_equal(path, "/");
}

static void within(void **unused)
{
	(void)unused;
	assert_true(cgroup_is_within("/cg/a", "/cg/a"));
	assert_true(cgroup_is_within("/cg/a/b", "/cg/a"));
	assert_true(cgroup_is_within("/cg/a/b", "/cg/a/"));
	assert_true(cgroup_is_within("/cg", "/"));
	assert_false(cgroup_is_within("/cg/ab", "/cg/a"));
	assert_false(cgroup_is_within("/cg", "/cg/a"));
	assert_false(cgroup_is_within("", "/cg/a"));
}

static void resolvers(void **unused)
{
	static const char text[] = "# nameserver 9.9.9.9\nnameserver 192.0.2.1\nsearch example\n"
				   "nameserver not-one\nnameserver\tfe80::1%eth0\n"
				   "nameserver 2001:db8::1\nnameserver 192.0.2.2";
	static const uint8_t first[16] = {[10] = 0xff, 0xff, 192, 0, 2, 1};
	static const uint8_t third[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1};
	uint8_t list[8][16];

	(void)unused;
	assert_int_equal(resolvers_parse(text, list, ARRAY_SIZE(list)), 4);
	assert_memory_equal(list[0], first, 16);
	assert_memory_equal(list[2], third, 16);
	assert_int_equal(resolvers_parse(text, list, 2), 2);
	assert_int_equal(resolvers_parse("", list, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mount_is_found), cmocka_unit_test(no_mount),
		cmocka_unit_test(membership),	  cmocka_unit_test(within),
		cmocka_unit_test(resolvers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
