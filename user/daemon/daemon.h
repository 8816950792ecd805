/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's context: everything that lives as long as it runs. One thread,
 * one loop; nothing in it blocks but what the start and the stop do.
 */
#ifndef SLUICE_DAEMON_DAEMON_H
#define SLUICE_DAEMON_DAEMON_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "daemon/closing.h"
#include "daemon/control.h"
#include "daemon/events.h"
#include "daemon/feed.h"
#include "daemon/handover.h"
#include "daemon/hold.h"
#include "daemon/instance.h"
#include "daemon/listener.h"
#include "daemon/metrics.h"
#include "daemon/options.h"
#include "daemon/policies.h"
#include "daemon/routes.h"
#include "daemon/ledger.h"
#include "daemon/settle.h"
#include "daemon/stats.h"
#include "daemon/stream.h"
#include "daemon/watch.h"

struct audit;
struct interceptors;
struct kern;
struct resume_table;
struct web;
struct web_streams;

struct daemon {
	const struct options *options;
	struct instance instance;
	struct event_base *base;
	struct kern *kern;
	struct audit *audit; /* NULL: there is no trail */
	struct ledger ledger;
	struct hold_pool pool;
	uint64_t held; /* by all flows: bytes, and memory of their judging */
	struct policies policies;
	struct stream_table streams;
	struct watches watches;
	struct listener listener;
	struct closing closing;
	struct handover handover;
	struct control control;
	struct feed feed;
	struct web *web;		 /* NULL: no listener of metrics */
	struct web_streams *web_streams; /* NULL: nobody has asked for a list */
	struct kern_events events;
	struct routes routes;
	struct settle_log settle_log;
	struct resume_table *resumes; /* what was delivered of streams that may be resumed */
	struct stats stats;
	struct metrics metrics;
	struct event tick, interrupt, terminate, hangup, parent, watchdog;
	size_t files_limit, streams_max;
	bool memory_locked;				 /* what is held never reaches swap */
	uint64_t selftest_counters[_SLUICE_COUNTER_MAX]; /* what the self-test added */
	uint64_t tick_ns;				 /* of the last tick */
	uint64_t stop_deadline_ns;			 /* 0: not stopping */
};

/*
 * Starts, runs until it is told to stop, stops. 0, or -errno after error (at
 * least 512 bytes) received the line for the operator.
 */
int daemon_run(const struct options *options, char *error, size_t error_len) must_check;
/* Begins a graceful stop; the loop ends when every stream is closed, or the time is up. */
void daemon_stop(struct daemon *daemon);

#endif
