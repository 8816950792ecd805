/* SPDX-License-Identifier: Apache-2.0 */
/* What jansson, an independent reader of JSON, thinks of a text. */
#ifndef SLUICE_TESTS_FUZZ_JSON_REFERENCE_H
#define SLUICE_TESTS_FUZZ_JSON_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

enum json_reference {
	JSON_REFERENCE_TAKES,
	JSON_REFERENCE_REFUSES,
	/* For a reason that is not the standard's: numbers that it cannot hold, depth, halves
	 * of surrogate pairs. */
	JSON_REFERENCE_CANNOT,
};

enum json_reference json_reference(const uint8_t *text, size_t len);

#endif
