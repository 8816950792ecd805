/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>

#include <bpf/btf.h>

#include "kern/internal.h"
#include "sys/fd.h"

/* A probe returns 0 where the feature is there, else -errno. */
struct probe {
	struct kern_feature feature;
	int (*run)(int argument, int second);
	int argument, second;
};

static const struct bpf_insn return_one[] = {
	{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
	{.code = BPF_JMP | BPF_EXIT},
};

/* A program of that type, for that attach type, that lets everything pass. */
static int probe_program(int type, int attach)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = (enum bpf_attach_type)attach);
	int fd = bpf_prog_load((enum bpf_prog_type)type, "probe", "GPL", return_one,
			       ARRAY_SIZE(return_one), &opts);

	if (fd < 0)
		return fd;
	fd_close(fd);
	return 0;
}

static int probe_helper(int type, int helper)
{
	int r = libbpf_probe_bpf_helper((enum bpf_prog_type)type, (enum bpf_func_id)helper, NULL);

	if (r < 0)
		return r;
	return r ? 0 : -EOPNOTSUPP;
}

static int probe_map(int type, int second)
{
	int r = libbpf_probe_bpf_map_type((enum bpf_map_type)type, NULL);

	(void)second;
	if (r < 0)
		return r;
	return r ? 0 : -EOPNOTSUPP;
}

/* Storage that an accepted socket has from its listener; its types must be described. */
static int probe_clone(int argument, int second)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC | BPF_F_CLONE);
	struct btf *btf = btf__new_empty();
	int id, fd, r = -ENOMEM;

	(void)argument;
	(void)second;
	if (!btf)
		return r;
	id = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	r = id < 0 ? id : btf__load_into_kernel(btf);
	if (r == 0) {
		opts.btf_fd = (__u32)btf__fd(btf);
		opts.btf_key_type_id = (__u32)id;
		opts.btf_value_type_id = (__u32)id;
		fd = bpf_map_create(BPF_MAP_TYPE_SK_STORAGE, "probe", 4, 4, 0, &opts);
		r = fd < 0 ? fd : 0;
		fd_close(fd);
	}
	btf__free(btf);
	return r;
}

/* An array of the kernel's that this process has in its memory. */
static int probe_shared_array(int argument, int second)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd cleanup(fd_closep) =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "probe", sizeof(__u32), sizeof(__u64), 1, &opts);
	void *words;

	(void)argument;
	(void)second;
	if (fd < 0)
		return fd;
	words = mmap(NULL, sizeof(__u64), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED)
		return -errno;
	(void)munmap(words, sizeof(__u64));
	return 0;
}

/* The library that is there, not the one this was built with. */
static int probe_library(int argument, int second)
{
	const int major = (int)libbpf_major_version(), minor = (int)libbpf_minor_version();

	return major > argument || (major == argument && minor >= second) ? 0 : -EOPNOTSUPP;
}

static int probe_btf(int argument, int second)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int r = btf ? 0 : -errno;

	(void)argument;
	(void)second;
	btf__free(btf);
	return r;
}

