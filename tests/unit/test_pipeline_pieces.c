/* SPDX-License-Identifier: Apache-2.0 */
/* Flows of messages with a head each through a pipeline: what leaves, when; in every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/macros.h"
#include "core/pipeline_body.h"
#include "core/session.h"
#include "unit/allocation.h"
#include "unit/coded.h"
#include "unit/eventstream.h"
#include "unit/flow.h"

#define CALL   "Content-Length: 7\r\n\r\n{\"a\":1}"
#define TYPED  "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n" CALL
#define BOMB   "Content-Length: 12\r\n\r\n{\"a\":\"bomb\"}"
#define LEN(s) (sizeof(s) - 1)

static const struct flow_config jsonrpc = {
	.framing = {.kind = FRAMING_JSONRPC_CL},
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {{"bomb"}},
};
static const struct flow_config array = {
	.framing = {.kind = FRAMING_JSON_ARRAY},
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {{"bomb"}},
};
static const struct flow_config events = {
	.framing = {.kind = FRAMING_EVENTSTREAM},
	.extract = {.kind = EXTRACT_RAW},
	.terms = {{"bomb"}},
};
static const struct flow_config grpc = {
	.framing = {.kind = FRAMING_GRPC, .coding = CODING_GZIP, .grpc_web = true},
	.extract = {.kind = EXTRACT_RAW, .join_unit = true},
	.terms = {{"bomb"}},
};

static void run(const struct flow_config *config, const void *data, size_t len, enum fault fault,
		uint64_t released, struct flow *ret_flow)
{
	flow_run_splits(config, data, len, ret_flow);
	assert_string_equal(fault_name(ret_flow->fault), fault_name(fault));
	assert_int_equal(ret_flow->released, released);
	assert_int_equal(ret_flow->session_end, fault == FAULT_BLOCKED ? SESSION_DENIED_END
						: fault		       ? SESSION_FAILED_END
								       : SESSION_COMPLETE_END);
}

static void ends(const struct flow_config *config, const void *data, size_t len, enum fault fault,
		 uint64_t released)
{
	struct flow flow;

	run(config, data, len, fault, released, &flow);
	flow_done(&flow);
}

#define ENDS(config, data, fault, released) ends(config, data, LEN(data), fault, released)
#define CLEAN(config, data)		    ENDS(config, data, FAULT_NONE, LEN(data))

/* From the byte `from` on, up to before `to`, so much is released, and a message has begun. */
static void stays(const struct flow *flow, size_t from, size_t to, uint64_t released, bool partial)
{
	for (size_t fed = from; fed < to; fed++) {
		assert_int_equal(flow_at(flow, fed)->released, released);
		assert_int_equal(flow_at(flow, fed)->partial, partial ? fed - released : 0);
	}
}

static void calls_leave_one_by_one(void **state)
{
	static const char data[] = CALL TYPED CALL;
	struct flow flow;

	(void)state;
	run(&jsonrpc, data, LEN(data), FAULT_NONE, LEN(data), &flow);
	assert_int_equal(flow.units, 3);
	assert_int_equal(flow.messages, 3);
	assert_string_equal(flow_payloads(&flow), "{\"a\":1}|{\"a\":1}|{\"a\":1}|");
	assert_string_equal(flow_text(&flow, "meta"),
			    "a1a1application/vscode-jsonrpc; charset=utf-8a1");
	stays(&flow, 0, LEN(CALL), 0, true);
	stays(&flow, LEN(CALL), LEN(CALL TYPED), LEN(CALL), true);
	for (size_t fed = 0; fed <= LEN(data); fed++)
		assert_int_equal(flow_at(&flow, fed)->mark.place, REFUSAL_JSONRPC);
	flow_done(&flow);
}

