/* SPDX-License-Identifier: Apache-2.0 */
/* Control methods `policy.load`, `policy.show` and `policy.reload`. */
#include <string.h>

#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/reload.h"

int control_policy_load(struct control_call *call, json_t **ret_result)
{
	const char *text, *name = NULL;
	size_t len;

	if (json_unpack(call->params, "{s:s%, s?:s}", "text", &text, &len, "name", &name))
		return control_fail(call, CONTROL_INVALID_PARAMS,
				    "text has to be a policy, name a text");
	if (reload_text(call->daemon, text, len, name, control_peer(call->client), ret_result,
			call->error, sizeof(call->error)))
		return CONTROL_FAILED;
	return 0;
}

int control_policy_reload(struct control_call *call, json_t **ret_result)
{
	return reload_files(call->daemon, ret_result, call->error, sizeof(call->error))
		       ? CONTROL_FAILED
		       : 0;
}

static json_t *watches_json(const struct daemon *daemon, const char *name)
{
	const struct watch *watch;
	json_t *list = json_array();

	LIST_FOREACH(watch, &daemon->watches.list, entry)
	if (watch->named && watch->policy && !strcmp(watch->policy->policy->name, name))
		(void)json_array_append_new(list, json_string(watch->path));
	return list;
}

/* Those that began under the text of today. */
static size_t streams_under(const struct daemon *daemon, const struct loaded_policy *loaded)
{
	const struct stream *stream;
	size_t count = 0;

	TAILQ_FOREACH(stream, &daemon->streams.all, entry)
	count += stream->policy == loaded && !stream_is_settled(stream);
	return count;
}

/* {"uid", "pid"} of who called for it; null where it is of a file. */
static json_t *caller_json(const struct named_policy *named)
{
	if (!named->by_call)
		return json_null();
	return json_pack("{s:I, s:I}", "uid", (json_int_t)named->by.uid, "pid",
			 (json_int_t)named->by.pid);
}

static json_t *show(const struct daemon *daemon, const struct named_policy *named)
{
	const struct loaded_policy *loaded = named->loaded;
	const char *name = loaded->policy->name;

	return json_pack(
		"{s:s, s:b, s:s, s:s?, s:s?, s:o, s:o, s:I, s:s%}", "name", name, "default",
		(int)(named == policies_default(&daemon->policies)), "digest", loaded->digest,
		"loaded_from", named->by_call ? NULL : named->file, "file", named->file,
		"loaded_by", caller_json(named), "watches", watches_json(daemon, name), "streams",
		(json_int_t)streams_under(daemon, loaded), "text", loaded->text, loaded->text_len);
}

int control_policy_show(struct control_call *call, json_t **ret_result)
{
	const struct policies *policies = &call->daemon->policies;
	const struct named_policy *named;
	const char *name = NULL;
	json_t *list;

	if (json_unpack(call->params, "{s?:s}", "name", &name))
		return control_fail(call, CONTROL_INVALID_PARAMS, "name has to be a text");
	if (name && !policies_named(policies, name))
		return control_fail(
			call, CONTROL_FAILED,
			"no policy is named '%.64s'; `sluicectl policy show` lists those "
			"that are loaded",
			name);
	list = json_array();
	TAILQ_FOREACH(named, &policies->named, entry)
	if (!name || !strcmp(named->loaded->policy->name, name))
		(void)json_array_append_new(list, show(call->daemon, named));
	*ret_result = json_pack("{s:o}", "policies", list);
	return 0;
}
