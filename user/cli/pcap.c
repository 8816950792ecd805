/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/pcap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TCP_FIN 0x01u
#define TCP_SYN 0x02u
#define TCP_RST 0x04u
#define TCP_ACK 0x10u

bool pcap_is(const uint8_t *bytes, size_t len)
{
	/* Seconds and microseconds, or nanoseconds, in both byte orders; the section of pcapng. */
	static const uint8_t magic[][4] = {
		{0xd4, 0xc3, 0xb2, 0xa1}, {0xa1, 0xb2, 0xc3, 0xd4}, {0x4d, 0x3c, 0xb2, 0xa1},
		{0xa1, 0xb2, 0x3c, 0x4d}, {0x0a, 0x0d, 0x0d, 0x0a},
	};
	static const uint8_t order[][4] = {{0x1a, 0x2b, 0x3c, 0x4d}, {0x4d, 0x3c, 0x2b, 0x1a}};
	size_t i;

	if (len < PCAP_MAGIC_SIZE)
		return false;
	for (i = 0; i < ARRAY_SIZE(magic); i++)
		if (memcmp(bytes, magic[i], 4) == 0)
			break;
	/* The first four bytes of pcapng may begin a text; those of its byte order do not. */
	if (i == ARRAY_SIZE(magic) - 1)
		return memcmp(bytes + 8, order[0], 4) == 0 || memcmp(bytes + 8, order[1], 4) == 0;
	return i < ARRAY_SIZE(magic);
}

static void done_flow(struct pcap_flow *flow)
{
	for (size_t i = 0; i < flow->early_count; i++)
		free(flow->early[i].bytes);
	free(flow->early);
	free(flow->bytes);
}

void pcap_done(struct pcap *pcap)
{
	for (size_t i = 0; i < pcap->count; i++) {
		for (int side = 0; side < _PCAP_SIDE_MAX; side++)
			done_flow(&pcap->streams[i].flows[side]);
		free(pcap->streams[i].events);
	}
	free(pcap->streams);
	*pcap = (struct pcap){0};
}

