/* SPDX-License-Identifier: Apache-2.0 */
#include "core/content_coding.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>

#define WINDOW_BITS	 15
#define GZIP_WINDOW_BITS (16 + WINDOW_BITS) /* a gzip header and no other */
#define RAW_WINDOW_BITS	 (-WINDOW_BITS)

#define GZIP_FIRST	0x1f /* RFC 1952 2.3.1 */
#define ZLIB_METHOD	8    /* RFC 1950 2.2 */
#define ZLIB_WINDOW_MAX 7
#define ZLIB_CHECK	31

#define OUTPUT_SIZE (16u << 10)
/* The inflater's window, and its state and tables: "about 7 kilobytes", by zconf.h. */
#define INFLATER_SIZE ((1u << WINDOW_BITS) + (8u << 10))

/*
 * A byte of input decides four repetitions of two bits each at most, and the one whose
 * last bit was all that was missing.
 */
#define REPETITION_MAX 258u /* RFC 1951 3.2.5 */
#define EXPANSION_MAX  (4 * REPETITION_MAX)
#define BATCH_MAX      (1u << 20)

enum state {
	BEFORE, /* nothing has come */
	INSIDE,
	BEHIND, /* a member is whole */
};

enum words { NAME, COMMENT, EXTRA, _WORDS_MAX };

struct decoder {
	enum content_coding coding;
	enum state state;
	enum fault fault;
	bool more;	     /* there may be more output without more input */
	const uint8_t *data; /* what the inflater has not been given */
	size_t len;
	uint64_t in, out; /* given to the inflater, and given out */
	/* deflate: two bytes tell the formats apart. */
	uint8_t first[2];
	size_t first_len;
	/* gzip */
	bool accept_words, gave_words;
	enum words words; /* the next of the header's to give out */
	gz_header header;
	uint8_t word[_WORDS_MAX][CODING_WORDS_MAX + 1]; /* with the NUL of those that have one */
	z_stream stream;
	uint8_t output[OUTPUT_SIZE];
};

int decoder_new(enum content_coding coding, struct decoder **ret_decoder)
{
	struct decoder *decoder;
	int result;

	if (coding != CODING_GZIP && coding != CODING_DEFLATE)
		return -EINVAL;
	decoder = calloc(1, sizeof(*decoder));
	if (!decoder)
		return -ENOMEM;
	decoder->coding = coding;
	decoder->words = _WORDS_MAX;
	result = inflateInit2(&decoder->stream,
			      coding == CODING_GZIP ? GZIP_WINDOW_BITS : WINDOW_BITS);
	if (result != Z_OK) {
		free(decoder);
		return result == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
	}
	*ret_decoder = decoder;
	return 0;
}

void decoder_free(struct decoder *decoder)
{
	if (!decoder)
		return;
	inflateEnd(&decoder->stream);
	free(decoder);
}

void decoder_accept_words(struct decoder *decoder)
{
	decoder->accept_words = true;
}

bool decoder_gave_words(const struct decoder *decoder)
{
	return decoder->gave_words;
}

bool decoder_in_header(const struct decoder *decoder)
{
	return decoder->coding == CODING_GZIP && decoder->state == INSIDE && !decoder->header.done;
}

void decoder_feed(struct decoder *decoder, const uint8_t *data, size_t len)
{
	assert(decoder->fault || (!decoder->len && !decoder->stream.avail_in));
	decoder->data = data;
	decoder->len = len;
}

/* How much may have been given out by now. */
static uint64_t output_max(const struct decoder *decoder)
{
	uint64_t in = MIN(decoder->in, (UINT64_MAX - CODING_SLACK - 1) / CODING_RATIO_MAX);

	return CODING_SLACK + CODING_RATIO_MAX * in;
}

/*
 * How many bytes cannot pass the limit, each with its own output: they are inflated at
 * once. Close to the limit it is one, so that the byte at fault is the same in any cut.
 */
static size_t batch_max(const struct decoder *decoder)
{
	uint64_t room = output_max(decoder) - decoder->out;

	if (room < REPETITION_MAX + EXPANSION_MAX)
		return 1;
	return (size_t)MIN((room - REPETITION_MAX) / EXPANSION_MAX, (uint64_t)BATCH_MAX);
}

static void give_inflater(struct decoder *decoder, const uint8_t *data, size_t len)
{
	decoder->stream.next_in = data;
	decoder->stream.avail_in = (uInt)len;
	decoder->in += len;
}

/* Returns whether the inflater has been given something. */
static bool tell_format(struct decoder *decoder)
{
	unsigned int head;

	decoder->state = INSIDE;
	while (decoder->len && decoder->first_len < sizeof(decoder->first)) {
		decoder->first[decoder->first_len++] = *decoder->data++;
		decoder->len--;
	}
	if (decoder->first_len < sizeof(decoder->first))
		return false;
	head = (unsigned int)decoder->first[0] << 8 | decoder->first[1];
	if ((decoder->first[0] & 0xf) != ZLIB_METHOD || decoder->first[0] >> 4 > ZLIB_WINDOW_MAX ||
	    head % ZLIB_CHECK)
		inflateReset2(&decoder->stream, RAW_WINDOW_BITS);
	give_inflater(decoder, decoder->first, sizeof(decoder->first));
	return true;
}

