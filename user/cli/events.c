/* SPDX-License-Identifier: Apache-2.0 */
/* events: what happens, as it happens. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "sys/log.h"

struct events_config {
	const char *types, *cgroup, *stream;
};

static const struct option_spec options[] = {
	{"types", "TYPES", OPTION_TEXT, offsetof(struct events_config, types),
	 "these only, separated by commas", 0, 0},
	{"stream", "ID", OPTION_TEXT, offsetof(struct events_config, stream),
	 "those of this stream only", 0, 0},
	{"cgroup", "CGROUP", OPTION_TEXT, offsetof(struct events_config, cgroup),
	 "those of this watched cgroup only", 0, 0},
};

/* Which stand out, by how their type or their result begins. */
static enum style style_of(const json_t *event)
{
	static const struct {
		const char *key, *prefix;
		enum style style;
	} rules[] = {
		{"type", "lost", STYLE_WARN},	{"type", "fence", STYLE_WARN},
		{"type", "refusal", STYLE_BAD}, {"type", "stream_refused", STYLE_BAD},
		{"end", "denied", STYLE_BAD},	{"outcome", "denied", STYLE_BAD},
		{"end", "failed", STYLE_WARN},	{"end", "complete", STYLE_GOOD},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rules); i++)
		if (strncmp(cli_text(event, rules[i].key), rules[i].prefix,
			    strlen(rules[i].prefix)) == 0)
			return rules[i].style;
	return STYLE_PLAIN;
}

/* Seconds since the epoch, as the clock on the wall has them; anything else as it is. */
static void print_time(const json_t *value)
{
	double seconds = json_number_value(value);
	time_t whole = (time_t)seconds;
	struct tm local;
	char text[32];

	if (json_is_string(value)) {
		cli_print_safe(json_string_value(value));
		return;
	}
	if (!localtime_r(&whole, &local) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local))
		return;
	(void)printf("%s.%03d", text, (int)((seconds - (double)whole) * 1000.0));
}

static void print_value(const json_t *value)
{
	char *text;

	if (json_is_string(value)) {
		cli_print_safe(json_string_value(value));
		return;
	}
	text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	cli_print_safe(text ? text : "?");
	free(text);
}

/* "2026-01-02 03:04:05.678 stream_settled  stream=7 peer=10.0.0.1:443 end=denied" */
static void print_event(const struct cli *cli, json_t *event)
{
	const char *key;
	json_t *value;

	print_time(json_object_get(event, "time"));
	(void)printf(" %s", cli_on(cli, style_of(event)));
	cli_print_safe(cli_text(event, "type"));
	(void)printf("%s", cli_on(cli, STYLE_PLAIN));
	json_object_foreach(event, key, value)
	{
		if (strcmp(key, "time") == 0 || strcmp(key, "type") == 0 || json_is_null(value))
			continue;
		(void)printf(" ");
		cli_print_safe(key);
		(void)printf("=");
		print_value(value);
	}
	(void)printf("\n");
}

static void show(const struct cli *cli, json_t *event)
{
	if (cli->json) {
		(void)json_dumpf(event, stdout, JSON_COMPACT);
		(void)putchar('\n');
	} else {
		print_event(cli, event);
	}
}

static json_t *split(const char *types)
{
	json_t *list = json_array();
	size_t len;

	for (; *types; types += len + (types[len] == ',')) {
		len = strcspn(types, ",");
		if (len && json_array_append_new(list, json_stringn(types, len))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* NULL after a line. */
static json_t *make_params(const struct events_config *events)
{
	json_t *params = json_pack("{s:s*}", "cgroup", events->cgroup);
	json_int_t id;

	if (events->stream) {
		if (cli_parse_id(events->stream, "stream", &id)) {
			json_decref(params);
			return NULL;
		}
		(void)json_object_set_new(params, "stream", json_integer(id));
	}
	if (params &&
	    (!events->types || !json_object_set_new(params, "types", split(events->types))))
		return params;
	log_error("--types or --cgroup is not UTF-8, or there is not enough memory");
	json_decref(params);
	return NULL;
}

/* Until the daemon ends, or who reads hangs up. */
static int follow(const struct cli *cli, struct rpc_client *client)
{
	json_t *event;
	int err = rpc_client_patience(client, 0);

	while (!err) {
		err = rpc_client_next(client, "event", &event);
		if (err)
			break;
		show(cli, event);
		json_decref(event);
		if (fflush(stdout))
			return CLI_EXIT_DONE;
	}
	if (err == -ECONNRESET)
		log_error("the daemon at '%s' has ended, or does not tell this client any more",
			  cli->socket);
	else
		cli_explain(cli, "events", err, strerror(-err));
	return CLI_EXIT_FAILED;
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	struct rpc_client *client cleanup(rpc_client_freep) = NULL;
	json_t *params = make_params(config), *result = NULL;
	char error[512];
	int err;

	(void)count;
	(void)args;
	if (!params)
		return CLI_EXIT_USAGE;
	if (cli_connect(cli, false, &client)) {
		json_decref(params);
		return CLI_EXIT_FAILED;
	}
	err = rpc_client_call(client, "events", params, &result, error, sizeof(error));
	if (err) {
		cli_explain(cli, "events", err, error);
		return CLI_EXIT_FAILED;
	}
	json_decref(result);
	return follow(cli, client);
}

const struct command command_events = {
	.name = "events",
	.arguments = "",
	.summary = "Follow what happens, until it is interrupted",
	.details =
		"Streams and sessions that begin and end, findings, refusals, what the fence\n"
		"refuses, watches, policies, and calls that change something; 'lost' counts those\n"
		"that came faster than they were read. The types are in sluiced(8), CONTROL\n"
		"SOCKET. With --json each is an object on a line of its own.",
	.flags = COMMAND_SOCKET | COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.options = options,
	.option_count = ARRAY_SIZE(options),
	.config_size = sizeof(struct events_config),
	.run = run,
};
