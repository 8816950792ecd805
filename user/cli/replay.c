/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay: what was captured through framing, text, tasks and accounting, as flows of the
 * daemon would go. Prints offsets and counts; what is withheld is never printed.
 */
#include "cli/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/pcap.h"
#include "cli/replay_print.h"
#include "cli/replay_view.h"
#include "sys/fd.h"
#include "sys/log.h"

#define CHUNK_DEFAULT 65536u
#define CHUNK_MAX     (16u << 20)

static const struct option_spec options[] = {
	{"policy", "FILE", OPTION_TEXT, offsetof(struct replay_config, policy), "the policy", 0, 0},
	{"destination", "ADDR:PORT", OPTION_TEXT, offsetof(struct replay_config, destination),
	 "what the stream was connected to; of a capture, each stream's server", 0, 0},
	{"track", "request|response", OPTION_TEXT, offsetof(struct replay_config, track),
	 "what a raw FILE is; request without it", 0, 0},
	{"framing", "http1|jsonrpc_cl|ndjson", OPTION_TEXT, offsetof(struct replay_config, framing),
	 "what the requests of a raw FILE of responses were, under framing auto", 0, 0},
	{"list", NULL, OPTION_FLAG, offsetof(struct replay_config, list),
	 "list the TCP streams of a capture; needs no policy", 0, 0},
	{"stream", "ID", OPTION_TEXT, offsetof(struct replay_config, stream),
	 "of a capture, that stream alone", 0, 0},
	{"server", NULL, OPTION_FLAG, offsetof(struct replay_config, server),
	 "of a capture, the agent is the server", 0, 0},
	{"deny-by", "TASK@RUNE", OPTION_TEXT, offsetof(struct replay_config, deny_by),
	 "that interceptor denies the span with that rune, from 0 on", 0, 0},
	{"units", NULL, OPTION_FLAG, offsetof(struct replay_config, units),
	 "a row of the timeline for each unit", 0, 0},
	{"chunk", "BYTES", OPTION_NUMBER, offsetof(struct replay_config, chunk),
	 "feed so many at a time (65536)", 1, CHUNK_MAX},
};

/* What FILE is, as its first bytes tell. */
struct input {
	int fd;
	uint8_t first[PCAP_MAGIC_SIZE];
	size_t have; /* of them, read and not given back */
	bool capture;
};

int replay_parse_peer(const char *text, uint8_t ret_address[16], uint16_t *ret_port)
{
	if (!policy_parse_peer(text, ret_address, ret_port))
		return 0;
	log_error("'%s' is no destination: ADDR:PORT, with an IPv6 address in brackets", text);
	return -EINVAL;
}

/* Under auto the requests tell; of responses alone the user has to. */
static int find_framing(const struct replay_destination *destination, enum session_track track,
			const char *name, enum framing_kind *ret_told)
{
	static const enum framing_kind told[] = {FRAMING_HTTP1, FRAMING_JSONRPC_CL, FRAMING_NDJSON};
	bool wanted = destination->action == POLICY_MEDIATE && track == SESSION_RESPONSE &&
		      destination->framing.kind == FRAMING_AUTO;
	size_t i = 0;

	if (wanted != (name != NULL)) {
		log_error(name ? "--framing goes with --track response under framing auto"
			       : "the framing is auto, and responses are framed as their requests: "
				 "name it with --framing");
		return -EINVAL;
	}
	*ret_told = FRAMING_AUTO;
	if (!name)
		return 0;
	while (i < ARRAY_SIZE(told) && strcmp(policy_framing_name(told[i]), name) != 0)
		i++;
	if (i == ARRAY_SIZE(told)) {
		log_error("--framing is http1, jsonrpc_cl or ndjson");
		return -EINVAL;
	}
	*ret_told = told[i];
	return 0;
}

