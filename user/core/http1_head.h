/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the head of an HTTP/1 message says of the message (RFC 9112 3, 4, 5 and 6),
 * line by line. The choices are those of frame_http1.h.
 *
 * Invariant: a fault of syntax is told at its line, or where the head ends. What is
 * well-formed and leaves the length or the coding in doubt (a late fault) is known
 * when the head is whole, and not before: a later line may be malformed.
 */
#ifndef SLUICE_CORE_HTTP1_HEAD_H
#define SLUICE_CORE_HTTP1_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/content_coding.h"
#include "core/fault.h"
#include "core/http1_grammar.h"
#include "core/media_type.h"

enum http1_body {
	HTTP1_NO_BODY,
	HTTP1_LENGTH,
	HTTP1_CHUNKED,
	HTTP1_UNTIL_CLOSE, /* responses only */
	/*
	 * The connection is another protocol's from here on: a 2xx to CONNECT, or a 101.
	 * The codec takes no more input; frame_http1_init() begins anew.
	 */
	HTTP1_TUNNEL,
};

/* What a response has to know of its request (RFC 9112 6.3). */
struct http1_request {
	bool head;	/* HEAD */
	bool connect;	/* CONNECT */
	bool upgrade;	/* it offers other protocols (RFC 9110 7.8) */
	bool websocket; /* and WebSocket is one of them (RFC 6455 4.1) */
	bool deflate;	/* with permessage-deflate (RFC 7692 7.1) */
};

/* What a 101 agrees on (RFC 6455 4.2.2, RFC 7692 7.1). */
struct http1_websocket {
	bool agreed; /* WebSocket, with known extensions, all of which the request offered */
	bool deflate;
	bool client_no_context_takeover, server_no_context_takeover;
};

struct http1_head {
	struct http1_request request; /* its own, or that of the request it answers */
	uint16_t status;	      /* responses */
	bool interim;		      /* 1xx but 101: the answer is still to come */
	bool expect_continue;	      /* requests: the body waits for a 100 (RFC 9110 10.1.1) */
	enum http1_body body;
	uint64_t length; /* with HTTP1_LENGTH, at least 1 */
	enum content_coding coding;
	enum media_class media;
	struct http1_websocket websocket; /* of a 101 */
};

/* What the lines so far have said. */
struct http1_facts {
	struct http1_slice authority; /* of an absolute target; within the start line */
	bool https;		      /* its scheme */
	bool version_1_0;
	bool has_host;
	/* Content-Length, Transfer-Encoding */
	bool has_length, has_transfer;
	bool chunked;	     /* the last transfer coding is */
	bool other_transfer; /* there is one besides */
	bool ambiguous;
	uint64_t length;
	bool has_coding, unsupported; /* Content-Encoding */
	enum content_coding coding;
	bool has_media; /* Content-Type */
	enum media_class media;
	bool connection_upgrade, has_upgrade;
	bool upgrade_websocket, upgrade_other;
	struct http1_websocket websocket; /* its extensions */
	bool unknown_extension;
	bool expect_continue;
};

/*
 * A request line, which has to outlive the facts; sets head->request. *ret_target: the
 * target in it. FAULT_BAD_HEADER, FAULT_PROTOCOL.
 */
enum fault http1_head_request(struct http1_facts *facts, struct http1_slice line,
			      struct http1_head *head, struct http1_slice *ret_target) must_check;
/* A status line; sets head->status. FAULT_BAD_HEADER, FAULT_PROTOCOL. */
enum fault http1_head_status(struct http1_facts *facts, struct http1_slice line,
			     struct http1_head *head) must_check;
/* FAULT_BAD_HEADER. */
enum fault http1_head_field(struct http1_facts *facts, bool response,
			    struct http1_slice line) must_check;
/*
 * The head is whole: sets the rest of *head. FAULT_BAD_HEADER. *ret_late: the message
 * is none that may go on, though its head is well-formed; FAULT_AMBIGUOUS_LENGTH,
 * FAULT_UNSUPPORTED_CODING, FAULT_PROTOCOL, or FAULT_NONE.
 */
enum fault http1_head_whole(const struct http1_facts *facts, bool response, struct http1_head *head,
			    enum fault *ret_late) must_check;

/* A line of a trailer: one that says how to read the message is FAULT_BAD_HEADER as well. */
enum fault http1_head_trailer(struct http1_slice line) must_check;

#endif
