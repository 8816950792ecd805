/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place for tests with real programs and real sockets: network and mount
 * namespaces of the test's own, a bpf file system in it, a cgroup for the
 * daemon (which the test process itself joins), one for the agent, and helper
 * processes that make sockets in the agent's cgroup and outside of all.
 *
 * Invariants: all that it makes ends with harness_done(), or with the process
 * where the test is killed; only the cgroups would then be left, empty, named
 * by the process's id.
 */
#ifndef SLUICE_TESTS_BPF_HARNESS_H
#define SLUICE_TESTS_BPF_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/types.h>
#include <cmocka.h>

#include "kern/kern.h"

#define HARNESS_PORT	 1008
#define HARNESS_POLICY	 1u
#define HARNESS_INSTANCE "tested"
#define HARNESS_SKIP	 77

/* A process that makes sockets, and so decides which cgroup they belong to. */
struct helper {
	pid_t pid;
	int fd;
};

struct harness {
	char dir[64]; /* a temporary directory */
	char pins[128];
	char daemon_cgroup[256], agent_cgroup[256], old_cgroup[256];
	struct helper agent, outside;
	struct kern *kern; /* NULL until harness_open */
	int listener[2];   /* IPv4, IPv6; -1 until harness_listen */
	uint64_t watch;	   /* 0 until harness_watch */
};

/* Runs the tests; where the user is not root says so and returns HARNESS_SKIP. */
#define harness_run(tests) harness_run_tests(#tests, tests, ARRAY_SIZE(tests))
int harness_run_tests(const char *name, const struct CMUnitTest *tests, size_t count);

/* cmocka set-up and tear-down: a place; a place with kern, listeners and a watched agent. */
int harness_setup(void **state);
int harness_setup_open(void **state);
int harness_setup_watched(void **state);
int harness_teardown(void **state);

/* The steps of the set-ups, which fail the test where they fail. */
void harness_open(struct harness *harness);
void harness_listen(struct harness *harness);
/* Lets everything be captured; every step up to here where it is not done yet. */
void harness_watch(struct harness *harness);

/* A child in the cgroup (NULL: where the parent is) that runs body; returns its pid. */
pid_t harness_fork(const char *cgroup, void (*body)(void *context), void *context);
/* The exit status, or 128 and the signal. */
int harness_wait(pid_t pid);
void harness_join(const char *cgroup);

/* A socket that was made by the helper, or -errno. */
int helper_socket(const struct helper *helper, int family, int type, int protocol);

/* Addresses: "127.0.0.1", "::1", "::ffff:127.0.0.1"; the socket's family decides on v4-mapped. */
socklen_t address_make(struct sockaddr_storage *address, int family, const char *text,
		       uint16_t port);
uint16_t address_port(int fd);
/* Text of what getpeername (peer) or getsockname says, as "[addr]:port". */
void address_text(int fd, bool peer, char *text, size_t len);
/* connect() with a limit of a second; 0 or -errno. */
int socket_connect(int fd, const char *text, uint16_t port);
/* A listening socket of the helper; its port. */
int socket_listen(const struct helper *helper, int family, const char *text, uint16_t *ret_port);
/* accept() with a limit of a second; -ETIMEDOUT. */
int socket_accept(int listener);

/* Reads exactly len bytes within the time; returns how many came. */
size_t socket_read(int fd, void *buffer, size_t len, int timeout_ms);
/* Asserts that nothing comes for some time. */
void assert_silent(int fd);
/* Asserts that exactly these bytes come, and then nothing. */
void assert_reads(int fd, const void *bytes, size_t len);

/* Asserts that the connection was reset, or ended, with nothing before it. */
void assert_reset(int fd);
void assert_end(int fd);

/* A flow of the daemon's to a peer outside, bounded by a slot. */
struct flow {
	int data; /* the daemon's socket */
	int peer; /* outside */
	uint32_t slot;
	uint16_t generation;
};
/* text: where the peer listens; family: of the daemon's socket. */
void flow_open(struct harness *harness, struct flow *flow, int family, const char *text, bool open);
void flow_close(struct harness *harness, struct flow *flow);
/* Makes TCP push what the gate admits now. */
void flow_poke(const struct flow *flow);
/* Waits until the gate has let pass so much. */
void flow_wait(struct harness *harness, const struct flow *flow, uint64_t position);
/* Publishes, and pokes. */
void flow_release(struct harness *harness, struct flow *flow, uint64_t offset);

/* A captured stream: the agent's socket and the one that the daemon accepted for it. */
struct steered {
	int agent, accepted;
};
void steered_open(struct harness *harness, struct steered *steered, int family, const char *text,
		  uint16_t port);
void steered_close(struct steered *steered);

#define HARNESS_ERROR 256u
/* Opens the harness's pins again, as its daemon would; on failure there is no kern. */
int harness_reopen(struct harness *harness, char error[static HARNESS_ERROR]);
/* Connects a socket of the agent's once and closes it; 0 or -errno. */
int harness_connect(struct harness *harness, int family, const char *text, uint16_t port);

uint64_t harness_counter(struct harness *harness, enum sluice_counter counter);
/* Writes a sysctl, "net/ipv4/…". */
void harness_sysctl(const char *name, const char *value);
/* The pinned map of that name. */
int harness_map(const struct harness *harness, const char *name);

#endif
