/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/magic.h>

#include "kern/internal.h"
#include "sys/fd.h"

#define HANDLE_KERNFS 0xfe /* FILEID_KERNFS: the handle is the id */
#define PROGRAMS_MAX  64

struct id_handle {
	struct file_handle head;
	unsigned char id[sizeof(uint64_t)];
};

static int cgroup_id(int fd, uint64_t *ret_id)
{
	struct id_handle handle = {.head.handle_bytes = sizeof(handle.id)};
	int mount;

	if (name_to_handle_at(fd, "", &handle.head, &mount, AT_EMPTY_PATH) < 0)
		return -errno;
	memcpy(ret_id, handle.head.f_handle, sizeof(*ret_id));
	return 0;
}

int kern_cgroup_open(const char *path, int *ret_fd, uint64_t *ret_id)
{
	int fd cleanup(fd_closep) = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	int r;

	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &fs) < 0)
		return -errno;
	if ((unsigned long)fs.f_type != (unsigned long)CGROUP2_SUPER_MAGIC)
		return -ENOTDIR;
	r = cgroup_id(fd, ret_id);
	if (r < 0)
		return r;
	*ret_fd = take_fd(fd);
	return 0;
}

int kern_cgroup_open_id(int mount_fd, uint64_t id, int *ret_fd)
{
	struct id_handle handle = {
		.head = {.handle_bytes = sizeof(handle.id), .handle_type = HANDLE_KERNFS},
	};
	int fd;

	memcpy(handle.head.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(mount_fd, &handle.head, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int kern_cgroup_path(int mount_fd, uint64_t id, char *path, size_t len)
{
	static const char deleted[] = " (deleted)";
	int fd cleanup(fd_closep) = -1;
	char link[64];
	ssize_t got;
	int r;

	path[0] = '\0';
	r = kern_cgroup_open_id(mount_fd, id, &fd);
	if (r)
		return r;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	got = readlink(link, path, len - 1);
	r = got < 0 ? -errno : 0;
	path[r ? 0 : got] = '\0';
	if ((size_t)MAX(got, 0) >= sizeof(deleted) &&
	    strcmp(path + got - (sizeof(deleted) - 1), deleted) == 0) {
		path[0] = '\0';
		r = -ESTALE;
	}
	return r;
}

/* -EEXIST, -EBUSY: what a program of that id would mean for a watch; 0: nothing. */
static int judge_program(__u32 id)
{
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);
	int fd cleanup(fd_closep) = bpf_prog_get_fd_by_id(id);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (bpf_obj_get_info_by_fd(fd, &info, &len) < 0)
		return 0;
	if (strcmp(info.name, "sluice_gate") == 0)
		return -EBUSY;
	return strcmp(info.name, "sluice_fence") == 0 ? -EEXIST : 0;
}

/* flags: BPF_F_QUERY_EFFECTIVE counts what is attached above, too. */
static int judge_cgroup(int cgroup_fd, __u32 flags)
{
	__u32 ids[PROGRAMS_MAX], count = PROGRAMS_MAX, i;
	int r;

	r = bpf_prog_query(cgroup_fd, BPF_CGROUP_INET_EGRESS, flags, NULL, ids, &count);
	for (i = 0; r == 0 && i < count; i++)
		r = judge_program(ids[i]);
	return r;
}

static int judge_below(int cgroup_fd)
{
	int copy = fcntl(cgroup_fd, F_DUPFD_CLOEXEC, 0);
	struct dirent *entry;
	DIR *dir;
	int r = 0;

	if (copy < 0)
		return -errno;
	dir = fdopendir(copy);
	if (!dir) {
		r = -errno;
		fd_close(copy);
		return r;
	}
	rewinddir(dir);
	while (r == 0 && (entry = readdir(dir))) {
		int fd;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		fd = openat(cgroup_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue; /* it went away meanwhile */
		r = judge_cgroup(fd, 0);
		if (r == 0)
			r = judge_below(fd);
		fd_close(fd);
	}
	(void)closedir(dir);
	return r;
}

int kern_cgroup_check_free(int cgroup_fd)
{
	int r = judge_cgroup(cgroup_fd, BPF_F_QUERY_EFFECTIVE);

	return r < 0 ? r : judge_below(cgroup_fd);
}
