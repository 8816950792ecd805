/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an audit record costs: formatted, sealed and written, a batch at a time, into a file
 * that is removed; the verification of what was written beside it. Rates are of one core's
 * time, the kernel's part of it included; how long the disk took is said beside them.
 *
 * usage: bench_audit audit
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/audit_record.h"

#define RECORDS	   2000000u
#define BATCH_SIZE (256u << 10)

static const struct audit_who who = {
	.stream = 1796059551520072,
	.policy = "agents",
	.cgroup = "/sys/fs/cgroup/sluice.main/run-17",
	.pid = 18356,
	.uid = 65534,
};

static const struct audit_settlement settlement = {
	.end = "complete",
	.tracks = {{1472, 1472, 2472, 2472, 4096, 4096}, {204, 204, 1204, 1204, 20480, 20480}},
};

static double now_s(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The records of an exchange: its beginning and its end. */
static void format(struct audit_line *line, struct audit_stamp *stamp, uint64_t number)
{
	if (number % 2)
		audit_record_session_opened(line, stamp, &who, number / 2, SESSION_BLOCKING);
	else
		audit_record_session_settled(line, stamp, &who, number / 2, &settlement);
}

static int write_records(int fd, char *batch, uint64_t *ret_bytes)
{
	struct audit_stamp stamp = {0};
	struct audit_chain chain;
	struct audit_head head;
	size_t used = 0;

	audit_head_init(&head);
	if (audit_chain_init(&chain, &head))
		return -1;
	*ret_bytes = 0;
	for (uint64_t number = 1; number <= RECORDS; number++) {
		struct audit_line line = {.text = batch + used};

		stamp.seq = number;
		(void)clock_gettime(CLOCK_REALTIME, &stamp.time);
		if (number == 1)
			audit_record_file(&line, &stamp, AUDIT_GENESIS, 1);
		else
			format(&line, &stamp, number);
		if (audit_chain_seal(&chain, line.text, line.len))
			return -1;
		used += line.len + AUDIT_SEAL_LEN;
		if (used < BATCH_SIZE && number != RECORDS)
			continue;
		if (write(fd, batch, used) != (ssize_t)used)
			return -1;
		*ret_bytes += used;
		used = 0;
	}
	audit_chain_done(&chain);
	return 0;
}

static int verify_records(int fd, char *text, uint64_t bytes)
{
	struct audit_verifier verifier;
	uint64_t at = 0, lines = 0;

	if (audit_verifier_init(&verifier, NULL))
		return -1;
	while (at < bytes) {
		ssize_t n = pread(fd, text, BATCH_SIZE, (off_t)at);
		const char *from = text, *newline;

		if (n <= 0)
			return -1;
		while ((newline = memchr(from, '\n', (size_t)(text + n - from)))) {
			if (audit_verifier_line(&verifier, from, (size_t)(newline + 1 - from),
						!lines++))
				return -1;
			from = newline + 1;
		}
		at += (uint64_t)(from - text);
	}
	audit_verifier_done(&verifier);
	return lines == RECORDS ? 0 : -1;
}

int main(int argc, char **argv)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char *batch = malloc(BATCH_SIZE + AUDIT_RECORD_MAX);
	double began, began_wall, written, written_wall, verified;
	uint64_t bytes;

	if (argc > 2 || (argc == 2 && strcmp(argv[1], "audit"))) {
		(void)fprintf(stderr, "usage: bench_audit [audit]\n");
		return 2;
	}
	if (fd < 0 || !batch)
		return 1;
	began_wall = now_s(CLOCK_MONOTONIC);
	began = now_s(CLOCK_PROCESS_CPUTIME_ID);
	if (write_records(fd, batch, &bytes))
		return 1;
	written = now_s(CLOCK_PROCESS_CPUTIME_ID);
	written_wall = now_s(CLOCK_MONOTONIC);
	if (verify_records(fd, batch, bytes))
		return 1;
	verified = now_s(CLOCK_PROCESS_CPUTIME_ID);
	(void)printf("audit: %.0f records/s written (%" PRIu64 " bytes each, %.2f s for %u), "
		     "%.0f records/s verified\n",
		     RECORDS / (written - began), bytes / RECORDS, written_wall - began_wall,
		     RECORDS, RECORDS / (verified - written));
	free(batch);
	(void)close(fd);
	return 0;
}
