/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of a pipeline that evaluate elsewhere: what is asked, and what each answer does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/exchange.h"
#include "core/pipeline.h"
#include "core/terms.h"
#include "unit/allocation.h"
#include "unit/ws_script.h"

#define LEN(s)	   (sizeof(s) - 1)
#define ASKED_MAX  512u
#define WINDOW_MAX 256u
#define ENDED_MAX  8u

static const char *const names[] = {"judge"};
static const struct span_config spans = {
	.cadence = SPAN_RUNES,
	.coverage = {.span = 4, .window = 7, .detectable = 4},
	.in_flight = 4,
};
static const struct span_config by_unit = {
	.cadence = SPAN_UNIT,
	.coverage = {.span = 64, .window = 67, .detectable = 4},
	.in_flight = 4,
};
static const struct verdict allow = {.decision = VERDICT_ALLOW};
static const struct verdict deny = {.decision = VERDICT_DENY, .reason = "bad_word"};
static const struct verdict transform = {.decision = VERDICT_TRANSFORM};

struct asked {
	struct pipeline_work work;
	char text[WINDOW_MAX + 1], channel[16];
	bool answered;
};

/* A flow, whose caller answers when it likes. */
struct asking {
	struct pipeline_task task;
	struct exchanges *exchanges;
	struct session *session; /* of a flow that is one exchange */
	struct pipeline *pipeline;
	const uint8_t *data;
	size_t len, taken;
	bool over; /* the end was told of */
	struct asked asked[ASKED_MAX];
	size_t count, open;
	enum session_end ended[ENDED_MAX];
	enum session_result errors[ENDED_MAX];
	size_t ended_count;
	enum fault fault;
};

struct asking_config {
	struct framing framing;
	struct extract extract;
	const struct span_config *spans;
	enum session_level level;
	bool request;
	uint64_t max_pending_units; /* 0: 1024 */
	bool websocket;		    /* responses, to one request that offers it */
};

static const struct asking_config lines = {
	.framing = {.kind = FRAMING_NDJSON},
	.extract = {.kind = EXTRACT_PATH, .path = "t"},
	.spans = &spans,
};
static const struct asking_config requests = {
	.framing = {.kind = FRAMING_HTTP1},
	.extract = {.kind = EXTRACT_AUTO},
	.spans = &by_unit,
	.request = true,
};

static void on_end(void *context, uint64_t number, const struct session *session,
		   const struct session_state *state)
{
	struct asking *asking = context;

	(void)number;
	(void)session;
	assert_true(asking->ended_count < ENDED_MAX);
	asking->errors[asking->ended_count] = state->error;
	asking->ended[asking->ended_count++] = state->end;
}

static struct pipeline_config configure(const struct asking_config *config, struct asking *asking)
{
	return (struct pipeline_config){
		.framing = config->framing,
		.extract = config->extract,
		.max_message = 1 << 16,
		.max_pending_units = config->max_pending_units ? config->max_pending_units : 1024,
		.track = config->request ? SESSION_REQUEST : SESSION_RESPONSE,
		.level = config->level,
		.session = asking->session,
		.exchanges = asking->exchanges,
		.tasks = &asking->task,
		.task_count = 1,
	};
}

static void offer_websocket(struct exchanges *exchanges)
{
	const struct http1_request request = {.upgrade = true, .websocket = true};
	struct session *session;

	assert_int_equal(exchanges_request(exchanges, &session), FAULT_NONE);
	exchanges_request_head(exchanges, &request);
	assert_int_equal(exchanges_request_end(exchanges), FAULT_NONE);
}

static void begin(const struct asking_config *config, const void *data, size_t len,
		  struct asking *asking)
{
	enum session_track track = config->request ? SESSION_REQUEST : SESSION_RESPONSE;
	struct exchanges_config exchanges = {
		.session = {.level = config->level},
		.one_sided = !config->websocket,
		.on_end = on_end,
		.context = asking,
	};
	struct pipeline_config pipeline;

