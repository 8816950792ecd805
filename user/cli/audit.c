/* SPDX-License-Identifier: Apache-2.0 */
/* audit: the head of a daemon's trail, and the verification of files, without a daemon. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/audit_chain.h"
#include "sys/fd.h"
#include "sys/log.h"

#define READ_SIZE (256u << 10)
/* A file may be rotated away between its listing and its reading. */
#define TRIES 10

/* Beside those of all commands. */
enum { EXIT_UNKNOWN = 2 };

struct audit_config {
	const char *head;
};

static const struct option_spec options[] = {
	{"head", "SEQ:HASH", OPTION_TEXT, offsetof(struct audit_config, head),
	 "verify: a head that was kept elsewhere", 0, 0},
};

struct verification {
	struct audit_verifier verifier;
	char **paths; /* of the files, in order */
	size_t count, room;
	const char *dir; /* NULL: files alone */
	bool live;	 /* a daemon is writing the record behind the last one */
	uint64_t records;
	enum audit_fault fault;
	const char *path; /* where the fault is; line 0: behind its end */
	uint64_t line;
};

static int add_path(struct verification *v, const char *dir, const char *name)
{
	char **paths;
	int len;

	if (v->count == v->room) {
		size_t room = v->room ? 2 * v->room : 16;

		paths = realloc(v->paths, room * sizeof(*paths));
		if (!paths)
			return -ENOMEM;
		v->paths = paths;
		v->room = room;
	}
	len = dir ? asprintf(&v->paths[v->count], "%s/%s", dir, name)
		  : asprintf(&v->paths[v->count], "%s", name);
	if (len < 0)
		return -ENOMEM;
	v->count++;
	return 0;
}

static int is_trail(const struct dirent *entry)
{
	return audit_name_first(entry->d_name) != 0;
}

