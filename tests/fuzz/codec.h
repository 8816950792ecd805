/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codecs under a fuzzer: whatever takes bytes step by step and tells of them what the
 * cuts must not change. It is run over the data in one call and in the input's cuts, and
 * the two stories (unit/piece_story.h) have to be the same.
 *
 * While it runs this asserts that
 *  - a step takes no more than it was given, and goes on;
 *  - a fault stays, and takes nothing;
 *  - no more is allocated than the codec's cap, and no more is held than it says;
 *  - nothing is left behind once it is done.
 */
#ifndef SLUICE_TESTS_FUZZ_CODEC_H
#define SLUICE_TESTS_FUZZ_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/fault.h"
#include "core/frame_h2.h"
#include "core/piece.h"
#include "fuzz/fuzz.h"
#include "unit/piece_story.h"

/* What is told as the codec runs. */
struct fuzz_run {
	const struct fuzz_input *input;
	struct piece_story story;
	size_t at;	  /* bytes taken */
	size_t told;	  /* of the story: so much does not */
	uint64_t payload; /* bytes of the message under way */
};

struct fuzz_codec {
	size_t size; /* of the frame */
	bool streams;
	bool final; /* no step may follow a fault */
	/* How much is told before a fault, and where it is, depends on the cuts; NULL: no. */
	bool (*vague)(const struct fuzz_input *input);
	/* Bytes it may have allocated at once; fewer are compared with what it says. */
	size_t cap;
	void (*init)(void *frame, const struct fuzz_input *input);
	void (*done)(void *frame); /* NULL: nothing is allocated */
	/* Takes some of len (at least 1) bytes, tells of them; *ret_used says how many. */
	enum fault (*step)(void *frame, struct fuzz_run *run, const uint8_t *data, size_t len,
			   size_t *ret_used);
	/* The data ended; NULL: nothing comes of that. */
	enum fault (*end)(void *frame, struct fuzz_run *run);
	bool (*partial)(const void *frame);
	size_t (*memory)(const void *frame); /* NULL: none beside the frame */
};

/*
 * What a step does with a piece that a framing handed on, or a fault: tells of it. limit: of
 * a payload, or 0. Returns the fault.
 */
enum fault fuzz_took(struct fuzz_run *run, enum fault fault, const struct piece *piece,
		     uint64_t limit, size_t *ret_used);
enum fault fuzz_took_h2(struct fuzz_run *run, enum fault fault, const struct h2_piece *piece,
			uint64_t limit, size_t *ret_used);

/* The step and the state of a framing of pieces; the limit of a payload is option 0. */
#define FUZZ_FRAMING(framing)                                                                      \
	static enum fault step(void *frame, struct fuzz_run *run, const uint8_t *data, size_t len, \
			       size_t *ret_used)                                                   \
	{                                                                                          \
		struct piece piece = {0};                                                          \
		enum fault fault = framing##_next(frame, data, len, &piece);                       \
                                                                                                   \
		return fuzz_took(run, fault, &piece, fuzz_limit(run->input->options[0]),           \
				 ret_used);                                                        \
	}                                                                                          \
	static bool partial(const void *frame)                                                     \
	{                                                                                          \
		return framing##_partial(frame);                                                   \
	}

/* The same of one that allocates. */
#define FUZZ_FRAMING_OF_MEMORY(framing)         \
	FUZZ_FRAMING(framing)                   \
	static void done(void *frame)           \
	{                                       \
		framing##_done(frame);          \
	}                                       \
	static size_t memory(const void *frame) \
	{                                       \
		return framing##_memory(frame); \
	}

/* Says so of every input. */
bool fuzz_vague(const struct fuzz_input *input);

/* Runs the codec over the input, twice. */
void fuzz_codec_check(const struct fuzz_codec *codec, const uint8_t *bytes, size_t len);

#endif
