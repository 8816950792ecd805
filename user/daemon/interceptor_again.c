/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions that a Unix socket had no room for. Over TCP a connection waits for room in the
 * listener's queue, and its deadline counts; over a Unix socket the kernel refuses at once. So
 * these begin again until their deadline.
 */
#include "daemon/daemon.h"
#include "daemon/interceptor_internal.h"
#include "daemon/limits.h"
#include "sys/clock.h"

static void on_again(evutil_socket_t fd, short what, void *context)
{
	struct interceptors *interceptors = context;
	struct question *question;

	(void)fd;
	(void)what;
	/* One that finds no room once more is heard of later, from the loop. */
	while ((question = LIST_FIRST(&interceptors->again))) {
		LIST_REMOVE(question, lost);
		question->is_lost = false;
		question_go(question);
	}
}

void again_init(struct interceptors *interceptors)
{
	LIST_INIT(&interceptors->again);
	(void)evtimer_assign(&interceptors->room, interceptors->daemon->base, on_again,
			     interceptors);
}

void again_stop(struct interceptors *interceptors)
{
	if (event_initialized(&interceptors->room))
		(void)event_del(&interceptors->room);
}

bool again_is_due(const struct question *question, CURLcode code)
{
	long error = 0;

	/* libcurl 7.88 takes EAGAIN for a connection on its way, which then is none. */
	return code == CURLE_COULDNT_CONNECT && question->asker->interceptor->config->socket_path &&
	       !curl_easy_getinfo(question->easy, CURLINFO_OS_ERRNO, &error) && !error;
}

void again_add(struct question *question)
{
	struct interceptors *interceptors = question->asker->interceptor->interceptors;
	const struct timeval in = {.tv_usec = LIMIT_ROOM_MS * 1000};

	question->found_full = true;
	transfer_end(interceptors, take_ptr(question->easy));
	question->is_lost = true;
	LIST_INSERT_HEAD(&interceptors->again, question, lost);
	if (!evtimer_pending(&interceptors->room, NULL))
		(void)event_add(&interceptors->room, &in);
}
