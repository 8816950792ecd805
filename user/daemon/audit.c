/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/audit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/audit_internal.h"
#include "daemon/daemon.h"
#include "daemon/limits.h"
#include "daemon/reason.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/log.h"

/* The streams that may not go on without records. */
static void end_streams(struct audit *audit)
{
	struct daemon *daemon = audit->daemon;
	bool full = audit->ends_full, over = audit->ends_over;
	struct stream *stream, *next;

	audit->ends_full = audit->ends_over = false;
	for (stream = TAILQ_FIRST(&daemon->streams.all); stream; stream = next) {
		next = TAILQ_NEXT(stream, entry);
		if (stream_is_settled(stream) || stream_is_relayed(stream) ||
		    stream->policy->policy->audit.on_full != POLICY_ON_FULL_CLOSE)
			continue;
		if (full)
			stream_fail(stream, NULL, reason_name(REASON_AUDIT_FULL));
		else if (over && stream->over_quota)
			stream_fail(stream, NULL, reason_name(REASON_AUDIT_QUOTA));
	}
	stream_reap(daemon);
}

static void on_flush(evutil_socket_t fd, short what, void *context)
{
	struct audit *audit = context;

	(void)fd;
	(void)what;
	audit_flush(audit);
	if (audit->ends_full || audit->ends_over)
		end_streams(audit);
}

static int go_on(struct audit *audit, const struct audit_left *left, char *error, size_t error_len)
{
	struct audit_line line;
	int r = 0;

	audit->written = left->head;
	audit->continues = left->head.seq;
	if (audit->file.fd < 0)
		r = audit_next_file(audit);
	if (!r && left->torn) {
		log_warning("audit trail '%s': %llu bytes of a record that was not whole were cut "
			    "off '%s'",
			    audit->file.dir, (unsigned long long)left->torn, left->torn_file);
		if (audit_begin(audit, &line)) {
			audit_record_recovered(&line, &audit->stamp, left->torn_file, left->torn);
			(void)audit_end(audit, &line);
		}
	}
	if (!r)
		r = audit_write_out(audit);
	if (r)
		(void)snprintf(error, error_len, "audit trail '%s' cannot be written: %s",
			       audit->file.dir, strerror(-r));
	return r;
}

static void free_audit(struct audit *audit)
{
	audit_tail_done(&audit->tail);
	audit_syncer_done(&audit->syncer);
	audit_file_close(&audit->file);
	audit_chain_done(&audit->chain);
	free(audit->buffer);
	free(audit);
}

void audit_identify(const struct daemon *daemon, uint64_t *ret_device, uint64_t *ret_file)
{
	struct stat found = {0};

	if (daemon->audit)
		(void)fstat(daemon->audit->file.lock_fd, &found);
	*ret_device = found.st_dev;
	*ret_file = found.st_ino;
}

bool audit_is_named(const struct daemon *daemon, uint64_t device, uint64_t file)
{
	char path[AUDIT_DIR_MAX + sizeof(AUDIT_LOCK_NAME)];
	struct stat found;

	(void)snprintf(path, sizeof(path), "%s/" AUDIT_LOCK_NAME, daemon->options->audit_dir);
	return file && !stat(path, &found) && found.st_dev == device && found.st_ino == file;
}

int audit_open(struct daemon *daemon, char *error, size_t error_len)
{
	const struct options *options = daemon->options;
	struct audit_left left;
	struct audit *audit;
	int r;

	if (!options->audit_dir[0])
		return 0;
	audit = calloc(1, sizeof(*audit));
	if (audit)
		audit->buffer = malloc(LIMIT_AUDIT_BUFFER);
	if (!audit || !audit->buffer) {
		free(audit);
		(void)snprintf(error, error_len, "audit trail: out of memory");
		return -ENOMEM;
	}
	audit->daemon = daemon;
	audit->size_max = options->audit_file_bytes;
	audit->keep = options->audit_files;
	audit_syncer_init(&audit->syncer, options->name);
	r = audit_file_open(&audit->file, options->audit_dir, &left, error, error_len);
	if (!r) {
		r = audit_chain_init(&audit->chain, &left.head);
		if (r)
			(void)snprintf(error, error_len, "audit trail: %s", strerror(-r));
	}
	if (!r) {
		r = audit_tail_read(&audit->tail, &audit->file, LIMIT_AUDIT_TAIL);
		if (r)
			(void)snprintf(error, error_len, "audit trail '%s' cannot be read: %s",
				       options->audit_dir, strerror(-r));
	}
	if (!r)
		r = go_on(audit, &left, error, error_len);
	if (r)
		free_audit(audit);
	else
		daemon->audit = audit;
	return r;
}

