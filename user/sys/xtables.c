/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/xtables.h"

#include <errno.h>
#include <linux/netfilter/x_tables.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "sys/fd.h"
#include "sys/fs.h"

#define NAMES_MAX 4096u
#define RULES_MAX (256u << 20)
#define TRIES	  5
/* The last byte of a name is there for its end. */
#define TARGET_LEN (XT_EXTENSION_MAXNAMELEN)

struct rule {
	size_t offset, next;
	char target[TARGET_LEN];
	const uint8_t *data; /* the target's own */
	size_t data_len;
};

static uint16_t read_u16(const uint8_t *at)
{
	uint16_t value;

	(void)memcpy(&value, at, sizeof(value));
	return value;
}

static bool read_rule(const struct xtables_table *table, size_t offset, struct rule *ret_rule)
{
	size_t head = table->ipv6 ? sizeof(struct ip6t_entry) : sizeof(struct ipt_entry);
	const uint8_t *at = table->rules + offset;
	struct xt_entry_target target;
	size_t to_target, to_next;

	if (offset >= table->len || table->len - offset < head)
		return false;
	to_target = read_u16(at + (table->ipv6 ? offsetof(struct ip6t_entry, target_offset)
					       : offsetof(struct ipt_entry, target_offset)));
	to_next = read_u16(at + (table->ipv6 ? offsetof(struct ip6t_entry, next_offset)
					     : offsetof(struct ipt_entry, next_offset)));
	if (to_target < head || to_next > table->len - offset ||
	    to_next < to_target + sizeof(target))
		return false;
	(void)memcpy(&target, at + to_target, sizeof(target));
	*ret_rule = (struct rule){
		.offset = offset,
		.next = offset + to_next,
		.data = at + to_target + sizeof(target),
		.data_len = to_next - to_target - sizeof(target),
	};
	(void)memcpy(ret_rule->target, target.u.user.name, TARGET_LEN - 1);
	return true;
}

static bool is_head(const struct rule *rule)
{
	return !strcmp(rule->target, XT_ERROR_TARGET);
}

/* Where the standard target of a rule jumps to: an offset, which its verdict is then. */
static bool jumps(const struct rule *rule, size_t *ret_to)
{
	int32_t verdict;

	if (strcmp(rule->target, XT_STANDARD_TARGET) || rule->data_len < sizeof(verdict))
		return false;
	(void)memcpy(&verdict, rule->data, sizeof(verdict));
	*ret_to = (size_t)verdict;
	return verdict >= 0;
}

static bool is_policy(const struct xtables_table *table, size_t offset)
{
	for (int hook = 0; hook < NF_INET_NUMHOOKS; hook++)
		if ((table->valid_hooks & 1u << hook) && table->underflow[hook] == offset)
			return true;
	return false;
}

static bool reach(const struct xtables_table *table, uint8_t *marks, size_t offset,
		  unsigned int hooks)
{
	bool more;

	if (offset >= table->len)
		return false;
	more = (hooks & ~marks[offset]) != 0;
	marks[offset] |= (uint8_t)hooks;
	return more;
}

/* From every rule that is reached, to the next of its chain and where it jumps. */
static int follow_once(const struct xtables_table *table, uint8_t *marks, bool *more)
{
	struct rule rule, next;
	size_t to;

	*more = false;
	for (size_t offset = 0; offset < table->len; offset = rule.next) {
		if (!read_rule(table, offset, &rule))
			return -EBADMSG;
		if (!marks[offset] || is_head(&rule))
			continue;
		if (jumps(&rule, &to))
			*more |= reach(table, marks, to, marks[offset]);
		if (!is_policy(table, offset) && read_rule(table, rule.next, &next) &&
		    !is_head(&next))
			*more |= reach(table, marks, rule.next, marks[offset]);
	}
	return 0;
}

static const char *builtin_at(const struct xtables_table *table, size_t offset)
{
	static const char *const names[NF_INET_NUMHOOKS] = {
		[NF_INET_PRE_ROUTING] = "PREROUTING",	[NF_INET_LOCAL_IN] = "INPUT",
		[NF_INET_FORWARD] = "FORWARD",		[NF_INET_LOCAL_OUT] = "OUTPUT",
		[NF_INET_POST_ROUTING] = "POSTROUTING",
	};

	for (int hook = 0; hook < NF_INET_NUMHOOKS; hook++)
		if ((table->valid_hooks & 1u << hook) && table->hook_entry[hook] == offset)
			return names[hook];
	return NULL;
}

/* The chain being read, with its findings so far. */
struct reading {
	const struct xtables_table *table;
	char chain[XT_TABLE_MAXNAMELEN + 1];
	struct netfilter_finding findings[_NETFILTER_ACT_MAX];
};

static void end_chain(struct reading *reading, const struct netfilter_visitor *visitor)
{
	for (int act = 0; act < _NETFILTER_ACT_MAX; act++) {
		struct netfilter_finding *finding = &reading->findings[act];

		if (finding->count) {
			finding->source = reading->table->ipv6 ? "ip6tables" : "iptables";
			finding->family = reading->table->ipv6 ? "ip6" : "ip";
			finding->table = reading->table->name;
			finding->chain = reading->chain;
			finding->act = (enum netfilter_act)act;
			visitor->finding(visitor->context, finding);
		}
		*finding = (struct netfilter_finding){0};
	}
}

