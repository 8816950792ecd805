/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons: their names, and how settled streams are counted by them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "daemon/limits.h"
#include "daemon/reason.h"
#include "daemon/stats.h"
#include "unit/allocation.h"

static void names_are_well_formed(void **unused)
{
	(void)unused;
	for (int i = 0; i < _REASON_MAX; i++) {
		const char *name = reason_name((enum reason)i);
		size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.:-");

		assert_true(len > 0 && len <= 64 && !name[len]);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(name, reason_name((enum reason)j));
	}
	assert_string_equal(reason_of_fault(FAULT_NO_MEMORY), "out_of_memory");
	assert_string_equal(reason_of_fault(FAULT_TRUNCATED), "truncated");
}

static void reasons_are_counted(void **unused)
{
	struct stats stats = {0};
	json_t *reasons;

	(void)unused;
	stats_count_name(&stats.reasons, "denied:keys");
	stats_count_name(&stats.reasons, "truncated");
	stats_count_name(&stats.reasons, "denied:keys");
	stats_count_name(&stats.reasons, "complete");
	reasons = stats_names_json(&stats.reasons);
	assert_int_equal(json_object_size(reasons), 2);
	assert_int_equal(json_integer_value(json_object_get(reasons, "denied:keys")), 2);
	assert_int_equal(json_integer_value(json_object_get(reasons, "truncated")), 1);
	json_decref(reasons);
	stats_done(&stats);
}

static void names_are_bounded(void **unused)
{
	struct stats stats = {0};
	char name[32];

	(void)unused;
	for (unsigned int i = 0; i < LIMIT_REASONS; i++) {
		(void)snprintf(name, sizeof(name), "denied:t%u", i);
		stats_count_name(&stats.reasons, name);
	}
	assert_int_equal(stats.reasons.count, LIMIT_REASONS);
	assert_int_equal(stats.reasons.lost, 0);
	stats_count_name(&stats.reasons, "one more");
	stats_count_name(&stats.reasons, "denied:t0");
	assert_int_equal(stats.reasons.count, LIMIT_REASONS);
	assert_int_equal(stats.reasons.lost, 1);
	assert_int_equal(stats.reasons.list[0].count, 2);
	stats_done(&stats);
}

static void sessions_are_counted_by_their_end(void **unused)
{
	const uint64_t sessions[_SESSION_END_MAX] = {[SESSION_OPEN] = 1, [SESSION_DENIED_END] = 7};
	json_t *object = stats_sessions_json(sessions);

	(void)unused;
	assert_int_equal(json_object_size(object), _SESSION_END_MAX);
	assert_int_equal(json_integer_value(json_object_get(object, "open")), 1);
	assert_int_equal(json_integer_value(json_object_get(object, "denied")), 7);
	assert_true(json_is_integer(json_object_get(object, "complete")));
	assert_true(json_is_integer(json_object_get(object, "rewritten")));
	assert_int_equal(json_integer_value(json_object_get(object, "failed")), 0);
	json_decref(object);
}

static void without_memory_the_loss_is_counted(void **unused)
{
	struct stats stats = {0};

	(void)unused;
	allocation_fail_at(0);
	stats_count_name(&stats.reasons, "truncated");
	assert_true(allocation_failed());
	assert_int_equal(stats.reasons.lost, 1);
	stats_done(&stats);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_well_formed),
		cmocka_unit_test(reasons_are_counted),
		cmocka_unit_test(names_are_bounded),
		cmocka_unit_test(sessions_are_counted_by_their_end),
		cmocka_unit_test(without_memory_the_loss_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
