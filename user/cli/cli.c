/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "sys/log.h"
#include "sys/yaml.h"

int cli_find_socket(struct cli *cli, char path[static CLI_SOCKET_LEN])
{
	const char *told = getenv(CLI_SOCKET_VARIABLE);
	int len;

	if (cli->socket && cli->instance) {
		log_error("--socket and --instance are two daemons; one is needed");
		return -EINVAL;
	}
	if (cli->socket)
		return 0;
	if (!cli->instance) {
		cli->socket = told && *told ? told : CLI_SOCKET_DEFAULT;
		return 0;
	}
	len = snprintf(path, CLI_SOCKET_LEN, CLI_SOCKET_INSTANCE, cli->instance);
	if (!*cli->instance || strchr(cli->instance, '/') || len >= (int)CLI_SOCKET_LEN) {
		log_error("'%s' is no name of an instance", cli->instance);
		return -EINVAL;
	}
	cli->socket = path;
	return 0;
}

int cli_connect(const struct cli *cli, bool quiet, struct rpc_client **ret_client)
{
	int err = rpc_client_new(cli->socket, RPC_PATIENCE_MS, ret_client);
	bool absent = err == -ENOENT || err == -ECONNREFUSED;

	if (!err || (absent && quiet))
		return err;
	if (absent)
		log_error("no daemon answers at '%s': start sluiced, or name its socket with "
			  "--socket, or its instance with --instance",
			  cli->socket);
	else if ((err == -EACCES || err == -EPERM) && geteuid() == 0)
		log_error("no permission for '%s': it is closed to processes in a watched cgroup, "
			  "root's too; ask from outside",
			  cli->socket);
	else if (err == -EACCES || err == -EPERM)
		log_error("no permission for '%s': run this as root, or as a member of group "
			  "sluice, or for queries of sluice-view",
			  cli->socket);
	else if (err == -ETIMEDOUT)
		log_error("the daemon at '%s' takes no connections: see its log, and whether it "
			  "still runs",
			  cli->socket);
	else
		(void)log_errno(LOG_ERR, err, "cannot reach the daemon at '%s'", cli->socket);
	return err;
}

/* An older daemon does not know every method. */
static void explain_unknown(const struct cli *cli, const char *method)
{
	struct rpc_client *client cleanup(rpc_client_freep) = NULL;
	json_t *status = NULL;
	char error[512];

	if (!rpc_client_new(cli->socket, RPC_PATIENCE_MS, &client) &&
	    !rpc_client_call(client, "status", NULL, &status, error, sizeof(error)))
		log_error("the daemon is version %s and does not know '%s'; this is version %s: "
			  "install the same version of both, and restart sluiced",
			  cli_text(status, "version"), method, SLUICE_VERSION);
	else
		log_error("the daemon at '%s' does not know '%s': install the version of it that "
			  "belongs to sluicectl %s",
			  cli->socket, method, SLUICE_VERSION);
	json_decref(status);
}

void cli_explain(const struct cli *cli, const char *method, int err, const char *error)
{
	switch (err) {
	case -ENOSYS:
		explain_unknown(cli, method);
		break;
	case -ECONNRESET:
		log_error("the daemon at '%s' hung up before it had answered '%s': see its log, "
			  "and whether it still runs",
			  cli->socket, method);
		break;
	case -ETIMEDOUT:
		log_error("the daemon at '%s' did not answer '%s' in time: see its log",
			  cli->socket, method);
		break;
	case -EPROTO:
		log_error("what answers at '%s' is no sluiced, or not whole: its answer to '%s' "
			  "cannot be read",
			  cli->socket, method);
		break;
	default:
		log_error("%s", error);
	}
}

int cli_call(const struct cli *cli, const char *method, json_t *params, json_t **ret_result)
{
	struct rpc_client *client cleanup(rpc_client_freep) = NULL;
	char error[512];
	int err;

	err = cli_connect(cli, false, &client);
	if (err) {
		json_decref(params);
		return err;
	}
	err = rpc_client_call(client, method, params, ret_result, error, sizeof(error));
	if (err)
		cli_explain(cli, method, err, error);
	return err;
}

