/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of an accepted connection. */
#ifndef SLUICE_DAEMON_ACCEPT_H
#define SLUICE_DAEMON_ACCEPT_H

#include <stdbool.h>

struct daemon;

/*
 * Accepts one connection of a listener and decides on it. false: there was none, or
 * accepting rests.
 */
bool accept_one(struct daemon *daemon, int listener_fd);

#endif
