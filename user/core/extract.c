/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/extract_forms.h"

static const char raw_name[] = "raw";

static int set_up_path(struct extractor *x, const struct extract *config)
{
	size_t len = strnlen(config->path, EXTRACT_PATH_MAX);

	if (len == 0 || len == EXTRACT_PATH_MAX)
		return -EINVAL;
	/* A text that ends with its unit is what any other string is. */
	return config->join_unit ? 0 : extract_tokens_join(&x->tokens, config->path);
}

/* The scanner's tokens go to a sink from here on. */
static void set_up_json(struct extractor *x, const struct json_sink *sink, void *context)
{
	x->json = true;
	x->scanner.sink = sink;
	x->scanner.context = context;
}

/* Text goes to its channel, and what it has literals of is read besides where that is wanted. */
static int join_raw(struct extractor *x, bool literals)
{
	if (channel_set_join(x->set, raw_name, false, &x->raw.channel) < 0)
		return -ENOMEM;
	x->raw_text = (struct extract_text){
		.channel = x->raw.channel,
		.joins = true,
		.always = true,
	};
	x->raw.text = literals ? &x->raw_text : NULL;
	return 0;
}

static int set_up_raw(struct extractor *x, unsigned int flags)
{
	x->text = true;
	return join_raw(x, (flags & EXTRACTOR_ATTEMPT) && !x->json);
}

/* The tokens go through the rules first; events are chunks, each of them. */
static int set_up_strict(struct extractor *x)
{
	x->strict = malloc(sizeof(*x->strict));
	if (!x->strict)
		return -ENOMEM;
	extract_strict_init(x->strict, x->known, &x->scanner);
	set_up_json(x, &extract_strict_sink, x->strict);
	x->document |= x->messages;
	return 0;
}

static int set_up_known(struct extractor *x, const struct extract *config)
{
	enum extract_kind kind = config->kind;
	size_t count;
	const struct extract_form *const *forms = extract_forms_of(kind, &count);

	x->known = malloc(sizeof(*x->known));
	if (!x->known)
		return -ENOMEM;
	extract_known_init(x->known, &x->tokens, forms, count);
	if (kind == EXTRACT_AUTO || kind == EXTRACT_BEDROCK)
		x->known->bytes = kind == EXTRACT_AUTO ? BYTES_PERHAPS : BYTES_CERTAIN;
	set_up_json(x, &extract_known_sink, x->known);
	return config->strict && kind == EXTRACT_OPENAI_CHAT ? set_up_strict(x) : 0;
}

static int set_up(struct extractor *x, const struct extract *config, unsigned int flags)
{
	switch (config->kind) {
	case EXTRACT_NONE:
		return 0;
	case EXTRACT_RAW:
		return set_up_raw(x, flags);
	case EXTRACT_PATH:
		set_up_json(x, &extract_tokens_sink, &x->tokens);
		return set_up_path(x, config);
	case EXTRACT_AUTO:
		x->event.texts = x->messages && !x->document;
		if (x->messages)
			return set_up_known(x, config);
		/* fall through */
	case EXTRACT_JSONRPC:
		set_up_json(x, &extract_tokens_sink, &x->tokens);
		return 0;
	case EXTRACT_OLLAMA_CHAT:
	case EXTRACT_OPENAI_CHAT:
	case EXTRACT_OPENAI_RESPONSES:
	case EXTRACT_ANTHROPIC:
	case EXTRACT_GEMINI:
	case EXTRACT_BEDROCK:
	case EXTRACT_COHERE:
	case EXTRACT_A2A:
	case EXTRACT_MCP:
		return set_up_known(x, config);
	default:
		return -EINVAL;
	}
}

int extractor_init(struct extractor *x, const struct extract *config, struct channel_set *set,
		   unsigned int flags)
{
	int r = 0;

	memset(x, 0, sizeof(*x));
	x->set = set;
	x->lines = flags & EXTRACTOR_LINES;
	x->messages = flags & (EXTRACTOR_EVENTS | EXTRACTOR_MESSAGES);
	x->event.marks = flags & EXTRACTOR_EVENTS;
	x->json = x->document = flags & EXTRACTOR_JSON;
	x->join_unit = config->join_unit;
	x->raw = (struct extract_raw){.set = set, .replace = config->replace_ill_formed};
	json_init(&x->scanner, NULL, NULL);
	x->scanner.by_line = x->lines;
	x->scanner.replace = config->replace_ill_formed;
	extract_tokens_init(&x->tokens, set, &x->scanner);
	if (flags & EXTRACTOR_EVALUATE)
		r = set_up(x, config, flags);
	/* The data of events is UTF-8 where nobody else looks at it, too. */
	x->text |= x->messages && !x->json;
	if (r < 0)
		extractor_done(x);
	return r;
}

void extractor_done(struct extractor *x)
{
	if (x->known)
		extract_known_done(x->known);
	if (x->strict)
		extract_strict_done(x->strict);
	free(x->known);
	free(x->strict);
	x->known = NULL;
	x->strict = NULL;
	extract_text_done(&x->raw_text);
	extract_event_done(&x->event);
	extract_tokens_done(&x->tokens);
	json_done(&x->scanner);
}

/* Text of a payload; the CR of a CRLF is not part of it. */
static enum fault text_line(struct extractor *x, const uint8_t *data, size_t len)
{
	enum fault fault = FAULT_NONE;

