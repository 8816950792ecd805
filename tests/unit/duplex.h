/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both flows of a stream through pipelines that share their exchanges, as a script of
 * steps: which flow goes on, by what, and what is so afterwards. A script is run with each
 * step as it is, byte by byte, and with each step in turn cut in two at every offset; all
 * have to come out the same. While it runs it asserts that released is monotonic and never
 * past what is framed.
 */
#ifndef SLUICE_TESTS_UNIT_DUPLEX_H
#define SLUICE_TESTS_UNIT_DUPLEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/exchange.h"
#include "core/pipeline.h"

#define DUPLEX_SESSIONS_MAX 4u

/* Everything that the flow has been fed is released. */
#define DUPLEX_ALL UINT64_MAX

struct duplex_config {
	enum framing_kind framing;
	struct extract extract;
	const char
		*terms[8]; /* of the one task on both tracks; none: no track has tasks, or text */
	enum session_level level;
	const char *output; /* of the one task of `output`, o0; NULL: there is none */
	bool release_opaque, no_text;
	uint64_t max_message; /* 0: 1 MiB */
};

struct duplex_step {
	enum session_track track;
	const void *data;
	size_t len;
	bool end; /* the flow ends behind it */
	enum fault fault;
	uint64_t released;	  /* of the flow */
	enum refusal_place place; /* a refusal's, in the response flow */
};

/* Of each channel "name=" and its text, which goes on until a ';'. */
struct duplex_text {
	char *text;
	size_t len;
	char channel[64]; /* under way */
};

/* What came of it. */
struct duplex {
	struct terms *terms, *output;
	struct pipeline_task watcher;
	struct exchanges *exchanges;
	struct pipeline *flows[_SESSION_TRACK_MAX];
	uint64_t fed[_SESSION_TRACK_MAX], released[_SESSION_TRACK_MAX];
	struct duplex_text texts[_SESSION_TRACK_MAX];
	bool over[_SESSION_TRACK_MAX]; /* the flow has ended, and well */
	struct session_state ended[DUPLEX_SESSIONS_MAX];
	size_t count;
};

void duplex_make(const struct duplex_config *config, struct duplex *ret_duplex);
void duplex_done(struct duplex *duplex);
/* Feeds a step in two pieces, cut at an offset, or all byte by byte; asserts what it says. */
void duplex_step(struct duplex *duplex, const struct duplex_step *step, size_t cut);
#define DUPLEX_BYTES SIZE_MAX

/*
 * The script in every cut. ends: how its sessions ended, in order, a letter each: c
 * complete, d denied, f failed, x disconnected, as those are that are open at its end.
 */
void duplex_run(const struct duplex_config *config, const struct duplex_step *steps, size_t count,
		const char *ends);
/* The same; and this is in the text of the response flow, or that of the request flow. */
void duplex_run_text(const struct duplex_config *config, const struct duplex_step *steps,
		     size_t count, const char *ends, enum session_track track, const char *text);

#endif
