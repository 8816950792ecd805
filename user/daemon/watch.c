/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/feed.h"
#include "daemon/run.h"
#include "daemon/watch_live.h"
#include "daemon/watch_store.h"
#include "kern/kern.h"
#include "sys/clock.h"
#include "sys/log.h"

#define FEATURES_MAX 64u

void watches_init(struct watches *watches, struct daemon *daemon)
{
	struct kern_feature features[FEATURES_MAX];
	size_t count = kern_probe(features, ARRAY_SIZE(features));

	*watches = (struct watches){.next_run = 1, .has_unix_hooks = true};
	LIST_INIT(&watches->list);
	for (size_t i = 0; i < count; i++)
		if (strstr(features[i].name, "unix") && !features[i].present)
			watches->has_unix_hooks = false;
	(void)evtimer_assign(&watches->step, daemon->base, run_on_step, daemon);
}

static void free_watch(struct watches *watches, struct watch *watch)
{
	LIST_REMOVE(watch, entry);
	watches->count--;
	loaded_policy_unref(watch->policy);
	stats_done(&watch->stats);
	json_decref(watch->waiting_id);
	free(watch);
}

void watch_choice_done(struct watch_choice *choice)
{
	loaded_policy_unref(choice->loaded);
}

void watches_done(struct watches *watches)
{
	struct watch *watch;

	if (event_initialized(&watches->step))
		(void)evtimer_del(&watches->step);
	while ((watch = LIST_FIRST(&watches->list)))
		free_watch(watches, watch);
}

struct watch *watch_find(const struct watches *watches, uint64_t id)
{
	struct watch *watch;

	LIST_FOREACH(watch, &watches->list, entry)
	if (watch->id == id)
		return watch;
	return NULL;
}

struct watch *watch_find_path(const struct watches *watches, const char *path)
{
	struct watch *watch;

	LIST_FOREACH(watch, &watches->list, entry)
	if (!strcmp(watch->path, path))
		return watch;
	return NULL;
}

bool watch_covers(const struct watches *watches, const char *path)
{
	struct watch *watch;

	LIST_FOREACH(watch, &watches->list, entry)
	if (cgroup_is_within(path, watch->path))
		return true;
	return false;
}

static int new_watch(struct watches *watches, uint64_t id, const char *path, enum watch_kind kind,
		     struct loaded_policy *loaded, uint32_t number, struct watch **ret_watch)
{
	struct watch *watch;

	if (strlen(path) >= sizeof(watch->path))
		return -ENAMETOOLONG;
	watch = calloc(1, sizeof(*watch));
	if (!watch)
		return -ENOMEM;
	watch->id = id;
	watch->kind = kind;
	watch->number = number;
	watch->policy = loaded ? loaded_policy_ref(loaded) : NULL;
	(void)strcpy(watch->path, path);
	LIST_INSERT_HEAD(&watches->list, watch, entry);
	watches->count++;
	*ret_watch = watch;
	return 0;
}

static int attach_failed(int r, const char *path, char *error, size_t error_len)
{
	const char *why = strerror(-r);

	if (r == -EEXIST)
		why = "it, or a cgroup above or below it, is watched already";
	else if (r == -EBUSY)
		why = "it holds a sluiced";
	else if (r == -ENOSPC)
		why = "no room for another watched cgroup or policy";
	else if (r == -ENOENT || r == -ENOTDIR)
		why = "there is no such cgroup";
	(void)snprintf(error, error_len, "cannot watch '%s': %s", path, why);
	return r;
}

/* The watch of that cgroup, or of one above or below it. */
static struct watch *find_beside(const struct watches *watches, const char *path)
{
	struct watch *watch;

	LIST_FOREACH(watch, &watches->list, entry)
	if (cgroup_is_within(path, watch->path) || cgroup_is_within(watch->path, path))
		return watch;
	return NULL;
}

