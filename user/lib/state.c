/* SPDX-License-Identifier: Apache-2.0 */
/* What a session looks like from outside. */
#include "lib/lib.h"

#include <stddef.h>
#include <string.h>

#include "base/macros.h"

/* The state as it was first published; a smaller one is of no version. */
#define STATE_SIZE_FIRST (offsetof(struct sluice_state, ended_output) + sizeof(bool))

enum sluice_result sluice_session_get(const struct sluice_session *session,
				      struct sluice_state *state)
{
	struct sluice_state now = {.size = MIN(state->size, sizeof(now))};
	struct session_state ours;

	if (state->size < STATE_SIZE_FIRST)
		return SLUICE_BAD_ARGUMENT;
	session_get(session->session, &ours);
	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		now.track[t].received = ours.track[t].received;
		now.track[t].confirmed = ours.track[t].confirmed;
		now.track[t].pending = ours.track[t].pending;
	}
	now.end = (enum sluice_end)ours.end;
	now.error = (enum sluice_result)ours.error;
	now.ended_track = (enum sluice_track)ours.ended_track;
	now.ended_task = ours.ended_task;
	now.ended_start = ours.ended_start;
	now.ended_span_end = ours.ended_span_end;
	now.ended_output = ours.ended_output;
	memcpy(state, &now, now.size);
	return SLUICE_OK;
}

uint64_t sluice_session_persistable(const struct sluice_session *session, enum sluice_track track,
				    uint64_t emitted)
{
	struct session_state state;

	if (!lib_is_track(track))
		return 0;
	session_get(session->session, &state);
	return session_persistable(&state, (enum session_track)track, emitted);
}

const char *sluice_session_reason(const struct sluice_session *session)
{
	struct session_state state;

	session_get(session->session, &state);
	return session_reason(&state);
}
