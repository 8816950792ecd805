/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/reload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/feed.h"
#include "daemon/limits.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "sys/log.h"
#include "sys/notify.h"

/* A name, and what it is to stand for. */
struct change {
	struct named_policy *named; /* NULL: a new one */
	struct loaded_policy *loaded;
};

/* A watch that gets another policy. */
struct move {
	struct watch *watch;
	struct loaded_policy *from, *to;
};

static int read_file(struct daemon *daemon, const char *path, struct loaded_policy **ret_loaded,
		     char *error, size_t error_len)
{
	char *text;
	size_t len;
	int r = fs_read_file(path, LIMIT_POLICY_TEXT, &text, &len);

	if (r) {
		(void)snprintf(error, error_len, "policy file '%.300s': %s", path, strerror(-r));
		return r;
	}
	r = policies_load(&daemon->policies, path, text, len, ret_loaded, error, error_len);
	free(text);
	return r;
}

static int start_one(struct daemon *daemon, const char *path, char *error, size_t error_len)
{
	struct loaded_policy *loaded cleanup(loaded_policy_unrefp) = NULL;
	const struct named_policy *other;
	int r = read_file(daemon, path, &loaded, error, error_len);

	if (r)
		return r;
	other = policies_named(&daemon->policies, loaded->policy->name);
	if (other) {
		(void)snprintf(error, error_len,
			       "%.200s: its name '%s' is that of '%.200s' too; give each policy a "
			       "name of its own",
			       path, loaded->policy->name, other->file);
		return -EEXIST;
	}
	r = policies_add_name(&daemon->policies, loaded, path);
	if (r)
		(void)snprintf(error, error_len, "%.300s: out of memory", path);
	return r;
}

int reload_start(struct daemon *daemon, char *error, size_t error_len)
{
	const struct options *options = daemon->options;
	int r = 0;

	for (size_t i = 0; !r && i < options->policy_count; i++)
		r = start_one(daemon, options->policies[i], error, error_len);
	return r;
}

static struct loaded_policy *next_of(const struct watch *watch, const struct change *changes,
				     size_t count)
{
	for (size_t i = 0; watch->named && watch->policy && i < count; i++)
		if (!strcmp(changes[i].loaded->policy->name, watch->policy->policy->name))
			return changes[i].loaded;
	return watch->policy;
}

/* Puts the first count back, the last one first. */
static void move_back(struct daemon *daemon, const struct move *moves, size_t count)
{
	while (count--) {
		const struct move *move = &moves[count];
		int r = watch_set_policy(daemon, move->watch, move->from);

		if (r)
			log_errno(LOG_ERR, r,
				  "watched cgroup '%s' cannot be given back policy '%s'",
				  move->watch->path, move->from->policy->name);
	}
}

/* All of them or none, their new policies published. */
static int move_all(struct daemon *daemon, const struct move *moves, size_t count, char *error,
		    size_t error_len)
{
	for (size_t i = 0; i < count; i++) {
		int r = watch_set_policy(daemon, moves[i].watch, moves[i].to);

		if (!r)
			continue;
		(void)snprintf(error, error_len,
			       "watched cgroup '%.300s' cannot be given the new policy: %s",
			       moves[i].watch->path, strerror(-r));
		move_back(daemon, moves, i);
		return r;
	}
	return 0;
}

static int publish_all(struct daemon *daemon, const struct move *moves, size_t count,
		       uint64_t now_ns, char *error, size_t error_len)
{
	for (size_t i = 0; i < count; i++) {
		int r = policies_watch(&daemon->policies, moves[i].to, /* number: */ 0, now_ns);

		if (!r)
			continue;
		(void)snprintf(error, error_len, "policy '%s' cannot be published: %s",
			       moves[i].to->policy->name,
			       r == -ENOSPC ? "all numbers of policies are in use, or rest after "
					      "it; try again in a minute"
					    : strerror(-r));
		while (i--)
			policies_retire(moves[i].to, now_ns);
		return r;
	}
	return 0;
}

