/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/start.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/resume_table.h"
#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/handover.h"
#include "daemon/interceptor.h"
#include "daemon/limits.h"
#include "daemon/reload.h"
#include "daemon/run.h"
#include "daemon/selftest.h"
#include "daemon/web.h"
#include "kern/kern.h"
#include "sys/log.h"
#include "sys/netns.h"
#include "sys/privileges.h"
#include "sys/unix_socket.h"

static int failed(int r, char *error, size_t error_len, const char *what)
{
	(void)snprintf(error, error_len, "%s: %s", what, strerror(-r));
	return r;
}

/* What does not need the kernel side, so that a mistake in it attaches nothing. */
static int load_policies(struct daemon *daemon, char *error, size_t error_len)
{
	int r;

	policies_init(&daemon->policies, NULL, netns_is_initial());
	daemon->policies.closed = daemon->options->web;
	r = interceptors_new(daemon, &daemon->policies.interceptors);
	if (r)
		return failed(r, error, error_len, "cannot make room for interceptors");
	return reload_start(daemon, error, error_len);
}

/* Held text is never written anywhere durable, and swap is. */
static void lock_memory(struct daemon *daemon)
{
	int r = privileges_lock_memory();

	daemon->memory_locked = !r;
	if (r)
		log_errno(LOG_WARNING, r, "memory cannot be locked: held text may reach swap");
}

static void set_limits(struct daemon *daemon)
{
	size_t files = privileges_raise_files(LIMIT_FILES_WANTED);

	daemon->files_limit = files;
	daemon->streams_max = files > LIMIT_RESERVED_FILES ? (files - LIMIT_RESERVED_FILES) / 2 : 1;
	daemon->streams_max = MIN(daemon->streams_max, (size_t)(SLUICE_SLOTS - 1) / 2);
}

static int open_loop(struct daemon *daemon, char *error, size_t error_len)
{
	int r;

	daemon->base = event_base_new();
	if (!daemon->base) {
		(void)snprintf(error, error_len, "cannot make an event loop");
		return -ENOMEM;
	}
	closing_init(&daemon->closing, daemon);
	watches_init(&daemon->watches, daemon);
	if (audit_follow(daemon)) {
		(void)snprintf(error, error_len, "cannot make an event loop: out of memory");
		return -ENOMEM;
	}
	r = interceptors_start(daemon->policies.interceptors);
	if (r)
		return failed(r, error, error_len, "cannot make transfers to interceptors");
	return 0;
}

/* What the self-test made the gate hold is no agent's: status leaves it out. */
static int prove(struct daemon *daemon, char *error, size_t error_len)
{
	uint64_t before[_SLUICE_COUNTER_MAX] = {0}, after[_SLUICE_COUNTER_MAX] = {0};
	bool ipv6 = daemon->listener.reserved[LISTENER_V6] >= 0 ||
		    daemon->listener.fds[LISTENER_V6] >= 0;
	int r;

	(void)kern_counters(daemon->kern, before);
	r = selftest_run(daemon->kern, ipv6, error, error_len);
	(void)kern_counters(daemon->kern, after);
	for (int i = 0; i < _SLUICE_COUNTER_MAX; i++)
		daemon->selftest_counters[i] = after[i] - before[i];
	return r;
}

static struct kern_options kern_options_of(const struct daemon *daemon)
{
	return (struct kern_options){
		.pin_dir = daemon->instance.pins,
		.instance = daemon->options->name,
		.daemon_cgroup = daemon->instance.daemon_cgroup,
		.listen_port = daemon->listener.port,
		.predecessor = handover_predecessor(daemon),
	};
}

static int open_kern(struct daemon *daemon, char *error, size_t error_len)
{
	const struct kern_options options = kern_options_of(daemon);
	int r = kern_open(&options, &daemon->kern, error, error_len);

	if (r)
		return r;
	daemon->policies.kern = daemon->kern;
	return prove(daemon, error, error_len);
}

/* What the daemon before reloads after this process has read its files is read here too. */
static void read_again(struct daemon *daemon)
{
	json_t *report = NULL;
	char line[512] = "";

	if (reload_files(daemon, &report, line, sizeof(line)))
		log_warning("%s; every policy is as it was when this daemon was started", line);
	json_decref(report);
}

static int take_over(struct daemon *daemon, char *error, size_t error_len)
{
	int r = handover_rest_policies(daemon);

	if (r)
		return failed(r, error, error_len, "cannot take over the policies that rest");
	r = watch_adopt(daemon);
	if (r)
		return failed(r, error, error_len, "cannot take over the watched cgroups");
	r = handover_make_streams(daemon);
	if (r)
		return failed(r, error, error_len, "cannot go on with what was handed over");
	r = settle_left(daemon);
	if (r)
		return failed(r, error, error_len, "cannot settle what a predecessor left open");
	r = routes_start(daemon);
	if (r)
		return failed(r, error, error_len, "cannot follow the routes");
	run_remove_unwatched(daemon);
	return 0;
}

/*
 * What the daemon still needs once it is started:
 *  NET_ADMIN        attaching cgroup programs, destroying sockets
 *  BPF              maps and links, where unprivileged BPF is off
 *  PERFMON          the programs that are attached read kernel memory
 *  SYS_ADMIN        finding links and programs by id, when a cgroup is watched
 *  SYS_PTRACE, DAC_READ_SEARCH
 *                   the descriptors of the processes in a cgroup that is to be
 *                   watched; policy files of other owners
 *  IPC_LOCK         memory that stays locked as it grows
 *  DAC_OVERRIDE     stopping processes in a cgroup delegated to another owner
 * It needs none to bind, kill, or change its identity: those are gone.
 */
