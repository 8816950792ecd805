/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/http1_reference.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "unit/http1_reference_head.h"

/* Of one run. */
struct reading {
	const struct http1_reference *reference;
	const struct http1_pieces_config *config;
	const char *data;
	size_t len, at;
	FILE *text, *ends;
	size_t answers;
};

static void put(struct reading *r, const char *kind, struct part text)
{
	fputs(kind, r->text);
	if (text.at) {
		fputc(' ', r->text);
		http1_pieces_put(r->text, text.at, text.len);
	}
	fputc('\n', r->text);
	fprintf(r->ends, "%zu ", r->at);
}

/* The line at r->at, of a part of the message that began at `from`; r->at is past it then. */
static enum fault get_line(struct reading *r, size_t from, struct part *ret_line)
{
	size_t lf = r->at;

	while (lf < r->len && r->data[lf] != '\n')
		lf++;
	if ((lf == r->len ? lf : lf + 1) - from > HTTP1_HEAD_MAX)
		return FAULT_TOO_LARGE;
	if (lf == r->len)
		return FAULT_TRUNCATED;
	if (lf == r->at || r->data[lf - 1] != '\r')
		return FAULT_BARE_LF;
	*ret_line = (struct part){r->data + r->at, lf - 1 - r->at};
	r->at = lf + 1;
	return FAULT_NONE;
}

static void put_body(struct reading *r, size_t len)
{
	if (!len)
		return;
	fputs("body ", r->text);
	http1_pieces_put(r->text, r->data + r->at, len);
	fputc('\n', r->text);
	r->at += len;
}

/* A byte that has to come. */
static enum fault need(struct reading *r, char byte)
{
	if (r->at == r->len)
		return FAULT_TRUNCATED;
	if (r->data[r->at] == byte) {
		r->at++;
		return FAULT_NONE;
	}
	return r->data[r->at] == '\n' ? FAULT_BARE_LF : FAULT_BAD_FRAME;
}

static enum fault chunk_line(struct reading *r, uint64_t *ret_size)
{
	size_t from = r->at, digits;
	char size[17] = "";
	struct part line;
	enum fault fault;

	while (r->at < r->len && isxdigit((unsigned char)r->data[r->at]))
		r->at++;
	digits = r->at - from;
	if (digits > 16)
		return FAULT_BAD_FRAME;
	if (r->at == r->len)
		return FAULT_TRUNCATED;
	if (!digits)
		return FAULT_BAD_FRAME;
	memcpy(size, r->data + from, digits);
	*ret_size = strtoull(size, NULL, 16);
	if (r->data[r->at] != ';') {
		fault = need(r, '\r');
		return fault ? fault : need(r, '\n');
	}
	fault = get_line(r, from, &line);
	if (fault)
		return fault;
	if (!reference_is_extensions(r->reference, line))
		return FAULT_BAD_FRAME;
	put(r, "ext", line);
	return FAULT_NONE;
}

static enum fault chunks(struct reading *r, struct message *message)
{
	struct part line;
	enum fault fault;
	uint64_t size;
	size_t from;

	for (;;) {
		fault = chunk_line(r, &size);
		if (fault || !size)
			break;
		if (r->len - r->at < size) {
			put_body(r, r->len - r->at);
			return FAULT_TRUNCATED;
		}
		put_body(r, (size_t)size);
		put(r, "chunk", (struct part){0});
		fault = need(r, '\r');
		if (!fault)
			fault = need(r, '\n');
		if (fault)
			break;
		put(r, "chunk-end", (struct part){0});
	}
	for (from = r->at; !fault;) {
		fault = get_line(r, from, &line);
		if (fault || !line.len)
			break;
		fault = reference_field_line(r->reference, message, line, true);
		if (!fault)
			put(r, "field", line);
	}
	return fault;
}

static enum fault head(struct reading *r, struct message *message, size_t from)
{
	struct part line;
	enum fault fault = get_line(r, from, &line), late;

