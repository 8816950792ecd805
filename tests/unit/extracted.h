/* SPDX-License-Identifier: Apache-2.0 */
/* What an extractor makes of lines of JSON, for tests: the same in every way of cutting them. */
#ifndef SLUICE_TESTS_UNIT_EXTRACTED_H
#define SLUICE_TESTS_UNIT_EXTRACTED_H

#include <stdbool.h>
#include <stddef.h>

#include "core/fault.h"
#include "core/pipeline.h"

/*
 * "name=text;" of every channel, in order of appearance, but meta and those of the types
 * of documents and of their deltas; or the fault.
 */
void extracted_check(enum extract_kind kind, const char *lines, const char *channels,
		     enum fault fault);

/* One line with these members, in every order: the same channels, in whatever order. */
void extracted_check_orders(enum extract_kind kind, const char *const members[3],
			    const char *channels);

/* With the term "forbidden": is it denied, and how many bytes are released before? */
void extracted_check_term(enum extract_kind kind, const char *lines, bool denied, size_t released);

/* What is released while the flow is open, with the same term. */
void extracted_check_held(enum extract_kind kind, const char *lines, size_t released);

/* A text too long for every cut, in one piece, without observers. */
void extracted_check_long(enum extract_kind kind, const char *lines, size_t len, enum fault fault);

/* Does the last line say that the exchange is complete, and none before? */
void extracted_check_complete(enum extract_kind kind, const char *lines);

/* Each allocation failing in turn: no leak, and FAULT_NO_MEMORY. */
void extracted_check_allocations(enum extract_kind kind, const char *lines);

#endif
