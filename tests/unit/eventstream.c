/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/eventstream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#define PRELUDE_LEN 12u
#define CRC_LEN	    4u
#define STRING	    7u

static void put32(uint8_t *at, uint64_t value)
{
	for (unsigned int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> (24 - 8 * i));
}

void eventstream_begin(struct coded_bytes *bytes)
{
	const uint8_t prelude[PRELUDE_LEN] = {0};

	coded_bytes_add(bytes, prelude, sizeof(prelude));
}

void eventstream_header(struct coded_bytes *bytes, const char *name, const char *value)
{
	const uint8_t name_len = (uint8_t)strlen(name);
	const size_t len = strlen(value);
	const uint8_t type[] = {STRING, (uint8_t)(len >> 8), (uint8_t)len};

	coded_bytes_add(bytes, &name_len, 1);
	coded_bytes_add(bytes, name, name_len);
	coded_bytes_add(bytes, type, sizeof(type));
	coded_bytes_add(bytes, value, len);
}

void eventstream_end(struct coded_bytes *bytes, const char *payload)
{
	size_t headers = bytes->len - PRELUDE_LEN;
	uint8_t crc[CRC_LEN];

	coded_bytes_add(bytes, payload, strlen(payload));
	put32(bytes->data, bytes->len + CRC_LEN);
	put32(bytes->data + 4, headers);
	put32(bytes->data + 8, crc32(0, bytes->data, 8));
	put32(crc, crc32(0, bytes->data, (uInt)bytes->len));
	coded_bytes_add(bytes, crc, sizeof(crc));
}

void eventstream_add(struct coded_bytes *bytes, const char *name, const char *value,
		     const char *payload)
{
	struct coded_bytes message = {0};

	eventstream_begin(&message);
	if (name)
		eventstream_header(&message, name, value);
	eventstream_end(&message, payload);
	coded_bytes_add(bytes, message.data, message.len);
	coded_bytes_done(&message);
}
