/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "daemon/daemon.h"
#include "daemon/limits.h"
#include "daemon/settle.h"
#include "daemon/web_host.h"
#include "kern/kern.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/log.h"

/*
 * libevent does not tell when it lets go of a client: a reference of ours keeps the client's
 * buffers, which have no callbacks any more once that has happened.
 */
struct client {
	TAILQ_ENTRY(client) entry;
	struct bufferevent *buffers;
	uint64_t deadline_ns; /* of its next request, or of its reading the answer to the last */
};

struct web {
	struct daemon *daemon;
	struct evhttp *http;
	struct evconnlistener *listener;
	TAILQ_HEAD(, client) clients;
	size_t count;
	struct event sweep;
};

static const struct timeval sweep_interval = {.tv_usec = LIMIT_WEB_SWEEP_MS * 1000};

static const struct {
	const char *path;
	void (*answer)(struct daemon *daemon, struct evhttp_request *request);
} routes[] = {
	{"/", web_page},
	{"/metrics", web_metrics},
	{"/streams.json", web_streams},
	{"/status.json", web_status},
};

void web_headers(struct evhttp_request *request, const char *type)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);

	(void)evhttp_add_header(headers, "Content-Type", type);
	(void)evhttp_add_header(headers, "Cache-Control", "no-store");
	(void)evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
}

void web_reply(struct evhttp_request *request, int status, struct evbuffer *body)
{
	char length[24];

	(void)snprintf(length, sizeof(length), "%zu", evbuffer_get_length(body));
	(void)evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Length",
				length);
	if (evhttp_request_get_command(request) == EVHTTP_REQ_HEAD)
		(void)evbuffer_drain(body, evbuffer_get_length(body));
	evhttp_send_reply(request, status, NULL, body);
}

static void refuse(struct evhttp_request *request, int status, const char *why)
{
	struct evbuffer *body = evbuffer_new();

	if (!body || evbuffer_add_printf(body, "%s\n", why) < 0) {
		if (body)
			evbuffer_free(body);
		evhttp_send_error(request, HTTP_INTERNAL, NULL);
		return;
	}
	/* What is behind it is not what anybody may rely on. */
	(void)evhttp_add_header(evhttp_request_get_output_headers(request), "Connection", "close");
	web_headers(request, "text/plain; charset=utf-8");
	web_reply(request, status, body);
	evbuffer_free(body);
}

/* H4, of the Host and of the request line's. No browser leaves it out, and none sends two. */
static bool host_is_known(const struct options *options, struct evhttp_request *request)
{
	const struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
	const char *host = uri ? evhttp_uri_get_host(uri) : NULL;
	const struct evkeyval *header;
	size_t count = 0;

	if (host && !web_host_allowed(host, options->web_hosts, options->web_host_count))
		return false;
	TAILQ_FOREACH(header, headers, next)
	{
		if (evutil_ascii_strcasecmp(header->key, "Host") != 0)
			continue;
		if (count++ ||
		    !web_host_allowed(header->value, options->web_hosts, options->web_host_count))
			return false;
	}
	return true;
}

static void postpone(struct web *web, struct evhttp_request *request)
{
	struct bufferevent *buffers =
		evhttp_connection_get_bufferevent(evhttp_request_get_connection(request));
	struct client *client;

	TAILQ_FOREACH(client, &web->clients, entry)
	{
		if (client->buffers == buffers)
			client->deadline_ns = clock_boot_ns() + LIMIT_WEB_IDLE_S * CLOCK_NS_PER_S;
	}
}

static void on_request(struct evhttp_request *request, void *context)
{
	enum evhttp_cmd_type method = evhttp_request_get_command(request);
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
	const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
	struct web *web = context;

	postpone(web, request);
	if (!host_is_known(web->daemon->options, request)) {
		refuse(request, 403, "the Host of this request is none that is served here");
		return;
	}
	if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD) {
		(void)evhttp_add_header(evhttp_request_get_output_headers(request), "Allow",
					"GET, HEAD");
		refuse(request, HTTP_BADMETHOD, "GET and HEAD only");
		return;
	}
	for (size_t i = 0; path && i < ARRAY_SIZE(routes); i++) {
		if (!strcmp(path, routes[i].path)) {
			routes[i].answer(web->daemon, request);
			return;
		}
	}
	refuse(request, HTTP_NOTFOUND, "there is /, /metrics, /status.json and /streams.json");
}

