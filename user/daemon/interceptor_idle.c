/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to interceptors that wait for their next question. */
#include <sys/socket.h>

#include "daemon/interceptor_internal.h"

#define DRAIN 4096u
/* Reads of one connection; whoever says more than that is ended with the rest unread. */
#define DRAINS_MAX 64u

/*
 * libcurl 7.88 uses a connection again on which there is something to read. Once that is gone
 * and the connection shut, it finds it dead, or asks again on another.
 */
static void end_connection(int fd)
{
	char room[DRAIN];

	(void)shutdown(fd, SHUT_RDWR);
	for (unsigned int i = 0; i < DRAINS_MAX; i++)
		if (recv(fd, room, sizeof(room), MSG_DONTWAIT) <= 0)
			break;
}

void idle_add(struct interceptors *interceptors, int fd)
{
	if (interceptors->idle_count == ARRAY_SIZE(interceptors->idle)) {
		end_connection(fd);
		return;
	}
	interceptors->idle[interceptors->idle_count++] = (struct pollfd){
		.fd = fd,
		.events = POLLIN,
	};
}

void idle_remove(struct interceptors *interceptors, int fd)
{
	for (nfds_t i = 0; i < interceptors->idle_count; i++) {
		if (interceptors->idle[i].fd != fd)
			continue;
		interceptors->idle[i] = interceptors->idle[--interceptors->idle_count];
		return;
	}
}

void idle_sweep(struct interceptors *interceptors)
{
	if (poll(interceptors->idle, interceptors->idle_count, 0) <= 0)
		return;
	for (nfds_t i = 0; i < interceptors->idle_count; i++)
		if (interceptors->idle[i].revents)
			end_connection(interceptors->idle[i].fd);
}
