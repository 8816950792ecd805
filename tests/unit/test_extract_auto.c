/* SPDX-License-Identifier: Apache-2.0 */
/* Events and messages that may be of any provider, or text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/extract.h"
#include "core/terms.h"
#include "unit/sample.h"

static const struct sample events = {
	{.kind = EXTRACT_AUTO}, EXTRACTOR_EVALUATE | EXTRACTOR_EVENTS, NULL};
static const struct sample messages = {
	{.kind = EXTRACT_AUTO}, EXTRACTOR_EVALUATE | EXTRACTOR_MESSAGES, NULL};

/* Without names, which are alike in all. */
static void check_both(const char *const *payloads, const char *text)
{
	sample_check(&events, payloads, text, FAULT_NONE, sample_count(payloads));
	sample_check(&messages, payloads, text, FAULT_NONE, sample_count(payloads));
}

static void each_is_told_by_itself(void **state)
{
	(void)state;
	check_both(PAYLOADS("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}",
			    "{\"index\":1,\"delta\":{\"text\":\"b\"}}",
			    "{\"type\":\"response.output_text.delta\",\"output_index\":2,\"delta\":"
			    "\"c\"}",
			    "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"d\"}]},"
			    "\"index\":3}]}"),
		   "meta=choicesindex0deltacontent;c0.content=a;meta=index1deltatext;b1.text=b;"
		   "meta=type;type=response.output_text.delta;meta=output_index2delta;out2.text=c;"
		   "meta=candidatescontentpartstextindex3;cand3.text=d");
	check_both(
		PAYLOADS("{\"contentBlockIndex\":4,\"delta\":{\"toolUse\":{\"input\":\"e\"}}}",
			 "{\"index\":5,\"delta\":{\"message\":{\"content\":{\"text\":\"f\"}}}}",
			 "{\"message\":{\"content\":\"g\"},\"response\":\"h\",\"done\":true}",
			 "{\"result\":{\"content\":[{\"text\":\"i\"}],\"parts\":[{\"text\":\"j\"}]}"
			 "}",
			 "{\"text\":\"k\"}", "{\"x\":\"l\"}"),
		"meta=contentBlockIndex4deltatoolUseinput;block4.input=e;"
		"meta=index5deltamessagecontenttext;content5.text=f;meta=messagecontent;content=g;"
		"meta=response;response=h;meta=doneresultcontenttext;result=i;meta=partstext;"
		"message=j;meta=text;text=k;meta=x;x=l");
	/* One is of its form alone, whatever came before. */
	check_both(
		PAYLOADS("{\"message\":{\"content\":[{\"text\":\"a\"}]}}",
			 "{\"response\":{\"x\":\"b\"},\"delta\":[\"c\"],\"text\":{\"y\":\"d\"}}"),
		"meta=messagecontenttext;b0.text=a;meta=responsex;response.x=b;meta=delta;delta=c;"
		"meta=texty;text.y=d");
	assert_true(sample_completes(&events, PAYLOADS("{\"type\":\"message_stop\"}")));
	assert_true(sample_completes(&messages, PAYLOADS("{\"type\":\"response.completed\"}")));
	assert_true(sample_completes(&messages, PAYLOADS("{\"done\":true}")));
	assert_false(sample_completes(&messages, PAYLOADS("{\"done\":false}", "done")));
}

/* A member that one form would take for its index is no matter where no text has it. */
static void members_of_none(void **state)
{
	(void)state;
	check_both(PAYLOADS("{\"index\":\"logs\",\"output_index\":-1,\"x\":\"a\"}",
			    "{\"content_index\":{\"y\":\"b\"},\"index\":99999}"),
		   "meta=index;index=logs;meta=output_index-1x;x=a;meta=content_indexy;"
		   "content_index.y=b;meta=index99999");
	sample_check(&events, PAYLOADS("{\"index\":\"0\",\"delta\":{\"text\":\"a\"}}"), "",
		     FAULT_BAD_JSON, 0);
}

