/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits, what a policy says of the ways that are no TCP stream (DNS and Unix addresses), and
 * the audit trail.
 */
#include "core/policy_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UNIX_ADDRESS_MAX 107u
#define SECONDS_MAX	 86400u
#define MILLISECONDS_MAX 600000u
#define QUOTA_DEFAULT	 (64ull << 20)
#define QUOTA_MIN	 (1ull << 20)
#define QUOTA_MAX	 (1ull << 40)

static const struct policy_limits default_limits = {
	.eager_bytes = 0,
	.max_message_bytes = 32ull << 20,
	.hold_bytes_per_flow = 64ull << 20,
	.hold_bytes_total = 1ull << 30,
	.hold_timeout_s = 600,
	.incomplete_message_timeout_s = 30,
	.message_deadline_s = 300,
	.verdict_timeout_ms = 2000,
};

struct limit {
	const char *name;
	uint64_t min, max;
	size_t offset;
	bool wide; /* 64 bits, else 32 */
};

#define WIDE(field)   offsetof(struct policy_limits, field), true
#define NARROW(field) offsetof(struct policy_limits, field), false

static const struct limit limits[] = {
	{"eager_bytes", 0, 16ull << 20, WIDE(eager_bytes)},
	{"max_message_bytes", 1, 1ull << 30, WIDE(max_message_bytes)},
	{"hold_bytes_per_flow", 4096, 4ull << 30, WIDE(hold_bytes_per_flow)},
	{"hold_bytes_total", 4096, 1ull << 40, WIDE(hold_bytes_total)},
	{"hold_timeout_s", 1, SECONDS_MAX, NARROW(hold_timeout_s)},
	{"incomplete_message_timeout_s", 1, SECONDS_MAX, NARROW(incomplete_message_timeout_s)},
	{"message_deadline_s", 1, SECONDS_MAX, NARROW(message_deadline_s)},
	{"verdict_timeout_ms", 1, MILLISECONDS_MAX, NARROW(verdict_timeout_ms)},
};

static int read_limit(struct policy_error *error, const struct doc_node *node,
		      const struct limit *limit, struct policy_limits *values)
{
	uint64_t value = 0;
	uint32_t narrow;
	int err;

	err = policy_get_number(error, node, limit->min, limit->max, &value);
	if (err)
		return err;
	narrow = (uint32_t)value;
	if (limit->wide)
		memcpy((char *)values + limit->offset, &value, sizeof(value));
	else
		memcpy((char *)values + limit->offset, &narrow, sizeof(narrow));
	return 0;
}

/* Limits that contradict one another would show as streams that wait for nothing. */
static int check_limits(struct policy_error *error, const struct doc_node *node,
			const struct policy *policy)
{
	const struct policy_limits *l = &policy->limits;

	if (l->eager_bytes && policy->on_deny != POLICY_RESET)
		return policy_refuse(error, -EINVAL, doc_node_get(node, "eager_bytes"),
				     "'eager_bytes' over 0 needs 'on_deny: reset'");
	/* What is ahead would have left already, or is all of a message that is held. */
	if (l->eager_bytes && policy->level != SESSION_BLOCKING)
		return policy_refuse(error, -EINVAL, doc_node_get(node, "eager_bytes"),
				     "'eager_bytes' over 0 goes with 'safety_level: blocking', "
				     "not %s",
				     session_level_name(policy->level));
	if (l->eager_bytes > l->hold_bytes_per_flow)
		return policy_refuse(error, -EINVAL, doc_node_get(node, "eager_bytes"),
				     "'eager_bytes' is larger than 'hold_bytes_per_flow'");
	/* A hold has room for a message of the largest size and what frames it. */
	if (l->max_message_bytes + PIPELINE_FRAME_OVERHEAD > l->hold_bytes_per_flow)
		return policy_refuse(error, -EINVAL, node,
				     "'hold_bytes_per_flow' must be 'max_message_bytes' plus at "
				     "least %u",
				     PIPELINE_FRAME_OVERHEAD);
	if (l->hold_bytes_per_flow > l->hold_bytes_total)
		return policy_refuse(error, -EINVAL, node,
				     "'hold_bytes_total' is smaller than 'hold_bytes_per_flow'");
	return 0;
}

int policy_read_limits(struct policy_error *error, const struct doc_node *node,
		       struct policy *policy)
{
	struct policy_key keys[ARRAY_SIZE(limits)];
	const struct doc_node *given;
	size_t i;
	int err;

	policy->limits = default_limits;
	if (!node)
		return 0;
	for (i = 0; i < ARRAY_SIZE(limits); i++)
		keys[i] = (struct policy_key){limits[i].name, POLICY_FORM_SCALAR, false};
	err = policy_check_keys(error, node, "limits", keys, ARRAY_SIZE(keys));
	for (i = 0; !err && i < ARRAY_SIZE(limits); i++) {
		given = doc_node_get(node, limits[i].name);
		if (given)
			err = read_limit(error, given, &limits[i], &policy->limits);
	}
	return err ? err : check_limits(error, node, policy);
}

static int read_resolver(struct policy_error *error, const struct doc_node *node,
			 struct policy *policy)
{
	uint8_t addr[16];
	const char *text;
	size_t len, i;
	bool v6, brackets;
	int err;

