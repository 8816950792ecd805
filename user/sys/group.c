/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/group.h"

#include <errno.h>
#include <grp.h>
#include <stddef.h>

int group_find(const char *name, gid_t *ret_gid)
{
	const struct group *group;

	errno = 0;
	group = getgrnam(name);
	if (!group) {
		/* Of these errors getgrnam(3) says that some databases mean "not found" by them. */
		if (errno == ESRCH || errno == EBADF || errno == EPERM)
			return -ENOENT;
		return errno ? -errno : -ENOENT;
	}
	*ret_gid = group->gr_gid;
	return 0;
}
