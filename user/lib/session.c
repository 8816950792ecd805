/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

LIB_SAME(SLUICE_TRACK_RUNES_MAX, SESSION_RUNES_MAX);
LIB_SAME(SLUICE_TRACK_TASKS_MAX, SESSION_TASKS_MAX);
LIB_SAME(SLUICE_TRACKS, _SESSION_TRACK_MAX);
LIB_SAME(SLUICE_REQUEST, SESSION_REQUEST);
LIB_SAME(SLUICE_RESPONSE, SESSION_RESPONSE);
LIB_SAME(SLUICE_BLOCKING, SESSION_BLOCKING);
LIB_SAME(SLUICE_COMPLETE, SESSION_COMPLETE);
LIB_SAME(SLUICE_DEFERRED, SESSION_DEFERRED);
LIB_SAME(SLUICE_DEFERRED + 1, _SESSION_LEVEL_MAX);
LIB_SAME(SLUICE_CLEARED, SESSION_CLEARED);
LIB_SAME(SLUICE_DENIED, SESSION_DENIED);
LIB_SAME(SLUICE_TRANSFORMED, SESSION_TRANSFORMED);
LIB_SAME(SLUICE_TRANSFORMED + 1, _SESSION_OUTCOME_MAX);
LIB_SAME(SLUICE_OK, SESSION_OK);
LIB_SAME(SLUICE_NO_TRACKS_MEDIATED, SESSION_NO_TRACKS_MEDIATED);
LIB_SAME(SLUICE_OFFSET_OVERFLOW, SESSION_OFFSET_OVERFLOW);
LIB_SAME(SLUICE_NO_TASKS, SESSION_NO_TASKS);
LIB_SAME(SLUICE_UNKNOWN_TASK, SESSION_UNKNOWN_TASK);
LIB_SAME(SLUICE_OFFSET_PAST_END, SESSION_OFFSET_PAST_END);
LIB_SAME(SLUICE_PAYLOADS_CLOSED, SESSION_PAYLOADS_CLOSED);
LIB_SAME(SLUICE_CLOSED, SESSION_CLOSED);
LIB_SAME(SLUICE_TRANSFORM_TOO_LATE, SESSION_TRANSFORM_TOO_LATE);
LIB_SAME(SLUICE_NON_CONTIGUOUS_OUTCOME, SESSION_NON_CONTIGUOUS_OUTCOME);
LIB_SAME(SLUICE_VERDICT_INVALID, SESSION_VERDICT_INVALID);
LIB_SAME(SLUICE_UNCLEARED_RESIDUE, SESSION_UNCLEARED_RESIDUE);
LIB_SAME(SLUICE_EMPTY_SPAN, SESSION_EMPTY_SPAN);
LIB_SAME(SLUICE_SPAN_OVERFLOW, SESSION_SPAN_OVERFLOW);
LIB_SAME(SLUICE_NO_MEMORY, SESSION_NO_MEMORY);
LIB_SAME(SLUICE_TOO_MANY_TASKS, SESSION_TOO_MANY_TASKS);
LIB_SAME(SLUICE_OUTPUT_PENDING, SESSION_OUTPUT_PENDING);
LIB_SAME(SLUICE_OUTPUT_TOO_EARLY, SESSION_OUTPUT_TOO_EARLY);
LIB_SAME(SLUICE_FRAMING_FAULT, SESSION_FRAMING_FAULT);
LIB_SAME(SLUICE_DISCONNECTED, SESSION_DISCONNECTED);
LIB_SAME(SLUICE_HOLD_TIMEOUT, SESSION_HOLD_TIMEOUT);
LIB_SAME(SLUICE_INTERCEPTOR_FAILED, SESSION_INTERCEPTOR_FAILED);
LIB_SAME(SLUICE_INTERCEPTOR_TIMEOUT, SESSION_INTERCEPTOR_TIMEOUT);
LIB_SAME(SLUICE_OPERATOR, SESSION_OPERATOR);
LIB_SAME(SLUICE_HOST_DIED, SESSION_HOST_DIED);
LIB_SAME(SLUICE_RESUME_REFUSED, SESSION_RESUME_REFUSED);
LIB_SAME(SLUICE_RESUME_REFUSED + 1, _SESSION_RESULT_MAX);
LIB_SAME(SLUICE_END_OPEN, SESSION_OPEN);
LIB_SAME(SLUICE_END_COMPLETE, SESSION_COMPLETE_END);
LIB_SAME(SLUICE_END_DENIED, SESSION_DENIED_END);
LIB_SAME(SLUICE_END_REWRITTEN, SESSION_REWRITTEN_END);
LIB_SAME(SLUICE_END_FAILED, SESSION_FAILED_END);
LIB_SAME(SLUICE_END_FAILED + 1, _SESSION_END_MAX);

