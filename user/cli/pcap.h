/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP streams out of a capture file, pcap or pcapng. tshark reads the packets
 * (pcap_tshark.c); the bytes of each flow are put in order here, by sequence
 * number (RFC 9293 3.4), since what may be replayed is only what the capture proves.
 *
 * Invariants:
 *  C1. A flow's bytes are those from the first one on, without a gap; each was seen first
 *      as it stands there.
 *  C2. What the capture lacks ends the flow where it is missing: a start that it did not see,
 *      a byte between two others, one that was acknowledged, or that a short snapshot cut off.
 *  C3. Where two packets have different bytes for one place, the flow ends there: nothing
 *      here tells which of them the receiver took.
 *  C4. The events of a stream are in the order in which its bytes became whole.
 *
 * Units: bytes count from the first of the flow; times are nanoseconds since the epoch.
 */
#ifndef SLUICE_CLI_PCAP_H
#define SLUICE_CLI_PCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/* Bytes of payload kept at once, of all streams that are read. */
#define PCAP_BYTES_MAX	 (1ull << 30)
#define PCAP_STREAMS_MAX (1u << 20)
/* How many bytes pcap_is() looks at. */
#define PCAP_MAGIC_SIZE 12u

enum pcap_side { PCAP_CLIENT, PCAP_SERVER, _PCAP_SIDE_MAX };

enum pcap_lack {
	PCAP_WHOLE,
	PCAP_NO_START,	   /* no SYN of it */
	PCAP_GAP,	   /* bytes that were sent are not in the capture */
	PCAP_CONTRADICTED, /* two packets have different ones */
};

/* A packet that is not in its place yet. */
struct pcap_early {
	uint64_t at;
	size_t len;
	uint8_t *bytes;
};

struct pcap_flow {
	char address[48]; /* of the sender */
	uint16_t port;
	uint8_t *bytes;
	uint64_t len, room;
	enum pcap_lack lack; /* once all is read */
	/* While it is read. */
	bool begun, has_end, contradicted;
	uint32_t first; /* sequence number of the first byte */
	uint64_t end;	/* of the flow, by its FIN */
	uint64_t sent;	/* how far packets and acknowledgements say that it goes */
	struct pcap_early *early;
	size_t early_count, early_room;
};

enum pcap_event_kind { PCAP_DATA, PCAP_FIN, PCAP_RESET };

struct pcap_event {
	enum pcap_event_kind kind;
	enum pcap_side side; /* who sent it */
	uint64_t time;
	uint64_t end; /* of the flow's bytes that came with it, or before */
};

struct pcap_stream {
	uint32_t number; /* tshark's: tcp.stream */
	uint64_t began, ended;
	bool told; /* a SYN told which side is the client; else the first sender counts as it */
	struct pcap_flow flows[_PCAP_SIDE_MAX];
	struct pcap_event *events;
	size_t event_count, event_room;
};

struct pcap {
	struct pcap_stream *streams; /* by number */
	size_t count, room;
	uint64_t bytes;
	uint64_t packets; /* of TCP */
	uint64_t unread;  /* packets with more than one TCP header: they are in no stream */
	/* The file ends inside a packet: what came before is there. */
	bool cut_short;
};

/* Do these first bytes of a file, at least PCAP_MAGIC_SIZE, begin a capture? */
bool pcap_is(const uint8_t *bytes, size_t len);

/*
 * Reads a capture from fd, from its start; only that stream where number is not NULL. Says
 * in one line what is wrong. -ENOENT: there is no tshark. -EFBIG: over the limits above. -EIO:
 * tshark failed. -EPROTO: it says what cannot be. -ENOMEM.
 */
int pcap_read(int fd, const uint64_t *number, struct pcap *ret_pcap) must_check;
void pcap_done(struct pcap *pcap);

/* One packet of TCP, as pcap_read() has it from tshark. */
struct pcap_packet {
	uint64_t time;
	uint32_t stream;
	const char *from, *to; /* addresses */
	uint16_t from_port, to_port;
	uint32_t sequence, acknowledged;
	unsigned int flags; /* of the TCP header */
	uint64_t len;	    /* of the payload as it was sent */
	const uint8_t *bytes;
	size_t have; /* of it, in the capture */
};

/* -EFBIG: over the limits. -ENOMEM. */
int pcap_add(struct pcap *pcap, const struct pcap_packet *packet) must_check;
/* Nothing more comes: what each flow lacks is known. */
void pcap_finish(struct pcap *pcap);

#endif
