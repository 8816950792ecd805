/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/audit_record.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "core/utf8.h"

/* No record is longer: at most four texts, and less than 1,500 bytes of names and numbers. */
_Static_assert(4 * AUDIT_TEXT_MAX + 1500 + AUDIT_SEAL_LEN < AUDIT_RECORD_MAX, "a record has room");

static void put(struct audit_line *line, const char *text, size_t len)
{
	assert(line->len + len + AUDIT_SEAL_LEN <= AUDIT_RECORD_MAX);
	(void)memcpy(line->text + line->len, text, len);
	line->len += len;
}

#define PUT(line, literal) put((line), (literal), sizeof(literal) - 1)

static void put_name(struct audit_line *line, const char *name)
{
	put(line, name, strlen(name));
}

static void put_number(struct audit_line *line, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	put(line, digits + at, sizeof(digits) - at);
}

static void put_bool(struct audit_line *line, bool value)
{
	put_name(line, value ? "true" : "false");
}

/* Length of what may stand as it is: printable, no quote, no backslash, whole runes. */
static size_t plain(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		unsigned char byte = (unsigned char)text[at];
		unsigned int rune = 1;

		if (byte >= 0x80)
			rune = utf8_rune((const uint8_t *)text + at, len - at);
		if (!rune || text_control_len(text + at) || byte == '"' || byte == '\\')
			break;
		at += rune;
	}
	return at;
}

static void put_text(struct audit_line *line, const char *text)
{
	size_t len = text ? strlen(text) : 0, left = AUDIT_TEXT_MAX - 2;

	if (!text) {
		PUT(line, "null");
		return;
	}
	PUT(line, "\"");
	while (len && left) {
		size_t n = plain(text, MIN(len, left));

		put(line, text, n);
		text += n;
		len -= n;
		left -= n;
		if (!len || left < 2)
			break;
		if (*text == '"' || *text == '\\')
			put(line, (const char[]){'\\', *text}, 2);
		else
			PUT(line, "?");
		text++;
		len--;
		left -= 2;
	}
	PUT(line, "\"");
}

static void put_padded(char *at, unsigned long number, int digits)
{
	while (digits--) {
		at[digits] = (char)('0' + number % 10);
		number /= 10;
	}
}

/* The time in UTC (RFC 3339), with nanoseconds. */
static void put_time(struct audit_line *line, struct audit_stamp *stamp)
{
	char nanoseconds[] = ".000000000Z";
	struct tm tm;

	if (!stamp->second_text[0] || stamp->second != stamp->time.tv_sec) {
		stamp->second = stamp->time.tv_sec;
		if (!gmtime_r(&stamp->second, &tm) ||
		    !strftime(stamp->second_text, sizeof(stamp->second_text), "%Y-%m-%dT%H:%M:%S",
			      &tm))
			(void)strcpy(stamp->second_text, "1970-01-01T00:00:00");
	}
	put_padded(nanoseconds + 1, (unsigned long)stamp->time.tv_nsec, 9);
	put_name(line, stamp->second_text);
	put(line, nanoseconds, sizeof(nanoseconds) - 1);
}

static void begin(struct audit_line *line, struct audit_stamp *stamp, const char *event)
{
	line->len = 0;
	PUT(line, "{\"seq\":");
	put_number(line, stamp->seq);
	line->event = event;
	line->time_at = line->len + 1;
	PUT(line, ",\"time\":\"");
	put_time(line, stamp);
	PUT(line, "\"");
	line->event_at = line->len;
	PUT(line, ",\"event\":\"");
	put_name(line, event);
	PUT(line, "\"");
	line->rest_at = line->len;
}

static void begin_stream(struct audit_line *line, struct audit_stamp *stamp, const char *event,
			 const struct audit_who *who, const uint64_t *session)
{
	begin(line, stamp, event);
	PUT(line, ",\"stream\":");
	put_number(line, who->stream);
	if (session) {
		PUT(line, ",\"session\":");
		put_number(line, *session);
	}
	PUT(line, ",\"policy\":");
	put_text(line, who->policy);
	PUT(line, ",\"cgroup\":");
	put_text(line, who->cgroup);
	PUT(line, ",\"pid\":");
	put_number(line, who->pid);
	PUT(line, ",\"uid\":");
	put_number(line, who->uid);
}

void audit_record_file(struct audit_line *line, struct audit_stamp *stamp, const char *previous,
		       uint64_t oldest)
{
	begin(line, stamp, "file");
	PUT(line, ",\"version\":");
	put_number(line, AUDIT_VERSION);
	PUT(line, ",\"previous\":");
	put_text(line, previous);
	PUT(line, ",\"oldest\":");
	put_number(line, oldest);
}

void audit_record_pruned(struct audit_line *line, struct audit_stamp *stamp, uint64_t oldest)
{
	begin(line, stamp, "pruned");
	PUT(line, ",\"oldest\":");
	put_number(line, oldest);
}

