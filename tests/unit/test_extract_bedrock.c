/* SPDX-License-Identifier: Apache-2.0 */
/* Bedrock: converse by block, and documents that are base64 in another. */
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

#define KIND EXTRACT_BEDROCK
#define DELTA(index, delta) \
	"{\"contentBlockIndex\":" index ",\"delta\":{" delta "},\"p\":\"abc\"}\n"
#define TEXT(index, text) DELTA(index, "\"text\":\"" text "\"")
#define STOP(index)	  "{\"contentBlockIndex\":" index ",\"p\":\"a\"}\n"
#define BYTES(base64)	  "{\"bytes\":\"" base64 "\",\"p\":\"ab\"}\n"

/* {"index":0,"delta":{"text":"for"}}, and the same with "bidden" */
#define FOR    "eyJpbmRleCI6MCwiZGVsdGEiOnsidGV4dCI6ImZvciJ9fQ=="
#define BIDDEN "eyJpbmRleCI6MCwiZGVsdGEiOnsidGV4dCI6ImJpZGRlbiJ9fQ=="

static void each_text_has_its_channel(void **state)
{
	(void)state;
	extracted_check(KIND,
			TEXT("0", "Hel") TEXT("1", "x") TEXT("0", "lo") DELTA(
				"2", "\"reasoningContent\":{\"text\":\"r\",\"signature\":\"s\"}")
				DELTA("3", "\"toolResult\":[{\"text\":\"t\"}]"),
			"block0.text=Hello;p=abcabcabcabcabc;block1.text=x;block2.reasoning=r;"
			"block2.signature=s;block3.result=t;",
			FAULT_NONE);
	extracted_check(
		KIND,
		"{\"contentBlockIndex\":1,\"start\":{\"toolUse\":{\"name\":\"f\",\"toolUseId\":"
		"\"u\"}}}\n"
		"{\"contentBlockDelta\":{\"delta\":{\"toolUse\":{\"input\":\"{}\"}},"
		"\"contentBlockIndex\":1}}\n"
		"{\"contentBlockStart\":{\"start\":{\"toolUse\":{\"name\":\"g\"}},"
		"\"contentBlockIndex\":2}}\n",
		"block1.name=f;start.toolUse.toolUseId=u;block1.input={};block2.name=g;",
		FAULT_NONE);
	extracted_check_orders(KIND,
			       (const char *const[]){"\"contentBlockIndex\":5", "\"p\":\"x\"",
						     "\"delta\":{\"text\":\"a\"}"},
			       "block5.text=a;p=x;");
}

static void tools_are_held_until_their_block_ends(void **state)
{
	static const char call[] =
		"{\"contentBlockIndex\":1,\"start\":{\"toolUse\":{\"name\":\"f\"}}}\n" DELTA(
			"1", "\"toolUse\":{\"input\":\"{}\"}");
	static const char *const ends[] = {STOP("1"), "{\"p\":\"a\",\"contentBlockIndex\":1}\n",
					   "{\"contentBlockStop\":{\"contentBlockIndex\":1}}\n"};
	char data[1024];

	(void)state;
	extracted_check_held(KIND, call, 0);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		snprintf(data, sizeof(data), "%s%s", call, ends[i]);
		extracted_check_held(KIND, data, strlen(data));
	}
	snprintf(data, sizeof(data), "%s%s%s{}\n", call, STOP("0"), DELTA("1", ""));
	extracted_check_held(KIND, data, 0);
}

