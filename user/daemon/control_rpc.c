/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0: requests in, methods called, answers out. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/audit.h"
#include "daemon/control.h"

static const struct {
	const char *name;
	control_method_fn call;
	bool changes; /* something: it is recorded */
} methods[] = {
	{"status", control_status, false},
	{"streams", control_streams, false},
	{"stream", control_stream, false},
	{"deny", control_deny, true},
	{"watch", control_watch, true},
	{"unwatch", control_unwatch, true},
	{"run.create", control_run_create, true},
	{"run.finish", control_run_finish, true},
	{"audit.head", control_audit_head, false},
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
static void record(const struct control_call *call, const char *name, const json_t *result, int r)
{
	const struct unix_peer *peer = control_peer(call->client);
	const char *target = json_string_value(json_object_get(call->params, "cgroup"));
	const json_t *id = json_object_get(call->params, "id");
	struct audit_call done = {
		.method = name,
		.uid = peer->uid,
		.pid = peer->pid,
		.result = r && r != CONTROL_LATER ? call->error : "done",
	};
	char number[24];

	if (!target && json_is_integer(id)) {
		(void)snprintf(number, sizeof(number), "%lld", json_integer_value(id));
		target = number;
	}
	if (!target)
		target = json_string_value(json_object_get(result, "cgroup"));
	done.target = target;
	audit_control(call->daemon, &done);
}

static int call_method(struct control_call *call, size_t i, json_t **ret_result)
{
	int r = methods[i].call(call, ret_result);

	if (methods[i].changes)
		record(call, methods[i].name, r ? NULL : *ret_result, r);
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
	if (!json_is_object(call.params))
		r = control_fail(&call, CONTROL_INVALID_PARAMS, "params is not an object");
	else
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
	request = json_loadb(line, len, JSON_REJECT_DUPLICATES, &wrong);
	if (!request)
		control_answer_error(client, NULL, CONTROL_PARSE_ERROR, "the line is not JSON");
	else if (!json_is_object(request))
		control_answer_error(client, NULL, CONTROL_INVALID_REQUEST,
				     "a request is one object");
	else
		take_request(daemon, client, request);
	json_decref(request);
}