void audit_record_started(struct audit_line *line, struct audit_stamp *stamp, const char *instance,
			  uint32_t pid, bool continues)
{
	begin(line, stamp, "started");
	PUT(line, ",\"instance\":");
	put_text(line, instance);
	PUT(line, ",\"pid\":");
	put_number(line, pid);
	PUT(line, ",\"program\":");
	put_text(line, SLUICE_VERSION);
	PUT(line, ",\"continues\":");
	put_bool(line, continues);
}

void audit_record_stopped(struct audit_line *line, struct audit_stamp *stamp)
{
	begin(line, stamp, "stopped");
}

void audit_record_handed_over(struct audit_line *line, struct audit_stamp *stamp, uint32_t pid,
			      uint64_t streams, uint64_t settled)
{
	begin(line, stamp, "handed_over");
	PUT(line, ",\"pid\":");
	put_number(line, pid);
	PUT(line, ",\"streams\":");
	put_number(line, streams);
	PUT(line, ",\"settled\":");
	put_number(line, settled);
}

void audit_record_recovered(struct audit_line *line, struct audit_stamp *stamp, const char *file,
			    uint64_t bytes)
{
	begin(line, stamp, "recovered");
	PUT(line, ",\"file\":");
	put_text(line, file);
	PUT(line, ",\"bytes\":");
	put_number(line, bytes);
}

void audit_record_dropped(struct audit_line *line, struct audit_stamp *stamp,
			  const struct audit_loss *loss)
{
	begin(line, stamp, "dropped");
	PUT(line, ",\"policy\":");
	put_text(line, loss->policy);
	PUT(line, ",\"cgroup\":");
	put_text(line, loss->cgroup);
	PUT(line, ",\"reason\":");
	put_text(line, loss->reason);
	PUT(line, ",\"records\":");
	put_number(line, loss->records);
	PUT(line, ",\"streams_refused\":");
	put_number(line, loss->streams);
}

void audit_record_control(struct audit_line *line, struct audit_stamp *stamp,
			  const struct audit_control_call *call)
{
	begin(line, stamp, "control");
	PUT(line, ",\"pid\":");
	put_number(line, call->pid > 0 ? (uint64_t)call->pid : 0);
	PUT(line, ",\"uid\":");
	put_number(line, call->uid);
	PUT(line, ",\"method\":");
	put_text(line, call->method);
	PUT(line, ",\"target\":");
	put_text(line, call->target);
	PUT(line, ",\"result\":");
	put_text(line, call->result);
}

static void put_member(struct audit_line *line, const char *name, const char *text)
{
	PUT(line, ",\"");
	put_name(line, name);
	PUT(line, "\":");
	put_text(line, text);
}

void audit_record_fence(struct audit_line *line, struct audit_stamp *stamp,
			const struct audit_who *who, const char *kind, const char *comm,
			const char *peer)
{
	begin(line, stamp, "fence");
	put_member(line, "kind", kind);
	put_member(line, "policy", who->policy);
	put_member(line, "cgroup", who->cgroup);
	PUT(line, ",\"pid\":");
	put_number(line, who->pid);
	PUT(line, ",\"uid\":");
	put_number(line, who->uid);
	put_member(line, "comm", comm);
	put_member(line, "peer", peer);
}

void audit_record_watch(struct audit_line *line, struct audit_stamp *stamp, bool watched,
			const char *cgroup, const char *policy, const char *kind)
{
	begin(line, stamp, watched ? "watch" : "unwatch");
	put_member(line, "cgroup", cgroup);
	put_member(line, "policy", policy);
	put_member(line, "kind", kind);
}

void audit_record_policy(struct audit_line *line, struct audit_stamp *stamp, const char *policy,
			 const char *digest)
{
	begin(line, stamp, "policy");
	put_member(line, "policy", policy);
	put_member(line, "digest", digest);
}

void audit_record_connection(struct audit_line *line, struct audit_stamp *stamp,
			     const struct audit_who *who, const struct audit_connection *connection)
{
	begin_stream(line, stamp, connection->reason ? "stream_refused" : "stream_opened", who,
		     NULL);
	PUT(line, ",\"comm\":");
	put_text(line, connection->comm);
	PUT(line, ",\"peer\":");
	put_text(line, connection->peer);
	if (connection->reason) {
		PUT(line, ",\"reason\":");
		put_text(line, connection->reason);
	} else {
		PUT(line, ",\"action\":");
		put_text(line, connection->action);
	}
}

static const char *track_name(enum session_track track)
{
	return track == SESSION_REQUEST ? "request" : "response";
}