/* The part of watch_add() with the policy published. */
static int attach(struct daemon *daemon, const char *path, enum watch_kind kind,
		  const struct watch_choice *choice, bool destroy, struct watch **ret_watch,
		  char *error, size_t error_len)
{
	struct loaded_policy *loaded = choice->loaded;
	struct watch *watch;
	uint64_t id;
	size_t held = 0;
	int r = kern_watch(daemon->kern, path, loaded->number, policies_dns(loaded->policy), &id);

	watch = r == -EEXIST ? find_beside(&daemon->watches, path) : NULL;
	if (watch) {
		(void)snprintf(error, error_len,
			       "cannot watch '%s': '%s' is watched already, under policy '%s'",
			       path, watch->path,
			       watch->policy ? watch->policy->policy->name : "-");
		return r;
	}
	if (r)
		return attach_failed(r, path, error, error_len);
	r = new_watch(&daemon->watches, id, path, kind, loaded, loaded->number, &watch);
	if (r) {
		(void)!kern_unwatch(daemon->kern, id);
		return attach_failed(r, path, error, error_len);
	}
	watch->named = choice->named;
	if (kind == WATCH_PLAIN)
		r = watch_live_take(path, id, destroy, &held, error, error_len);
	if (!r) {
		watch->held = held;
		r = watch_store_write(&daemon->instance, watch);
		if (r)
			(void)snprintf(error, error_len, "cannot write below '%s': %s",
				       daemon->instance.state, strerror(-r));
	}
	if (r) {
		(void)!kern_unwatch(daemon->kern, id);
		free_watch(&daemon->watches, watch);
		return r;
	}
	*ret_watch = watch;
	return 0;
}

int watch_add(struct daemon *daemon, const char *path, enum watch_kind kind,
	      const struct watch_choice *choice, bool destroy, struct watch **ret_watch,
	      char *error, size_t error_len)
{
	struct loaded_policy *loaded = choice->loaded;
	uint64_t now_ns = clock_boot_ns();
	int r = policies_watch(&daemon->policies, loaded, /* number: */ 0, now_ns);

	if (r)
		return attach_failed(r, path, error, error_len);
	r = attach(daemon, path, kind, choice, destroy, ret_watch, error, error_len);
	if (r) {
		policies_unwatch(&daemon->policies, loaded, now_ns);
		return r;
	}
	feed_watch(daemon, *ret_watch, /* watched: */ true);
	log_info("watching '%s' under policy '%s'", path, loaded->policy->name);
	return 0;
}

int watch_set_policy(struct daemon *daemon, struct watch *watch, struct loaded_policy *loaded)
{
	struct loaded_policy *before = watch->policy;
	int r;

	watch->policy = loaded;
	r = watch_store_write(&daemon->instance, watch);
	if (r) {
		watch->policy = before;
		return r;
	}
	r = kern_watch_policy(daemon->kern, watch->id, loaded->number,
			      policies_dns(loaded->policy));
	if (r) {
		watch->policy = before;
		(void)!watch_store_write(&daemon->instance, watch);
		return r;
	}
	watch->number = loaded->number;
	(void)loaded_policy_ref(loaded);
	loaded_policy_unref(before);
	return 0;
}

/* Gives back the number of a policy that was never known, with the last watch that has it. */
static void unreserve(struct daemon *daemon, const struct watch *watch)
{
	const struct watch *other;

	LIST_FOREACH(other, &daemon->watches.list, entry)
	if (other != watch && other->number == watch->number)
		return;
	policies_unreserve(&daemon->policies, watch->number, clock_boot_ns());
}

int watch_remove(struct daemon *daemon, struct watch *watch)
{
	struct stream *stream;
	int r = kern_unwatch(daemon->kern, watch->id);

	if (r && r != -ENOENT)
		return r;
	TAILQ_FOREACH(stream, &daemon->streams.all, entry)
	if (stream->watch == watch)
		stream->watch = NULL;
	audit_watch_gone(daemon, watch);
	feed_watch(daemon, watch, /* watched: */ false);
	if (watch->policy)
		policies_unwatch(&daemon->policies, watch->policy, clock_boot_ns());
	else
		unreserve(daemon, watch);
	watch_store_remove(&daemon->instance, watch->id);
	log_info("no longer watching '%s'", watch->path);
	free_watch(&daemon->watches, watch);
	return 0;
}

/*
 * Under the number that the kernel has, or under another: a predecessor that died while
 * it gave its watches a new policy left some of them the old number.
 */
static int publish_stored(struct daemon *daemon, const struct kern_watch_info *info,
			  struct loaded_policy *loaded)
{
	uint64_t now_ns = clock_boot_ns();
	int r = policies_watch(&daemon->policies, loaded, info->policy, now_ns);

	if (r == -EEXIST)
		r = policies_watch(&daemon->policies, loaded, /* number: */ 0, now_ns);
	if (r)
		return r;
	r = kern_watch_policy(daemon->kern, info->id, loaded->number, policies_dns(loaded->policy));
	if (r)
		policies_unwatch(&daemon->policies, loaded, now_ns);
	return r;
}

/*
 * What was stored of it, published. One that was bound to a name that is known gets what
 * that says today.
 */
