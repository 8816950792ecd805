/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the targets over files, without a fuzzer: each folder below those named is a
 * target's, each file in it an input. Prints TAP, a test for each target, which has to have
 * an input; one that is at fault ends by abort(), behind the name of the file.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/targets.h"

/* NULL: it cannot be read. */
static uint8_t *read_file(const char *path, size_t *ret_len)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = NULL;
	long len;

	if (!file)
		return NULL;
	if (fseek(file, 0, SEEK_END) == 0 && (len = ftell(file)) >= 0 &&
	    (bytes = malloc((size_t)len + !len))) {
		rewind(file);
		*ret_len = fread(bytes, 1, (size_t)len, file);
		if (*ret_len != (size_t)len) {
			free(bytes);
			bytes = NULL;
		}
	}
	fclose(file);
	return bytes;
}

static bool run_file(const struct fuzz_target *target, const char *path)
{
	size_t len = 0;
	uint8_t *bytes = read_file(path, &len);

	if (!bytes)
		return false;
	fprintf(stderr, "# %s\n", path);
	target->run(bytes, len);
	free(bytes);
	return true;
}

/* How many files of the target there are, or -1 where one cannot be read. */
static int run_target(const struct fuzz_target *target, const char *folder)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	int count = 0;
	DIR *files;

	snprintf(path, sizeof(path), "%s/%s", folder, target->name);
	files = opendir(path);
	if (!files)
		return errno == ENOENT ? 0 : -1;
	while (count >= 0 && (entry = readdir(files))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s/%s", folder, target->name, entry->d_name);
		count = run_file(target, path) ? count + 1 : -1;
	}
	closedir(files);
	return count;
}

int main(int argc, char **argv)
{
	bool failed = false;

	if (argc < 2) {
		fprintf(stderr, "usage: %s FOLDER...\n", argv[0]);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < fuzz_target_count; i++) {
		int count = 0;

		for (int arg = 1; arg < argc && count >= 0; arg++) {
			int more = run_target(&fuzz_targets[i], argv[arg]);

			count = more < 0 ? -1 : count + more;
		}
		printf("%sok %zu - %s: %d files\n", count > 0 ? "" : "not ", i + 1,
		       fuzz_targets[i].name, count);
		failed = failed || count <= 0;
	}
	printf("1..%zu\n", fuzz_target_count);
	return failed;
}
