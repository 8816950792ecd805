/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/routes.h"

#include <errno.h>
#include <sys/socket.h>

#include "daemon/daemon.h"
#include "daemon/limits.h"
#include "kern/kern.h"
#include "sys/fd.h"
#include "sys/log.h"
#include "sys/route.h"

static int publish(struct daemon *daemon)
{
	static const int families[] = {AF_INET, AF_INET6};

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		bool exists;
		int r = route_exists(families[i], &exists);

		if (!r)
			r = kern_route_set(daemon->kern, families[i], exists);
		if (r)
			return r;
	}
	return 0;
}

static void on_settled(evutil_socket_t fd, short what, void *context)
{
	int r;

	(void)fd;
	(void)what;
	r = publish(context);
	if (r)
		log_errno(LOG_WARNING, r,
			  "routes could not be read, continuing with what was known");
}

static void on_changed(evutil_socket_t fd, short what, void *context)
{
	static const struct timeval burst = {.tv_usec = LIMIT_ROUTES_MS * 1000};
	struct daemon *daemon = context;

	(void)what;
	route_drain(fd);
	if (!evtimer_pending(&daemon->routes.settle, NULL))
		(void)evtimer_add(&daemon->routes.settle, &burst);
}

void routes_init(struct routes *routes)
{
	*routes = (struct routes){.fd = -1};
}

int routes_start(struct daemon *daemon)
{
	struct routes *routes = &daemon->routes;
	int r = route_watch(&routes->fd);

	if (r)
		return r;
	(void)evtimer_assign(&routes->settle, daemon->base, on_settled, daemon);
	(void)event_assign(&routes->readable, daemon->base, routes->fd, EV_READ | EV_PERSIST,
			   on_changed, daemon);
	if (event_add(&routes->readable, NULL))
		return -ENOMEM;
	return publish(daemon);
}

void routes_done(struct routes *routes)
{
	if (event_initialized(&routes->settle))
		(void)evtimer_del(&routes->settle);
	if (event_initialized(&routes->readable))
		(void)event_del(&routes->readable);
	fd_close(take_fd(routes->fd));
}
