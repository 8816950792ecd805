/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "kern/internal.h"

/* At one go: more than the rings hold. */
#define CONSUME_MAX 32768

static int event_arrived(void *context, void *data, size_t len)
{
	struct kern *kern = context;

	if (len < sizeof(struct sluice_event))
		return 0;
	if (kern->each)
		kern->each(kern->each_context, data);
	/* Whoever writes as fast as this reads must not keep it here. */
	return ++kern->consumed < CONSUME_MAX ? 0 : -ECANCELED;
}

int kern_events_init(struct kern *kern)
{
	int r;

	kern->rings =
		ring_buffer__new(bpf_map__fd(kern->skel->maps.events), event_arrived, kern, NULL);
	if (!kern->rings)
		return -errno;
	r = ring_buffer__add(kern->rings, bpf_map__fd(kern->skel->maps.fence_events), event_arrived,
			     kern);
	if (r < 0)
		return r;
	/* What a predecessor did not read tells of sockets that died with it. */
	r = ring_buffer__consume(kern->rings);
	return r < 0 && r != -ECANCELED ? r : 0;
}

int kern_events_fd(const struct kern *kern)
{
	return ring_buffer__epoll_fd(kern->rings);
}

int kern_events_consume(struct kern *kern,
			void (*each)(void *context, const struct sluice_event *event),
			void *context)
{
	int r;

	kern->each = each;
	kern->each_context = context;
	kern->consumed = 0;
	r = ring_buffer__consume(kern->rings);
	kern->each = NULL;
	kern->each_context = NULL;
	return r < 0 && r != -ECANCELED ? r : kern->consumed;
}
