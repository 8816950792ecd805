/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of top. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/top_view.h"

#define CELL_LEN 512u
/* Lines around the list: two above its head, that, and one of keys. */
#define LINES_AROUND 4u
#define LINES_DETAIL 6u

enum column {
	COLUMN_ID,
	COLUMN_AGE,
	COLUMN_COMMAND,
	COLUMN_PID,
	COLUMN_UID,
	COLUMN_CGROUP,
	COLUMN_PEER,
	COLUMN_FRAMING,
	COLUMN_LEVEL,
	COLUMN_HELD,
	COLUMN_OLDEST,
	COLUMN_REQUEST,
	COLUMN_RESPONSE,
	COLUMN_SLOWEST,
	COLUMN_WHY,
	_COLUMN_MAX
};

/* rank: of two columns the one with the higher is left out first where there is no room. */
static const struct {
	const char *head;
	unsigned int width, rank;
	bool right;
	int sort; /* enum top_sort, or -1 */
} columns[_COLUMN_MAX] = {
	/* All digits: `stream` and `deny` want them, and the last ones tell streams apart. */
	[COLUMN_ID] = {"ID", 16, 1, true, TOP_BY_ID},
	[COLUMN_AGE] = {"AGE", 5, 7, true, TOP_BY_AGE},
	[COLUMN_COMMAND] = {"COMMAND", 12, 1, false, TOP_BY_COMMAND},
	[COLUMN_PID] = {"PID", 7, 6, true, TOP_BY_PID},
	[COLUMN_UID] = {"UID", 6, 10, true, -1},
	[COLUMN_CGROUP] = {"CGROUP", 22, 9, false, -1},
	[COLUMN_PEER] = {"PEER", 21, 2, false, TOP_BY_PEER},
	[COLUMN_FRAMING] = {"FRAMING", 9, 8, false, -1},
	[COLUMN_LEVEL] = {"LEVEL", 8, 11, false, -1},
	[COLUMN_HELD] = {"HELD", 6, 0, true, TOP_BY_HELD},
	[COLUMN_OLDEST] = {"OLDEST", 6, 3, true, TOP_BY_OLDEST},
	[COLUMN_REQUEST] = {"REQ CLEARED", 13, 4, true, -1},
	[COLUMN_RESPONSE] = {"RESP CLEARED", 13, 4, true, -1},
	[COLUMN_SLOWEST] = {"SLOWEST", 12, 5, false, -1},
	/* Has the rest of the line, where that is enough to be read. */
	[COLUMN_WHY] = {"WHY", 13, 3, false, -1},
};
#define RANK_MAX 11u

/* "999", "1.2K", "34M": in at most five columns. */
static void format_bytes(long long bytes, char ret_text[static CELL_LEN])
{
	static const char units[] = " KMGT";
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1000 && unit + 2 < sizeof(units)) {
		value /= 1024;
		unit++;
	}
	if (!unit)
		(void)snprintf(ret_text, CELL_LEN, "%lld", bytes);
	else
		(void)snprintf(ret_text, CELL_LEN, value < 9.95 ? "%.1f%c" : "%.0f%c", value,
			       units[unit]);
}

/* "0.3s", "12s", "5m", "7h", "3d" */
static void format_seconds(double seconds, char ret_text[static CELL_LEN])
{
	if (seconds < 9.95)
		(void)snprintf(ret_text, CELL_LEN, "%.1fs", seconds);
	else if (seconds < 100)
		(void)snprintf(ret_text, CELL_LEN, "%.0fs", seconds);
	else if (seconds < 6000)
		(void)snprintf(ret_text, CELL_LEN, "%.0fm", seconds / 60);
	else if (seconds < 360000)
		(void)snprintf(ret_text, CELL_LEN, "%.0fh", seconds / 3600);
	else
		(void)snprintf(ret_text, CELL_LEN, "%.0fd", seconds / 86400);
}

static void format_text(enum column column, const struct stream_row *row, char *text)
{
	const char *const texts[_COLUMN_MAX] = {
		[COLUMN_COMMAND] = row->comm, [COLUMN_CGROUP] = row->cgroup,
		[COLUMN_PEER] = row->peer,    [COLUMN_FRAMING] = row->framing,
		[COLUMN_LEVEL] = row->level,  [COLUMN_SLOWEST] = row->slowest,
		[COLUMN_WHY] = row->why,
	};

	(void)snprintf(text, CELL_LEN, "%s", texts[column]);
}