static void a_call_with_a_term_is_denied(void **state)
{
	(void)state;
	ENDS(&jsonrpc, CALL BOMB CALL, FAULT_BLOCKED, LEN(CALL));
	ENDS(&jsonrpc, CALL "Content-Type: text/bomb; charset=utf-8\r\n" CALL, FAULT_BLOCKED,
	     LEN(CALL));
	ENDS(&jsonrpc, "Content-Length: 17\r\n\r\n{\"a\":\"b\\u006fmb\"}", FAULT_BLOCKED, 0);
}

static void a_call_has_its_faults(void **state)
{
	static const struct {
		const char *bytes;
		enum fault fault;
	} bad[] = {
		{"Content-Length: 3\r\n\r\n{a}", FAULT_BAD_JSON},
		{"Content-Length: 0\r\n\r\n", FAULT_BAD_JSON},
		{"Content-Length: 13\r\n\r\n{\"a\":1,\"a\":2}", FAULT_DUPLICATE_KEY},
		{"Content-Length: 9\r\n\r\n{\"a\":1}", FAULT_TRUNCATED},
		{"Content-Length: 9\r\n", FAULT_TRUNCATED},
		{"C", FAULT_TRUNCATED},
		{"Content-Length: 7\n\n{\"a\":1}", FAULT_BARE_LF},
		{"X: 1\r\n", FAULT_BAD_HEADER},
		{"{\"a\":1}\n", FAULT_BAD_HEADER},
		{"Content-Length: 1048577\r\n\r\n", FAULT_TOO_LARGE},
	};
	char data[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		strcat(strcpy(data, CALL), bad[i].bytes);
		ends(&jsonrpc, data, strlen(data), bad[i].fault, LEN(CALL));
	}
	ENDS(&jsonrpc, "\x16\x03\x01", FAULT_TLS_UNMEDIATED, 0);
}

static void elements_leave_one_by_one(void **state)
{
	static const char data[] = " [ {\"a\":\"x\"},\r\n12, \"y\" ] \n";
	struct flow flow;

	(void)state;
	run(&array, data, LEN(data), FAULT_NONE, LEN(data), &flow);
	assert_string_equal(flow_payloads(&flow), "{\"a\":\"x\"}|12|\"y\"|");
	assert_int_equal(flow.messages, 3);
	assert_string_equal(flow_text(&flow, "a"), "x");
	/* What comes ahead of an element is none yet. */
	stays(&flow, 0, 4, 0, false);
	stays(&flow, 4, 12, 0, true);
	stays(&flow, 12, 16, 12, false);
	/* A number ends with the byte behind it. */
	stays(&flow, 16, 18, 12, true);
	stays(&flow, 18, 20, 17, false);
	flow_done(&flow);
	CLEAN(&array, "[]");
	CLEAN(&array, "[[1,2],[]]");
	ENDS(&array, "[1,{\"a\":\"bomb\"}]", FAULT_BLOCKED, 2);
	ENDS(&array, "[{\"bomb\":1},2]", FAULT_BLOCKED, 0);
	ENDS(&array, "[{\"a\":1},{\"a\":2}", FAULT_TRUNCATED, LEN("[{\"a\":1},{\"a\":2}"));
	ENDS(&array, "[{\"a\":1},", FAULT_TRUNCATED, LEN("[{\"a\":1}"));
	ENDS(&array, "[{\"a\":1},{", FAULT_TRUNCATED, LEN("[{\"a\":1}"));
	ENDS(&array, "", FAULT_TRUNCATED, 0);
	ENDS(&array, "{\"a\":1}", FAULT_BAD_JSON, 0);
	ENDS(&array, "[{\"a\":1}]x", FAULT_BAD_JSON, LEN("[{\"a\":1}]"));
	ENDS(&array, "[tru]", FAULT_BAD_JSON, 0);
	ENDS(&array, "[{\"a\":1,\"a\":2}]", FAULT_DUPLICATE_KEY, 0);
}

