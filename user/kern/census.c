/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "kern/internal.h"
#include "bpf/census.skel.h"
#include "sys/fd.h"

#define RECORDS_AT_ONCE 256

DEFINE_CLEANUP(struct census_bpf *, census_bpf__destroy)

static int census_load(uint64_t cgroup, struct census_bpf **ret_skel)
{
	struct census_bpf *skel = census_bpf__open();
	int r;

	if (!skel)
		return -errno;
	skel->rodata->census_cgroup = cgroup;
	r = census_bpf__load(skel);
	if (r < 0) {
		census_bpf__destroy(skel);
		return r;
	}
	*ret_skel = skel;
	return 0;
}

/* A descriptor to read the records from; it keeps the program by itself. */
static int census_open(uint64_t cgroup, int *ret_fd)
{
	struct census_bpf *skel cleanup(census_bpf__destroyp) = NULL;
	int link cleanup(fd_closep) = -1;
	int r = census_load(cgroup, &skel), fd;

	if (r < 0)
		return r;
	link = bpf_link_create(bpf_program__fd(skel->progs.sluice_census), 0, BPF_TRACE_ITER, NULL);
	if (link < 0)
		return link;
	fd = bpf_iter_create(link);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

int kern_census(uint64_t cgroup, int (*each)(void *context, const struct sluice_census *record),
		void *context)
{
	struct sluice_census records[RECORDS_AT_ONCE];
	int fd cleanup(fd_closep) = -1;
	char *bytes = (char *)records;
	size_t got = 0, i, whole;
	ssize_t n;
	int r;

	if (!cgroup)
		return -EINVAL;
	r = census_open(cgroup, &fd);
	while (r == 0) {
		n = read(fd, bytes + got, sizeof(records) - got);
		/* The kernel rests after a million files that gave no record. */
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return got ? -EPROTO : 0;
		got += (size_t)n;
		whole = got / sizeof(*records);
		for (i = 0; r == 0 && i < whole; i++)
			r = each(context, &records[i]);
		got -= whole * sizeof(*records);
		(void)memmove(bytes, &records[whole], got);
	}
	return r;
}

int kern_census_probe(void)
{
	struct census_bpf *skel cleanup(census_bpf__destroyp) = NULL;

	/* What is asked for is whether it loads: no cgroup has this id. */
	return census_load(0, &skel);
}
