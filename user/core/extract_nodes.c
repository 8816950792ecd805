/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_nodes.h"

#include <stddef.h>

#define TEXT(text, first, second, how)                                                           \
	{                                                                                        \
		.name = text, .class = CLASS_TEXT, .outer = first, .inner = second, .mode = how, \
		.needs = EXTRACT_NEED(first) | EXTRACT_NEED(second)                              \
	}
/* One of which the document's type says whether it goes to that channel. */
#define TYPED(path, of, to, first, second)                                                       \
	{                                                                                        \
		.name = path, .class = CLASS_TEXT, .outer = first, .inner = second, .group = of, \
		.channel = to,                                                                   \
		.needs = EXTRACT_NEED(first) | EXTRACT_NEED(second) | EXTRACT_NEED_TYPE          \
	}
/* One that begins what the deltas of a channel go on with. */
#define FIRST(to, first)                                                   \
	{                                                                  \
		.class = CLASS_TEXT, .outer = first, .channel = to,        \
		.needs = EXTRACT_NEED(first) | EXTRACT_NEED(REGISTER_NONE) \
	}
#define RAW(text, to, first, second)                                               \
	{                                                                          \
		.name = text, .class = CLASS_RAW, .outer = first, .inner = second, \
		.mode = MODE_UNIT, .channel = to,                                  \
		.needs = EXTRACT_NEED(first) | EXTRACT_NEED(second)                \
	}
#define PLAIN(what)            \
	{                      \
		.class = what, \
	}
#define INDEX(which)                                 \
	{                                            \
		.class = CLASS_INDEX, .outer = which \
	}
#define STRICT_INDEX(which)                                          \
	{                                                            \
		.class = CLASS_INDEX, .outer = which, .strict = true \
	}
#define OF(what, which)                       \
	{                                     \
		.class = what, .outer = which \
	}

#define NONE	 REGISTER_NONE
#define CHOICE	 REGISTER_CHOICE
#define CALL	 REGISTER_CALL
#define BLOCK	 REGISTER_INDEX
#define OUTPUT	 REGISTER_OUTPUT
#define PART	 REGISTER_PART
#define PLACE	 REGISTER_PLACE
#define SPOT	 REGISTER_SPOT
#define ARTIFACT REGISTER_ARTIFACT
#define THOUGHT	 REGISTER_THOUGHT

