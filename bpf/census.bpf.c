/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Census: one record for each socket that a process in a cgroup, or below it,
 * has a descriptor of, with the cgroup in which the socket was made: the only
 * one whose hooks ever see it. An object of its own, loaded for one reading.
 */
#include "kernel.bpf.h"
#include "sluice/abi.h"

/* Id of the cgroup. */
const volatile __u64 census_cgroup = 0;

struct ancestry {
	struct cgroup **ancestors; /* of a cgroup, from the root on; the last is itself */
	bool within;
};

static long ancestor_visit(__u32 level, void *context)
{
	struct ancestry *ancestry = context;
	struct cgroup *ancestor = NULL;

	if (!bpf_probe_read_kernel(&ancestor, sizeof(ancestor), ancestry->ancestors + level))
		ancestry->within = BPF_CORE_READ(ancestor, kn, id) == census_cgroup;
	return ancestry->within;
}

/* Whether it is the cgroup or below it. What cannot be read is not. */
static __noinline bool is_within(struct cgroup *cgroup)
{
	struct ancestry ancestry = {.ancestors = &cgroup->ancestors[0]};

	bpf_loop((__u32)BPF_CORE_READ(cgroup, level) + 1, ancestor_visit, &ancestry, 0);
	return ancestry.within;
}

static __always_inline void census_fill(struct sluice_census *record, struct sock *sk)
{
	struct cgroup *cgroup = BPF_CORE_READ(sk, sk_cgrp_data.cgroup);

	record->cgroup = BPF_CORE_READ(cgroup, kn, id);
	record->inside = is_within(cgroup);
	record->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	record->state = BPF_CORE_READ(sk, __sk_common.skc_state);
	record->type = BPF_CORE_READ(sk, sk_type);
	record->protocol = BPF_CORE_READ(sk, sk_protocol);
}

SEC("iter/task_file")
int sluice_census(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct sluice_census record = {0};
	struct socket *socket;

	if (!task || !file)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket || !is_within(BPF_CORE_READ(task, cgroups, dfl_cgrp)))
		return 0;
	record.inode = BPF_CORE_READ(file, f_inode, i_ino);
	record.pid = BPF_CORE_READ(task, tgid);
	record.fd = ctx->fd;
	census_fill(&record, BPF_CORE_READ(socket, sk));
	/* Where there is no room the kernel comes back to this file in the next read. */
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