	*asking = (struct asking){
		.task = {.name = "judge", .spans = config->spans},
		.data = data,
		.len = len,
	};
	exchanges.session.tasks[track] = names;
	exchanges.session.task_count[track] = 1;
	if (config->framing.kind == FRAMING_HTTP1)
		assert_int_equal(exchanges_new(&exchanges, &asking->exchanges), 0);
	else
		assert_int_equal(session_new(&exchanges.session, &asking->session), SESSION_OK);
	if (config->websocket)
		offer_websocket(asking->exchanges);
	pipeline = configure(config, asking);
	assert_int_equal(pipeline_new(&pipeline, &asking->pipeline), 0);
}

static void done(struct asking *asking)
{
	pipeline_free(asking->pipeline);
	if (asking->session)
		session_fail(asking->session, SESSION_DISCONNECTED);
	(void)session_free(asking->session);
	exchanges_free(asking->exchanges);
}

/* All that can be asked for now. */
static void ask(struct asking *asking)
{
	struct pipeline_work work;

	while (pipeline_work(asking->pipeline, &work)) {
		struct asked *asked = &asking->asked[asking->count++];

		assert_true(asking->count <= ASKED_MAX && work.item.len <= WINDOW_MAX);
		assert_ptr_equal(work.task, &asking->task);
		asked->work = work;
		memcpy(asked->text, work.item.text, work.item.len);
		asked->text[work.item.len] = '\0';
		(void)snprintf(asked->channel, sizeof(asked->channel), "%s", work.item.channel);
		asking->open++;
	}
}

static void feed(struct asking *asking, size_t len)
{
	size_t used;

	asking->fault = pipeline_take(asking->pipeline, asking->data + asking->taken, len, &used);
	assert_true(used <= len);
	asking->taken += used;
	ask(asking);
}

static void end(struct asking *asking)
{
	asking->over = true;
	asking->fault = pipeline_end(asking->pipeline);
	ask(asking);
}

static void answer(struct asking *asking, size_t i, const struct verdict *verdict)
{
	assert_false(asking->asked[i].answered);
	asking->asked[i].answered = true;
	asking->open--;
	asking->fault =
		pipeline_verdict(asking->pipeline, &asking->asked[i].work, SESSION_OK, verdict);
	ask(asking);
}

static void fail_one(struct asking *asking, size_t i, enum session_result failure)
{
	asking->asked[i].answered = true;
	asking->open--;
	asking->fault = pipeline_verdict(asking->pipeline, &asking->asked[i].work, failure, NULL);
}

static void allow_all(struct asking *asking)
{
	for (size_t i = 0; i < asking->count && !asking->fault; i++)
		if (!asking->asked[i].answered)
			answer(asking, i, &allow);
}

/* Feeds and answers until nothing is left of either. */
static void run(struct asking *asking)
{
	while (!asking->fault && (asking->taken < asking->len || asking->open || !asking->over)) {
		if (asking->taken < asking->len)
			feed(asking, asking->len - asking->taken);
		else if (!asking->over)
			end(asking);
		if (!asking->fault)
			allow_all(asking);
	}
}

