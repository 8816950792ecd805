/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/options.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "core/policy.h"
#include "daemon/audit_file.h"
#include "daemon/limits.h"
#include "sys/log.h"

enum {
	OPTION_FIRST = 256,
	POLICY = OPTION_FIRST,
	GROUP,
	VIEW_GROUP,
	SOCKET,
	INSTANCE,
	PORT,
	PRIVATE,
	TAKEOVER,
	READY_FD,
	CHECK,
	REMOVE,
	VERBOSE,
	AUDIT,
	NO_AUDIT,
	AUDIT_FILE_BYTES,
	AUDIT_FILES,
	METRICS,
	METRICS_HOST,
	NO_METRICS,
	VERSION,
	HELP
};

static const struct option long_options[] = {
	{"policy", required_argument, NULL, POLICY},
	{"group", required_argument, NULL, GROUP},
	{"view-group", required_argument, NULL, VIEW_GROUP},
	{"socket", required_argument, NULL, SOCKET},
	{"instance", required_argument, NULL, INSTANCE},
	{"port", required_argument, NULL, PORT},
	{"private", no_argument, NULL, PRIVATE},
	{"takeover", required_argument, NULL, TAKEOVER},
	{"ready-fd", required_argument, NULL, READY_FD},
	{"check", no_argument, NULL, CHECK},
	{"remove", no_argument, NULL, REMOVE},
	{"verbose", no_argument, NULL, VERBOSE},
	{"audit", required_argument, NULL, AUDIT},
	{"no-audit", no_argument, NULL, NO_AUDIT},
	{"audit-file-bytes", required_argument, NULL, AUDIT_FILE_BYTES},
	{"audit-files", required_argument, NULL, AUDIT_FILES},
	{"metrics", required_argument, NULL, METRICS},
	{"metrics-host", required_argument, NULL, METRICS_HOST},
	{"no-metrics", no_argument, NULL, NO_METRICS},
	{"version", no_argument, NULL, VERSION},
	{"help", no_argument, NULL, HELP},
	{0},
};

void options_print_help(void)
{
	(void)printf(
		"usage: sluiced [OPTION…]\n"
		"\n"
		"  --policy FILE    a policy, known by its name; may be repeated. The first is "
		"that\n"
		"                   of runs and watches that name none. SIGHUP reads all anew\n"
		"  --group NAME, --view-group NAME\n"
		"                   groups of who may steer this daemon, and of who may look\n"
		"                   (default %s, %s)\n"
		"  --instance NAME  pins, cgroups and run-time files of this name (default %s,\n"
		"                   private: a name of its own)\n"
		"  --socket PATH    control socket (default /run/sluice/NAME.sock)\n"
		"  --port N         loopback port of the listeners, 1..%u (default %u)\n"
		"  --private        take any free port; remove everything on exit\n"
		"  --takeover SECONDS\n"
		"                   take the running daemon of this instance over, which waits so\n"
		"                   long for streams amid a message; see `sluicectl handover`\n"
		"  --metrics ADDRESS:PORT\n"
		"                   where metrics and the status page are served (default\n"
		"                   %s, private: nowhere); --no-metrics: nowhere\n"
		"  --metrics-host NAME\n"
		"                   a name, beside addresses and localhost, under which they are\n"
		"                   asked for; may be repeated\n"
		"  --ready-fd N     write \"ready\" or \"error: …\" there; a private daemon exits\n"
		"                   when its other end closes\n"
		"  --audit DIR      directory of the audit trail (default %s/NAME,\n"
		"                   private: no trail); --no-audit: none\n"
		"  --audit-file-bytes N, --audit-files N\n"
		"                   size of a file of it (default %llu), how many are kept (%u)\n"
		"  --check          print what the kernel offers, as JSON, and exit\n"
		"  --remove         remove what a dead daemon of this instance left, and exit\n"
		"  --verbose        say also how streams ended that were complete\n"
		"  --version, --help\n",
		OPTIONS_GROUP, OPTIONS_VIEW_GROUP, OPTIONS_INSTANCE_DEFAULT, OPTIONS_PORT_MAX,
		OPTIONS_PORT_DEFAULT, OPTIONS_WEB, OPTIONS_AUDIT_DIR, LIMIT_AUDIT_FILE_BYTES,
		LIMIT_AUDIT_FILES);
}