static bool is_gone(const struct client *client)
{
	bufferevent_data_cb read_callback, write_callback;
	bufferevent_event_cb event_callback;
	void *context;

	bufferevent_getcb(client->buffers, &read_callback, &write_callback, &event_callback,
			  &context);
	return !read_callback && !write_callback && !event_callback;
}

static void forget(struct web *web, struct client *client)
{
	TAILQ_REMOVE(&web->clients, client, entry);
	(void)bufferevent_decref(client->buffers);
	free(client);
	web->count--;
}

/* Forgets those that are gone, ends those that are late, and lets others in. */
static void sweep(struct web *web)
{
	uint64_t now_ns = clock_boot_ns();
	struct client *client, *next;

	for (client = TAILQ_FIRST(&web->clients); client; client = next) {
		next = TAILQ_NEXT(client, entry);
		if (is_gone(client))
			forget(web, client);
		else if (now_ns >= client->deadline_ns)
			(void)shutdown(bufferevent_getfd(client->buffers), SHUT_RDWR);
	}
	if (web->count < LIMIT_WEB_CLIENTS)
		(void)evconnlistener_enable(web->listener);
	else
		(void)evconnlistener_disable(web->listener);
	(void)event_add(&web->sweep, &sweep_interval);
}

static void on_sweep(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	sweep(context);
}

/* The buffers of a client that was just accepted. NULL: libevent makes its own. */
static struct bufferevent *on_client(struct event_base *base, void *context)
{
	struct client *client = calloc(1, sizeof(*client));
	struct web *web = context;

	/* Their descriptor is closed with them: its number is nobody else's while they watch it. */
	if (client)
		client->buffers = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	if (!client || !client->buffers) {
		free(client);
		return NULL;
	}
	/* What it sends while it is answered waits in its socket. */
	bufferevent_setwatermark(client->buffers, EV_READ, 0, LIMIT_WEB_REQUEST);
	bufferevent_incref(client->buffers);
	client->deadline_ns = clock_boot_ns() + LIMIT_WEB_IDLE_S * CLOCK_NS_PER_S;
	web->count++;
	TAILQ_INSERT_TAIL(&web->clients, client, entry);
	if (web->count >= LIMIT_WEB_CLIENTS)
		(void)evconnlistener_disable(web->listener);
	return client->buffers;
}

/* Without descriptors who waits would keep the loop turning: the sweep lets him in. */
static void on_accept_error(struct evconnlistener *listener, void *context)
{
	(void)context;
	(void)evconnlistener_disable(listener);
}

static int open_socket(const struct sluice_address *address, int *ret_fd)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(address->port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(address->port)};
	bool is_v4 = address_is_v4(address->addr);
	const struct sockaddr *name = is_v4 ? (void *)&v4 : (void *)&v6;
	int fd cleanup(fd_closep) = -1;
	const int on = 1;

	(void)memcpy(&v4.sin_addr, address->addr + ADDRESS_V4_AT, sizeof(v4.sin_addr));
	(void)memcpy(&v6.sin6_addr, address->addr, sizeof(v6.sin6_addr));
	fd = socket(name->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    (!is_v4 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on))) ||
	    bind(fd, name, is_v4 ? sizeof(v4) : sizeof(v6)))
		return -errno;
	*ret_fd = take_fd(fd);
	return 0;
}

static int failed(const struct daemon *daemon, int r, char *error, size_t error_len)
{
	char text[SETTLE_ADDRESS_LEN];

	settle_format_address(&daemon->options->web, text, sizeof(text));
	if (r == -EADDRINUSE)
		(void)snprintf(error, error_len,
			       "%s, where metrics are served, is in use; choose another --metrics "
			       "ADDRESS:PORT, or --no-metrics",
			       text);
	else
		(void)snprintf(error, error_len, "cannot serve metrics at %s: %s", text,
			       strerror(-r));
	return r;
}

/*
 * Nobody asked for the default: what the daemon guards does not wait for its port. Nor for any,
 * where it guards that already, or the one that does has the port until it gives everything up.
 */
static bool may_go_without(const struct daemon *daemon, int r)
{
	return r == -EADDRINUSE && (!daemon->options->web_told || daemon->options->takeover);
}

