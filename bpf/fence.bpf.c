/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fence, attached to each watched cgroup: refuses every way out but a captured
 * stream and UDP to the policy's resolvers.
 *
 *  sock_create                 raw, ping, SCTP, MPTCP, UDP-Lite
 *  sendmsg4, sendmsg6          unconnected UDP, with an error the sender sees
 *  egress, ingress             everything that has a socket, by packet
 *  connect_unix, sendmsg_unix  Unix addresses (kernels from 6.7)
 *
 * Not seen by any hook here: vsock, packet, XDP and netlink sockets, and
 * sockets whose cgroup is another one.
 *
 * Invariants:
 *  F1. TCP passes only from a socket that capture has marked, to the daemon's
 *      listener. That covers handshake, data, FIN and RST alike: what the
 *      kernel sends without a full socket (TIME_WAIT, resets in answer to
 *      nothing) carries no payload and belongs to no cgroup. The listener is
 *      behind the loopback device alone: a socket that its process bound to
 *      another one would put what it says, data of its SYN included, on that
 *      wire under the listener's address.
 *  F2. Watched cgroups share the listener's queue, and the daemon's attention:
 *      none of them asks for connections faster than at its pace. A SYN past it
 *      is dropped, as a full queue would drop it: TCP sends it again.
 *  F3. Payload of TCP passes, either way, only once the daemon's own listener has
 *      the connection: a rule of netfilter (TPROXY) can give every packet of it to
 *      another's, which answers under the same address.
 *  F4. Every program here uses the storage of the watched cgroup, so that an
 *      update of a link in place finds the storage it needs.
 */
#include "packet.bpf.h"
#include "policy.bpf.h"

#define UNIX_PATH_OFFSET 2u /* of sun_path in struct sockaddr_un */

/* SYNs: two a millisecond, and at once half of the listener's queue. */
#define SYN_NS	  500000ull
#define SYN_BURST 2048u

/*
 * The origin of a socket that was steered to the daemon's listener, where that is the far
 * end of the packet; NULL.
 */
static __always_inline struct sluice_origin *steered_origin(struct bpf_sock *sk,
							    const struct sluice_address *far)
{
	const struct sluice_config *own = config_get();
	struct sluice_origin *origin = bpf_sk_storage_get(&socket_origins, sk, NULL, 0);
	const __u32 *words = (const __u32 *)far->addr;

	if (!own || !origin || !origin->stream || far->port != own->listen_port)
		return NULL;
	if (address_is_v4(far->addr) ? words[3] != V4_LOOPBACK : !address_is_loopback(far->addr))
		return NULL;
	return origin;
}

/* The process is not to be had here: the event has the address alone. */
static __always_inline int refuse_packet(const struct sluice_watch *watch, __u32 kind,
					 const struct sluice_address *far)
{
	struct sluice_event *event = refusal_begin(watch, kind);

	if (event) {
		event->origin.peer = *far;
		bpf_ringbuf_submit(event, 0);
	}
	return REFUSE;
}

static __always_inline int tcp_decide(struct bpf_sock *sk, const struct sluice_watch *watch,
				      const struct packet *packet, const struct sluice_address *far)
{
	struct sluice_origin *origin = NULL;

	if (sk)
		sk = bpf_sk_fullsock(sk);
	if (sk && watch->policy)
		origin = steered_origin(sk, far);
	if (!origin)
		return refuse_packet(watch, SLUICE_COUNT_FENCE_TCP, far);
	if (packet->payload && origin->reach != SLUICE_REACH_DAEMON)
		return refuse_packet(watch, SLUICE_COUNT_FENCE_DIVERTED, far);
	return ALLOW;
}

/* far: the end of the packet that is not the socket's; all zero where it does not parse. */
static __always_inline int packet_decide(struct __sk_buff *skb, bool parsed,
					 const struct packet *packet,
					 const struct sluice_address *far)
{
	const struct sluice_watch *watch = watch_get();

	if (!parsed)
		return refuse_packet(watch, SLUICE_COUNT_FENCE_PROTOCOL, far);
	if (address_is_loopback(far->addr) && skb->ifindex != LOOPBACK_IFINDEX)
		return refuse_packet(watch,
				     packet->protocol == IPPROTO_UDP ? SLUICE_COUNT_FENCE_UDP
								     : SLUICE_COUNT_FENCE_TCP,
				     far);
	if (packet->protocol == IPPROTO_UDP) {
		if (watch_allows_udp(watch, far))
			return ALLOW;
		return refuse_packet(watch, SLUICE_COUNT_FENCE_UDP, far);
	}
	return tcp_decide(skb->sk, watch, packet, far);
}

