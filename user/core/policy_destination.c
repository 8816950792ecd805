/* SPDX-License-Identifier: Apache-2.0 */
#include "core/policy_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct policy_choice actions[] = {
	{"mediate", POLICY_MEDIATE, true},
	{"pass", POLICY_PASS, true},
	{"deny", POLICY_DENY, true},
};

/*
 * Link-local addresses of both families, where clouds serve credentials to
 * whoever asks. They come first, so no rule of the file opens them.
 */
static const struct policy_destination builtin[] = {
	{.addr = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 169, 254},
	 .prefix_len = 96 + 16,
	 .action = POLICY_DENY,
	 .builtin = true,
	 .match = "169.254.0.0/16:*"},
	{.addr = {0xfe, 0x80},
	 .prefix_len = 10,
	 .action = POLICY_DENY,
	 .builtin = true,
	 .match = "[fe80::]/10:*"},
};

const char *policy_action_name(enum policy_action action)
{
	return action < _POLICY_ACTION_MAX ? actions[action].name : "none";
}

static bool prefix_matches(const uint8_t prefix[16], unsigned int len, const uint8_t addr[16])
{
	unsigned int bytes = len / 8, bits = len % 8;

	if (memcmp(prefix, addr, bytes) != 0)
		return false;
	return bits == 0 || (prefix[bytes] ^ addr[bytes]) >> (8 - bits) == 0;
}

const struct policy_destination *policy_match(const struct policy *policy, const uint8_t addr[16],
					      uint16_t port)
{
	const struct policy_destination *rule;
	size_t i;

	for (i = 0; i < policy->destination_count; i++) {
		rule = &policy->destinations[i];
		if ((rule->port == 0 || rule->port == port) &&
		    prefix_matches(rule->addr, rule->prefix_len, addr))
			return rule;
	}
	return NULL;
}

/* Every connection that inner matches, outer matches too. */
static bool covers(const struct policy_destination *outer, const struct policy_destination *inner)
{
	return (outer->port == 0 || outer->port == inner->port) &&
	       outer->prefix_len <= inner->prefix_len &&
	       prefix_matches(outer->addr, outer->prefix_len, inner->addr);
}

static bool host_bits_set(const uint8_t addr[16], unsigned int len)
{
	uint8_t network[16] = {0};
	unsigned int bytes = len / 8, bits = len % 8;

	memcpy(network, addr, bytes);
	if (bits)
		network[bytes] = (uint8_t)(addr[bytes] & (0xffu << (8 - bits)));
	return memcmp(network, addr, sizeof(network)) != 0;
}

/* Splits "[ADDR/LEN]", "[ADDR]/LEN", "ADDR/LEN" or "ADDR" in address and length. */
static int split_host(const char *host, size_t len, const char **ret_addr, size_t *ret_addr_len,
		      const char **ret_prefix, size_t *ret_prefix_len)
{
	const char *end = host + len;
	const char *addr = host, *addr_end, *slash;
	bool brackets = len && host[0] == '[';

	if (brackets) {
		addr_end = memchr(host, ']', len);
		if (!addr_end || (addr_end + 1 != end && addr_end[1] != '/'))
			return -EINVAL;
		addr = host + 1;
		slash = memchr(addr, '/', (size_t)(addr_end - addr));
		if (slash && addr_end + 1 != end)
			return -EINVAL;
		*ret_addr_len = (size_t)((slash ? slash : addr_end) - addr);
		if (!slash && addr_end + 1 != end) {
			slash = addr_end + 1;
			addr_end = end;
		}
	} else {
		addr_end = end;
		slash = memchr(host, '/', len);
		*ret_addr_len = (size_t)((slash ? slash : end) - addr);
	}
	*ret_addr = addr;
	*ret_prefix = slash ? slash + 1 : NULL;
	*ret_prefix_len = slash ? (size_t)(addr_end - slash - 1) : 0;
	return 0;
}

/* A prefix length as written: up to three digits, at most max. */
static int read_prefix_len(const char *text, size_t len, unsigned int max, unsigned int *ret_len)
{
	unsigned int value = 0;
	size_t i;

	if (len < 1 || len > 3)
		return -EINVAL;
	for (i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		value = value * 10 + (unsigned int)(text[i] - '0');
	}
	if (value > max)
		return -EINVAL;
	*ret_len = value;
	return 0;
}