int web_check(const struct daemon *daemon, char *error, size_t error_len)
{
	int fd cleanup(fd_closep) = -1;
	int r = daemon->options->web.port ? open_socket(&daemon->options->web, &fd) : 0;

	/* Two that are bound, and do not listen, would get along. */
	if (!r && fd >= 0 && listen(fd, 0))
		r = -errno;
	if (may_go_without(daemon, r))
		return 0;
	return r ? failed(daemon, r, error, error_len) : 0;
}

/* H5: marked before it listens, so that what it accepts is marked from its birth. */
static int begin_listening(struct web *web)
{
	int fd cleanup(fd_closep) = -1;
	int r = open_socket(&web->daemon->options->web, &fd);

	if (!r)
		r = kern_mark_exempt(web->daemon->kern, fd);
	if (r)
		return r;
	if (listen(fd, LIMIT_WEB_CLIENTS))
		return -errno;
	web->listener = evconnlistener_new(web->daemon->base, NULL, NULL,
					   LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	if (!web->listener)
		return -ENOMEM;
	(void)take_fd(fd);
	evconnlistener_set_error_cb(web->listener, on_accept_error);
	if (evhttp_bind_listener(web->http, web->listener))
		return event_add(&web->sweep, &sweep_interval) ? -ENOMEM : 0;
	evconnlistener_free(take_ptr(web->listener));
	return -ENOMEM;
}

static int start(struct web *web)
{
	/* Those that libevent knows, so that the answer is ours to give. */
	static const ev_uint16_t methods = EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST |
					   EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS |
					   EVHTTP_REQ_TRACE | EVHTTP_REQ_CONNECT | EVHTTP_REQ_PATCH;

	(void)evtimer_assign(&web->sweep, web->daemon->base, on_sweep, web);
	web->http = evhttp_new(web->daemon->base);
	if (!web->http)
		return -ENOMEM;
	evhttp_set_gencb(web->http, on_request, web);
	evhttp_set_bevcb(web->http, on_client, web);
	evhttp_set_allowed_methods(web->http, methods);
	evhttp_set_max_headers_size(web->http, LIMIT_WEB_REQUEST / 2);
	evhttp_set_max_body_size(web->http, LIMIT_WEB_REQUEST / 2);
	evhttp_set_timeout(web->http, LIMIT_WEB_IDLE_S);
	return begin_listening(web);
}

int web_start(struct daemon *daemon, char *error, size_t error_len)
{
	char text[SETTLE_ADDRESS_LEN];
	int r;

	if (!daemon->options->web.port)
		return 0;
	daemon->web = calloc(1, sizeof(*daemon->web));
	r = daemon->web ? 0 : -ENOMEM;
	if (!r) {
		daemon->web->daemon = daemon;
		TAILQ_INIT(&daemon->web->clients);
		r = start(daemon->web);
	}
	if (may_go_without(daemon, r)) {
		web_done(daemon);
		settle_format_address(&daemon->options->web, text, sizeof(text));
		log_warning("%s is in use: metrics and the status page are not served; choose "
			    "--metrics ADDRESS:PORT, or --no-metrics",
			    text);
		return 0;
	}
	return r ? failed(daemon, r, error, error_len) : 0;
}

json_t *web_listener_json(const struct daemon *daemon)
{
	char text[SETTLE_ADDRESS_LEN];

	if (!daemon->options->web.port)
		return json_pack("{s:n, s:b, s:s}", "address", "served", 0, "reason",
				 daemon->options->private_daemon ? "private daemon"
								 : "--no-metrics");
	settle_format_address(&daemon->options->web, text, sizeof(text));
	if (daemon->web)
		return json_pack("{s:s, s:b}", "address", text, "served", 1);
	return json_pack("{s:s, s:b, s:s}", "address", text, "served", 0, "reason", "port in use");
}

void web_done(struct daemon *daemon)
{
	struct web *web = take_ptr(daemon->web);
	struct client *client;

	if (!web)
		return;
	web_streams_done(daemon);
	if (web->http)
		evhttp_free(web->http);
	while ((client = TAILQ_FIRST(&web->clients)))
		forget(web, client);
	if (event_initialized(&web->sweep))
		(void)event_del(&web->sweep);
	free(web);
}
