/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The targets under libFuzzer, one a process: --target=NAME chooses, the rest of the
 * arguments are libFuzzer's, which passes over those that begin with two hyphens.
 * --targets lists the names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/targets.h"

#define CHOICE "--target="

static const struct fuzz_target *chosen;

/* Called by libFuzzer, by these names. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void list(void)
{
	for (size_t i = 0; i < fuzz_target_count; i++)
		puts(fuzz_targets[i].name);
	exit(0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp((*argv)[i], "--targets") == 0)
			list();
		if (strncmp((*argv)[i], CHOICE, strlen(CHOICE)) == 0)
			chosen = fuzz_target_find((*argv)[i] + strlen(CHOICE));
	}
	if (!chosen) {
		fprintf(stderr, "usage: %s --target=NAME [libFuzzer's arguments], or --targets\n",
			(*argv)[0]);
		exit(2);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	chosen->run(data, size);
	return 0;
}
