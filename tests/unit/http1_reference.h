/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1 read a second time, for tests: the whole input at once, by regular expressions,
 * as slowly as that goes, to the same transcript as http1_pieces_run().
 */
#ifndef SLUICE_TESTS_UNIT_HTTP1_REFERENCE_H
#define SLUICE_TESTS_UNIT_HTTP1_REFERENCE_H

#include <stddef.h>

#include "unit/http1_pieces.h"

struct http1_reference;

struct http1_reference *http1_reference_new(void);
void http1_reference_free(struct http1_reference *reference);

void http1_reference_run(const struct http1_reference *reference,
			 const struct http1_pieces_config *config, const void *data, size_t len,
			 struct http1_pieces *ret_pieces);

#endif
