/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filter of run: it closes what no cgroup hook sees. Everything
 * not named here stays allowed, so that unmodified programs work; what is named
 * either opens a way around the hooks (socket families, io_uring, descriptors
 * out of other processes, keystrokes into the operator's terminal) or belongs to
 * privileges that the command does not have anyway.
 *
 * The kernel reads int arguments as 32 bits, a filter sees 64: every comparison
 * masks the upper half away, or a caller would slip through by setting it.
 *
 * AF_NETLINK stays open for NETLINK_ROUTE, which getaddrinfo() and the run-time
 * libraries of Go and Node need; the kernel delivers what an unprivileged socket
 * of that protocol sends to itself alone, so no byte leaves by it.
 */
#include <errno.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "cli/run.h"

#define LOW32 0xffffffffull

/* Families up to here are told apart one by one; above it, every value is refused. */
#define FAMILY_BITS 6

/* Where clone()'s flags are. */
#ifdef __s390x__
#define CLONE_FLAGS_ARG 1
#else
#define CLONE_FLAGS_ARG 0
#endif

struct refusal {
	int syscall;
	int err;
};

static const struct refusal refusals[] = {
	{SCMP_SYS(bpf), EPERM},
	{SCMP_SYS(io_uring_setup), ENOSYS},
	{SCMP_SYS(io_uring_enter), ENOSYS},
	{SCMP_SYS(io_uring_register), ENOSYS},
	/* clone3 keeps its flags in memory, where a filter cannot look; clone is the fallback. */
	{SCMP_SYS(clone3), ENOSYS},
	/* other processes' memory and descriptors */
	{SCMP_SYS(ptrace), EPERM},
	{SCMP_SYS(process_vm_readv), EPERM},
	{SCMP_SYS(process_vm_writev), EPERM},
	{SCMP_SYS(pidfd_getfd), EPERM},
	{SCMP_SYS(kcmp), EPERM},
	{SCMP_SYS(userfaultfd), EPERM},
	{SCMP_SYS(perf_event_open), EPERM},
	/* keyrings are shared with what has the same uid outside */
	{SCMP_SYS(keyctl), EPERM},
	{SCMP_SYS(add_key), EPERM},
	{SCMP_SYS(request_key), EPERM},
	/* namespaces and the view of the file system */
	{SCMP_SYS(setns), EPERM},
	{SCMP_SYS(mount), EPERM},
	{SCMP_SYS(umount2), EPERM},
	{SCMP_SYS(pivot_root), EPERM},
	{SCMP_SYS(chroot), EPERM},
	{SCMP_SYS(move_mount), EPERM},
	{SCMP_SYS(open_tree), EPERM},
	{SCMP_SYS(fsopen), EPERM},
	{SCMP_SYS(fsconfig), EPERM},
	{SCMP_SYS(fsmount), EPERM},
	{SCMP_SYS(fspick), EPERM},
	{SCMP_SYS(mount_setattr), EPERM},
	{SCMP_SYS(name_to_handle_at), EPERM},
	{SCMP_SYS(open_by_handle_at), EPERM},
	{SCMP_SYS(quotactl), EPERM},
	{SCMP_SYS(init_module), EPERM},
	{SCMP_SYS(finit_module), EPERM},
	{SCMP_SYS(delete_module), EPERM},
	{SCMP_SYS(kexec_load), EPERM},
	{SCMP_SYS(kexec_file_load), EPERM},
};

static const unsigned int terminal_requests[] = {TIOCSTI, TIOCLINUX};

/*
 * What a socket still has to send when its process is gone is sent without the
 * fence once the run is over: it must not be able to leave the loopback device.
 */
static const unsigned int device_options[] = {SO_BINDTODEVICE, SO_BINDTOIFINDEX};

/* CLONE_NEWTIME is left out: among clone()'s flags its bit is part of a signal number. */
static const unsigned int namespace_flags[] = {
	CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
	CLONE_NEWUSER, CLONE_NEWPID,	CLONE_NEWNET,
};

static const unsigned int open_families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

static int refuse_equal(scmp_filter_ctx filter, int err, int syscall, unsigned int arg,
			uint64_t mask, uint64_t value)
{
	return seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)err), syscall, 1,
				SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, mask, value));
}

