/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/library.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static const char *const two[] = {"t0", "t1"};

struct sluice_config library_config(size_t request, size_t response)
{
	return (struct sluice_config){
		.size = sizeof(struct sluice_config),
		.tasks = {two, two},
		.task_count = {request, response},
	};
}

struct sluice_session *library_session(size_t request, size_t response)
{
	struct sluice_config config = library_config(request, response);
	struct sluice_session *session = NULL;

	assert_int_equal(sluice_session_new(&config, &session), SLUICE_OK);
	assert_non_null(session);
	return session;
}

struct sluice_state library_state(const struct sluice_session *session)
{
	struct sluice_state state = {.size = sizeof(state)};

	assert_int_equal(sluice_session_get(session, &state), SLUICE_OK);
	return state;
}

void assert_library_failed(struct sluice_session *session, enum sluice_result cause)
{
	uint64_t offset = 77;

	assert_int_equal(library_state(session).end, SLUICE_END_FAILED);
	assert_int_equal(library_state(session).error, cause);
	assert_false(sluice_session_safe_offset(session, SLUICE_RESPONSE, &offset));
	assert_int_equal(sluice_session_advance(session, SLUICE_RESPONSE, &offset), 0);
	assert_int_equal(offset, 77);
	assert_true(sluice_session_free(session));
}

void library_observe(struct sluice_session *session, const char *text, uint64_t wanted)
{
	uint64_t received = UINT64_MAX;

	assert_int_equal(sluice_session_observe_text(session, SLUICE_RESPONSE, text, strlen(text),
						     &received),
			 SLUICE_OK);
	assert_int_equal(received, wanted);
}

void library_clear(struct sluice_session *session, int task, uint64_t start, uint64_t end)
{
	assert_int_equal(
		sluice_session_outcome(session, SLUICE_RESPONSE, task, start, end, SLUICE_CLEARED),
		SLUICE_OK);
}
