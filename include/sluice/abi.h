/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause OR Apache-2.0 */
/*
 * What the kernel side (bpf/) and the user side (user/kern/) share: map values,
 * events and counters. Fixed-width types only; every struct has no padding the
 * compiler chose, and its size is asserted here and compared with the BTF of
 * the built object by tests/unit/test_abi.c.
 *
 * Invariants:
 *  A1. A slot word is written by one aligned 64-bit store and read by one load.
 *  A2. Addresses are 16 bytes in network order, IPv4 as v4-mapped IPv6; ports
 *      are in host order.
 *  A3. Any change of a size, a meaning or an enumerator's value raises
 *      SLUICE_ABI_VERSION: a daemon adopts only pins of its own version. The
 *      first 16 bytes of struct sluice_config keep their meaning in every
 *      version, so that any daemon can tell who owns pins that it cannot use.
 *  A4. All of zero is closed: watch, policy, slot and mark of value zero refuse
 *      or hold.
 */
#ifndef SLUICE_ABI_H
#define SLUICE_ABI_H

#include <linux/types.h>

#define SLUICE_ABI_VERSION 5u

/* Slots of the release array, one per flow; slot 0 is never released. */
#define SLUICE_SLOTS 131072u
/* Watched cgroups, and policies, that one daemon carries at once. */
#define SLUICE_WATCHES	1024u
#define SLUICE_POLICIES 256u
/* Destination rules, resolvers and Unix addresses of one policy. */
#define SLUICE_RULES_PER_POLICY	    128u
#define SLUICE_RESOLVERS_PER_POLICY 16u
#define SLUICE_UNIX_PATH_MAX	    108u
#define SLUICE_COMM_LEN		    16u

/*
 * A slot word: generation in the upper 16 bits, release offset (bytes of the
 * flow that may have left) in the lower 48. 48 bits are 256 TiB of one flow.
 */
#define SLUICE_OFFSET_BITS 48
#define SLUICE_OFFSET_MAX  ((1ull << SLUICE_OFFSET_BITS) - 1)

static inline __u64 sluice_slot_word(__u16 generation, __u64 offset)
{
	return ((__u64)generation << SLUICE_OFFSET_BITS) | (offset & SLUICE_OFFSET_MAX);
}

static inline __u16 sluice_slot_generation(__u64 word)
{
	return (__u16)(word >> SLUICE_OFFSET_BITS);
}

static inline __u64 sluice_slot_offset(__u64 word)
{
	return word & SLUICE_OFFSET_MAX;
}

struct sluice_address {
	__u8 addr[16];
	__u16 port;
	__u16 family; /* the family the socket spoke: AF_INET or AF_INET6 */
	__u32 reserved;
};
_Static_assert(sizeof(struct sluice_address) == 24, "sluice_address");

/* Socket storage the daemon writes: what kind of socket of the daemon this is. */
enum sluice_socket_flag {
	SLUICE_SOCKET_LISTENER = 1 << 0, /* inherited by accepted sockets: slot 0, holds */
	SLUICE_SOCKET_DATA = 1 << 1,	 /* bounded by its slot */
	SLUICE_SOCKET_OPEN =
		1 << 2, /* relayed only: the generation must match, the offset is not asked */
	SLUICE_SOCKET_EXEMPT = 1 << 3, /* metrics, interceptors: not gated */
};

struct sluice_socket {
	__u32 slot;
	__u16 generation;
	__u16 flags;
	__u64 stream;
};
_Static_assert(sizeof(struct sluice_socket) == 16, "sluice_socket");

/* Socket storage that only the gate writes. */
struct sluice_gate {
	__u64 position; /* highest payload end that passed, bytes from the base */
	__u64 held;	/* packets dropped since the flow began */
	__u32 base;	/* sequence number of the first payload byte */
	__u8 valid;	/* base is known */
	__u8 holding;	/* the last payload packet was dropped */
	__u16 reserved;
};
_Static_assert(sizeof(struct sluice_gate) == 24, "sluice_gate");

/* How far the connection of a captured socket has come. */
enum sluice_reach {
	SLUICE_REACH_NONE,
	SLUICE_REACH_DAEMON, /* its SYN came to the daemon's listener */
};

/* Where a captured socket really wanted to go; storage, map value and event. */
struct sluice_origin {
	__u64 stream;
	__u64 cgroup; /* id of the watched cgroup */
	__u32 policy;
	__u32 pid; /* thread group */
	__u32 uid;
	__u32 reach; /* enum sluice_reach */
	struct sluice_address peer;
	char comm[SLUICE_COMM_LEN];
};
_Static_assert(sizeof(struct sluice_origin) == 72, "sluice_origin");

