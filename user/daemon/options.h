/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of sluiced. */
#ifndef SLUICE_DAEMON_OPTIONS_H
#define SLUICE_DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "sluice/abi.h"

#define OPTIONS_INSTANCE_DEFAULT "main"
#define OPTIONS_INSTANCE_MAX	 64u
#define OPTIONS_PORT_DEFAULT	 1008u
/* Ports that only a privileged process may bind. */
#define OPTIONS_PORT_MAX 1023u
/* Where trails are, each in a directory of its instance's name. */
#define OPTIONS_AUDIT_DIR     "/var/log/sluice"
#define OPTIONS_AUDIT_DIR_MAX 256u

/* For so long a handover waits at most. */
#define OPTIONS_TAKEOVER_MAX_S 3600u

/* Files of policies. */
#define OPTIONS_POLICIES_MAX 64u
/* Groups of who may steer the daemon, and of who may look. */
#define OPTIONS_GROUP	   "sluice"
#define OPTIONS_VIEW_GROUP "sluice-view"

/* Where metrics and the status page are, but of a private daemon. */
#define OPTIONS_WEB	      "127.0.0.1:9469"
#define OPTIONS_WEB_HOSTS_MAX 16u

enum options_action { OPTIONS_RUN, OPTIONS_CHECK, OPTIONS_REMOVE, OPTIONS_VERSION, OPTIONS_HELP };

struct options {
	enum options_action action;
	const char *policies[OPTIONS_POLICIES_MAX]; /* files; the first is the default */
	size_t policy_count;
	const char *group, *view_group;	     /* who may ask beside root: all, or to read */
	const char *socket;		     /* NULL: by the instance */
	const char *instance;		     /* as given, or NULL */
	char name[OPTIONS_INSTANCE_MAX + 1]; /* of the instance: [a-z0-9-]{1,64} */
	uint16_t port;			     /* 0: a free one */
	bool private_daemon;
	bool takeover;		  /* of a running daemon */
	uint32_t takeover_wait_s; /* for its streams amid a message */
	int ready_fd;		  /* -1: none */
	bool verbose;
	bool no_audit;
	struct sluice_address web;		      /* port 0: no metrics */
	bool web_told;				      /* on the command line, where or not */
	const char *web_hosts[OPTIONS_WEB_HOSTS_MAX]; /* names it answers to */
	size_t web_host_count;
	/* The audit trail: "" for none. Its files' size in bytes, and how many are kept. */
	char audit_dir[OPTIONS_AUDIT_DIR_MAX];
	uint64_t audit_file_bytes;
	size_t audit_files;
};

/* -EINVAL: one line was said on standard error. */
int options_parse(int argc, char **argv, struct options *ret_options) must_check;
void options_print_help(void);

#endif
