/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trail, the loop, and what the convention of Prometheus calls process_*. Open descriptors
 * are what /proc says without listing them, which kernels do from 6.2 on: where it says nothing
 * the metric is left out.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/metrics_internal.h"
#include "sys/clock.h"

static void write_audit(struct metrics_text *text, const struct daemon *daemon)
{
	static const struct metrics_family records = {"sluice_audit_records", NULL, METRICS_COUNTER,
						      "Records of the audit trail"};
	static const struct metrics_family bytes = {"sluice_audit_written_bytes", "bytes",
						    METRICS_COUNTER, "Bytes of these records"};
	static const struct metrics_family errors = {"sluice_audit_errors", NULL, METRICS_COUNTER,
						     "Writes and syncs of the trail that failed"};
	static const struct metrics_family dropped = {"sluice_audit_dropped", NULL, METRICS_COUNTER,
						      "Records that were not written"};
	static const struct metrics_family refused = {
		"sluice_audit_refused", NULL, METRICS_COUNTER,
		"Streams refused because they could not be recorded"};
	static const struct metrics_family failing = {
		"sluice_audit_failing", NULL, METRICS_GAUGE,
		"1 while the trail cannot be written, else 0"};
	static const struct metrics_family files = {"sluice_audit_files", NULL, METRICS_GAUGE,
						    "Files of the trail that are kept"};
	struct audit_counts counts;

	if (!audit_counts(daemon, &counts))
		return;
	metrics_write_one(text, &records, counts.records);
	metrics_write_one(text, &bytes, counts.bytes);
	metrics_write_one(text, &errors, counts.errors);
	metrics_text_family(text, &dropped);
	metrics_text_count(text, METRICS_LABELS({"reason", "failing"}), counts.dropped);
	metrics_text_count(text, METRICS_LABELS({"reason", "quota"}), counts.quota_dropped);
	metrics_text_family(text, &refused);
	metrics_text_count(text, METRICS_LABELS({"reason", "failing"}), counts.refused);
	metrics_text_count(text, METRICS_LABELS({"reason", "quota"}), counts.quota_refused);
	metrics_write_one(text, &failing, counts.failing);
	metrics_write_one(text, &files, counts.files);
}

static void write_loop(struct metrics_text *text, const struct daemon *daemon)
{
	static const struct metrics_family lag = {
		"sluice_loop_lag_seconds", "seconds", METRICS_HISTOGRAM,
		"How late a tick of the event loop came, four times a second"};
	static const struct metrics_family scrapes = {"sluice_scrapes", NULL, METRICS_COUNTER,
						      "Requests for these metrics, this one too"};

	metrics_text_family(text, &lag);
	metrics_text_histogram(text, METRICS_NO_LABELS, &daemon->metrics.lag);
	metrics_write_one(text, &scrapes, daemon->metrics.scrapes);
}

static void write_memory(struct metrics_text *text)
{
	static const struct metrics_family virtual = {"process_virtual_memory_bytes", "bytes",
						      METRICS_GAUGE, "Virtual memory size"};
	static const struct metrics_family resident = {"process_resident_memory_bytes", "bytes",
						       METRICS_GAUGE, "Resident memory size"};
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long all = 0, present = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file)
		return;
	if (fscanf(file, "%lu %lu", &all, &present) == 2) {
		metrics_write_one(text, &virtual, all * page);
		metrics_write_one(text, &resident, present * page);
	}
	(void)fclose(file);
}

static void write_self(struct metrics_text *text, const struct daemon *daemon)
{
	static const struct metrics_family cpu = {"process_cpu_seconds", "seconds", METRICS_COUNTER,
						  "User and system CPU time spent"};
	static const struct metrics_family started = {"process_start_time_seconds", "seconds",
						      METRICS_GAUGE,
						      "Start time of the process since the epoch"};
	static const struct metrics_family open = {"process_open_fds", NULL, METRICS_GAUGE,
						   "Open file descriptors"};
	static const struct metrics_family limit = {"process_max_fds", NULL, METRICS_GAUGE,
						    "Most file descriptors there may be"};
	struct timespec spent = {0};
	struct stat files;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
	metrics_text_family(text, &cpu);
	metrics_text_ns(text, METRICS_NO_LABELS,
			(uint64_t)spent.tv_sec * CLOCK_NS_PER_S + (uint64_t)spent.tv_nsec);
	metrics_text_family(text, &started);
	metrics_text_ns(text, METRICS_NO_LABELS, daemon->metrics.started_ns);
	if (!stat("/proc/self/fd", &files) && files.st_size > 0)
		metrics_write_one(text, &open, (uint64_t)files.st_size);
	metrics_write_one(text, &limit, daemon->files_limit);
	write_memory(text);
}

void metrics_write_process(struct metrics_text *text, const struct daemon *daemon)
{
	write_audit(text, daemon);
	write_loop(text, daemon);
	write_self(text, daemon);
}
