/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/replay_print.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/policy.h"

#define BAR_WIDTH 60
/* Rows of a timeline that are printed, from its start and from its end. */
#define ROWS_SHOWN 20u

static long long number_at(const json_t *pair, size_t i)
{
	return (long long)json_integer_value(json_array_get(pair, i));
}

static void print_found(const char *label, const json_t *found, const char *remark)
{
	const char *kind = cli_text(found, "kind");
	const json_t *name = json_object_get(found, "rule_name");

	(void)printf("%-12s by task '%s'", label, cli_text(found, "task"));
	if (strcmp(kind, "interceptor") != 0)
		(void)printf(", %s %lld",
			     strcmp(kind, "terms") == 0	  ? "term"
			     : strcmp(kind, "regex") == 0 ? "pattern"
							  : "rule",
			     (long long)cli_number(found, "rule"));
	if (name)
		(void)printf(" (%s)", json_string_value(name));
	(void)printf(", at runes %lld to %lld%s\n", (long long)cli_number(found, "start"),
		     (long long)cli_number(found, "end"), remark);
}

/* A column is of a state where all its bytes are. */
static void print_bar(const struct cli *cli, const json_t *flow)
{
	static const enum style styles[] = {STYLE_GOOD, STYLE_WARN, STYLE_WARN, STYLE_FAINT};
	static const char marks[] = "=~-.";
	const long long received = cli_number(flow, "received");
	const long long upto[] = {cli_number(flow, "released"), cli_number(flow, "cleared"),
				  cli_number(flow, "framed"), received};
	size_t state = 0, last = ARRAY_SIZE(upto);

	if (!received)
		return;
	(void)printf("%-12s |", "");
	for (int i = 1; i <= BAR_WIDTH; i++) {
		long long end = received / BAR_WIDTH * i +
				(received % BAR_WIDTH * i + BAR_WIDTH - 1) / BAR_WIDTH;

		while (state + 1 < ARRAY_SIZE(upto) && end > upto[state])
			state++;
		if (state != last)
			(void)fputs(cli_on(cli, styles[state]), stdout);
		last = state;
		(void)putchar(marks[state]);
	}
	(void)printf("%s|\n", cli_on(cli, STYLE_PLAIN));
}

static const char *wait_words(const char *why)
{
	static const char *const words[][2] = {
		{"text", "more text"},	      {"span", "full span"},	  {"value", "whole value"},
		{"message", "whole message"}, {"session", "its session"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i][0], why) == 0)
			return words[i][1];
	return why;
}

static void print_fate(const struct cli *cli, const json_t *row, bool timed)
{
	const char *state = cli_text(row, "state"), *why = cli_text(row, "why");
	const char *task = json_string_value(json_object_get(row, "task"));
	bool released = strcmp(state, "released") == 0;
	long long delay = cli_number(row, "delay");

	(void)fputs(cli_on(cli, released			 ? STYLE_GOOD
				: strcmp(state, "withheld") == 0 ? STYLE_BAD
								 : STYLE_WARN),
		    stdout);
	if (released && strcmp(why, "nothing") == 0)
		(void)printf("left at once");
	else if (released && !json_object_get(row, "left"))
		(void)printf("left unjudged");
	else if (released && timed)
		(void)printf("left +%.3f ms: %s", (double)delay / 1000, wait_words(why));
	else if (released && delay)
		(void)printf("left +%lld bytes: %s", delay, wait_words(why));
	else if (released)
		(void)printf("left at the end: %s", wait_words(why));
	else
		(void)printf("%s: %s", state, wait_words(why));
	(void)fputs(cli_on(cli, STYLE_PLAIN), stdout);
	if (task)
		(void)printf(" ('%s')", task);
	(void)putchar('\n');
}

/* When its first unit was whole, its bytes, how many units, what became of them. */
static void print_row(const struct cli *cli, const json_t *row, bool timed)
{
	const json_t *whole = json_object_get(row, "whole");
	char bytes[48];

	(void)snprintf(bytes, sizeof(bytes), "%lld-%lld", (long long)cli_number(row, "start"),
		       (long long)cli_number(row, "end"));
	if (!whole)
		(void)printf("%12s ", "");
	else if (timed)
		(void)printf("%12.3f ", (double)number_at(whole, 0) / 1000);
	else
		(void)printf("%12lld ", number_at(whole, 0));
	(void)printf("%-19s %7lld  ", bytes, (long long)cli_number(row, "units"));
	print_fate(cli, row, timed);
}

