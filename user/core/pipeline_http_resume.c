/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that ask for the rest of a response, and responses that are it (T6). */
#include "core/attempt.h"
#include "core/exchange.h"
#include "core/pipeline_http_internal.h"

static enum fault fault_of(const struct pipeline *p, int err)
{
	return err == -EPERM ? exchanges_refuse_resume(p->http->exchanges, p->hold.track)
			     : pipeline_fault_of(err);
}

/* A request begins. */
static enum fault begin_request(struct pipeline *p)
{
	struct pipeline_http *http = p->http;
	const struct frame_http1 *frame = &http->frame;

	if (!exchanges_resumes(http->exchanges) ||
	    (!p->hold.task_count && !exchanges_gates(http->exchanges, SESSION_RESPONSE)))
		return FAULT_NONE;
	if (attempt_new(&http->attempt))
		return FAULT_NO_MEMORY;
	resume_request_target(attempt_request(http->attempt),
			      (struct http1_slice){frame->target, frame->target_len});
	return FAULT_NONE;
}

enum fault pipeline_http_resume_line(struct pipeline *p, const struct http1_piece *piece)
{
	const struct http1_slice line = {piece->data, piece->len};
	struct pipeline_http *http = p->http;

	if (piece->kind == HTTP1_START) {
		if (pipeline_http_is_request(p))
			return begin_request(p);
		http->attempt = exchanges_attempt(http->exchanges);
		http->answer = http->attempt ? attempt_new_answer(http->attempt) : NULL;
		return FAULT_NONE;
	}
	if (!http->attempt)
		return FAULT_NONE;
	if (pipeline_http_is_request(p))
		resume_request_field(attempt_request(http->attempt), line);
	else
		resume_answer_field(http->answer, line);
	return FAULT_NONE;
}

static enum fault judge_request(struct pipeline *p)
{
	struct pipeline_http *http = p->http;
	cleanup(attempt_freep) struct attempt *attempt = take_ptr(http->attempt);
	const struct frame_http1 *frame = &http->frame;
	int r;

	if (p->hold.task_count && attempt_request(attempt)->upload_refused)
		return fault_of(p, -EPERM);
	if (!exchanges_gates(http->exchanges, SESSION_RESPONSE))
		return FAULT_NONE;
	r = attempt_begin(attempt, exchanges_resumes(http->exchanges),
			  (struct http1_slice){frame->target, frame->target_len});
	return r ? fault_of(p, r) : exchanges_begin_attempt(http->exchanges, take_ptr(attempt));
}

static enum fault judge_answer(struct pipeline *p)
{
	struct pipeline_http *http = p->http;
	const struct http1_head *head = &http->frame.head;
	const struct attempt_head answer = {
		.status = head->status,
		.body = head->body != HTTP1_NO_BODY,
		.coded = head->coding != CODING_IDENTITY,
		.length = head->body == HTTP1_LENGTH ? head->length : UINT64_MAX,
		.media = head->media,
	};
	int r = attempt_answer(http->attempt, exchanges_resumes(http->exchanges), &answer);

	if (r)
		return fault_of(p, r);
	p->set.attempt = attempt_is_recorded(http->attempt) ? http->attempt : NULL;
	return FAULT_NONE;
}

enum fault pipeline_http_resume_head(struct pipeline *p)
{
	struct pipeline_http *http = p->http;

	if (!http->attempt || http->frame.head.interim)
		return FAULT_NONE;
	return pipeline_http_is_request(p) ? judge_request(p) : judge_answer(p);
}

void pipeline_http_delivered(struct pipeline *p)
{
	if (p->http && p->set.attempt)
		exchanges_delivered(p->http->exchanges, p->hold.released);
}

uint64_t pipeline_http_body_bytes(const struct pipeline *p)
{
	return p->http->body_bytes - p->http->ahead;
}
