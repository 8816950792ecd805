/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kern/internal.h"

static const char *const counter_names[] = {
	[SLUICE_COUNT_CAPTURED] = "captured",
	[SLUICE_COUNT_REFUSED_NO_LISTENER] = "refused_no_listener",
	[SLUICE_COUNT_REFUSED_DENIED] = "refused_denied",
	[SLUICE_COUNT_REFUSED_NO_ROUTE] = "refused_no_route",
	[SLUICE_COUNT_REFUSED_LISTENER_PORT] = "refused_listener_port",
	[SLUICE_COUNT_REFUSED_NO_EVENT] = "refused_no_event",
	[SLUICE_COUNT_REFUSED_INTERNAL] = "refused_internal",
	[SLUICE_COUNT_REFUSED_BIND] = "refused_bind",
	[SLUICE_COUNT_ORIGIN_LOST] = "origin_lost",
	[SLUICE_COUNT_PASSED_PACKETS] = "passed_packets",
	[SLUICE_COUNT_HELD_PACKETS] = "held_packets",
	[SLUICE_COUNT_HELD_BYTES] = "held_bytes",
	[SLUICE_COUNT_DROPPED_UNMARKED] = "dropped_unmarked",
	[SLUICE_COUNT_DROPPED_UNPARSED] = "dropped_unparsed",
	[SLUICE_COUNT_DROPPED_NO_BASE] = "dropped_no_base",
	[SLUICE_COUNT_DROPPED_GENERATION] = "dropped_generation",
	[SLUICE_COUNT_DROPPED_SLOT] = "dropped_slot",
	[SLUICE_COUNT_RING_FULL] = "ring_full",
	[SLUICE_COUNT_FENCE_RING_FULL] = "fence_ring_full",
	[SLUICE_COUNT_FENCE_TCP] = "fence_tcp",
	[SLUICE_COUNT_FENCE_UDP] = "fence_udp",
	[SLUICE_COUNT_FENCE_SOCKET] = "fence_socket",
	[SLUICE_COUNT_FENCE_PROTOCOL] = "fence_protocol",
	[SLUICE_COUNT_FENCE_UNIX] = "fence_unix",
	[SLUICE_COUNT_PACED] = "paced",
	[SLUICE_COUNT_REFUSED_NO_PEER] = "refused_no_peer",
	[SLUICE_COUNT_FENCE_DIVERTED] = "fence_diverted",
};
_Static_assert(ARRAY_SIZE(counter_names) == _SLUICE_COUNTER_MAX, "every counter has a name");

const char *kern_counter_name(enum sluice_counter counter)
{
	if ((size_t)counter >= ARRAY_SIZE(counter_names))
		return "unknown";
	return counter_names[counter];
}

int kern_counters(const struct kern *kern, uint64_t ret_counters[_SLUICE_COUNTER_MAX])
{
	int fd = bpf_map__fd(kern->skel->maps.counters);
	uint64_t sums[_SLUICE_COUNTER_MAX] = {0};
	int cpus = libbpf_num_possible_cpus(), cpu;
	uint64_t *values;
	__u32 which;
	int r = 0;

	if (cpus < 0)
		return cpus;
	values = calloc((size_t)cpus, sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (which = 0; r == 0 && which < _SLUICE_COUNTER_MAX; which++) {
		r = bpf_map_lookup_elem(fd, &which, values);
		for (cpu = 0; r == 0 && cpu < cpus; cpu++)
			sums[which] += values[cpu];
	}
	free(values);
	if (r < 0)
		return r;
	memcpy(ret_counters, sums, sizeof(sums));
	return 0;
}

int kern_refusals(const struct kern *kern, uint64_t cgroup,
		  uint64_t ret_counters[_SLUICE_COUNTER_MAX])
{
	int fd = bpf_map__fd(kern->skel->maps.refusals);
	struct sluice_refusal_key key = {.cgroup = cgroup};
	uint64_t counts[_SLUICE_COUNTER_MAX] = {0};
	struct sluice_refusals refusals;
	int r;

	for (; key.kind < _SLUICE_COUNTER_MAX; key.kind++) {
		r = bpf_map_lookup_elem(fd, &key, &refusals);
		if (r < 0 && r != -ENOENT)
			return r;
		if (r == 0)
			counts[key.kind] = refusals.count;
	}
	memcpy(ret_counters, counts, sizeof(counts));
	return 0;
}

void kern_refusals_forget(struct kern *kern, uint64_t cgroup)
{
	int fd = bpf_map__fd(kern->skel->maps.refusals);
	struct sluice_refusal_key key = {.cgroup = cgroup};

	for (; key.kind < _SLUICE_COUNTER_MAX; key.kind++)
		(void)bpf_map_delete_elem(fd, &key);
}