static void nothing_leaves_before_its_verdict(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n{\"t\":\"efgh\"}\n";
	struct asking asking;

	(void)state;
	begin(&lines, data, LEN(data), &asking);
	feed(&asking, LEN(data));
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(asking.taken, LEN(data));
	assert_int_equal(pipeline_framed(asking.pipeline), LEN(data));
	assert_int_equal(pipeline_released(asking.pipeline), 0);
	assert_true(asking.count >= 4);
	/* The later ones first: nothing leaves before the first of all. */
	for (size_t i = asking.count - 1; i; i--) {
		answer(&asking, i, &allow);
		assert_int_equal(pipeline_released(asking.pipeline), 0);
	}
	answer(&asking, 0, &allow);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	done(&asking);
}

static void windows_reach_back_in_their_channel(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n{\"t\":\"efgh\"}\n";
	struct asking asking;
	bool seen = false;

	(void)state;
	begin(&lines, data, LEN(data), &asking);
	run(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	for (size_t i = 0; i < asking.count; i++) {
		const struct span_item *item = &asking.asked[i].work.item;

		assert_true(item->end > item->start);
		if (strcmp(asking.asked[i].text, "bcdefgh"))
			continue;
		seen = true;
		assert_int_equal(item->before, 3);
	}
	assert_true(seen);
	done(&asking);
}

/* The strings of a unit that no extractor joins are one text, each on a line of its own. */
static void other_texts_of_a_unit_are_one(void **state)
{
	static const char data[] = "{\"a\":\"x\",\"b\":[\"y\",\"z\"]}\n{\"a\":\"w\"}\n";
	struct asking_config config = lines;
	struct asking asking;

	(void)state;
	config.extract = (struct extract){.kind = EXTRACT_AUTO};
	config.spans = &by_unit;
	begin(&config, data, LEN(data), &asking);
	run(&asking);
	assert_int_equal(asking.count, 2);
	assert_string_equal(asking.asked[0].text, "a\nx\nb\nyz");
	assert_string_equal(asking.asked[0].channel, "unit");
	assert_true(asking.asked[0].work.item.final);
	assert_string_equal(asking.asked[1].text, "a\nw");
	assert_int_equal(asking.asked[1].work.item.start, 5);
	assert_int_equal(asking.asked[1].work.item.end, 7);
	done(&asking);
}

static void a_denial_ends_the_flow(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n{\"t\":\"efgh\"}\n";
	const struct pipeline_denial *denial;
	struct session_state session;
	struct asking asking;
	size_t last;

	(void)state;
	begin(&lines, data, LEN(data), &asking);
	feed(&asking, LEN(data));
	last = asking.count - 1;
	answer(&asking, last, &deny);
	assert_int_equal(asking.fault, FAULT_BLOCKED);
	assert_int_equal(pipeline_released(asking.pipeline), 0);
	denial = pipeline_denial(asking.pipeline);
	assert_string_equal(denial->task, "judge");
	assert_string_equal(denial->reason, "bad_word");
	assert_int_equal(denial->start, asking.asked[last].work.item.start);
	assert_int_equal(denial->end, asking.asked[last].work.item.end);
	session_get(asking.session, &session);
	assert_int_equal(session.end, SESSION_DENIED_END);
	/* What comes later changes nothing any more. */
	answer(&asking, 0, &allow);
	assert_int_equal(asking.fault, FAULT_BLOCKED);
	assert_int_equal(pipeline_released(asking.pipeline), 0);
	feed(&asking, 0);
	assert_int_equal(asking.fault, FAULT_BLOCKED);
	done(&asking);
}

static void a_transformation_ends_it_rewritten_while_nothing_left(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n{\"t\":\"efgh\"}\n";
	struct session_state session;
	struct asking asking;

	(void)state;
	begin(&lines, data, LEN(data), &asking);
	feed(&asking, LEN(data));
	answer(&asking, 1, &transform);
	assert_int_equal(asking.fault, FAULT_REWRITTEN);
	assert_non_null(pipeline_denial(asking.pipeline));
	session_get(asking.session, &session);
	assert_int_equal(session.end, SESSION_REWRITTEN_END);
	done(&asking);

	begin(&lines, data, LEN(data), &asking);
	feed(&asking, LEN("{\"t\":\"abcd\"}\n"));
	allow_all(&asking);
	assert_int_equal(pipeline_released(asking.pipeline), LEN("{\"t\":\"abcd\"}\n"));
	feed(&asking, asking.len - asking.taken);
	answer(&asking, asking.count - 1, &transform);
	assert_int_equal(asking.fault, FAULT_ACCOUNTING);
	assert_null(pipeline_denial(asking.pipeline));
	session_get(asking.session, &session);
	assert_int_equal(session.error, SESSION_TRANSFORM_TOO_LATE);
	done(&asking);
}

static void no_verdict_is_a_failure_with_its_reason(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n";
	static const struct {
		enum session_result failure;
		enum fault fault;
		const char *reason;
	} cases[] = {
		{SESSION_INTERCEPTOR_FAILED, FAULT_INTERCEPTOR_FAILED,
		 "host_error:interceptor_failed"},
		{SESSION_INTERCEPTOR_TIMEOUT, FAULT_INTERCEPTOR_TIMEOUT,
		 "host_error:interceptor_timeout"},
		{SESSION_VERDICT_INVALID, FAULT_VERDICT_INVALID, "host_error:verdict_invalid"},
	};
	struct session_state session;
	struct asking asking;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(&lines, data, LEN(data), &asking);
		feed(&asking, LEN(data));
		fail_one(&asking, 0, cases[i].failure);
		assert_int_equal(asking.fault, cases[i].fault);
		assert_int_equal(pipeline_released(asking.pipeline), 0);
		session_get(asking.session, &session);
		assert_string_equal(session_reason(&session), cases[i].reason);
		done(&asking);
	}
}

static void an_answer_that_nobody_asked_for_fails_closed(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n{\"t\":\"efgh\"}\n";
	struct asking asking;

	(void)state;
	begin(&lines, data, LEN(data), &asking);
	feed(&asking, LEN(data));
	answer(&asking, 1, &allow);
	asking.asked[1].answered = false;
	answer(&asking, 1, &allow);
	assert_int_equal(asking.fault, FAULT_ACCOUNTING);
	assert_int_equal(pipeline_released(asking.pipeline), 0);
	done(&asking);
}

/* A text that ends with the flow is asked about then, and the end waits. */
static void the_end_of_a_flow_waits(void **state)
{
	static const char data[] = "{\"t\":\"ab\"}\n";
	struct session_state session;
	struct asking asking;

	(void)state;
	begin(&lines, data, LEN(data), &asking);
	feed(&asking, LEN(data));
	allow_all(&asking);
	assert_int_equal(pipeline_released(asking.pipeline), 0);
	assert_false(pipeline_waits(asking.pipeline));
	end(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_true(pipeline_waits(asking.pipeline));
	assert_string_equal(asking.asked[asking.count - 1].text, "ab");
	assert_true(asking.asked[asking.count - 1].work.item.final);
	allow_all(&asking);
	assert_false(pipeline_waits(asking.pipeline));
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	(void)session_end_of_payloads(asking.session);
	assert_int_equal(session_finish(asking.session), SESSION_OK);
	session_get(asking.session, &session);
	assert_int_equal(session.end, SESSION_COMPLETE_END);
	done(&asking);
}

#define FIRST  "GET /one HTTP/1.1\r\nHost: a\r\n\r\n"
#define SECOND "POST /two HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nword"

/* Of requests sent one behind the other each waits for the verdicts of the one before. */
static void the_next_message_waits(void **state)
{
	static const char data[] = FIRST SECOND;
	struct asking asking;

	(void)state;
	begin(&requests, data, LEN(data), &asking);
	feed(&asking, LEN(data));
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(asking.taken, LEN(FIRST));
	assert_int_equal(asking.count, 1);
	assert_string_equal(asking.asked[0].text, "GET /one HTTP/1.1\nHost: a");
	assert_true(pipeline_waits(asking.pipeline));
	assert_int_equal(asking.ended_count, 0);
	/* Nothing is taken, and nothing is at fault. */
	feed(&asking, LEN(SECOND));
	assert_int_equal(asking.taken, LEN(FIRST));
	answer(&asking, 0, &allow);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(FIRST));
	assert_int_equal(asking.ended_count, 1);
	assert_int_equal(asking.ended[0], SESSION_COMPLETE_END);
	assert_false(pipeline_waits(asking.pipeline));
	feed(&asking, LEN(SECOND));
	assert_int_equal(asking.taken, LEN(data));
	/* The flow may end while the last message waits. */
	end(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(asking.ended_count, 1);
	allow_all(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	assert_int_equal(asking.ended_count, 2);
	assert_int_equal(asking.ended[1], SESSION_COMPLETE_END);
	done(&asking);
}

static void the_second_message_is_denied_alone(void **state)
{
	static const char data[] = FIRST SECOND;
	struct asking asking;

	(void)state;
	begin(&requests, data, LEN(data), &asking);
	feed(&asking, LEN(data));
	answer(&asking, 0, &allow);
	feed(&asking, LEN(SECOND));
	assert_true(asking.open > 0);
	answer(&asking, asking.count - 1, &deny);
	assert_int_equal(asking.fault, FAULT_BLOCKED);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(FIRST));
	exchanges_fail(asking.exchanges, SESSION_FRAMING_FAULT);
	assert_int_equal(asking.ended_count, 2);
	assert_int_equal(asking.ended[0], SESSION_COMPLETE_END);
	assert_int_equal(asking.ended[1], SESSION_DENIED_END);
	done(&asking);
}

/* A response whose end is that of its connection. */
static void a_response_that_ends_with_the_flow_waits(void **state)
{
	static const char data[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nword";
	struct asking_config config = requests;
	struct asking asking;

	(void)state;
	config.request = false;
	begin(&config, data, LEN(data), &asking);
	feed(&asking, LEN(data));
	allow_all(&asking);
	end(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_true(pipeline_waits(asking.pipeline));
	allow_all(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	assert_int_equal(asking.ended_count, 1);
	assert_int_equal(asking.ended[0], SESSION_COMPLETE_END);
	done(&asking);
}

/* Its message has ended before the flow does, and is judged after that. */
static void a_response_may_wait_when_its_flow_ends(void **state)
{
	static const char data[] = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n"
				   "Content-Type: text/plain\r\n\r\nword";
	struct asking_config config = requests;
	struct asking asking;

	(void)state;
	config.request = false;
	begin(&config, data, LEN(data), &asking);
	feed(&asking, LEN(data));
	assert_int_equal(asking.taken, LEN(data));
	end(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_true(pipeline_waits(asking.pipeline));
	allow_all(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_false(pipeline_waits(asking.pipeline));
	assert_int_equal(asking.ended_count, 1);
	assert_int_equal(asking.ended[0], SESSION_COMPLETE_END);
	done(&asking);
}

/* The head of a WebSocket is a message, and its first frame waits for that one's verdicts. */
static void a_websocket_begins_behind_its_head(void **state)
{
	static const char data[] = WS_AGREES "\r\n\x81\x04word\x81\x04more";
	const size_t head = LEN(WS_AGREES "\r\n");
	struct asking_config config = requests;
	struct asking asking;

	(void)state;
	config.request = false;
	config.websocket = true;
	config.extract = (struct extract){.kind = EXTRACT_RAW, .join_unit = true};
	begin(&config, data, LEN(data), &asking);
	feed(&asking, LEN(data));
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(asking.taken, head);
	allow_all(&asking);
	assert_int_equal(pipeline_released(asking.pipeline), head);
	feed(&asking, LEN(data) - head);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_string_equal(asking.asked[asking.count - 2].text, "word");
	assert_int_equal(pipeline_released(asking.pipeline), head);
	answer(&asking, asking.count - 2, &allow);
	assert_int_equal(pipeline_released(asking.pipeline), head + 6);
	end(&asking);
	assert_true(pipeline_waits(asking.pipeline));
	allow_all(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	done(&asking);
	/* The flow may end before the head is judged. */
	begin(&config, data, head, &asking);
	feed(&asking, head);
	end(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	allow_all(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), head);
	done(&asking);
}

static void a_message_is_released_whole_under_complete(void **state)
{
	static const char data[] = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
				   "Content-Length: 22\r\n\r\n{\"a\":\"b\"}\n{\"a\":\"cde\"}\n";
	struct asking_config config = requests;
	struct asking asking;

	(void)state;
	config.request = false;
	config.level = SESSION_COMPLETE;
	begin(&config, data, LEN(data), &asking);
	feed(&asking, LEN(data));
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_true(asking.open > 1);
	while (asking.open > 1) {
		size_t i = 0;

		while (asking.asked[i].answered)
			i++;
		answer(&asking, i, &allow);
		assert_int_equal(pipeline_released(asking.pipeline), 0);
	}
	allow_all(&asking);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	assert_int_equal(asking.ended[0], SESSION_COMPLETE_END);
	done(&asking);
}

/* One that answers when and in what order it likes, and denies what has a word in it. */
static void random_run(const struct asking_config *config, const char *data, size_t len,
		       unsigned int seed, struct asking *asking)
{
	uint64_t released = 0;

	begin(config, data, len, asking);
	while (!asking->fault && (asking->taken < len || asking->open || !asking->over)) {
		unsigned int what = (unsigned int)rand_r(&seed);

		if (what % 3 && asking->taken < len) {
			feed(asking, MIN(1 + what / 3 % 9, len - asking->taken));
		} else if (asking->open) {
			size_t i = what / 3 % asking->count;

			while (asking->asked[i].answered)
				i = (i + 1) % asking->count;
			answer(asking, i, strstr(asking->asked[i].text, "bomb") ? &deny : &allow);
		} else if (asking->taken == len && !asking->over) {
			end(asking);
		}
		assert_true(pipeline_released(asking->pipeline) >= released);
		released = pipeline_released(asking->pipeline);
		assert_true(released <= pipeline_framed(asking->pipeline));
	}
}

#define SSE \
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
#define EVENT(t) "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" t "\"}}]}\n\n"

/* Tokens of a chat: the content is a channel of its own, that goes on over the events. */
static void events_go_on_in_their_channel(void **state)
{
	static const char data[] = SSE "3c\r\n" EVENT("a bo") "\r\n3b\r\n" EVENT(
		"mb ") "\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
	struct asking_config config = requests;
	struct asking asking;
	bool seen = false;

	(void)state;
	config.request = false;
	for (unsigned int seed = 0; seed < 100; seed++) {
		begin(&config, data, LEN(data), &asking);
		while (!asking.fault && asking.taken < LEN(data) &&
		       !pipeline_waits(asking.pipeline))
			feed(&asking, MIN(LEN(data) - asking.taken, seed + 1));
		run(&asking);
		assert_int_equal(asking.fault, FAULT_NONE);
		assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
		for (size_t i = 0; i < asking.count; i++)
			seen |= strcmp(asking.asked[i].text, "a bomb ") == 0;
		assert_true(seen);
		done(&asking);
		random_run(&config, data, LEN(data), seed, &asking);
		assert_int_equal(asking.fault, FAULT_BLOCKED);
		done(&asking);
	}
}

/* The length is that of the text. */
#define BODY(type, n, text) \
	"HTTP/1.1 200 OK\r\nContent-Type: " type "\r\nContent-Length: " n "\r\n\r\n" text

/* Whatever the text is read as: each rune is asked about, once, so that all of it leaves. */
static void every_way_of_reading_is_asked_about(void **state)
{
	static const char *const responses[] = {
		BODY("text/plain", "31", "say \"a\\u0062c\" and {\"k\":\"v\\n\"}."),
		BODY("application/json", "53",
		     "{\"m\":[\"a\",\"b\",{\"m\":\"c\"}],\"n\":1.5,\"j\":\"{\\\"x\\\":\\\"y\\\"}"
		     "\"}"),
		BODY("text/plain", "58",
		     "\\u0061 \"q\\u0062\": {\"k\":\"v\"} {\"k\":\"v\"} {\"k\":\"v\"} "
		     "{\"k\":\"v\"}."),
		BODY("application/json", "45",
		     "{\"m\":[\"\\ud83d\",{\"x\":\"mid\"},\"\\ude00\"],\"n\":\"z\"}"),
		BODY("application/json", "29", "[{\"a\":\"b\"},{\"a\":\"b\"},{\"c\":1}]"),
		BODY("application/x-www-form-urlencoded", "19", "a=b%63d&e=f+g&h=%7B"),
		BODY("application/x-ndjson", "71",
		     "{\"message\":{\"content\":\"a b\"},\"done\":false}\n"
		     "{\"message\":{\"content\":\"\"}}\n\n"),
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
		": note\nid: 7\nevent: x\ndata: plain\n\ndata: {\"type\":\"content_block_delta\","
		"\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n",
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		"Transfer-Encoding: chunked\r\n\r\n8;e=f\r\n{\"a\":\"b\"\r\n1\r\n}\r\n0\r\n"
		"T: trailer\r\n\r\n",
	};
	struct asking_config config = requests;
	struct asking asking;

	(void)state;
	config.request = false;
	for (size_t i = 0; i < ARRAY_SIZE(responses); i++) {
		for (unsigned int seed = 0; seed < 40; seed++) {
			config.spans = seed & 1 ? &by_unit : &spans;
			random_run(&config, responses[i], strlen(responses[i]), seed, &asking);
			if (asking.fault || pipeline_released(asking.pipeline) != asking.len)
				fail_msg("%s: fault %s, released %zu", responses[i],
					 fault_name(asking.fault),
					 (size_t)pipeline_released(asking.pipeline));
			done(&asking);
		}
	}
}

/* Each allocation failing in turn: that, nothing leaves unjudged, and nothing leaks. */
static void memory_that_is_short_fails_closed(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n{\"u\":\"e\",\"t\":\"f\\ud83d\\ude00\"}\n";
	struct asking asking;
	bool failed = true;

	(void)state;
	for (unsigned long n = 0; failed; n++) {
		begin(&lines, data, LEN(data), &asking);
		allocation_fail_at(n);
		feed(&asking, LEN(data));
		if (!asking.fault)
			end(&asking);
		failed = allocation_failed();
		assert_int_equal(asking.fault, failed ? FAULT_NO_MEMORY : FAULT_NONE);
		assert_int_equal(pipeline_released(asking.pipeline), 0);
		done(&asking);
		assert_true(n < 10000);
	}
}

static void deferred_releases_first_and_ends_on_a_denial(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n{\"t\":\"efgh\"}\n";
	struct asking_config config = lines;
	struct session_state session;
	struct asking asking;

	(void)state;
	config.level = SESSION_DEFERRED;
	begin(&config, data, LEN(data), &asking);
	feed(&asking, LEN(data));
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	answer(&asking, 1, &deny);
	assert_int_equal(asking.fault, FAULT_BLOCKED);
	session_get(asking.session, &session);
	assert_int_equal(session.end, SESSION_DENIED_END);
	done(&asking);
}

/* No more units are held than may be: the rest is taken once verdicts came. */
static void units_that_wait_are_bounded(void **state)
{
	struct asking_config config = lines;
	struct asking asking;
	char data[4096];
	size_t len = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		len += (size_t)snprintf(data + len, sizeof(data) - len, "{\"t\":\"abcd\"}\n");
	config.max_pending_units = 16;
	begin(&config, data, len, &asking);
	feed(&asking, len);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_true(asking.taken < len / 4);
	assert_true(pipeline_waits(asking.pipeline));
	run(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), len);
	done(&asking);
}

static void in_every_order_the_same_is_denied(void **state)
{
	/* The word is cut over units, and its last rune comes with the third. */
	static const char data[] =
		"{\"t\":\"a bo\"}\n{\"t\":\"m\"}\n{\"t\":\"b x\"}\n{\"t\":\"y\"}\n";
	static const char good[] =
		"{\"t\":\"a bo\"}\n{\"t\":\"m\"}\n{\"t\":\"c x\"}\n{\"t\":\"y\"}\n";
	struct asking asking;

	(void)state;
	for (unsigned int seed = 0; seed < 400; seed++) {
		struct asking_config config = lines;

		config.spans = seed & 1 ? &by_unit : &spans;
		random_run(&config, data, LEN(data), seed, &asking);
		assert_int_equal(asking.fault, FAULT_BLOCKED);
		assert_true(pipeline_released(asking.pipeline) <= 23);
		done(&asking);
		random_run(&config, good, LEN(good), seed, &asking);
		assert_int_equal(asking.fault, FAULT_NONE);
		assert_int_equal(pipeline_released(asking.pipeline), LEN(good));
		done(&asking);
	}
}

static void in_every_order_requests_end_in_theirs(void **state)
{
	static const char data[] = FIRST SECOND FIRST;
	static const char bad[] =
		FIRST "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbomb" FIRST;
	struct asking asking;

	(void)state;
	for (unsigned int seed = 0; seed < 400; seed++) {
		random_run(&requests, data, LEN(data), seed, &asking);
		assert_int_equal(asking.fault, FAULT_NONE);
		assert_int_equal(asking.ended_count, 3);
		assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
		done(&asking);
		random_run(&requests, bad, LEN(bad), seed, &asking);
		assert_int_equal(asking.fault, FAULT_BLOCKED);
		assert_int_equal(asking.ended_count, 1);
		done(&asking);
	}
}

/* Matchers and evaluators gate one track: the watermark is the lowest of theirs. */
static void terms_gate_beside_it(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n{\"t\":\"efgh\"}\n{\"t\":\"bomb\"}\n";
	static const char *const both[] = {"judge", "words"};
	struct session_config session = {.tasks = {[SESSION_RESPONSE] = both},
					 .task_count = {[SESSION_RESPONSE] = 2}};
	struct pipeline_task tasks[2] = {{.name = "judge", .spans = &spans}, {.name = "words"}};
	struct pipeline_config config;
	struct terms *terms = NULL;
	struct asking asking = {0};
	struct pipeline_work work;
	size_t bad, used;

	(void)state;
	assert_int_equal(terms_new((const char *const[]){"bomb"}, 1, 0, &bad, &terms), 0);
	tasks[1].terms = terms;
	assert_int_equal(session_new(&session, &asking.session), SESSION_OK);
	config = configure(&lines, &asking);
	config.tasks = tasks;
	config.task_count = 2;
	assert_int_equal(pipeline_new(&config, &asking.pipeline), 0);
	assert_int_equal(pipeline_take(asking.pipeline, (const uint8_t *)data, 26, &used),
			 FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), 0);
	while (pipeline_work(asking.pipeline, &work))
		assert_int_equal(pipeline_verdict(asking.pipeline, &work, SESSION_OK, &allow),
				 FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), 26);
	assert_int_equal(pipeline_take(asking.pipeline, (const uint8_t *)data + 26, 13, &used),
			 FAULT_BLOCKED);
	assert_string_equal(pipeline_denial(asking.pipeline)->task, "words");
	assert_null(pipeline_denial(asking.pipeline)->reason);
	done(&asking);
	/* One way of evaluating, and one alone. */
	asking = (struct asking){0};
	assert_int_equal(session_new(&session, &asking.session), SESSION_OK);
	config.session = asking.session;
	tasks[0].terms = terms;
	assert_int_equal(pipeline_new(&config, &asking.pipeline), -EINVAL);
	tasks[0].terms = NULL;
	tasks[0].spans = NULL;
	assert_int_equal(pipeline_new(&config, &asking.pipeline), -EINVAL);
	done(&asking);
	terms_free(terms);
}

/* A rune that an escape spells in two halves is one, in the middle of its text. */
static void a_rune_in_two_halves_is_whole(void **state)
{
	static const char data[] = "{\"a\":\"x\\ud83d\\ude00y\"}\n";
	struct asking_config config = lines;
	struct asking asking;

	(void)state;
	config.extract = (struct extract){.kind = EXTRACT_AUTO};
	config.spans = &by_unit;
	for (size_t cut = 1; cut < LEN(data); cut++) {
		begin(&config, data, LEN(data), &asking);
		feed(&asking, cut);
		run(&asking);
		assert_int_equal(asking.fault, FAULT_NONE);
		assert_int_equal(asking.count, 1);
		assert_string_equal(asking.asked[0].text, "a\nx\xf0\x9f\x98\x80y");
		done(&asking);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_leaves_before_its_verdict),
		cmocka_unit_test(windows_reach_back_in_their_channel),
		cmocka_unit_test(other_texts_of_a_unit_are_one),
		cmocka_unit_test(a_denial_ends_the_flow),
		cmocka_unit_test(a_transformation_ends_it_rewritten_while_nothing_left),
		cmocka_unit_test(no_verdict_is_a_failure_with_its_reason),
		cmocka_unit_test(an_answer_that_nobody_asked_for_fails_closed),
		cmocka_unit_test(the_end_of_a_flow_waits),
		cmocka_unit_test(the_next_message_waits),
		cmocka_unit_test(the_second_message_is_denied_alone),
		cmocka_unit_test(a_response_that_ends_with_the_flow_waits),
		cmocka_unit_test(a_response_may_wait_when_its_flow_ends),
		cmocka_unit_test(a_websocket_begins_behind_its_head),
		cmocka_unit_test(a_message_is_released_whole_under_complete),
		cmocka_unit_test(events_go_on_in_their_channel),
		cmocka_unit_test(every_way_of_reading_is_asked_about),
		cmocka_unit_test(memory_that_is_short_fails_closed),
		cmocka_unit_test(deferred_releases_first_and_ends_on_a_denial),
		cmocka_unit_test(units_that_wait_are_bounded),
		cmocka_unit_test(in_every_order_the_same_is_denied),
		cmocka_unit_test(in_every_order_requests_end_in_theirs),
		cmocka_unit_test(terms_gate_beside_it),
		cmocka_unit_test(a_rune_in_two_halves_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