	if (!fault)
		fault = r->config->response ? reference_status_line(r->reference, message, line)
					    : reference_request_line(r->reference, message, line);
	if (fault)
		return fault;
	put(r, "start", line);
	for (;;) {
		fault = get_line(r, from, &line);
		if (fault)
			return fault;
		if (!line.len)
			break;
		fault = reference_field_line(r->reference, message, line, false);
		if (fault)
			return fault;
		put(r, "field", line);
	}
	fault = reference_judge(r->reference, message, &late);
	if (fault)
		return fault;
	http1_pieces_put_head(r->text, &message->head, message->response);
	fprintf(r->ends, "%zu ", r->at);
	return late;
}

/* *ret_close: it lasted until the end. */
static enum fault body(struct reading *r, struct message *message, bool *ret_close)
{
	uint64_t length = message->head.length;

	switch (message->head.body) {
	case HTTP1_CHUNKED:
		return chunks(r, message);
	case HTTP1_LENGTH:
		if (r->len - r->at < length) {
			put_body(r, r->len - r->at);
			return FAULT_TRUNCATED;
		}
		put_body(r, (size_t)length);
		return FAULT_NONE;
	case HTTP1_UNTIL_CLOSE:
		put_body(r, r->len - r->at);
		*ret_close = true;
		return FAULT_NONE;
	default:
		return FAULT_NONE;
	}
}

/* What must come first; r->at is past a request's empty lines then. */
static enum fault first(struct reading *r, size_t from)
{
	static const char not_tokens[] = "\"(),/:;<=>?@[\\]{}";
	unsigned char c;

	while (!r->config->response && r->at < r->len && r->data[r->at] == '\r') {
		if (r->at + 1 == r->len) {
			r->at = r->len;
			break;
		}
		if (r->data[r->at + 1] != '\n')
			return FAULT_BAD_HEADER;
		r->at += 2;
		if (r->at - from > HTTP1_HEAD_MAX)
			return FAULT_TOO_LARGE;
	}
	if (r->at == r->len)
		return FAULT_NONE;
	c = (unsigned char)r->data[r->at];
	if (c == '\n')
		return FAULT_BARE_LF;
	if (r->config->response)
		return c == 'H' ? FAULT_NONE : FAULT_BAD_HEADER;
	return c > ' ' && c < 0x7f && !strchr(not_tokens, c) ? FAULT_NONE : FAULT_BAD_HEADER;
}

/* *ret_done: nothing comes behind it, since it is a tunnel, or lasted until the end. */
static enum fault message(struct reading *r, bool *ret_close, bool *ret_done)
{
	struct message message = {.response = r->config->response};
	size_t from = r->at;
	enum fault fault = first(r, from);

	if (fault || r->at == r->len)
		return fault;
	if (r->config->response && r->answers < HTTP1_PIECES_REQUESTS)
		message.head.request = r->config->requests[r->answers];
	fault = head(r, &message, from);
	if (!fault)
		fault = body(r, &message, ret_close);
	if (!fault && !*ret_close)
		put(r, "end", (struct part){0});
	*ret_done = *ret_close || message.head.body == HTTP1_TUNNEL;
	r->answers += !message.head.interim;
	reference_message_done(&message);
	return fault;
}

void http1_reference_run(const struct http1_reference *reference,
			 const struct http1_pieces_config *config, const void *data, size_t len,
			 struct http1_pieces *ret_pieces)
{
	struct reading r = {.reference = reference, .config = config, .data = data, .len = len};
	struct http1_pieces pieces = {0};
	bool close = false, done = false;
	size_t text_len, ends_len;

	r.text = open_memstream(&pieces.text, &text_len);
	r.ends = open_memstream(&pieces.ends, &ends_len);
	assert_true(r.text && r.ends);
	while (!pieces.fault && !done && r.at < len)
		pieces.fault = message(&r, &close, &done);
	fprintf(r.text, "%s\n",
		pieces.fault ? fault_name(pieces.fault)
		: close	     ? "close"
			     : "clean");
	fclose(r.text);
	fclose(r.ends);
	*ret_pieces = pieces;
}