static void print_timeline(const struct cli *cli, const json_t *flow, bool timed)
{
	const json_t *rows = json_object_get(flow, "timeline"), *row;
	size_t count = json_array_size(rows), i;

	print_bar(cli, flow);
	if (count)
		(void)printf("%s%12s %-19s %7s  %s%s\n", cli_on(cli, STYLE_STRONG),
			     timed ? "WHOLE AT ms" : "WHOLE AT", "BYTES", "UNITS", "FATE",
			     cli_on(cli, STYLE_PLAIN));
	json_array_foreach(rows, i, row)
	{
		if (i == ROWS_SHOWN && count > 2 * ROWS_SHOWN + 1)
			(void)printf("%12s (%zu rows more: --json has all)\n", "...",
				     count - 2 * ROWS_SHOWN);
		if (i < ROWS_SHOWN || i + ROWS_SHOWN >= count || count == 2 * ROWS_SHOWN + 1)
			print_row(cli, row, timed);
	}
}

static void print_findings(const json_t *flow)
{
	const json_t *all = json_object_get(flow, "findings"), *one;
	size_t i;

	json_array_foreach(all, i, one)
	{
		print_found("found", one,
			    json_is_true(json_object_get(one, "enforcing")) ? ", of the output"
									    : ", not enforcing");
	}
	all = json_object_get(flow, "asked");
	json_array_foreach(all, i, one)
	{
		(void)printf("not asked    '%s', taken to %s; %lld emissions\n",
			     cli_text(one, "task"), cli_text(one, "taken_to"),
			     (long long)cli_number(one, "emissions"));
	}
}

static void print_stop(const struct cli *cli, const json_t *view)
{
	const json_t *denial = json_object_get(view, "denial");
	const char *reason = json_string_value(json_object_get(view, "reason"));
	bool fault = strcmp(cli_text(view, "fault"), "none") != 0;

	if (denial)
		print_found("denied", denial, "");
	if (strcmp(cli_text(view, "action"), policy_action_name(POLICY_DENY)) == 0) {
		(void)printf("stopped      %s: the connect is refused, there is no session\n",
			     cli_text(view, "reason"));
		return;
	}
	if (json_is_true(json_object_get(view, "unjudged"))) {
		(void)printf("unjudged     %s; what follows goes on as it comes, the policy only "
			     "observes\n",
			     cli_text(view, "fault"));
		return;
	}
	(void)printf("stopped      %s%s%s", cli_on(cli, fault ? STYLE_BAD : STYLE_PLAIN),
		     cli_text(view, "fault"), cli_on(cli, STYLE_PLAIN));
	if (fault)
		(void)printf(" in the %s track, at the unit from byte %lld",
			     cli_text(view, "fault_track"),
			     (long long)cli_number(view, "fault_at"));
	(void)printf(fault ? "\n%13ssession %s" : ";%1ssession %s", "", cli_text(view, "session"));
	if (reason)
		(void)printf(", reason %s", reason);
	(void)printf("\n");
}

static void print_policy(const json_t *view)
{
	(void)printf("policy       %s: mode %s, safety_level %s\n", cli_text(view, "policy"),
		     cli_text(view, "mode"), cli_text(view, "safety_level"));
}

static void print_destination(const json_t *view, const char *framing)
{
	long long sessions = (long long)cli_number(view, "sessions");

	(void)printf("destination  %s: %s, framing %s, %lld session%s\n",
		     cli_text(view, "destination"), cli_text(view, "action"), framing, sessions,
		     text_plural(sessions));
}

static void print_legend(void)
{
	(void)printf("%-12s = released  ~ cleared  - whole, not cleared  . not whole\n", "");
}

static void print_size(const char *label, const json_t *flow)
{
	long long units = (long long)cli_number(flow, "units");
	long long runes = (long long)cli_number(flow, "runes");

	(void)printf("%-12s %lld bytes, of which %lld are released and %lld are not\n", label,
		     (long long)cli_number(flow, "received"),
		     (long long)cli_number(flow, "released"),
		     (long long)cli_number(flow, "withheld"));
	(void)printf("%13s%lld are framed, in %lld unit%s, with %lld rune%s of text\n", "",
		     (long long)cli_number(flow, "framed"), units, text_plural(units), runes,
		     text_plural(runes));
}

