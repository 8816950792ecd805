/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/flow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/session.h"
#include "core/terms.h"
#include "core/utf8.h"

/* Above this many bytes pairs of cuts would take too long. */
#define PAIRS_MAX 48u

static void on_unit(void *context, const struct pipeline_unit *unit)
{
	struct flow *flow = context;

	assert_int_equal(unit->start, flow->units ? flow->unit[flow->units - 1].end : 0);
	assert_true(unit->start <= unit->payload_start);
	assert_true(unit->payload_start <= unit->payload_end);
	assert_true(unit->payload_end <= unit->end);
	flow->unit = realloc(flow->unit, (flow->units + 1) * sizeof(*flow->unit));
	assert_non_null(flow->unit);
	flow->unit[flow->units++] = *unit;
}

static void on_text(void *context, const char *channel, const uint8_t *text, size_t len)
{
	struct flow *flow = context;
	struct flow_channel *at = NULL;
	uint64_t runes;

	assert_true(len > 0);
	assert_int_equal(utf8_prefix(text, len, &runes), len);
	for (size_t i = 0; i < flow->channel_count; i++)
		if (strcmp(flow->channels[i].name, channel) == 0)
			at = &flow->channels[i];
	if (!at) {
		assert_true(flow->channel_count < FLOW_CHANNELS_MAX);
		at = &flow->channels[flow->channel_count++];
		at->name = strdup(channel);
	}
	at->text = realloc(at->text, at->len + len + 1);
	assert_non_null(at->text);
	memcpy(at->text + at->len, text, len);
	at->len += len;
	at->text[at->len] = '\0';
}

static void check(const struct flow *flow, const struct pipeline *pipeline, uint64_t start,
		  uint64_t fed, uint64_t *last)
{
	uint64_t released = pipeline_released(pipeline);
	bool at_end = released == 0;

	assert_true(released >= *last);
	assert_true(released <= pipeline_framed(pipeline));
	assert_true(pipeline_framed(pipeline) <= pipeline_received(pipeline));
	assert_true(pipeline_received(pipeline) <= fed);
	for (size_t i = 0; i < flow->units && !at_end; i++) {
		at_end = flow->unit[i].end == released;
		if (at_end)
			assert_int_equal(pipeline_released_runes(pipeline),
					 flow->unit[i].rune_end - start);
	}
	assert_true(at_end);
	*last = released;
}

/* A copy of exactly its size, so that reading past a piece is seen. */
static enum fault feed_copy(struct pipeline *pipeline, const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len + !len);
	enum fault fault;

	assert_non_null(copy);
	memcpy(copy, data, len);
	fault = pipeline_feed(pipeline, copy, len);
	free(copy);
	return fault;
}

static void feed(const struct flow_config *config, struct pipeline *pipeline, const uint8_t *data,
		 size_t len, const size_t *cuts, size_t cut_count, struct flow *flow)
{
	uint64_t last = 0;
	size_t at = 0;

	for (size_t i = 0; i <= cut_count; i++) {
		size_t end = i < cut_count ? cuts[i] : len;
		enum fault fault = feed_copy(pipeline, data + at, end - at);

		assert_int_equal(fault, pipeline_fault(pipeline));
		at = end;
		check(flow, pipeline, config->start, at, &last);
		flow->peak_memory = pipeline_memory(pipeline) > flow->peak_memory
					    ? pipeline_memory(pipeline)
					    : flow->peak_memory;
	}
	flow->fault = config->no_end ? pipeline_fault(pipeline) : pipeline_end(pipeline);
	check(flow, pipeline, config->start, at, &last);
	if (flow->fault)
		assert_int_equal(pipeline_feed(pipeline, data, len), flow->fault);
	assert_int_equal(pipeline_advance(pipeline), last);
}

static void take_result(const struct pipeline *pipeline, struct flow *flow)
{
	const struct pipeline_denial *denial = pipeline_denial(pipeline);

	flow->framed = pipeline_framed(pipeline);
	flow->released = pipeline_released(pipeline);
	flow->runes = pipeline_runes(pipeline);
	flow->complete = pipeline_complete(pipeline);
	assert_int_equal(denial != NULL, flow->fault == FAULT_BLOCKED);
	if (denial) {
		flow->denial = *denial;
		snprintf(flow->task, sizeof(flow->task), "%s", denial->task);
		flow->denial.task = NULL;
	}
}