static int load_stored(struct daemon *daemon, const struct kern_watch_info *info,
		       struct watch_stored *stored, struct loaded_policy **ret_loaded)
{
	char error[512] = "";
	const struct named_policy *named;
	int r = watch_store_read(&daemon->instance, info->id, stored);

	if (r)
		return log_errno(LOG_WARNING, r,
				 "watched cgroup '%s': its policy was not kept, its streams are "
				 "refused until it is watched anew",
				 info->path);
	named = stored->name ? policies_named(&daemon->policies, stored->name) : NULL;
	if (named)
		*ret_loaded = loaded_policy_ref(named->loaded);
	else
		r = policies_load(&daemon->policies, "its policy", stored->text, stored->len,
				  ret_loaded, error, sizeof(error));
	if (!r) {
		r = publish_stored(daemon, info, *ret_loaded);
		if (r) {
			(void)snprintf(error, sizeof(error), "%s", strerror(-r));
			loaded_policy_unref(*ret_loaded);
		}
	}
	if (r)
		log_warning("watched cgroup '%s': %s; its streams are refused until it is watched "
			    "anew",
			    info->path, error);
	return r;
}

static int adopt_one(struct daemon *daemon, const struct kern_watch_info *info)
{
	struct watch_stored stored cleanup(watch_stored_done) = {.kind = WATCH_PLAIN};
	struct loaded_policy *loaded = NULL;
	struct watch *watch;
	int r;

	if (info->path_error == -ESTALE) {
		watch_store_remove(&daemon->instance, info->id);
		return kern_unwatch(daemon->kern, info->id);
	}
	/* It lives: without this daemon it stays closed, unwatched it would be open. */
	if (info->path_error) {
		log_errno(LOG_ERR, info->path_error, "watched cgroup %" PRIu64 " cannot be found",
			  info->id);
		return info->path_error;
	}
	if (load_stored(daemon, info, &stored, &loaded)) {
		loaded = NULL;
		policies_reserve(&daemon->policies, info->policy);
	}
	r = new_watch(&daemon->watches, info->id, info->path, stored.kind, loaded,
		      loaded ? loaded->number : info->policy, &watch);
	loaded_policy_unref(loaded);
	if (r)
		return r;
	watch->named = loaded && stored.name;
	log_info("adopted watched cgroup '%s'%s%s%s", info->path, loaded ? " under policy '" : "",
		 loaded ? loaded->policy->name : "", loaded ? "'" : "");
	if (!watch->named)
		return 0;
	/* What it is under now need not be what was stored. */
	r = watch_store_write(&daemon->instance, watch);
	if (r)
		log_errno(LOG_WARNING, r, "cannot write below '%s', continuing",
			  daemon->instance.state);
	return 0;
}

int watch_adopt(struct daemon *daemon)
{
	struct kern_watch_info *list = calloc(SLUICE_WATCHES, sizeof(*list));
	size_t count;
	int r = 0;

	if (!list)
		return -ENOMEM;
	count = kern_watches(daemon->kern, list, SLUICE_WATCHES);
	for (size_t i = 0; i < count && !r; i++)
		r = adopt_one(daemon, &list[i]);
	free(list);
	return r;
}

json_t *watch_open_ways(const struct watches *watches, const struct watch *watch)
{
	/* What no cgroup hook sees; a run's command has a seccomp filter for these. */
	static const char *const unfiltered[] = {
		"vsock sockets",
		"packet and XDP sockets, to a process with CAP_NET_RAW",
		"netlink sockets",
		"sockets that a process outside the cgroup hands over, or that were in flight "
		"inside a Unix socket when it was watched",
		"sockets that were registered with an io_uring when it was watched",
		"sockets of processes that are moved into the cgroup later",
	};
	json_t *list = json_array();
	int failed = 0;

	if (watch->kind == WATCH_PLAIN)
		for (size_t i = 0; i < ARRAY_SIZE(unfiltered); i++)
			failed |= json_array_append_new(list, json_string(unfiltered[i]));
	if (!watches->has_unix_hooks)
		failed |= json_array_append_new(
			list, json_string("Unix sockets (this kernel has no hook for them)"));
	if (watch->held)
		failed |= json_array_append_new(
			list, json_sprintf("%zu Unix sockets that its processes had before",
					   watch->held));
	if (cgroup_is_delegated(watch->path))
		failed |= json_array_append_new(
			list, json_string("moving to another cgroup: one above it is writable to "
					  "others than root"));
	if (!failed)
		return list;
	json_decref(list);
	return NULL;
}
