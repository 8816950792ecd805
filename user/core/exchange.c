/* SPDX-License-Identifier: Apache-2.0 */
#include "core/exchange.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct exchange {
	struct session *session; /* NULL: no track has tasks */
	uint64_t number;
	struct http1_request request;
	struct attempt *attempt; /* NULL: nobody looks for resumes */
	bool head;		 /* of the request is whole */
	bool request_ended, response_ended;
	bool request_leaves; /* it has come, and its end waits for verdicts */
	const char *denied;  /* the first task of `output` that denied it, or NULL */
};

struct exchanges {
	struct exchanges_config config;
	/* A ring: the oldest first, the request under way last. */
	struct exchange *ring;
	size_t first, count, capacity; /* capacity: a power of two */
	uint64_t begun;		       /* exchanges so far */
	struct session_state last;     /* of the session that ended last */
	bool has_last;
	bool failed; /* all of them, for good */
	bool requests_over;
	struct http1_websocket websocket;
	bool identified;
	enum framing_kind framing;
};

int exchanges_new(const struct exchanges_config *config, struct exchanges **ret_exchanges)
{
	struct exchanges *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	x->config = *config;
	x->begun = config->first;
	*ret_exchanges = x;
	return 0;
}

static struct exchange *at(const struct exchanges *x, size_t i)
{
	return &x->ring[(x->first + i) & (x->capacity - 1)];
}

static struct exchange *oldest(const struct exchanges *x)
{
	return x->count ? at(x, 0) : NULL;
}

static struct exchange *newest(const struct exchanges *x)
{
	return x->count ? at(x, x->count - 1) : NULL;
}

/* What its client got so far may be resumed. */
static void keep_attempt(const struct exchanges *x, const struct exchange *exchange)
{
	struct session_state state;

	if (!exchange->attempt)
		return;
	session_get(exchange->session, &state);
	attempt_keep(exchange->attempt, &x->config.resumes,
		     state.track[SESSION_RESPONSE].confirmed);
}

/* The session of an exchange has ended, however. */
static void tell(struct exchanges *x, const struct exchange *exchange)
{
	session_get(exchange->session, &x->last);
	x->has_last = true;
	if (x->config.on_end)
		x->config.on_end(x->config.context, exchange->number, exchange->session, &x->last);
}

/* The sessions stay, since the flows' pipelines still know them. */
void exchanges_fail(struct exchanges *x, enum session_result error)
{
	for (size_t i = 0; i < x->count && !x->failed; i++) {
		const struct exchange *exchange = at(x, i);

		if (!exchange->session)
			continue;
		/* One that its pipeline ended keeps that end. */
		session_fail(exchange->session, error);
		keep_attempt(x, exchange);
		tell(x, exchange);
	}
	x->failed = true;
}

void exchanges_free(struct exchanges *x)
{
	if (!x)
		return;
	exchanges_fail(x, SESSION_DISCONNECTED);
	for (size_t i = 0; i < x->count; i++) {
		attempt_free(at(x, i)->attempt);
		(void)session_free(at(x, i)->session);
	}
	free(x->ring);
	free(x);
}

static enum fault grow(struct exchanges *x)
{
	size_t capacity = x->capacity ? x->capacity * 2 : 1;
	struct exchange *ring = calloc(capacity, sizeof(*ring));

	if (!ring)
		return FAULT_NO_MEMORY;
	for (size_t i = 0; i < x->count; i++)
		ring[i] = *at(x, i);
	free(x->ring);
	x->ring = ring;
	x->first = 0;
	x->capacity = capacity;
	return FAULT_NONE;
}

static enum fault open_session(const struct exchanges *x, struct session **ret_session)
{
	switch (session_new(&x->config.session, ret_session)) {
	case SESSION_OK:
		return FAULT_NONE;
	case SESSION_NO_TRACKS_MEDIATED:
		*ret_session = NULL;
		return FAULT_NONE;
	case SESSION_NO_MEMORY:
		return FAULT_NO_MEMORY;
	default:
		return FAULT_ACCOUNTING;
	}
}

bool exchanges_may_begin(const struct exchanges *x)
{
	const struct exchange *before = newest(x);

	return !before || before->response_ended ||
	       !(before->request.connect || before->request.upgrade);
}

enum fault exchanges_request(struct exchanges *x, struct session **ret_session)
{
	struct exchange begun = {0};
	enum fault fault = FAULT_NONE;

