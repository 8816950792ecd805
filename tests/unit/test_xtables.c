/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the older iptables, laid out here as the kernel does, and what else is read. */
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

#include "sys/detours.h"
#include "sys/xtables.h"

#include <linux/netfilter/x_tables.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>

#define RULES_LEN 8192u
#define TEXT_LEN  1024u

static uint8_t rules[RULES_LEN] __attribute__((aligned(8)));
static struct xtables_table table;

static void begin(bool ipv6)
{
	table = (struct xtables_table){.ipv6 = ipv6, .name = "mangle", .rules = rules};
}

/* A rule with that target, whose own data it gets; returns its offset. */
static unsigned int add(const char *name, const void *data, size_t len)
{
	size_t head = table.ipv6 ? sizeof(struct ip6t_entry) : sizeof(struct ipt_entry);
	struct xt_entry_target target = {0};
	unsigned int offset = (unsigned int)table.len;
	uint16_t to_target = (uint16_t)head;
	uint16_t to_next = (uint16_t)XT_ALIGN(head + sizeof(target) + len);
	uint8_t *at = rules + offset;

	assert_true(table.len + to_next <= sizeof(rules));
	(void)memset(at, 0, to_next);
	(void)memcpy(at + (table.ipv6 ? offsetof(struct ip6t_entry, target_offset)
				      : offsetof(struct ipt_entry, target_offset)),
		     &to_target, sizeof(to_target));
	(void)memcpy(at + (table.ipv6 ? offsetof(struct ip6t_entry, next_offset)
				      : offsetof(struct ipt_entry, next_offset)),
		     &to_next, sizeof(to_next));
	(void)strncpy(target.u.user.name, name, sizeof(target.u.user.name) - 1);
	(void)memcpy(at + head, &target, sizeof(target));
	(void)memcpy(at + head + sizeof(target), data, len);
	table.len += to_next;
	return offset;
}

static unsigned int add_verdict(int32_t verdict)
{
	return add(XT_STANDARD_TARGET, &verdict, sizeof(verdict));
}

static unsigned int add_chain(const char *name)
{
	char text[XT_FUNCTION_MAXNAMELEN] = "";

	(void)strcpy(text, name);
	return add(XT_ERROR_TARGET, text, sizeof(text));
}

static void set_hook(int hook, unsigned int entry, unsigned int underflow)
{
	table.valid_hooks |= 1u << hook;
	table.hook_entry[hook] = entry;
	table.underflow[hook] = underflow;
}

static void note(void *context, const struct netfilter_finding *finding)
{
	char *text = context;
	size_t len = strlen(text);

	(void)snprintf(text + len, TEXT_LEN - len, "%s %s %s %s act %d hooks %x x%u\n",
		       finding->source, finding->family, finding->table, finding->chain,
		       finding->act, finding->hooks, finding->count);
}

static int visit(char *text)
{
	text[0] = '\0';
	return xtables_visit(&table, &(const struct netfilter_visitor){note, text});
}

static int32_t accept_verdict(void)
{
	return -NF_ACCEPT - 1;
}

/* OUTPUT jumps to a chain behind it, which jumps back to one before it; a third is not reached. */
static void lay_out(bool ipv6)
{
	unsigned int entry, jump, chain;
	int32_t verdict;
	size_t at;

	begin(ipv6);
	entry = add("NFLOG", "", 0);
	set_hook(NF_INET_FORWARD, entry, add_verdict(accept_verdict()));
	entry = add("LOG", "", 0);
	jump = add_verdict(0);
	set_hook(NF_INET_LOCAL_OUT, entry, add_verdict(accept_verdict()));
	(void)add_chain("early");
	chain = add("TEE", "", 0);
	(void)add("TEE", "", 0);
	(void)add_verdict(XT_RETURN);
	(void)add_chain("unused");
	(void)add("NFQUEUE", "", 0);
	(void)add_verdict(XT_RETURN);
	(void)add_chain("late");
	verdict = (int32_t)add_verdict((int32_t)chain);
	(void)add("DNAT", "", 0);
	(void)add_verdict(XT_RETURN);
	(void)add_chain("ERROR");
	at = jump + (ipv6 ? sizeof(struct ip6t_entry) : sizeof(struct ipt_entry)) +
	     sizeof(struct xt_entry_target);
	(void)memcpy(rules + at, &verdict, sizeof(verdict));
}

static void reach(void **unused)
{
	char text[TEXT_LEN];

	(void)unused;
	lay_out(false);
	assert_int_equal(visit(text), 0);
	assert_string_equal(text, "iptables ip mangle early act 2 hooks 8 x2\n"
				  "iptables ip mangle late act 3 hooks 8 x1\n");
	lay_out(true);
	assert_int_equal(visit(text), 0);
	assert_string_equal(text, "ip6tables ip6 mangle early act 2 hooks 8 x2\n"
				  "ip6tables ip6 mangle late act 3 hooks 8 x1\n");
}

