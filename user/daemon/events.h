/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side tells: counted, refusals said and kept per watched cgroup. */
#ifndef SLUICE_DAEMON_EVENTS_H
#define SLUICE_DAEMON_EVENTS_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdint.h>

#include "base/macros.h"
#include "sluice/abi.h"

struct daemon;

struct kern_events {
	struct event readable;
	uint64_t counts[SLUICE_EVENT_REFUSED + 1]; /* by enum sluice_event_type */
};

int events_start(struct daemon *daemon) must_check;
void events_done(struct daemon *daemon);
/* Takes what is there now. */
void events_consume(struct daemon *daemon);

#endif
