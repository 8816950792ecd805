/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/ws_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <zlib.h>

#include "base/macros.h"

struct reference {
	const struct frame_ws_config *config;
	const uint8_t *data;
	size_t len, at;
	bool in_message, coded;
	uint64_t payload; /* bytes of the message */
	uint8_t rune[4];  /* the one under way */
	size_t rune_len;
	z_stream stream;
	bool stream_ended;
	struct ws_story *story;
};

struct header {
	bool fin;
	unsigned int opcode;
	uint64_t len;
	uint8_t key[4];
};

/* Where it says false, the flow has ended, or is at fault. */
static bool get(struct reference *ref, uint8_t *ret_byte)
{
	if (ref->at == ref->len)
		return false;
	*ret_byte = ref->data[ref->at++];
	return true;
}

static bool refuse(struct reference *ref, enum fault fault)
{
	ref->story->fault = fault;
	ref->story->fault_at = ref->at - 1;
	return false;
}

/* Can these be the first bytes of a scalar value's (RFC 3629 3)? */
static bool begins_rune(const uint8_t *bytes, size_t len)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t low, high;
	size_t need = 1;

	if (bytes[0] >= 0x80)
		need = bytes[0] >= 0xf8	  ? 0
		       : bytes[0] >= 0xf0 ? 4
		       : bytes[0] >= 0xe0 ? 3
		       : bytes[0] >= 0xc0 ? 2
					  : 0;
	if (!need)
		return false;
	low = high = need == 1 ? bytes[0] : bytes[0] & (0x7fu >> need);
	for (size_t i = 1; i < need; i++) {
		if (i < len && (bytes[i] & 0xc0) != 0x80)
			return false;
		low = low << 6 | (i < len ? bytes[i] & 0x3f : 0);
		high = high << 6 | (i < len ? bytes[i] & 0x3f : 0x3f);
	}
	low = MAX(low, smallest[need]);
	high = MIN(high, 0x10ffffu);
	return low <= high && (low < 0xd800 || high > 0xdfff);
}

static bool add_text(struct reference *ref, struct coded_bytes *text, uint8_t byte)
{
	ref->rune[ref->rune_len++] = byte;
	if (!begins_rune(ref->rune, ref->rune_len))
		return refuse(ref, FAULT_BAD_UTF8);
	if (ref->rune_len == (ref->rune[0] < 0x80   ? 1
			      : ref->rune[0] < 0xe0 ? 2
			      : ref->rune[0] < 0xf0 ? 3
						    : 4))
		ref->rune_len = 0;
	coded_bytes_add(text, &byte, 1);
	return true;
}

static bool add_payload(struct reference *ref, uint8_t byte)
{
	if (ref->payload++ == ref->config->max_message)
		return refuse(ref, FAULT_TOO_LARGE);
	if (ref->story->is_text)
		return add_text(ref, &ref->story->payload, byte);
	coded_bytes_add(&ref->story->payload, &byte, 1);
	return true;
}

/* One byte, and all that it decides. */
static bool add_coded(struct reference *ref, uint8_t byte)
{
	int result;

	if (ref->stream_ended)
		assert_int_equal(inflateReset(&ref->stream), Z_OK);
	ref->stream.next_in = &byte;
	ref->stream.avail_in = 1;
	do {
		uint8_t output[7];
		size_t len;

		ref->stream.next_out = output;
		ref->stream.avail_out = sizeof(output);
		result = inflate(&ref->stream, Z_SYNC_FLUSH);
		len = sizeof(output) - ref->stream.avail_out;
		for (size_t i = 0; i < len; i++)
			if (!add_payload(ref, output[i]))
				return false;
	} while (result == Z_OK && !ref->stream.avail_out);
	ref->stream_ended = result == Z_STREAM_END;
	if (result != Z_OK && result != Z_BUF_ERROR && result != Z_STREAM_END)
		return refuse(ref, FAULT_BAD_ENCODING);
	return true;
}

static bool end_message(struct reference *ref)
{
	static const uint8_t tail[] = {0, 0, 0xff, 0xff};

	for (size_t i = 0; ref->coded && i < sizeof(tail); i++)
		if (!add_coded(ref, tail[i]))
			return false;
	/* Behind a block, and not in one: whatever comes next would be read as such. */
	if (ref->coded && !ref->stream_ended &&
	    (!(ref->stream.data_type & 128) || ref->stream.data_type & 63))
		return refuse(ref, FAULT_BAD_ENCODING);
	if (ref->rune_len)
		return refuse(ref, FAULT_BAD_UTF8);
	if (ref->config->no_context_takeover)
		ref->stream_ended = true;
	ref->in_message = false;
	ws_tell_text(ref->story, ref->story->is_text ? 'T' : 'B', &ref->story->payload);
	ws_tell_end(ref->story, ref->at);
	return true;
}

