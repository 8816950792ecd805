/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the body of an HTTP message is read: by what its head says it is, and what the
 * policy wants of it. Pure choice, no state.
 */
#ifndef SLUICE_CORE_PIPELINE_READING_H
#define SLUICE_CORE_PIPELINE_READING_H

#include <stdbool.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/frame_http1.h"
#include "core/pipeline.h"
#include "core/pipeline_body.h"

struct pipeline_wanted {
	struct extract extract;
	enum http1_inner inner;
	bool release_opaque;
};

struct pipeline_reading {
	enum body_kind kind;
	enum pipeline_codec_kind codec; /* BODY_PIECES */
	bool by_element;		/* BODY_DOCUMENT: as in struct pipeline_body */
	struct extract extract;
	unsigned int flags; /* of extractor_init() */
};

/*
 * evaluate: somebody judges or sees the text; where nobody does only streams of messages
 * are framed, and any other body is left unread. FAULT_OPAQUE_BODY: it is no text, and
 * the policy refuses that.
 */
enum fault pipeline_read(const struct pipeline_wanted *wanted, const struct http1_head *head,
			 bool evaluate, struct pipeline_reading *ret_reading) must_check;

/* The same for the messages of a WebSocket. */
void pipeline_read_websocket(const struct pipeline_wanted *wanted, bool evaluate,
			     struct pipeline_reading *ret_reading);

#endif