static void documents_in_documents(void **state)
{
	(void)state;
	extracted_check(KIND,
			BYTES(FOR) BYTES("IA0KCSB7ImluZGV4IjoxLCJkZWx0YSI6eyJ0ZXh0IjoieCJ9fQ=="),
			"b0.text=for;p=abab;b1.text=x;", FAULT_NONE);
	extracted_check(KIND,
			BYTES("eyJjb250ZW50QmxvY2tEZWx0YSI6eyJkZWx0YSI6eyJ0ZXh0IjoibiJ9LCJjb250ZW50"
			      "QmxvY2tJbmRleCI6Mn19") BYTES(""),
			"b2.text=n;p=abab;", FAULT_NONE);
	/* No further in: what one holds as base64 is any string. */
	extracted_check(KIND,
			BYTES("eyJnZW5lcmF0aW9uIjoiZyIsIm91dHB1dFRleHQiOiJvIiwiY29tcGxldGlvbiI6ImMi"
			      "LCJvdXRwdXRzIjpbeyJ0ZXh0IjoicCJ9XSwiYnl0ZXMiOiJleUpwYm1SbGVDSTZNQ3dp"
			      "WkdWc2RHRWlPbnNpZEdWNGRDSTZJbVp2Y2lKOWZRPT0ifQ=="),
			"generation=g;outputText=o;completion=c;outputs.text=p;bytes=" FOR ";p=ab;",
			FAULT_NONE);
	/* Escapes are undone first. */
	extracted_check(KIND, "{\"bytes\":\"\\u0065yJh\\u0049jp\\u0062\\u0058X0=\"}\n", "",
			FAULT_NONE);
	extracted_check_term(KIND, BYTES(FOR) BYTES(BIDDEN), true, 0);
	extracted_check_term(KIND, BYTES(FOR), false, strlen(BYTES(FOR)));
	extracted_check_complete(KIND, BYTES(FOR) BYTES("eyJ0eXBlIjoibWVzc2FnZV9zdG9wIn0="));
}

static void documents_are_held_to_the_same(void **state)
{
	(void)state;
	extracted_check(KIND, BYTES("eyJhIjoxLCJhIjoyfQ=="), "", FAULT_DUPLICATE_KEY);
	extracted_check(KIND, BYTES("eyJhIjo="), "", FAULT_BAD_JSON);
	extracted_check(KIND, BYTES("e317fQ=="), "", FAULT_BAD_JSON);
	extracted_check(KIND, BYTES("cGxhaW4="), "", FAULT_BAD_JSON);
	extracted_check(KIND, BYTES("eyJhIjoi/yJ9"), "", FAULT_BAD_UTF8);
	extracted_check(KIND, BYTES(" " FOR), "", FAULT_BAD_ENCODING);
	extracted_check(KIND, BYTES(FOR "="), "", FAULT_BAD_ENCODING);
	extracted_check(KIND, BYTES("e30"), "", FAULT_BAD_ENCODING);
	extracted_check(KIND, BYTES("e31="), "", FAULT_BAD_ENCODING);
	extracted_check(KIND, BYTES("e3!0="), "", FAULT_BAD_ENCODING);
	extracted_check(KIND, BYTES("e30=\xc3\xa9"), "", FAULT_BAD_ENCODING);
	extracted_check(KIND, BYTES("e30=\\ud800"), "", FAULT_BAD_ENCODING);
	extracted_check(KIND, BYTES("e30="), "p=ab;", FAULT_NONE);
}

static void hostile_shapes(void **state)
{
	(void)state;
	extracted_check(KIND, TEXT("-1", "a"), "", FAULT_BAD_JSON);
	extracted_check(KIND, TEXT("\"0\"", "a"), "", FAULT_BAD_JSON);
	extracted_check(KIND, TEXT("1024", "a"), "", FAULT_TOO_LARGE);
	/* Each reader would take its own of the two. */
	extracted_check(KIND, TEXT("0,\"index\":1", "a"), "", FAULT_BAD_JSON);
	extracted_check(KIND, "{\"contentBlockIndex\":0,\"x\":1,\"index\":0}\n", "",
			FAULT_BAD_JSON);
	extracted_check(KIND, "{\"bytes\":[\"" FOR "\"],\"delta\":\"a\",\"start\":null}\n",
			"bytes=" FOR ";delta=a;", FAULT_NONE);
}

static void every_allocation_may_fail(void **state)
{
	(void)state;
	extracted_check_allocations(
		KIND, "{\"delta\":{\"text\":\"a\\ud83d\",\"toolUse\":{\"input\":\"{\"}},"
		      "\"contentBlockIndex\":3}\n" BYTES(FOR) BYTES(
			      "eyJnZW5lcmF0aW9uIjoiZyIsIm91dHB1dFRleHQiOiJvIiwiY29tcGxldGlvbiI6ImMi"
			      "LCJvdXRwdXRzIjpbeyJ0ZXh0IjoicCJ9XSwiYnl0ZXMiOiJleUpwYm1SbGVDSTZNQ3dp"
			      "WkdWc2RHRWlPbnNpZEdWNGRDSTZJbVp2Y2lKOWZRPT0ifQ=="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_text_has_its_channel),
		cmocka_unit_test(tools_are_held_until_their_block_ends),
		cmocka_unit_test(documents_in_documents),
		cmocka_unit_test(documents_are_held_to_the_same),
		cmocka_unit_test(hostile_shapes),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
