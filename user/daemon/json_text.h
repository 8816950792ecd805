/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text, written member by member without a tree: for answers about thousands of streams,
 * where the tree would cost most of the time.
 *
 * Invariant: what was put is JSON as far as it goes, where every object and list that was begun
 * is ended; strings are well-formed UTF-8, with '?' for what was not.
 */
#ifndef SLUICE_DAEMON_JSON_TEXT_H
#define SLUICE_DAEMON_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_text {
	char *text; /* not terminated */
	size_t len, room;
	bool follows; /* a comma is due before the next member */
	bool failed;  /* no memory: what came since is lost */
};

void json_text_done(struct json_text *text);
/* Empties it, and keeps its room. */
void json_text_clear(struct json_text *text);

/* Names are plain words. NULL: an element of a list, or the document itself. */
void json_text_begin(struct json_text *text, const char *name, char bracket);
void json_text_end(struct json_text *text, char bracket);
void json_text_number(struct json_text *text, const char *name, uint64_t number);
/* NULL is null. */
void json_text_string(struct json_text *text, const char *name, const char *string);
void json_text_bool(struct json_text *text, const char *name, bool value);
void json_text_null(struct json_text *text, const char *name);
/* In seconds, to the millisecond. */
void json_text_seconds(struct json_text *text, const char *name, uint64_t ns);

#endif
