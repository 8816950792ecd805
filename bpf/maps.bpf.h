/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every map, declared; maps.bpf.c defines them. All are pinned by the user side
 * below the daemon's own directory, under the names they have here.
 *
 * Invariants:
 *  M1. `gates` is written by the programs alone, `sockets`, `slots`, `ledgers`
 *      and `config` by the daemon alone: an update from user space replaces a
 *      whole value, so that no value may have two writers.
 *  M2. Only `sockets` is cloned from a listener to what it accepts.
 */
#ifndef SLUICE_MAPS_BPF_H
#define SLUICE_MAPS_BPF_H

#include "kernel.bpf.h"
#include "sluice/abi.h"

/* Origins between TCP_CONNECT_CB and PASSIVE_ESTABLISHED_CB: handshakes in flight. */
#define ORIGINS_MAX  65536
#define STREAMS_MAX  (SLUICE_SLOTS / 2)
#define REFUSALS_MAX 16384
#define ROUTES_MAX   4096
#define UNIX_MAX     16384
/* About 18,000 and 2,300 events. */
#define RING_BYTES	 (1 << 21)
#define FENCE_RING_BYTES (1 << 18)

struct map_config {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sluice_config);
};

/* The next stream id; moves on over restarts. */
struct map_stream_ids {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
};

struct map_slots {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SLUICE_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
};

/* Beside each slot, what its flow has counted, for a successor; no program reads it. */
struct map_ledgers {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SLUICE_SLOTS);
	__type(key, __u32);
	__type(value, struct sluice_ledger);
};

/* Marks of the daemon's sockets. */
struct map_sockets {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct sluice_socket);
};

/* What the gate knows; on every socket that was made inside the daemon's cgroup. */
struct map_gates {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sluice_gate);
};

/* The origin of a captured socket, and of the one accepted for it. */
struct map_socket_origins {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sluice_origin);
};

struct map_origins {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ORIGINS_MAX);
	__type(key, struct sluice_origin_key);
	__type(value, struct sluice_origin);
};

struct map_upstreams {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, STREAMS_MAX);
	__type(key, __u64);
	__type(value, struct sluice_address);
};

/* The daemon's record of what is open, for a successor; no program reads it. */
struct map_streams {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, STREAMS_MAX);
	__type(key, __u64);
	__type(value, struct sluice_open_stream);
};

struct map_routes {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ROUTES_MAX);
	__type(key, struct sluice_route_key);
	__type(value, __u32);
};

/*
 * The watched cgroup that a program runs for, whichever descendant the process
 * is in: keyed by the cgroup that the program is attached to, shared by all its
 * programs, zero (closed) from the moment of attachment.
 */
struct map_watches {
	__uint(type, BPF_MAP_TYPE_CGROUP_STORAGE);
	__type(key, __u64);
	__type(value, struct sluice_watch);
};

struct map_policies {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLUICE_POLICIES);
	__type(key, __u32);
	__type(value, struct sluice_policy);
};

struct map_unix_addresses {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, UNIX_MAX);
	__type(key, struct sluice_unix_key);
	__type(value, __u32);
};

struct map_counters {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, _SLUICE_COUNTER_MAX);
	__type(key, __u32);
	__type(value, __u64);
};

struct map_refusals {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, REFUSALS_MAX);
	__type(key, struct sluice_refusal_key);
	__type(value, struct sluice_refusals);
};

/* Until when a watched cgroup has used up its share, CLOCK_BOOTTIME. */
struct map_paces {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, REFUSALS_MAX);
	__type(key, struct sluice_refusal_key);
	__type(value, __u64);
};

struct map_events {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
};

/* Apart, so that an agent's flood of refusals cannot starve stream events. */
struct map_fence_events {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, FENCE_RING_BYTES);
};

extern struct map_config config SEC(".maps");
extern struct map_stream_ids stream_ids SEC(".maps");
extern struct map_slots slots SEC(".maps");
extern struct map_ledgers ledgers SEC(".maps");
extern struct map_sockets sockets SEC(".maps");
extern struct map_gates gates SEC(".maps");
extern struct map_socket_origins socket_origins SEC(".maps");
extern struct map_origins origins SEC(".maps");
extern struct map_upstreams upstreams SEC(".maps");
extern struct map_streams streams SEC(".maps");
extern struct map_routes routes SEC(".maps");
extern struct map_watches watches SEC(".maps");
extern struct map_policies policies SEC(".maps");
extern struct map_unix_addresses unix_addresses SEC(".maps");
extern struct map_counters counters SEC(".maps");
extern struct map_refusals refusals SEC(".maps");
extern struct map_paces paces SEC(".maps");
extern struct map_events events SEC(".maps");
extern struct map_fence_events fence_events SEC(".maps");

#endif
