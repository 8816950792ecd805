/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kern/internal.h"
#include "sys/fd.h"

static int watch_write(struct kern *kern, uint64_t id, const struct sluice_watch *watch)
{
	return bpf_map_update_elem(bpf_map__fd(kern->skel->maps.watches), &id, watch, BPF_EXIST);
}

/*
 * The storage of a cgroup outlives its programs: before programs are attached
 * again, or detached, it must say that nothing is allowed.
 */
static int watch_shut(struct kern *kern, uint64_t id)
{
	const struct sluice_watch closed = {0};
	int r = watch_write(kern, id, &closed);

	return r == -ENOENT ? 0 : r;
}

static int watch_dir(const struct kern *kern, uint64_t id, char path[static PATH_MAX])
{
	int len = snprintf(path, PATH_MAX, "%s/%s/%llu", kern->pin_dir, kern_watch_hooks.dir,
			   (unsigned long long)id);

	return len < 0 || len >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static void watched_add(struct kern *kern, uint64_t id, uint32_t policy)
{
	kern->watched[kern->watched_count++] = (struct kern_watched){id, policy};
}

static struct kern_watched *watched_find(const struct kern *kern, uint64_t id)
{
	size_t i;

	for (i = 0; i < kern->watched_count; i++)
		if (kern->watched[i].id == id)
			return &kern->watched[i];
	return NULL;
}

int kern_watch(struct kern *kern, const char *cgroup, uint32_t policy, enum sluice_dns dns,
	       uint64_t *ret_id)
{
	struct sluice_watch watch = {.policy = policy, .dns = dns};
	int fd cleanup(fd_closep) = -1;
	char path[PATH_MAX];
	uint64_t id;
	int r;

	if (policy == 0 || policy >= SLUICE_POLICIES)
		return -EINVAL;
	if (kern->watched_count >= SLUICE_WATCHES)
		return -ENOSPC;
	r = kern_cgroup_open(cgroup, &fd, &id);
	if (r == 0)
		r = kern_cgroup_check_free(fd);
	if (r == 0)
		r = watch_shut(kern, id);
	if (r == 0)
		kern_refusals_forget(kern, id);
	if (r == 0)
		r = kern_hooks_attach(kern, &kern_watch_hooks, fd, id);
	if (r < 0)
		return r;
	watch.cgroup = id;
	r = watch_write(kern, id, &watch);
	if (r < 0) {
		if (watch_dir(kern, id, path) == 0)
			(void)kern_hooks_detach(path);
		return r;
	}
	watched_add(kern, id, policy);
	*ret_id = id;
	return 0;
}

int kern_watch_policy(struct kern *kern, uint64_t id, uint32_t policy, enum sluice_dns dns)
{
	const struct sluice_watch watch = {.cgroup = id, .policy = policy, .dns = dns};
	struct kern_watched *watched = watched_find(kern, id);
	int r;

	if (policy == 0 || policy >= SLUICE_POLICIES)
		return -EINVAL;
	if (!watched)
		return -ENOENT;
	r = watch_write(kern, id, &watch);
	if (r == 0)
		watched->policy = policy;
	return r;
}

int kern_unwatch(struct kern *kern, uint64_t id)
{
	struct kern_watched *watched = watched_find(kern, id);
	char path[PATH_MAX];
	int r;

	if (!watched)
		return -ENOENT;
	r = watch_dir(kern, id, path);
	if (r < 0)
		return r;
	(void)watch_shut(kern, id); /* the cgroup may be gone */
	r = kern_hooks_detach(path);
	if (r < 0 && r != -ENOENT)
		return r;
	*watched = kern->watched[--kern->watched_count];
	return 0;
}

static int adopt_one(void *context, const char *path, uint64_t id)
{
	struct kern *kern = context;
	struct sluice_watch watch;
	int r;

	r = kern_hooks_adopt(kern, &kern_watch_hooks, path, id);
	if (r == -ENOLINK)
		return kern_hooks_detach(path);
	if (r < 0)
		return r;
	if (kern->watched_count >= SLUICE_WATCHES)
		return -ENOSPC;
	r = bpf_map_lookup_elem(bpf_map__fd(kern->skel->maps.watches), &id, &watch);
	if (r < 0)
		return r;
	/* Policy 0: the predecessor died before it opened the watch. It stays closed. */
	watched_add(kern, id, watch.policy);
	return 0;
}

int kern_watches_adopt(struct kern *kern)
{
	char path[PATH_MAX];
	int r;

	r = kern_pins_path(path, kern->pin_dir, kern_watch_hooks.dir);
	return r < 0 ? r : kern_pins_each_id(path, adopt_one, kern);
}

size_t kern_watches(const struct kern *kern, struct kern_watch_info *list, size_t max)
{
	size_t i, count = MIN(max, kern->watched_count);

	for (i = 0; i < count; i++) {
		list[i].id = kern->watched[i].id;
		list[i].policy = kern->watched[i].policy;
		list[i].path_error = kern_cgroup_path(kern->mount_fd, list[i].id, list[i].path,
						      sizeof(list[i].path));
	}
	return count;
}