/* The config as it was first published; a smaller one is of no version. */
#define CONFIG_SIZE_FIRST (offsetof(struct sluice_config, output_count) + sizeof(size_t))

static bool are_names(const char *const *names, size_t count)
{
	if (count > SESSION_TASKS_MAX)
		return true; /* session_new refuses them before it reads one */
	if (count && !names)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!names[i] || !*names[i])
			return false;
	return true;
}

/* A caller of a later version may ask for nothing that this one does not know. */
static bool read_config(const struct sluice_config *config, struct sluice_config *ret_config)
{
	const uint8_t *bytes = (const uint8_t *)config;

	if (!config || config->size < CONFIG_SIZE_FIRST || config->size > SLUICE_CONFIG_SIZE_MAX)
		return false;
	for (size_t i = sizeof(*config); i < config->size; i++)
		if (bytes[i])
			return false;
	memcpy(ret_config, config, MIN(config->size, sizeof(*config)));
	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		if (!are_names(ret_config->tasks[t], ret_config->task_count[t]))
			return false;
	return (unsigned int)ret_config->level < _SESSION_LEVEL_MAX &&
	       are_names(ret_config->output_tasks, ret_config->output_count);
}

enum sluice_result sluice_session_new(const struct sluice_config *config,
				      struct sluice_session **ret_session)
{
	struct sluice_config theirs = {0};
	struct session_config ours = {0};
	struct sluice_session *session;
	enum session_result result;

	if (!read_config(config, &theirs))
		return SLUICE_BAD_ARGUMENT;
	ours.level = (enum session_level)theirs.level;
	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		ours.start[t] = theirs.start[t];
		ours.tasks[t] = theirs.tasks[t];
		ours.task_count[t] = theirs.task_count[t];
	}
	ours.output_tasks = theirs.output_tasks;
	ours.output_count = theirs.output_count;
	session = calloc(1, sizeof(*session));
	if (!session)
		return SLUICE_NO_MEMORY;
	result = session_new(&ours, &session->session);
	if (result != SESSION_OK) {
		free(session);
		return (enum sluice_result)result;
	}
	*ret_session = session;
	return SLUICE_OK;
}

bool sluice_session_free(struct sluice_session *session)
{
	bool settled = !session || session_free(session->session);

	free(session);
	return settled;
}

static bool has_ended(const struct sluice_session *session)
{
	struct session_state state;

	session_get(session->session, &state);
	return state.end != SESSION_OPEN;
}

enum sluice_result lib_fail(struct sluice_session *session, enum session_result error)
{
	if (has_ended(session))
		return SLUICE_CLOSED;
	session_fail(session->session, error);
	return (enum sluice_result)error;
}

int sluice_session_task(const struct sluice_session *session, enum sluice_track track,
			const char *name)
{
	if (!lib_is_track(track) || !name)
		return -ENOENT;
	return session_task(session->session, (enum session_track)track, name);
}

const char *sluice_session_task_name(const struct sluice_session *session, enum sluice_track track,
				     int task)
{
	if (!lib_is_track(track))
		return NULL;
	return session_task_name(session->session, (enum session_track)track, task);
}