static void format_cell(enum column column, const struct stream_row *row, char *text)
{
	*text = '\0';
	switch (column) {
	case COLUMN_ID:
		(void)snprintf(text, CELL_LEN, "%lld", row->id);
		break;
	case COLUMN_PID:
		(void)snprintf(text, CELL_LEN, "%lld", row->pid);
		break;
	case COLUMN_UID:
		(void)snprintf(text, CELL_LEN, "%lld", row->uid);
		break;
	case COLUMN_AGE:
		format_seconds(row->age_s, text);
		break;
	case COLUMN_HELD:
		format_bytes(row->tracks[ROW_REQUEST].held + row->tracks[ROW_RESPONSE].held, text);
		break;
	case COLUMN_OLDEST:
		if (row->holds)
			format_seconds(row->held_age_s, text);
		break;
	case COLUMN_REQUEST:
		stream_row_cleared(&row->tracks[ROW_REQUEST], text);
		break;
	case COLUMN_RESPONSE:
		stream_row_cleared(&row->tracks[ROW_RESPONSE], text);
		break;
	default:
		format_text(column, row, text);
	}
}

/* The highest rank that still fits. */
static unsigned int fitting_rank(unsigned int room)
{
	unsigned int rank, sum;
	size_t i;

	for (rank = RANK_MAX; rank; rank--) {
		for (i = 0, sum = 0; i < _COLUMN_MAX; i++)
			sum += columns[i].rank <= rank ? columns[i].width + 1 : 0;
		if (sum <= room)
			break;
	}
	return rank;
}

static unsigned int width_of(const struct screen *screen, size_t column)
{
	if (column != COLUMN_WHY || screen->column >= screen->columns)
		return columns[column].width;
	return screen->columns - screen->column;
}

static void draw_head(const struct top_view *view, struct screen *screen, unsigned int rank)
{
	size_t i;

	screen_invert(screen, true);
	for (i = 0; i < _COLUMN_MAX; i++)
		if (columns[i].rank <= rank)
			screen_field(screen,
				     columns[i].sort == (int)view->sort ? STYLE_STRONG
									: STYLE_PLAIN,
				     width_of(screen, i), columns[i].right, columns[i].head);
	screen_field(screen, STYLE_PLAIN, screen->columns, false, "");
	screen_invert(screen, false);
	screen_line(screen);
}

static void draw_row(const struct top_view *view, struct screen *screen, unsigned int rank,
		     const struct stream_row *row)
{
	bool ended = strcmp(row->state, "open") != 0 && strcmp(row->state, "connecting") != 0;
	enum style style = ended ? STYLE_FAINT : row->holds ? STYLE_WARN : STYLE_PLAIN;
	char text[CELL_LEN];
	size_t i;

	/* By more than a colour: not every terminal has some. */
	screen_invert(screen, row->id == view->selected);
	for (i = 0; i < _COLUMN_MAX; i++) {
		if (columns[i].rank > rank)
			continue;
		format_cell((enum column)i, row, text);
		screen_field(screen, style, width_of(screen, i), columns[i].right, text);
	}
	screen_invert(screen, false);
	screen_line(screen);
}

static void draw_summary(const struct top_view *view, struct screen *screen, const char *now)
{
	const json_t *watches = json_object_get(view->status, "watches"), *watch;
	const json_t *streams = json_object_get(view->status, "streams");
	const json_t *limits = json_object_get(view->status, "limits");
	size_t on = 0, i;
	char held[CELL_LEN];

	json_array_foreach(watches, i, watch)
	{
		on += json_is_true(json_object_get(watch, "enforcing"));
	}
	format_bytes((long long)cli_number(limits, "held_bytes"), held);
	screen_put(screen, STYLE_STRONG, "sluice %s  ", now);
	screen_put(screen, on ? STYLE_GOOD : STYLE_BAD, on ? "enforcing" : "NOT ENFORCING");
	screen_put(screen, STYLE_PLAIN, " for %zu of %zu watched  streams %lld  held %s", on,
		   json_array_size(watches), (long long)cli_number(streams, "open"), held);
	screen_put(screen, STYLE_PLAIN, "  denied %lld  failed %lld",
		   (long long)cli_number(streams, "denied"),
		   (long long)cli_number(streams, "failed"));
	screen_line(screen);
}

