/* SPDX-License-Identifier: Apache-2.0 */
/* YAML to a tree: places, what is refused and where, limits at their value and one past it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/yaml.h"

static struct doc_node *parse(const char *text)
{
	struct doc_node *document = NULL;
	struct yaml_error error = {.message = ""};
	int err = yaml_parse(text, strlen(text), &document, &error);

	if (err)
		fail_msg("%u:%u: %s", error.line, error.column, error.message);
	return document;
}

static void check_refused(const char *text, size_t len, int err, unsigned int line,
			  unsigned int column, const char *message)
{
	struct doc_node *document = NULL;
	struct yaml_error error = {.message = ""};

	assert_int_equal(yaml_parse(text, len, &document, &error), err);
	assert_null(document);
	if (!strstr(error.message, message) || error.line != line || error.column != column)
		fail_msg("'%s' gives %u:%u: %s", text, error.line, error.column, error.message);
	assert_null(strchr(error.message, '\n'));
}

static void nodes_carry_their_place(void **state)
{
	struct doc_node *document = parse("# head\na: 1\nb:\n  - \"x\"\n  - {c: 'y'}\n");
	const struct doc_node *a = doc_node_get(document, "a"), *b = doc_node_get(document, "b");

	(void)state;
	assert_int_equal(document->kind, DOC_MAP);
	assert_int_equal(document->line, 2);
	assert_int_equal(a->key_line, 2);
	assert_int_equal(a->key_column, 1);
	assert_int_equal(a->column, 4);
	assert_false(a->quoted);
	assert_int_equal(b->kind, DOC_LIST);
	assert_int_equal(b->key_line, 3);
	assert_int_equal(b->line, 4);
	assert_int_equal(b->count, 2);
	assert_true(b->children[0]->quoted);
	assert_string_equal(b->children[0]->scalar, "x");
	assert_int_equal(b->children[0]->line, 4);
	assert_int_equal(b->children[0]->column, 5);
	assert_string_equal(doc_node_get(b->children[1], "c")->scalar, "y");
	assert_int_equal(doc_node_get(b->children[1], "c")->column, 9);
	doc_node_free(document);
}

static void text_is_kept_as_it_is(void **state)
{
	struct doc_node *document = parse("- \"\\u00e9\\t\\\"\"\n- |\n  two\n  lines\n- yes\n- \n");

	(void)state;
	assert_string_equal(document->children[0]->scalar, "\xc3\xa9\t\"");
	assert_string_equal(document->children[1]->scalar, "two\nlines\n");
	assert_true(document->children[1]->quoted);
	assert_string_equal(document->children[2]->scalar, "yes");
	assert_string_equal(document->children[3]->scalar, "");
	assert_false(document->children[3]->quoted);
	doc_node_free(document);
}

struct refusal {
	const char *text;
	unsigned int line, column;
	const char *message;
};

static void what_is_no_plain_data_is_refused(void **state)
{
	static const struct refusal cases[] = {
		{"a: &x 1\n", 1, 4, "anchors are not allowed: '&x'"},
		{"a: &x 1\nb: *x\n", 1, 4, "anchors"},
		{"- *x\n", 1, 3, "aliases are not allowed: '*x'"},
		{"a: 1\nb: !!int 2\n", 2, 4, "tags are not allowed"},
		{"- !x y\n", 1, 3, "tags are not allowed: '!x'"},
		{"- ! y\n", 1, 3, "tags are not allowed"},
		{"a: !!map {}\n", 1, 4, "tags"},
		{"a: 1\nb: 2\na: 3\n", 3, 1, "key 'a' stands here twice"},
		{"x: {k: 1, k: 2}\n", 1, 11, "key 'k' stands here twice"},
		{"[a, b]: 1\n", 1, 1, "a key must be a plain word"},
		{"a: 1\n---\nb: 2\n", 2, 1, "a second document"},
		{"a: \"x\\0y\"\n", 1, 4, "a NUL character"},
		{"a: [1, 2\n", 2, 1, "flow sequence"},
		{"a: b: c\n", 1, 5, "mapping values"},
		{"\ta: 1\n", 1, 1, "cannot start"},
		{"", 0, 0, "it is empty"},
		{"# only this\n", 0, 0, "it is empty"},
		{"a: \xff\xfe\n", 0, 0, "at byte"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check_refused(cases[i].text, strlen(cases[i].text), -EINVAL, cases[i].line,
			      cases[i].column, cases[i].message);
}

/* count lists inside one another. */
static char *nested(size_t count)
{
	char *text = malloc(2 * count + 1);

	assert_non_null(text);
	memset(text, '[', count);
	memset(text + count, ']', count);
	text[2 * count] = '\0';
	return text;
}

