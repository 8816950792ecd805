/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/style.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool style_wanted(enum color color)
{
	const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");

	if (color != COLOR_AUTO)
		return color == COLOR_ALWAYS;
	return isatty(STDOUT_FILENO) && !(none && *none) && terminal && *terminal &&
	       strcmp(terminal, "dumb") != 0;
}

const char *style_code(bool colors, enum style style)
{
	static const char *const codes[] = {
		[STYLE_PLAIN] = "\x1b[0m", [STYLE_STRONG] = "\x1b[1m", [STYLE_FAINT] = "\x1b[2m",
		[STYLE_GOOD] = "\x1b[32m", [STYLE_WARN] = "\x1b[33m",  [STYLE_BAD] = "\x1b[31m",
	};

	return colors ? codes[style] : "";
}
