/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/ws_story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/ws_reference.h"

#define SHORT_FLOW  24u
#define JITTERS_MAX 6u

void ws_frame_add(struct coded_bytes *bytes, bool client, uint8_t first, const void *payload,
		  size_t len)
{
	uint8_t mask = client ? 0x80 : 0, *key;
	uint8_t header[10] = {first, mask};
	size_t header_len = 2;

	if (len < 126) {
		header[1] |= (uint8_t)len;
	} else {
		unsigned int width = len <= UINT16_MAX ? 2 : 8;

		header[1] |= width == 2 ? 126 : 127;
		for (unsigned int i = 0; i < width; i++)
			header[header_len++] =
				(uint8_t)((uint64_t)len >> 8 * (width - 1 - i) & 0xff);
	}
	coded_bytes_add(bytes, header, header_len);
	if (client) {
		uint32_t random = (uint32_t)(bytes->len + len + 1) * 2654435761u;

		coded_bytes_add(bytes, &random, sizeof(random));
	}
	coded_bytes_add(bytes, payload, len);
	key = bytes->data + bytes->len - len - 4;
	for (size_t i = 0; client && i < len; i++)
		bytes->data[bytes->len - len + i] ^= key[i % 4];
}

void ws_deflate(z_stream *stream, const void *payload, size_t len, struct coded_bytes *bytes)
{
	static const uint8_t tail[] = {0, 0, 0xff, 0xff};
	uint8_t output[4096];
	size_t before = bytes->len;

	if (!len) {
		/* zlib flushes nothing twice: RFC 7692 7.2.3.6. */
		coded_bytes_add(bytes, "", 1);
		return;
	}
	stream->next_in = (Bytef *)(uintptr_t)payload;
	stream->avail_in = (uInt)len;
	do {
		stream->next_out = output;
		stream->avail_out = sizeof(output);
		assert_int_not_equal(deflate(stream, Z_SYNC_FLUSH), Z_STREAM_ERROR);
		coded_bytes_add(bytes, output, sizeof(output) - stream->avail_out);
	} while (!stream->avail_out);
	assert_true(bytes->len - before > sizeof(tail));
	bytes->len -= sizeof(tail);
	assert_memory_equal(bytes->data + bytes->len, tail, sizeof(tail));
}

void ws_story_done(struct ws_story *story)
{
	coded_bytes_done(&story->text);
	coded_bytes_done(&story->payload);
	coded_bytes_done(&story->meta);
}

void ws_tell_text(struct ws_story *story, char kind, struct coded_bytes *text)
{
	const char head[] = {kind, '('};

	coded_bytes_add(&story->text, head, sizeof(head));
	coded_bytes_add(&story->text, text->data, text->len);
	coded_bytes_add(&story->text, ")", 1);
	text->len = 0;
}

void ws_tell_end(struct ws_story *story, size_t end)
{
	char text[24];

	coded_bytes_add(&story->text, text, (size_t)snprintf(text, sizeof(text), "@%zu ", end));
}

void ws_tell_rest(struct ws_story *story)
{
	if (story->meta.len)
		ws_tell_text(story, 'p', &story->meta);
	if (story->payload.len)
		ws_tell_text(story, story->is_text ? 't' : 'b', &story->payload);
}

static void take(struct ws_story *story, const struct frame_ws *frame, const struct piece *piece,
		 size_t at)
{
	switch (piece->kind) {
	case PIECE_NOTHING:
		break;
	case PIECE_DATA:
		assert_true(piece->len > 0);
		assert_true(frame_ws_partial(frame));
		coded_bytes_add(&story->payload, piece->data, piece->len);
		break;
	case PIECE_META:
		assert_true(piece->len > 0);
		coded_bytes_add(&story->meta, piece->data, piece->len);
		break;
	case PIECE_META_END:
		assert_true(story->meta.len > 0);
		ws_tell_text(story, 'P', &story->meta);
		break;
	case PIECE_MESSAGE:
		assert_false(frame_ws_partial(frame));
		ws_tell_text(story, frame_ws_is_text(frame) ? 'T' : 'B', &story->payload);
		ws_tell_end(story, at);
		break;
	case PIECE_UNIT:
		assert_false(frame_ws_partial(frame));
		coded_bytes_add(&story->text, "U", 1);
		ws_tell_end(story, at);
		break;
	default:
		fail();
	}
}

/* One call, with memory of its own, so that no byte beside it is read unnoticed. */
static size_t call(struct frame_ws *frame, const uint8_t *data, size_t len, size_t at,
		   struct ws_story *story)
{
	struct piece piece = {.used = SIZE_MAX};
	uint8_t *cut = malloc(len);

