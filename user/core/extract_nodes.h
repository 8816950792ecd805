/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places in documents that model servers and agents send: what each is, and of those that hold
 * text which channel it belongs to.
 *
 * Invariants:
 *  D1. A text that is joined is known by what its provider tells it apart by: numbers of choices,
 *      calls, blocks, parts. Those are registers here, filled as they come.
 *  D2. Places that several providers have in common (below _NODE_SHARED_MAX) have edges in the
 *      forms of each; of two with the same name the first form's counts.
 */
#ifndef SLUICE_CORE_EXTRACT_NODES_H
#define SLUICE_CORE_EXTRACT_NODES_H

#include <stdbool.h>
#include <stdint.h>

enum extract_node_id {
	NODE_UNKNOWN, /* whatever is not known, and what is around all */
	NODE_ROOT,
	NODE_DELTA,   /* an object */
	NODE_MESSAGE, /* the same */
	NODE_RESULT,
	_NODE_SHARED_MAX,

	OPENAI_CONTENT = _NODE_SHARED_MAX,
	OPENAI_REASONING_CONTENT,
	OPENAI_REASONING,
	OPENAI_THINKING,
	OPENAI_REASONING_DETAILS,
	OPENAI_REFUSAL,
	OPENAI_TEXT,
	OPENAI_TRANSCRIPT,
	OPENAI_LOGPROBS_CONTENT,
	OPENAI_LOGPROBS_REFUSAL,
	OPENAI_FUNCTION_NAME,
	OPENAI_FUNCTION_ARGUMENTS,
	OPENAI_TOOL_NAME,
	OPENAI_TOOL_ARGUMENTS,
	OPENAI_CHOICE_INDEX,
	OPENAI_CALL_INDEX,
	OPENAI_CHOICES,
	OPENAI_CHOICE,
	OPENAI_DELTA,
	OPENAI_PARTS, /* delta.content as a list */
	OPENAI_PART,
	OPENAI_THOUGHTS,
	OPENAI_THOUGHT,
	OPENAI_DETAILS,
	OPENAI_DETAIL,
	OPENAI_AUDIO,
	OPENAI_LOGPROBS,
	OPENAI_LOGPROBS_TOKENS,
	OPENAI_LOGPROBS_REFUSALS,
	OPENAI_LOGPROBS_TOKEN,
	OPENAI_LOGPROBS_REFUSED,
	OPENAI_FUNCTION,
	OPENAI_CALLS,
	OPENAI_CALL,
	OPENAI_CALL_FUNCTION,

	NODE_TYPE,
	NODE_FINISH,
	NODE_INDEX,
	NODE_ERROR,
	NODE_ERROR_MESSAGE,

	OLLAMA_CONTENT,
	OLLAMA_MESSAGE_THINKING,
	OLLAMA_RESPONSE,
	OLLAMA_THINKING,
	OLLAMA_TOOL_NAME,
	OLLAMA_TOOL_ARGUMENTS,
	OLLAMA_ARGUMENTS, /* an object or a list */
	OLLAMA_DONE,
	OLLAMA_CALLS,
	OLLAMA_CALL,
	OLLAMA_FUNCTION,

	ANTHROPIC_TEXT,
	ANTHROPIC_THINKING,
	ANTHROPIC_JSON,
	ANTHROPIC_SIGNATURE,
	ANTHROPIC_COMPACTION,
	ANTHROPIC_CITED_TEXT,
	ANTHROPIC_TYPE,
	ANTHROPIC_NAME,
	ANTHROPIC_INPUT,
	ANTHROPIC_RESULT,
	ANTHROPIC_FIRST_TEXT,
	ANTHROPIC_FIRST_THINKING,
	ANTHROPIC_CITATION,
	ANTHROPIC_BLOCK,
	ANTHROPIC_RESULTS,
	ANTHROPIC_RESULT_PART,
	ANTHROPIC_FIRST_BLOCKS, /* message.content */
	ANTHROPIC_FIRST_BLOCK,

