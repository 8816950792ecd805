/* SPDX-License-Identifier: Apache-2.0 */
/* Control methods `watch`, `unwatch`, `run.create` and `run.finish`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/limits.h"
#include "daemon/run.h"
#include "sys/fs.h"

static int load_file(struct control_call *call, const char *path, struct loaded_policy **ret_loaded)
{
	char *text, error[400];
	size_t len;
	int r;

	/* The daemon can read what others cannot, and says what is wrong with it. */
	if (control_peer(call->client)->uid)
		return control_fail(call, CONTROL_FORBIDDEN,
				    "refused: policy_file is for root; send the text as "
				    "policy_text");
	if (path[0] != '/')
		return control_fail(call, CONTROL_INVALID_PARAMS,
				    "policy_file '%s' is not an absolute path", path);
	r = fs_read_file(path, LIMIT_POLICY_TEXT, &text, &len);
	if (r)
		return control_fail(call, CONTROL_FAILED, "policy file '%.200s': %s", path,
				    strerror(-r));
	r = policies_load(&call->daemon->policies, path, text, len, ret_loaded, error,
			  sizeof(error));
	free(text);
	return r ? control_fail(call, CONTROL_FAILED, "%s", error) : 0;
}

/* name: NULL for the default. */
static int choose_named(struct control_call *call, const char *name,
			struct watch_choice *ret_choice)
{
	const struct policies *policies = &call->daemon->policies;
	const struct named_policy *named =
		name ? policies_named(policies, name) : policies_default(policies);

	if (!named && name)
		return control_fail(
			call, CONTROL_FAILED,
			"no policy is named '%.64s'; `sluicectl policy show` lists those "
			"that there are",
			name);
	if (!named)
		return control_fail(
			call, CONTROL_FAILED,
			"no policy: name one with --policy FILE, or start sluiced with one");
	*ret_choice = (struct watch_choice){
		.loaded = loaded_policy_ref(named->loaded),
		.named = true,
	};
	return 0;
}

/* The policy that the parameters name, or the default; one reference is the caller's. */
static int load_policy(struct control_call *call, struct watch_choice *ret_choice)
{
	const char *text = NULL, *file = NULL, *name = NULL;
	struct loaded_policy *loaded;
	size_t len = 0;
	int r;

	if (json_unpack(call->params, "{s?:s%, s?:s, s?:s}", "policy_text", &text, &len,
			"policy_file", &file, "policy_name", &name) ||
	    !!text + !!file + !!name > 1)
		return control_fail(call, CONTROL_INVALID_PARAMS,
				    "one of policy_text, policy_file and policy_name has to be a "
				    "text");
	if (!text && !file)
		return choose_named(call, name, ret_choice);
	if (file)
		r = load_file(call, file, &loaded);
	else
		r = policies_load(&call->daemon->policies, "policy", text, len, &loaded,
				  call->error, sizeof(call->error))
			    ? CONTROL_FAILED
			    : 0;
	if (!r)
		*ret_choice = (struct watch_choice){.loaded = loaded};
	return r;
}

int control_watch(struct control_call *call, json_t **ret_result)
{
	struct watch_choice choice cleanup(watch_choice_done) = {0};
	struct daemon *daemon = call->daemon;
	char path[CGROUP_PATH_MAX];
	const char *name;
	struct watch *watch;
	int destroy = 0, r;

	if (json_unpack(call->params, "{s:s, s?:b}", "cgroup", &name, "destroy", &destroy))
		return control_fail(call, CONTROL_INVALID_PARAMS,
				    "cgroup has to be a path, destroy true or false");
	r = cgroup_resolve(daemon->instance.cgroup2, name, path, sizeof(path));
	if (r == -ENOENT || r == -ENOTDIR)
		return control_fail(call, CONTROL_FAILED,
				    "'%.300s' is not a cgroup v2 directory: there is none of that "
				    "name below '%.100s'",
				    name, daemon->instance.cgroup2);
	if (r)
		return control_fail(call, CONTROL_FAILED, "cgroup '%.300s': %s", name,
				    strerror(-r));
	r = load_policy(call, &choice);
	if (r)
		return r;
	if (watch_add(daemon, path, WATCH_PLAIN, &choice, destroy, &watch, call->error,
		      sizeof(call->error)))
		return CONTROL_FAILED;
	control_end_watched(daemon, call->client);
	*ret_result = json_pack("{s:I, s:s, s:o}", "id", (json_int_t)watch->id, "path", watch->path,
				"open_ways", watch_open_ways(&daemon->watches, watch));
	return 0;
}

static int find(struct control_call *call, struct watch **ret_watch)
{
	const struct watches *watches = &call->daemon->watches;
	char path[CGROUP_PATH_MAX];
	const char *name = NULL;
	json_int_t id = -1;

	if (json_unpack(call->params, "{s?:I, s?:s}", "id", &id, "cgroup", &name) ||
	    (id < 0 && !name))
		return control_fail(call, CONTROL_INVALID_PARAMS, "id or cgroup is needed");
	*ret_watch = NULL;
	if (id >= 0)
		*ret_watch = watch_find(watches, (uint64_t)id);
	else if (!cgroup_resolve(call->daemon->instance.cgroup2, name, path, sizeof(path)))
		*ret_watch = watch_find_path(watches, path);
	if (*ret_watch)
		return 0;
	if (name)
		return control_fail(call, CONTROL_FAILED,
				    "'%.300s' is not watched; `sluicectl status` lists what is",
				    name);
	return control_fail(call, CONTROL_FAILED,
			    "no watched cgroup has the id %lld; `sluicectl status` lists those "
			    "that are watched",
			    (long long)id);
}

int control_unwatch(struct control_call *call, json_t **ret_result)
{
	struct watch *watch;
	int r = find(call, &watch);

	if (r)
		return r;
	if (watch->kind == WATCH_RUN)
		return control_fail(call, CONTROL_FAILED,
				    "'%s' belongs to a run and is unwatched when that is over",
				    watch->path);
	r = watch_remove(call->daemon, watch);
	if (r)
		return control_fail(call, CONTROL_FAILED, "cannot unwatch: %s", strerror(-r));
	*ret_result = json_object();
	return 0;
}

int control_run_create(struct control_call *call, json_t **ret_result)
{
	struct watch_choice choice cleanup(watch_choice_done) = {0};
	char procs[CGROUP_PATH_MAX + sizeof("/cgroup.procs")];
	struct watch *watch;
	int r = load_policy(call, &choice);

	if (r)
		return r;
	if (run_create(call->daemon, call->client, &choice, &watch, call->error,
		       sizeof(call->error)))
		return CONTROL_FAILED;
	(void)snprintf(procs, sizeof(procs), "%s/cgroup.procs", watch->path);
	*ret_result = json_pack("{s:I, s:s, s:s, s:o}", "id", (json_int_t)watch->id, "cgroup",
				watch->path, "procs", procs, "open_ways",
				watch_open_ways(&call->daemon->watches, watch));
	return 0;
}

int control_run_finish(struct control_call *call, json_t **ret_result)
{
	struct watch *watch;
	int r = find(call, &watch);

	(void)ret_result;
	if (r)
		return r;
	if (watch->kind != WATCH_RUN)
		return control_fail(call, CONTROL_FAILED, "'%s' is no run", watch->path);
	if (watch->waiting)
		return control_fail(call, CONTROL_FAILED, "the run is being finished already");
	run_finish(call->daemon, watch, call->id ? call->client : NULL, call->id);
	return CONTROL_LATER;
}