static size_t list_moves(const struct daemon *daemon, const struct change *changes, size_t count,
			 struct move *moves)
{
	struct watch *watch;
	size_t n = 0;

	LIST_FOREACH(watch, &daemon->watches.list, entry)
	{
		struct loaded_policy *to = next_of(watch, changes, count);

		if (to != watch->policy)
			moves[n++] = (struct move){watch, watch->policy, to};
	}
	return n;
}

/* Gives the watches of those names what they stand for from now on. */
static int apply(struct daemon *daemon, const struct change *changes, size_t count, char *error,
		 size_t error_len)
{
	struct move *moves = calloc(daemon->watches.count + 1, sizeof(*moves));
	uint64_t now_ns = clock_boot_ns();
	size_t n;
	int r;

	if (!moves) {
		(void)snprintf(error, error_len, "out of memory");
		return -ENOMEM;
	}
	n = list_moves(daemon, changes, count, moves);
	r = publish_all(daemon, moves, n, now_ns, error, error_len);
	if (!r) {
		/* The move gives the watch's own reference of it back. */
		for (size_t i = 0; i < n; i++)
			(void)loaded_policy_ref(moves[i].from);
		r = move_all(daemon, moves, n, error, error_len);
		for (size_t i = 0; i < n; i++) {
			policies_retire(r ? moves[i].to : moves[i].from, now_ns);
			loaded_policy_unref(moves[i].from);
		}
	}
	free(moves);
	return r;
}

static void tell(struct daemon *daemon, const struct change *change)
{
	const struct loaded_policy *loaded = change->loaded;

	log_info("policy '%s' is now %.16s…; streams that are open keep theirs",
		 loaded->policy->name, loaded->digest);
	feed_policy(daemon, loaded);
}

static int read_again(struct daemon *daemon, struct named_policy *named, struct change *ret_change,
		      char *error, size_t error_len)
{
	const char *name = named->loaded->policy->name;
	struct loaded_policy *loaded;
	int r = read_file(daemon, named->file, &loaded, error, error_len);

	if (r)
		return r;
	if (strcmp(loaded->policy->name, name)) {
		(void)snprintf(error, error_len,
			       "%.300s: its name was '%s' and is '%s' now; a new name needs a new "
			       "start",
			       named->file, name, loaded->policy->name);
		loaded_policy_unref(loaded);
		return -EINVAL;
	}
	*ret_change = (struct change){named, loaded};
	return 0;
}

/* The names change where their policy is another, once their watches have. */
static int commit(struct daemon *daemon, const struct change *changes, size_t count,
		  json_t **ret_report, char *error, size_t error_len)
{
	json_t *reloaded = json_array(), *unchanged = json_array();
	json_t *report = json_pack("{s:o, s:o}", "reloaded", reloaded, "unchanged", unchanged);
	int r = report ? apply(daemon, changes, count, error, error_len) : -ENOMEM;

	if (r) {
		if (!report)
			(void)snprintf(error, error_len, "out of memory");
		json_decref(report);
		return r;
	}
	for (size_t i = 0; i < count; i++) {
		const struct change *change = &changes[i];
		bool same = change->loaded == change->named->loaded;

		(void)json_array_append_new(same ? unchanged : reloaded,
					    json_string(change->loaded->policy->name));
		policies_set_name(change->named, change->loaded, /* by: */ NULL);
		if (!same)
			tell(daemon, change);
	}
	*ret_report = report;
	return 0;
}

int reload_files(struct daemon *daemon, json_t **ret_report, char *error, size_t error_len)
{
	struct change changes[OPTIONS_POLICIES_MAX];
	struct named_policy *named;
	size_t count = 0;
	int r = 0;

	TAILQ_FOREACH(named, &daemon->policies.named, entry)
	{
		if (!named->file)
			continue;
		r = read_again(daemon, named, &changes[count], error, error_len);
		if (r)
			break;
		count++;
	}
	if (!r)
		r = commit(daemon, changes, count, ret_report, error, error_len);
	while (count--)
		loaded_policy_unref(changes[count].loaded);
	return r;
}

