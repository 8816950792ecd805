/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which of "a|b|c" the text is, or -1. */
static int find_word(const char *words, const char *text)
{
	size_t len = strlen(text);
	int i;

	for (i = 0; words; i++) {
		if (len && strcspn(words, "|") == len && memcmp(words, text, len) == 0)
			return i;
		words = strchr(words, '|');
		words = words ? words + 1 : NULL;
	}
	return -1;
}

static int store_choice(const struct option_spec *spec, unsigned int *field, const char *name,
			const char *text)
{
	int word = find_word(spec->value, text);

	if (word < 0) {
		(void)fprintf(stderr, "%s: --%s must be one of %s\n", name, spec->name,
			      spec->value);
		return -EINVAL;
	}
	*field = (unsigned int)word;
	return 0;
}

static int store(const struct option_spec *spec, void *base, const char *name, const char *text)
{
	char *field = (char *)base + spec->offset;
	uint64_t number;
	char *end;

	switch (spec->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)field = text;
		return 0;
	case OPTION_NUMBER:
		errno = 0;
		number = strtoull(text, &end, 10);
		if (errno || !isdigit((unsigned char)*text) || *end || number < spec->min ||
		    number > spec->max) {
			(void)fprintf(stderr, "%s: --%s must be a number from %llu to %llu\n", name,
				      spec->name, (unsigned long long)spec->min,
				      (unsigned long long)spec->max);
			return -EINVAL;
		}
		*(uint64_t *)field = number;
		return 0;
	case OPTION_CHOICE:
		return store_choice(spec, (unsigned int *)field, name, text);
	}
	return -EINVAL;
}

int options_parse(const struct option_group *groups, size_t group_count, bool stop_early, int argc,
		  char **argv, int *ret_rest)
{
	struct option options[OPTIONS_MAX + 2] = {{"help", no_argument, NULL, 0}};
	const struct option_spec *specs[OPTIONS_MAX + 1];
	void *bases[OPTIONS_MAX + 1];
	size_t count = 1, g, i;
	int found, index = 0;

	for (g = 0; g < group_count; g++) {
		for (i = 0; i < groups[g].count; i++) {
			assert(count <= OPTIONS_MAX);
			specs[count] = &groups[g].specs[i];
			bases[count] = groups[g].base;
			options[count].name = specs[count]->name;
			options[count].has_arg =
				specs[count]->kind == OPTION_FLAG ? no_argument : required_argument;
			count++;
		}
	}
	optind = 0; /* begins anew: glibc */
	while ((found = getopt_long(argc, argv, stop_early ? "+" : "", options, &index)) != -1) {
		if (found == '?')
			return -EINVAL;
		if (index == 0)
			return 1;
		if (store(specs[index], bases[index], argv[0], optarg))
			return -EINVAL;
	}
	*ret_rest = optind;
	return 0;
}

void options_print(const struct option_group *groups, size_t group_count)
{
	char name[64];
	size_t g, i;

	(void)printf("\noptions:\n");
	for (g = 0; g < group_count; g++) {
		for (i = 0; i < groups[g].count; i++) {
			const struct option_spec *spec = &groups[g].specs[i];

			(void)snprintf(name, sizeof(name), "--%s%s%s", spec->name,
				       spec->value ? " " : "", spec->value ? spec->value : "");
			(void)printf("  %-26s %s\n", name, spec->help);
		}
	}
	(void)printf("  %-26s %s\n", "--help", "this text");
}
