/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets share. A target takes any bytes and asserts what its module
 * promises of them; it fails by abort(), after a line that says what was wrong.
 *
 * The first FUZZ_HEAD bytes of an input are no data: FUZZ_OPTIONS of them set the module
 * up, as its target says, and the rest say how the data is cut into calls.
 *
 * Invariants:
 *  Z1. The same input does the same, whatever was run before it.
 *  Z2. Data is handed on in memory of exactly its size, which is gone behind the call.
 *
 * Units: bytes.
 */
#ifndef SLUICE_TESTS_FUZZ_FUZZ_H
#define SLUICE_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUZZ_OPTIONS 6u
#define FUZZ_CUTS    4u
#define FUZZ_HEAD    (FUZZ_OPTIONS + FUZZ_CUTS)

struct fuzz_input {
	uint8_t options[FUZZ_OPTIONS];
	uint8_t cuts[FUZZ_CUTS];
	const uint8_t *data;
	size_t len;
};

/* False: too short to be one. */
bool fuzz_input_init(struct fuzz_input *input, const uint8_t *bytes, size_t len);

/* The length of call number n of the data that is cut: at least 1. */
size_t fuzz_cut(const struct fuzz_input *input, size_t n);

/* One of the limits of a message that targets try, by an option. */
uint64_t fuzz_limit(uint8_t option);

/* A copy of exactly its size (Z2), to be freed; never NULL. */
uint8_t *fuzz_copy(const uint8_t *data, size_t len);

/* About `want` bytes of a well-formed text, at least 1 and at most len, that cut no rune. */
size_t fuzz_whole_runes(const uint8_t *text, size_t len, size_t want);

_Noreturn void fuzz_fail(const char *file, int line, const char *what);
#define fuzz_check(condition) \
	((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, "not so: " #condition))

/*
 * Counts what is allocated between enter and leave, as the allocator itself tells it,
 * libraries included.
 */
void fuzz_memory_reset(void);
void fuzz_memory_enter(void);
void fuzz_memory_leave(void);
size_t fuzz_memory_now(void);
size_t fuzz_memory_peak(void);

#endif
