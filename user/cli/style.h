/* SPDX-License-Identifier: Apache-2.0 */
/* Colours. */
#ifndef SLUICE_CLI_STYLE_H
#define SLUICE_CLI_STYLE_H

#include <stdbool.h>

enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
/* As --color names them, in the order of the enum. */
#define COLOR_WORDS "auto|always|never"

enum style { STYLE_PLAIN, STYLE_STRONG, STYLE_FAINT, STYLE_GOOD, STYLE_WARN, STYLE_BAD };

/*
 * Whether standard output gets colours: AUTO where it is a terminal that is not dumb and
 * NO_COLOR is not set, or empty.
 */
bool style_wanted(enum color color);
/* The sequence that begins a style (STYLE_PLAIN ends any); "" where there are no colours. */
const char *style_code(bool colors, enum style style);

#endif
