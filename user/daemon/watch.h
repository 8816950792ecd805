/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watch: a cgroup whose processes are mediated, with its policy and what its
 * streams add up to. A run is a watch whose cgroup this daemon made for one command.
 *
 * Invariants:
 *  W1. Capture and fence are attached before the first look at what the cgroup's
 *      processes hold, and detached only when a run's cgroup is empty.
 *  W2. What a successor needs to enforce the same policy is on disk, mode 0600,
 *      before the caller learns that the cgroup is watched. Without it a
 *      successor refuses every stream of that cgroup.
 */
#ifndef SLUICE_DAEMON_WATCH_H
#define SLUICE_DAEMON_WATCH_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/macros.h"
#include "daemon/advice.h"
#include "daemon/audit_quota.h"
#include "daemon/stats.h"
#include "sluice/abi.h"
#include "sys/cgroup.h"

struct control_client;
struct daemon;
struct loaded_policy;

enum watch_kind { WATCH_PLAIN, WATCH_RUN };

/* A run's end: its command's last bytes are delivered, then its cgroup goes. */
enum watch_state { WATCH_ACTIVE, WATCH_FINISHING, WATCH_REMOVING };

struct watch {
	LIST_ENTRY(watch) entry;
	uint64_t id; /* of the cgroup */
	enum watch_kind kind;
	enum watch_state state;
	char path[CGROUP_PATH_MAX];
	uint32_t number;	      /* of its policy */
	struct loaded_policy *policy; /* NULL: not known, its streams are refused */
	bool named;		      /* bound to the policy's name: gets the next text of it */
	struct stats stats;
	struct advice advice;
	uint64_t open;	     /* streams that have not settled */
	uint64_t streams;    /* those that are not closed */
	uint64_t held_bytes; /* by its flows, and memory of their judging */
	struct audit_quota quota;
	size_t held;			/* Unix sockets that its processes had before */
	uint64_t spent_ns, deadline_ns; /* FINISHING */
	struct control_client *owner;	/* of a run; NULL: gone */
	struct control_client *waiting; /* for the answer to run.finish */
	json_t *waiting_id;
};

/* What a watch is to enforce: a policy, and whether by its name or for its text alone. */
struct watch_choice {
	struct loaded_policy *loaded;
	bool named;
};

/* Gives the reference of it back. */
void watch_choice_done(struct watch_choice *choice);

struct watches {
	LIST_HEAD(, watch) list;
	size_t count;
	uint64_t next_run;
	bool has_unix_hooks;
	struct event step; /* runs that finish */
};

void watches_init(struct watches *watches, struct daemon *daemon);
/* Frees the records; what is attached stays. */
void watches_done(struct watches *watches);
/* NULL: no such watch. */
struct watch *watch_find(const struct watches *watches, uint64_t id);
struct watch *watch_find_path(const struct watches *watches, const char *path);
/* Whether a cgroup is watched, itself or through one above it. */
bool watch_covers(const struct watches *watches, const char *path);

/*
 * Watches a cgroup. destroy: what its processes have connected is cut off;
 * else live sockets are a refusal. error has the line where it fails, and
 * nothing is attached then. A reference of choice->loaded is taken.
 */
int watch_add(struct daemon *daemon, const char *path, enum watch_kind kind,
	      const struct watch_choice *choice, bool destroy, struct watch **ret_watch,
	      char *error, size_t error_len) must_check;
/*
 * Puts what is published already in the place of its policy, on disk first: what begins
 * from now on is under it. Neither is counted as its watch here. Where it fails the watch
 * is as it was.
 */
int watch_set_policy(struct daemon *daemon, struct watch *watch,
		     struct loaded_policy *loaded) must_check;
/* Detaches and forgets; its open streams go on under their policy. */
int watch_remove(struct daemon *daemon, struct watch *watch) must_check;
/* Takes over what a predecessor watched; says a line for what cannot be. */
int watch_adopt(struct daemon *daemon) must_check;

/* What stays open for it: a new array of texts, NULL without memory. */
json_t *watch_open_ways(const struct watches *watches, const struct watch *watch) must_check;

#endif
