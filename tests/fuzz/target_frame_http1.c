/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1 messages of one direction. Option 0, odd: responses; 1: what is asked for, two
 * bits for each of the requests that they answer by turns.
 */
#include "core/frame_http1.h"
#include "fuzz/codec.h"
#include "fuzz/targets.h"

struct frame {
	struct frame_http1 http;
	bool answering; /* it knows what the response under way answers */
	bool tunnel;	/* what comes is another protocol's */
	unsigned int answers;
};

static void init(void *frame, const struct fuzz_input *input)
{
	frame_http1_init(&((struct frame *)frame)->http, input->options[0] & 1);
}

static void done(void *frame)
{
	frame_http1_done(&((struct frame *)frame)->http);
}

static void answer(struct frame *f, uint8_t option)
{
	unsigned int kind = option >> f->answers % 4 * 2 & 3;
	const struct http1_request request = {
		.head = kind == 1,
		.connect = kind == 2,
		.upgrade = kind == 3,
		.websocket = kind == 3 && f->answers % 2,
	};

	if (!f->http.response || f->answering)
		return;
	frame_http1_answer(&f->http, &request);
	f->answering = true;
}

static void tell_head(struct fuzz_run *run, const struct http1_head *head)
{
	const struct h2_piece piece = {
		.type = (uint8_t)head->body,
		.stream = head->status,
		.end_stream = head->interim || head->expect_continue,
	};

	fuzz_check(head->body != HTTP1_LENGTH || head->length > 0);
	fuzz_check(head->coding < _CODING_MAX && head->media < _MEDIA_CLASS_MAX);
	piece_tell_unit(&run->story, &piece, (size_t)head->length);
}

/* at: where the piece ends. */
static void tell(struct frame *f, struct fuzz_run *run, const struct http1_piece *piece, size_t at)
{
	struct piece_story *story = &run->story;
	char kind = "NSFHBXCcE"[piece->kind];

	if (piece->kind == HTTP1_NOTHING)
		return;
	fuzz_memory_leave();
	switch (piece->kind) {
	case HTTP1_BODY:
		fuzz_check(piece->len == piece->used && piece->len > 0);
		piece_tell_bytes(story, kind, 0, piece->data, piece->len);
		break;
	case HTTP1_START:
		fuzz_check(!f->http.target_len ||
			   (f->http.target >= piece->data &&
			    f->http.target + f->http.target_len <= piece->data + piece->len));
		/* fallthrough */
	case HTTP1_FIELD:
	case HTTP1_EXTENSION:
		piece_tell_bytes(story, kind, 0, piece->data, piece->len);
		piece_tell_meta_end(story);
		break;
	case HTTP1_HEAD:
		tell_head(run, &f->http.head);
		f->tunnel = f->http.head.body == HTTP1_TUNNEL && !f->http.late;
		break;
	case HTTP1_CHUNK:
		fuzz_check(!piece->used && !f->http.left);
		break;
	default:
		piece_tell_message(story, (uint32_t)piece->kind, at);
		break;
	}
	run->told = story->len;
	fuzz_memory_enter();
	if (piece->kind != HTTP1_END)
		return;
	f->answering = false;
	f->answers++;
}

static enum fault step(void *frame, struct fuzz_run *run, const uint8_t *data, size_t len,
		       size_t *ret_used)
{
	struct frame *f = frame;
	struct http1_piece piece = {0};
	enum fault fault;

	*ret_used = len;
	if (f->tunnel)
		return FAULT_NONE;
	answer(f, run->input->options[1]);
	fault = frame_http1_next(&f->http, data, len, &piece);
	*ret_used = fault ? 0 : piece.used;
	while (!fault) {
		tell(f, run, &piece, run->at + *ret_used);
		if (f->tunnel || !frame_http1_due(&f->http))
			break;
		answer(f, run->input->options[1]);
		piece = (struct http1_piece){0};
		fault = frame_http1_next(&f->http, NULL, 0, &piece);
		fuzz_check(fault || !piece.used);
	}
	return fault;
}

static enum fault end(void *frame, struct fuzz_run *run)
{
	struct frame *f = frame;
	bool ended = false;
	enum fault fault = f->tunnel ? FAULT_NONE : frame_http1_end(&f->http, &ended);

	fuzz_memory_leave();
	if (!fault && ended)
		piece_tell_message(&run->story, HTTP1_END, run->at);
	fuzz_memory_enter();
	return fault;
}

static bool partial(const void *frame)
{
	return !frame_http1_between(&((const struct frame *)frame)->http);
}

static size_t memory(const void *frame)
{
	return frame_http1_memory(&((const struct frame *)frame)->http);
}

void fuzz_frame_http1(const uint8_t *bytes, size_t len)
{
	static const struct fuzz_codec codec = {
		.size = sizeof(struct frame),
		.final = true,
		.vague = fuzz_vague,
		.cap = 8u * HTTP1_HEAD_MAX,
		.init = init,
		.done = done,
		.step = step,
		.end = end,
		.partial = partial,
		.memory = memory,
	};

	fuzz_codec_check(&codec, bytes, len);
}
