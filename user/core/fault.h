/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a flow cannot be framed or released any further. The names are part of
 * the contract of `sluice-driver frame`, of metrics and of the audit trail.
 */
#ifndef SLUICE_CORE_FAULT_H
#define SLUICE_CORE_FAULT_H

enum fault {
	FAULT_NONE,
	FAULT_TRUNCATED,     /* the stream ended inside a message */
	FAULT_TOO_LARGE,     /* a message, or its nesting, is over its limit */
	FAULT_BLOCKED,	     /* a task denied */
	FAULT_DUPLICATE_KEY, /* a JSON object names a member twice (RFC 8259 4) */
	FAULT_BAD_FRAME,
	FAULT_BARE_LF,
	FAULT_BAD_HEADER,
	FAULT_AMBIGUOUS_LENGTH,
	FAULT_PROTOCOL,
	FAULT_BAD_UTF8, /* ill-formed by RFC 3629 3 */
	FAULT_BAD_JSON, /* not RFC 8259 */
	FAULT_BAD_ENCODING,
	FAULT_UNSUPPORTED_CODING,
	FAULT_OPAQUE_BODY,    /* a body that is not text, where the policy refuses those */
	FAULT_UNFRAMED,	      /* a protocol was agreed on that is not mediated */
	FAULT_TLS_UNMEDIATED, /* a TLS ClientHello (RFC 8446 4.1.2) where no TLS is mediated */
	FAULT_STALE,	      /* a partial message outlived its timeout or deadline */
	FAULT_HOLD_TIMEOUT,   /* held bytes outlived hold_timeout_s */
	FAULT_ACCOUNTING,     /* the session refused an operation */
	FAULT_NO_MEMORY,
	FAULT_UNREPRESENTED, /* strict: a field, or a choice, that the extractor does not represent */
	FAULT_OUTPUT_DENIED,  /* a task of `output` denied the assembled response */
	FAULT_RESUME_REFUSED, /* a retry whose earlier attempts are not known, or not cleared */
	FAULT_MATCH_LIMIT,    /* a pattern needs more steps than it may take (core/regex.h X6) */
	FAULT_REWRITTEN,      /* a verdict would have the text rewritten, which nothing here does */
	FAULT_INTERCEPTOR_FAILED, /* no answer, or none that is a verdict's */
	FAULT_INTERCEPTOR_TIMEOUT,
	FAULT_VERDICT_INVALID,
	_FAULT_MAX,
};

/* Lower-case name, never NULL. */
const char *fault_name(enum fault fault);

#endif