static void what_is_no_object_is_text(void **state)
{
	(void)state;
	check_both(PAYLOADS("for", "{\"x\":\"a\"}", "", "bid", "[\"b\"]", "den 1"),
		   "raw=for;meta=x;x=a;raw=bid;$=b;raw=den 1");
	check_both(PAYLOADS(" \r\n\ta", " {\"x\":1} ", "\n[2]", " ", "\t\n"),
		   "raw= \r\n\ta;meta=x12;raw= \t\n");
	check_both(PAYLOADS("12", "true", "-", "\xc3\xa9"), "raw=12true-\xc3\xa9");
	/* What is in quotes may have escapes. */
	check_both(PAYLOADS("\"\\u0061\"", " \"b\" x", "\"c"),
		   "raw=\"\\u0061\";raw.literals=a;raw= \"b\" x\"c");
	sample_check(&events, PAYLOADS("a", "\xff"), "", FAULT_BAD_UTF8, 1);
	sample_check(&events, PAYLOADS("\xc3", "\xa9"), "", FAULT_BAD_UTF8, 0);
	/* What begins as one has to be one. */
	sample_check(&events, PAYLOADS("x", "{a"), "", FAULT_BAD_JSON, 1);
	sample_check(&events, PAYLOADS(" [1"), "", FAULT_BAD_JSON, 0);
	sample_check(&events, PAYLOADS("{}x"), "", FAULT_BAD_JSON, 0);
}

static void the_end_mark(void **state)
{
	(void)state;
	sample_check(&events, PAYLOADS("a", "[DONE]", ""), "raw=a", FAULT_NONE, 3);
	sample_check(&events, PAYLOADS("[DONE]", "a"), "", FAULT_PROTOCOL, 1);
	sample_check(&events, PAYLOADS("[DONE]", " "), "", FAULT_PROTOCOL, 1);
	sample_check(&events, PAYLOADS("[DONE] "), "", FAULT_BAD_JSON, 0);
	sample_check(&events, PAYLOADS(" [DONE]"), "", FAULT_BAD_JSON, 0);
	sample_check(&events, PAYLOADS("[]", "DONE]"), "raw=DONE]", FAULT_NONE, 2);
	assert_true(sample_completes(&events, PAYLOADS("x", "[DONE]")));
	/* Messages have none. */
	sample_check(&messages, PAYLOADS("[DONE]"), "", FAULT_BAD_JSON, 0);
}

static void texts_end_with_their_unit_where_they_shall(void **state)
{
	struct sample sample = events;
	struct terms *terms = sample_terms("forbidden");

	(void)state;
	sample.terms = terms;
	sample_check(&sample, PAYLOADS("for", "{}", "bidden"), "", FAULT_BLOCKED, 2);
	sample_check(&sample, PAYLOADS("x", "\"forb\\u0069dden\""), "", FAULT_BLOCKED, 1);
	sample_check(&sample,
		     PAYLOADS("{\"index\":0,\"delta\":{\"text\":\"for\"}}", "x",
			      "{\"index\":0,\"delta\":{\"text\":\"bidden\"}}"),
		     "", FAULT_BLOCKED, 2);
	sample.config.join_unit = true;
	sample_check(&sample, PAYLOADS("for", "bidden"), "raw=forbidden", FAULT_NONE, 2);
	terms_free(terms);
}

/* Where payloads have to be JSON none is text, nor empty. */
static void what_has_to_be_json(void **state)
{
	struct sample sample = messages;

	(void)state;
	sample.flags |= EXTRACTOR_JSON;
	sample_check(&sample, PAYLOADS("{\"index\":1,\"delta\":{\"text\":\"b\"}}", "[1]", "\"c\""),
		     "meta=index1deltatext;b1.text=b;meta=1;$=c", FAULT_NONE, 3);
	sample_check(&sample, PAYLOADS("a"), "", FAULT_BAD_JSON, 0);
	sample_check(&sample, PAYLOADS(""), "", FAULT_BAD_JSON, 0);
	sample_check(&sample, PAYLOADS(" "), "", FAULT_BAD_JSON, 0);
	sample.config.kind = EXTRACT_NONE;
	sample_check(&sample, PAYLOADS("{}", "1"), "", FAULT_NONE, 2);
	sample_check(&sample, PAYLOADS("a"), "", FAULT_BAD_JSON, 0);
}

