/* SPDX-License-Identifier: Apache-2.0 */
/* gzip and deflate, by zlib. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>

#include "core/coding_backend.h"

#define WINDOW_BITS	 15
#define GZIP_WINDOW_BITS (16 + WINDOW_BITS) /* a gzip header and no other */
#define RAW_WINDOW_BITS	 (-WINDOW_BITS)

#define GZIP_FIRST	0x1f /* RFC 1952 2.3.1 */
#define ZLIB_METHOD	8    /* RFC 1950 2.2 */
#define ZLIB_WINDOW_MAX 7
#define ZLIB_CHECK	31

/* The inflater's window, and its state and tables: "about 7 kilobytes", by zconf.h. */
#define INFLATER_SIZE ((1u << WINDOW_BITS) + (8u << 10))

/*
 * A byte of input decides four repetitions of two bits each at most, and the one whose
 * last bit was all that was missing.
 */
#define REPETITION_MAX 258u /* RFC 1951 3.2.5 */
#define EXPANSION_MAX  (4 * REPETITION_MAX)
#define BATCH_MAX      (1u << 20)

enum place {
	BEFORE, /* nothing has come */
	INSIDE,
	BEHIND, /* a member is whole */
};

enum words { NAME, COMMENT, EXTRA, _WORDS_MAX };

struct zlib {
	enum content_coding coding;
	enum place place;
	/* deflate: two bytes tell the formats apart. */
	uint8_t first[2];
	size_t first_len;
	/* gzip */
	bool accept_words;
	enum words words;   /* the next of the header's to give out */
	unsigned int times; /* members whose time was not the one before */
	unsigned long time;
	gz_header header;
	uint8_t word[_WORDS_MAX][CODING_WORDS_MAX + 1]; /* with the NUL of those that have one */
	z_stream stream;
};

static int zlib_create(enum content_coding coding, void **ret_state)
{
	struct zlib *zlib = calloc(1, sizeof(*zlib));
	int result;

	if (!zlib)
		return -ENOMEM;
	zlib->coding = coding;
	zlib->words = _WORDS_MAX;
	result =
		inflateInit2(&zlib->stream, coding == CODING_GZIP ? GZIP_WINDOW_BITS : WINDOW_BITS);
	if (result != Z_OK) {
		free(zlib);
		return result == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
	}
	*ret_state = zlib;
	return 0;
}

static void zlib_destroy(void *state)
{
	struct zlib *zlib = state;

	inflateEnd(&zlib->stream);
	free(zlib);
}

static size_t zlib_memory(const void *state)
{
	(void)state;
	return sizeof(struct zlib) + INFLATER_SIZE;
}

static void zlib_accept_words(void *state)
{
	struct zlib *zlib = state;

	zlib->accept_words = true;
}

static bool zlib_whole(const void *state)
{
	const struct zlib *zlib = state;

	return zlib->place != INSIDE;
}

static bool in_header(const struct zlib *zlib)
{
	return zlib->coding == CODING_GZIP && zlib->place == INSIDE && !zlib->header.done;
}

static bool zlib_holds(const void *state)
{
	return in_header(state);
}

/*
 * How many bytes cannot pass the limit, each with its own output: they are inflated at
 * once. Close to the limit it is one, so that the byte at fault is the same in any cut.
 */
static enum fault zlib_take(void *state, const uint8_t *data, uint64_t room, size_t *ret_len)
{
	uint64_t max = 1;

	(void)state;
	(void)data;
	if (room >= REPETITION_MAX + EXPANSION_MAX)
		max = MIN((room - REPETITION_MAX) / EXPANSION_MAX, (uint64_t)BATCH_MAX);
	*ret_len = (size_t)MIN(max, (uint64_t)*ret_len);
	return FAULT_NONE;
}

/* Bytes have come, and no member is under way. */
static enum fault begin_member(struct zlib *zlib, uint8_t byte)
{
	if (zlib->coding != CODING_GZIP || byte != GZIP_FIRST)
		return FAULT_BAD_ENCODING;
	inflateReset(&zlib->stream);
	zlib->header = (gz_header){
		.extra = zlib->word[EXTRA],
		.extra_max = CODING_WORDS_MAX,
		.name = zlib->word[NAME],
		.name_max = sizeof(zlib->word[NAME]),
		.comment = zlib->word[COMMENT],
		.comm_max = sizeof(zlib->word[COMMENT]),
	};
	inflateGetHeader(&zlib->stream, &zlib->header);
	zlib->place = INSIDE;
	return FAULT_NONE;
}

