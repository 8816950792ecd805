/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the kernel side told whether this namespace has a way out, per family. */
#ifndef SLUICE_DAEMON_ROUTES_H
#define SLUICE_DAEMON_ROUTES_H

#include <event2/event.h>
#include <event2/event_struct.h>

#include "base/macros.h"

struct daemon;

struct routes {
	int fd;
	struct event readable, settle;
};

void routes_init(struct routes *routes);
/* Publishes what is there now and follows it. */
int routes_start(struct daemon *daemon) must_check;
void routes_done(struct routes *routes);

#endif
