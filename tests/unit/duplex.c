/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/duplex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/terms.h"

static const char *const names[] = {"t0"}, *const output_names[] = {"o0"};

static void on_end(void *context, uint64_t number, const struct session *session,
		   const struct session_state *state)
{
	struct duplex *duplex = context;

	assert_true(duplex->count < DUPLEX_SESSIONS_MAX);
	assert_int_equal(number, duplex->count);
	assert_non_null(session);
	duplex->ended[duplex->count++] = *state;
}

static void add_text(struct duplex_text *at, const void *text, size_t len)
{
	at->text = realloc(at->text, at->len + len + 1);
	assert_non_null(at->text);
	memcpy(at->text + at->len, text, len);
	at->len += len;
	at->text[at->len] = '\0';
}

static void on_text(void *context, const char *channel, const uint8_t *text, size_t len)
{
	struct duplex_text *at = context;

	assert_true(strlen(channel) < sizeof(at->channel));
	if (strcmp(at->channel, channel) != 0) {
		add_text(at, ";", at->len ? 1 : 0);
		add_text(at, channel, strlen(channel));
		add_text(at, "=", 1);
		strcpy(at->channel, channel);
	}
	add_text(at, text, len);
}

static void make_exchanges(const struct duplex_config *duplex_config, bool tasks,
			   struct duplex *duplex)
{
	const struct exchanges_config config = {
		.session = {.level = duplex_config->level,
			    .tasks = {names, names},
			    .task_count = {tasks, tasks},
			    .output_tasks = output_names,
			    .output_count = duplex_config->output != NULL},
		.on_end = on_end,
		.context = duplex,
	};

	assert_int_equal(exchanges_new(&config, &duplex->exchanges), 0);
}

void duplex_make(const struct duplex_config *config, struct duplex *ret_duplex)
{
	struct duplex *duplex = ret_duplex;
	struct pipeline_task task = {.name = names[0]};
	struct pipeline_config pipeline = {
		.framing = {.kind = config->framing},
		.extract = config->extract,
		.max_message = config->max_message ? config->max_message : 1 << 20,
		.max_pending_units = 64,
		.level = config->level,
		.release_opaque = config->release_opaque,
		.tasks = &task,
	};
	size_t terms = 0, bad;

	memset(duplex, 0, sizeof(*duplex));
	while (terms < 8 && config->terms[terms])
		terms++;
	if (terms)
		assert_int_equal(terms_new(config->terms, terms, 0, &bad, &duplex->terms), 0);
	if (config->output)
		assert_int_equal(terms_new(&config->output, 1, 0, &bad, &duplex->output), 0);
	duplex->watcher =
		(struct pipeline_task){output_names[0], {.terms = duplex->output}, .output = true};
	make_exchanges(config, terms > 0, duplex);
	task.matcher.terms = duplex->terms;
	pipeline.task_count = terms ? 1 : 0;
	pipeline.on_text = terms && !config->no_text ? on_text : NULL;
	pipeline.exchanges = duplex->exchanges;
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		pipeline.track = (enum session_track)track;
		pipeline.watchers = &duplex->watcher;
		pipeline.watcher_count = config->output && track == SESSION_RESPONSE;
		pipeline.context = &duplex->texts[track];
		assert_int_equal(pipeline_new(&pipeline, &duplex->flows[track]), 0);
	}
}

void duplex_done(struct duplex *duplex)
{
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		pipeline_free(duplex->flows[track]);
		free(duplex->texts[track].text);
	}
	exchanges_free(duplex->exchanges);
	terms_free(duplex->terms);
	terms_free(duplex->output);
}

/* A copy of exactly its size, so that reading past it is seen. */
static enum fault feed(struct duplex *duplex, enum session_track track, const uint8_t *data,
		       size_t len)
{
	struct pipeline *flow = duplex->flows[track];
	uint8_t *copy = malloc(len + !len);
	enum fault fault;

	assert_non_null(copy);
	memcpy(copy, data, len);
	fault = pipeline_feed(flow, copy, len);
	free(copy);
	assert_true(pipeline_released(flow) >= duplex->released[track]);
	assert_true(pipeline_released(flow) <= pipeline_framed(flow));
	assert_true(pipeline_framed(flow) <= pipeline_received(flow));
	duplex->released[track] = pipeline_released(flow);
	return fault;
}

void duplex_step(struct duplex *duplex, const struct duplex_step *step, size_t cut)
{
	struct pipeline *flow = duplex->flows[step->track];
	enum fault fault = pipeline_fault(flow);
	const uint8_t *data = step->data;
	uint64_t released = step->released;

	duplex->fed[step->track] += step->len;
	if (released == DUPLEX_ALL)
		released = duplex->fed[step->track];
	if (cut == DUPLEX_BYTES) {
		for (size_t i = 0; i < step->len && !fault; i++)
			fault = feed(duplex, step->track, data + i, 1);
	} else {
		if (cut)
			fault = feed(duplex, step->track, data, cut);
		if (cut < step->len && !fault)
			fault = feed(duplex, step->track, data + cut, step->len - cut);
	}
	if (step->end && !fault) {
		fault = pipeline_end(flow);
		duplex->over[step->track] = !fault;
	}
	assert_string_equal(fault_name(fault), fault_name(step->fault));
	assert_int_equal(pipeline_released(flow), released);
	assert_int_equal(pipeline_mark(duplex->flows[SESSION_RESPONSE]).place, step->place);
}

