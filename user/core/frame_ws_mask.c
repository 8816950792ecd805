/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frame_ws_mask.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define TURNED_LEN 16u

void frame_ws_unmask(const uint8_t key[FRAME_WS_KEY_LEN], unsigned int at, const uint8_t *data,
		     size_t len, uint8_t *ret_plain)
{
	uint8_t turned[TURNED_LEN];
	uint64_t word, mask;
	size_t i = 0;

	/* The key as it stands at the first byte: so it does at every step of whole keys. */
	for (unsigned int j = 0; j < TURNED_LEN; j++)
		turned[j] = key[(at + j) % FRAME_WS_KEY_LEN];
#ifdef __SSE2__
	__m128i wide = _mm_loadu_si128((const __m128i *)turned);

	for (; len - i >= sizeof(__m128i); i += sizeof(__m128i)) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(data + i));

		_mm_storeu_si128((__m128i *)(ret_plain + i), _mm_xor_si128(bytes, wide));
	}
#endif
	memcpy(&mask, turned, sizeof(mask));
	for (; len - i >= sizeof(word); i += sizeof(word)) {
		memcpy(&word, data + i, sizeof(word));
		word ^= mask;
		memcpy(ret_plain + i, &word, sizeof(word));
	}
	for (; i < len; i++)
		ret_plain[i] = data[i] ^ turned[i % FRAME_WS_KEY_LEN];
}
