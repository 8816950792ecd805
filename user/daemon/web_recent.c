/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/web_recent.h"

#include <jansson.h>
#include <stdlib.h>

#include "daemon/daemon.h"
#include "daemon/stream_row.h"
#include "sys/clock.h"

void web_recent_add(struct web_recent *recent, const struct stream *stream)
{
	struct web_recent_row *row = &recent->rows[recent->next];
	uint64_t now_ns = clock_boot_ns();
	json_t *values;

	if (now_ns - recent->asked_ns > WEB_RECENT_ASK_NS)
		return;
	values = stream_row(stream, now_ns);
	free(row->text);
	*row = (struct web_recent_row){
		.id = stream->origin.stream,
		.ended_ns = now_ns,
		.text = values ? json_dumps(values, JSON_COMPACT) : NULL,
	};
	json_decref(values);
	recent->next = (recent->next + 1) % WEB_RECENT_ROWS;
}

const struct web_recent_row *web_recent_next(const struct web_recent *recent, uint64_t now_ns,
					     size_t *at)
{
	while (*at < WEB_RECENT_ROWS) {
		const struct web_recent_row *row = &recent->rows[(*at)++];

		if (row->text && now_ns - row->ended_ns < WEB_RECENT_SHOW_NS)
			return row;
	}
	return NULL;
}

void web_recent_done(struct web_recent *recent)
{
	for (size_t i = 0; i < WEB_RECENT_ROWS; i++)
		free(recent->rows[i].text);
}
