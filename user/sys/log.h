/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log: one line a message on standard error, with a syslog priority in front
 * where the journal reads it (JOURNAL_STREAM is set), else with a short name.
 *
 * Invariants:
 *  G1. A message is one line and one write(2); control characters in it are
 *      replaced, so that a name from outside cannot forge a second line.
 *  G2. No message carries content of a stream: lengths, offsets and names only.
 *
 * One thread. Levels are those of <syslog.h>.
 */
#ifndef SLUICE_SYS_LOG_H
#define SLUICE_SYS_LOG_H

#include <syslog.h>

/*
 * Reads JOURNAL_STREAM; program is the name in front of every line. Levels above level
 * are dropped.
 */
void log_open(const char *program, int level);

void log_message(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As log_message, followed by what errno -r means. Returns r. */
int log_errno(int level, int r, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define log_error(...)	 log_message(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_notice(...)	 log_message(LOG_NOTICE, __VA_ARGS__)
#define log_info(...)	 log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...)	 log_message(LOG_DEBUG, __VA_ARGS__)

#endif
