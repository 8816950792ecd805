/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets one allocation fail. Every unit test is linked with malloc, calloc, realloc, strdup
 * and strndup going through here (the Makefile's --wrap); nothing fails unless asked.
 */
#ifndef TESTS_UNIT_ALLOCATION_H
#define TESTS_UNIT_ALLOCATION_H

#include <stdbool.h>

/* The n-th allocation from now on fails (0 is the next), once. */
void allocation_fail_at(unsigned long n);
/* No allocation fails any more; was there one that did? */
bool allocation_failed(void);

#endif