	OUT_TEXT,
	OUT_REFUSAL,
	OUT_SUMMARY,
	OUT_REASONING,
	OUT_TRANSCRIPT,
	OUT_HEARD,
	OUT_NAME,
	OUT_ARGUMENTS,
	OUT_INPUT,
	OUT_CODE,
	OUT_DELTA, /* of these the document's type says whether they are joined */
	OUT_PART_TEXT,
	OUT_ITEM_NAME,
	OUT_ITEM_ARGUMENTS,
	OUT_ITEM_INPUT,
	OUT_ITEM_CODE,
	OUT_ITEM_TEXT,
	OUT_FIRST_NAME,
	OUT_FIRST_ARGUMENTS,
	OUT_FIRST_INPUT,
	OUT_FIRST_CODE,
	OUT_FIRST_TEXT,
	OUT_INDEX,
	OUT_PART_INDEX,
	OUT_PART,
	OUT_ITEM,
	OUT_ITEM_PARTS,
	OUT_ITEM_PART,
	OUT_RESPONSE,
	OUT_INCOMPLETE,	 /* incomplete_details */
	OUT_FIRST_ITEMS, /* response.output */
	OUT_FIRST_ITEM,
	OUT_FIRST_PARTS,
	OUT_FIRST_PART,

	GEMINI_TEXT,
	GEMINI_CODE,
	GEMINI_OUTPUT,
	GEMINI_CALL_NAME,
	GEMINI_CALL_ARGUMENTS,
	GEMINI_CALL_PARTIAL,
	GEMINI_LIVE_TEXT,
	GEMINI_LIVE_SPOKEN,
	GEMINI_LIVE_HEARD,
	GEMINI_THOUGHT,
	GEMINI_INDEX,
	GEMINI_CANDIDATES,
	GEMINI_CANDIDATE,
	GEMINI_CONTENT,
	GEMINI_PARTS,
	GEMINI_PART,
	GEMINI_EXECUTABLE,
	GEMINI_EXECUTED,
	GEMINI_CALL,
	GEMINI_PARTIALS,
	GEMINI_PARTIAL,
	GEMINI_LIVE,
	GEMINI_LIVE_TURN,
	GEMINI_LIVE_PARTS,
	GEMINI_LIVE_PART,
	GEMINI_LIVE_OUTPUT,
	GEMINI_LIVE_INPUT,

	BEDROCK_TEXT,
	BEDROCK_REASONING,
	BEDROCK_SIGNATURE,
	BEDROCK_RESULT,
	BEDROCK_NAME,
	BEDROCK_INPUT,
	BEDROCK_GENERATION,
	BEDROCK_OUTPUT_TEXT,
	BEDROCK_COMPLETION,
	BEDROCK_OUTPUTS_TEXT,
	BEDROCK_BYTES,
	BEDROCK_INDEX,
	BEDROCK_WRAPPED, /* an event in a member of its name */
	BEDROCK_REASONING_CONTENT,
	BEDROCK_TOOL_USE,
	BEDROCK_RESULTS,
	BEDROCK_RESULT_PART,
	BEDROCK_START,
	BEDROCK_START_TOOL,
	BEDROCK_STOP, /* messageStop */
	BEDROCK_OUTPUTS,
	BEDROCK_OUTPUT,

	COHERE_TEXT,
	COHERE_THINKING,
	COHERE_TOOL_PLAN,
	COHERE_TOOL_NAME,
	COHERE_TOOL_ARGUMENTS,
	COHERE_V1_TEXT,
	COHERE_MESSAGE,
	COHERE_CONTENT,
	COHERE_PARTS,
	COHERE_CALL,
	COHERE_FUNCTION,

	A2A_STATUS_TEXT,
	A2A_MESSAGE_TEXT,
	A2A_ARTIFACT_TEXT,
	A2A_ARTIFACT_ID,
	A2A_STATUS_UPDATE,
	A2A_STATUS,
	A2A_STATUS_MESSAGE,
	A2A_STATUS_PARTS,
	A2A_STATUS_PART,
	A2A_MESSAGE,
	A2A_MESSAGE_PARTS,
	A2A_MESSAGE_PART,
	A2A_ARTIFACT_UPDATE,
	A2A_ARTIFACT,
	A2A_ARTIFACT_PARTS,
	A2A_ARTIFACT_PART,

