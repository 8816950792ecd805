/* SPDX-License-Identifier: Apache-2.0 */
/* replay of a capture of packets: all its TCP streams, or one of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/pcap.h"
#include "cli/replay.h"
#include "cli/replay_print.h"
#include "cli/replay_view.h"
#include "sys/log.h"

#define NS_PER_US 1000u

static const char *lack_name(enum pcap_lack lack)
{
	switch (lack) {
	case PCAP_NO_START:
		return "no_start";
	case PCAP_GAP:
		return "gap";
	case PCAP_CONTRADICTED:
		return "contradicted";
	default:
		return "none";
	}
}

static bool lacks(const struct pcap_stream *stream)
{
	return stream->flows[PCAP_CLIENT].lack || stream->flows[PCAP_SERVER].lack;
}

/* How the capture saw it end. */
static const char *end_name(const struct pcap_stream *stream)
{
	unsigned int ended = 0;

	for (size_t i = 0; i < stream->event_count; i++) {
		if (stream->events[i].kind == PCAP_RESET)
			return "reset";
		if (stream->events[i].kind == PCAP_FIN)
			ended |= 1u << stream->events[i].side;
	}
	return ended == 3u ? "closed" : "open";
}

static json_t *peer_json(const struct pcap_flow *flow)
{
	bool six = strchr(flow->address, ':') != NULL;
	char peer[64];

	(void)snprintf(peer, sizeof(peer), six ? "[%s]:%u" : "%s:%u", flow->address, flow->port);
	return json_string(peer);
}

/* What the capture says of a stream. */
static json_t *stream_json(const struct pcap_stream *stream)
{
	const struct pcap_flow *client = &stream->flows[PCAP_CLIENT];
	const struct pcap_flow *server = &stream->flows[PCAP_SERVER];

	return json_pack("{s:I, s:o, s:o, s:b, s:I, s:s, s:I, s:I, s:s, s:s}", "stream",
			 (json_int_t)stream->number, "client", peer_json(client), "server",
			 peer_json(server), "start_seen", stream->told, "duration_us",
			 (json_int_t)((stream->ended - stream->began) / NS_PER_US), "end",
			 end_name(stream), "client_bytes", (json_int_t)client->len, "server_bytes",
			 (json_int_t)server->len, "client_lacks", lack_name(client->lack),
			 "server_lacks", lack_name(server->lack));
}

static enum session_track track_of(enum pcap_side side, bool agent_is_server)
{
	return (side == PCAP_CLIENT) != agent_is_server ? SESSION_REQUEST : SESSION_RESPONSE;
}

/* In the order in which the bytes came; nothing after what the capture lacks can be told. */
static void play(struct replay_stream *replay, const struct pcap_stream *stream, bool server)
{
	uint64_t fed[_PCAP_SIDE_MAX] = {0};
	bool reset = false;

	for (size_t i = 0; i < stream->event_count && !reset; i++) {
		const struct pcap_event *event = &stream->events[i];
		enum session_track track = track_of(event->side, server);

		if (event->kind == PCAP_DATA) {
			replay_feed(replay, track,
				    stream->flows[event->side].bytes + fed[event->side],
				    event->end - fed[event->side], event->time);
			fed[event->side] = event->end;
		}
		if (event->kind == PCAP_FIN)
			replay_end(replay, track, event->time);
		reset = event->kind == PCAP_RESET;
	}
	replay_settle(replay, SESSION_DISCONNECTED);
}

/* Its server's address, unless the command line says another. */
static int find_destination(const struct replay_config *wanted, const struct policy *policy,
			    const struct pcap_stream *stream,
			    struct replay_destination *ret_destination)
{
	const struct pcap_flow *server = &stream->flows[PCAP_SERVER];
	char text[64];
	uint8_t address[16];
	uint16_t port;
	int err;

	(void)snprintf(text, sizeof(text), strchr(server->address, ':') ? "[%s]:%u" : "%s:%u",
		       server->address, server->port);
	err = replay_parse_peer(wanted->destination ? wanted->destination : text, address, &port);
	if (!err)
		replay_find_destination(policy, address, port, ret_destination);
	return err;
}

