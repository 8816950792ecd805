/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts of interceptors (AGENT-HOOKS-0.1 5), checked for shape before they are read:
 *  - one JSON object (RFC 8259), no member named twice, well-formed UTF-8, no escape of a
 *    surrogate without its other half; unknown members are passed over;
 *  - `decision` is "allow", "deny" or "transform";
 *  - `transform` stands iff the decision is transform: an object whose `path` is rooted at
 *    $target (or $policy_target, 5.2) and follows the grammar of core/verdict_path.h; `value`
 *    may be absent;
 *  - `approval` stands on a deny alone, and is an object;
 *  - `reason` and `message` are strings; a reason that starts with "host_error:" stands only on a
 *    deny that the host itself made (11);
 *  - `warnings` is an array of objects whose `reason` and `message` are strings, the reason
 *    without that prefix;
 *  - `evidence` is an object of at most VERDICT_EVIDENCE_MAX bytes (5.3). Its canonical form
 *    (RFC 8785) is not made but bounded from above: strings and numbers count as they came, a
 *    number with an exponent at least 25 bytes, the longest that there are; white space
 *    between them not at all. What is larger only as it came is refused as well;
 *  - `result_labels` is an array of strings.
 * A member that is null stands, and is of the wrong type.
 * Anything else is malformed, and its session fails with SESSION_VERDICT_INVALID.
 *
 * Invariant: nothing of the answer is kept but what struct verdict holds: the evidence as a
 * digest, the messages not at all.
 */
#ifndef SLUICE_CORE_VERDICT_H
#define SLUICE_CORE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/session.h"
#include "core/sha256.h"

#define VERDICT_EVIDENCE_MAX 10240u
/* What a peer, a metric and the audit trail may be told: [a-z0-9_.:-]{1,64}. */
#define VERDICT_REASON_MAX 64u
/* Warnings whose reasons are kept. */
#define VERDICT_WARNED_MAX 4u
/* Bytes of a verdict at most; a longer answer is malformed. */
#define VERDICT_SIZE_MAX (64u << 10)

enum verdict_decision { VERDICT_ALLOW, VERDICT_DENY, VERDICT_TRANSFORM, _VERDICT_DECISION_MAX };

struct verdict {
	enum verdict_decision decision;
	bool approval; /* a deny that could be lifted; unresolved, it is a deny */
	/* "" where there is none; "unnamed" where it is not of the letters above. */
	char reason[VERDICT_REASON_MAX + 1];
	uint32_t warnings;
	/* The reasons of the first ones, as above; "" where one has none. */
	char warned[VERDICT_WARNED_MAX][VERDICT_REASON_MAX + 1];
	bool has_evidence;
	/* Digest of its bytes as they came, from { to }; "" without. */
	char evidence[SHA256_HEX_SIZE];
};

/* Why a verdict is malformed; the order is that in which they are looked for. */
enum verdict_fault {
	VERDICT_OK,
	VERDICT_NOT_JSON, /* or not UTF-8, a member twice, too long or deep, more than one value */
	VERDICT_NOT_OBJECT,
	VERDICT_BAD_DECISION,
	VERDICT_BAD_REASON, /* no string, or the reserved prefix */
	VERDICT_BAD_MESSAGE,
	VERDICT_BAD_WARNINGS,  /* wrong types, or the reserved prefix */
	VERDICT_BAD_APPROVAL,  /* no object, or on another decision */
	VERDICT_BAD_TRANSFORM, /* absent, on another decision, no object, or another path */
	VERDICT_BAD_EVIDENCE,  /* no object, or too large */
	VERDICT_BAD_LABELS,
	VERDICT_NO_MEMORY, /* or the library refuses the digest */
	_VERDICT_FAULT_MAX,
};

/*
 * Reads len bytes of JSON. by_host: the host made it, and may use the reserved prefix.
 * *ret_verdict is set only with VERDICT_OK.
 */
enum verdict_fault verdict_parse(const uint8_t *json, size_t len, bool by_host,
				 struct verdict *ret_verdict) must_check;

/*
 * Records a verdict over [start, end) as the outcome it is: allow clears, deny denies,
 * approval or not, transform transforms. Results as session_outcome().
 */
enum session_result verdict_record(struct session *session, enum session_track track, int task,
				   uint64_t start, uint64_t end,
				   const struct verdict *verdict) must_check;

/* Lower-case names, never NULL. */
const char *verdict_decision_name(enum verdict_decision decision);
const char *verdict_fault_name(enum verdict_fault fault);

#endif
