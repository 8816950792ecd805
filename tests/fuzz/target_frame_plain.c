/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framings whose payload lies in one piece, through a pipeline that reads none of it: lines,
 * delimiters, lengths. Option 0: which; 1: the limit of a payload; bits of 2: the last line
 * may lack its LF, big-endian, lengths count themselves; 3: type of a length; 4: length of a
 * delimiter, which is the data's beginning.
 *
 * The units are those that a reader finds who has all of the data before it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/pipeline.h"
#include "fuzz/fuzz.h"
#include "fuzz/targets.h"

#define UNITS_MAX 4096u

struct plain_unit {
	uint64_t end, payload_start, payload_end;
	bool message;
};

struct story {
	struct plain_unit units[UNITS_MAX];
	size_t count;
	enum fault fault;
};

struct setup {
	struct framing framing;
	uint64_t limit;
	const uint8_t *data;
	size_t len;
};

static void add_unit(struct story *story, uint64_t end, uint64_t payload_start,
		     uint64_t payload_end, bool message)
{
	fuzz_check(story->count < UNITS_MAX);
	story->units[story->count++] =
		(struct plain_unit){end, payload_start, payload_end, message};
}

static void on_unit(void *context, const struct pipeline_unit *unit)
{
	struct story *story = context;

	fuzz_check(unit->start == (story->count ? story->units[story->count - 1].end : 0));
	fuzz_check(unit->end > unit->start && unit->messages <= 1);
	add_unit(story, unit->end, unit->payload_start, unit->payload_end, unit->messages);
}

static bool set_up(const struct fuzz_input *input, struct setup *ret_setup)
{
	static const enum framing_kind kinds[] = {FRAMING_NDJSON, FRAMING_SENTINEL,
						  FRAMING_LENPREFIX};
	struct framing framing = {
		.kind = kinds[input->options[0] % ARRAY_SIZE(kinds)],
		.any_line = true,
		.final_newline_optional = input->options[2] & 1,
		.big_endian = input->options[2] & 2,
		.includes_header = input->options[2] & 4,
		.type = (enum lenprefix_type)(input->options[3] % (LENPREFIX_VARINT + 1)),
		.sentinel_len = 1 + input->options[4] % SENTINEL_LEN_MAX,
	};
	size_t skip = 0;

	if (framing.kind == FRAMING_SENTINEL) {
		skip = framing.sentinel_len;
		if (input->len < skip)
			return false;
		memcpy(framing.sentinel, input->data, skip);
	}
	*ret_setup = (struct setup){framing, fuzz_limit(input->options[1]), input->data + skip,
				    MIN(input->len - skip, (size_t)UNITS_MAX)};
	return true;
}

static void run(const struct setup *setup, const struct fuzz_input *input, bool cut,
		struct story *ret_story)
{
	const struct pipeline_config config = {
		.framing = setup->framing,
		.extract = {.kind = EXTRACT_NONE},
		.max_message = setup->limit,
		.max_pending_units = 1,
		.on_unit = on_unit,
		.context = ret_story,
	};
	struct pipeline *pipeline = NULL;

	ret_story->count = 0;
	ret_story->fault = FAULT_NONE;
	fuzz_check(pipeline_new(&config, &pipeline) == 0);
	for (size_t at = 0, n = 0, size; at < setup->len && !ret_story->fault; at += size, n++) {
		uint8_t *copy;

		size = cut ? MIN(fuzz_cut(input, n), setup->len - at) : setup->len;
		copy = fuzz_copy(setup->data + at, size);
		ret_story->fault = pipeline_feed(pipeline, copy, size);
		free(copy);
		/* Without tasks every unit may leave. */
		fuzz_check(pipeline_released(pipeline) == pipeline_framed(pipeline));
	}
	if (!ret_story->fault)
		ret_story->fault = pipeline_end(pipeline);
	pipeline_free(pipeline);
}

static void expect_lines(const struct setup *setup, struct story *story)
{
	size_t at = 0;

	while (at < setup->len) {
		const uint8_t *start = setup->data + at;
		const uint8_t *lf = memchr(start, '\n', setup->len - at);
		size_t line = lf ? (size_t)(lf - start) : setup->len - at;
		bool cr = line && start[line - 1] == '\r';
		/* At the very end it is known that the CR belongs to no delimiter. */
		size_t payload = line - (cr && lf);

		if (line - cr > setup->limit || (lf && payload > setup->limit)) {
			story->fault = FAULT_TOO_LARGE;
			return;
		}
		if (!lf && !setup->framing.final_newline_optional) {
			story->fault = FAULT_TRUNCATED;
			return;
		}
		add_unit(story, at + line + !!lf, at, at + payload, payload > 0);
		at += line + !!lf;
	}
}

