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
#include "core/utf8.h"
#include "unit/allocation.h"
#include "unit/flow_tasks.h"

/* Above this many bytes pairs of cuts would take too long. */
#define PAIRS_MAX 48u

static void append(struct flow *flow, const void *data, size_t len)
{
	flow->payloads = realloc(flow->payloads, flow->payloads_len + len + 2);
	assert_non_null(flow->payloads);
	if (len)
		memcpy(flow->payloads + flow->payloads_len, data, len);
	flow->payloads_len += len;
}

static void on_payload(void *context, const uint8_t *payload, size_t len, bool last)
{
	struct flow *flow = context;

	append(flow, payload, len);
	if (!last)
		return;
	append(flow, "|", 1);
	flow->messages_told++;
	flow->payloads_told = flow->payloads_len;
}

static void on_start(void *context, const uint8_t *line, size_t len)
{
	struct flow *flow = context;
	size_t old = strlen(flow->starts);

	flow->starts = realloc(flow->starts, old + len + 2);
	assert_non_null(flow->starts);
	memcpy(flow->starts + old, line, len);
	memcpy(flow->starts + old + len, "\n", 2);
}

static void on_unit(void *context, const struct pipeline_unit *unit)
{
	struct flow *flow = context;

	flow->messages += unit->messages;
	assert_int_equal(unit->start, flow->units ? flow->unit[flow->units - 1].end : 0);
	/* Zero where the payload is not in one piece. */
	if (unit->payload_end)
		assert_true(unit->start <= unit->payload_start);
	assert_true(unit->payload_start <= unit->payload_end);
	assert_true(unit->payload_end <= unit->end);
	flow->unit = realloc(flow->unit, (flow->units + 1) * sizeof(*flow->unit));
	assert_non_null(flow->unit);
	flow->unit[flow->units++] = *unit;
}

static void on_session_end(void *context, uint64_t number, const struct session *ended,
			   const struct session_state *state)
{
	struct flow *flow = context;
	struct flow_session *session = &flow->sessions[flow->session_count];
	const struct session_track_state *track = &state->track[SESSION_REQUEST];

	/* Only the track of the flow has tasks. */
	if (!track->received)
		track = &state->track[SESSION_RESPONSE];
	assert_non_null(ended);
	assert_int_equal(number, flow->session_count);
	assert_true(flow->session_count < FLOW_SESSIONS_MAX);
	flow->session_count++;
	*session = (struct flow_session){
		.end = (int)state->end,
		.output = state->ended_output,
		.received = track->received,
		.confirmed = track->confirmed,
	};
}

