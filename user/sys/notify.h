/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells who started this process how it goes: the service manager by its own
 * protocol (sd_notify(3)), and a parent by a line on a descriptor it gave us.
 */
#ifndef SLUICE_SYS_NOTIFY_H
#define SLUICE_SYS_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ready_fd: -1 where there is none. */
void notify_ready(int ready_fd);
void notify_stopping(void);
/* Another process is the service from now on. */
void notify_successor(pid_t pid);
/* Around reading the configuration anew (Type=notify-reload, systemd.service(5)). */
void notify_reloading(void);
void notify_reloaded(void);
/*
 * Microseconds within which notify_watchdog() has to be called again; 0 where the
 * service manager does not ask for it (sd_watchdog_enabled(3)).
 */
uint64_t notify_watchdog_us(void);
void notify_watchdog(void);
/* "error: LINE" on ready_fd, and as status to the service manager. */
void notify_failed(int ready_fd, const char *line);
/* Whether the other end of ready_fd, a pipe or a socket, is closed. */
bool notify_hung_up(int ready_fd);

#endif
