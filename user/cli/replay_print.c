/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/replay_print.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static void print_found(const char *label, const json_t *found, const char *remark)
{
	const char *kind = cli_text(found, "kind");
	const json_t *name = json_object_get(found, "rule_name");

	(void)printf("%-12s by task '%s', %s %lld", label, cli_text(found, "task"),
		     strcmp(kind, "terms") == 0	  ? "term"
		     : strcmp(kind, "regex") == 0 ? "pattern"
						  : "rule",
		     (long long)cli_number(found, "rule"));
	if (name)
		(void)printf(" (%s)", json_string_value(name));
	(void)printf(", at runes %lld to %lld%s\n", (long long)cli_number(found, "start"),
		     (long long)cli_number(found, "end"), remark);
}

void replay_print(const json_t *view)
{
	const json_t *findings = json_object_get(view, "findings"), *found;
	const json_t *ranges = json_object_get(view, "ranges"), *range;
	const json_t *denial = json_object_get(view, "denial");
	size_t i;

	(void)printf("policy       %s: mode %s, safety_level %s\n", cli_text(view, "policy"),
		     cli_text(view, "mode"), cli_text(view, "safety_level"));
	(void)printf("destination  %s: %s, framing %s\n", cli_text(view, "destination"),
		     cli_text(view, "action"), cli_text(view, "framing"));
	(void)printf(
		"received     %lld bytes; %lld framed in %lld units, %lld runes, %lld sessions\n",
		(long long)cli_number(view, "received"), (long long)cli_number(view, "framed"),
		(long long)cli_number(view, "units"), (long long)cli_number(view, "runes"),
		(long long)cli_number(view, "sessions"));
	json_array_foreach(ranges, i, range)
	{
		(void)printf("%-12s bytes %lld to %lld\n", i ? "" : "released",
			     (long long)json_integer_value(json_array_get(range, 0)),
			     (long long)json_integer_value(json_array_get(range, 1)));
	}
	if (!json_array_size(ranges))
		(void)printf("released     %lld bytes\n", (long long)cli_number(view, "released"));
	(void)printf("withheld     %lld bytes\n", (long long)cli_number(view, "withheld"));
	json_array_foreach(findings, i, found)
	{
		print_found("found", found,
			    json_is_true(json_object_get(found, "enforcing")) ? ", of the output"
									      : ", not enforcing");
	}
	if (denial)
		print_found("denied", denial, "");
	if (strcmp(cli_text(view, "action"), policy_action_name(POLICY_DENY)) == 0)
		(void)printf("stopped      %s: the connect is refused, there is no session\n",
			     cli_text(view, "reason"));
	else if (json_is_true(json_object_get(view, "unjudged")))
		(void)printf("unjudged     %s; what follows goes on as it comes, the policy only "
			     "observes\n",
			     cli_text(view, "fault"));
	else
		(void)printf("stopped      %s; session %s, reason %s\n", cli_text(view, "fault"),
			     cli_text(view, "session"), cli_text(view, "reason"));
}
