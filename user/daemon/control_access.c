/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask: root, and the groups that the command line names. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/control.h"
#include "daemon/daemon.h"
#include "sys/group.h"

static int find_group(const char *name, enum control_right right, struct control_group *ret_group,
		      char *error, size_t error_len)
{
	struct control_group group = {.name = name, .right = right};
	int r = group_find(name, &group.gid);

	if (r && r != -ENOENT) {
		(void)snprintf(error, error_len, "group '%.64s' cannot be looked up: %s", name,
			       strerror(-r));
		return r;
	}
	group.known = !r;
	*ret_group = group;
	return 0;
}

/* A private daemon is one command's, and that root's. */
int control_find_groups(struct daemon *daemon, char *error, size_t error_len)
{
	const struct options *options = daemon->options;
	struct control_group *groups = daemon->control.groups;
	int r;

	if (options->private_daemon)
		return 0;
	r = find_group(options->group, CONTROL_CHANGE, &groups[0], error, error_len);
	if (!r)
		r = find_group(options->view_group, CONTROL_READ, &groups[1], error, error_len);
	return r;
}

/*
 * The file admits root and the groups there are, so that the kernel refuses everybody else
 * before they cost anything. Where the file system has no access lists it admits all: who
 * may ask is decided by credentials in any case.
 */
int control_admit(const struct control *control, const char *path)
{
	gid_t gids[CONTROL_GROUPS];
	size_t count = 0;
	int r;

	for (size_t i = 0; i < CONTROL_GROUPS; i++)
		if (control->groups[i].known)
			gids[count++] = control->groups[i].gid;
	if (!count)
		return 0;
	r = unix_socket_admit(path, gids, count);
	if (r != -EOPNOTSUPP)
		return r;
	return chmod(path, 0666) ? -errno : 0;
}

enum control_right control_right_of(const struct control *control, int fd,
				    const struct unix_peer *peer)
{
	enum control_right right = peer->uid ? CONTROL_NOTHING : CONTROL_CHANGE;

	for (size_t i = 0; i < CONTROL_GROUPS; i++) {
		const struct control_group *group = &control->groups[i];

		if (group->known && right < group->right &&
		    unix_socket_peer_is_in(fd, peer, group->gid))
			right = group->right;
	}
	return right;
}