/* Where one exchange is all of the stream its owner ends it, with the flows. */
static void end_whole(struct duplex *duplex)
{
	if (!duplex->over[SESSION_REQUEST] || !duplex->over[SESSION_RESPONSE] ||
	    !exchanges_open(duplex->exchanges) ||
	    pipeline_framing(duplex->flows[SESSION_REQUEST]) == FRAMING_HTTP1)
		return;
	assert_int_equal(exchanges_request_end(duplex->exchanges), FAULT_NONE);
	assert_int_equal(exchanges_response_end(duplex->exchanges, false), FAULT_NONE);
}

/* What is the same in every cut. */
struct outcome {
	bool fault; /* how far text was handed on before it was known is not promised */
	struct session_state ended[DUPLEX_SESSIONS_MAX];
	size_t count;
	char *texts[_SESSION_TRACK_MAX];
};

static void outcome_done(struct outcome *outcome)
{
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		free(outcome->texts[track]);
}

/* The cut is in step `at`; the others are fed as they are, or byte by byte with it. */
static void run(const struct duplex_config *config, const struct duplex_step *steps, size_t count,
		size_t at, size_t cut, struct outcome *ret_outcome)
{
	struct duplex duplex;

	*ret_outcome = (struct outcome){.fault = false};
	duplex_make(config, &duplex);
	for (size_t i = 0; i < count; i++) {
		duplex_step(&duplex, &steps[i], i == at || cut == DUPLEX_BYTES ? cut : 0);
		ret_outcome->fault |= steps[i].fault != FAULT_NONE;
	}
	end_whole(&duplex);
	exchanges_fail(duplex.exchanges, SESSION_DISCONNECTED);
	memcpy(ret_outcome->ended, duplex.ended, sizeof(duplex.ended));
	ret_outcome->count = duplex.count;
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		ret_outcome->texts[track] = strdup(duplex.texts[track].text ?: "");
		assert_non_null(ret_outcome->texts[track]);
	}
	duplex_done(&duplex);
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		assert_int_equal(a->ended[i].end, b->ended[i].end);
		for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
			const struct session_track_state *x = &a->ended[i].track[track];
			const struct session_track_state *y = &b->ended[i].track[track];

			assert_int_equal(x->confirmed, y->confirmed);
			if (!a->fault)
				assert_int_equal(x->received, y->received);
		}
	}
	for (int track = 0; track < _SESSION_TRACK_MAX && !a->fault; track++)
		assert_string_equal(a->texts[track], b->texts[track]);
}

static char letter_of(const struct session_state *state)
{
	if (state->end == SESSION_FAILED_END)
		return state->error == SESSION_DISCONNECTED ? 'x' : 'f';
	return state->end == SESSION_DENIED_END ? 'd' : 'c';
}

static void check_ends(const struct outcome *outcome, const char *ends)
{
	char got[DUPLEX_SESSIONS_MAX + 1] = "";

	for (size_t i = 0; i < outcome->count; i++)
		got[i] = letter_of(&outcome->ended[i]);
	assert_string_equal(got, ends);
	/* Whoever completes has cleared every rune. */
	for (size_t i = 0; i < outcome->count; i++)
		for (int track = 0; track < _SESSION_TRACK_MAX && got[i] == 'c'; track++)
			assert_int_equal(outcome->ended[i].track[track].confirmed,
					 outcome->ended[i].track[track].received);
}

static void run_splits(const struct duplex_config *config, const struct duplex_step *steps,
		       size_t count, struct outcome *ret_outcome)
{
	struct outcome outcome;

	run(config, steps, count, 0, DUPLEX_BYTES, ret_outcome);
	for (size_t i = 0; i < count; i++) {
		for (size_t cut = 0; cut <= steps[i].len; cut++) {
			run(config, steps, count, i, cut, &outcome);
			assert_same(&outcome, ret_outcome);
			outcome_done(&outcome);
		}
	}
}

void duplex_run(const struct duplex_config *config, const struct duplex_step *steps, size_t count,
		const char *ends)
{
	struct outcome outcome;

	run_splits(config, steps, count, &outcome);
	check_ends(&outcome, ends);
	outcome_done(&outcome);
}

void duplex_run_text(const struct duplex_config *config, const struct duplex_step *steps,
		     size_t count, const char *ends, enum session_track track, const char *text)
{
	struct outcome outcome;

	run_splits(config, steps, count, &outcome);
	check_ends(&outcome, ends);
	if (!strstr(outcome.texts[track], text))
		assert_string_equal(outcome.texts[track], text);
	outcome_done(&outcome);
}
