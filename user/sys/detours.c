/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/detours.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/fib_rules.h>
#include <linux/if_ether.h>
#include <linux/lwtunnel.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>

#include "sys/fs.h"
#include "sys/netlink.h"

#define TEXT_MAX  (1u << 20)
#define PLACE_LEN 128u
/* The defaults, with which TCP keeps held bytes for about 15 minutes. */
#define RETRIES_DEFAULT 15u
#define RTO_MAX_DEFAULT 120000u

static const uint8_t loopback4[4] = {127, 0, 0, 1};
static const uint8_t loopback6[16] = {[15] = 1};

/* One look, of one address family where that matters. */
struct look {
	const struct detour_visitor *visitor;
	int family;
	unsigned int lo;
	unsigned int count;
	bool local; /* the local table was reached, or the loopback address is local */
};

static const char *family_name(const struct look *look)
{
	return look->family == AF_INET6 ? "IPv6" : "IPv4";
}

static void __attribute__((format(printf, 3, 4)))
tell(const struct look *look, enum detour_kind kind, const char *format, ...)
{
	char place[PLACE_LEN];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(place, sizeof(place), format, args);
	va_end(args);
	look->visitor->detour(look->visitor->context, kind, place);
}

bool detours_same_prefix(const uint8_t *one, const uint8_t *other, unsigned int bits)
{
	unsigned int whole = bits / 8, rest = bits % 8;

	return !memcmp(one, other, whole) &&
	       (!rest || !((one[whole] ^ other[whole]) >> (8 - rest)));
}

/* --- The loopback address --- */

static int read_loopback(void *context, const struct nlmsghdr *message)
{
	const struct rtmsg *route = NLMSG_DATA(message);
	struct look *look = context;

	if (message->nlmsg_type != RTM_NEWROUTE ||
	    message->nlmsg_len < NLMSG_LENGTH(sizeof(*route)))
		return -EBADMSG;
	look->local =
		route->rtm_type == RTN_LOCAL &&
		netlink_u32(netlink_attributes(message, sizeof(*route)), RTA_OIF, 0) == look->lo;
	return 0;
}

/* `ip route get`. */
static int look_at_loopback(struct look *look)
{
	const bool v6 = look->family == AF_INET6;
	const size_t len = v6 ? sizeof(loopback6) : sizeof(loopback4);
	struct {
		struct nlmsghdr head;
		struct rtmsg route;
		struct nlattr attribute;
		uint8_t address[16];
	} request = {
		.head = {.nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST},
		.route = {.rtm_family = (unsigned char)look->family,
			  .rtm_dst_len = (unsigned char)(len * 8)},
		.attribute = {.nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = RTA_DST},
	};
	int r;

	request.head.nlmsg_len = (uint32_t)(offsetof(__typeof__(request), address) + len);
	(void)memcpy(request.address, v6 ? loopback6 : loopback4, len);
	r = netlink_ask(NETLINK_ROUTE, &request.head,
			&(const struct netlink_reader){read_loopback, look});
	if (r == -ENETUNREACH || r == -EHOSTUNREACH || r == -EINVAL || r == -EACCES)
		r = 0;
	if (!r && !look->local)
		tell(look, DETOUR_LOOPBACK, "%s", v6 ? "::1" : "127.0.0.1");
	return r;
}

/* --- Rules of policy routing, in the order of their priority --- */

/* Whether it can be about the loopback address. */
static bool rule_covers(const struct look *look, const struct fib_rule_hdr *rule,
			struct netlink_span span)
{
	const bool v6 = look->family == AF_INET6;
	struct netlink_attribute destination;
	size_t len = v6 ? sizeof(loopback6) : sizeof(loopback4);

	if (rule->action == FR_ACT_NOP || netlink_find(span, FRA_L3MDEV, &destination))
		return false;
	if (!rule->dst_len || !netlink_find(span, FRA_DST, &destination) || destination.len < len ||
	    rule->dst_len > len * 8)
		return true;
	return detours_same_prefix(destination.data, v6 ? loopback6 : loopback4, rule->dst_len);
}

static bool rule_is_local(const struct fib_rule_hdr *rule, struct netlink_span span)
{
	static const uint16_t selectors[] = {FRA_FWMARK,      FRA_IIFNAME,  FRA_OIFNAME,
					     FRA_UID_RANGE,   FRA_IP_PROTO, FRA_SPORT_RANGE,
					     FRA_DPORT_RANGE, FRA_TUN_ID};
	struct netlink_attribute attribute;

	if (rule->action != FR_ACT_TO_TBL || rule->src_len || rule->dst_len || rule->tos ||
	    (rule->flags & FIB_RULE_INVERT) ||
	    netlink_u32(span, FRA_TABLE, rule->table) != RT_TABLE_LOCAL)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(selectors); i++)
		if (netlink_find(span, selectors[i], &attribute))
			return false;
	return true;
}

