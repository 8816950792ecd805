/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The maps, defined once; maps.bpf.h says what each is for. */
#include "maps.bpf.h"

struct map_config config SEC(".maps");
struct map_stream_ids stream_ids SEC(".maps");
struct map_slots slots SEC(".maps");
struct map_ledgers ledgers SEC(".maps");
struct map_sockets sockets SEC(".maps");
struct map_gates gates SEC(".maps");
struct map_socket_origins socket_origins SEC(".maps");
struct map_origins origins SEC(".maps");
struct map_upstreams upstreams SEC(".maps");
struct map_streams streams SEC(".maps");
struct map_routes routes SEC(".maps");
struct map_watches watches SEC(".maps");
struct map_policies policies SEC(".maps");
struct map_unix_addresses unix_addresses SEC(".maps");
struct map_counters counters SEC(".maps");
struct map_refusals refusals SEC(".maps");
struct map_paces paces SEC(".maps");
struct map_events events SEC(".maps");
struct map_fence_events fence_events SEC(".maps");

char LICENSE[] SEC("license") = "Dual BSD/GPL";
