/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/json_reference.h"

#include <jansson.h>
#include <string.h>

#include "base/macros.h"

enum json_reference json_reference(const uint8_t *text, size_t len)
{
	static const char *const reasons[] = {"too big",	 "overflow", "depth",
					      "invalid Unicode", "\\u0000",  "NUL"};
	json_error_t error;
	json_t *value;

	/* It takes a NUL for the end. */
	if (memchr(text, 0, len))
		return JSON_REFERENCE_CANNOT;
	value = json_loadb((const char *)text, len,
			   JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	if (value) {
		json_decref(value);
		return JSON_REFERENCE_TAKES;
	}
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (strstr(error.text, reasons[i]))
			return JSON_REFERENCE_CANNOT;
	return JSON_REFERENCE_REFUSES;
}
