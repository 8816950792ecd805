/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/advice.h"

#include <stdio.h>
#include <string.h>

#include "core/fault.h"
#include "core/policy.h"
#include "daemon/settle.h"
#include "kern/kern.h"

/* Around the peer; what lies behind it is NULL where the peer does not matter. */
static const struct {
	enum fault fault;
	const char *before, *behind;
} lines[] = {
	{FAULT_TLS_UNMEDIATED, "to relay it unread: - {match: \"", "\", action: pass}"},
	{FAULT_OPAQUE_BODY, "to release it unread: opaque_bodies: release", NULL},
	{FAULT_UNFRAMED, "to relay it unread: - {match: \"",
	 "\", action: pass}; to mediate it: name its framing there"},
};

static const enum fault failures[] = {
	FAULT_INTERCEPTOR_FAILED,
	FAULT_INTERCEPTOR_TIMEOUT,
	FAULT_VERDICT_INVALID,
};
_Static_assert(ARRAY_SIZE(lines) + ARRAY_SIZE(failures) + 1 == ADVICE_MAX, "all have a place");

/* Of that place. */
static const char *name_of(size_t i)
{
	if (i < ARRAY_SIZE(lines))
		return fault_name(lines[i].fault);
	i -= ARRAY_SIZE(lines);
	if (i < ARRAY_SIZE(failures))
		return fault_name(failures[i]);
	return kern_counter_name(SLUICE_COUNT_REFUSED_DENIED);
}

static size_t find(const char *reason)
{
	size_t i = 0;

	while (i < ADVICE_MAX && strcmp(reason, name_of(i)))
		i++;
	return i;
}

bool advice_format(const char *reason, const struct sluice_address *peer, char *text, size_t len)
{
	char address[SETTLE_ADDRESS_LEN] = "";
	size_t i = find(reason);

	if (i >= ARRAY_SIZE(lines))
		return false;
	if (lines[i].behind)
		settle_format_address(peer, address, sizeof(address));
	(void)snprintf(text, len, "%s%s%s", lines[i].before, address,
		       lines[i].behind ? lines[i].behind : "");
	return true;
}

/* Built-in rules come first, and have no number in the file. */
static size_t number_of(const struct policy *policy, const struct policy_destination *rule)
{
	size_t number = 0;

	for (const struct policy_destination *i = policy->destinations; i <= rule; i++)
		number += !i->builtin;
	return number;
}

bool advice_format_denied(const struct policy *policy, const struct sluice_address *peer,
			  char *text, size_t len)
{
	const struct policy_destination *rule = policy_match(policy, peer->addr, peer->port);
	char address[SETTLE_ADDRESS_LEN];

	if (!rule || rule->action != POLICY_DENY)
		return false;
	settle_format_address(peer, address, sizeof(address));
	if (rule->builtin)
		(void)snprintf(text, len, "%s is denied by a built-in rule (\"%s\")", address,
			       rule->match);
	else
		(void)snprintf(text, len, "%s is denied by rule %zu (\"%s\")", address,
			       number_of(policy, rule), rule->match);
	return true;
}

void advice_note(struct advice *advice, const char *reason, const char *text)
{
	size_t i = find(reason);

	if (i < ADVICE_MAX && !advice->first[i][0])
		(void)snprintf(advice->first[i], ADVICE_LEN, "%s", text);
}

json_t *advice_json(const struct advice *advice)
{
	json_t *object = json_object();

	for (size_t i = 0; object && i < ADVICE_MAX; i++) {
		if (!advice->first[i][0])
			continue;
		if (json_object_set_new(object, name_of(i), json_string(advice->first[i]))) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}
