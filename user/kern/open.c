/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kern/internal.h"
#include "sys/fd.h"

int kern_fail(const struct kern_error *error, int r, const char *format, ...)
{
	va_list args;

	if (error->line && error->len) {
		va_start(args, format);
		(void)vsnprintf(error->line, error->len, format, args);
		va_end(args);
	}
	return r;
}

/* What the caller is told where a step failed for want of privileges or of a feature. */
static int fail_load(const struct kern_error *error, int r)
{
	struct kern_feature features[64];
	size_t count, i;

	if (r == -EPERM || r == -EACCES)
		return kern_fail(error, -EPERM, "the kernel refused BPF programs (%s); run as root",
				 strerror(-r));
	count = kern_probe(features, ARRAY_SIZE(features));
	for (i = 0; i < count; i++)
		if (features[i].required && !features[i].present)
			return kern_fail(error, -EOPNOTSUPP,
					 "this kernel lacks %s (%s): Linux 6.1 or later is needed; "
					 "see `sluicectl doctor`",
					 features[i].name, features[i].use);
	return kern_fail(error, r, "the kernel refused the BPF programs: %s", strerror(-r));
}

static int check_dir(const char *pin_dir, const struct kern_error *error)
{
	int r = kern_pins_make_dir(pin_dir);

	switch (r) {
	case 0:
		return 0;
	case -EACCES:
	case -EPERM:
		return kern_fail(error, -EPERM, "cannot make '%s': %s; run as root", pin_dir,
				 strerror(-r));
	case -EINVAL:
		return kern_fail(error, r,
				 "'%s' has a dot in a name, which a bpf file system refuses",
				 pin_dir);
	case -ENOTSUP:
		return kern_fail(error, -EOPNOTSUPP,
				 "'%s' is not on a bpf file system; mount one there: "
				 "mount -t bpf bpf /sys/fs/bpf",
				 pin_dir);
	default:
		return kern_fail(error, r, "cannot make '%s': %s", pin_dir, strerror(-r));
	}
}

/* Decides whether there are pins to adopt; clears what a start left that never finished. */
static int check_owner(const char *pin_dir, pid_t predecessor, bool *ret_adopt,
		       const struct kern_error *error)
{
	struct kern_owner owner;
	int r = kern_owner_read(pin_dir, &owner);

	if (r == -ENOENT) {
		if (!kern_pins_are_empty(pin_dir)) {
			r = kern_remove_all(pin_dir);
			if (r == 0)
				r = kern_pins_make_dir(pin_dir);
			if (r < 0)
				return kern_fail(error, r,
						 "cannot clear the unfinished pins in '%s': %s",
						 pin_dir, strerror(-r));
		}
		*ret_adopt = false;
		return 0;
	}
	if (r == -EACCES || r == -EPERM)
		return kern_fail(error, -EPERM, "cannot read the pins in '%s': %s; run as root",
				 pin_dir, strerror(-r));
	if (r == -ENOSYS)
		return kern_fail(error, r, "this kernel has no BPF: Linux 6.1 or later is needed");
	if (r < 0)
		return kern_fail(error, r, "cannot read the pins in '%s': %s", pin_dir,
				 strerror(-r));
	if (predecessor && (!owner.alive || owner.pid != (uint32_t)predecessor))
		return kern_fail(error, -ESRCH, "the pins in '%s' are not those of process %d",
				 pin_dir, (int)predecessor);
	if (owner.alive && !predecessor)
		return kern_fail(error, -EBUSY,
				 "the pins in '%s' belong to a running daemon (pid %u); stop it "
				 "first, or choose another instance",
				 pin_dir, owner.pid);
	if (owner.abi != SLUICE_ABI_VERSION)
		return kern_fail(
			error, -EPROTO,
			"the pins in '%s' are of ABI %u, this daemon speaks %u; clear them "
			"with `sluiced --instance %s --remove`",
			pin_dir, owner.abi, SLUICE_ABI_VERSION, error->instance);
	*ret_adopt = true;
	return 0;
}

static bool map_fits(const struct bpf_map *map, const struct bpf_map_info *info)
{
	return info->type == bpf_map__type(map) && info->key_size == bpf_map__key_size(map) &&
	       info->value_size == bpf_map__value_size(map) &&
	       info->max_entries == bpf_map__max_entries(map) &&
	       info->map_flags == bpf_map__map_flags(map);
}

/* Takes a predecessor's map in place of a new one. -EPROTO: it is none of ours. */
static int map_adopt(struct bpf_map *map, const char *pin_dir)
{
	struct bpf_map_info info;
	int fd cleanup(fd_closep) = kern_pins_open_map(pin_dir, bpf_map__name(map), &info);

	if (fd < 0)
		return fd;
	return map_fits(map, &info) ? bpf_map__reuse_fd(map, fd) : -EPROTO;
}