static void events_leave_one_by_one(void **state)
{
	struct coded_bytes data = {0};
	size_t first;
	struct flow flow;

	(void)state;
	eventstream_add(&data, ":event-type", "delta", "one ");
	first = data.len;
	eventstream_add(&data, NULL, NULL, "two");
	run(&events, data.data, data.len, FAULT_NONE, data.len, &flow);
	assert_int_equal(flow.messages, 2);
	assert_string_equal(flow_payloads(&flow), "one |two|");
	assert_string_equal(flow_text(&flow, "raw"), "one two");
	assert_string_equal(flow_text(&flow, "meta"), ":event-type: delta");
	stays(&flow, 1, first, 0, true);
	stays(&flow, first + 1, data.len, first, true);
	flow_done(&flow);
	/* Its last byte is missing. */
	ends(&events, data.data, data.len - 1, FAULT_TRUNCATED, first);
	/* One that is not what its check sum is of does not leave. */
	data.data[data.len - 1] ^= 1;
	ends(&events, data.data, data.len, FAULT_BAD_FRAME, first);
	coded_bytes_done(&data);
}

static void an_event_with_a_term_is_denied(void **state)
{
	static const char *const said[][3] = {
		{NULL, NULL, "a bomb"},
		{"bomb", "x", "y"},
		{"x", "a bomb", ""},
	};
	struct coded_bytes data = {0};
	size_t good;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
		data.len = 0;
		eventstream_add(&data, NULL, NULL, "good");
		good = data.len;
		eventstream_add(&data, said[i][0], said[i][1], said[i][2]);
		eventstream_add(&data, NULL, NULL, "good");
		ends(&events, data.data, data.len, FAULT_BLOCKED, good);
	}
	/* Text that is joined waits for more. */
	data.len = 0;
	eventstream_add(&data, NULL, NULL, "a bo");
	eventstream_add(&data, NULL, NULL, "mb");
	ends(&events, data.data, data.len, FAULT_BLOCKED, 0);
	data.len = 0;
	eventstream_add(&data, NULL, NULL, "a bo");
	ends(&events, data.data, data.len, FAULT_NONE, data.len);
	coded_bytes_done(&data);
}

/* What is no payload has a bound of its own. */
static void headers_have_a_limit(void **state)
{
	static char value[BODY_META_MAX];
	struct coded_bytes data = {0};
	struct flow flow;

	(void)state;
	for (int more = 0; more < 2; more++) {
		size_t used = 0;

		/* A header is "name: value" and what divides it from the next. */
		data.len = 0;
		eventstream_begin(&data);
		while (used < BODY_META_MAX) {
			size_t len = MIN(BODY_META_MAX - used, (size_t)16384);

			memset(value, 'v', len);
			value[len - LEN("n: \n")] = '\0';
			eventstream_header(&data, "n", value);
			used += len;
		}
		if (more)
			eventstream_header(&data, "n", "");
		eventstream_end(&data, "");
		flow_run(&events, data.data, data.len, NULL, 0, &flow);
		assert_int_equal(flow.fault, more ? FAULT_TOO_LARGE : FAULT_NONE);
		assert_int_equal(flow.released, more ? 0 : data.len);
		flow_done(&flow);
	}
	coded_bytes_done(&data);
}

static void add_grpc(struct coded_bytes *data, uint8_t flag, const void *payload, size_t len)
{
	const uint8_t header[] = {flag, 0, 0, (uint8_t)(len >> 8), (uint8_t)len};

	coded_bytes_add(data, header, sizeof(header));
	coded_bytes_add(data, payload, len);
}

static void add_grpc_coded(struct coded_bytes *data, const char *text)
{
	struct coded_bytes packed = {0};

	coded_pack_simply(CODED_GZIP, text, strlen(text), &packed);
	add_grpc(data, 1, packed.data, packed.len);
	coded_bytes_done(&packed);
}

