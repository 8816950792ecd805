/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sec-WebSocket-Extensions (RFC 6455 9.1): permessage-deflate is the one that is known,
 * with the parameters of RFC 7692 7.1. The size of a window is not kept: the largest reads
 * them all.
 */
#ifndef SLUICE_CORE_HTTP1_WEBSOCKET_H
#define SLUICE_CORE_HTTP1_WEBSOCKET_H

#include <stdbool.h>

#include "core/http1_grammar.h"
#include "core/http1_head.h"

/*
 * A value of the field: adds what it says. *unknown: set where it says anything else too,
 * which in a request is an offer, and in a 101 is not read.
 */
void http1_websocket_extensions(struct http1_slice value, struct http1_websocket *websocket,
				bool *unknown);

#endif
