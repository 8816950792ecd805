/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Terminal: the whole screen of the one that standard input and output are, and keys.
 *
 * Invariants:
 *  T1. terminal_leave() puts back what terminal_enter() found: modes, cursor, screen.
 *  T2. A frame is one write.
 */
#ifndef SLUICE_CLI_TERMINAL_H
#define SLUICE_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "base/macros.h"

enum key {
	KEY_ENTER = '\r',
	KEY_REDRAW = 0x0c, /* Ctrl-L */
	KEY_ESCAPE = 0x1b,
	KEY_BACKSPACE = 0x7f,
	/* No character is one of these. */
	KEY_UP = 0x100,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_HOME,
	KEY_END,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_UNKNOWN,
};
#define TERMINAL_KEYS_MAX 64u

struct terminal {
	struct termios before;
	bool entered;
	unsigned int rows, columns;
};

/*
 * Keys come one by one, unechoed, and signals as ever; the alternate screen is shown. -ENOTTY:
 * standard input or output is no terminal, or a dumb one. -errno.
 */
int terminal_enter(struct terminal *terminal) must_check;
/* Also of one that was not entered. */
void terminal_leave(struct terminal *terminal);
/* After it was resized. */
void terminal_measure(struct terminal *terminal);
/* Writes all of it. -errno: the terminal is gone. */
int terminal_write(const char *text, size_t len) must_check;
/* What was typed, at most TERMINAL_KEYS_MAX; -errno, -ENODATA at its end. */
int terminal_keys(int *ret_keys) must_check;
/* The same of bytes; apart from terminal_keys() for tests. Returns how many. */
int terminal_parse_keys(const char *bytes, size_t len, int *ret_keys);

#endif