/* Key of an origin on its way from the agent's socket to the accepted one. */
struct sluice_origin_key {
	__u64 netns; /* cookie */
	__u8 addr[16];
	__u16 port;
	__u16 family;
	__u32 reserved;
};
_Static_assert(sizeof(struct sluice_origin_key) == 32, "sluice_origin_key");

/* Per namespace and family: is there any route but loopback? Absent means no. */
struct sluice_route_key {
	__u64 netns;
	__u32 family;
	__u32 reserved;
};
_Static_assert(sizeof(struct sluice_route_key) == 16, "sluice_route_key");

enum sluice_dns { SLUICE_DNS_DENY, SLUICE_DNS_RESOLVERS, SLUICE_DNS_ANY };

/* One watched cgroup (value of the programs' cgroup-local storage). */
struct sluice_watch {
	__u64 cgroup;
	__u32 policy;
	__u32 dns; /* enum sluice_dns */
};
_Static_assert(sizeof(struct sluice_watch) == 16, "sluice_watch");

/* A destination rule as the kernel needs it: first match wins. */
enum sluice_rule_action { SLUICE_RULE_NONE, SLUICE_RULE_DENY, SLUICE_RULE_ALLOW };

struct sluice_rule {
	__u8 addr[16];
	__u8 prefix_len; /* of 128; a v4 prefix of N is 96 + N; 0 matches every address */
	__u8 action;	 /* enum sluice_rule_action; NONE ends the list */
	__u16 port;	 /* 0: any */
	__u32 reserved;
};
_Static_assert(sizeof(struct sluice_rule) == 24, "sluice_rule");

/* The first address of all zero bytes ends the resolvers; their port 0 means 53. */
struct sluice_policy {
	struct sluice_rule rules[SLUICE_RULES_PER_POLICY];
	struct sluice_address resolvers[SLUICE_RESOLVERS_PER_POLICY];
};
_Static_assert(sizeof(struct sluice_policy) == 3456, "sluice_policy");

/* An address of the Unix family that a policy lists; unused bytes are zero. */
struct sluice_unix_key {
	__u32 policy;
	__u32 len; /* of path; an abstract name begins with a zero byte */
	char path[SLUICE_UNIX_PATH_MAX];
};
_Static_assert(sizeof(struct sluice_unix_key) == 116, "sluice_unix_key");

/* One per daemon, in a one-element array. */
struct sluice_config {
	__u32 abi;
	__u32 owner_pid;   /* 0: closed */
	__u64 owner_start; /* start time of the owner, clock ticks (proc_pid_stat(5) field 22) */
	__u64 daemon_cgroup;
	__u32 listen_port;
	__u32 reserved;
};
_Static_assert(sizeof(struct sluice_config) == 32, "sluice_config");

/* What is open, for a successor to settle: written by the daemon alone. */
struct sluice_open_stream {
	struct sluice_origin origin;
	__u64 opened_ns; /* CLOCK_BOOTTIME */
	__u32 slot[2];	 /* request track, response track */
	__u16 generation[2];
	__u32 reserved;
};
_Static_assert(sizeof(struct sluice_open_stream) == 96, "sluice_open_stream");

/*
 * What a flow has counted, for a successor: by its slot, in an array of their own
 * that the daemon alone writes, one aligned store a word. A kill leaves the stores
 * before it, so that their order is part of the meaning:
 *  L1. `received` moves before the bytes are judged, then the runes, then `released`,
 *      and then the release offset in the slot.
 *  L2. Sessions end in the order in which they began: those open are [ended, begun).
 *  L3. The request's runes are of the last session that began and of those just
 *      before it; the response's of the oldest open one, and no later one has any.
 *  L4. The runes of a session are zeroed before the count that makes them current.
 */
#define SLUICE_LEDGER_RUNES 4u /* as fill the cache line */
/* Sessions of one stream that are open at once. */
#define SLUICE_SESSIONS_MAX 64u

struct sluice_ledger {
	__u64 received, released; /* bytes of the flow; a refusal in their place is none of them */
	__u64 sessions; /* of the stream; request track: that began; response track: that ended */
	__u64 runes[SLUICE_LEDGER_RUNES]; /* by the session's number; sluice_runes_word() */
	__u16 generation;		  /* of the slot, while the flow runs */
	__u16 reserved[3];
};
_Static_assert(sizeof(struct sluice_ledger) == 64, "sluice_ledger");

/* Runes of a track, of which at most 2^31-1 are received, and of those confirmed. */
static inline __u64 sluice_runes_word(__u32 received, __u32 confirmed)
{
	return ((__u64)received << 32) | confirmed;
}

static inline __u32 sluice_runes_received(__u64 word)
{
	return (__u32)(word >> 32);
}

static inline __u32 sluice_runes_confirmed(__u64 word)
{
	return (__u32)word;
}

struct sluice_refusal_key {
	__u64 cgroup; /* watched */
	__u32 kind;   /* enum sluice_counter */
	__u32 reserved;
};
_Static_assert(sizeof(struct sluice_refusal_key) == 16, "sluice_refusal_key");