	assert_non_null(cut);
	memcpy(cut, data, len);
	story->fault = frame_ws_next(frame, cut, len, &piece);
	if (story->fault) {
		assert_int_equal(piece.used, SIZE_MAX);
		/* It stays. */
		assert_int_equal(frame_ws_next(frame, cut, len, &piece), story->fault);
		assert_int_equal(piece.used, SIZE_MAX);
		story->fault_at = at;
		free(cut);
		return 0;
	}
	assert_true(piece.used <= len);
	assert_true(piece.kind != PIECE_NOTHING || piece.used > 0);
	take(story, frame, &piece, at + piece.used);
	free(cut);
	return piece.used;
}

static unsigned int next_random(unsigned int *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

void ws_run(const struct frame_ws_config *config, const void *data, size_t len,
	    const struct ws_cuts *cuts, struct ws_story *ret_story)
{
	size_t at = 0, cut = MIN(cuts->first, len), memory;
	unsigned int seed = cuts->jitter;
	struct frame_ws *frame = NULL;

	*ret_story = (struct ws_story){.fault = FAULT_NONE};
	assert_int_equal(frame_ws_new(config, &frame), 0);
	assert_false(frame_ws_partial(frame));
	memory = frame_ws_memory(frame);
	while (at < len && !ret_story->fault) {
		if (cuts->jitter)
			cut = at + 1 + MIN(next_random(&seed) % 12, len - at - 1);
		else if (at == cut)
			cut += MIN(cuts->size, len - cut);
		at += call(frame, (const uint8_t *)data + at, cut - at, at, ret_story);
	}
	ret_story->partial = frame_ws_partial(frame);
	ret_story->closed = frame_ws_closed(frame);
	ret_story->is_text = frame_ws_is_text(frame);
	assert_int_equal(frame_ws_memory(frame), memory);
	ws_tell_rest(ret_story);
	frame_ws_free(frame);
}

void ws_assert_same(const struct ws_story *got, const struct ws_story *expected)
{
	assert_string_equal(fault_name(got->fault), fault_name(expected->fault));
	coded_assert_bytes(&got->text, &expected->text);
	if (expected->fault && expected->payload_end)
		assert_in_range(got->fault_at, expected->payload_at, expected->payload_end - 1);
	else if (expected->fault)
		assert_int_equal(got->fault_at, expected->fault_at);
	if (!expected->fault) {
		assert_int_equal(got->partial, expected->partial);
		assert_int_equal(got->closed, expected->closed);
		assert_int_equal(got->is_text, expected->is_text);
	}
}

static void check_cut(const struct frame_ws_config *config, const void *data, size_t len,
		      const struct ws_cuts *cuts, const struct ws_story *expected)
{
	struct ws_story got;

	ws_run(config, data, len, cuts, &got);
	ws_assert_same(&got, expected);
	/* A coded byte at fault is known when it comes alone. */
	if (expected->fault && !cuts->jitter && cuts->first == 1 && cuts->size == 1)
		assert_int_equal(got.fault_at, expected->fault_at);
	ws_story_done(&got);
}

void ws_check_cuts(const struct frame_ws_config *config, const void *data, size_t len,
		   struct ws_story *ret_story)
{
	struct ws_cuts cuts = {1, 1, 0};

	ws_reference(config, data, len, ret_story);
	check_cut(config, data, len, &cuts, ret_story);
	for (size_t cut = 1; cut <= len; cut++) {
		cuts = (struct ws_cuts){cut, len, 0};
		check_cut(config, data, len, &cuts, ret_story);
	}
	for (size_t first = 1; len <= SHORT_FLOW && first < len; first++) {
		for (size_t size = 1; size < len - first; size++) {
			cuts = (struct ws_cuts){first, size, 0};
			check_cut(config, data, len, &cuts, ret_story);
		}
	}
	for (unsigned int jitter = 1; jitter <= JITTERS_MAX; jitter++) {
		cuts.jitter = jitter;
		check_cut(config, data, len, &cuts, ret_story);
	}
}

static void assert_text(const struct ws_story *story, const char *text)
{
	assert_int_equal(story->text.len, strlen(text));
	if (story->text.len)
		assert_memory_equal(story->text.data, text, story->text.len);
}

void ws_check(const struct frame_ws_config *config, const void *data, size_t len, const char *text,
	      bool partial)
{
	struct ws_story story;

	ws_check_cuts(config, data, len, &story);
	assert_string_equal(fault_name(story.fault), fault_name(FAULT_NONE));
	assert_text(&story, text);
	assert_int_equal(story.partial, partial);
	ws_story_done(&story);
}

void ws_check_fault(const struct frame_ws_config *config, const void *data, size_t len,
		    const char *text, enum fault fault, size_t fault_at)
{
	struct ws_story story;

	ws_check_cuts(config, data, len, &story);
	assert_string_equal(fault_name(story.fault), fault_name(fault));
	assert_text(&story, text);
	assert_int_equal(story.fault_at, fault_at);
	ws_story_done(&story);
}
