/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/settle.h"

#include <arpa/inet.h>
#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "base/text.h"
#include "core/exchange.h"
#include "core/pipeline.h"
#include "daemon/advice.h"
#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/ledger.h"
#include "daemon/limits.h"
#include "daemon/reason.h"
#include "daemon/web.h"
#include "kern/kern.h"
#include "sys/clock.h"
#include "sys/log.h"

void settle_format_address(const struct sluice_address *address, char *text, size_t len)
{
	char addr[INET6_ADDRSTRLEN] = "";

	if (address_is_v4(address->addr)) {
		(void)inet_ntop(AF_INET, address->addr + ADDRESS_V4_AT, addr, sizeof(addr));
		(void)snprintf(text, len, "%s:%u", addr, address->port);
	} else {
		(void)inet_ntop(AF_INET6, address->addr, addr, sizeof(addr));
		(void)snprintf(text, len, "[%s]:%u", addr, address->port);
	}
}

void settle_format_comm(const struct sluice_origin *origin, char text[static SLUICE_COMM_LEN + 1])
{
	size_t i;

	for (i = 0; i < SLUICE_COMM_LEN && origin->comm[i]; i++)
		text[i] = origin->comm[i] >= 0x20 && origin->comm[i] < 0x7f ? origin->comm[i] : '?';
	text[i] = '\0';
}

bool settle_may_say(struct daemon *daemon)
{
	struct settle_log *log = &daemon->settle_log;
	uint64_t second = clock_boot_ns() / CLOCK_NS_PER_S;

	if (second != log->second) {
		settle_tick(daemon, second * CLOCK_NS_PER_S);
		log->second = second;
		log->lines = 0;
	}
	if (log->lines >= LIMIT_SETTLE_LINES) {
		log->suppressed++;
		return false;
	}
	log->lines++;
	return true;
}

void settle_tick(struct daemon *daemon, uint64_t now_ns)
{
	struct settle_log *log = &daemon->settle_log;

	if (!log->suppressed || now_ns / CLOCK_NS_PER_S == log->second)
		return;
	log_notice("%u more stream%s settled, each with its reason counted", log->suppressed,
		   text_plural(log->suppressed));
	log->suppressed = 0;
}

/* What would help, or what failed. False: there is nothing to say of it. */
static bool explain(const struct stream *stream, char *text, size_t len)
{
	if (!stream->failure)
		return advice_format(stream->reason, &stream->origin.peer, text, len);
	(void)snprintf(text, len, "%s", stream->failure);
	return true;
}

static void say_flow(const struct stream *stream, const struct flow *flow, const char *origin)
{
	const struct pipeline_denial *denial =
		flow->pipeline ? pipeline_denial(flow->pipeline) : NULL;
	uint64_t framed = flow->pipeline ? pipeline_framed(flow->pipeline) : flow->received;
	char rule[128] = "", advice[ADVICE_LEN] = "";
	bool advised = explain(stream, advice, sizeof(advice));

	if (denial)
		(void)snprintf(rule, sizeof(rule),
			       ", rule %" PRIu32 " at runes %" PRIu64 "..%" PRIu64, denial->rule,
			       denial->start, denial->end);
	log_notice("stream %" PRIu64 " %s: %s: received %" PRIu64 ", framed %" PRIu64
		   ", released %" PRIu64 ", withheld %" PRIu64 " bytes%s; %s%s%s",
		   (uint64_t)stream->origin.stream, stream->reason,
		   flow->track == SESSION_REQUEST ? "request" : "response", flow->received, framed,
		   flow->released, flow->received - flow->released, rule, origin,
		   advised ? "; " : "", advice);
}

static void format_origin(const struct sluice_origin *origin, char *text, size_t len)
{
	char peer[SETTLE_ADDRESS_LEN], comm[SLUICE_COMM_LEN + 1];

	settle_format_address(&origin->peer, peer, sizeof(peer));
	settle_format_comm(origin, comm);
	(void)snprintf(text, len, "to %s, pid %" PRIu32 " '%s'", peer, origin->pid, comm);
}

