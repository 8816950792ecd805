/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/nft.h"

#include <errno.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "sys/netlink.h"

#define NAME_LEN  (NFT_NAME_MAXLEN + 1)
#define EXPR_LEN  32u
#define LIST_ROOM 64u

struct chain {
	uint8_t family;
	char table[NAME_LEN], name[NAME_LEN];
	unsigned int hooks;			 /* that reach it */
	unsigned int counts[_NETFILTER_ACT_MAX]; /* rules by what they do */
	bool picks; /* a map chooses where it jumps: any chain of its table */
};

struct jump {
	size_t from, to;
};

struct nft {
	struct chain *chains;
	struct jump *jumps;
	size_t chain_count, chain_room, jump_count, jump_room;
};

struct nft *nft_new(void)
{
	return calloc(1, sizeof(struct nft));
}

void nft_free(struct nft *nft)
{
	if (!nft)
		return;
	free(nft->chains);
	free(nft->jumps);
	free(nft);
}

/* Room for one more. */
static int grow(void **list, size_t size, size_t count, size_t *room)
{
	size_t more = *room ? *room * 2 : LIST_ROOM;
	void *grown;

	if (count < *room)
		return 0;
	grown = reallocarray(*list, more, size);
	if (!grown)
		return -ENOMEM;
	*list = grown;
	*room = more;
	return 0;
}

static const char *family_name(uint8_t family)
{
	switch (family) {
	case NFPROTO_IPV4:
		return "ip";
	case NFPROTO_IPV6:
		return "ip6";
	case NFPROTO_INET:
		return "inet";
	default:
		return NULL;
	}
}

static bool same_table(const struct chain *one, const struct chain *other)
{
	return one->family == other->family && !strcmp(one->table, other->table);
}

/* The chain of that name; they come in groups, so that the last one found is tried first. */
static struct chain *find(const struct nft *nft, uint8_t family, const char *table,
			  const char *name)
{
	for (size_t i = nft->chain_count; i-- > 0;) {
		struct chain *chain = &nft->chains[i];

		if (chain->family == family && !strcmp(chain->name, name) &&
		    !strcmp(chain->table, table))
			return chain;
	}
	return NULL;
}

static int read_chain(struct nft *nft, uint8_t family, struct netlink_span span)
{
	struct netlink_attribute hook;
	struct chain *chain;
	uint32_t number;
	int r = grow((void **)&nft->chains, sizeof(*nft->chains), nft->chain_count,
		     &nft->chain_room);

	if (r)
		return r;
	chain = &nft->chains[nft->chain_count++];
	*chain = (struct chain){.family = family};
	netlink_text(span, NFTA_CHAIN_TABLE, chain->table, sizeof(chain->table));
	netlink_text(span, NFTA_CHAIN_NAME, chain->name, sizeof(chain->name));
	if (netlink_find(span, NFTA_CHAIN_HOOK, &hook)) {
		number = netlink_be32(netlink_nested(&hook), NFTA_HOOK_HOOKNUM, NF_INET_NUMHOOKS);
		if (number < NF_INET_NUMHOOKS)
			chain->hooks = 1u << number;
	}
	return 0;
}

static int read_jump(struct nft *nft, size_t from, struct netlink_span span)
{
	const struct chain *chain = &nft->chains[from], *to;
	struct netlink_attribute data, verdict;
	char name[NAME_LEN];
	int r;

	if (!netlink_find(span, NFTA_IMMEDIATE_DATA, &data) ||
	    !netlink_find(netlink_nested(&data), NFTA_DATA_VERDICT, &verdict))
		return 0;
	netlink_text(netlink_nested(&verdict), NFTA_VERDICT_CHAIN, name, sizeof(name));
	to = name[0] ? find(nft, chain->family, chain->table, name) : NULL;
	if (!to)
		return 0;
	r = grow((void **)&nft->jumps, sizeof(*nft->jumps), nft->jump_count, &nft->jump_room);
	if (r)
		return r;
	nft->jumps[nft->jump_count++] = (struct jump){from, (size_t)(to - nft->chains)};
	return 0;
}

static enum netfilter_act act_of(const char *name, struct netlink_span span)
{
	struct netlink_attribute attribute;
	char target[EXPR_LEN];

	/* Without a group it is the kernel's log. */
	if (!strcmp(name, "log"))
		return netlink_find(span, NFTA_LOG_GROUP, &attribute) ? NETFILTER_LOG
								      : _NETFILTER_ACT_MAX;
	if (!strcmp(name, "queue"))
		return NETFILTER_QUEUE;
	if (!strcmp(name, "dup"))
		return NETFILTER_COPY;
	if (!strcmp(name, "redir"))
		return NETFILTER_REDIRECT;
	if (!strcmp(name, "nat"))
		return netlink_be32(span, NFTA_NAT_TYPE, NFT_NAT_SNAT) == NFT_NAT_DNAT
			       ? NETFILTER_REDIRECT
			       : _NETFILTER_ACT_MAX;
	if (!strcmp(name, "tproxy"))
		return NETFILTER_TPROXY;
	if (strcmp(name, "target"))
		return _NETFILTER_ACT_MAX;
	netlink_text(span, NFTA_TARGET_NAME, target, sizeof(target));
	return netfilter_target(target);
}

