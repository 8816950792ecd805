/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain of an audit trail, and its verification: bytes in, a finding out.
 *
 * A record is one line, a JSON object (RFC 8259) whose members stand in a fixed order:
 *
 *	{"seq":N,"time":"T","event":"E", … ,"hash":"H"}
 *
 * N counts the records from 1. H is the SHA-256, in 64 lower-case hexadecimal digits, of the
 * record before's H (its 64 digits; of the first record AUDIT_GENESIS) and, behind it, of the
 * bytes of this line from its `{` to before the `,` in front of "hash". The line ends in LF.
 *
 * The first record of every file has the event "file":
 *
 *	{"seq":N,"time":"T","event":"file","version":1,"previous":"P","oldest":O,"hash":"H"}
 *
 * P is the H that the file before ended with, so that a file can be verified without it; O is
 * the first N of the oldest file that is kept. Where one more had to make room for records the
 * event is "pruned", and its one member O:
 *
 *	{"seq":N,"time":"T","event":"pruned","oldest":O,"hash":"H"}
 *
 * Without a head from elsewhere this finds every change of a record, one more and one less
 * between two, their order, and a file between two. It cannot find a trail that was cut after
 * a whole record, nor one that was written anew: whoever may write can compute hashes. A head
 * that was kept elsewhere finds both.
 */
#ifndef SLUICE_CORE_AUDIT_CHAIN_H
#define SLUICE_CORE_AUDIT_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/sha256.h"

#define AUDIT_VERSION 1u
#define AUDIT_GENESIS "0000000000000000000000000000000000000000000000000000000000000000"
/* Bytes of a record at most, and of what the chain adds to it: ,"hash":"H"} and LF. */
#define AUDIT_RECORD_MAX 4096u
#define AUDIT_SEAL_LEN	 76u

/* The last record of a trail: what is kept elsewhere, as SEQ:HASH. */
struct audit_head {
	uint64_t seq; /* 0: no record yet */
	char hash[SHA256_HEX_SIZE];
};

#define AUDIT_HEAD_TEXT_LEN (20 + 1 + SHA256_HEX_SIZE)

void audit_head_init(struct audit_head *head);
/* "SEQ:HASH"; -EINVAL: it is none. */
int audit_head_parse(const char *text, struct audit_head *ret_head) must_check;
void audit_head_format(const struct audit_head *head, char ret_text[static AUDIT_HEAD_TEXT_LEN]);

/* A file's name: audit-N.jsonl, N its first record's number in 20 digits. */
#define AUDIT_NAME_LEN sizeof("audit-00000000000000000000.jsonl")

void audit_name_format(uint64_t first, char ret_name[static AUDIT_NAME_LEN]);
/* The number in it; 0: it is no such name. */
uint64_t audit_name_first(const char *name);

struct audit_chain {
	struct audit_head head;
	struct sha256 sha256;
};

/* Goes on behind that head. -ENOMEM, -EIO. */
int audit_chain_init(struct audit_chain *chain, const struct audit_head *head) must_check;
void audit_chain_done(struct audit_chain *chain);
/*
 * Ends a record of number head.seq + 1: record is its line up to its last member but "hash",
 * len bytes, and has room for AUDIT_SEAL_LEN more. -EIO: the chain is as it was.
 */
int audit_chain_seal(struct audit_chain *chain, char *record, size_t len) must_check;

/* What a line of a trail says of itself. -EINVAL: it is no record. len: with its LF. */
int audit_record_head(const char *line, size_t len, struct audit_head *ret_head) must_check;

/* What is wrong with a line, or with the end. */
enum audit_fault {
	AUDIT_OK,
	AUDIT_NO_MEMORY,    /* or the digest could not be had: nothing is known of the trail */
	AUDIT_CUT_OFF,	    /* the line has no end */
	AUDIT_NO_RECORD,    /* not of the form above */
	AUDIT_MISSING,	    /* records are missing before it */
	AUDIT_OUT_OF_ORDER, /* one was inserted, repeated or moved */
	AUDIT_CHANGED,	    /* it was changed, or the one before it was replaced */
	AUDIT_NO_BEGINNING, /* the first of a file is no such record, or follows another one */
	AUDIT_REWRITTEN,    /* it is not the record that the head was taken of */
	AUDIT_TRUNCATED,    /* the trail ends before the record that the head was taken of */
	AUDIT_HEAD_GONE,    /* that record is older than what is there */
	AUDIT_OLDEST_GONE,  /* the trail's own oldest file is not there */
	AUDIT_MISNAMED,	    /* the file's name has another number than its first record */
	AUDIT_EMPTY,
	_AUDIT_FAULT_MAX,
};

struct audit_verifier {
	struct sha256 sha256;
	struct audit_head last; /* record seen; before the first one, what it has to follow */
	uint64_t first;		/* number of the first one seen; 0: none */
	uint64_t oldest;	/* as was said last */
	struct audit_head want; /* seq 0: none */
	bool met;		/* the record of that number was seen, and is the one */
	uint64_t found;		/* the number of the record at fault, where it has one */
};

/* head: of elsewhere, or NULL. -ENOMEM, -EIO. */
int audit_verifier_init(struct audit_verifier *verifier, const struct audit_head *head) must_check;
void audit_verifier_done(struct audit_verifier *verifier);
/*
 * The next line, with its LF where it has one; begins: it is the first of a file. After a
 * fault there is nothing more to ask.
 */
enum audit_fault audit_verifier_line(struct audit_verifier *verifier, const char *line, size_t len,
				     bool begins) must_check;
/* The trail ended there; whole: it was a directory, and not some files of it. */
enum audit_fault audit_verifier_end(struct audit_verifier *verifier, bool whole) must_check;

/* A sentence without its end, never NULL. */
const char *audit_fault_text(enum audit_fault fault);
/* A lower-case name, never NULL. */
const char *audit_fault_name(enum audit_fault fault);

#endif
