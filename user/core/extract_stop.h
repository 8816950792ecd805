/* SPDX-License-Identifier: Apache-2.0 */
/* What stops a run of plain text, in a literal of JSON or outside of all. */
#ifndef SLUICE_CORE_EXTRACT_STOP_H
#define SLUICE_CORE_EXTRACT_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static inline bool extract_is_line_end(uint8_t c)
{
	return c == '\n' || c == '\r';
}

/* First quote, backslash or end of a line; or end. */
static inline const uint8_t *extract_find_stop(const uint8_t *p, const uint8_t *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
	const __m128i lf = _mm_set1_epi8('\n'), cr = _mm_set1_epi8('\r');

	for (; end - p >= 16; p += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)p);
		__m128i stop = _mm_or_si128(
			_mm_or_si128(_mm_cmpeq_epi8(bytes, quote),
				     _mm_cmpeq_epi8(bytes, backslash)),
			_mm_or_si128(_mm_cmpeq_epi8(bytes, lf), _mm_cmpeq_epi8(bytes, cr)));
		int mask = _mm_movemask_epi8(stop);

		if (mask)
			return p + __builtin_ctz((unsigned int)mask);
	}
#endif
	while (p < end && *p != '"' && *p != '\\' && !extract_is_line_end(*p))
		p++;
	return p;
}

#endif
