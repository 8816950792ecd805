/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of policies and their names, over time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/interceptor.h"
#include "daemon/policies.h"
#include "daemon/policy_rules.h"
#include "kern/kern.h"

#define TEXT(name) "version: 1\nname: " name "\n"

/* What the kernel has been told: published, by number. */
static bool published[SLUICE_POLICIES];
static int refuses;

int policy_rules_publish(struct kern *kern, uint32_t number, const struct policy *policy,
			 const struct sluice_address *closed)
{
	(void)closed;
	(void)kern;
	(void)policy;
	assert_true(number && number < SLUICE_POLICIES);
	if (refuses)
		return refuses;
	published[number] = true;
	return 0;
}

void kern_policy_clear(struct kern *kern, uint32_t policy)
{
	(void)kern;
	published[policy] = false;
}

int interceptor_new(struct interceptors *interceptors, const char *task,
		    const struct policy_interceptor *config, struct interceptor **ret_interceptor)
{
	(void)interceptors;
	(void)task;
	(void)config;
	(void)ret_interceptor;
	return -ENOSYS;
}

void interceptor_free(struct interceptor *interceptor)
{
	(void)interceptor;
}

static int setup(void **state)
{
	static struct policies policies;

	(void)memset(published, 0, sizeof(published));
	refuses = 0;
	policies_init(&policies, NULL, /* initial_netns: */ true);
	*state = &policies;
	return 0;
}

static int teardown(void **state)
{
	policies_done(*state);
	return 0;
}

static struct loaded_policy *load(struct policies *policies, const char *text)
{
	struct loaded_policy *loaded = NULL;
	char error[512];

	assert_int_equal(
		policies_load(policies, "p", text, strlen(text), &loaded, error, sizeof(error)), 0);
	return loaded;
}

/* Published, with no reference but that of its publication. */
static struct loaded_policy *watch(struct policies *policies, const char *text, uint64_t now_ns)
{
	struct loaded_policy *loaded = load(policies, text);

	assert_int_equal(policies_watch(policies, loaded, 0, now_ns), 0);
	loaded_policy_unref(loaded);
	return loaded;
}

static void test_retired_is_found_until_it_has_rested(void **state)
{
	struct policies *policies = *state;
	struct loaded_policy *old = watch(policies, TEXT("a"), 1);
	uint32_t number = old->number;

	policies_retire(old, 1000);
	policies_tick(policies, 999 + POLICIES_REST_NS);
	assert_ptr_equal(policies_find(policies, number), old);
	assert_true(published[number]);
	policies_tick(policies, 1000 + POLICIES_REST_NS);
	assert_null(policies_find(policies, number));
	assert_false(published[number]);
	assert_true(LIST_EMPTY(&policies->list));
}

static void test_watched_is_not_retired(void **state)
{
	struct policies *policies = *state;
	struct loaded_policy *loaded = watch(policies, TEXT("a"), 1);

	assert_int_equal(policies_watch(policies, loaded, 0, 1), 0);
	policies_retire(loaded, 1);
	policies_tick(policies, 2 * POLICIES_REST_NS);
	assert_true(published[loaded->number]);
	policies_unwatch(policies, loaded, 3 * POLICIES_REST_NS);
	assert_true(LIST_EMPTY(&policies->list));
}

static void test_retired_is_watched_again_under_its_number(void **state)
{
	struct policies *policies = *state;
	struct loaded_policy *old = watch(policies, TEXT("a"), 1);
	uint32_t number = old->number;

	policies_retire(old, 1000);
	assert_ptr_equal(watch(policies, TEXT("a"), 2000), old);
	assert_int_equal(old->number, number);
	policies_tick(policies, 1000 + POLICIES_REST_NS);
	assert_true(published[number]);
	policies_unwatch(policies, old, 3000);
}

static void test_a_number_is_one_policy(void **state)
{
	struct policies *policies = *state;
	struct loaded_policy *a = watch(policies, TEXT("a"), 1), *b = load(policies, TEXT("b"));

	assert_int_equal(policies_watch(policies, b, a->number, 1), -EEXIST);
	assert_int_equal(policies_watch(policies, a, a->number + 1, 1), -EEXIST);
	assert_int_equal(policies_watch(policies, b, SLUICE_POLICIES, 1), -EEXIST);
	assert_int_equal(policies_watch(policies, b, a->number + 7, 1), 0);
	assert_int_equal(b->number, a->number + 7);
	policies_unwatch(policies, b, 1);
	refuses = -ENOSPC;
	assert_int_equal(policies_watch(policies, b, 0, 1), -ENOSPC);
	assert_int_equal(b->number, 0);
	loaded_policy_unref(b);
}

static void test_numbers_rest(void **state)
{
	struct policies *policies = *state;
	struct loaded_policy *last;
	char text[64];

	for (unsigned int i = 1; i < SLUICE_POLICIES; i++) {
		(void)snprintf(text, sizeof(text), TEXT("p%u"), i);
		policies_retire(watch(policies, text, 1), 1000);
	}
	last = load(policies, TEXT("last"));
	policies_tick(policies, 999 + POLICIES_REST_NS);
	assert_int_equal(policies_watch(policies, last, 0, 999 + POLICIES_REST_NS), -ENOSPC);
	policies_tick(policies, 1000 + POLICIES_REST_NS);
	assert_int_equal(policies_watch(policies, last, 0, 1000 + POLICIES_REST_NS), 0);
	/* Without a reload it rests after it has gone. */
	policies_unwatch(policies, last, 2000 + POLICIES_REST_NS);
	assert_int_equal(policies->freed_ns[policies->last], 2000 + POLICIES_REST_NS);
	loaded_policy_unref(last);
}

static void test_names(void **state)
{
	struct policies *policies = *state;
	struct loaded_policy *a = load(policies, TEXT("a")), *b = load(policies, TEXT("b"));
	struct loaded_policy *next = load(policies, TEXT("a") "mode: observe\n");
	struct named_policy *named;

	assert_null(policies_default(policies));
	assert_null(policies_named(policies, "a"));
	assert_int_equal(policies_add_name(policies, a, "file"), 0);
	assert_int_equal(policies_add_name(policies, b, NULL), 0);
	named = policies_named(policies, "a");
	assert_ptr_equal(named->loaded, a);
	assert_ptr_equal(policies_default(policies), named);
	assert_false(named->by_call);
	policies_set_name(named, next, &(struct unix_peer){.pid = 7, .uid = 8});
	assert_ptr_equal(policies_named(policies, "a")->loaded, next);
	assert_true(named->by_call);
	assert_int_equal(named->by.pid, 7);
	policies_set_name(named, next, NULL);
	assert_false(named->by_call);
	assert_int_equal(a->references, 1);
	policies_forget_name(policies, named);
	assert_null(policies_named(policies, "a"));
	/* One that was loaded by a call is nobody's default. */
	assert_null(policies_default(policies));
	loaded_policy_unref(a);
	loaded_policy_unref(b);
	loaded_policy_unref(next);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_retired_is_found_until_it_has_rested),
		TEST(test_watched_is_not_retired),
		TEST(test_retired_is_watched_again_under_its_number),
		TEST(test_a_number_is_one_policy),
		TEST(test_numbers_rest),
		TEST(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
