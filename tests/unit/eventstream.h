/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of AWS event streams for tests, written with the check sums they need. */
#ifndef SLUICE_TESTS_UNIT_EVENTSTREAM_H
#define SLUICE_TESTS_UNIT_EVENTSTREAM_H

#include "unit/coded.h"

/* Appends a message with one header, a string; name NULL: without. */
void eventstream_add(struct coded_bytes *bytes, const char *name, const char *value,
		     const char *payload);

/* The same in parts, where there is nothing before it. */
void eventstream_begin(struct coded_bytes *bytes);
void eventstream_header(struct coded_bytes *bytes, const char *name, const char *value);
void eventstream_end(struct coded_bytes *bytes, const char *payload);

#endif
