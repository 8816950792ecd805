/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/asking.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

static const char *const names[] = {"judge"};
const struct span_config asking_spans = {
	.cadence = SPAN_RUNES,
	.coverage = {.span = 4, .window = 7, .detectable = 4},
	.in_flight = 4,
};
const struct span_config asking_by_unit = {
	.cadence = SPAN_UNIT,
	.coverage = {.span = 64, .window = 67, .detectable = 4},
	.in_flight = 4,
};
const struct verdict asking_allow = {.decision = VERDICT_ALLOW};
const struct verdict asking_deny = {.decision = VERDICT_DENY, .reason = "bad_word"};
const struct verdict asking_transform = {.decision = VERDICT_TRANSFORM};

const struct asking_config asking_lines = {
	.framing = {.kind = FRAMING_NDJSON},
	.extract = {.kind = EXTRACT_PATH, .path = "t"},
	.spans = &asking_spans,
};
const struct asking_config asking_requests = {
	.framing = {.kind = FRAMING_HTTP1},
	.extract = {.kind = EXTRACT_AUTO},
	.spans = &asking_by_unit,
	.request = true,
};
const struct asking_config asking_responses = {
	.framing = {.kind = FRAMING_HTTP1},
	.extract = {.kind = EXTRACT_AUTO},
	.spans = &asking_by_unit,
};

static void on_end(void *context, uint64_t number, const struct session *session,
		   const struct session_state *state)
{
	struct asking *asking = context;

	(void)number;
	(void)session;
	assert_true(asking->ended_count < ENDED_MAX);
	asking->errors[asking->ended_count] = state->error;
	asking->ended[asking->ended_count++] = state->end;
}

static void on_finding(void *context, const struct pipeline_finding *finding)
{
	struct asking *asking = context;
	size_t i = asking->found_count++;

	assert_true(i < FOUND_MAX);
	asking->found[i] = *finding;
	if (finding->verdict)
		(void)snprintf(asking->found_reason[i], sizeof(asking->found_reason[i]), "%s",
			       finding->verdict->reason);
}

struct pipeline_config asking_configure(const struct asking_config *config, struct asking *asking)
{
	return (struct pipeline_config){
		.framing = config->framing,
		.extract = config->extract,
		.max_message = 1 << 16,
		.max_pending_units = config->max_pending_units ? config->max_pending_units : 1024,
		.track = config->request ? SESSION_REQUEST : SESSION_RESPONSE,
		.level = config->level,
		.session = asking->session,
		.exchanges = asking->exchanges,
		.tasks = &asking->task,
		.task_count = !config->warns && !config->output,
		.watchers = &asking->task,
		.watcher_count = config->warns || config->output,
		.on_finding = on_finding,
		.context = asking,
	};
}

static void offer_websocket(struct exchanges *exchanges)
{
	const struct http1_request request = {.upgrade = true, .websocket = true};
	struct session *session;

	assert_int_equal(exchanges_request(exchanges, &session), FAULT_NONE);
	exchanges_request_head(exchanges, &request);
	assert_int_equal(exchanges_request_end(exchanges), FAULT_NONE);
}

void asking_begin(const struct asking_config *config, const void *data, size_t len,
		  struct asking *asking)
{
	enum session_track track = config->request ? SESSION_REQUEST : SESSION_RESPONSE;
	struct exchanges_config exchanges = {
		.session = {.level = config->level},
		.one_sided = !config->websocket,
		.on_end = on_end,
		.context = asking,
	};
	struct pipeline_config pipeline;

	*asking = (struct asking){
		.task = {.name = "judge", .spans = config->spans, .output = config->output},
		.data = data,
		.len = len,
	};
	exchanges.session.tasks[track] = names;
	exchanges.session.task_count[track] = !config->warns && !config->output;
	if (config->output) {
		/* What mediates is a task of the other track, which has no text here. */
		exchanges.session.tasks[SESSION_REQUEST] = names;
		exchanges.session.task_count[SESSION_REQUEST] = 1;
		exchanges.session.output_tasks = names;
		exchanges.session.output_count = 1;
	}
	if (config->framing.kind == FRAMING_HTTP1)
		assert_int_equal(exchanges_new(&exchanges, &asking->exchanges), 0);
	else if (!config->warns)
		assert_int_equal(session_new(&exchanges.session, &asking->session), SESSION_OK);
	if (config->websocket)
		offer_websocket(asking->exchanges);
	pipeline = asking_configure(config, asking);
	assert_int_equal(pipeline_new(&pipeline, &asking->pipeline), 0);
}

