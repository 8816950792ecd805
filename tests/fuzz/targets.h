/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz targets by name. Each is a file of its own, target_NAME.c. */
#ifndef SLUICE_TESTS_FUZZ_TARGETS_H
#define SLUICE_TESTS_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_target {
	const char *name;
	/* Aborts where a promise is broken; takes any bytes. */
	void (*run)(const uint8_t *bytes, size_t len);
};

extern const struct fuzz_target fuzz_targets[];
extern const size_t fuzz_target_count;

/* NULL: there is none of that name. */
const struct fuzz_target *fuzz_target_find(const char *name);

void fuzz_content_coding(const uint8_t *bytes, size_t len);
void fuzz_extract(const uint8_t *bytes, size_t len);
void fuzz_frame_eventstream(const uint8_t *bytes, size_t len);
void fuzz_frame_grpc(const uint8_t *bytes, size_t len);
void fuzz_frame_h2(const uint8_t *bytes, size_t len);
void fuzz_frame_http1(const uint8_t *bytes, size_t len);
void fuzz_frame_json_array(const uint8_t *bytes, size_t len);
void fuzz_frame_jsonrpc(const uint8_t *bytes, size_t len);
void fuzz_frame_plain(const uint8_t *bytes, size_t len);
void fuzz_frame_sse(const uint8_t *bytes, size_t len);
void fuzz_frame_ws(const uint8_t *bytes, size_t len);
void fuzz_json(const uint8_t *bytes, size_t len);
void fuzz_pipeline(const uint8_t *bytes, size_t len);
void fuzz_regex(const uint8_t *bytes, size_t len);
void fuzz_resume(const uint8_t *bytes, size_t len);
void fuzz_terms(const uint8_t *bytes, size_t len);
void fuzz_verdict(const uint8_t *bytes, size_t len);
void fuzz_words(const uint8_t *bytes, size_t len);

#endif
