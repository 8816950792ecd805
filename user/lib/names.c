/* SPDX-License-Identifier: Apache-2.0 */
/* The version, and the names of results and ends. */
#include "lib/lib.h"

unsigned int sluice_version_number(void)
{
	return SLUICE_VERSION_NUMBER;
}

const char *sluice_version(void)
{
	return SLUICE_VERSION;
}

const char *sluice_result_name(enum sluice_result result)
{
	if (result == SLUICE_BAD_ARGUMENT)
		return "bad_argument";
	return session_result_name((enum session_result)result);
}

const char *sluice_end_name(enum sluice_end end)
{
	return session_end_name((enum session_end)end);
}