	assert(!x->count || newest(x)->request_ended);
	if (!exchanges_may_begin(x))
		return FAULT_PROTOCOL;
	if (x->count == EXCHANGES_MAX)
		return FAULT_TOO_LARGE;
	if (x->count == x->capacity)
		fault = grow(x);
	if (!fault)
		fault = open_session(x, &begun.session);
	if (fault)
		return fault;
	begun.number = x->begun++;
	x->count++;
	*newest(x) = begun;
	*ret_session = begun.session;
	if (begun.session && x->config.on_begin)
		x->config.on_begin(x->config.context, begun.number, begun.session);
	return FAULT_NONE;
}

void exchanges_request_line(struct exchanges *x, const struct http1_request *request)
{
	newest(x)->request = *request;
}

void exchanges_request_head(struct exchanges *x, const struct http1_request *request)
{
	struct exchange *exchange = newest(x);

	assert(exchange && !exchange->head);
	exchange->request = *request;
	exchange->head = true;
}

const struct resume_scope *exchanges_resumes(const struct exchanges *x)
{
	return x->config.resumes.table ? &x->config.resumes : NULL;
}

bool exchanges_gates(const struct exchanges *x, enum session_track track)
{
	return x->config.session.task_count[track] > 0;
}

enum fault exchanges_begin_attempt(struct exchanges *x, struct attempt *attempt)
{
	struct exchange *exchange = newest(x);

	assert(exchange && exchange->session && !exchange->attempt);
	exchange->attempt = attempt;
	if (session_resume(exchange->session, SESSION_RESPONSE, attempt_start(attempt)) !=
	    SESSION_OK)
		return exchanges_refuse_resume(x, SESSION_REQUEST);
	return FAULT_NONE;
}

enum fault exchanges_refuse_resume(struct exchanges *x, enum session_track track)
{
	const struct exchange *exchange = track == SESSION_REQUEST ? newest(x) : oldest(x);

	session_fail(exchange->session, SESSION_RESUME_REFUSED);
	return FAULT_RESUME_REFUSED;
}

struct attempt *exchanges_attempt(const struct exchanges *x)
{
	return x->count ? oldest(x)->attempt : NULL;
}

void exchanges_delivered(struct exchanges *x, uint64_t released)
{
	if (!x->count || !oldest(x)->attempt)
		return;
	attempt_released(oldest(x)->attempt, released);
	/* Its client may be gone, and its next attempt under way. */
	if (x->requests_over)
		keep_attempt(x, oldest(x));
}

/* Both messages have ended, and no task of `output` denied the response. */
static enum session_result finish(struct session *session)
{
	enum session_result result = session_end_of_payloads(session);

	for (int task = 0; result == SESSION_OK && session_output_name(session, task); task++)
		result = session_output(session, task, SESSION_CLEARED);
	return result == SESSION_OK ? session_finish(session) : result;
}

/* Finishes the oldest exchange where both its messages have ended. */
static enum fault settle(struct exchanges *x)
{
	struct exchange *exchange = oldest(x);
	enum session_result result = SESSION_OK;

	if (!exchange->request_ended || !exchange->response_ended)
		return FAULT_NONE;
	if (exchange->session) {
		result = finish(exchange->session);
		keep_attempt(x, exchange);
		if (!x->failed)
			tell(x, exchange);
		attempt_free(exchange->attempt);
		(void)session_free(exchange->session);
	}
	x->first = (x->first + 1) & (x->capacity - 1);
	x->count--;
	return result == SESSION_OK ? FAULT_NONE : FAULT_ACCOUNTING;
}

void exchanges_request_leaves(struct exchanges *x)
{
	newest(x)->request_leaves = true;
}

enum fault exchanges_request_end(struct exchanges *x)
{
	struct exchange *exchange = newest(x);
	/* Its answer came meanwhile, and it goes on in another protocol. */
	bool goes_on = exchange && exchange->request_leaves && x->websocket.agreed;

	assert(exchange && !exchange->request_ended);
	exchange->head = true;
	exchange->request_leaves = false;
	exchange->request_ended = !goes_on || x->requests_over;
	if (x->config.one_sided)
		exchange->response_ended = true;
	return settle(x);
}

/* The GET that a response answers whose request nobody saw. */
static enum fault assume_request(struct exchanges *x)
{
	struct session *session;
	enum fault fault = exchanges_request(x, &session);

	if (!fault)
		newest(x)->head = newest(x)->request_ended = true;
	return fault;
}

enum fault exchanges_response(struct exchanges *x, struct session **ret_session,
			      struct http1_request *ret_request)
{
	const struct exchange *exchange;
	enum fault fault = FAULT_NONE;

	if (x->config.one_sided && !x->count)
		fault = assume_request(x);
	if (fault)
		return fault;
	exchange = oldest(x);
	if (!exchange || !exchange->head || exchange->response_ended)
		return FAULT_PROTOCOL;
	*ret_session = exchange->session;
	*ret_request = exchange->request;
	return FAULT_NONE;
}

