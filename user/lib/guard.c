/* SPDX-License-Identifier: Apache-2.0 */
#include "core/guard.h"

#include "lib/lib.h"

LIB_SAME(SLUICE_LENGTH_PREFIXED, GUARD_LENGTH_PREFIXED);
LIB_SAME(SLUICE_DELIMITED, GUARD_DELIMITED);
LIB_SAME(SLUICE_UNFRAMED, GUARD_UNFRAMED);
LIB_SAME(SLUICE_DISCARD_AND_RESET, GUARD_DISCARD_AND_RESET);
LIB_SAME(SLUICE_MESSAGE_COMPLETE, GUARD_MESSAGE_COMPLETE);
LIB_SAME(SLUICE_STALE_PARTIAL_BUFFER, GUARD_STALE_PARTIAL_BUFFER);
LIB_SAME(SLUICE_MESSAGE_IN_PROGRESS, GUARD_MESSAGE_IN_PROGRESS);
LIB_SAME(SLUICE_MESSAGE_IN_PROGRESS + 1, _GUARD_VERDICT_MAX);

enum sluice_guard_verdict sluice_guard_judge(enum sluice_guard_mode mode, bool partial, double age,
					     double timeout)
{
	return (enum sluice_guard_verdict)guard_judge((enum guard_mode)mode, partial, age, timeout);
}

const char *sluice_guard_verdict_name(enum sluice_guard_verdict verdict)
{
	return guard_verdict_name((enum guard_verdict)verdict);
}