/* What all runs of one configuration share. */
struct prepared {
	const struct flow_config *config;
	struct terms *terms[FLOW_TASKS_MAX];
	struct pipeline_task tasks[FLOW_TASKS_MAX];
	size_t count;
};

static struct prepared prepare(const struct flow_config *config)
{
	static const char *const names[FLOW_TASKS_MAX] = {"t0", "t1", "t2"};
	struct prepared prepared = {.config = config};
	size_t bad;

	for (size_t i = 0; i < FLOW_TASKS_MAX && config->terms[i][0]; i++) {
		size_t n = 0;

		while (n < 8 && config->terms[i][n])
			n++;
		assert_int_equal(
			terms_new(config->terms[i], n, config->fold[i], &bad, &prepared.terms[i]),
			0);
		prepared.tasks[i] = (struct pipeline_task){names[i], prepared.terms[i]};
		prepared.count++;
	}
	return prepared;
}

static void unprepare(struct prepared *prepared)
{
	for (size_t i = 0; i < prepared->count; i++)
		terms_free(prepared->terms[i]);
}

static struct session *make_session(const struct flow_config *config,
				    const struct pipeline_task *tasks, size_t count)
{
	const char *names[FLOW_TASKS_MAX];
	struct session_config session_config = {
		.start = {[SESSION_RESPONSE] = config->start},
		.tasks = {[SESSION_RESPONSE] = names},
		.task_count = {[SESSION_RESPONSE] = count},
	};
	struct session *session = NULL;

	for (size_t i = 0; i < count; i++)
		names[i] = tasks[i].name;
	if (count)
		assert_int_equal(session_new(&session_config, &session), SESSION_OK);
	return session;
}

/* Settles the session as its owner does, and says how it ended. */
static void settle(struct session *session, struct flow *flow)
{
	struct session_state state;

	if (!session)
		return;
	(void)session_end_of_payloads(session);
	if (!flow->fault)
		(void)!session_finish(session);
	session_get(session, &state);
	flow->confirmed = state.track[SESSION_RESPONSE].confirmed;
	flow->session_end = state.end;
}

static void run(const struct prepared *prepared, const void *data, size_t len, const size_t *cuts,
		size_t cut_count, struct flow *ret_flow)
{
	const struct flow_config *config = prepared->config;
	struct session *session = make_session(config, prepared->tasks, prepared->count);
	struct pipeline_config pipeline_config = {
		.framing = config->framing,
		.extract = config->extract,
		.max_message = config->max_message ? config->max_message : 1 << 20,
		.max_pending_units = config->max_pending_units ? config->max_pending_units : 1024,
		.track = SESSION_RESPONSE,
		.session = session,
		.tasks = prepared->tasks,
		.task_count = prepared->count,
		.on_unit = on_unit,
		.on_text = config->no_text ? NULL : on_text,
		.context = ret_flow,
	};
	struct pipeline *pipeline = NULL;

	memset(ret_flow, 0, sizeof(*ret_flow));
	assert_int_equal(pipeline_new(&pipeline_config, &pipeline), 0);
	feed(config, pipeline, data, len, cuts, cut_count, ret_flow);
	take_result(pipeline, ret_flow);
	pipeline_free(pipeline);
	settle(session, ret_flow);
	if (session && !session_free(session))
		assert_true(config->no_end);
}

void flow_run(const struct flow_config *config, const void *data, size_t len, const size_t *cuts,
	      size_t cut_count, struct flow *ret_flow)
{
	struct prepared prepared = prepare(config);

	run(&prepared, data, len, cuts, cut_count, ret_flow);
	unprepare(&prepared);
}

void flow_done(struct flow *flow)
{
	for (size_t i = 0; i < flow->channel_count; i++) {
		free(flow->channels[i].name);
		free(flow->channels[i].text);
	}
	free(flow->unit);
	memset(flow, 0, sizeof(*flow));
}

