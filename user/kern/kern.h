/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kern: the kernel side as the daemon sees it. The only user of libbpf and of
 * the skeleton; converts kernel facts to plain structs, decides nothing.
 *
 * Invariants:
 *  K1. Until kern_open has returned 0 nothing is attached; where it fails,
 *      nothing that it attached or pinned is left.
 *  K2. Everything is pinned below one directory (mode 0700) of this daemon's
 *      own; kern_close leaves the pins (a killed daemon and a closed one look
 *      the same to the kernel: closed), kern_remove takes them away, destroying
 *      every gated socket first and unpinning the gate last.
 *  K3. A slot is handed out with a generation no earlier user of it had in
 *      2^16 uses, and with release offset 0.
 *
 * One thread. Errors are -errno; opening and removing also give one line for the
 * operator. Needs CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON (the census),
 * CAP_SYS_ADMIN (programs by id) and CAP_DAC_READ_SEARCH (cgroups by id).
 * Silences libbpf's own messages.
 */
#ifndef SLUICE_KERN_KERN_H
#define SLUICE_KERN_KERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"
#include "sluice/abi.h"

struct kern;

struct kern_options {
	const char *pin_dir;  /* below a bpffs; created with mode 0700 */
	const char *instance; /* as the operator names it, for the line that says how to clear */
	const char *daemon_cgroup; /* path in cgroup v2; the caller is already in it */
	uint16_t listen_port;
	pid_t predecessor; /* lives, and hands its pins over; 0: none does */
};

/*
 * Loads the programs, adopts the pins of a dead predecessor of the same ABI (or
 * pins anew), attaches the gate to the daemon's cgroup. Watched cgroups of the
 * predecessor stay watched (kern_watches lists them).
 * -EBUSY: the pins belong to a live daemon. -EPROTO: to another ABI. -EPERM,
 * -EOPNOTSUPP: no privileges, or a kernel feature is missing. error (at least
 * 256 bytes) receives the line for the operator, with the command that helps.
 */
int kern_open(const struct kern_options *options, struct kern **ret_kern, char *error,
	      size_t error_len) must_check;
/*
 * The two steps of kern_open(). The first loads everything, and changes nothing that the
 * predecessor uses: until the second, which makes this process the owner, he goes on. Where he
 * hands over what is open, its routes and addresses stay, and kern_settle_left() destroys
 * nothing. Errors of either as kern_open(); after one of the second kern_close() remains.
 */
int kern_prepare(const struct kern_options *options, struct kern **ret_kern, char *error,
		 size_t error_len) must_check;
int kern_take(struct kern *kern, const struct kern_options *options, char *error,
	      size_t error_len) must_check;
/* Closes descriptors and leaves what is pinned. Accepts NULL. */
void kern_close(struct kern *kern);
/* The same, where a successor owns the pins already. Accepts NULL. */
void kern_leave(struct kern *kern);
/* Unwatches all, destroys every gated socket, unpins, the gate last; then as kern_close. */
int kern_remove(struct kern *kern);
/* Who is told of each cgroup that was watched, and is there still. */
struct kern_opened {
	const char *mount; /* of cgroup2 */
	void (*tell)(const char *path);
};
/*
 * As kern_remove(), for pins whose daemon is dead, whatever their ABI. opened may be NULL.
 * -EBUSY: the daemon is alive.
 */
int kern_remove_pins(const char *pin_dir, const struct kern_opened *opened, char *error,
		     size_t error_len);

/*
 * Sockets of the daemon: all take a descriptor of an AF_INET or AF_INET6 TCP socket
 * that was made after kern_open by a process inside the daemon's cgroup, or was
 * accepted by such a one. -EXDEV: it was not, and no gate would see what it sends.
 * -EINVAL for a listener that listens already and was not marked before it did.
 */
int kern_mark_listener(struct kern *kern, int fd) must_check; /* before listen() */
int kern_mark_exempt(struct kern *kern, int fd) must_check;
/* Binds a socket to a slot; before connect() on the upstream side. open: relayed only. */
int kern_mark_data(struct kern *kern, int fd, uint32_t slot, uint16_t generation, bool open,
		   uint64_t stream) must_check;
