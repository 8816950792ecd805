/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

#define LINE_MAX_LEN 1024

static struct {
	const char *program;
	int level;
	bool journal;
} state = {.program = "sluice", .level = LOG_INFO};

/* The variable is inherited by whom nothing ties to the journal: it tells which stream it is of. */
static bool is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char own[64];
	struct stat found;

	if (!stream || fstat(fd, &found))
		return false;
	(void)snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)found.st_dev,
		       (uintmax_t)found.st_ino);
	return !strcmp(stream, own);
}

void log_open(const char *program, int level)
{
	state.program = program;
	state.level = level;
	state.journal = is_journal(STDERR_FILENO);
}

static const char *level_name(int level)
{
	switch (level) {
	case LOG_EMERG:
	case LOG_ALERT:
	case LOG_CRIT:
	case LOG_ERR:
		return "error: ";
	case LOG_WARNING:
		return "warning: ";
	case LOG_DEBUG:
		return "debug: ";
	default:
		return "";
	}
}

static void write_line(int level, const char *format, va_list args, const char *suffix)
{
	char line[LINE_MAX_LEN];
	size_t used;
	int n;

	if (level > state.level)
		return;
	if (state.journal)
		n = snprintf(line, sizeof(line), "<%d>", level);
	else
		n = snprintf(line, sizeof(line), "%s: %s", state.program, level_name(level));
	used = (size_t)n;
	n = vsnprintf(line + used, sizeof(line) - used, format, args);
	if (n > 0)
		used = strlen(line);
	if (suffix) {
		(void)snprintf(line + used, sizeof(line) - used, ": %s", suffix);
		used = strlen(line);
	}
	text_make_safe(line);
	/* The NUL's place is the newline's. */
	line[used++] = '\n';
	if (write(STDERR_FILENO, line, used) < 0)
		return; /* there is nowhere left to say so */
}

void log_message(int level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_line(level, format, args, NULL);
	va_end(args);
}

int log_errno(int level, int r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_line(level, format, args, strerror(r < 0 ? -r : r));
	va_end(args);
	return r;
}
