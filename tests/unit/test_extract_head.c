/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads that chunks share are passed over where nobody observes the texts: what comes of
 * a stream has to be the same as where somebody does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/extract.h"
#include "core/extract_head.h"
#include "core/session.h"
#include "unit/flow.h"

#define LINES_MAX 24u

static const struct flow_config openai = {.framing = {.kind = FRAMING_NDJSON},
					  .extract = {.kind = EXTRACT_OPENAI_CHAT},
					  .terms = {{"forbidden", "secret"}, {"bidden x"}}};

static void assert_same_but_for_texts(const struct flow *a, const struct flow *b)
{
	assert_string_equal(fault_name(a->fault), fault_name(b->fault));
	assert_int_equal(a->framed, b->framed);
	assert_int_equal(a->released, b->released);
	assert_int_equal(a->units, b->units);
	assert_int_equal(a->confirmed, b->confirmed);
	assert_int_equal(a->session_end, b->session_end);
	for (size_t i = 0; i < a->units; i++)
		assert_int_equal(a->unit[i].rune_end, b->unit[i].rune_end);
	assert_int_equal(a->denial.rule, b->denial.rule);
	assert_int_equal(a->denial.start, b->denial.start);
	assert_int_equal(a->denial.end, b->denial.end);
	if (!a->fault)
		assert_int_equal(a->runes, b->runes);
}

/* The stream observed, and not, in one piece and in so many ways of cutting it. */
static enum fault compare_from(uint64_t start, const char *data, size_t len, unsigned int seed,
			       unsigned int rounds)
{
	struct flow_config config = openai;
	struct flow observed, unobserved;
	enum fault fault;

	config.start = start;
	flow_run(&config, data, len, NULL, 0, &observed);
	config.no_text = true;
	if (rounds)
		flow_run_random(&config, data, len, seed, rounds, &unobserved);
	else
		flow_run_splits(&config, data, len, &unobserved);
	assert_same_but_for_texts(&observed, &unobserved);
	fault = observed.fault;
	flow_done(&observed);
	flow_done(&unobserved);
	return fault;
}

static enum fault compare(const char *data, size_t len, unsigned int seed, unsigned int rounds)
{
	return compare_from(0, data, len, seed, rounds);
}

static void check(const char *data, enum fault fault)
{
	assert_string_equal(fault_name(compare(data, strlen(data), 0, 0)), fault_name(fault));
}

#define HEAD  "{\"id\":\"x\",\"n\":1,\"choices\":["
#define CHUNK HEAD "{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n"

static void what_follows_a_head_is_read_as_ever(void **state)
{
	(void)state;
	check(CHUNK CHUNK HEAD "]}\n" CHUNK, FAULT_NONE);
	check(CHUNK HEAD "{\"delta\":{\"content\":\"forb\"}}]}\n" HEAD
			 "{\"delta\":{\"content\":\"idden\"}}]}\n",
	      FAULT_BLOCKED);
	check(CHUNK HEAD "],\"id\":1}\n", FAULT_DUPLICATE_KEY);
	check(CHUNK HEAD "],\"choices\":[]}\n", FAULT_DUPLICATE_KEY);
	check(CHUNK HEAD "],\"o\":1,\"o\":2}\n", FAULT_DUPLICATE_KEY);
	check(CHUNK HEAD "}\n", FAULT_BAD_JSON);
	check(CHUNK HEAD "]]\n", FAULT_BAD_JSON);
	check(CHUNK HEAD "\n", FAULT_BAD_JSON);
	check(CHUNK HEAD, FAULT_TRUNCATED);
	check(CHUNK HEAD ",1]}\n", FAULT_BAD_JSON);
	check(CHUNK HEAD "1,[{\"a\":\"secret\"}]]}\n", FAULT_BLOCKED);
	/* Another head, or white space before the same. */
	check(CHUNK "{\"id\":\"y\",\"n\":1,\"choices\":[]}\n" CHUNK, FAULT_NONE);
	check(CHUNK " \r\n \t" CHUNK, FAULT_NONE);
	check(CHUNK "{\"id\":\"secret\",\"n\":1,\"choices\":[]}\n", FAULT_BLOCKED);
}