/* The most bytes at the end that could begin the delimiter. */
static size_t begun_delimiter(const struct setup *setup, const uint8_t *text, size_t len)
{
	size_t most = MIN(len, setup->framing.sentinel_len - 1);

	while (most && memcmp(text + len - most, setup->framing.sentinel, most) != 0)
		most--;
	return most;
}

static void expect_delimited(const struct setup *setup, struct story *story)
{
	size_t at = 0, size = setup->framing.sentinel_len;

	while (at < setup->len) {
		const uint8_t *start = setup->data + at;
		const uint8_t *end = memmem(start, setup->len - at, setup->framing.sentinel, size);
		size_t rest = setup->len - at;
		size_t payload =
			end ? (size_t)(end - start) : rest - begun_delimiter(setup, start, rest);

		if (payload > setup->limit || !end) {
			story->fault = payload > setup->limit ? FAULT_TOO_LARGE : FAULT_TRUNCATED;
			return;
		}
		add_unit(story, at + payload + size, at, at + payload, true);
		at += payload + size;
	}
}

/* A length of so many bytes, 0 where they are not all there, more than there may be where bad. */
static size_t read_varint(const uint8_t *data, size_t len, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (size_t i = 0; i < 10 && i < len; i++) {
		uint64_t bits = data[i] & 0x7f;

		if (!(data[i] & 0x80)) {
			*ret_value = value | bits << 7 * i;
			/* Ten bytes hold 70 bits; the last of several is not 0 in the shortest. */
			return (i == 9 && bits > 1) || (i && !bits) ? SIZE_MAX : i + 1;
		}
		if (i == 9)
			return SIZE_MAX;
		value |= bits << 7 * i;
	}
	return 0;
}

static size_t read_length(const struct framing *framing, const uint8_t *data, size_t len,
			  uint64_t *ret_value)
{
	size_t size = (size_t)1 << framing->type;
	uint64_t value = 0;

	if (framing->type == LENPREFIX_VARINT)
		return read_varint(data, len, ret_value);
	if (len < size)
		return 0;
	for (size_t i = 0; i < size; i++)
		value = value << 8 | data[framing->big_endian ? i : size - 1 - i];
	*ret_value = value;
	return size;
}

static void expect_lengths(const struct setup *setup, struct story *story)
{
	size_t at = 0;

	while (at < setup->len) {
		uint64_t value = 0;
		size_t size =
			read_length(&setup->framing, setup->data + at, setup->len - at, &value);
		uint64_t counted = setup->framing.includes_header ? size : 0;

		story->fault = !size ? FAULT_TRUNCATED : FAULT_NONE;
		if (size == SIZE_MAX || (size && value < counted))
			story->fault = FAULT_BAD_FRAME;
		else if (size && value - counted > setup->limit)
			story->fault = FAULT_TOO_LARGE;
		else if (size && value - counted > setup->len - at - size)
			story->fault = FAULT_TRUNCATED;
		if (story->fault)
			return;
		value -= counted;
		add_unit(story, at + size + value, at + size, at + size + value, true);
		at += size + (size_t)value;
	}
}

static void expect(const struct setup *setup, struct story *ret_story)
{
	ret_story->count = 0;
	ret_story->fault = FAULT_NONE;
	if (setup->framing.kind == FRAMING_NDJSON && setup->len &&
	    *setup->data == PIPELINE_TLS_RECORD)
		ret_story->fault = FAULT_TLS_UNMEDIATED;
	else if (setup->framing.kind == FRAMING_NDJSON)
		expect_lines(setup, ret_story);
	else if (setup->framing.kind == FRAMING_SENTINEL)
		expect_delimited(setup, ret_story);
	else
		expect_lengths(setup, ret_story);
}

static void check_same(const struct story *a, const struct story *b)
{
	fuzz_check(a->fault == b->fault);
	fuzz_check(a->count == b->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct plain_unit *x = &a->units[i], *y = &b->units[i];

		fuzz_check(x->end == y->end && x->message == y->message);
		fuzz_check(x->payload_start == y->payload_start);
		fuzz_check(x->payload_end == y->payload_end);
	}
}

void fuzz_frame_plain(const uint8_t *bytes, size_t len)
{
	struct fuzz_input input;
	struct setup setup;
	struct story *stories;

	if (!fuzz_input_init(&input, bytes, len) || !set_up(&input, &setup))
		return;
	stories = malloc(3 * sizeof(*stories));
	fuzz_check(stories != NULL);
	run(&setup, &input, false, &stories[0]);
	run(&setup, &input, true, &stories[1]);
	expect(&setup, &stories[2]);
	check_same(&stories[0], &stories[1]);
	check_same(&stories[0], &stories[2]);
	free(stories);
}
