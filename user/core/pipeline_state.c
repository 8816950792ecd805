/* SPDX-License-Identifier: Apache-2.0 */
/* What a pipeline says of itself. */
#include "core/exchange.h"
#include "core/pipeline_auto.h"
#include "core/pipeline_http.h"
#include "core/pipeline_internal.h"
#include "core/pipeline_span.h"

uint64_t pipeline_advance(struct pipeline *p)
{
	if (!p->fault)
		pipeline_hold_advance(&p->hold);
	pipeline_http_delivered(p);
	return p->hold.released;
}

enum framing_kind pipeline_framing(const struct pipeline *p)
{
	return (enum framing_kind)p->framing;
}

uint64_t pipeline_received(const struct pipeline *p)
{
	return p->received;
}

uint64_t pipeline_framed(const struct pipeline *p)
{
	return p->framed;
}

uint64_t pipeline_released(const struct pipeline *p)
{
	return p->hold.released;
}

uint64_t pipeline_released_runes(const struct pipeline *p)
{
	return p->earlier_released + p->hold.released_runes - p->base;
}

uint64_t pipeline_partial(const struct pipeline *p)
{
	if (p->http)
		return pipeline_http_partial(p);
	if ((p->framing == FRAMING_SSE || p->body.codec) && !pipeline_body_partial(&p->body))
		return 0;
	return p->received - p->framed;
}

/* A server that has said nothing yet will be framed as its client was. */
static struct refusal_mark first_mark(const struct exchanges *exchanges)
{
	struct refusal_mark mark = {.place = REFUSAL_NONE};
	enum framing_kind kind;

	if (!exchanges_identified(exchanges, &kind))
		return mark;
	if (kind == FRAMING_HTTP1)
		mark.place = REFUSAL_MESSAGE;
	else if (kind == FRAMING_JSONRPC_CL)
		mark.place = REFUSAL_JSONRPC;
	return mark;
}

struct refusal_mark pipeline_mark(const struct pipeline *p)
{
	return p->automatic ? first_mark(p->automatic->config.exchanges) : p->hold.mark;
}

uint64_t pipeline_expected(const struct pipeline *p)
{
	if (p->http)
		return pipeline_http_expected(p);
	if (p->body.codec)
		return pipeline_codec_expected(p->body.codec);
	return p->framing == FRAMING_LENPREFIX ? p->frame.lenprefix.declared : 0;
}

uint64_t pipeline_runes(const struct pipeline *p)
{
	return p->earlier_runes + p->set.track - p->base;
}

bool pipeline_declares(const struct pipeline *p, const char *channel)
{
	for (const struct channel *c = p->set.joined; c; c = c->next)
		if (c->name == channel)
			return true;
	return false;
}

bool pipeline_complete(const struct pipeline *p)
{
	return p->extractor.complete;
}

enum fault pipeline_fault(const struct pipeline *p)
{
	return p->fault;
}

const struct pipeline_denial *pipeline_denial(const struct pipeline *p)
{
	return p->denial.task ? &p->denial : NULL;
}

const struct pipeline_denial *pipeline_failure(const struct pipeline *p)
{
	return p->spans && p->spans->failure.task ? &p->spans->failure : NULL;
}

size_t pipeline_memory(const struct pipeline *p)
{
	return sizeof(*p) + (p->set.task_count + p->watch.count + 1) * sizeof(*p->matchers) +
	       p->watch.all_count * (sizeof(*p->watch.states) + sizeof(*p->watch.tasks)) +
	       channel_set_memory(&p->set) + extractor_memory(&p->extractor) +
	       pipeline_hold_memory(&p->hold) + pipeline_body_memory(&p->body) +
	       (p->http ? pipeline_http_memory(p) : 0) +
	       (p->automatic ? sizeof(*p->automatic) : 0) + pipeline_span_memory(p);
}
