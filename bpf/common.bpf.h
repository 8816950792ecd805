/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What all programs share: verdicts, counting and addresses. */
#ifndef SLUICE_COMMON_BPF_H
#define SLUICE_COMMON_BPF_H

#include "maps.bpf.h"

/* Return values of cgroup programs. */
#define REFUSE 0
#define ALLOW  1

#define NS_PER_SECOND	 1000000000ull
#define V4_MAPPED_WORD	 bpf_htonl(0x0000ffff)
#define V4_LOOPBACK	 bpf_htonl(0x7f000001)
#define V4_LOOPBACK_NET	 bpf_htonl(0x7f000000)
#define V4_LOOPBACK_MASK bpf_htonl(0xff000000)
#define V6_LOOPBACK_WORD bpf_htonl(1)
#define LOOPBACK_IFINDEX 1u /* in every network namespace */
#define DNS_PORT	 53

/* Atomic, since an interrupt may count the same thing on the same CPU. */
static __always_inline void count_by(__u32 which, __u64 n)
{
	__u64 *counter = bpf_map_lookup_elem(&counters, &which);

	if (counter)
		__sync_fetch_and_add(counter, n);
}

static __always_inline void count(__u32 which)
{
	count_by(which, 1);
}

/* Addresses are compared and written as four words in network order. */
union address_words {
	__u8 bytes[16];
	__u32 words[4];
};

static __always_inline void address_set_words(struct sluice_address *address, __u32 a, __u32 b,
					      __u32 c, __u32 d)
{
	__u32 *words = (__u32 *)address->addr;

	words[0] = a;
	words[1] = b;
	words[2] = c;
	words[3] = d;
}

static __always_inline bool address_is_v4(const __u8 addr[16])
{
	const __u32 *words = (const __u32 *)addr;

	return !words[0] && !words[1] && words[2] == V4_MAPPED_WORD;
}

static __always_inline bool address_is_loopback(const __u8 addr[16])
{
	const __u32 *words = (const __u32 *)addr;

	if (address_is_v4(addr))
		return (words[3] & V4_LOOPBACK_MASK) == V4_LOOPBACK_NET;
	return !words[0] && !words[1] && !words[2] && words[3] == V6_LOOPBACK_WORD;
}

/*
 * To the kernel the unspecified address means loopback: named as such, so that
 * a rule about loopback cannot be avoided by it.
 */
static __always_inline void address_name_loopback(struct sluice_address *address)
{
	__u32 *words = (__u32 *)address->addr;

	if (words[3] || words[0] || words[1])
		return;
	if (words[2] == V4_MAPPED_WORD)
		words[3] = V4_LOOPBACK;
	else if (!words[2])
		words[3] = V6_LOOPBACK_WORD;
}

/* What connect and sendmsg were asked for. */
static __always_inline void address_asked_v4(const struct bpf_sock_addr *ctx,
					     struct sluice_address *ret_address)
{
	*ret_address = (struct sluice_address){.family = AF_INET};
	ret_address->port = bpf_ntohs((__u16)ctx->user_port);
	address_set_words(ret_address, 0, 0, V4_MAPPED_WORD, ctx->user_ip4);
	address_name_loopback(ret_address);
}

static __always_inline void address_asked_v6(const struct bpf_sock_addr *ctx,
					     struct sluice_address *ret_address)
{
	*ret_address = (struct sluice_address){.family = AF_INET6};
	ret_address->port = bpf_ntohs((__u16)ctx->user_port);
	address_set_words(ret_address, ctx->user_ip6[0], ctx->user_ip6[1], ctx->user_ip6[2],
			  ctx->user_ip6[3]);
	address_name_loopback(ret_address);
}

/*
 * A read of the context that stays where it is written: merged with the read of
 * another field it would use a computed address, which the verifier refuses.
 */
#define CONTEXT_READ(field) (*(volatile const __u32 *)&(field))

/* One end of a TCP socket, in the callbacks of sockops. */
#define SOCKET_END(ctx, end, ret_address)                                          \
	do {                                                                       \
		__u32 v4_ = CONTEXT_READ((ctx)->end##_ip4);                        \
		__u32 a_ = CONTEXT_READ((ctx)->end##_ip6[0]);                      \
		__u32 b_ = CONTEXT_READ((ctx)->end##_ip6[1]);                      \
		__u32 c_ = CONTEXT_READ((ctx)->end##_ip6[2]);                      \
		__u32 d_ = CONTEXT_READ((ctx)->end##_ip6[3]);                      \
		if ((ctx)->family == AF_INET)                                      \
			address_set_words(ret_address, 0, 0, V4_MAPPED_WORD, v4_); \
		else                                                               \
			address_set_words(ret_address, a_, b_, c_, d_);            \
	} while (0)

/* The name under which an origin waits: the agent's end of the connection. */
static __always_inline void origin_key_init(struct sluice_origin_key *key, __u64 netns,
					    const struct sluice_address *agent, __u16 port)
{
	__builtin_memset(key, 0, sizeof(*key));
	key->netns = netns;
	key->port = port;
	key->family = address_is_v4(agent->addr) ? AF_INET : AF_INET6;
	__builtin_memcpy(key->addr, agent->addr, sizeof(key->addr));
}

static __always_inline const struct sluice_config *config_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&config, &zero);
}

#endif
