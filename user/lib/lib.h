/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of libsluice share. They add to core what a caller outside needs: checks of
 * every argument that could index something, structs that may grow, and text in pieces. The
 * enumerators of both headers are the same numbers, asserted where they are handed on.
 */
#ifndef SLUICE_LIB_LIB_H
#define SLUICE_LIB_LIB_H

#include <stdbool.h>

#include "core/session.h"
#include "core/utf8.h"
#include "sluice/sluice.h"

#define LIB_SAME(theirs, ours) _Static_assert((int)(theirs) == (int)(ours), #theirs)

struct sluice_session {
	struct session *session;
	struct utf8 cut[_SESSION_TRACK_MAX]; /* a rune whose last bytes have not come */
};

/* Fails the session with error, and returns what the operation returns: SLUICE_CLOSED after it. */
enum sluice_result lib_fail(struct sluice_session *session, enum session_result error) must_check;

static inline bool lib_is_track(enum sluice_track track)
{
	return (unsigned int)track < _SESSION_TRACK_MAX;
}

#endif
