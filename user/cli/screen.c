/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/text.h"

#define LINE_MAX_BYTES 2048

int screen_begin(struct screen *screen, unsigned int rows, unsigned int columns, bool colors)
{
	*screen = (struct screen){.rows = rows, .columns = columns, .colors = colors};
	screen->out = open_memstream(&screen->text, &screen->len);
	if (!screen->out)
		return -ENOMEM;
	(void)fputs("\x1b[H", screen->out);
	return 0;
}

/* The columns of the character at text, and its bytes; 0 columns: it cannot be shown. */
static unsigned int measure(const char *text, size_t *ret_bytes)
{
	mbstate_t state = {0};
	wchar_t character;
	size_t n = mbrtowc(&character, text, strlen(text), &state);
	int width;

	*ret_bytes = 1;
	if (n == 0 || n > strlen(text))
		return 0;
	*ret_bytes = n;
	width = wcwidth(character);
	return width > 0 ? (unsigned int)width : 0;
}

/* At most max columns of it; returns how many they were. */
static unsigned int put_cut(struct screen *screen, unsigned int max, const char *text)
{
	unsigned int column = 0, width;
	size_t bytes;

	for (; *text; text += bytes) {
		width = measure(text, &bytes);
		if (column + MAX(width, 1u) > max)
			break;
		if (width)
			(void)fwrite(text, 1, bytes, screen->out);
		else
			(void)fputc('?', screen->out);
		column += MAX(width, 1u);
	}
	return column;
}

static bool has_room(const struct screen *screen)
{
	return screen->row < screen->rows && screen->column < screen->columns;
}

static void put_text(struct screen *screen, enum style style, unsigned int max, const char *text)
{
	if (style != STYLE_PLAIN)
		(void)fputs(style_code(screen->colors, style), screen->out);
	screen->column += put_cut(screen, MIN(max, screen->columns - screen->column), text);
	if (style == STYLE_GOOD || style == STYLE_WARN || style == STYLE_BAD)
		(void)fputs(screen->colors ? "\x1b[39m" : "", screen->out);
	else if (style != STYLE_PLAIN)
		(void)fputs(screen->colors ? "\x1b[22m" : "", screen->out);
}

void screen_put(struct screen *screen, enum style style, const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	va_list args;

	if (!has_room(screen))
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	text_make_safe(text);
	put_text(screen, style, screen->columns, text);
}

/* The columns of what of it put_cut() would put. */
static unsigned int width_within(const char *text, unsigned int max)
{
	unsigned int width = 0, next;
	size_t bytes;

	for (; *text; text += bytes) {
		next = width + MAX(measure(text, &bytes), 1u);
		if (next > max)
			break;
		width = next;
	}
	return width;
}

static void put_spaces(struct screen *screen, unsigned int count)
{
	count = MIN(count, screen->columns - screen->column);
	(void)fprintf(screen->out, "%*s", (int)count, "");
	screen->column += count;
}

void screen_field(struct screen *screen, enum style style, unsigned int width, bool right,
		  const char *text)
{
	char safe[LINE_MAX_BYTES];
	unsigned int used;

	if (!has_room(screen))
		return;
	(void)snprintf(safe, sizeof(safe), "%s", text);
	text_make_safe(safe);
	used = width_within(safe, width);
	if (right)
		put_spaces(screen, width - used);
	put_text(screen, style, width, safe);
	if (has_room(screen))
		put_spaces(screen, (right ? 0 : width - used) + 1);
}

void screen_invert(struct screen *screen, bool inverted)
{
	if (screen->row < screen->rows)
		(void)fputs(inverted ? "\x1b[7m" : "\x1b[27m", screen->out);
}

void screen_line(struct screen *screen)
{
	if (screen->row < screen->rows)
		(void)fputs("\x1b[K", screen->out);
	screen->row++;
	screen->column = 0;
	/* Behind the last row a line feed would scroll. */
	if (screen->row < screen->rows)
		(void)fputs("\r\n", screen->out);
}

int screen_end(struct screen *screen)
{
	bool failed;

	if (screen->row < screen->rows)
		(void)fputs("\x1b[J", screen->out);
	failed = ferror(screen->out) != 0;
	failed |= fclose(take_ptr(screen->out)) != 0;
	return failed || !screen->text ? -ENOMEM : 0;
}

void screen_done(struct screen *screen)
{
	if (screen->out)
		(void)fclose(take_ptr(screen->out));
	free(screen->text);
	*screen = (struct screen){0};
}
