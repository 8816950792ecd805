/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs need of the kernel: the stable headers, the few constants
 * that have no header a BPF target can include, and the fields of internal
 * structs, relocated at load time. There is no vmlinux.h and the machine that
 * builds needs no BTF.
 */
#ifndef SLUICE_KERNEL_BPF_H
#define SLUICE_KERNEL_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#define AF_INET	    2
#define AF_INET6    10
#define SOCK_STREAM 1
#define SOCK_DGRAM  2

#define EPERM	     1
#define EAGAIN	     11
#define ENETUNREACH  101
#define ECONNREFUSED 111

#define IP_MORE_OR_OFFSET 0x3fff /* IPv4: more fragments, or a fragment's offset */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Since 6.7 the context of the Unix address hooks. */
struct bpf_sock_addr_kern {
	void *uaddr;
	__u32 uaddrlen;
};

/* What the census reads: a process's cgroup, and that of a socket. */
struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
	int level;
	struct cgroup *ancestors[];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	int tgid;
	struct css_set *cgroups;
};

struct inode {
	unsigned long i_ino;
};

struct file {
	struct inode *f_inode;
};

struct sock_common {
	unsigned short skc_family;
	volatile unsigned char skc_state;
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_type;
	__u16 sk_protocol;
	struct sock_cgroup_data sk_cgrp_data;
};

struct socket {
	struct sock *sk;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

#pragma clang attribute pop

/* Since 6.2; where it is missing the programs that call it are not loaded. */
extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym __weak;

#endif