void replay_print(const struct cli *cli, const json_t *view)
{
	print_policy(view);
	(void)printf("file         no capture of packets: taken for the raw bytes of a %s track\n",
		     cli_text(view, "track"));
	print_destination(view, cli_text(view, "framing"));
	print_size("received", view);
	print_legend();
	print_timeline(cli, view, false);
	print_findings(view);
	print_stop(cli, view);
}

static void print_lack(const struct cli *cli, const json_t *view, const char *side)
{
	char key[32];
	const char *lack;

	(void)snprintf(key, sizeof(key), "%s_lacks", side);
	lack = cli_text(view, key);
	if (strcmp(lack, "none") == 0)
		return;
	(void)snprintf(key, sizeof(key), "%s_bytes", side);
	(void)printf("%slacking%s      of the %s, from byte %lld on: ", cli_on(cli, STYLE_BAD),
		     cli_on(cli, STYLE_PLAIN), side, (long long)cli_number(view, key));
	if (strcmp(lack, "no_start") == 0)
		(void)printf("its SYN is not in the capture\n");
	else if (strcmp(lack, "gap") == 0)
		(void)printf("it is not in the capture\n");
	else
		(void)printf("two packets differ there\n");
}

static void print_flow(const struct cli *cli, const json_t *view, const char *track)
{
	const json_t *flow = json_object_get(view, track);

	(void)fputs(cli_on(cli, STYLE_STRONG), stdout);
	print_size(track, flow);
	(void)fputs(cli_on(cli, STYLE_PLAIN), stdout);
	print_timeline(cli, flow, true);
	print_findings(flow);
}

static void print_stream(const struct cli *cli, const json_t *view)
{
	(void)printf("\n%sstream %-5lld %s to %s%s\n", cli_on(cli, STYLE_STRONG),
		     (long long)cli_number(view, "stream"), cli_text(view, "client"),
		     cli_text(view, "server"), cli_on(cli, STYLE_PLAIN));
	(void)printf("%13s%.3f ms, %s; the agent is the %s\n", "",
		     (double)cli_number(view, "duration_us") / 1000, cli_text(view, "end"),
		     cli_text(view, "agent"));
	print_destination(view, cli_text(json_object_get(view, "request"), "framing"));
	print_lack(cli, view, "client");
	print_lack(cli, view, "server");
	print_flow(cli, view, "request");
	print_flow(cli, view, "response");
	print_stop(cli, view);
}

/* What of the file itself stands in the way of an answer. */
static void print_troubles(const json_t *view)
{
	const json_t *capture = json_object_get(view, "capture");

	if (json_is_true(json_object_get(capture, "cut_short")))
		(void)printf("cut short    the file ends inside a packet: what followed is not "
			     "known\n");
	if (cli_number(capture, "unread"))
		(void)printf("not read     %lld packets that hold TCP within TCP\n",
			     (long long)cli_number(capture, "unread"));
}

void replay_print_capture(const struct cli *cli, const json_t *view)
{
	const json_t *streams = json_object_get(view, "streams"), *stream;
	size_t i;

	if (json_array_size(streams))
		print_policy(view);
	print_troubles(view);
	if (json_array_size(streams))
		print_legend();
	json_array_foreach(streams, i, stream)
	{
		print_stream(cli, stream);
	}
}

void replay_print_list(const struct cli *cli, const json_t *view)
{
	static const char *const heads[] = {"STREAM",	"CLIENT", "SERVER", "SENT",
					    "RECEIVED", "MS",	  "END",    "LACKS"};
	const json_t *streams = json_object_get(view, "streams"), *stream;
	struct table table;
	size_t i;

	print_troubles(view);
	table_init(&table, heads, ARRAY_SIZE(heads));
	table.colors = cli->colors;
	json_array_foreach(streams, i, stream)
	{
		const char *client = cli_text(stream, "client_lacks");
		const char *server = cli_text(stream, "server_lacks");

		table_add(&table, "%lld", (long long)cli_number(stream, "stream"));
		table_add(&table, "%s", cli_text(stream, "client"));
		table_add(&table, "%s", cli_text(stream, "server"));
		table_add(&table, "%lld", (long long)cli_number(stream, "client_bytes"));
		table_add(&table, "%lld", (long long)cli_number(stream, "server_bytes"));
		table_add(&table, "%.3f", (double)cli_number(stream, "duration_us") / 1000);
		table_add(&table, "%s", cli_text(stream, "end"));
		table_add(&table, "%s", strcmp(client, "none") != 0 ? client : server);
	}
	table_print(&table);
}
