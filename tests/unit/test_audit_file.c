/* SPDX-License-Identifier: Apache-2.0 */
/* The files of an audit trail: opened, appended to, recovered, rotated; never a start from ruins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/audit_file.h"
#include "sys/fs.h"

#define FIRST "audit-00000000000000000001.jsonl"

static char folder[64], dir[128], path[256], error[512];

static int set_up(void **unused)
{
	(void)unused;
	(void)strcpy(folder, "/tmp/sluice-audit-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(dir, sizeof(dir), "%s/trail", folder);
	(void)snprintf(path, sizeof(path), "%s/" FIRST, dir);
	error[0] = '\0';
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	/* A test may have named another. */
	(void)snprintf(dir, sizeof(dir), "%s/trail", folder);
	(void)fs_remove_dir(dir);
	return fs_remove_dir(folder);
}

static struct audit_file opened(struct audit_left *left)
{
	struct audit_file file;

	if (audit_file_open(&file, dir, left, error, sizeof(error)))
		fail_msg("%s", error);
	return file;
}

static void expect_failure(int r, const char *said)
{
	struct audit_file file;
	struct audit_left left = {.torn = 77};

	assert_int_equal(audit_file_open(&file, dir, &left, error, sizeof(error)), r);
	assert_non_null(strstr(error, said));
	assert_int_equal(left.torn, 77);
	assert_int_equal(file.fd, -1);
	assert_int_equal(file.dir_fd, -1);
	assert_int_equal(file.lock_fd, -1);
}

/* A record of that number, whose hash need not be one for a start. */
static size_t make_record(char *text, uint64_t seq)
{
	struct audit_chain chain;
	struct audit_head head;
	int len = sprintf(text, "{\"seq\":%llu,\"time\":\"T\"", (unsigned long long)seq);

	audit_head_init(&head);
	head.seq = seq - 1;
	assert_int_equal(audit_chain_init(&chain, &head), 0);
	assert_int_equal(audit_chain_seal(&chain, text, (size_t)len), 0);
	audit_chain_done(&chain);
	return (size_t)len + AUDIT_SEAL_LEN;
}

static void append(struct audit_file *file, uint64_t seq)
{
	char text[256];
	size_t len = make_record(text, seq);

	assert_int_equal(audit_file_write(file, text, len), len);
}

static void spoil(const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_APPEND);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	(void)close(fd);
}

static uint64_t size_of(const char *name)
{
	struct stat found;

	return stat(name, &found) ? 0 : (uint64_t)found.st_size;
}

static void a_new_trail_is_empty(void **unused)
{
	struct audit_left left;
	struct audit_file file = opened(&left);
	struct stat found;
	int before = 0;

	(void)unused;
	assert_int_equal(left.head.seq, 0);
	assert_string_equal(left.head.hash, AUDIT_GENESIS);
	assert_int_equal(file.fd, -1);
	assert_int_equal(audit_file_next(&file, 1, &before), 0);
	assert_int_equal(before, -1);
	append(&file, 1);
	audit_file_close(&file);
	assert_int_equal(stat(path, &found), 0);
	assert_int_equal(found.st_mode & 0777, 0600);
	assert_int_equal(stat(dir, &found), 0);
	assert_int_equal(found.st_mode & 0777, 0700);
}

static void write_three(void)
{
	struct audit_left left;
	struct audit_file file = opened(&left);
	int before;

	assert_int_equal(audit_file_next(&file, 1, &before), 0);
	for (uint64_t seq = 1; seq <= 3; seq++)
		append(&file, seq);
	audit_file_close(&file);
}

static void a_trail_goes_on(void **unused)
{
	struct audit_left left;
	struct audit_file file;
	uint64_t size;

	(void)unused;
	write_three();
	size = size_of(path);
	file = opened(&left);
	assert_int_equal(left.head.seq, 3);
	assert_int_equal(left.torn, 0);
	assert_true(file.size == size);
	append(&file, 4);
	audit_file_close(&file);
	file = opened(&left);
	assert_int_equal(left.head.seq, 4);
	audit_file_close(&file);
}

/* Cut anywhere, as a crash may: the whole records before stay, and only those. */
static void a_torn_record_is_cut_off(void **unused)
{
	char text[256];
	size_t len = make_record(text, 4);

	(void)unused;
	for (size_t cut = 1; cut < len; cut++) {
		struct audit_left left;
		struct audit_file file;
		uint64_t size;

		write_three();
		size = size_of(path);
		spoil(text, cut);
		file = opened(&left);
		assert_int_equal(left.head.seq, 3);
		assert_int_equal(left.torn, cut);
		assert_string_equal(left.torn_file, FIRST);
		assert_true(size_of(path) == size);
		audit_file_close(&file);
		(void)fs_remove_dir(dir);
	}
}

static void zeros_of_any_length_are_cut_off(void **unused)
{
	static const size_t lengths[] = {1, 4095, 4096, 4097, 8191, 8192, 100000};
	char *zeros = calloc(1, 100000);

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct audit_left left;
		struct audit_file file;

		write_three();
		spoil(zeros, lengths[i]);
		file = opened(&left);
		assert_int_equal(left.head.seq, 3);
		assert_int_equal(left.torn, lengths[i]);
		audit_file_close(&file);
		(void)fs_remove_dir(dir);
	}
	free(zeros);
}

static void a_file_without_a_record_is_no_file(void **unused)
{
	struct audit_left left;
	struct audit_file file;
	int before;

	(void)unused;
	write_three();
	file = opened(&left);
	assert_int_equal(audit_file_next(&file, 4, &before), 0);
	(void)close(before);
	assert_int_equal(audit_file_write(&file, "{\"seq\"", 6), 6);
	audit_file_close(&file);
	file = opened(&left);
	assert_int_equal(left.head.seq, 3);
	assert_int_equal(left.torn, 6);
	assert_int_equal(file.count, 1);
	audit_file_close(&file);
}

