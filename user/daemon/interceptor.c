/* SPDX-License-Identifier: Apache-2.0 */
/* Interceptors: who is asked when, and what their answers are. */
#include "daemon/interceptor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/interceptor_internal.h"
#include "daemon/limits.h"
#include "sys/clock.h"

int interceptor_new(struct interceptors *interceptors, const char *task,
		    const struct policy_interceptor *config, struct interceptor **ret_interceptor)
{
	struct interceptor *interceptor = calloc(1, sizeof(*interceptor));

	if (!interceptor)
		return -ENOMEM;
	if (interceptor_total_get(interceptors, task, &interceptor->total)) {
		free(interceptor);
		return -ENOMEM;
	}
	interceptor->interceptors = interceptors;
	interceptor->config = config;
	TAILQ_INIT(&interceptor->turns);
	LIST_INIT(&interceptor->lost);
	asker_init(&interceptor->teller, interceptor);
	TAILQ_INSERT_TAIL(&interceptors->list, interceptor, entry);
	*ret_interceptor = interceptor;
	return 0;
}

void interceptor_free(struct interceptor *interceptor)
{
	if (!interceptor)
		return;
	interceptor_untell(interceptor);
	TAILQ_REMOVE(&interceptor->interceptors->list, interceptor, entry);
	interceptor_stats_add(&interceptor->total->gone, &interceptor->stats);
	free(interceptor);
}

const struct interceptor_stats *interceptor_stats(const struct interceptor *interceptor)
{
	return &interceptor->stats;
}

void asker_init(struct asker *asker, struct interceptor *interceptor)
{
	asker->interceptor = interceptor;
	TAILQ_INIT(&asker->waiting);
	TAILQ_INIT(&asker->out);
}

static void look_at(const struct question *question, struct asker_state *state)
{
	state->asked++;
	if (!state->oldest_ns || question->since_ns < state->oldest_ns)
		state->oldest_ns = question->since_ns;
}

void asker_get(const struct asker *asker, struct asker_state *ret_state)
{
	const struct question *question;

	*ret_state = (struct asker_state){0};
	TAILQ_FOREACH(question, &asker->waiting, entry)
	{
		look_at(question, ret_state);
		ret_state->waiting++;
	}
	TAILQ_FOREACH(question, &asker->out, entry)
	look_at(question, ret_state);
}

const char *asker_url(const struct asker *asker)
{
	return asker->interceptor->config->url;
}

void question_free(struct question *question)
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
	if (asker->in_turn || TAILQ_EMPTY(&asker->waiting) || asker == &asker->interceptor->teller)
		return;
	TAILQ_INSERT_TAIL(&asker->interceptor->turns, asker, turn);
	asker->in_turn = true;
}

/* It is in no list any more, and its transfer is the caller's to end. */
static void leave_asker(struct question *question)
{
	struct interceptor *interceptor = question->asker->interceptor;

	if (question->is_lost)
		LIST_REMOVE(question, lost);
	TAILQ_REMOVE(&question->asker->out, question, entry);
	interceptor->stats.in_flight--;
	interceptor->interceptors->in_flight--;
}

