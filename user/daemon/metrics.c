/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/metrics.h"

#include <unistd.h>

#include "core/pipeline.h"
#include "daemon/daemon.h"
#include "daemon/flow.h"
#include "daemon/stream.h"
#include "kern/kern.h"
#include "sys/clock.h"

static struct metrics_track *track_of(const struct flow *flow)
{
	return &flow->stream->daemon->metrics.track[flow->track];
}

/* When the process began is told in ticks of the clock that goes on in a machine's sleep. */
void metrics_init(struct metrics *metrics)
{
	uint64_t ticks, per_second = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t age_ns = 0;

	if (!kern_owner_start(getpid(), &ticks))
		age_ns = clock_boot_ns() - ticks * (CLOCK_NS_PER_S / per_second);
	metrics->started_ns = clock_real_ms() * CLOCK_NS_PER_MS - age_ns;
}

void metrics_received(struct flow *flow, uint64_t bytes)
{
	track_of(flow)->bytes.received += bytes;
	if (flow->pipeline)
		age_add(&flow->metrics.age, flow->received, clock_boot_ns());
}

void metrics_adopted(struct flow *flow, uint64_t since_ns)
{
	uint64_t bytes = flow->received - flow->released;

	track_of(flow)->bytes.received += bytes;
	/* A mark of no bytes would age what comes next. */
	if (bytes)
		age_add(&flow->metrics.age, flow->received, since_ns);
}

void metrics_judged(struct flow *flow)
{
	struct metrics_amount *sum = &track_of(flow)->runes;
	uint64_t received = pipeline_runes(flow->pipeline);
	uint64_t released = pipeline_released_runes(flow->pipeline);

	sum->received += received - flow->metrics.runes_received;
	sum->released += released - flow->metrics.runes_released;
	flow->metrics.runes_received = received;
	flow->metrics.runes_released = released;
}

void metrics_released(struct flow *flow, uint64_t bytes)
{
	struct metrics_track *track = track_of(flow);
	uint64_t now_ns = clock_boot_ns(), since_ns;

	track->bytes.released += bytes;
	if (age_take(&flow->metrics.age, flow->released, &since_ns))
		histogram_observe(&track->hold, now_ns - since_ns);
	if (!flow->metrics.released_ns)
		flow->metrics.released_ns = now_ns;
}

void metrics_handed(struct flow *flow)
{
	uint64_t since_ns = flow->metrics.released_ns;

	if (!since_ns || flow->sent < flow->released)
		return;
	flow->metrics.released_ns = 0;
	histogram_observe(&track_of(flow)->latency, clock_boot_ns() - since_ns);
}

void metrics_withheld(struct flow *flow)
{
	struct metrics_track *track = track_of(flow);

	if (flow->pipeline)
		metrics_judged(flow);
	track->bytes.withheld += flow->received - flow->released;
	track->runes.withheld += flow->metrics.runes_received - flow->metrics.runes_released;
}

void metrics_ticked(struct daemon *daemon, uint64_t passed_ns, uint64_t interval_ns)
{
	histogram_observe(&daemon->metrics.lag,
			  passed_ns > interval_ns ? passed_ns - interval_ns : 0);
}