/* Lines end where a list of depth two begins, goes on and ends. */
static void print_lines(const char *text, size_t len)
{
	size_t i, from = 0;
	bool string = false;
	int depth = 0;

	for (i = 0; i < len; i++) {
		if (string && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			string = !string;
		if (string)
			continue;
		if (text[i] == '}' || text[i] == ']')
			depth--;
		if (text[i] == '{' || text[i] == '[')
			depth++;
		if (depth != 2 || (text[i] != '[' && text[i] != ','))
			continue;
		(void)fwrite(text + from, 1, i + 1 - from, stdout);
		(void)putchar('\n');
		from = i + 1;
	}
	(void)fwrite(text + from, 1, len - from, stdout);
	(void)putchar('\n');
}

int cli_call_print(const struct cli *cli, const char *method, json_t *params)
{
	struct rpc_client *client cleanup(rpc_client_freep) = NULL;
	char error[512];
	const char *text;
	size_t len;
	int err = cli_connect(cli, false, &client);

	if (err) {
		json_decref(params);
		return err;
	}
	err = rpc_client_call_text(client, method, params, &text, &len, error, sizeof(error));
	if (err)
		cli_explain(cli, method, err, error);
	else
		print_lines(text, len);
	return err;
}

static int refuse_policy(const char *path, int err, unsigned int line, unsigned int column,
			 const char *message)
{
	if (line)
		log_error("%s:%u:%u: %s", path, line, column, message);
	else
		log_error("%s: %s", path, message);
	return err;
}

int cli_load_policy(const char *path, char **ret_text, struct policy **ret_policy)
{
	struct doc_node *document cleanup(doc_node_freep) = NULL;
	struct policy_error error;
	struct yaml_error yaml_error;
	char *text = NULL;
	size_t len;
	int err;

	err = yaml_read_file(path, &text, &len);
	if (err)
		return log_errno(LOG_ERR, err, "cannot read the policy '%s'", path);
	err = yaml_parse(text, len, &document, &yaml_error);
	if (err == -EINVAL || err == -EFBIG)
		(void)refuse_policy(path, err, yaml_error.line, yaml_error.column,
				    yaml_error.message);
	if (!err) {
		err = policy_new(document, ret_policy, &error);
		if (err == -EINVAL || err == -EOPNOTSUPP)
			(void)refuse_policy(path, err, error.line, error.column, error.message);
	}
	if (err == -ENOMEM)
		log_error("not enough memory for the policy '%s'", path);
	if (!err && ret_text)
		*ret_text = take_ptr(text);
	free(text);
	return err;
}

void cli_find_sluiced(char ret_path[static PATH_MAX])
{
	static const char *const places[] = {"/sluiced", "/../sbin/sluiced"};
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;
	size_t i;

	self[len > 0 ? len : 0] = '\0';
	slash = strrchr(self, '/');
	for (i = 0; slash && i < ARRAY_SIZE(places); i++) {
		*slash = '\0';
		if (snprintf(ret_path, PATH_MAX, "%s%s", self, places[i]) < PATH_MAX &&
		    access(ret_path, X_OK) == 0)
			return;
	}
	(void)snprintf(ret_path, PATH_MAX, "sluiced");
}

int cli_parse_id(const char *text, const char *what, json_int_t *ret_id)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end) {
		log_error("'%s' is no %s: a number is expected", text, what);
		return -EINVAL;
	}
	*ret_id = value;
	return 0;
}

const char *cli_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "-";
}

json_int_t cli_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* "terms", "patterns", … */
static const char *task_unit(const json_t *task)
{
	static const enum policy_task_kind kinds[] = {POLICY_TASK_TERMS, POLICY_TASK_REGEX,
						      POLICY_TASK_BUILTIN};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(cli_text(task, "kind"), policy_task_kind_name(kinds[i])) == 0)
			return policy_task_unit_name(kinds[i]);
	return "rules";
}

