/* SPDX-License-Identifier: Apache-2.0 */
/* Where the text of a payload goes: channels, what joins, what ends with its unit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/extract.h"
#include "unit/flow.h"

static const struct flow_config automatic = {.framing = {.kind = FRAMING_NDJSON},
					     .extract = {.kind = EXTRACT_AUTO}};
static const struct flow_config path_t = {.framing = {.kind = FRAMING_NDJSON},
					  .extract = {.kind = EXTRACT_PATH, .path = "t"}};
static const struct flow_config raw_lines = {.framing = {.kind = FRAMING_NDJSON, .any_line = true},
					     .extract = {.kind = EXTRACT_RAW}};

/* "name=text;" of every channel, in order of appearance. */
static void check(const struct flow_config *config, const char *data, const char *channels,
		  enum fault fault)
{
	char text[512] = "";
	size_t len = 0;
	struct flow flow;

	flow_run_splits(config, data, strlen(data), &flow);
	assert_string_equal(fault_name(flow.fault), fault_name(fault));
	for (size_t i = 0; i < flow.channel_count && !fault; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s=%s;",
					flow.channels[i].name, (char *)flow.channels[i].text);
	assert_string_equal(text, channels);
	flow_done(&flow);
}

static void every_string_name_and_number_is_text(void **state)
{
	(void)state;
	check(&automatic, "{\"a\":\"x\",\"n\":-12.5,\"b\":true,\"c\":null}\n",
	      "meta=an-12.5bc;a=x;", FAULT_NONE);
	check(&automatic, "\"root\"\n", "$=root;", FAULT_NONE);
	check(&automatic, "[\"p\",[\"q\"],{\"k\":[\"r\",\"s\"]},7]\n", "$=pq;meta=k7;k=rs;",
	      FAULT_NONE);
	check(&automatic, "{\"a\":{\"b\":[{\"c\":\"1\"},{\"c\":\"2\"}]}}\n", "meta=abcc;a.b.c=12;",
	      FAULT_NONE);
	/* A member's own dots and backslashes make no path. */
	check(&automatic, "{\"a.b\":\"x\",\"a\":{\"b\":\"y\"},\"c\\\\\":\"z\"}\n",
	      "meta=a.babc\\;a\\.b=x;a.b=y;c\\\\=z;", FAULT_NONE);
	check(&automatic, "{\"\\u0061\":\"\\u0078\"}\n", "meta=a;a=x;", FAULT_NONE);
}

/* What comes between two texts of one path, deeper or beside it, makes it no other. */
static void paths_are_told_apart(void **state)
{
	struct flow_config denied = automatic;
	struct flow flow;
	const char *evasion = "[\"forb\",{\"$\":\"x\"},\"idden\"]\n";

	(void)state;
	check(&automatic, "[\"r\",{\"$\":[\"m\",{\"$\":\"n\"}]},\"s\"]\n",
	      "$=rs;meta=$$;\\$=m;\\$.\\$=n;", FAULT_NONE);
	check(&automatic,
	      "[{\"a\":{\"b\":\"1\",\"c\":[\"2\"]},\"b\":\"3\"},{\"a\":{\"c\":\"4\"}},\"5\"]\n",
	      "meta=abcbac;a.b=1;a.c=24;b=3;$=5;", FAULT_NONE);
	check(&automatic,
	      "[{\"a\":{\"\":{\"b\":\"1\"}}},{\"a\":\"2\"},{\"a\":{\"\":\"3\"}}]\n"
	      "[{\"b\":\"4\"}]\n",
	      "meta=abaab;a..b=1;a=2;a.=3;b=4;", FAULT_NONE);
	denied.terms[0][0] = "forbidden";
	flow_run_splits(&denied, evasion, strlen(evasion), &flow);
	assert_int_equal(flow.fault, FAULT_BLOCKED);
	assert_int_equal(flow.released, 0);
	flow_done(&flow);
}

