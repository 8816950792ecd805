/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/ctk_emit.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/verdict.h"
#include "driver/driver.h"

/* Bytes of a message that a record keeps (10.3). */
#define MESSAGE_MAX 256u

#define TARGET_FORBIDDEN "host_error:transform_target_forbidden"
#define CONTEXT_INVALID	 "host_error:context_invalid"

/* One emission on its way to a verdict. */
struct emission {
	struct ctk_host *host;
	enum agent_point point;
	const struct ctk_gated *gated;
	json_t *context;
	json_t *verdict;  /* the combined one, as a record has it */
	json_t *warnings; /* of all that were returned */
	int decided_by;	  /* -1: nobody */
	size_t asked;
};

/* Follows "a.b[0].c". NULL: it leads nowhere. */
static const json_t *look_up(const json_t *at, const char *path)
{
	char name[128];

	while (at && *path) {
		size_t len = strcspn(path, ".[");

		if (*path == '[') {
			at = json_array_get(at, strtoul(path + 1, NULL, 10));
			path += strcspn(path, "]");
			path += *path == ']';
		} else if (len >= sizeof(name)) {
			return NULL;
		} else if (len) {
			memcpy(name, path, len);
			name[len] = '\0';
			at = json_object_get(at, name);
			path += len;
		}
		path += *path == '.';
	}
	return at;
}

static bool rule_fits(const json_t *rule, enum agent_point point, const json_t *context)
{
	json_t *match = json_object_get(rule, "match"), *want;
	const char *at = json_string_value(json_object_get(rule, "at")), *path;

	if (!at || strcmp(at, agent_point_name(point)) != 0)
		return false;
	json_object_foreach(match, path,
			    want) if (!json_equal(look_up(context, path), want)) return false;
	return true;
}

/* What an interceptor returns: the first rule that fits says it. NULL: it raises. */
static json_t *intercept(const json_t *script, enum agent_point point, const json_t *context)
{
	const json_t *rule = NULL, *returned;
	const char *fault;

	for (size_t i = 0; i < json_array_size(script) && !rule; i++)
		if (rule_fits(json_array_get(script, i), point, context))
			rule = json_array_get(script, i);
	fault = json_string_value(json_object_get(rule, "fault"));
	returned = json_object_get(rule, "return");
	/* One that changes its copy of the context changes nothing else, and allows. */
	if (!rule || (fault && strcmp(fault, "mutate") == 0))
		return json_pack("{s:s}", "decision", "allow");
	if (fault && strcmp(fault, "malformed_verdict") == 0)
		return json_pack("{s:s}", "decision", "transform");
	return fault ? NULL : json_deep_copy(returned);
}

static json_t *message_of(const json_t *message)
{
	const char *text = json_string_value(message);
	size_t len = text ? json_string_length(message) : 0;
	char cut[MESSAGE_MAX + sizeof("…")];

	if (len <= MESSAGE_MAX)
		return text ? json_stringn(text, len) : NULL;
	for (len = MESSAGE_MAX; (text[len] & 0xc0) == 0x80;)
		len--;
	memcpy(cut, text, len);
	memcpy(cut + len, "…", sizeof("…"));
	return json_string(cut);
}

/* Adds those that are not there yet. */
static void add_warnings(json_t *to, const json_t *warnings)
{
	for (size_t i = 0; i < json_array_size(warnings); i++) {
		const json_t *warning = json_array_get(warnings, i);
		json_t *kept =
			json_pack("{s:O*, s:o*}", "reason", json_object_get(warning, "reason"),
				  "message", message_of(json_object_get(warning, "message")));
		size_t at = 0;

		while (at < json_array_size(to) && !json_equal(json_array_get(to, at), kept))
			at++;
		if (at == json_array_size(to))
			json_array_append(to, kept);
		json_decref(kept);
	}
}

