/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framings that hand on pieces, for tests: what a codec says of an input, as a text that
 * is the same however the input is cut, and that a reference which has all of the input
 * before it can tell too. Fails with cmocka's assertions.
 *
 *	D(bytes)  payload		E@end  a message ends
 *	M(bytes)  text that is none	.      it ends
 *	U@end     a unit that is none	F(name)@offset  a fault
 *
 * Where there are streams, D, M and E are followed by the number of theirs and a colon, U
 * by the type of the frame, its stream, and "!" where this ended.
 */
#ifndef SLUICE_TESTS_UNIT_PIECE_STORY_H
#define SLUICE_TESTS_UNIT_PIECE_STORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/fault.h"
#include "core/frame_h2.h"
#include "core/piece.h"

struct piece_story {
	bool streams;
	bool partial; /* at the end of the input, where there was no fault */
	enum fault fault;
	char *text;
	size_t len, capacity;
	char open; /* D, M, or 0: bytes of the same kind go on */
	uint32_t open_stream;
};

void piece_story_done(struct piece_story *story);

void piece_tell_bytes(struct piece_story *story, char kind, uint32_t stream, const void *data,
		      size_t len);
void piece_tell_meta_end(struct piece_story *story);
void piece_tell_message(struct piece_story *story, uint32_t stream, size_t end);
void piece_tell_unit(struct piece_story *story, const struct h2_piece *unit, size_t end);
void piece_tell_fault(struct piece_story *story, enum fault fault, size_t offset);

/* A codec; config says how a frame is set up. Pieces of one without streams leave them 0. */
struct piece_codec {
	size_t size;
	bool streams;
	void (*init)(void *frame, const void *config);
	void (*done)(void *frame); /* NULL: nothing is allocated */
	enum fault (*next)(void *frame, const uint8_t *data, size_t len,
			   struct h2_piece *ret_piece);
	bool (*partial)(const void *frame);
	/* Tells what the whole input says, but for D, M and E in one go. */
	void (*reference)(const void *config, const uint8_t *data, size_t len,
			  struct piece_story *story);
};

struct h2_piece piece_of_none(const struct piece *piece); /* of no stream */

/* size: of each cut, but the first, which has `first` bytes. */
void piece_run(const struct piece_codec *codec, const void *config, const uint8_t *data, size_t len,
	       size_t first, size_t size, struct piece_story *ret_story);
void piece_assert_same(const struct piece_story *got, const struct piece_story *expected);

/*
 * The codec says what the reference does: in one piece, byte by byte, and in two at every
 * offset. *ret_story is the common one; NULL: it is not wanted.
 */
void piece_check(const struct piece_codec *codec, const void *config, const void *data, size_t len,
		 struct piece_story *ret_story);
/* The same, and what that is. */
void piece_check_text(const struct piece_codec *codec, const void *config, const void *data,
		      size_t len, const char *text, bool partial);
/* The codec says what the reference does, in `cuts` random ways. */
void piece_check_random(const struct piece_codec *codec, const void *config, const uint8_t *data,
			size_t len, size_t cuts, unsigned int *seed);

/* Where text of `len` bytes, of which some are there, shows that it is not UTF-8, or SIZE_MAX. */
size_t piece_ill_at(const uint8_t *text, size_t there, size_t len);

unsigned int piece_random(unsigned int *seed);

/* Input that is put together. */
struct piece_bytes {
	uint8_t data[8192];
	size_t len;
};

void piece_add(struct piece_bytes *bytes, const void *data, size_t len);
void piece_add_number(struct piece_bytes *bytes, uint64_t value, size_t len); /* big-endian */

#endif