static void surrogates_are_paired_per_channel(void **state)
{
	(void)state;
	/* Over elements of an array, but neither over paths nor units. */
	check(&automatic, "{\"t\":[\"\\ud83d\",1,\"\\ude00\"]}\n", "meta=t1;t=\xf0\x9f\x98\x80;",
	      FAULT_NONE);
	check(&automatic, "{\"t\":\"\\ud83d\",\"u\":\"\\ude00\"}\n",
	      "meta=tu;t=\xef\xbf\xbd;u=\xef\xbf\xbd;", FAULT_NONE);
	check(&automatic, "[\"\\ud83d\"]\n[\"\\ude00\"]\n", "$=\xef\xbf\xbd\xef\xbf\xbd;",
	      FAULT_NONE);
	check(&automatic, "{\"\\ud83dx\":1,\"\\ud83d\\ude00\":2}\n",
	      "meta=\xef\xbf\xbdx"
	      "1\xf0\x9f\x98\x80"
	      "2;",
	      FAULT_NONE);
	check(&automatic, "\"\\ud83d\\ud83d\\ude00\\ude00\"\n",
	      "$=\xef\xbf\xbd\xf0\x9f\x98\x80\xef\xbf\xbd;", FAULT_NONE);
}

static void a_joined_path(void **state)
{
	struct flow_config nested = path_t;

	(void)state;
	check(&path_t, "{\"t\":\"\\ud83d\",\"u\":\"\\ude00\"}\n{\"t\":\"\\ude00x\"}\n",
	      "meta=tut;u=\xef\xbf\xbd;t=\xf0\x9f\x98\x80x;", FAULT_NONE);
	/* Other text, an empty piece, another unit in between: still the same pair. */
	check(&path_t, "{\"t\":\"a\\ud83d\"}\n{\"t\":\"\"}\n{}\n{\"t\":[\"\\ude00\"]}\n",
	      "meta=ttt;t=a\xf0\x9f\x98\x80;", FAULT_NONE);
	check(&path_t, "{\"t\":\"\\ud83d\"}\n{\"t\":\"x\"}\n", "meta=tt;t=\xef\xbf\xbdx;",
	      FAULT_NONE);
	check(&path_t, "{\"t\":\"\\ud83d\"}\n", "meta=t;t=\xef\xbf\xbd;", FAULT_NONE);
	/* Only there: not deeper, not shallower, and no string elsewhere. */
	check(&path_t, "{\"t\":{\"t\":\"x\"},\"u\":{\"t\":\"y\"}}\n", "meta=ttut;t.t=x;u.t=y;",
	      FAULT_NONE);
	strcpy(nested.extract.path, "a.b");
	check(&nested, "{\"a\":[{\"b\":\"1\"},{\"b\":\"2\"}],\"b\":\"no\",\"a.b\":\"neither\"}\n",
	      "meta=abbba.b;a.b=12;b=no;a\\.b=neither;", FAULT_NONE);
	check(&nested, "{\"a\":{\"b\":7}}\n", "meta=ab7;", FAULT_NONE);
}

static void a_path_that_ends_with_its_unit(void **state)
{
	struct flow_config unit = path_t;

	(void)state;
	unit.extract.join_unit = true;
	check(&unit, "{\"t\":\"\\ud83d\"}\n{\"t\":\"\\ude00\"}\n",
	      "meta=tt;t=\xef\xbf\xbd\xef\xbf\xbd;", FAULT_NONE);
}

static void ollama_chat(void **state)
{
	static const char stream[] =
		"{\"message\":{\"role\":\"r\",\"content\":\"He\",\"thinking\":\"h\"},\"done\":"
		"false}\n"
		"{\"message\":{\"content\":\"llo\",\"thinking\":\"m\"},\"done\":true}\n";
	struct flow_config config = {.framing = {.kind = FRAMING_NDJSON},
				     .extract = {.kind = EXTRACT_OLLAMA_CHAT}};
	struct flow flow;

	(void)state;
	flow_run_splits(&config, stream, strlen(stream), &flow);
	assert_string_equal(flow_text(&flow, "content"), "Hello");
	assert_string_equal(flow_text(&flow, "thinking"), "hm");
	assert_string_equal(flow_text(&flow, "message.role"), "r");
	assert_true(flow.complete);
	flow_done(&flow);
	/* Only the whole unit counts, and only the root's own member. */
	flow_run_splits(&config, stream, strlen(stream) - 1, &flow);
	assert_int_equal(flow.fault, FAULT_TRUNCATED);
	assert_false(flow.complete);
	flow_done(&flow);
	check(&config, "{\"m\":{\"done\":true},\"done\":false}\n[{\"done\":true}]\n",
	      "meta=mdonedonedone;", FAULT_NONE);
	flow_run(&config, "{\"m\":{\"done\":true}}\n[{\"done\":true}]\n", 36, NULL, 0, &flow);
	assert_int_equal(flow.fault, FAULT_NONE);
	assert_false(flow.complete);
	flow_done(&flow);
}

