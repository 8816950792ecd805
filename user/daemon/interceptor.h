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
 *  N7. No text is logged, and what was asked is wiped from memory.
 *
 * Where a kept connection is found closed before a byte of an answer came, libcurl sends the
 * question once more on another.
 */
#ifndef SLUICE_DAEMON_INTERCEPTOR_H
#define SLUICE_DAEMON_INTERCEPTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/macros.h"
#include "core/agent_context.h"
#include "core/policy.h"
#include "core/session.h"
#include "core/verdict.h"

struct daemon;
struct interceptors; /* of the daemon */
struct interceptor;  /* of one task of one policy */
struct question;

struct interceptor_answer {
	enum session_result
		failure;	/* SESSION_OK, _INTERCEPTOR_FAILED, _TIMEOUT, _VERDICT_INVALID */
	struct verdict verdict; /* with SESSION_OK */
};

/* Called from the loop, never from interceptor_ask(). The question is gone with it. */
typedef void (*interceptor_answered)(void *context, const struct interceptor_answer *answer);

TAILQ_HEAD(question_list, question);

/* Who asks: a flow, of one interceptor. Zero-initialised, and then asker_init(). */
struct asker {
	TAILQ_ENTRY(asker) turn;
	struct interceptor *interceptor;
	struct question_list waiting, out;
	bool in_turn; /* some wait */
};

/* Counts since the policy was loaded. */
struct interceptor_stats {
	uint64_t asked, allowed, denied, transformed, failed, timed_out, invalid, cancelled;
	uint64_t waited, waited_ms; /* how many had to wait, and how long, together */
	uint64_t warnings;	    /* of verdicts that allow */
	uint32_t waiting, in_flight;
};

/* -ENOMEM. */
int interceptors_new(struct daemon *daemon, struct interceptors **ret_interceptors) must_check;
/* There is a loop, and a cgroup for the sockets. -ENOMEM, -EIO: libcurl refuses. */
int interceptors_start(struct interceptors *interceptors) must_check;
/* Nobody asks any more, and the policies' interceptors are freed. Accepts NULL. */
void interceptors_free(struct interceptors *interceptors);

/* config is borrowed. -ENOMEM. */
int interceptor_new(struct interceptors *interceptors, const struct policy_interceptor *config,
		    struct interceptor **ret_interceptor) must_check;
/* Nobody asks it any more. Accepts NULL. */
void interceptor_free(struct interceptor *interceptor);
/* Adds its counts to those of the task, where it is asked for that one. */
void interceptor_sum_up(const struct interceptor *interceptor,
			const struct policy_interceptor *config, struct interceptor_stats *sum);

void asker_init(struct asker *asker, struct interceptor *interceptor);
/* Cancels what it asked. */
void asker_done(struct asker *asker);

/*
 * The context is written at once, and what it borrows is free again. -EINVAL, -E2BIG: no
 * context can be made of it. -ENOMEM.
 */
int interceptor_ask(struct asker *asker, const struct agent_context *about,
		    interceptor_answered answered, void *context) must_check;

#endif
