/* SPDX-License-Identifier: Apache-2.0 */
#include "core/regex.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/coverage.h"
#include "core/regex_internal.h"
#include "core/regex_syntax.h"

/* PCRE2_ALT_CIRCUMFLEX: what (?m)^ says of a place depends on no text behind it. */
#define COMPILE_OPTIONS \
	(PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_CIRCUMFLEX)
/* Of the interpreter, in KiB, and its nesting. */
#define HEAP_LIMIT  4096u
#define DEPTH_LIMIT 1000u

/* One pattern at a time, on the way to a set. */
struct builder {
	struct regex *regex;
	const struct regex_options *options;
	pcre2_compile_context *context;
	struct regex_beginning *beginnings; /* one per pattern */
	struct regex_error *error;
};

static int refuse(struct regex_error *error, size_t pattern, size_t offset, const char *why)
{
	error->pattern = pattern;
	error->offset = offset;
	snprintf(error->message, sizeof(error->message), "%s", why);
	return -EINVAL;
}

static int compile(struct builder *builder, size_t index, const char *pattern)
{
	struct regex_rule *rule = &builder->regex->rules[index];
	PCRE2_SIZE offset;
	int code, r;

	rule->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, COMPILE_OPTIONS,
				   &code, &offset, builder->context);
	if (!rule->code) {
		char message[sizeof(builder->error->message)];

		if (code == PCRE2_ERROR_HEAP_FAILED)
			return -ENOMEM;
		if (pcre2_get_error_message(code, (PCRE2_UCHAR *)message, sizeof(message)) < 0)
			message[0] = '\0';
		return refuse(builder->error, index, offset, message);
	}
	rule->match = pcre2_match;
	if (builder->options->interpret)
		return 0;
	r = pcre2_jit_compile(rule->code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
	/* Without JIT, or memory that may be written and run, PCRE2 interprets. */
	if (r < 0 && r != PCRE2_ERROR_NOMEMORY && r != PCRE2_ERROR_JIT_BADOPTION)
		return -EIO;
	if (r == 0)
		rule->match = pcre2_jit_match;
	return 0;
}

/* What the pattern can match decides whether it can be held to a bound. */
static int bound(struct builder *builder, size_t index, const struct regex_syntax *syntax)
{
	const struct regex_extent *extent = &syntax->extent;
	uint32_t max_runes = builder->options->max_runes;
	struct regex_rule *rule = &builder->regex->rules[index];
	uint64_t runes = (uint64_t)extent->max + extent->ahead;

	if (extent->min == 0)
		return refuse(builder->error, index, 0, "it matches the empty text");
	if (extent->behind > REGEX_RUNES_MAX)
		return refuse(builder->error, index, 0, "it looks too far behind");
	if (!max_runes && (extent->max == REGEX_UNBOUNDED || extent->ahead == REGEX_UNBOUNDED))
		return refuse(builder->error, index, syntax->unbounded_at,
			      "its matches have no bound; max_runes has to give one");
	if (!max_runes && runes > REGEX_RUNES_MAX)
		return refuse(builder->error, index, 0,
			      "its matches may be too long; max_runes has to bound them");
	if (max_runes && runes > max_runes) {
		rule->window = max_runes;
		runes = max_runes;
	}
	builder->regex->behind = MAX(builder->regex->behind, extent->behind);
	builder->regex->longest = MAX(builder->regex->longest, (uint32_t)(extent->behind + runes));
	return 0;
}

static int add(struct builder *builder, size_t index, const char *pattern)
{
	struct regex_rule *rule = &builder->regex->rules[index];
	struct regex_syntax syntax;
	const char *reason;
	size_t offset;
	int r;

	r = compile(builder, index, pattern);
	if (r < 0)
		return r;
	r = regex_syntax_read(pattern, &syntax, &offset, &reason);
	if (r < 0)
		return refuse(builder->error, index, offset, reason);
	r = bound(builder, index, &syntax);
	if (r < 0)
		return r;
	builder->beginnings[index] =
		(struct regex_beginning){.literals = syntax.literals, .head = syntax.head};
	if (builder->options->checks)
		rule->check = builder->options->checks[index];
	return 0;
}

static int make_contexts(struct builder *builder)
{
	pcre2_match_context *limits;

	builder->context = pcre2_compile_context_create(NULL);
	limits = builder->regex->limits = pcre2_match_context_create(NULL);
	if (!builder->context || !limits)
		return -ENOMEM;
	/* What pcre2_match() means is not left to how the library was built. */
	pcre2_set_newline(builder->context, PCRE2_NEWLINE_LF);
	pcre2_set_bsr(builder->context, PCRE2_BSR_UNICODE);
	pcre2_set_max_pattern_length(builder->context, REGEX_PATTERN_MAX);
	pcre2_set_match_limit(limits, REGEX_MATCH_LIMIT);
	pcre2_set_depth_limit(limits, DEPTH_LIMIT);
	pcre2_set_heap_limit(limits, HEAP_LIMIT);
	return 0;
}

static int build(struct builder *builder, const char *const *patterns, size_t count)
{
	struct regex *regex = builder->regex;
	int r = make_contexts(builder);

	for (size_t i = 0; i < count && r == 0; i++)
		r = add(builder, i, patterns[i]);
	if (r < 0)
		return r;
	r = regex_prefilter_new(builder->beginnings, count, &regex->prefilter);
	for (size_t i = 0; i < count && r == 0; i++)
		if (!regex_prefilter_knows(regex->prefilter, i))
			regex->always[i / 64] |= 1ull << i % 64;
	return r;
}

int regex_new(const char *const *patterns, size_t count, const struct regex_options *options,
	      struct regex_error *ret_error, struct regex **ret_regex)
{
	cleanup(regex_freep) struct regex *regex = NULL;
	struct builder builder = {.options = options, .error = ret_error};
	int r;

	if (count > REGEX_PATTERNS_MAX || options->max_runes > REGEX_RUNES_MAX)
		return -E2BIG;
	regex = calloc(1, sizeof(*regex));
	if (!regex)
		return -ENOMEM;
	regex->count = count;
	regex->words = count / 64 + 1;
	regex->rules = calloc(count + 1, sizeof(*regex->rules));
	regex->always = calloc(regex->words, sizeof(*regex->always));
	builder.regex = regex;
	builder.beginnings = calloc(count + 1, sizeof(*builder.beginnings));
	r = -ENOMEM;
	if (regex->rules && regex->always && builder.beginnings)
		r = build(&builder, patterns, count);
	pcre2_compile_context_free(builder.context);
	free(builder.beginnings);
	if (r < 0)
		return r;
	*ret_regex = take_ptr(regex);
	return 0;
}

void regex_free(struct regex *regex)
{
	if (!regex)
		return;
	for (size_t i = 0; regex->rules && i < regex->count; i++)
		pcre2_code_free(regex->rules[i].code);
	free(regex->rules);
	free(regex->always);
	pcre2_match_context_free(regex->limits);
	regex_prefilter_free(regex->prefilter);
	free(regex);
}

uint32_t regex_longest(const struct regex *regex)
{
	return regex->longest;
}

uint32_t regex_tail(const struct regex *regex)
{
	return coverage_tail(regex->longest) + regex->behind;
}