int sluice_session_output_task(const struct sluice_session *session, const char *name)
{
	return name ? session_output_task(session->session, name) : -ENOENT;
}

const char *sluice_session_output_name(const struct sluice_session *session, int task)
{
	return session_output_name(session->session, task);
}

enum sluice_result sluice_session_observe(struct sluice_session *session, enum sluice_track track,
					  uint64_t runes, uint64_t *ret_received)
{
	if (!lib_is_track(track))
		return lib_fail(session, SESSION_NO_TASKS);
	/* What follows a cut rune can only be its own bytes. */
	if (session->cut[track].have)
		return lib_fail(session, SESSION_FRAMING_FAULT);
	return (enum sluice_result)session_observe(session->session, (enum session_track)track,
						   runes, ret_received);
}

enum sluice_result sluice_session_observe_text(struct sluice_session *session,
					       enum sluice_track track, const void *text,
					       size_t len, uint64_t *ret_received)
{
	enum session_result result;
	uint64_t runes, received;
	struct utf8 *cut;
	bool had;

	if (!lib_is_track(track))
		return lib_fail(session, SESSION_NO_TASKS);
	cut = &session->cut[track];
	had = cut->have > 0;
	/* Each rune has one byte that begins it, and counts with its last. */
	runes = len ? utf8_count(text, len) + had : had;
	if (len && utf8_take(cut, text, len, false) != len)
		return lib_fail(session, SESSION_FRAMING_FAULT);
	runes -= cut->have > 0;
	result = session_observe(session->session, (enum session_track)track, runes, &received);
	if (result == SESSION_OK)
		*ret_received = received;
	return (enum sluice_result)result;
}

enum sluice_result sluice_session_outcome(struct sluice_session *session, enum sluice_track track,
					  int task, uint64_t start, uint64_t end,
					  enum sluice_outcome outcome)
{
	bool known = lib_is_track(track);

	/* On a track that is none every task is unknown; what else is wrong is said first. */
	return (enum sluice_result)session_outcome(
		session->session, known ? (enum session_track)track : SESSION_REQUEST,
		known ? task : -1, start, end, (enum session_outcome)outcome);
}

enum sluice_result sluice_session_output(struct sluice_session *session, int task,
					 enum sluice_outcome outcome)
{
	return (enum sluice_result)session_output(session->session, task,
						  (enum session_outcome)outcome);
}

int sluice_session_advance(struct sluice_session *session, enum sluice_track track,
			   uint64_t *ret_watermark)
{
	if (!lib_is_track(track))
		return 0;
	return session_advance(session->session, (enum session_track)track, ret_watermark);
}

bool sluice_session_safe_offset(const struct sluice_session *session, enum sluice_track track,
				uint64_t *ret_offset)
{
	struct session_state state;

	if (!lib_is_track(track))
		return false;
	session_get(session->session, &state);
	if (!state.track[track].has_release)
		return false;
	*ret_offset = state.track[track].release;
	return true;
}

static bool is_cut(const struct sluice_session *session)
{
	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		if (session->cut[t].have)
			return true;
	return false;
}

enum sluice_result sluice_session_end_of_payloads(struct sluice_session *session)
{
	if (is_cut(session) && !has_ended(session))
		return lib_fail(session, SESSION_FRAMING_FAULT);
	return (enum sluice_result)session_end_of_payloads(session->session);
}

enum sluice_result sluice_session_finish(struct sluice_session *session)
{
	if (is_cut(session))
		return lib_fail(session, SESSION_FRAMING_FAULT);
	return (enum sluice_result)session_finish(session->session);
}

void sluice_session_fail(struct sluice_session *session, enum sluice_result cause)
{
	bool known = cause != SLUICE_OK && (unsigned int)cause < _SESSION_RESULT_MAX;

	session_fail(session->session, known ? (enum session_result)cause : SESSION_DISCONNECTED);
}
