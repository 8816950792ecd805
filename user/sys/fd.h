/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that close themselves; -1 is none. */
#ifndef SLUICE_SYS_FD_H
#define SLUICE_SYS_FD_H

#include <unistd.h>

#include "base/macros.h"

static inline void fd_close(int fd)
{
	if (fd >= 0)
		(void)close(fd);
}
DEFINE_CLEANUP(int, fd_close)

/* Hands the descriptor on: the cleanup then finds none. */
#define take_fd(fd)                  \
	({                           \
		int take_fd_ = (fd); \
		(fd) = -1;           \
		take_fd_;            \
	})

#endif