/* Of a verdict what a record may have: no replacement, no text but that of its reasons (10.3). */
static json_t *project(const json_t *verdict)
{
	const json_t *transform = json_object_get(verdict, "transform");
	json_t *kept = json_pack("{s:O, s:O*, s:o*, s:O*}", "decision",
				 json_object_get(verdict, "decision"), "reason",
				 json_object_get(verdict, "reason"), "message",
				 message_of(json_object_get(verdict, "message")), "evidence",
				 json_object_get(verdict, "evidence"));

	if (json_object_get(verdict, "approval"))
		json_object_set_new(kept, "approval", json_object());
	else if (strcmp(json_string_value(json_object_get(verdict, "decision")), "deny") != 0 &&
		 json_object_get(verdict, "result_labels"))
		json_object_set(kept, "result_labels", json_object_get(verdict, "result_labels"));
	if (transform)
		json_object_set_new(kept, "transform",
				    json_pack("{s:O}", "path", json_object_get(transform, "path")));
	return kept;
}

static void decide(struct emission *e, json_t *verdict, int by)
{
	json_decref(e->verdict);
	e->verdict = verdict;
	e->decided_by = by;
}

static void decide_deny(struct emission *e, const char *reason, int by)
{
	decide(e, json_pack("{s:s, s:s}", "decision", "deny", "reason", reason), by);
}

/* The interceptor fails, and with it the session where there is one. */
static void fail(struct emission *e, enum session_result error, int by)
{
	const struct session_state state = {.end = SESSION_FAILED_END, .error = error};

	if (e->host->session)
		session_fail(e->host->session, error);
	decide_deny(e, session_reason(&state), by);
}

static bool is_life_cycle(enum agent_point point)
{
	return point == AGENT_STARTUP || point == AGENT_SHUTDOWN;
}

/* Tells the session of a verdict. Does the accounting bear it? */
static bool account(const struct emission *e, int task, const struct verdict *verdict)
{
	static const enum session_outcome outcomes[] = {
		[VERDICT_ALLOW] = SESSION_CLEARED,
		[VERDICT_DENY] = SESSION_DENIED,
		[VERDICT_TRANSFORM] = SESSION_TRANSFORMED,
	};
	const struct ctk_gated *gated = e->gated;

	if (gated->scope == CTK_OUTPUT)
		return session_output(e->host->session, task, outcomes[verdict->decision]) ==
		       SESSION_OK;
	/* Of no text there is no outcome: the verdict is the host's to follow. */
	if (gated->scope == CTK_NOTHING || gated->start == gated->end)
		return true;
	return verdict_record(e->host->session, gated->track, task, gated->start, gated->end,
			      verdict) == SESSION_OK;
}

static enum verdict_fault parse(const json_t *returned, struct verdict *ret_verdict)
{
	char *text = json_dumps(returned, JSON_COMPACT | JSON_ENCODE_ANY);
	enum verdict_fault fault = VERDICT_NO_MEMORY;

	if (text)
		fault = verdict_parse((const uint8_t *)text, strlen(text), false, ret_verdict);
	free(text);
	return fault;
}

/* Asks one interceptor. Is the next one to be asked? */
static bool ask(struct emission *e, int task)
{
	cleanup(driver_json_freep) json_t *returned =
		intercept(json_array_get(e->host->scripts, (size_t)task), e->point, e->context);
	struct session_state state;
	struct verdict verdict;

	e->asked++;
	if (!returned || parse(returned, &verdict) != VERDICT_OK) {
		fail(e, returned ? SESSION_VERDICT_INVALID : SESSION_INTERCEPTOR_FAILED, task);
		return false;
	}
	add_warnings(e->warnings, json_object_get(returned, "warnings"));
	if (verdict.decision == VERDICT_TRANSFORM && is_life_cycle(e->point)) {
		decide_deny(e, TARGET_FORBIDDEN, -1);
		return false;
	}
	if (!account(e, task, &verdict)) {
		session_get(e->host->session, &state);
		decide_deny(e, session_reason(&state), -1);
		return false;
	}
	decide(e, project(returned), verdict.decision == VERDICT_ALLOW ? -1 : task);
	return verdict.decision == VERDICT_ALLOW;
}

