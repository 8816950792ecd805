/* SPDX-License-Identifier: Apache-2.0 */
/* Responses that stream, for tests of when what leaves: pieces of them, and flows to run them. */
#ifndef SLUICE_TESTS_UNIT_STREAMED_H
#define SLUICE_TESTS_UNIT_STREAMED_H

#include "unit/flow.h"

#define OK	"HTTP/1.1 200 OK\r\n"
#define SSE	OK "Content-Type: text/event-stream\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"
#define STREAM	SSE CHUNKED "\r\n"
#define ONE	"b\r\ndata: one\n\n\r\n"
#define BOMB	"c\r\ndata: bomb\n\n\r\n"
#define LAST	"0\r\n\r\n"
#define LEN(s)	(sizeof(s) - 1)

/* Answers, of which "bomb" is denied. */
static const struct flow_config streamed __attribute__((unused)) = {
	.framing = {.kind = FRAMING_HTTP1},
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {{"bomb"}},
	.request_count = 2,
};
/* Text that waits for more of it, in events. */
static const struct flow_config joined __attribute__((unused)) = {
	.framing = {.kind = FRAMING_SSE},
	.extract = {.kind = EXTRACT_RAW},
	.terms = {{"bomb"}},
};

static inline struct flow_config at_level(const struct flow_config *config,
					  enum session_level level)
{
	struct flow_config changed = *config;

	changed.level = level;
	return changed;
}

/* That many answers. */
static inline struct flow_config answers(enum session_level level, size_t count)
{
	struct flow_config config = at_level(&streamed, level);

	config.request_count = count;
	return config;
}

#endif
