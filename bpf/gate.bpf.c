/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Gate, attached to the daemon's own cgroup: no payload byte of a data socket
 * leaves beyond the release offset of its slot. A packet that may not pass is
 * dropped here, which leaves its bytes in TCP's write queue, in order.
 *
 *  sock_create  marks what was made inside the cgroup, and so is gated
 *  sockops      learns the base (ACTIVE, PASSIVE), takes the origin, tells the end
 *  egress       the gate itself
 *
 * Invariants:
 *  G1. Payload passes by one of three ways alone: the mark is EXEMPT; OPEN and
 *      the generation matches; or the generation matches and the 64-bit end of
 *      the payload is at or before the offset. Everything else is dropped and
 *      counted.
 *  G2. Positions are 64 bits: the 32-bit sequence number is read as the nearest
 *      to the highest position that passed. TCP's window is at most 2^30, so
 *      the nearest is the right one. (A 32-bit difference would turn negative
 *      2 GiB after a slot was set back, and release what is held.)
 *  G3. A slot word is read once; generation and offset come from that one load.
 */
#include "packet.bpf.h"

static __always_inline int drop(__u32 kind)
{
	count(kind);
	return REFUSE;
}

static __always_inline void tell(__u32 type, const struct sluice_socket *mark, __u64 value)
{
	struct sluice_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		count(SLUICE_COUNT_RING_FULL);
		return;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->time_ns = bpf_ktime_get_boot_ns();
	event->type = type;
	event->stream = mark->stream;
	event->slot = mark->slot;
	event->value = value;
	bpf_ringbuf_submit(event, 0);
}

static __always_inline int pass(const struct sluice_socket *mark, struct sluice_gate *gate,
				__s64 end)
{
	count(SLUICE_COUNT_PASSED_PACKETS);
	/* A retransmission of what was released passes too: that ends no hold. */
	if (end <= (__s64)gate->position)
		return ALLOW;
	gate->position = end;
	if (gate->holding) {
		gate->holding = 0;
		tell(SLUICE_EVENT_RELEASED, mark, end);
	}
	return ALLOW;
}

static __always_inline int hold(const struct sluice_socket *mark, struct sluice_gate *gate,
				__s64 end, __u32 bytes)
{
	gate->held++;
	count_by(SLUICE_COUNT_HELD_BYTES, bytes);
	if (!gate->holding) {
		gate->holding = 1;
		tell(SLUICE_EVENT_HELD, mark, end);
	}
	return drop(SLUICE_COUNT_HELD_PACKETS);
}

static __always_inline int gate_payload(struct bpf_sock *sk, const struct sluice_socket *mark,
					const struct packet *packet)
{
	struct sluice_gate *gate = bpf_sk_storage_get(&gates, sk, NULL, 0);
	__u32 slot = mark->slot;
	__u64 *shared, word;
	__s64 end;

	if (!gate || !gate->valid || packet->syn)
		return drop(SLUICE_COUNT_DROPPED_NO_BASE);
	if (!(mark->flags & SLUICE_SOCKET_DATA) || slot == 0 || slot >= SLUICE_SLOTS)
		return drop(SLUICE_COUNT_DROPPED_SLOT);
	shared = bpf_map_lookup_elem(&slots, &slot);
	if (!shared)
		return drop(SLUICE_COUNT_DROPPED_SLOT);
	word = *(volatile __u64 *)shared;
	if (sluice_slot_generation(word) != mark->generation)
		return drop(SLUICE_COUNT_DROPPED_GENERATION);
	end = gate->position +
	      (__s32)(packet->seq + packet->payload - gate->base - (__u32)gate->position);
	/* Payload from before the base, or that began there, is none that was ever sent. */
	if (end < (__s64)packet->payload)
		return drop(SLUICE_COUNT_DROPPED_UNPARSED);
	if ((mark->flags & SLUICE_SOCKET_OPEN) || (__u64)end <= sluice_slot_offset(word))
		return pass(mark, gate, end);
	return hold(mark, gate, end, packet->payload);
}

SEC("cgroup_skb/egress")
int sluice_gate(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	struct sluice_socket *mark;
	struct packet packet;
	bool parsed;

	if (!sk)
		return drop(SLUICE_COUNT_DROPPED_UNPARSED);
	sk = bpf_sk_fullsock(sk);
	if (!sk)
		return drop(SLUICE_COUNT_DROPPED_UNPARSED);
	mark = bpf_sk_storage_get(&sockets, sk, NULL, 0);
	if (mark && mark->flags == SLUICE_SOCKET_EXEMPT)
		return ALLOW;
	parsed = packet_parse(skb, &packet) && packet.protocol == IPPROTO_TCP;
	if (!parsed && mark)
		return drop(SLUICE_COUNT_DROPPED_UNPARSED);
	if (!parsed)
		return drop(SLUICE_COUNT_DROPPED_UNMARKED);
	if (!packet.payload)
		return ALLOW;
	if (!mark)
		return drop(SLUICE_COUNT_DROPPED_UNMARKED);
	return gate_payload(sk, mark, &packet);
}