static void builtin_chains(void **unused)
{
	char text[TEXT_LEN];
	unsigned int entry;

	(void)unused;
	begin(false);
	entry = add("TPROXY", "", 0);
	set_hook(NF_INET_PRE_ROUTING, entry, add_verdict(accept_verdict()));
	entry = add("NFQUEUE", "", 0);
	(void)add("TPROXY", "", 0);
	set_hook(NF_INET_LOCAL_IN, entry, add_verdict(accept_verdict()));
	entry = add("REDIRECT", "", 0);
	set_hook(NF_INET_POST_ROUTING, entry, add_verdict(accept_verdict()));
	(void)add_chain("ERROR");
	assert_int_equal(visit(text), 0);
	assert_string_equal(text, "iptables ip mangle PREROUTING act 4 hooks 1 x1\n"
				  "iptables ip mangle INPUT act 1 hooks 2 x1\n");
}

/* One byte another, or cut there: of the exact size, so that reading past it is seen. */
static void damage(size_t at, uint8_t value, bool cut)
{
	struct xtables_table other = table;
	uint8_t *copy = malloc(table.len);
	char text[TEXT_LEN] = "";
	int r;

	assert_non_null(copy);
	(void)memcpy(copy, rules, table.len);
	other.rules = copy;
	if (cut)
		other.len = at;
	else
		copy[at] = value;
	r = xtables_visit(&other, &(const struct netfilter_visitor){note, text});
	assert_true(r == 0 || r == -EBADMSG);
	free(copy);
}

static void damaged(void **unused)
{
	static const uint8_t values[] = {0, 1, 8, 0x70, 0x80, 0xff};
	char text[TEXT_LEN];

	(void)unused;
	lay_out(false);
	for (size_t at = 0; at < table.len; at++) {
		damage(at, 0, /* cut: */ true);
		for (size_t i = 0; i < ARRAY_SIZE(values); i++)
			damage(at, values[i], /* cut: */ false);
	}
	table.len--;
	assert_int_equal(visit(text), -EBADMSG);
	table.len = 0;
	assert_int_equal(visit(text), 0);
	assert_string_equal(text, "");
}

static void packet_sockets(void **unused)
{
	static const char text[] =
		"sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"
		"0000000000000000 3      3    0003   0     1 0      0      1\n" /* every interface */
		"0000000000000000 3      3    0800   1     1 0      0      2\n"
		"0000000000000000 3      3    86dd   1     1 0      0      3\n"
		"0000000000000000 3      3    0003   2     1 0      0      4\n" /* another one */
		"0000000000000000 3      3    0806   1     1 0      0      5\n" /* ARP */
		"0000000000000000 3      3    0003   1     0 0      0      6\n" /* gets nothing */
		"garbage\n";

	(void)unused;
	assert_int_equal(detours_count_packet_sockets(text, 1), 3);
	assert_int_equal(detours_count_packet_sockets(text, 2), 2);
	assert_int_equal(detours_count_packet_sockets("", 1), 0);
}

static void services(void **unused)
{
	static const char text[] = "IP Virtual Server version 1.2.1 (size=4096)\n"
				   "Prot LocalAddress:Port Scheduler Flags\n"
				   "  -> RemoteAddress:Port Forward Weight ActiveConn InActConn\n"
				   "TCP  C0A80001:0050 rr  \n"
				   "  -> C0A80002:0050      Masq    1      0          0         \n"
				   "UDP  C0A80001:0035 rr  \n"
				   "FWM  00000001 rr \n";

	(void)unused;
	assert_int_equal(detours_count_services(text), 2);
	assert_int_equal(detours_count_services("IP Virtual Server"), 0);
}

static void prefixes(void **unused)
{
	static const uint8_t loopback[] = {127, 0, 0, 1}, near[] = {127, 0, 0, 3},
			     far[] = {128, 0, 0, 1};

	(void)unused;
	assert_true(detours_same_prefix(loopback, far, 0));
	assert_false(detours_same_prefix(loopback, far, 1));
	assert_true(detours_same_prefix(loopback, near, 30));
	assert_false(detours_same_prefix(loopback, near, 31));
	assert_false(detours_same_prefix(loopback, near, 32));
	assert_true(detours_same_prefix(loopback, loopback, 32));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reach),    cmocka_unit_test(builtin_chains),
		cmocka_unit_test(damaged),  cmocka_unit_test(packet_sockets),
		cmocka_unit_test(services), cmocka_unit_test(prefixes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
