/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/audit_internal.h"
#include "daemon/daemon.h"
#include "daemon/ledger.h"
#include "daemon/limits.h"
#include "daemon/reason.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/log.h"

bool audit_is_failing(const struct audit *audit)
{
	return audit->error || audit->sync_error;
}

void audit_wake(struct audit *audit)
{
	if (audit->following)
		event_active(&audit->flush, EV_TIMEOUT, 0);
}

static void fail(struct audit *audit, int error, bool sync)
{
	bool failed = audit_is_failing(audit);

	if (sync)
		audit->sync_error = error;
	else
		audit->error = error;
	audit->errors++;
	if (failed)
		return;
	log_errno(LOG_ERR, error,
		  "audit trail '%s' cannot be written: streams whose policy does not say "
		  "'on_full: drop' are ended and refused",
		  audit->file.dir);
	audit->ends_full = true;
	audit_wake(audit);
}

/* What was lost meanwhile is told first. */
static void recover(struct audit *audit)
{
	struct audit_loss loss = {
		.reason = reason_name(REASON_AUDIT_FULL),
		.records = audit->dropped_untold,
		.streams = audit->refused_untold,
	};
	struct audit_line line;

	log_notice("audit trail '%s' can be written again", audit->file.dir);
	if ((!loss.records && !loss.streams) || !audit_begin(audit, &line))
		return;
	audit_record_dropped(&line, &audit->stamp, &loss);
	if (audit_end(audit, &line))
		audit->dropped_untold = audit->refused_untold = 0;
}

static void sync_file(struct audit *audit, int fd, bool last, bool tell)
{
	struct audit_syncer_job job = {.fd = fd, .last = last};

	if (tell)
		job.head = audit->written;
	if (audit->running && !audit_syncer_give(&audit->syncer, &job))
		return;
	if (fdatasync(fd))
		fail(audit, -errno, /* sync: */ true);
	if (last)
		(void)close(fd);
}

/* Begins the next file where this one is full; where it cannot, this one grows. */
static int next_file(struct audit *audit)
{
	uint64_t seq = audit->chain.head.seq + 1;
	uint64_t oldest = audit_file_oldest_of(&audit->file, seq, audit->keep);
	struct audit_line line;
	int before = -1, dir, r;

	r = audit_file_next(&audit->file, seq, &before);
	if (r)
		return r;
	if (!audit_begin(audit, &line))
		return -ENOSPC;
	audit_record_file(&line, &audit->stamp, audit->chain.head.hash, oldest);
	(void)audit_end(audit, &line);
	if (before >= 0)
		sync_file(audit, before, /* last: */ true, /* tell: */ true);
	dir = fcntl(audit->file.dir_fd, F_DUPFD_CLOEXEC, 0);
	if (dir >= 0)
		sync_file(audit, dir, /* last: */ true, /* tell: */ false);
	return 0;
}

/* What the file does not take stays, and stays in order. */
static int write_out(struct audit *audit)
{
	bool failed = audit->error;

	while (audit->sent < audit->used) {
		ssize_t n = audit_file_write(&audit->file, audit->buffer + audit->sent,
					     audit->used - audit->sent);

		if (n < 0) {
			audit->used -= audit->sent;
			(void)memmove(audit->buffer, audit->buffer + audit->sent, audit->used);
			audit->sent = 0;
			fail(audit, (int)n, /* sync: */ false);
			return (int)n;
		}
		audit->sent += (size_t)n;
		audit->unsynced = true;
	}
	audit->used = audit->sent = 0;
	audit->written = audit->chain.head;
	ledger_publish(audit->daemon);
	audit->error = 0;
	if (failed && !audit_is_failing(audit))
		recover(audit);
	return 0;
}

/* Writes; begins the next file where it is time. */
static int flush(struct audit *audit)
{
	int r = write_out(audit);

	if (r || audit->file.size < audit->size_max)
		return r;
	r = next_file(audit);
	if (r) {
		audit->errors++;
		if (!audit->grows)
			log_errno(LOG_WARNING, r,
				  "audit trail '%s': no next file can be made, the last one grows",
				  audit->file.dir);
		audit->grows = true;
		return 0;
	}
	audit->grows = false;
	r = write_out(audit);
	/* Once the record that says so is there. */
	if (!r && audit_file_prune(&audit->file, audit->keep))
		log_warning("audit trail '%s': an old file could not be removed, continuing",
			    audit->file.dir);
	return r;
}

