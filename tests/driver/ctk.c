/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice-driver ctk`: a small host over the session that runs the scenario of an agent-hooks
 * vector and mediates its stream incrementally (AGENT-HOOKS-0.1 12.1, the exception): each
 * segment is emitted as the prefix it completes, and leaves once the watermark covers it.
 *
 * A verdict that transforms ends the run: a mediator of streams emits no substitute. There is
 * nobody to lift a deny, and no identity. Runs that need more (another composition, modes that
 * do not enforce) are unsupported.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/session.h"
#include "core/utf8.h"
#include "driver/ctk_emit.h"
#include "driver/driver.h"

struct text {
	char *bytes;
	size_t len;
	uint64_t runes;
};

struct run {
	const json_t *scenario;
	struct ctk_host host;
	json_t *own_scripts; /* where the vector has but one script */
	char (*names)[40];
	const char **tasks;
	json_t *messages, *invocations;
	struct text request, response; /* of the tracks, as observed */
	uint64_t sent;		       /* runes of the request that the model was given */
	size_t released;	       /* bytes of the response, and their runes */
	uint64_t released_runes;
	uint64_t reply; /* rune at which the reply under way begins */
	bool failed;	/* out of memory */
};

static void run_done(struct run *run)
{
	(void)session_free(run->host.session);
	json_decref(run->host.interceptions);
	json_decref(run->host.records);
	json_decref(run->own_scripts);
	json_decref(run->messages);
	json_decref(run->invocations);
	free(run->names);
	free(run->tasks);
	free(run->request.bytes);
	free(run->response.bytes);
}

/* Text goes onto a track. False: the session does not take it. */
static bool observe(struct run *run, enum session_track track, const char *bytes, size_t len)
{
	struct text *text = track == SESSION_REQUEST ? &run->request : &run->response;
	char *grown = realloc(text->bytes, text->len + len + 1);
	uint64_t runes = utf8_count((const uint8_t *)bytes, len), received;

	if (!grown) {
		run->failed = true;
		return false;
	}
	if (len)
		memcpy(grown + text->len, bytes, len);
	text->bytes = grown;
	text->len += len;
	text->runes += runes;
	return !runes || session_observe(run->host.session, track, runes, &received) == SESSION_OK;
}

/* A content that is no string is its JSON; null is none. */
static bool observe_content(struct run *run, enum session_track track, const json_t *content)
{
	char *text;
	bool taken;

	if (!content || json_is_null(content))
		return true;
	if (json_is_string(content))
		return observe(run, track, json_string_value(content), json_string_length(content));
	text = json_dumps(content, JSON_COMPACT | JSON_ENCODE_ANY);
	if (!text) {
		run->failed = true;
		return false;
	}
	taken = observe(run, track, text, strlen(text));
	free(text);
	return taken;
}

/* What the watermark covers leaves. */
static void release(struct run *run)
{
	uint64_t watermark;

	if (!session_advance(run->host.session, SESSION_RESPONSE, &watermark))
		return;
	while (run->released_runes < watermark) {
		run->released += utf8_length((uint8_t)run->response.bytes[run->released]);
		run->released_runes++;
	}
}

static bool emit(struct run *run, enum agent_point point, json_t *members)
{
	return ctk_emit_point(&run->host, point, members);
}

static bool emit_reply(struct run *run, const json_t *content, const json_t *calls,
		       const json_t *finish)
{
	const struct ctk_gated gated = {
		.scope = CTK_SPAN,
		.track = SESSION_RESPONSE,
		.start = run->reply,
		.end = run->response.runes,
	};
	char *list = json_dumps(calls, JSON_COMPACT);
	const struct agent_context about = {
		.point = AGENT_POST_MODEL_CALL,
		.finish_reason = json_string_value(finish),
		.tool_calls = list,
	};
	bool permitted = ctk_emit(&run->host, about, content, &gated);

	free(list);
	if (permitted)
		release(run);
	return permitted;
}

/* The prefix of the reply that has come. */
static json_t *prefix_of(const struct run *run, size_t from)
{
	return json_stringn(run->response.bytes + from, run->response.len - from);
}

/* A segment that ends at a chunk; the last one is as the script says. */
static bool take_segment(struct run *run, const json_t *respond, size_t from, bool last)
{
	cleanup(driver_json_freep) json_t *prefix = prefix_of(run, from);
	cleanup(driver_json_freep) json_t *none = json_array();
	cleanup(driver_json_freep) json_t *going_on = json_string(AGENT_FINISH_INCREMENTAL);

	return emit_reply(run, prefix, last ? json_object_get(respond, "tool_calls") : none,
			  last ? json_object_get(respond, "finish_reason") : going_on);
}

static bool take_stream(struct run *run, const json_t *respond)
{
	const json_t *stream = json_object_get(respond, "stream");
	bool truncated = json_is_true(json_object_get(respond, "stream_truncated"));
	size_t count = json_array_size(stream), from = run->response.len;

	for (size_t i = 0; i < count; i++) {
		const json_t *chunk = json_array_get(stream, i);

		if (!observe_content(run, SESSION_RESPONSE, chunk))
			return false;
		if (truncated && i + 1 == count)
			break;
		if (!take_segment(run, respond, from, i + 1 == count))
			return false;
	}
	if (!truncated)
		return true;
	/* What nobody evaluated is the end of it, however little that is (12.1, item 3). */
	session_fail(run->host.session, SESSION_FRAMING_FAULT);
	ctk_deny(&run->host, AGENT_POST_MODEL_CALL);
	return false;
}

static bool take_reply(struct run *run, const json_t *respond)
{
	const json_t *content = json_object_get(respond, "content");

	run->reply = run->response.runes;
	if (json_object_get(respond, "stream"))
		return take_stream(run, respond);
	return observe_content(run, SESSION_RESPONSE, content) &&
	       emit_reply(run, content, json_object_get(respond, "tool_calls"),
			  json_object_get(respond, "finish_reason"));
}

/* The first clause that fits the arguments; NULL: there is none. */
static const json_t *behaviour_of(const struct run *run, const json_t *call)
{
	const json_t *tools = json_object_get(run->scenario, "tools");

	for (size_t i = 0; i < json_array_size(tools); i++) {
		const json_t *tool = json_array_get(tools, i);
		const json_t *clauses = json_object_get(tool, "behavior");

		if (!json_equal(json_object_get(tool, "name"), json_object_get(call, "name")))
			continue;
		for (size_t j = 0; j < json_array_size(clauses); j++) {
			const json_t *clause = json_array_get(clauses, j);
			const json_t *args = json_object_get(clause, "when_args");

			if (!args || json_equal(args, json_object_get(call, "args")))
				return clause;
		}
	}
	return NULL;
}

/* A call that is blocked, before or after, leaves no result; the run goes on (6.1, 6.2). */
static void call_tool(struct run *run, const json_t *call)
{
	json_t *args = json_object_get(call, "args");
	const json_t *clause = behaviour_of(run, call);
	const json_t *value = json_object_get(clause, "return");
	bool error = !clause || json_is_true(json_object_get(clause, "is_error"));

	if (!emit(run, AGENT_PRE_TOOL_CALL,
		  json_pack("{s:O, s:O}", "tool_call", call, "target", args)))
		return;
	json_array_append_new(
		run->invocations,
		json_pack("{s:O, s:O}", "name", json_object_get(call, "name"), "args", args));
	if (emit(run, AGENT_POST_TOOL_CALL,
		 json_pack("{s:O, s:{s:O?, s:b}, s:O?}", "tool_call", call, "tool_result", "value",
			   value, "is_error", error, "target", value)))
		json_array_append_new(run->messages,
				      json_pack("{s:s, s:O?}", "role", "tool", "content", value));
}

/* A call of the model with what it has been told so far. *ret_more: it calls tools. */
static bool call_model(struct run *run, const json_t *respond, bool *ret_more)
{
	const json_t *calls = json_object_get(respond, "tool_calls");
	cleanup(driver_json_freep) json_t *messages = json_copy(run->messages);

	if (!emit(run, AGENT_PRE_MODEL_CALL,
		  json_pack("{s:{s:s}, s:O, s:O}", "model", "id", "ctk", "messages", messages,
			    "target", messages)))
		return false;
	run->sent = run->request.runes;
	if (!take_reply(run, respond))
		return false;
	for (size_t i = 0; i < json_array_size(calls); i++)
		call_tool(run, json_array_get(calls, i));
	json_array_append_new(run->messages, json_pack("{s:s, s:O}", "role", "assistant", "content",
						       json_object_get(respond, "content")));
	*ret_more = json_array_size(calls) > 0;
	return true;
}

static bool take_input(struct run *run)
{
	json_t *input = json_object_get(run->scenario, "input");
	struct ctk_gated gated = {.scope = CTK_SPAN, .track = SESSION_REQUEST};
	const struct agent_context about = {
		.point = AGENT_INPUT,
		.role = json_string_value(json_object_get(input, "role")),
	};
	uint64_t watermark;

	if (!observe_content(run, SESSION_REQUEST, json_object_get(input, "content")))
		return false;
	gated.end = run->request.runes;
	if (!ctk_emit(&run->host, about, json_object_get(input, "content"), &gated))
		return false;
	(void)session_advance(run->host.session, SESSION_REQUEST, &watermark);
	json_array_append(run->messages, input);
	return true;
}

/* What has left cannot be recalled; a deny here keeps the run from ending well. */
static bool give_output(struct run *run, const json_t *content)
{
	const struct ctk_gated gated = {.scope = CTK_OUTPUT};
	const struct agent_context about = {.point = AGENT_OUTPUT};

	(void)session_end_of_payloads(run->host.session);
	return ctk_emit(&run->host, about, content, &gated) &&
	       session_finish(run->host.session) == SESSION_OK;
}

static bool open_session(struct run *run)
{
	struct session_config config = {
		.level = SESSION_BLOCKING,
		.output_tasks = run->tasks,
		.output_count = run->host.count,
	};

	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		config.tasks[t] = run->tasks;
		config.task_count[t] = run->host.count;
	}
	return session_new(&config, &run->host.session) == SESSION_OK;
}

static json_t *tool_names(const struct run *run)
{
	const json_t *tools = json_object_get(run->scenario, "tools");
	json_t *names = json_array();

	for (size_t i = 0; i < json_array_size(tools); i++)
		json_array_append(names, json_object_get(json_array_get(tools, i), "name"));
	return names;
}

/* False: it was blocked. *ret_final: what the caller got in the end, borrowed, or NULL. */
static bool run_scenario(struct run *run, json_t **ret_final)
{
	const json_t *script = json_object_get(run->scenario, "model_script");
	cleanup(driver_json_freep) json_t *init =
		json_pack("{s:o}", "tools_registered", tool_names(run));
	json_t *content = NULL;
	bool more = true;

	if (!emit(run, AGENT_STARTUP, json_pack("{s:O, s:O}", "agent_init", init, "target", init)))
		return false;
	if (!open_session(run) || !take_input(run))
		return false;
	for (size_t i = 0; i < json_array_size(script) && more; i++) {
		const json_t *respond = json_object_get(json_array_get(script, i), "respond");

		if (!call_model(run, respond, &more))
			return false;
		content = more ? NULL : json_object_get(respond, "content");
	}
	if (!content || json_is_null(content))
		return true;
	if (!give_output(run, content))
		return false;
	*ret_final = content;
	return true;
}

/* What may be kept of the run: cleared, and gone where it was meant to. */
static json_t *persisted(const struct run *run)
{
	json_t *kept = json_array();
	struct session_state state;
	size_t bytes = 0;
	uint64_t runes;

	if (!run->host.session)
		return kept;
	session_get(run->host.session, &state);
	if (session_persistable(&state, SESSION_REQUEST, run->sent) == run->request.runes &&
	    run->sent)
		json_array_append(kept, json_object_get(run->scenario, "input"));
	runes = session_persistable(&state, SESSION_RESPONSE, run->released_runes);
	for (uint64_t i = 0; i < runes; i++)
		bytes += utf8_length((uint8_t)run->response.bytes[bytes]);
	if (bytes)
		json_array_append_new(kept, json_pack("{s:s, s:o}", "role", "assistant", "content",
						      json_stringn(run->response.bytes, bytes)));
	return kept;
}

/* How the session ended, and why where it failed; null: there was none. */
static json_t *settle(struct run *run)
{
	struct session_state state;

	if (!run->host.session)
		return json_null();
	/* Where the run was blocked at a point that gates no text the peer gets no more of it. */
	session_fail(run->host.session, SESSION_DISCONNECTED);
	session_get(run->host.session, &state);
	return json_string(state.end == SESSION_FAILED_END ? session_result_name(state.error)
							   : session_end_name(state.end));
}

static json_t *report(const json_t *vector, struct run *run)
{
	json_t *final = NULL;
	bool done = run_scenario(run, &final);
	cleanup(driver_json_freep) json_t *settled = settle(run);
	cleanup(driver_json_freep) json_t *summary =
		json_pack("{s:s}", "reason", done ? "completed" : "error");

	(void)emit(run, AGENT_SHUTDOWN,
		   json_pack("{s:O, s:O}", "summary", summary, "target", summary));
	if (run->failed)
		return NULL;
	return json_pack("{s:O*, s:o, s:O?, s:s, s:o, s:O, s:O, s:O, s:O}", "id",
			 json_object_get(vector, "id"), "released_output",
			 json_stringn(run->response.bytes ?: "", run->released), "final_output",
			 final, "run_outcome", done ? "completed" : "blocked", "persisted",
			 persisted(run), "records", run->host.records, "interceptions",
			 run->host.interceptions, "tool_invocations", run->invocations, "session",
			 settled);
}

/* NULL: the response is one; else what it lacks. */
static const char *check_respond(const json_t *respond)
{
	const json_t *content = json_object_get(respond, "content");
	const json_t *stream = json_object_get(respond, "stream");
	size_t len = 0;

	if (!content || !json_is_string(json_object_get(respond, "finish_reason")) ||
	    !json_is_array(json_object_get(respond, "tool_calls")))
		return "a response lacks content, tool_calls or finish_reason";
	if (!stream)
		return NULL;
	if (!json_is_string(content) || !json_array_size(stream))
		return "a stream is no list of chunks, or its content no string";
	for (size_t i = 0; i < json_array_size(stream); i++) {
		const json_t *chunk = json_array_get(stream, i);
		size_t more = json_string_length(chunk);

		if (!json_is_string(chunk) || more > json_string_length(content) - len ||
		    memcmp(json_string_value(content) + len, json_string_value(chunk), more) != 0)
			return "the chunks of a stream are not its content";
		len += more;
	}
	return len == json_string_length(content) ? NULL
						  : "the chunks of a stream are not its content";
}

static const char *check_vector(const json_t *vector)
{
	const json_t *scenario = json_object_get(vector, "scenario");
	const json_t *script = json_object_get(scenario, "model_script");
	const char *fault = NULL;

	if (!json_is_object(json_object_get(scenario, "input")) ||
	    !json_object_get(json_object_get(scenario, "input"), "content"))
		return "the scenario has no input";
	for (size_t i = 0; i < json_array_size(script) && !fault; i++)
		fault = check_respond(json_object_get(json_array_get(script, i), "respond"));
	return fault;
}

/* NULL: this host does what the vector asks for. */
static const char *check_surface(const json_t *vector)
{
	const char *mode = json_string_value(json_object_get(vector, "mode"));
	const json_t *composition = json_object_get(vector, "composition");
	const char *profile = json_string_value(json_object_get(composition, "profile"));

	if (mode && strcmp(mode, "enforce") != 0)
		return "a mode that does not enforce";
	if (profile && strcmp(profile, "sequential/first_deny") != 0)
		return "a composition other than sequential/first_deny";
	return NULL;
}

/* One script, or one of each interceptor; without any there is none. */
static int set_up(const json_t *vector, struct run *run)
{
	json_t *script = json_object_get(vector, "interceptor_script");

	run->scenario = json_object_get(vector, "scenario");
	run->host.scripts = json_object_get(vector, "interceptor_scripts");
	if (script) {
		run->own_scripts = json_pack("[O]", script);
		run->host.scripts = run->own_scripts;
	}
	run->host.count = json_array_size(run->host.scripts);
	run->host.interceptions = json_array();
	run->host.records = json_array();
	run->messages = json_array();
	run->invocations = json_array();
	run->names = calloc(run->host.count + 1, sizeof(*run->names));
	run->tasks = calloc(run->host.count + 1, sizeof(*run->tasks));
	if (!run->names || !run->tasks)
		return -1;
	for (size_t i = 0; i < run->host.count; i++) {
		snprintf(run->names[i], sizeof(run->names[i]), "interceptor %zu", i);
		run->tasks[i] = run->names[i];
	}
	return 0;
}

static json_t *answer(const json_t *vector, void *context)
{
	cleanup(run_done) struct run run = {0};
	const char *fault = check_vector(vector);

	(void)context;
	if (fault)
		return driver_error(vector, "bad_record", fault);
	fault = check_surface(vector);
	if (fault)
		return driver_error(vector, "unsupported", fault);
	return set_up(vector, &run) < 0 ? NULL : report(vector, &run);
}

int ctk_main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		fprintf(stderr, "usage: sluice-driver ctk < vectors.jsonl\n");
		return 2;
	}
	return driver_run(answer, NULL);
}
