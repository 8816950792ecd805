/* SPDX-License-Identifier: Apache-2.0 */
/* Audit: records on their way to the disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/audit_internal.h"
#include "daemon/daemon.h"
#include "daemon/ledger.h"
#include "daemon/limits.h"
#include "daemon/reason.h"
#include "sys/clock.h"
#include "sys/log.h"

bool audit_is_failing(const struct audit *audit)
{
	return audit->error || audit->sync_error || audit->lost;
}

void audit_wake(struct audit *audit)
{
	if (audit->following)
		event_active(&audit->flush, EV_TIMEOUT, 0);
}

static bool begin(struct audit *audit, size_t room, struct audit_line *line)
{
	if (audit->used + AUDIT_RECORD_MAX > room)
		return false;
	audit->stamp.seq = audit->chain.head.seq + 1;
	(void)clock_gettime(CLOCK_REALTIME, &audit->stamp.time);
	*line = (struct audit_line){.text = audit->buffer + audit->used};
	return true;
}

bool audit_begin(struct audit *audit, struct audit_line *line)
{
	size_t room = audit_is_failing(audit) ? LIMIT_AUDIT_BACKLOG : LIMIT_AUDIT_BUFFER;

	if (begin(audit, room, line))
		return true;
	audit->dropped++;
	audit->dropped_untold++;
	return false;
}

/* It waits in the buffer; 0: it was dropped. */
static size_t seal(struct audit *audit, const struct audit_line *line)
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
	return len;
}

/* error: which of the trail's. False: it was failing already, and that was said. */
static bool fail(struct audit *audit, int *error, int r)
{
	bool failed = audit_is_failing(audit);

	*error = r;
	audit->errors++;
	if (failed)
		return false;
	audit->ends_full = true;
	audit_wake(audit);
	return true;
}

static void fail_to_write(struct audit *audit, int *error, int r)
{
	if (!fail(audit, error, r))
		return;
	log_errno(LOG_ERR, r,
		  "audit trail '%s' cannot be written: streams whose policy does not say "
		  "'on_full: drop' are ended and refused",
		  audit->file.dir);
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
	if (seal(audit, &line))
		audit->dropped_untold = audit->refused_untold = 0;
}

void audit_sync_file(struct audit *audit, int fd, bool last, bool tell)
{
	struct audit_syncer_job job = {.fd = fd, .last = last};

	if (tell)
		job.head = audit->written;
	/* Too many wait at the end alone, when there is time. */
	if (audit->running && !audit_syncer_give(&audit->syncer, &job))
		return;
	if (fdatasync(fd))
		fail_to_write(audit, &audit->sync_error, -errno);
	if (last)
		(void)close(fd);
}

int audit_next_file(struct audit *audit)
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
	(void)seal(audit, &line);
	if (before >= 0)
		audit_sync_file(audit, before, /* last: */ true, /* tell: */ true);
	dir = fcntl(audit->file.dir_fd, F_DUPFD_CLOEXEC, 0);
	if (dir >= 0)
		audit_sync_file(audit, dir, /* last: */ true, /* tell: */ false);
	return 0;
}

/*
 * Where there is no room the oldest file goes, but never more than one of those that are to be
 * kept: who fills the disk from elsewhere does not empty the trail.
 */
static bool make_room(struct audit *audit, int error)
{
	struct audit_line line;

	if ((error != -ENOSPC && error != -EDQUOT) || audit->file.count < audit->keep ||
	    !begin(audit, LIMIT_AUDIT_BUFFER, &line) ||
	    audit_file_prune(&audit->file, audit->file.count - 1))
		return false;
	log_notice("audit trail '%s': there was no room, its oldest file was removed",
		   audit->file.dir);
	audit_record_pruned(&line, &audit->stamp, audit->file.firsts[0]);
	(void)seal(audit, &line);
	return true;
}

/* What the file does not take stays, and stays in order. */
static int write_buffer(struct audit *audit)
{
	bool failed = audit->error;

	if (audit->lost)
		return audit->lost;
	while (audit->sent < audit->used) {
		ssize_t n = audit_file_write(&audit->file, audit->buffer + audit->sent,
					     audit->used - audit->sent);

		if (n < 0 && make_room(audit, (int)n))
			continue;
		if (n < 0) {
			audit->used -= audit->sent;
			(void)memmove(audit->buffer, audit->buffer + audit->sent, audit->used);
			audit->sent = 0;
			fail_to_write(audit, &audit->error, (int)n);
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

int audit_write_out(struct audit *audit)
{
	int r = write_buffer(audit);

	/* Where the disk is slow it grows until the syncer has time for it. */
	if (r || audit->file.size < audit->size_max || audit_syncer_is_busy(&audit->syncer))
		return r;
	r = audit_next_file(audit);
	if (r && make_room(audit, r))
		r = audit_next_file(audit);
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
	r = write_buffer(audit);
	/* Once the record that says so is there. */
	if (!r && audit_file_prune(&audit->file, audit->keep))
		log_warning("audit trail '%s': an old file could not be removed, continuing",
			    audit->file.dir);
	return r;
}

void audit_flush(struct audit *audit)
{
	if (!audit->error)
		(void)audit_write_out(audit);
}

size_t audit_end(struct audit *audit, const struct audit_line *line)
{
	size_t len = seal(audit, line);

	if (!audit->error &&
	    (audit->used > LIMIT_AUDIT_BATCH ||
	     audit->file.size + audit->used >= audit->size_max) &&
	    audit->file.size)
		(void)audit_write_out(audit);
	else
		audit_wake(audit);
	return len;
}

void audit_sync_tick(struct audit *audit, uint64_t now_ns)
{
	bool idle, tell;
	int r = audit_syncer_result(&audit->syncer, &idle), fd;

	if (!idle || now_ns - audit->synced_ns < LIMIT_AUDIT_SYNC_MS * CLOCK_NS_PER_MS)
		return;
	if (r)
		fail_to_write(audit, &audit->sync_error, r);
	else if (audit->sync_error) {
		audit->sync_error = 0;
		if (!audit_is_failing(audit))
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
	audit_sync_file(audit, fd, /* last: */ true, tell);
}

static const char *lost_how(int r)
{
	if (r == -ESTALE)
		return "another stands in its place";
	return r == -EBADMSG ? "somebody else cut it or wrote to it" : strerror(-r);
}

void audit_check_tick(struct audit *audit, uint64_t now_ns)
{
	char name[AUDIT_NAME_LEN];
	int r;

	if (now_ns - audit->checked_ns < LIMIT_AUDIT_CHECK_MS * CLOCK_NS_PER_MS)
		return;
	audit->checked_ns = now_ns;
	r = audit_file_check(&audit->file);
	if (!r == !audit->lost)
		return;
	if (r) {
		audit_name_format(audit->file.firsts[audit->file.count - 1], name);
		log_error("audit trail '%s': its file '%s' is lost: %s; until it is as it was, or "
			  "a new start, streams whose policy does not say 'on_full: drop' are "
			  "ended and refused",
			  audit->file.dir, name, lost_how(r));
		(void)fail(audit, &audit->lost, r);
		return;
	}
	audit->lost = 0;
	if (!audit_is_failing(audit))
		recover(audit);
}
