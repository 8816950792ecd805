/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Capture, attached to each watched cgroup: connect is steered to the daemon's
 * listener in the socket's own network namespace, and the socket goes on to
 * answer as if it had reached its peer.
 *
 *  connect4, connect6          decide, mark, steer
 *  sockops                     publish the origin once the local port is known, and
 *                              learn whether the daemon's listener has the SYN
 *  getpeername4, getpeername6  answer with the origin
 *  getsockname4, getsockname6  answer with the upstream socket's local address
 *  bind4, bind6                keep the agent off the listener's port
 *
 * Invariants:
 *  C1. Nothing is steered before the listener is proven to be the daemon's.
 *  C2. The origin is written anew on every connect: a socket that was
 *      disconnected and connected again must not keep its first one.
 *  C3. Every program here uses the storage of the watched cgroup, so that an
 *      update of a link in place finds the storage it needs.
 *
 * Entry points carry the project's name, since `bpftool cgroup tree` shows them
 * among those of other programs.
 */
#include "policy.bpf.h"

/* Connects, each an event: 16 a millisecond, and at once a quarter of the ring. */
#define MARK_NS	   62500ull
#define MARK_BURST 4096u

enum verdict { VERDICT_REFUSE, VERDICT_ALLOW, VERDICT_STEER };

/* errno of a refused connect; EPERM without it. */
static __always_inline enum verdict refuse_with(const struct sluice_watch *watch, __u32 kind,
						const struct sluice_address *address, int error)
{
	(void)refuse(watch, kind, address);
	(void)bpf_set_retval(-error);
	return VERDICT_REFUSE;
}

/* Nobody is there: what the kernel itself would say, and no event. */
static __always_inline enum verdict absent(void)
{
	count(SLUICE_COUNT_REFUSED_NO_PEER);
	(void)bpf_set_retval(-ECONNREFUSED);
	return VERDICT_REFUSE;
}

static __always_inline bool mark_is_listener(struct bpf_sock *sk)
{
	struct sluice_socket *mark = bpf_sk_storage_get(&sockets, sk, NULL, 0);

	return mark && (mark->flags & SLUICE_SOCKET_LISTENER) && sk->state == BPF_TCP_LISTEN;
}

