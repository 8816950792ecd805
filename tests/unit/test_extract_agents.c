/* SPDX-License-Identifier: Apache-2.0 */
/* What agents and their tools send each other: A2A, MCP, any JSON-RPC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/extract_known.h"
#include "unit/extracted.h"

#define STATUS(text)                                                                           \
	"{\"result\":{\"status\":{\"message\":{\"parts\":[{\"kind\":\"text\",\"text\":\"" text \
	"\"}]}}}}\n"
#define ARTIFACT(id, text)                                                                  \
	"{\"result\":{\"artifact\":{\"artifactId\":\"" id "\",\"parts\":[{\"text\":\"" text \
	"\"}]}}}\n"

static void texts_of_a2a(void **state)
{
	(void)state;
	extracted_check(
		EXTRACT_A2A,
		STATUS("s") ARTIFACT("x", "a") ARTIFACT("y", "b") ARTIFACT(
			"x",
			"c") "{\"result\":{\"parts\":[{\"text\":\"m\"},{\"text\":\"n\"},{\"data\":{"
			     "\"z\":\"d\"}}]}}\n"
			     "{\"result\":{\"artifactUpdate\":{\"artifact\":{\"parts\":[{\"text\":"
			     "\"e\"}],\"artifactId\":\"y\"}}}}\n",
		"result.status.message.parts.kind=text;status=s;"
		"result.artifact.artifactId=xyx;artifact0=ac;artifact1=be;message=mn;"
		"result.parts.data.z=d;result.artifactUpdate.artifact.artifactId=y;",
		FAULT_NONE);
	extracted_check(EXTRACT_A2A,
			"{\"artifact\":{\"parts\":[{\"text\":\"a\"},{\"text\":\"b\"}]}}\n"
			"{\"artifactUpdate\":{\"artifact\":{\"parts\":[{\"text\":\"c\"}]}}}\n"
			"{\"result\":{\"message\":{\"parts\":[{\"text\":\"d\"}]},\"statusUpdate\":{"
			"\"status\":{\"message\":{\"parts\":[{\"text\":\"e\"}]}}}}}\n",
			"artifact0=abc;message=d;status=e;", FAULT_NONE);
}

static void artifacts_join_by_their_name(void **state)
{
	static const char last[] = "{\"result\":{\"artifact\":{\"parts\":[{\"text\":\"bidden\"}],"
				   "\"artifactId\":\"\\u0078\"}}}\n";
	static const char others[] = ARTIFACT("x", "for") ARTIFACT("y", "bidden");
	static const char statuses[] = STATUS("for") STATUS("bidden");
	char data[1024];

	(void)state;
	snprintf(data, sizeof(data), "%s%s%s", ARTIFACT("x", "for"), ARTIFACT("y", "a"), last);
	extracted_check_term(EXTRACT_A2A, data, true, 0);
	extracted_check_term(EXTRACT_A2A, others, false, strlen(others));
	extracted_check_term(EXTRACT_A2A, statuses, false, strlen(statuses));
	/* Parts of one message are one text. */
	extracted_check_term(
		EXTRACT_A2A,
		"{\"result\":{\"parts\":[{\"text\":\"for\"},{\"text\":\"bidden\"}]}}\n", true, 0);
}

static void names_of_artifacts(void **state)
{
	char name[EXTRACT_VALUE_MAX + 2], data[512];

	(void)state;
	for (unsigned int more = 0; more <= 1; more++) {
		memset(name, 'n', sizeof(name));
		name[EXTRACT_VALUE_MAX + more] = '\0';
		snprintf(data, sizeof(data),
			 "{\"artifact\":{\"artifactId\":\"%s\",\"parts\":[{\"text\":\"a\"}]}}\n",
			 name);
		extracted_check_long(EXTRACT_A2A, data, strlen(data),
				     more ? FAULT_TOO_LARGE : FAULT_NONE);
	}
}

static void as_many_artifacts_as_there_may_be(void **state)
{
	size_t capacity = 96 * 1026, len = 0;
	char *data = malloc(capacity);

	(void)state;
	for (unsigned int i = 0; i <= 1024; i++)
		len += (size_t)snprintf(
			data + len, capacity - len,
			"{\"artifact\":{\"artifactId\":\"%u\",\"parts\":[{\"text\":\"a\"}"
			"]}}\n",
			i);
	extracted_check_long(EXTRACT_A2A, data, len, FAULT_TOO_LARGE);
	while (data[len - 2] != '\n')
		len--;
	extracted_check_long(EXTRACT_A2A, data, len - 1, FAULT_NONE);
	free(data);
}

