/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/doctor.h"
#include "sys/detours.h"
#include "sys/fd.h"
#include "sys/netfilter.h"

#define AFTER_TCP ((1u << NF_INET_LOCAL_OUT) | (1u << NF_INET_POST_ROUTING))
#define PLACE_LEN 1024u

/* Of a rule what it matches is not read: it may be less. */
#define ALL_BYTES                                                                     \
	"what agents send to the daemon before it is judged, and what waits for the " \
	"gate with eager_bytes over 0"
#define ARRIVING_BYTES "what arrives at the daemon before it is judged"
#define REMOVE	       "remove it, or have it leave out loopback, with eager_bytes at 0"

/* Where the warnings go, and of which namespace they are. */
struct looking {
	json_t *warnings;
	const char *namespace;
};

/* Names in it are others': what is no text would be no warning either. */
static void warn(const struct looking *looking, const char *kind, const char *place,
		 const char *sees, const char *remedy)
{
	char safe[PLACE_LEN];
	size_t i;

	for (i = 0; place[i] && i < sizeof(safe) - 1; i++)
		safe[i] = place[i] >= ' ' && place[i] <= '~' ? place[i] : '?';
	safe[i] = '\0';
	(void)json_array_append_new(looking->warnings,
				    json_pack("{s:s, s:s, s:s, s:s, s:s}", "kind", kind,
					      "namespace", looking->namespace, "place", safe,
					      "sees", sees, "remedy", remedy));
}

static void add_finding(void *context, const struct netfilter_finding *finding)
{
	static const struct {
		const char *kind;
		/* Where it is reached from output or postrouting, and where from before them only. */
		const char *sees, *sees_arriving;
		const char *remedy;
	} acts[_NETFILTER_ACT_MAX] = {
		[NETFILTER_LOG] = {"netfilter_log", "a log group may have " ALL_BYTES,
				   "a log group may have " ARRIVING_BYTES, REMOVE},
		[NETFILTER_QUEUE] = {"netfilter_queue", "a queue may have " ALL_BYTES,
				     "a queue may have " ARRIVING_BYTES, REMOVE},
		[NETFILTER_COPY] = {"netfilter_copy",
				    "a copy, which no gate sees, may leave of " ALL_BYTES,
				    "a copy may leave of " ARRIVING_BYTES, REMOVE},
		[NETFILTER_REDIRECT] =
			{"netfilter_redirect",
			 "connections may go elsewhere than policy saw them go, and those of "
			 "agents that it turns away from the daemon are refused",
			 "", "have it leave out loopback; write policy for addresses before it"},
		[NETFILTER_TPROXY] = {"netfilter_tproxy", "",
				      "another listener may get agents' connections, which then "
				      "carry nothing",
				      "have it leave out loopback"},
	};
	const bool leaving = (finding->hooks & AFTER_TCP) != 0;
	char place[PLACE_LEN];

	(void)snprintf(place, sizeof(place), "%s: table %s %s, chain %s, %u %s", finding->source,
		       finding->family, finding->table, finding->chain, finding->count,
		       finding->count == 1 ? "rule" : "rules");
	warn(context, acts[finding->act].kind, place,
	     leaving ? acts[finding->act].sees : acts[finding->act].sees_arriving,
	     acts[finding->act].remedy);
}

static void add_detour(void *context, enum detour_kind detour, const char *place)
{
	static const struct {
		const char *kind, *sees, *remedy;
	} kinds[_DETOUR_MAX] = {
		[DETOUR_LOOPBACK] = {"loopback_route",
				     "agents cannot reach the daemon: it is not local",
				     "ip link set lo up; ip rule add pref 0 table local"},
		[DETOUR_RULE] = {"routing_rule",
				 "it may lead agents' connections away from the daemon: it comes "
				 "before the local table",
				 "give it a priority behind the local table's"},
		[DETOUR_PROGRAM] = {"route_program",
				    "its BPF program sees what waits for the gate, with "
				    "eager_bytes over 0",
				    "keep eager_bytes at 0"},
		[DETOUR_WRAPPED] = {"route_wraps",
				    "the gate finds no TCP in what it wraps: streams by it carry "
				    "nothing",
				    "wrap at a device or on another host"},
		[DETOUR_IPSEC] = {"ipsec",
				  "the gate finds no TCP in what it wraps: streams under it "
				  "carry nothing",
				  "use an xfrm interface, or another host"},
		[DETOUR_BALANCED] = {"ipvs",
				     "connections go elsewhere than policy saw them go; "
				     "streams in its tunnels carry nothing",
				     "write policy for addresses before it; no tunnels"},
		[DETOUR_PACKETS] = {"packet_sockets",
				    "their owners see what agents send to the daemon before it is "
				    "judged",
				    "ss -0 -p shows them"},
		[DETOUR_PATIENCE] = {"tcp_patience",
				     "TCP gives up sooner on what waits for the gate, with "
				     "eager_bytes over 0",
				     "set tcp_retries2 to 15 and tcp_rto_max_ms to 120000, or keep "
				     "eager_bytes at 0"},
		[DETOUR_UNKNOWN] = {"unknown", "could not be looked at", "run this as root"},
	};

	warn(context, kinds[detour].kind, place, kinds[detour].sees, kinds[detour].remedy);
}

static void look(const struct looking *looking)
{
	struct looking copy = *looking;
	const struct netfilter_visitor netfilter = {add_finding, &copy};
	const struct detour_visitor detours = {add_detour, &copy};
	char place[PLACE_LEN];
	int r = netfilter_scan_nft(&netfilter);

	if (r) {
		(void)snprintf(place, sizeof(place), "nftables: %s", strerror(-r));
		add_detour(&copy, DETOUR_UNKNOWN, place);
	}
	r = netfilter_scan_xtables(&netfilter);
	if (r) {
		(void)snprintf(place, sizeof(place), "iptables: %s", strerror(-r));
		add_detour(&copy, DETOUR_UNKNOWN, place);
	}
	detours_scan(&detours);
}

static bool is_same(int one, int other)
{
	struct stat first, second;

	return !fstat(one, &first) && !fstat(other, &second) && first.st_ino == second.st_ino &&
	       first.st_dev == second.st_dev;
}

void doctor_check_network(json_t *warnings, pid_t daemon)
{
	const struct looking own = {warnings, "own"}, theirs = {warnings, "daemon"};
	int own_fd cleanup(fd_closep) = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int fd cleanup(fd_closep) = -1;
	char path[64];

	look(&own);
	if (!daemon)
		return;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)daemon);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && own_fd >= 0 && is_same(fd, own_fd))
		return;
	if (fd < 0 || own_fd < 0 || setns(fd, CLONE_NEWNET)) {
		(void)snprintf(path, sizeof(path), "network namespace: %s", strerror(errno));
		warn(&theirs, "unknown", path, "could not be looked at", "run this as root");
		return;
	}
	look(&theirs);
	(void)!setns(own_fd, CLONE_NEWNET);
}
