/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges of a stream: requests and the responses that answer them, in order, and
 * a session over each. A protocol without requests has one, over the whole connection.
 * Both flows of the stream share it.
 *
 * Invariants:
 *  X1. A session begins with its request, and ends when both its messages have; it
 *      is finished then, once every task of `output` has cleared the response, or failed.
 *  X2. Responses answer requests in the order these came (RFC 9112 9.3.2). One that
 *      answers none is a fault.
 *  X3. Every session that began ends, and is told of exactly once (on_end).
 *  X4. While a request that may turn the connection into another protocol's waits
 *      for its answer, no other begins.
 */
#ifndef SLUICE_CORE_EXCHANGE_H
#define SLUICE_CORE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/attempt.h"
#include "core/fault.h"
#include "core/frame_http1.h"
#include "core/pipeline.h"
#include "core/session.h"

/* Requests that wait for their answer, per stream. */
#define EXCHANGES_MAX 64u

struct exchanges_config {
	struct session_config session; /* of each; its arrays are borrowed */
	/*
	 * A session began, and ended; may be NULL. Not called where no track has tasks. number
	 * counts the exchanges of the stream from 0.
	 */
	void (*on_begin)(void *context, uint64_t number, const struct session *session);
	void (*on_end)(void *context, uint64_t number, const struct session *session,
		       const struct session_state *state);
	void *context;
	uint64_t first; /* number of the first that begins: of a stream that others had before */
	/*
	 * http1, where the response has tasks: whose attempts at it are known. Its table outlives
	 * the exchanges.
	 */
	struct resume_scope resumes;
	/*
	 * One flow alone is seen (replay): a request is answered once it has ended, and a
	 * response that answers none is that to a GET.
	 */
	bool one_sided;
};

struct exchanges;

/* -ENOMEM. */
int exchanges_new(const struct exchanges_config *config,
		  struct exchanges **ret_exchanges) must_check;
/* Fails what is open, as disconnected. Accepts NULL. */
void exchanges_free(struct exchanges *exchanges);
DEFINE_CLEANUP(struct exchanges *, exchanges_free)

/* May a request begin? X4. */
bool exchanges_may_begin(const struct exchanges *exchanges);
/*
 * A request begins; *ret_session is its session, or NULL where no track has tasks.
 * FAULT_PROTOCOL: X4. FAULT_TOO_LARGE: EXCHANGES_MAX wait. FAULT_NO_MEMORY.
 * FAULT_ACCOUNTING: the configuration cannot be a session's.
 */
enum fault exchanges_request(struct exchanges *exchanges, struct session **ret_session) must_check;
/* Its start line is whole: what a refusal of it has to know. */
void exchanges_request_line(struct exchanges *exchanges, const struct http1_request *request);
/* Its head is whole: from now on it may be answered. */
void exchanges_request_head(struct exchanges *exchanges, const struct http1_request *request);
/* Do resumes count, and in what scope? NULL: nobody looks for them. */
const struct resume_scope *exchanges_resumes(const struct exchanges *exchanges);
/* Has a track tasks that gate it? */
bool exchanges_gates(const struct exchanges *exchanges, enum session_track track);
/*
 * The request is one attempt at its response, which is taken over. Its track begins where the
 * attempts before it ended. FAULT_RESUME_REFUSED: past the ceiling.
 */
enum fault exchanges_begin_attempt(struct exchanges *exchanges, struct attempt *attempt) must_check;
/* Its session failed as one that may not resume. Always FAULT_RESUME_REFUSED. */
enum fault exchanges_refuse_resume(struct exchanges *exchanges,
				   enum session_track track) must_check;
/* That of the response under way, or NULL; valid until it ends. */
struct attempt *exchanges_attempt(const struct exchanges *exchanges);
/* So many bytes of the flow of responses are released. */
void exchanges_delivered(struct exchanges *exchanges, uint64_t released);
/*
 * It is whole, and has left where the level does not hold it; it ends once its verdicts came. It
 * may be answered meanwhile, also by a 101.
 */
