/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal.h"

void top_view_done(struct top_view *view)
{
	json_decref(view->status);
	json_decref(view->streams);
	free(view->rows);
	*view = (struct top_view){0};
}

static bool passes(const struct stream_row *row, const char *filter)
{
	const char *const texts[] = {row->cgroup, row->comm,  row->peer,    row->framing,
				     row->level,  row->state, row->slowest, row->why};
	size_t i;

	if (!*filter)
		return true;
	for (i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcasestr(texts[i], filter))
			return true;
	return false;
}

static long long held_of(const struct stream_row *row)
{
	return row->tracks[ROW_REQUEST].held + row->tracks[ROW_RESPONSE].held;
}

static int by_number(double a, double b)
{
	return (a > b) - (a < b);
}

/* What there is most of comes first; names in their order. */
static int compare(const struct stream_row *a, const struct stream_row *b, enum top_sort sort)
{
	switch (sort) {
	case TOP_BY_HELD:
		return by_number((double)held_of(b), (double)held_of(a));
	case TOP_BY_OLDEST:
		return by_number(b->holds ? b->held_age_s : -1, a->holds ? a->held_age_s : -1);
	case TOP_BY_AGE:
		return by_number(b->age_s, a->age_s);
	case TOP_BY_PID:
		return by_number((double)a->pid, (double)b->pid);
	case TOP_BY_COMMAND:
		return strcmp(a->comm, b->comm);
	case TOP_BY_PEER:
		return strcmp(a->peer, b->peer);
	default:
		return 0;
	}
}

/* Of equals the one with the smaller id comes first, so that rows do not swap. */
static int compare_rows(const void *left, const void *right, void *context)
{
	const struct stream_row *a = left, *b = right;
	const struct top_view *view = context;
	int r = compare(a, b, view->sort);

	if (!r)
		r = by_number((double)a->id, (double)b->id);
	return view->reversed ? -r : r;
}

/* The row of the selected stream, or count. */
static size_t selected_row(const struct top_view *view)
{
	size_t i;

	for (i = 0; i < view->count && view->rows[i].id != view->selected; i++)
		;
	return i;
}

static int arrange(struct top_view *view)
{
	const json_t *list = json_object_get(view->streams, "streams"), *stream;
	size_t i, all = json_array_size(list);
	struct stream_row *rows = calloc(all + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	free(view->rows);
	view->rows = rows;
	view->all = all;
	view->count = 0;
	json_array_foreach(list, i, stream)
	{
		stream_row_read(stream, &rows[view->count]);
		view->count += passes(&rows[view->count], view->filter);
	}
	qsort_r(rows, view->count, sizeof(*rows), compare_rows, view);
	if (selected_row(view) == view->count)
		view->selected = view->count ? rows[MIN(view->first, view->count - 1)].id : 0;
	return 0;
}

int top_view_take(struct top_view *view, json_t *status, json_t *streams)
{
	json_t *old_status = view->status, *old_streams = view->streams;

	view->status = status;
	view->streams = streams;
	if (arrange(view)) {
		view->status = old_status;
		view->streams = old_streams;
		json_decref(status);
		json_decref(streams);
		return -ENOMEM;
	}
	json_decref(old_status);
	json_decref(old_streams);
	return 0;
}

/* Where memory is short the rows stay as they were. */
static void rearrange(struct top_view *view)
{
	(void)!arrange(view);
}

static void move(struct top_view *view, int key)
{
	size_t at = selected_row(view), page = MAX(view->page, (size_t)1);

	if (!view->count)
		return;
	at = MIN(at, view->count - 1);
	if (key == KEY_UP)
		at -= at > 0;
	else if (key == KEY_DOWN)
		at += 1;
	else if (key == KEY_PAGE_UP)
		at -= MIN(at, page);
	else if (key == KEY_PAGE_DOWN)
		at += page;
	else
		at = key == KEY_HOME ? 0 : view->count - 1;
	view->selected = view->rows[MIN(at, view->count - 1)].id;
}

static void sort_by(struct top_view *view, int step)
{
	view->sort = (enum top_sort)(((int)view->sort + step + _TOP_SORT_MAX) % _TOP_SORT_MAX);
	rearrange(view);
}

/* A filter is typed: what is no text ends it. */
static void type(struct top_view *view, int key)
{
	size_t len = strlen(view->filter);

	if (key == KEY_ENTER || key == KEY_ESCAPE)
		view->typing = false;
	if (key == KEY_ESCAPE)
		view->filter[0] = '\0';
	else if (key == KEY_BACKSPACE && len)
		view->filter[len - 1] = '\0';
	else if (key >= ' ' && key < KEY_BACKSPACE && len + 1 < TOP_FILTER_LEN)
		(void)snprintf(view->filter + len, TOP_FILTER_LEN - len, "%c", key);
	rearrange(view);
}

static void command(struct top_view *view, int key)
{
	/* Letters of columns, in the order of enum top_sort. */
	static const char letters[] = "hoaipcn";
	const char *letter = key > 0 && key < KEY_UP ? strchr(letters, key) : NULL;

	if (letter) {
		view->sort = (enum top_sort)(letter - letters);
		rearrange(view);
	} else if (key == KEY_LEFT || key == KEY_RIGHT || key == 's') {
		sort_by(view, key == KEY_LEFT ? -1 : 1);
	} else if (key == 'r') {
		view->reversed = !view->reversed;
		rearrange(view);
	} else if (key == '/') {
		view->typing = true;
		view->filter[0] = '\0';
		rearrange(view);
	} else if (key == KEY_ENTER) {
		view->detail = !view->detail;
	} else if (key == KEY_ESCAPE) {
		view->detail = false;
		view->filter[0] = '\0';
		rearrange(view);
	} else if (key >= KEY_UP && key < KEY_UNKNOWN) {
		move(view, key);
	} else if (key == 'k' || key == 'j') {
		move(view, key == 'k' ? KEY_UP : KEY_DOWN);
	}
}

bool top_view_key(struct top_view *view, int key)
{
	if (view->typing) {
		type(view, key);
		return true;
	}
	if (key == 'q' || key == 'Q')
		return false;
	command(view, key);
	return true;
}
