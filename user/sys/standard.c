/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <unistd.h>

int standard_open(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* The lowest free number is this one; opened for what it is not used for. */
		if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return -errno;
	}
	return 0;
}

int standard_close(void)
{
	bool failed = ferror(stdout) != 0, pending = __fpending(stdout) != 0;

	/* That somebody has closed the descriptor is no loss where there is nothing to write. */
	failed |= fclose(stdout) && (pending || errno != EBADF);
	return failed ? -EIO : 0;
}
