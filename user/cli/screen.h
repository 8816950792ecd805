/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Screen: one frame of a terminal, composed line by line and cut to its size, as the text that
 * draws it over the one before without clearing anything first.
 *
 * What is put is made safe, and counted in the columns that it takes; what the locale cannot
 * show is '?'.
 */
#ifndef SLUICE_CLI_SCREEN_H
#define SLUICE_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/macros.h"
#include "cli/style.h"

struct screen {
	FILE *out;
	char *text; /* with len, whole after screen_end() */
	size_t len;
	unsigned int rows, columns;
	unsigned int row, column; /* where the next character goes */
	bool colors;
};

/* -ENOMEM. */
int screen_begin(struct screen *screen, unsigned int rows, unsigned int columns,
		 bool colors) must_check;
/* Lines behind the last row, and what is behind the last column, are dropped. */
void screen_put(struct screen *screen, enum style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Text in a field of that width, cut or filled, and one space behind it. */
void screen_field(struct screen *screen, enum style style, unsigned int width, bool right,
		  const char *text);
void screen_line(struct screen *screen);
/* Shows the line that follows inverted, or not any more. */
void screen_invert(struct screen *screen, bool inverted);
/* What is below is cleared. -ENOMEM: something was lost. */
int screen_end(struct screen *screen) must_check;
/* Frees the text. */
void screen_done(struct screen *screen);

#endif