	if (!x->lines || !len)
		return extract_raw_text(&x->raw, data, len);
	if (x->cr)
		fault = extract_raw_text(&x->raw, (const uint8_t *)"\r", 1);
	x->cr = data[len - 1] == '\r';
	return fault ? fault : extract_raw_text(&x->raw, data, len - x->cr);
}

static enum fault scan(struct extractor *x, const uint8_t *data, size_t len, size_t *ret_used)
{
	return x->known ? extract_known_scan(x->known, &x->scanner, data, len, ret_used)
			: json_scan(&x->scanner, data, len, ret_used);
}

/* A message that is text, where another may be JSON. */
static enum fault message_text(struct extractor *x, const uint8_t *text, size_t len)
{
	if (!x->raw.channel && join_raw(x, true) < 0)
		return FAULT_NO_MEMORY;
	return extract_raw_text(&x->raw, text, len);
}

static enum fault message_data(struct extractor *x, const uint8_t *data, size_t len,
			       size_t *ret_used)
{
	struct extract_event_step step;
	enum fault fault;
	size_t used = 0;

	*ret_used = 0;
	if (!len)
		return FAULT_NONE;
	if (extract_event_is_json(&x->event, data[0]))
		return scan(x, data, len, ret_used);
	fault = extract_event_next(&x->event, data, len, &step);
	if (fault)
		return fault;
	if (step.kind == EVENT_JSON) {
		if (step.held_len)
			fault = scan(x, step.held, step.held_len, &used);
		*ret_used = used > step.before ? used - step.before : 0;
		if (fault || step.taken == len)
			return fault;
		fault = scan(x, data + step.taken, len - step.taken, &used);
		*ret_used = step.taken + used;
		return fault;
	}
	*ret_used = len;
	if (step.kind == EVENT_HELD)
		return FAULT_NONE;
	fault = message_text(x, step.held, step.held_len);
	return fault ? fault : message_text(x, data + step.taken, len - step.taken);
}

enum fault extractor_feed(struct extractor *x, const uint8_t *data, size_t len, size_t *ret_used)
{
	enum fault fault = FAULT_NONE, text = FAULT_NONE;

	*ret_used = len;
	if (x->json) {
		fault = x->messages ? message_data(x, data, len, ret_used)
				    : scan(x, data, len, ret_used);
	} else if (x->lines) {
		const uint8_t *lf = memchr(data, '\n', len);

		*ret_used = lf ? (size_t)(lf - data) : len;
	}
	/* What lies before a byte at fault came before it. */
	if (x->text)
		text = text_line(x, data, *ret_used);
	return text ? text : fault;
}

bool extractor_blank(const struct extractor *x)
{
	return x->json && json_blank(&x->scanner);
}

static enum fault text_end(struct extractor *x, bool delimited)
{
	enum fault fault = FAULT_NONE;

	if (x->cr && !delimited)
		fault = extract_raw_text(&x->raw, (const uint8_t *)"\r", 1);
	x->cr = false;
	if (!fault)
		fault = x->join_unit || x->messages ? extract_raw_end(&x->raw)
						    : extract_raw_cut(&x->raw);
	if (!fault)
		fault = extract_text_end(&x->raw_text);
	if (!fault && x->join_unit && x->raw.channel)
		fault = channel_end(x->set, x->raw.channel);
	return fault;
}

/* The data of an event, or a message, is whole; none is no document. */
static enum fault message_end(struct extractor *x, bool delimited)
{
	struct extract_event_step step;
	enum fault fault = FAULT_NONE;
	size_t used;

	extract_event_end(&x->event, &step);
	switch (step.kind) {
	case EVENT_HELD:
		return x->document ? FAULT_BAD_JSON : FAULT_NONE;
	case EVENT_END:
		if (x->strict && !x->strict->chunk)
			return FAULT_PROTOCOL;
		x->complete = true;
		return channel_set_end(x->set);
	case EVENT_JSON:
		if (step.held_len)
			fault = scan(x, step.held, step.held_len, &used);
		return fault ? fault : json_end(&x->scanner);
	default:
		if (step.held_len)
			fault = message_text(x, step.held, step.held_len);
		return fault ? fault : text_end(x, delimited);
	}
}

enum fault extractor_unit_end(struct extractor *x, bool delimited)
{
	enum fault fault = FAULT_NONE;

	if (x->json && x->messages)
		fault = message_end(x, delimited);
	else if (x->json && !(x->lines && json_blank(&x->scanner)))
		fault = json_end(&x->scanner);
	if (!fault && x->text)
		fault = text_end(x, delimited);
	if (!fault && x->known)
		fault = extract_known_unit_end(x->known);
	if (!fault)
		fault = channel_set_unit_end(x->set);
	if (fault)
		return fault;
	x->complete |= x->known && x->known->over;
	extract_path_clear(&x->tokens.path);
	return FAULT_NONE;
}

enum fault extractor_end(struct extractor *x)
{
	enum fault fault = extract_raw_end(&x->raw);

	if (!fault && x->strict && x->event.marks && !x->event.ended)
		return FAULT_TRUNCATED;
	return fault ? fault : channel_set_end(x->set);
}

size_t extractor_memory(const struct extractor *x)
{
	size_t bytes = json_memory(&x->scanner) + extract_tokens_memory(&x->tokens) +
		       x->event.space_capacity + extract_text_memory(&x->raw_text);

	if (x->known)
		bytes += sizeof(*x->known) + extract_known_memory(x->known);
	if (x->strict)
		bytes += sizeof(*x->strict) + extract_strict_memory(x->strict);
	return bytes;
}
