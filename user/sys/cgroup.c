/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/fs.h"

#define PROC_TEXT_MAX  (4u << 20)
#define PROCESSES_MAX  (16u << 20) /* bytes of one cgroup.procs */
#define DEPTH_MAX      64
#define FREEZE_STEP_NS (2 * CLOCK_NS_PER_MS)

static void free_textp(char **text)
{
	free(*text);
}

static int copy_path(const char *from, size_t len, char *ret_path, size_t path_len)
{
	if (len >= path_len)
		return -ENAMETOOLONG;
	(void)memcpy(ret_path, from, len);
	ret_path[len] = '\0';
	return 0;
}

/* mountinfo writes space, tab, newline and backslash as \ooo. */
static void unescape(char *path)
{
	char *to = path;

	for (; *path; path++) {
		if (path[0] == '\\' && path[1] && path[2] && path[3]) {
			*to++ = (char)(((path[1] - '0') << 6) | ((path[2] - '0') << 3) |
				       (path[3] - '0'));
			path += 3;
		} else {
			*to++ = *path;
		}
	}
	*to = '\0';
}

int cgroup_parse_mountinfo(const char *text, char *ret_path, size_t path_len)
{
	for (const char *line = text; line && *line;) {
		const char *end = strchrnul(line, '\n');
		/* id parent major:minor root point options [optional…] - type source options */
		char root[PATH_MAX], point[PATH_MAX];
		const char *type = memmem(line, (size_t)(end - line), " - ", 3);

		if (type && !strncmp(type + 3, "cgroup2 ", 8) &&
		    sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) == 2 &&
		    !strcmp(root, "/")) {
			unescape(point);
			return copy_path(point, strlen(point), ret_path, path_len);
		}
		line = *end ? end + 1 : end;
	}
	return -ENOENT;
}

int cgroup_parse_membership(const char *text, char *ret_path, size_t path_len)
{
	for (const char *line = text; line && *line;) {
		const char *end = strchrnul(line, '\n');

		if (!strncmp(line, "0::/", 4))
			return copy_path(line + 3, (size_t)(end - line) - 3, ret_path, path_len);
		line = *end ? end + 1 : end;
	}
	return -ENOENT;
}

bool cgroup_is_within(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	while (len && dir[len - 1] == '/')
		len--;
	return !strncmp(path, dir, len) && (path[len] == '/' || !path[len]);
}

int cgroup_mount(char *ret_path, size_t path_len)
{
	char *text cleanup(free_textp) = NULL;
	int r = fs_read_file("/proc/self/mountinfo", PROC_TEXT_MAX, &text, NULL);

	return r ? r : cgroup_parse_mountinfo(text, ret_path, path_len);
}

int cgroup_resolve(const char *mount, const char *name, char *ret_path, size_t path_len)
{
	char joined[PATH_MAX], real[PATH_MAX];
	struct stat st;

	if (cgroup_is_within(name, mount))
		(void)snprintf(joined, sizeof(joined), "%s", name);
	else
		(void)snprintf(joined, sizeof(joined), "%s/%s", mount, name);
	if (!realpath(joined, real))
		return -errno;
	if (!cgroup_is_within(real, mount))
		return -ENOENT;
	if (stat(real, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return copy_path(real, strlen(real), ret_path, path_len);
}

int cgroup_of_process(const char *mount, pid_t pid, char *ret_path, size_t path_len)
{
	char *text cleanup(free_textp) = NULL;
	char file[64], path[PATH_MAX];
	int r;

	(void)snprintf(file, sizeof(file), "/proc/%d/cgroup", (int)pid);
	r = fs_read_file(file, PROC_TEXT_MAX, &text, NULL);
	if (r)
		return r;
	r = cgroup_parse_membership(text, path, sizeof(path));
	if (r)
		return r;
	if (strlen(mount) + strlen(path) >= path_len)
		return -ENAMETOOLONG;
	(void)snprintf(ret_path, path_len, "%s%s", mount, strcmp(path, "/") ? path : "");
	return 0;
}

int cgroup_id(const char *path, uint64_t *ret_id)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	*ret_id = st.st_ino;
	return 0;
}

int cgroup_create(const char *path)
{
	char part[PATH_MAX];
	char *slash;

	if (copy_path(path, strlen(path), part, sizeof(part)))
		return -ENAMETOOLONG;
	for (slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0755) && errno != EEXIST && access(part, F_OK))
			return -errno;
		*slash = '/';
	}
	return mkdir(part, 0755) && errno != EEXIST ? -errno : 0;
}

