/* SPDX-License-Identifier: Apache-2.0 */
/* What the end of a trail says was settled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/macros.h"
#include "daemon/audit_file.h"
#include "daemon/audit_record.h"
#include "daemon/audit_tail.h"

#define ROOM 65536u

/* Lines as the records' own functions write them, without what seals them. */
struct trail {
	char text[ROOM];
	size_t len;
	struct audit_stamp stamp;
};

static struct trail *trail_new(void)
{
	struct trail *trail = calloc(1, sizeof(*trail));

	assert_non_null(trail);
	return trail;
}

static void seal(struct trail *trail, const struct audit_line *line)
{
	trail->len += line->len;
	assert_true(trail->len + AUDIT_RECORD_MAX < ROOM);
	(void)strcpy(trail->text + trail->len, ",\"hash\":\"0\"}\n");
	trail->len += strlen(trail->text + trail->len);
	trail->stamp.seq++;
}

static struct audit_who who_is(uint64_t stream)
{
	/* What an agent may be called: no quote of it stands alone. */
	return (struct audit_who){
		.stream = stream,
		.policy = "\",\"event\":\"session_settled\",\"stream\":9,\"session\":9",
		.cgroup = "/a"};
}

static void session_settled(struct trail *trail, uint64_t stream, uint64_t session)
{
	const struct audit_settlement settlement = {.end = "complete"};
	struct audit_line line = {.text = trail->text + trail->len};
	const struct audit_who who = who_is(stream);

	audit_record_session_settled(&line, &trail->stamp, &who, session, &settlement);
	seal(trail, &line);
}

static void session_opened(struct trail *trail, uint64_t stream, uint64_t session)
{
	struct audit_line line = {.text = trail->text + trail->len};
	const struct audit_who who = who_is(stream);

	audit_record_session_opened(&line, &trail->stamp, &who, session, SESSION_BLOCKING);
	seal(trail, &line);
}

static void stream_settled(struct trail *trail, uint64_t stream)
{
	const struct audit_settlement settlement = {.end = "failed", .reason = "host_died"};
	struct audit_line line = {.text = trail->text + trail->len};
	const struct audit_who who = who_is(stream);

	audit_record_stream_settled(&line, &trail->stamp, &who, &settlement);
	seal(trail, &line);
}

static bool has(const struct audit_tail *tail, uint64_t stream, uint64_t session)
{
	return audit_tail_has(tail, stream, &session);
}

static struct audit_tail tail_of(const char *text, size_t len)
{
	struct audit_tail tail = {0};

	assert_int_equal(audit_tail_add(&tail, text, len), 0);
	audit_tail_sort(&tail);
	return tail;
}

static void test_what_settled_is_found(void **state)
{
	struct trail *trail = trail_new();
	struct audit_tail tail;

	(void)state;
	session_settled(trail, UINT64_MAX, 3);
	session_settled(trail, 12, 0);
	session_opened(trail, 12, 1);
	session_opened(trail, 4, 0);
	stream_settled(trail, 7);
	session_settled(trail, 12, 18446744073709551614u);
	tail = tail_of(trail->text, trail->len);
	assert_true(has(&tail, UINT64_MAX, 3));
	assert_true(has(&tail, 12, 0));
	assert_true(has(&tail, 12, UINT64_MAX - 1));
	assert_false(has(&tail, 12, 1));
	assert_false(has(&tail, 4, 0));
	assert_false(has(&tail, 7, 0));
	assert_true(audit_tail_has(&tail, 7, NULL));
	assert_false(audit_tail_has(&tail, 12, NULL));
	/* What a name says is no record. */
	assert_false(has(&tail, 9, 9));
	assert_int_equal(tail.count, 4);
	audit_tail_done(&tail);
	assert_false(has(&tail, 12, 0));
	free(trail);
}

/* Cut anywhere, at either end: what is whole is found, nothing else is. */
static void test_lines_that_are_cut(void **state)
{
	struct trail *trail = trail_new();
	size_t from, first, second, i;

	(void)state;
	session_settled(trail, 123, 45);
	first = trail->len;
	session_settled(trail, 678, 90);
	second = trail->len;
	for (from = 0; from < second; from++)
		for (i = 0; i < 2; i++) {
			size_t end = i ? second : second - 1;
			struct audit_tail tail = tail_of(trail->text + from, end - from);

			assert_int_equal(has(&tail, 123, 45), from == 0);
			assert_int_equal(has(&tail, 678, 90), i && from <= first);
			assert_true(tail.count <= 2);
			audit_tail_done(&tail);
		}
	free(trail);
}

