/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kern's inside: what its files share. One file per purpose:
 *
 *  open.c      load or adopt, attach, pin; all or nothing
 *  owner.c     who owns pins, and whether he lives
 *  pins.c      the directory of the pins
 *  hooks.c     programs, their attach types, links
 *  cgroup.c    cgroups by path and by id, and what is attached to them
 *  watch.c     watched cgroups
 *  slots.c     the release array
 *  ledgers.c   what the flows have counted, for a successor
 *  sockets.c   marks of the daemon's sockets
 *  streams.c   what is open, and what a predecessor left open
 *  policy.c    policies
 *  routes.c    routes and network namespaces
 *  events.c    rings
 *  counters.c  counters and their names
 *  diag.c      sock_diag: finding and destroying sockets
 *  census.c    what sockets the processes of a cgroup have, and where they were made
 *  probe.c     what the kernel can do
 *  remove.c    taking it all away again
 *
 * The directory of the pins, whose files are hidden from every user but root:
 *
 *  NAME           a map, by its name; `config` is pinned last and says that all is there
 *  gate/ID/HOOK   links of the gate, ID being the daemon's cgroup
 *  watch/ID/HOOK  links of capture and fence, ID being the watched cgroup
 */
#ifndef SLUICE_KERN_INTERNAL_H
#define SLUICE_KERN_INTERNAL_H

#include <limits.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kern/kern.h"
#include "bpf/sluice.skel.h"

/* Attach types that the headers of the oldest supported system do not name. */
#define KERN_ATTACH_UNIX_CONNECT 49 /* BPF_CGROUP_UNIX_CONNECT, since 6.7 */
#define KERN_ATTACH_UNIX_SENDMSG 50

struct kern_slots {
	uint64_t *words; /* the mapped array */
	uint32_t *free;	 /* a ring: what was given first is taken first */
	uint32_t head, count;
	bool *taken; /* by slot */
};

struct kern_watched {
	uint64_t id;
	uint32_t policy;
};

struct kern {
	struct sluice_bpf *skel;
	char *pin_dir;
	int mount_fd; /* a directory of the cgroup2 mount */
	uint64_t daemon_id;
	bool has_unix_hooks;
	struct kern_slots slots;
	struct sluice_ledger *ledgers; /* the mapped array */
	struct kern_watched *watched;  /* SLUICE_WATCHES of them */
	size_t watched_count;
	bool adopts;	   /* there were pins */
	bool owns;	   /* the configuration names this process */
	pid_t predecessor; /* that hands over; 0: none */
	int lock_fd;	   /* on the directory, while it opens */
	uint64_t *left;	   /* ids of the streams that a predecessor left open */
	size_t left_count;
	struct ring_buffer *rings;
	/* While events are consumed. */
	void (*each)(void *context, const struct sluice_event *event);
	void *each_context;
	int consumed;
};