/* The numbers in the names have one length. */
static int list(struct verification *v, const char *dir)
{
	struct dirent **entries;
	int count = scandir(dir, &entries, is_trail, alphasort), r = 0;

	if (count < 0)
		return log_errno(LOG_ERR, -errno, "cannot read '%s'", dir);
	v->dir = dir;
	for (int i = 0; i < count; i++) {
		if (!r)
			r = add_path(v, dir, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return r;
}

/* One directory, or files in the order in which they are named. */
static int find_files(struct verification *v, int count, char **args)
{
	struct stat found;
	int r = 0;

	if (count == 1 && !stat(args[0], &found) && S_ISDIR(found.st_mode))
		return list(v, args[0]);
	for (int i = 0; !r && i < count; i++)
		r = add_path(v, NULL, args[i]);
	return r;
}

/* The number in the name of the file under way; 0: it is no trail's name. */
static uint64_t number_in_name(const struct verification *v)
{
	const char *slash = strrchr(v->path, '/');

	return audit_name_first(slash ? slash + 1 : v->path);
}

static void take_line(struct verification *v, const char *line, size_t len)
{
	uint64_t named;

	v->line++;
	v->fault = audit_verifier_line(&v->verifier, line, len, v->line == 1);
	if (v->fault)
		return;
	named = v->line == 1 ? number_in_name(v) : 0;
	if (named && named != v->verifier.last.seq)
		v->fault = AUDIT_MISNAMED;
	else
		v->records++;
}

/* Takes the whole lines; returns the bytes of them. No record is longer than the room. */
static size_t take_lines(struct verification *v, const char *text, size_t len)
{
	size_t at = 0;

	while (!v->fault && at < len) {
		const char *newline = memchr(text + at, '\n', len - at);

		if (!newline)
			break;
		take_line(v, text + at, (size_t)(newline + 1 - (text + at)));
		at = (size_t)(newline + 1 - text);
	}
	return at;
}

/* Is it the last file of a directory whose lock somebody holds? */
static bool is_written(const struct verification *v)
{
	char *path = NULL;
	bool held = false;
	int fd;

	if (!v->dir || v->path != v->paths[v->count - 1] || asprintf(&path, "%s/lock", v->dir) < 0)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0)
		held = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
	fd_close(fd);
	free(path);
	return held;
}

/* The end of a file: behind its last whole line there is so much of another. */
static void take_rest(struct verification *v, const char *text, size_t len)
{
	if (v->fault || (!len && v->line))
		return;
	v->live = is_written(v);
	if (!v->live)
		take_line(v, text, len);
}

/* -ENOENT is not said of a file of a directory. */
static int verify_file(struct verification *v, const char *path)
{
	int fd cleanup(fd_closep) = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char *text = malloc(READ_SIZE);
	size_t len = 0;
	ssize_t n = -1;

	v->path = path;
	v->line = 0;
	while (fd >= 0 && text && !v->fault) {
		size_t taken;

		n = read(fd, text + len, READ_SIZE - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
		taken = take_lines(v, text, len);
		len -= taken;
		(void)memmove(text, text + taken, len);
		if (len == READ_SIZE)
			take_line(v, text, len);
	}
	if (n < 0)
		n = text ? -errno : -ENOMEM;
	else
		take_rest(v, text, len);
	if (n < 0 && (n != -ENOENT || !v->dir))
		(void)log_errno(LOG_ERR, (int)n, "cannot read '%s'", path);
	free(text);
	return n < 0 ? (int)n : 0;
}

static int verify_files(struct verification *v)
{
	int r = 0;

	for (size_t i = 0; !r && !v->fault && i < v->count; i++)
		r = verify_file(v, v->paths[i]);
	if (r || v->fault)
		return r;
	v->fault = audit_verifier_end(&v->verifier, v->dir);
	v->line = 0;
	if (v->fault == AUDIT_OLDEST_GONE || v->fault == AUDIT_HEAD_GONE)
		v->path = v->paths[0];
	return 0;
}

static json_t *verification_json(const struct verification *v)
{
	const struct audit_verifier *verifier = &v->verifier;
	char head[AUDIT_HEAD_TEXT_LEN];

	audit_head_format(&verifier->last, head);
	return json_pack("{s:b, s:s, s:s, s:s?, s:I, s:I, s:I, s:I, s:I, s:s?, s:b, s:b}", "ok",
			 !v->fault, "fault", audit_fault_name(v->fault), "text",
			 audit_fault_text(v->fault), "file", v->fault ? v->path : NULL, "line",
			 (json_int_t)(v->fault ? v->line : 0), "seq",
			 (json_int_t)(v->fault ? verifier->found : 0), "records",
			 (json_int_t)v->records, "files", (json_int_t)v->count, "first",
			 (json_int_t)verifier->first, "head", verifier->first ? head : NULL,
			 "head_met", (int)verifier->met, "live", (int)v->live);
}

/* "FILE:LINE: what", and of how much before it nothing is wrong. */
static void print_fault(const struct verification *v)
{
	const struct audit_verifier *verifier = &v->verifier;

	(void)printf("%s", v->path ? v->path : "-");
	if (v->line)
		(void)printf(":%" PRIu64, v->line);
	(void)printf(": %s", audit_fault_text(v->fault));
	if (v->fault == AUDIT_MISSING)
		(void)printf(" (%" PRIu64 " to %" PRIu64 ")", verifier->last.seq + 1,
			     verifier->found - 1);
	else if (v->fault == AUDIT_TRUNCATED)
		(void)printf(" (%" PRIu64 " to %" PRIu64 " are missing)", verifier->last.seq + 1,
			     verifier->want.seq);
	(void)printf("; %" PRIu64 " records before it are whole\n", v->records);
}

static void print_whole(const struct verification *v)
{
	const struct audit_verifier *verifier = &v->verifier;
	char head[AUDIT_HEAD_TEXT_LEN];

	audit_head_format(&verifier->last, head);
	(void)printf("whole: %" PRIu64 " records in %zu files, head %s\n", v->records, v->count,
		     head);
	if (v->live)
		(void)printf("it ends there for now: its daemon is writing\n");
	if (verifier->first > 1)
		(void)printf("it begins with record %" PRIu64
			     ": what came before is not here, and was not verified\n",
			     verifier->first);
	if (!verifier->want.seq)
		(void)printf("without --head a cut at the end, and a trail written anew, are not "
			     "found\n");
}

static void free_verification(struct verification *v)
{
	audit_verifier_done(&v->verifier);
	for (size_t i = 0; i < v->count; i++)
		free(v->paths[i]);
	free(v->paths);
	*v = (struct verification){0};
}

/* A line says why it fails, but for a file of a directory that is gone. */
static int verify_once(struct verification *v, const struct audit_head *head, int count,
		       char **args)
{
	int r = audit_verifier_init(&v->verifier, head);

	if (r)
		return log_errno(LOG_ERR, r, "cannot verify");
	r = find_files(v, count, args);
	return r ? r : verify_files(v);
}

static void print_result(const struct cli *cli, const struct verification *v)
{
	json_t *result = cli->json ? verification_json(v) : NULL;

	if (result)
		cli_print_json(result);
	else if (v->fault)
		print_fault(v);
	else
		print_whole(v);
	json_decref(result);
}

static int verify(const struct cli *cli, const struct audit_config *config, int count, char **args)
{
	struct verification v = {0};
	struct audit_head head;
	int status = EXIT_UNKNOWN, r;

	if (config->head && audit_head_parse(config->head, &head)) {
		log_error("--head: '%s' is not SEQ:HASH, as 'sluicectl audit head' prints it",
			  config->head);
		return CLI_EXIT_USAGE;
	}
	for (int i = 0; i < TRIES; i++) {
		r = verify_once(&v, config->head ? &head : NULL, count, args);
		if (r != -ENOENT || !v.dir || i == TRIES - 1)
			break;
		free_verification(&v);
	}
	if (r == -ENOENT && v.dir)
		log_error("files of '%s' are removed as they are read", v.dir);
	if (!r) {
		v.path = v.path ? v.path : args[0];
		print_result(cli, &v);
		if (v.fault != AUDIT_NO_MEMORY)
			status = v.fault ? CLI_EXIT_FAILED : CLI_EXIT_DONE;
	}
	free_verification(&v);
	return status;
}

static int print_head(const struct cli *cli)
{
	json_t *result;

	if (cli_call(cli, "audit.head", json_object(), &result))
		return CLI_EXIT_FAILED;
	if (cli->json)
		cli_print_json(result);
	else
		(void)printf("%lld:%s\n", (long long)cli_number(result, "seq"),
			     cli_text(result, "hash"));
	json_decref(result);
	return CLI_EXIT_DONE;
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	if (!strcmp(args[0], "verify") && count > 1)
		return verify(cli, config, count - 1, args + 1);
	if (!strcmp(args[0], "head") && count == 1)
		return print_head(cli);
	log_error("audit: 'head', or 'verify DIR', or 'verify FILE...'");
	return CLI_EXIT_USAGE;
}

const struct command command_audit = {
	.name = "audit",
	.arguments = "head | verify DIR|FILE...",
	.summary = "Print the head of the audit trail, or verify a trail",
	.details =
		"verify needs no daemon, and no privileges but to read the files, which are\n"
		"named in their order. It finds what was changed, inserted, removed or moved;\n"
		"with --head also a trail that was cut or written anew. Exits with 1 where it is\n"
		"at fault, with 2 where it cannot be read.",
	.flags = COMMAND_SOCKET | COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.min_args = 1,
	.max_args = -1,
	.options = options,
	.option_count = ARRAY_SIZE(options),
	.config_size = sizeof(struct audit_config),
	.run = run,
};