/* Refusals of a kind in a watched cgroup: one event a second tells of them all. */
struct sluice_refusals {
	__u64 count;
	__u64 told_second; /* of the last event, CLOCK_BOOTTIME, counted from 1 */
};
_Static_assert(sizeof(struct sluice_refusals) == 16, "sluice_refusals");

enum sluice_event_type {
	SLUICE_EVENT_MARKED = 1,      /* a watched socket was captured; origin is filled */
	SLUICE_EVENT_ESTABLISHED = 2, /* the daemon's side of it is established */
	SLUICE_EVENT_HELD = 3,	      /* the gate began to drop payload of this flow */
	SLUICE_EVENT_RELEASED = 4,    /* payload passed again after a hold */
	SLUICE_EVENT_CLOSED = 5,      /* a data socket of the daemon is closed for good */
	SLUICE_EVENT_REFUSED = 6,     /* on the fence ring: once per cgroup, kind and second */
};

struct sluice_event {
	__u64 time_ns; /* CLOCK_BOOTTIME */
	__u64 stream;
	__u32 type; /* enum sluice_event_type */
	__u32 slot; /* HELD, RELEASED, CLOSED */
	__u64 value; /* HELD, RELEASED: payload end; CLOSED: position; REFUSED: enum sluice_counter */
	struct sluice_origin origin;
};
_Static_assert(sizeof(struct sluice_event) == 104, "sluice_event");

/* A descriptor of a socket, as the census tells it; no map has it. */
struct sluice_census {
	__u64 inode;
	__u64 cgroup; /* id of the cgroup in which the socket was made, whose hooks see it */
	__u32 pid;    /* thread group, as the initial namespace numbers it */
	__u32 fd;
	__u16 family;
	__u16 type;
	__u16 protocol;
	__u8 state;  /* as of TCP, of every family: 7 is neither connected nor listening */
	__u8 inside; /* made in the cgroup that was asked about, or below it */
};
_Static_assert(sizeof(struct sluice_census) == 32, "sluice_census");

/* Every drop and refusal has a name. Values are never reused. */
enum sluice_counter {
	SLUICE_COUNT_CAPTURED = 0,
	SLUICE_COUNT_REFUSED_NO_LISTENER = 1, /* no daemon, or a squatter on its port */
	SLUICE_COUNT_REFUSED_DENIED = 2,      /* by a destination rule */
	SLUICE_COUNT_REFUSED_NO_ROUTE = 3,
	SLUICE_COUNT_REFUSED_LISTENER_PORT = 4, /* the agent asked for the daemon's own listener */
	SLUICE_COUNT_REFUSED_NO_EVENT = 5,	/* the ring was full */
	SLUICE_COUNT_REFUSED_INTERNAL = 6,	/* a map or storage operation failed */
	SLUICE_COUNT_REFUSED_BIND = 7,
	SLUICE_COUNT_ORIGIN_LOST = 8, /* an accepted socket without a published origin */
	SLUICE_COUNT_PASSED_PACKETS = 9,
	SLUICE_COUNT_HELD_PACKETS = 10,
	SLUICE_COUNT_HELD_BYTES = 11,
	SLUICE_COUNT_DROPPED_UNMARKED = 12, /* payload of a daemon socket without a mark */
	SLUICE_COUNT_DROPPED_UNPARSED = 13, /* not plain TCP */
	SLUICE_COUNT_DROPPED_NO_BASE = 14,  /* payload before the base is known, or on a SYN */
	SLUICE_COUNT_DROPPED_GENERATION = 15,
	SLUICE_COUNT_DROPPED_SLOT = 16, /* slot 0 or past the array */
	SLUICE_COUNT_RING_FULL = 17,
	SLUICE_COUNT_FENCE_RING_FULL = 18,
	SLUICE_COUNT_FENCE_TCP = 19, /* TCP that was neither steered nor accepted from the daemon */
	SLUICE_COUNT_FENCE_UDP = 20, /* other than to the policy's resolvers */
	SLUICE_COUNT_FENCE_SOCKET = 21,	  /* raw, ping, SCTP, MPTCP, UDP-Lite, DCCP at creation */
	SLUICE_COUNT_FENCE_PROTOCOL = 22, /* the same at egress */
	SLUICE_COUNT_FENCE_UNIX = 23,
	SLUICE_COUNT_PACED = 24,	   /* a connect, or its SYN, past its cgroup's share */
	SLUICE_COUNT_REFUSED_NO_PEER = 25, /* nobody listens at that address of the loopback */
	SLUICE_COUNT_FENCE_DIVERTED = 26,  /* payload that the daemon's listener would not get */
	_SLUICE_COUNTER_MAX = 27,
};

#endif
