/* SPDX-License-Identifier: Apache-2.0 */
/* Interceptors: who is asked when, and what their answers are. */
#include "daemon/interceptor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/interceptor_internal.h"
#include "daemon/limits.h"
#include "sys/clock.h"

int interceptor_new(struct interceptors *interceptors, const struct policy_interceptor *config,
		    struct interceptor **ret_interceptor)
{
	struct interceptor *interceptor = calloc(1, sizeof(*interceptor));

	if (!interceptor)
		return -ENOMEM;
	interceptor->interceptors = interceptors;
	interceptor->config = config;
	TAILQ_INIT(&interceptor->turns);
	LIST_INIT(&interceptor->lost);
	TAILQ_INSERT_TAIL(&interceptors->list, interceptor, entry);
	*ret_interceptor = interceptor;
	return 0;
}

void interceptor_free(struct interceptor *interceptor)
{
	if (!interceptor)
		return;
	TAILQ_REMOVE(&interceptor->interceptors->list, interceptor, entry);
	free(interceptor);
}

void interceptor_sum_up(const struct interceptor *interceptor,
			const struct policy_interceptor *config, struct interceptor_stats *sum)
{
	const struct interceptor_stats *stats = &interceptor->stats;

	if (interceptor->config != config)
		return;
	sum->asked += stats->asked;
	sum->allowed += stats->allowed;
	sum->denied += stats->denied;
	sum->transformed += stats->transformed;
	sum->failed += stats->failed;
	sum->timed_out += stats->timed_out;
	sum->invalid += stats->invalid;
	sum->cancelled += stats->cancelled;
	sum->waited += stats->waited;
	sum->waited_ms += stats->waited_ms;
	sum->warnings += stats->warnings;
	sum->waiting += stats->waiting;
	sum->in_flight += stats->in_flight;
}

void asker_init(struct asker *asker, struct interceptor *interceptor)
{
	asker->interceptor = interceptor;
	TAILQ_INIT(&asker->waiting);
	TAILQ_INIT(&asker->out);
}

static void free_question(struct question *question)
{
	if (question->body.text)
		explicit_bzero(question->body.text, question->body.len);
	agent_buffer_done(&question->body);
	free(question->answer);
	free(question);
}

static void leave_turn(struct asker *asker)
{
	if (!asker->in_turn)
		return;
	TAILQ_REMOVE(&asker->interceptor->turns, asker, turn);
	asker->in_turn = false;
}

static void enter_turn(struct asker *asker)
{
	if (asker->in_turn || TAILQ_EMPTY(&asker->waiting))
		return;
	TAILQ_INSERT_TAIL(&asker->interceptor->turns, asker, turn);
	asker->in_turn = true;
}

/* It comes back from where it was asked, answered or not. */
static void take_back(struct question *question)
{
	struct interceptor *interceptor = question->asker->interceptor;

	transfer_end(question);
	if (question->is_lost)
		LIST_REMOVE(question, lost);
	TAILQ_REMOVE(&question->asker->out, question, entry);
	interceptor->stats.in_flight--;
	interceptor->interceptors->in_flight--;
}

void asker_done(struct asker *asker)
{
	struct interceptor_stats *stats = &asker->interceptor->stats;
	struct question *question;

	leave_turn(asker);
	while ((question = TAILQ_FIRST(&asker->waiting))) {
		TAILQ_REMOVE(&asker->waiting, question, entry);
		stats->waiting--;
		stats->cancelled++;
		free_question(question);
	}
	while ((question = TAILQ_FIRST(&asker->out))) {
		take_back(question);
		stats->cancelled++;
		free_question(question);
	}
	/* What waits for the room is looked at in the loop: here streams are being ended. */
	transfer_wake(asker->interceptor->interceptors);
}