/* Texts of arrays and errors live on after the head, and are there each time. */
static void heads_that_are_not_shared(void **state)
{
	static const char parked[] =
		"{\"a\":[\"forb\"],\"choices\":[],\"b\":{\"a\":1}}\n"
		"{\"a\":[\"forb\"],\"choices\":[]}\n"
		"{\"x\":[{\"a\":\"forb\"},{\"choices\":[]},{\"a\":\"idden\"}]}\n";
	static const char error[] = "{\"error\":{\"message\":\"se\"},\"choices\":[]}\n"
				    "{\"error\":{\"message\":\"se\"},\"choices\":[]}\n"
				    "{\"error\":{\"message\":\"cret\"},\"choices\":[]}\n";
	static const char joins[] = "{\"error\":{\"message\":\"cretse\"},\"choices\":[]}\n"
				    "{\"error\":{\"message\":\"cretse\"},\"choices\":[]}\n";

	(void)state;
	check(parked, FAULT_BLOCKED);
	check(error, FAULT_BLOCKED);
	check(joins, FAULT_BLOCKED);
}

/* Around every limit of what is kept. */
static void long_heads(void **state)
{
	char data[8192];

	(void)state;
	for (size_t size = 1; size < EXTRACT_HEAD_MAX + 8; size += size < 150 ? 50 : 1) {
		size_t len = 0;

		for (unsigned int i = 0; i < 3; i++)
			len += (size_t)snprintf(
				data + len, sizeof(data) - len,
				"{\"n%0*d\":\"%0*d\",\"choices\":[{\"text\":\"a\"}],"
				"\"m\":1}\n",
				(int)MIN(size, (size_t)200), 0, (int)size, 0);
		assert_int_equal(compare(data, len, 1, 3), FAULT_NONE);
	}
	for (unsigned int names = 1; names < 12; names++) {
		size_t len = 0;

		for (unsigned int i = 0; i < 3; i++) {
			len += (size_t)snprintf(data + len, sizeof(data) - len, "{");
			for (unsigned int name = 0; name < names; name++)
				len += (size_t)snprintf(data + len, sizeof(data) - len,
							"\"n%u\":%u,", name, name);
			len += (size_t)snprintf(data + len, sizeof(data) - len,
						"\"choices\":[],\"n%u\":1}\n", i < 2 ? names : 0);
		}
		assert_int_equal(compare(data, len, 1, 20), FAULT_DUPLICATE_KEY);
	}
}

/* What may go on counts among what may go on in one unit, also where it is in a head. */
static void texts_in_a_head_count(void **state)
{
	static const char head[] = "{\"a\":[\"f\"],\"choices\":[";
	size_t capacity = 32 * (CHANNEL_PARKED_MAX + 4), cut, len;
	struct flow_config config = openai;
	char *data = malloc(capacity);
	struct flow flow;

	(void)state;
	config.no_text = true;
	for (unsigned int more = 0; more <= 1; more++) {
		len = (size_t)snprintf(data, capacity, "%s]}\n%s{", head, head);
		cut = len - 4;
		for (unsigned int i = 1; i < CHANNEL_PARKED_MAX + more; i++)
			len += (size_t)snprintf(data + len, capacity - len, "%s\"%x\":\"f\"",
						i > 1 ? "," : "", i);
		len += (size_t)snprintf(data + len, capacity - len, "}]}\n");
		for (size_t cuts = 0; cuts <= 1; cuts++) {
			flow_run(&config, data, len, &cut, cuts, &flow);
			assert_int_equal(flow.fault, more ? FAULT_TOO_LARGE : FAULT_NONE);
			flow_done(&flow);
		}
	}
	free(data);
}

/* The last rune there may be lies before, in or behind a head. */
static void runes_run_out(void **state)
{
	static const char data[] = CHUNK CHUNK CHUNK;
	unsigned int faults[_FAULT_MAX] = {0};

	(void)state;
	for (unsigned int left = 0; left < 128; left++)
		faults[compare_from(SESSION_RUNES_MAX - left, data, sizeof(data) - 1, 1, 1)]++;
	assert_true(faults[FAULT_NONE] > 10);
	assert_true(faults[FAULT_ACCOUNTING] > 10);
	assert_int_equal(faults[FAULT_NONE] + faults[FAULT_ACCOUNTING], 128);
}

