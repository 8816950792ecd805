/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Offsets are at most 2^31-1, so that 32 bits hold them and a sum of two cannot
 * wrap in 64. Frontiers of a track lie side by side: the watermark is their
 * minimum, and that is the inner loop.
 */
struct track {
	uint32_t start;
	uint32_t received;
	uint32_t confirmed;
	uint32_t count;
	bool released; /* something was released once, or by an earlier attempt */
	uint32_t *frontiers;
	const char **names;
};

/* The tasks that judge the assembled response. */
struct output {
	uint32_t count;
	uint32_t pending; /* of them have not cleared it yet */
	bool *cleared;
	const char **names;
};

struct session {
	struct track track[_SESSION_TRACK_MAX];
	struct output output;
	uint8_t level; /* enum session_level */
	uint8_t end;   /* enum session_end */
	uint8_t error; /* enum session_result */
	uint8_t ended_track;
	bool ended_output;
	bool payloads_closed;
	uint32_t ended_task, ended_start, ended_span_end;
};

static size_t names_size(const char *const *names, size_t count)
{
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
		size += strlen(names[i]) + 1;
	return size;
}

static int find_name(const char *const *names, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return (int)i;
	return -ENOENT;
}

/* Copies each name once, and the text of those behind *text; returns how many there are. */
static uint32_t copy_names(const char **to, const char *const *names, size_t count, char **text)
{
	uint32_t copied = 0;

	for (size_t i = 0; i < count; i++) {
		if (find_name(to, copied, names[i]) >= 0)
			continue;
		to[copied++] = *text;
		*text = stpcpy(*text, names[i]) + 1;
	}
	return copied;
}

static enum session_result check_config(const struct session_config *config)
{
	if (!config->task_count[SESSION_REQUEST] && !config->task_count[SESSION_RESPONSE])
		return SESSION_NO_TRACKS_MEDIATED;
	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		if (config->start[t] > SESSION_RUNES_MAX)
			return SESSION_OFFSET_OVERFLOW;
	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		if (config->task_count[t] > SESSION_TASKS_MAX)
			return SESSION_TOO_MANY_TASKS;
	return config->output_count > SESSION_TASKS_MAX ? SESSION_TOO_MANY_TASKS : SESSION_OK;
}

/* A sum of at most 3 * SESSION_TASKS_MAX names that exist in memory cannot wrap. */
static size_t session_size(const struct session_config *config, size_t gating)
{
	size_t size = sizeof(struct session) + gating * (sizeof(const char *) + sizeof(uint32_t)) +
		      config->output_count * (sizeof(const char *) + sizeof(bool)) +
		      names_size(config->output_tasks, config->output_count);

	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		size += names_size(config->tasks[t], config->task_count[t]);
	return size;
}

enum session_result session_new(const struct session_config *config, struct session **ret_session)
{
	size_t gating = config->task_count[SESSION_REQUEST] + config->task_count[SESSION_RESPONSE];
	enum session_result result = check_config(config);
	struct session *session;
	const char **names;
	uint32_t *frontiers;
	char *text;

	if (result != SESSION_OK)
		return result;
	session = calloc(1, session_size(config, gating));
	if (!session)
		return SESSION_NO_MEMORY;
	/* One allocation, widest alignment first. */
	names = (const char **)(session + 1);
	frontiers = (uint32_t *)(names + gating + config->output_count);
	session->output.cleared = (bool *)(frontiers + gating);
	text = (char *)(session->output.cleared + config->output_count);
	session->level = (uint8_t)MIN((unsigned int)config->level, _SESSION_LEVEL_MAX + 0u);
	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		struct track *track = &session->track[t];

		track->start = track->received = track->confirmed = (uint32_t)config->start[t];
		track->released = config->start[t] > 0;
		track->names = names;
		track->frontiers = frontiers;
		track->count = copy_names(names, config->tasks[t], config->task_count[t], &text);
		for (uint32_t i = 0; i < track->count; i++)
			frontiers[i] = track->start;
		names += track->count;
		frontiers += track->count;
	}
	session->output.names = names;
	session->output.count =
		copy_names(names, config->output_tasks, config->output_count, &text);
	session->output.pending = session->output.count;
	*ret_session = session;
	return SESSION_OK;
}

