/* SPDX-License-Identifier: Apache-2.0 */
/* Gemini's answers: thoughts, code, calls, and indexes that come last. */
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

#define KIND EXTRACT_GEMINI
#define PART(index, part) \
	"{\"candidates\":[{\"content\":{\"parts\":[" part "]},\"index\":" index "}]}\n"
#define TEXT(index, text) PART(index, "{\"text\":\"" text "\"}")

static void each_text_has_its_channel(void **state)
{
	(void)state;
	extracted_check(
		KIND,
		TEXT("0", "Hel") TEXT("1", "x") TEXT("0", "lo") PART(
			"0",
			"{\"text\":\"a\",\"thought\":true},{\"thought\":true,\"text\":\"b\"},"
			"{\"text\":\"c\",\"thought\":false},{\"thought\":null,\"text\":\"d\"}"),
		"cand0.text=Hellocd;cand1.text=x;cand0.thought=ab;", FAULT_NONE);
	extracted_check(KIND,
			PART("2",
			     "{\"executableCode\":{\"language\":\"PY\",\"code\":\"c\"}},"
			     "{\"codeExecutionResult\":{\"outcome\":\"OK\",\"output\":\"o\"}}"),
			"candidates.content.parts.executableCode.language=PY;"
			"candidates.content.parts.codeExecutionResult.outcome=OK;cand2.code=c;"
			"cand2.output=o;",
			FAULT_NONE);
	/* An index that is missing is 0. */
	extracted_check(
		KIND,
		"{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\\ud83d\"},{\"text\":"
		"\"\\ude00\"}]}},{\"index\":1,\"content\":{\"parts\":[{\"text\":\"b\"}]}}]}\n",
		"cand0.text=a\xf0\x9f\x98\x80;cand1.text=b;", FAULT_NONE);
	extracted_check(KIND,
			"{\"serverContent\":{\"modelTurn\":{\"parts\":[{\"text\":\"a\"}]},"
			"\"outputTranscription\":{\"text\":\"b\"},\"inputTranscription\":{\"text\":"
			"\"c\"}}}\n",
			"live.text=a;live.spoken=b;live.heard=c;", FAULT_NONE);
}

static void calls_are_whole(void **state)
{
	extracted_check(KIND,
			PART("3",
			     "{\"functionCall\":{\"name\":\"f\",\"args\":{ \"a\":[\"\\u0078\"]}}},"
			     "{\"text\":\"t\"},{\"functionCall\":{\"args\":[],\"name\":\"g\"}}"),
			"candidates.content.parts.functionCall.args.a=x;cand3.tool0.name=f;"
			"cand3.tool0.arguments={ \"a\":[\"\\u0078\"]};cand3.text=t;"
			"cand3.tool1.arguments=[];cand3.tool1.name=g;",
			FAULT_NONE);
	(void)state;
	extracted_check_term(KIND,
			     PART("0", "{\"functionCall\":{\"args\":{\"a\":\"forb\\u0069dden\"}}}"),
			     true, 0);
	extracted_check_term(KIND,
			     PART("0", "{\"functionCall\":{\"name\":\"for\"}}")
				     PART("0", "{\"functionCall\":{\"name\":\"bidden\"}}"),
			     false,
			     strlen(PART("0", "{\"functionCall\":{\"name\":\"for\"}}")
					    PART("0", "{\"functionCall\":{\"name\":\"bidden\"}}")));
}

/* Arguments in parts are held until their candidate has finished. */
static void arguments_in_parts(void **state)
{
	static const char parts[] =
		PART("0", "{\"functionCall\":{\"name\":\"f\",\"partialArgs\":[{\"stringValue\":"
			  "\"for\"}]}}") PART("0", "{\"functionCall\":{\"partialArgs\":[{"
						   "\"stringValue\":\"x\"}]}}");
	char data[1024];

	(void)state;
	extracted_check_held(KIND, parts, 0);
	snprintf(data, sizeof(data), "%s{\"candidates\":[{\"finishReason\":\"STOP\"}]}\n", parts);
	extracted_check_held(KIND, data, strlen(data));
	extracted_check_term(
		KIND,
		PART("0", "{\"functionCall\":{\"partialArgs\":[{\"stringValue\":\"for\"}]}}")
			PART("0", "{\"functionCall\":{\"partialArgs\":[{\"stringValue\":"
				  "\"bidden\"}]}}"),
		true, 0);
}

static void terms_split_over_events(void **state)
{
	static const char candidates[] = TEXT("0", "for") TEXT("1", "bidden");
	static const char thought[] =
		TEXT("0", "for") PART("0", "{\"text\":\"bidden\",\"thought\":true}");
	static const char thoughts[] = PART("0", "{\"text\":\"for\",\"thought\":true}")
		TEXT("0", "x") PART("0", "{\"thought\":true,\"text\":\"bidden\"}");

	(void)state;
	extracted_check_term(KIND, TEXT("0", "for") TEXT("1", "x") TEXT("0", "bidden"), true, 0);
	extracted_check_term(KIND, candidates, false, strlen(candidates));
	extracted_check_term(KIND, thought, false, strlen(thought));
	extracted_check_term(KIND, thoughts, true, 0);
}

static void hostile_shapes(void **state)
{
	static const char *const thoughts[] = {"1", "\"true\"", "{}", "[]"};
	char data[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(thoughts); i++) {
		snprintf(data, sizeof(data),
			 "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\",\"thought\":%s}"
			 "]}}]"
			 "}\n",
			 thoughts[i]);
		extracted_check(KIND, data, "", FAULT_BAD_JSON);
	}
	extracted_check(KIND, TEXT("-1", "a"), "", FAULT_BAD_JSON);
	extracted_check(KIND, TEXT("null", "a"), "", FAULT_BAD_JSON);
	extracted_check(KIND, TEXT("\"0\"", "a"), "", FAULT_BAD_JSON);
	extracted_check(KIND, TEXT("1024", "a"), "", FAULT_TOO_LARGE);
	extracted_check(KIND, TEXT("0,\"index\":0", "a"), "", FAULT_DUPLICATE_KEY);
	extracted_check(KIND,
			"{\"candidates\":{\"content\":{\"parts\":[{\"text\":\"a\"}]}}}\n"
			"{\"candidates\":[{\"content\":[{\"parts\":[{\"text\":\"b\"}]}]}]}\n"
			"{\"candidates\":[{\"content\":{\"parts\":{\"text\":\"c\"}}}]}\n",
			"candidates.content.parts.text=abc;", FAULT_NONE);
}

static void every_allocation_may_fail(void **state)
{
	(void)state;
	extracted_check_allocations(
		KIND,
		PART("1", "{\"text\":\"a\\ud83d\"},{\"functionCall\":{\"name\":\"f\",\"args\":{"
			  "\"a\":[1]}}},{\"thought\":true,\"text\":\"b\"}") TEXT("1", "c"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_text_has_its_channel),
		cmocka_unit_test(calls_are_whole),
		cmocka_unit_test(arguments_in_parts),
		cmocka_unit_test(terms_split_over_events),
		cmocka_unit_test(hostile_shapes),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
