/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/notify.h"

#include <poll.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

void notify_ready(int ready_fd)
{
	(void)sd_notify(0, "READY=1");
	if (ready_fd >= 0)
		(void)dprintf(ready_fd, "ready\n");
}

void notify_stopping(void)
{
	(void)sd_notify(0, "STOPPING=1");
}

void notify_failed(int ready_fd, const char *line)
{
	(void)sd_notifyf(0, "STATUS=%s", line);
	if (ready_fd >= 0)
		(void)dprintf(ready_fd, "error: %s\n", line);
}

bool notify_hung_up(int ready_fd)
{
	struct pollfd poll_fd = {.fd = ready_fd, .events = POLLRDHUP};

	return poll(&poll_fd, 1, 0) > 0 &&
	       (poll_fd.revents & (POLLHUP | POLLERR | POLLRDHUP | POLLNVAL));
}
