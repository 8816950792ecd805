/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's own connection to where the agent wanted to go. */
#ifndef SLUICE_DAEMON_UPSTREAM_H
#define SLUICE_DAEMON_UPSTREAM_H

struct stream;

/*
 * Begins to connect: the socket is bound to its slot before a packet leaves it.
 * Where it cannot begin, the stream has failed with its reason.
 */
void upstream_connect(struct stream *stream);
/* The socket has an answer: the stream opens, or fails with its reason. */
void upstream_answered(struct stream *stream);

#endif