void asking_done(struct asking *asking)
{
	pipeline_free(asking->pipeline);
	if (asking->session)
		session_fail(asking->session, SESSION_DISCONNECTED);
	(void)session_free(asking->session);
	exchanges_free(asking->exchanges);
}

/* All that can be asked for now. */
static void ask(struct asking *asking)
{
	struct pipeline_work work;

	while (pipeline_work(asking->pipeline, &work)) {
		struct asked *asked = &asking->asked[asking->count++];

		assert_true(asking->count <= ASKED_MAX && work.item.len <= WINDOW_MAX);
		assert_ptr_equal(work.task, &asking->task);
		asked->work = work;
		if (work.item.text)
			memcpy(asked->text, work.item.text, work.item.len);
		asked->text[work.item.len] = '\0';
		(void)snprintf(asked->channel, sizeof(asked->channel), "%s",
			       work.item.channel ?: "");
		if (work.finish_reason) {
			(void)snprintf(asked->finish, sizeof(asked->finish), "%s",
				       work.finish_reason);
			asked->work.finish_reason = asked->finish;
		}
		asking->open++;
	}
}

void asking_feed(struct asking *asking, size_t len)
{
	size_t used;

	asking->fault = pipeline_take(asking->pipeline, asking->data + asking->taken, len, &used);
	assert_true(used <= len);
	asking->taken += used;
	ask(asking);
}

void asking_end(struct asking *asking)
{
	asking->over = true;
	asking->fault = pipeline_end(asking->pipeline);
	ask(asking);
}

void asking_answer(struct asking *asking, size_t i, const struct verdict *verdict)
{
	assert_false(asking->asked[i].answered);
	asking->asked[i].answered = true;
	asking->open--;
	asking->fault =
		pipeline_verdict(asking->pipeline, &asking->asked[i].work, SESSION_OK, verdict);
	ask(asking);
}

void asking_fail(struct asking *asking, size_t i, enum session_result failure)
{
	asking->asked[i].answered = true;
	asking->open--;
	asking->fault = pipeline_verdict(asking->pipeline, &asking->asked[i].work, failure, NULL);
}

void asking_allow_all(struct asking *asking)
{
	for (size_t i = 0; i < asking->count && !asking->fault; i++)
		if (!asking->asked[i].answered)
			asking_answer(asking, i, &asking_allow);
}

/* Feeds and answers until nothing is left of either. */
void asking_run(struct asking *asking)
{
	while (!asking->fault && (asking->taken < asking->len || asking->open || !asking->over)) {
		if (asking->taken < asking->len)
			asking_feed(asking, asking->len - asking->taken);
		else if (!asking->over)
			asking_end(asking);
		if (!asking->fault)
			asking_allow_all(asking);
	}
}

/* One that answers when and in what order it likes, and denies what has a word in it. */
void asking_run_random(const struct asking_config *config, const char *data, size_t len,
		       unsigned int seed, struct asking *asking)
{
	uint64_t released = 0;

	asking_begin(config, data, len, asking);
	while (!asking->fault && (asking->taken < len || asking->open || !asking->over)) {
		unsigned int what = (unsigned int)rand_r(&seed);

		if (what % 3 && asking->taken < len) {
			asking_feed(asking, MIN(1 + what / 3 % 9, len - asking->taken));
		} else if (asking->open) {
			size_t i = what / 3 % asking->count;

			while (asking->asked[i].answered)
				i = (i + 1) % asking->count;
			asking_answer(asking, i,
				      strstr(asking->asked[i].text, "bomb") ? &asking_deny
									    : &asking_allow);
		} else if (asking->taken == len && !asking->over) {
			asking_end(asking);
		}
		assert_true(pipeline_released(asking->pipeline) >= released);
		released = pipeline_released(asking->pipeline);
		assert_true(released <= pipeline_framed(asking->pipeline));
	}
}
