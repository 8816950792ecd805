/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#include "kern/internal.h"
#include "sys/fd.h"

int kern_pins_path(char path[static PATH_MAX], const char *dir, const char *name)
{
	int len = snprintf(path, PATH_MAX, "%s/%s", dir, name);

	return len < 0 || len >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int kern_pins_open_map(const char *pin_dir, const char *name, struct bpf_map_info *ret_info)
{
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info);
	int fd cleanup(fd_closep) = -1;
	char path[PATH_MAX];
	int r = kern_pins_path(path, pin_dir, name);

	if (r < 0)
		return r;
	fd = bpf_obj_get(path);
	if (fd < 0)
		return fd;
	r = bpf_obj_get_info_by_fd(fd, &info, &len);
	if (r < 0)
		return r;
	*ret_info = info;
	return take_fd(fd);
}

static bool is_bpffs(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && (unsigned long)fs.f_type == (unsigned long)BPF_FS_MAGIC;
}

/* Is what exists of the path on a bpffs? Asked first, so that nothing is made elsewhere. */
static bool will_be_on_bpffs(const char *path)
{
	char part[PATH_MAX];
	char *slash;

	(void)snprintf(part, sizeof(part), "%s", path);
	while (access(part, F_OK) < 0) {
		slash = strrchr(part, '/');
		if (!slash || slash == part)
			return false;
		*slash = '\0';
	}
	return is_bpffs(part);
}

static int make_one(const char *path)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	/* What the kernel refuses as EPERM, root or not. */
	return errno == EPERM && strchr(strrchr(path, '/'), '.') ? -EINVAL : -errno;
}

int kern_pins_make_dir(const char *path)
{
	char part[PATH_MAX];
	size_t len = strlen(path), i;
	int r = 0;

	if (path[0] != '/' || len >= sizeof(part))
		return -ENAMETOOLONG;
	if (!will_be_on_bpffs(path))
		return access(path, F_OK) < 0 && errno == EACCES ? -EACCES : -ENOTSUP;
	memcpy(part, path, len + 1);
	for (i = 1; r == 0 && i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		part[i] = '\0';
		r = make_one(part);
		part[i] = path[i];
	}
	if (r < 0)
		return r;
	return chmod(path, 0700) < 0 ? -errno : 0;
}

int kern_pins_lock(const char *pin_dir)
{
	int fd cleanup(fd_closep) = open(pin_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return take_fd(fd);
}

static int each_entry(const char *dir, int (*each)(void *context, const char *name), void *context)
{
	struct dirent *entry;
	DIR *stream = opendir(dir);
	int r = 0;

	if (!stream)
		return errno == ENOENT ? 0 : -errno;
	while (r == 0 && (entry = readdir(stream)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = each(context, entry->d_name);
	(void)closedir(stream);
	return r;
}

struct id_walk {
	const char *dir;
	int (*each)(void *context, const char *path, uint64_t id);
	void *context;
};

static int visit_id(void *context, const char *name)
{
	struct id_walk *walk = context;
	char path[PATH_MAX], *end;
	unsigned long long id;
	int r;

	id = strtoull(name, &end, 10);
	if (*end || id == 0)
		return 0;
	r = kern_pins_path(path, walk->dir, name);
	return r < 0 ? r : walk->each(walk->context, path, id);
}

int kern_pins_each_id(const char *dir, int (*each)(void *context, const char *path, uint64_t id),
		      void *context)
{
	struct id_walk walk = {.dir = dir, .each = each, .context = context};

	return each_entry(dir, visit_id, &walk);
}

static int unpin_map(void *context, const char *name)
{
	char path[PATH_MAX];
	int r;

	r = kern_pins_path(path, context, name);
	if (r < 0)
		return r;
	/* Directories, which hold links, are refused with EISDIR (or EPERM) and stay. */
	if (unlink(path) < 0 && errno != EISDIR && errno != EPERM && errno != ENOENT)
		return -errno;
	return 0;
}

int kern_pins_remove_maps(const char *pin_dir)
{
	return each_entry(pin_dir, unpin_map, (void *)pin_dir);
}

static int find_any(void *context, const char *name)
{
	(void)context;
	(void)name;
	return 1;
}

bool kern_pins_are_empty(const char *pin_dir)
{
	return each_entry(pin_dir, find_any, NULL) == 0;
}
