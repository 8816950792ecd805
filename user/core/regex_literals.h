/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The literals that what a pattern matches begins with, put together as the pattern is
 * read: a set is complete, every match begins with one of its members. Where that would
 * take more than REGEX_LITERALS_MAX of them, or says nothing, the set has one member,
 * the empty one.
 */
#ifndef SLUICE_CORE_REGEX_LITERALS_H
#define SLUICE_CORE_REGEX_LITERALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/regex_syntax.h"

/* Nothing is matched, as by an anchor: what follows it begins the match. */
void regex_literals_empty(struct regex_literals *literals);
/* Something is matched of which nothing is known. */
void regex_literals_any(struct regex_literals *literals);
/* A rune, in both its cases where caseless and ASCII. */
void regex_literals_rune(struct regex_literals *literals, uint32_t rune, bool caseless);
/* A class of a few ASCII runes, len bytes between its brackets; else as any. */
void regex_literals_class(struct regex_literals *literals, const char *members, size_t len);
/* Of what matches literals and then next, and of what matches one of them. */
void regex_literals_follow(struct regex_literals *literals, const struct regex_literals *next);
void regex_literals_or(struct regex_literals *literals, const struct regex_literals *other);

#endif
