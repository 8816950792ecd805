/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a flow: to be looked at, and to be the same however its bytes were cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "unit/flow.h"

const char *flow_payloads(const struct flow *flow)
{
	if (!flow->payloads)
		return "";
	flow->payloads[flow->payloads_told] = '\0';
	return (const char *)flow->payloads;
}

const struct flow_point *flow_at(const struct flow *flow, size_t fed)
{
	assert_true(fed < flow->point_count);
	assert_int_equal(flow->points[fed].fed, fed);
	return &flow->points[fed];
}

const char *flow_text(const struct flow *flow, const char *channel)
{
	for (size_t i = 0; i < flow->channel_count; i++)
		if (strcmp(flow->channels[i].name, channel) == 0)
			return (const char *)flow->channels[i].text;
	return NULL;
}

static void assert_same_unit(const struct pipeline_unit *a, const struct pipeline_unit *b)
{
	assert_int_equal(a->start, b->start);
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->payload_start, b->payload_start);
	assert_int_equal(a->payload_end, b->payload_end);
	assert_int_equal(a->rune_end, b->rune_end);
	assert_int_equal(a->messages, b->messages);
	assert_int_equal(a->tail, b->tail);
	assert_int_equal(a->outer, b->outer);
}

static void assert_same_sessions(const struct flow *a, const struct flow *b)
{
	assert_int_equal(a->exchanges_open, b->exchanges_open);
	assert_int_equal(a->session_count, b->session_count);
	for (size_t i = 0; i < a->session_count; i++) {
		assert_int_equal(a->sessions[i].end, b->sessions[i].end);
		assert_int_equal(a->sessions[i].output, b->sessions[i].output);
		assert_int_equal(a->sessions[i].confirmed, b->sessions[i].confirmed);
		if (!a->fault)
			assert_int_equal(a->sessions[i].received, b->sessions[i].received);
	}
}

static void assert_same_findings(const struct flow *a, const struct flow *b)
{
	assert_int_equal(a->finding_count, b->finding_count);
	for (size_t i = 0; i < a->finding_count; i++) {
		assert_string_equal(a->findings[i].task, b->findings[i].task);
		assert_int_equal(a->findings[i].rule, b->findings[i].rule);
		assert_int_equal(a->findings[i].start, b->findings[i].start);
		assert_int_equal(a->findings[i].end, b->findings[i].end);
	}
}

static void assert_same_messages(const struct flow *a, const struct flow *b)
{
	assert_int_equal(a->messages, b->messages);
	assert_string_equal(a->starts, b->starts);
	if (a->fault)
		return;
	assert_int_equal(a->messages_told, b->messages_told);
	assert_int_equal(a->payloads_told, b->payloads_told);
	if (a->payloads_told)
		assert_memory_equal(a->payloads, b->payloads, a->payloads_told);
}

/* As far as the place says that it means something. */
static void assert_same_mark(const struct refusal_mark *a, const struct refusal_mark *b)
{
	assert_int_equal(a->place, b->place);
	if (a->place != REFUSAL_MESSAGE && a->place != REFUSAL_NONE)
		assert_int_equal(a->form, b->form);
	if (a->place == REFUSAL_CHUNK || a->place == REFUSAL_LENGTH)
		assert_int_equal(a->left, b->left);
}

void flow_assert_points(const struct flow *a, const struct flow *every)
{
	for (size_t i = 0; i < a->point_count; i++) {
		const struct flow_point *x = &a->points[i], *y = flow_at(every, x->fed);

		assert_string_equal(fault_name(x->fault), fault_name(y->fault));
		assert_int_equal(x->released, y->released);
		assert_same_mark(&x->mark, &y->mark);
		if (!x->fault)
			assert_int_equal(x->partial, y->partial);
	}
}

void flow_assert_same(const struct flow *a, const struct flow *b)
{
	assert_string_equal(fault_name(a->fault), fault_name(b->fault));
	assert_int_equal(a->framed, b->framed);
	assert_int_equal(a->released, b->released);
	assert_int_equal(a->complete, b->complete);
	assert_int_equal(a->confirmed, b->confirmed);
	assert_int_equal(a->session_end, b->session_end);
	assert_int_equal(a->session_output, b->session_output);
	assert_same_sessions(a, b);
	assert_same_messages(a, b);
	if (!a->unread)
		assert_int_equal(a->units, b->units);
	for (size_t i = 0; i < a->units && !a->unread; i++)
		assert_same_unit(&a->unit[i], &b->unit[i]);
	assert_int_equal(a->denial.rule, b->denial.rule);
	assert_string_equal(a->task, b->task);
	/* How far text came before a fault of its framing is not promised. */
	if (!a->fault || a->denial.end)
		assert_same_findings(a, b);
	if (!a->twice) {
		assert_int_equal(a->denial.start, b->denial.start);
		assert_int_equal(a->denial.end, b->denial.end);
	}
	/* How far text was handed on before a fault was known is not promised. */
	if (a->fault)
		return;
	assert_int_equal(a->runes, b->runes);
	assert_int_equal(a->channel_count, b->channel_count);
	for (size_t i = 0; i < a->channel_count; i++) {
		assert_string_equal(a->channels[i].name, b->channels[i].name);
		assert_int_equal(a->channels[i].len, b->channels[i].len);
		assert_memory_equal(a->channels[i].text, b->channels[i].text, a->channels[i].len);
	}
}

void flow_run_to(const struct flow_config *config, const char *data, enum fault fault,
		 uint64_t released, struct flow *ret_flow)
{
	flow_run_splits(config, data, strlen(data), ret_flow);
	assert_string_equal(fault_name(ret_flow->fault), fault_name(fault));
	assert_int_equal(ret_flow->released, released);
}

void flow_ends(const struct flow_config *config, const char *data, enum fault fault,
	       uint64_t released)
{
	struct flow flow;

	flow_run_to(config, data, fault, released, &flow);
	flow_done(&flow);
}

void flow_clean(const struct flow_config *config, const char *data)
{
	flow_ends(config, data, FAULT_NONE, strlen(data));
}