static void count(struct interceptor_stats *stats, const struct interceptor_answer *answer)
{
	switch (answer->failure) {
	case SESSION_OK:
		break;
	case SESSION_INTERCEPTOR_TIMEOUT:
		stats->timed_out++;
		return;
	case SESSION_VERDICT_INVALID:
		stats->invalid++;
		return;
	default:
		stats->failed++;
		return;
	}
	if (answer->verdict.decision == VERDICT_ALLOW) {
		stats->allowed++;
		stats->warnings += answer->verdict.warnings;
	} else if (answer->verdict.decision == VERDICT_DENY) {
		stats->denied++;
	} else {
		stats->transformed++;
	}
}

void question_settle(struct question *question, enum session_result failure)
{
	struct interceptor_answer answer = {.failure = failure};
	interceptor_answered answered = question->answered;
	void *context = question->context;

	if (failure == SESSION_OK &&
	    verdict_parse(question->answer, question->answer_len,
			  /* by_host: */ false, &answer.verdict) != VERDICT_OK)
		answer.failure = SESSION_VERDICT_INVALID;
	count(&question->asker->interceptor->stats, &answer);
	take_back(question);
	free_question(question);
	answered(context, &answer);
}

static bool has_room(const struct interceptor *interceptor)
{
	return interceptor->stats.in_flight < interceptor->config->concurrency &&
	       interceptor->interceptors->in_flight < LIMIT_QUESTIONS;
}

/* The next question of whose turn it is. */
static void ask_next(struct interceptor *interceptor)
{
	struct interceptor_stats *stats = &interceptor->stats;
	struct asker *asker = TAILQ_FIRST(&interceptor->turns);
	struct question *question = TAILQ_FIRST(&asker->waiting);
	uint64_t waited_ms = (clock_boot_ns() - question->since_ns) / CLOCK_NS_PER_MS;

	TAILQ_REMOVE(&asker->waiting, question, entry);
	TAILQ_INSERT_TAIL(&asker->out, question, entry);
	leave_turn(asker);
	enter_turn(asker);
	stats->waiting--;
	stats->waited += question->waits;
	stats->waited_ms += question->waits ? waited_ms : 0;
	stats->in_flight++;
	interceptor->interceptors->in_flight++;
	if (!transfer_begin(question))
		return;
	question->is_lost = true;
	LIST_INSERT_HEAD(&interceptor->lost, question, lost);
	transfer_wake(interceptor->interceptors);
}

/* Who had a turn last has its next one last. */
static struct interceptor *next_in_turn(struct interceptors *interceptors)
{
	struct interceptor *interceptor;

	TAILQ_FOREACH(interceptor, &interceptors->list, entry)
	{
		if (TAILQ_EMPTY(&interceptor->turns) || !has_room(interceptor))
			continue;
		TAILQ_REMOVE(&interceptors->list, interceptor, entry);
		TAILQ_INSERT_TAIL(&interceptors->list, interceptor, entry);
		return interceptor;
	}
	return NULL;
}

void interceptors_step(struct interceptors *interceptors)
{
	struct interceptor *interceptor;

	while ((interceptor = next_in_turn(interceptors)))
		ask_next(interceptor);
}

int interceptor_ask(struct asker *asker, const struct agent_context *about,
		    interceptor_answered answered, void *context)
{
	struct interceptor *interceptor = asker->interceptor;
	struct question *question = calloc(1, sizeof(*question));
	int r;

	if (!question)
		return -ENOMEM;
	r = agent_context_write(about, &question->body);
	if (r) {
		free_question(question);
		return r;
	}
	question->asker = asker;
	question->answered = answered;
	question->context = context;
	question->since_ns = clock_boot_ns();
	TAILQ_INSERT_TAIL(&asker->waiting, question, entry);
	enter_turn(asker);
	interceptor->stats.asked++;
	interceptor->stats.waiting++;
	question->waits = !has_room(interceptor);
	if (!question->waits)
		ask_next(interceptor);
	return 0;
}
