/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/notify.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>
#include <time.h>
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

void notify_successor(pid_t pid)
{
	(void)sd_notifyf(0, "MAINPID=%d", (int)pid);
}

uint64_t notify_watchdog_us(void)
{
	uint64_t us = 0;

	return sd_watchdog_enabled(0, &us) > 0 ? us : 0;
}

void notify_watchdog(void)
{
	(void)sd_notify(0, "WATCHDOG=1");
}

void notify_reloading(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	(void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
			 (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

void notify_reloaded(void)
{
	(void)sd_notify(0, "READY=1");
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
