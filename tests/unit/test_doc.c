/* SPDX-License-Identifier: Apache-2.0 */
/* The document tree: growth, lookup, ownership (the sanitizers see a leak or a double free). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/doc.h"

static struct doc_node *make(enum doc_kind kind, const char *key, const char *scalar)
{
	struct doc_node *node = NULL;

	assert_int_equal(doc_node_new(kind, key, scalar, 3, 7, &node), 0);
	return node;
}

static void a_node_copies_what_it_is_given(void **state)
{
	char key[] = "key", scalar[] = "value";
	struct doc_node *node = make(DOC_SCALAR, key, scalar);

	(void)state;
	key[0] = scalar[0] = 'x';
	assert_string_equal(node->key, "key");
	assert_string_equal(node->scalar, "value");
	assert_int_equal(node->line, 3);
	assert_int_equal(node->column, 7);
	assert_int_equal(node->key_line, 3);
	assert_int_equal(node->key_column, 7);
	assert_int_equal(node->count, 0);
	doc_node_free(node);
}

static void null_stays_null(void **state)
{
	struct doc_node *node = make(DOC_LIST, NULL, NULL);

	(void)state;
	assert_null(node->key);
	assert_null(node->scalar);
	doc_node_free(node);
	doc_node_free(NULL);
}

static void children_keep_their_order_while_the_list_grows(void **state)
{
	struct doc_node *list = make(DOC_LIST, NULL, NULL);
	char text[16];
	int i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		(void)snprintf(text, sizeof(text), "%d", i);
		assert_int_equal(doc_node_append(list, make(DOC_SCALAR, NULL, text)), 0);
	}
	assert_int_equal(list->count, 1000);
	for (i = 0; i < 1000; i++) {
		(void)snprintf(text, sizeof(text), "%d", i);
		assert_string_equal(list->children[i]->scalar, text);
	}
	doc_node_free(list);
}

static void a_key_is_found_in_a_map_alone(void **state)
{
	struct doc_node *map = make(DOC_MAP, NULL, NULL);
	struct doc_node *list = make(DOC_LIST, "list", NULL);

	(void)state;
	assert_int_equal(doc_node_append(map, make(DOC_SCALAR, "a", "1")), 0);
	assert_int_equal(doc_node_append(map, list), 0);
	assert_int_equal(doc_node_append(list, make(DOC_SCALAR, NULL, "2")), 0);
	assert_string_equal(doc_node_get(map, "a")->scalar, "1");
	assert_ptr_equal(doc_node_get(map, "list"), list);
	assert_null(doc_node_get(map, "b"));
	assert_null(doc_node_get(list, "a"));
	assert_null(doc_node_get(doc_node_get(map, "a"), "a"));
	assert_null(doc_node_get(NULL, "a"));
	doc_node_free(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_copies_what_it_is_given),
		cmocka_unit_test(null_stays_null),
		cmocka_unit_test(children_keep_their_order_while_the_list_grows),
		cmocka_unit_test(a_key_is_found_in_a_map_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
