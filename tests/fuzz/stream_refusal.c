/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A refusal behind the released bytes, as their receiver reads it: together they are framed
 * without a fault, by a pipeline that judges nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "fuzz/stream.h"

static enum fault feed(struct fuzz_flow *flow, const uint8_t *data, size_t len)
{
	enum fault fault;

	fuzz_memory_enter();
	fault = pipeline_feed(flow->pipeline, data, len);
	fuzz_memory_leave();
	return fault;
}

/* Each segment as it was, but of the responses no more than was released. */
static void feed_released(struct fuzz_stream *plain, const struct fuzz_stream *stream)
{
	const struct fuzz_script *script = stream->setup->script;
	uint64_t left[_SESSION_TRACK_MAX] = {
		[SESSION_REQUEST] = stream->flows[SESSION_REQUEST].fed,
		[SESSION_RESPONSE] = stream->flows[SESSION_RESPONSE].released,
	};

	for (size_t i = 0; i < stream->point_count; i++) {
		const struct fuzz_segment *segment = &script->segments[i];
		size_t len = (size_t)MIN((uint64_t)segment->len, left[segment->track]);
		enum fault fault =
			feed(&plain->flows[segment->track], script->bytes + segment->start, len);

		/* What was released had no fault; of requests more than that is fed. */
		fuzz_check(!fault || segment->track == SESSION_REQUEST);
		left[segment->track] -= len;
	}
}

/* A response of its own: whole, for whoever asked. */
static void check_response(const struct fuzz_setup *setup, const uint8_t *bytes, size_t len,
			   bool head)
{
	struct fuzz_stream plain = {.setup = setup};
	const struct http1_request request = {.head = head};
	struct session *session = NULL;

	fuzz_check(fuzz_stream_open(&plain, 0));
	fuzz_check(!exchanges_request(plain.exchanges, &session));
	exchanges_request_head(plain.exchanges, &request);
	fuzz_check(!exchanges_request_end(plain.exchanges));
	exchanges_identify(plain.exchanges, FRAMING_HTTP1);
	fuzz_check(!feed(&plain.flows[SESSION_RESPONSE], bytes, len));
	fuzz_check(!pipeline_end(plain.flows[SESSION_RESPONSE].pipeline));
	fuzz_check(pipeline_released(plain.flows[SESSION_RESPONSE].pipeline) == len);
	fuzz_stream_close(&plain);
	fuzz_stream_done(&plain);
}

static void check_behind(const struct fuzz_stream *stream, const struct fuzz_setup *setup,
			 const uint8_t *bytes, size_t len)
{
	struct fuzz_stream plain = {.setup = setup};

	fuzz_check(fuzz_stream_open(&plain, 0));
	feed_released(&plain, stream);
	fuzz_check(!feed(&plain.flows[SESSION_RESPONSE], bytes, len));
	fuzz_stream_close(&plain);
	fuzz_stream_done(&plain);
}

void fuzz_stream_check_refusal(const struct fuzz_stream *stream)
{
	struct fuzz_setup setup = *stream->setup;
	bool head = setup.input->options[3] & 32;
	struct refusal_mark mark;
	uint8_t *bytes = NULL;
	size_t len = 0;

	if (!stream->fault || !stream->point_count)
		return;
	mark = stream->points[stream->point_count - 1].flows[SESSION_RESPONSE].mark;
	setup.terms[SESSION_REQUEST] = setup.terms[SESSION_RESPONSE] = NULL;
	setup.max_message = REFUSAL_MAX;
	if (refusal_new(&mark, head, "policy_denied", "t0", &bytes, &len))
		return;
	if (mark.place == REFUSAL_MESSAGE)
		check_response(&setup, bytes, len, head);
	else
		check_behind(stream, &setup, bytes, len);
	free(bytes);
}