static void raw_text_joins_over_units(void **state)
{
	(void)state;
	check(&raw_lines, "one\ntwo\r\n\xe6\xb0\xb4\n", "raw=onetwo\xe6\xb0\xb4;", FAULT_NONE);
	check(&raw_lines, "a\rb\r\r\n", "raw=a\rb\r;", FAULT_NONE);
	/* A sequence may be cut by a unit's end, twice too. */
	check(&raw_lines, "\xf0\n\x9f\r\n\n\x98\x80z\n", "raw=\xf0\x9f\x98\x80z;", FAULT_NONE);
	check(&raw_lines, "\xf0\x9f\nz\n", "", FAULT_BAD_UTF8);
	check(&raw_lines, "\xf0\x9f\n", "", FAULT_BAD_UTF8);
	check(&raw_lines, "\xed\xa0\x80\n", "", FAULT_BAD_UTF8);
}

static void raw_text_with_replacement(void **state)
{
	struct flow_config config = raw_lines;

	(void)state;
	config.extract.replace_ill_formed = true;
	check(&config, "\xf0\x9f\nz\n", "raw=\xef\xbf\xbdz;", FAULT_NONE);
	check(&config, "\xf0\x9f\n", "raw=\xef\xbf\xbd;", FAULT_NONE);
	check(&config, "a\xff\xc3z\xe6\xb0\n", "raw=a\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd;",
	      FAULT_NONE);
	config.extract.join_unit = true;
	check(&config, "\xc3\n\xa9\n", "raw=\xef\xbf\xbd\xef\xbf\xbd;", FAULT_NONE);
}

static void raw_text_per_unit(void **state)
{
	struct flow_config config = raw_lines;

	(void)state;
	config.extract.join_unit = true;
	check(&config, "\xe6\xb0\xb4\nx\n", "raw=\xe6\xb0\xb4x;", FAULT_NONE);
	check(&config, "\xe6\xb0\n\xb4\n", "", FAULT_BAD_UTF8);
}

static void raw_lines_of_json_are_both(void **state)
{
	struct flow_config config = raw_lines;

	(void)state;
	config.framing.any_line = false;
	check(&config, "{\"a\": 1}\r\n[2]\n", "raw={\"a\": 1}[2];", FAULT_NONE);
	check(&config, "{\"a\": 1\n", "", FAULT_BAD_JSON);
	check(&config, "{\"a\":1,\"a\":2}\n", "", FAULT_DUPLICATE_KEY);
	check(&config, "\"\xff\"\n", "", FAULT_BAD_UTF8);
}

static void payloads_of_other_framings(void **state)
{
	struct flow_config config = {
		.framing = {.kind = FRAMING_SENTINEL, .sentinel = "||", .sentinel_len = 2},
		.extract = {.kind = EXTRACT_AUTO}};

	(void)state;
	check(&config, "{\"a\":\"x|y\"}||\n\"z\"\n||12||", "meta=a12;a=x|y;$=z;", FAULT_NONE);
	check(&config, "\"z\"|", "", FAULT_TRUNCATED);
	check(&config, "{}||{}{}||", "", FAULT_BAD_JSON);
	/* Nothing is no JSON. */
	check(&config, "{}||||", "", FAULT_BAD_JSON);
	config.extract.kind = EXTRACT_RAW;
	check(&config, "a|b|||c||||", "raw=a|b|c;", FAULT_NONE);
	config.framing = (struct framing){.kind = FRAMING_LENPREFIX};
	check(&config, "\3a\xc3\xa9\2\xe6\xb0\1\xb4", "raw=a\xc3\xa9\xe6\xb0\xb4;", FAULT_NONE);
	config.extract.kind = EXTRACT_AUTO;
	check(&config, "\3\"x\"\2{}", "$=x;", FAULT_NONE);
	check(&config, "\2\"x\1\"", "", FAULT_BAD_JSON);
}