static void draw_state(const struct top_view *view, struct screen *screen)
{
	if (*view->message) {
		screen_put(screen, STYLE_BAD, "%s", view->message);
	} else if (view->typing) {
		screen_put(screen, STYLE_STRONG, "filter: %s_", view->filter);
		screen_put(screen, STYLE_FAINT, "  (Enter keeps it, Esc drops it)");
	} else if (*view->filter) {
		screen_put(screen, STYLE_PLAIN, "%zu of %zu streams match '%s'", view->count,
			   view->all, view->filter);
	} else {
		screen_put(screen, STYLE_PLAIN, "%zu stream%s", view->all, text_plural(view->all));
	}
	screen_line(screen);
}

static void draw_track(struct screen *screen, const char *name, const json_t *flow)
{
	const json_t *age = json_object_get(flow, "held_age_s");

	screen_put(screen, STYLE_PLAIN, "%-8s %lld received, %lld released, %lld held; ", name,
		   (long long)cli_number(flow, "received"), (long long)cli_number(flow, "released"),
		   (long long)cli_number(flow, "held"));
	screen_put(screen, STYLE_STRONG, "%s", cli_text(flow, "why"));
	if (json_is_real(age))
		screen_put(screen, STYLE_PLAIN, " (%.1f s)", json_real_value(age));
	screen_line(screen);
}

static const json_t *find_selected(const struct top_view *view)
{
	const json_t *list = json_object_get(view->streams, "streams"), *stream;
	size_t i;

	json_array_foreach(list, i, stream)
	{
		if (cli_number(stream, "id") == view->selected)
			return stream;
	}
	return NULL;
}

static void draw_detail(const struct top_view *view, struct screen *screen)
{
	const json_t *stream = find_selected(view);

	while (screen->row + LINES_DETAIL + 1 < screen->rows)
		screen_line(screen);
	screen_put(screen, STYLE_STRONG, "stream %lld  %s  %s", view->selected,
		   cli_text(stream, "state"), cli_text(stream, "peer"));
	screen_line(screen);
	screen_put(screen, STYLE_PLAIN, "process  %s, pid %lld, uid %lld", cli_text(stream, "comm"),
		   (long long)cli_number(stream, "pid"), (long long)cli_number(stream, "uid"));
	screen_line(screen);
	screen_put(screen, STYLE_PLAIN, "cgroup   %s", cli_text(stream, "cgroup"));
	screen_line(screen);
	screen_put(screen, STYLE_PLAIN, "policy   %s, %s, %s, framing %s",
		   cli_text(stream, "policy"), cli_text(stream, "mode"),
		   cli_text(stream, "safety_level"), cli_text(stream, "framing"));
	screen_line(screen);
	draw_track(screen, "request", json_object_get(stream, "request"));
	draw_track(screen, "response", json_object_get(stream, "response"));
}

static void draw_keys(struct screen *screen)
{
	while (screen->row + 1 < screen->rows)
		screen_line(screen);
	screen_put(screen, STYLE_FAINT,
		   "q quit  arrows move, sort  r reverse  / filter  Enter detail  "
		   "h held o oldest a age i id p pid c command n peer");
}

/* Keeps the selected row in sight. */
static void scroll(struct top_view *view, size_t room)
{
	size_t at = 0;

	view->page = room;
	while (at < view->count && view->rows[at].id != view->selected)
		at++;
	if (at < view->first)
		view->first = at;
	if (at < view->count && at >= view->first + room)
		view->first = at - room + 1;
	if (view->first + room > view->count)
		view->first = view->count > room ? view->count - room : 0;
}

void top_view_draw(struct top_view *view, struct screen *screen, const char *now)
{
	bool detail = view->detail && view->selected;
	unsigned int around = LINES_AROUND + (detail ? LINES_DETAIL : 0);
	unsigned int rank = fitting_rank(screen->columns);
	size_t room = screen->rows > around ? screen->rows - around : 0, i;

	scroll(view, room);
	draw_summary(view, screen, now);
	draw_state(view, screen);
	draw_head(view, screen, rank);
	for (i = view->first; i < view->count && i < view->first + room; i++)
		draw_row(view, screen, rank, &view->rows[i]);
	if (detail)
		draw_detail(view, screen);
	draw_keys(screen);
}