/* The numbers in a header, which nobody evaluates, are no text (RFC 1952 2.3.1). */
static enum fault check_header(struct zlib *zlib)
{
	const gz_header *header = &zlib->header;
	bool known_level = header->xflags == 0 || header->xflags == 2 || header->xflags == 4;
	bool known_system = header->os < ' ' || header->os == 255;

	if (header->time && header->time != zlib->time) {
		zlib->time = header->time;
		zlib->times++;
	}
	return known_level && known_system && zlib->times <= CODING_TIMES_MAX ? FAULT_NONE
									      : FAULT_BAD_ENCODING;
}

static enum fault inflate_some(struct zlib *zlib, struct coding_io *io)
{
	z_stream *stream = &zlib->stream;
	bool header = in_header(zlib);
	int result;

	stream->next_in = io->in;
	stream->avail_in = (uInt)io->in_len;
	stream->next_out = io->out;
	stream->avail_out = (uInt)io->room;
	/* Z_BLOCK stops behind the header. */
	result = inflate(stream, header ? Z_BLOCK : Z_NO_FLUSH);
	io->in = stream->next_in;
	io->in_len = stream->avail_in;
	io->room = stream->avail_out;
	io->more = result == Z_OK && !stream->avail_out;
	if (result == Z_MEM_ERROR)
		return FAULT_NO_MEMORY;
	if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
		return FAULT_BAD_ENCODING;
	if (result == Z_STREAM_END)
		zlib->place = BEHIND;
	if (!header || !zlib->header.done)
		return FAULT_NONE;
	zlib->words = NAME;
	io->words = true;
	return check_header(zlib);
}

/* When the two bytes are there they are inflated: they decide less than there is room for. */
static enum fault tell_format(struct zlib *zlib, struct coding_io *io)
{
	const uint8_t *first = zlib->first;
	struct coding_io head = *io;
	enum fault fault;

	zlib->place = INSIDE;
	while (io->in_len && zlib->first_len < sizeof(zlib->first)) {
		zlib->first[zlib->first_len++] = *io->in++;
		io->in_len--;
	}
	if (zlib->first_len < sizeof(zlib->first))
		return FAULT_NONE;
	if ((first[0] & 0xf) != ZLIB_METHOD || first[0] >> 4 > ZLIB_WINDOW_MAX ||
	    (first[0] << 8 | first[1]) % ZLIB_CHECK)
		inflateReset2(&zlib->stream, RAW_WINDOW_BITS);
	head.in = first;
	head.in_len = sizeof(zlib->first);
	fault = inflate_some(zlib, &head);
	io->out = head.out + (io->room - head.room);
	io->room = head.room;
	return fault;
}

static enum fault zlib_run(void *state, struct coding_io *io)
{
	struct zlib *zlib = state;
	enum fault fault = FAULT_NONE;

	if (zlib->coding == CODING_DEFLATE && zlib->first_len < sizeof(zlib->first))
		fault = tell_format(zlib, io);
	if (io->in_len && zlib->place != INSIDE && !fault)
		fault = begin_member(zlib, *io->in);
	return fault || zlib->place != INSIDE ? fault : inflate_some(zlib, io);
}

/* Where the header has such words: their length. */
static enum fault header_words(const struct zlib *zlib, enum words words, size_t *ret_len)
{
	const gz_header *header = &zlib->header;
	const uint8_t *text = words == NAME ? header->name : header->comment, *end;
	size_t len = 0;

	if (words == EXTRA) {
		if (header->extra)
			len = header->extra_len;
	} else if (text) {
		end = memchr(text, '\0', CODING_WORDS_MAX + 1);
		len = end ? (size_t)(end - text) : CODING_WORDS_MAX + 1;
	}
	if (len && !zlib->accept_words)
		return FAULT_BAD_ENCODING;
	if (len > CODING_WORDS_MAX)
		return FAULT_TOO_LARGE;
	*ret_len = len;
	return FAULT_NONE;
}

static enum fault zlib_next_words(void *state, const uint8_t **ret_data, size_t *ret_len)
{
	struct zlib *zlib = state;
	enum fault fault = FAULT_NONE;
	size_t len = 0;

	while (zlib->words < _WORDS_MAX && !len && !fault) {
		*ret_data = zlib->word[zlib->words];
		fault = header_words(zlib, zlib->words++, &len);
	}
	*ret_len = len;
	return fault;
}

const struct coding_backend coding_zlib = {
	.create = zlib_create,
	.destroy = zlib_destroy,
	.memory = zlib_memory,
	.take = zlib_take,
	.run = zlib_run,
	.whole = zlib_whole,
	.holds = zlib_holds,
	.accept_words = zlib_accept_words,
	.next_words = zlib_next_words,
};
