/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs of one stream, cut otherwise, or watched otherwise: they come out the same. */
#include <string.h>

#include "fuzz/stream.h"

static void check_mark(const struct refusal_mark *a, const struct refusal_mark *b)
{
	fuzz_check(a->place == b->place);
	if (a->place != REFUSAL_MESSAGE && a->place != REFUSAL_NONE)
		fuzz_check(a->form == b->form);
	if (a->place == REFUSAL_CHUNK || a->place == REFUSAL_LENGTH)
		fuzz_check(a->left == b->left);
}

static void check_point(const struct fuzz_flow_point *a, const struct fuzz_flow_point *b)
{
	fuzz_check(a->fault == b->fault);
	fuzz_check(a->released == b->released);
	check_mark(&a->mark, &b->mark);
	if (a->fault)
		return;
	fuzz_check(a->framed == b->framed);
	fuzz_check(a->received == b->received);
	fuzz_check(a->partial == b->partial);
	fuzz_check(a->expected == b->expected && a->complete == b->complete);
}

static void check_unit(const struct pipeline_unit *a, const struct pipeline_unit *b)
{
	fuzz_check(a->end == b->end && a->rune_end == b->rune_end);
	fuzz_check(a->payload_start == b->payload_start && a->payload_end == b->payload_end);
	fuzz_check(a->messages == b->messages && a->tail == b->tail && a->outer == b->outer);
}

bool fuzz_flow_is_unread(const struct fuzz_flow *flow)
{
	const struct fuzz_setup *setup = flow->stream->setup;
	bool http = setup->framing.kind == FRAMING_HTTP1 || setup->framing.kind == FRAMING_AUTO;

	return http && (setup->release_opaque || (!setup->terms[flow->track] && !flow->text));
}

static void check_flow(const struct fuzz_stream *stream, const struct fuzz_flow *a,
		       const struct fuzz_flow *b)
{
	bool folds = fuzz_terms_fold(stream->setup->terms[a->track]);

	fuzz_check(a->fed == b->fed || stream->fault);
	fuzz_check(a->released == b->released);
	fuzz_check(!a->task == !b->task);
	/* Of two tasks that deny at about the same place the cuts may say which, if one folds. */
	if (a->task && !folds)
		fuzz_check(strcmp(a->task, b->task) == 0 && a->rule == b->rule);
	if (!stream->fault)
		fuzz_check(a->runes == b->runes);
	if (fuzz_flow_is_unread(a) || fuzz_flow_is_unread(b))
		return;
	fuzz_check(a->unit_count == b->unit_count);
	for (size_t i = 0; i < a->unit_count; i++)
		check_unit(&a->units[i], &b->units[i]);
}

static void check_session(const struct session_state *a, const struct session_state *b, bool fault)
{
	fuzz_check(a->end == b->end && a->error == b->error);
	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		fuzz_check(a->track[t].confirmed == b->track[t].confirmed);
		if (!fault)
			fuzz_check(a->track[t].received == b->track[t].received);
	}
}

void fuzz_stream_check_same(const struct fuzz_stream *a, const struct fuzz_stream *b)
{
	/* Which of two faults comes first, and what has left by then, is up to who is asked. */
	if (fuzz_terms_ask(a->setup->terms[0]) || fuzz_terms_ask(a->setup->terms[1])) {
		fuzz_check(!a->fault == !b->fault);
		if (a->fault)
			return;
	}
	fuzz_check(a->fault == b->fault);
	fuzz_check(!a->fault || a->fault_track == b->fault_track);
	fuzz_check(a->point_count == b->point_count);
	for (size_t i = 0; i < a->point_count; i++)
		for (int t = 0; t < _SESSION_TRACK_MAX; t++)
			check_point(&a->points[i].flows[t], &b->points[i].flows[t]);
	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		check_flow(a, &a->flows[t], &b->flows[t]);
	fuzz_check(a->session_count == b->session_count);
	for (size_t i = 0; i < a->session_count; i++)
		check_session(&a->sessions[i], &b->sessions[i], a->fault);
}