static void texts_of_mcp(void **state)
{
	(void)state;
	extracted_check(
		EXTRACT_MCP,
		"{\"method\":\"notifications/message\",\"params\":{\"data\":\"a\"}}\n"
		"{\"params\":{\"data\":{\"msg\":\"b\",\"x\":[\"c\",{\"y\":\"\\ud83d\\ude00\"}],"
		"\"n\":1,\"z\":\"\"}}}\n"
		"{\"params\":{\"progress\":1,\"message\":\"d\"}}\n"
		"{\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"e\"},{\"text\":"
		"\"f\"}],\"structuredContent\":{\"result\":\"g\"}}}\n"
		"{\"error\":{\"code\":-1,\"message\":\"h\"}}\n",
		"method=notifications/message;notification=a\nb\nc\n\xf0\x9f\x98\x80\n\n;"
		"progress=d;result.content.type=text;result=ef;"
		"result.structuredContent.result=g;error=h;",
		FAULT_NONE);
	/* Deeper than it is followed it is any string. */
	extracted_check(EXTRACT_MCP,
			"{\"params\":{\"data\":[[[[[[[[[[[[[[[[\"a\"]]]]]]]]]],\"b\"]]]]]]}}\n",
			"params.data=a;notification=b\n;", FAULT_NONE);
}

static void texts_of_mcp_are_whole(void **state)
{
	static const char results[] = "{\"result\":{\"content\":[{\"text\":\"for\"}]}}\n"
				      "{\"result\":{\"content\":[{\"text\":\"bidden\"}]}}\n";
	static const char lines[] = "{\"params\":{\"data\":[\"for\",\"bidden\"]}}\n";

	(void)state;
	extracted_check_held(EXTRACT_MCP, results, strlen(results));
	extracted_check_held(EXTRACT_MCP, lines, strlen(lines));
	extracted_check_term(
		EXTRACT_MCP,
		"{\"result\":{\"content\":[{\"text\":\"for\"},{\"text\":\"bidden\"}]}}\n", true, 0);
	extracted_check_term(EXTRACT_MCP, "{\"params\":{\"data\":{\"a\":{\"b\":\"forbidden\"}}}}\n",
			     true, 0);
}

static void shapes_that_are_others(void **state)
{
	(void)state;
	extracted_check(EXTRACT_A2A,
			"{\"result\":[{\"parts\":[{\"text\":\"a\"}]}],\"artifact\":\"b\"}\n"
			"{\"result\":{\"artifact\":{\"artifactId\":7,\"parts\":{\"text\":\"c\"}},"
			"\"status\":{\"message\":null}}}\n",
			"result.parts.text=a;artifact=b;result.artifact.parts.text=c;", FAULT_NONE);
	extracted_check(
		EXTRACT_MCP,
		"{\"result\":{\"content\":{\"text\":\"a\"}},\"params\":[{\"data\":\"b\"}]}\n"
		"{\"params\":{\"data\":null,\"message\":{\"parts\":[{\"text\":\"c\"}]}}}\n",
		"result.content.text=a;params.data=b;params.message.parts.text=c;", FAULT_NONE);
}

static void any_json_rpc(void **state)
{
	(void)state;
	extracted_check(EXTRACT_JSONRPC, STATUS("s") "{\"params\":{\"data\":\"a\"}}\n",
			"result.status.message.parts.kind=text;"
			"result.status.message.parts.text=s;params.data=a;",
			FAULT_NONE);
}

static void every_allocation_may_fail(void **state)
{
	(void)state;
	extracted_check_allocations(
		EXTRACT_A2A, "{\"result\":{\"artifact\":{\"parts\":[{\"text\":\"a\"},{\"text\":"
			     "\"b\"}],\"artifactId\":\"i\"}}}\n" ARTIFACT("y", "c"));
	extracted_check_allocations(EXTRACT_MCP,
				    "{\"params\":{\"data\":[\"a\",{\"b\":\"c\"}]},\"result\":{"
				    "\"content\":[{\"text\":\"d\"}]}}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_a2a),
		cmocka_unit_test(artifacts_join_by_their_name),
		cmocka_unit_test(names_of_artifacts),
		cmocka_unit_test(as_many_artifacts_as_there_may_be),
		cmocka_unit_test(texts_of_mcp),
		cmocka_unit_test(texts_of_mcp_are_whole),
		cmocka_unit_test(shapes_that_are_others),
		cmocka_unit_test(any_json_rpc),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