/* Texts that wait in one unit: as many as the cap, and one more. */
static void parked_texts_at_the_cap_and_past_it(void **state)
{
	struct flow_config config = automatic;
	char *data = malloc(32 * (CHANNEL_PARKED_MAX + 2));

	(void)state;
	config.terms[0][0] = "bomb";
	config.no_text = true;
	for (unsigned int more = 0; more <= 1; more++) {
		size_t len = (size_t)sprintf(data, "[{\"x\":\"b\"");
		struct flow flow;

		for (unsigned int i = 1; i < CHANNEL_PARKED_MAX + more; i++)
			len += (size_t)sprintf(data + len, ",\"%x\":\"b\"", i);
		len += (size_t)sprintf(data + len, "}]\n\"a\"\n");
		flow_run(&config, data, len, NULL, 0, &flow);
		assert_int_equal(flow.fault, more ? FAULT_TOO_LARGE : FAULT_NONE);
		assert_int_equal(flow.released, more ? 0 : len);
		flow_done(&flow);
	}
	free(data);
}

/* The path of a string in an array: as long as the cap, and one more. */
static void paths_at_the_cap_and_past_it(void **state)
{
	static char data[EXTRACT_NAME_MAX + 64];
	struct flow flow;

	(void)state;
	for (unsigned int more = 0; more <= 1; more++) {
		/* "a." and a name that fills the rest. */
		int len = snprintf(data, sizeof(data), "{\"a\":{\"%0*d\":[\"x\"]}}\n",
				   (int)(EXTRACT_NAME_MAX - 2 + more), 0);

		flow_run(&automatic, data, (size_t)len, NULL, 0, &flow);
		assert_int_equal(flow.fault, more ? FAULT_TOO_LARGE : FAULT_NONE);
		flow_done(&flow);
		/* Outside of arrays no two texts have to be told apart. */
		snprintf(data, sizeof(data), "{\"%0*d\":\"x\"}\n", (int)(EXTRACT_NAME_MAX + more),
			 0);
		flow_run(&automatic, data, strlen(data), NULL, 0, &flow);
		assert_int_equal(flow.fault, FAULT_NONE);
		assert_int_equal(flow.channel_count, 2);
		flow_done(&flow);
		snprintf(data, sizeof(data), "{\"a\":{\"%0*d\":\"x\"  }}\n",
			 (int)(EXTRACT_NAME_MAX - 2 + more), 0);
		flow_run(&automatic, data, (size_t)len, NULL, 0, &flow);
		assert_int_equal(flow.fault, FAULT_NONE);
		flow_done(&flow);
	}
}

static void ignore_text(void *context, const char *channel, const uint8_t *text, size_t len)
{
	(void)context;
	(void)channel;
	(void)text;
	(void)len;
}

static void configurations_out_of_range(void **state)
{
	struct pipeline_config config = {
		.framing = {.kind = FRAMING_NDJSON},
		.extract = {.kind = _EXTRACT_MAX},
		.max_message = 1,
		.max_pending_units = 1,
	};
	struct pipeline *pipeline = NULL;

	(void)state;
	config.on_text = ignore_text;
	assert_int_equal(pipeline_new(&config, &pipeline), -EINVAL);
	config.extract.kind = EXTRACT_PATH;
	assert_int_equal(pipeline_new(&config, &pipeline), -EINVAL);
	memset(config.extract.path, 'a', sizeof(config.extract.path));
	assert_int_equal(pipeline_new(&config, &pipeline), -EINVAL);
	config.extract.path[EXTRACT_PATH_MAX - 1] = '\0';
	assert_int_equal(pipeline_new(&config, &pipeline), 0);
	pipeline_free(pipeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_string_name_and_number_is_text),
		cmocka_unit_test(paths_are_told_apart),
		cmocka_unit_test(surrogates_are_paired_per_channel),
		cmocka_unit_test(a_joined_path),
		cmocka_unit_test(a_path_that_ends_with_its_unit),
		cmocka_unit_test(ollama_chat),
		cmocka_unit_test(raw_text_joins_over_units),
		cmocka_unit_test(raw_text_with_replacement),
		cmocka_unit_test(raw_text_per_unit),
		cmocka_unit_test(raw_lines_of_json_are_both),
		cmocka_unit_test(payloads_of_other_framings),
		cmocka_unit_test(parked_texts_at_the_cap_and_past_it),
		cmocka_unit_test(paths_at_the_cap_and_past_it),
		cmocka_unit_test(configurations_out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
