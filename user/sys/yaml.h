/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML text to a document tree (base/doc.h), each node with its line and column.
 *
 * Invariants:
 *  N1. What is returned is one document of plain data: anchors, aliases, tags,
 *      a second document, a key twice in one map, a key that is no scalar and a
 *      NUL inside a scalar are refused, each with its line and column.
 *  N2. Size, depth, nodes and keys are bounded before memory is spent on them.
 */
#ifndef SLUICE_SYS_YAML_H
#define SLUICE_SYS_YAML_H

#include <stddef.h>

#include "base/doc.h"
#include "base/macros.h"

#define YAML_BYTES_MAX	  (4u << 20)
#define YAML_DEPTH_MAX	  16u
#define YAML_NODES_MAX	  400000u
#define YAML_MAP_KEYS_MAX 1024u

/* One line, without a final newline; line 0 where the text as a whole is meant. */
struct yaml_error {
	unsigned int line, column; /* from 1; columns count characters */
	char message[256];
};

/*
 * -EINVAL: *ret_error says where and why. -EFBIG: the same, a limit. -ENOMEM.
 */
int yaml_parse(const char *text, size_t len, struct doc_node **ret_document,
	       struct yaml_error *ret_error) must_check;

/*
 * Reads a file whole, for yaml_parse; "-" is standard input. The text has a NUL
 * behind its last byte. -EFBIG: over YAML_BYTES_MAX. Otherwise errno of open or read.
 */
int yaml_read_file(const char *path, char **ret_text, size_t *ret_len) must_check;

#endif