/* Who listens there, in the namespace of the socket; has to be released. */
static __always_inline struct bpf_sock *listener_at(struct bpf_sock_addr *ctx,
						    const struct sluice_address *address)
{
	const __u32 *words = (const __u32 *)address->addr;
	struct bpf_sock_tuple tuple = {};

	if (address_is_v4(address->addr)) {
		tuple.ipv4.daddr = words[3];
		tuple.ipv4.dport = bpf_htons(address->port);
		return bpf_sk_lookup_tcp(ctx, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
	}
	__builtin_memcpy(tuple.ipv6.daddr, words, sizeof(tuple.ipv6.daddr));
	tuple.ipv6.dport = bpf_htons(address->port);
	return bpf_sk_lookup_tcp(ctx, &tuple, sizeof(tuple.ipv6), BPF_F_CURRENT_NETNS, 0);
}

/* Is the daemon's own listener at that port? */
static __always_inline bool listener_is_ours(struct bpf_sock_addr *ctx, bool v4, __u16 port)
{
	struct sluice_address own = {.port = port};
	struct bpf_sock *sk;
	bool ours;

	address_set_words(&own, 0, 0, v4 ? V4_MAPPED_WORD : 0, v4 ? V4_LOOPBACK : V6_LOOPBACK_WORD);
	sk = listener_at(ctx, &own);
	if (!sk)
		return false;
	ours = mark_is_listener(sk);
	bpf_sk_release(sk);
	return ours;
}

/*
 * Does anybody listen there? Asked of the loopback alone, where it can be told: a client
 * that tries ::1 before 127.0.0.1, or waits for its server to start, goes by the answer.
 */
static __always_inline bool peer_listens(struct bpf_sock_addr *ctx,
					 const struct sluice_address *address)
{
	struct bpf_sock *sk = listener_at(ctx, address);

	if (!sk)
		return false;
	bpf_sk_release(sk);
	return true;
}

/* Bound to another device, the socket would look for the listener on its wire. */
static __always_inline bool device_is_free(struct bpf_sock_addr *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	return sk && (!sk->bound_dev_if || sk->bound_dev_if == LOOPBACK_IFINDEX);
}

static __always_inline bool route_exists(struct bpf_sock_addr *ctx, bool v4)
{
	struct sluice_route_key key = {
		.netns = bpf_get_netns_cookie(ctx),
		.family = v4 ? AF_INET : AF_INET6,
	};

	return bpf_map_lookup_elem(&routes, &key) != NULL;
}

/* Unique over restarts, never 0 (the daemon starts the count); 0 where it fails. */
static __always_inline __u64 stream_id_next(void)
{
	__u32 zero = 0;
	__u64 *next = bpf_map_lookup_elem(&stream_ids, &zero);

	return next ? __sync_fetch_and_add(next, 1) : 0;
}

/* Marks the socket with its origin and tells the daemon; both or neither. */
static __always_inline enum verdict mark_stream(struct bpf_sock_addr *ctx,
						const struct sluice_watch *watch,
						const struct sluice_address *address)
{
	struct sluice_origin *origin;
	struct sluice_event *event;
	__u64 stream = stream_id_next();

	if (!stream)
		return refuse_with(watch, SLUICE_COUNT_REFUSED_INTERNAL, address, EPERM);
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		count(SLUICE_COUNT_RING_FULL);
		return refuse_with(watch, SLUICE_COUNT_REFUSED_NO_EVENT, address, EPERM);
	}
	origin = bpf_sk_storage_get(&socket_origins, ctx->sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!origin) {
		bpf_ringbuf_discard(event, 0);
		return refuse_with(watch, SLUICE_COUNT_REFUSED_INTERNAL, address, EPERM);
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->time_ns = bpf_ktime_get_boot_ns();
	event->stream = stream;
	event->type = SLUICE_EVENT_MARKED;
	event->origin.stream = stream;
	event->origin.cgroup = watch->cgroup;
	event->origin.policy = watch->policy;
	event->origin.peer = *address;
	origin_set_task(&event->origin);
	*origin = event->origin;
	bpf_ringbuf_submit(event, 0);
	count(SLUICE_COUNT_CAPTURED);
	return VERDICT_STEER;
}

static __always_inline enum verdict capture_tcp(struct bpf_sock_addr *ctx,
						const struct sluice_watch *watch,
						const struct sluice_config *own,
						const struct sluice_address *address)
{
	const struct sluice_policy *policy = policy_get(watch);
	bool v4 = address_is_v4(address->addr);
	bool loopback = address_is_loopback(address->addr);

	if (loopback && address->port == own->listen_port)
		return refuse_with(watch, SLUICE_COUNT_REFUSED_LISTENER_PORT, address, EPERM);
	if (!policy || !policy_allows(policy, address))
		return refuse_with(watch, SLUICE_COUNT_REFUSED_DENIED, address, EPERM);
	if (!device_is_free(ctx))
		return refuse_with(watch, SLUICE_COUNT_FENCE_TCP, address, EPERM);
	if (!listener_is_ours(ctx, v4, (__u16)own->listen_port))
		return refuse_with(watch, SLUICE_COUNT_REFUSED_NO_LISTENER, address, ECONNREFUSED);
	if (!loopback && !route_exists(ctx, v4))
		return refuse_with(watch, SLUICE_COUNT_REFUSED_NO_ROUTE, address, ENETUNREACH);
	if (loopback && !peer_listens(ctx, address))
		return absent();
	if (!watch_paces(watch, SLUICE_COUNT_CAPTURED, MARK_NS, MARK_BURST))
		return refuse_with(watch, SLUICE_COUNT_PACED, address, EAGAIN);
	return mark_stream(ctx, watch, address);
}

static __always_inline enum verdict capture_decide(struct bpf_sock_addr *ctx,
						   const struct sluice_config *own,
						   const struct sluice_address *address)
{
	const struct sluice_watch *watch = watch_get();

	if (ctx->type == SOCK_STREAM && ctx->protocol == IPPROTO_TCP)
		return capture_tcp(ctx, watch, own, address);
	if (ctx->type != SOCK_DGRAM || ctx->protocol != IPPROTO_UDP)
		return refuse_with(watch, SLUICE_COUNT_FENCE_PROTOCOL, address, EPERM);
	if (!watch_allows_udp(watch, address))
		return refuse_with(watch, SLUICE_COUNT_FENCE_UDP, address, EPERM);
	return VERDICT_ALLOW;
}

SEC("cgroup/connect4")
int sluice_connect4(struct bpf_sock_addr *ctx)
{
	const struct sluice_config *own = config_get();
	struct sluice_address address;
	enum verdict verdict;

	if (!own)
		return REFUSE;
	address_asked_v4(ctx, &address);
	verdict = capture_decide(ctx, own, &address);
	if (verdict == VERDICT_STEER) {
		ctx->user_ip4 = V4_LOOPBACK;
		ctx->user_port = bpf_htons((__u16)own->listen_port);
	}
	return verdict == VERDICT_REFUSE ? REFUSE : ALLOW;
}

SEC("cgroup/connect6")
int sluice_connect6(struct bpf_sock_addr *ctx)
{
	const struct sluice_config *own = config_get();
	struct sluice_address address;
	enum verdict verdict;
	bool v4;

	if (!own)
		return REFUSE;
	address_asked_v6(ctx, &address);
	v4 = address_is_v4(address.addr);
	verdict = capture_decide(ctx, own, &address);
	if (verdict == VERDICT_STEER) {
		ctx->user_ip6[0] = 0;
		ctx->user_ip6[1] = 0;
		ctx->user_ip6[2] = v4 ? V4_MAPPED_WORD : 0;
		ctx->user_ip6[3] = v4 ? V4_LOOPBACK : V6_LOOPBACK_WORD;
		ctx->user_port = bpf_htons((__u16)own->listen_port);
	}
	return verdict == VERDICT_REFUSE ? REFUSE : ALLOW;
}

/* The mark of a captured socket, or NULL. */
static __always_inline struct sluice_origin *origin_of(struct bpf_sock *sk)
{
	struct sluice_origin *origin;

	if (!sk)
		return NULL;
	origin = bpf_sk_storage_get(&socket_origins, sk, NULL, 0);
	return origin && origin->stream ? origin : NULL;
}

static __always_inline void origin_key_local(struct bpf_sock_ops *ctx,
					     struct sluice_origin_key *ret_key)
{
	struct sluice_address local = {};

	SOCKET_END(ctx, local, &local);
	origin_key_init(ret_key, bpf_get_netns_cookie(ctx), &local, (__u16)ctx->local_port);
}

/*
 * A failure here cannot refuse the connect any more; the daemon then accepts a
 * connection without an origin and resets it.
 */
static __always_inline void origin_publish(struct bpf_sock_ops *ctx)
{
	struct sluice_origin *origin = origin_of(ctx->sk);
	struct sluice_origin_key key;

	if (!origin)
		return;
	origin_key_local(ctx, &key);
	if (bpf_map_update_elem(&origins, &key, origin, BPF_ANY))
		count(SLUICE_COUNT_REFUSED_INTERNAL);
	/* Without the callback an entry that no one takes would stay. */
	if (bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_STATE_CB_FLAG))
		count(SLUICE_COUNT_REFUSED_INTERNAL);
}

