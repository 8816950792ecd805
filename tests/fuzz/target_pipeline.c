/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both flows of a stream, from bytes to what may be released, in two runs: each segment in
 * one call, and cut.
 *
 * Option 0: the framing, and in its upper half a parameter of it; 1: the extractor, and in
 * its upper half, as bits: joined by unit, opaque bodies released, the stream ends, text is
 * observed in the second run alone; 2: the terms of requests and of responses, a half each;
 * 3: level and, as bits from 2 on: responses come first, the last line may lack its LF,
 * ill-formed UTF-8 is replaced; 4: the limit of a message; 5: of units that wait, or 0.
 */
#include "base/macros.h"
#include "fuzz/stream.h"
#include "fuzz/targets.h"

static struct framing framing_of(const struct fuzz_input *input)
{
	uint8_t kind = input->options[0] & 15, parameter = input->options[0] >> 4;
	struct framing framing = {
		.kind = (enum framing_kind)(kind % _FRAMING_MAX),
		.final_newline_optional = input->options[3] & 8,
		.sentinel = "\r\n--",
		.sentinel_len = 4,
		.type = (enum lenprefix_type)(parameter % (LENPREFIX_VARINT + 1)),
		.big_endian = parameter & 8,
		.permessage_deflate = parameter & 1,
		.coding = (enum content_coding)(parameter % _CODING_MAX),
		.grpc_web = parameter & 8,
	};

	return framing;
}

static void set_up(const struct fuzz_input *input, struct fuzz_setup *ret_setup)
{
	*ret_setup = (struct fuzz_setup){
		.framing = framing_of(input),
		.extract =
			{
				.kind = (enum extract_kind)((input->options[1] & 15) %
							    _EXTRACT_MAX),
				.path = "t",
				.join_unit = input->options[1] & 16,
				.replace_ill_formed = input->options[3] & 16,
			},
		.level = (enum session_level)((input->options[3] & 3) % _SESSION_LEVEL_MAX),
		.release_opaque = input->options[1] & 32,
		.ends = input->options[1] & 64,
		.max_message = fuzz_limit(input->options[4]),
		.max_pending = input->options[5] ? input->options[5] : 1024,
		.terms = {fuzz_terms_get(input->options[2] & 15),
			  fuzz_terms_get(input->options[2] >> 4)},
		.input = input,
	};
	/* Tasks want text, and text an extractor. */
	if (ret_setup->extract.kind == EXTRACT_NONE)
		ret_setup->extract.kind = EXTRACT_RAW;
}

void fuzz_pipeline(const uint8_t *bytes, size_t len)
{
	struct fuzz_stream whole = {0}, cut = {0};
	struct fuzz_script script;
	struct fuzz_input input;
	struct fuzz_setup setup;
	unsigned int text = FUZZ_TEXT(SESSION_REQUEST) | FUZZ_TEXT(SESSION_RESPONSE);

	if (!fuzz_input_init(&input, bytes, len))
		return;
	set_up(&input, &setup);
	fuzz_script_init(&script, &input, input.options[3] & 4);
	setup.script = &script;
	/* Text that nobody observes is passed over where it was judged before; elsewhere too. */
	if (setup.terms[0] && setup.terms[1] && input.options[1] & 128)
		fuzz_check(fuzz_stream_run(&whole, &setup, FUZZ_WHOLE, 0));
	else
		fuzz_check(fuzz_stream_run(&whole, &setup, FUZZ_WHOLE, text));
	fuzz_check(fuzz_stream_run(&cut, &setup, FUZZ_CUT, text));
	fuzz_stream_check_same(&whole, &cut);
	fuzz_stream_check_leaks(&whole);
	fuzz_stream_check_leaks(&cut);
	fuzz_stream_check_refusal(&whole);
	fuzz_stream_done(&whole);
	fuzz_stream_done(&cut);
	fuzz_script_done(&script);
}
