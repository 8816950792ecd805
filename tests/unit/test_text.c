/* SPDX-License-Identifier: Apache-2.0 */
/* What texts for people have in common, and the log, which prints names from outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "sys/log.h"

static void control_characters_have_a_length(void **state)
{
	(void)state;
	for (unsigned int byte = 1; byte < 0x100; byte++) {
		const char text[] = {(char)byte, 'x', '\0'};

		assert_int_equal(text_control_len(text), byte < 0x20 || byte == 0x7f);
	}
	for (unsigned int byte = 0; byte < 0x100; byte++) {
		const char text[] = {(char)0xc2, (char)byte, '\0'};

		assert_int_equal(text_control_len(text), byte >= 0x80 && byte < 0xa0 ? 2 : 0);
	}
	assert_int_equal(text_control_len(""), 0);
	/* The same second byte behind another first one is a letter's. */
	assert_int_equal(text_control_len("\xc3\x9b"), 0);
}

static void a_text_is_made_safe(void **state)
{
	char text[] = "a\x1b[m\nb\xc2\x9b"
		      "2J\xc2\xa0\xc3\x9b\x7f\xc2",
	     empty[] = "", cut[] = "\xc2";

	(void)state;
	text_make_safe(text);
	assert_string_equal(text, "a?[m?b??2J\xc2\xa0\xc3\x9b?\xc2");
	text_make_safe(empty);
	assert_string_equal(empty, "");
	text_make_safe(cut);
	assert_string_equal(cut, "\xc2");
}

static void words_end_by_their_number(void **state)
{
	(void)state;
	assert_string_equal(text_plural(0), "s");
	assert_string_equal(text_plural(1), "");
	assert_string_equal(text_plural((uint64_t)2), "s");
}

static FILE *begin_log(int *ret_stderr)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	*ret_stderr = dup(STDERR_FILENO);
	assert_true(*ret_stderr >= 0);
	assert_return_code(dup2(fileno(file), STDERR_FILENO), errno);
	return file;
}

static void end_log(FILE *file, int kept, char *ret_text, size_t len)
{
	assert_return_code(dup2(kept, STDERR_FILENO), errno);
	(void)close(kept);
	rewind(file);
	ret_text[fread(ret_text, 1, len - 1, file)] = '\0';
	(void)fclose(file);
}

static void a_message_is_one_safe_line(void **state)
{
	char text[2048];
	int kept;
	FILE *file = begin_log(&kept);

	(void)state;
	(void)unsetenv("JOURNAL_STREAM");
	log_open("test", LOG_INFO);
	log_warning("agent '%s'", "a\xc2\x9b"
				  "2J\x1b[m\n\xc2\xa0");
	log_debug("not at this level");
	log_errno(LOG_ERR, -ENOENT, "open '%s'", "\xc2\x80");
	end_log(file, kept, text, sizeof(text));
	assert_string_equal(text, "test: warning: agent 'a??2J?[m?\xc2\xa0'\n"
				  "test: error: open '?\?': No such file or directory\n");
}

/* A level before each line is for the journal alone, whose stream the variable names. */
static void levels_are_for_the_journal(void **state)
{
	char text[256], stream[64];
	struct stat found;
	int kept;
	FILE *file = begin_log(&kept);

	(void)state;
	assert_return_code(setenv("JOURNAL_STREAM", "1:1", 1), errno);
	log_open("test", LOG_INFO);
	log_info("another's");
	assert_return_code(fstat(STDERR_FILENO, &found), errno);
	(void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)found.st_dev,
		       (uintmax_t)found.st_ino);
	assert_return_code(setenv("JOURNAL_STREAM", stream, 1), errno);
	log_open("test", LOG_INFO);
	log_info("own");
	(void)unsetenv("JOURNAL_STREAM");
	end_log(file, kept, text, sizeof(text));
	assert_string_equal(text, "test: another's\n<6>own\n");
}

/* What is cut is cut inside of a character too, and still ends its line. */
static void a_long_message_is_cut(void **state)
{
	char long_text[2048], text[4096];
	size_t len;
	int kept;
	FILE *file = begin_log(&kept);

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(long_text); i += 2) {
		long_text[i] = (char)0xc2;
		long_text[i + 1] = (char)0x9b;
	}
	long_text[sizeof(long_text) - 2] = '\0';
	log_open("test", LOG_INFO);
	for (int i = 0; i < 2; i++)
		log_info("%s%s", i ? "x" : "", long_text);
	end_log(file, kept, text, sizeof(text));
	len = strlen(text);
	assert_int_equal(len, 2 * 1024);
	for (size_t i = 0; i < len; i++)
		assert_true((i + 1) % 1024 ? (unsigned char)text[i] != 0x9b && text[i] != '\n'
					   : text[i] == '\n');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_characters_have_a_length),
		cmocka_unit_test(a_text_is_made_safe),
		cmocka_unit_test(words_end_by_their_number),
		cmocka_unit_test(a_message_is_one_safe_line),
		cmocka_unit_test(levels_are_for_the_journal),
		cmocka_unit_test(a_long_message_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
