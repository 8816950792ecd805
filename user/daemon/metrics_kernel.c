/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/daemon.h"
#include "daemon/metrics_internal.h"
#include "kern/kern.h"

enum group {
	CAPTURED,
	REFUSED,
	PACED,
	ORIGINS,
	RINGS,
	PASSED,
	HELD,
	HELD_BYTES,
	DROPPED,
	_GROUP_MAX
};

static const struct {
	struct metrics_family family;
	const char *label; /* NULL: it has one value */
} groups[_GROUP_MAX] = {
	[CAPTURED] = {{"sluice_captured_connections", NULL, METRICS_COUNTER,
		       "Connections of watched cgroups that were steered to the daemon"},
		      NULL},
	[REFUSED] = {{"sluice_fence_refusals", NULL, METRICS_COUNTER,
		      "What the kernel refused to watched cgroups, by kind"},
		     "kind"},
	[PACED] = {{"sluice_paced_connections", NULL, METRICS_COUNTER,
		    "Connections past the share of their cgroup, refused for the moment"},
		   NULL},
	[ORIGINS] = {{"sluice_origins_lost", NULL, METRICS_COUNTER,
		      "Accepted connections of which nothing is known, which are reset"},
		     NULL},
	[RINGS] = {{"sluice_ring_losses", NULL, METRICS_COUNTER,
		    "Events of the kernel that found their ring full"},
		   "ring"},
	[PASSED] = {{"sluice_gate_passed_packets", NULL, METRICS_COUNTER,
		     "Packets of streams with payload below the release offset"},
		    NULL},
	[HELD] = {{"sluice_gate_held_packets", NULL, METRICS_COUNTER,
		   "Packets that the gate held back, each time that they were tried"},
		  NULL},
	[HELD_BYTES] = {{"sluice_gate_held_bytes", "bytes", METRICS_COUNTER,
			 "Payload of the packets that the gate held back"},
			NULL},
	[DROPPED] = {{"sluice_gate_dropped_packets", NULL, METRICS_COUNTER,
		      "Packets of the daemon that no rule lets out"},
		     "reason"},
};

static const struct {
	enum group group;
	const char *value; /* of the label */
} places[] = {
	[SLUICE_COUNT_CAPTURED] = {CAPTURED, NULL},
	[SLUICE_COUNT_REFUSED_NO_LISTENER] = {REFUSED, "no_listener"},
	[SLUICE_COUNT_REFUSED_DENIED] = {REFUSED, "destination"},
	[SLUICE_COUNT_REFUSED_NO_ROUTE] = {REFUSED, "no_route"},
	[SLUICE_COUNT_REFUSED_LISTENER_PORT] = {REFUSED, "listener_port"},
	[SLUICE_COUNT_REFUSED_NO_EVENT] = {REFUSED, "no_event"},
	[SLUICE_COUNT_REFUSED_INTERNAL] = {REFUSED, "internal"},
	[SLUICE_COUNT_REFUSED_BIND] = {REFUSED, "bind"},
	[SLUICE_COUNT_ORIGIN_LOST] = {ORIGINS, NULL},
	[SLUICE_COUNT_PASSED_PACKETS] = {PASSED, NULL},
	[SLUICE_COUNT_HELD_PACKETS] = {HELD, NULL},
	[SLUICE_COUNT_HELD_BYTES] = {HELD_BYTES, NULL},
	[SLUICE_COUNT_DROPPED_UNMARKED] = {DROPPED, "unmarked"},
	[SLUICE_COUNT_DROPPED_UNPARSED] = {DROPPED, "unparsed"},
	[SLUICE_COUNT_DROPPED_NO_BASE] = {DROPPED, "no_base"},
	[SLUICE_COUNT_DROPPED_GENERATION] = {DROPPED, "generation"},
	[SLUICE_COUNT_DROPPED_SLOT] = {DROPPED, "slot"},
	[SLUICE_COUNT_RING_FULL] = {RINGS, "events"},
	[SLUICE_COUNT_FENCE_RING_FULL] = {RINGS, "fence"},
	[SLUICE_COUNT_FENCE_TCP] = {REFUSED, "tcp"},
	[SLUICE_COUNT_FENCE_UDP] = {REFUSED, "udp"},
	[SLUICE_COUNT_FENCE_SOCKET] = {REFUSED, "socket"},
	[SLUICE_COUNT_FENCE_PROTOCOL] = {REFUSED, "protocol"},
	[SLUICE_COUNT_FENCE_UNIX] = {REFUSED, "unix"},
	[SLUICE_COUNT_PACED] = {PACED, NULL},
	[SLUICE_COUNT_REFUSED_NO_PEER] = {REFUSED, "no_peer"},
	[SLUICE_COUNT_FENCE_DIVERTED] = {REFUSED, "diverted"},
};
_Static_assert(ARRAY_SIZE(places) == _SLUICE_COUNTER_MAX, "every counter has its metric");

static void write_group(struct metrics_text *text, enum group group,
			const uint64_t counters[_SLUICE_COUNTER_MAX])
{
	metrics_text_family(text, &groups[group].family);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (places[i].group != group)
			continue;
		if (groups[group].label)
			metrics_text_count(text,
					   METRICS_LABELS({groups[group].label, places[i].value}),
					   counters[i]);
		else
			metrics_text_count(text, METRICS_NO_LABELS, counters[i]);
	}
}

/* Without the counters, which only a broken kernel side withholds, there are no such families. */
void metrics_write_kernel(struct metrics_text *text, const struct daemon *daemon)
{
	uint64_t counters[_SLUICE_COUNTER_MAX];

	if (kern_counters(daemon->kern, counters))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		counters[i] -= daemon->selftest_counters[i];
	for (int group = 0; group < _GROUP_MAX; group++)
		write_group(text, (enum group)group, counters);
}
