/* SPDX-License-Identifier: Apache-2.0 */
/* The share of a cgroup in the audit trail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/audit_quota.h"
#include "sys/clock.h"

#define HOUR_NS (3600 * CLOCK_NS_PER_S)

static void without_one_everything_is_allowed(void **unused)
{
	struct audit_quota quota = {0};

	(void)unused;
	assert_true(audit_quota_allows(&quota, 0, 0));
	audit_quota_charge(&quota, 1u << 30);
	assert_true(audit_quota_allows(&quota, 0, 0));
}

static void an_hour_holds_what_it_says(void **unused)
{
	struct audit_quota quota = {0};
	uint64_t now_ns = 5, written = 0;

	(void)unused;
	while (audit_quota_allows(&quota, 10000, now_ns)) {
		audit_quota_charge(&quota, 300);
		written += 300;
	}
	/* The last one may overdraw it. */
	assert_int_equal(written, 10200);
	/* 200 bytes of debt, and one to write with: at 10,000 an hour. */
	assert_false(audit_quota_allows(&quota, 10000, now_ns + HOUR_NS / 50));
	assert_true(audit_quota_allows(&quota, 10000, now_ns + HOUR_NS / 50 + HOUR_NS / 10000));
}

/* Looked at ever so often, it fills as fast, and never faster. */
static void looking_often_changes_nothing(void **unused)
{
	static const uint64_t rates[] = {1, 7, 3600, 1048576, 1ull << 40};

	(void)unused;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct audit_quota quota = {0};
		uint64_t now_ns = 1, end_ns = 1 + HOUR_NS / 2;

		assert_true(audit_quota_allows(&quota, rates[i], now_ns));
		audit_quota_charge(&quota, rates[i]);
		for (; now_ns < end_ns; now_ns += 1234567891)
			(void)audit_quota_allows(&quota, rates[i], now_ns);
		(void)audit_quota_allows(&quota, rates[i], end_ns);
		assert_true(quota.bytes <= (int64_t)(rates[i] / 2));
		assert_true(quota.bytes + 1 + (int64_t)(rates[i] / 1000000) >=
			    (int64_t)(rates[i] / 2));
	}
}

static void it_holds_no_more_than_an_hour(void **unused)
{
	struct audit_quota quota = {0};

	(void)unused;
	assert_true(audit_quota_allows(&quota, 1000, 0));
	assert_true(audit_quota_allows(&quota, 1000, HOUR_NS - 1));
	assert_int_equal(quota.bytes, 1000);
	assert_true(audit_quota_allows(&quota, 1000, 100 * HOUR_NS));
	assert_int_equal(quota.bytes, 1000);
	/* A debt is not forgiven by an hour's rest, only paid. */
	audit_quota_charge(&quota, 1500);
	assert_true(audit_quota_allows(&quota, 1000, 200 * HOUR_NS));
	assert_int_equal(quota.bytes, 500);
}

static void arithmetic_does_not_wrap(void **unused)
{
	struct audit_quota quota = {0};

	(void)unused;
	assert_true(audit_quota_allows(&quota, UINT64_MAX, 0));
	assert_true(audit_quota_allows(&quota, UINT64_MAX, HOUR_NS - 1));
	assert_true(audit_quota_allows(&quota, UINT64_MAX, UINT64_MAX));
	assert_true(quota.bytes > 0);
}

static void what_is_dropped_is_told_once_a_second(void **unused)
{
	struct audit_quota quota = {0};

	(void)unused;
	assert_false(audit_quota_is_due(&quota, CLOCK_NS_PER_S));
	quota.records = 1;
	assert_true(audit_quota_is_due(&quota, CLOCK_NS_PER_S));
	audit_quota_told(&quota, CLOCK_NS_PER_S);
	assert_int_equal(quota.records, 0);
	quota.streams = 1;
	assert_false(audit_quota_is_due(&quota, 2 * CLOCK_NS_PER_S - 1));
	assert_true(audit_quota_is_due(&quota, 2 * CLOCK_NS_PER_S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_one_everything_is_allowed),
		cmocka_unit_test(an_hour_holds_what_it_says),
		cmocka_unit_test(looking_often_changes_nothing),
		cmocka_unit_test(it_holds_no_more_than_an_hour),
		cmocka_unit_test(arithmetic_does_not_wrap),
		cmocka_unit_test(what_is_dropped_is_told_once_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
