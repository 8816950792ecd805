/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Content-Type (RFC 9110 8.3) says of a body: how its text is found, or
 * that it has none. Who says it is not trusted: a wrong label may cost its sender
 * a refusal, but never lets text pass that was not evaluated. Where it says text, or nothing,
 * the literals of JSON in it are as well (extract_literals.h, with what that leaves open).
 */
#ifndef SLUICE_CORE_MEDIA_TYPE_H
#define SLUICE_CORE_MEDIA_TYPE_H

#include <stddef.h>
#include <stdint.h>

enum media_class {
	MEDIA_NONE,	   /* no Content-Type: read as text */
	MEDIA_JSON,	   /* application/json, and types that end in +json */
	MEDIA_LINES,	   /* a JSON text a line: application/x-ndjson and its other names */
	MEDIA_SSE,	   /* text/event-stream */
	MEDIA_EVENTSTREAM, /* application/vnd.amazon.eventstream */
	MEDIA_FORM,	   /* application/x-www-form-urlencoded */
	MEDIA_TEXT,	   /* text/..., XML, JavaScript, YAML, multipart */
	MEDIA_OPAQUE, /* everything else, and text in a charset that is not a superset of ASCII */
	_MEDIA_CLASS_MAX,
};

/* value: a field value without the white space around it. What is malformed is MEDIA_OPAQUE. */
enum media_class media_type_class(const uint8_t *value, size_t len);

#endif