static int maps_adopt(struct kern *kern, const struct kern_error *error)
{
	struct bpf_map *map;
	int r;

	bpf_object__for_each_map(map, kern->skel->obj)
	{
		r = map_adopt(map, kern->pin_dir);
		if (r == -EPROTO || r == -ENOENT)
			return kern_fail(error, -EPROTO,
					 "the pinned map '%s' in '%s' is %s; clear the pins with "
					 "`sluiced --instance %s --remove`",
					 bpf_map__name(map), kern->pin_dir,
					 r == -ENOENT ? "missing" : "of another layout",
					 error->instance);
		if (r < 0)
			return kern_fail(error, r, "cannot take over the map '%s': %s",
					 bpf_map__name(map), strerror(-r));
	}
	return 0;
}

static int map_pin(const struct bpf_map *map, const char *pin_dir)
{
	char path[PATH_MAX];
	int r = kern_pins_path(path, pin_dir, bpf_map__name(map));

	return r < 0 ? r : bpf_obj_pin(bpf_map__fd(map), path);
}

/* All but the configuration, which says that the pins are whole. */
static int maps_pin(struct kern *kern)
{
	struct bpf_map *map;
	int r = 0;

	bpf_object__for_each_map(map, kern->skel->obj)
	{
		if (map != kern->skel->maps.config)
			r = map_pin(map, kern->pin_dir);
		if (r < 0)
			break;
	}
	return r;
}

static int load(struct kern *kern, bool adopt, const struct kern_error *error)
{
	int r;

	kern->skel = sluice_bpf__open();
	if (!kern->skel)
		return kern_fail(error, -errno, "cannot open the BPF programs: %s",
				 strerror(errno));
	kern->has_unix_hooks = kern_probe_unix_hooks();
	r = kern_hooks_prepare(kern);
	if (r < 0)
		return kern_fail(error, r, "cannot prepare the BPF programs: %s", strerror(-r));
	if (adopt) {
		r = maps_adopt(kern, error);
		if (r < 0)
			return r;
	}
	r = sluice_bpf__load(kern->skel);
	return r < 0 ? fail_load(error, r) : 0;
}

struct gate_adoption {
	struct kern *kern;
	bool found; /* the daemon's own cgroup among them */
};

/*
 * Gates of a predecessor's other cgroup stay as long as it, or a socket made in
 * it, is there: what they hold must not get loose.
 */
static int gate_adopt(void *context, const char *path, uint64_t id)
{
	struct gate_adoption *adoption = context;
	int r = kern_hooks_adopt(adoption->kern, &kern_gate_hooks, path, id);

	if (r == -ENOLINK)
		return kern_hooks_detach(path);
	if (r == 0 && id == adoption->kern->daemon_id)
		adoption->found = true;
	return r;
}

static int gate_attach(struct kern *kern, bool adopt)
{
	struct gate_adoption adoption = {.kern = kern};
	char path[PATH_MAX];
	int r;

	if (adopt) {
		r = kern_pins_path(path, kern->pin_dir, kern_gate_hooks.dir);
		if (r == 0)
			r = kern_pins_each_id(path, gate_adopt, &adoption);
		if (r < 0 || adoption.found)
			return r;
	}
	return kern_hooks_attach(kern, &kern_gate_hooks, kern->mount_fd, kern->daemon_id);
}

