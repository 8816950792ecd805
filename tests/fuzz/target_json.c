/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON scanner, in cuts, and beside jansson. Bits of option 0: a text a line, ill-formed
 * UTF-8 is replaced.
 */
#include <stdio.h>

#include "core/json.h"
#include "fuzz/codec.h"
#include "fuzz/json_reference.h"
#include "fuzz/targets.h"

#define BY_LINE (1u << 0)
#define REPLACE (1u << 1)

struct frame {
	struct json json;
	struct fuzz_run *run;
	const uint8_t *data; /* of the step under way */
	size_t len;
};

static void tell(struct frame *f, enum json_token token, unsigned int flags, const void *text,
		 size_t len)
{
	fuzz_memory_leave();
	piece_tell_bytes(&f->run->story, "NS0"[token], 0, text, len);
	if (flags & JSON_LAST)
		piece_tell_meta_end(&f->run->story);
	fuzz_memory_enter();
}

static enum fault on_text(void *context, enum json_token token, unsigned int flags,
			  const uint8_t *text, size_t len, uint64_t runes)
{
	uint64_t counted = 0;

	fuzz_check(utf8_prefix(text, len, &counted) == len);
	fuzz_check(counted == runes);
	tell(context, token, flags, text, len);
	return FAULT_NONE;
}

static enum fault on_surrogate(void *context, enum json_token token, unsigned int flags,
			       uint32_t unit)
{
	struct frame *f = context;
	char text[16];
	int len = snprintf(text, sizeof(text), "<%x>", unit);

	fuzz_check(utf8_is_high_surrogate(unit) || utf8_is_low_surrogate(unit));
	tell(f, token, flags, text, (size_t)len);
	return FAULT_NONE;
}

static void tell_mark(struct frame *f, char mark)
{
	tell(f, JSON_NUMBER, JSON_LAST, &mark, 1);
}

static enum fault on_literal(void *context, uint8_t first)
{
	fuzz_check(first == 't' || first == 'f' || first == 'n');
	tell_mark(context, (char)first);
	return FAULT_NONE;
}

static enum fault on_open(void *context, const uint8_t *at, bool object)
{
	struct frame *f = context;

	fuzz_check(at >= f->data && at < f->data + f->len);
	fuzz_check(*at == (object ? '{' : '['));
	fuzz_check(f->json.depth <= JSON_DEPTH_MAX);
	tell_mark(f, (char)*at);
	return FAULT_NONE;
}

static enum fault on_close(void *context, const uint8_t *end)
{
	struct frame *f = context;

	fuzz_check(end > f->data && end <= f->data + f->len);
	fuzz_check(end[-1] == '}' || end[-1] == ']');
	tell_mark(f, (char)end[-1]);
	return FAULT_NONE;
}

static const struct json_sink sink = {on_text, on_surrogate, on_literal, on_open, on_close};

static void init(void *frame, const struct fuzz_input *input)
{
	struct frame *f = frame;

	json_init(&f->json, &sink, f);
	f->json.by_line = input->options[0] & BY_LINE;
	f->json.replace = input->options[0] & REPLACE;
}

static void done(void *frame)
{
	json_done(&((struct frame *)frame)->json);
}

static enum fault step(void *frame, struct fuzz_run *run, const uint8_t *data, size_t len,
		       size_t *ret_used)
{
	struct frame *f = frame;
	enum fault fault;

	f->run = run;
	f->data = data;
	f->len = len;
	fault = json_scan(&f->json, data, len, ret_used);
	if (fault || *ret_used == len)
		return fault;
	fuzz_check(f->json.by_line && data[*ret_used] == '\n');
	++*ret_used;
	return json_blank(&f->json) ? FAULT_NONE : json_end(&f->json);
}

static enum fault end(void *frame, struct fuzz_run *run)
{
	struct frame *f = frame;

	f->run = run;
	return json_blank(&f->json) ? FAULT_NONE : json_end(&f->json);
}

static size_t memory(const void *frame)
{
	return json_memory(&((const struct frame *)frame)->json);
}

/* One text, strictly, is a text to both or to neither. */
static void compare(const uint8_t *data, size_t len)
{
	enum json_reference reference = json_reference(data, len);
	struct json json;
	enum fault fault;
	size_t used;

	json_init(&json, NULL, NULL);
	fault = json_scan(&json, data, len, &used);
	if (!fault)
		fault = json_end(&json);
	json_done(&json);
	if (reference == JSON_REFERENCE_TAKES)
		fuzz_check(!fault || fault == FAULT_TOO_LARGE);
	else if (reference == JSON_REFERENCE_REFUSES)
		fuzz_check(fault);
}

void fuzz_json(const uint8_t *bytes, size_t len)
{
	static const struct fuzz_codec codec = {
		.size = sizeof(struct frame),
		.cap = 64u << 20,
		.init = init,
		.done = done,
		.step = step,
		.end = end,
		.memory = memory,
	};

	fuzz_codec_check(&codec, bytes, len);
	if (len > FUZZ_HEAD)
		compare(bytes + FUZZ_HEAD, len - FUZZ_HEAD);
}