void question_take_back(struct question *question)
{
	transfer_end(question->asker->interceptor->interceptors, take_ptr(question->easy));
	leave_asker(question);
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
		question_free(question);
	}
	while ((question = TAILQ_FIRST(&asker->out))) {
		question_take_back(question);
		stats->cancelled++;
		question_free(question);
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

/* What it says of a note is not read. */
static void settle_note(struct question *question, enum session_result failure)
{
	struct interceptor *interceptor = question->asker->interceptor;

	if (failure == SESSION_OK)
		interceptor->stats.told++;
	else
		interceptor->stats.untold++;
	interceptor->notes--;
	question_take_back(question);
	question_free(question);
}

void question_explain(struct question *question, const char *format, ...)
{
	struct asker *asker = question->asker;
	va_list arguments;

	if (asker->error[0])
		return;
	va_start(arguments, format);
	(void)vsnprintf(asker->error, sizeof(asker->error), format, arguments);
	va_end(arguments);
}

/* What was answered is read. */
static void read_verdict(struct question *question, struct interceptor_answer *answer)
{
	enum verdict_fault fault = verdict_parse(question->answer, question->answer_len,
						 /* by_host: */ false, &answer->verdict);

	if (fault == VERDICT_OK)
		return;
	question_explain(question, "no verdict: %s", verdict_fault_name(fault));
	answer->failure = SESSION_VERDICT_INVALID;
}

void question_settle(struct question *question, enum session_result failure)
{
	struct interceptor_answer answer = {.failure = failure};
	struct interceptors *interceptors = question->asker->interceptor->interceptors;
	interceptor_answered answered = question->answered;
	void *context = question->context;
	CURL *easy;

	if (!answered) {
		settle_note(question, failure);
		return;
	}
	if (failure == SESSION_OK)
		read_verdict(question, &answer);
	count(&question->asker->interceptor->stats, &answer);
	histogram_observe(&question->asker->interceptor->stats.latency,
			  clock_boot_ns() - question->out_ns);
	leave_asker(question);
	easy = take_ptr(question->easy);
	question_free(question);
	/* What it lets go leaves before libcurl tidies up. */
	answered(context, &answer);
	transfer_end(interceptors, easy);
}

bool interceptor_has_room(const struct interceptor *interceptor)
{
	return interceptor->stats.in_flight < interceptor->config->concurrency &&
	       interceptor->interceptors->in_flight < LIMIT_QUESTIONS;
}

void question_go(struct question *question)
{
	struct interceptor *interceptor = question->asker->interceptor;

	if (!transfer_begin(question))
		return;
	question->is_lost = true;
	LIST_INSERT_HEAD(&interceptor->lost, question, lost);
	transfer_wake(interceptor->interceptors);
}

void interceptor_ask_next(struct interceptor *interceptor)
{
	struct interceptor_stats *stats = &interceptor->stats;
	struct asker *asker = TAILQ_FIRST(&interceptor->turns) ?: &interceptor->teller;
	struct question *question = TAILQ_FIRST(&asker->waiting);
	uint64_t waited_ms;

	question->out_ns = clock_boot_ns();
	waited_ms = (question->out_ns - question->since_ns) / CLOCK_NS_PER_MS;
	TAILQ_REMOVE(&asker->waiting, question, entry);
	TAILQ_INSERT_TAIL(&asker->out, question, entry);
	leave_turn(asker);
	enter_turn(asker);
	stats->waiting--;
	stats->waited += question->waits;
	stats->waited_ms += question->waits ? waited_ms : 0;
	stats->in_flight++;
	interceptor->interceptors->in_flight++;
	question_go(question);
}

/* Who had a turn last has its next one last, and notes go last of all. */
static struct interceptor *next_in_turn(struct interceptors *interceptors, bool notes)
{
	struct interceptor *interceptor;

	TAILQ_FOREACH(interceptor, &interceptors->list, entry)
	{
		if ((notes ? TAILQ_EMPTY(&interceptor->teller.waiting)
			   : TAILQ_EMPTY(&interceptor->turns)) ||
		    !interceptor_has_room(interceptor))
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

	while ((interceptor = next_in_turn(interceptors, false)) ||
	       (interceptor = next_in_turn(interceptors, true)))
		interceptor_ask_next(interceptor);
}

int question_add(struct asker *asker, const struct agent_context *about,
		 struct question **ret_question)
{
	struct question *question = calloc(1, sizeof(*question));
	int r;

	if (!question)
		return -ENOMEM;
	r = agent_context_write(about, &question->body);
	if (r) {
		question_free(question);
		return r;
	}
	question->asker = asker;
	question->since_ns = clock_boot_ns();
	TAILQ_INSERT_TAIL(&asker->waiting, question, entry);
	asker->interceptor->stats.waiting++;
	*ret_question = question;
	return 0;
}

int interceptor_ask(struct asker *asker, const struct agent_context *about,
		    interceptor_answered answered, void *context)
{
	struct interceptor *interceptor = asker->interceptor;
	struct question *question;
	int r = question_add(asker, about, &question);

	if (r)
		return r;
	question->answered = answered;
	question->context = context;
	enter_turn(asker);
	interceptor->stats.asked++;
	if (!interceptor_has_room(interceptor))
		interceptor_give_way(interceptor);
	question->waits = !interceptor_has_room(interceptor);
	if (!question->waits)
		interceptor_ask_next(interceptor);
	return 0;
}