/* A line for the operator, and the error to return. */
struct kern_error {
	char *line;
	size_t len;
	const char *instance; /* whose pins they are; NULL: nobody opens them */
};
int kern_fail(const struct kern_error *error, int r, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* owner.c */
struct kern_owner {
	uint32_t abi;
	uint32_t pid;
	bool alive; /* and another process than this one */
};
/* -ENOENT: the pins are not whole, or there are none. */
int kern_owner_read(const char *pin_dir, struct kern_owner *ret_owner) must_check;
/* Writes this process (alive) or no one into the configuration. */
int kern_owner_write(struct kern *kern, uint16_t listen_port, bool alive);

/* pins.c */
int kern_pins_path(char path[static PATH_MAX], const char *dir, const char *name) must_check;
/* Opens a pinned map and says what it is; returns its descriptor. -ENOENT: there is none. */
int kern_pins_open_map(const char *pin_dir, const char *name,
		       struct bpf_map_info *ret_info) must_check;
/*
 * Makes a directory and what is missing above it, mode 0700. -ENOTSUP: not on a bpffs,
 * where nothing is made. -EINVAL: a name with a dot, which a bpffs does not have.
 */
int kern_pins_make_dir(const char *path) must_check;
/* A descriptor that holds a lock on the directory: openings and removals take turns. -EBUSY. */
int kern_pins_lock(const char *pin_dir) must_check;
/* Calls each for every directory in dir (none where dir is missing) that is named by an id. */
int kern_pins_each_id(const char *dir, int (*each)(void *context, const char *path, uint64_t id),
		      void *context) must_check;
/* Unpins every map. */
int kern_pins_remove_maps(const char *pin_dir);
bool kern_pins_are_empty(const char *pin_dir);

/* hooks.c */
struct kern_hooks {
	const char *dir; /* below the directory of the pins */
	const struct kern_hook *list;
	size_t count;
};
extern const struct kern_hooks kern_gate_hooks, kern_watch_hooks;
/* Sets the attach types that libbpf does not know, and leaves out what the kernel does not. */
int kern_hooks_prepare(struct kern *kern) must_check;
/* Attaches all to the cgroup and pins the links in dir/ID; all or nothing. */
int kern_hooks_attach(struct kern *kern, const struct kern_hooks *hooks, int cgroup_fd,
		      uint64_t id) must_check;
/* Puts this daemon's programs into the links pinned in path. -ENOLINK: the cgroup is gone. */
int kern_hooks_adopt(struct kern *kern, const struct kern_hooks *hooks, const char *path,
		     uint64_t id) must_check;
/* Detaches at once and unpins every link in path, whatever it is called, and removes path. */
int kern_hooks_detach(const char *path);

/* cgroup.c */
/* -ENOENT, -ENOTDIR: no directory of cgroup v2. */
int kern_cgroup_open(const char *path, int *ret_fd, uint64_t *ret_id) must_check;
/* -ESTALE: the cgroup is gone. */
int kern_cgroup_open_id(int mount_fd, uint64_t id, int *ret_fd) must_check;
/* The path of it. -ESTALE: it is gone; path is empty after an error. */
int kern_cgroup_path(int mount_fd, uint64_t id, char *path, size_t len) must_check;
/* -EEXIST: it, or one above or below, is watched. -EBUSY: a gate is there. */
int kern_cgroup_check_free(int cgroup_fd) must_check;

/* slots.c */
int kern_slots_init(struct kern *kern) must_check;
void kern_slots_done(struct kern *kern);

/* ledgers.c */
int kern_ledgers_init(struct kern *kern) must_check;
void kern_ledgers_done(struct kern *kern);
/* The entry of a slot that was just taken, and that no record names yet. */
void kern_ledger_clear(struct kern *kern, uint32_t slot, uint16_t generation);
/* What a record's slots say; *ret_left borrows the record. */
void kern_ledger_read(const struct kern *kern, const struct sluice_open_stream *open,
		      struct kern_left *ret_left);
/* One of the sessions in left. */
void kern_ledger_read_session(const struct kern *kern, const struct kern_left *left,
			      uint64_t number, struct kern_left_session *ret_session);

/* streams.c */
/* Lists what is recorded as open. */
int kern_streams_load(struct kern *kern) must_check;
/* Starts, or goes on with, the count of stream ids. */
int kern_streams_begin(struct kern *kern) must_check;

/* counters.c */
void kern_refusals_forget(struct kern *kern, uint64_t cgroup);

/* watch.c */
int kern_watches_adopt(struct kern *kern) must_check;

/* events.c */
int kern_events_init(struct kern *kern) must_check;

/* diag.c */
/*
 * Destroys the TCP sockets that were made in a cgroup, orphans included. only_orphans:
 * those no process has a descriptor of. *ret_left: how many are still there.
 */
int kern_diag_destroy_cgroup(uint64_t cgroup, bool only_orphans, size_t *ret_left) must_check;

/* census.c */
/* Whether the census can be taken: 0, or why not. */
int kern_census_probe(void) must_check;

/* probe.c */
bool kern_probe_unix_hooks(void);

/* remove.c */
/*
 * Everything in the directory, in the order that keeps it closed. -EBUSY: gated
 * sockets are left.
 */
int kern_remove_all(const char *pin_dir);

#endif