/* {"index":0,"delta":{"text":"for"}} */
#define FOR "eyJpbmRleCI6MCwiZGVsdGEiOnsidGV4dCI6ImZvciJ9fQ=="

static void what_may_be_base64(void **state)
{
	(void)state;
	check_both(PAYLOADS("{\"bytes\":\"" FOR "\"}",
			    "{\"bytes\":\"IA0KCSB7ImluZGV4IjoxLCJkZWx0YSI6eyJ0ZXh0IjoieCJ9fQ==\"}"),
		   "meta=bytesindex0deltatext;b0.text=for;meta=bytesindex1deltatext;b1.text=x");
	check_both(PAYLOADS("{\"bytes\":\"12 kB\"}", "{\"bytes\":\"\"}", "{\"bytes\":\"cGxhaW4=\"}",
			    "{\"bytes\":\" =\"}", "{\"bytes\":\"I\"}",
			    "{\"bytes\":\"!\xc3\xa9"
			    "eyJ\"}",
			    "{\"bytes\":\"\\ud83d\\ude00eyJ\"}", "{\"bytes\":\"-\\ud83d\\ude00\"}",
			    "{\"bytes\":\"\xc3\xa9\"}", "{\"bytes\":7}"),
		   "meta=bytes;bytes=12 kB;meta=bytesbytes;bytes=cGxhaW4=;meta=bytes;bytes= =;"
		   "meta=bytes;bytes=I;meta=bytes;bytes=!\xc3\xa9"
		   "eyJ;meta=bytes;bytes=\xf0\x9f\x98\x80"
		   "eyJ;meta=bytes;bytes=-\xf0\x9f\x98\x80;meta=bytes;bytes=\xc3\xa9;meta=bytes7");
	/* What some readers pass over hides nothing. */
	sample_check(&messages, PAYLOADS("{\"bytes\":\"!" FOR "\"}"), "", FAULT_BAD_ENCODING, 0);
	sample_check(&messages, PAYLOADS("{\"bytes\":\"IC.Ag" FOR "\"}"), "", FAULT_BAD_ENCODING,
		     0);
	sample_check(&messages, PAYLOADS("{\"bytes\":\"e30\"}"), "", FAULT_BAD_ENCODING, 0);
	sample_check(&messages, PAYLOADS("{\"bytes\":\"e3t9\"}"), "", FAULT_BAD_JSON, 0);
	sample_check(&messages,
		     PAYLOADS("{\"bytes\":\"......................................................."
			      ".........."
			      "\"}"),
		     "", FAULT_BAD_ENCODING, 0);
	sample_check(
		&messages,
		PAYLOADS("{\"bytes\":\"............................................................"
			 "...."
			 "\"}"),
		"meta=bytes;bytes=................................................................",
		FAULT_NONE, 1);
}

static void every_allocation_may_fail(void **state)
{
	struct sample sample = events;
	struct terms *terms = sample_terms("secret");

	(void)state;
	sample.terms = terms;
	sample_check_allocations(&sample, PAYLOADS(" a", "\"sec\"", "", " { \"x\":[1,\"sec\"]}"));
	sample_check_allocations(&sample, PAYLOADS("{\"bytes\":\"" FOR "\"}", "  \n  ", "[DONE]"));
	terms_free(terms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_told_by_itself),
		cmocka_unit_test(members_of_none),
		cmocka_unit_test(what_is_no_object_is_text),
		cmocka_unit_test(the_end_mark),
		cmocka_unit_test(texts_end_with_their_unit_where_they_shall),
		cmocka_unit_test(what_has_to_be_json),
		cmocka_unit_test(what_may_be_base64),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
