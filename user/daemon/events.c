/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/events.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/feed.h"
#include "kern/kern.h"
#include "sys/log.h"

/* Which rule it was, of the policy that the kernel went by. */
static void explain(struct daemon *daemon, struct watch *watch, const struct sluice_event *event)
{
	const struct loaded_policy *loaded = policies_find(&daemon->policies, event->origin.policy);
	char text[ADVICE_LEN];

	if (watch && loaded && event->value == SLUICE_COUNT_REFUSED_DENIED &&
	    advice_format_denied(loaded->policy, &event->origin.peer, text, sizeof(text)))
		advice_note(&watch->advice, kern_counter_name(SLUICE_COUNT_REFUSED_DENIED), text);
}

static void refused(struct daemon *daemon, const struct sluice_event *event)
{
	struct watch *watch = watch_find(&daemon->watches, event->origin.cgroup);
	static const struct sluice_address nowhere;
	char peer[SETTLE_ADDRESS_LEN], comm[SLUICE_COMM_LEN + 1];
	bool has_peer = memcmp(&event->origin.peer, &nowhere, sizeof(nowhere)) != 0;

	/* A socket that was not let be made has no peer, and a Unix one no address of this kind. */
	settle_format_address(&event->origin.peer, peer, sizeof(peer));
	settle_format_comm(&event->origin, comm);
	feed_fence(daemon, watch, event);
	explain(daemon, watch, event);
	log_info("refused %s%s%s: pid %" PRIu32 " '%s' of '%s'",
		 kern_counter_name((enum sluice_counter)event->value), has_peer ? " to " : "",
		 has_peer ? peer : "", event->origin.pid, comm,
		 watch ? watch->path : "a cgroup no longer watched");
}

static void on_kern_event(void *context, const struct sluice_event *event)
{
	struct daemon *daemon = context;

	if (event->type >= ARRAY_SIZE(daemon->events.counts))
		return;
	daemon->events.counts[event->type]++;
	if (event->type == SLUICE_EVENT_REFUSED)
		refused(daemon, event);
}

void events_consume(struct daemon *daemon)
{
	(void)kern_events_consume(daemon->kern, on_kern_event, daemon);
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	events_consume(context);
}

int events_start(struct daemon *daemon)
{
	(void)event_assign(&daemon->events.readable, daemon->base, kern_events_fd(daemon->kern),
			   EV_READ | EV_PERSIST, on_readable, daemon);
	return event_add(&daemon->events.readable, NULL) ? -ENOMEM : 0;
}

void events_done(struct daemon *daemon)
{
	if (event_initialized(&daemon->events.readable))
		(void)event_del(&daemon->events.readable);
}
