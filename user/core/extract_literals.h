/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The literals of JSON's strings in a text, wherever they stand and whatever stands around
 * them: text that is JSON under a wrong label or none, or in a form, a part of another text,
 * a line, an event; JSON in a string of JSON. The text as it stands is evaluated elsewhere;
 * here what its readers may see besides: literals with their escapes undone, and joined.
 *
 * Invariants:
 *  Q1. What lies between two quotes that are not escaped, and no end of a line lies between, is
 *      a literal, whichever of them begins one for a reader: no stray quote hides a literal,
 *      nor its name. So is what lies between a quote and the line's beginning or end, which no
 *      literal goes past.
 *  Q2. A literal that has an escape is evaluated with its escapes undone. A backslash before
 *      any other character stands for nothing.
 *  Q3. A literal behind a name, white space, a colon and white space is the next of the
 *      text that belongs to this name; one of a list (behind a [, and then behind nothing
 *      but commas, numbers, true, false, null and literals of it) of the list's text, which
 *      belongs to the name before it, if there is one. So halves of surrogate pairs, and
 *      terms, are found over two literals. A name of over EXTRACT_NAME_BYTES is none, and of
 *      names see M1 of extract_members.h; any other literal ends with itself.
 *  Q4. The text that literals are or join to is scanned for literals as well, from the first
 *      quote on that an escape spells, and these once more: EXTRACT_LITERALS_DEEP in all.
 *  Q5. How the text is cut into calls changes neither what is evaluated nor what is found.
 *  Q6. Nothing in a text is at fault. What is evaluated may be (channel.h).
 *  Q7. Memory is bounded by EXTRACT_NAMES_MAX, not by the text. A text without a quote takes
 *      little, and little time.
 *
 * What stays open is what a reader has to be made for: base64, percent-encoding that no label
 * tells of, and other encodings; escapes of other languages; more levels of strings in strings;
 * literals that it joins though others of their name stand between them, or so many other names
 * as M1 tells apart.
 */
#ifndef SLUICE_CORE_EXTRACT_LITERALS_H
#define SLUICE_CORE_EXTRACT_LITERALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/fault.h"

#define EXTRACT_LITERALS_DEEP 3u

struct extract_literals;

/*
 * name: of the text as it stands, those of the channels being made of it; they are the set's.
 * joins: literals of one name are one text (Q3); else each ends with itself, so that nothing
 * but the one under way is held. NULL: out of memory. Free accepts NULL.
 */
struct extract_literals *extract_literals_new(struct channel_set *set, const char *name,
					      bool joins);
void extract_literals_free(struct extract_literals *literals);

/* The next of the text: well-formed, whole runes; or a surrogate that an escape spelled. */
enum fault extract_literals_text(struct extract_literals *literals, const uint8_t *text,
				 size_t len) must_check;
enum fault extract_literals_surrogate(struct extract_literals *literals, uint32_t unit) must_check;

/* The text ends, and the next begins. */
enum fault extract_literals_end(struct extract_literals *literals) must_check;

size_t extract_literals_memory(const struct extract_literals *literals); /* with the struct */

#endif