static void on_finding(void *context, const struct pipeline_finding *finding)
{
	struct flow *flow = context;
	struct flow_finding *at = &flow->findings[flow->finding_count];

	assert_true(flow->finding_count < FLOW_FINDINGS_MAX);
	flow->finding_count++;
	*at = (struct flow_finding){
		.rule = finding->rule,
		.start = finding->start,
		.end = finding->end,
	};
	snprintf(at->task, sizeof(at->task), "%s", finding->task->name);
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
	assert_true(pipeline_released_runes(pipeline) <= pipeline_runes(pipeline));
	for (size_t i = 0; i < flow->units && !at_end; i++) {
		at_end = flow->unit[i].end == released;
		/* In http1 units count the runes of their session. */
		if (at_end && !*flow->starts)
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

static void take_point(struct flow *flow, const struct pipeline *pipeline, size_t fed)
{
	flow->points[flow->point_count++] = (struct flow_point){
		.fed = fed,
		.released = pipeline_released(pipeline),
		.partial = pipeline_partial(pipeline),
		.mark = pipeline_mark(pipeline),
		.fault = pipeline_fault(pipeline),
	};
}

static void feed(const struct flow_config *config, struct pipeline *pipeline, const uint8_t *data,
		 size_t len, const size_t *cuts, size_t cut_count, struct flow *flow)
{
	uint64_t last = 0;
	size_t at = 0;

	flow->points = calloc(cut_count + 1, sizeof(*flow->points));
	assert_non_null(flow->points);
	for (size_t i = 0; i <= cut_count; i++) {
		size_t end = i < cut_count ? cuts[i] : len;
		enum fault fault = feed_copy(pipeline, data + at, end - at);

		assert_int_equal(fault, pipeline_fault(pipeline));
		at = end;
		check(flow, pipeline, config->start, at, &last);
		take_point(flow, pipeline, at);
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
	assert_int_equal(denial != NULL,
			 flow->fault == FAULT_BLOCKED || flow->fault == FAULT_OUTPUT_DENIED);
	if (denial) {
		flow->denial = *denial;
		snprintf(flow->task, sizeof(flow->task), "%s", denial->task);
		flow->denial.task = NULL;
	}
}

static struct session *make_session(const struct flow_config *config,
				    const struct flow_tasks *prepared)
{
	struct session_config session = flow_tasks_session(prepared);
	struct session *made = NULL;

	if (prepared->count || config->other_track)
		assert_int_equal(session_new(&session, &made), SESSION_OK);
	return made;
}

/* Settles the session as its owner does, and says how it ended. */
static void settle(const struct flow_config *config, struct session *session, struct flow *flow)
{
	struct session_state state;

	if (!session)
		return;
	(void)session_end_of_payloads(session);
	for (int task = 0; !flow->fault && session_output_name(session, task); task++)
		assert_int_equal(session_output(session, task, SESSION_CLEARED), SESSION_OK);
	if (!flow->fault)
		(void)!session_finish(session);
	session_get(session, &state);
	flow->session_output = state.ended_output;
	flow->confirmed =
		state.track[config->request ? SESSION_REQUEST : SESSION_RESPONSE].confirmed;
	flow->session_end = (int)state.end;
	if (!session_free(session))
		assert_true(config->no_end);
}

/* Exchanges whose requests, those of the configuration, have been made. */
static enum fault make_exchanges(const struct flow_config *config,
				 const struct exchanges_config *exchanges,
				 struct exchanges **ret_exchanges)
{
	enum fault fault = exchanges_new(exchanges, ret_exchanges) ? FAULT_NO_MEMORY : FAULT_NONE;
	struct session *session;

	for (size_t i = 0; i < config->request_count && !fault; i++) {
		fault = exchanges_request(*ret_exchanges, &session);
		if (fault)
			break;
		exchanges_request_head(*ret_exchanges, &config->requests[i]);
		fault = exchanges_request_end(*ret_exchanges);
	}
	return fault;
}

static void run_pipeline(const struct flow_tasks *prepared, const struct pipeline_config *config,
			 const void *data, size_t len, const size_t *cuts, size_t cut_count,
			 struct flow *flow)
{
	struct pipeline *pipeline = NULL;

	assert_int_equal(pipeline_new(config, &pipeline), 0);
	feed(prepared->config, pipeline, data, len, cuts, cut_count, flow);
	take_result(pipeline, flow);
	pipeline_free(pipeline);
}

static void run(const struct flow_tasks *prepared, const void *data, size_t len, const size_t *cuts,
		size_t cut_count, struct flow *ret_flow)
{
	const struct flow_config *config = prepared->config;
	const struct exchanges_config exchanges = {
		.session = flow_tasks_session(prepared),
		.on_end = on_session_end,
		.context = ret_flow,
	};
	struct pipeline_config pipeline_config = flow_tasks_pipeline(prepared);

	pipeline_config.on_unit = on_unit;
	pipeline_config.on_text = config->no_text ? NULL : on_text;
	pipeline_config.on_payload = on_payload;
	pipeline_config.on_start = on_start;
	pipeline_config.on_finding = on_finding;
	pipeline_config.context = ret_flow;
	*ret_flow = (struct flow){.twice = config->twice, .unread = config->unread};
	ret_flow->starts = strdup("");
	assert_non_null(ret_flow->starts);
	if (config->framing.kind == FRAMING_HTTP1)
		assert_int_equal(make_exchanges(config, &exchanges, &pipeline_config.exchanges),
				 FAULT_NONE);
	else
		pipeline_config.session = make_session(config, prepared);
	run_pipeline(prepared, &pipeline_config, data, len, cuts, cut_count, ret_flow);
	settle(config, pipeline_config.session, ret_flow);
	if (pipeline_config.exchanges)
		ret_flow->exchanges_open = exchanges_open(pipeline_config.exchanges);
	exchanges_free(pipeline_config.exchanges);
}

void flow_run(const struct flow_config *config, const void *data, size_t len, const size_t *cuts,
	      size_t cut_count, struct flow *ret_flow)
{
	struct flow_tasks prepared = flow_tasks_make(config);

	run(&prepared, data, len, cuts, cut_count, ret_flow);
	flow_tasks_done(&prepared);
}

static enum fault run_failing(const struct flow_tasks *prepared, struct pipeline_config *config,
			      const uint8_t *data, size_t len, uint64_t *ret_released)
{
	const struct exchanges_config exchanges = {
		.session = flow_tasks_session(prepared),
	};
	struct pipeline *pipeline = NULL;
	enum fault fault = FAULT_NONE;

	if (config->framing.kind == FRAMING_HTTP1)
		fault = make_exchanges(prepared->config, &exchanges, &config->exchanges);
	else if (session_new(&exchanges.session, &config->session) != SESSION_OK)
		fault = FAULT_NO_MEMORY;
	if (!fault && pipeline_new(config, &pipeline))
		fault = FAULT_NO_MEMORY;
	for (size_t i = 0; i < len && !fault; i++)
		fault = pipeline_feed(pipeline, data + i, 1);
	if (!fault)
		fault = pipeline_end(pipeline);
	*ret_released = pipeline ? pipeline_released(pipeline) : 0;
	pipeline_free(pipeline);
	return fault;
}

enum fault flow_run_failing(const struct flow_config *config, const void *data, size_t len,
			    unsigned long n, uint64_t *ret_released)
{
	struct flow_tasks prepared = flow_tasks_make(config);
	struct pipeline_config pipeline = flow_tasks_pipeline(&prepared);
	enum fault fault;

	allocation_fail_at(n);
	fault = run_failing(&prepared, &pipeline, data, len, ret_released);
	if (pipeline.session)
		session_fail(pipeline.session, SESSION_DISCONNECTED);
	(void)session_free(pipeline.session);
	exchanges_free(pipeline.exchanges);
	flow_tasks_done(&prepared);
	return fault;
}

void flow_done(struct flow *flow)
{
	for (size_t i = 0; i < flow->channel_count; i++) {
		free(flow->channels[i].name);
		free(flow->channels[i].text);
	}
	free(flow->unit);
	free(flow->payloads);
	free(flow->starts);
	free(flow->points);
	memset(flow, 0, sizeof(*flow));
}

/* every: the run byte by byte. */
static void run_and_compare(const struct flow_tasks *prepared, const void *data, size_t len,
			    const size_t *cuts, size_t cut_count, const struct flow *every)
{
	struct flow flow;

	run(prepared, data, len, cuts, cut_count, &flow);
	flow_assert_same(&flow, every);
	flow_assert_points(&flow, every);
	flow_done(&flow);
}

/* Byte by byte; and in one piece, compared. */
static void run_bytes(const struct flow_tasks *prepared, const void *data, size_t len,
		      struct flow *ret_flow)
{
	size_t *cuts = calloc(len + 1, sizeof(*cuts));

	assert_non_null(cuts);
	for (size_t i = 0; i < len; i++)
		cuts[i] = i;
	run(prepared, data, len, cuts, len, ret_flow);
	free(cuts);
	run_and_compare(prepared, data, len, NULL, 0, ret_flow);
}

void flow_run_splits(const struct flow_config *config, const void *data, size_t len,
		     struct flow *ret_flow)
{
	struct flow_tasks prepared = flow_tasks_make(config);

	run_bytes(&prepared, data, len, ret_flow);
	for (size_t i = 0; i <= len; i++) {
		run_and_compare(&prepared, data, len, &i, 1, ret_flow);
		for (size_t j = i; j <= len && len <= PAIRS_MAX; j++)
			run_and_compare(&prepared, data, len, (size_t[]){i, j}, 2, ret_flow);
	}
	flow_tasks_done(&prepared);
}

static int compare_offsets(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

void flow_run_random(const struct flow_config *config, const void *data, size_t len,
		     unsigned int seed, unsigned int rounds, struct flow *ret_flow)
{
	struct flow_tasks prepared = flow_tasks_make(config);
	size_t cuts[32];

	run_bytes(&prepared, data, len, ret_flow);
	for (unsigned int round = 0; round < rounds; round++) {
		size_t count = (size_t)rand_r(&seed) % 32;

		for (size_t i = 0; i < count; i++)
			cuts[i] = (size_t)rand_r(&seed) % (len + 1);
		qsort(cuts, count, sizeof(cuts[0]), compare_offsets);
		run_and_compare(&prepared, data, len, cuts, count, ret_flow);
	}
	flow_tasks_done(&prepared);
}
