/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

/* Steps in a row that take no byte: a codec that undoes a coding gives out by and by. */
#define IDLE_MAX 4096u
/* What is held beside what is said: the headers that brotli's allocations have. */
#define UNCOUNTED 256u

/* Allocation here is ours, and not the codec's. */
static void tell(struct fuzz_run *run, const struct h2_piece *piece, uint64_t limit)
{
	struct piece_story *story = &run->story;
	size_t end = run->at + piece->used;

	fuzz_memory_leave();
	switch (piece->kind) {
	case PIECE_NOTHING:
		break;
	case PIECE_DATA:
		run->payload += piece->len;
		fuzz_check(piece->len > 0);
		fuzz_check(!limit || run->payload <= limit);
		piece_tell_bytes(story, 'D', piece->stream, piece->data, piece->len);
		break;
	case PIECE_META:
		fuzz_check(piece->len > 0);
		piece_tell_bytes(story, 'M', piece->stream, piece->data, piece->len);
		break;
	case PIECE_META_END:
		piece_tell_meta_end(story);
		break;
	case PIECE_MESSAGE:
		piece_tell_message(story, piece->stream, end);
		run->payload = 0;
		run->told = story->len;
		break;
	case PIECE_UNIT:
	case PIECE_TAIL:
		piece_tell_unit(story, piece, end);
		run->told = story->len;
		break;
	default:
		fuzz_fail(__FILE__, __LINE__, "a piece of no kind");
	}
	fuzz_memory_enter();
}

enum fault fuzz_took_h2(struct fuzz_run *run, enum fault fault, const struct h2_piece *piece,
			uint64_t limit, size_t *ret_used)
{
	if (fault)
		return fault;
	tell(run, piece, limit);
	*ret_used = piece->used;
	return FAULT_NONE;
}

enum fault fuzz_took(struct fuzz_run *run, enum fault fault, const struct piece *piece,
		     uint64_t limit, size_t *ret_used)
{
	struct h2_piece same = piece_of_none(piece);

	return fuzz_took_h2(run, fault, &same, limit, ret_used);
}

bool fuzz_vague(const struct fuzz_input *input)
{
	(void)input;
	return true;
}

static void check_memory(const struct fuzz_codec *codec, const void *frame)
{
	size_t says = codec->memory ? codec->memory(frame) : 0;

	fuzz_check(fuzz_memory_peak() <= codec->cap);
	fuzz_check(fuzz_memory_now() <= says + UNCOUNTED);
}

/* One call; false: it is at fault, and says so again. */
static bool step(const struct fuzz_codec *codec, void *frame, struct fuzz_run *run,
		 const uint8_t *data, size_t len, size_t *ret_used)
{
	bool vague = codec->vague && codec->vague(run->input);
	enum fault fault, again;
	size_t used = 0;

	fuzz_memory_enter();
	fault = codec->step(frame, run, data, len, &used);
	fuzz_memory_leave();
	fuzz_check(used <= len);
	run->at += used;
	*ret_used = used;
	if (!fault)
		return true;
	piece_tell_fault(&run->story, fault, vague ? 0 : run->at);
	if (codec->final || used == len)
		return false;
	fuzz_memory_enter();
	again = codec->step(frame, run, data + used, len - used, &used);
	fuzz_memory_leave();
	fuzz_check(again == fault);
	return false;
}

/* Bytes of one read. False: a fault. */
static bool feed(const struct fuzz_codec *codec, void *frame, struct fuzz_run *run,
		 const uint8_t *data, size_t len)
{
	uint8_t *copy = fuzz_copy(data, len);
	size_t at = 0, used, idle = 0;
	bool going = true;

	while (going && at < len) {
		going = step(codec, frame, run, copy + at, len - at, &used);
		at += used;
		idle = used ? 0 : idle + 1;
		fuzz_check(idle < IDLE_MAX);
	}
	free(copy);
	check_memory(codec, frame);
	return going;
}

static void end(const struct fuzz_codec *codec, void *frame, struct fuzz_run *run)
{
	enum fault fault;

	if (!codec->end)
		return;
	fuzz_memory_enter();
	fault = codec->end(frame, run);
	fuzz_memory_leave();
	if (fault)
		piece_tell_fault(&run->story, fault, run->at);
}

static void run_codec(const struct fuzz_codec *codec, const struct fuzz_input *input, bool cut,
		      struct fuzz_run *ret_run)
{
	void *frame = calloc(1, codec->size);
	bool going = true;

	*ret_run = (struct fuzz_run){.input = input, .story = {.streams = codec->streams}};
	fuzz_check(frame != NULL);
	piece_tell_bytes(&ret_run->story, 'S', 0, "", 1);
	fuzz_memory_reset();
	fuzz_memory_enter();
	codec->init(frame, input);
	fuzz_memory_leave();
	for (size_t at = 0, n = 0, size; going && at < input->len; at += size, n++) {
		size = cut ? MIN(fuzz_cut(input, n), input->len - at) : input->len;
		going = feed(codec, frame, ret_run, input->data + at, size);
	}
	if (going) {
		ret_run->story.partial = codec->partial && codec->partial(frame);
		fuzz_check(ret_run->at == input->len);
		end(codec, frame, ret_run);
	}
	fuzz_memory_enter();
	if (codec->done)
		codec->done(frame);
	fuzz_memory_leave();
	fuzz_check(fuzz_memory_now() == 0);
	free(frame);
}

static void show(const char *name, const struct fuzz_run *run)
{
	fprintf(stderr, "%s: fault %s after %zu bytes\n", name, fault_name(run->story.fault),
		run->at);
	fwrite(run->story.text, 1, MIN(run->story.len, (size_t)4000), stderr);
	fputc('\n', stderr);
}

static bool same(const struct fuzz_codec *codec, const struct fuzz_run *a, const struct fuzz_run *b)
{
	size_t len = a->story.len;

	if (a->story.fault != b->story.fault || a->story.partial != b->story.partial)
		return false;
	/* How much of the payload at fault was handed on is not promised then. */
	if (a->story.fault && codec->vague && codec->vague(a->input))
		len = a->told;
	else if (b->story.len != len)
		return false;
	return a->told == b->told && memcmp(a->story.text, b->story.text, len) == 0;
}

void fuzz_codec_check(const struct fuzz_codec *codec, const uint8_t *bytes, size_t len)
{
	struct fuzz_input input;
	struct fuzz_run whole, cut;

	if (!fuzz_input_init(&input, bytes, len))
		return;
	run_codec(codec, &input, false, &whole);
	run_codec(codec, &input, true, &cut);
	if (!same(codec, &whole, &cut)) {
		show("in one call", &whole);
		show("cut", &cut);
		fuzz_fail(__FILE__, __LINE__, "the cuts change what is told");
	}
	piece_story_done(&whole.story);
	piece_story_done(&cut.story);
}
