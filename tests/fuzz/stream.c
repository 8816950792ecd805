/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

/* What neither a pipeline nor the exchanges count: a session, ICU's working memory. */
#define UNCOUNTED (64u << 10)
/* Held without a byte of input, and for each byte of it, at most. */
#define HELD_FIXED    (1u << 20)
#define HELD_PER_BYTE 96u
/* The windows of brotli and zstd, as far as the input names them. */
#define HELD_WINDOWS (40u << 20)

static bool has_exchanges(const struct fuzz_setup *setup)
{
	return setup->framing.kind == FRAMING_HTTP1 || setup->framing.kind == FRAMING_AUTO;
}

static void on_unit(void *context, const struct pipeline_unit *unit)
{
	struct fuzz_flow *flow = context;
	const struct pipeline_unit *last =
		flow->unit_count ? &flow->units[flow->unit_count - 1] : NULL;

	fuzz_memory_leave();
	fuzz_check(unit->start == (last ? last->end : 0));
	fuzz_check(unit->end > unit->start || unit->messages);
	fuzz_check(unit->payload_start <= unit->payload_end && unit->payload_end <= unit->end);
	if (flow->unit_count == flow->unit_capacity) {
		flow->unit_capacity = flow->unit_capacity * 2 + 16;
		flow->units = realloc(flow->units, flow->unit_capacity * sizeof(*flow->units));
		fuzz_check(flow->units != NULL);
	}
	flow->units[flow->unit_count++] = *unit;
	if (flow->stream->on_unit)
		flow->stream->on_unit(flow->stream->context, flow, unit);
	fuzz_memory_enter();
}

static void on_text(void *context, const char *channel, const uint8_t *text, size_t len)
{
	struct fuzz_flow *flow = context;

	fuzz_memory_leave();
	if (flow->stream->on_text)
		flow->stream->on_text(flow->stream->context, flow, channel, text, len);
	fuzz_memory_enter();
}

static void on_start(void *context, const uint8_t *line, size_t len)
{
	struct fuzz_flow *flow = context;

	(void)line;
	fuzz_memory_leave();
	fuzz_check(len > 0);
	if (flow->stream->on_start)
		flow->stream->on_start(flow->stream->context, flow);
	fuzz_memory_enter();
}

static void on_session_end(void *context, uint64_t number, const struct session *session,
			   const struct session_state *state)
{
	struct fuzz_stream *stream = context;

	(void)number;
	(void)session;
	fuzz_memory_leave();
	fuzz_check(state->end != SESSION_OPEN);
	stream->sessions =
		realloc(stream->sessions, (stream->session_count + 1) * sizeof(*stream->sessions));
	fuzz_check(stream->sessions != NULL);
	stream->sessions[stream->session_count++] = *state;
	fuzz_memory_enter();
}

static bool open_sessions(struct fuzz_stream *stream)
{
	const struct fuzz_setup *setup = stream->setup;
	struct exchanges_config config = {
		.session = {.level = setup->level},
		.on_end = on_session_end,
		.context = stream,
	};
	size_t tasks = 0;

	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		const struct fuzz_terms *terms = setup->terms[t];

		config.session.tasks[t] = terms ? terms->names : NULL;
		config.session.task_count[t] = terms ? terms->task_count : 0;
		tasks += config.session.task_count[t];
	}
	if (has_exchanges(setup))
		return exchanges_new(&config, &stream->exchanges) == 0;
	return !tasks || session_new(&config.session, &stream->session) == SESSION_OK;
}

static bool open_flow(struct fuzz_stream *stream, enum session_track track, bool text)
{
	const struct fuzz_setup *setup = stream->setup;
	const struct fuzz_terms *terms = setup->terms[track];
	struct fuzz_flow *flow = &stream->flows[track];
	const struct pipeline_config config = {
		.framing = setup->framing,
		.extract = setup->extract,
		.max_message = setup->max_message,
		.max_pending_units = setup->max_pending,
		.track = track,
		.level = setup->level,
		.session = stream->session,
		.exchanges = stream->exchanges,
		.release_opaque = setup->release_opaque,
		.tasks = terms ? terms->tasks : NULL,
		.task_count = terms ? terms->task_count : 0,
		.on_unit = on_unit,
		.on_text = text ? on_text : NULL,
		.on_start = on_start,
		.context = flow,
	};

	*flow = (struct fuzz_flow){.stream = stream, .track = track, .text = text};
	return pipeline_new(&config, &flow->pipeline) == 0;
}

bool fuzz_stream_open(struct fuzz_stream *stream, unsigned int text)
{
	bool opened;

	fuzz_memory_reset();
	fuzz_memory_enter();
	opened = open_sessions(stream);
	for (int t = 0; t < _SESSION_TRACK_MAX && opened; t++)
		opened = open_flow(stream, (enum session_track)t, text & FUZZ_TEXT(t));
	fuzz_memory_leave();
	if (!opened)
		fuzz_stream_close(stream);
	return opened;
}

