/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline_auto.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/exchange.h"

int pipeline_auto_new(struct pipeline *p, const struct pipeline_config *config)
{
	if (!config->exchanges)
		return -EINVAL;
	p->automatic = calloc(1, sizeof(*p->automatic));
	if (!p->automatic)
		return -ENOMEM;
	p->automatic->config = *config;
	return 0;
}

void pipeline_auto_free(struct pipeline *p)
{
	free(p->automatic);
	p->automatic = NULL;
}

/* The framing is known: the pipeline goes on as if it had been made with it. */
static enum fault settle_on(struct pipeline *p, enum framing_kind kind)
{
	struct pipeline_config config = p->automatic->config;
	enum fault fault = FAULT_NONE;
	int r;

	config.framing = (struct framing){.kind = kind};
	if (kind != FRAMING_HTTP1)
		fault = exchanges_whole(config.exchanges, config.track, &config.session);
	if (fault)
		return fault;
	if (config.track == SESSION_REQUEST)
		exchanges_identify(config.exchanges, kind);
	pipeline_auto_free(p);
	r = pipeline_set_framing(p, &config);
	if (r < 0)
		return pipeline_fault_of(r);
	p->received = 0;
	return FAULT_NONE;
}

static enum fault settle_as(struct pipeline *p, enum identity identity)
{
	switch (identity) {
	case IDENTITY_MORE:
		return FAULT_NONE;
	case IDENTITY_HTTP1:
		return settle_on(p, FRAMING_HTTP1);
	case IDENTITY_JSONRPC_CL:
		return settle_on(p, FRAMING_JSONRPC_CL);
	case IDENTITY_NDJSON:
		return settle_on(p, FRAMING_NDJSON);
	case IDENTITY_TLS:
		return FAULT_TLS_UNMEDIATED;
	default:
		return FAULT_UNFRAMED;
	}
}

enum fault pipeline_auto_end(struct pipeline *p)
{
	const struct pipeline_config *config = &p->automatic->config;
	enum framing_kind kind;

	if (p->received)
		return FAULT_UNFRAMED;
	if (config->track == SESSION_RESPONSE && exchanges_identified(config->exchanges, &kind))
		return settle_on(p, kind);
	return FAULT_NONE;
}

enum fault pipeline_auto_feed(struct pipeline *p, const uint8_t *data, size_t len, size_t *ret_used,
			      uint8_t room[static IDENTIFY_MAX], size_t *ret_kept)
{
	struct pipeline_auto *a = p->automatic;
	enum identity identity = IDENTITY_MORE;
	enum framing_kind kind;
	size_t used = 0;

	*ret_used = *ret_kept = 0;
	if (a->config.track == SESSION_RESPONSE)
		return exchanges_identified(a->config.exchanges, &kind) ? settle_on(p, kind)
									: FAULT_UNFRAMED;
	while (used < len && identity == IDENTITY_MORE) {
		assert(a->len < IDENTIFY_MAX);
		a->bytes[a->len++] = data[used++];
		identity = identify(a->bytes, a->len);
	}
	p->received += used;
	*ret_used = used;
	memcpy(room, a->bytes, a->len);
	*ret_kept = identity == IDENTITY_MORE ? 0 : a->len;
	return settle_as(p, identity);
}
