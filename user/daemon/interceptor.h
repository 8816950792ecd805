/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interceptors: evaluators that a policy names by URL. An agent context goes out
 * (core/agent_context.h), a verdict comes back (core/verdict.h).
 *
 * One libcurl multi handle in the daemon's loop, no thread and no name server. Connections are
 * kept and used again.
 *
 * Invariants:
 *  N1. No answer, a late one, another status than 200, a redirect, more than VERDICT_SIZE_MAX
 *      bytes of a body or of heads, what verdict_parse() refuses: each has its reason, and none
 *      is a verdict.
 *  N2. Of a question that was cancelled nothing is heard any more.
 *  N3. Each socket over TCP is marked exempt at the gate before it connects. No proxy, cookie,
 *      redirect or environment has a say.
 *  N4. At most `concurrency` questions of a task are out, and LIMIT_QUESTIONS of all. What is
 *      over waits, each asker's in their order; askers take turns, and so do tasks.
 *  N5. The deadline of a question counts from when it goes out, and not while it waits.
 *  N6. What comes on a connection after an answer is no answer to the next question, unless it
 *      comes when that has been asked.
 *  N8. What an interceptor is told, and nobody waits for, goes out where there is room, gives way
 *      to any question, and what is answered is not read. At most LIMIT_NOTES of each.
 *  N9. Of a burst of answers one is taken before other streams are served, or as many as take as
 *      long as those did since the last.
 *  N7. No text is logged, and what was asked is wiped from memory.
 *
 * Where a kept connection is found closed before a byte of an answer came, libcurl sends the
 * question once more on another.
 */
#ifndef SLUICE_DAEMON_INTERCEPTOR_H
#define SLUICE_DAEMON_INTERCEPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/macros.h"
#include "core/agent_context.h"
#include "core/policy.h"
#include "core/session.h"
#include "core/verdict.h"
#include "daemon/histogram.h"

struct daemon;
struct interceptors; /* of the daemon */
struct interceptor;  /* of one task of one policy, on all it is bound to */
struct question;

struct interceptor_answer {
	enum session_result
		failure;	/* SESSION_OK, _INTERCEPTOR_FAILED, _TIMEOUT, _VERDICT_INVALID */
	struct verdict verdict; /* with SESSION_OK */
};

/* Called from the loop, never from interceptor_ask(). The question is gone with it. */
typedef void (*interceptor_answered)(void *context, const struct interceptor_answer *answer);

TAILQ_HEAD(question_list, question);

/* Of what says why a question has no verdict, with its end. */
#define INTERCEPTOR_ERROR_LEN 96u

/* Who asks: a flow, of one interceptor. Zero-initialised, and then asker_init(). */
struct asker {
	TAILQ_ENTRY(asker) turn;
	struct interceptor *interceptor;
	struct question_list waiting, out;
	bool in_turn;			   /* some wait */
	char error[INTERCEPTOR_ERROR_LEN]; /* of the first without a verdict; "": there is none */
};

/* Counts since the policy was loaded; of a task's name, since the start. */
struct interceptor_stats {
	uint64_t asked, allowed, denied, transformed, failed, timed_out, invalid, cancelled;
	uint64_t waited, waited_ms; /* how many had to wait, and how long, together */
	uint64_t warnings;	    /* of verdicts that allow */
	uint64_t told, untold;	    /* N8: what was answered, and what not */
	uint32_t waiting, in_flight;
	struct histogram latency; /* from when a question goes out until what comes of it */
};

/* -ENOMEM. */
int interceptors_new(struct daemon *daemon, struct interceptors **ret_interceptors) must_check;
/* There is a loop, and a cgroup for the sockets. -ENOMEM, -EIO: libcurl refuses. */
int interceptors_start(struct interceptors *interceptors) must_check;
/* Nobody asks any more, and the policies' interceptors are freed. Accepts NULL. */
void interceptors_free(struct interceptors *interceptors);

/* task: the name of it; config is borrowed. -ENOMEM. */
int interceptor_new(struct interceptors *interceptors, const char *task,
		    const struct policy_interceptor *config,
		    struct interceptor **ret_interceptor) must_check;
/* Nobody asks it any more. Accepts NULL. */
void interceptor_free(struct interceptor *interceptor);
const struct interceptor_stats *interceptor_stats(const struct interceptor *interceptor);

/*
 * Tells of each task's name that was ever asked for what came of it, under all policies, those
 * that are gone too. Names past LIMIT_REASONS are one: "other".
 */
void interceptors_visit(const struct interceptors *interceptors,
			void (*visit)(void *context, const char *task,
				      const struct interceptor_stats *stats),
			void *context);

/* What an asker waits for, of its questions that have no answer. */
struct asker_state {
	size_t asked, waiting; /* of those asked how many have not gone out */
	uint64_t oldest_ns;    /* boot clock: since when the oldest is asked; 0: there is none */
};

void asker_init(struct asker *asker, struct interceptor *interceptor);
/* Cancels what it asked. */
void asker_done(struct asker *asker);
void asker_get(const struct asker *asker, struct asker_state *ret_state);
/* Where it asks, as the policy says it. */
const char *asker_url(const struct asker *asker);

/*
 * The context is written at once, and what it borrows is free again. -EINVAL, -E2BIG: no
 * context can be made of it. -ENOMEM.
 */
int interceptor_ask(struct asker *asker, const struct agent_context *about,
		    interceptor_answered answered, void *context) must_check;

/* Tells of something, and forgets it. N8. */
void interceptor_tell(struct interceptor *interceptor, const struct agent_context *about);

#endif