/* Everything settles: what is open still as failed. */
void fuzz_stream_close(struct fuzz_stream *stream)
{
	size_t settled = stream->session_count, open;
	bool mediated = stream->setup->terms[0] || stream->setup->terms[1];

	fuzz_memory_enter();
	if (stream->exchanges) {
		open = exchanges_open(stream->exchanges);
		exchanges_fail(stream->exchanges, SESSION_DISCONNECTED);
		/* Sessions of exchanges that failed with the stream have told already, or do now. */
		fuzz_check(!mediated || stream->session_count - settled <= open);
	}
	if (stream->session) {
		session_fail(stream->session, SESSION_DISCONNECTED);
		fuzz_check(session_free(stream->session));
	}
	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		pipeline_free(stream->flows[t].pipeline);
	settled = stream->session_count;
	exchanges_free(stream->exchanges);
	fuzz_memory_leave();
	fuzz_check(stream->session_count == settled);
	stream->exchanges = NULL;
	stream->session = NULL;
	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		stream->flows[t].pipeline = NULL;
}

static struct fuzz_flow_point look(const struct fuzz_flow *flow)
{
	const struct pipeline *p = flow->pipeline;

	return (struct fuzz_flow_point){
		.released = pipeline_released(p),
		.framed = pipeline_framed(p),
		.received = pipeline_received(p),
		.partial = pipeline_partial(p),
		.expected = pipeline_expected(p),
		.complete = pipeline_complete(p),
		.mark = pipeline_mark(p),
		.fault = pipeline_fault(p),
	};
}

static bool is_unit_end(const struct fuzz_flow *flow, uint64_t at)
{
	if (!at)
		return true;
	for (size_t i = flow->unit_count; i-- > 0 && flow->units[i].end >= at;)
		if (flow->units[i].end == at)
			return true;
	return false;
}

static void check_mark(const struct refusal_mark *mark)
{
	uint8_t *bytes = NULL;
	size_t len;
	int r = refusal_new(mark, false, "policy_denied", "t0", &bytes, &len);

	fuzz_check(r == 0 || r == -ENOENT);
	fuzz_check(r == 0 || mark->place == REFUSAL_NONE || mark->place == REFUSAL_LENGTH ||
		   mark->place == REFUSAL_CHUNK);
	free(bytes);
}

static void check_flow(struct fuzz_flow *flow)
{
	struct fuzz_flow_point now = look(flow);

	fuzz_check(now.released >= flow->released);
	fuzz_check(now.released <= now.framed && now.framed <= now.received);
	fuzz_check(now.received <= flow->fed);
	fuzz_check(now.fault || now.received == flow->fed);
	fuzz_check(is_unit_end(flow, now.released));
	fuzz_check(flow->stream->setup->terms[flow->track] || now.released == now.framed);
	fuzz_check(now.partial <= now.received - now.framed);
	fuzz_check(pipeline_released_runes(flow->pipeline) <= pipeline_runes(flow->pipeline));
	flow->released = now.released;
}

static bool names_window(const struct fuzz_setup *setup)
{
	const struct fuzz_input *input = setup->input;

	return setup->framing.coding >= CODING_BROTLI || memmem(input->data, input->len, "br", 2) ||
	       memmem(input->data, input->len, "zstd", 4) ||
	       memmem(input->data, input->len, "BR", 2);
}

static void check_memory(const struct fuzz_stream *stream)
{
	size_t says = UNCOUNTED, fed = 0;

	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		says += pipeline_memory(stream->flows[t].pipeline);
		fed += stream->flows[t].fed;
		if (stream->exchanges)
			says += exchanges_memory(stream->exchanges, (enum session_track)t);
	}
	fuzz_check(fuzz_memory_now() <= says);
	fuzz_check(fuzz_memory_peak() <= HELD_FIXED + HELD_PER_BYTE * fed +
						 (names_window(stream->setup) ? HELD_WINDOWS : 0));
}

static void note_fault(struct fuzz_flow *flow, enum fault fault)
{
	const struct pipeline_denial *denial = pipeline_denial(flow->pipeline);

	fuzz_check(pipeline_fault(flow->pipeline) == fault);
	if (!fault || flow->stream->fault)
		return;
	flow->stream->fault = fault;
	flow->stream->fault_track = flow->track;
	fuzz_check((denial != NULL) == (fault == FAULT_BLOCKED));
	fuzz_check(fault != FAULT_NO_MEMORY);
	if (!denial)
		return;
	fuzz_check(denial->start < denial->end);
	flow->task = denial->task;
	flow->rule = denial->rule;
}