void audit_flush(struct audit *audit)
{
	if (!audit->error)
		(void)flush(audit);
}

bool audit_begin(struct audit *audit, struct audit_line *line)
{
	size_t room = audit_is_failing(audit) ? LIMIT_AUDIT_BACKLOG : LIMIT_AUDIT_BUFFER;

	if (audit->used + AUDIT_RECORD_MAX > room) {
		audit->dropped++;
		audit->dropped_untold++;
		return false;
	}
	audit->stamp.seq = audit->chain.head.seq + 1;
	(void)clock_gettime(CLOCK_REALTIME, &audit->stamp.time);
	*line = (struct audit_line){.text = audit->buffer + audit->used};
	return true;
}

size_t audit_end(struct audit *audit, const struct audit_line *line)
{
	size_t len = line->len + AUDIT_SEAL_LEN;

	if (audit_chain_seal(&audit->chain, line->text, line->len)) {
		audit->dropped++;
		audit->dropped_untold++;
		return 0;
	}
	audit->used += len;
	audit->records++;
	audit->bytes += len;
	if (!audit->error &&
	    (audit->used > LIMIT_AUDIT_BATCH ||
	     audit->file.size + audit->used >= audit->size_max) &&
	    audit->file.size)
		(void)flush(audit);
	else
		audit_wake(audit);
	return len;
}

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
		r = next_file(audit);
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
		r = flush(audit);
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

void audit_started(struct daemon *daemon)
{
	struct audit *audit = daemon->audit;
	struct audit_line line;

	if (!audit)
		return;
	audit->running = true;
	if (!audit_begin(audit, &line))
		return;
	audit_record_started(&line, &audit->stamp, daemon->options->name, (uint32_t)getpid(),
			     audit->continues);
	(void)audit_end(audit, &line);
}

int audit_write(struct daemon *daemon)
{
	return daemon->audit ? flush(daemon->audit) : 0;
}

bool audit_is_told(const struct daemon *daemon, uint64_t stream, const uint64_t *session)
{
	return daemon->audit && audit_tail_has(&daemon->audit->tail, stream, session);
}

int audit_sync(struct daemon *daemon)
{
	struct audit *audit = daemon->audit;
	int r;

	if (!audit)
		return 0;
	r = flush(audit);
	if (r)
		return r;
	return fdatasync(audit->file.fd) ? -errno : 0;
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
	r = flush(audit);
	if (r)
		log_errno(LOG_ERR, r, "audit trail '%s': the last records are lost",
			  audit->file.dir);
	if (audit->following)
		(void)event_del(&audit->flush);
	sync_file(audit, take_fd(audit->file.fd), /* last: */ true, /* tell: */ true);
	if (audit->running) {
		audit_head_format(&audit->written, head);
		log_message(daemon->options->private_daemon ? LOG_DEBUG : LOG_INFO, "audit head %s",
			    head);
	}
	free_audit(audit);
	daemon->audit = NULL;
}

/* Once a second, and not while the last one still runs. */
static void sync_tick(struct audit *audit, uint64_t now_ns)
{
	bool idle, tell;
	int r = audit_syncer_result(&audit->syncer, &idle), fd;

	if (!idle || now_ns - audit->synced_ns < LIMIT_AUDIT_SYNC_MS * CLOCK_NS_PER_MS)
		return;
	if (r)
		fail(audit, r, /* sync: */ true);
	else if (audit->sync_error) {
		audit->sync_error = 0;
		if (!audit->error)
			recover(audit);
	}
	if (!audit->unsynced && !r)
		return;
	fd = fcntl(audit->file.fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return;
	tell = !audit->told_ns || now_ns - audit->told_ns >= LIMIT_AUDIT_HEAD_MS * CLOCK_NS_PER_MS;
	if (tell)
		audit->told_ns = now_ns;
	audit->synced_ns = now_ns;
	audit->unsynced = false;
	sync_file(audit, fd, /* last: */ true, tell);
}

void audit_tick(struct daemon *daemon, uint64_t now_ns)
{
	struct audit *audit = daemon->audit;

	if (!audit)
		return;
	audit_tell_quotas(audit, now_ns, /* now: */ false);
	(void)flush(audit);
	sync_tick(audit, now_ns);
	if (audit->ends_full || audit->ends_over)
		end_streams(audit);
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
