/* SPDX-License-Identifier: Apache-2.0 */
/* What the two ways of replay share: one flow from a file, and the streams of a capture. */
#ifndef SLUICE_CLI_REPLAY_H
#define SLUICE_CLI_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"
#include "cli/replay_stream.h"

/* The command line. */
struct replay_config {
	const char *policy, *destination, *track, *framing, *stream, *deny_by;
	uint64_t chunk;
	bool list, server, units;
};

/* 0, or -EINVAL after a line. address: 16 bytes. */
int replay_parse_peer(const char *text, uint8_t ret_address[16], uint16_t *ret_port) must_check;
/* The exit status that a stream comes to. */
int replay_status(const struct replay_stream *stream);
/* The streams of a capture of packets, which fd reads from its start. An exit status. */
int replay_capture(const struct cli *cli, const struct replay_config *wanted,
		   const struct replay_setup *setup, int fd);
/* The list of them, which needs no policy. */
int replay_list(const struct cli *cli, int fd);

#endif