static void say(const struct stream *stream, const struct flow *flow)
{
	char origin[160];

	format_origin(&stream->origin, origin, sizeof(origin));
	if (stream->end == STREAM_COMPLETE)
		log_debug("stream %" PRIu64 " %s: request %" PRIu64 ", response %" PRIu64
			  " bytes; %s",
			  (uint64_t)stream->origin.stream, stream->reason,
			  stream->flows[SESSION_REQUEST].received,
			  stream->flows[SESSION_RESPONSE].received, origin);
	else if (!settle_may_say(stream->daemon))
		return;
	else if (flow)
		say_flow(stream, flow, origin);
	else
		log_notice("stream %" PRIu64 " %s: request %" PRIu64 " of %" PRIu64
			   ", response %" PRIu64 " of %" PRIu64 " bytes released; %s",
			   (uint64_t)stream->origin.stream, stream->reason,
			   stream->flows[SESSION_REQUEST].released,
			   stream->flows[SESSION_REQUEST].received,
			   stream->flows[SESSION_RESPONSE].released,
			   stream->flows[SESSION_RESPONSE].received, origin);
}

static void count_end(struct stats *stats, enum stream_end end, const char *reason)
{
	stats->streams++;
	if (end == STREAM_COMPLETE)
		stats->complete++;
	else if (end == STREAM_DENIED)
		stats->denied++;
	else
		stats->failed++;
	stats_count_name(&stats->reasons, reason);
}

static void count_stream(struct stats *stats, const struct stream *stream)
{
	count_end(stats, stream->end, stream->reason);
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		const struct flow *flow = &stream->flows[track];

		stats->bytes_received += flow->received;
		stats->bytes_released += flow->released;
		if (flow->pipeline) {
			stats->runes_received += pipeline_runes(flow->pipeline);
			stats->runes_released += pipeline_released_runes(flow->pipeline);
		}
	}
}

/* Did it end before its messages did, and not by what an interceptor or a task said of them? */
static bool is_broken_off(enum stream_end end, enum session_result error)
{
	switch (error) {
	case SESSION_INTERCEPTOR_FAILED:
	case SESSION_INTERCEPTOR_TIMEOUT:
	case SESSION_VERDICT_INVALID:
		return false;
	default:
		return end == STREAM_FAILED || (end == STREAM_DENIED && error == SESSION_OPERATOR);
	}
}

void settle_stream(struct stream *stream, enum stream_end end, const char *reason,
		   enum session_result error, const struct flow *flow)
{
	struct daemon *daemon = stream->daemon;
	char advice[ADVICE_LEN];

	assert(stream->end == STREAM_UNSETTLED && end != STREAM_UNSETTLED);
	stream->end = end;
	stream->reason = reason;
	/* A session that its pipeline ended keeps that end. */
	if (stream->exchanges)
		exchanges_fail(stream->exchanges, error);
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		if (flow_is_watched(&stream->flows[track]))
			pipeline_unwatch(stream->flows[track].pipeline);
		if (is_broken_off(end, error))
			flow_tell_left(&stream->flows[track]);
		flow_stop_asking(&stream->flows[track]);
	}
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		metrics_withheld(&stream->flows[track]);
	daemon->metrics.open_streams--;
	count_end(&daemon->stats, end, reason);
	if (stream->watch) {
		count_stream(&stream->watch->stats, stream);
		if (explain(stream, advice, sizeof(advice)))
			advice_note(&stream->watch->advice, reason, advice);
		stream->watch->open--;
	}
	audit_stream_settled(stream);
	web_stream_settled(stream);
	ledger_forget(stream);
	say(stream, flow);
}

void settle_refused(struct daemon *daemon, struct watch *watch, const struct sluice_origin *origin,
		    enum stream_end end, const char *reason)
{
	char text[160];