static bool is_name(const char *host, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (strchr(":/[]", host[i]))
			return false;
	for (i = 0; i < len; i++)
		if (!strchr("0123456789.", host[i]))
			return true;
	return false;
}

static int read_network(struct policy_error *error, const struct doc_node *node, const char *host,
			size_t len, struct policy_destination *rule)
{
	static const uint8_t any_v4[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	const char *addr, *prefix;
	size_t addr_len, prefix_text_len;
	unsigned int prefix_len, bits;
	bool v6;

	if (is_name(host, len))
		return policy_refuse(error, -EOPNOTSUPP, node,
				     "a name rule ('%.*s') is not built yet; match an address",
				     (int)MIN(len, (size_t)64), host);
	if (split_host(host, len, &addr, &addr_len, &prefix, &prefix_text_len) ||
	    policy_parse_address(addr, addr_len, rule->addr, &v6) || v6 != (host[0] == '['))
		return policy_refuse(error, -EINVAL, node,
				     "'%.*s' is no address: write A.B.C.D, A.B.C.D/LEN, [V6] or "
				     "[V6]/LEN",
				     (int)MIN(len, (size_t)64), host);
	bits = v6 ? 128 : 32;
	prefix_len = bits;
	if (prefix && read_prefix_len(prefix, prefix_text_len, bits, &prefix_len))
		return policy_refuse(error, -EINVAL, node, "the prefix length must be 0 to %u",
				     bits);
	rule->prefix_len = (uint8_t)(v6 ? prefix_len : 96 + prefix_len);
	if (host_bits_set(rule->addr, rule->prefix_len))
		return policy_refuse(error, -EINVAL, node,
				     "'%.*s' has bits set beyond its prefix of %u",
				     (int)MIN(len, (size_t)64), host, prefix_len);
	if (v6 && rule->prefix_len < 96 && prefix_matches(rule->addr, rule->prefix_len, any_v4))
		return policy_refuse(error, -EINVAL, node,
				     "'%.*s' would match every IPv4 address too; write '*' or a "
				     "longer prefix",
				     (int)MIN(len, (size_t)64), host);
	return 0;
}

static int read_match(struct policy_error *error, const struct doc_node *node,
		      struct policy_destination *rule)
{
	const char *text, *colon;
	size_t len;
	int err;

	err = policy_get_text(error, node, &text);
	if (err)
		return err;
	colon = strrchr(text, ':');
	if (!colon || colon == text || strlen(text) >= sizeof(rule->match) || colon[-1] == ':')
		return policy_refuse(error, -EINVAL, node,
				     "a match is ADDRESS:PORT, each of which may be '*', with an "
				     "IPv6 address in brackets");
	memcpy(rule->match, text, strlen(text) + 1);
	len = (size_t)(colon - text);
	if (strcmp(colon + 1, "*") != 0 &&
	    policy_parse_port(colon + 1, strlen(colon + 1), &rule->port))
		return policy_refuse(error, -EINVAL, node,
				     "the port must be '*' or one number from 1 to 65535");
	if (len == 1 && text[0] == '*')
		return 0;
	return read_network(error, node, text, len, rule);
}

/* What only a mediated stream has does not stand beside pass or deny. */
static int refuse_idle_keys(struct policy_error *error, const struct doc_node *node,
			    const struct policy_destination *rule)
{
	static const char *const keys[] = {"framing", "extract", "join", "strict"};
	const struct doc_node *idle;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		idle = doc_node_get(node, keys[i]);
		if (idle)
			return policy_refuse_key(error, -EINVAL, idle,
						 "'%s' means nothing with action %s", keys[i],
						 policy_action_name(rule->action));
	}
	return 0;
}