int audit_follow(struct daemon *daemon)
{
	struct audit *audit = daemon->audit;

	if (!audit)
		return 0;
	if (event_assign(&audit->flush, daemon->base, -1, 0, on_flush, audit))
		return -ENOMEM;
	audit->following = true;
	audit_wake(audit);
	return 0;
}

int audit_started(struct daemon *daemon)
{
	struct audit *audit = daemon->audit;
	struct audit_line line;
	int r;

	if (!audit)
		return 0;
	r = audit_syncer_start(&audit->syncer);
	if (r)
		return r;
	audit->running = true;
	if (!audit_begin(audit, &line))
		return 0;
	audit_record_started(&line, &audit->stamp, daemon->options->name, (uint32_t)getpid(),
			     audit->continues);
	(void)audit_end(audit, &line);
	return 0;
}

void audit_handed_over(struct daemon *daemon, uint32_t pid, uint64_t streams, uint64_t settled)
{
	struct audit *audit = daemon->audit;
	struct audit_line line;

	if (!audit || !audit_begin(audit, &line))
		return;
	audit_record_handed_over(&line, &audit->stamp, pid, streams, settled);
	(void)audit_end(audit, &line);
}

int audit_write(struct daemon *daemon)
{
	return daemon->audit ? audit_write_out(daemon->audit) : 0;
}

bool audit_is_told(const struct daemon *daemon, uint64_t stream, const uint64_t *session)
{
	return daemon->audit && audit_tail_has(&daemon->audit->tail, stream, session);
}

void audit_close(struct daemon *daemon)
{
	struct audit *audit = daemon->audit;
	char head[AUDIT_HEAD_TEXT_LEN];
	struct audit_line line;
	int r;

	if (!audit)
		return;
	audit_tell_quotas(audit, clock_boot_ns(), /* now: */ true);
	if (audit->running && audit_begin(audit, &line)) {
		audit_record_stopped(&line, &audit->stamp);
		(void)audit_end(audit, &line);
	}
	r = audit_write_out(audit);
	if (r)
		log_errno(LOG_ERR, r, "audit trail '%s': the last records are lost",
			  audit->file.dir);
	if (audit->following)
		(void)event_del(&audit->flush);
	audit_sync_file(audit, take_fd(audit->file.fd), /* last: */ true, /* tell: */ true);
	if (audit->running) {
		audit_head_format(&audit->written, head);
		log_message(daemon->options->private_daemon ? LOG_DEBUG : LOG_INFO, "audit head %s",
			    head);
	}
	free_audit(audit);
	daemon->audit = NULL;
}

void audit_tick(struct daemon *daemon, uint64_t now_ns)
{
	struct audit *audit = daemon->audit;

	if (!audit)
		return;
	audit_tell_quotas(audit, now_ns, /* now: */ false);
	audit_check_tick(audit, now_ns);
	(void)audit_write_out(audit);
	audit_sync_tick(audit, now_ns);
	if (audit->ends_full || audit->ends_over)
		end_streams(audit);
}

bool audit_counts(const struct daemon *daemon, struct audit_counts *ret_counts)
{
	const struct audit *audit = daemon->audit;

	if (!audit)
		return false;
	*ret_counts = (struct audit_counts){
		.records = audit->records,
		.bytes = audit->bytes,
		.errors = audit->errors,
		.dropped = audit->dropped,
		.refused = audit->refused,
		.quota_dropped = audit->over_dropped,
		.quota_refused = audit->over_refused,
		.files = audit->file.count,
		.failing = audit_is_failing(audit),
	};
	return true;
}

json_t *audit_status_json(const struct daemon *daemon)
{
	const struct audit *audit = daemon->audit;
	char head[AUDIT_HEAD_TEXT_LEN];

	if (!audit)
		return json_null();
	audit_head_format(&audit->written, head);
	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:{s:I, s:I}}", "directory",
			 audit->file.dir, "head", head, "records", (json_int_t)audit->records,
			 "bytes", (json_int_t)audit->bytes, "files", (json_int_t)audit->file.count,
			 "failing", (int)audit_is_failing(audit), "errors",
			 (json_int_t)audit->errors, "dropped", (json_int_t)audit->dropped,
			 "refused", (json_int_t)audit->refused, "quota", "dropped",
			 (json_int_t)audit->over_dropped, "refused",
			 (json_int_t)audit->over_refused);
}

json_t *audit_head_json(struct daemon *daemon)
{
	struct audit *audit = daemon->audit;

	if (!audit)
		return json_null();
	audit_flush(audit);
	return json_pack("{s:I, s:s, s:s}", "seq", (json_int_t)audit->written.seq, "hash",
			 audit->written.hash, "directory", audit->file.dir);
}
