/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policies in use: each a policy of the core, the text it was read from, and
 * the number under which the kernel knows its addresses; and those known by name,
 * which a watch may be bound to.
 *
 * Invariants:
 *  O1. A number stands for one policy from when it is published until the last
 *      watch lets it go, and for no other for POLICIES_REST_NS after that: a
 *      connection captured under it may still wait to be accepted. Where the watch
 *      goes on under another policy, such a connection still finds the old one.
 *  O2. Watches of one text share one policy and one number.
 *  O3. A stream's policy lives as long as the stream, published or not.
 *  O4. No two policies have one name here, and a name's policy has that name itself.
 */
#ifndef SLUICE_DAEMON_POLICIES_H
#define SLUICE_DAEMON_POLICIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/macros.h"
#include "core/pipeline.h"
#include "core/policy.h"
#include "core/session.h"
#include "core/sha256.h"
#include "sluice/abi.h"
#include "sys/unix_socket.h"

struct interceptor;
struct interceptors;
struct kern;

#define POLICIES_REST_NS (60ull * 1000000000ull)

struct loaded_policy {
	LIST_ENTRY(loaded_policy) entry;
	unsigned int references; /* streams, watches, the default */
	unsigned int watches;
	uint32_t number;     /* 0: the kernel does not know it */
	uint64_t retired_ns; /* boot clock; no watch is left, and the number rests */
	bool given;	     /* to a successor, by the handover that is under way */
	char *text;
	size_t text_len;
	char digest[SHA256_HEX_SIZE]; /* of the text */
	struct policy *policy;
	/* Per track, in the order of the policy; the pipelines and sessions borrow them. */
	struct pipeline_task *tasks[_SESSION_TRACK_MAX];
	const char **names[_SESSION_TRACK_MAX];
	/* Those that gate nothing: that warn, and of the response those of `output`. */
	struct pipeline_task *watchers[_SESSION_TRACK_MAX];
	size_t watcher_count[_SESSION_TRACK_MAX];
	const char **output_names; /* as many as the policy has tasks of output */
	/* Per task of the policy; NULL in place of one that is no interceptor. */
	struct interceptor **askable;
	/* Of a track, as a pipeline numbers them (pipeline_work()). */
	struct interceptor **interceptors[_SESSION_TRACK_MAX];
	size_t interceptor_count[_SESSION_TRACK_MAX];
	char **denied; /* "denied:NAME" of each of policy->tasks */
};
LIST_HEAD(loaded_policies, loaded_policy);

/* Known by the name of its policy. What is bound to the name gets the next text of it. */
struct named_policy {
	TAILQ_ENTRY(named_policy) entry;
	struct loaded_policy *loaded;
	const char *file;    /* of the command line; NULL: loaded by a call alone */
	bool by_call;	     /* what it stands for now a call loaded, and not the file */
	struct unix_peer by; /* who called */
};
TAILQ_HEAD(named_policies, named_policy);

struct policies {
	struct kern *kern;
	struct interceptors *interceptors; /* NULL: none can be asked yet */
	struct sluice_address closed;	   /* to all of them: the daemon's own; port 0: none */
	bool initial_netns;		   /* writing ahead is possible at all */
	struct loaded_policies list;
	struct named_policies named; /* those of files first, in the order of the command line */
	uint32_t last;		     /* number given last */
	bool taken[SLUICE_POLICIES];
	uint64_t freed_ns[SLUICE_POLICIES]; /* boot clock; 0: never in use */
};

void policies_init(struct policies *policies, struct kern *kern, bool initial_netns);
/* Frees every policy; nobody has a reference any more. What the kernel knows stays. */
void policies_done(struct policies *policies);

/*
 * Reads a policy, or finds the one of the same text; one reference is the
 * caller's. name stands in front of the line: the file's, or "policy". -EINVAL,
 * -EOPNOTSUPP, -EFBIG: error has the line for the operator. -ENOMEM.
 */
int policies_load(struct policies *policies, const char *name, const char *text, size_t len,
		  struct loaded_policy **ret_loaded, char *error, size_t error_len) must_check;
/* Of a task's name; NULL: no such task, or it is none. */
const struct interceptor *loaded_policy_interceptor(const struct loaded_policy *loaded,
						    const char *task);
struct loaded_policy *loaded_policy_ref(struct loaded_policy *loaded);
/* Accepts NULL. */
void loaded_policy_unref(struct loaded_policy *loaded);
DEFINE_CLEANUP(struct loaded_policy *, loaded_policy_unref)

/* A number that the kernel holds already, whose policy is not known. */
void policies_reserve(struct policies *policies, uint32_t number);
/* The kernel forgets it, and so the number is free again. */
void policies_unreserve(struct policies *policies, uint32_t number, uint64_t now_ns);
/*
 * A watch begins under it: published under that number, or under a free one
 * where it is 0. -ENOSPC: all numbers are in use. -EEXIST: that number is another's,
 * or the policy has another.
 */
int policies_watch(struct policies *policies, struct loaded_policy *loaded, uint32_t number,
		   uint64_t now_ns) must_check;
/* A watch ends; with the last one the kernel forgets the policy. */
void policies_unwatch(struct policies *policies, struct loaded_policy *loaded, uint64_t now_ns);
/* A watch goes on under another policy; after the last one the number rests, and is found. */
void policies_retire(struct loaded_policy *loaded, uint64_t now_ns);
/* Has it a number that rests? */
bool loaded_policy_rests(const struct loaded_policy *loaded);
/* The kernel forgets those that have rested. */
void policies_tick(struct policies *policies, uint64_t now_ns);
/* The policy of a number, or NULL. */
struct loaded_policy *policies_find(const struct policies *policies, uint32_t number);

/* A name that was not known: the policy's own. Takes a reference. -ENOMEM. */
int policies_add_name(struct policies *policies, struct loaded_policy *loaded,
		      const char *file) must_check;
void policies_forget_name(struct policies *policies, struct named_policy *named);
/*
 * The name stands for that policy, of the same name, from now on. by: who called for it, NULL: it
 * is of the file. Takes a reference.
 */
void policies_set_name(struct named_policy *named, struct loaded_policy *loaded,
		       const struct unix_peer *by);
/* NULL: not known. */
struct named_policy *policies_named(const struct policies *policies, const char *name);
/* The first of the command line; NULL: there is none. */
struct named_policy *policies_default(const struct policies *policies);

enum sluice_dns policies_dns(const struct policy *policy);

#endif
