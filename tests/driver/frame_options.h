/* SPDX-License-Identifier: Apache-2.0 */
/* What a framing record asks for, as the core takes it. */
#ifndef SLUICE_TESTS_DRIVER_FRAME_OPTIONS_H
#define SLUICE_TESTS_DRIVER_FRAME_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/pipeline.h"
#include "core/terms.h"

struct frame_bytes {
	uint8_t *data;
	size_t len;
};

struct frame_options {
	struct framing framing;
	struct extract extract;
	uint64_t max_message;
	enum session_track track;
	const json_t *requests; /* http1: methods of those that are answered; the record's */
	bool eof;
	bool h2;    /* messages of gRPC in frames of HTTP/2: no framing of a pipeline's */
	bool units; /* the answer tells of the units */
	/* Stated: the answer tells what was released, and of that alone. */
	bool leveled;
	enum session_level level;
	struct terms *terms; /* NULL: no policy */
};

/* Why a record has no answer; error is a string constant. */
struct frame_refusal {
	const char *error; /* "unsupported" or "bad_record" */
	char detail[160];
};

/* 0, or -EINVAL with *ret_refusal filled. */
int frame_options_init(const json_t *record, struct frame_options *ret_options,
		       struct frame_refusal *ret_refusal);
void frame_options_done(struct frame_options *options);

/* -EINVAL: no string of whole hexadecimal bytes. Appends to bytes. */
int frame_append_hex(const json_t *hex, struct frame_bytes *bytes);

#endif
