/* SPDX-License-Identifier: Apache-2.0 */
/* Who sends what, and when: the data of an input, taken apart. */
#include <stdlib.h>

#include "fuzz/stream.h"

#define MARK 0xff

static void add(struct fuzz_script *script, enum session_track track, size_t start, size_t end,
		bool ends)
{
	if (start == end && !ends)
		return;
	script->segments[script->count++] = (struct fuzz_segment){track, ends, start, end - start};
}

void fuzz_script_init(struct fuzz_script *script, const struct fuzz_input *input, bool responses)
{
	enum session_track track = responses ? SESSION_RESPONSE : SESSION_REQUEST;
	size_t start = 0, out = 0;

	*script = (struct fuzz_script){
		.bytes = malloc(input->len + 1),
		.segments = calloc(input->len + 1, sizeof(struct fuzz_segment)),
	};
	fuzz_check(script->bytes && script->segments);
	for (size_t i = 0; i < input->len; i++) {
		uint8_t what = i + 1 < input->len ? input->data[i + 1] : 0;

		if (input->data[i] != MARK || (what != 'q' && what != 'r' && what != 'e')) {
			script->bytes[out++] = input->data[i];
			continue;
		}
		add(script, track, start, out, what == 'e');
		start = out;
		i++;
		if (what != 'e')
			track = what == 'r' ? SESSION_RESPONSE : SESSION_REQUEST;
	}
	add(script, track, start, out, false);
}

void fuzz_script_done(struct fuzz_script *script)
{
	free(script->bytes);
	free(script->segments);
}
