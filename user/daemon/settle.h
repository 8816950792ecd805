/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settle: the one place where a stream's end is decided on, counted, recorded
 * and said. Also for what never became a stream, and for what a dead
 * predecessor left.
 */
#ifndef SLUICE_DAEMON_SETTLE_H
#define SLUICE_DAEMON_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "daemon/reason.h"
#include "daemon/stream.h"
#include "sluice/abi.h"

struct daemon;
struct flow;
struct watch;

/* How many lines this second had, so that an agent's flood of failures is no flood of lines. */
struct settle_log {
	uint64_t second;
	unsigned int lines, suppressed;
};

/*
 * Once per stream, while it is CONNECTING or OPEN: ends its sessions, takes its
 * record out of the kernel, counts it, says a line unless it is complete.
 * reason lives as long as the policy or the program. error: what a session that
 * is open fails with. flow: where it happened, or NULL.
 */
void settle_stream(struct stream *stream, enum stream_end end, const char *reason,
		   enum session_result error, const struct flow *flow);
/* An accepted connection that is refused. watch: NULL where it is not known. */
void settle_refused(struct daemon *daemon, struct watch *watch, const struct sluice_origin *origin,
		    enum stream_end end, const char *reason);
/* An accepted connection of which nothing is known. */
void settle_nameless(struct daemon *daemon, enum reason reason);
/*
 * What a predecessor left open, once what it watched is known. Errors: of the kernel side, or
 * of the trail.
 */
int settle_left(struct daemon *daemon) must_check;
/* Is there room for one more line this second? Then it is taken; else the line is counted. */
bool settle_may_say(struct daemon *daemon) must_check;
/* Says how many lines the last second did not get. */
void settle_tick(struct daemon *daemon, uint64_t now_ns);

/* A process names itself: printable ASCII, with '?' for the rest. */
void settle_format_comm(const struct sluice_origin *origin, char text[static SLUICE_COMM_LEN + 1]);
#define SETTLE_ADDRESS_LEN 64u
/* "address:port"; text has room for at least SETTLE_ADDRESS_LEN bytes. */
void settle_format_address(const struct sluice_address *address, char *text, size_t len);

#endif
