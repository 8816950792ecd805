/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "sys/fd.h"

#define READ_STEP 4096u
#define PATH_LEN  1024u

static void free_textp(char **text)
{
	free(*text);
}

int fs_read_file(const char *path, size_t max, char **ret_text, size_t *ret_len)
{
	int fd cleanup(fd_closep) = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char *text cleanup(free_textp) = NULL;
	size_t len = 0, room = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n;

		if (room - len < READ_STEP) {
			char *grown = realloc(text, room + room / 2 + 2 * READ_STEP);

			if (!grown)
				return -ENOMEM;
			text = grown;
			room += room / 2 + 2 * READ_STEP;
		}
		/* One byte of room is the NUL's. */
		n = read(fd, text + len, room - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += (size_t)n;
		if (len > max)
			return -EFBIG;
	}
	text[len] = '\0';
	*ret_text = take_ptr(text);
	if (ret_len)
		*ret_len = len;
	return 0;
}

int fs_write(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

int fs_write_file(const char *path, mode_t mode, const char *text, size_t len)
{
	char temporary[PATH_LEN];
	int fd cleanup(fd_closep) = -1;
	int r;

	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.new", path) >= sizeof(temporary))
		return -ENAMETOOLONG;
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return -errno;
	r = fchmod(fd, mode) ? -errno : fs_write(fd, text, len);
	if (!r && rename(temporary, path))
		r = -errno;
	if (r)
		(void)unlink(temporary);
	return r;
}

int fs_write_value(const char *path, const char *value)
{
	int fd cleanup(fd_closep) = open(path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(value);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, value, len);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int fs_make_dir(const char *path, mode_t mode)
{
	struct stat st;

	if (!mkdir(path, mode))
		return chmod(path, mode) ? -errno : 0;
	if (errno != EEXIST)
		return -errno;
	if (lstat(path, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (st.st_uid != geteuid())
		return -EPERM;
	return chmod(path, mode) ? -errno : 0;
}

int fs_remove_dir(const char *path)
{
	int fd cleanup(fd_closep) = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct dirent *entry;
	DIR *dir;
	int r = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	fd = -1; /* closedir() closes it */
	while ((entry = readdir(dir)))
		if (entry->d_type == DT_REG && unlinkat(dirfd(dir), entry->d_name, 0))
			r = -errno;
	(void)closedir(dir);
	if (rmdir(path))
		r = -errno;
	return r;
}

bool fs_is_bpffs(const char *path)
{
	struct statfs st;

	return !statfs(path, &st) && (unsigned long)st.f_type == BPF_FS_MAGIC;
}

int fs_mount_bpffs(const char *path)
{
	if (fs_is_bpffs(path))
		return 0;
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	if (mount("bpf", path, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700"))
		return -errno;
	return 0;
}
