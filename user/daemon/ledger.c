/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/ledger.h"

#include "core/exchange.h"
#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/stream.h"
#include "kern/kern.h"

_Static_assert(EXCHANGES_MAX <= SLUICE_SESSIONS_MAX, "the open sessions of a stream are counted");
_Static_assert(SESSION_RUNES_MAX <= UINT32_MAX, "runes fit their word");

void ledger_received(const struct flow *flow)
{
	kern_ledger_received(flow->stream->daemon->kern, flow->slot, flow->generation,
			     flow->received);
}

void ledger_released(const struct flow *flow)
{
	kern_ledger_released(flow->stream->daemon->kern, flow->slot, flow->generation,
			     flow->released);
}

static void count_runes(const struct flow *flow, uint64_t number, const struct session_state *state)
{
	const struct session_track_state *track = &state->track[flow->track];

	kern_ledger_runes(flow->stream->daemon->kern, flow->slot, flow->generation, number,
			  (uint32_t)track->received, (uint32_t)track->confirmed);
}

void ledger_judged(const struct flow *flow)
{
	struct session_state state;
	uint64_t number;

	if (exchanges_track_state(flow->stream->exchanges, flow->track, &number, &state))
		count_runes(flow, number, &state);
}

void ledger_begin(const struct stream *stream, uint64_t number)
{
	const struct flow *request = &stream->flows[SESSION_REQUEST];
	const struct session *before =
		number ? exchanges_session(stream->exchanges, number - 1) : NULL;
	struct session_state state;

	/* Its request may have come in the same piece, and is counted for the last time. */
	if (before) {
		session_get(before, &state);
		count_runes(request, number - 1, &state);
	}
	kern_ledger_begin(stream->daemon->kern, request->slot, request->generation, number);
}

static void publish(struct daemon *daemon, const struct ledger_end *end)
{
	if (end->of_stream)
		kern_stream_forget(daemon->kern, end->stream);
	else
		kern_ledger_end(daemon->kern, end->slot, end->generation, end->session);
}

void ledger_publish(struct daemon *daemon)
{
	struct ledger *ledger = &daemon->ledger;

	for (size_t i = 0; i < ledger->count; i++)
		publish(daemon, &ledger->ends[i]);
	ledger->count = 0;
}

static void add(struct daemon *daemon, const struct ledger_end *end)
{
	struct ledger *ledger = &daemon->ledger;

	/* Where the trail cannot be written, what it drops is counted there. */
	if (ledger->count == LEDGER_ENDS && audit_write(daemon))
		ledger_publish(daemon);
	ledger->ends[ledger->count++] = *end;
	if (!daemon->audit)
		ledger_publish(daemon);
}

void ledger_end(struct stream *stream, uint64_t number)
{
	const struct flow *response = &stream->flows[SESSION_RESPONSE];

	add(stream->daemon, &(struct ledger_end){.session = number,
						 .slot = response->slot,
						 .generation = response->generation});
}

void ledger_forget(struct stream *stream)
{
	add(stream->daemon,
	    &(struct ledger_end){.stream = stream->origin.stream, .of_stream = true});
}
