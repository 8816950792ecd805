/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event streams for tests: what a reader with the whole stream before it makes of it,
 * as a text that the codec's pieces can be told in too.
 */
#ifndef SLUICE_TESTS_UNIT_SSE_REFERENCE_H
#define SLUICE_TESTS_UNIT_SSE_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/fault.h"

/*
 * What a stream says: "M(line)" for a line that is no data field, "E(payload)@end",
 * "B@end", "T@end" for its units, and at its end what has no end yet.
 */
struct sse_story {
	char text[1024];
	size_t len;
	enum fault fault;
	size_t fault_at; /* the byte */
	bool partial;
};

void sse_tell(struct sse_story *story, const void *text, size_t len);
void sse_tell_end(struct sse_story *story, size_t end);
void sse_tell_text(struct sse_story *story, char kind, const void *text, size_t len);

/* WHATWG HTML 9.2.6, a line at a time; limit: of a payload. */
void sse_reference(const void *data, size_t len, uint64_t limit, struct sse_story *ret_story);

#endif