static int write_control(const char *path, const char *file, const char *value)
{
	char name[PATH_MAX];

	(void)snprintf(name, sizeof(name), "%s/%s", path, file);
	return fs_write_value(name, value);
}

int cgroup_join(const char *path)
{
	return write_control(path, "cgroup.procs", "0");
}

int cgroup_remove(const char *path)
{
	return rmdir(path) ? -errno : 0;
}

/* The number behind "key " in cgroup.events, or -1 where the cgroup is gone. */
static int read_event(const char *path, const char *key)
{
	char *text cleanup(free_textp) = NULL;
	char name[PATH_MAX];
	const char *found;

	(void)snprintf(name, sizeof(name), "%s/cgroup.events", path);
	if (fs_read_file(name, PROC_TEXT_MAX, &text, NULL))
		return -1;
	found = strstr(text, key);
	return found ? atoi(found + strlen(key)) : -1;
}

bool cgroup_is_populated(const char *path)
{
	return read_event(path, "populated ") > 0;
}

bool cgroup_is_threaded(const char *path)
{
	char *text cleanup(free_textp) = NULL;
	char name[PATH_MAX];

	(void)snprintf(name, sizeof(name), "%s/cgroup.type", path);
	/* The root has no type, and is none. */
	return !fs_read_file(name, PROC_TEXT_MAX, &text, NULL) && !strcmp(text, "threaded\n");
}

bool cgroup_is_delegated(const char *path)
{
	char above[PATH_MAX], name[PATH_MAX];
	struct stat procs;
	char *end;

	(void)snprintf(above, sizeof(above), "%s", path);
	/* Above the root of the file system is no such file. */
	while ((end = strrchr(above, '/')) && end != above) {
		*end = '\0';
		if (snprintf(name, sizeof(name), "%s/cgroup.procs", above) >= (int)sizeof(name) ||
		    stat(name, &procs))
			return false;
		if (procs.st_uid != 0 || (procs.st_mode & (S_IWGRP | S_IWOTH)))
			return true;
	}
	return false;
}

int cgroup_kill(const char *path)
{
	return write_control(path, "cgroup.kill", "1");
}

int cgroup_freeze(const char *path, bool frozen, unsigned int timeout_ms)
{
	struct timespec step = {.tv_nsec = FREEZE_STEP_NS};
	uint64_t deadline = clock_boot_ns() + timeout_ms * CLOCK_NS_PER_MS;
	int r = write_control(path, "cgroup.freeze", frozen ? "1" : "0");

	if (r || !frozen)
		return r;
	while (cgroup_is_populated(path) && read_event(path, "frozen ") == 0) {
		if (clock_boot_ns() > deadline)
			return -ETIMEDOUT;
		(void)nanosleep(&step, NULL);
	}
	return 0;
}

int cgroup_for_each_child(const char *path, int (*each)(void *context, const char *child),
			  void *context)
{
	char child[PATH_MAX];
	struct dirent *entry;
	DIR *dir = opendir(path);
	int r = 0;

	if (!dir)
		return -errno;
	while (!r && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if ((size_t)snprintf(child, sizeof(child), "%s/%s", path, entry->d_name) >=
		    sizeof(child))
			r = -ENAMETOOLONG;
		else
			r = each(context, child);
	}
	(void)closedir(dir);
	return r;
}

struct walk {
	int (*each)(void *context, pid_t pid);
	void *context;
	int depth;
};

static int walk_processes(void *context, const char *path)
{
	char *text cleanup(free_textp) = NULL;
	struct walk *walk = context;
	char name[PATH_MAX];
	int r;

	if (walk->depth >= DEPTH_MAX)
		return -ELOOP;
	(void)snprintf(name, sizeof(name), "%s/cgroup.procs", path);
	r = fs_read_file(name, PROCESSES_MAX, &text, NULL);
	/* A threaded cgroup lists its processes at its domain, above. */
	if (r == -EOPNOTSUPP)
		r = 0;
	for (const char *line = text; line && *line && !r;) {
		const char *end = strchrnul(line, '\n');

		r = walk->each(walk->context, (pid_t)atol(line));
		line = *end ? end + 1 : end;
	}
	if (r)
		return r;
	walk->depth++;
	r = cgroup_for_each_child(path, walk_processes, walk);
	walk->depth--;
	return r;
}

int cgroup_for_each_process(const char *path, int (*each)(void *context, pid_t pid), void *context)
{
	struct walk walk = {.each = each, .context = context};

	return walk_processes(&walk, path);
}
