/* SPDX-License-Identifier: Apache-2.0 */
/* Chains and rules of nf_tables, out of messages made here as the kernel makes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/nft.h"

#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>

#define MESSAGE_LEN 1024u
#define TEXT_LEN    4096u

/* A message under construction; begin() and end() nest. */
static uint8_t message[MESSAGE_LEN] __attribute__((aligned(NLMSG_ALIGNTO)));
static size_t used;

static void put(uint16_t type, const void *data, size_t len)
{
	const struct nlattr head = {.nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type};

	assert_true(used + NLA_HDRLEN + NLA_ALIGN(len) <= sizeof(message));
	(void)memset(message + used, 0, NLA_HDRLEN + NLA_ALIGN(len));
	(void)memcpy(message + used, &head, sizeof(head));
	if (len)
		(void)memcpy(message + used + NLA_HDRLEN, data, len);
	used += NLA_HDRLEN + NLA_ALIGN(len);
}

static void put_text(uint16_t type, const char *text)
{
	put(type, text, strlen(text) + 1);
}

static void put_be32(uint16_t type, uint32_t value)
{
	value = htonl(value);
	put(type, &value, sizeof(value));
}

static size_t begin(uint16_t type)
{
	size_t at = used;

	put(type | NLA_F_NESTED, NULL, 0);
	return at;
}

static void end(size_t at)
{
	const uint16_t len = (uint16_t)(used - at);

	(void)memcpy(message + at, &len, sizeof(len));
}

static void start(uint8_t family)
{
	const struct nfgenmsg head = {.nfgen_family = family};

	used = NLMSG_SPACE(sizeof(head));
	(void)memset(message, 0, used);
	(void)memcpy(message + NLMSG_HDRLEN, &head, sizeof(head));
}

static void give(struct nft *nft, uint16_t type)
{
	const struct nlmsghdr head = {.nlmsg_len = (uint32_t)used,
				      .nlmsg_type = (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type)};

	(void)memcpy(message, &head, sizeof(head));
	assert_int_equal(nft_read(nft, (const struct nlmsghdr *)message), 0);
}

/* hook -1: one that is jumped to. */
static void add_chain(struct nft *nft, uint8_t family, const char *name, int hook)
{
	start(family);
	put_text(NFTA_CHAIN_TABLE, "t");
	put_text(NFTA_CHAIN_NAME, name);
	if (hook >= 0) {
		size_t at = begin(NFTA_CHAIN_HOOK);

		put_be32(NFTA_HOOK_HOOKNUM, (uint32_t)hook);
		end(at);
	}
	give(nft, NFT_MSG_NEWCHAIN);
}

static size_t rule_parts[3];

/* A rule of one expression, whose data is put between the two. */
static void begin_rule(uint8_t family, const char *chain, const char *expression)
{
	start(family);
	put_text(NFTA_RULE_TABLE, "t");
	put_text(NFTA_RULE_CHAIN, chain);
	rule_parts[0] = begin(NFTA_RULE_EXPRESSIONS);
	rule_parts[1] = begin(NFTA_LIST_ELEM);
	put_text(NFTA_EXPR_NAME, expression);
	rule_parts[2] = begin(NFTA_EXPR_DATA);
}

static void end_rule(struct nft *nft)
{
	for (int i = 2; i >= 0; i--)
		end(rule_parts[i]);
	give(nft, NFT_MSG_NEWRULE);
}

static void add_rule(struct nft *nft, uint8_t family, const char *chain, const char *expression)
{
	begin_rule(family, chain, expression);
	end_rule(nft);
}

