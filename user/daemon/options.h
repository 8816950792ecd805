/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of sluiced. */
#ifndef SLUICE_DAEMON_OPTIONS_H
#define SLUICE_DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define OPTIONS_INSTANCE_DEFAULT "main"
#define OPTIONS_INSTANCE_MAX	 64u
#define OPTIONS_PORT_DEFAULT	 1008u
/* Ports that only a privileged process may bind. */
#define OPTIONS_PORT_MAX 1023u
/* Where trails are, each in a directory of its instance's name. */
#define OPTIONS_AUDIT_DIR     "/var/log/sluice"
#define OPTIONS_AUDIT_DIR_MAX 256u

enum options_action { OPTIONS_RUN, OPTIONS_CHECK, OPTIONS_REMOVE, OPTIONS_VERSION, OPTIONS_HELP };

struct options {
	enum options_action action;
	const char *policy;		     /* NULL: no default policy */
	const char *socket;		     /* NULL: by the instance */
	const char *instance;		     /* as given, or NULL */
	char name[OPTIONS_INSTANCE_MAX + 1]; /* of the instance: [a-z0-9-]{1,64} */
	uint16_t port;			     /* 0: a free one */
	bool private_daemon;
	int ready_fd; /* -1: none */
	bool verbose;
	bool no_audit;
	/* The audit trail: "" for none. Its files' size in bytes, and how many are kept. */
	char audit_dir[OPTIONS_AUDIT_DIR_MAX];
	uint64_t audit_file_bytes;
	size_t audit_files;
};

/* -EINVAL: one line was said on standard error. */
int options_parse(int argc, char **argv, struct options *ret_options) must_check;
void options_print_help(void);

#endif
