/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Content codings. Option 0: which; 1, odd: the words of a gzip header are given out.
 *
 * What comes out is compared with what zlib alone makes of it in one go, where that is all
 * there is to the coding.
 */
#include "core/content_coding.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "fuzz/codec.h"
#include "fuzz/targets.h"

/* Inputs of no more than this come out of zlib in one go, however well they are packed. */
#define PLAIN_MAX (1u << 20)

struct frame {
	struct decoder *decoder;
	bool words;
};

static enum content_coding coding_of(const struct fuzz_input *input)
{
	return (enum content_coding)(CODING_GZIP + input->options[0] % (_CODING_MAX - CODING_GZIP));
}

static void init(void *frame, const struct fuzz_input *input)
{
	struct frame *f = frame;

	fuzz_check(decoder_new(coding_of(input), &f->decoder) == 0);
	if (input->options[1] & 1)
		decoder_accept_words(f->decoder);
}

static void done(void *frame)
{
	decoder_free(((struct frame *)frame)->decoder);
}

static void tell(struct frame *f, struct fuzz_run *run, const uint8_t *out, size_t len)
{
	bool words = decoder_gave_words(f->decoder);

	fuzz_memory_leave();
	fuzz_check(!words || (run->input->options[1] & 1 && len <= CODING_WORDS_MAX));
	if (!words)
		run->payload += len;
	piece_tell_bytes(&run->story, words ? 'W' : 'D', 0, out, len);
	if (words)
		piece_tell_meta_end(&run->story);
	fuzz_memory_enter();
}

static enum fault step(void *frame, struct fuzz_run *run, const uint8_t *data, size_t len,
		       size_t *ret_used)
{
	struct frame *f = frame;
	enum fault fault;
	const uint8_t *out = NULL;
	size_t out_len = 0;

	decoder_feed(f->decoder, data, len);
	do {
		fault = decoder_next(f->decoder, &out, &out_len);
		if (!fault && out_len)
			tell(f, run, out, out_len);
	} while (!fault && out_len);
	*ret_used = fault ? 0 : len;
	/* D3, after each read. */
	fuzz_check(run->payload <= CODING_SLACK + (uint64_t)CODING_RATIO_MAX * (run->at + len));
	return fault;
}

static enum fault end(void *frame, struct fuzz_run *run)
{
	(void)run;
	return decoder_end(((struct frame *)frame)->decoder);
}

static bool partial(const void *frame)
{
	return decoder_holds(((const struct frame *)frame)->decoder);
}

static size_t memory(const void *frame)
{
	return decoder_memory(((const struct frame *)frame)->decoder);
}

/* All of one gzip member or zlib stream; the length of what comes out, or -1. */
static long inflate_whole(enum content_coding coding, const uint8_t *data, size_t len, uint8_t *out)
{
	z_stream stream = {
		.next_in = (Bytef *)data,
		.avail_in = (uInt)len,
		.next_out = out,
		.avail_out = PLAIN_MAX,
	};
	int r;

	fuzz_check(inflateInit2(&stream, coding == CODING_GZIP ? 31 : 15) == Z_OK);
	r = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	return r == Z_STREAM_END && !stream.avail_in ? (long)(PLAIN_MAX - stream.avail_out) : -1;
}

/* What the decoder gives out is what zlib does. */
static void compare(const struct fuzz_input *input, uint8_t *plain)
{
	long whole = inflate_whole(coding_of(input), input->data, input->len, plain);
	struct decoder *decoder;
	const uint8_t *out;
	size_t at = 0, out_len = 0;
	enum fault fault;

	fuzz_check(decoder_new(coding_of(input), &decoder) == 0);
	decoder_feed(decoder, input->data, input->len);
	do {
		fault = decoder_next(decoder, &out, &out_len);
		if (fault || whole < 0)
			break;
		fuzz_check(out_len <= (size_t)whole - at);
		fuzz_check(memcmp(plain + at, out, out_len) == 0);
		at += out_len;
	} while (out_len);
	if (!fault && whole >= 0)
		fuzz_check(decoder_end(decoder) == FAULT_NONE && at == (size_t)whole);
	decoder_free(decoder);
}

void fuzz_content_coding(const uint8_t *bytes, size_t len)
{
	static const struct fuzz_codec codec = {
		.size = sizeof(struct frame),
		.vague = fuzz_vague,
		.cap = 40u << 20,
		.init = init,
		.done = done,
		.step = step,
		.end = end,
		.partial = partial,
		.memory = memory,
	};
	struct fuzz_input input;
	uint8_t *plain;

	fuzz_codec_check(&codec, bytes, len);
	if (!fuzz_input_init(&input, bytes, len) || !input.len ||
	    (coding_of(&input) != CODING_GZIP && coding_of(&input) != CODING_DEFLATE))
		return;
	plain = malloc(PLAIN_MAX);
	fuzz_check(plain != NULL);
	compare(&input, plain);
	free(plain);
}