static void add_jump(struct nft *nft, uint8_t family, const char *chain, const char *to)
{
	size_t data, verdict;

	begin_rule(family, chain, "immediate");
	put_be32(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	data = begin(NFTA_IMMEDIATE_DATA);
	verdict = begin(NFTA_DATA_VERDICT);
	put_be32(NFTA_VERDICT_CODE, (uint32_t)NFT_JUMP);
	put_text(NFTA_VERDICT_CHAIN, to);
	end(verdict);
	end(data);
	end_rule(nft);
}

static void note(void *context, const struct netfilter_finding *finding)
{
	char *text = context;
	size_t len = strlen(text);

	(void)snprintf(text + len, TEXT_LEN - len, "%s %s %s act %d hooks %x x%u\n",
		       finding->family, finding->table, finding->chain, finding->act,
		       finding->hooks, finding->count);
}

static void visit(struct nft *nft, char *text)
{
	text[0] = '\0';
	nft_visit(nft, &(const struct netfilter_visitor){note, text});
}

static void acts(void **unused)
{
	struct nft *nft cleanup(nft_freep) = nft_new();
	char text[TEXT_LEN];

	(void)unused;
	assert_non_null(nft);
	add_chain(nft, NFPROTO_INET, "out", NF_INET_LOCAL_OUT);
	begin_rule(NFPROTO_INET, "out", "log");
	put(NFTA_LOG_GROUP, "\0\5", 2);
	end_rule(nft);
	/* Into the kernel's log, which has no payload. */
	begin_rule(NFPROTO_INET, "out", "log");
	put_text(NFTA_LOG_PREFIX, "seen: ");
	end_rule(nft);
	add_rule(nft, NFPROTO_INET, "out", "queue");
	add_rule(nft, NFPROTO_INET, "out", "queue");
	add_rule(nft, NFPROTO_INET, "out", "dup");
	begin_rule(NFPROTO_INET, "out", "nat");
	put_be32(NFTA_NAT_TYPE, NFT_NAT_SNAT);
	end_rule(nft);
	visit(nft, text);
	assert_string_equal(text, "inet t out act 0 hooks 8 x1\ninet t out act 1 hooks 8 x2\n"
				  "inet t out act 2 hooks 8 x1\n");
	begin_rule(NFPROTO_INET, "out", "nat");
	put_be32(NFTA_NAT_TYPE, NFT_NAT_DNAT);
	end_rule(nft);
	add_rule(nft, NFPROTO_INET, "out", "redir");
	/* Of arriving packets alone. */
	add_rule(nft, NFPROTO_INET, "out", "tproxy");
	begin_rule(NFPROTO_INET, "out", "target");
	put_text(NFTA_TARGET_NAME, "TEE");
	end_rule(nft);
	begin_rule(NFPROTO_INET, "out", "target");
	put_text(NFTA_TARGET_NAME, "TCPMSS");
	end_rule(nft);
	visit(nft, text);
	assert_string_equal(text, "inet t out act 0 hooks 8 x1\ninet t out act 1 hooks 8 x2\n"
				  "inet t out act 2 hooks 8 x2\ninet t out act 3 hooks 8 x2\n");
}

static void reach(void **unused)
{
	struct nft *nft cleanup(nft_freep) = nft_new();
	static const char *const names[] = {"deep", "deeper", "orphan", "routed"};
	char text[TEXT_LEN];

	(void)unused;
	assert_non_null(nft);
	add_chain(nft, NFPROTO_IPV4, "out", NF_INET_LOCAL_OUT);
	add_chain(nft, NFPROTO_IPV4, "in", NF_INET_LOCAL_IN);
	add_chain(nft, NFPROTO_IPV4, "forward", NF_INET_FORWARD);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		add_chain(nft, NFPROTO_IPV4, names[i], -1);
		add_rule(nft, NFPROTO_IPV4, names[i], "queue");
	}
	/* Of the same name elsewhere: it is another chain. */
	add_chain(nft, NFPROTO_IPV6, "deep", -1);
	add_rule(nft, NFPROTO_IPV6, "deep", "queue");
	add_jump(nft, NFPROTO_IPV4, "deep", "deeper");
	add_jump(nft, NFPROTO_IPV4, "deeper", "deep");
	add_jump(nft, NFPROTO_IPV4, "out", "deep");
	add_jump(nft, NFPROTO_IPV4, "in", "deeper");
	add_jump(nft, NFPROTO_IPV4, "in", "missing");
	add_jump(nft, NFPROTO_IPV4, "forward", "routed");
	visit(nft, text);
	assert_string_equal(text, "ip t deep act 1 hooks a x1\nip t deeper act 1 hooks a x1\n");
	/* A map without verdicts chooses no chain. */
	begin_rule(NFPROTO_IPV4, "out", "lookup");
	put_be32(NFTA_LOOKUP_DREG, NFT_REG32_00);
	end_rule(nft);
	add_rule(nft, NFPROTO_IPV4, "out", "lookup");
	visit(nft, text);
	assert_null(strstr(text, "orphan"));
	begin_rule(NFPROTO_IPV4, "in", "lookup");
	put_be32(NFTA_LOOKUP_DREG, NFT_REG_VERDICT);
	end_rule(nft);
	visit(nft, text);
	assert_non_null(strstr(text, "ip t orphan act 1 hooks 2 x1\n"));
	assert_null(strstr(text, "ip6"));
}

static void other_families(void **unused)
{
	static const uint8_t families[] = {NFPROTO_ARP, NFPROTO_NETDEV, NFPROTO_BRIDGE};
	struct nft *nft cleanup(nft_freep) = nft_new();
	char text[TEXT_LEN];

	(void)unused;
	assert_non_null(nft);
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		add_chain(nft, families[i], "out", NF_INET_LOCAL_OUT);
		add_rule(nft, families[i], "out", "dup");
	}
	/* Beyond the hooks that there are. */
	add_chain(nft, NFPROTO_IPV4, "out", 4000);
	add_rule(nft, NFPROTO_IPV4, "out", "dup");
	visit(nft, text);
	assert_string_equal(text, "");
}

/* Cut anywhere, or with any byte another: it reads no byte that is not there. */
static void damaged(void **unused)
{
	struct nft *nft cleanup(nft_freep) = nft_new();
	uint8_t whole[MESSAGE_LEN];
	char text[TEXT_LEN];
	size_t len;

	(void)unused;
	assert_non_null(nft);
	add_chain(nft, NFPROTO_IPV4, "out", NF_INET_LOCAL_OUT);
	add_chain(nft, NFPROTO_IPV4, "deep", -1);
	add_jump(nft, NFPROTO_IPV4, "out", "deep");
	len = used;
	(void)memcpy(whole, message, len);
	for (size_t i = NLMSG_HDRLEN; i < len * 257; i++) {
		size_t cut = i < len ? i : len;
		uint8_t *copy = malloc(cut);
		uint32_t told = (uint32_t)cut;

		assert_non_null(copy);
		(void)memcpy(copy, whole, cut);
		(void)memcpy(copy, &told, sizeof(told));
		if (i >= len && (i - len) % len >= NLMSG_HDRLEN)
			copy[(i - len) % len] = (uint8_t)((i - len) / len);
		assert_int_equal(nft_read(nft, (const struct nlmsghdr *)copy), 0);
		free(copy);
	}
	visit(nft, text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acts),
		cmocka_unit_test(reach),
		cmocka_unit_test(other_families),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