static int add_refusals(scmp_filter_ctx filter)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(refusals); i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)refusals[i].err),
				       refusals[i].syscall, 0);
	return err;
}

static bool is_open_family(unsigned int family)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(open_families); i++)
		if (open_families[i] == family)
			return true;
	return false;
}

/* Refuses each family below 2^FAMILY_BITS that is not open, and every higher bit. */
static int add_families(scmp_filter_ctx filter, int syscall)
{
	unsigned int family, bit;
	int err = 0;

	for (family = 0; !err && family < 1u << FAMILY_BITS; family++)
		if (!is_open_family(family))
			err = refuse_equal(filter, EAFNOSUPPORT, syscall, 0, LOW32, family);
	for (bit = FAMILY_BITS; !err && bit < 32; bit++)
		err = refuse_equal(filter, EAFNOSUPPORT, syscall, 0, 1ull << bit, 1ull << bit);
	return err;
}

/* Netlink with any protocol but NETLINK_ROUTE, which is 0: any bit of it is refused. */
static int add_netlink(scmp_filter_ctx filter)
{
	unsigned int bit;
	int err = 0;

	for (bit = 0; !err && bit < 32; bit++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 2,
				       SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, AF_NETLINK),
				       SCMP_A2(SCMP_CMP_MASKED_EQ, 1ull << bit, 1ull << bit));
	return err;
}

static int add_arguments(scmp_filter_ctx filter)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(terminal_requests); i++)
		err = refuse_equal(filter, EPERM, SCMP_SYS(ioctl), 1, LOW32, terminal_requests[i]);
	for (i = 0; !err && i < ARRAY_SIZE(device_options); i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setsockopt), 2,
				       SCMP_A1(SCMP_CMP_MASKED_EQ, LOW32, SOL_SOCKET),
				       SCMP_A2(SCMP_CMP_MASKED_EQ, LOW32, device_options[i]));
	for (i = 0; !err && i < ARRAY_SIZE(namespace_flags); i++) {
		err = refuse_equal(filter, EPERM, SCMP_SYS(clone), CLONE_FLAGS_ARG,
				   namespace_flags[i], namespace_flags[i]);
		if (!err)
			err = refuse_equal(filter, EPERM, SCMP_SYS(unshare), 0, namespace_flags[i],
					   namespace_flags[i]);
	}
	if (!err)
		err = refuse_equal(filter, EPERM, SCMP_SYS(unshare), 0, CLONE_NEWTIME,
				   CLONE_NEWTIME);
	return err;
}

/* Where socket() also hides behind socketcall(), the filter could not read its arguments. */
static bool architecture_known(void)
{
	switch (seccomp_arch_native()) {
	case SCMP_ARCH_X86_64:
	case SCMP_ARCH_AARCH64:
	case SCMP_ARCH_RISCV64:
		return true;
	default:
		return false;
	}
}

int run_seccomp_new(scmp_filter_ctx *ret_filter)
{
	scmp_filter_ctx filter;
	int err;

	if (!architecture_known())
		return -EOPNOTSUPP;
	/* The native architecture alone: i386, x32 and arm calls end the process. */
	filter = seccomp_init(SCMP_ACT_ALLOW);
	if (!filter)
		return -ENOMEM;
	err = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (!err)
		err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!err)
		err = add_refusals(filter);
	if (!err)
		err = add_families(filter, SCMP_SYS(socket));
	if (!err)
		err = add_families(filter, SCMP_SYS(socketpair));
	if (!err)
		err = add_netlink(filter);
	if (!err)
		err = add_arguments(filter);
	if (err) {
		seccomp_release(filter);
		return err;
	}
	*ret_filter = filter;
	return 0;
}
