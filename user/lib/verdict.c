/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lib.h"

#include <string.h>

#include "core/verdict.h"

LIB_SAME(SLUICE_REASON_MAX, VERDICT_REASON_MAX);
LIB_SAME(SLUICE_DIGEST_MAX + 1, SHA256_HEX_SIZE);
LIB_SAME(SLUICE_ALLOW, VERDICT_ALLOW);
LIB_SAME(SLUICE_DENY, VERDICT_DENY);
LIB_SAME(SLUICE_TRANSFORM, VERDICT_TRANSFORM);
LIB_SAME(SLUICE_TRANSFORM + 1, _VERDICT_DECISION_MAX);
LIB_SAME(SLUICE_VERDICT_OK, VERDICT_OK);
LIB_SAME(SLUICE_VERDICT_NOT_JSON, VERDICT_NOT_JSON);
LIB_SAME(SLUICE_VERDICT_NOT_OBJECT, VERDICT_NOT_OBJECT);
LIB_SAME(SLUICE_VERDICT_BAD_DECISION, VERDICT_BAD_DECISION);
LIB_SAME(SLUICE_VERDICT_BAD_REASON, VERDICT_BAD_REASON);
LIB_SAME(SLUICE_VERDICT_BAD_MESSAGE, VERDICT_BAD_MESSAGE);
LIB_SAME(SLUICE_VERDICT_BAD_WARNINGS, VERDICT_BAD_WARNINGS);
LIB_SAME(SLUICE_VERDICT_BAD_APPROVAL, VERDICT_BAD_APPROVAL);
LIB_SAME(SLUICE_VERDICT_BAD_TRANSFORM, VERDICT_BAD_TRANSFORM);
LIB_SAME(SLUICE_VERDICT_BAD_EVIDENCE, VERDICT_BAD_EVIDENCE);
LIB_SAME(SLUICE_VERDICT_BAD_LABELS, VERDICT_BAD_LABELS);
LIB_SAME(SLUICE_VERDICT_NO_MEMORY, VERDICT_NO_MEMORY);
LIB_SAME(SLUICE_VERDICT_NO_MEMORY + 1, _VERDICT_FAULT_MAX);
/* A decision is recorded as the outcome of the same number. */
LIB_SAME(SLUICE_ALLOW, SLUICE_CLEARED);
LIB_SAME(SLUICE_DENY, SLUICE_DENIED);
LIB_SAME(SLUICE_TRANSFORM, SLUICE_TRANSFORMED);

enum sluice_verdict_fault sluice_verdict_parse(const void *json, size_t len, bool by_host,
					       struct sluice_verdict *ret_verdict)
{
	struct sluice_verdict verdict = {0};
	struct verdict ours;

	verdict.fault = (enum sluice_verdict_fault)verdict_parse(len ? json : (const void *)"", len,
								 by_host, &ours);
	if (verdict.fault == SLUICE_VERDICT_OK) {
		verdict.decision = (enum sluice_decision)ours.decision;
		memcpy(verdict.reason, ours.reason, sizeof(verdict.reason));
		memcpy(verdict.evidence, ours.evidence, sizeof(verdict.evidence));
		verdict.approval = ours.approval;
		verdict.warnings = ours.warnings;
	}
	*ret_verdict = verdict;
	return verdict.fault;
}

enum sluice_result sluice_session_verdict(struct sluice_session *session, enum sluice_track track,
					  int task, uint64_t start, uint64_t end,
					  const struct sluice_verdict *verdict)
{
	if (verdict->fault == SLUICE_VERDICT_NO_MEMORY)
		return lib_fail(session, SESSION_NO_MEMORY);
	if (verdict->fault != SLUICE_VERDICT_OK)
		return lib_fail(session, SESSION_VERDICT_INVALID);
	return sluice_session_outcome(session, track, task, start, end,
				      (enum sluice_outcome)verdict->decision);
}

enum sluice_result sluice_session_output_verdict(struct sluice_session *session, int task,
						 const struct sluice_verdict *verdict)
{
	if (verdict->fault == SLUICE_VERDICT_NO_MEMORY)
		return lib_fail(session, SESSION_NO_MEMORY);
	if (verdict->fault != SLUICE_VERDICT_OK)
		return lib_fail(session, SESSION_VERDICT_INVALID);
	return sluice_session_output(session, task, (enum sluice_outcome)verdict->decision);
}

const char *sluice_decision_name(enum sluice_decision decision)
{
	return verdict_decision_name((enum verdict_decision)decision);
}

const char *sluice_verdict_fault_name(enum sluice_verdict_fault fault)
{
	return verdict_fault_name((enum verdict_fault)fault);
}
