/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/allocation.h"

#include <limits.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t len);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t len);

#define NEVER ULONG_MAX

static unsigned long left = NEVER;
static bool failed;

static bool must_fail(void)
{
	if (left == NEVER)
		return false;
	if (left-- > 0)
		return false;
	left = NEVER;
	failed = true;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return must_fail() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return must_fail() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return must_fail() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
	return must_fail() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t len)
{
	return must_fail() ? NULL : __real_strndup(text, len);
}

void allocation_fail_at(unsigned long n)
{
	left = n;
	failed = false;
}

bool allocation_failed(void)
{
	bool was = failed;

	left = NEVER;
	failed = false;
	return was;
}
