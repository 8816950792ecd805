/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/refusing.h"

#include <errno.h>
#include <stdlib.h>

#include "core/exchange.h"
#include "core/pipeline.h"
#include "daemon/audit.h"
#include "daemon/limits.h"
#include "daemon/policies.h"
#include "daemon/stream.h"
#include "sys/clock.h"

/* Between messages: is there a request that a message of ours would answer? */
static bool may_answer(struct stream *stream, const struct flow *flow, enum fault fault)
{
	const struct flow *response = &stream->flows[SESSION_RESPONSE];
	const struct http1_request *due = exchanges_due(stream->exchanges);

	if (!due)
		return false;
	/* The request that is refused is the last: those before it wait for their own answers. */
	if (flow == &stream->flows[SESSION_REQUEST] && exchanges_open(stream->exchanges) != 1)
		return false;
	/* The server closed without a word. The agent sees just that. */
	if (flow == response && fault == FAULT_TRUNCATED &&
	    response->received == pipeline_framed(response->pipeline))
		return false;
	stream->refusing.head_request = due->head;
	return true;
}

void refusing_find(struct stream *stream, const struct flow *flow, enum fault fault)
{
	const struct flow *response = &stream->flows[SESSION_RESPONSE];
	struct refusal_mark mark;

	stream->refusing = (struct refusing){.mark = {.place = REFUSAL_NONE}};
	if (stream->policy->policy->on_deny != POLICY_REFUSE || stream->state != STREAM_OPEN ||
	    !response->pipeline || stream->agent.shut || stream->agent.broken)
		return;
	mark = pipeline_mark(response->pipeline);
	if (mark.place != REFUSAL_MESSAGE || may_answer(stream, flow, fault))
		stream->refusing.mark = mark;
}

void refusing_begin(struct stream *stream, const char *reason, const char *task)
{
	struct refusing *refusing = &stream->refusing;
	uint8_t *bytes;
	size_t len;

	if (refusing->mark.place == REFUSAL_NONE ||
	    refusal_new(&refusing->mark, refusing->head_request, reason, task, &bytes, &len))
		return;
	refusing->begun = !flow_refuse(&stream->flows[SESSION_RESPONSE], bytes, len);
	free(bytes);
	if (refusing->begun)
		audit_refusal(stream, reason, task);
}

void refusing_discard(struct stream *stream)
{
	struct endpoint *agent = &stream->agent;
	ssize_t n;

	if (!agent->reading || agent->broken)
		return;
	n = endpoint_discard(agent, LIMIT_READ_BUDGET);
	if ((n < 0 && n != -EAGAIN) || (!n && endpoint_set_reading(agent, false)))
		agent->broken = true;
}

static bool is_peer_done(const struct stream *stream, uint64_t now_ns)
{
	const struct flow *request = &stream->flows[SESSION_REQUEST];

	if (!flow_is_delivered(request))
		return false;
	return !request->sent ||
	       now_ns >= stream->closing_ns + LIMIT_DRAIN_READ_MS * CLOCK_NS_PER_MS;
}

void refusing_step(struct stream *stream)
{
	const struct flow *response = &stream->flows[SESSION_RESPONSE];
	struct refusing *refusing = &stream->refusing;
	bool plain = refusing->mark.place == REFUSAL_PLAIN, done;
	struct endpoint *agent = &stream->agent;
	uint64_t now_ns = clock_boot_ns();
	bool late = now_ns >= stream->deadline_ns;

	if (!plain && !agent->shut && !agent->broken && flow_is_written(response))
		endpoint_shut(agent);
	if (stream->peer.fd >= 0 && (late || is_peer_done(stream, now_ns)))
		endpoint_close(&stream->peer, true);
	/* Asked until it is so, and not once more: some agents take their time to close. */
	if (!refusing->delivered && !agent->broken)
		refusing->delivered = flow_is_delivered(response);
	if (plain)
		done = refusing->delivered &&
		       now_ns >= stream->closing_ns + LIMIT_DRAIN_READ_MS * CLOCK_NS_PER_MS;
	else
		done = refusing->delivered && agent->ended;
	if (late || agent->broken || (done && stream->peer.fd < 0))
		stream_close(stream, plain || agent->broken || !refusing->delivered);
}
