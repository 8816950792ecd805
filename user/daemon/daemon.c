/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "core/resume_table.h"
#include "daemon/audit.h"
#include "daemon/interceptor.h"
#include "daemon/limits.h"
#include "daemon/reason.h"
#include "daemon/reload.h"
#include "daemon/run.h"
#include "daemon/start.h"
#include "daemon/timeouts.h"
#include "daemon/web.h"
#include "kern/kern.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "sys/notify.h"

static const struct timeval tick_interval = {.tv_usec = LIMIT_TICK_MS * 1000};
static const struct timeval stop_interval = {.tv_usec = LIMIT_STEP_MS * 1000};

static void on_tick(evutil_socket_t fd, short what, void *context)
{
	struct daemon *daemon = context;
	uint64_t now_ns = clock_boot_ns();

	(void)fd;
	(void)what;
	metrics_ticked(daemon, now_ns - daemon->tick_ns, LIMIT_TICK_MS * CLOCK_NS_PER_MS);
	timeouts_tick(daemon, now_ns);
	closing_tick(daemon);
	run_tick(daemon);
	settle_tick(daemon, now_ns);
	policies_tick(&daemon->policies, now_ns);
	audit_tick(daemon, now_ns);
	stream_reap(daemon);
	if (daemon->stop_deadline_ns &&
	    (!daemon->streams.count || now_ns >= daemon->stop_deadline_ns))
		(void)event_base_loopbreak(daemon->base);
}

void daemon_stop(struct daemon *daemon)
{
	struct stream *stream, *next;

	if (daemon->stop_deadline_ns)
		return;
	daemon->stop_deadline_ns = clock_boot_ns() + LIMIT_STOP_MS * CLOCK_NS_PER_MS;
	log_info("stopping; settles %zu stream%s", daemon->streams.count,
		 text_plural(daemon->streams.count));
	notify_stopping();
	if (daemon->handover.client >= 0)
		handover_give_up(daemon, "this daemon stops");
	listener_done(&daemon->listener);
	/* A private daemon takes its runs along: outside their fence nothing of them may live. */
	if (daemon->options->private_daemon)
		run_end_all(daemon);
	for (stream = TAILQ_FIRST(&daemon->streams.all); stream; stream = next) {
		next = TAILQ_NEXT(stream, entry);
		stream_fail(stream, NULL, reason_name(REASON_SHUTDOWN));
	}
	stream_reap(daemon);
	(void)event_add(&daemon->tick, &stop_interval);
}

static void on_signal(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	daemon_stop(context);
}

static void on_parent(evutil_socket_t fd, short what, void *context)
{
	struct daemon *daemon = context;

	(void)what;
	if (!notify_hung_up(fd))
		return;
	(void)event_del(&daemon->parent);
	log_debug("who started this private daemon is gone");
	daemon_stop(daemon);
}

static void on_watchdog(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	(void)context;
	notify_watchdog();
}

/* Twice as often as it has to be said that the loop turns, as sd_watchdog_enabled(3) has it. */
static int start_watchdog(struct daemon *daemon)
{
	const uint64_t half_us = notify_watchdog_us() / 2;
	const struct timeval interval = {.tv_sec = (time_t)(half_us / 1000000),
					 .tv_usec = (suseconds_t)(half_us % 1000000)};

	if (!half_us)
		return 0;
	(void)event_assign(&daemon->watchdog, daemon->base, -1, EV_PERSIST, on_watchdog, daemon);
	return event_add(&daemon->watchdog, &interval) ? -ENOMEM : 0;
}

/* One that comes while this daemon starts stays pending until its files can be read anew. */
static int mask_hangups(int how)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGHUP);
	return sigprocmask(how, &set, NULL) ? -errno : 0;
}

static int watch_hangups(struct daemon *daemon)
{
	if (daemon->options->private_daemon)
		return 0;
	(void)evsignal_assign(&daemon->hangup, daemon->base, SIGHUP, reload_on_hangup, daemon);
	return evsignal_add(&daemon->hangup, NULL) ? -ENOMEM : mask_hangups(SIG_UNBLOCK);
}

static int watch_signals(struct daemon *daemon)
{
	int ready_fd = daemon->options->ready_fd;

	(void)evsignal_assign(&daemon->interrupt, daemon->base, SIGINT, on_signal, daemon);
	(void)evsignal_assign(&daemon->terminate, daemon->base, SIGTERM, on_signal, daemon);
	(void)event_assign(&daemon->tick, daemon->base, -1, EV_PERSIST, on_tick, daemon);
	daemon->tick_ns = clock_boot_ns();
	if (evsignal_add(&daemon->interrupt, NULL) || evsignal_add(&daemon->terminate, NULL) ||
	    event_add(&daemon->tick, &tick_interval) || start_watchdog(daemon) ||
	    watch_hangups(daemon))
		return -ENOMEM;
	if (ready_fd < 0 || !daemon->options->private_daemon)
		return 0;
	(void)event_assign(&daemon->parent, daemon->base, ready_fd, EV_READ | EV_PERSIST | EV_ET,
			   on_parent, daemon);
	/* A plain file has no other end that could close. */
	if (event_add(&daemon->parent, NULL))
		log_warning("descriptor %d cannot be watched; this private daemon ends by signal "
			    "only",
			    ready_fd);
	return 0;
}

