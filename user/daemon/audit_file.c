/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/audit_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/fd.h"

static int failed(int r, char *error, size_t error_len, const char *what, const char *path)
{
	(void)snprintf(error, error_len, "audit trail: %s '%s': %s", what, path, strerror(-r));
	return r;
}

static void init(struct audit_file *file)
{
	*file = (struct audit_file){.dir_fd = -1, .lock_fd = -1, .fd = -1};
}

void audit_file_close(struct audit_file *file)
{
	fd_close(take_fd(file->fd));
	fd_close(take_fd(file->lock_fd));
	fd_close(take_fd(file->dir_fd));
}

/* The directory, and the last but one part of its path, where they are missing. */
static int make_dir(const char *dir)
{
	char parent[AUDIT_DIR_MAX];
	char *slash;

	(void)strcpy(parent, dir);
	slash = strrchr(parent, '/');
	if (slash && slash != parent) {
		*slash = '\0';
		if (mkdir(parent, 0755) && errno != EEXIST)
			return -errno;
	}
	return mkdir(dir, 0700) && errno != EEXIST ? -errno : 0;
}

static int open_dir(struct audit_file *file, char *error, size_t error_len)
{
	struct stat found;
	int r = make_dir(file->dir);

	if (!r)
		file->dir_fd = open(file->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!r && (file->dir_fd < 0 || fstat(file->dir_fd, &found)))
		r = -errno;
	if (r)
		return failed(r, error, error_len, "directory", file->dir);
	if (found.st_uid != geteuid() || (found.st_mode & 022)) {
		(void)snprintf(error, error_len,
			       "audit trail: others may write into the directory '%s'; make it "
			       "yours alone (chown, chmod 0700)",
			       file->dir);
		return -EPERM;
	}
	return 0;
}

