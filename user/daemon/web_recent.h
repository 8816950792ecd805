/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the streams that ended a moment ago. Who asks a few times a second would otherwise
 * not see how a stream ended, or that it was there at all.
 *
 * Kept only while somebody asks, and at most WEB_RECENT_ROWS of them: where more end, the
 * oldest are left out.
 */
#ifndef SLUICE_DAEMON_WEB_RECENT_H
#define SLUICE_DAEMON_WEB_RECENT_H

#include <stddef.h>
#include <stdint.h>

#define WEB_RECENT_ROWS	   256u
#define WEB_RECENT_SHOW_NS 3000000000ull
#define WEB_RECENT_ASK_NS  5000000000ull

struct stream;

struct web_recent {
	struct web_recent_row {
		uint64_t id, ended_ns;
		char *text; /* the row, as JSON; NULL: none is here */
	} rows[WEB_RECENT_ROWS];
	size_t next; /* the oldest */
	uint64_t asked_ns;
};

/* A stream has ended. Without memory it is left out. */
void web_recent_add(struct web_recent *recent, const struct stream *stream);
/*
 * The next row from *at on, which begins with 0, that may still be shown; NULL: there is none.
 * Valid until the next row is added.
 */
const struct web_recent_row *web_recent_next(const struct web_recent *recent, uint64_t now_ns,
					     size_t *at);
/* Frees the rows. */
void web_recent_done(struct web_recent *recent);

#endif
