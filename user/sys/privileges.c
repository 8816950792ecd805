/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/privileges.h"

#include <cap-ng.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define CAPABILITIES_MAX 64u

int privileges_hide_memory(void)
{
	const struct rlimit none = {0};

	if (setrlimit(RLIMIT_CORE, &none))
		return -errno;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? -errno : 0;
}

int privileges_lock_memory(void)
{
	/* By the limit alone an allocation would fail one day where a page cannot be locked. */
	if (capng_get_caps_process() || !capng_have_capability(CAPNG_EFFECTIVE, CAP_IPC_LOCK))
		return -EPERM;
	return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) ? -errno : 0;
}

size_t privileges_raise_files(size_t wanted)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	if (limit.rlim_max < wanted) {
		/* Past the hard limit only with CAP_SYS_RESOURCE; else it is what it is. */
		const struct rlimit more = {.rlim_cur = wanted, .rlim_max = wanted};

		if (!setrlimit(RLIMIT_NOFILE, &more))
			return wanted;
	}
	limit.rlim_cur = MIN(limit.rlim_max, (rlim_t)wanted);
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur;
}

int privileges_keep(const unsigned int *capabilities, size_t count)
{
	bool held[CAPABILITIES_MAX] = {false};

	if (count > CAPABILITIES_MAX)
		return -EINVAL;
	if (capng_get_caps_process())
		return -EPERM;
	for (size_t i = 0; i < count; i++)
		held[i] = capng_have_capability(CAPNG_PERMITTED, capabilities[i]);
	capng_clear(CAPNG_SELECT_BOTH);
	for (size_t i = 0; i < count; i++)
		if (held[i] &&
		    capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
				 capabilities[i]))
			return -EINVAL;
	/* Positive values are warnings of libcap-ng about what it could not clear. */
	if (capng_apply(CAPNG_SELECT_BOTH))
		return -EPERM;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}
