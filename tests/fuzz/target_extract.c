/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extraction of text, of every kind. Option 0: the kind; bits of 1: how payloads are made
 * (see flags_of); bits of 2: joined by unit, ill-formed UTF-8 is replaced. Payloads are
 * divided by 0xff, or where they are lines by LF.
 *
 * However a payload is cut, the fault and the text of each channel are the same, and the
 * runes are those of the text.
 */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/extract.h"
#include "core/utf8.h"
#include "fuzz/fuzz.h"
#include "fuzz/targets.h"
#include "fuzz/texts.h"

#define DIVIDER 0xff

struct run {
	const struct fuzz_input *input;
	struct channel_set set;
	struct extractor extractor;
	unsigned int flags;
	struct fuzz_texts texts;
	enum fault fault;
	size_t units; /* that ended before it */
};

static unsigned int flags_of(const struct fuzz_input *input)
{
	static const unsigned int flags[] = {
		0,
		EXTRACTOR_LINES,
		EXTRACTOR_LINES | EXTRACTOR_JSON,
		EXTRACTOR_JSON,
		EXTRACTOR_EVENTS,
		EXTRACTOR_MESSAGES,
		EXTRACTOR_ATTEMPT,
	};

	return flags[input->options[1] % ARRAY_SIZE(flags)] | EXTRACTOR_EVALUATE;
}

static struct extract config_of(const struct fuzz_input *input)
{
	struct extract config = {
		.kind = (enum extract_kind)(input->options[0] % _EXTRACT_MAX),
		.path = "a.b",
		.join_unit = input->options[2] & 1,
		.replace_ill_formed = input->options[2] & 2,
	};

	if (flags_of(input) & EXTRACTOR_ATTEMPT)
		config.kind = EXTRACT_RAW;
	return config;
}

static void on_text(void *context, const char *channel, const uint8_t *text, size_t len)
{
	struct run *run = context;

	fuzz_texts_add(&run->texts, channel, text, len);
}

static void end_unit(struct run *run)
{
	run->fault = extractor_unit_end(&run->extractor, true);
	if (!run->fault)
		run->fault = channel_set_unit_end(&run->set);
	run->units += !run->fault;
}

/* Some of the data; lines end where the extractor says. */
static void feed(struct run *run, const uint8_t *data, size_t len)
{
	uint8_t *copy = fuzz_copy(data, len);
	size_t at = 0, used;

	while (at < len && !run->fault) {
		run->fault = extractor_feed(&run->extractor, copy + at, len - at, &used);
		fuzz_check(used <= len - at);
		at += used;
		if (run->fault || at == len)
			break;
		fuzz_check(run->flags & EXTRACTOR_LINES && copy[at] == '\n');
		at++;
		end_unit(run);
	}
	free(copy);
}

/* Up to the divider, or to the end of the data where lines are told apart by themselves. */
static size_t payload_len(const struct run *run, const uint8_t *data, size_t len)
{
	const uint8_t *end = run->flags & EXTRACTOR_LINES ? NULL : memchr(data, DIVIDER, len);

	return end ? (size_t)(end - data) : len;
}

static void feed_all(struct run *run, bool cut)
{
	const struct fuzz_input *input = run->input;
	size_t n = 0;

	for (size_t at = 0; at < input->len && !run->fault; at++) {
		size_t end = at + payload_len(run, input->data + at, input->len - at);

		while (at < end && !run->fault) {
			size_t size = cut ? MIN(fuzz_cut(input, n++), end - at) : end - at;

			feed(run, input->data + at, size);
			at += size;
		}
		if (!run->fault && !(run->flags & EXTRACTOR_LINES))
			end_unit(run);
	}
	if (!run->fault && run->flags & EXTRACTOR_LINES)
		end_unit(run);
	if (!run->fault)
		run->fault = extractor_end(&run->extractor);
	if (!run->fault)
		run->fault = channel_set_end(&run->set);
}

static bool run_extractor(const struct fuzz_input *input, bool cut, struct run *ret_run)
{
	const struct extract config = config_of(input);

	*ret_run = (struct run){.input = input, .flags = flags_of(input)};
	ret_run->set = (struct channel_set){
		.ceiling = UINT64_MAX,
		.on_text = on_text,
		.context = ret_run,
	};
	fuzz_check(channel_set_init(&ret_run->set) == 0);
	if (extractor_init(&ret_run->extractor, &config, &ret_run->set, ret_run->flags)) {
		channel_set_done(&ret_run->set);
		return false;
	}
	feed_all(ret_run, cut);
	/* Every rune that was numbered was shown. */
	if (!ret_run->fault)
		fuzz_check(ret_run->set.track == fuzz_texts_runes(&ret_run->texts));
	extractor_done(&ret_run->extractor);
	channel_set_done(&ret_run->set);
	return true;
}

void fuzz_extract(const uint8_t *bytes, size_t len)
{
	struct fuzz_input input;
	struct run whole, cut;

	if (!fuzz_input_init(&input, bytes, len) || !run_extractor(&input, false, &whole))
		return;
	fuzz_check(run_extractor(&input, true, &cut));
	fuzz_check(whole.fault == cut.fault && whole.units == cut.units);
	/* How far text was handed on before a fault was known is not promised. */
	if (!whole.fault)
		fuzz_check(fuzz_texts_same(&whole.texts, &cut.texts));
	fuzz_texts_done(&whole.texts);
	fuzz_texts_done(&cut.texts);
}