/* session: the runes of the session too. */
static void put_figures(struct audit_line *line, const struct audit_figures *figures, bool session)
{
	PUT(line, "{");
	if (session) {
		PUT(line, "\"received\":");
		put_number(line, figures->received);
		PUT(line, ",\"confirmed\":");
		put_number(line, figures->confirmed);
		PUT(line, ",\"residue\":");
		put_number(line, figures->received - figures->confirmed);
		PUT(line, ",");
	}
	PUT(line, "\"flow_runes_received\":");
	put_number(line, figures->flow_received);
	PUT(line, ",\"flow_runes_released\":");
	put_number(line, figures->flow_released);
	PUT(line, ",\"flow_bytes_received\":");
	put_number(line, figures->bytes_received);
	PUT(line, ",\"flow_bytes_released\":");
	put_number(line, figures->bytes_released);
	PUT(line, "}");
}

static void put_settlement(struct audit_line *line, const struct audit_settlement *settlement,
			   bool session)
{
	PUT(line, ",\"end\":");
	put_text(line, settlement->end);
	if (session) {
		PUT(line, ",\"error\":");
		put_text(line, settlement->error);
	}
	PUT(line, ",\"reason\":");
	put_text(line, settlement->reason);
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		PUT(line, ",\"");
		put_name(line, track_name((enum session_track)track));
		PUT(line, "\":");
		put_figures(line, &settlement->tracks[track], session);
	}
}

void audit_record_stream_settled(struct audit_line *line, struct audit_stamp *stamp,
				 const struct audit_who *who,
				 const struct audit_settlement *settlement)
{
	begin_stream(line, stamp, "stream_settled", who, NULL);
	put_settlement(line, settlement, false);
	PUT(line, ",\"sessions\":{");
	for (int end = SESSION_COMPLETE_END; end < _SESSION_END_MAX; end++) {
		if (end != SESSION_COMPLETE_END)
			PUT(line, ",");
		put_text(line, session_end_name((enum session_end)end));
		PUT(line, ":");
		put_number(line, settlement->sessions[end]);
	}
	PUT(line, "}");
}

void audit_record_session_opened(struct audit_line *line, struct audit_stamp *stamp,
				 const struct audit_who *who, uint64_t session,
				 enum session_level level)
{
	begin_stream(line, stamp, "session_opened", who, &session);
	PUT(line, ",\"level\":");
	put_text(line, session_level_name(level));
}

static void put_number_if(struct audit_line *line, bool there, uint64_t number)
{
	if (there)
		put_number(line, number);
	else
		PUT(line, "null");
}

void audit_record_outcome(struct audit_line *line, struct audit_stamp *stamp,
			  const struct audit_who *who, uint64_t session,
			  const struct audit_outcome *outcome)
{
	begin_stream(line, stamp, "outcome", who, &session);
	PUT(line, ",\"track\":");
	put_text(line, outcome->has_track ? track_name(outcome->track) : NULL);
	PUT(line, ",\"start\":");
	put_number_if(line, outcome->has_span, outcome->start);
	PUT(line, ",\"end\":");
	put_number_if(line, outcome->has_span, outcome->end);
	PUT(line, ",\"task\":");
	put_text(line, outcome->task);
	PUT(line, ",\"rule\":");
	put_number_if(line, outcome->has_rule, outcome->rule);
	PUT(line, ",\"decision\":");
	put_text(line, outcome->decision);
	PUT(line, ",\"by\":");
	put_text(line, outcome->by);
	PUT(line, ",\"enforcing\":");
	put_bool(line, outcome->enforcing);
	PUT(line, ",\"reason\":");
	put_text(line, outcome->reason);
	PUT(line, ",\"evidence\":");
	put_text(line, outcome->evidence);
	PUT(line, ",\"warnings\":");
	put_number(line, outcome->warnings);
	PUT(line, ",\"warned\":[");
	for (uint32_t i = 0; i < MIN(outcome->warnings, AUDIT_WARNED_MAX); i++) {
		if (i)
			PUT(line, ",");
		put_text(line, outcome->warned[i]);
	}
	PUT(line, "]");
}

void audit_record_watermark(struct audit_line *line, struct audit_stamp *stamp,
			    const struct audit_who *who, uint64_t session, enum session_track track,
			    uint64_t confirmed)
{
	begin_stream(line, stamp, "watermark", who, &session);
	PUT(line, ",\"track\":");
	put_text(line, track_name(track));
	PUT(line, ",\"confirmed\":");
	put_number(line, confirmed);
}

void audit_record_refusal(struct audit_line *line, struct audit_stamp *stamp,
			  const struct audit_who *who, uint64_t session, const char *task,
			  const char *reason, const char *place)
{
	begin_stream(line, stamp, "refusal", who, &session);
	PUT(line, ",\"task\":");
	put_text(line, task);
	PUT(line, ",\"reason\":");
	put_text(line, reason);
	PUT(line, ",\"place\":");
	put_text(line, place);
}

void audit_record_session_settled(struct audit_line *line, struct audit_stamp *stamp,
				  const struct audit_who *who, uint64_t session,
				  const struct audit_settlement *settlement)
{
	begin_stream(line, stamp, "session_settled", who, &session);
	put_settlement(line, settlement, true);
}
