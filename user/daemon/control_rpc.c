/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0: requests in, methods called, answers out. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/audit.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/limits.h"
#include "sys/clock.h"

static const struct {
	const char *name;
	control_method_fn call;
	enum control_right right;
} methods[] = {
	{"status", control_status, CONTROL_READ},
	{"streams", control_streams, CONTROL_READ},
	{"stream", control_stream, CONTROL_READ},
	{"deny", control_deny, CONTROL_CHANGE},
	{"watch", control_watch, CONTROL_CHANGE},
	{"unwatch", control_unwatch, CONTROL_CHANGE},
	{"run.create", control_run_create, CONTROL_CHANGE},
	{"run.finish", control_run_finish, CONTROL_CHANGE},
	{"policy.load", control_policy_load, CONTROL_CHANGE},
	{"policy.show", control_policy_show, CONTROL_READ},
	{"policy.reload", control_policy_reload, CONTROL_CHANGE},
	{"events", control_events, CONTROL_READ},
	{"audit.head", control_audit_head, CONTROL_READ},
};

int control_fail(struct control_call *call, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(call->error, sizeof(call->error), format, args);
	va_end(args);
	return code;
}

/* What it was asked to change, or what it made. */
static void record(const struct control_call *call, const char *name, const json_t *made,
		   const char *result)
{
	const struct unix_peer *peer = control_peer(call->client);
	const char *target = json_string_value(json_object_get(call->params, "cgroup"));
	const json_t *id = json_object_get(call->params, "id");
	struct audit_call done = {
		.method = name,
		.uid = peer->uid,
		.pid = peer->pid,
		.result = result,
	};
	char number[24];

	if (!target && json_is_integer(id)) {
		(void)snprintf(number, sizeof(number), "%lld", json_integer_value(id));
		target = number;
	}
	if (!target)
		target = json_string_value(json_object_get(made, "cgroup"));
	if (!target)
		target = json_string_value(json_object_get(made, "name"));
	done.target = target;
	audit_control(call->daemon, &done);
}

/* Who may not change anything does not fill the trail with that either. */
static void record_refused(const struct control_call *call, const char *name)
{
	struct control *control = &call->daemon->control;
	uint64_t second = clock_boot_ns() / CLOCK_NS_PER_S;
	char result[128];

	if (second != control->refused_second) {
		control->refused_second = second;
		control->refused_count = 0;
	}
	if (control->refused_count >= LIMIT_CONTROL_REFUSALS) {
		control->refused_untold++;
		return;
	}
	control->refused_count++;
	(void)snprintf(result, sizeof(result), "refused: not allowed to change anything");
	if (control->refused_untold)
		(void)snprintf(result, sizeof(result),
			       "refused: not allowed to change anything; %" PRIu64
			       " more were not recorded",
			       control->refused_untold);
	control->refused_untold = 0;
	record(call, name, NULL, result);
}

static int call_method(struct control_call *call, size_t i, json_t **ret_result)
{
	bool changes = methods[i].right == CONTROL_CHANGE;
	int r;

	if (control_right(call->client) < methods[i].right) {
		record_refused(call, methods[i].name);
		return control_fail(call, CONTROL_FORBIDDEN,
				    "refused: %s changes something, which is for root and members "
				    "of group '%.64s'",
				    methods[i].name, call->daemon->options->group);
	}
	if (json_is_object(call->params))
		r = methods[i].call(call, ret_result);
	else
		r = control_fail(call, CONTROL_INVALID_PARAMS, "params is not an object");
	if (changes)
		record(call, methods[i].name, r ? NULL : *ret_result,
		       r && r != CONTROL_LATER ? call->error : "done");
	return r;
}

static int dispatch(struct control_call *call, const char *name, json_t **ret_result)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (!strcmp(methods[i].name, name))
			return call_method(call, i, ret_result);
	return control_fail(call, CONTROL_METHOD_NOT_FOUND, "no method '%.64s'", name);
}

static bool is_id(const json_t *id)
{
	return json_is_string(id) || json_is_number(id) || json_is_null(id);
}

/* request is an object. */
static void take_request(struct daemon *daemon, struct control_client *client, json_t *request)
{
	const char *version = json_string_value(json_object_get(request, "jsonrpc"));
	const char *name = json_string_value(json_object_get(request, "method"));
	struct control_call call = {
		.daemon = daemon,
		.client = client,
		.id = json_object_get(request, "id"),
		.params = json_object_get(request, "params"),
	};
	json_t *none = NULL, *result = NULL;
	int r;

	if (!version || strcmp(version, "2.0") || !name || (call.id && !is_id(call.id))) {
		control_answer_error(client, is_id(call.id) ? call.id : NULL,
				     CONTROL_INVALID_REQUEST, "not a JSON-RPC 2.0 request");
		return;
	}
	if (!call.params)
		call.params = none = json_object();
	r = dispatch(&call, name, &result);
	if (!r)
		control_answer(client, call.id, result);
	else if (r != CONTROL_LATER && call.id)
		control_answer_error(client, call.id, r, call.error);
	json_decref(none);
}

void control_take_line(struct daemon *daemon, struct control_client *client, const char *line,
		       size_t len)
{
	json_error_t wrong;
	json_t *request;

	if (strspn(line, " \t\r") == len)
		return;
	request = json_loadb(line, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &wrong);
	if (!request)
		control_answer_error(client, NULL, CONTROL_PARSE_ERROR, "the line is not JSON");
	else if (!json_is_object(request))
		control_answer_error(client, NULL, CONTROL_INVALID_REQUEST,
				     "a request is one object; batches are not taken");
	else
		take_request(daemon, client, request);
	json_decref(request);
}