static void test_lines_that_are_no_records(void **state)
{
	static const char *const lines[] = {
		"",
		"\n\n",
		"{\n",
		"{}\n",
		"{\"seq\":1,\"time\":\"T\",\"event\":\"session_settled\n",
		"{\"seq\":1,\"time\":\"T\",\"event\":\"session_settled\"\n",
		"{\"seq\":1,\"time\":\"T\",\"event\":\"session_settled\",\"stream\":5\n",
		"{\"seq\":1,\"time\":\"T\",\"event\":\"session_settled\",\"session\":5\n",
		"{\"seq\":1,\"time\":\"T\",\"event\":\"stream_settled_not\",\"stream\":5,\n",
		"{\"seq\":1,\"time\":\"T\",\"event\":\"stream_settled\"}\n",
		"\"seq\":1,\"time\":\"T\",\"event\":\"stream_settled\",\"stream\":5,\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		/* Nothing behind it that a look beyond the end would not meet. */
		size_t len = strlen(lines[i]);
		char *text = malloc(len ? len : 1);
		struct audit_tail tail;

		assert_non_null(text);
		(void)memcpy(text, lines[i], len);
		tail = tail_of(text, len);
		if (tail.count)
			fail_msg("'%s' was taken for a record", lines[i]);
		audit_tail_done(&tail);
		free(text);
	}
}

static void write_file(int dir, uint64_t first, const struct trail *trail)
{
	char name[AUDIT_NAME_LEN];
	int fd;

	audit_name_format(first, name);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, trail->text, trail->len), trail->len);
	(void)close(fd);
}

static void remove_file(int dir, uint64_t first)
{
	char name[AUDIT_NAME_LEN];

	audit_name_format(first, name);
	assert_int_equal(unlinkat(dir, name, 0), 0);
}

/* A file that was just begun does not hide the end of the one before. */
static void test_the_newest_files_are_read(void **state)
{
	char path[] = "/tmp/sluice-audit-tail-XXXXXX";
	struct trail *before = trail_new(), *last = trail_new();
	struct audit_file file = {.fd = -1};
	struct audit_tail tail = {0};
	size_t one;

	(void)state;
	assert_non_null(mkdtemp(path));
	file.dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(audit_tail_read(&tail, &file, 1000), 0);
	assert_int_equal(tail.count, 0);
	session_settled(before, 100, 0);
	one = before->len;
	session_settled(before, 100, 1);
	session_settled(last, 100, 2);
	write_file(file.dir_fd, 1, before);
	write_file(file.dir_fd, 3, last);
	file.firsts[0] = 1;
	file.firsts[1] = 3;
	file.count = 2;
	assert_int_equal(audit_tail_read(&tail, &file, last->len + one + 1), 0);
	assert_true(has(&tail, 100, 2));
	assert_true(has(&tail, 100, 1));
	assert_false(has(&tail, 100, 0));
	audit_tail_done(&tail);
	assert_int_equal(audit_tail_read(&tail, &file, last->len), 0);
	assert_int_equal(tail.count, 1);
	audit_tail_done(&tail);
	remove_file(file.dir_fd, 1);
	assert_true(audit_tail_read(&tail, &file, ROOM) < 0);
	audit_tail_done(&tail);
	remove_file(file.dir_fd, 3);
	(void)close(file.dir_fd);
	assert_int_equal(rmdir(path), 0);
	free(before);
	free(last);
}

int main(void)
{
	const struct CMUnitTest audit_tail[] = {
		cmocka_unit_test(test_what_settled_is_found),
		cmocka_unit_test(test_lines_that_are_cut),
		cmocka_unit_test(test_lines_that_are_no_records),
		cmocka_unit_test(test_the_newest_files_are_read),
	};

	return cmocka_run_group_tests(audit_tail, NULL, NULL);
}