static json_t *view_of(const struct replay_stream *replay, const struct pcap_stream *stream,
		       const struct replay_config *wanted)
{
	json_t *view = stream_json(stream), *judged = replay_view_stream(replay);
	int err = !view || !judged || json_object_update(view, judged) ||
		  json_object_set_new(view, "agent",
				      json_string(wanted->server ? "server" : "client"));

	for (int track = 0; !err && track < _SESSION_TRACK_MAX; track++)
		err = json_object_set_new(view, track == SESSION_REQUEST ? "request" : "response",
					  replay_view_flow(replay, (enum session_track)track,
							   stream->began, wanted->units));
	json_decref(judged);
	if (!err)
		return view;
	json_decref(view);
	return NULL;
}

/* Denied counts before failed, and that before done. */
static int worse(int a, int b)
{
	return MAX(a, b);
}

static int replay_one(const struct replay_config *wanted, const struct replay_setup *setup,
		      const struct pcap_stream *stream, json_t *views, int *ret_status)
{
	struct replay_stream *replay = malloc(sizeof(*replay));
	struct replay_destination destination;
	json_t *view = NULL;
	int err = replay ? find_destination(wanted, setup->policy, stream, &destination) : -ENOMEM;

	if (!err)
		err = replay_open(replay, setup, &destination, NULL, FRAMING_AUTO);
	if (!err) {
		play(replay, stream, wanted->server);
		view = view_of(replay, stream, wanted);
		err = !view || replay->failed || json_array_append(views, view) ? -ENOMEM : 0;
		*ret_status = replay_status(replay);
		/* A capture that lacks bytes proves nothing of what it seems to show. */
		if (lacks(stream) && *ret_status == CLI_EXIT_DONE)
			*ret_status = CLI_EXIT_FAILED;
		replay_close(replay);
	}
	json_decref(view);
	free(replay);
	return err;
}

/* The document of a capture, streams still to come. */
static json_t *capture_json(const struct pcap *pcap)
{
	return json_pack("{s:{s:I, s:I, s:I, s:b}, s:[]}", "capture", "packets",
			 (json_int_t)pcap->packets, "unread", (json_int_t)pcap->unread, "streams",
			 (json_int_t)pcap->count, "cut_short", pcap->cut_short, "streams");
}

static int read_capture(const char *stream, int fd, struct pcap *ret_pcap)
{
	json_int_t number;
	uint64_t wanted;

	if (!stream)
		return pcap_read(fd, NULL, ret_pcap);
	if (cli_parse_id(stream, "stream", &number))
		return -EINVAL;
	wanted = (uint64_t)number;
	return pcap_read(fd, &wanted, ret_pcap);
}

static json_t *views_of(const struct replay_config *wanted, const struct replay_setup *setup,
			const struct pcap *pcap, int *ret_status)
{
	json_t *view = capture_json(pcap), *policy = replay_view_policy(setup);
	json_t *views = json_object_get(view, "streams");
	int err = !view || !policy || json_object_update(view, policy), status;

	for (size_t i = 0; !err && i < pcap->count; i++) {
		status = CLI_EXIT_FAILED;
		err = replay_one(wanted, setup, &pcap->streams[i], views, &status);
		*ret_status = worse(*ret_status, status);
	}
	json_decref(policy);
	if (!err)
		return view;
	json_decref(view);
	return NULL;
}

int replay_capture(const struct cli *cli, const struct replay_config *wanted,
		   const struct replay_setup *setup, int fd)
{
	struct pcap pcap;
	int status = CLI_EXIT_DONE, err = read_capture(wanted->stream, fd, &pcap);
	json_t *view;

	if (err)
		return err == -EINVAL ? CLI_EXIT_USAGE : CLI_EXIT_FAILED;
	if (pcap.cut_short || pcap.unread)
		status = CLI_EXIT_FAILED;
	if (!pcap.count) {
		log_error(wanted->stream ? "the capture has no such TCP stream: --list shows them"
					 : "the capture has no TCP stream");
		status = CLI_EXIT_FAILED;
	}
	view = views_of(wanted, setup, &pcap, &status);
	status = worse(status, cli_show(cli, view, replay_print_capture));
	pcap_done(&pcap);
	return status;
}

int replay_list(const struct cli *cli, int fd)
{
	struct pcap pcap;
	json_t *view;
	int status;

	if (pcap_read(fd, NULL, &pcap))
		return CLI_EXIT_FAILED;
	view = capture_json(&pcap);
	for (size_t i = 0; view && i < pcap.count; i++)
		if (json_array_append_new(json_object_get(view, "streams"),
					  stream_json(&pcap.streams[i]))) {
			json_decref(view);
			view = NULL;
		}
	status = cli_show(cli, view, replay_print_list);
	pcap_done(&pcap);
	return status;
}
