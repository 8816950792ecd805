/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to /metrics. */
#include <event2/buffer.h>
#include <event2/http.h>

#include "daemon/daemon.h"
#include "daemon/metrics.h"
#include "daemon/metrics_accept.h"
#include "daemon/web.h"

void web_metrics(struct daemon *daemon, struct evhttp_request *request)
{
	const char *accept =
		evhttp_find_header(evhttp_request_get_input_headers(request), "Accept");
	bool openmetrics = metrics_accept_openmetrics(accept);
	struct evbuffer *body = evbuffer_new();

	daemon->metrics.scrapes++;
	if (!body || metrics_write(daemon, body, openmetrics)) {
		evhttp_send_error(request, HTTP_INTERNAL, "out of memory");
	} else {
		web_headers(request, openmetrics ? METRICS_TYPE_OPENMETRICS : METRICS_TYPE_TEXT);
		(void)evhttp_add_header(evhttp_request_get_output_headers(request), "Vary",
					"Accept");
		web_reply(request, HTTP_OK, body);
	}
	if (body)
		evbuffer_free(body);
}
