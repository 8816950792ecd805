/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/targets.h"

#include <string.h>

#include "base/macros.h"

const struct fuzz_target fuzz_targets[] = {
	{"content_coding", fuzz_content_coding},
	{"extract", fuzz_extract},
	{"frame_eventstream", fuzz_frame_eventstream},
	{"frame_grpc", fuzz_frame_grpc},
	{"frame_h2", fuzz_frame_h2},
	{"frame_http1", fuzz_frame_http1},
	{"frame_json_array", fuzz_frame_json_array},
	{"frame_jsonrpc", fuzz_frame_jsonrpc},
	{"frame_plain", fuzz_frame_plain},
	{"frame_sse", fuzz_frame_sse},
	{"frame_ws", fuzz_frame_ws},
	{"json", fuzz_json},
	{"pipeline", fuzz_pipeline},
	{"regex", fuzz_regex},
	{"resume", fuzz_resume},
	{"terms", fuzz_terms},
	{"verdict", fuzz_verdict},
	{"words", fuzz_words},
};
const size_t fuzz_target_count = ARRAY_SIZE(fuzz_targets);

const struct fuzz_target *fuzz_target_find(const char *name)
{
	for (size_t i = 0; i < fuzz_target_count; i++)
		if (strcmp(fuzz_targets[i].name, name) == 0)
			return &fuzz_targets[i];
	return NULL;
}