/* Room for one more of an array of things of that size. */
static int grow(void **array, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? *room * 2 : 8;
	void *grown;

	if (count < *room)
		return 0;
	grown = reallocarray(*array, wanted, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = wanted;
	return 0;
}

static int add_event(struct pcap_stream *stream, enum pcap_event_kind kind, enum pcap_side side,
		     uint64_t time)
{
	int err = grow((void **)&stream->events, stream->event_count, &stream->event_room,
		       sizeof(*stream->events));

	if (!err)
		stream->events[stream->event_count++] = (struct pcap_event){
			.kind = kind,
			.side = side,
			.time = time,
			.end = stream->flows[side].len,
		};
	return err;
}

/* New ones have the largest number yet. */
static int find_stream(struct pcap *pcap, const struct pcap_packet *packet,
		       struct pcap_stream **ret_stream)
{
	struct pcap_stream *stream;
	size_t i = pcap->count;
	int err;

	while (i > 0 && pcap->streams[i - 1].number > packet->stream)
		i--;
	if (i > 0 && pcap->streams[i - 1].number == packet->stream) {
		*ret_stream = &pcap->streams[i - 1];
		return 0;
	}
	if (pcap->count == PCAP_STREAMS_MAX)
		return -EFBIG;
	err = grow((void **)&pcap->streams, pcap->count, &pcap->room, sizeof(*pcap->streams));
	if (err)
		return err;
	stream = &pcap->streams[i];
	(void)memmove(stream + 1, stream, (pcap->count - i) * sizeof(*stream));
	pcap->count++;
	*stream = (struct pcap_stream){.number = packet->stream, .began = packet->time};
	(void)snprintf(stream->flows[PCAP_CLIENT].address, sizeof(stream->flows[0].address), "%s",
		       packet->from);
	(void)snprintf(stream->flows[PCAP_SERVER].address, sizeof(stream->flows[0].address), "%s",
		       packet->to);
	stream->flows[PCAP_CLIENT].port = packet->from_port;
	stream->flows[PCAP_SERVER].port = packet->to_port;
	*ret_stream = stream;
	return 0;
}

static enum pcap_side side_of(const struct pcap_stream *stream, const struct pcap_packet *packet)
{
	const struct pcap_flow *client = &stream->flows[PCAP_CLIENT];

	return client->port == packet->from_port && strcmp(client->address, packet->from) == 0
		       ? PCAP_CLIENT
		       : PCAP_SERVER;
}

/* The first sender was taken for the client, and is not. */
static void turn_round(struct pcap_stream *stream)
{
	struct pcap_flow first = stream->flows[PCAP_CLIENT];

	stream->flows[PCAP_CLIENT] = stream->flows[PCAP_SERVER];
	stream->flows[PCAP_SERVER] = first;
	for (size_t i = 0; i < stream->event_count; i++)
		stream->events[i].side =
			stream->events[i].side == PCAP_CLIENT ? PCAP_SERVER : PCAP_CLIENT;
}

static void begin_flow(struct pcap_flow *flow, uint32_t first)
{
	if (flow->begun)
		return;
	flow->begun = true;
	flow->first = first;
}

/* What a SYN says: who is the client, and where the flows begin. */
static void take_syn(struct pcap_stream *stream, const struct pcap_packet *packet)
{
	bool answer = packet->flags & TCP_ACK;
	enum pcap_side side = side_of(stream, packet);

	if (!stream->told && (side == PCAP_CLIENT) == answer) {
		turn_round(stream);
		side = side_of(stream, packet);
	}
	stream->told = true;
	begin_flow(&stream->flows[side], packet->sequence + 1);
	/* One side's SYN may be missing: the answer to it says as much. */
	if (answer)
		begin_flow(&stream->flows[PCAP_CLIENT], packet->acknowledged);
}

/* Where a sequence number is, near the end of what there is; may be negative. */
static int64_t place_of(const struct pcap_flow *flow, uint32_t sequence)
{
	return (int64_t)flow->len + (int32_t)(sequence - (flow->first + (uint32_t)flow->len));
}

/* Bytes at `at`, not above what there is: those that are there already have to be the same. */
static int append(struct pcap *pcap, struct pcap_flow *flow, uint64_t at, const uint8_t *bytes,
		  size_t len)
{
	size_t known = (size_t)MIN(flow->len - at, (uint64_t)len);
	uint64_t room = MAX(flow->room, 4096u);
	uint8_t *grown;

	if (known && memcmp(flow->bytes + at, bytes, known) != 0) {
		flow->contradicted = true;
		return 0;
	}
	if (len == known)
		return 0;
	if (pcap->bytes + (len - known) > PCAP_BYTES_MAX)
		return -EFBIG;
	while (room < at + len)
		room *= 2;
	if (room > flow->room) {
		grown = realloc(flow->bytes, room);
		if (!grown)
			return -ENOMEM;
		flow->bytes = grown;
		flow->room = room;
	}
	(void)memcpy(flow->bytes + flow->len, bytes + known, len - known);
	flow->len = at + len;
	pcap->bytes += len - known;
	return 0;
}

/* Keeps what came too early, in order of place, and of what is at one place of arrival. */
static int keep_early(struct pcap *pcap, struct pcap_flow *flow, uint64_t at, const uint8_t *bytes,
		      size_t len)
{
	struct pcap_early *slot;
	size_t i = flow->early_count;
	uint8_t *copy;
	int err;

	if (pcap->bytes + len > PCAP_BYTES_MAX)
		return -EFBIG;
	err = grow((void **)&flow->early, flow->early_count, &flow->early_room,
		   sizeof(*flow->early));
	copy = err ? NULL : malloc(len);
	if (!copy)
		return -ENOMEM;
	(void)memcpy(copy, bytes, len);
	while (i > 0 && flow->early[i - 1].at > at)
		i--;
	slot = &flow->early[i];
	(void)memmove(slot + 1, slot, (flow->early_count - i) * sizeof(*slot));
	*slot = (struct pcap_early){.at = at, .len = len, .bytes = copy};
	flow->early_count++;
	pcap->bytes += len;
	return 0;
}

/* What came too early and is not any more. */
static int take_early(struct pcap *pcap, struct pcap_flow *flow)
{
	size_t i;
	int err = 0;

	for (i = 0; i < flow->early_count && flow->early[i].at <= flow->len; i++) {
		pcap->bytes -= flow->early[i].len;
		if (!err && !flow->contradicted)
			err = append(pcap, flow, flow->early[i].at, flow->early[i].bytes,
				     flow->early[i].len);
		free(flow->early[i].bytes);
	}
	flow->early_count -= i;
	if (i)
		(void)memmove(flow->early, flow->early + i,
			      flow->early_count * sizeof(*flow->early));
	return err;
}

static int take_payload(struct pcap *pcap, struct pcap_flow *flow, const struct pcap_packet *packet)
{
	int64_t at = place_of(flow, packet->sequence + !!(packet->flags & TCP_SYN));
	const uint8_t *bytes = packet->bytes;
	size_t have = packet->have;
	int err;

	/* A keep-alive has one byte of no meaning, below what comes next (RFC 1122 4.2.3.6). */
	if (packet->len == 1 && at == (int64_t)flow->len - 1)
		return 0;
	if (at + (int64_t)packet->len <= 0)
		return 0;
	flow->sent = MAX(flow->sent, (uint64_t)(at + (int64_t)packet->len));
	if (at < 0) {
		bytes += MIN((size_t)-at, have);
		have -= MIN((size_t)-at, have);
		at = 0;
	}
	if (!have)
		return 0;
	if ((uint64_t)at > flow->len)
		return keep_early(pcap, flow, (uint64_t)at, bytes, have);
	err = append(pcap, flow, (uint64_t)at, bytes, have);
	return err ? err : take_early(pcap, flow);
}

/* What is acknowledged has been sent; one number more than the bytes is that of the FIN. */
static void take_acknowledgement(struct pcap_flow *flow, uint32_t acknowledged)
{
	int64_t to = place_of(flow, acknowledged);

	if (flow->has_end && to == (int64_t)flow->end + 1)
		to--;
	if (to > 0)
		flow->sent = MAX(flow->sent, (uint64_t)to);
}

static int take_end(struct pcap_stream *stream, struct pcap_flow *flow,
		    const struct pcap_packet *packet, uint64_t before)
{
	enum pcap_side side = side_of(stream, packet);
	bool known = flow->has_end;
	int err = 0;

	if (packet->flags & TCP_FIN && !known) {
		int64_t end = place_of(flow, packet->sequence + (uint32_t)packet->len +
						     !!(packet->flags & TCP_SYN));

		flow->has_end = end >= 0;
		flow->end = flow->has_end ? (uint64_t)end : 0;
		flow->sent = MAX(flow->sent, flow->end);
	}
	if (flow->has_end && flow->len == flow->end && (!known || before != flow->len))
		err = add_event(stream, PCAP_FIN, side, packet->time);
	if (!err && packet->flags & TCP_RST)
		err = add_event(stream, PCAP_RESET, side, packet->time);
	return err;
}

int pcap_add(struct pcap *pcap, const struct pcap_packet *packet)
{
	struct pcap_stream *stream;
	struct pcap_flow *flow, *other;
	enum pcap_side side;
	uint64_t before;
	int err = find_stream(pcap, packet, &stream);

	if (err)
		return err;
	pcap->packets++;
	stream->ended = packet->time;
	if (packet->flags & TCP_SYN)
		take_syn(stream, packet);
	side = side_of(stream, packet);
	flow = &stream->flows[side];
	other = &stream->flows[side == PCAP_CLIENT ? PCAP_SERVER : PCAP_CLIENT];
	before = flow->len;
	if (!flow->begun)
		return packet->flags & TCP_RST ? add_event(stream, PCAP_RESET, side, packet->time)
					       : 0;
	if (packet->len && !flow->contradicted)
		err = take_payload(pcap, flow, packet);
	if (!err && flow->len > before)
		err = add_event(stream, PCAP_DATA, side, packet->time);
	if (!err && packet->flags & TCP_ACK && !(packet->flags & TCP_RST) && other->begun)
		take_acknowledgement(other, packet->acknowledged);
	return err ? err : take_end(stream, flow, packet, before);
}

void pcap_finish(struct pcap *pcap)
{
	for (size_t i = 0; i < pcap->count; i++)
		for (int side = 0; side < _PCAP_SIDE_MAX; side++) {
			struct pcap_flow *flow = &pcap->streams[i].flows[side];

			if (!flow->begun)
				flow->lack = PCAP_NO_START;
			else if (flow->contradicted)
				flow->lack = PCAP_CONTRADICTED;
			else if (flow->sent > flow->len)
				flow->lack = PCAP_GAP;
		}
}