static int read_mediation(struct policy_error *error, const struct doc_node *node,
			  const struct policy *policy, struct policy_destination *rule)
{
	const struct doc_node *framing = doc_node_get(node, "framing");
	const struct doc_node *extract = doc_node_get(node, "extract");
	const struct doc_node *join = doc_node_get(node, "join");
	const struct doc_node *strict = doc_node_get(node, "strict");
	bool join_unit = policy->extract.join_unit;
	int err = 0;

	rule->framing = policy->framing;
	rule->extract = policy->extract;
	if (framing)
		err = policy_get_framing(error, framing, &rule->framing);
	if (!err && extract)
		err = policy_get_extract(error, extract, &rule->extract);
	if (!err && join)
		err = policy_get_join(error, join, &join_unit);
	if (err)
		return err;
	if (join && rule->extract.kind != EXTRACT_RAW && rule->extract.kind != EXTRACT_PATH)
		return policy_refuse_key(error, -EINVAL, join,
					 "'join' goes with extract raw and path:, not %s",
					 policy_extract_name(rule->extract.kind));
	rule->extract.join_unit = join_unit;
	rule->extract.strict = policy->extract.strict && rule->extract.kind == EXTRACT_OPENAI_CHAT;
	if (strict)
		err = policy_get_bool(error, strict, &rule->extract.strict);
	/* What is inherited fits the policy's own framing: another one is to blame. */
	return err ? err
		   : policy_check_strict(error, strict ? strict : framing, &rule->framing,
					 &rule->extract);
}

static int read_destination(struct policy_error *error, const struct doc_node *node,
			    const struct policy *policy, struct policy_destination *rule)
{
	static const struct policy_key keys[] = {
		{"match", POLICY_FORM_SCALAR, true},
		{"action", POLICY_FORM_SCALAR, true},
		{"framing", POLICY_FORM_SCALAR | POLICY_FORM_MAP, false},
		{"extract", POLICY_FORM_SCALAR, false},
		{"join", POLICY_FORM_SCALAR, false},
		{"strict", POLICY_FORM_SCALAR, false},
		{"tls", POLICY_FORM_SCALAR, false},
	};
	const struct doc_node *tls;
	int err, action = 0;
	bool on = false;

	err = policy_check_keys(error, node, "destination", keys, ARRAY_SIZE(keys));
	if (!err)
		err = policy_get_choice(error, doc_node_get(node, "action"), "action", actions,
					ARRAY_SIZE(actions), &action);
	tls = doc_node_get(node, "tls");
	if (!err && tls)
		err = policy_get_bool(error, tls, &on);
	if (!err && on)
		err = policy_refuse_key(error, -EOPNOTSUPP, tls, "'tls: true' is not built yet");
	if (!err)
		err = read_match(error, doc_node_get(node, "match"), rule);
	if (err)
		return err;
	rule->action = (enum policy_action)action;
	if (rule->action != POLICY_MEDIATE)
		return refuse_idle_keys(error, node, rule);
	return read_mediation(error, node, policy, rule);
}

/* A rule that an earlier one makes meaningless is a mistake, not a preference. */
static int check_earlier(struct policy_error *error, const struct doc_node *node,
			 const struct policy *policy, const struct policy_destination *rule)
{
	const struct doc_node *match = doc_node_get(node, "match");
	const struct policy_destination *earlier;
	size_t i;

	for (i = 0; i < policy->destination_count; i++) {
		earlier = &policy->destinations[i];
		if (!covers(earlier, rule))
			continue;
		if (earlier->builtin && rule->action != POLICY_DENY)
			return policy_refuse(error, -EINVAL, match,
					     "'%s' is within %s, which is always denied",
					     rule->match, earlier->match);
		if (!earlier->builtin && covers(rule, earlier))
			return policy_refuse(error, -EINVAL, match,
					     "'%s' says again what an earlier destination matches",
					     rule->match);
	}
	return 0;
}

int policy_read_destinations(struct policy_error *error, const struct doc_node *node,
			     struct policy *policy)
{
	size_t count = node ? node->count : 0, i;
	struct policy_destination *rule;
	int err;

	if (count > POLICY_DESTINATIONS_MAX)
		return policy_refuse(error, -EINVAL, node, "more than %u destinations",
				     POLICY_DESTINATIONS_MAX);
	policy->destinations = calloc(ARRAY_SIZE(builtin) + count, sizeof(*policy->destinations));
	if (!policy->destinations)
		return -ENOMEM;
	memcpy(policy->destinations, builtin, sizeof(builtin));
	policy->destination_count = ARRAY_SIZE(builtin);
	for (i = 0; i < count; i++) {
		rule = &policy->destinations[policy->destination_count];
		err = read_destination(error, node->children[i], policy, rule);
		if (!err)
			err = check_earlier(error, node->children[i], policy, rule);
		if (err)
			return err;
		policy->destination_count++;
	}
	return 0;
}