bool session_free(struct session *session)
{
	bool ended = !session || session->end != SESSION_OPEN;

	free(session);
	return ended;
}

enum session_result session_resume(struct session *session, enum session_track track,
				   uint64_t start)
{
	struct track *at = &session->track[track];

	if (session->end != SESSION_OPEN)
		return SESSION_CLOSED;
	if (start > SESSION_RUNES_MAX)
		return SESSION_OFFSET_OVERFLOW;
	if (at->received != at->start)
		return SESSION_OFFSET_PAST_END;
	at->start = at->received = at->confirmed = (uint32_t)start;
	at->released = start > 0;
	for (uint32_t i = 0; i < at->count; i++)
		at->frontiers[i] = at->start;
	return SESSION_OK;
}

int session_task(const struct session *session, enum session_track track, const char *name)
{
	return find_name(session->track[track].names, session->track[track].count, name);
}

const char *session_task_name(const struct session *session, enum session_track track, int task)
{
	if (task < 0 || (uint32_t)task >= session->track[track].count)
		return NULL;
	return session->track[track].names[task];
}

int session_output_task(const struct session *session, const char *name)
{
	return find_name(session->output.names, session->output.count, name);
}

const char *session_output_name(const struct session *session, int task)
{
	if (task < 0 || (uint32_t)task >= session->output.count)
		return NULL;
	return session->output.names[task];
}

static enum session_result fail(struct session *session, enum session_result error)
{
	session_fail(session, error);
	return error;
}

void session_fail(struct session *session, enum session_result error)
{
	if (session->end != SESSION_OPEN)
		return;
	session->end = SESSION_FAILED_END;
	session->error = (uint8_t)error;
}

enum session_result session_observe(struct session *session, enum session_track track,
				    uint64_t runes, uint64_t *ret_received)
{
	struct track *at = &session->track[track];

	if (session->end != SESSION_OPEN)
		return SESSION_CLOSED;
	if (session->payloads_closed)
		return fail(session, SESSION_PAYLOADS_CLOSED);
	if (!at->count)
		return fail(session, SESSION_NO_TASKS);
	if (runes > SESSION_RUNES_MAX - at->received)
		return fail(session, SESSION_OFFSET_OVERFLOW);
	at->received += (uint32_t)runes;
	*ret_received = at->received;
	return SESSION_OK;
}

/* An outcome that ends the session; the span is within the track. */
static void end_by_outcome(struct session *session, enum session_end end, enum session_track track,
			   int task, uint64_t start, uint64_t span_end)
{
	session->end = (uint8_t)end;
	session->ended_track = (uint8_t)track;
	session->ended_task = (uint32_t)task;
	session->ended_start = (uint32_t)start;
	session->ended_span_end = (uint32_t)span_end;
}

/* Levels at which nothing leaves before its verdict; an unknown level is none of them. */
static bool withholds(unsigned int level)
{
	return level == SESSION_BLOCKING || level == SESSION_COMPLETE;
}

enum session_result session_outcome(struct session *session, enum session_track track, int task,
				    uint64_t start, uint64_t end, enum session_outcome outcome)
{
	struct track *at = &session->track[track];
	uint32_t *frontier;

	if (end <= start)
		return SESSION_EMPTY_SPAN;
	if (end > SESSION_RUNES_MAX)
		return SESSION_SPAN_OVERFLOW;
	if (session->end != SESSION_OPEN)
		return SESSION_CLOSED;
	if (task < 0 || (uint32_t)task >= at->count)
		return fail(session, SESSION_UNKNOWN_TASK);
	if (end > at->received)
		return fail(session, SESSION_OFFSET_PAST_END);
	frontier = &at->frontiers[task];
	if (start > *frontier)
		return fail(session, SESSION_NON_CONTIGUOUS_OUTCOME);
	switch (outcome) {
	case SESSION_CLEARED:
		/* A span wholly below the frontier changes nothing. */
		if (end > *frontier)
			*frontier = (uint32_t)end;
		return SESSION_OK;
	case SESSION_DENIED:
		end_by_outcome(session, SESSION_DENIED_END, track, task, start, end);
		return SESSION_OK;
	case SESSION_TRANSFORMED:
		if (!withholds(session->level) || at->released)
			return fail(session, SESSION_TRANSFORM_TOO_LATE);
		end_by_outcome(session, SESSION_REWRITTEN_END, track, task, start, end);
		return SESSION_OK;
	default:
		return fail(session, SESSION_VERDICT_INVALID);
	}
}

