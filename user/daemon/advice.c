/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/advice.h"

#include <stdio.h>
#include <string.h>

#include "core/fault.h"
#include "daemon/settle.h"

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
_Static_assert(ARRAY_SIZE(lines) == ADVICE_MAX, "every line has its place");

static size_t find(const char *reason)
{
	size_t i = 0;

	while (i < ADVICE_MAX && strcmp(reason, fault_name(lines[i].fault)))
		i++;
	return i;
}

bool advice_format(const char *reason, const struct sluice_address *peer, char *text, size_t len)
{
	char address[SETTLE_ADDRESS_LEN] = "";
	size_t i = find(reason);

	if (i == ADVICE_MAX)
		return false;
	if (lines[i].behind)
		settle_format_address(peer, address, sizeof(address));
	(void)snprintf(text, len, "%s%s%s", lines[i].before, address,
		       lines[i].behind ? lines[i].behind : "");
	return true;
}

void advice_note(struct advice *advice, const char *reason, const struct sluice_address *peer)
{
	size_t i = find(reason);

	if (i == ADVICE_MAX || advice->first[i].given)
		return;
	advice->first[i].given = true;
	advice->first[i].peer = *peer;
}

json_t *advice_json(const struct advice *advice)
{
	json_t *object = json_object();
	char text[ADVICE_LEN];

	for (size_t i = 0; object && i < ADVICE_MAX; i++) {
		const char *reason = fault_name(lines[i].fault);

		if (!advice->first[i].given ||
		    !advice_format(reason, &advice->first[i].peer, text, sizeof(text)))
			continue;
		if (json_object_set_new(object, reason, json_string(text))) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}
