/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between a daemon and its successor, on a Unix socket that keeps them apart
 * (SOCK_SEQPACKET): a head, a body of the length that it names, and descriptors. Both sides are
 * of one machine and one version of these structs, which the head says: nothing is converted,
 * no struct has padding that the compiler chose, and none has a pointer.
 *
 *  successor                     daemon
 *  HELLO                         who is it, and how long may the daemon wait
 *                                WELCOME, or REFUSED
 *  PREPARED                      everything that may fail was tried; the daemon goes on serving
 *                                until its streams are between two messages, or the time is up
 *                                LISTENERS, then POLICY + BYTES of each that a stream has or
 *                                whose number rests, STREAM + BYTES of each stream, RUN of each
 *                                run that somebody waits for, then END: nothing is read or
 *                                accepted meanwhile
 *  READY                         all of it is there, and fits together
 *                                COMMIT: from here on the instance is the successor's
 *
 * Up to COMMIT the daemon goes on as if nothing had been, where the other side goes away or
 * says REFUSED with a line why, or where everything from LISTENERS to READY takes longer than
 * LIMIT_HANDOVER_MS. For COMMIT the successor waits as long as the daemon lives.
 *
 * Units: bytes of the flow, nanoseconds of the boot clock.
 */
#ifndef SLUICE_DAEMON_HANDOVER_WIRE_H
#define SLUICE_DAEMON_HANDOVER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/session.h"
#include "core/sha256.h"

#define HANDOVER_MAGIC	 0x53484f56u
#define HANDOVER_VERSION 1u
/* Of one body: what is longer comes in several messages BYTES. */
#define HANDOVER_BODY_MAX 65536u
#define HANDOVER_FDS_MAX  4u
#define HANDOVER_NAME_MAX 68u
#define HANDOVER_PATH_MAX 108u
#define HANDOVER_LINE_MAX 256u

enum handover_type {
	HANDOVER_HELLO = 1,
	HANDOVER_WELCOME,
	HANDOVER_PREPARED,
	HANDOVER_LISTENERS,
	HANDOVER_POLICY,
	HANDOVER_STREAM,
	HANDOVER_BYTES,
	HANDOVER_RUN,
	HANDOVER_END,
	HANDOVER_READY,
	HANDOVER_COMMIT,
	HANDOVER_REFUSED,
	_HANDOVER_TYPE_MAX,
};

struct handover_head {
	uint32_t magic;
	uint16_t version;
	uint16_t type; /* enum handover_type */
	uint32_t len;  /* of the body */
	uint32_t reserved;
};
_Static_assert(sizeof(struct handover_head) == 16, "handover_head");

struct handover_hello {
	uint32_t abi;	  /* SLUICE_ABI_VERSION */
	uint32_t wait_ms; /* for streams amid a message */
	char instance[HANDOVER_NAME_MAX];
	uint32_t port; /* of the listeners, as the command line has it */
};
_Static_assert(sizeof(struct handover_hello) == 80, "handover_hello");

struct handover_welcome {
	uint64_t watchdog_us;		   /* 0: nobody asks for signs of life */
	uint64_t audit_device, audit_file; /* of the lock of its audit trail; 0: it keeps none */
	uint32_t pid;
	char notify[HANDOVER_PATH_MAX]; /* socket of the service manager, "" without */
};
_Static_assert(sizeof(struct handover_welcome) == 136, "handover_welcome");

struct handover_prepared {
	uint64_t streams_max;
};

/* With the descriptors of the lock, of standard error, and of what listens on v4 and on v6. */
struct handover_listeners {
	uint64_t streams;  /* that follow */
	uint32_t policies; /* the same */
	uint16_t port;
	uint8_t v4, v6; /* it listens there */
};
_Static_assert(sizeof(struct handover_listeners) == 16, "handover_listeners");

struct handover_policy {
	uint64_t len; /* of the text */
	char digest[SHA256_HEX_SIZE];
	uint8_t reserved[3];
	uint32_t number; /* under which it rests (daemon/policies.h, O1); 0: it does not */
};
_Static_assert(sizeof(struct handover_policy) == 80, "handover_policy");

/*
 * A flow between two messages: all that is framed is released. The bytes from `sent` to
 * `received` follow; those from `framed` on are a part of a message, of which
 * partial_buffer_state_hash and the other elements are told. Of a relayed flow all is framed.
 */
struct handover_flow {
	uint64_t received, released, sent, framed;
	uint64_t runes, released_runes;
	uint64_t last_byte_ns, unit_ns; /* when it last came; when the part began */
	uint64_t expected;		/* size of the message, 0: not known */
	uint8_t ended, shut;		/* the source has; the sink was told */
	char hash[SHA256_HEX_SIZE];	/* SHA-256 of the part, "" where there is none */
	uint8_t reserved[5];
};
_Static_assert(sizeof(struct handover_flow) == 144, "handover_flow");

/* With the descriptors of the agent's side and of the upstream's. The rest is in the kernel. */
struct handover_stream {
	uint64_t stream;
	uint64_t next; /* number of the next session that begins */
	uint64_t told; /* those below it are in the trail */
	uint64_t sessions[_SESSION_END_MAX];
	uint64_t asked;
	uint64_t deadline_ns; /* while it connects */
	uint32_t framing;     /* enum framing_kind, where it was told by the first bytes */
	uint8_t identified;   /* it was */
	uint8_t connecting, unjudged, over_quota;
	char policy[SHA256_HEX_SIZE]; /* digest of its text */
	uint8_t reserved[7];
	struct handover_flow flows[_SESSION_TRACK_MAX];
};
_Static_assert(sizeof(struct handover_stream) == 448, "handover_stream");

/* With the descriptor of the client that owns the run. */
struct handover_run {
	uint64_t cgroup; /* its id */
};

struct handover_commit {
	uint64_t settled; /* what could not be handed over */
};

/* One that came. Descriptors are the reader's; handover_message_done() closes those left. */
struct handover_message {
	enum handover_type type;
	size_t len;
	size_t fd_count;
	int fds[HANDOVER_FDS_MAX];
	union {
		struct handover_hello hello;
		struct handover_welcome welcome;
		struct handover_prepared prepared;
		struct handover_listeners listeners;
		struct handover_policy policy;
		struct handover_stream stream;
		struct handover_run run;
		struct handover_commit commit;
		char line[HANDOVER_LINE_MAX];
		uint8_t bytes[HANDOVER_BODY_MAX];
	};
};

void handover_message_done(struct handover_message *message);

/* Waits for room as long as the socket's limit says: -ETIMEDOUT. -EPIPE: nobody is there. */
int handover_send(int fd, enum handover_type type, const void *body, size_t len, const int *fds,
		  size_t fd_count) must_check;
/*
 * Waits likewise. -ECONNRESET: the other side is gone. -EMFILE: no room for its descriptors, of
 * which none is left open. -EPROTO: no message, one of another version, or one whose length is
 * not that of its type.
 */
int handover_receive(int fd, struct handover_message *ret_message) must_check;
/* The same, where nothing but that type may come: -EPROTO, or -EREMOTEIO after REFUSED. */
int handover_expect(int fd, enum handover_type type,
		    struct handover_message *ret_message) must_check;

/* Do its numbers fit each other? Texts end, offsets are in order, flags are 0 or 1. */
bool handover_stream_is_sane(const struct handover_stream *stream);
/* How long the socket waits at most. -errno. */
int handover_set_patience(int fd, uint64_t ms) must_check;

#endif
