/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kern/internal.h"
#include "sys/fd.h"

/* context: a struct kern_opened, or NULL. */
static int detach_watch(void *context, const char *path, uint64_t id)
{
	const struct kern_opened *opened = context;
	int r = kern_hooks_detach(path), mount cleanup(fd_closep) = -1;
	char cgroup[PATH_MAX];

	if (r || !opened)
		return r;
	mount = open(opened->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mount >= 0 && !kern_cgroup_path(mount, id, cgroup, sizeof(cgroup)))
		opened->tell(cgroup);
	return 0;
}

/* Twice, since a socket may finish its handshake meanwhile. */
static int destroy_gated(void *context, const char *path, uint64_t id)
{
	size_t left;
	int r;

	(void)context;
	(void)path;
	r = kern_diag_destroy_cgroup(id, false, &left);
	if (r == 0 && left)
		r = kern_diag_destroy_cgroup(id, false, &left);
	if (r < 0)
		return r;
	return left ? -EBUSY : 0;
}

static int detach_gate(void *context, const char *path, uint64_t id)
{
	(void)context;
	(void)id;
	return kern_hooks_detach(path);
}

static int in_dir(const char *pin_dir, const char *name,
		  int (*each)(void *context, const char *path, uint64_t id), void *context)
{
	char path[PATH_MAX];
	int r = kern_pins_path(path, pin_dir, name);

	return r < 0 ? r : kern_pins_each_id(path, each, context);
}

static int remove_dir(const char *pin_dir, const char *name)
{
	char path[PATH_MAX];
	int r = kern_pins_path(path, pin_dir, name);

	if (r == 0 && rmdir(path) < 0 && errno != ENOENT)
		r = -errno;
	return r;
}

static int remove_all(const char *pin_dir, const struct kern_opened *opened)
{
	int r;

	r = in_dir(pin_dir, kern_watch_hooks.dir, detach_watch, (void *)opened);
	if (r == 0)
		r = in_dir(pin_dir, kern_gate_hooks.dir, destroy_gated, NULL);
	if (r == 0)
		r = kern_pins_remove_maps(pin_dir);
	/* The gate last: without it, what a gated socket holds would leave at its next push. */
	if (r == 0)
		r = in_dir(pin_dir, kern_gate_hooks.dir, detach_gate, NULL);
	if (r == 0)
		r = remove_dir(pin_dir, kern_watch_hooks.dir);
	if (r == 0)
		r = remove_dir(pin_dir, kern_gate_hooks.dir);
	if (r == 0 && rmdir(pin_dir) < 0 && errno != ENOENT)
		r = -errno;
	return r;
}

int kern_remove_all(const char *pin_dir)
{
	return remove_all(pin_dir, NULL);
}

int kern_remove(struct kern *kern)
{
	int r = kern_remove_all(kern->pin_dir);

	kern_close(kern);
	return r;
}

int kern_remove_pins(const char *pin_dir, const struct kern_opened *opened, char *error,
		     size_t error_len)
{
	const struct kern_error line = {error, error_len, NULL};
	struct kern_owner owner;
	int lock cleanup(fd_closep) = -1;
	int r;

	lock = kern_pins_lock(pin_dir);
	if (lock == -ENOENT)
		return kern_fail(&line, -ENOENT, "nothing is pinned in '%s'", pin_dir);
	if (lock == -EBUSY)
		return kern_fail(&line, -EBUSY, "another daemon is starting on '%s'", pin_dir);
	if (lock < 0)
		return kern_fail(&line, lock, "cannot open '%s': %s; run as root", pin_dir,
				 strerror(-lock));
	r = kern_owner_read(pin_dir, &owner);
	if (r == 0 && owner.alive)
		return kern_fail(
			&line, -EBUSY,
			"the pins in '%s' belong to a running daemon (pid %u); stop it first",
			pin_dir, owner.pid);
	if (r < 0 && r != -ENOENT)
		return kern_fail(&line, r, "cannot read the pins in '%s': %s", pin_dir,
				 strerror(-r));
	r = remove_all(pin_dir, opened);
	if (r == -EBUSY)
		return kern_fail(
			&line, r,
			"sockets of the dead daemon could not be destroyed; its gate stays");
	if (r < 0)
		return kern_fail(&line, r, "cannot remove the pins in '%s': %s", pin_dir,
				 strerror(-r));
	return 0;
}