enum session_result session_output(struct session *session, int task, enum session_outcome outcome)
{
	struct output *output = &session->output;

	if (session->end != SESSION_OPEN)
		return SESSION_CLOSED;
	if (task < 0 || (uint32_t)task >= output->count)
		return fail(session, SESSION_UNKNOWN_TASK);
	if (!session->payloads_closed)
		return fail(session, SESSION_OUTPUT_TOO_EARLY);
	switch (outcome) {
	case SESSION_CLEARED:
		output->pending -= !output->cleared[task];
		output->cleared[task] = true;
		return SESSION_OK;
	case SESSION_DENIED:
		end_by_outcome(session, SESSION_DENIED_END, SESSION_RESPONSE, task, 0, 0);
		session->ended_output = true;
		return SESSION_OK;
	case SESSION_TRANSFORMED:
		return fail(session, SESSION_TRANSFORM_TOO_LATE);
	default:
		return fail(session, SESSION_VERDICT_INVALID);
	}
}

static uint32_t watermark(const struct track *track)
{
	uint32_t lowest = track->count ? UINT32_MAX : track->received;

	for (uint32_t i = 0; i < track->count; i++)
		lowest = MIN(lowest, track->frontiers[i]);
	return lowest;
}

int session_reach(struct session *session, enum session_track track, uint64_t *ret_watermark)
{
	struct track *at = &session->track[track];
	uint32_t mark;

	if (session->end != SESSION_OPEN)
		return 0;
	mark = watermark(at);
	if (mark <= at->confirmed)
		return 0;
	at->confirmed = mark;
	*ret_watermark = mark;
	return 1;
}

void session_release(struct session *session, enum session_track track)
{
	session->track[track].released = true;
}

int session_advance(struct session *session, enum session_track track, uint64_t *ret_watermark)
{
	int moved = session_reach(session, track, ret_watermark);

	if (moved)
		session_release(session, track);
	return moved;
}

enum session_result session_end_of_payloads(struct session *session)
{
	session->payloads_closed = true;
	return SESSION_OK;
}

enum session_result session_finish(struct session *session)
{
	if (session->end != SESSION_OPEN)
		return SESSION_CLOSED;
	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		if (watermark(&session->track[t]) != session->track[t].received)
			return fail(session, SESSION_UNCLEARED_RESIDUE);
	if (session->output.pending)
		return SESSION_OUTPUT_PENDING;
	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		session->track[t].confirmed = session->track[t].received;
	session->end = SESSION_COMPLETE_END;
	return SESSION_OK;
}

void session_get(const struct session *session, struct session_state *ret_state)
{
	struct session_state state = {
		.end = session->end,
		.error = session->error,
		.ended_output = session->ended_output,
		.ended_track = session->ended_track,
		.ended_task = (int)session->ended_task,
		.ended_start = session->ended_start,
		.ended_span_end = session->ended_span_end,
	};

	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		const struct track *track = &session->track[t];

		state.track[t].start = track->start;
		state.track[t].received = track->received;
		state.track[t].confirmed = track->confirmed;
		state.track[t].pending = track->received - track->confirmed;
		state.track[t].has_release = session->end == SESSION_OPEN;
		state.track[t].release = state.track[t].has_release ? track->confirmed : 0;
	}
	*ret_state = state;
}

