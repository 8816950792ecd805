/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of a framing record through the pipeline, and what the pipeline
 * says of it: units, messages, start lines, texts.
 *
 * Text is kept by a second pipeline, over those bytes alone that count, since it is
 * handed on before it is judged.
 *
 * Units: bytes of the connection.
 */
#ifndef SLUICE_TESTS_DRIVER_FRAME_RUN_H
#define SLUICE_TESTS_DRIVER_FRAME_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "driver/frame_options.h"

enum frame_chunking { FRAME_GIVEN, FRAME_ONE, FRAME_BYTES, _FRAME_CHUNKING_MAX };

/* The reads of one connection: their bytes, and the end of each. */
struct frame_connection {
	struct frame_bytes bytes;
	size_t *ends;
	size_t count;
};

struct frame_message {
	size_t start, end; /* of its payload, in payloads */
	uint64_t unit_end; /* of the unit that completes it */
};

struct frame_text {
	char *name;
	struct frame_bytes bytes;
};

struct frame_run {
	const struct frame_options *options;
	enum frame_chunking chunking;
	/* The connection under way. */
	const struct frame_connection *connection;
	struct pipeline_unit *units;
	size_t unit_count, unit_capacity;
	struct frame_message *messages;
	size_t message_count, message_capacity;
	size_t messages_ended; /* by a unit */
	struct frame_bytes payloads;
	size_t payload_start; /* of the message under way */
	bool begun;	      /* a start line came, and no unit since */
	bool after_message;   /* the unit before completed a message */
	uint64_t counted;     /* end of the last unit that is more than a head, or a chunk's CRLF */
	uint64_t kept;	      /* end of the last unit that may be told of */
	uint64_t released;
	/* Over all connections. */
	struct frame_text *texts; /* in order of first appearance */
	size_t text_count;
	json_t *starts;
	bool failed; /* an observer ran out of memory */
	bool complete;
	enum fault fault;
};

/* Takes the next bytes of a connection. */
typedef enum fault (*frame_take)(void *context, const uint8_t *data, size_t len);

/* Hands on the bytes of the connection under way in the run's chunking, up to a fault. */
enum fault frame_run_feed(const struct frame_run *run, frame_take take, void *context) must_check;
/* Bytes of the payload of the message under way, which may be the last. */
void frame_run_payload(struct frame_run *run, const uint8_t *payload, size_t len, bool last);
/* A unit is whole, and so are as many messages as it says. */
void frame_run_unit(struct frame_run *run, const struct pipeline_unit *unit);

/*
 * Runs a connection; last: no other follows. -EINVAL: the options are out of
 * range. -ENOMEM.
 */
int frame_run_connection(struct frame_run *run, const struct frame_connection *connection,
			 bool last) must_check;
void frame_run_done(struct frame_run *run);

#endif