static int lock(struct audit_file *file, char *error, size_t error_len)
{
	file->lock_fd = openat(file->dir_fd, AUDIT_LOCK_NAME,
			       O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file->lock_fd >= 0 && !flock(file->lock_fd, LOCK_EX | LOCK_NB))
		return 0;
	if (errno != EWOULDBLOCK)
		return failed(-errno, error, error_len, "lock in", file->dir);
	(void)snprintf(error, error_len,
		       "audit trail: another daemon writes to '%s'; name a directory of its own "
		       "with --audit",
		       file->dir);
	return -EBUSY;
}

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Which files there are, the oldest first. -EFBIG: more than are ever there. */
static int list(struct audit_file *file)
{
	int fd = openat(file->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r = 0;

	if (!dir) {
		r = -errno;
		fd_close(fd);
		return r;
	}
	file->count = 0;
	while (!r && (entry = readdir(dir))) {
		uint64_t first = audit_name_first(entry->d_name);

		if (first && file->count == ARRAY_SIZE(file->firsts))
			r = -EFBIG;
		else if (first)
			file->firsts[file->count++] = first;
	}
	(void)closedir(dir);
	qsort(file->firsts, file->count, sizeof(file->firsts[0]), compare);
	return r;
}

/* Reads up to len bytes that end at offset end. */
static int read_at(int fd, char *text, size_t len, uint64_t end)
{
	size_t have = 0;

	while (have < len) {
		ssize_t n = pread(fd, text + have, len - have, (off_t)(end - len + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		have += (size_t)n;
	}
	return 0;
}

/*
 * Where the last line with an end has it, 0 where there is none; and the record in it. A line
 * without an end can be as long as whatever lay there when the machine stopped.
 */
static int find_last(int fd, uint64_t size, uint64_t *ret_end, struct audit_head *ret_head)
{
	char text[2 * AUDIT_RECORD_MAX];
	uint64_t end = size;

	while (end) {
		size_t len = (size_t)MIN(end, (uint64_t)AUDIT_RECORD_MAX);
		int r = read_at(fd, text, len, end);
		const char *newline = r ? NULL : memrchr(text, '\n', len);

		if (r)
			return r;
		end -= len;
		if (!newline)
			continue;
		end += (uint64_t)(newline + 1 - text);
		len = (size_t)MIN(end, (uint64_t)sizeof(text));
		r = read_at(fd, text, len, end);
		if (r)
			return r;
		newline = len > 1 ? memrchr(text, '\n', len - 1) : NULL;
		newline = newline ? newline + 1 : text;
		*ret_end = end;
		return audit_record_head(newline, (size_t)(text + len - newline), ret_head)
			       ? -EBADMSG
			       : 0;
	}
	*ret_end = 0;
	return 0;
}

/* Opens a file to append; cuts off a last line without its end. */
static int open_last(struct audit_file *file, const char *name, struct audit_left *left)
{
	int fd cleanup(fd_closep) =
		openat(file->dir_fd, name, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	struct stat found;
	uint64_t end;
	int r;

	if (fd < 0 || fstat(fd, &found))
		return -errno;
	r = find_last(fd, (uint64_t)found.st_size, &end, &left->head);
	if (r)
		return r;
	if (end < (uint64_t)found.st_size) {
		left->torn += (uint64_t)found.st_size - end;
		(void)strcpy(left->torn_file, name);
		if (ftruncate(fd, (off_t)end) || fsync(fd))
			return -errno;
	}
	file->size = end;
	file->fd = take_fd(fd);
	return 0;
}

/* The newest file with a record in it; those without one are removed. */
static int find_newest(struct audit_file *file, struct audit_left *left, char *error,
		       size_t error_len)
{
	char name[AUDIT_NAME_LEN], path[AUDIT_DIR_MAX + AUDIT_NAME_LEN];
	int r;

	while (file->count) {
		audit_name_format(file->firsts[file->count - 1], name);
		(void)snprintf(path, sizeof(path), "%s/%s", file->dir, name);
		r = open_last(file, name, left);
		if (r == -EBADMSG) {
			(void)snprintf(error, error_len,
				       "audit trail: the last line of '%s' is no record; see "
				       "sluicectl audit verify, and move the trail away to begin "
				       "another",
				       path);
			return r;
		}
		if (!r && file->size)
			return 0;
		fd_close(take_fd(file->fd));
		if (!r && unlinkat(file->dir_fd, name, 0))
			r = -errno;
		if (r)
			return failed(r, error, error_len, "file", path);
		file->count--;
	}
	return 0;
}

int audit_file_open(struct audit_file *file, const char *dir, struct audit_left *ret_left,
		    char *error, size_t error_len)
{
	struct audit_left left = {0};
	int r;

	audit_head_init(&left.head);
	init(file);
	if (strlen(dir) >= sizeof(file->dir))
		return failed(-ENAMETOOLONG, error, error_len, "directory", dir);
	(void)strcpy(file->dir, dir);
	r = open_dir(file, error, error_len);
	if (!r)
		r = lock(file, error, error_len);
	if (!r) {
		r = list(file);
		if (r)
			(void)failed(r, error, error_len, "files in", dir);
	}
	if (!r)
		r = find_newest(file, &left, error, error_len);
	if (r) {
		audit_file_close(file);
		return r;
	}
	/* Killed between a next file and the removal of the oldest. */
	(void)audit_file_prune(file, AUDIT_KEEP_MAX);
	*ret_left = left;
	return 0;
}

uint64_t audit_file_oldest_of(const struct audit_file *file, uint64_t next, size_t keep)
{
	if (file->count + 1 <= keep)
		return file->count ? file->firsts[0] : next;
	return keep > 1 ? file->firsts[file->count + 1 - keep] : next;
}

int audit_file_next(struct audit_file *file, uint64_t first, int *ret_before)
{
	char name[AUDIT_NAME_LEN];
	int fd;

	if (file->count == ARRAY_SIZE(file->firsts))
		return -EFBIG;
	audit_name_format(first, name);
	fd = openat(file->dir_fd, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	*ret_before = file->fd;
	file->fd = fd;
	file->size = 0;
	file->firsts[file->count++] = first;
	return 0;
}

size_t audit_file_prune(struct audit_file *file, size_t keep)
{
	char name[AUDIT_NAME_LEN];
	size_t excess = file->count > keep ? file->count - keep : 0, kept = 0;

	for (size_t i = 0; i < file->count; i++) {
		audit_name_format(file->firsts[i], name);
		if (i < excess && (!unlinkat(file->dir_fd, name, 0) || errno == ENOENT))
			continue;
		file->firsts[kept++] = file->firsts[i];
	}
	file->count = kept;
	return kept > keep ? kept - keep : 0;
}

int audit_file_check(const struct audit_file *file)
{
	char path[AUDIT_DIR_MAX + AUDIT_NAME_LEN];
	struct stat ours, there;
	int len;

	if (file->fd < 0)
		return 0;
	len = snprintf(path, sizeof(path), "%s/", file->dir);
	audit_name_format(file->firsts[file->count - 1], path + len);
	if (fstat(file->fd, &ours) || stat(path, &there))
		return -errno;
	if (ours.st_dev != there.st_dev || ours.st_ino != there.st_ino)
		return -ESTALE;
	return (uint64_t)ours.st_size == file->size ? 0 : -EBADMSG;
}

ssize_t audit_file_write(struct audit_file *file, const char *text, size_t len)
{
	ssize_t n;

	do
		n = write(file->fd, text, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	file->size += (uint64_t)n;
	return n ? n : -EIO;
}