static void forget_signals(struct daemon *daemon)
{
	struct event *events[] = {&daemon->interrupt, &daemon->terminate, &daemon->hangup,
				  &daemon->tick,      &daemon->parent,	  &daemon->watchdog};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (event_initialized(events[i]))
			(void)event_del(events[i]);
}

/* Was it handed over, or not yet? */
static bool is_anothers(const struct daemon *daemon)
{
	return daemon->handover.state == HANDOVER_GIVEN || handover_is_pending(daemon);
}

/*
 * What stays behind stays closed: the pins, and with them what is watched. A
 * private daemon leaves nothing, and neither does a start that failed, unless a
 * predecessor's watches depend on it.
 */
static void leave_kern(struct daemon *daemon, bool started, bool anothers)
{
	struct kern_watch_info info;
	int r;

	if (!daemon->kern)
		return;
	if (anothers) {
		kern_leave(daemon->kern);
		return;
	}
	if (!daemon->options->private_daemon && (started || kern_watches(daemon->kern, &info, 1))) {
		kern_close(daemon->kern);
		return;
	}
	r = kern_remove(daemon->kern);
	if (r)
		log_errno(LOG_WARNING, r, "not everything in '%s' could be removed",
			  daemon->instance.pins);
}

static void leave_instance(struct daemon *daemon, bool started, bool anothers)
{
	/* Of an instance that is another process's, nothing goes. */
	if (anothers) {
		instance_done(&daemon->instance);
		return;
	}
	if (daemon->options->private_daemon && daemon->kern) {
		instance_remove(&daemon->instance);
	} else if (!started) {
		instance_leave(&daemon->instance);
		instance_forget(&daemon->instance);
	}
	instance_done(&daemon->instance);
}

static void finish(struct daemon *daemon, bool started)
{
	const bool anothers = is_anothers(daemon);
	struct stream *stream;

	while ((stream = TAILQ_FIRST(&daemon->streams.all))) {
		if (daemon->handover.state == HANDOVER_GIVEN)
			stream_leave(stream);
		else
			stream_close(stream, true);
	}
	stream_reap(daemon);
	handover_done(daemon);
	control_done(daemon);
	web_done(daemon);
	listener_done(&daemon->listener);
	routes_done(&daemon->routes);
	events_done(daemon);
	closing_done(&daemon->closing);
	forget_signals(daemon);
	audit_close(daemon);
	watches_done(&daemon->watches);
	handover_taking_free(daemon);
	policies_done(&daemon->policies);
	interceptors_free(daemon->policies.interceptors);
	stats_done(&daemon->stats);
	resume_table_free(daemon->resumes);
	hold_pool_done(&daemon->pool);
	if (daemon->base)
		event_base_free(daemon->base);
	leave_kern(daemon, started, anothers);
	leave_instance(daemon, started, anothers);
}

int daemon_run(const struct options *options, char *error, size_t error_len)
{
	struct daemon *daemon = calloc(1, sizeof(*daemon));
	int r;

	if (!daemon) {
		(void)snprintf(error, error_len, "out of memory");
		return -ENOMEM;
	}
	daemon->options = options;
	(void)signal(SIGPIPE, SIG_IGN);
	/* A private daemon has no files of policies, and its terminal may go. */
	if (options->private_daemon)
		(void)signal(SIGHUP, SIG_IGN);
	else
		(void)mask_hangups(SIG_BLOCK);
	/* A limit of file size fails the write, as a full disk does. */
	(void)signal(SIGXFSZ, SIG_IGN);
	r = start_daemon(daemon, error, error_len);
	if (!r) {
		r = watch_signals(daemon);
		if (r)
			(void)snprintf(error, error_len, "cannot start the loop: out of memory");
	}
	if (!r) {
		log_info("ready: port %u, control socket '%s', at most %zu stream%s",
			 daemon->listener.port, daemon->instance.socket, daemon->streams_max,
			 text_plural(daemon->streams_max));
		handover_resume(daemon);
		notify_ready(options->ready_fd);
		if (!options->private_daemon && options->ready_fd >= 0) {
			handover_report(daemon, options->ready_fd);
			(void)close(options->ready_fd);
		}
		if (event_base_dispatch(daemon->base) < 0) {
			(void)snprintf(error, error_len, "the event loop failed");
			r = -EIO;
		}
	}
	finish(daemon, !r);
	free(daemon);
	return r;
}
