/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/asking.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "core/pipeline.h"
#include "daemon/audit.h"
#include "daemon/flow.h"
#include "daemon/interceptor.h"
#include "daemon/policies.h"
#include "daemon/stream.h"
#include "sys/clock.h"

/* A piece of work that is out. */
struct errand {
	LIST_ENTRY(errand) entry;
	struct asking *asking;
	struct pipeline_work work;
};

struct asking {
	struct flow *flow;
	LIST_HEAD(, errand) errands;
	size_t count;
	struct asker askers[];
};

int asking_new(struct flow *flow, struct asking **ret_asking)
{
	const struct loaded_policy *policy = flow->stream->policy;
	size_t count = policy->interceptor_count[flow->track];
	struct asking *asking;

	*ret_asking = NULL;
	if (!count)
		return 0;
	asking = calloc(1, sizeof(*asking) + count * sizeof(asking->askers[0]));
	if (!asking)
		return -ENOMEM;
	asking->flow = flow;
	asking->count = count;
	LIST_INIT(&asking->errands);
	for (size_t i = 0; i < count; i++)
		asker_init(&asking->askers[i], policy->interceptors[flow->track][i]);
	*ret_asking = asking;
	return 0;
}

void asking_free(struct asking *asking)
{
	struct errand *errand;

	if (!asking)
		return;
	for (size_t i = 0; i < asking->count; i++)
		asker_done(&asking->askers[i]);
	while ((errand = LIST_FIRST(&asking->errands))) {
		LIST_REMOVE(errand, entry);
		free(errand);
	}
	free(asking);
}

void asking_get(const struct asking *asking, size_t number, struct asker_state *ret_state)
{
	*ret_state = (struct asker_state){0};
	if (asking && number < asking->count)
		asker_get(&asking->askers[number], ret_state);
}

bool asking_explain(const struct asking *asking, const char *task, char *text, size_t len)
{
	const struct interceptor *wanted =
		asking ? loaded_policy_interceptor(asking->flow->stream->policy, task) : NULL;

	for (size_t i = 0; wanted && i < asking->count; i++) {
		const struct asker *asker = &asking->askers[i];

		if (asker->interceptor != wanted || !asker->error[0])
			continue;
		(void)snprintf(text, len, "task '%.64s' at %.200s: %s", task, asker_url(asker),
			       asker->error);
		return true;
	}
	return false;
}

/* Of a pipeline's tasks those that gate are numbered first. */
static bool is_enforcing(const struct flow *flow, const struct pipeline_work *work)
{
	const struct loaded_policy *policy = flow->stream->policy;
	const struct pipeline_task *tasks = policy->tasks[flow->track];

	return work->task->output ||
	       (work->task >= tasks &&
		work->task < tasks + policy->policy->track_task_count[flow->track]);
}

/* The asking may be gone once the flow has heard of it. */
static void on_answered(void *context, const struct interceptor_answer *answer)
{
	struct errand *errand = context;
	const struct pipeline_work work = errand->work;
	struct flow *flow = errand->asking->flow;

	LIST_REMOVE(errand, entry);
	free(errand);
	if (answer->failure == SESSION_OK && answer->verdict.decision == VERDICT_ALLOW &&
	    answer->verdict.warnings)
		audit_warned(flow->stream, flow->track, &work, is_enforcing(flow, &work),
			     &answer->verdict);
	flow_judged(flow, &work, answer->failure, &answer->verdict);
}

static enum agent_point point_of(enum session_track track, const struct pipeline_task *task)
{
	if (track == SESSION_REQUEST)
		return AGENT_INPUT;
	return task->output ? AGENT_OUTPUT : AGENT_POST_MODEL_CALL;
}

/* A question, or a note, with what it borrows. */
struct asking_about {
	struct agent_context context;
	struct agent_span span;
	char session[48];
};

static void describe(const struct asking *asking, const struct pipeline_work *work,
		     struct asking_about *about)
{
	struct stream *stream = asking->flow->stream;
	const struct span_item *item = &work->item;

	about->span = (struct agent_span){
		.start = item->start,
		.end = item->end,
		.before = item->before,
		.final = item->final,
	};
	(void)snprintf(about->session, sizeof(about->session), "%" PRIu64 ".%" PRIu64,
		       (uint64_t)stream->origin.stream, work->exchange);
	about->context = (struct agent_context){
		.point = point_of(asking->flow->track, work->task),
		.time_ms = clock_real_ms(),
		.sequence = ++stream->asked,
		.agent = stream->policy->policy->name,
		.session = about->session,
		.model = "unknown",
		.finish_reason = AGENT_FINISH_INCREMENTAL,
		.content = item->text,
		.content_len = item->len,
		.stream = stream->origin.stream,
		.task = work->task->name,
		.channel = item->channel ?: "",
		.span = &about->span,
	};
	if (item->last)
		about->context.finish_reason = work->finish_reason ?: AGENT_FINISH_STOP;
}

static int ask(struct asking *asking, struct errand *errand)
{
	struct asking_about about;

	describe(asking, &errand->work, &about);
	return interceptor_ask(&asking->askers[errand->work.number], &about.context, on_answered,
			       errand);
}

void asking_tell_left(struct asking *asking)
{
	struct pipeline_work work;
	struct asking_about about;

	for (size_t i = 0; asking && pipeline_left(asking->flow->pipeline, i, &work);
	     i = work.number + 1) {
		describe(asking, &work, &about);
		about.context.finish_reason = AGENT_FINISH_INCOMPLETE;
		interceptor_tell(asking->askers[work.number].interceptor, &about.context);
	}
}

enum fault asking_ask(struct asking *asking)
{
	struct pipeline *pipeline = asking ? asking->flow->pipeline : NULL;
	struct pipeline_work work;

	while (asking && pipeline_work(pipeline, &work)) {
		struct errand *errand = calloc(1, sizeof(*errand));

		if (errand) {
			errand->asking = asking;
			errand->work = work;
		}
		if (!errand || ask(asking, errand)) {
			free(errand);
			return pipeline_verdict(pipeline, &work, SESSION_INTERCEPTOR_FAILED, NULL);
		}
		LIST_INSERT_HEAD(&asking->errands, errand, entry);
	}
	return FAULT_NONE;
}