static int read_expression(struct nft *nft, size_t index, struct netlink_span span)
{
	struct netlink_attribute data;
	struct netlink_span inner = {0};
	char name[EXPR_LEN];
	enum netfilter_act act;

	netlink_text(span, NFTA_EXPR_NAME, name, sizeof(name));
	if (netlink_find(span, NFTA_EXPR_DATA, &data))
		inner = netlink_nested(&data);
	if (!strcmp(name, "immediate"))
		return read_jump(nft, index, inner);
	if (!strcmp(name, "lookup") &&
	    netlink_be32(inner, NFTA_LOOKUP_DREG, NFT_REG32_00) == NFT_REG_VERDICT)
		nft->chains[index].picks = true;
	act = act_of(name, inner);
	if (act < _NETFILTER_ACT_MAX)
		nft->chains[index].counts[act]++;
	return 0;
}

static int read_rule(struct nft *nft, uint8_t family, struct netlink_span span)
{
	struct netlink_attribute expressions, expression;
	char table[NAME_LEN], name[NAME_LEN];
	struct netlink_span list;
	const struct chain *chain;
	int r = 0;

	netlink_text(span, NFTA_RULE_TABLE, table, sizeof(table));
	netlink_text(span, NFTA_RULE_CHAIN, name, sizeof(name));
	chain = find(nft, family, table, name);
	if (!chain || !netlink_find(span, NFTA_RULE_EXPRESSIONS, &expressions))
		return 0;
	list = netlink_nested(&expressions);
	while (!r && netlink_next(&list, &expression))
		r = read_expression(nft, (size_t)(chain - nft->chains),
				    netlink_nested(&expression));
	return r;
}

int nft_read(struct nft *nft, const struct nlmsghdr *message)
{
	const struct nfgenmsg *head = NLMSG_DATA(message);
	struct netlink_span span = netlink_attributes(message, sizeof(*head));

	if (message->nlmsg_len < NLMSG_LENGTH(sizeof(*head)) ||
	    NFNL_SUBSYS_ID(message->nlmsg_type) != NFNL_SUBSYS_NFTABLES ||
	    !family_name(head->nfgen_family))
		return 0;
	switch (NFNL_MSG_TYPE(message->nlmsg_type)) {
	case NFT_MSG_NEWCHAIN:
		return read_chain(nft, head->nfgen_family, span);
	case NFT_MSG_NEWRULE:
		return read_rule(nft, head->nfgen_family, span);
	default:
		return 0;
	}
}

static bool reach(struct chain *chain, unsigned int hooks)
{
	bool more = (hooks & ~chain->hooks) != 0;

	chain->hooks |= hooks;
	return more;
}

static bool follow_once(struct nft *nft)
{
	bool more = false;

	for (size_t i = 0; i < nft->jump_count; i++)
		more |= reach(&nft->chains[nft->jumps[i].to],
			      nft->chains[nft->jumps[i].from].hooks);
	for (size_t i = 0; i < nft->chain_count; i++) {
		const struct chain *from = &nft->chains[i];

		for (size_t j = 0; from->picks && from->hooks && j < nft->chain_count; j++)
			if (same_table(from, &nft->chains[j]))
				more |= reach(&nft->chains[j], from->hooks);
	}
	return more;
}

void nft_visit(struct nft *nft, const struct netfilter_visitor *visitor)
{
	while (follow_once(nft))
		;
	for (size_t i = 0; i < nft->chain_count; i++) {
		const struct chain *chain = &nft->chains[i];

		for (int act = 0; act < _NETFILTER_ACT_MAX; act++) {
			const struct netfilter_finding finding = {
				.source = "nftables",
				.family = family_name(chain->family),
				.table = chain->table,
				.chain = chain->name,
				.act = (enum netfilter_act)act,
				.hooks = chain->hooks & netfilter_hooks_of((enum netfilter_act)act),
				.count = chain->counts[act],
			};

			if (finding.count && finding.hooks)
				visitor->finding(visitor->context, &finding);
		}
	}
}

static int read_message(void *context, const struct nlmsghdr *message)
{
	return nft_read(context, message);
}

static int dump(struct nft *nft, uint16_t type)
{
	const struct {
		struct nlmsghdr head;
		struct nfgenmsg body;
	} request = {
		.head = {.nlmsg_len = sizeof(request),
			 .nlmsg_type = (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type),
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.body = {.nfgen_family = NFPROTO_UNSPEC, .version = NFNETLINK_V0},
	};

	return netlink_ask(NETLINK_NETFILTER, &request.head,
			   &(const struct netlink_reader){read_message, nft});
}

int netfilter_scan_nft(const struct netfilter_visitor *visitor)
{
	struct nft *nft cleanup(nft_freep) = nft_new();
	int r = nft ? dump(nft, NFT_MSG_GETCHAIN) : -ENOMEM;

	/* No netfilter netlink, or no nf_tables behind it: there are no rules. */
	if (r == -EPROTONOSUPPORT || r == -EINVAL)
		return 0;
	if (!r)
		r = dump(nft, NFT_MSG_GETRULE);
	if (!r)
		nft_visit(nft, visitor);
	return r;
}
