/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fault.h"

#include "base/macros.h"

static const char *const names[] = {
	[FAULT_NONE] = "none",
	[FAULT_TRUNCATED] = "truncated",
	[FAULT_TOO_LARGE] = "too_large",
	[FAULT_BLOCKED] = "blocked",
	[FAULT_DUPLICATE_KEY] = "duplicate_key",
	[FAULT_BAD_FRAME] = "bad_frame",
	[FAULT_BARE_LF] = "bare_lf",
	[FAULT_BAD_HEADER] = "bad_header",
	[FAULT_AMBIGUOUS_LENGTH] = "ambiguous_length",
	[FAULT_PROTOCOL] = "protocol",
	[FAULT_BAD_UTF8] = "bad_utf8",
	[FAULT_BAD_JSON] = "bad_json",
	[FAULT_BAD_ENCODING] = "bad_encoding",
	[FAULT_UNSUPPORTED_CODING] = "unsupported_coding",
	[FAULT_OPAQUE_BODY] = "opaque_body",
	[FAULT_UNFRAMED] = "unframed",
	[FAULT_TLS_UNMEDIATED] = "tls_unmediated",
	[FAULT_STALE] = "stale",
	[FAULT_HOLD_TIMEOUT] = "hold_timeout",
	[FAULT_ACCOUNTING] = "accounting",
	[FAULT_NO_MEMORY] = "no_memory",
	[FAULT_UNREPRESENTED] = "unrepresented",
	[FAULT_OUTPUT_DENIED] = "output_denied",
	[FAULT_RESUME_REFUSED] = "resume_refused",
	[FAULT_MATCH_LIMIT] = "match_limit",
	[FAULT_REWRITTEN] = "rewritten",
	[FAULT_INTERCEPTOR_FAILED] = "interceptor_failed",
	[FAULT_INTERCEPTOR_TIMEOUT] = "interceptor_timeout",
	[FAULT_VERDICT_INVALID] = "verdict_invalid",
};
_Static_assert(ARRAY_SIZE(names) == _FAULT_MAX, "a name for every fault");

const char *fault_name(enum fault fault)
{
	return (unsigned int)fault < _FAULT_MAX ? names[fault] : "unknown";
}