static void depth_is_bounded(void **state)
{
	char *text = nested(YAML_DEPTH_MAX);

	(void)state;
	doc_node_free(parse(text));
	free(text);
	text = nested(YAML_DEPTH_MAX + 1);
	check_refused(text, strlen(text), -EFBIG, 1, YAML_DEPTH_MAX + 1, "nested deeper");
	free(text);
	text = nested(100000);
	check_refused(text, strlen(text), -EFBIG, 1, YAML_DEPTH_MAX + 1, "nested deeper");
	free(text);
}

static char *many(size_t count, bool keys)
{
	char *text = malloc(count * 24 + 1), *at = text;
	size_t i;

	assert_non_null(text);
	for (i = 0; i < count; i++)
		at += keys ? sprintf(at, "k%zu: v\n", i) : sprintf(at, "- v\n");
	return text;
}

static void keys_and_values_are_bounded(void **state)
{
	char *text = many(YAML_MAP_KEYS_MAX, true);

	(void)state;
	doc_node_free(parse(text));
	free(text);
	text = many(YAML_MAP_KEYS_MAX + 1, true);
	check_refused(text, strlen(text), -EFBIG, YAML_MAP_KEYS_MAX + 1, 1, "keys in one map");
	free(text);
	/* The list itself is a value too. */
	text = many(YAML_NODES_MAX - 1, false);
	doc_node_free(parse(text));
	free(text);
	text = many(YAML_NODES_MAX, false);
	check_refused(text, strlen(text), -EFBIG, YAML_NODES_MAX, 3, "values");
	free(text);
}

static void size_is_bounded(void **state)
{
	char *text = malloc(YAML_BYTES_MAX + 1);
	struct doc_node *document = NULL;
	struct yaml_error error;

	(void)state;
	assert_non_null(text);
	memset(text, ' ', YAML_BYTES_MAX + 1);
	text[0] = 'a';
	assert_int_equal(yaml_parse(text, YAML_BYTES_MAX, &document, &error), 0);
	doc_node_free(document);
	document = NULL;
	check_refused(text, YAML_BYTES_MAX + 1, -EFBIG, 0, 0, "larger than");
	free(text);
}

static void a_file_is_read_whole(void **state)
{
	char path[] = "/tmp/sluice-test-yaml-XXXXXX";
	int fd = mkstemp(path);
	char *text = NULL, *large = malloc(200000);
	size_t len = 0;

	(void)state;
	assert_true(fd >= 0);
	assert_non_null(large);
	memset(large, 'x', 200000);
	assert_int_equal(write(fd, large, 200000), 200000);
	assert_int_equal(yaml_read_file(path, &text, &len), 0);
	assert_int_equal(len, 200000);
	assert_memory_equal(text, large, len);
	assert_int_equal(text[len], 0);
	free(text);
	assert_int_equal(ftruncate(fd, YAML_BYTES_MAX + 1), 0);
	assert_int_equal(yaml_read_file(path, &text, &len), -EFBIG);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(yaml_read_file(path, &text, &len), -ENOENT);
	assert_int_equal(yaml_read_file("/tmp", &text, &len), -EISDIR);
	(void)close(fd);
	free(large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_carry_their_place),
		cmocka_unit_test(text_is_kept_as_it_is),
		cmocka_unit_test(what_is_no_plain_data_is_refused),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(keys_and_values_are_bounded),
		cmocka_unit_test(size_is_bounded),
		cmocka_unit_test(a_file_is_read_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