static bool get_length(struct reference *ref, const struct header *header, uint64_t *ret_len)
{
	uint8_t byte;
	size_t width;

	if (!get(ref, &byte))
		return false;
	if (byte >> 7 != ref->config->client)
		return refuse(ref, FAULT_PROTOCOL);
	*ret_len = byte & 0x7f;
	if (header->opcode >= 8 && (*ret_len >= 126 || (header->opcode == 8 && *ret_len == 1)))
		return refuse(ref, FAULT_PROTOCOL);
	if (*ret_len < 126)
		return true;
	width = *ret_len == 126 ? 2 : 8;
	*ret_len = 0;
	for (size_t i = 0; i < width; i++) {
		if (!get(ref, &byte))
			return false;
		if (width == 8 && !i && byte >= 0x80)
			return refuse(ref, FAULT_PROTOCOL);
		*ret_len = *ret_len * 256 + byte;
	}
	if (width == 2 ? *ret_len < 126 : *ret_len < 65536)
		return refuse(ref, FAULT_PROTOCOL);
	return true;
}

static bool get_first(struct reference *ref, struct header *header)
{
	uint8_t byte;
	bool rsv1;

	if (!get(ref, &byte))
		return false;
	rsv1 = byte >> 6 & 1;
	header->fin = byte >> 7;
	header->opcode = byte & 15;
	if (ref->story->closed || byte >> 4 & 3)
		return refuse(ref, FAULT_PROTOCOL);
	switch (header->opcode) {
	case 0:
		return ref->in_message && !rsv1 ? true : refuse(ref, FAULT_PROTOCOL);
	case 1:
	case 2:
		if (ref->in_message || (rsv1 && !ref->config->permessage_deflate))
			return refuse(ref, FAULT_PROTOCOL);
		ref->in_message = true;
		ref->story->is_text = header->opcode == 1;
		ref->coded = rsv1;
		ref->payload = 0;
		return true;
	case 8:
	case 9:
	case 10:
		return header->fin && !rsv1 ? true : refuse(ref, FAULT_PROTOCOL);
	default:
		return refuse(ref, FAULT_PROTOCOL);
	}
}

static bool get_header(struct reference *ref, struct header *header)
{
	if (!get_first(ref, header))
		return false;
	ref->story->partial = true;
	if (!get_length(ref, header, &header->len))
		return false;
	if (header->opcode < 8 && !ref->coded &&
	    header->len > ref->config->max_message - ref->payload)
		return refuse(ref, FAULT_TOO_LARGE);
	memset(header->key, 0, sizeof(header->key));
	for (size_t i = 0; ref->config->client && i < sizeof(header->key); i++)
		if (!get(ref, &header->key[i]))
			return false;
	return true;
}

static bool sent_code(unsigned int code)
{
	static const unsigned int codes[] = {1000, 1001, 1002, 1003, 1007, 1008,
					     1009, 1010, 1011, 1012, 1013, 1014};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i] == code)
			return true;
	return code / 1000 == 3 || code / 1000 == 4;
}

static bool control(struct reference *ref, const struct header *header)
{
	struct coded_bytes *meta = &ref->story->meta;
	unsigned int code = 0;

	if (header->opcode == 8)
		ref->rune_len = 0;
	for (uint64_t i = 0; i < header->len; i++) {
		uint8_t byte;

		if (!get(ref, &byte))
			return false;
		byte ^= header->key[i % 4];
		if (header->opcode != 8) {
			coded_bytes_add(meta, &byte, 1);
		} else if (i < 2) {
			code = code * 256 + byte;
			if (i == 1 && !sent_code(code))
				return refuse(ref, FAULT_PROTOCOL);
		} else if (!add_text(ref, meta, byte)) {
			return false;
		}
	}
	if (header->opcode == 8 && ref->rune_len)
		return refuse(ref, FAULT_BAD_UTF8);
	if (meta->len)
		ws_tell_text(ref->story, 'P', meta);
	ref->story->closed = header->opcode == 8;
	if (!ref->in_message) {
		coded_bytes_add(&ref->story->text, "U", 1);
		ws_tell_end(ref->story, ref->at);
	}
	return true;
}

static bool frame(struct reference *ref)
{
	struct header header;

	ref->story->partial = ref->in_message;
	if (!get_header(ref, &header))
		return false;
	if (header.opcode >= 8)
		return control(ref, &header);
	if (ref->coded) {
		ref->story->payload_at = ref->at;
		ref->story->payload_end = ref->at + header.len;
	}
	for (uint64_t i = 0; i < header.len; i++) {
		uint8_t byte;

		if (!get(ref, &byte))
			return false;
		byte ^= header.key[i % 4];
		if (!(ref->coded ? add_coded : add_payload)(ref, byte))
			return false;
	}
	ref->story->payload_at = ref->story->payload_end = 0;
	return header.fin ? end_message(ref) : true;
}

void ws_reference(const struct frame_ws_config *config, const void *data, size_t len,
		  struct ws_story *ret_story)
{
	struct reference ref = {.config = config, .data = data, .len = len, .story = ret_story};

	*ret_story = (struct ws_story){.fault = FAULT_NONE};
	assert_int_equal(inflateInit2(&ref.stream, coded_window_bits(CODED_RAW)), Z_OK);
	while (frame(&ref))
		;
	inflateEnd(&ref.stream);
	ws_tell_rest(ret_story);
}