static void random_streams(void **state)
{
	static const char *const heads[] = {
		HEAD,
		HEAD,
		HEAD,
		"{\"id\":\"y\",\"choices\":[",
		"{\"id\":\"\\u0078\",\"choices\":[",
		" {\"id\":\"x\",\"n\":1,\"choices\":[",
		"{\"a\":[\"se\",2],\"choices\":[",
		"{\"a\":{\"b\":{}},\"choices\":[",
		"{\"choices\":[",
		"{\"error\":{\"message\":\"sec\"},\"choices\":[",
		"{\"choices\":{},\"x\":[",
	};
	static const char *const tails[] = {
		"{\"index\":0,\"delta\":{\"content\":\"a forb\"},\"finish_reason\":null}]}\n",
		"{\"index\":0,\"delta\":{\"content\":\"idde\"},\"finish_reason\":null}]}\n",
		"{\"index\":1,\"delta\":{\"content\":\"n x\"}}]}\n",
		"{\"index\":0,\"delta\":{\"content\":\"n x\"}}]}\n",
		"{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"se\"}}]},\"index\":0}]}"
		"\n",
		"{\"delta\":{},\"index\":0,\"finish_reason\":\"stop\"}]}\n",
		"{\"text\":\"\\ud83d\"}]}\n",
		"{\"text\":\"\\ude00\"}],\"error\":{\"message\":\"ret\"}}\n",
		"],\"usage\":{\"a\":1,\"b\":\"cret\"}}\n",
		"]}\n",
		"],\"id\":2}\n",
	};
	unsigned int seed = 3, faults[_FAULT_MAX] = {0};
	char data[LINES_MAX * 200];

	(void)state;
	for (unsigned int round = 0; round < 300; round++) {
		size_t len = 0;

		for (unsigned int i = 0; i < LINES_MAX; i++)
			len += (size_t)snprintf(data + len, sizeof(data) - len, "%s%s",
						heads[(size_t)rand_r(&seed) % ARRAY_SIZE(heads)],
						tails[(size_t)rand_r(&seed) %
						      (ARRAY_SIZE(tails) - (round % 4 != 0))]);
		faults[compare(data, len, seed, 6)]++;
	}
	assert_true(faults[FAULT_NONE] > 10);
	assert_true(faults[FAULT_BLOCKED] > 10);
	assert_true(faults[FAULT_DUPLICATE_KEY] > 10);
}

/* The same bytes are passed over: only what is kept of them shows. */
static void a_head_is_passed_over(void **state)
{
	struct channel_set set = {.ceiling = UINT64_MAX};
	const struct extract config = {.kind = EXTRACT_OPENAI_CHAT};
	static const uint8_t data[] = HEAD, other[] = "{\"id\":\"z\"";
	struct extractor x;
	size_t used, skipped;
	uint64_t track;

	(void)state;
	assert_int_equal(channel_set_init(&set), 0);
	assert_int_equal(extractor_init(&x, &config, &set, EXTRACTOR_EVALUATE), 0);
	assert_int_equal(extractor_feed(&x, data, sizeof(data) - 1, &used), FAULT_NONE);
	assert_int_equal(extractor_feed(&x, (const uint8_t *)"]}", 2, &used), FAULT_NONE);
	assert_int_equal(extractor_unit_end(&x, true), FAULT_NONE);
	track = set.track;
	assert_int_equal(extract_head_begin(&x.known->head, &x.scanner, other, sizeof(other) - 1),
			 0);
	assert_int_equal(extract_head_begin(&x.known->head, &x.scanner, data, sizeof(data) - 2), 0);
	skipped = extract_head_begin(&x.known->head, &x.scanner, data, sizeof(data) - 1);
	assert_int_equal(skipped, sizeof(data) - 1);
	assert_int_equal(set.track, 2 * track);
	extractor_done(&x);
	channel_set_done(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_follows_a_head_is_read_as_ever),
		cmocka_unit_test(heads_that_are_not_shared),
		cmocka_unit_test(long_heads),
		cmocka_unit_test(texts_in_a_head_count),
		cmocka_unit_test(runes_run_out),
		cmocka_unit_test(random_streams),
		cmocka_unit_test(a_head_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