void cli_print_rules(const json_t *task)
{
	const char *unit = task_unit(task);
	long long rules = (long long)cli_number(task, unit);
	long long longest = (long long)cli_number(task, "longest");

	(void)printf("%lld %.*s%s, longest %lld rune%s", rules, (int)strlen(unit) - 1, unit,
		     text_plural(rules), longest, text_plural(longest));
}

void cli_print_json(const json_t *value)
{
	(void)json_dumpf(value, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY);
	(void)putchar('\n');
}

int cli_show(const struct cli *cli, json_t *view,
	     void (*print)(const struct cli *cli, const json_t *view))
{
	if (!view) {
		log_error("not enough memory");
		return CLI_EXIT_FAILED;
	}
	if (cli->json)
		cli_print_json(view);
	else
		print(cli, view);
	json_decref(view);
	return CLI_EXIT_DONE;
}

void cli_print_metrics(const json_t *status)
{
	const json_t *metrics = json_object_get(status, "metrics");

	if (json_is_true(json_object_get(metrics, "served")))
		(void)printf("http://%s/metrics\n", cli_text(metrics, "address"));
	else
		(void)printf("not served (%s)\n", cli_text(metrics, "reason"));
}

void cli_print_safe(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return;
	text_make_safe(copy);
	(void)fputs(copy, stdout);
	free(copy);
}

void table_add(struct table *table, const char *format, ...)
{
	char **cells;
	va_list args;
	size_t room;
	int len;

	if (table->count == table->room) {
		room = table->room ? table->room * 2 : 64;
		cells = realloc(table->cells, room * sizeof(*cells));
		if (!cells) {
			table->failed = true;
			return;
		}
		table->cells = cells;
		table->room = room;
	}
	va_start(args, format);
	len = vasprintf(&table->cells[table->count], format, args);
	va_end(args);
	if (len < 0) {
		table->failed = true;
		return;
	}
	text_make_safe(table->cells[table->count++]);
}

void table_init(struct table *table, const char *const *heads, size_t columns)
{
	size_t i;

	*table = (struct table){.columns = columns};
	for (i = 0; heads && i < columns; i++)
		table_add(table, "%s", heads[i]);
}

/* Columns of a terminal; what is not ASCII is taken for one each. */
static size_t text_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static size_t column_width(const struct table *table, size_t column)
{
	size_t width = 0, i;

	for (i = column; i < table->count; i += table->columns)
		width = MAX(width, text_width(table->cells[i]));
	return MIN(width, (size_t)200);
}

/* A row ends with its last cell that is not empty, without spaces behind. */
static void print_cells(const struct table *table, const size_t *widths)
{
	size_t i, column, width, gap = 0;
	const char *cell;

	(void)fputs(style_code(table->colors, STYLE_STRONG), stdout);
	for (i = 0; i < table->count; i++) {
		column = i % table->columns;
		cell = table->cells[i];
		width = text_width(cell);
		if (width) {
			(void)printf("%*s%s", (int)gap, "", cell);
			gap = 0;
		}
		gap += MAX(widths[column], width) - width + 2;
		if (column + 1 < table->columns)
			continue;
		(void)printf("%s\n", i == column ? style_code(table->colors, STYLE_PLAIN) : "");
		gap = 0;
	}
}

void table_print(struct table *table)
{
	size_t *widths = calloc(table->columns, sizeof(*widths)), i;

	for (i = 0; widths && i < table->columns; i++)
		widths[i] = column_width(table, i);
	if (table->failed || !widths)
		log_error("not enough memory to print the table");
	else
		print_cells(table, widths);
	for (i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	free(widths);
}

void cli_print_interceptor(const json_t *task)
{
	if (!json_object_get(task, "url"))
		return;
	(void)printf("%s, spans of %lld runes by %s in windows of %lld, detectable %lld runes, "
		     "%lld at once, %lld ms each",
		     cli_text(task, "url"), (long long)cli_number(task, "span_runes"),
		     cli_text(task, "cadence"), (long long)cli_number(task, "window_runes"),
		     (long long)cli_number(task, "detectable_runes"),
		     (long long)cli_number(task, "concurrency"),
		     (long long)cli_number(task, "timeout_ms"));
}
