/* SPDX-License-Identifier: Apache-2.0 */
/* What the lines of a head are to the second reading of HTTP/1, for http1_reference.c alone. */
#ifndef SLUICE_TESTS_UNIT_HTTP1_REFERENCE_HEAD_H
#define SLUICE_TESTS_UNIT_HTTP1_REFERENCE_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "core/fault.h"
#include "core/http1_head.h"
#include "unit/http1_reference.h"

struct part {
	const char *at;
	size_t len;
};

/* Each as a list of what the lines of that name said, and how many there were. */
struct said {
	char *value;
	unsigned int lines;
};

enum reference_name {
	LENGTH,
	TRANSFER,
	CODING,
	TYPE,
	CONNECTION,
	UPGRADES,
	HOSTS,
	EXPECT,
	_REFERENCE_NAME_MAX
};

struct message {
	bool response;
	struct http1_head head;
	struct said said[_REFERENCE_NAME_MAX];
	struct part authority; /* of the target */
	bool https, old;
	enum media_class media;
	bool type_given;
};

/* The bytes of a chunk's line from its first semicolon on. */
bool reference_is_extensions(const struct http1_reference *reference, struct part line);

enum fault reference_request_line(const struct http1_reference *reference, struct message *message,
				  struct part line);
enum fault reference_status_line(const struct http1_reference *reference, struct message *message,
				 struct part line);
enum fault reference_field_line(const struct http1_reference *reference, struct message *message,
				struct part line, bool trailer);
/* The head is whole. FAULT_BAD_HEADER: it is none; *ret_late: a later fault. */
enum fault reference_judge(const struct http1_reference *reference, struct message *message,
			   enum fault *ret_late);
void reference_message_done(struct message *message);

#endif
