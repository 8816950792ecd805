/* SPDX-License-Identifier: Apache-2.0 */
/* Notes: what interceptors are told, and nobody waits for. N8. */
#include "daemon/interceptor_internal.h"
#include "daemon/limits.h"

void interceptor_tell(struct interceptor *interceptor, const struct agent_context *about)
{
	struct question *note;

	if (interceptor->notes == LIMIT_NOTES || question_add(&interceptor->teller, about, &note)) {
		interceptor->stats.untold++;
		return;
	}
	interceptor->notes++;
	/* It goes out from the loop, behind what waits: here a stream is being ended. */
	transfer_wake(interceptor->interceptors);
}

static void drop(struct question *note)
{
	struct interceptor *interceptor = note->asker->interceptor;

	interceptor->notes--;
	interceptor->stats.untold++;
	question_free(note);
}

/* The one that went out last, which its receiver has had the least of. */
static bool recall(struct interceptor *interceptor)
{
	struct question *note = TAILQ_LAST(&interceptor->teller.out, question_list);

	if (!note)
		return false;
	question_take_back(note);
	drop(note);
	return true;
}

void interceptor_give_way(struct interceptor *interceptor)
{
	struct interceptor *other;

	if (recall(interceptor) || interceptor->stats.in_flight >= interceptor->config->concurrency)
		return;
	TAILQ_FOREACH(other, &interceptor->interceptors->list, entry)
	{
		if (recall(other))
			return;
	}
}

void interceptor_untell(struct interceptor *interceptor)
{
	struct question *note;

	while ((note = TAILQ_FIRST(&interceptor->teller.waiting))) {
		TAILQ_REMOVE(&interceptor->teller.waiting, note, entry);
		interceptor->stats.waiting--;
		drop(note);
	}
	while (recall(interceptor))
		;
}
