/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of an audit trail in its directory, named as core/audit_chain.h says, and
 * `lock`, which who writes holds.
 *
 * Invariants:
 *  R1. A file is only ever appended to; but a last line that a crash left without its end
 *      is cut off before.
 *  R2. The directory belongs to this user and nobody else may write into it; made here it
 *      has mode 0700, and files 0600.
 */
#ifndef SLUICE_DAEMON_AUDIT_FILE_H
#define SLUICE_DAEMON_AUDIT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"
#include "core/audit_chain.h"

#define AUDIT_DIR_MAX	256u
#define AUDIT_LOCK_NAME "lock"
/* Files that are kept, at most. */
#define AUDIT_KEEP_MAX 1000u

struct audit_file {
	char dir[AUDIT_DIR_MAX];
	int dir_fd, lock_fd;
	int fd; /* -1: none yet */
	uint64_t size;
	uint64_t firsts[AUDIT_KEEP_MAX + 1]; /* of the files that are there; the last is open */
	size_t count;
};

/* What a predecessor left. */
struct audit_left {
	struct audit_head head; /* seq 0: nothing */
	uint64_t torn;		/* bytes that were cut off */
	char torn_file[AUDIT_NAME_LEN];
};

/*
 * Makes the directory, and the one above it, where they are missing, takes the lock, opens
 * the newest file, if there is one. -EBUSY: somebody else writes there. -EBADMSG: its last
 * record is none. error has the line, in every case.
 */
int audit_file_open(struct audit_file *file, const char *dir, struct audit_left *ret_left,
		    char *error, size_t error_len) must_check;
void audit_file_close(struct audit_file *file);

/* The first number of the oldest file that is left once there is one more and keep are kept. */
uint64_t audit_file_oldest_of(const struct audit_file *file, uint64_t next, size_t keep);
/* Begins the file whose first record has that number. *ret_before: the one before, or -1. */
int audit_file_next(struct audit_file *file, uint64_t first, int *ret_before) must_check;
/* Removes the oldest ones but for keep. Returns how many could not be. */
size_t audit_file_prune(struct audit_file *file, size_t keep);
/*
 * Is the file where it was made, and as long as what was written? -ESTALE: another is there.
 * -EBADMSG: somebody else cut it or wrote to it. -ENOENT and others of stat(2).
 */
int audit_file_check(const struct audit_file *file) must_check;
/* Writes what the file takes: bytes, or -errno. */
ssize_t audit_file_write(struct audit_file *file, const char *text, size_t len) must_check;

#endif