/* Asks for a socket that does not exist: a kernel that can destroy says so. */
static int probe_destroy(int argument, int second)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 body;
	} request = {
		.head = {.nlmsg_len = sizeof(request),
			 .nlmsg_type = SOCK_DESTROY,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
		.body = {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP},
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[256];
	} answer;
	int fd cleanup(fd_closep) = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	(void)argument;
	(void)second;
	if (fd < 0)
		return -errno;
	request.body.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
	request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	if (send(fd, &request, sizeof(request), 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < (ssize_t)NLMSG_LENGTH(sizeof(answer.error)))
		return -errno;
	return answer.error.error == -ENOENT ? 0 : answer.error.error;
}

static int probe_census(int argument, int second)
{
	(void)argument;
	(void)second;
	return kern_census_probe();
}

bool kern_probe_unix_hooks(void)
{
	return probe_program(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, KERN_ATTACH_UNIX_CONNECT) == 0 &&
	       probe_program(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, KERN_ATTACH_UNIX_SENDMSG) == 0;
}

#define NEEDED(n, u) \
	.feature = {.name = n, .use = u, .loss = "Sluice does not start", .required = true}
#define USEFUL(n, u, l) .feature = {.name = n, .use = u, .loss = l}
#define ADDRESS_HOOK(t) \
	.run = probe_program, .argument = BPF_PROG_TYPE_CGROUP_SOCK_ADDR, .second = t
#define HOOK(p, t)   .run = probe_program, .argument = BPF_PROG_TYPE_##p, .second = t
#define MAP(t)	     .run = probe_map, .argument = BPF_MAP_TYPE_##t
#define HELPER(p, f) .run = probe_helper, .argument = BPF_PROG_TYPE_##p, .second = BPF_FUNC_##f

static const struct probe probes[] = {
	{NEEDED("libbpf 1.1", "loading programs, and attaching them"), .run = probe_library,
	 .argument = 1, .second = 1},
	{NEEDED("BTF of the kernel", "loading programs on kernels they were not built on"),
	 .run = probe_btf},
	{NEEDED("cgroup/connect4", "capture of IPv4"), ADDRESS_HOOK(BPF_CGROUP_INET4_CONNECT)},
	{NEEDED("cgroup/connect6", "capture of IPv6"), ADDRESS_HOOK(BPF_CGROUP_INET6_CONNECT)},
	{NEEDED("cgroup/getpeername4", "the peer's address as the agent sees it"),
	 ADDRESS_HOOK(BPF_CGROUP_INET4_GETPEERNAME)},
	{NEEDED("cgroup/getpeername6", "the same for IPv6"),
	 ADDRESS_HOOK(BPF_CGROUP_INET6_GETPEERNAME)},
	{NEEDED("cgroup/getsockname4", "the agent's own address as it sees it"),
	 ADDRESS_HOOK(BPF_CGROUP_INET4_GETSOCKNAME)},
	{NEEDED("cgroup/getsockname6", "the same for IPv6"),
	 ADDRESS_HOOK(BPF_CGROUP_INET6_GETSOCKNAME)},
	{NEEDED("cgroup/bind4", "keeping the agent off the listener's port"),
	 ADDRESS_HOOK(BPF_CGROUP_INET4_BIND)},
	{NEEDED("cgroup/bind6", "the same for IPv6"), ADDRESS_HOOK(BPF_CGROUP_INET6_BIND)},
	{NEEDED("cgroup/sendmsg4", "the fence around UDP"), ADDRESS_HOOK(BPF_CGROUP_UDP4_SENDMSG)},
	{NEEDED("cgroup/sendmsg6", "the same for IPv6"), ADDRESS_HOOK(BPF_CGROUP_UDP6_SENDMSG)},
	{NEEDED("cgroup/sock_create", "the fence around raw, ping, SCTP and MPTCP sockets"),
	 HOOK(CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE)},
	{NEEDED("cgroup_skb/egress", "the gate, and the fence around every packet"),
	 HOOK(CGROUP_SKB, BPF_CGROUP_INET_EGRESS)},
	{NEEDED("cgroup_skb/ingress", "the fence around what arrives unasked"),
	 HOOK(CGROUP_SKB, BPF_CGROUP_INET_INGRESS)},
	{NEEDED("sockops", "the base of every flow, and the origin of every stream"),
	 HOOK(SOCK_OPS, BPF_CGROUP_SOCK_OPS)},
	{NEEDED("ring buffer", "events"), MAP(RINGBUF)},
	{NEEDED("memory-mapped array", "release offsets: a release is one store"),
	 .run = probe_shared_array},
	{NEEDED("cgroup storage", "the policy of a watched cgroup"), MAP(CGROUP_STORAGE)},
	{NEEDED("socket storage with clone", "marks of accepted sockets from their birth"),
	 .run = probe_clone},
	{NEEDED("bpf_sk_lookup_tcp", "proof that the listener is the daemon's"),
	 HELPER(CGROUP_SOCK_ADDR, sk_lookup_tcp)},
	{NEEDED("bpf_set_retval", "errors that the agent can tell apart"),
	 HELPER(CGROUP_SOCK_ADDR, set_retval)},
	{NEEDED("bpf_get_netns_cookie in sockops", "streams in several network namespaces"),
	 HELPER(SOCK_OPS, get_netns_cookie)},
	{NEEDED("bpf_loop", "destination rules"), HELPER(CGROUP_SOCK_ADDR, loop)},
	{NEEDED("INET_DIAG_DESTROY", "destroying gated sockets before the gate goes"),
	 .run = probe_destroy},
	{USEFUL("connect_unix", "the fence around Unix sockets that connect (Linux 6.7)",
		"the agent may connect to any Unix socket that it may open"),
	 ADDRESS_HOOK(KERN_ATTACH_UNIX_CONNECT)},
	{USEFUL("sendmsg_unix", "the fence around Unix datagrams (Linux 6.7)",
		"the agent may send to any Unix socket that it may open"),
	 ADDRESS_HOOK(KERN_ATTACH_UNIX_SENDMSG)},
	{USEFUL("iter/task_file", "the census of the sockets that processes have before a watch",
		"a cgroup with processes in it cannot be watched"),
	 .run = probe_census},
};

size_t kern_probe(struct kern_feature *list, size_t max)
{
	size_t i, count = MIN(max, ARRAY_SIZE(probes));

	libbpf_set_print(NULL);
	for (i = 0; i < count; i++) {
		int r = probes[i].run(probes[i].argument, probes[i].second);

		list[i] = probes[i].feature;
		list[i].present = r == 0;
		list[i].error = -r;
	}
	return count;
}