void exchanges_request_leaves(struct exchanges *exchanges);
/* It ended. FAULT_ACCOUNTING: its session could not be finished. */
enum fault exchanges_request_end(struct exchanges *exchanges) must_check;

/*
 * A response begins, and answers the oldest request. FAULT_PROTOCOL: none whose head is
 * whole waits for one. Another call before exchanges_response_end() gives the same.
 */
enum fault exchanges_response(struct exchanges *exchanges, struct session **ret_session,
			      struct http1_request *ret_request) must_check;
/*
 * Where the protocol does not say what answers what, one exchange is all of the stream:
 * begins its message of that track, the request first. Faults as above.
 */
enum fault exchanges_whole(struct exchanges *exchanges, enum session_track track,
			   struct session **ret_session) must_check;
/*
 * A task of `output` found what it denies in the response under way. The session is told
 * when that ends, whether or not the request has. Only the first counts. name: as in the
 * session, and valid until then.
 */
void exchanges_output_denied(struct exchanges *exchanges, const char *name);
/*
 * Tells a session what a task of `output` denied; its payloads end with that. NULL: there is
 * none. Always FAULT_OUTPUT_DENIED.
 */
enum fault exchange_deny(struct session *session, const char *name) must_check;
/*
 * It ended; interim: the answer itself is still to come. FAULT_OUTPUT_DENIED: the session is
 * denied, and the answer still due, for a refusal to stand for. FAULT_ACCOUNTING.
 */
enum fault exchanges_response_end(struct exchanges *exchanges, bool interim) must_check;

/* The client's flow has ended: no request comes any more. */
void exchanges_requests_over(struct exchanges *exchanges);
/*
 * The answer to the oldest request is a 101 that agrees on WebSocket: the exchange goes on
 * in it, and both its messages end again, with the flows; that of a flow which has ended
 * does not begin again. FAULT_PROTOCOL: the request is not whole.
 */
enum fault exchanges_upgrade(struct exchanges *exchanges,
			     const struct http1_websocket *websocket) must_check;
/* That, and the session it goes on in; NULL: no such thing happened. */
const struct http1_websocket *exchanges_websocket(const struct exchanges *exchanges,
						  struct session **ret_session);

/* What the stream speaks, as its client's first bytes told (auto). */
void exchanges_identify(struct exchanges *exchanges, enum framing_kind framing);
/* False: they have not told yet. */
bool exchanges_identified(const struct exchanges *exchanges, enum framing_kind *ret_framing);

/* How many have begun and not ended; after exchanges_fail() as it was then. */
size_t exchanges_open(const struct exchanges *exchanges);
/* The number that the next one gets. */
uint64_t exchanges_next(const struct exchanges *exchanges);
/*
 * Would others, which are given what came since the last one that ended, come to the same? Where
 * all have ended, or the last has begun and its head is not whole.
 */
bool exchanges_repeat(const struct exchanges *exchanges);
/* What is known of the request whose answer is due, or NULL where none is; as above. */
const struct http1_request *exchanges_due(const struct exchanges *exchanges);

/*
 * What ends the stream ends them all: session_fail() on each that is open. Nothing may
 * begin any more. The sessions are freed with the rest.
 */
void exchanges_fail(struct exchanges *exchanges, enum session_result error);
/* The number of the exchange whose message of that track is under way, or was last. */
uint64_t exchanges_number(const struct exchanges *exchanges, enum session_track track);

/*
 * The state of its session, and that number. False: it has none, or has ended. For a track
 * whose message waits to begin it is that of the exchange before.
 */
bool exchanges_track_state(const struct exchanges *exchanges, enum session_track track,
			   uint64_t *ret_number, struct session_state *ret_state);

/* The session of an exchange that is open, by its number. NULL: it has none, or has ended. */
const struct session *exchanges_session(const struct exchanges *exchanges, uint64_t number);

/* The state of the oldest open session, else of the last that ended. False: there was none. */
bool exchanges_state(const struct exchanges *exchanges, struct session_state *ret_state);

/*
 * Bytes that count with the flow of that track: what is kept of a response for the sake of a
 * retry grows with that flow.
 */
size_t exchanges_memory(const struct exchanges *exchanges, enum session_track track);

#endif
