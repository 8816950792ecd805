/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline_reading.h"

/* A stream of messages; the policy's extractor, or what `auto` means for such a body. */
static void read_stream(const struct pipeline_wanted *wanted, struct pipeline_reading *reading,
			enum media_class media)
{
	bool events = media == MEDIA_SSE;

	reading->kind = events ? BODY_EVENTS : BODY_LINES;
	reading->flags |= events ? EXTRACTOR_EVENTS : EXTRACTOR_LINES | EXTRACTOR_JSON;
	if (wanted->extract.kind == EXTRACT_AUTO && !events)
		reading->extract.kind = EXTRACT_OLLAMA_CHAT;
}

/* What a stream spells in deltas stands whole in a document; that of gemini may be a stream. */
static void read_json(const struct pipeline_wanted *wanted, struct pipeline_reading *reading)
{
	enum extract_kind kind = wanted->extract.kind;

	if (kind == EXTRACT_GEMINI)
		reading->by_element = true;
	else if (kind != EXTRACT_NONE && kind != EXTRACT_RAW && kind != EXTRACT_PATH)
		reading->extract.kind = EXTRACT_AUTO;
}

/* Text as it stands; and its literals, in case it is JSON after all, or has some in it. */
static void read_text(const struct pipeline_wanted *wanted, struct pipeline_reading *reading)
{
	reading->extract = (struct extract){
		.kind = EXTRACT_RAW,
		.join_unit = true,
		.replace_ill_formed = wanted->extract.replace_ill_formed,
	};
	reading->flags |= EXTRACTOR_ATTEMPT;
}

static void read_eventstream(struct pipeline_reading *reading)
{
	reading->kind = BODY_PIECES;
	reading->codec = PIPELINE_CODEC_EVENTSTREAM;
	reading->flags |= EXTRACTOR_MESSAGES;
}

static enum fault read_media(const struct pipeline_wanted *wanted, enum media_class media,
			     struct pipeline_reading *reading)
{
	switch (media) {
	case MEDIA_SSE:
	case MEDIA_LINES:
		read_stream(wanted, reading, media);
		return FAULT_NONE;
	case MEDIA_EVENTSTREAM:
		read_eventstream(reading);
		return FAULT_NONE;
	case MEDIA_JSON:
		read_json(wanted, reading);
		return FAULT_NONE;
	case MEDIA_FORM:
		read_text(wanted, reading);
		reading->kind = BODY_FORM;
		return FAULT_NONE;
	case MEDIA_NONE:
	case MEDIA_TEXT:
		read_text(wanted, reading);
		return FAULT_NONE;
	default:
		reading->kind = BODY_UNREAD;
		return wanted->release_opaque ? FAULT_NONE : FAULT_OPAQUE_BODY;
	}
}

/*
 * Clients that ask for a stream read whatever comes with a success as one, whatever its type
 * says: what is read here as neither events nor JSON would be evaluated as another text.
 */
static bool is_mislabelled(const struct pipeline_wanted *wanted, const struct http1_head *head,
			   enum media_class media, const struct pipeline_reading *reading)
{
	return wanted->extract.strict && head->status >= 200 && head->status < 300 &&
	       media != MEDIA_SSE && media != MEDIA_JSON && reading->kind != BODY_UNREAD;
}

enum fault pipeline_read(const struct pipeline_wanted *wanted, const struct http1_head *head,
			 bool evaluate, struct pipeline_reading *ret_reading)
{
	struct pipeline_reading reading = {
		.kind = BODY_DOCUMENT,
		.extract = wanted->extract,
		.flags = evaluate ? EXTRACTOR_EVALUATE : 0,
	};
	enum media_class media = wanted->inner == HTTP1_INNER_SSE ? MEDIA_SSE : head->media;
	enum fault fault = FAULT_NONE;

	if (head->body == HTTP1_NO_BODY)
		reading.kind = BODY_UNREAD;
	else if (wanted->inner != HTTP1_INNER_NONE)
		fault = read_media(wanted, media, &reading);
	if (!evaluate && wanted->inner == HTTP1_INNER_MEDIA && reading.kind != BODY_EVENTS &&
	    reading.kind != BODY_LINES && reading.kind != BODY_PIECES) {
		reading.kind = BODY_UNREAD;
		fault = FAULT_NONE;
	}
	if (!fault && is_mislabelled(wanted, head, media, &reading))
		fault = FAULT_UNREPRESENTED;
	if (!fault)
		*ret_reading = reading;
	return fault;
}

void pipeline_read_websocket(const struct pipeline_wanted *wanted, bool evaluate,
			     struct pipeline_reading *ret_reading)
{
	*ret_reading = (struct pipeline_reading){
		.kind = BODY_PIECES,
		.codec = PIPELINE_CODEC_WS,
		.extract = wanted->extract,
		.flags = EXTRACTOR_MESSAGES | (evaluate ? EXTRACTOR_EVALUATE : 0),
	};
}
