/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd, by libzstd. The frames are walked here beside it (RFC 8878 3.1.1): it would skip
 * a skippable frame and read the formats of its own past, and what it takes at once ends
 * where a part of a frame does.
 */
#include <errno.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "core/coding_backend.h"

#define MAGIC_LEN	    4u
#define BLOCK_HEADER_LEN    3u
#define CHECKSUM_LEN	    4u
#define LITERALS_HEADER_LEN 3u /* so much of it as has the size in it */

#define FLAG_CHECKSUM 0x04u
#define FLAG_RESERVED 0x18u /* also the bit that is "unused" */
#define FLAG_SINGLE   0x20u

enum part {
	MAGIC,
	DESCRIPTOR,
	WINDOW,
	DICTIONARY,
	SIZE,
	BLOCK,	  /* its header */
	LITERALS, /* the beginning of a compressed block */
	REST,	  /* of a compressed block */
	RAW,
	REPEATED,
	CHECKSUM,
};

struct zstd {
	ZSTD_DCtx *context;
	enum part part;
	uint32_t left;	/* of the part */
	uint32_t value; /* its first bytes so far, the least one first */
	uint32_t taken; /* of them */
	uint32_t block_left;
	uint8_t descriptor;
	bool last_block;
};

static int zstd_create(enum content_coding coding, void **ret_state)
{
	struct zstd *zstd = calloc(1, sizeof(*zstd));

	(void)coding;
	if (!zstd)
		return -ENOMEM;
	zstd->left = MAGIC_LEN;
	zstd->context = ZSTD_createDCtx();
	if (!zstd->context) {
		free(zstd);
		return -ENOMEM;
	}
	if (ZSTD_isError(ZSTD_DCtx_setParameter(zstd->context, ZSTD_d_windowLogMax,
						CODING_ZSTD_WINDOW_LOG))) {
		ZSTD_freeDCtx(zstd->context);
		free(zstd);
		return -EINVAL;
	}
	*ret_state = zstd;
	return 0;
}

static void zstd_destroy(void *state)
{
	struct zstd *zstd = state;

	ZSTD_freeDCtx(zstd->context);
	free(zstd);
}

static size_t zstd_memory(const void *state)
{
	const struct zstd *zstd = state;

	return sizeof(*zstd) + ZSTD_sizeof_DCtx(zstd->context);
}

static bool zstd_whole(const void *state)
{
	const struct zstd *zstd = state;

	return zstd->part == MAGIC && zstd->left == MAGIC_LEN;
}

/* A compressed block comes out when it is whole, and could be read in part before. */
static bool zstd_holds(const void *state)
{
	const struct zstd *zstd = state;
	bool between_blocks = zstd->part == BLOCK && zstd->left == BLOCK_HEADER_LEN;

	return !zstd_whole(zstd) && !between_blocks && zstd->part != RAW;
}

static enum fault enter(struct zstd *zstd, enum part part, uint32_t len)
{
	zstd->part = part;
	zstd->left = len;
	zstd->value = zstd->taken = 0;
	return FAULT_NONE;
}

/* RFC 8878 3.1.1.2 */
static enum fault begin_block(struct zstd *zstd)
{
	uint32_t size = zstd->value >> 3;

	zstd->last_block = zstd->value & 1;
	switch (zstd->value >> 1 & 3) {
	case 0:
		return enter(zstd, RAW, size);
	case 1:
		/* A byte that is repeated no time would not be read. */
		return size ? enter(zstd, REPEATED, 1) : FAULT_BAD_ENCODING;
	case 2:
		zstd->block_left = size - MIN(size, LITERALS_HEADER_LEN);
		return enter(zstd, LITERALS, MIN(size, LITERALS_HEADER_LEN));
	default:
		return FAULT_BAD_ENCODING;
	}
}

/* RFC 8878 3.1.1.3.1.1: no literals take no bytes, neither one to repeat nor a code. */
static enum fault check_literals(const struct zstd *zstd)
{
	static const uint32_t few[] = {0x3ff, 0x3ff, 0x3fff, 0x3ffff};
	uint32_t type = zstd->value & 3, format = zstd->value >> 2 & 3;
	uint32_t size = zstd->value >> 4 & few[format];

