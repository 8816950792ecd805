/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/asking.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "core/channel.h"
#include "core/exchange.h"
#include "core/pipeline.h"
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

/* The asking may be gone once the flow has heard of it. */
static void on_answered(void *context, const struct interceptor_answer *answer)
{
	struct errand *errand = context;
	const struct pipeline_work work = errand->work;
	struct flow *flow = errand->asking->flow;

	LIST_REMOVE(errand, entry);
	free(errand);
	flow_judged(flow, &work, answer->failure, &answer->verdict);
}

/* Of a text that only ends with its unit more may come in the next. */
static bool is_last(const struct span_item *item)
{
	return item->final && strcmp(item->channel, CHANNEL_UNIT) != 0;
}

static int ask(struct asking *asking, struct errand *errand)
{
	struct stream *stream = asking->flow->stream;
	const struct pipeline_work *work = &errand->work;
	const struct span_item *item = &work->item;
	bool request = asking->flow->track == SESSION_REQUEST;
	const struct agent_span span = {
		.start = item->start,
		.end = item->end,
		.before = item->before,
		.final = item->final,
	};
	char session[48];
	struct agent_context about = {
		.point = request ? AGENT_INPUT : AGENT_POST_MODEL_CALL,
		.time_ms = clock_real_ms(),
		.sequence = ++stream->asked,
		.agent = stream->policy->policy->name,
		.session = session,
		.content = item->text,
		.content_len = item->len,
		.stream = stream->origin.stream,
		.task = work->task->name,
		.channel = item->channel,
		.span = &span,
	};

	if (!request) {
		about.model = "unknown";
		about.finish_reason = is_last(item) ? "stop" : AGENT_FINISH_INCREMENTAL;
	}
	(void)snprintf(session, sizeof(session), "%" PRIu64 ".%" PRIu64,
		       (uint64_t)stream->origin.stream,
		       exchanges_number(stream->exchanges, asking->flow->track));
	return interceptor_ask(&asking->askers[work->number], &about, on_answered, errand);
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
