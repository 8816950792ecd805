/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy: what a watched cgroup's streams are held to. Built from a document
 * tree, immutable afterwards, shared by reference count: a stream keeps the
 * policy it began under.
 *
 * Invariants:
 *  Y1. A policy that is returned can be enforced whole: what this build cannot
 *      do is refused by name, with its line and column, never ignored.
 *  Y2. Destinations are matched in order, built-in ones first and then as in the
 *      file; the first match wins, and what matches nothing is mediated with the
 *      policy's own framing and extractor. Framing is `auto` where none is named.
 *  Y3. What a destination inherits is filled in: its framing and extract are
 *      whole where its action is mediate.
 */
#ifndef SLUICE_CORE_POLICY_H
#define SLUICE_CORE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/doc.h"
#include "base/macros.h"
#include "core/builtin.h"
#include "core/matcher.h"
#include "core/pipeline.h"
#include "core/span.h"

#define POLICY_NAME_MAX		64u
#define POLICY_DESTINATIONS_MAX 120u	/* of the file; the built-in ones come on top */
#define POLICY_TASKS_MAX	64u	/* of the file, and so of one track */
#define POLICY_TERMS_MAX	100000u /* of one task */
#define POLICY_RESOLVERS_MAX	16u
#define POLICY_UNIX_MAX		64u
#define POLICY_CONCURRENCY	32u /* requests of one interceptor at once, if not said */

enum policy_action { POLICY_MEDIATE, POLICY_PASS, POLICY_DENY, _POLICY_ACTION_MAX };
enum policy_on_deny { POLICY_REFUSE, POLICY_RESET };
enum policy_mode { POLICY_ENFORCE, POLICY_OBSERVE };
/* What a full disk, or a cgroup's share of the audit trail that is used up, means. */
enum policy_on_full {
	POLICY_ON_FULL_CLOSE, /* streams are refused and ended until records can be written */
	POLICY_ON_FULL_DROP,  /* records are dropped and counted */
};
enum policy_dns { POLICY_DNS_DENY, POLICY_DNS_RESOLVERS, POLICY_DNS_ANY };

struct policy_destination {
	uint8_t addr[16];   /* network order, IPv4 as v4-mapped */
	uint8_t prefix_len; /* of 128; 0 matches every address of both families */
	uint16_t port;	    /* 0: any */
	enum policy_action action;
	bool builtin;
	struct framing framing; /* and extract: where action is mediate */
	struct extract extract;
	char match[96]; /* as written */
};

struct policy_limits {
	uint64_t eager_bytes, max_message_bytes, hold_bytes_per_flow, hold_bytes_total;
	uint32_t hold_timeout_s, incomplete_message_timeout_s, message_deadline_s,
		verdict_timeout_ms;
};

/* An evaluator that is asked over HTTP. */
struct policy_interceptor {
	char *url;	      /* as written */
	char *http_url;	      /* of the request; its host is an address, or means nothing */
	char *socket_path;    /* NULL: over TCP */
	uint32_t timeout_ms;  /* of a request */
	uint32_t concurrency; /* requests at once */
	struct span_config spans;
};

enum policy_task_kind {
	POLICY_TASK_TERMS,
	POLICY_TASK_REGEX,
	POLICY_TASK_BUILTIN,
	POLICY_TASK_INTERCEPTOR,
};

struct policy_task {
	char *name;
	enum policy_task_kind kind;
	size_t rule_count; /* terms, patterns, or rules of the sets */
	bool warn_only;
	struct terms *terms; /* of kind terms */
	unsigned int fold;
	struct regex *regex;			      /* of the other kinds */
	uint32_t max_runes;			      /* regex: the window, 0 for none */
	const struct builtin_set *sets[BUILTIN_SETS]; /* builtin: in the file's order */
	size_t set_count;
	struct policy_interceptor *interceptor; /* of kind interceptor; NULL else */
};

/* Indexes into tasks. */
struct policy_task_list {
	size_t *tasks;
	size_t count;
};

struct policy_audit {
	bool watermarks; /* a record whenever a watermark moves */
	enum policy_on_full on_full;
	uint64_t quota_bytes_per_hour; /* of records that one watched cgroup may cause */
};