static int drop_privileges(char *error, size_t error_len)
{
	static const unsigned int kept[] = {
		CAP_NET_ADMIN,	     CAP_BPF,	       CAP_PERFMON,  CAP_SYS_ADMIN, CAP_SYS_PTRACE,
		CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, CAP_IPC_LOCK,
	};
	int r = privileges_keep(kept, ARRAY_SIZE(kept));

	return r ? failed(r, error, error_len, "cannot drop capabilities") : 0;
}

static int open_for_business(struct daemon *daemon, char *error, size_t error_len)
{
	int r = control_start(daemon, error, error_len);

	if (r)
		return r;
	r = events_start(daemon);
	if (r)
		return failed(r, error, error_len, "cannot follow the kernel's events");
	r = listener_start(daemon, error, error_len);
	if (!r)
		r = web_start(daemon, error, error_len);
	if (!r)
		r = handover_start(daemon, error, error_len);
	if (r)
		return r;
	r = drop_privileges(error, error_len);
	if (r)
		return r;
	r = audit_started(daemon);
	return r ? failed(r, error, error_len, "cannot begin the audit trail") : 0;
}

/* Where nobody runs: up to the pins that a dead predecessor may have left. */
static int begin(struct daemon *daemon, char *error, size_t error_len)
{
	int r = instance_lock(&daemon->instance, error, error_len);

	if (!r)
		r = audit_open(daemon, error, error_len);
	if (r)
		return r;
	set_limits(daemon);
	r = instance_enter(&daemon->instance, error, error_len);
	if (!r)
		r = open_loop(daemon, error, error_len);
	if (!r)
		r = listener_reserve(&daemon->listener, daemon->options->port, error, error_len);
	if (!r)
		r = web_check(daemon, error, error_len);
	return r ? r : open_kern(daemon, error, error_len);
}

/* The running daemon has committed: what it had is this process's. */
static int own(struct daemon *daemon, char *error, size_t error_len)
{
	const struct kern_options options = kern_options_of(daemon);
	int r = instance_own(&daemon->instance);

	if (r)
		return failed(r, error, error_len, "lock");
	if (!daemon->audit) {
		r = audit_open(daemon, error, error_len);
		if (!r && audit_follow(daemon))
			r = failed(-ENOMEM, error, error_len, "audit trail");
	}
	if (!r)
		r = kern_take(daemon->kern, &options, error, error_len);
	if (r)
		return r;
	daemon->policies.kern = daemon->kern;
	return prove(daemon, error, error_len);
}

/* What is open for business later can be that, as far as the running one is not in its way. */
static int check_business(struct daemon *daemon, char *error, size_t error_len)
{
	const char *path = daemon->instance.socket;
	int r = unix_socket_check(path, handover_predecessor(daemon));

	if (r)
		(void)snprintf(error, error_len, "control socket '%s': %s", path, strerror(-r));
	if (!r)
		r = web_check(daemon, error, error_len);
	return r;
}

/* The trail of the running one is left to it; any other is this process's already. */
static int open_other_trail(struct daemon *daemon, char *error, size_t error_len)
{
	int r = audit_open(daemon, error, error_len);

	return r == -EBUSY && handover_keeps_trail(daemon) ? 0 : r;
}

/* Where one runs: what can fail is tried before it is asked to give up. */
static int succeed(struct daemon *daemon, char *error, size_t error_len)
{
	struct kern_options options;
	int r = handover_ask(daemon, error, error_len);

	if (r)
		return r;
	set_limits(daemon);
	r = open_other_trail(daemon, error, error_len);
	if (!r)
		r = instance_enter(&daemon->instance, error, error_len);
	if (!r)
		r = open_loop(daemon, error, error_len);
	if (!r)
		r = check_business(daemon, error, error_len);
	options = kern_options_of(daemon);
	if (!r)
		r = kern_prepare(&options, &daemon->kern, error, error_len);
	if (!r)
		r = handover_receive_all(daemon, error, error_len);
	if (r)
		return r;
	read_again(daemon);
	return own(daemon, error, error_len);
}

int start_daemon(struct daemon *daemon, char *error, size_t error_len)
{
	int r;

	daemon->instance.lock_fd = -1;
	metrics_init(&daemon->metrics);
	stream_table_init(&daemon->streams);
	listener_init(&daemon->listener);
	routes_init(&daemon->routes);
	control_init(&daemon->control);
	handover_init(&daemon->handover);
	/* Away from the terminal's signals: it ends with who started it. */
	if (daemon->options->private_daemon)
		(void)setsid();
	r = privileges_hide_memory();
	if (r)
		return failed(r, error, error_len, "cannot hide this process's memory");
	lock_memory(daemon);
	r = resume_table_new(&daemon->resumes);
	if (r)
		return failed(r, error, error_len, "cannot keep what may be resumed");
	r = load_policies(daemon, error, error_len);
	if (!r)
		r = instance_init(&daemon->instance, daemon->options, error, error_len);
	if (r)
		return r;
	r = daemon->options->takeover ? succeed(daemon, error, error_len)
				      : begin(daemon, error, error_len);
	if (!r)
		r = take_over(daemon, error, error_len);
	return r ? r : open_for_business(daemon, error, error_len);
}