static size_t bound(const struct daemon *daemon, const struct loaded_policy *loaded)
{
	const struct watch *watch;
	size_t count = 0;

	LIST_FOREACH(watch, &daemon->watches.list, entry)
	count += watch->named && watch->policy == loaded;
	return count;
}

static int add_name(struct policies *policies, struct loaded_policy *loaded, char *error,
		    size_t error_len)
{
	const struct named_policy *named;
	size_t count = 0;
	int r;

	TAILQ_FOREACH(named, &policies->named, entry)
	count++;
	if (count >= LIMIT_POLICY_NAMES) {
		(void)snprintf(error, error_len,
			       "policy '%s': %u policies have names, and no more may; replace one, "
			       "or start sluiced anew",
			       loaded->policy->name, LIMIT_POLICY_NAMES);
		return -ENOSPC;
	}
	r = policies_add_name(policies, loaded, /* file: */ NULL);
	if (r)
		(void)snprintf(error, error_len, "policy '%s': out of memory",
			       loaded->policy->name);
	return r;
}

/* A new name first: without room for it nothing changes. */
static int name_text(struct daemon *daemon, struct change *change, const struct unix_peer *by,
		     char *error, size_t error_len)
{
	const char *name = change->loaded->policy->name;
	bool known = policies_named(&daemon->policies, name) != NULL;
	int r = known ? 0 : add_name(&daemon->policies, change->loaded, error, error_len);

	if (r)
		return r;
	change->named = policies_named(&daemon->policies, name);
	r = apply(daemon, change, 1, error, error_len);
	if (!r)
		policies_set_name(change->named, change->loaded, by);
	else if (!known)
		policies_forget_name(&daemon->policies, change->named);
	return r;
}

int reload_text(struct daemon *daemon, const char *text, size_t len, const char *name,
		const struct unix_peer *by, json_t **ret_report, char *error, size_t error_len)
{
	struct loaded_policy *loaded cleanup(loaded_policy_unrefp) = NULL;
	struct change change = {0};
	bool replaced;
	int r = policies_load(&daemon->policies, "policy", text, len, &loaded, error, error_len);

	if (r)
		return r;
	if (name && strcmp(name, loaded->policy->name)) {
		(void)snprintf(error, error_len, "policy: its name is '%s', not '%.64s'",
			       loaded->policy->name, name);
		return -EINVAL;
	}
	replaced = policies_named(&daemon->policies, loaded->policy->name) != NULL;
	change.loaded = loaded;
	r = name_text(daemon, &change, by, error, error_len);
	if (r)
		return r;
	tell(daemon, &change);
	*ret_report = json_pack("{s:s, s:s, s:b, s:I}", "name", loaded->policy->name, "digest",
				loaded->digest, "replaced", (int)replaced, "watches",
				(json_int_t)bound(daemon, loaded));
	if (loaded->number)
		(void)json_object_set_new(*ret_report, "number", json_integer(loaded->number));
	return 0;
}

void reload_on_hangup(evutil_socket_t signal, short what, void *context)
{
	struct daemon *daemon = context;
	char error[512] = "";
	struct audit_call call = {.method = "policy.reload", .target = "SIGHUP", .result = "done"};
	json_t *report = NULL;

	(void)signal;
	(void)what;
	if (daemon->stop_deadline_ns)
		return;
	notify_reloading();
	if (reload_files(daemon, &report, error, sizeof(error))) {
		log_error("reload: %s; every policy is as it was", error);
		call.result = error;
	} else {
		log_info("reload: %zu policies changed, %zu did not",
			 json_array_size(json_object_get(report, "reloaded")),
			 json_array_size(json_object_get(report, "unchanged")));
	}
	json_decref(report);
	audit_control(daemon, &call);
	notify_reloaded();
}