static void a_damaged_end_is_no_beginning(void **unused)
{
	(void)unused;
	write_three();
	spoil("{\"seq\":4}\n", 10);
	expect_failure(-EBADMSG, "is no record");
	assert_true(size_of(path) > 10);
}

static void nobody_else_writes_there(void **unused)
{
	struct audit_left left;
	struct audit_file file = opened(&left);

	(void)unused;
	expect_failure(-EBUSY, "another daemon writes");
	audit_file_close(&file);
	file = opened(&left);
	audit_file_close(&file);
	assert_int_equal(chmod(dir, 0720), 0);
	expect_failure(-EPERM, "others may write");
	assert_int_equal(chmod(dir, 0702), 0);
	expect_failure(-EPERM, "others may write");
	assert_int_equal(chmod(dir, 0755), 0);
	file = opened(&left);
	audit_file_close(&file);
}

static void places_that_are_none(void **unused)
{
	int fd;

	(void)unused;
	(void)memset(path, 'x', sizeof(path) - 1);
	(void)snprintf(dir, sizeof(dir), "%s/no/such/trail", folder);
	expect_failure(-ENOENT, "No such file");
	(void)snprintf(dir, sizeof(dir), "%s/plain", folder);
	fd = open(dir, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	expect_failure(-ENOTDIR, "Not a directory");
	(void)unlink(dir);
}

static void a_link_is_not_followed(void **unused)
{
	char target[128];
	int fd;

	(void)unused;
	(void)snprintf(target, sizeof(target), "%s/target", folder);
	write_three();
	(void)unlink(path);
	fd = open(target, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(symlink(target, path), 0);
	expect_failure(-ELOOP, "file");
	assert_int_equal(unlink(path), 0);
}

static void the_oldest_files_go(void **unused)
{
	struct audit_left left;
	struct audit_file file = opened(&left);
	int before;

	(void)unused;
	for (uint64_t first = 1; first <= 50; first += 10) {
		uint64_t oldest = audit_file_oldest_of(&file, first, 3);

		assert_int_equal(audit_file_next(&file, first, &before), 0);
		if (before >= 0)
			(void)close(before);
		append(&file, first);
		assert_int_equal(audit_file_prune(&file, 3), 0);
		assert_int_equal(file.firsts[0], oldest);
		assert_int_equal(file.firsts[file.count - 1], first);
	}
	assert_int_equal(file.count, 3);
	assert_int_equal(file.firsts[0], 21);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(audit_file_next(&file, 41, &before), -EEXIST);
	audit_file_close(&file);
	file = opened(&left);
	assert_int_equal(file.count, 3);
	assert_int_equal(left.head.seq, 41);
	audit_file_close(&file);
}

/* Killed between a next file and the removal of the oldest, there is one more than is kept. */
static void one_more_than_is_kept_is_no_ruin(void **unused)
{
	char name[AUDIT_NAME_LEN], made[256];
	struct audit_left left;
	struct audit_file file;

	(void)unused;
	write_three();
	for (uint64_t first = 4; first < AUDIT_KEEP_MAX + 4; first++) {
		char text[256];
		size_t len = make_record(text, first);
		int fd;

		audit_name_format(first, name);
		(void)snprintf(made, sizeof(made), "%s/%s", dir, name);
		fd = open(made, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, text, len), len);
		(void)close(fd);
	}
	file = opened(&left);
	assert_int_equal(file.count, AUDIT_KEEP_MAX);
	assert_int_equal(file.firsts[0], 4);
	assert_int_equal(left.head.seq, AUDIT_KEEP_MAX + 3);
	audit_file_close(&file);
	assert_int_equal(access(path, F_OK), -1);
}

static void a_file_that_was_meddled_with_is_noticed(void **unused)
{
	char aside[300];
	struct audit_left left;
	struct audit_file file;

	(void)unused;
	write_three();
	file = opened(&left);
	assert_int_equal(audit_file_check(&file), 0);
	append(&file, 4);
	assert_int_equal(audit_file_check(&file), 0);
	spoil("x", 1);
	assert_int_equal(audit_file_check(&file), -EBADMSG);
	assert_int_equal(truncate(path, (off_t)file.size), 0);
	assert_int_equal(audit_file_check(&file), 0);
	assert_int_equal(truncate(path, (off_t)file.size - 1), 0);
	assert_int_equal(audit_file_check(&file), -EBADMSG);
	(void)snprintf(aside, sizeof(aside), "%s.aside", path);
	assert_int_equal(rename(path, aside), 0);
	assert_int_equal(audit_file_check(&file), -ENOENT);
	(void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(audit_file_check(&file), -ESTALE);
	(void)snprintf(aside, sizeof(aside), "%s.aside", dir);
	assert_int_equal(rename(dir, aside), 0);
	assert_int_equal(audit_file_check(&file), -ENOENT);
	assert_int_equal(rename(aside, dir), 0);
	audit_file_close(&file);
	assert_int_equal(audit_file_check(&file), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_trail_is_empty),
		TEST(a_trail_goes_on),
		TEST(a_torn_record_is_cut_off),
		TEST(zeros_of_any_length_are_cut_off),
		TEST(a_file_without_a_record_is_no_file),
		TEST(a_damaged_end_is_no_beginning),
		TEST(nobody_else_writes_there),
		TEST(places_that_are_none),
		TEST(a_link_is_not_followed),
		TEST(the_oldest_files_go),
		TEST(one_more_than_is_kept_is_no_ruin),
		TEST(a_file_that_was_meddled_with_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
