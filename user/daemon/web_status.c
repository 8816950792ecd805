/* SPDX-License-Identifier: Apache-2.0 */
/* /status.json: what the control method `status` answers. */
#include <event2/buffer.h>
#include <event2/http.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control.h"
#include "daemon/web.h"

void web_json(struct evhttp_request *request, int status, json_t *object)
{
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	struct evbuffer *body = evbuffer_new();

	if (!text || !body || evbuffer_add_printf(body, "%s\n", text) < 0) {
		evhttp_send_error(request, HTTP_INTERNAL, NULL);
	} else {
		web_headers(request, "application/json");
		web_reply(request, status, body);
	}
	if (body)
		evbuffer_free(body);
	free(text);
	json_decref(object);
}

void web_status(struct daemon *daemon, struct evhttp_request *request)
{
	struct control_call call = {.daemon = daemon};
	json_t *status = NULL;

	/* It has no client: no memory is all that it fails for. */
	web_json(request, HTTP_OK, control_status(&call, &status) ? NULL : status);
}
