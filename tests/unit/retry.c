/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/retry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/allocation.h"

static const char *const words[] = {"words"};
static const char *const uploads[] = {"uploads"};

static void make_terms(const char *const *terms, size_t most, unsigned int fold,
		       struct terms **ret_terms)
{
	size_t count = 0, bad;

	while (count < most && terms[count])
		count++;
	assert_int_equal(terms_new(terms, count, fold, &bad, ret_terms), 0);
}

static void make_regex(const struct retry_config *config, struct regex **ret_regex)
{
	const struct regex_options options = {0};
	struct regex_error error;
	size_t count = 0;

	while (count < ARRAY_SIZE(config->terms) && config->terms[count])
		count++;
	assert_int_equal(regex_new(config->terms, count, &options, &error, ret_regex), 0);
}

static struct matcher matcher_of(const struct retry *retry)
{
	return (struct matcher){.terms = retry->terms, .regex = retry->regex};
}

void retry_make(const struct retry_config *config, struct retry *ret_retry)
{
	*ret_retry = (struct retry){.config = *config, .policy = "policy"};
	if (config->patterns)
		make_regex(config, &ret_retry->regex);
	else
		make_terms(config->terms, ARRAY_SIZE(config->terms), config->fold,
			   &ret_retry->terms);
	if (config->upload)
		make_terms(&config->upload, 1, 0, &ret_retry->upload);
	assert_int_equal(resume_table_new(&ret_retry->table), 0);
}

void retry_done(struct retry *retry)
{
	resume_table_free(retry->table);
	terms_free(retry->terms);
	regex_free(retry->regex);
	terms_free(retry->upload);
}

void retry_tell(const struct retry_config *config, void (*story)(struct retry *retry))
{
	for (int bytes = 0; bytes < 2; bytes++) {
		struct retry_config each = *config;
		struct retry retry;

		each.bytes = bytes;
		retry_make(&each, &retry);
		story(&retry);
		retry_done(&retry);
	}
}

struct connection {
	struct exchanges *exchanges;
	struct pipeline *flows[_SESSION_TRACK_MAX];
	struct pipeline_task tasks[_SESSION_TRACK_MAX];
};

static void on_end(void *context, uint64_t number, const struct session *session,
		   const struct session_state *state)
{
	struct retry_result *result = context;

	(void)number;
	(void)session;
	result->state = *state;
}

static void on_text(void *context, const char *channel, const uint8_t *text, size_t len)
{
	struct retry_result *result = context;

	if (!strcmp(channel, "meta"))
		return;
	result->shown = realloc(result->shown, result->shown_len + len + 1);
	assert_non_null(result->shown);
	memcpy(result->shown + result->shown_len, text, len);
	result->shown_len += len;
	result->shown[result->shown_len] = '\0';
}

static void make_exchanges(const struct retry *retry, struct retry_result *result,
			   struct connection *connection)
{
	const struct retry_config *config = &retry->config;
	const struct matcher matcher = matcher_of(retry);
	const struct exchanges_config exchanges = {
		.session = {.level = config->level,
			    .tasks = {uploads, words},
			    .task_count = {retry->upload != NULL, !config->ungated}},
		.on_end = on_end,
		.context = result,
		.resumes = {.table = config->blind ? NULL : retry->table,
			    .owner = retry->owner,
			    .policy = retry->policy,
			    .peer = &retry->peer,
			    .peer_len = sizeof(retry->peer),
			    .keep = config->keep ? config->keep : matcher_tail(&matcher)},
	};

	assert_int_equal(exchanges_new(&exchanges, &connection->exchanges), 0);
}

static void make_flow(const struct retry *retry, struct retry_result *result,
		      enum session_track track, struct connection *connection)
{
	bool request = track == SESSION_REQUEST;
	struct pipeline_config config = {
		.framing = {.kind = FRAMING_HTTP1},
		.extract = retry->config.extract,
		.level = retry->config.level,
		.max_message = 1 << 20,
		.max_pending_units = 64,
		.track = track,
		.exchanges = connection->exchanges,
		.tasks = &connection->tasks[track],
		.task_count = request ? retry->upload != NULL : !retry->config.ungated,
		.on_text = request || retry->failing ? NULL : on_text,
		.context = result,
	};

	connection->tasks[track] =
		(struct pipeline_task){.name = words[0], .matcher = matcher_of(retry)};
	if (request)
		connection->tasks[track] =
			(struct pipeline_task){.name = uploads[0], .matcher.terms = retry->upload};
	assert_int_equal(pipeline_new(&config, &connection->flows[track]), 0);
}

