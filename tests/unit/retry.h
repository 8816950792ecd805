/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attempts at responses for tests: each is a connection of its own, through pipelines of both
 * tracks, and one table knows of all of them.
 */
#ifndef SLUICE_TESTS_UNIT_RETRY_H
#define SLUICE_TESTS_UNIT_RETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/exchange.h"
#include "core/pipeline.h"
#include "core/resume_table.h"

/* What stories are made of. */
#define GET(path)    "GET " path " HTTP/1.1\r\nHost: a\r\n"
#define OK	     "HTTP/1.1 200 OK\r\n"
#define PART	     "HTTP/1.1 206 Partial Content\r\n"
#define TEXT	     "Content-Type: text/plain\r\n"
#define SSE	     "Content-Type: text/event-stream\r\n"
#define TAG	     "ETag: \"v\"\r\n"
#define EVENTS	     GET("/s") "\r\n"
#define AFTER(id)    GET("/s") "Last-Event-ID: " id "\r\n\r\n"
#define STREAM(data) OK SSE "\r\n" data
#define EVENT(id, s) "id: " id "\ndata: " s "\n\n"

struct retry_config {
	const char *terms[4]; /* of the one task of the response */
	unsigned int fold;
	const char *upload; /* a term of the one task of the request; NULL: it has none */
	struct extract extract;
	enum session_level level;
	bool patterns; /* its terms are patterns */
	uint32_t keep; /* 0: matcher_tail() */
	bool ungated;  /* the response has no tasks */
	bool blind;    /* nobody looks for resumes */
	bool bytes;    /* fed byte by byte */
};

struct retry {
	struct retry_config config;
	struct terms *terms, *upload;
	struct regex *regex; /* or terms */
	struct resume_table *table;
	const char *policy; /* of the attempts to come */
	uint64_t owner;
	uint8_t peer; /* its address */
	bool failing; /* in the attempts to come, that allocation */
	unsigned long fail_at;
	bool failed; /* there was one */
};

enum retry_end {
	RETRY_OPEN,	 /* the stream is ended from outside */
	RETRY_CLOSED,	 /* the server ends it */
	RETRY_LEFT,	 /* the client's flow ends behind the response, and the rest later */
	RETRY_HALF_OPEN, /* the client's flow ends behind its request, and the rest later */
};

struct retry_result {
	enum fault request, response;
	uint64_t asked, sent, released; /* bytes of the request, of the response; of that left */
	uint64_t request_released;
	bool denied;
	uint64_t start, end; /* of the denial */
	struct session_state state;
	size_t known; /* of the table, before the connection ended */
	char *shown;  /* the text of the response, but for `meta` */
	size_t shown_len;
};

void retry_make(const struct retry_config *config, struct retry *ret_retry);
void retry_done(struct retry *retry);

/* A story as it comes, and byte by byte. */
void retry_tell(const struct retry_config *config, void (*story)(struct retry *retry));

/* One attempt: the response is fed where the request is no fault. */
void retry_run(struct retry *retry, const char *request, const char *response, enum retry_end end,
	       struct retry_result *ret_result);
void retry_result_done(struct retry_result *result);

/* The same; asserts that all of it left, that nothing did, or that it was denied. */
void retry_passes(struct retry *retry, const char *request, const char *response,
		  enum retry_end end);
void retry_refused(struct retry *retry, const char *request);
void retry_answer_refused(struct retry *retry, const char *request, const char *response);
void retry_denied(struct retry *retry, const char *request, const char *response);

#endif
