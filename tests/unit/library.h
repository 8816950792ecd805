/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of the public library, for tests; each function fails the test where it cannot. */
#ifndef TESTS_UNIT_LIBRARY_H
#define TESTS_UNIT_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/sluice.h"

/* Blocking, with so many tasks of "t0", "t1" on each track. */
struct sluice_config library_config(size_t request, size_t response);
struct sluice_session *library_session(size_t request, size_t response);
struct sluice_state library_state(const struct sluice_session *session);

/* Text of the response; wanted is the offset it then ends at. */
void library_observe(struct sluice_session *session, const char *text, uint64_t wanted);
void library_clear(struct sluice_session *session, int task, uint64_t start, uint64_t end);

/* The session failed with that cause and offers nothing any more; frees it. */
void assert_library_failed(struct sluice_session *session, enum sluice_result cause);

#endif