static int parse_number(const char *name, const char *text, long min, long max, long *ret_number)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (errno || end == text || *end || number < min || number > max) {
		log_error("--%s: '%s' is not a number from %ld to %ld", name, text, min, max);
		return -EINVAL;
	}
	*ret_number = number;
	return 0;
}

static int check_instance(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

	if (!len || name[len] || len > OPTIONS_INSTANCE_MAX) {
		log_error("--instance: '%s' is not a name of 1 to %u of a-z, 0-9 and '-'", name,
			  OPTIONS_INSTANCE_MAX);
		return -EINVAL;
	}
	return 0;
}

static int set_port(struct options *options)
{
	long number;

	if (parse_number("port", optarg, 1, OPTIONS_PORT_MAX, &number))
		return -EINVAL;
	options->port = (uint16_t)number;
	return 0;
}

static int set_takeover(struct options *options)
{
	long number;

	if (parse_number("takeover", optarg, 0, OPTIONS_TAKEOVER_MAX_S, &number))
		return -EINVAL;
	options->takeover = true;
	options->takeover_wait_s = (uint32_t)number;
	return 0;
}

static int set_ready_fd(struct options *options)
{
	long number;

	if (parse_number("ready-fd", optarg, 0, 1 << 20, &number))
		return -EINVAL;
	options->ready_fd = (int)number;
	if (fcntl(options->ready_fd, F_SETFD, FD_CLOEXEC) < 0) {
		log_error("--ready-fd: descriptor %ld is not open", number);
		return -EINVAL;
	}
	return 0;
}

/* Made absolute: messages and `status` name it to who is elsewhere. */
static int set_audit(struct options *options)
{
	char *here = optarg[0] == '/' ? NULL : getcwd(NULL, 0);
	int len = snprintf(options->audit_dir, sizeof(options->audit_dir), "%s%s%s",
			   here ? here : "", here ? "/" : "", optarg);

	free(here);
	if (!optarg[0] || len < 0 || (size_t)len >= sizeof(options->audit_dir)) {
		log_error("--audit: '%s' is not the path of a directory, of less than %u bytes",
			  optarg, OPTIONS_AUDIT_DIR_MAX);
		return -EINVAL;
	}
	return 0;
}

static int set_audit_file_bytes(struct options *options)
{
	long number;

	if (parse_number("audit-file-bytes", optarg, 65536, 1L << 40, &number))
		return -EINVAL;
	options->audit_file_bytes = (uint64_t)number;
	return 0;
}

static int set_audit_files(struct options *options)
{
	long number;

	if (parse_number("audit-files", optarg, 2, AUDIT_KEEP_MAX, &number))
		return -EINVAL;
	options->audit_files = (size_t)number;
	return 0;
}

static int set_web(struct options *options, const char *text)
{
	struct sluice_address address = {0};

	if (policy_parse_peer(text, address.addr, &address.port)) {
		log_error("--metrics: '%s' is not ADDRESS:PORT, with an IPv6 address in brackets",
			  text);
		return -EINVAL;
	}
	address.family = address_is_v4(address.addr) ? AF_INET : AF_INET6;
	options->web = address;
	return 0;
}

