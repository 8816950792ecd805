/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/piece_story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/utf8.h"

/* Rests up to this length are given to the codec in memory of their own. */
#define COPY_MAX 4096u
/* Inputs up to this length are cut in two at every offset, longer ones at some. */
#define CUTS_MAX 600u

void piece_story_done(struct piece_story *story)
{
	free(story->text);
	story->text = NULL;
}

static void tell(struct piece_story *story, const void *text, size_t len)
{
	size_t need = story->len + len + 1;

	if (need > story->capacity) {
		story->capacity = MAX(2 * need, (size_t)256);
		story->text = realloc(story->text, story->capacity);
		assert_non_null(story->text);
	}
	if (len)
		memcpy(story->text + story->len, text, len);
	story->len += len;
	story->text[story->len] = '\0';
}

__attribute__((format(printf, 2, 3))) static void tell_format(struct piece_story *story,
							      const char *format, ...)
{
	char text[64];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	assert_true(len >= 0 && (size_t)len < sizeof(text));
	tell(story, text, (size_t)len);
}

static void close_bytes(struct piece_story *story)
{
	if (story->open)
		tell(story, ")", 1);
	story->open = '\0';
}

void piece_tell_bytes(struct piece_story *story, char kind, uint32_t stream, const void *data,
		      size_t len)
{
	if (!len)
		return;
	if (story->open != kind || story->open_stream != stream) {
		close_bytes(story);
		if (story->streams)
			tell_format(story, "%c%u:(", kind, stream);
		else
			tell_format(story, "%c(", kind);
		story->open = kind;
		story->open_stream = stream;
	}
	tell(story, data, len);
}

void piece_tell_meta_end(struct piece_story *story)
{
	close_bytes(story);
	tell(story, ".", 1);
}

void piece_tell_message(struct piece_story *story, uint32_t stream, size_t end)
{
	close_bytes(story);
	if (story->streams)
		tell_format(story, "E%u: ", stream);
	else
		tell_format(story, "E@%zu ", end);
}

void piece_tell_unit(struct piece_story *story, const struct h2_piece *unit, size_t end)
{
	close_bytes(story);
	if (story->streams)
		tell_format(story, "U%u/%u%s@%zu ", unit->type, unit->stream,
			    unit->end_stream ? "!" : "", end);
	else
		tell_format(story, "U@%zu ", end);
}

void piece_tell_fault(struct piece_story *story, enum fault fault, size_t offset)
{
	close_bytes(story);
	story->fault = fault;
	tell_format(story, "F(%s)@%zu", fault_name(fault), offset);
}

struct h2_piece piece_of_none(const struct piece *piece)
{
	return (struct h2_piece){
		.kind = piece->kind,
		.data = piece->data,
		.len = piece->len,
		.used = piece->used,
	};
}

struct run {
	const struct piece_codec *codec;
	void *frame;
	struct piece_story *story;
	size_t at;
	bool failed;
	bool must_fail; /* PIECE_NOTHING did not take all */
};

static void take(struct run *run, const struct h2_piece *piece)
{
	struct piece_story *story = run->story;

	run->at += piece->used;
	switch (piece->kind) {
	case PIECE_NOTHING:
		break;
	case PIECE_DATA:
	case PIECE_META:
		assert_true(piece->len > 0);
		piece_tell_bytes(story, piece->kind == PIECE_DATA ? 'D' : 'M', piece->stream,
				 piece->data, piece->len);
		break;
	case PIECE_META_END:
		piece_tell_meta_end(story);
		break;
	case PIECE_MESSAGE:
		piece_tell_message(story, piece->stream, run->at);
		break;
	case PIECE_UNIT:
		piece_tell_unit(story, piece, run->at);
		break;
	default:
		fail_msg("piece of kind %d", piece->kind);
	}
}

/* One call, in memory that holds no byte more and is gone behind it. */
static size_t call(struct run *run, const uint8_t *data, size_t len)
{
	struct h2_piece piece = {.used = SIZE_MAX}, again = {.used = SIZE_MAX};
	uint8_t *copy = NULL;
	enum fault fault;

	if (len <= COPY_MAX) {
		copy = malloc(len);
		assert_non_null(copy);
		memcpy(copy, data, len);
		data = copy;
	}
	fault = run->codec->next(run->frame, data, len, &piece);
	if (fault) {
		assert_true(piece.used == SIZE_MAX);
		assert_int_equal(run->codec->next(run->frame, data, len, &again), fault);
		piece_tell_fault(run->story, fault, run->at);
		run->failed = true;
	} else {
		assert_false(run->must_fail);
		assert_true(piece.used <= len);
		assert_true(piece.used || piece.kind != PIECE_NOTHING);
		run->must_fail = piece.kind == PIECE_NOTHING && piece.used < len;
		take(run, &piece);
	}
	free(copy);
	return fault ? 0 : piece.used;
}