/* What the daemon's side has not taken yet of what was published. */
static __always_inline struct sluice_origin *origin_published(struct bpf_sock_ops *ctx,
							      const struct sluice_origin *origin,
							      struct sluice_origin_key *ret_key)
{
	struct sluice_origin *published;

	origin_key_local(ctx, ret_key);
	published = bpf_map_lookup_elem(&origins, ret_key);
	return published && published->stream == origin->stream ? published : NULL;
}

/*
 * The answer to the SYN is here. The daemon's side said beforehand whether its listener gave
 * it, and takes the origin only later, with what this socket sends next.
 */
static __always_inline void origin_confirm(struct bpf_sock_ops *ctx)
{
	struct sluice_origin *origin = origin_of(ctx->sk);
	struct sluice_origin *published;
	struct sluice_origin_key key;

	if (!origin)
		return;
	published = origin_published(ctx, origin, &key);
	if (published)
		origin->reach = published->reach;
}

/* The socket closed: if the daemon's side has not taken the origin, it never will. */
static __always_inline void origin_retract(struct bpf_sock_ops *ctx)
{
	struct sluice_origin *origin = origin_of(ctx->sk);
	struct sluice_origin_key key;

	if (origin && origin_published(ctx, origin, &key))
		(void)bpf_map_delete_elem(&origins, &key);
}

