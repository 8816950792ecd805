/* SPDX-License-Identifier: Apache-2.0 */
/* How a flow ends. */
#include "core/pipeline_auto.h"
#include "core/pipeline_http.h"
#include "core/pipeline_internal.h"
#include "core/pipeline_span.h"
#include "core/pipeline_watch.h"

/* The last line of a stream may lack its LF where the configuration says so. */
static enum fault end_of_line(struct pipeline *p)
{
	uint64_t payload = frame_ndjson_end(&p->body.frame.lines, false);
	bool message = payload && !extractor_blank(&p->extractor);
	enum fault fault = extractor_unit_end(&p->extractor, false);

	if (!fault)
		fault = pipeline_plain_unit_end(p, p->framed, p->framed + payload, message);
	/* No byte of it was wrong: what is missing is the rest. */
	return fault == FAULT_BAD_JSON ? FAULT_TRUNCATED : fault;
}

static enum fault end_of_tail(struct pipeline *p)
{
	if (p->http)
		return pipeline_http_end(p);
	if (p->body.codec)
		return pipeline_codec_may_end(p->body.codec) ? FAULT_NONE : FAULT_TRUNCATED;
	if (p->received == p->framed)
		return FAULT_NONE;
	if (p->framing == FRAMING_NDJSON && p->final_newline_optional)
		return end_of_line(p);
	return FAULT_TRUNCATED;
}

enum fault pipeline_flow_end(struct pipeline *p)
{
	enum fault fault = pipeline_watch_judge(p);

	return fault ? fault : pipeline_hold_settle(&p->hold, &p->set);
}

enum fault pipeline_end_now(struct pipeline *p)
{
	enum fault fault = p->automatic ? pipeline_auto_end(p) : FAULT_NONE;

	if (!fault && !p->automatic)
		fault = end_of_tail(p);
	if (fault || p->automatic || p->http)
		return fault ? fault : pipeline_hold_settle(&p->hold, &p->set);
	fault = extractor_end(&p->extractor);
	if (!fault)
		fault = channel_set_assembled(&p->set);
	if (!fault)
		fault = pipeline_span_finish(p);
	if (fault || !pipeline_span_defer(p, false))
		return fault ? fault : pipeline_flow_end(p);
	return pipeline_hold_settle(&p->hold, &p->set);
}

enum fault pipeline_end(struct pipeline *p)
{
	enum fault fault = FAULT_NONE;

	if (p->fault || p->ended)
		return p->fault;
	p->ended = true;
	if (pipeline_leaving(p))
		p->spans->end_due = true;
	else
		fault = pipeline_end_now(p);
	if (fault)
		fault = pipeline_fail(p, fault);
	pipeline_http_delivered(p);
	return fault;
}