/* The origin that was moved into an accepted socket. -ENOENT: none (not a captured connection). */
int kern_accepted_origin(struct kern *kern, int fd, struct sluice_origin *ret_origin) must_check;
/* What the gate knows of a data socket. -ENOENT before it is established. */
int kern_gate_state(struct kern *kern, int fd, struct sluice_gate *ret_gate) must_check;

/* When a process began: clock ticks since boot (proc_pid_stat(5), field 22). -ESRCH. */
int kern_owner_start(pid_t pid, uint64_t *ret_start) must_check;

/* Slots. -ENOSPC: all in use. */
int kern_slot_take(struct kern *kern, uint32_t *ret_slot, uint16_t *ret_generation) must_check;
/* The slot's generation moves on at once: nothing more leaves by the old one. */
void kern_slot_give(struct kern *kern, uint32_t slot);
/* Publishes a release offset (bytes of the flow): one atomic store. Never lowers it. */
void kern_release(struct kern *kern, uint32_t slot, uint16_t generation, uint64_t offset);

/* getsockname() of the agent's socket: the upstream socket's local address. */
int kern_upstream_set(struct kern *kern, uint64_t stream, const struct sluice_address *local);
void kern_upstream_clear(struct kern *kern, uint64_t stream);

/* Open streams, for a successor. */
int kern_stream_record(struct kern *kern, uint64_t stream, const struct sluice_open_stream *open);
void kern_stream_forget(struct kern *kern, uint64_t stream);
/*
 * A stream that the predecessor handed over: kern_settle_left() leaves it alone, and its slots
 * stay taken. sockets: those that the request and the response are sent to. -ENOENT: it is not
 * among what was open. -EXDEV: a socket is not bound to the slot that its record names.
 */
int kern_stream_take(struct kern *kern, uint64_t stream, const int sockets[2],
		     struct sluice_open_stream *ret_open) must_check;
/*
 * The ledger of a flow: what a successor needs to settle it. Plain stores, of which a
 * kill leaves those that came before it (include/sluice/abi.h has their order). Without
 * effect where the slot has another generation by now.
 *
 * Bytes of the flow that came; told before they are judged.
 */
void kern_ledger_received(struct kern *kern, uint32_t slot, uint16_t generation, uint64_t bytes);
/* Those of them that may leave; told before kern_release(). */
void kern_ledger_released(struct kern *kern, uint32_t slot, uint16_t generation, uint64_t bytes);
/* Runes of a session on the flow's track; told before the bytes that they let go. */
void kern_ledger_runes(struct kern *kern, uint32_t slot, uint16_t generation, uint64_t session,
		       uint32_t received, uint32_t confirmed);
/* A session begins, before a byte of it may leave; numbers count up from 0. */
void kern_ledger_begin(struct kern *kern, uint32_t request_slot, uint16_t generation,
		       uint64_t session);
/* The oldest open session has ended, and whoever is to remember it knows. */
void kern_ledger_end(struct kern *kern, uint32_t response_slot, uint16_t generation,
		     uint64_t session);

/* What a predecessor left open: index 0 is the request track, 1 the response's. */
struct kern_left {
	const struct sluice_open_stream *open;
	uint64_t received[2], released[2]; /* bytes */
	uint64_t first_session;		   /* the oldest open one's number */
	unsigned int session_count;	   /* 0: none was open, or the stream has none */
};
struct kern_left_track {
	uint64_t received, confirmed; /* runes */
	bool known; /* false: that of a request which was whole, its runes not kept */
};
struct kern_left_session {
	uint64_t number;
	struct kern_left_track track[2];
};
/* Told of every open session of a stream, in order, and then of the stream. Errors stop. */
struct kern_settling {
	/* Was it told of before, the session or (NULL) the stream? Then it only ends. */
	bool (*is_told)(void *context, uint64_t stream, const uint64_t *session);
	int (*session)(void *context, const struct kern_left *left,
		       const struct kern_left_session *session);
	int (*stream)(void *context, const struct kern_left *left);
	void *context;
};
/*
 * Settles the streams a predecessor left open. Their gated sockets are destroyed first, and
 * what was told of before ends, all of it; then settling is told of each of the others, and
 * its record is deleted once it agreed. Where this process dies in between the next tells of
 * that stream once more, unless its is_told knows. To be called before the first listener
 * listens: a connection that waits to be accepted looks like an orphan.
 * Destroys in the calling thread's network namespace; elsewhere the slot keeps closed
 * what was held.
 */
