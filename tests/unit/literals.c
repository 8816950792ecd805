/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/literals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/channel.h"

static void on_text(void *context, const char *channel, const uint8_t *text, size_t len)
{
	static const char *const names[] = {"t.literals", "t.literals.literals",
					    "t.literals.literals.literals"};
	struct literals_heard *heard = context;
	size_t i = 0;

	while (strcmp(names[i], channel) != 0)
		assert_true(++i < ARRAY_SIZE(names));
	assert_in_range(len, 1, LITERALS_TEXT_MAX - 1 - heard->len[i]);
	memcpy(heard->text[i] + heard->len[i], text, len);
	heard->len[i] += len;
	heard->text[i][heard->len[i]] = '\0';
}

struct terms *literals_terms(const char *term, unsigned int fold)
{
	struct terms *terms = NULL;
	size_t bad;

	assert_int_equal(terms_new(&term, 1, fold, &bad, &terms), 0);
	return terms;
}

enum fault literals_feed(struct extract_literals *l, const char *text, size_t len, size_t cut,
			 size_t size)
{
	enum fault fault = FAULT_NONE;
	size_t at = 0;

	while (at < len && !fault) {
		size_t end = at < cut && cut < len ? cut : len, n = MIN(end - at, size);
		uint8_t *copy;

		while (at + n < len && ((uint8_t)text[at + n] & 0xc0) == 0x80)
			n++;
		copy = malloc(n);
		assert_non_null(copy);
		memcpy(copy, text + at, n);
		fault = extract_literals_text(l, copy, n);
		free(copy);
		at += n;
	}
	return fault;
}

enum fault literals_run(const struct terms *terms, const char *text, size_t len, size_t cut,
			size_t size, struct literals_heard *heard)
{
	const struct matcher matcher = {.terms = terms};
	struct channel_set set = {
		.matchers = &matcher,
		.task_count = terms != NULL,
		.ceiling = UINT64_MAX,
		.on_text = heard ? on_text : NULL,
		.context = heard,
	};
	struct extract_literals *l;
	enum fault fault;

	if (heard)
		memset(heard, 0, sizeof(*heard));
	assert_int_equal(channel_set_init(&set), 0);
	l = extract_literals_new(&set, "t", true);
	assert_non_null(l);
	fault = literals_feed(l, text, len, cut, size);
	if (!fault)
		fault = extract_literals_end(l);
	extract_literals_free(l);
	channel_set_done(&set);
	return fault;
}

void literals_check(const char *text, enum fault fault)
{
	struct terms *terms = literals_terms("forbidden", 0);
	size_t len = strlen(text);

	for (size_t cut = 0; cut < len; cut++)
		if (literals_run(terms, text, len, cut, SIZE_MAX, NULL) != fault)
			fail_msg("not %s: %s", fault_name(fault), text);
	for (size_t size = 1; size < 8; size++)
		assert_int_equal(literals_run(terms, text, len, 0, size, NULL), fault);
	terms_free(terms);
}
