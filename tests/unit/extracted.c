/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/extracted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/allocation.h"
#include "unit/flow.h"

static struct flow_config configure(enum extract_kind kind)
{
	return (struct flow_config){
		.framing = {.kind = FRAMING_NDJSON},
		.extract = {.kind = kind},
	};
}

static bool is_shown(const char *name)
{
	return strcmp(name, "meta") != 0 && strcmp(name, "type") != 0 &&
	       strcmp(name, "delta.type") != 0;
}

static void list(const struct flow *flow, char *ret_text, size_t size)
{
	size_t len = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < flow->channel_count; i++)
		if (is_shown(flow->channels[i].name))
			len += (size_t)snprintf(ret_text + len, size - len, "%s=%s;",
						flow->channels[i].name,
						(const char *)flow->channels[i].text);
	assert_in_range(len, 0, size - 1);
}

void extracted_check(enum extract_kind kind, const char *lines, const char *channels,
		     enum fault fault)
{
	struct flow_config config = configure(kind);
	char text[2048];
	struct flow flow;

	flow_run_splits(&config, lines, strlen(lines), &flow);
	list(&flow, text, sizeof(text));
	assert_string_equal(fault_name(flow.fault), fault_name(fault));
	if (!fault)
		assert_string_equal(text, channels);
	flow_done(&flow);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The same, whatever the order of its parts. */
static void sort_parts(char *text)
{
	char *parts[16], sorted[1024] = "", *save = NULL;
	size_t count = 0, len = 0;

	for (char *part = strtok_r(text, ";", &save); part; part = strtok_r(NULL, ";", &save)) {
		assert_true(count < ARRAY_SIZE(parts));
		parts[count++] = part;
	}
	qsort(parts, count, sizeof(parts[0]), by_name);
	for (size_t i = 0; i < count; i++)
		len += (size_t)snprintf(sorted + len, sizeof(sorted) - len, "%s;", parts[i]);
	strcpy(text, sorted);
}

void extracted_check_orders(enum extract_kind kind, const char *const members[3],
			    const char *channels)
{
	static const unsigned int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
						 {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	struct flow_config config = configure(kind);
	char line[1024], text[1024], expected[1024];
	struct flow flow;

	snprintf(expected, sizeof(expected), "%s", channels);
	sort_parts(expected);
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		int len = snprintf(line, sizeof(line), "{%s,%s,%s}\n", members[orders[i][0]],
				   members[orders[i][1]], members[orders[i][2]]);

		flow_run_splits(&config, line, (size_t)len, &flow);
		assert_string_equal(fault_name(flow.fault), "none");
		list(&flow, text, sizeof(text));
		sort_parts(text);
		assert_string_equal(text, expected);
		flow_done(&flow);
	}
}

void extracted_check_term(enum extract_kind kind, const char *lines, bool denied, size_t released)
{
	struct flow_config config = configure(kind);
	struct flow flow;

	config.terms[0][0] = "forbidden";
	flow_run_splits(&config, lines, strlen(lines), &flow);
	assert_string_equal(fault_name(flow.fault),
			    fault_name(denied ? FAULT_BLOCKED : FAULT_NONE));
	assert_int_equal(flow.released, released);
	flow_done(&flow);
}

void extracted_check_held(enum extract_kind kind, const char *lines, size_t released)
{
	struct flow_config config = configure(kind);
	struct flow flow;

	config.terms[0][0] = "forbidden";
	config.no_end = true;
	flow_run_splits(&config, lines, strlen(lines), &flow);
	assert_string_equal(fault_name(flow.fault), "none");
	assert_int_equal(flow.released, released);
	flow_done(&flow);
}

void extracted_check_long(enum extract_kind kind, const char *lines, size_t len, enum fault fault)
{
	struct flow_config config = configure(kind);
	struct flow flow;

	config.terms[0][0] = "forbidden";
	config.no_text = true;
	flow_run(&config, lines, len, NULL, 0, &flow);
	assert_string_equal(fault_name(flow.fault), fault_name(fault));
	flow_done(&flow);
}

static bool completes(enum extract_kind kind, const char *lines, size_t len)
{
	struct flow_config config = configure(kind);
	struct flow flow;
	bool complete;

	flow_run(&config, lines, len, NULL, 0, &flow);
	assert_string_equal(fault_name(flow.fault), "none");
	complete = flow.complete;
	flow_done(&flow);
	return complete;
}

void extracted_check_complete(enum extract_kind kind, const char *lines)
{
	size_t len = strlen(lines), last = len - 1;

	while (last && lines[last - 1] != '\n')
		last--;
	assert_false(completes(kind, lines, last));
	assert_true(completes(kind, lines, len));
}

void extracted_check_allocations(enum extract_kind kind, const char *lines)
{
	struct flow_config config = configure(kind);
	unsigned long n = 0;
	uint64_t released;

	config.terms[0][0] = "forbidden";
	config.no_text = true;
	for (;; n++) {
		enum fault fault = flow_run_failing(&config, lines, strlen(lines), n, &released);

		if (!allocation_failed()) {
			assert_string_equal(fault_name(fault), "none");
			break;
		}
		assert_string_equal(fault_name(fault), "no_memory");
	}
	assert_int_equal(released, strlen(lines));
	assert_in_range(n, 5, 2000);
}