enum fault exchanges_whole(struct exchanges *x, enum session_track track,
			   struct session **ret_session)
{
	struct http1_request request = {0};
	enum fault fault;

	if (track == SESSION_RESPONSE)
		return exchanges_response(x, ret_session, &request);
	fault = exchanges_request(x, ret_session);
	if (!fault)
		exchanges_request_head(x, &request);
	return fault;
}

void exchanges_output_denied(struct exchanges *x, const char *name)
{
	struct exchange *exchange = oldest(x);

	assert(exchange && !exchange->response_ended);
	if (!exchange->denied)
		exchange->denied = name;
}

enum fault exchange_deny(struct session *session, const char *name)
{
	if (session) {
		(void)session_end_of_payloads(session);
		/* Where the session refuses it has ended, or fails by that. */
		(void)!session_output(session, session_output_task(session, name), SESSION_DENIED);
	}
	return FAULT_OUTPUT_DENIED;
}

enum fault exchanges_response_end(struct exchanges *x, bool interim)
{
	struct exchange *exchange = oldest(x);

	assert(exchange && !exchange->response_ended);
	/* It stays, as one that a task denied amid a message does: its answer is still due. */
	if (exchange->denied)
		return exchange_deny(exchange->session, exchange->denied);
	exchange->response_ended = !interim;
	return settle(x);
}

void exchanges_requests_over(struct exchanges *x)
{
	x->requests_over = true;
	for (size_t i = 0; i < x->count; i++)
		keep_attempt(x, at(x, i));
}

enum fault exchanges_upgrade(struct exchanges *x, const struct http1_websocket *websocket)
{
	struct exchange *exchange = oldest(x);

	assert(exchange && websocket->agreed);
	if (!exchange->request_ended && !exchange->request_leaves)
		return FAULT_PROTOCOL;
	exchange->request_ended = exchange->request_ended && x->requests_over;
	x->websocket = *websocket;
	return FAULT_NONE;
}

const struct http1_websocket *exchanges_websocket(const struct exchanges *x,
						  struct session **ret_session)
{
	if (!x->websocket.agreed)
		return NULL;
	*ret_session = x->count ? oldest(x)->session : NULL;
	return &x->websocket;
}

void exchanges_identify(struct exchanges *x, enum framing_kind framing)
{
	x->identified = true;
	x->framing = framing;
}

bool exchanges_identified(const struct exchanges *x, enum framing_kind *ret_framing)
{
	if (x->identified)
		*ret_framing = x->framing;
	return x->identified;
}

uint64_t exchanges_number(const struct exchanges *x, enum session_track track)
{
	const struct exchange *exchange = track == SESSION_REQUEST ? newest(x) : oldest(x);

	if (exchange)
		return exchange->number;
	return x->begun ? x->begun - 1 : 0;
}

bool exchanges_track_state(const struct exchanges *x, enum session_track track,
			   uint64_t *ret_number, struct session_state *ret_state)
{
	const struct exchange *exchange = track == SESSION_REQUEST ? newest(x) : oldest(x);

	if (!exchange || !exchange->session)
		return false;
	*ret_number = exchange->number;
	session_get(exchange->session, ret_state);
	return true;
}

const struct session *exchanges_session(const struct exchanges *x, uint64_t number)
{
	const struct exchange *first = oldest(x);

	if (!first || number < first->number || number - first->number >= x->count)
		return NULL;
	return at(x, (size_t)(number - first->number))->session;
}

size_t exchanges_open(const struct exchanges *x)
{
	return x->count;
}

uint64_t exchanges_next(const struct exchanges *x)
{
	return x->begun;
}

bool exchanges_repeat(const struct exchanges *x)
{
	if (x->failed || x->websocket.agreed)
		return false;
	return !x->count || (x->count == 1 && !newest(x)->head);
}

const struct http1_request *exchanges_due(const struct exchanges *x)
{
	const struct exchange *exchange = oldest(x);

	return exchange && !exchange->response_ended ? &exchange->request : NULL;
}

bool exchanges_state(const struct exchanges *x, struct session_state *ret_state)
{
	const struct exchange *exchange = oldest(x);

	if (!x->failed && exchange && exchange->session)
		session_get(exchange->session, ret_state);
	else if (x->has_last)
		*ret_state = x->last;
	else
		return false;
	return true;
}

size_t exchanges_memory(const struct exchanges *x, enum session_track track)
{
	size_t bytes = 0;

	if (track == SESSION_REQUEST)
		return sizeof(*x) + x->capacity * sizeof(*x->ring);
	for (size_t i = 0; i < x->count; i++)
		bytes += at(x, i)->attempt ? attempt_memory(at(x, i)->attempt) : 0;
	return bytes;
}
