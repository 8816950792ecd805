/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run: a cgroup made for one command, watched from before the command is in it
 * until nothing of it is left.
 *
 * The end of a run, in this order: what is left of the command is killed; what it
 * had sent and policy cleared is delivered, for LIMIT_RUN_FINISH_MS at most, and
 * its peers may end their side, for LIMIT_RUN_SPENT_MS; its streams settle; the
 * caller gets the summary; and when the cgroup is empty the watch and the cgroup go.
 */
#ifndef SLUICE_DAEMON_RUN_H
#define SLUICE_DAEMON_RUN_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"
#include "daemon/watch.h"

struct control_client;
struct daemon;

/* The run lives at least as long as owner is connected. */
int run_create(struct daemon *daemon, struct control_client *owner,
	       const struct watch_choice *choice, struct watch **ret_watch, char *error,
	       size_t error_len) must_check;
/* Begins its end; waiting, or NULL, is answered under id when its streams have settled. */
void run_finish(struct daemon *daemon, struct watch *watch, struct control_client *waiting,
		json_t *id);
/* A client went away: its runs are abandoned, and finished once they are empty. */
void run_client_gone(struct daemon *daemon, struct control_client *client);
/* Finishes abandoned runs that are empty; looks again at what would not go. */
void run_tick(struct daemon *daemon);
/* At a stop: ends every run, waiting a while for its processes to go. */
void run_end_all(struct daemon *daemon);
/* Removes cgroups of runs that no watch covers; what lives in one is killed. */
void run_remove_unwatched(struct daemon *daemon);
void run_on_step(evutil_socket_t fd, short what, void *context);

#endif