static void begin_chain(struct reading *reading, const void *name, size_t len)
{
	size_t take = MIN(len, sizeof(reading->chain) - 1);

	(void)memset(reading->chain, 0, sizeof(reading->chain));
	(void)memcpy(reading->chain, name, take);
}

static void tell(const struct xtables_table *table, const uint8_t *marks,
		 const struct netfilter_visitor *visitor)
{
	struct reading reading = {.table = table};
	const char *builtin;
	enum netfilter_act act;
	unsigned int hooks;
	struct rule rule;

	for (size_t offset = 0; read_rule(table, offset, &rule); offset = rule.next) {
		builtin = builtin_at(table, offset);
		if (builtin || is_head(&rule)) {
			end_chain(&reading, visitor);
			if (builtin)
				begin_chain(&reading, builtin, strlen(builtin));
			else
				begin_chain(&reading, rule.data, rule.data_len);
		}
		act = netfilter_target(rule.target);
		hooks = act < _NETFILTER_ACT_MAX ? marks[offset] & netfilter_hooks_of(act) : 0;
		if (hooks) {
			reading.findings[act].hooks |= hooks;
			reading.findings[act].count++;
		}
	}
	end_chain(&reading, visitor);
}

int xtables_visit(const struct xtables_table *table, const struct netfilter_visitor *visitor)
{
	uint8_t *marks = calloc(1, table->len + 1);
	bool more = true;
	int r = marks ? 0 : -ENOMEM;

	for (int hook = 0; !r && hook < NF_INET_NUMHOOKS; hook++)
		if (table->valid_hooks & 1u << hook)
			(void)reach(table, marks, table->hook_entry[hook], 1u << hook);
	while (!r && more)
		r = follow_once(table, marks, &more);
	if (!r)
		tell(table, marks, visitor);
	free(marks);
	return r;
}

/* struct ipt_getinfo and ip6t_getinfo, ipt_get_entries and ip6t_get_entries have one layout. */
_Static_assert(sizeof(struct ipt_getinfo) == sizeof(struct ip6t_getinfo), "one layout");
_Static_assert(offsetof(struct ipt_get_entries, entrytable) ==
		       offsetof(struct ip6t_get_entries, entrytable),
	       "one layout");
_Static_assert(IPT_SO_GET_INFO == IP6T_SO_GET_INFO && IPT_SO_GET_ENTRIES == IP6T_SO_GET_ENTRIES,
	       "one option");

static int read_table(int fd, bool ipv6, const char *name, const struct netfilter_visitor *visitor)
{
	const int level = ipv6 ? IPPROTO_IPV6 : IPPROTO_IP;
	struct xtables_table table = {.ipv6 = ipv6, .name = name};
	struct ipt_getinfo info = {0};
	struct ipt_get_entries *entries;
	socklen_t len = sizeof(info);
	int r;

	(void)strncpy(info.name, name, sizeof(info.name) - 1);
	if (getsockopt(fd, level, IPT_SO_GET_INFO, &info, &len))
		return -errno;
	if (info.size > RULES_MAX)
		return -EFBIG;
	len = (socklen_t)(sizeof(*entries) + info.size);
	entries = calloc(1, len);
	if (!entries)
		return -ENOMEM;
	(void)memcpy(entries->name, info.name, sizeof(entries->name));
	entries->size = info.size;
	r = getsockopt(fd, level, IPT_SO_GET_ENTRIES, entries, &len) ? -errno : 0;
	if (!r) {
		table.rules = (const uint8_t *)entries->entrytable;
		table.len = info.size;
		table.valid_hooks = info.valid_hooks;
		(void)memcpy(table.hook_entry, info.hook_entry, sizeof(table.hook_entry));
		(void)memcpy(table.underflow, info.underflow, sizeof(table.underflow));
		r = xtables_visit(&table, visitor);
	}
	free(entries);
	return r;
}

static int scan_family(bool ipv6, const struct netfilter_visitor *visitor)
{
	int fd cleanup(fd_closep) =
		socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP);
	char *names, *name, *rest = NULL;
	size_t len;
	int r = fs_read_file(ipv6 ? "/proc/net/ip6_tables_names" : "/proc/net/ip_tables_names",
			     NAMES_MAX, &names, &len);

	if (r == -ENOENT)
		return 0;
	if (r)
		return r == -EACCES ? -EPERM : r;
	name = strtok_r(names, "\n", &rest);
	for (; !r && name; name = strtok_r(NULL, "\n", &rest)) {
		if (fd < 0)
			r = -EAFNOSUPPORT;
		/* It says EAGAIN where the size that it told has changed. */
		for (int i = 0; i < TRIES && fd >= 0; i++) {
			r = read_table(fd, ipv6, name, visitor);
			if (r != -EAGAIN)
				break;
		}
	}
	free(names);
	return r;
}

int netfilter_scan_xtables(const struct netfilter_visitor *visitor)
{
	int r = scan_family(false, visitor);

	return r ?: scan_family(true, visitor);
}
