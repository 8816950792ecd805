/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form of the documents of one provider: where in them is what, and what their types say. The
 * forms themselves are tables, each in a file of its own.
 */
#ifndef SLUICE_CORE_EXTRACT_FORM_H
#define SLUICE_CORE_EXTRACT_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/extract_nodes.h"

enum tree_type {
	TREE_OBJECT = 1 << 0,
	TREE_ARRAY = 1 << 1,
	TREE_STRING = 1 << 2,
	TREE_NUMBER = 1 << 3,
	TREE_LITERAL = 1 << 4,
};
#define TREE_TYPES 5u
#define TREE_ANY   ((1u << TREE_TYPES) - 1)

/* From a container to what is in it. */
struct tree_edge {
	uint8_t from;
	uint8_t types; /* enum tree_type, any of them */
	uint8_t to;
	uint8_t len;
	const char *name; /* of the member; NULL: an element of an array, or whatever
                       is in it */
};

#define TREE_MEMBER(from, name, types, to)              \
	{                                               \
		from, types, to, sizeof(name) - 1, name \
	}
#define TREE_ELEMENT(from, types, to)    \
	{                                \
		from, types, to, 0, NULL \
	}
/* Behind the last edge. */
#define TREE_END                         \
	{                                \
		UINT8_MAX, 0, 0, 0, NULL \
	}

/* What a document is whose member `type` has this value. */
struct extract_type {
	const char *name;
	uint8_t len;
	uint8_t group; /* enum extract_group: texts of it are joined */
	uint8_t to;    /* as that text; 0: as what they are */
	uint8_t ends;  /* enum extract_register: calls with its number are complete */
	bool over;     /* the exchange is complete */
};

#define EXTRACT_TYPE(text, ...)                                    \
	{                                                          \
		.name = text, .len = sizeof(text) - 1, __VA_ARGS__ \
	}

struct extract_form {
	const struct tree_edge *edges; /* sorted by `from`; the last is TREE_END */
	const struct extract_type *types;
	size_t type_count;
};

/* What documents of all forms have in common: type, index, error.message. */
extern const struct extract_form extract_common;

#endif