	MCP_RESULT,
	MCP_NOTIFICATION,
	MCP_PROGRESS,
	MCP_CONTENT,
	MCP_CONTENT_PART,
	MCP_PARAMS,
	MCP_DATA, /* whatever is in it */

	_NODE_MAX,
};
_Static_assert((int)_NODE_MAX < UINT8_MAX, "more places than a byte tells apart");

/* What tells texts of one kind apart. */
enum extract_register {
	REGISTER_NONE,	   /* always 0 */
	REGISTER_CHOICE,   /* number of the choice or candidate under way */
	REGISTER_CALL,	   /* of a tool call */
	REGISTER_INDEX,	   /* of the document: index, contentBlockIndex */
	REGISTER_OUTPUT,   /* of the document: output_index */
	REGISTER_PART,	   /* of the document: content_index, summary_index */
	REGISTER_PLACE,	   /* position in a list */
	REGISTER_SPOT,	   /* in a list of one of its elements */
	REGISTER_ARTIFACT, /* order in which its name was first seen */
	REGISTER_THOUGHT,  /* 1: the part under way is a thought */
	_REGISTER_MAX,
};

#define EXTRACT_NEED(which) (1u << (which))
#define EXTRACT_NEED_TYPE   (1u << _REGISTER_MAX) /* what the document's type says */

enum extract_class {
	CLASS_NONE,
	CLASS_TEXT,    /* a string */
	CLASS_RAW,     /* a container whose JSON as it stands is a text */
	CLASS_INDEX,   /* the number that register `outer` gets */
	CLASS_TYPE,    /* the type of the document */
	CLASS_NAME,    /* of an artifact */
	CLASS_FINISH,  /* why a choice, or the exchange, has finished */
	CLASS_DONE,    /* true: the exchange is complete */
	CLASS_THOUGHT, /* true or false */
	CLASS_LINE,    /* a string whose text is a line: one LF goes behind it */
	CLASS_BYTES,   /* base64 of a document */
	CLASS_DOCUMENT,
	CLASS_HEAD,    /* a list; what is before it is much the same in each document */
	CLASS_LIST,    /* positions in it, of register `outer`, begin anew */
	CLASS_SCOPE,   /* register `outer` is of this container */
	CLASS_ELEMENT, /* the same, and is its position in the list */
	CLASS_BLOCK,   /* the document of a block's end has none */
};

enum extract_mode {
	MODE_JOIN, /* over units */
	MODE_UNIT, /* ends with its unit */
	MODE_CALL, /* joined, and no part is cleared before it is complete */
	MODE_NAME, /* ends with its unit, and is not cleared before its call is complete */
};

/* What the type of a document says of texts that are joined in some alone. */
enum extract_group {
	GROUP_NONE,
	GROUP_DELTA,
	GROUP_PART,
	GROUP_ITEM,
	GROUP_RESPONSE,
	GROUP_TEXT, /* also of a document without a type */
};

struct extract_node {
	/*
	 * Of a text: its channel, # being the number `outer`, * the number `inner`, + the same with
	 * a dot before and none for 0, ? what REGISTER_THOUGHT says. Of one whose channel is
	 * another's: its path.
	 */
	const char *name;
	uint8_t class;	 /* enum extract_class */
	uint8_t outer;	 /* enum extract_register */
	uint8_t inner;	 /* the same */
	uint8_t mode;	 /* enum extract_mode */
	uint8_t group;	 /* enum extract_group: else any string; 0: always a text */
	uint8_t channel; /* the text whose channel it has; 0: its own */
	bool strict;	 /* index: one that is none is at fault, text or not */
	bool position;	 /* scope: what has no index has its position, and else 0 */
	uint16_t needs;	 /* EXTRACT_NEED of its registers, EXTRACT_NEED_TYPE */
};

extern const struct extract_node extract_nodes[_NODE_MAX];

#endif
