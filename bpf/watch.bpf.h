/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs of a watched cgroup share: for which one they run, and how
 * they refuse.
 */
#ifndef SLUICE_WATCH_BPF_H
#define SLUICE_WATCH_BPF_H

#include "common.bpf.h"

/* The watched cgroup of the running program; policy 0 until the daemon has written it. */
static __always_inline const struct sluice_watch *watch_get(void)
{
	return bpf_get_local_storage(&watches, 0);
}

static __always_inline const struct sluice_policy *policy_get(const struct sluice_watch *watch)
{
	__u32 policy = watch->policy;

	if (!policy)
		return NULL;
	return bpf_map_lookup_elem(&policies, &policy);
}

/* Counts a refusal. Is it the first of this kind, in this cgroup, in this second? */
static __always_inline bool refusal_is_news(const struct sluice_watch *watch, __u32 kind, __u64 now)
{
	struct sluice_refusal_key key = {.cgroup = watch->cgroup, .kind = kind};
	struct sluice_refusals first = {.count = 1, .told_second = now / NS_PER_SECOND + 1};
	struct sluice_refusals *past = bpf_map_lookup_elem(&refusals, &key);
	__u64 seen;

	if (!past) {
		if (!bpf_map_update_elem(&refusals, &key, &first, BPF_NOEXIST))
			return true;
		/* Another CPU's first came a moment sooner. */
		past = bpf_map_lookup_elem(&refusals, &key);
		if (!past)
			return false;
	}
	__sync_fetch_and_add(&past->count, 1);
	seen = past->told_second;
	return seen != first.told_second &&
	       __sync_val_compare_and_swap(&past->told_second, seen, first.told_second) == seen;
}

/*
 * Counts a refusal and tells the daemon of it. The event is NULL where none is
 * due; otherwise the caller adds what its hook knows and submits.
 */
static __always_inline struct sluice_event *refusal_begin(const struct sluice_watch *watch,
							  __u32 kind)
{
	__u64 now = bpf_ktime_get_boot_ns();
	struct sluice_event *event;

	count(kind);
	if (!refusal_is_news(watch, kind, now))
		return NULL;
	event = bpf_ringbuf_reserve(&fence_events, sizeof(*event), 0);
	if (!event) {
		count(SLUICE_COUNT_FENCE_RING_FULL);
		return NULL;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->time_ns = now;
	event->type = SLUICE_EVENT_REFUSED;
	event->value = kind;
	event->origin.cgroup = watch->cgroup;
	event->origin.policy = watch->policy;
	return event;
}

/*
 * Is the watched cgroup within its pace, one of this kind per interval and burst
 * of them at once? If so, this one is counted in.
 */
static __always_inline bool watch_paces(const struct sluice_watch *watch, __u32 kind,
					__u64 interval_ns, __u64 burst)
{
	struct sluice_refusal_key key = {.cgroup = watch->cgroup, .kind = kind};
	__u64 now = bpf_ktime_get_boot_ns();
	__u64 *used = bpf_map_lookup_elem(&paces, &key);
	__u64 next, seen;

	if (!used) {
		/* The first of its kind, or another CPU's first that came a moment sooner. */
		(void)bpf_map_update_elem(&paces, &key, &now, BPF_NOEXIST);
		used = bpf_map_lookup_elem(&paces, &key);
		if (!used)
			return false;
	}
	seen = *(volatile __u64 *)used;
	next = (seen > now ? seen : now) + interval_ns;
	if (next > now + burst * interval_ns)
		return false;
	/* An interval that another CPU counts at the same moment is not worth a second try. */
	(void)__sync_val_compare_and_swap(used, seen, next);
	return true;
}

/* Who asks; only in hooks that run in the context of the process. */
static __always_inline void origin_set_task(struct sluice_origin *origin)
{
	origin->pid = bpf_get_current_pid_tgid() >> 32;
	origin->uid = (__u32)bpf_get_current_uid_gid();
	if (bpf_get_current_comm(origin->comm, sizeof(origin->comm)))
		__builtin_memset(origin->comm, 0, sizeof(origin->comm));
}

/* A refusal by a hook in process context; address may be NULL. Returns REFUSE. */
static __noinline int refuse(const struct sluice_watch *watch, __u32 kind,
			     const struct sluice_address *address)
{
	struct sluice_event *event = refusal_begin(watch, kind);

	if (!event)
		return REFUSE;
	origin_set_task(&event->origin);
	if (address)
		event->origin.peer = *address;
	bpf_ringbuf_submit(event, 0);
	return REFUSE;
}

#endif
