/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the sockets that processes had before their cgroup was watched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "daemon/census.h"

#define INSIDE	true
#define OUTSIDE false

static struct sluice_census record(uint16_t family, uint16_t type, uint16_t protocol, uint8_t state,
				   bool inside)
{
	return (struct sluice_census){
		.inode = 7,
		.pid = 42,
		.family = family,
		.type = type,
		.protocol = protocol,
		.state = state,
		.inside = inside,
	};
}

static enum census_kind kind(uint16_t family, uint16_t type, uint16_t protocol, uint8_t state,
			     bool inside)
{
	const struct sluice_census one = record(family, type, protocol, state, inside);

	return census_kind_of(&one);
}

static void what_was_made_inside(void **unused)
{
	static const uint8_t live[] = {TCP_ESTABLISHED, TCP_SYN_SENT,  TCP_LISTEN, TCP_FIN_WAIT1,
				       TCP_CLOSE_WAIT,	TCP_FIN_WAIT2, 12};

	(void)unused;
	assert_int_equal(kind(AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_CLOSE, INSIDE), CENSUS_FREE);
	assert_int_equal(kind(AF_INET6, SOCK_DGRAM, IPPROTO_UDP, TCP_CLOSE, INSIDE), CENSUS_FREE);
	for (size_t i = 0; i < ARRAY_SIZE(live); i++)
		assert_int_equal(kind(AF_INET6, SOCK_STREAM, IPPROTO_TCP, live[i], INSIDE),
				 CENSUS_LIVE);
	assert_int_equal(kind(AF_INET, SOCK_DGRAM, IPPROTO_UDP, TCP_ESTABLISHED, INSIDE),
			 CENSUS_LIVE);
}

static void what_was_made_outside(void **unused)
{
	(void)unused;
	assert_int_equal(kind(AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_CLOSE, OUTSIDE),
			 CENSUS_STRANGE);
	assert_int_equal(kind(AF_INET6, SOCK_STREAM, IPPROTO_TCP, TCP_ESTABLISHED, OUTSIDE),
			 CENSUS_STRANGE);
	assert_int_equal(kind(AF_INET6, SOCK_DGRAM, IPPROTO_UDP, TCP_CLOSE, OUTSIDE),
			 CENSUS_STRANGE);
}

static void what_stays_local(void **unused)
{
	(void)unused;
	assert_int_equal(kind(AF_UNIX, SOCK_STREAM, 0, TCP_ESTABLISHED, INSIDE), CENSUS_LOCAL);
	assert_int_equal(kind(AF_UNIX, SOCK_STREAM, 0, TCP_LISTEN, INSIDE), CENSUS_LOCAL);
	assert_int_equal(kind(AF_UNIX, SOCK_DGRAM, 0, TCP_CLOSE, OUTSIDE), CENSUS_LOCAL);
	assert_int_equal(kind(AF_UNIX, SOCK_DGRAM, 0, TCP_CLOSE, INSIDE), CENSUS_FREE);
	assert_int_equal(kind(AF_NETLINK, SOCK_RAW, 0, TCP_CLOSE, OUTSIDE), CENSUS_FREE);
}

static void check_foreign(uint16_t family, uint16_t type, uint16_t protocol, const char *name)
{
	const struct sluice_census one = record(family, type, protocol, TCP_CLOSE, INSIDE);
	struct census census = {0};

	assert_int_equal(census_add(&census, &one), 0);
	assert_int_equal(census.kinds[CENSUS_FOREIGN].count, 1);
	assert_int_equal(census.kinds[CENSUS_FOREIGN].pid, 42);
	assert_string_equal(census.foreign, name);
	census_done(&census);
}

static void all_else_is_a_way_out(void **unused)
{
	(void)unused;
	check_foreign(AF_PACKET, SOCK_RAW, 0, "packet");
	check_foreign(AF_VSOCK, SOCK_STREAM, 0, "vsock");
	check_foreign(AF_INET, SOCK_RAW, IPPROTO_TCP, "raw");
	check_foreign(AF_INET6, SOCK_RAW, IPPROTO_UDP, "raw");
	check_foreign(AF_INET, SOCK_STREAM, IPPROTO_MPTCP, "MPTCP");
	check_foreign(AF_INET, SOCK_DGRAM, IPPROTO_ICMP, "ping");
	check_foreign(AF_INET, SOCK_DGRAM, IPPROTO_TCP, "protocol 6");
	check_foreign(AF_INET, SOCK_STREAM, IPPROTO_UDP, "protocol 17");
	check_foreign(AF_INET6, SOCK_SEQPACKET, 65535, "protocol 65535");
	/* What could not be read. */
	check_foreign(AF_UNSPEC, 0, 0, "family 0");
}

static void each_socket_counts_once(void **unused)
{
	struct sluice_census one = record(AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_LISTEN, INSIDE);
	static const uint64_t inodes[] = {9, 4, 9, 7, 4, 9};
	struct census census = {0};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(inodes); i++) {
		one.inode = inodes[i];
		one.pid = (uint32_t)(100 + i);
		assert_int_equal(census_add(&census, &one), 0);
	}
	/* The same number in another kind is another matter. */
	one.inside = OUTSIDE;
	assert_int_equal(census_add(&census, &one), 0);
	census_sum(&census);
	assert_int_equal(census.kinds[CENSUS_LIVE].count, 3);
	assert_int_equal(census.kinds[CENSUS_LIVE].inodes[0], 4);
	assert_int_equal(census.kinds[CENSUS_LIVE].inodes[2], 9);
	assert_int_equal(census.kinds[CENSUS_LIVE].pid, 100);
	assert_int_equal(census.kinds[CENSUS_STRANGE].count, 1);
	census_done(&census);
	assert_int_equal(census.kinds[CENSUS_LIVE].count, 0);
}

static void bounded(void **unused)
{
	const struct sluice_census one =
		record(AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_CLOSE, OUTSIDE);
	struct census census = {0};

	(void)unused;
	for (size_t i = 0; i < CENSUS_MAX; i++)
		assert_int_equal(census_add(&census, &one), 0);
	assert_int_equal(census_add(&census, &one), -E2BIG);
	assert_int_equal(census.kinds[CENSUS_STRANGE].count, CENSUS_MAX);
	census_done(&census);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_made_inside),	   cmocka_unit_test(what_was_made_outside),
		cmocka_unit_test(what_stays_local),	   cmocka_unit_test(all_else_is_a_way_out),
		cmocka_unit_test(each_socket_counts_once), cmocka_unit_test(bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
