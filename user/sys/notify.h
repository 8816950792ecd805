/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells who started this process how it goes: the service manager by its own
 * protocol (sd_notify(3)), and a parent by a line on a descriptor it gave us.
 */
#ifndef SLUICE_SYS_NOTIFY_H
#define SLUICE_SYS_NOTIFY_H

#include <stdbool.h>

/* ready_fd: -1 where there is none. */
void notify_ready(int ready_fd);
void notify_stopping(void);
/* "error: LINE" on ready_fd, and as status to the service manager. */
void notify_failed(int ready_fd, const char *line);
/* Whether the other end of ready_fd, a pipe or a socket, is closed. */
bool notify_hung_up(int ready_fd);

#endif