static void record(struct emission *e)
{
	struct ctk_host *host = e->host;
	json_t *decided_by = e->decided_by < 0 ? json_null() : json_integer(e->decided_by);
	json_t *composition =
		json_pack("{s:s, s:s}", "profile", "sequential/first_deny", "on_approval", "stop");

	if (json_array_size(e->warnings))
		json_object_set(e->verdict, "warnings", e->warnings);
	json_array_append_new(
		host->records,
		json_pack("{s:s, s:s, s:O, s:n, s:n, s:n, s:s, s:I, s:o, s:o, s:b, s:I}",
			  "interception_point", agent_point_name(e->point), "mode", "enforce",
			  "verdict", e->verdict, "input_identity", "enforced_identity",
			  "identity_provider", "session_id", "ctk", "sequence", host->sequence++,
			  "decided_by", decided_by, "composition", composition, "fold_truncated",
			  e->asked < host->count, "interceptors_registered",
			  (json_int_t)host->count));
}

/* A context as vectors write it: the members of its objects by dotted names. */
static json_t *flatten(const json_t *context)
{
	json_t *flat = json_object(), *value, *inner;
	const char *name, *member;
	char path[128];

	json_object_foreach((json_t *)context, name, value)
	{
		if (!json_is_object(value))
			json_object_set(flat, name, value);
		json_object_foreach(value, member, inner)
		{
			snprintf(path, sizeof(path), "%s.%s", name, member);
			json_object_set(flat, path, inner);
		}
	}
	return flat;
}

/* As an interceptor of the daemon gets it; nothing here has the time. */
static json_t *build(const struct ctk_host *host, struct agent_context about)
{
	cleanup(agent_buffer_done) struct agent_buffer buffer = {0};

	about.agent = about.session = about.model = "ctk";
	about.sequence = (uint64_t)host->sequence;
	if (agent_context_write(&about, &buffer))
		return NULL;
	return json_loadb(buffer.text, buffer.len, 0, NULL);
}

static void dispatch(struct emission *e)
{
	struct ctk_host *host = e->host;

	if (!e->context) {
		decide_deny(e, CONTEXT_INVALID, -1);
		return;
	}
	if (!host->count) {
		decide_deny(e, "host_error:no_interceptor", -1);
		return;
	}
	json_array_append_new(host->interceptions, json_pack("{s:s, s:o}", "interception_point",
							     agent_point_name(e->point), "context",
							     flatten(e->context)));
	for (size_t i = 0; i < host->count; i++)
		if (!ask(e, (int)i))
			break;
}

static bool emit(struct ctk_host *host, const struct agent_context *about,
		 const struct ctk_gated *gated)
{
	struct emission e = {
		.host = host,
		.point = about->point,
		.gated = gated,
		.context = build(host, *about),
		.warnings = json_array(),
		.decided_by = -1,
	};
	const char *decision;
	bool permitted;

	dispatch(&e);
	record(&e);
	decision = json_string_value(json_object_get(e.verdict, "decision"));
	permitted = decision && strcmp(decision, "allow") == 0;
	json_decref(e.verdict);
	json_decref(e.warnings);
	json_decref(e.context);
	return permitted;
}

bool ctk_emit(struct ctk_host *host, struct agent_context about, const json_t *content,
	      const struct ctk_gated *gated)
{
	char *json = NULL;
	bool permitted;

	if (json_is_string(content)) {
		about.content = (const uint8_t *)json_string_value(content);
		about.content_len = json_string_length(content);
	} else if (content && !json_is_null(content)) {
		json = json_dumps(content, JSON_COMPACT | JSON_ENCODE_ANY);
		about.content = (const uint8_t *)json;
		about.content_len = json ? strlen(json) : 0;
		about.content_json = true;
	}
	permitted = emit(host, &about, gated);
	free(json);
	return permitted;
}

bool ctk_emit_point(struct ctk_host *host, enum agent_point point, json_t *members)
{
	static const struct ctk_gated nothing = {.scope = CTK_NOTHING};
	struct agent_context about = {.point = point};
	char *json = json_dumps(members, JSON_COMPACT);
	bool permitted;

	/* Without its braces. */
	if (json) {
		json[strlen(json) - 1] = '\0';
		about.members = json + 1;
	}
	permitted = emit(host, &about, &nothing);
	free(json);
	json_decref(members);
	return permitted;
}

void ctk_deny(struct ctk_host *host, enum agent_point point)
{
	struct emission e = {.host = host, .point = point, .asked = host->count};
	struct session_state state;

	session_get(host->session, &state);
	decide_deny(&e, session_reason(&state), -1);
	record(&e);
	json_decref(e.verdict);
}