	count_end(&daemon->stats, end, reason);
	if (watch)
		count_end(&watch->stats, end, reason);
	audit_stream_refused(daemon, watch, origin, reason);
	if (!settle_may_say(daemon))
		return;
	format_origin(origin, text, sizeof(text));
	log_notice("stream %" PRIu64 " %s; %s", (uint64_t)origin->stream, reason, text);
}

void settle_nameless(struct daemon *daemon, enum reason reason)
{
	count_end(&daemon->stats, STREAM_FAILED, reason_name(reason));
	audit_connection_refused(daemon, reason);
}

/* What settling a predecessor's streams has come to. */
struct leaving {
	struct daemon *daemon;
	/* Runes of the sessions of the stream under way. */
	uint64_t received[_SESSION_TRACK_MAX], confirmed[_SESSION_TRACK_MAX];
};

static struct audit_left_track left_track(const struct kern_left *left, int track,
					  uint64_t received, uint64_t confirmed)
{
	return (struct audit_left_track){
		.bytes_received = left->received[track],
		.bytes_released = left->released[track],
		.runes_received = received,
		.runes_confirmed = confirmed,
	};
}

static int on_left_session(void *context, const struct kern_left *left,
			   const struct kern_left_session *session)
{
	struct leaving *leaving = context;
	struct audit_left_track track[_SESSION_TRACK_MAX];

	for (int i = 0; i < _SESSION_TRACK_MAX; i++) {
		track[i] = left_track(left, i, session->track[i].received,
				      session->track[i].confirmed);
		leaving->received[i] += session->track[i].received;
		leaving->confirmed[i] += session->track[i].confirmed;
	}
	leaving->daemon->stats.sessions[SESSION_FAILED_END]++;
	audit_session_left(leaving->daemon, left->open, session->number, track);
	return 0;
}

static void format_left(const struct audit_left_track *track, char *text, size_t len)
{
	(void)snprintf(text, len,
		       "received %" PRIu64 ", released %" PRIu64 ", withheld %" PRIu64
		       " bytes, cleared %" PRIu64 " of %" PRIu64 " runes",
		       track->bytes_received, track->bytes_released,
		       track->bytes_received - track->bytes_released, track->runes_confirmed,
		       track->runes_received);
}

static void say_left(const struct kern_left *left, const struct audit_left_track *track)
{
	char request[160], response[160], origin[160];

	format_left(&track[SESSION_REQUEST], request, sizeof(request));
	format_left(&track[SESSION_RESPONSE], response, sizeof(response));
	format_origin(&left->open->origin, origin, sizeof(origin));
	log_notice("stream %" PRIu64
		   " %s, host_error:streaming_unsupported: sessions %u; request: %s; "
		   "response: %s; %s",
		   (uint64_t)left->open->origin.stream, reason_name(REASON_HOST_DIED),
		   left->session_count, request, response, origin);
}

static int on_left_stream(void *context, const struct kern_left *left)
{
	struct leaving *leaving = context;
	struct daemon *daemon = leaving->daemon;
	struct audit_left_track track[_SESSION_TRACK_MAX];

	for (int i = 0; i < _SESSION_TRACK_MAX; i++)
		track[i] = left_track(left, i, leaving->received[i], leaving->confirmed[i]);
	*leaving = (struct leaving){.daemon = daemon};
	count_end(&daemon->stats, STREAM_FAILED, reason_name(REASON_HOST_DIED));
	say_left(left, track);
	audit_stream_left(daemon, left->open, left->session_count, track);
	return audit_write(daemon);
}

static bool on_told(void *context, uint64_t stream, const uint64_t *session)
{
	const struct leaving *leaving = context;

	return audit_is_told(leaving->daemon, stream, session);
}

int settle_left(struct daemon *daemon)
{
	struct leaving leaving = {.daemon = daemon};
	const struct kern_settling settling = {
		.is_told = on_told,
		.session = on_left_session,
		.stream = on_left_stream,
		.context = &leaving,
	};

	return kern_settle_left(daemon->kern, &settling);
}
