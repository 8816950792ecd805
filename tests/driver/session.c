/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice-driver session`: runs the operations of an accounting record on a
 * session and answers the state after each.
 */
#include "driver.h"

#include <stdio.h>
#include <string.h>

#include "core/session.h"
#include "core/utf8.h"

/* A rune of the text operations that is not complete yet, per track. */
struct run {
	struct session *session;
	struct utf8 partial[_SESSION_TRACK_MAX];
};

static const char *const track_names[] = {
	[SESSION_REQUEST] = "request",
	[SESSION_RESPONSE] = "response",
};

static int find_track(const json_t *op, enum session_track *ret_track)
{
	const char *source = json_string_value(json_object_get(op, "source"));
	const char *track = json_string_value(json_object_get(op, "track"));
	const char *name = source ? source : track;

	if (!name)
		return -1;
	if (!strcmp(name, "user_request") || !strcmp(name, track_names[SESSION_REQUEST]))
		*ret_track = SESSION_REQUEST;
	else if (!strcmp(name, "model_generated") || !strcmp(name, track_names[SESSION_RESPONSE]))
		*ret_track = SESSION_RESPONSE;
	else
		return -1;
	return 0;
}

static int get_count(const json_t *object, const char *key, uint64_t *ret_count)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return -1;
	*ret_count = (uint64_t)json_integer_value(value);
	return 0;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Counts the runes that a text operation completes. -1: no hex, -2: ill-formed UTF-8. */
static int count_text(const char *hex, struct utf8 *partial, uint64_t *ret_runes)
{
	uint64_t runes = 0;

	if (!hex)
		return -1;
	for (; *hex; hex += 2) {
		int high = hex_digit(hex[0]), low = high < 0 ? -1 : hex_digit(hex[1]);

		if (low < 0)
			return -1;
		switch (utf8_push(partial, (uint8_t)(high << 4 | low))) {
		case UTF8_DONE:
			partial->have = 0;
			runes++;
			break;
		case UTF8_ILL:
			return -2;
		case UTF8_MORE:
			break;
		}
	}
	*ret_runes = runes;
	return 0;
}

static json_t *ended(const struct session *session, const struct session_state *state)
{
	json_t *end;

	if (state->end == SESSION_OPEN)
		return json_null();
	end = json_pack("{s:s}", "reason", session_end_name(state->end));
	if (state->end == SESSION_FAILED_END)
		json_object_set_new(end, "error", json_string(session_result_name(state->error)));
	if (state->end == SESSION_DENIED_END || state->end == SESSION_REWRITTEN_END) {
		const char *task =
			session_task_name(session, state->ended_track, state->ended_task);

		json_object_set_new(end, "track", json_string(track_names[state->ended_track]));
		json_object_set_new(end, "task", json_string(task));
		json_object_set_new(end, "start", json_integer((json_int_t)state->ended_start));
		json_object_set_new(end, "end", json_integer((json_int_t)state->ended_span_end));
	}
	return end;
}

static json_t *result_of(const struct session *session, const char *name, json_t *value)
{
	json_t *result = json_pack("{s:s, s:o}", "r", name, "value", value);
	struct session_state state;

	session_get(session, &state);
	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		const struct session_track_state *track = &state.track[t];
		json_t *safe =
			track->has_release ? json_integer((json_int_t)track->release) : json_null();

		json_object_set_new(result, track_names[t],
				    json_pack("{s:I, s:I, s:I, s:o}", "received",
					      (json_int_t)track->received, "confirmed",
					      (json_int_t)track->confirmed, "pending",
					      (json_int_t)track->pending, "safe", safe));
	}
	json_object_set_new(result, "ended", ended(session, &state));
	return result;
}

static bool is_open(const struct session *session)
{
	struct session_state state;

	session_get(session, &state);
	return state.end == SESSION_OPEN;
}

static json_t *observe(struct run *run, const json_t *op, bool text)
{
	enum session_result result;
	enum session_track track;
	uint64_t runes = 0, received;
	int r;

	if (find_track(op, &track) < 0)
		return NULL;
	if (text)
		r = count_text(json_string_value(json_object_get(op, "utf8_hex")),
			       &run->partial[track], &runes);
	else
		r = get_count(op, "runes", &runes);
	if (r == -1)
		return NULL;
	if (r < 0 && is_open(run->session)) {
		session_fail(run->session, SESSION_FRAMING_FAULT);
		return result_of(run->session, session_result_name(SESSION_FRAMING_FAULT),
				 json_null());
	}
	result = session_observe(run->session, track, runes, &received);
	return result_of(run->session, session_result_name(result),
			 result == SESSION_OK ? json_integer((json_int_t)received) : json_null());
}

static json_t *outcome(struct run *run, const json_t *op)
{
	static const char *const outcomes[] = {
		[SESSION_CLEARED] = "cleared",
		[SESSION_DENIED] = "denied",
		[SESSION_TRANSFORMED] = "transformed",
	};
	const char *task = json_string_value(json_object_get(op, "task"));
	const char *name = json_string_value(json_object_get(op, "outcome"));
	enum session_outcome kind = SESSION_CLEARED;
	enum session_result result;
	enum session_track track;
	uint64_t start, end;

	if (find_track(op, &track) < 0 || !task || !name || get_count(op, "start", &start) < 0 ||
	    get_count(op, "end", &end) < 0)
		return NULL;
	/* A name that is none of them stays past the last: a malformed verdict. */
	while (kind < _SESSION_OUTCOME_MAX && strcmp(outcomes[kind], name))
		kind++;
	result = session_outcome(run->session, track, session_task(run->session, track, task),
				 start, end, kind);
	return result_of(run->session, session_result_name(result), json_null());
}

static json_t *advance(struct run *run, const json_t *op)
{
	enum session_track track;
	uint64_t watermark;

	if (find_track(op, &track) < 0)
		return NULL;
	if (session_advance(run->session, track, &watermark))
		return result_of(run->session, "ok", json_integer((json_int_t)watermark));
	return result_of(run->session, "ok", json_null());
}

static json_t *finish(struct run *run)
{
	struct session_state state;
	bool clean;

	/* Half a rune is text that nobody has cleared. */
	if (run->partial[SESSION_REQUEST].have || run->partial[SESSION_RESPONSE].have)
		session_fail(run->session, SESSION_UNCLEARED_RESIDUE);
	clean = session_finish(run->session) == SESSION_OK;
	session_get(run->session, &state);
	clean = clean || state.end == SESSION_COMPLETE_END;
	return result_of(run->session, clean ? "clean" : "not_clean", json_null());
}

/* NULL: no such operation, or not with these members. */
static json_t *operate(struct run *run, const json_t *op)
{
	const char *name = json_string_value(json_object_get(op, "op"));

	if (!name)
		return NULL;
	if (!strcmp(name, "observe") || !strcmp(name, "text"))
		return observe(run, op, name[0] == 't');
	if (!strcmp(name, "outcome"))
		return outcome(run, op);
	if (!strcmp(name, "advance"))
		return advance(run, op);
	if (!strcmp(name, "end_of_payloads"))
		return result_of(run->session,
				 session_result_name(session_end_of_payloads(run->session)),
				 json_null());
	if (!strcmp(name, "finish"))
		return finish(run);
	return NULL;
}

/* Task names of one track into config; they stay the record's. */
static int read_tasks(const json_t *list, const char **names, struct session_config *config,
		      enum session_track track)
{
	size_t i;
	json_t *task;

	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) > SESSION_TASKS_MAX)
		return -1;
	json_array_foreach(list, i, task)
	{
		if (!json_is_string(task))
			return -1;
		names[i] = json_string_value(task);
	}
	config->tasks[track] = names;
	config->task_count[track] = json_array_size(list);
	return 0;
}

static int read_config(const json_t *record, const char **names, struct session_config *config)
{
	static const char *const levels[] = {
		[SESSION_BLOCKING] = "blocking",
		[SESSION_COMPLETE] = "complete",
		[SESSION_DEFERRED] = "deferred",
	};
	const json_t *object = json_object_get(record, "config");
	const char *level = json_string_value(json_object_get(object, "safety_level"));

	if (!object)
		return -1;
	while (level && config->level < _SESSION_LEVEL_MAX && strcmp(levels[config->level], level))
		config->level++;
	if (config->level == _SESSION_LEVEL_MAX)
		return -1;
	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		char key[32];

		snprintf(key, sizeof(key), "%s_start", track_names[t]);
		if (json_object_get(object, key) && get_count(object, key, &config->start[t]) < 0)
			return -1;
		snprintf(key, sizeof(key), "%s_tasks", track_names[t]);
		if (read_tasks(json_object_get(object, key), names + t * SESSION_TASKS_MAX, config,
			       (enum session_track)t) < 0)
			return -1;
	}
	return 0;
}

static json_t *answer(const json_t *record, void *context)
{
	const char *names[_SESSION_TRACK_MAX * SESSION_TASKS_MAX];
	const json_t *ops = json_object_get(record, "ops");
	cleanup(driver_json_freep) json_t *reply = NULL;
	json_t *results = json_array(), *op;
	struct session_config config = {0};
	struct run run = {0};
	enum session_result made;
	size_t i;

	(void)context;
	reply = json_pack("{s:O?, s:o}", "id", json_object_get(record, "id"), "results", results);
	if (read_config(record, names, &config) < 0)
		return driver_error(record, "bad_record", "config is not a session's");
	made = session_new(&config, &run.session);
	json_object_set_new(reply, "new", json_string(session_result_name(made)));
	if (made != SESSION_OK)
		return take_ptr(reply);
	json_array_foreach(ops, i, op)
	{
		json_t *result = operate(&run, op);

		if (!result) {
			session_free(run.session);
			return driver_error(record, "bad_record",
					    "an operation is not a session's");
		}
		json_array_append_new(results, result);
	}
	session_free(run.session);
	return take_ptr(reply);
}

int session_main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		fprintf(stderr, "usage: sluice-driver session < records.jsonl\n");
		return 2;
	}
	return driver_run(answer, NULL);
}