const char *flow_text(const struct flow *flow, const char *channel)
{
	for (size_t i = 0; i < flow->channel_count; i++)
		if (strcmp(flow->channels[i].name, channel) == 0)
			return (const char *)flow->channels[i].text;
	return NULL;
}

static void assert_same_unit(const struct pipeline_unit *a, const struct pipeline_unit *b)
{
	assert_int_equal(a->start, b->start);
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->payload_start, b->payload_start);
	assert_int_equal(a->payload_end, b->payload_end);
	assert_int_equal(a->rune_end, b->rune_end);
	assert_int_equal(a->blank, b->blank);
}

void flow_assert_same(const struct flow *a, const struct flow *b)
{
	assert_string_equal(fault_name(a->fault), fault_name(b->fault));
	assert_int_equal(a->framed, b->framed);
	assert_int_equal(a->released, b->released);
	assert_int_equal(a->complete, b->complete);
	assert_int_equal(a->units, b->units);
	assert_int_equal(a->confirmed, b->confirmed);
	assert_int_equal(a->session_end, b->session_end);
	for (size_t i = 0; i < a->units; i++)
		assert_same_unit(&a->unit[i], &b->unit[i]);
	assert_int_equal(a->denial.rule, b->denial.rule);
	assert_int_equal(a->denial.start, b->denial.start);
	assert_int_equal(a->denial.end, b->denial.end);
	assert_string_equal(a->task, b->task);
	/* How far text was handed on before a fault was known is not promised. */
	if (a->fault)
		return;
	assert_int_equal(a->runes, b->runes);
	assert_int_equal(a->channel_count, b->channel_count);
	for (size_t i = 0; i < a->channel_count; i++) {
		assert_string_equal(a->channels[i].name, b->channels[i].name);
		assert_int_equal(a->channels[i].len, b->channels[i].len);
		assert_memory_equal(a->channels[i].text, b->channels[i].text, a->channels[i].len);
	}
}

static void run_and_compare(const struct prepared *prepared, const void *data, size_t len,
			    const size_t *cuts, size_t cut_count, const struct flow *whole)
{
	struct flow flow;

	run(prepared, data, len, cuts, cut_count, &flow);
	flow_assert_same(&flow, whole);
	flow_done(&flow);
}

static void run_bytes(const struct prepared *prepared, const void *data, size_t len,
		      const struct flow *whole)
{
	size_t *cuts = calloc(len + 1, sizeof(*cuts));

	assert_non_null(cuts);
	for (size_t i = 0; i < len; i++)
		cuts[i] = i;
	run_and_compare(prepared, data, len, cuts, len, whole);
	free(cuts);
}

void flow_run_splits(const struct flow_config *config, const void *data, size_t len,
		     struct flow *ret_flow)
{
	struct prepared prepared = prepare(config);

	run(&prepared, data, len, NULL, 0, ret_flow);
	run_bytes(&prepared, data, len, ret_flow);
	for (size_t i = 0; i <= len; i++) {
		run_and_compare(&prepared, data, len, &i, 1, ret_flow);
		for (size_t j = i; j <= len && len <= PAIRS_MAX; j++)
			run_and_compare(&prepared, data, len, (size_t[]){i, j}, 2, ret_flow);
	}
	unprepare(&prepared);
}

static int compare_offsets(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

void flow_run_random(const struct flow_config *config, const void *data, size_t len,
		     unsigned int seed, unsigned int rounds, struct flow *ret_flow)
{
	struct prepared prepared = prepare(config);
	size_t cuts[32];

	run(&prepared, data, len, NULL, 0, ret_flow);
	run_bytes(&prepared, data, len, ret_flow);
	for (unsigned int round = 0; round < rounds; round++) {
		size_t count = (size_t)rand_r(&seed) % 32;

		for (size_t i = 0; i < count; i++)
			cuts[i] = (size_t)rand_r(&seed) % (len + 1);
		qsort(cuts, count, sizeof(cuts[0]), compare_offsets);
		run_and_compare(&prepared, data, len, cuts, count, ret_flow);
	}
	unprepare(&prepared);
}
