/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `top` shows, without a terminal and without a daemon: answers and keys go in, a frame
 * comes out.
 *
 * Invariant: which stream is selected is known by its id, wherever it is sorted to.
 */
#ifndef SLUICE_CLI_TOP_VIEW_H
#define SLUICE_CLI_TOP_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"
#include "cli/screen.h"
#include "cli/stream_row.h"

#define TOP_FILTER_LEN	64u
#define TOP_MESSAGE_LEN 256u

enum top_sort {
	TOP_BY_HELD,
	TOP_BY_OLDEST,
	TOP_BY_AGE,
	TOP_BY_ID,
	TOP_BY_PID,
	TOP_BY_COMMAND,
	TOP_BY_PEER,
	_TOP_SORT_MAX
};

struct top_view {
	json_t *status, *streams; /* the last answers, or NULL */
	struct stream_row *rows;  /* those that pass the filter, sorted */
	size_t count, all;
	enum top_sort sort;
	bool reversed, detail, typing; /* typing: a filter */
	char filter[TOP_FILTER_LEN];
	long long selected;	       /* its id; 0: none */
	size_t first;		       /* row at the top of the list */
	size_t page;		       /* rows that the last frame had room for */
	char message[TOP_MESSAGE_LEN]; /* what is wrong, or "" */
};

void top_view_done(struct top_view *view);
/* Answers of `status` and `streams`, taken over. -ENOMEM: the view is as it was. */
int top_view_take(struct top_view *view, json_t *status, json_t *streams) must_check;
/* False: it is time to go. */
bool top_view_key(struct top_view *view, int key);
/* Draws into a screen that was begun. now: of the day, as it is shown. */
void top_view_draw(struct top_view *view, struct screen *screen, const char *now);

#endif