SEC("cgroup_skb/egress")
int sluice_fence(struct __sk_buff *skb)
{
	struct packet packet;
	bool parsed = packet_parse(skb, &packet);
	int verdict = packet_decide(skb, parsed, &packet, &packet.destination);

	if (verdict == REFUSE || !packet.syn ||
	    watch_paces(watch_get(), SLUICE_COUNT_PACED, SYN_NS, SYN_BURST))
		return verdict;
	count(SLUICE_COUNT_PACED);
	return REFUSE;
}

/*
 * What arrives is fenced as well. A SYN cookie is sent without a socket, so
 * that egress never sees the answer of an agent that listens: the peer would be
 * connected, and what it sends would reach the agent. So would any datagram.
 */
SEC("cgroup_skb/ingress")
int sluice_arrive(struct __sk_buff *skb)
{
	struct packet packet;
	bool parsed = packet_parse(skb, &packet);

	return packet_decide(skb, parsed, &packet, &packet.source);
}

SEC("cgroup/sock_create")
int sluice_socket(struct bpf_sock *ctx)
{
	const struct sluice_watch *watch = watch_get();

	if (watch->policy) {
		if (ctx->type == SOCK_STREAM && ctx->protocol == IPPROTO_TCP)
			return ALLOW;
		if (ctx->type == SOCK_DGRAM && ctx->protocol == IPPROTO_UDP)
			return ALLOW;
	}
	return refuse(watch, SLUICE_COUNT_FENCE_SOCKET, NULL);
}

static __always_inline int send_decide(struct bpf_sock_addr *ctx,
				       const struct sluice_address *address)
{
	const struct sluice_watch *watch = watch_get();

	if (ctx->protocol == IPPROTO_UDP && watch_allows_udp(watch, address))
		return ALLOW;
	return refuse(watch, SLUICE_COUNT_FENCE_UDP, address);
}

SEC("cgroup/sendmsg4")
int sluice_send4(struct bpf_sock_addr *ctx)
{
	struct sluice_address address;

	address_asked_v4(ctx, &address);
	return send_decide(ctx, &address);
}

SEC("cgroup/sendmsg6")
int sluice_send6(struct bpf_sock_addr *ctx)
{
	struct sluice_address address;

	address_asked_v6(ctx, &address);
	return send_decide(ctx, &address);
}

/*
 * A path ends at its first NUL or after len bytes, whichever comes first. One
 * that fills the buffer may have been cut, and cut it might be a listed one.
 */
static __always_inline bool unix_key_path(const char *path, __u32 len, struct sluice_unix_key *key)
{
	__u32 room = len < sizeof(key->path) ? len + 1 : sizeof(key->path);
	long size = bpf_probe_read_kernel_str(key->path, room, path);

	if (size <= 1 || size >= (long)sizeof(key->path))
		return false;
	key->len = (__u32)size - 1;
	return true;
}

/* The key under which a policy lists the address: a path without NUL, an abstract name whole. */
static __always_inline bool unix_key_of(struct bpf_sock_addr *ctx, struct sluice_unix_key *key)
{
	struct bpf_sock_addr_kern *kern = bpf_cast_to_kern_ctx(ctx);
	__u32 len = BPF_CORE_READ(kern, uaddrlen);
	const char *address = BPF_CORE_READ(kern, uaddr);

	if (len <= UNIX_PATH_OFFSET || len > UNIX_PATH_OFFSET + SLUICE_UNIX_PATH_MAX)
		return false;
	len -= UNIX_PATH_OFFSET;
	if (bpf_probe_read_kernel(&key->path[0], 1, address + UNIX_PATH_OFFSET))
		return false;
	if (key->path[0])
		return unix_key_path(address + UNIX_PATH_OFFSET, len, key);
	if (len > sizeof(key->path))
		return false;
	key->len = len;
	return bpf_probe_read_kernel(key->path, len, address + UNIX_PATH_OFFSET) == 0;
}

static __always_inline int unix_decide(struct bpf_sock_addr *ctx)
{
	const struct sluice_watch *watch = watch_get();
	struct sluice_unix_key key = {.policy = watch->policy};

	if (watch->policy && unix_key_of(ctx, &key) && bpf_map_lookup_elem(&unix_addresses, &key))
		return ALLOW;
	return refuse(watch, SLUICE_COUNT_FENCE_UNIX, NULL);
}

/*
 * libbpf before 1.3 has no section for these two: the user side sets their real
 * attach types, and does not load them where the kernel has none.
 */
SEC("cgroup/connect4")
int sluice_connect_unix(struct bpf_sock_addr *ctx)
{
	return unix_decide(ctx);
}

SEC("cgroup/connect4")
int sluice_send_unix(struct bpf_sock_addr *ctx)
{
	return unix_decide(ctx);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
