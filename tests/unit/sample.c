/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/channel.h"
#include "unit/allocation.h"

static void on_text(void *context, const char *channel, const uint8_t *text, size_t len)
{
	struct sample_result *result = context;
	int n;

	if (strcmp(result->last, channel) != 0)
		result->len += (size_t)snprintf(result->text + result->len,
						sizeof(result->text) - result->len,
						"%s%s=", result->len ? ";" : "", channel);
	snprintf(result->last, sizeof(result->last), "%s", channel);
	n = snprintf(result->text + result->len, sizeof(result->text) - result->len, "%.*s",
		     (int)len, (const char *)text);
	assert_in_range(n, 0, sizeof(result->text) - result->len - 1);
	result->len += (size_t)n;
}

/* One payload, in pieces of exactly their size; a piece of 0 bytes is one too. */
static enum fault feed(struct extractor *x, const char *payload, size_t len, size_t cut,
		       size_t size)
{
	size_t at = 0, used;

	while (at < len) {
		size_t end = at < cut && cut < len ? cut : len,
		       n = end - at < size ? end - at : size;
		uint8_t *copy = malloc(n);
		enum fault fault;

		assert_non_null(copy);
		memcpy(copy, payload + at, n);
		fault = extractor_feed(x, copy, n, &used);
		free(copy);
		assert_true(used <= n);
		if (fault)
			return fault;
		assert_int_equal(used, n);
		at += n;
	}
	return extractor_unit_end(x, true);
}

void sample_run(const struct sample *sample, const char *const *payloads, size_t cut, size_t size,
		struct sample_result *ret)
{
	const struct matcher matcher = {.terms = sample->terms};
	struct channel_set set = {
		.matchers = &matcher,
		.task_count = sample->terms != NULL,
		.ceiling = UINT64_MAX,
		.on_text = on_text,
		.context = ret,
	};
	struct extractor x;

	memset(ret, 0, sizeof(*ret));
	assert_int_equal(channel_set_init(&set), 0);
	assert_int_equal(extractor_init(&x, &sample->config, &set, sample->flags), 0);
	for (; payloads[ret->payload] && !ret->fault; ret->payload += !ret->fault)
		ret->fault =
			feed(&x, payloads[ret->payload], strlen(payloads[ret->payload]), cut, size);
	ret->frontier = set.floor;
	if (sample->terms)
		ret->frontier = channel_set_frontier(&set, 0);
	if (!ret->fault)
		ret->fault = extractor_end(&x);
	ret->complete = x.complete;
	ret->track = set.track;
	extractor_done(&x);
	channel_set_done(&set);
}

void sample_check(const struct sample *sample, const char *const *payloads, const char *text,
		  enum fault fault, size_t payload)
{
	struct sample_result whole, cut;
	size_t longest = 0;

	sample_run(sample, payloads, 0, SIZE_MAX, &whole);
	assert_string_equal(fault_name(whole.fault), fault_name(fault));
	assert_int_equal(whole.payload, payload);
	if (!fault)
		assert_string_equal(whole.text, text);
	for (size_t i = 0; payloads[i]; i++)
		longest = MAX(longest, strlen(payloads[i]));
	for (size_t i = 1; i < longest + 10; i++) {
		if (i < 10)
			sample_run(sample, payloads, 0, i, &cut);
		else
			sample_run(sample, payloads, i - 9, SIZE_MAX, &cut);
		assert_string_equal(fault_name(cut.fault), fault_name(fault));
		assert_int_equal(cut.payload, payload);
		assert_int_equal(cut.complete, whole.complete);
		assert_int_equal(cut.frontier, whole.frontier);
		if (!fault || fault == FAULT_BLOCKED)
			assert_int_equal(cut.track, whole.track);
		if (!fault)
			assert_string_equal(cut.text, text);
	}
}

size_t sample_count(const char *const *payloads)
{
	size_t count = 0;

	while (payloads[count])
		count++;
	return count;
}

bool sample_completes(const struct sample *sample, const char *const *payloads)
{
	struct sample_result result;

	sample_run(sample, payloads, 0, SIZE_MAX, &result);
	return result.complete;
}

struct terms *sample_terms(const char *term)
{
	struct terms *terms;
	size_t bad;

	assert_int_equal(terms_new(&term, 1, 0, &bad, &terms), 0);
	return terms;
}

/* Payloads cut in two, by an extractor that may fail at any allocation. */
static enum fault run_failing(const struct sample *sample, const char *const *payloads)
{
	const struct matcher matcher = {.terms = sample->terms};
	struct channel_set set = {.matchers = &matcher, .task_count = 1, .ceiling = UINT64_MAX};
	enum fault fault = FAULT_NO_MEMORY;
	struct extractor x;

	if (channel_set_init(&set) == 0 &&
	    extractor_init(&x, &sample->config, &set, sample->flags) == 0) {
		fault = FAULT_NONE;
		for (; *payloads && !fault; payloads++) {
			size_t len = strlen(*payloads), half = len / 2, used;

			fault = extractor_feed(&x, (const uint8_t *)*payloads, half, &used);
			if (!fault)
				fault = extractor_feed(&x, (const uint8_t *)*payloads + half,
						       len - half, &used);
			if (!fault)
				fault = extractor_unit_end(&x, true);
		}
		if (!fault)
			fault = extractor_end(&x);
		extractor_done(&x);
	}
	channel_set_done(&set);
	return fault;
}

void sample_check_allocations(const struct sample *sample, const char *const *payloads)
{
	unsigned long n = 0;
	enum fault fault;

	assert_string_equal(fault_name(run_failing(sample, payloads)), "none");
	for (;; n++) {
		allocation_fail_at(n);
		fault = run_failing(sample, payloads);
		if (!allocation_failed())
			break;
		assert_string_equal(fault_name(fault), "no_memory");
	}
	assert_in_range(n, 5, 1000);
}