/* In a copy of exactly its size, so that reading past it is seen. */
static enum fault feed_piece(const struct retry *retry, struct pipeline *flow, const char *data,
			     size_t len)
{
	uint8_t *copy = retry->failing ? NULL : malloc(len);
	enum fault fault;

	/* The allocation that fails is not one of these. */
	if (retry->failing)
		return pipeline_feed(flow, (const uint8_t *)data, len);
	assert_non_null(copy);
	memcpy(copy, data, len);
	fault = pipeline_feed(flow, copy, len);
	free(copy);
	return fault;
}

static enum fault feed(const struct retry *retry, struct pipeline *flow, const char *data,
		       size_t len)
{
	size_t piece = retry->config.bytes ? 1 : len;
	enum fault fault = FAULT_NONE;

	for (size_t at = 0; at < len && !fault; at += piece)
		fault = feed_piece(retry, flow, data + at, piece);
	return fault;
}

static void run(const struct retry *retry, struct connection *connection, const char *request,
		const char *response, enum retry_end end, struct retry_result *result)
{
	struct pipeline *asking = connection->flows[SESSION_REQUEST];
	struct pipeline *answer = connection->flows[SESSION_RESPONSE];

	result->asked = strlen(request);
	result->sent = strlen(response);
	result->request = feed(retry, asking, request, result->asked);
	if (end == RETRY_HALF_OPEN && !result->request)
		result->request = pipeline_end(asking);
	if (!result->request)
		result->response = feed(retry, answer, response, result->sent);
	if (end == RETRY_LEFT && !result->request)
		result->request = pipeline_end(asking);
	if (end == RETRY_CLOSED && !result->request && !result->response)
		result->response = pipeline_end(answer);
	result->released = pipeline_released(answer);
	result->request_released = pipeline_released(asking);
	if (pipeline_denial(answer)) {
		result->denied = true;
		result->start = pipeline_denial(answer)->start;
		result->end = pipeline_denial(answer)->end;
	}
}

void retry_run(struct retry *retry, const char *request, const char *response, enum retry_end end,
	       struct retry_result *ret_result)
{
	struct connection connection;

	*ret_result = (struct retry_result){.request = FAULT_NONE};
	make_exchanges(retry, ret_result, &connection);
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		make_flow(retry, ret_result, (enum session_track)track, &connection);
	if (retry->failing)
		allocation_fail_at(retry->fail_at);
	run(retry, &connection, request, response, end, ret_result);
	ret_result->known = resume_table_count(retry->table);
	/* A client that is gone may be back before its connection has ended. */
	if (end != RETRY_HALF_OPEN && end != RETRY_LEFT)
		exchanges_fail(connection.exchanges, SESSION_DISCONNECTED);
	else
		assert_true(exchanges_open(connection.exchanges));
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		pipeline_free(connection.flows[track]);
	exchanges_free(connection.exchanges);
	retry->failed = allocation_failed();
}

void retry_result_done(struct retry_result *result)
{
	free(result->shown);
}

void retry_passes(struct retry *retry, const char *request, const char *response,
		  enum retry_end end)
{
	struct retry_result result;

	retry_run(retry, request, response, end, &result);
	assert_string_equal(fault_name(result.request), "none");
	assert_string_equal(fault_name(result.response), "none");
	assert_int_equal(result.released, result.sent);
	retry_result_done(&result);
}

void retry_refused(struct retry *retry, const char *request)
{
	struct retry_result result;

	retry_run(retry, request, "", RETRY_OPEN, &result);
	assert_string_equal(fault_name(result.request), "resume_refused");
	assert_int_equal(result.request_released, 0);
	assert_string_equal(session_result_name(result.state.error), "resume_refused");
	retry_result_done(&result);
}

void retry_answer_refused(struct retry *retry, const char *request, const char *response)
{
	struct retry_result result;

	retry_run(retry, request, response, RETRY_CLOSED, &result);
	assert_string_equal(fault_name(result.request), "none");
	assert_string_equal(fault_name(result.response), "resume_refused");
	assert_int_equal(result.released, 0);
	retry_result_done(&result);
}

void retry_denied(struct retry *retry, const char *request, const char *response)
{
	struct retry_result result;

	retry_run(retry, request, response, RETRY_CLOSED, &result);
	assert_string_equal(fault_name(result.request), "none");
	assert_string_equal(fault_name(result.response), "blocked");
	assert_true(result.denied);
	assert_true(result.released < result.sent);
	assert_int_equal(result.state.end, SESSION_DENIED_END);
	retry_result_done(&result);
}
