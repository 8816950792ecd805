/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of policies share: a policy from its text, with cmocka's failures. */
#ifndef SLUICE_TESTS_UNIT_POLICY_TEXT_H
#define SLUICE_TESTS_UNIT_POLICY_TEXT_H

#include "core/policy.h"

int policy_text_load(const char *text, struct policy **ret_policy, struct policy_error *ret_error);
/* One that has to load. */
struct policy *policy_text_load_good(const char *text);
/* The rule for a peer as policy_parse_peer() reads it, or NULL. */
const struct policy_destination *policy_text_match(const struct policy *policy, const char *peer);

#endif
