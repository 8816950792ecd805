/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of policies: read at start, read again while the daemon runs, loaded by a call.
 *
 * Invariants:
 *  V1. All texts are read and checked before anything changes; where one is bad, or one
 *      watch cannot be given its new policy, everything is as it was.
 *  V2. What is bound to a name gets the name's new text for the streams that begin from
 *      then on; those that are open keep theirs. A watch of a text of its own keeps that.
 *  V3. A file keeps its policy's name: what is bound to that would be left behind.
 */
#ifndef SLUICE_DAEMON_RELOAD_H
#define SLUICE_DAEMON_RELOAD_H

#include <event2/util.h>
#include <jansson.h>
#include <stddef.h>

#include "base/macros.h"

struct daemon;
struct unix_peer;

/*
 * The files of the command line, at start. -EEXIST: two have one name; else as of reading
 * and of policies_load(). error has the line, with the file's name.
 */
int reload_start(struct daemon *daemon, char *error, size_t error_len) must_check;
/*
 * The same anew. *ret_report: {"reloaded": [NAME…], "unchanged": [NAME…]}, a new reference.
 * error has the line where it fails, with FILE:LINE:COLUMN of a mistake in a text.
 */
int reload_files(struct daemon *daemon, json_t **ret_report, char *error,
		 size_t error_len) must_check;
/*
 * One text, in the place of what had its name, or under a new name. name: the one it has to
 * have, or NULL; by: who called. *ret_report: {"name", "digest", "replaced", "watches"}, and "number" where
 * a watch is under it. Until the next reload, for the name of a file. Errors as above.
 */
int reload_text(struct daemon *daemon, const char *text, size_t len, const char *name,
		const struct unix_peer *by, json_t **ret_report, char *error,
		size_t error_len) must_check;
/* SIGHUP: reload_files(), told to the service manager, the log and the trail. */
void reload_on_hangup(evutil_socket_t signal, short what, void *context);

#endif
