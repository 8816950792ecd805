/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A packet at cgroup egress or ingress, where data begins with the network
 * header. Only what is plainly TCP or UDP in one piece parses; the rest
 * (fragments, tunnels, IPv4 options, routing and other extension headers) does
 * not, and the caller drops it.
 *
 * Lengths come from skb->len and never from the headers: a GSO packet is longer
 * than a header can say (IPv6 then carries a hop-by-hop jumbo header, IPv4 a
 * total length of 0).
 */
#ifndef SLUICE_PACKET_BPF_H
#define SLUICE_PACKET_BPF_H

#include "common.bpf.h"

struct packet {
	struct sluice_address source;
	struct sluice_address destination;
	__u32 protocol; /* IPPROTO_* */
	__u32 seq;	/* TCP, of the first payload byte */
	__u32 payload;	/* bytes */
	bool syn;
};

static __always_inline bool packet_load(struct __sk_buff *skb, __u32 offset, void *ret_to,
					__u32 len)
{
	return bpf_skb_load_bytes(skb, offset, ret_to, len) == 0;
}

static __always_inline bool packet_parse_v4(struct __sk_buff *skb, struct packet *packet,
					    __u32 *ret_offset)
{
	struct iphdr ip;

	/* Options may name other hops than the address says. */
	if (!packet_load(skb, 0, &ip, sizeof(ip)) || ip.ihl != 5)
		return false;
	if (ip.frag_off & bpf_htons(IP_MORE_OR_OFFSET))
		return false;
	packet->source.family = AF_INET;
	packet->destination.family = AF_INET;
	address_set_words(&packet->source, 0, 0, V4_MAPPED_WORD, ip.saddr);
	address_set_words(&packet->destination, 0, 0, V4_MAPPED_WORD, ip.daddr);
	packet->protocol = ip.protocol;
	*ret_offset = sizeof(ip);
	return true;
}

static __always_inline bool packet_parse_v6(struct __sk_buff *skb, struct packet *packet,
					    __u32 *ret_offset)
{
	struct ipv6hdr ip;
	__u8 hop[2]; /* next header, length in eights after the first */
	__u32 offset = sizeof(ip);

	if (!packet_load(skb, 0, &ip, sizeof(ip)))
		return false;
	packet->source.family = AF_INET6;
	packet->destination.family = AF_INET6;
	__builtin_memcpy(packet->source.addr, &ip.saddr, sizeof(packet->source.addr));
	__builtin_memcpy(packet->destination.addr, &ip.daddr, sizeof(packet->destination.addr));
	packet->protocol = ip.nexthdr;
	if (ip.nexthdr == IPPROTO_HOPOPTS) {
		if (!packet_load(skb, offset, hop, sizeof(hop)))
			return false;
		packet->protocol = hop[0];
		offset += ((__u32)hop[1] + 1) * 8;
	}
	*ret_offset = offset;
	return true;
}

static __always_inline bool packet_parse_tcp(struct __sk_buff *skb, struct packet *packet,
					     __u32 offset)
{
	struct tcphdr tcp;

	if (!packet_load(skb, offset, &tcp, sizeof(tcp)) || tcp.doff < 5)
		return false;
	offset += tcp.doff * 4;
	if (offset > skb->len)
		return false;
	packet->source.port = bpf_ntohs(tcp.source);
	packet->destination.port = bpf_ntohs(tcp.dest);
	packet->seq = bpf_ntohl(tcp.seq);
	packet->payload = skb->len - offset;
	packet->syn = tcp.syn;
	return true;
}

static __always_inline bool packet_parse_udp(struct __sk_buff *skb, struct packet *packet,
					     __u32 offset)
{
	struct udphdr udp;

	if (!packet_load(skb, offset, &udp, sizeof(udp)))
		return false;
	packet->source.port = bpf_ntohs(udp.source);
	packet->destination.port = bpf_ntohs(udp.dest);
	packet->payload = skb->len - offset - sizeof(udp);
	return true;
}

/* False for everything but one whole TCP or UDP packet. */
static __always_inline bool packet_parse(struct __sk_buff *skb, struct packet *ret_packet)
{
	__u32 offset = 0;
	__u8 version;

	__builtin_memset(ret_packet, 0, sizeof(*ret_packet));
	if (!packet_load(skb, 0, &version, sizeof(version)))
		return false;
	switch (version >> 4) {
	case 4:
		if (!packet_parse_v4(skb, ret_packet, &offset))
			return false;
		break;
	case 6:
		if (!packet_parse_v6(skb, ret_packet, &offset))
			return false;
		break;
	default:
		return false;
	}
	if (ret_packet->protocol == IPPROTO_TCP)
		return packet_parse_tcp(skb, ret_packet, offset);
	if (ret_packet->protocol == IPPROTO_UDP)
		return packet_parse_udp(skb, ret_packet, offset);
	return false;
}

#endif
