/* SPDX-License-Identifier: Apache-2.0 */
/* Which names of cgroups stand for a container. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/cgroup_find.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void names_of_engines(void **state)
{
	(void)state;
	assert_true(cgroup_names_container(ID, "0123"));
	assert_true(cgroup_names_container("docker-" ID ".scope", "0123456789ab"));
	assert_true(cgroup_names_container("cri-containerd-" ID ".scope", ID));
	assert_true(cgroup_names_container("crio-" ID ".scope", "01234"));
	assert_true(cgroup_names_container("libpod-" ID ".scope", "0123"));
}

static void names_of_something_else(void **state)
{
	(void)state;
	assert_false(cgroup_names_container("docker-" ID ".scope", "123"));
	assert_false(cgroup_names_container("docker-" ID ".scope", ID "0"));
	assert_false(cgroup_names_container("docker-" ID, "0123"));
	assert_false(cgroup_names_container(ID ".scope", "0123"));
	assert_false(cgroup_names_container(ID "0", "0123"));
	assert_false(cgroup_names_container("docker-0123.scope", "0123"));
	assert_false(cgroup_names_container("crio-conmon-" ID ".scope", "0123"));
	assert_false(cgroup_names_container("libpod-conmon-" ID ".scope", "0123"));
	assert_false(cgroup_names_container("docker-" ID ".service", "0123"));
	assert_false(cgroup_names_container("", "0123"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_engines),
		cmocka_unit_test(names_of_something_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
