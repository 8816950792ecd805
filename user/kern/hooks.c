/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "kern/internal.h"
#include "sys/fd.h"

struct kern_hook {
	const char *name; /* of the pin */
	int type;	  /* enum bpf_attach_type, or one of KERN_ATTACH_* */
	size_t program;	  /* offset in the programs of the skeleton */
};

#define PROGRAM(name) offsetof(struct sluice_bpf, progs.name)

/* In order of attachment: what closes comes first. */
static const struct kern_hook gate_list[] = {
	{"egress", BPF_CGROUP_INET_EGRESS, PROGRAM(sluice_gate)},
	{"sockops", BPF_CGROUP_SOCK_OPS, PROGRAM(sluice_begin)},
	{"sock_create", BPF_CGROUP_INET_SOCK_CREATE, PROGRAM(sluice_born)},
};

static const struct kern_hook watch_list[] = {
	{"egress", BPF_CGROUP_INET_EGRESS, PROGRAM(sluice_fence)},
	{"ingress", BPF_CGROUP_INET_INGRESS, PROGRAM(sluice_arrive)},
	{"sock_create", BPF_CGROUP_INET_SOCK_CREATE, PROGRAM(sluice_socket)},
	{"sendmsg4", BPF_CGROUP_UDP4_SENDMSG, PROGRAM(sluice_send4)},
	{"sendmsg6", BPF_CGROUP_UDP6_SENDMSG, PROGRAM(sluice_send6)},
	{"connect_unix", KERN_ATTACH_UNIX_CONNECT, PROGRAM(sluice_connect_unix)},
	{"sendmsg_unix", KERN_ATTACH_UNIX_SENDMSG, PROGRAM(sluice_send_unix)},
	{"sockops", BPF_CGROUP_SOCK_OPS, PROGRAM(sluice_publish)},
	{"connect4", BPF_CGROUP_INET4_CONNECT, PROGRAM(sluice_connect4)},
	{"connect6", BPF_CGROUP_INET6_CONNECT, PROGRAM(sluice_connect6)},
	{"getpeername4", BPF_CGROUP_INET4_GETPEERNAME, PROGRAM(sluice_peer4)},
	{"getpeername6", BPF_CGROUP_INET6_GETPEERNAME, PROGRAM(sluice_peer6)},
	{"getsockname4", BPF_CGROUP_INET4_GETSOCKNAME, PROGRAM(sluice_name4)},
	{"getsockname6", BPF_CGROUP_INET6_GETSOCKNAME, PROGRAM(sluice_name6)},
	{"bind4", BPF_CGROUP_INET4_BIND, PROGRAM(sluice_bind4)},
	{"bind6", BPF_CGROUP_INET6_BIND, PROGRAM(sluice_bind6)},
};

const struct kern_hooks kern_gate_hooks = {"gate", gate_list, ARRAY_SIZE(gate_list)};
const struct kern_hooks kern_watch_hooks = {"watch", watch_list, ARRAY_SIZE(watch_list)};

#define HOOKS_MAX ARRAY_SIZE(watch_list)
_Static_assert(ARRAY_SIZE(gate_list) <= HOOKS_MAX, "links of the longest list");

static struct bpf_program *hook_program(const struct kern *kern, const struct kern_hook *hook)
{
	return *(struct bpf_program **)((char *)kern->skel + hook->program);
}

static bool hook_is_unix(const struct kern_hook *hook)
{
	return hook->type == KERN_ATTACH_UNIX_CONNECT || hook->type == KERN_ATTACH_UNIX_SENDMSG;
}

static bool hook_is_used(const struct kern *kern, const struct kern_hook *hook)
{
	return kern->has_unix_hooks || !hook_is_unix(hook);
}

int kern_hooks_prepare(struct kern *kern)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < kern_watch_hooks.count; i++) {
		const struct kern_hook *hook = &kern_watch_hooks.list[i];
		struct bpf_program *program = hook_program(kern, hook);

		if (!hook_is_used(kern, hook))
			r = bpf_program__set_autoload(program, false);
		else if (hook_is_unix(hook))
			r = bpf_program__set_expected_attach_type(program,
								  (enum bpf_attach_type)hook->type);
	}
	return r;
}

static int hook_link(struct kern *kern, const struct kern_hook *hook, int cgroup_fd)
{
	return bpf_link_create(bpf_program__fd(hook_program(kern, hook)), cgroup_fd,
			       (enum bpf_attach_type)hook->type, NULL);
}

/* Attaches one hook and pins its link. */
static int hook_attach(struct kern *kern, const struct kern_hook *hook, int cgroup_fd,
		       const char *dir)
{
	int fd cleanup(fd_closep) = -1;
	char path[PATH_MAX];
	int r;

	r = kern_pins_path(path, dir, hook->name);
	if (r < 0)
		return r;
	fd = hook_link(kern, hook, cgroup_fd);
	if (fd < 0)
		return fd;
	r = bpf_obj_pin(fd, path);
	if (r < 0)
		/* Closing alone would detach only later. */
		(void)bpf_link_detach(fd);
	return r;
}

int kern_hooks_attach(struct kern *kern, const struct kern_hooks *hooks, int cgroup_fd, uint64_t id)
{
	char path[PATH_MAX];
	size_t i;
	int r;

	r = snprintf(path, sizeof(path), "%s/%s/%llu", kern->pin_dir, hooks->dir,
		     (unsigned long long)id);
	if (r < 0 || (size_t)r >= sizeof(path))
		return -ENAMETOOLONG;
	r = kern_pins_make_dir(path);
	for (i = 0; r == 0 && i < hooks->count; i++)
		if (hook_is_used(kern, &hooks->list[i]))
			r = hook_attach(kern, &hooks->list[i], cgroup_fd, path);
	if (r < 0)
		(void)kern_hooks_detach(path);
	return r;
}

int kern_hooks_adopt(struct kern *kern, const struct kern_hooks *hooks, const char *path,
		     uint64_t id)
{
	int cgroup_fd cleanup(fd_closep) = -1;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < hooks->count; i++) {
		const struct kern_hook *hook = &hooks->list[i];
		int fd cleanup(fd_closep) = -1;
		char link[PATH_MAX];

		if (!hook_is_used(kern, hook))
			continue;
		r = kern_pins_path(link, path, hook->name);
		if (r < 0)
			return r;
		fd = bpf_obj_get(link);
		if (fd >= 0) {
			r = bpf_link_update(fd, bpf_program__fd(hook_program(kern, hook)), NULL);
			continue;
		}
		if (fd != -ENOENT)
			return fd;
		/* The predecessor did not have this one. */
		if (cgroup_fd < 0)
			r = kern_cgroup_open_id(kern->mount_fd, id, &cgroup_fd);
		if (r == 0)
			r = hook_attach(kern, hook, cgroup_fd, path);
	}
	return r == -ESTALE ? -ENOLINK : r;
}

int kern_hooks_detach(const char *path)
{
	struct dirent *entry;
	DIR *dir = opendir(path);
	int r = 0;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while ((entry = readdir(dir))) {
		int fd cleanup(fd_closep) = -1;
		char link[PATH_MAX];

		if (entry->d_name[0] == '.' || kern_pins_path(link, path, entry->d_name) < 0)
			continue;
		fd = bpf_obj_get(link);
		/* Unpinning alone would detach only when the last reference is worked off. */
		if (fd >= 0)
			(void)bpf_link_detach(fd);
		if (unlink(link) < 0)
			r = -errno;
	}
	(void)closedir(dir);
	if (rmdir(path) < 0 && r == 0)
		r = -errno;
	return r;
}
