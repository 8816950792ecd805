/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/limits.h"
#include "daemon/reason.h"
#include "kern/kern.h"
#include "sys/clock.h"
#include "sys/log.h"

/* Of the names of counters. */
#define FENCE_PREFIX "fence_"

static const struct timeval step_interval = {.tv_usec = LIMIT_STEP_MS * 1000};

/* A cgroup of a name that was not there. */
static int make_cgroup(struct daemon *daemon, char *path, size_t len)
{
	for (;;) {
		if ((size_t)snprintf(path, len, "%s/run-%" PRIu64, daemon->instance.cgroup,
				     daemon->watches.next_run++) >= len)
			return -ENAMETOOLONG;
		if (!mkdir(path, 0755))
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
}

int run_create(struct daemon *daemon, struct control_client *owner,
	       const struct watch_choice *choice, struct watch **ret_watch, char *error,
	       size_t error_len)
{
	char path[CGROUP_PATH_MAX];
	int r = make_cgroup(daemon, path, sizeof(path));

	if (r) {
		(void)snprintf(error, error_len, "cannot make a cgroup below '%s': %s",
			       daemon->instance.cgroup, strerror(-r));
		return r;
	}
	r = watch_add(daemon, path, WATCH_RUN, choice, /* destroy: */ false, ret_watch, error,
		      error_len);
	if (r)
		(void)!cgroup_remove(path);
	else
		(*ret_watch)->owner = owner;
	return r;
}

static void begin_finish(struct watch *watch)
{
	uint64_t now_ns = clock_boot_ns();

	watch->state = WATCH_FINISHING;
	watch->spent_ns = now_ns + LIMIT_RUN_SPENT_MS * CLOCK_NS_PER_MS;
	watch->deadline_ns = now_ns + LIMIT_RUN_FINISH_MS * CLOCK_NS_PER_MS;
}

void run_finish(struct daemon *daemon, struct watch *watch, struct control_client *waiting,
		json_t *id)
{
	if (waiting) {
		watch->waiting = waiting;
		json_decref(watch->waiting_id);
		watch->waiting_id = json_incref(id);
	}
	if (watch->state == WATCH_ACTIVE) {
		begin_finish(watch);
		if (cgroup_kill(watch->path))
			log_warning("what lives in '%s' could not be killed, continuing",
				    watch->path);
	}
	run_on_step(-1, 0, daemon);
}

/* {kind: count}, of what the fence refused; "unix" for fence_unix. NULL: not known, or no memory. */
static json_t *fence_json(const struct daemon *daemon, const struct watch *watch,
			  uint64_t *ret_total)
{
	uint64_t refused[_SLUICE_COUNTER_MAX];
	json_t *object;

	*ret_total = 0;
	if (kern_refusals(daemon->kern, watch->id, refused))
		return NULL;
	object = json_object();
	for (int i = 0; object && i < _SLUICE_COUNTER_MAX; i++) {
		const char *name = kern_counter_name((enum sluice_counter)i);
		size_t prefix = strncmp(name, FENCE_PREFIX, strlen(FENCE_PREFIX))
					? 0
					: strlen(FENCE_PREFIX);

		if (!refused[i])
			continue;
		*ret_total += refused[i];
		if (json_object_set_new(object, name + prefix,
					json_integer((json_int_t)refused[i]))) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

static json_t *summary(const struct daemon *daemon, const struct watch *watch)
{
	const struct stats *stats = &watch->stats;
	uint64_t refused;
	json_t *fence = fence_json(daemon, watch, &refused);

	return json_pack(
		"{s:{s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}}",
		"summary", "streams", (json_int_t)stats->streams, "complete",
		(json_int_t)stats->complete, "denied", (json_int_t)stats->denied, "failed",
		(json_int_t)stats->failed, "sessions", stats_sessions_json(stats->sessions),
		"runes_released", (json_int_t)stats->runes_released, "runes_withheld",
		(json_int_t)(stats->runes_received - stats->runes_released), "bytes_released",
		(json_int_t)stats->bytes_released, "bytes_withheld",
		(json_int_t)(stats->bytes_received - stats->bytes_released), "fence_refusals",
		(json_int_t)refused, "fence", fence, "reasons", stats_names_json(&stats->reasons),
		"findings", stats_names_json(&stats->findings), "advice",
		advice_json(&watch->advice));
}

static void answer(struct daemon *daemon, struct watch *watch)
{
	/* Advice on refusals that the kernel has told belongs in the summary. */
	events_consume(daemon);
	if (watch->waiting)
		control_answer(watch->waiting, watch->waiting_id, summary(daemon, watch));
	watch->waiting = NULL;
	json_decref(watch->waiting_id);
	watch->waiting_id = NULL;
}

/*
 * The command is gone and has sent its last byte: what is left of the stream is
 * what its peer would say to nobody.
 */
static bool is_spent(const struct stream *stream)
{
	const struct flow *request = &stream->flows[SESSION_REQUEST];

	return stream->state == STREAM_OPEN && request->ended && request->sink->shut &&
	       !endpoint_unacknowledged(request->sink);
}

static void end_streams(struct daemon *daemon, struct watch *watch, bool all)
{
	struct stream *stream, *next;

	for (stream = TAILQ_FIRST(&daemon->streams.all); stream; stream = next) {
		next = TAILQ_NEXT(stream, entry);
		if (stream->watch == watch && (all || is_spent(stream)))
			stream_fail(stream, NULL, reason_name(REASON_RUN_FINISHED));
	}
}

/* Returns whether another step is needed soon; the watch may be gone afterwards. */
static bool step(struct daemon *daemon, struct watch *watch)
{
	char path[CGROUP_PATH_MAX];

	if (watch->state == WATCH_FINISHING) {
		uint64_t now_ns = clock_boot_ns();

		if (watch->open && now_ns >= watch->spent_ns)
			end_streams(daemon, watch, now_ns >= watch->deadline_ns);
		if (watch->open)
			return true;
		answer(daemon, watch);
		watch->state = WATCH_REMOVING;
	}
	if (watch->state != WATCH_REMOVING)
		return false;
	if (cgroup_is_populated(watch->path))
		return clock_boot_ns() < watch->deadline_ns;
	(void)strcpy(path, watch->path);
	if (watch_remove(daemon, watch) == 0 && cgroup_remove(path))
		log_warning("cgroup '%s' could not be removed, continuing", path);
	return false;
}

void run_on_step(evutil_socket_t fd, short what, void *context)
{
	struct daemon *daemon = context;
	struct watch *watch, *next;
	bool again = false;

	(void)fd;
	(void)what;
	for (watch = LIST_FIRST(&daemon->watches.list); watch; watch = next) {
		next = LIST_NEXT(watch, entry);
		if (watch->state != WATCH_ACTIVE && step(daemon, watch))
			again = true;
	}
	if (again && !evtimer_pending(&daemon->watches.step, NULL))
		(void)evtimer_add(&daemon->watches.step, &step_interval);
	stream_reap(daemon);
}

void run_client_gone(struct daemon *daemon, struct control_client *client)
{
	struct watch *watch;

	LIST_FOREACH(watch, &daemon->watches.list, entry)
	{
		if (watch->owner == client)
			watch->owner = NULL;
		if (watch->waiting == client)
			watch->waiting = NULL;
	}
}

void run_tick(struct daemon *daemon)
{
	struct watch *watch, *next;

	for (watch = LIST_FIRST(&daemon->watches.list); watch; watch = next) {
		next = LIST_NEXT(watch, entry);
		if (watch->kind == WATCH_RUN && watch->state == WATCH_ACTIVE && !watch->owner &&
		    !cgroup_is_populated(watch->path))
			begin_finish(watch);
		if (watch->state != WATCH_ACTIVE)
			(void)step(daemon, watch);
	}
}

void run_end_all(struct daemon *daemon)
{
	const struct timespec pause = {.tv_nsec = LIMIT_STEP_MS * CLOCK_NS_PER_MS};
	uint64_t deadline_ns = clock_boot_ns() + LIMIT_STOP_MS * CLOCK_NS_PER_MS;
	struct watch *watch;
	bool left = true;

	LIST_FOREACH(watch, &daemon->watches.list, entry)
	if (watch->kind == WATCH_RUN)
		(void)cgroup_kill(watch->path);
	while (left && clock_boot_ns() < deadline_ns) {
		left = false;
		LIST_FOREACH(watch, &daemon->watches.list, entry)
		if (watch->kind == WATCH_RUN && cgroup_is_populated(watch->path))
			left = true;
		if (left)
			(void)nanosleep(&pause, NULL);
	}
}

static int remove_unwatched(void *context, const char *child)
{
	const struct timespec pause = {.tv_nsec = LIMIT_STEP_MS * CLOCK_NS_PER_MS};
	uint64_t deadline_ns = clock_boot_ns() + LIMIT_STOP_MS * CLOCK_NS_PER_MS;
	struct daemon *daemon = context;

	if (!strstr(child, "/run-") || watch_find_path(&daemon->watches, child))
		return 0;
	(void)cgroup_kill(child);
	while (cgroup_is_populated(child) && clock_boot_ns() < deadline_ns)
		(void)nanosleep(&pause, NULL);
	if (cgroup_remove(child))
		log_warning("cgroup '%s' of an earlier run could not be removed, continuing",
			    child);
	return 0;
}

void run_remove_unwatched(struct daemon *daemon)
{
	(void)!cgroup_for_each_child(daemon->instance.cgroup, remove_unwatched, daemon);
}
