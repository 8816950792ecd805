/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/waiting.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/pipeline_progress.h"
#include "daemon/asking.h"
#include "daemon/daemon.h"
#include "sys/clock.h"

static const char *const names[] = {
	[WAITING_NOTHING] = "nothing",	 [WAITING_CONNECT] = "connect",
	[WAITING_READER] = "reader",	 [WAITING_REST] = "rest",
	[WAITING_TEXT] = "text",	 [WAITING_VALUE] = "value",
	[WAITING_VERDICTS] = "verdicts", [WAITING_MESSAGE_END] = "message_end",
	[WAITING_RELEASE] = "release",	 [WAITING_ENDED] = "ended",
};
_Static_assert(ARRAY_SIZE(names) == _WAITING_MAX, "every kind has a name");

const char *waiting_name(enum waiting_kind kind)
{
	return names[kind];
}

static void of_verdicts(const struct flow *flow, const struct pipeline_progress *slowest,
			uint64_t now_ns, struct waiting *waiting)
{
	struct asker_state state;

	asking_get(flow->asking, slowest->number, &state);
	/* Nobody can be asked about less than a span before its text goes on, or ends. */
	waiting->fills_no_span = !slowest->lent && !slowest->queued;
	waiting->kind = waiting->fills_no_span ? WAITING_TEXT : WAITING_VERDICTS;
	waiting->asked = state.asked;
	if (state.oldest_ns && state.oldest_ns < now_ns)
		waiting->oldest_ms = (now_ns - state.oldest_ns) / CLOCK_NS_PER_MS;
}

/* Units are whole, and not released. */
static void of_units(const struct flow *flow, uint64_t now_ns, struct waiting *waiting)
{
	const struct pipeline *pipeline = flow->pipeline;
	struct pipeline_progress slowest = {0};

	waiting->kind = WAITING_RELEASE;
	waiting->bytes = pipeline_framed(pipeline) - flow->released;
	if (flow->stream->policy->policy->level == SESSION_COMPLETE &&
	    !pipeline_pending(pipeline)) {
		waiting->kind = WAITING_MESSAGE_END;
		waiting->bytes = flow->received - flow->released;
		return;
	}
	if (!pipeline_slowest(pipeline, &slowest) || !slowest.waiting)
		return;
	waiting->runes = slowest.waiting;
	waiting->task = slowest.task;
	if (pipeline_waits_whole(pipeline))
		waiting->kind = WAITING_VALUE;
	else if (slowest.elsewhere)
		of_verdicts(flow, &slowest, now_ns, waiting);
	else
		waiting->kind = WAITING_TEXT;
}

static void of_rest(const struct flow *flow, struct waiting *waiting)
{
	waiting->kind = WAITING_REST;
	waiting->bytes = flow->received - flow->released;
	waiting->expected = pipeline_expected(flow->pipeline);
	waiting->is_total = pipeline_framing(flow->pipeline) == FRAMING_LENPREFIX;
}

void waiting_get(const struct flow *flow, uint64_t now_ns, struct waiting *ret_waiting)
{
	const struct stream *stream = flow->stream;

	*ret_waiting = (struct waiting){.full = flow->full};
	if (stream->state == STREAM_CONNECTING) {
		ret_waiting->kind = WAITING_CONNECT;
	} else if (!flow_held(flow)) {
		ret_waiting->kind = WAITING_NOTHING;
	} else if (flow->sent < flow->released) {
		ret_waiting->kind = WAITING_READER;
		ret_waiting->bytes = flow->released - flow->sent;
	} else if (stream_is_settled(stream) || !flow->pipeline) {
		ret_waiting->kind = WAITING_ENDED;
	} else if (flow->released < pipeline_framed(flow->pipeline)) {
		of_units(flow, now_ns, ret_waiting);
	} else {
		of_rest(flow, ret_waiting);
	}
}

