/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of a verdict's transform (AGENT-HOOKS-0.1 5.2): $target or $policy_target, followed
 * by any number of
 *   .name      letters, digits and underscores, no digit first
 *   [0]        an index in decimal, without a zero in front
 *   ["name"]   any text but control characters; a quote and a backslash behind a backslash
 */
#ifndef SLUICE_CORE_VERDICT_PATH_H
#define SLUICE_CORE_VERDICT_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool verdict_is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* text: len bytes of well-formed UTF-8, as the JSON string spells it once decoded. */
bool verdict_path_is_good(const uint8_t *text, size_t len);

#endif
