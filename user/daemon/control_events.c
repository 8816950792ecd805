/* SPDX-License-Identifier: Apache-2.0 */
/* Control method `events`. */
#include <string.h>

#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/feed.h"

#define LISTED(type, name) ", " name

static int refuse_type(struct control_call *call, const char *name)
{
	static const char known[] = EVENT_TYPES(LISTED);

	return control_fail(call, CONTROL_INVALID_PARAMS,
			    "no event has the type '%.64s'; there are %s", name,
			    known + strlen(", "));
}

static int types_of(struct control_call *call, const json_t *names, unsigned int *ret_types)
{
	unsigned int types = 0;
	enum feed_type type;
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name)
	{
		if (!json_is_string(name))
			return control_fail(call, CONTROL_INVALID_PARAMS,
					    "types has to be a list of texts");
		if (feed_type_of(json_string_value(name), &type))
			return refuse_type(call, json_string_value(name));
		types |= 1u << type;
	}
	*ret_types = types ? types : FEED_USUAL;
	return 0;
}

int control_events(struct control_call *call, json_t **ret_result)
{
	struct daemon *daemon = call->daemon;
	char path[CGROUP_PATH_MAX];
	const char *cgroup = NULL;
	json_t *names = NULL, *result;
	json_int_t stream = 0;
	unsigned int types = 0;
	int r;

	if (json_unpack(call->params, "{s?:o, s?:I, s?:s}", "types", &names, "stream", &stream,
			"cgroup", &cgroup) ||
	    (names && !json_is_array(names)) || stream < 0)
		return control_fail(call, CONTROL_INVALID_PARAMS,
				    "types has to be a list of texts, stream a number, cgroup a "
				    "path");
	r = types_of(call, names, &types);
	if (r)
		return r;
	if (cgroup && cgroup_resolve(daemon->instance.cgroup2, cgroup, path, sizeof(path)))
		return control_fail(call, CONTROL_FAILED, "'%.300s' is not a cgroup v2 directory",
				    cgroup);
	result = json_pack("{s:b}", "subscribed", 1);
	if (!result ||
	    feed_follow(daemon, call->client, types, (uint64_t)stream, cgroup ? path : NULL)) {
		json_decref(result);
		return control_fail(call, CONTROL_FAILED, "out of memory");
	}
	*ret_result = result;
	return 0;
}