static void messages_of_grpc_are_read_decoded(void **state)
{
	struct coded_bytes data = {0};
	size_t good;
	struct flow flow;

	(void)state;
	add_grpc(&data, 0, "one", 3);
	add_grpc_coded(&data, "two");
	good = data.len;
	add_grpc(&data, 0x80, "grpc-status:0\r\n", 15);
	run(&grpc, data.data, data.len, FAULT_NONE, data.len, &flow);
	assert_string_equal(flow_payloads(&flow), "one|two|");
	assert_string_equal(flow_text(&flow, "raw"), "onetwo");
	assert_string_equal(flow_text(&flow, "meta"), "grpc-status:0");
	flow_done(&flow);
	data.len = good;
	add_grpc(&data, 0x80, "grpc-message:bomb\r\n", 19);
	ends(&grpc, data.data, data.len, FAULT_BLOCKED, good);
	data.len = good;
	add_grpc_coded(&data, "a bomb");
	ends(&grpc, data.data, data.len, FAULT_BLOCKED, good);
	coded_bytes_done(&data);
}

/* What the head of a message says is to come. */
static void check_to_come(const struct flow_config *config, const void *data, size_t head,
			  uint64_t payload)
{
	const struct pipeline_config pipeline_config = {
		.framing = config->framing,
		.extract = config->extract,
		.max_message = 1000,
		.max_pending_units = 10,
		.track = SESSION_RESPONSE,
	};
	struct pipeline *pipeline;

	assert_int_equal(pipeline_new(&pipeline_config, &pipeline), 0);
	assert_int_equal(pipeline_expected(pipeline), 0);
	assert_int_equal(pipeline_feed(pipeline, data, head), FAULT_NONE);
	assert_int_equal(pipeline_expected(pipeline), payload);
	assert_int_equal(pipeline_partial(pipeline), head);
	pipeline_free(pipeline);
}

static void it_says_how_much_is_to_come(void **state)
{
	struct coded_bytes data = {0};

	(void)state;
	check_to_come(&jsonrpc, CALL, LEN(CALL) - 7, 7);
	check_to_come(&jsonrpc, CALL, LEN(CALL) - 4, 4);
	check_to_come(&jsonrpc, CALL, 5, 0);
	check_to_come(&array, "[{", 2, 0);
	check_to_come(&grpc, "\0\0\0\0\5ab", 7, 3);
	eventstream_add(&data, "n", "v", "payload");
	check_to_come(&events, data.data, data.len - 4 - 3, 3);
	coded_bytes_done(&data);
}

static void any_allocation_may_fail(void **state)
{
	struct coded_bytes data = {0};
	uint64_t released;
	enum fault fault = FAULT_NO_MEMORY;

	(void)state;
	for (unsigned long n = 0; fault; n++) {
		fault = flow_run_failing(&jsonrpc, TYPED, LEN(TYPED), n, &released);
		assert_int_equal(allocation_failed(), fault == FAULT_NO_MEMORY);
		assert_int_equal(released, fault ? 0 : LEN(TYPED));
	}
	fault = FAULT_NO_MEMORY;
	eventstream_add(&data, "n", "v", "payload");
	for (unsigned long n = 0; fault; n++) {
		fault = flow_run_failing(&events, data.data, data.len, n, &released);
		assert_int_equal(allocation_failed(), fault == FAULT_NO_MEMORY);
		assert_int_equal(released, fault ? 0 : data.len);
	}
	coded_bytes_done(&data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_leave_one_by_one),
		cmocka_unit_test(a_call_with_a_term_is_denied),
		cmocka_unit_test(a_call_has_its_faults),
		cmocka_unit_test(elements_leave_one_by_one),
		cmocka_unit_test(events_leave_one_by_one),
		cmocka_unit_test(an_event_with_a_term_is_denied),
		cmocka_unit_test(headers_have_a_limit),
		cmocka_unit_test(messages_of_grpc_are_read_decoded),
		cmocka_unit_test(it_says_how_much_is_to_come),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
