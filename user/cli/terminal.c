/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sys/fs.h"

/* The rest of an escape sequence comes at once, over slow lines too. */
#define SEQUENCE_MS 50

/* Alternate screen, no cursor, no wrapping of lines; and back. */
static const char enter[] = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
static const char leave[] = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

static const struct {
	const char *sequence; /* behind the escape */
	int key;
} sequences[] = {
	{"[A", KEY_UP},	      {"[B", KEY_DOWN},	      {"[C", KEY_RIGHT}, {"[D", KEY_LEFT},
	{"OA", KEY_UP},	      {"OB", KEY_DOWN},	      {"OC", KEY_RIGHT}, {"OD", KEY_LEFT},
	{"[H", KEY_HOME},     {"[F", KEY_END},	      {"OH", KEY_HOME},	 {"OF", KEY_END},
	{"[1~", KEY_HOME},    {"[4~", KEY_END},	      {"[7~", KEY_HOME}, {"[8~", KEY_END},
	{"[5~", KEY_PAGE_UP}, {"[6~", KEY_PAGE_DOWN},
};

void terminal_measure(struct terminal *terminal)
{
	struct winsize size;

	terminal->rows = 24;
	terminal->columns = 80;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		return;
	terminal->rows = size.ws_row;
	terminal->columns = size.ws_col;
}

int terminal_write(const char *text, size_t len)
{
	return fs_write(STDOUT_FILENO, text, len);
}

int terminal_enter(struct terminal *terminal)
{
	const char *name = getenv("TERM");
	struct termios modes;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !name || !*name ||
	    strcmp(name, "dumb") == 0)
		return -ENOTTY;
	if (tcgetattr(STDIN_FILENO, &terminal->before))
		return -errno;
	modes = terminal->before;
	modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
	modes.c_iflag &= ~(tcflag_t)(ICRNL | IXON);
	modes.c_cc[VMIN] = 1;
	modes.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &modes))
		return -errno;
	terminal->entered = true;
	terminal_measure(terminal);
	return terminal_write(enter, sizeof(enter) - 1);
}

void terminal_leave(struct terminal *terminal)
{
	if (!terminal->entered)
		return;
	terminal->entered = false;
	/* It may be gone: there is nothing to put back then. */
	(void)!terminal_write(leave, sizeof(leave) - 1);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->before);
}

/* The length of the sequence that begins there, 0 where it is none of a terminal. */
static size_t sequence_len(const char *bytes, size_t len)
{
	size_t i = 1;

	if (len < 2 || (bytes[0] != '[' && bytes[0] != 'O'))
		return 0;
	/* ECMA-48 5.4: parameters and intermediates, then one final byte. */
	while (i < len && bytes[i] >= 0x20 && bytes[i] < 0x40)
		i++;
	return i < len ? i + 1 : len;
}

static int key_of(const char *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++)
		if (strlen(sequences[i].sequence) == len &&
		    memcmp(sequences[i].sequence, bytes, len) == 0)
			return sequences[i].key;
	return KEY_UNKNOWN;
}

int terminal_parse_keys(const char *bytes, size_t len, int *ret_keys)
{
	size_t at = 0, rest;
	int count = 0;

	while (at < len && count < (int)TERMINAL_KEYS_MAX) {
		int key = (unsigned char)bytes[at++];

		rest = key == KEY_ESCAPE ? sequence_len(bytes + at, len - at) : 0;
		if (rest)
			key = key_of(bytes + at, rest);
		at += rest;
		if (key == '\n')
			key = KEY_ENTER;
		else if (key == '\b')
			key = KEY_BACKSPACE;
		ret_keys[count++] = key;
	}
	return count;
}

int terminal_keys(int *ret_keys)
{
	struct pollfd more = {.fd = STDIN_FILENO, .events = POLLIN};
	char bytes[TERMINAL_KEYS_MAX];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes) / 2), got;

	if (n <= 0)
		return n < 0 ? -errno : -ENODATA;
	if (bytes[n - 1] == KEY_ESCAPE && poll(&more, 1, SEQUENCE_MS) > 0) {
		got = read(STDIN_FILENO, bytes + n, sizeof(bytes) - (size_t)n);
		n += MAX(got, 0);
	}
	return terminal_parse_keys(bytes, (size_t)n, ret_keys);
}
