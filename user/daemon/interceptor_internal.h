/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of interceptors share. For daemon/interceptor*.c alone. */
#ifndef SLUICE_DAEMON_INTERCEPTOR_INTERNAL_H
#define SLUICE_DAEMON_INTERCEPTOR_INTERNAL_H

#include <curl/curl.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/macros.h"
#include "daemon/interceptor.h"

/* Of a task's name: counts of the policies that are gone, and as long as the daemon. */
struct interceptor_total {
	LIST_ENTRY(interceptor_total) entry;
	char *task;
	struct interceptor_stats gone;
};

struct interceptors {
	struct daemon *daemon;
	LIST_HEAD(, interceptor_total) totals;
	size_t total_count;
	CURLM *multi;
	struct curl_slist *headers;
	struct event timer, wake, ready, room;
	LIST_HEAD(, question) again;	/* found a socket full */
	TAILQ_HEAD(, interceptor) list; /* whose turn is next, first */
	uint32_t in_flight;
	int busy_fd, idle_fd; /* epoll: sockets of questions, and of kept connections */
	uint64_t turn_ns;     /* boot clock: when the last turn of taking answers ended */
	bool left_over;	      /* it took not all that there was */
};

struct interceptor {
	TAILQ_ENTRY(interceptor) entry;
	struct interceptors *interceptors;
	const struct policy_interceptor *config; /* borrowed */
	struct interceptor_total *total;
	TAILQ_HEAD(, asker) turns;
	LIST_HEAD(, question) lost; /* could not go out, and nobody was told */
	struct asker teller;	    /* N8; never in turns */
	size_t notes;		    /* of it */
	struct interceptor_stats stats;
};

struct question {
	TAILQ_ENTRY(question) entry; /* of its asker: waiting, or out */
	struct asker *asker;
	interceptor_answered answered; /* NULL: it is a note */
	void *context;
	uint64_t since_ns; /* that it was asked */
	uint64_t out_ns;   /* that it went out */
	bool waits;	   /* it had to */
	bool is_lost;	   /* in a list of those that are not with libcurl */
	LIST_ENTRY(question) lost;
	bool found_full; /* the socket that it is for */
	bool too_long;	 /* what is answered */
	struct agent_buffer body;
	CURL *easy;	 /* NULL: it is not out */
	uint8_t *answer; /* VERDICT_SIZE_MAX bytes, once there is a first */
	size_t answer_len, head_len;
};

/* Of an asker, behind what it has asked. As interceptor_ask(), but nothing goes out by this. */
int question_add(struct asker *asker, const struct agent_context *about,
		 struct question **ret_question) must_check;
/* It comes back from where it was asked, answered or not. */
void question_take_back(struct question *question);
/* Wipes it; it is in no list. */
void question_free(struct question *question);

/* May one more go out? */
bool interceptor_has_room(const struct interceptor *interceptor);
/* To libcurl, or it is lost. */
void question_go(struct question *question);
/* The next one goes out: of whose turn it is, or else a note. */
void interceptor_ask_next(struct interceptor *interceptor);
/* A note of its own gives way, or where all have too many out one of any. */
void interceptor_give_way(struct interceptor *interceptor);
/* Notes are dropped that wait, and that are out. */
void interceptor_untell(struct interceptor *interceptor);

void interceptor_stats_add(struct interceptor_stats *sum, const struct interceptor_stats *stats);
/* -ENOMEM. */
int interceptor_total_get(struct interceptors *interceptors, const char *task,
			  struct interceptor_total **ret_total) must_check;
void interceptor_totals_free(struct interceptors *interceptors);

/* -ENOMEM, -EIO: libcurl refuses. */
int transfer_begin(struct question *question) must_check;
/* NULL: there is none. */
void transfer_end(struct interceptors *interceptors, CURL *easy);
/* libcurl looks at a socket, or at its timers, and what that brought is settled. */
void transfer_act(struct interceptors *interceptors, curl_socket_t fd, int what);

void again_init(struct interceptors *interceptors);
void again_stop(struct interceptors *interceptors);
/* Did its Unix socket have no room for it? */
bool again_is_due(const struct question *question, CURLcode code);
/* It begins again soon; its deadline stays. */
void again_add(struct question *question);

/* -errno: no epoll instance, or no memory. */
int sockets_start(struct interceptors *interceptors) must_check;
/* Also after sockets_start() failed. */
void sockets_stop(struct interceptors *interceptors);
/*
 * What a question waits for on a socket: EPOLLIN, EPOLLOUT or both; is_watched: it waited for
 * something else so far. -errno: nothing would be heard of it.
 */
int sockets_watch(struct interceptors *interceptors, int fd, uint32_t events,
		  bool is_watched) must_check;
/* The socket has no question any more. */
void sockets_rest(struct interceptors *interceptors, int fd);
/*
 * What nobody asked for is no answer to the next question: the connections on which there is
 * something are ended, so that none of them is used again.
 */
void sockets_sweep(struct interceptors *interceptors);

/* Looks soon, from the loop, for what waits, and for what failed. */
void transfer_wake(struct interceptors *interceptors);

/* Why the question has no verdict: its asker keeps the first. */
void question_explain(struct question *question, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Tells who asked, and frees it. With SESSION_OK its answer is read. */
void question_settle(struct question *question, enum session_result failure);

/* Lets what waits go out, where there is room. */
void interceptors_step(struct interceptors *interceptors);

#endif