	if (type == 0)
		return FAULT_NONE;
	if (type == 1)
		size = format & 1 ? zstd->value >> 4 & (format == 1 ? 0xfff : 0xfffff)
				  : zstd->value >> 3 & 0x1f;
	return size ? FAULT_NONE : FAULT_BAD_ENCODING;
}

static enum fault next_part(struct zstd *zstd)
{
	static const uint8_t dictionary_len[] = {0, 1, 2, 4};
	uint32_t size_len = zstd->descriptor >> 6;
	bool single = zstd->descriptor & FLAG_SINGLE;

	switch (zstd->part) {
	case MAGIC:
		return enter(zstd, DESCRIPTOR, 1);
	case DESCRIPTOR:
		zstd->descriptor = (uint8_t)zstd->value;
		if (zstd->descriptor & FLAG_RESERVED)
			return FAULT_BAD_ENCODING;
		return enter(zstd, WINDOW, zstd->descriptor & FLAG_SINGLE ? 0 : 1);
	case WINDOW:
		return enter(zstd, DICTIONARY, dictionary_len[zstd->descriptor & 3]);
	case DICTIONARY:
		return enter(zstd, SIZE, size_len ? 1u << size_len : single);
	case SIZE:
		return enter(zstd, BLOCK, BLOCK_HEADER_LEN);
	case BLOCK:
		return begin_block(zstd);
	case LITERALS:
		return check_literals(zstd) ? FAULT_BAD_ENCODING
					    : enter(zstd, REST, zstd->block_left);
	case REST:
	case RAW:
	case REPEATED:
		if (!zstd->last_block)
			return enter(zstd, BLOCK, BLOCK_HEADER_LEN);
		return enter(zstd, CHECKSUM, zstd->descriptor & FLAG_CHECKSUM ? CHECKSUM_LEN : 0);
	default:
		return enter(zstd, MAGIC, MAGIC_LEN);
	}
}

static enum fault take_byte(struct zstd *zstd, uint8_t byte)
{
	static const uint8_t magic[MAGIC_LEN] = {0x28, 0xb5, 0x2f, 0xfd};

	if (zstd->part == MAGIC && byte != magic[MAGIC_LEN - zstd->left])
		return FAULT_BAD_ENCODING;
	/* Which dictionary nobody agreed on, unless it is 0: none. */
	if (zstd->part == DICTIONARY && byte)
		return FAULT_BAD_ENCODING;
	if (zstd->taken < sizeof(zstd->value))
		zstd->value |= (uint32_t)byte << 8 * zstd->taken++;
	return FAULT_NONE;
}

/* Byte by byte, but for the rest of a compressed block, which decides nothing until its end. */
static enum fault zstd_take(void *state, const uint8_t *data, uint64_t room, size_t *ret_len)
{
	struct zstd *zstd = state;
	enum fault fault = FAULT_NONE;
	size_t len = 1;

	(void)room;
	if (zstd->part == REST)
		len = MIN(*ret_len, (size_t)zstd->left);
	else
		fault = take_byte(zstd, *data);
	zstd->left -= (uint32_t)len;
	while (!zstd->left && !fault)
		fault = next_part(zstd);
	*ret_len = len;
	return fault;
}

static enum fault zstd_run(void *state, struct coding_io *io)
{
	struct zstd *zstd = state;
	ZSTD_inBuffer in = {io->in, io->in_len, 0};
	ZSTD_outBuffer out = {io->out, io->room, 0};
	size_t result = ZSTD_decompressStream(zstd->context, &out, &in);

	if (ZSTD_isError(result))
		return ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation
			       ? FAULT_NO_MEMORY
			       : FAULT_BAD_ENCODING;
	io->in += in.pos;
	io->in_len -= in.pos;
	io->out += out.pos;
	io->room -= out.pos;
	/* 0: the frame is at its end, by the library and so by what was walked. */
	io->more = result && (!io->room || io->in_len);
	return io->more || !result == zstd_whole(zstd) ? FAULT_NONE : FAULT_BAD_ENCODING;
}

const struct coding_backend coding_zstd = {
	.create = zstd_create,
	.destroy = zstd_destroy,
	.memory = zstd_memory,
	.take = zstd_take,
	.run = zstd_run,
	.whole = zstd_whole,
	.holds = zstd_holds,
};