/* Bytes have come, and no member is under way. */
static void begin_member(struct decoder *decoder)
{
	if (decoder->coding != CODING_GZIP || *decoder->stream.next_in != GZIP_FIRST) {
		decoder->fault = FAULT_BAD_ENCODING;
		return;
	}
	inflateReset(&decoder->stream);
	decoder->header = (gz_header){
		.extra = decoder->word[EXTRA],
		.extra_max = CODING_WORDS_MAX,
		.name = decoder->word[NAME],
		.name_max = sizeof(decoder->word[NAME]),
		.comment = decoder->word[COMMENT],
		.comm_max = sizeof(decoder->word[COMMENT]),
	};
	inflateGetHeader(&decoder->stream, &decoder->header);
	decoder->state = INSIDE;
}

/* Is there anything for the inflater to do? */
static bool load(struct decoder *decoder)
{
	if (decoder->more)
		return true;
	if (!decoder->stream.avail_in) {
		size_t len = MIN(decoder->len, batch_max(decoder));

		if (!len)
			return false;
		if (decoder->coding == CODING_DEFLATE &&
		    decoder->first_len < sizeof(decoder->first))
			return tell_format(decoder);
		give_inflater(decoder, decoder->data, len);
		decoder->data += len;
		decoder->len -= len;
	}
	if (decoder->state != INSIDE)
		begin_member(decoder);
	return !decoder->fault;
}

/* Length of what is in the output. A fault comes after the output before it. */
static size_t inflate_some(struct decoder *decoder)
{
	bool in_header = decoder_in_header(decoder);
	uint64_t max = output_max(decoder) - decoder->out;
	size_t room = (size_t)MIN(max + 1, (uint64_t)sizeof(decoder->output)), len;
	int result;

	decoder->stream.next_out = decoder->output;
	decoder->stream.avail_out = (uInt)room;
	/* Z_BLOCK stops behind the header. */
	result = inflate(&decoder->stream, in_header ? Z_BLOCK : Z_NO_FLUSH);
	len = room - decoder->stream.avail_out;
	decoder->more = result == Z_OK && !decoder->stream.avail_out;
	if (len > max) {
		decoder->fault = FAULT_TOO_LARGE;
		return 0;
	}
	decoder->out += len;
	if (in_header && decoder->header.done)
		decoder->words = NAME;
	if (result == Z_STREAM_END)
		decoder->state = BEHIND;
	else if (result == Z_MEM_ERROR)
		decoder->fault = FAULT_NO_MEMORY;
	else if (result != Z_OK && result != Z_BUF_ERROR)
		decoder->fault = FAULT_BAD_ENCODING;
	return len;
}

/* Where the header has such words: their length. */
static enum fault header_words(const struct decoder *decoder, enum words words, size_t *ret_len)
{
	const gz_header *header = &decoder->header;
	const uint8_t *text = words == NAME ? header->name : header->comment, *end;
	size_t len = 0;

	if (words == EXTRA) {
		if (header->extra)
			len = header->extra_len;
	} else if (text) {
		end = memchr(text, '\0', CODING_WORDS_MAX + 1);
		len = end ? (size_t)(end - text) : CODING_WORDS_MAX + 1;
	}
	if (len && !decoder->accept_words)
		return FAULT_BAD_ENCODING;
	if (len > CODING_WORDS_MAX)
		return FAULT_TOO_LARGE;
	*ret_len = len;
	return FAULT_NONE;
}

static void next_words(struct decoder *decoder, const uint8_t **ret_data, size_t *ret_len)
{
	size_t len = 0;

	while (decoder->words < _WORDS_MAX && !len && !decoder->fault) {
		*ret_data = decoder->word[decoder->words];
		decoder->fault = header_words(decoder, decoder->words++, &len);
	}
	decoder->gave_words = len > 0;
	*ret_len = len;
}

enum fault decoder_next(struct decoder *decoder, const uint8_t **ret_data, size_t *ret_len)
{
	const uint8_t *data = decoder->output;
	size_t len = 0;

	decoder->gave_words = false;
	while (!decoder->fault && !len) {
		if (decoder->words < _WORDS_MAX) {
			next_words(decoder, &data, &len);
		} else {
			if (!load(decoder))
				break;
			data = decoder->output;
			len = inflate_some(decoder);
		}
	}
	if (decoder->fault && !len)
		return decoder->fault;
	*ret_data = data;
	*ret_len = len;
	return FAULT_NONE;
}

enum fault decoder_end(struct decoder *decoder)
{
	if (!decoder->fault && decoder->state == INSIDE)
		decoder->fault = FAULT_TRUNCATED;
	return decoder->fault;
}

size_t decoder_memory(const struct decoder *decoder)
{
	return sizeof(*decoder) + INFLATER_SIZE;
}