struct policy {
	unsigned int references;
	char name[POLICY_NAME_MAX + 1];
	enum policy_mode mode;
	enum session_level level;
	struct policy_destination *destinations; /* built-in ones first */
	size_t destination_count;
	struct framing framing;
	struct extract extract;
	struct policy_task *tasks;
	size_t task_count;
	/*
	 * Indexes into tasks. Those that gate a track, none where the policy observes; those
	 * that evaluate it and gate nothing: warn_only ones, all where the policy observes; and
	 * those of `output`, none where it observes.
	 */
	size_t *track_tasks[_SESSION_TRACK_MAX];
	size_t track_task_count[_SESSION_TRACK_MAX];
	struct policy_task_list warn[_SESSION_TRACK_MAX];
	struct policy_task_list output;
	struct policy_audit audit;
	enum policy_on_deny on_deny;
	bool release_opaque;
	enum policy_dns dns;
	uint8_t resolvers[POLICY_RESOLVERS_MAX]
			 [16]; /* empty with DNS_RESOLVERS: those of the host */
	size_t resolver_count;
	char **unix_addresses; /* a leading '@' is an abstract name */
	size_t unix_count;
	struct policy_limits limits;
};

/* Where and why a document is no policy: one line, without a final newline. */
struct policy_error {
	unsigned int line, column; /* 0 where the document as a whole is meant */
	char message[256];
};

/*
 * Builds a policy of one reference. -EINVAL: *ret_error says where and why.
 * -EOPNOTSUPP: the same, for what this build does not do yet. -ENOMEM.
 */
int policy_new(const struct doc_node *document, struct policy **ret_policy,
	       struct policy_error *ret_error) must_check;
struct policy *policy_ref(struct policy *policy);
/* Drops a reference. Accepts NULL. */
void policy_unref(struct policy *policy);
DEFINE_CLEANUP(struct policy *, policy_unref)

/*
 * The first destination that matches, or NULL: mediate by the policy's defaults.
 * addr is 16 bytes (IPv4 as v4-mapped), port in host order.
 */
const struct policy_destination *policy_match(const struct policy *policy, const uint8_t addr[16],
					      uint16_t port);

/* What a task searches text with, none for an interceptor; valid as long as the policy. */
static inline struct matcher policy_task_matcher(const struct policy_task *task)
{
	return (struct matcher){.terms = task->terms, .regex = task->regex};
}

/*
 * Runes of a channel that a track's tasks may keep waiting for more text: the longest L less
 * one, or a span less one.
 */
uint32_t policy_hold_back(const struct policy *policy, enum session_track track);

/* Runes of a channel's end that the track's tasks need of an attempt that is gone on from. */
uint32_t policy_tail(const struct policy *policy, enum session_track track);

/*
 * The exposure bound of a track: runes, after folding, of what one of its tasks denies that may
 * have left before it did. 0 under blocking and complete, where a matcher holds back what could
 * begin a match; the longest L less one under deferred, where what an interceptor judges has no
 * bound: it leaves before the verdict comes. false: there is no bound (nothing
 * gates the track). A task of `output` is bound by none: it denies what has left.
 */
bool policy_exposure_bound(const struct policy *policy, enum session_track track,
			   uint32_t *ret_runes);

/*
 * Reads "ADDR:PORT" or "[ADDR]:PORT", without wildcards. -EINVAL.
 */
int policy_parse_peer(const char *text, uint8_t ret_addr[16], uint16_t *ret_port) must_check;

/* The names the file uses, never NULL. */
const char *policy_task_kind_name(enum policy_task_kind kind);
/* What such a task has rule_count of: "terms", "patterns", "rules"; "rules" of an interceptor. */
const char *policy_task_unit_name(enum policy_task_kind kind);
const char *policy_cadence_name(enum span_cadence cadence);
const char *policy_mode_name(enum policy_mode mode);
const char *policy_action_name(enum policy_action action);
const char *policy_framing_name(enum framing_kind kind);
const char *policy_extract_name(enum extract_kind kind);
const char *policy_lenprefix_name(enum lenprefix_type type);
/* The name of fold step number i (bit 1 << i), or NULL past the last. */
const char *policy_fold_name(unsigned int i);

#endif
