/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <brotli/encode.h>
#include <zstd.h>

#include "base/macros.h"
#include "unit/coded.h"

#define LEVEL_MAX 9

int coded_window_bits(enum coded_format format)
{
	static const int bits[] = {[CODED_GZIP] = 31, [CODED_ZLIB] = 15, [CODED_RAW] = -15};

	return bits[format];
}

enum content_coding coded_coding(enum coded_format format)
{
	static const enum content_coding codings[_CODED_FORMAT_MAX] = {
		[CODED_GZIP] = CODING_GZIP,   [CODED_ZLIB] = CODING_DEFLATE,
		[CODED_RAW] = CODING_DEFLATE, [CODED_BROTLI] = CODING_BROTLI,
		[CODED_ZSTD] = CODING_ZSTD,   [CODED_ZSTD_UNCHECKED] = CODING_ZSTD,
	};

	return codings[format];
}

/* One of the three encoders. */
struct packer {
	const struct coded_packing *packing;
	z_stream zlib;
	BrotliEncoderState *brotli;
	ZSTD_CCtx *zstd;
};

static void zlib_begin(struct packer *packer)
{
	assert_int_equal(deflateInit2(&packer->zlib, packer->packing->level, Z_DEFLATED,
				      coded_window_bits(packer->packing->format), 8,
				      Z_DEFAULT_STRATEGY),
			 Z_OK);
	if (packer->packing->header)
		assert_int_equal(deflateSetHeader(&packer->zlib, packer->packing->header), Z_OK);
}

static void zlib_add(struct packer *packer, const uint8_t *data, size_t len, bool last,
		     struct coded_bytes *bytes)
{
	z_stream *zlib = &packer->zlib;
	uint8_t buffer[4096];
	int result;

	zlib->next_in = (Bytef *)(uintptr_t)data;
	zlib->avail_in = (uInt)len;
	do {
		zlib->next_out = buffer;
		zlib->avail_out = sizeof(buffer);
		result = deflate(zlib, last ? Z_FINISH : packer->packing->flush);
		assert_int_not_equal(result, Z_STREAM_ERROR);
		coded_bytes_add(bytes, buffer, sizeof(buffer) - zlib->avail_out);
	} while (!zlib->avail_out);
	assert_int_equal(result == Z_STREAM_END, last);
	if (last)
		deflateEnd(zlib);
}

static void brotli_begin(struct packer *packer)
{
	int level = packer->packing->level;

	packer->brotli = BrotliEncoderCreateInstance(NULL, NULL, NULL);
	assert_non_null(packer->brotli);
	assert_true(BrotliEncoderSetParameter(packer->brotli, BROTLI_PARAM_QUALITY,
					      level == LEVEL_MAX ? BROTLI_MAX_QUALITY
								 : (uint32_t)level));
}

static void brotli_add(struct packer *packer, const uint8_t *data, size_t len, bool last,
		       struct coded_bytes *bytes)
{
	uint8_t buffer[4096];

	do {
		uint8_t *next = buffer;
		size_t room = sizeof(buffer);

		assert_true(BrotliEncoderCompressStream(
			packer->brotli, last ? BROTLI_OPERATION_FINISH : BROTLI_OPERATION_FLUSH,
			&len, &data, &room, &next, NULL));
		coded_bytes_add(bytes, buffer, sizeof(buffer) - room);
	} while (len || BrotliEncoderHasMoreOutput(packer->brotli));
	assert_int_equal(BrotliEncoderIsFinished(packer->brotli), last);
	if (last)
		BrotliEncoderDestroyInstance(packer->brotli);
}

static void zstd_begin(struct packer *packer)
{
	int level = packer->packing->level;

	packer->zstd = ZSTD_createCCtx();
	assert_non_null(packer->zstd);
	ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel,
			       level == LEVEL_MAX ? 19
			       : level		  ? level
						  : -5);
	ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_checksumFlag,
			       packer->packing->format == CODED_ZSTD);
}

static void zstd_add(struct packer *packer, const uint8_t *data, size_t len, bool last,
		     struct coded_bytes *bytes)
{
	ZSTD_inBuffer in = {data, len, 0};
	uint8_t buffer[4096];
	size_t left;

	do {
		ZSTD_outBuffer out = {buffer, sizeof(buffer), 0};

		left = ZSTD_compressStream2(packer->zstd, &out, &in,
					    last ? ZSTD_e_end : ZSTD_e_flush);
		assert_false(ZSTD_isError(left));
		coded_bytes_add(bytes, buffer, out.pos);
	} while (left);
	if (last)
		ZSTD_freeCCtx(packer->zstd);
}

void coded_pack(const struct coded_packing *packing, const void *data, size_t len,
		struct coded_bytes *bytes)
{
	static void (*const begin[])(struct packer *) = {
		[CODED_GZIP] = zlib_begin, [CODED_ZLIB] = zlib_begin,
		[CODED_RAW] = zlib_begin,  [CODED_BROTLI] = brotli_begin,
		[CODED_ZSTD] = zstd_begin, [CODED_ZSTD_UNCHECKED] = zstd_begin,
	};
	static void (*const add[])(struct packer *, const uint8_t *, size_t, bool,
				   struct coded_bytes *) = {
		[CODED_GZIP] = zlib_add, [CODED_ZLIB] = zlib_add,
		[CODED_RAW] = zlib_add,	 [CODED_BROTLI] = brotli_add,
		[CODED_ZSTD] = zstd_add, [CODED_ZSTD_UNCHECKED] = zstd_add,
	};
	struct packer packer = {.packing = packing};
	const uint8_t *next = data;
	bool last;

	begin[packing->format](&packer);
	for (size_t i = 0;; i++) {
		size_t part = packing->flush ? MIN(packing->part, len) : len;

		last = part == len;
		add[packing->format](&packer, next, part, last, bytes);
		if (last)
			break;
		if (packing->flushed)
			packing->flushed[i] = bytes->len;
		next += part;
		len -= part;
	}
}

void coded_pack_simply(enum coded_format format, const void *data, size_t len,
		       struct coded_bytes *bytes)
{
	const struct coded_packing packing = {.format = format, .level = 6};

	coded_pack(&packing, data, len, bytes);
}