static int explain_rest(const struct waiting *waiting, char *text)
{
	if (!waiting->expected)
		return snprintf(text, WAITING_TEXT_LEN,
				"waits for the rest of a message, of which %" PRIu64 " bytes came",
				waiting->bytes);
	if (waiting->is_total)
		return snprintf(text, WAITING_TEXT_LEN,
				"waits for the rest of a message: %" PRIu64 " bytes came of "
				"%" PRIu64 " that its length announces",
				waiting->bytes, waiting->expected);
	return snprintf(text, WAITING_TEXT_LEN,
			"waits for the rest of a message: %" PRIu64 " bytes came, %" PRIu64
			" are to come",
			waiting->bytes, waiting->expected);
}

static int explain_task(const struct waiting *waiting, char *text)
{
	switch (waiting->kind) {
	case WAITING_TEXT:
		if (waiting->fills_no_span)
			return snprintf(text, WAITING_TEXT_LEN,
					"waits for more text: %" PRIu64 " runes wait, and the "
					"last fill no span of interceptor '%.64s'",
					waiting->runes, waiting->task);
		return snprintf(text, WAITING_TEXT_LEN,
				"waits for more text: %" PRIu64 " runes wait, the end of which "
				"could begin what task '%.64s' refuses",
				waiting->runes, waiting->task);
	case WAITING_VALUE:
		return snprintf(text, WAITING_TEXT_LEN,
				"waits for the end of a tool call or its result, which is judged "
				"whole: %" PRIu64 " runes came",
				waiting->runes);
	default:
		return snprintf(text, WAITING_TEXT_LEN,
				"waits for verdicts of interceptor '%.64s' over %" PRIu64
				" runes: %zu asked, the oldest %" PRIu64 " ms ago",
				waiting->task, waiting->runes, waiting->asked, waiting->oldest_ms);
	}
}

void waiting_explain(const struct flow *flow, const struct waiting *waiting,
		     char ret_text[static WAITING_TEXT_LEN])
{
	const struct stream *stream = flow->stream;
	const char *reader = flow->sink == &stream->peer ? "peer" : "agent";
	int len = 0;

	switch (waiting->kind) {
	case WAITING_CONNECT:
		len = snprintf(ret_text, WAITING_TEXT_LEN, "waits for the peer to accept");
		break;
	case WAITING_READER:
		len = snprintf(ret_text, WAITING_TEXT_LEN,
			       "waits for the %s to read: %" PRIu64 " bytes are released", reader,
			       waiting->bytes);
		break;
	case WAITING_REST:
		len = explain_rest(waiting, ret_text);
		break;
	case WAITING_TEXT:
	case WAITING_VALUE:
	case WAITING_VERDICTS:
		len = explain_task(waiting, ret_text);
		break;
	case WAITING_MESSAGE_END:
		len = snprintf(ret_text, WAITING_TEXT_LEN,
			       "waits for the end of the message (safety_level complete): %" PRIu64
			       " bytes came",
			       waiting->bytes);
		break;
	case WAITING_RELEASE:
		len = snprintf(ret_text, WAITING_TEXT_LEN, "is being released");
		break;
	case WAITING_ENDED:
		len = snprintf(ret_text, WAITING_TEXT_LEN, "is withheld: the stream has ended, %s",
			       stream->reason ? stream->reason : "not judged");
		break;
	default:
		len = snprintf(ret_text, WAITING_TEXT_LEN, "nothing is held");
	}
	if (waiting->full && len > 0 && (unsigned int)len < WAITING_TEXT_LEN)
		(void)snprintf(ret_text + len, WAITING_TEXT_LEN - (unsigned int)len,
			       "; no more is read meanwhile");
}

bool waiting_age(const struct flow *flow, uint64_t now_ns, uint64_t *ret_ns)
{
	uint64_t since_ns;

	if (!age_oldest(&flow->metrics.age, &since_ns))
		return false;
	*ret_ns = now_ns > since_ns ? now_ns - since_ns : 0;
	return true;
}
