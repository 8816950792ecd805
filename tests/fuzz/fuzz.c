/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

/* As in <sanitizer/allocator_interface.h>, which gcc does not bring; clang does. */
size_t __sanitizer_get_allocated_size(const volatile void *at);
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *at,
								size_t size),
					      void (*on_free)(const volatile void *at));

/* What the hooks count; they have no context to keep it in. */
static struct {
	bool hooked;
	size_t now, peak;
} memory;
/* A fuzzer has threads of its own, which allocate as they like. */
static __thread bool inside;

bool fuzz_input_init(struct fuzz_input *input, const uint8_t *bytes, size_t len)
{
	if (len < FUZZ_HEAD)
		return false;
	memcpy(input->options, bytes, FUZZ_OPTIONS);
	memcpy(input->cuts, bytes + FUZZ_OPTIONS, FUZZ_CUTS);
	input->data = bytes + FUZZ_HEAD;
	input->len = len - FUZZ_HEAD;
	return true;
}

size_t fuzz_cut(const struct fuzz_input *input, size_t n)
{
	uint8_t cut = input->cuts[n % FUZZ_CUTS];

	return ((size_t)cut & 0x7f) * (cut & 0x80 ? 32 : 1) + 1;
}

uint64_t fuzz_limit(uint8_t option)
{
	static const uint64_t limits[] = {1 << 20, 1, 8, 64, 300, 5000, UINT32_MAX, UINT64_MAX};

	return limits[option % (sizeof(limits) / sizeof(limits[0]))];
}

size_t fuzz_whole_runes(const uint8_t *text, size_t len, size_t want)
{
	want = MIN(MAX(want, (size_t)1), len);
	while (want < len && (text[want] & 0xc0) == 0x80)
		want++;
	return want;
}

uint8_t *fuzz_copy(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len + !len);

	fuzz_check(copy != NULL);
	if (len)
		memcpy(copy, data, len);
	return copy;
}

void fuzz_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, what);
	abort();
}

static void on_malloc(const volatile void *at, size_t size)
{
	if (!inside || !at)
		return;
	memory.now += size;
	if (memory.now > memory.peak)
		memory.peak = memory.now;
}

static void on_free(const volatile void *at)
{
	if (inside && at)
		memory.now -= __sanitizer_get_allocated_size(at);
}

void fuzz_memory_reset(void)
{
	if (!memory.hooked)
		fuzz_check(__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) != 0);
	memory.hooked = true;
	inside = false;
	memory.now = memory.peak = 0;
}

void fuzz_memory_enter(void)
{
	inside = true;
}

void fuzz_memory_leave(void)
{
	inside = false;
}

size_t fuzz_memory_now(void)
{
	return memory.now;
}

size_t fuzz_memory_peak(void)
{
	return memory.peak;
}
