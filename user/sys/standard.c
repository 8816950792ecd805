/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <unistd.h>

#include "sys/log.h"

/* What is closed fails to read and to write from then on. */
static int open_all(void)
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

/* -EIO: not all was written; the cause may be that of an earlier write, and is not known any more. */
static int close_output(void)
{
	bool failed = ferror(stdout) != 0, pending = __fpending(stdout) != 0;

	/* That somebody has closed the descriptor is no loss where there is nothing to write. */
	failed |= fclose(stdout) && (pending || errno != EBADF);
	return failed ? -EIO : 0;
}

int standard_main(const char *program, int (*body)(int argc, char **argv), int argc, char **argv)
{
	int r, status;

	log_open(program, LOG_INFO);
	r = open_all();
	if (r) {
		(void)log_errno(LOG_ERR, r, "cannot open /dev/null");
		return EXIT_FAILURE;
	}
	status = body(argc, argv);
	/* What could not be written was not done. */
	r = close_output();
	if (r)
		log_error("cannot write all of standard output: a full disk, or a closed pipe");
	return r && status == EXIT_SUCCESS ? EXIT_FAILURE : status;
}
