/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_forms.h"

#include "core/extract_a2a.h"
#include "core/extract_anthropic.h"
#include "core/extract_bedrock.h"
#include "core/extract_cohere.h"
#include "core/extract_gemini.h"
#include "core/extract_mcp.h"
#include "core/extract_ollama.h"
#include "core/extract_openai.h"
#include "core/extract_responses.h"

const struct extract_form *const extract_forms_all[] = {
	&extract_openai,  &extract_anthropic, &extract_responses, &extract_gemini, &extract_cohere,
	&extract_bedrock, &extract_ollama,    &extract_mcp,	  &extract_a2a,	   &extract_common,
};
const size_t extract_forms_all_count = ARRAY_SIZE(extract_forms_all);

static const struct extract_form *const forms[][2] = {
	[EXTRACT_OLLAMA_CHAT] = {&extract_ollama, &extract_common},
	[EXTRACT_OPENAI_CHAT] = {&extract_openai, &extract_common},
	[EXTRACT_OPENAI_RESPONSES] = {&extract_responses, &extract_common},
	[EXTRACT_ANTHROPIC] = {&extract_anthropic, &extract_common},
	[EXTRACT_GEMINI] = {&extract_gemini, &extract_common},
	[EXTRACT_BEDROCK] = {&extract_bedrock, &extract_common},
	[EXTRACT_COHERE] = {&extract_cohere, &extract_common},
	[EXTRACT_A2A] = {&extract_a2a, &extract_common},
	[EXTRACT_MCP] = {&extract_mcp, &extract_common},
	[_EXTRACT_MAX] = {NULL},
};

const struct extract_form *const *extract_forms_of(enum extract_kind kind, size_t *ret_count)
{
	if (kind == EXTRACT_AUTO) {
		*ret_count = extract_forms_all_count;
		return extract_forms_all;
	}
	*ret_count = ARRAY_SIZE(forms[kind]);
	return forms[kind][0] ? forms[kind] : NULL;
}
