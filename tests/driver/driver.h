/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance driver: JSON lines in on standard input, one JSON line out
 * for each, flushed as it is written. Each subcommand is a function of the
 * arguments that follow its name (argv[0] is the name itself) and returns the
 * exit status: 0 done, 1 where a line was no valid record, 2 usage.
 */
#ifndef SLUICE_TESTS_DRIVER_H
#define SLUICE_TESTS_DRIVER_H

#include <stdbool.h>

#include <jansson.h>

#include "base/macros.h"

int frame_main(int argc, char **argv);
int session_main(int argc, char **argv);
int guard_main(int argc, char **argv);
int ctk_main(int argc, char **argv);

/*
 * Answers one record. The answer is the caller's; NULL: out of memory. A record
 * that makes no sense is answered by driver_error(), error "bad_record".
 */
typedef json_t *(*driver_answer)(const json_t *record, void *context);

/*
 * Reads records from standard input until its end and prints an answer to each.
 * A line that is no JSON object is answered with its number. Returns the exit status.
 */
int driver_run(driver_answer answer, void *context);

/* {"id": …, "error": error, "detail": detail}; id is the record's, absent where it has none. */
json_t *driver_error(const json_t *record, const char *error, const char *detail);

static inline void driver_json_free(json_t *json)
{
	json_decref(json);
}
DEFINE_CLEANUP(json_t *, driver_json_free)

#endif
