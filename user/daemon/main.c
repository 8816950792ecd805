/* SPDX-License-Identifier: Apache-2.0 */
/* sluiced: starts what its command line asks for. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/instance.h"
#include "daemon/options.h"
#include "kern/kern.h"
#include "sys/log.h"
#include "sys/notify.h"
#include "sys/standard.h"

#define ERROR_LEN    512u
#define FEATURES_MAX 64u

enum { EXIT_USAGE = 2 };

/* A feature that a run needs and this kernel lacks fails the check. */
static int check(void)
{
	struct kern_feature features[FEATURES_MAX];
	size_t count = kern_probe(features, ARRAY_SIZE(features));
	json_t *list = json_array();
	int status = EXIT_SUCCESS;

	for (size_t i = 0; i < count; i++) {
		const struct kern_feature *feature = &features[i];

		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:b, s:b, s:i}", "name", feature->name,
					"use", feature->use, "loss", feature->loss, "required",
					(int)feature->required, "present", (int)feature->present,
					"error", feature->error));
		if (feature->required && !feature->present)
			status = EXIT_FAILURE;
	}
	if (json_dumpf(list, stdout, JSON_COMPACT))
		status = EXIT_FAILURE;
	(void)putchar('\n');
	json_decref(list);
	return status;
}

static int remove_dead(const struct options *options, char *error, size_t error_len)
{
	struct instance instance;
	int r = instance_init(&instance, options, error, error_len);

	if (r)
		return r;
	r = instance_remove_dead(&instance, error, error_len);
	instance_done(&instance);
	return r;
}

static int start(int argc, char **argv)
{
	struct options options;
	char error[ERROR_LEN] = "unknown error";
	int r;

	if (options_parse(argc, argv, &options))
		return EXIT_USAGE;
	/* A private daemon shares the terminal of a command: it says what went wrong, no more. */
	if (options.verbose || options.private_daemon)
		log_open("sluiced", options.verbose ? LOG_DEBUG : LOG_WARNING);
	switch (options.action) {
	case OPTIONS_HELP:
		options_print_help();
		return EXIT_SUCCESS;
	case OPTIONS_VERSION:
		(void)printf("sluiced %s\n", SLUICE_VERSION);
		return EXIT_SUCCESS;
	case OPTIONS_CHECK:
		return check();
	default:
		break;
	}
	if (geteuid() != 0) {
		(void)snprintf(error, sizeof(error),
			       "sluiced needs root: it loads BPF programs and makes cgroups");
		r = -1;
	} else if (options.action == OPTIONS_REMOVE) {
		r = remove_dead(&options, error, sizeof(error));
	} else {
		r = daemon_run(&options, error, sizeof(error));
	}
	if (!r)
		return EXIT_SUCCESS;
	/* Whoever waits for this daemon says it, or it is said here; not both. */
	if (options.ready_fd < 0)
		log_error("%s", error);
	notify_failed(options.ready_fd, error);
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	return standard_main("sluiced", start, argc, argv);
}
