/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"

static void free_string(char **string)
{
	free(*string);
}

json_t *driver_error(const json_t *record, const char *error, const char *detail)
{
	json_t *id = json_object_get(record, "id");
	json_t *answer = json_pack("{s:s, s:s}", "error", error, "detail", detail);

	if (answer && id && json_object_set(answer, "id", id) < 0) {
		json_decref(answer);
		return NULL;
	}
	return answer;
}

static int print(const json_t *answer)
{
	cleanup(free_string) char *text = json_dumps(answer, JSON_COMPACT | JSON_ENSURE_ASCII);

	if (!text || puts(text) == EOF || fflush(stdout) == EOF) {
		fprintf(stderr, "sluice-driver: the answer cannot be written\n");
		return -1;
	}
	return 0;
}

/* *ret_bad is set where the line is no record. */
static json_t *answer_line(const char *line, size_t len, unsigned long number, driver_answer answer,
			   void *context, bool *ret_bad)
{
	json_error_t error;
	cleanup(driver_json_freep) json_t *record = json_loadb(line, len, JSON_ALLOW_NUL, &error);

	if (json_is_object(record))
		return answer(record, context);
	*ret_bad = true;
	return json_pack("{s:s, s:s, s:I}", "error", "bad_line", "detail",
			 record ? "not an object" : error.text, "line", (json_int_t)number);
}

int driver_run(driver_answer answer, void *context)
{
	cleanup(free_string) char *line = NULL;
	unsigned long number = 0;
	size_t capacity = 0;
	int status = 0;
	ssize_t len;

	while ((len = getline(&line, &capacity, stdin)) >= 0) {
		cleanup(driver_json_freep) json_t *reply = NULL;
		bool bad = false;

		number++;
		if (strspn(line, " \t\r\n") == (size_t)len)
			continue;
		reply = answer_line(line, (size_t)len, number, answer, context, &bad);
		if (bad || strcmp(json_string_value(json_object_get(reply, "error")) ?: "",
				  "bad_record") == 0)
			status = 1;
		if (!reply || print(reply) < 0)
			return 1;
	}
	return ferror(stdin) ? 1 : status;
}