static int add_web_host(struct options *options)
{
	size_t len = strspn(optarg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789.-_");

	if (!len || optarg[len]) {
		log_error("--metrics-host: '%s' is not the name of a host, without a port", optarg);
		return -EINVAL;
	}
	if (options->web_host_count == OPTIONS_WEB_HOSTS_MAX) {
		log_error("--metrics-host: more than %u", OPTIONS_WEB_HOSTS_MAX);
		return -EINVAL;
	}
	options->web_hosts[options->web_host_count++] = optarg;
	return 0;
}

static int set_metrics(struct options *options, int option)
{
	switch (option) {
	case METRICS:
		options->web_told = true;
		return set_web(options, optarg);
	case METRICS_HOST:
		return add_web_host(options);
	default:
		options->web_told = true;
		options->web.port = 0;
		return 0;
	}
}

static int add_policy(struct options *options)
{
	if (options->policy_count == ARRAY_SIZE(options->policies)) {
		log_error("--policy: more than %u", OPTIONS_POLICIES_MAX);
		return -EINVAL;
	}
	options->policies[options->policy_count++] = optarg;
	return 0;
}

static int set_option(struct options *options, int option)
{
	switch (option) {
	case POLICY:
		return add_policy(options);
	case GROUP:
		options->group = optarg;
		return 0;
	case VIEW_GROUP:
		options->view_group = optarg;
		return 0;
	case SOCKET:
		options->socket = optarg;
		return 0;
	case INSTANCE:
		options->instance = optarg;
		return check_instance(optarg);
	case PORT:
		return set_port(options);
	case PRIVATE:
		options->private_daemon = true;
		return 0;
	case TAKEOVER:
		return set_takeover(options);
	case READY_FD:
		return set_ready_fd(options);
	case CHECK:
		options->action = OPTIONS_CHECK;
		return 0;
	case REMOVE:
		options->action = OPTIONS_REMOVE;
		return 0;
	case VERBOSE:
		options->verbose = true;
		return 0;
	case AUDIT:
		return set_audit(options);
	case NO_AUDIT:
		options->no_audit = true;
		return 0;
	case AUDIT_FILE_BYTES:
		return set_audit_file_bytes(options);
	case AUDIT_FILES:
		return set_audit_files(options);
	case METRICS:
	case METRICS_HOST:
	case NO_METRICS:
		return set_metrics(options, option);
	case VERSION:
		options->action = OPTIONS_VERSION;
		return 0;
	case HELP:
		options->action = OPTIONS_HELP;
		return 0;
	default:
		return -EINVAL;
	}
}

/* What getopt_long() found wrong, of the argument that it read last. */
static void say_wrong(char **argv, int option)
{
	const char *text = argv[optind - 1];

	if (option == ':')
		log_error("option '%s' needs an argument; see --help", text);
	else if (optopt >= OPTION_FIRST)
		log_error("option '%s' takes no argument; see --help", text);
	else if (optopt)
		log_error("unknown option '-%c'; see --help", optopt);
	else
		log_error("unknown option '%s', or the beginning of several; see --help", text);
}

int options_parse(int argc, char **argv, struct options *ret_options)
{
	struct options options = {
		.ready_fd = -1,
		.group = OPTIONS_GROUP,
		.view_group = OPTIONS_VIEW_GROUP,
		.audit_file_bytes = LIMIT_AUDIT_FILE_BYTES,
		.audit_files = LIMIT_AUDIT_FILES,
	};
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
		if (option == '?' || option == ':')
			say_wrong(argv, option);
		if (set_option(&options, option))
			return -EINVAL;
	}
	if (optind < argc) {
		log_error("unexpected argument '%s'; see --help", argv[optind]);
		return -EINVAL;
	}
	if (options.takeover && options.private_daemon) {
		log_error("--takeover: a private daemon is not handed over");
		return -EINVAL;
	}
	if (!options.port && !options.private_daemon)
		options.port = OPTIONS_PORT_DEFAULT;
	if (!options.web_told && !options.private_daemon && set_web(&options, OPTIONS_WEB))
		return -EINVAL;
	if (options.instance)
		(void)snprintf(options.name, sizeof(options.name), "%s", options.instance);
	else if (options.private_daemon)
		(void)snprintf(options.name, sizeof(options.name), "private-%d", (int)getpid());
	else
		(void)strcpy(options.name, OPTIONS_INSTANCE_DEFAULT);
	if (options.no_audit)
		options.audit_dir[0] = '\0';
	else if (!options.audit_dir[0] && !options.private_daemon)
		(void)snprintf(options.audit_dir, sizeof(options.audit_dir), "%s/%s",
			       OPTIONS_AUDIT_DIR, options.name);
	*ret_options = options;
	return 0;
}