SEC("sockops")
int sluice_publish(struct bpf_sock_ops *ctx)
{
	if (!watch_get()->policy)
		return 1;
	if (ctx->op == BPF_SOCK_OPS_TCP_CONNECT_CB)
		origin_publish(ctx);
	else if (ctx->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB)
		origin_confirm(ctx);
	else if (ctx->op == BPF_SOCK_OPS_STATE_CB && ctx->args[1] == BPF_TCP_CLOSE)
		origin_retract(ctx);
	return 1;
}

SEC("cgroup/getpeername4")
int sluice_peer4(struct bpf_sock_addr *ctx)
{
	struct sluice_origin *origin = origin_of(ctx->sk);

	if (watch_get()->policy && origin && address_is_v4(origin->peer.addr)) {
		ctx->user_ip4 = ((__u32 *)origin->peer.addr)[3];
		ctx->user_port = bpf_htons(origin->peer.port);
	}
	return ALLOW;
}

static __always_inline void answer_v6(struct bpf_sock_addr *ctx,
				      const struct sluice_address *address)
{
	const __u32 *words = (const __u32 *)address->addr;

	ctx->user_ip6[0] = words[0];
	ctx->user_ip6[1] = words[1];
	ctx->user_ip6[2] = words[2];
	ctx->user_ip6[3] = words[3];
	ctx->user_port = bpf_htons(address->port);
}

SEC("cgroup/getpeername6")
int sluice_peer6(struct bpf_sock_addr *ctx)
{
	struct sluice_origin *origin = origin_of(ctx->sk);

	if (watch_get()->policy && origin)
		answer_v6(ctx, &origin->peer);
	return ALLOW;
}

/* The upstream socket's local address, once the daemon has told it. */
static __always_inline struct sluice_address *upstream_of(struct bpf_sock *sk)
{
	struct sluice_origin *origin = origin_of(sk);
	__u64 stream;

	if (!origin || !watch_get()->policy)
		return NULL;
	/* Disconnected, the socket has a local address of its own again. */
	if (sk->state == BPF_TCP_CLOSE || sk->state == BPF_TCP_LISTEN)
		return NULL;
	stream = origin->stream;
	return bpf_map_lookup_elem(&upstreams, &stream);
}

SEC("cgroup/getsockname4")
int sluice_name4(struct bpf_sock_addr *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct sluice_address *local;

	if (!sk)
		return ALLOW;
	local = upstream_of(sk);
	if (local && address_is_v4(local->addr)) {
		ctx->user_ip4 = ((__u32 *)local->addr)[3];
		ctx->user_port = bpf_htons(local->port);
	}
	return ALLOW;
}

SEC("cgroup/getsockname6")
int sluice_name6(struct bpf_sock_addr *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct sluice_address *local;

	if (!sk)
		return ALLOW;
	local = upstream_of(sk);
	if (local)
		answer_v6(ctx, local);
	return ALLOW;
}

static __always_inline int bind_decide(struct bpf_sock_addr *ctx,
				       const struct sluice_address *address)
{
	const struct sluice_watch *watch = watch_get();
	const struct sluice_config *own = config_get();

	if (own && watch->policy && address->port != own->listen_port)
		return ALLOW;
	return refuse(watch, SLUICE_COUNT_REFUSED_BIND, address);
}

SEC("cgroup/bind4")
int sluice_bind4(struct bpf_sock_addr *ctx)
{
	struct sluice_address address;

	address_asked_v4(ctx, &address);
	return bind_decide(ctx, &address);
}

SEC("cgroup/bind6")
int sluice_bind6(struct bpf_sock_addr *ctx)
{
	struct sluice_address address;

	address_asked_v6(ctx, &address);
	return bind_decide(ctx, &address);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
