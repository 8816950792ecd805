/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was released against what a reader of it finds: the same stream without tasks tells
 * its text, and that is searched as a whole.
 */
#include <string.h>

#include "core/utf8.h"
#include "fuzz/stream.h"
#include "fuzz/texts.h"

struct search {
	const struct fuzz_stream *judged;
	/*
	 * Of each flow: what its joined channels have said since they began, with what of it
	 * was in released units marked; and all that any channel ever said.
	 */
	struct fuzz_texts joined[_SESSION_TRACK_MAX], ever[_SESSION_TRACK_MAX];
	/* A term in one text of the unit under way. */
	bool found[_SESSION_TRACK_MAX];
};

static const struct fuzz_terms *terms_of(const struct search *search, const struct fuzz_flow *flow)
{
	return search->judged->setup->terms[flow->track];
}

static void on_text(void *context, struct fuzz_flow *flow, const char *channel, const uint8_t *text,
		    size_t len)
{
	struct search *search = context;

	fuzz_texts_add(&search->ever[flow->track], channel, text, len);
	if (fuzz_terms_find(terms_of(search, flow), text, len) != SIZE_MAX)
		search->found[flow->track] = true;
	if (pipeline_declares(flow->pipeline, channel))
		fuzz_texts_add(&search->joined[flow->track], channel, text, len);
}

/* At that level a unit leaves before what comes has made a term of its text. */
static bool is_deferred(const struct search *search)
{
	return search->judged->setup->level == SESSION_DEFERRED;
}

/* Nothing of a term, from its first letter on, is in what was released. */
static void check_joined(struct search *search, struct fuzz_flow *flow)
{
	struct fuzz_texts *texts = &search->joined[flow->track];

	for (size_t i = 0; i < texts->count; i++) {
		struct fuzz_text *text = &texts->texts[i];
		size_t at = fuzz_terms_find(terms_of(search, flow), text->text, text->len);

		fuzz_check(text->mark <= at || is_deferred(search));
	}
}

/* The channels begin anew. */
static void on_start(void *context, struct fuzz_flow *flow)
{
	struct search *search = context;

	check_joined(search, flow);
	fuzz_texts_done(&search->joined[flow->track]);
}

static void on_unit(void *context, struct fuzz_flow *flow, const struct pipeline_unit *unit)
{
	struct search *search = context;
	struct fuzz_texts *texts = &search->joined[flow->track];

	if (unit->end <= search->judged->flows[flow->track].released) {
		fuzz_check(!search->found[flow->track] ||
			   (is_deferred(search) && fuzz_terms_ask(terms_of(search, flow))));
		for (size_t i = 0; i < texts->count; i++)
			texts->texts[i].mark = texts->texts[i].len;
	}
	search->found[flow->track] = false;
	if (flow->stream->setup->extract.join_unit)
		on_start(context, flow);
}

static void on_last(void *context, struct fuzz_stream *stream)
{
	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		check_joined(context, &stream->flows[t]);
}

/* Who denies has seen the term, in a text of one channel. */
static void check_denial(const struct search *search, const struct fuzz_flow *flow)
{
	const struct fuzz_terms *terms = terms_of(search, flow);
	const struct fuzz_texts *texts = &search->ever[flow->track];
	bool found = false;

	/*
	 * What folds to a letter of a term need not be that letter; and text that may be JSON is
	 * read as such too, which nobody is shown.
	 */
	if (fuzz_terms_fold(terms) || fuzz_texts_find(texts, "raw") ||
	    fuzz_texts_find(texts, "form"))
		return;
	for (size_t i = 0; flow->task && i < texts->count; i++)
		found = found || fuzz_terms_find(terms, texts->texts[i].text,
						 texts->texts[i].len) != SIZE_MAX;
	fuzz_check(!flow->task || found);
}

/* Tasks change nothing of where units end. */
static void check_units(const struct fuzz_flow *judged, const struct fuzz_flow *plain)
{
	if (fuzz_flow_is_unread(plain))
		return;
	fuzz_check(plain->unit_count >= judged->unit_count);
	for (size_t i = 0; i < judged->unit_count; i++)
		fuzz_check(judged->units[i].end == plain->units[i].end);
}

void fuzz_stream_check_leaks(const struct fuzz_stream *stream)
{
	struct search search = {.judged = stream};
	struct fuzz_stream plain = {
		.on_text = on_text,
		.on_unit = on_unit,
		.on_start = on_start,
		.on_last = on_last,
		.context = &search,
	};
	struct fuzz_setup setup = *stream->setup;
	unsigned int text = 0;

	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		text |= setup.terms[t] ? FUZZ_TEXT(t) : 0;
		setup.terms[t] = NULL;
	}
	if (!text)
		return;
	fuzz_check(fuzz_stream_run(&plain, &setup, FUZZ_WHOLE, text));
	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		if (stream->setup->terms[t]) {
			check_units(&stream->flows[t], &plain.flows[t]);
			check_denial(&search, &stream->flows[t]);
		}
		fuzz_texts_done(&search.joined[t]);
		fuzz_texts_done(&search.ever[t]);
	}
	fuzz_stream_done(&plain);
}