static void feed(struct fuzz_flow *flow, const uint8_t *data, size_t len)
{
	uint8_t *copy = fuzz_copy(data, len);
	enum fault fault;

	for (size_t at = 0, used; at < len; at += used) {
		fuzz_memory_enter();
		used = 0;
		fault = pipeline_take(flow->pipeline, copy + at, len - at, &used);
		fuzz_memory_leave();
		flow->fed += fault ? len - at : used;
		note_fault(flow, fault);
		if (fault)
			break;
		check_flow(flow);
		fuzz_check(used || pipeline_waits(flow->pipeline));
		fault = fuzz_stream_serve(flow, false);
		note_fault(flow, fault);
		if (fault)
			break;
	}
	free(copy);
	check_flow(flow);
	check_memory(flow->stream);
}

/* Whatever a flow waits for comes. */
static void settle_flow(struct fuzz_flow *flow)
{
	if (flow->stream->fault)
		return;
	note_fault(flow, fuzz_stream_serve(flow, true));
	fuzz_check(flow->stream->fault || !pipeline_waits(flow->pipeline));
	check_flow(flow);
}

static void end_flow(struct fuzz_flow *flow)
{
	enum fault fault;

	if (flow->ended || flow->stream->fault)
		return;
	flow->ended = true;
	fuzz_memory_enter();
	fault = pipeline_end(flow->pipeline);
	fuzz_memory_leave();
	note_fault(flow, fault);
	check_flow(flow);
	settle_flow(flow);
}

/* A fault stays, and so does what was released. */
static void check_stuck(struct fuzz_flow *flow)
{
	static const uint8_t more[] = "\r\n\r\n0\r\n\r\n{}\n\n";
	struct fuzz_flow_point before = look(flow), after;
	size_t used;

	fuzz_memory_enter();
	fuzz_check(pipeline_take(flow->pipeline, more, sizeof(more), &used) == before.fault);
	fuzz_check(pipeline_end(flow->pipeline) == before.fault);
	(void)pipeline_advance(flow->pipeline);
	fuzz_memory_leave();
	after = look(flow);
	fuzz_check(after.released == before.released && after.framed == before.framed);
	fuzz_check(after.mark.place == before.mark.place);
}

static void take_point(struct fuzz_stream *stream)
{
	struct fuzz_point *point = &stream->points[stream->point_count++];

	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		point->flows[t] = look(&stream->flows[t]);
		check_mark(&point->flows[t].mark);
	}
}

static void run_segment(struct fuzz_stream *stream, const struct fuzz_segment *segment,
			enum fuzz_way way)
{
	const struct fuzz_setup *setup = stream->setup;
	struct fuzz_flow *flow = &stream->flows[segment->track];
	const uint8_t *data = setup->script->bytes + segment->start;
	size_t n = 0;

	/* A flow that has ended sends no more. */
	for (size_t at = 0, size; at < segment->len && !stream->fault && !flow->ended; at += size) {
		size = way == FUZZ_CUT ? fuzz_cut(setup->input, n++) : segment->len;
		size = MIN(size, segment->len - at);
		feed(flow, data + at, size);
	}
	settle_flow(flow);
	if (segment->end)
		end_flow(flow);
	take_point(stream);
}

/* The end that is none of a flow alone, as the daemon has it. */
static void end_stream(struct fuzz_stream *stream)
{
	enum fault fault = FAULT_NONE;

	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		end_flow(&stream->flows[t]);
	if (stream->fault)
		return;
	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		fuzz_check(stream->flows[t].released == stream->flows[t].fed);
	fuzz_memory_enter();
	if (stream->exchanges && exchanges_open(stream->exchanges) &&
	    pipeline_framing(stream->flows[0].pipeline) != FRAMING_HTTP1) {
		fault = exchanges_request_end(stream->exchanges);
		if (!fault)
			fault = exchanges_response_end(stream->exchanges, false);
	}
	if (stream->session) {
		fuzz_check(session_end_of_payloads(stream->session) == SESSION_OK);
		fuzz_check(session_finish(stream->session) == SESSION_OK);
	}
	fuzz_memory_leave();
	fuzz_check(!fault);
}

bool fuzz_stream_run(struct fuzz_stream *stream, const struct fuzz_setup *setup, enum fuzz_way way,
		     unsigned int text)
{
	stream->setup = setup;
	if (!fuzz_stream_open(stream, text))
		return false;
	stream->points = calloc(setup->script->count + 1, sizeof(*stream->points));
	fuzz_check(stream->points != NULL);
	for (size_t i = 0; i < setup->script->count && !stream->fault; i++)
		run_segment(stream, &setup->script->segments[i], way);
	if (setup->ends && !stream->fault)
		end_stream(stream);
	if (stream->fault)
		check_stuck(&stream->flows[stream->fault_track]);
	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		stream->flows[t].runes = pipeline_runes(stream->flows[t].pipeline);
	if (stream->on_last)
		stream->on_last(stream->context, stream);
	fuzz_stream_close(stream);
	return true;
}

void fuzz_stream_done(struct fuzz_stream *stream)
{
	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		free(stream->flows[t].units);
	free(stream->points);
	free(stream->sessions);
}