static int map_clear(const struct bpf_map *map)
{
	char key[sizeof(struct sluice_origin_key)];
	int fd = bpf_map__fd(map), r;

	while ((r = bpf_map_get_next_key(fd, NULL, key)) == 0) {
		r = bpf_map_delete_elem(fd, key);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return r == -ENOENT ? 0 : r;
}

/* Everything that needs the maps; what a predecessor knew of the network is not believed. */
static int begin(struct kern *kern)
{
	int r;

	_Static_assert(sizeof(struct sluice_route_key) <= sizeof(struct sluice_origin_key),
		       "the key of any map that is cleared");
	/* Of one that hands over they are what holds now. */
	r = kern->predecessor ? 0 : map_clear(kern->skel->maps.routes);
	if (r == 0 && !kern->predecessor)
		r = map_clear(kern->skel->maps.upstreams);
	if (r == 0)
		r = kern_streams_begin(kern);
	if (r == 0)
		r = kern_streams_load(kern);
	if (r == 0)
		r = kern_slots_init(kern);
	if (r == 0)
		r = kern_ledgers_init(kern);
	if (r == 0)
		r = kern_events_init(kern);
	return r;
}

static int take_on(struct kern *kern, const struct kern_options *options,
		   const struct kern_error *error)
{
	bool adopt = kern->adopts;
	int r;

	r = begin(kern);
	if (r < 0)
		return kern_fail(error, r, "cannot set up the BPF maps: %s", strerror(-r));
	if (!adopt) {
		r = maps_pin(kern);
		if (r < 0)
			return kern_fail(error, r, "cannot pin maps in '%s': %s", kern->pin_dir,
					 strerror(-r));
	}
	r = gate_attach(kern, adopt);
	if (r < 0)
		return kern_fail(error, r,
				 "the kernel did not attach the gate to '%s': %s; see "
				 "`sluicectl doctor`",
				 options->daemon_cgroup, strerror(-r));
	if (adopt) {
		r = kern_watches_adopt(kern);
		if (r < 0)
			return kern_fail(error, r, "cannot take over the watched cgroups: %s",
					 strerror(-r));
	}
	r = kern_owner_write(kern, options->listen_port, true);
	kern->owns = r == 0;
	if (r == 0 && !adopt)
		r = map_pin(kern->skel->maps.config, kern->pin_dir);
	if (r < 0)
		return kern_fail(error, r, "cannot write the configuration: %s", strerror(-r));
	return 0;
}

/* Frees everything but what is pinned. */
static void kern_free(struct kern *kern)
{
	if (!kern)
		return;
	ring_buffer__free(kern->rings);
	kern_slots_done(kern);
	kern_ledgers_done(kern);
	sluice_bpf__destroy(kern->skel);
	fd_close(kern->mount_fd);
	fd_close(kern->lock_fd);
	free(kern->watched);
	free(kern->left);
	free(kern->pin_dir);
	free(kern);
}

static int kern_new(const struct kern_options *options, struct kern **ret_kern)
{
	struct kern *kern = calloc(1, sizeof(*kern));

	if (!kern)
		return -ENOMEM;
	kern->mount_fd = kern->lock_fd = -1;
	kern->predecessor = options->predecessor;
	kern->pin_dir = strdup(options->pin_dir);
	kern->watched = calloc(SLUICE_WATCHES, sizeof(*kern->watched));
	if (!kern->pin_dir || !kern->watched) {
		kern_free(kern);
		return -ENOMEM;
	}
	*ret_kern = kern;
	return 0;
}

/* The directory, the lock on it, and the programs. */
static int prepare_on(struct kern *kern, const struct kern_options *options,
		      const struct kern_error *error)
{
	int r = check_dir(options->pin_dir, error);

	if (r < 0)
		return r;
	kern->lock_fd = kern_pins_lock(options->pin_dir);
	if (kern->lock_fd < 0)
		return kern_fail(error, kern->lock_fd, "another daemon is starting on '%s'",
				 options->pin_dir);
	r = check_owner(options->pin_dir, options->predecessor, &kern->adopts, error);
	if (r < 0) {
		/* Made above where it was not there; with pins in it it stays. */
		(void)rmdir(options->pin_dir);
		return r;
	}
	r = load(kern, kern->adopts, error);
	if (r < 0 && !kern->adopts)
		(void)kern_remove_all(options->pin_dir);
	return r;
}

int kern_prepare(const struct kern_options *options, struct kern **ret_kern, char *error,
		 size_t error_len)
{
	const struct kern_error line = {error, error_len, options->instance};
	struct kern *kern;
	int r;

	libbpf_set_print(NULL);
	r = kern_new(options, &kern);
	if (r < 0)
		return kern_fail(&line, r, "out of memory");
	r = kern_cgroup_open(options->daemon_cgroup, &kern->mount_fd, &kern->daemon_id);
	if (r < 0)
		(void)kern_fail(&line, r, "'%s' is no cgroup v2 directory: %s",
				options->daemon_cgroup, strerror(-r));
	else
		r = prepare_on(kern, options, &line);
	if (r < 0) {
		kern_free(kern);
		return r;
	}
	*ret_kern = kern;
	return 0;
}

int kern_take(struct kern *kern, const struct kern_options *options, char *error, size_t error_len)
{
	const struct kern_error line = {error, error_len, options->instance};
	int r = take_on(kern, options, &line);

	if (r == 0)
		fd_close(take_fd(kern->lock_fd));
	return r;
}

int kern_open(const struct kern_options *options, struct kern **ret_kern, char *error,
	      size_t error_len)
{
	struct kern *kern;
	int r = kern_prepare(options, &kern, error, error_len);

	if (r < 0)
		return r;
	r = kern_take(kern, options, error, error_len);
	if (r < 0) {
		if (!kern->adopts)
			(void)kern_remove_all(options->pin_dir);
		kern_free(kern);
		return r;
	}
	*ret_kern = kern;
	return 0;
}

void kern_leave(struct kern *kern)
{
	kern_free(kern);
}

void kern_close(struct kern *kern)
{
	if (!kern)
		return;
	/* The pins then look like those of a killed daemon, to its successor too. */
	if (kern->owns)
		(void)kern_owner_write(kern, 0, false);
	kern_free(kern);
}
