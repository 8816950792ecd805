/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/policy_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "sys/yaml.h"

int policy_text_load(const char *text, struct policy **ret_policy, struct policy_error *ret_error)
{
	struct doc_node *document = NULL;
	struct yaml_error yaml_error = {.message = ""};
	int err = yaml_parse(text, strlen(text), &document, &yaml_error);

	if (err)
		fail_msg("%u:%u: %s", yaml_error.line, yaml_error.column, yaml_error.message);
	memset(ret_error, 0, sizeof(*ret_error));
	err = policy_new(document, ret_policy, ret_error);
	doc_node_free(document);
	return err;
}

struct policy *policy_text_load_good(const char *text)
{
	struct policy *policy = NULL;
	struct policy_error error;

	if (policy_text_load(text, &policy, &error))
		fail_msg("%u:%u: %s", error.line, error.column, error.message);
	return policy;
}

const struct policy_destination *policy_text_match(const struct policy *policy, const char *peer)
{
	uint8_t addr[16];
	uint16_t port;

	assert_int_equal(policy_parse_peer(peer, addr, &port), 0);
	return policy_match(policy, addr, port);
}
