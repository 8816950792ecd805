/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/netns.h"

#include <sys/stat.h>
#include <unistd.h>

/* Inode number of the initial user namespace (PROC_USER_INIT_INO). */
#define INITIAL_USER 0xEFFFFFFDu
/* A setting of the machine as a whole: the kernel shows it in the initial namespace alone. */
#define INITIAL_ONLY "/proc/sys/net/core/dev_weight"

bool netns_is_initial(void)
{
	struct stat user;

	return !stat("/proc/self/ns/user", &user) && user.st_ino == INITIAL_USER &&
	       !access(INITIAL_ONLY, F_OK);
}
