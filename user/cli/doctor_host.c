/* SPDX-License-Identifier: Apache-2.0 */
#include <cap-ng.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/run.h"
#include "sys/cgroup.h"
#include "sys/fs.h"
#include "sys/route.h"

#define BPFFS	 "/sys/fs/bpf"
#define FILE_MAX (1u << 20)
/* What the daemon asks for: two for a stream, up to the slots that there are. */
#define FILES_WANTED 262144u

static enum doctor_state state_of(bool present)
{
	return present ? DOCTOR_YES : DOCTOR_NO;
}

static void check_kernel_version(json_t *rows)
{
	static const struct doctor_subject subject = {"kernel 6.1", "the oldest supported kernel",
						      "nothing is tested here", true};
	struct utsname name;
	unsigned int major = 0, minor = 0;
	bool known = !uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2;

	doctor_add(rows, &subject,
		   known ? state_of(major > 6 || (major == 6 && minor >= 1)) : DOCTOR_UNKNOWN,
		   known ? name.release : NULL);
}

static bool has_capability(unsigned int capability)
{
	return capng_have_capability(CAPNG_EFFECTIVE, capability) == 1;
}

/* What the daemon keeps once it is started. */
static void check_capabilities(json_t *rows)
{
	static const struct {
		unsigned int capability;
		bool implied; /* by CAP_SYS_ADMIN, of which it was a part */
		struct doctor_subject subject;
	} held[] = {
		{CAP_BPF, true, {"CAP_BPF", "loading programs", "sluiced does not start", true}},
		{CAP_NET_ADMIN,
		 false,
		 {"CAP_NET_ADMIN", "attaching programs, destroying sockets",
		  "sluiced does not start", true}},
		{CAP_PERFMON,
		 true,
		 {"CAP_PERFMON", "programs that read kernel memory", "sluiced does not start",
		  true}},
		{CAP_SYS_ADMIN,
		 false,
		 {"CAP_SYS_ADMIN", "finding programs by number, namespaces of run",
		  "sluiced does not start", true}},
		{CAP_SYS_PTRACE,
		 false,
		 {"CAP_SYS_PTRACE", "the descriptors of processes that are to be watched",
		  "no watch of a cgroup with processes of others in it", false}},
		{CAP_DAC_READ_SEARCH,
		 false,
		 {"CAP_DAC_READ_SEARCH", "cgroups by number", "watches are not adopted", false}},
		{CAP_IPC_LOCK,
		 false,
		 {"CAP_IPC_LOCK", "keeping held text out of swap", "held text may reach swap",
		  false}},
	};
	const bool known = !capng_get_caps_process();

	for (size_t i = 0; i < ARRAY_SIZE(held); i++) {
		bool has = known && (has_capability(held[i].capability) ||
				     (held[i].implied && has_capability(CAP_SYS_ADMIN)));

		doctor_add(rows, &held[i].subject, known ? state_of(has) : DOCTOR_UNKNOWN, NULL);
	}
}

static void check_files(json_t *rows)
{
	static const struct doctor_subject subject = {"262144 open files", "two of each stream",
						      "fewer streams at once", false};
	const bool raises = !capng_get_caps_process() && has_capability(CAP_SYS_RESOURCE);
	struct rlimit limit;
	char detail[64];

	if (getrlimit(RLIMIT_NOFILE, &limit)) {
		doctor_add(rows, &subject, DOCTOR_UNKNOWN, NULL);
		return;
	}
	(void)snprintf(detail, sizeof(detail), "hard limit %llu%s",
		       (unsigned long long)limit.rlim_max,
		       raises ? ", CAP_SYS_RESOURCE raises it" : "");
	doctor_add(rows, &subject, state_of(raises || limit.rlim_max >= FILES_WANTED), detail);
}

static void check_cgroups(json_t *rows)
{
	static const struct doctor_subject subject = {
		"cgroup v2", "watched cgroups", "nothing can be watched: mount -t cgroup2", true};
	char mount[CGROUP_PATH_MAX];
	bool mounted = cgroup_mount(mount, sizeof(mount)) == 0;

	doctor_add(rows, &subject, state_of(mounted), mounted ? mount : NULL);
}

static void check_bpffs(json_t *rows)
{
	static const struct doctor_subject subject = {"bpf file system",
						      "pins, by which the gate outlives the daemon",
						      "sluiced does not start", true};
	bool mounted = fs_is_bpffs(BPFFS), offered = false;
	char *text;
	size_t len;

	if (!mounted && !fs_read_file("/proc/filesystems", FILE_MAX, &text, &len)) {
		offered = strstr(text, "\tbpf\n") != NULL;
		free(text);
	}
	doctor_add(rows, &subject, state_of(mounted || offered),
		   mounted   ? BPFFS
		   : offered ? "sluiced mounts it"
			     : NULL);
}

/* The kernel's part, and ours: a filter for this architecture. */
static bool filter_builds(void)
{
	const uint32_t action = SECCOMP_RET_ERRNO;
	scmp_filter_ctx filter;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) || run_seccomp_new(&filter))
		return false;
	seccomp_release(filter);
	return true;
}

static void check_sandbox(json_t *rows)
{
	static const struct doctor_subject
		pid = {"pid namespaces", "run: ends with all that it started", "no run", true},
		mount = {"mount namespaces", "run: hides pins, cgroups not writable", "no run",
			 true},
		filter = {"seccomp", "run: socket families that no cgroup hook sees", "no run",
			  true};

	doctor_add(rows, &pid, state_of(!access("/proc/self/ns/pid", F_OK)), NULL);
	doctor_add(rows, &mount, state_of(!access("/proc/self/ns/mnt", F_OK)), NULL);
	doctor_add(rows, &filter, state_of(filter_builds()), NULL);
}

static void check_ways_out(json_t *rows)
{
	static const struct {
		int family;
		struct doctor_subject subject;
	} families[] = {
		{AF_INET,
		 {"IPv4 route", "a way out other than loopback",
		  "agents that connect over IPv4 to other hosts get ENETUNREACH", false}},
		{AF_INET6,
		 {"IPv6 route", "the same for IPv6",
		  "agents that connect over IPv6 to other hosts get ENETUNREACH", false}},
	};
	bool exists = false;

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		int r = route_exists(families[i].family, &exists);

		doctor_add(rows, &families[i].subject, r ? DOCTOR_UNKNOWN : state_of(exists), NULL);
	}
}

void doctor_check_host(json_t *rows)
{
	static const struct doctor_subject root = {"root", "loading BPF programs, starting runs",
						   "run this as root", true};
	static const struct doctor_subject sluiced = {"sluiced",
						      "the daemon's program beside this one",
						      "what PATH finds is used", false};
	char program[PATH_MAX];
	bool beside;

	doctor_add(rows, &root, state_of(geteuid() == 0), NULL);
	check_kernel_version(rows);
	check_cgroups(rows);
	check_bpffs(rows);
	check_sandbox(rows);
	check_capabilities(rows);
	check_files(rows);
	check_ways_out(rows);
	cli_find_sluiced(program);
	beside = strchr(program, '/') != NULL;
	doctor_add(rows, &sluiced, state_of(beside), beside ? program : NULL);
}
