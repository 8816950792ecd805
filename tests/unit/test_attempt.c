/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts: what is kept of a text that was shown and has not left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/attempt.h"

static struct http1_slice slice(const char *text)
{
	return (struct http1_slice){(const uint8_t *)text, strlen(text)};
}

/* One whose answer is a stream of events, of which a tail of eight runes is kept. */
static struct attempt *make(struct resume_table **ret_table)
{
	struct resume_scope scope = {.policy = "p", .peer = "q", .peer_len = 1, .keep = 8};
	const struct attempt_head head = {.status = 200, .body = true, .media = MEDIA_SSE};
	struct attempt *attempt;

	assert_int_equal(resume_table_new(ret_table), 0);
	scope.table = *ret_table;
	assert_int_equal(attempt_new(&attempt), 0);
	resume_request_target(attempt_request(attempt), slice("/s"));
	assert_int_equal(attempt_begin(attempt, &scope, slice("/s")), 0);
	(void)attempt_new_answer(attempt);
	assert_int_equal(attempt_answer(attempt, &scope, &head), 0);
	assert_true(attempt_is_recorded(attempt));
	return attempt;
}

/* Pieces of a message that is held whole: of one rune each, as escapes are. */
static void pieces_take_what_they_spell(void **state)
{
	struct resume_table *table;
	struct attempt *attempt = make(&table);
	size_t before = attempt_memory(attempt);

	(void)state;
	for (size_t i = 0; i < 100000; i++)
		attempt_text(attempt, "a", (const uint8_t *)"x", 1, i == 0);
	assert_in_range(attempt_memory(attempt) - before, 100000, 300000);
	attempt_free(attempt);
	resume_table_free(table);
}

/* However a text is cut into pieces, what was delivered of it is the same. */
static void pieces_are_one_text(void **state)
{
	const uint8_t *tail;
	struct resume_table *table;
	struct attempt *attempt = make(&table);
	static const char *const other = "b";

	(void)state;
	attempt_text(attempt, "a", (const uint8_t *)"one", 3, true);
	attempt_text(attempt, "a", (const uint8_t *)"two", 3, false);
	attempt_text(attempt, other, (const uint8_t *)"else", 4, true);
	attempt_text(attempt, "a", (const uint8_t *)"three", 5, false);
	attempt_unit(attempt, 10, 15, 10);
	attempt_text(attempt, "a", (const uint8_t *)"four", 4, false);
	assert_int_equal(attempt_tail(attempt, "a", &tail), 0);
	attempt_released(attempt, 10);
	assert_int_equal(attempt_tail(attempt, "a", &tail), 8);
	assert_memory_equal(tail, "twothree", 8);
	attempt_unit(attempt, 20, 19, 20);
	attempt_released(attempt, 20);
	assert_int_equal(attempt_tail(attempt, "a", &tail), 8);
	assert_memory_equal(tail, "hreefour", 8);
	assert_int_equal(attempt_tail(attempt, other, &tail), 4);
	attempt_free(attempt);
	resume_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_take_what_they_spell),
		cmocka_unit_test(pieces_are_one_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