/* Which there are; what is accepted has those of its listener until then. */
static __always_inline void set_callbacks(struct bpf_sock_ops *ctx, int flags)
{
	if (bpf_sock_ops_cb_flags_set(ctx, flags))
		count(SLUICE_COUNT_REFUSED_INTERNAL);
}

/* The base is known from here on: nothing of the payload has been sent yet. */
static __always_inline bool gate_begin(struct bpf_sock_ops *ctx, struct bpf_sock *sk)
{
	struct sluice_gate *gate =
		bpf_sk_storage_get(&gates, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);

	if (!gate) {
		count(SLUICE_COUNT_REFUSED_INTERNAL);
		return false;
	}
	gate->position = 0;
	gate->base = ctx->snd_nxt;
	gate->valid = 1;
	set_callbacks(ctx, BPF_SOCK_OPS_STATE_CB_FLAG);
	return true;
}

static __always_inline void origin_key_remote(struct bpf_sock_ops *ctx,
					      struct sluice_origin_key *ret_key)
{
	struct sluice_address remote = {};

	SOCKET_END(ctx, remote, &remote);
	origin_key_init(ret_key, bpf_get_netns_cookie(ctx), &remote,
			(__u16)bpf_ntohl(ctx->remote_port));
}

/* A SYN is at a listener of the daemon's cgroup, and is answered next. */
static __always_inline void origin_reach(struct bpf_sock_ops *ctx)
{
	const struct sluice_config *own = config_get();
	struct sluice_origin *published;
	struct sluice_origin_key key;

	if (!own || ctx->local_port != own->listen_port)
		return;
	origin_key_remote(ctx, &key);
	published = bpf_map_lookup_elem(&origins, &key);
	if (published)
		published->reach = SLUICE_REACH_DAEMON;
}

/*
 * Moves the origin into the accepted socket, now: at accept() the agent may
 * long have reset the connection and used its port again for another.
 */
static __always_inline void origin_take(struct bpf_sock_ops *ctx, struct bpf_sock *sk)
{
	struct sluice_origin *origin, *published;
	struct sluice_origin_key key;
	struct sluice_event *event;

	origin_key_remote(ctx, &key);
	published = bpf_map_lookup_elem(&origins, &key);
	if (!published) {
		count(SLUICE_COUNT_ORIGIN_LOST);
		return;
	}
	origin = bpf_sk_storage_get(&socket_origins, sk, published, BPF_SK_STORAGE_GET_F_CREATE);
	(void)bpf_map_delete_elem(&origins, &key);
	if (!origin) {
		count(SLUICE_COUNT_ORIGIN_LOST);
		return;
	}
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		count(SLUICE_COUNT_RING_FULL);
		return;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->time_ns = bpf_ktime_get_boot_ns();
	event->type = SLUICE_EVENT_ESTABLISHED;
	event->stream = origin->stream;
	event->origin = *origin;
	bpf_ringbuf_submit(event, 0);
}

static __always_inline void gate_end(struct bpf_sock *sk)
{
	struct sluice_socket *mark = bpf_sk_storage_get(&sockets, sk, NULL, 0);
	struct sluice_gate *gate;

	if (!mark || !(mark->flags & SLUICE_SOCKET_DATA))
		return;
	gate = bpf_sk_storage_get(&gates, sk, NULL, 0);
	tell(SLUICE_EVENT_CLOSED, mark, gate ? gate->position : 0);
}

SEC("sockops")
int sluice_begin(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct sluice_socket *mark;

	/* Of a connection that is no socket yet; the latter also where it gets a SYN cookie. */
	if (ctx->op == BPF_SOCK_OPS_TIMEOUT_INIT || ctx->op == BPF_SOCK_OPS_HDR_OPT_LEN_CB)
		origin_reach(ctx);
	if (!sk)
		return 1;
	switch (ctx->op) {
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
		set_callbacks(ctx, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
		break;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
		(void)gate_begin(ctx, sk);
		break;
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		if (!gate_begin(ctx, sk))
			break;
		mark = bpf_sk_storage_get(&sockets, sk, NULL, 0);
		if (mark && (mark->flags & SLUICE_SOCKET_LISTENER))
			origin_take(ctx, sk);
		break;
	case BPF_SOCK_OPS_STATE_CB:
		if (ctx->args[1] == BPF_TCP_CLOSE)
			gate_end(sk);
		break;
	}
	return 1;
}

/*
 * A socket made elsewhere is not gated, whatever the daemon does with it later:
 * the storage made here is the proof that the user side asks for before it
 * marks a socket.
 */
SEC("cgroup/sock_create")
int sluice_born(struct bpf_sock *ctx)
{
	if (bpf_sk_storage_get(&gates, ctx, NULL, BPF_SK_STORAGE_GET_F_CREATE))
		return ALLOW;
	return drop(SLUICE_COUNT_REFUSED_INTERNAL);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
