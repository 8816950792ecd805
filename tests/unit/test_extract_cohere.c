/* SPDX-License-Identifier: Apache-2.0 */
/* Cohere's chat, of both versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/extracted.h"

#define KIND EXTRACT_COHERE
#define MESSAGE(type, index, message) \
	"{\"type\":\"" type "\",\"index\":" index ",\"delta\":{\"message\":{" message "}}}\n"
#define TEXT(index, text) MESSAGE("content-delta", index, "\"content\":{\"text\":\"" text "\"}")
#define ARGUMENTS(index, text)            \
	MESSAGE("tool-call-delta", index, \
		"\"tool_calls\":{\"function\":{\"arguments\":\"" text "\"}}")

static void each_text_has_its_channel(void **state)
{
	(void)state;
	extracted_check(KIND,
			TEXT("0", "Hel") TEXT("1", "x") TEXT("0", "lo") MESSAGE(
				"content-delta", "0", "\"content\":{\"thinking\":\"t\"}")
				MESSAGE("tool-plan-delta", "0", "\"tool_plan\":\"p\"") MESSAGE(
					"tool-call-start", "2",
					"\"tool_calls\":{\"id\":\"i\",\"function\":{\"name\":\"f\","
					"\"arguments\":\"\"}}") ARGUMENTS("2", "{}")
					MESSAGE("x", "3", "\"content\":\"s\"")
						MESSAGE("x", "3", "\"content\":[{\"text\":\"u\"}]"),
			"content0.text=Hello;content1.text=x;content0.thinking=t;tool_plan=p;"
			"delta.message.tool_calls.id=i;tool2.name=f;tool2.arguments={};"
			"content3.text=su;",
			FAULT_NONE);
	extracted_check_orders(
		KIND,
		(const char *const[]){"\"type\":\"content-delta\"", "\"index\":4",
				      "\"delta\":{\"message\":{\"content\":{\"text\":"
				      "\"a\"}}}"},
		"content4.text=a;");
}

static void the_first_version(void **state)
{
	static const char other[] = "{\"event_type\":\"stream-end\",\"text\":\"for\"}\n"
				    "{\"event_type\":\"stream-end\",\"text\":\"bidden\"}\n";

	(void)state;
	extracted_check_orders(KIND,
			       (const char *const[]){"\"is_finished\":false",
						     "\"event_type\":\"text-generation\"",
						     "\"text\":\"a\""},
			       "event_type=text-generation;text=a;");
	extracted_check_term(KIND,
			     "{\"event_type\":\"text-generation\",\"text\":\"for\"}\n"
			     "{\"text\":\"bidden\",\"event_type\":\"text-generation\"}\n",
			     true, 0);
	/* Nothing says that it is none. */
	extracted_check_term(KIND, "{\"text\":\"for\"}\n{\"text\":\"bidden\"}\n", true, 0);
	extracted_check_term(KIND, other, false, strlen(other));
}

static void calls_are_held_until_they_end(void **state)
{
	static const char call[] =
		MESSAGE("tool-call-start", "1", "\"tool_calls\":{\"function\":{\"name\":\"f\"}}")
			ARGUMENTS("1", "{}");
	char data[1024];

	(void)state;
	extracted_check_held(KIND, call, 0);
	snprintf(data, sizeof(data), "%s{\"type\":\"tool-call-end\",\"index\":0}\n", call);
	extracted_check_held(KIND, data, 0);
	snprintf(data, sizeof(data), "%s{\"index\":1,\"type\":\"tool-call-end\"}\n", call);
	extracted_check_held(KIND, data, strlen(data));
	snprintf(data, sizeof(data), "%s{\"type\":\"message-end\"}\n", call);
	extracted_check_held(KIND, data, strlen(data));
	extracted_check_complete(KIND, data);
	extracted_check_term(KIND, ARGUMENTS("1", "for") ARGUMENTS("1", "bidden"), true, 0);
}

static void hostile_shapes(void **state)
{
	(void)state;
	extracted_check(KIND, TEXT("-1", "a"), "", FAULT_BAD_JSON);
	extracted_check(KIND, TEXT("{}", "a"), "", FAULT_BAD_JSON);
	extracted_check(KIND, TEXT("1024", "a"), "", FAULT_TOO_LARGE);
	extracted_check(KIND,
			"{\"delta\":{\"message\":\"a\",\"text\":\"b\"}}\n"
			"{\"delta\":{\"message\":{\"content\":null,\"tool_plan\":{\"x\":\"c\"},"
			"\"tool_calls\":[{\"function\":{\"arguments\":\"d\"}}]}}}\n",
			"delta.message=a;delta.text=b;delta.message.tool_plan.x=c;"
			"delta.message.tool_calls.function.arguments=d;",
			FAULT_NONE);
}

static void every_allocation_may_fail(void **state)
{
	(void)state;
	extracted_check_allocations(
		KIND, "{\"delta\":{\"message\":{\"content\":{\"text\":\"a\\ud83d\"},"
		      "\"tool_plan\":\"b\"}},\"text\":\"c\",\"index\":2}\n" TEXT("2", "d"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_text_has_its_channel),
		cmocka_unit_test(the_first_version),
		cmocka_unit_test(calls_are_held_until_they_end),
		cmocka_unit_test(hostile_shapes),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