static void feed(struct run *run, const uint8_t *data, size_t len)
{
	size_t used = 0, idle = 0;

	while (used < len && !run->failed) {
		size_t took = call(run, data + used, len - used);

		/* More than what one byte can inflate to would be an endless loop. */
		idle = took ? 0 : idle + 1;
		assert_true(idle < 1000);
		used += took;
	}
}

void piece_run(const struct piece_codec *codec, const void *config, const uint8_t *data, size_t len,
	       size_t first, size_t size, struct piece_story *ret_story)
{
	struct run run = {.codec = codec, .story = ret_story};

	*ret_story = (struct piece_story){.streams = codec->streams};
	tell(ret_story, "", 0);
	run.frame = calloc(1, codec->size);
	assert_non_null(run.frame);
	codec->init(run.frame, config);
	assert_false(codec->partial(run.frame));
	feed(&run, data, MIN(first, len));
	for (size_t at = first; at < len && !run.failed; at += size)
		feed(&run, data + at, MIN(size, len - at));
	close_bytes(ret_story);
	ret_story->partial = !run.failed && codec->partial(run.frame);
	if (codec->done)
		codec->done(run.frame);
	free(run.frame);
}

void piece_assert_same(const struct piece_story *got, const struct piece_story *expected)
{
	if (got->len != expected->len || memcmp(got->text, expected->text, got->len) != 0)
		fail_msg("%.4000s\n  and not\n%.4000s", got->text, expected->text);
	assert_int_equal(got->partial, expected->partial);
}

static void reference(const struct piece_codec *codec, const void *config, const uint8_t *data,
		      size_t len, struct piece_story *ret_story)
{
	*ret_story = (struct piece_story){.streams = codec->streams};
	tell(ret_story, "", 0);
	codec->reference(config, data, len, ret_story);
	close_bytes(ret_story);
	ret_story->partial = !ret_story->fault && ret_story->partial;
}

static void check_cut(const struct piece_codec *codec, const void *config, const uint8_t *data,
		      size_t len, size_t first, size_t size, const struct piece_story *expected)
{
	struct piece_story got;

	piece_run(codec, config, data, len, first, size, &got);
	piece_assert_same(&got, expected);
	piece_story_done(&got);
}

void piece_check(const struct piece_codec *codec, const void *config, const void *data, size_t len,
		 struct piece_story *ret_story)
{
	struct piece_story expected;

	reference(codec, config, data, len, &expected);
	check_cut(codec, config, data, len, len, 1, &expected);
	check_cut(codec, config, data, len, 1, 1, &expected);
	for (size_t cut = 1; cut < len; cut += 1 + len / CUTS_MAX)
		check_cut(codec, config, data, len, cut, len, &expected);
	if (ret_story)
		*ret_story = expected;
	else
		piece_story_done(&expected);
}

void piece_check_text(const struct piece_codec *codec, const void *config, const void *data,
		      size_t len, const char *text, bool partial)
{
	struct piece_story story;

	piece_check(codec, config, data, len, &story);
	assert_string_equal(story.text, text);
	assert_int_equal(story.partial, partial);
	piece_story_done(&story);
}

void piece_check_random(const struct piece_codec *codec, const void *config, const uint8_t *data,
			size_t len, size_t cuts, unsigned int *seed)
{
	struct piece_story expected;

	reference(codec, config, data, len, &expected);
	for (size_t i = 0; i < cuts; i++)
		check_cut(codec, config, data, len, 1 + piece_random(seed) % 40,
			  1 + piece_random(seed) % 20, &expected);
	check_cut(codec, config, data, len, len, 1, &expected);
	piece_story_done(&expected);
}

size_t piece_ill_at(const uint8_t *text, size_t there, size_t len)
{
	size_t at = 0;

	while (at < there) {
		uint8_t rune[] = {text[at], 0x80, 0x80, 0x80};
		unsigned int need = utf8_length(text[at]);

		if (!need)
			return at;
		for (unsigned int i = 1; i < need; i++) {
			if (at + i == len)
				return len - 1;
			if (at + i == there)
				return SIZE_MAX;
			rune[i] = text[at + i];
			if (!utf8_rune(rune, need))
				return at + i;
		}
		at += need;
	}
	return SIZE_MAX;
}

unsigned int piece_random(unsigned int *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

void piece_add(struct piece_bytes *bytes, const void *data, size_t len)
{
	assert_true(len <= sizeof(bytes->data) - bytes->len);
	memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
}

void piece_add_number(struct piece_bytes *bytes, uint64_t value, size_t len)
{
	while (len--) {
		uint8_t byte = (uint8_t)(value >> 8 * len);

		piece_add(bytes, &byte, 1);
	}
}
