/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that syncs: jobs done in order, failures told, descriptors closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "daemon/audit_syncer.h"

static int plain_file(void)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

static void jobs_are_done(void **unused)
{
	struct audit_syncer syncer;
	struct audit_syncer_job job = {.fd = plain_file()};
	bool idle;

	(void)unused;
	audit_syncer_init(&syncer, "test");
	assert_int_equal(audit_syncer_start(&syncer), 0);
	assert_int_equal(audit_syncer_result(&syncer, &idle), 0);
	assert_true(idle);
	assert_int_equal(audit_syncer_give(&syncer, &job), 0);
	assert_int_equal(audit_syncer_wait(&syncer), 0);
	assert_int_equal(fcntl(job.fd, F_GETFD), FD_CLOEXEC);
	job.last = true;
	assert_int_equal(audit_syncer_give(&syncer, &job), 0);
	assert_int_equal(audit_syncer_wait(&syncer), 0);
	assert_int_equal(fcntl(job.fd, F_GETFD), -1);
	audit_syncer_done(&syncer);
}

static void a_failure_is_told_until_the_next(void **unused)
{
	struct audit_syncer syncer;
	struct audit_syncer_job bad = {.last = true}, good = {.fd = plain_file(), .last = true};
	int ends[2];
	bool idle;

	(void)unused;
	assert_int_equal(pipe(ends), 0);
	bad.fd = ends[0];
	audit_syncer_init(&syncer, "test");
	assert_int_equal(audit_syncer_start(&syncer), 0);
	assert_int_equal(audit_syncer_give(&syncer, &bad), 0);
	assert_int_equal(audit_syncer_wait(&syncer), -EINVAL);
	assert_int_equal(audit_syncer_result(&syncer, &idle), -EINVAL);
	assert_true(idle);
	assert_int_equal(audit_syncer_give(&syncer, &good), 0);
	assert_int_equal(audit_syncer_wait(&syncer), 0);
	audit_syncer_done(&syncer);
	(void)close(ends[1]);
}

static void what_waits_is_done_before_the_end(void **unused)
{
	struct audit_syncer syncer;
	struct audit_syncer_job job = {.last = true};
	int fds[AUDIT_SYNCER_JOBS], given = 0;

	(void)unused;
	audit_syncer_init(&syncer, "test");
	assert_int_equal(audit_syncer_start(&syncer), 0);
	for (; given < (int)AUDIT_SYNCER_JOBS; given++) {
		job.fd = fds[given] = plain_file();
		if (audit_syncer_give(&syncer, &job))
			break;
	}
	audit_syncer_done(&syncer);
	assert_int_equal(given, AUDIT_SYNCER_JOBS);
	for (int i = 0; i < given; i++)
		assert_int_equal(fcntl(fds[i], F_GETFD), -1);
}

/* Full as seen by who gives: nothing is taken, and the descriptor stays open. */
static void too_many_are_refused(void **unused)
{
	struct audit_syncer syncer;
	struct audit_syncer_job job = {.fd = plain_file(), .last = true};

	(void)unused;
	audit_syncer_init(&syncer, "test");
	syncer.running = true;
	syncer.count = AUDIT_SYNCER_JOBS;
	assert_int_equal(audit_syncer_give(&syncer, &job), -EAGAIN);
	assert_int_equal(fcntl(job.fd, F_GETFD), FD_CLOEXEC);
	/* A file, its directory and a sync have to have room before a file may end. */
	assert_true(audit_syncer_is_busy(&syncer));
	syncer.count = AUDIT_SYNCER_JOBS - 2;
	assert_true(audit_syncer_is_busy(&syncer));
	syncer.count--;
	assert_false(audit_syncer_is_busy(&syncer));
	(void)close(job.fd);
	syncer.running = false;
	audit_syncer_done(&syncer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_are_done),
		cmocka_unit_test(a_failure_is_told_until_the_next),
		cmocka_unit_test(what_waits_is_done_before_the_end),
		cmocka_unit_test(too_many_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