int kern_settle_left(struct kern *kern, const struct kern_settling *settling) must_check;

/*
 * Policies, by number 1..SLUICE_POLICIES-1 (0 is no policy and refuses everything).
 * One that is in use denies everything while it is replaced. The policy number in
 * unix_keys is not read.
 */
int kern_policy_set(struct kern *kern, uint32_t policy, const struct sluice_policy *rules,
		    const struct sluice_unix_key *unix_keys, size_t unix_count) must_check;
void kern_policy_clear(struct kern *kern, uint32_t policy);

/*
 * Attaches capture and fence to a cgroup and pins the links.
 * -EEXIST: it, or one above or below it, is watched, by whichever daemon. -EBUSY:
 * it, or one above or below it, is the cgroup of a daemon. -ENOTDIR/-ENOENT: no
 * cgroup v2 directory. -ENOSPC. The id is the cgroup's, as in struct sluice_origin.
 */
int kern_watch(struct kern *kern, const char *cgroup, uint32_t policy, enum sluice_dns dns,
	       uint64_t *ret_id) must_check;
/*
 * What begins in a watched cgroup from now on is under that policy; what was captured
 * before keeps its number. -ENOENT: no such watch.
 */
int kern_watch_policy(struct kern *kern, uint64_t id, uint32_t policy,
		      enum sluice_dns dns) must_check;
/* Also where the cgroup is gone. -ENOENT: no such watch. */
int kern_unwatch(struct kern *kern, uint64_t id) must_check;
struct kern_watch_info {
	uint64_t id;
	uint32_t policy;
	int path_error; /* 0; -ESTALE: the cgroup is gone; else why its path is not known */
	char path[512]; /* empty with an error */
};
/* The watched cgroups; returns how many were written to list (at most max). */
size_t kern_watches(const struct kern *kern, struct kern_watch_info *list, size_t max);

/* Routes of the calling thread's network namespace: does any but loopback exist? */
int kern_route_set(struct kern *kern, int family, bool exists);

/* Both rings in one descriptor to poll; consume calls each for what is there, and counts. */
int kern_events_fd(const struct kern *kern);
int kern_events_consume(struct kern *kern,
			void (*each)(void *context, const struct sluice_event *event),
			void *context);

/* Sums over all CPUs. */
int kern_counters(const struct kern *kern, uint64_t ret_counters[_SLUICE_COUNTER_MAX]);
/* Of one watched cgroup, since it is watched: what was refused there, counted like the above. */
int kern_refusals(const struct kern *kern, uint64_t cgroup,
		  uint64_t ret_counters[_SLUICE_COUNTER_MAX]);
/* Lower-case name with underscores, as in metrics; never NULL. */
const char *kern_counter_name(enum sluice_counter counter);

/* For doctor: one row per kernel feature, in a fixed order; needs no struct kern. */
struct kern_feature {
	const char *name; /* "cgroup/connect4", "connect_unix", … */
	const char *use;  /* what it is for */
	const char *loss; /* what is lost without it */
	bool required;
	bool present;
	int error; /* errno of the probe */
};
size_t kern_probe(struct kern_feature *list, size_t max);

/*
 * Destroys the TCP and UDP sockets of the calling thread's network namespace
 * that have the given inode numbers (sock_diag(7) SOCK_DESTROY); *ret_left is
 * how many of them are still there. A bound UDP socket is disconnected, and
 * stays. A TCP socket that neither is connected nor listens cannot be found, and
 * one that was destroyed can be connected again by the hooks of the cgroup it was
 * made in: what matters is that it was made in the watched one.
 */
int kern_destroy_sockets(const uint64_t *inodes, size_t count, size_t *ret_left) must_check;

/*
 * Calls each for every descriptor of a socket that a process in the cgroup or
 * below it has, by a BPF iterator; stops where each returns other than 0, and
 * returns that. Sees the processes of the caller's process-id namespace. What
 * lies in flight inside a Unix socket, or is registered with an io_uring, has no
 * descriptor, and a thread whose process is outside (threaded cgroups) is not
 * looked at. Any error means that not all was seen.
 */
int kern_census(uint64_t cgroup, int (*each)(void *context, const struct sluice_census *record),
		void *context) must_check;

#endif
