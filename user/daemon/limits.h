/* SPDX-License-Identifier: Apache-2.0 */
/* Every fixed bound of the daemon that no policy sets, in one place. Times in milliseconds. */
#ifndef SLUICE_DAEMON_LIMITS_H
#define SLUICE_DAEMON_LIMITS_H

/* An upstream that has not answered by then is `upstream_timeout`. */
#define LIMIT_CONNECT_MS 10000u
/*
 * How long released bytes of a refused flow, and a refusal, may take to be acknowledged
 * before the reset, and an agent that was refused to end its side.
 */
#define LIMIT_DRAIN_MS 2000u
/*
 * What is acknowledged lies in the receiver's kernel; a reset that overtakes its
 * program makes some programs leave it there. They get this long to read it.
 */
#define LIMIT_DRAIN_READ_MS 30u
/*
 * How long a stream that is complete may take to deliver its last bytes: a peer
 * that never reads them would keep it for ever.
 */
#define LIMIT_LINGER_MS 600000u
/*
 * An agent's socket that has been closed leaves no trace but the end of its flow,
 * and its peer may never end the other: a probe finds out, so often and so many
 * times. In seconds.
 */
#define LIMIT_PROBE_S	 15
#define LIMIT_PROBES_MAX 4
/* How long the streams of a finished run may take to deliver what the command sent. */
#define LIMIT_RUN_FINISH_MS 2000u
/* How long a peer may take to end a stream whose command is gone and has said all it had to say. */
#define LIMIT_RUN_SPENT_MS 500u
/* How long a graceful stop waits for the above; then it closes what is left. */
#define LIMIT_STOP_MS 3000u
/*
 * A handover: how long a successor may prepare, for how long of the waiting no stream begins
 * another message, how often it looks, and how long one of its messages may take.
 */
#define LIMIT_HANDOVER_PREPARE_MS 10000u
#define LIMIT_HANDOVER_PARK_MS	  1000u
#define LIMIT_HANDOVER_STEP_MS	  10u
#define LIMIT_HANDOVER_MS	  3000u
/* Timeouts of messages and holds are looked at this often. */
#define LIMIT_TICK_MS 250u
/* Closing streams and finishing runs are looked at this often while they are young. */
#define LIMIT_STEP_MS  5u
#define LIMIT_YOUNG_MS 1000u
/* What the self-test waits for payload that must not come. */
#define LIMIT_SELFTEST_MS 30u
/* Accepting rests this long where the process or the machine is out of descriptors. */
#define LIMIT_ACCEPT_REST_MS 100u
/* Route notifications come in bursts: one look per burst. */
#define LIMIT_ROUTES_MS 50u

/* Descriptors that are not streams: control clients, listeners, maps, links of watched cgroups. */
#define LIMIT_RESERVED_FILES 256u
#define LIMIT_FILES_WANTED   262144u
/* Listeners have descriptors of this number and up, where there are so many. */
#define LIMIT_LISTENER_FILE 16000u
#define LIMIT_ACCEPT_BATCH  64u
#define LIMIT_BACKLOG	    4096

/* One read of a callback; a flow that has more waits for its next turn. */
#define LIMIT_READ_BUDGET (4u << 20)
/* A relayed flow stops reading when this much waits for its receiver. */
#define LIMIT_RELAY_HOLD (4u << 20)
/* Memory of the judging of a flow that does not count as held. */
#define LIMIT_JUDGING_FREE (16u << 10)
/* Units framed but not yet cleared, per flow. */
#define LIMIT_PENDING_UNITS 65536u
/* Writes ahead of the release offset, per flow: each costs the kernel a packet buffer. */
#define LIMIT_AHEAD_WRITES 512u

/* Control: a request line has room for a policy; an answer that nobody reads ends its client. */
#define LIMIT_CONTROL_LINE    (8u << 20)
#define LIMIT_CONTROL_UNREAD  (64u << 20)
#define LIMIT_CONTROL_CLIENTS 64u
/* Of these, how many may be others' than root, and how many one user's of those. */
#define LIMIT_CONTROL_OTHERS	32u
#define LIMIT_CONTROL_OTHERS_OF 8u
/* Refused calls recorded per second; what is over is counted, and told by the next record. */
#define LIMIT_CONTROL_REFUSALS 10u
/* What an observer has not read of the events, in bytes; beyond it events are dropped for it. */
#define LIMIT_FEED_UNREAD (256u << 10)
#define LIMIT_POLICY_TEXT (4u << 20)
/* Names of policies; each keeps its policy in memory, in use or not. */
#define LIMIT_POLICY_NAMES 256u

/*
 * Web: clients served at once; bytes of a request, head and body; what of an answer that is made
 * in pieces waits unread; how long a client has for its next request and for reading the answer,
 * and how often that is looked at.
 */
#define LIMIT_WEB_CLIENTS  32u
#define LIMIT_WEB_REQUEST  16384u
#define LIMIT_WEB_UNREAD   (256u << 10)
#define LIMIT_WEB_IDLE_S   10
#define LIMIT_WEB_SWEEP_MS 250u

/*
 * Audit: records wait in the buffer until the end of a turn of the loop, or until there is a
 * batch of them; of those that cannot be written, the backlog is kept. In bytes.
 */
#define LIMIT_AUDIT_BUFFER  (1u << 20)
#define LIMIT_AUDIT_BATCH   (256u << 10)
#define LIMIT_AUDIT_BACKLOG (64u << 10)
/* What a successor reads of the end: all that was written at once, and what starts wrote since. */
#define LIMIT_AUDIT_TAIL (LIMIT_AUDIT_BUFFER + (256u << 10))
/* What is written is synced, the file looked at, and the head told this often. */
#define LIMIT_AUDIT_SYNC_MS  1000u
#define LIMIT_AUDIT_CHECK_MS 1000u
#define LIMIT_AUDIT_HEAD_MS  10000u
/* A file's size and how many are kept, unless the command line says otherwise. */
#define LIMIT_AUDIT_FILE_BYTES (64ull << 20)
#define LIMIT_AUDIT_FILES      16u
/* Bytes an hour of a cgroup whose policy is not known. */
#define LIMIT_AUDIT_QUOTA (64ull << 20)

/* Different reasons counted by name. */
#define LIMIT_REASONS 1024u
/* Lines about settled streams per second; what is over is counted and said in one line. */
#define LIMIT_SETTLE_LINES 50u
/* Rounds of looking for sockets that live processes held before their cgroup was watched. */
#define LIMIT_DESTROY_ROUNDS 10u

/* Questions to interceptors that are out at once, of all tasks. */
#define LIMIT_QUESTIONS 512u
/* Of those that found an interceptor's Unix socket full, how soon they begin again. */
#define LIMIT_ROOM_MS 10u
/* What an interceptor is still to be told, and nobody waits for; more is not told. */
#define LIMIT_NOTES 64u

#endif
