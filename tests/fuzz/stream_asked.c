/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that are asked elsewhere: the answers come late, and in an order the input says. */
#include "fuzz/stream.h"

#include "base/macros.h"
#include "core/utf8.h"

static const struct verdict allow = {.decision = VERDICT_ALLOW};
static const struct verdict deny = {.decision = VERDICT_DENY, .reason = "found"};

static size_t task_of(const struct fuzz_terms *terms, const struct pipeline_task *task)
{
	for (size_t i = 0; i < terms->task_count; i++)
		if (&terms->tasks[i] == task)
			return i;
	fuzz_check(!"a task of the setup");
	return 0;
}

static bool denies(const struct fuzz_flow *flow, const struct pipeline_work *work)
{
	const struct fuzz_terms *terms = flow->stream->setup->terms[flow->track];
	size_t i = task_of(terms, work->task);
	struct fuzz_terms one = {.task_count = 1, .kind = {FUZZ_ASKED}};

	for (size_t j = 0; j < FUZZ_TERMS_MAX; j++)
		one.words[0][j] = terms->words[i][j];
	return work->item.text &&
	       fuzz_terms_find(&one, work->item.text, work->item.len) != SIZE_MAX;
}

static void check_item(const struct span_item *item, const struct coverage *coverage)
{
	fuzz_check(item->start <= item->end);
	fuzz_check(item->start < item->end || item->last);
	fuzz_check(item->runes <= coverage->window && item->before <= item->runes);
	fuzz_check(!item->text || utf8_count(item->text, item->len) == item->runes);
}

static void ask(struct fuzz_flow *flow)
{
	struct pipeline_work work;

	while (flow->asked_count < FUZZ_ASKED_MAX && pipeline_work(flow->pipeline, &work)) {
		if (work.round != flow->round) {
			/* E2 of core/pipeline_span.h. */
			fuzz_check(!flow->asked_count);
			flow->round = work.round;
			flow->before = pipeline_released_runes(flow->pipeline);
		}
		check_item(&work.item, &work.task->spans->coverage);
		flow->asked[flow->asked_count++] =
			(struct fuzz_asked){.work = work, .denies = denies(flow, &work)};
	}
}

/* Spans are numbered from where their session began, not above flow->before. */
static void check_released(const struct fuzz_flow *flow)
{
	uint64_t released = pipeline_released_runes(flow->pipeline) - flow->before;

	if (flow->stream->setup->level == SESSION_DEFERRED)
		return;
	for (size_t i = 0; i < flow->asked_count; i++)
		fuzz_check(released <= flow->asked[i].work.item.start);
}

enum fault fuzz_stream_serve(struct fuzz_flow *flow, bool all)
{
	const struct fuzz_input *input = flow->stream->setup->input;
	enum fault fault = FAULT_NONE;

	fuzz_memory_enter();
	for (ask(flow); !fault && flow->asked_count; ask(flow)) {
		uint8_t order = input->cuts[flow->answers % FUZZ_CUTS] + flow->answers / FUZZ_CUTS;
		size_t i = order % flow->asked_count;
		struct fuzz_asked asked = flow->asked[i];

		check_released(flow);
		if (!all && (order & 0x40) && !pipeline_waits(flow->pipeline))
			break;
		flow->answers++;
		flow->asked[i] = flow->asked[--flow->asked_count];
		fault = pipeline_verdict(flow->pipeline, &asked.work, SESSION_OK,
					 asked.denies ? &deny : &allow);
		fuzz_check(!asked.denies || fault);
	}
	fuzz_memory_leave();
	return fault;
}