	err = policy_get_text(error, node, &text);
	if (err)
		return err;
	len = strlen(text);
	brackets = len >= 2 && text[0] == '[' && text[len - 1] == ']';
	if (policy_parse_address(text + brackets, len - (brackets ? 2 : 0), addr, &v6) ||
	    (brackets && !v6))
		return policy_refuse(error, -EINVAL, node,
				     "resolver '%.64s' is no address (without a port)", text);
	for (i = 0; i < policy->resolver_count; i++)
		if (memcmp(policy->resolvers[i], addr, sizeof(addr)) == 0)
			return policy_refuse(error, -EINVAL, node,
					     "resolver '%.64s' stands here twice", text);
	memcpy(policy->resolvers[policy->resolver_count++], addr, sizeof(addr));
	return 0;
}

static int read_dns(struct policy_error *error, const struct doc_node *document,
		    struct policy *policy)
{
	static const struct policy_choice choices[] = {
		{"resolvers", POLICY_DNS_RESOLVERS, true},
		{"any", POLICY_DNS_ANY, true},
		{"deny", POLICY_DNS_DENY, true},
	};
	const struct doc_node *node = doc_node_get(document, "dns");
	const struct doc_node *list = doc_node_get(document, "resolvers");
	int err, value = POLICY_DNS_RESOLVERS;
	size_t i;

	if (node) {
		err = policy_get_choice(error, node, "dns", choices, ARRAY_SIZE(choices), &value);
		if (err)
			return err;
	}
	policy->dns = (enum policy_dns)value;
	if (!list)
		return 0;
	if (policy->dns != POLICY_DNS_RESOLVERS)
		return policy_refuse_key(error, -EINVAL, list,
					 "'resolvers' goes with 'dns: resolvers' alone");
	if (list->count < 1 || list->count > POLICY_RESOLVERS_MAX)
		return policy_refuse(error, -EINVAL, list,
				     "1 to %u resolvers; without the key, those of the host",
				     POLICY_RESOLVERS_MAX);
	for (i = 0; i < list->count; i++) {
		err = read_resolver(error, list->children[i], policy);
		if (err)
			return err;
	}
	return 0;
}

static int read_unix_address(struct policy_error *error, const struct doc_node *node,
			     struct policy *policy)
{
	const char *text;
	size_t i;
	int err;

	err = policy_get_text(error, node, &text);
	if (err)
		return err;
	if ((text[0] != '/' && text[0] != '@') || !text[1] || strlen(text) > UNIX_ADDRESS_MAX)
		return policy_refuse(error, -EINVAL, node,
				     "a Unix address is '/PATH' or '@ABSTRACT', at most %u bytes",
				     UNIX_ADDRESS_MAX);
	for (i = 0; i < policy->unix_count; i++)
		if (strcmp(policy->unix_addresses[i], text) == 0)
			return policy_refuse(error, -EINVAL, node, "'%.64s' stands here twice",
					     text);
	policy->unix_addresses[policy->unix_count] = strdup(text);
	if (!policy->unix_addresses[policy->unix_count])
		return -ENOMEM;
	policy->unix_count++;
	return 0;
}

static int read_unix(struct policy_error *error, const struct doc_node *list, struct policy *policy)
{
	size_t i;
	int err;

	if (!list || list->count == 0)
		return 0;
	if (list->count > POLICY_UNIX_MAX)
		return policy_refuse(error, -EINVAL, list, "more than %u Unix addresses",
				     POLICY_UNIX_MAX);
	policy->unix_addresses = calloc(list->count, sizeof(*policy->unix_addresses));
	if (!policy->unix_addresses)
		return -ENOMEM;
	for (i = 0; i < list->count; i++) {
		err = read_unix_address(error, list->children[i], policy);
		if (err)
			return err;
	}
	return 0;
}

int policy_read_outside(struct policy_error *error, const struct doc_node *document,
			struct policy *policy)
{
	int err;

	err = read_dns(error, document, policy);
	if (!err)
		err = read_unix(error, doc_node_get(document, "unix"), policy);
	return err;
}

int policy_read_audit(struct policy_error *error, const struct doc_node *node,
		      struct policy *policy)
{
	static const struct policy_key keys[] = {
		{"watermarks", POLICY_FORM_SCALAR, false},
		{"on_full", POLICY_FORM_SCALAR, false},
		{"quota_bytes_per_hour", POLICY_FORM_SCALAR, false},
	};
	static const struct policy_choice on_fulls[] = {
		{"close", POLICY_ON_FULL_CLOSE, true},
		{"drop", POLICY_ON_FULL_DROP, true},
	};
	struct policy_audit *audit = &policy->audit;
	const struct doc_node *given;
	int err, on_full = POLICY_ON_FULL_CLOSE;

	audit->quota_bytes_per_hour = QUOTA_DEFAULT;
	if (!node)
		return 0;
	err = policy_check_keys(error, node, "audit", keys, ARRAY_SIZE(keys));
	given = doc_node_get(node, "watermarks");
	if (!err && given)
		err = policy_get_bool(error, given, &audit->watermarks);
	given = doc_node_get(node, "on_full");
	if (!err && given)
		err = policy_get_choice(error, given, "on_full", on_fulls, ARRAY_SIZE(on_fulls),
					&on_full);
	given = doc_node_get(node, "quota_bytes_per_hour");
	if (!err && given)
		err = policy_get_number(error, given, QUOTA_MIN, QUOTA_MAX,
					&audit->quota_bytes_per_hour);
	audit->on_full = (enum policy_on_full)on_full;
	return err;
}
