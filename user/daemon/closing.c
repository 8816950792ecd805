/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/closing.h"

#include "daemon/daemon.h"
#include "daemon/limits.h"
#include "daemon/refusing.h"
#include "sys/clock.h"

static const struct timeval step_interval = {.tv_usec = LIMIT_STEP_MS * 1000};

static bool is_closing(const struct stream *stream)
{
	return stream->state == STREAM_DRAINING || stream->state == STREAM_LINGERING;
}

/* Whether the newest stream here is still worth a look at every step. */
static bool has_young(const struct closing *closing, uint64_t now_ns)
{
	const struct stream *newest = TAILQ_LAST(&closing->streams, stream_list);

	return newest && now_ns < newest->closing_ns + LIMIT_YOUNG_MS * CLOCK_NS_PER_MS;
}

static void on_step(evutil_socket_t fd, short what, void *context)
{
	struct daemon *daemon = context;
	struct stream *stream, *next;
	uint64_t now_ns = clock_boot_ns();

	(void)fd;
	(void)what;
	/* From the newest backwards: behind the first old one are only old ones. */
	for (stream = TAILQ_LAST(&daemon->closing.streams, stream_list);
	     stream && now_ns < stream->closing_ns + LIMIT_YOUNG_MS * CLOCK_NS_PER_MS;
	     stream = next) {
		next = TAILQ_PREV(stream, stream_list, closing);
		closing_step(stream);
	}
	if (has_young(&daemon->closing, now_ns))
		(void)evtimer_add(&daemon->closing.step, &step_interval);
	stream_reap(daemon);
}

void closing_init(struct closing *closing, struct daemon *daemon)
{
	TAILQ_INIT(&closing->streams);
	(void)evtimer_assign(&closing->step, daemon->base, on_step, daemon);
}

void closing_done(struct closing *closing)
{
	if (event_initialized(&closing->step))
		(void)evtimer_del(&closing->step);
}

void closing_add(struct stream *stream)
{
	struct closing *closing = &stream->daemon->closing;

	stream->closing_ns = clock_boot_ns();
	TAILQ_INSERT_TAIL(&closing->streams, stream, closing);
	/* Where the timer cannot be had, the tick does it. */
	if (!evtimer_pending(&closing->step, NULL))
		(void)evtimer_add(&closing->step, &step_interval);
}

void closing_remove(struct stream *stream)
{
	if (is_closing(stream))
		TAILQ_REMOVE(&stream->daemon->closing.streams, stream, closing);
}

static bool all_delivered(const struct stream *stream)
{
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		if (!flow_is_delivered(&stream->flows[track]))
			return false;
	return true;
}

static bool has_sent(const struct stream *stream)
{
	return stream->flows[SESSION_REQUEST].sent || stream->flows[SESSION_RESPONSE].sent;
}

static bool is_drained(const struct stream *stream)
{
	uint64_t now_ns = clock_boot_ns();

	if (now_ns >= stream->deadline_ns)
		return true;
	if (!all_delivered(stream))
		return false;
	return !has_sent(stream) ||
	       now_ns >= stream->closing_ns + LIMIT_DRAIN_READ_MS * CLOCK_NS_PER_MS;
}

void closing_step(struct stream *stream)
{
	if (stream->state == STREAM_DRAINING) {
		for (int track = 0; track < _SESSION_TRACK_MAX; track++)
			if (stream->flows[track].sink->fd >= 0)
				flow_flush(&stream->flows[track], true);
		if (stream->refusing.begun)
			refusing_step(stream);
		else if (is_drained(stream))
			stream_close(stream, true);
	} else if (stream->state == STREAM_LINGERING) {
		if (all_delivered(stream))
			stream_close(stream, false);
		else if (clock_boot_ns() >= stream->closing_ns + LIMIT_LINGER_MS * CLOCK_NS_PER_MS)
			stream_close(stream, true);
	}
}

void closing_tick(struct daemon *daemon)
{
	struct stream *stream, *next;

	for (stream = TAILQ_FIRST(&daemon->closing.streams); stream; stream = next) {
		next = TAILQ_NEXT(stream, closing);
		closing_step(stream);
	}
}