/* Of a short read the rest; less than len at the end alone. */
static ssize_t read_full(int fd, uint8_t *bytes, size_t len)
{
	size_t have = 0;
	ssize_t got;

	while (have < len) {
		got = read(fd, bytes + have, len - have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

/* What cannot be read again from its start is copied: tshark reads all of it. */
static int rewind_capture(struct input *input)
{
	int copy cleanup(fd_closep) = -1;
	uint8_t part[16384];
	ssize_t got = (ssize_t)input->have;

	if (lseek(input->fd, 0, SEEK_SET) == 0)
		return 0;
	copy = memfd_create("capture", MFD_CLOEXEC);
	if (copy < 0)
		return -errno;
	(void)memcpy(part, input->first, input->have);
	do {
		/* In memory: written whole, or there is no room. */
		if (write(copy, part, (size_t)got) != got)
			return -ENOMEM;
		got = read_full(input->fd, part, sizeof(part));
	} while (got > 0);
	if (got < 0 || lseek(copy, 0, SEEK_SET))
		return got < 0 ? (int)got : -errno;
	fd_close(input->fd);
	input->fd = take_fd(copy);
	return 0;
}

static int open_input(const char *path, struct input *ret_input)
{
	struct input input = {.fd = -1};
	ssize_t got;
	int err = 0;

	input.fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
					  : open(path, O_RDONLY | O_CLOEXEC);
	got = input.fd < 0 ? -errno : read_full(input.fd, input.first, sizeof(input.first));
	if (got < 0)
		err = (int)got;
	input.have = got < 0 ? 0 : (size_t)got;
	input.capture = pcap_is(input.first, input.have);
	if (!err && input.capture)
		err = rewind_capture(&input);
	if (err) {
		fd_close(input.fd);
		return log_errno(LOG_ERR, err, "cannot read '%s'", path);
	}
	*ret_input = input;
	return 0;
}

int replay_status(const struct replay_stream *stream)
{
	uint64_t complete = stream->sessions[SESSION_COMPLETE_END];

	if (stream->unjudged)
		return CLI_EXIT_DONE;
	if (stream->fault == FAULT_BLOCKED || stream->fault == FAULT_OUTPUT_DENIED ||
	    stream->destination.action == POLICY_DENY)
		return CLI_EXIT_DENIED;
	if (stream->fault != FAULT_NONE || replay_session_count(stream) > complete)
		return CLI_EXIT_FAILED;
	return CLI_EXIT_DONE;
}

static int feed_file(struct replay_stream *stream, enum session_track track,
		     const struct input *input)
{
	size_t size = stream->setup->chunk;
	uint8_t *chunk = malloc(size);
	ssize_t got = 0;

	if (!chunk)
		return -ENOMEM;
	replay_feed(stream, track, input->first, input->have, 0);
	do {
		got = read_full(input->fd, chunk, size);
		if (got > 0)
			replay_feed(stream, track, chunk, (size_t)got, 0);
	} while (got == (ssize_t)size && !stream->failed);
	free(chunk);
	if (stream->failed)
		return -ENOMEM;
	if (got < 0)
		return (int)got;
	replay_end(stream, track, 0);
	replay_settle(stream, SESSION_FRAMING_FAULT);
	return stream->failed ? -ENOMEM : 0;
}

/* One document of what is told of the policy, the stream and its flow. */
static json_t *view_of(const struct replay_stream *stream, enum session_track track, bool each)
{
	json_t *view = replay_view_policy(stream->setup), *judged = replay_view_stream(stream);
	json_t *flow = replay_view_flow(stream, track, 0, each);
	int err = !view || !judged || !flow || json_object_update(view, judged) ||
		  json_object_update(view, flow);

	json_decref(judged);
	json_decref(flow);
	if (!err)
		return view;
	json_decref(view);
	return NULL;
}

static int report(const struct cli *cli, const struct replay_stream *stream,
		  enum session_track track, bool each)
{
	int status = cli_show(cli, view_of(stream, track, each), replay_print);

	return status == CLI_EXIT_DONE ? replay_status(stream) : status;
}

static int replay_raw(const struct cli *cli, const struct replay_config *wanted,
		      const struct replay_setup *setup, const struct input *input)
{
	bool response = wanted->track && strcmp(wanted->track, "response") == 0;
	enum session_track track = response ? SESSION_RESPONSE : SESSION_REQUEST;
	struct replay_destination destination;
	struct replay_stream *stream;
	enum framing_kind told;
	uint8_t address[16];
	uint16_t port = 0;
	int status = CLI_EXIT_FAILED, err;

	if (wanted->destination && replay_parse_peer(wanted->destination, address, &port))
		return CLI_EXIT_USAGE;
	replay_find_destination(setup->policy, wanted->destination ? address : NULL, port,
				&destination);
	if (find_framing(&destination, track, wanted->framing, &told))
		return CLI_EXIT_USAGE;
	stream = malloc(sizeof(*stream));
	if (!stream || replay_open(stream, setup, &destination, &track, told)) {
		free(stream);
		return CLI_EXIT_FAILED;
	}
	err = feed_file(stream, track, input);
	if (err)
		(void)log_errno(LOG_ERR, err, "cannot replay the stream");
	else
		status = report(cli, stream, track, wanted->units);
	replay_close(stream);
	free(stream);
	return status;
}

/* What goes with a raw FILE alone, and with a capture alone. */
static int check_options(const struct replay_config *wanted, bool capture)
{
	const char *wrong = NULL;

	if (capture)
		wrong = wanted->track ? "--track" : wanted->framing ? "--framing" : NULL;
	else
		wrong = wanted->list	 ? "--list"
			: wanted->stream ? "--stream"
			: wanted->server ? "--server"
					 : NULL;
	if (wrong)
		log_error(
			"%s goes with %s", wrong,
			capture ? "a raw stream, and FILE is a capture of packets, which has both "
				  "tracks"
				: "a capture of packets (pcap or pcapng), and FILE is none");
	return wrong ? -EINVAL : 0;
}

/* "TASK@RUNE" of an interceptor of the policy. The name is cut out of the text. */
static int read_denial(char *text, struct replay_setup *setup)
{
	char *at = strrchr(text, '@');
	json_int_t rune;
	size_t i = 0;

	if (!at) {
		log_error("--deny-by is TASK@RUNE");
		return -EINVAL;
	}
	if (cli_parse_id(at + 1, "rune", &rune))
		return -EINVAL;
	*at = '\0';
	while (i < setup->policy->task_count && strcmp(setup->policy->tasks[i].name, text) != 0)
		i++;
	if (i == setup->policy->task_count || !setup->policy->tasks[i].interceptor) {
		log_error("--deny-by: the policy has no interceptor '%s'", text);
		return -EINVAL;
	}
	setup->deny_by = setup->policy->tasks[i].name;
	setup->deny_at = (uint64_t)rune;
	return 0;
}

static int replay_input(const struct cli *cli, const struct replay_config *wanted,
			const struct input *input)
{
	struct policy *policy cleanup(policy_unrefp) = NULL;
	struct replay_setup setup = {.chunk = wanted->chunk ? wanted->chunk : CHUNK_DEFAULT};
	char *deny_by;
	int err = 0;

	if (check_options(wanted, input->capture))
		return CLI_EXIT_USAGE;
	if (wanted->list)
		return replay_list(cli, input->fd);
	if (cli_load_policy(wanted->policy, NULL, &policy))
		return CLI_EXIT_FAILED;
	setup.policy = policy;
	deny_by = wanted->deny_by ? strdup(wanted->deny_by) : NULL;
	if (deny_by)
		err = read_denial(deny_by, &setup);
	free(deny_by);
	if (err)
		return CLI_EXIT_USAGE;
	return input->capture ? replay_capture(cli, wanted, &setup, input->fd)
			      : replay_raw(cli, wanted, &setup, input);
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	const struct replay_config *wanted = config;
	struct input input;
	int status;

	(void)count;
	if (!wanted->policy && !wanted->list) {
		log_error("replay: --policy FILE is missing");
		return CLI_EXIT_USAGE;
	}
	if (wanted->track && strcmp(wanted->track, "request") != 0 &&
	    strcmp(wanted->track, "response") != 0) {
		log_error("replay: --track is request or response");
		return CLI_EXIT_USAGE;
	}
	if (open_input(args[0], &input))
		return CLI_EXIT_FAILED;
	status = replay_input(cli, wanted, &input);
	fd_close(input.fd);
	return status;
}

const struct command command_replay = {
	.name = "replay",
	.arguments = "FILE",
	.summary = "Show what policy would do with captured traffic",
	.details =
		"Needs no daemon and no privileges. FILE '-' is standard input. Prints offsets\n"
		"and counts, never text. FILE is a capture of packets (pcap or pcapng, read\n"
		"through tshark), or the raw bytes of one direction: then, with http1, requests\n"
		"are taken as answered when they end, and responses as those to GET. No\n"
		"interceptor is asked; each is taken to allow. Exit status 3: denied by policy,\n"
		"1: another fault, or bytes that the capture lacks, unless the policy only\n"
		"observes.",
	.flags = COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.min_args = 1,
	.max_args = 1,
	.options = options,
	.option_count = ARRAY_SIZE(options),
	.config_size = sizeof(struct replay_config),
	.run = run,
};