static int read_rule(void *context, const struct nlmsghdr *message)
{
	const struct fib_rule_hdr *rule = NLMSG_DATA(message);
	struct netlink_span span = netlink_attributes(message, sizeof(*rule));
	struct look *look = context;

	if (message->nlmsg_type != RTM_NEWRULE ||
	    message->nlmsg_len < NLMSG_LENGTH(sizeof(*rule)) || look->local)
		return 0;
	if (rule_is_local(rule, span))
		look->local = true;
	else if (rule_covers(look, rule, span))
		tell(look, DETOUR_RULE, "%s rule of priority %u", family_name(look),
		     netlink_u32(span, FRA_PRIORITY, 0));
	return 0;
}

static int look_at_rules(struct look *look)
{
	const struct {
		struct nlmsghdr head;
		struct fib_rule_hdr rule;
	} request = {
		.head = {.nlmsg_len = sizeof(request),
			 .nlmsg_type = RTM_GETRULE,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.rule = {.family = (__u8)look->family},
	};
	int r;

	look->local = false;
	r = netlink_ask(NETLINK_ROUTE, &request.head,
			&(const struct netlink_reader){read_rule, look});
	/* No policy routing. */
	return r == -EAFNOSUPPORT || r == -EOPNOTSUPP ? 0 : r;
}

/* --- Routes that wrap --- */

/* Those whose work comes before the egress hook; the others work behind it, or at a device. */
static void tell_wrapped(const struct look *look, const struct rtmsg *route,
			 struct netlink_span all, struct netlink_span span)
{
	static const char *const names[] = {
		[LWTUNNEL_ENCAP_SEG6] = "seg6",
		[LWTUNNEL_ENCAP_BPF] = "bpf",
		[LWTUNNEL_ENCAP_RPL] = "rpl",
		[LWTUNNEL_ENCAP_IOAM6] = "ioam6",
	};
	struct netlink_attribute type, encap, destination;
	char text[INET6_ADDRSTRLEN] = "default";
	uint16_t number;
	size_t len = 0;

	if (!netlink_find(span, RTA_ENCAP_TYPE, &type) || type.len < sizeof(number))
		return;
	(void)memcpy(&number, type.data, sizeof(number));
	if (number >= ARRAY_SIZE(names) || !names[number])
		return;
	if (number == LWTUNNEL_ENCAP_BPF &&
	    (!netlink_find(span, RTA_ENCAP, &encap) ||
	     !netlink_find(netlink_nested(&encap), LWT_BPF_OUT, &destination)))
		return;
	if (netlink_find(all, RTA_DST, &destination))
		len = destination.len;
	if (len >= sizeof(loopback4) && look->family == AF_INET)
		(void)inet_ntop(AF_INET, destination.data, text, sizeof(text));
	else if (len >= sizeof(loopback6))
		(void)inet_ntop(AF_INET6, destination.data, text, sizeof(text));
	tell(look, number == LWTUNNEL_ENCAP_BPF ? DETOUR_PROGRAM : DETOUR_WRAPPED,
	     "%s route %s/%u, encap %s", family_name(look), text, route->rtm_dst_len,
	     names[number]);
}

static int read_route(void *context, const struct nlmsghdr *message)
{
	const struct rtmsg *route = NLMSG_DATA(message);
	struct netlink_span all = netlink_attributes(message, sizeof(*route));
	struct netlink_attribute multipath;
	const struct look *look = context;
	struct rtnexthop hop;

	if (message->nlmsg_type != RTM_NEWROUTE ||
	    message->nlmsg_len < NLMSG_LENGTH(sizeof(*route)))
		return 0;
	tell_wrapped(look, route, all, all);
	if (!netlink_find(all, RTA_MULTIPATH, &multipath))
		return 0;
	while (multipath.len >= sizeof(hop)) {
		(void)memcpy(&hop, multipath.data, sizeof(hop));
		if (hop.rtnh_len < sizeof(hop) || hop.rtnh_len > multipath.len)
			break;
		tell_wrapped(look, route, all,
			     (struct netlink_span){multipath.data + sizeof(hop),
						   hop.rtnh_len - sizeof(hop)});
		hop.rtnh_len = (unsigned short)MIN(RTNH_ALIGN((size_t)hop.rtnh_len), multipath.len);
		multipath.data += hop.rtnh_len;
		multipath.len -= hop.rtnh_len;
	}
	return 0;
}

static int look_at_routes(struct look *look)
{
	return netlink_routes(look->family, &(const struct netlink_reader){read_route, look});
}

/* --- IPsec, IPVS, packet sockets, TCP's patience --- */

static int read_policy(void *context, const struct nlmsghdr *message)
{
	const struct xfrm_userpolicy_info *policy = NLMSG_DATA(message);
	struct look *look = context;

	if (message->nlmsg_type == XFRM_MSG_NEWPOLICY &&
	    message->nlmsg_len >= NLMSG_LENGTH(sizeof(*policy)) && policy->dir == XFRM_POLICY_OUT)
		look->count++;
	return 0;
}

static int look_at_ipsec(struct look *look)
{
	const struct {
		struct nlmsghdr head;
		struct xfrm_userpolicy_id body;
	} request = {
		.head = {.nlmsg_len = sizeof(request),
			 .nlmsg_type = XFRM_MSG_GETPOLICY,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
	};
	int r = netlink_ask(NETLINK_XFRM, &request.head,
			    &(const struct netlink_reader){read_policy, look});

	if (!r && look->count)
		tell(look, DETOUR_IPSEC, "IPsec, %u outgoing %s", look->count,
		     look->count == 1 ? "policy" : "policies");
	return r == -EPROTONOSUPPORT ? 0 : r;
}

/* Rows of a file of /proc/net behind so many lines of heads. */
static unsigned int count_rows(const char *text, unsigned int heads,
			       bool (*counts)(const char *row, unsigned int argument),
			       unsigned int argument)
{
	unsigned int line = 0, count = 0;

	for (; text && *text; line++) {
		if (line >= heads && counts(text, argument))
			count++;
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return count;
}

static bool sees_interface(const char *row, unsigned int interface)
{
	unsigned int protocol, bound, running;

	return sscanf(row, "%*s %*s %*s %x %u %u", &protocol, &bound, &running) == 3 && running &&
	       (!bound || bound == interface) &&
	       (protocol == ETH_P_ALL || protocol == ETH_P_IP || protocol == ETH_P_IPV6);
}

unsigned int detours_count_packet_sockets(const char *text, unsigned int interface)
{
	return count_rows(text, 1, sees_interface, interface);
}

static bool is_service(const char *row, unsigned int unused)
{
	(void)unused;
	return !strncmp(row, "TCP ", 4) || !strncmp(row, "FWM ", 4);
}

unsigned int detours_count_services(const char *text)
{
	return count_rows(text, 0, is_service, 0);
}

static int look_at_packets(struct look *look)
{
	char *text;
	size_t len;
	int r = fs_read_file("/proc/net/packet", TEXT_MAX, &text, &len);

	if (r)
		return r == -ENOENT ? 0 : r;
	look->count = detours_count_packet_sockets(text, look->lo);
	free(text);
	if (look->count)
		tell(look, DETOUR_PACKETS, "loopback interface, %u packet %s", look->count,
		     look->count == 1 ? "socket" : "sockets");
	return 0;
}

static int look_at_services(struct look *look)
{
	char *text;
	size_t len;
	int r = fs_read_file("/proc/net/ip_vs", TEXT_MAX, &text, &len);

	if (r)
		return r == -ENOENT ? 0 : r;
	look->count = detours_count_services(text);
	free(text);
	if (look->count)
		tell(look, DETOUR_BALANCED, "IPVS, %u %s", look->count,
		     look->count == 1 ? "service" : "services");
	return 0;
}

static void look_at_setting(const struct look *look, const char *name, unsigned long least)
{
	char path[PLACE_LEN], *text;
	unsigned long value;
	size_t len;

	(void)snprintf(path, sizeof(path), "/proc/sys/net/ipv4/%s", name);
	if (fs_read_file(path, TEXT_MAX, &text, &len))
		return;
	value = strtoul(text, NULL, 10);
	free(text);
	if (value < least)
		tell(look, DETOUR_PATIENCE, "net.ipv4.%s = %lu", name, value);
}

static int look_at_patience(struct look *look)
{
	look_at_setting(look, "tcp_retries2", RETRIES_DEFAULT);
	look_at_setting(look, "tcp_rto_max_ms", RTO_MAX_DEFAULT);
	return 0;
}

static bool has_ipv6(void)
{
	char *text;
	size_t len;

	if (fs_read_file("/proc/net/if_inet6", TEXT_MAX, &text, &len))
		return false;
	free(text);
	return len > 0;
}

void detours_scan(const struct detour_visitor *visitor)
{
	static const struct {
		const char *what;
		int (*look)(struct look *look);
		bool by_family;
	} parts[] = {
		{"the loopback route", look_at_loopback, true},
		{"policy routing rules", look_at_rules, true},
		{"routes", look_at_routes, true},
		{"IPsec policies", look_at_ipsec, false},
		{"IPVS services", look_at_services, false},
		{"packet sockets", look_at_packets, false},
		{"TCP's settings", look_at_patience, false},
	};
	const bool v6 = has_ipv6();

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		for (int family = 0; family < (parts[i].by_family && v6 ? 2 : 1); family++) {
			struct look look = {
				.visitor = visitor,
				.family = family ? AF_INET6 : AF_INET,
				.lo = if_nametoindex("lo"),
			};
			int r = parts[i].look(&look);

			if (r)
				tell(&look, DETOUR_UNKNOWN, "%s: %s", parts[i].what, strerror(-r));
		}
	}
}
