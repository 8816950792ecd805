/* SPDX-License-Identifier: Apache-2.0 */
/* /: the status page. It is the same for everybody, and asks for its figures by itself. */
#include "daemon/web_page.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "base/macros.h"
#include "daemon/web.h"

void web_page(struct daemon *daemon, struct evhttp_request *request)
{
	static const struct {
		const char *name, *value;
	} guards[] = {
		{"Content-Security-Policy", web_page_policy},
		{"Referrer-Policy", "no-referrer"},
		{"X-Frame-Options", "DENY"}, /* what knows no frame-ancestors */
	};
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
	struct evbuffer *body = evbuffer_new();

	(void)daemon;
	if (!body || evbuffer_add_reference(body, web_page_text, web_page_len, NULL, NULL)) {
		evhttp_send_error(request, HTTP_INTERNAL, NULL);
	} else {
		web_headers(request, "text/html; charset=utf-8");
		for (size_t i = 0; i < ARRAY_SIZE(guards); i++)
			(void)evhttp_add_header(headers, guards[i].name, guards[i].value);
		web_reply(request, HTTP_OK, body);
	}
	if (body)
		evbuffer_free(body);
}