const struct extract_node extract_nodes[_NODE_MAX] = {
	[NODE_ROOT] = PLAIN(CLASS_DOCUMENT),
	[NODE_TYPE] = PLAIN(CLASS_TYPE),
	[NODE_FINISH] = PLAIN(CLASS_FINISH),
	[NODE_INDEX] = INDEX(BLOCK),
	[NODE_ERROR_MESSAGE] = TEXT("error", NONE, NONE, MODE_JOIN),
	[NODE_DELTA] = PLAIN(CLASS_BLOCK),

	[OPENAI_CONTENT] = TEXT("c#.content", CHOICE, NONE, MODE_JOIN),
	[OPENAI_REASONING_CONTENT] = TEXT("c#.reasoning", CHOICE, NONE, MODE_JOIN),
	[OPENAI_REASONING] = TEXT("c#.reasoning", CHOICE, NONE, MODE_JOIN),
	[OPENAI_THINKING] = TEXT("c#.reasoning", CHOICE, NONE, MODE_JOIN),
	[OPENAI_REASONING_DETAILS] = TEXT("c#.reasoning_details", CHOICE, NONE, MODE_JOIN),
	[OPENAI_REFUSAL] = TEXT("c#.refusal", CHOICE, NONE, MODE_JOIN),
	[OPENAI_TEXT] = TEXT("c#.text", CHOICE, NONE, MODE_JOIN),
	[OPENAI_TRANSCRIPT] = TEXT("c#.transcript", CHOICE, NONE, MODE_JOIN),
	[OPENAI_LOGPROBS_CONTENT] = TEXT("c#.logprobs.content", CHOICE, NONE, MODE_JOIN),
	[OPENAI_LOGPROBS_REFUSAL] = TEXT("c#.logprobs.refusal", CHOICE, NONE, MODE_JOIN),
	[OPENAI_FUNCTION_NAME] = TEXT("c#.function.name", CHOICE, NONE, MODE_CALL),
	[OPENAI_FUNCTION_ARGUMENTS] = TEXT("c#.function", CHOICE, NONE, MODE_CALL),
	[OPENAI_TOOL_NAME] = TEXT("c#.tool*.name", CHOICE, CALL, MODE_CALL),
	[OPENAI_TOOL_ARGUMENTS] = TEXT("c#.tool*", CHOICE, CALL, MODE_CALL),
	[OPENAI_CHOICE_INDEX] = STRICT_INDEX(CHOICE),
	[OPENAI_CALL_INDEX] = STRICT_INDEX(CALL),
	[OPENAI_CHOICES] = PLAIN(CLASS_HEAD),
	[OPENAI_CHOICE] = OF(CLASS_SCOPE, CHOICE),
	[OPENAI_CALLS] = OF(CLASS_LIST, CALL),
	[OPENAI_CALL] = {.class = CLASS_SCOPE, .outer = CALL, .position = true},

	[OLLAMA_CONTENT] = TEXT("content", NONE, NONE, MODE_JOIN),
	[OLLAMA_MESSAGE_THINKING] = TEXT("thinking", NONE, NONE, MODE_JOIN),
	[OLLAMA_RESPONSE] = TEXT("response", NONE, NONE, MODE_JOIN),
	[OLLAMA_THINKING] = TEXT("thinking", NONE, NONE, MODE_JOIN),
	[OLLAMA_TOOL_NAME] = TEXT("tool*.name", NONE, CALL, MODE_UNIT),
	[OLLAMA_TOOL_ARGUMENTS] = TEXT("tool*.arguments", NONE, CALL, MODE_UNIT),
	[OLLAMA_ARGUMENTS] = RAW(NULL, OLLAMA_TOOL_ARGUMENTS, NONE, CALL),
	[OLLAMA_DONE] = PLAIN(CLASS_DONE),
	[OLLAMA_CALLS] = OF(CLASS_LIST, CALL),
	[OLLAMA_CALL] = OF(CLASS_ELEMENT, CALL),

	[ANTHROPIC_TEXT] = TEXT("b#.text", BLOCK, NONE, MODE_JOIN),
	[ANTHROPIC_THINKING] = TEXT("b#.thinking", BLOCK, NONE, MODE_JOIN),
	[ANTHROPIC_JSON] = TEXT("b#.json", BLOCK, NONE, MODE_CALL),
	[ANTHROPIC_SIGNATURE] = TEXT("b#.signature", BLOCK, NONE, MODE_JOIN),
	[ANTHROPIC_COMPACTION] = TEXT("b#.compaction", BLOCK, NONE, MODE_JOIN),
	[ANTHROPIC_CITED_TEXT] = TEXT("b#.cited_text", BLOCK, NONE, MODE_UNIT),
	[ANTHROPIC_TYPE] = TEXT("b#.type", BLOCK, NONE, MODE_UNIT),
	[ANTHROPIC_NAME] = TEXT("b#.name", BLOCK, NONE, MODE_NAME),
	[ANTHROPIC_INPUT] = RAW("b#.input", 0, BLOCK, NONE),
	[ANTHROPIC_RESULT] = TEXT("b#.result", BLOCK, NONE, MODE_UNIT),
	[ANTHROPIC_FIRST_TEXT] = FIRST(ANTHROPIC_TEXT, PLACE),
	[ANTHROPIC_FIRST_THINKING] = FIRST(ANTHROPIC_THINKING, PLACE),
	[ANTHROPIC_FIRST_BLOCKS] = OF(CLASS_LIST, PLACE),
	[ANTHROPIC_FIRST_BLOCK] = OF(CLASS_ELEMENT, PLACE),

	[OUT_TEXT] = TEXT("out#.text+", OUTPUT, PART, MODE_JOIN),
	[OUT_REFUSAL] = TEXT("out#.refusal+", OUTPUT, PART, MODE_JOIN),
	[OUT_SUMMARY] = TEXT("out#.reasoning_summary+", OUTPUT, PART, MODE_JOIN),
	[OUT_REASONING] = TEXT("out#.reasoning_text+", OUTPUT, PART, MODE_JOIN),
	[OUT_TRANSCRIPT] = TEXT("out#.transcript+", OUTPUT, PART, MODE_JOIN),
	[OUT_HEARD] = TEXT("transcript", NONE, NONE, MODE_JOIN),
	[OUT_NAME] = TEXT("out#.name", OUTPUT, NONE, MODE_NAME),
	[OUT_ARGUMENTS] = TEXT("out#.arguments", OUTPUT, NONE, MODE_CALL),
	[OUT_INPUT] = TEXT("out#.input", OUTPUT, NONE, MODE_CALL),
	[OUT_CODE] = TEXT("out#.code", OUTPUT, NONE, MODE_CALL),
	[OUT_DELTA] = TYPED("delta", GROUP_DELTA, OUT_TEXT, NONE, NONE),
	[OUT_PART_TEXT] = TYPED("part.text", GROUP_PART, OUT_TEXT, NONE, NONE),
	[OUT_ITEM_NAME] = TYPED("item.name", GROUP_ITEM, OUT_NAME, OUTPUT, NONE),
	[OUT_ITEM_ARGUMENTS] = TYPED("item.arguments", GROUP_ITEM, OUT_ARGUMENTS, OUTPUT, NONE),
	[OUT_ITEM_INPUT] = TYPED("item.input", GROUP_ITEM, OUT_INPUT, OUTPUT, NONE),
	[OUT_ITEM_CODE] = TYPED("item.code", GROUP_ITEM, OUT_CODE, OUTPUT, NONE),
	[OUT_ITEM_TEXT] = TYPED("item.content.text", GROUP_ITEM, OUT_TEXT, OUTPUT, SPOT),
	[OUT_FIRST_NAME] = TYPED("response.output.name", GROUP_RESPONSE, OUT_NAME, PLACE, NONE),
	[OUT_FIRST_ARGUMENTS] =
		TYPED("response.output.arguments", GROUP_RESPONSE, OUT_ARGUMENTS, PLACE, NONE),
	[OUT_FIRST_INPUT] = TYPED("response.output.input", GROUP_RESPONSE, OUT_INPUT, PLACE, NONE),
	[OUT_FIRST_CODE] = TYPED("response.output.code", GROUP_RESPONSE, OUT_CODE, PLACE, NONE),
	[OUT_FIRST_TEXT] =
		TYPED("response.output.content.text", GROUP_RESPONSE, OUT_TEXT, PLACE, SPOT),
	[OUT_INDEX] = INDEX(OUTPUT),
	[OUT_PART_INDEX] = INDEX(PART),
	[OUT_ITEM_PARTS] = OF(CLASS_LIST, SPOT),
	[OUT_ITEM_PART] = OF(CLASS_ELEMENT, SPOT),
	[OUT_FIRST_ITEMS] = OF(CLASS_LIST, PLACE),
	[OUT_FIRST_ITEM] = OF(CLASS_ELEMENT, PLACE),
	[OUT_FIRST_PARTS] = OF(CLASS_LIST, SPOT),
	[OUT_FIRST_PART] = OF(CLASS_ELEMENT, SPOT),

	[GEMINI_TEXT] = TEXT("cand#.?", CHOICE, THOUGHT, MODE_JOIN),
	[GEMINI_CODE] = TEXT("cand#.code", CHOICE, NONE, MODE_UNIT),
	[GEMINI_OUTPUT] = TEXT("cand#.output", CHOICE, NONE, MODE_UNIT),
	[GEMINI_CALL_NAME] = TEXT("cand#.tool*.name", CHOICE, CALL, MODE_UNIT),
	[GEMINI_CALL_ARGUMENTS] = RAW("cand#.tool*.arguments", 0, CHOICE, CALL),
	[GEMINI_CALL_PARTIAL] = TEXT("cand#.partial", CHOICE, NONE, MODE_CALL),
	[GEMINI_LIVE_TEXT] = TEXT("live.text", NONE, NONE, MODE_JOIN),
	[GEMINI_LIVE_SPOKEN] = TEXT("live.spoken", NONE, NONE, MODE_JOIN),
	[GEMINI_LIVE_HEARD] = TEXT("live.heard", NONE, NONE, MODE_JOIN),
	[GEMINI_THOUGHT] = PLAIN(CLASS_THOUGHT),
	[GEMINI_INDEX] = STRICT_INDEX(CHOICE),
	[GEMINI_CANDIDATE] = OF(CLASS_SCOPE, CHOICE),
	[GEMINI_PARTS] = OF(CLASS_LIST, CALL),
	[GEMINI_PART] = OF(CLASS_SCOPE, THOUGHT),
	[GEMINI_CALL] = OF(CLASS_ELEMENT, CALL),

	[BEDROCK_TEXT] = TEXT("block#.text", BLOCK, NONE, MODE_JOIN),
	[BEDROCK_REASONING] = TEXT("block#.reasoning", BLOCK, NONE, MODE_JOIN),
	[BEDROCK_SIGNATURE] = TEXT("block#.signature", BLOCK, NONE, MODE_JOIN),
	[BEDROCK_RESULT] = TEXT("block#.result", BLOCK, NONE, MODE_JOIN),
	[BEDROCK_NAME] = TEXT("block#.name", BLOCK, NONE, MODE_NAME),
	[BEDROCK_INPUT] = TEXT("block#.input", BLOCK, NONE, MODE_CALL),
	[BEDROCK_GENERATION] = TEXT("generation", NONE, NONE, MODE_JOIN),
	[BEDROCK_OUTPUT_TEXT] = TEXT("outputText", NONE, NONE, MODE_JOIN),
	[BEDROCK_COMPLETION] = TEXT("completion", NONE, NONE, MODE_JOIN),
	[BEDROCK_OUTPUTS_TEXT] = TEXT("outputs.text", NONE, NONE, MODE_JOIN),
	[BEDROCK_BYTES] = PLAIN(CLASS_BYTES),
	[BEDROCK_INDEX] = INDEX(BLOCK),
	[BEDROCK_START] = PLAIN(CLASS_BLOCK),

	[COHERE_TEXT] = TEXT("content#.text", BLOCK, NONE, MODE_JOIN),
	[COHERE_THINKING] = TEXT("content#.thinking", BLOCK, NONE, MODE_JOIN),
	[COHERE_TOOL_PLAN] = TEXT("tool_plan", NONE, NONE, MODE_JOIN),
	[COHERE_TOOL_NAME] = TEXT("tool#.name", BLOCK, NONE, MODE_NAME),
	[COHERE_TOOL_ARGUMENTS] = TEXT("tool#.arguments", BLOCK, NONE, MODE_CALL),
	[COHERE_V1_TEXT] = TYPED("text", GROUP_TEXT, COHERE_V1_TEXT, NONE, NONE),

	[A2A_STATUS_TEXT] = TEXT("status", NONE, NONE, MODE_UNIT),
	[A2A_MESSAGE_TEXT] = TEXT("message", NONE, NONE, MODE_UNIT),
	[A2A_ARTIFACT_TEXT] = TEXT("artifact#", ARTIFACT, NONE, MODE_JOIN),
	[A2A_ARTIFACT_ID] = PLAIN(CLASS_NAME),
	[A2A_ARTIFACT] = OF(CLASS_SCOPE, ARTIFACT),

	[MCP_RESULT] = TEXT("result", NONE, NONE, MODE_UNIT),
	[MCP_NOTIFICATION] = {.name = "notification", .class = CLASS_LINE, .mode = MODE_UNIT},
	[MCP_PROGRESS] = TEXT("progress", NONE, NONE, MODE_UNIT),
};
