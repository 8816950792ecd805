/* SPDX-License-Identifier: Apache-2.0 */
#include "core/http1_websocket.h"

#include <string.h>

static bool begins(struct http1_slice text, const char *lower, struct http1_slice *ret_rest)
{
	size_t len = strlen(lower);
	struct http1_slice name = {text.at, len};

	if (text.len < len || !http1_equal(name, lower))
		return false;
	*ret_rest = (struct http1_slice){text.at + len, text.len - len};
	return true;
}

/* 8 to 15, with quotes or without (RFC 7692 7.1.2). */
static bool is_bits(struct http1_slice text)
{
	if (text.len >= 2 && text.at[0] == '"' && text.at[text.len - 1] == '"') {
		text.at++;
		text.len -= 2;
	}
	if (text.len == 1)
		return text.at[0] == '8' || text.at[0] == '9';
	return text.len == 2 && text.at[0] == '1' && text.at[1] >= '0' && text.at[1] <= '5';
}

static bool has_bits(struct http1_slice rest)
{
	rest = http1_trim(rest);
	if (!rest.len || rest.at[0] != '=')
		return false;
	http1_drop(&rest, 1);
	return is_bits(http1_trim(rest));
}

/* The parameters of one extension; windows are of no use here but may not come twice. */
struct parameters {
	bool server_no_context_takeover, client_no_context_takeover;
	bool server_max_window_bits, client_max_window_bits;
};

/* A parameter that comes twice is one more that has to be declined (RFC 7692 7.1). */
static bool take_parameter(struct http1_slice text, struct parameters *parameters)
{
	struct http1_slice rest;
	bool *flag;

	if (http1_equal(text, "server_no_context_takeover"))
		flag = &parameters->server_no_context_takeover;
	else if (http1_equal(text, "client_no_context_takeover"))
		flag = &parameters->client_no_context_takeover;
	else if (begins(text, "server_max_window_bits", &rest) && has_bits(rest))
		flag = &parameters->server_max_window_bits;
	else if (begins(text, "client_max_window_bits", &rest) && has_bits(rest))
		flag = &parameters->client_max_window_bits;
	else
		return false;
	if (*flag)
		return false;
	*flag = true;
	return true;
}

static bool take_extension(struct http1_slice item, struct http1_websocket *websocket)
{
	struct http1_slice name = http1_trim(http1_until(&item, ';'));
	struct parameters parameters = {0};

	if (!http1_equal(name, "permessage-deflate") || websocket->deflate)
		return false;
	websocket->deflate = true;
	while (item.at)
		if (!take_parameter(http1_trim(http1_until(&item, ';')), &parameters))
			return false;
	websocket->server_no_context_takeover = parameters.server_no_context_takeover;
	websocket->client_no_context_takeover = parameters.client_no_context_takeover;
	return true;
}

void http1_websocket_extensions(struct http1_slice value, struct http1_websocket *websocket,
				bool *unknown)
{
	struct http1_slice item;

	while (http1_list_next(&value, &item))
		if (item.len && !take_extension(item, websocket))
			*unknown = true;
}