uint64_t session_persistable(const struct session_state *state, enum session_track track,
			     uint64_t emitted)
{
	const struct session_track_state *at = &state->track[track];

	return MAX(at->start, MIN(at->confirmed, emitted));
}

const char *session_result_name(enum session_result result)
{
	static const char *const names[] = {
		[SESSION_OK] = "ok",
		[SESSION_NO_TRACKS_MEDIATED] = "no_tracks_mediated",
		[SESSION_OFFSET_OVERFLOW] = "offset_overflow",
		[SESSION_NO_TASKS] = "no_tasks",
		[SESSION_UNKNOWN_TASK] = "unknown_task",
		[SESSION_OFFSET_PAST_END] = "offset_past_end",
		[SESSION_PAYLOADS_CLOSED] = "payloads_closed",
		[SESSION_CLOSED] = "session_closed",
		[SESSION_TRANSFORM_TOO_LATE] = "transform_too_late",
		[SESSION_NON_CONTIGUOUS_OUTCOME] = "non_contiguous_outcome",
		[SESSION_VERDICT_INVALID] = "verdict_invalid",
		[SESSION_UNCLEARED_RESIDUE] = "uncleared_residue",
		[SESSION_EMPTY_SPAN] = "span:empty_span",
		[SESSION_SPAN_OVERFLOW] = "span:offset_overflow",
		[SESSION_NO_MEMORY] = "no_memory",
		[SESSION_TOO_MANY_TASKS] = "too_many_tasks",
		[SESSION_OUTPUT_PENDING] = "output_pending",
		[SESSION_OUTPUT_TOO_EARLY] = "output_too_early",
		[SESSION_FRAMING_FAULT] = "framing_fault",
		[SESSION_DISCONNECTED] = "disconnected",
		[SESSION_HOLD_TIMEOUT] = "hold_timeout",
		[SESSION_INTERCEPTOR_FAILED] = "interceptor_failed",
		[SESSION_INTERCEPTOR_TIMEOUT] = "interceptor_timeout",
		[SESSION_OPERATOR] = "operator",
		[SESSION_HOST_DIED] = "host_died",
		[SESSION_RESUME_REFUSED] = "resume_refused",
	};

	_Static_assert(ARRAY_SIZE(names) == _SESSION_RESULT_MAX, "a result without a name");
	return (unsigned int)result < _SESSION_RESULT_MAX ? names[result] : "unknown";
}

const char *session_end_name(enum session_end end)
{
	static const char *const names[] = {
		[SESSION_OPEN] = "open",	 [SESSION_COMPLETE_END] = "complete",
		[SESSION_DENIED_END] = "denied", [SESSION_REWRITTEN_END] = "rewritten",
		[SESSION_FAILED_END] = "failed",
	};

	_Static_assert(ARRAY_SIZE(names) == _SESSION_END_MAX, "an end without a name");
	return (unsigned int)end < _SESSION_END_MAX ? names[end] : "unknown";
}

const char *session_level_name(enum session_level level)
{
	static const char *const names[] = {
		[SESSION_BLOCKING] = "blocking",
		[SESSION_COMPLETE] = "complete",
		[SESSION_DEFERRED] = "deferred",
	};

	_Static_assert(ARRAY_SIZE(names) == _SESSION_LEVEL_MAX, "a level without a name");
	return (unsigned int)level < _SESSION_LEVEL_MAX ? names[level] : "unknown";
}

const char *session_reason(const struct session_state *state)
{
	if (state->end != SESSION_FAILED_END)
		return NULL;
	switch (state->error) {
	case SESSION_VERDICT_INVALID:
		return "host_error:verdict_invalid";
	case SESSION_INTERCEPTOR_FAILED:
		return "host_error:interceptor_failed";
	case SESSION_INTERCEPTOR_TIMEOUT:
		return "host_error:interceptor_timeout";
	case SESSION_OPERATOR:
		return "operator";
	default:
		return "host_error:streaming_unsupported";
	}
}
