/* SPDX-License-Identifier: Apache-2.0 */
/* Questions on their way: libcurl in the loop. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/interceptor_internal.h"
#include "daemon/limits.h"
#include "kern/kern.h"
#include "sys/clock.h"

/* N3. The addresses are of the policy, which the operator wrote. */
static curl_socket_t on_open(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
	const struct interceptors *interceptors = context;
	int fd = socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
			address->protocol);

	(void)purpose;
	if (fd < 0)
		return CURL_SOCKET_BAD;
	if (address->family != AF_UNIX && kern_mark_exempt(interceptors->daemon->kern, fd)) {
		(void)close(fd);
		return CURL_SOCKET_BAD;
	}
	return fd;
}

/* The connection is chosen, and the question about to go out on it. */
static int on_ready(void *context, char *peer, char *local, int peer_port, int local_port)
{
	(void)peer;
	(void)local;
	(void)peer_port;
	(void)local_port;
	sockets_sweep(context);
	return CURL_PREREQFUNC_OK;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
	struct question *question = context;
	size_t len = size * count;

	question->too_long = len > VERDICT_SIZE_MAX - question->answer_len;
	if (question->too_long)
		return CURL_WRITEFUNC_ERROR;
	if (!question->answer)
		question->answer = malloc(VERDICT_SIZE_MAX);
	if (!question->answer)
		return CURL_WRITEFUNC_ERROR;
	memcpy(question->answer + question->answer_len, bytes, len);
	question->answer_len += len;
	return len;
}

static size_t on_head(char *bytes, size_t size, size_t count, void *context)
{
	struct question *question = context;
	size_t len = size * count;

	(void)bytes;
	question->too_long = len > VERDICT_SIZE_MAX - question->head_len;
	if (question->too_long)
		return CURL_WRITEFUNC_ERROR;
	question->head_len += len;
	return len;
}

/* N5: what is left of it, where the question begins again. At least 1: to libcurl 0 is none. */
static long time_left_ms(const struct question *question)
{
	uint64_t spent_ms = (clock_boot_ns() - question->out_ns) / CLOCK_NS_PER_MS;
	uint32_t timeout_ms = question->asker->interceptor->config->timeout_ms;

	return spent_ms < timeout_ms ? (long)(timeout_ms - spent_ms) : 1;
}

static CURLcode set_address(CURL *easy, const struct question *question)
{
	const struct policy_interceptor *config = question->asker->interceptor->config;
	CURLcode r = curl_easy_setopt(easy, CURLOPT_URL, config->http_url);

	if (!r && config->socket_path)
		r = curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, config->socket_path);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, time_left_ms(question));
	return r;
}

static CURLcode set_manners(CURL *easy, struct interceptors *interceptors)
{
	CURLcode r = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");

	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_PROXY, "");
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_HTTPHEADER, interceptors->headers);
	return r;
}

static CURLcode set_sockets(CURL *easy, struct interceptors *interceptors)
{
	CURLcode r = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);

	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, interceptors);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_ready);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_PREREQDATA, interceptors);
	return r;
}

static CURLcode set_question(CURL *easy, struct question *question)
{
	CURLcode r = curl_easy_setopt(easy, CURLOPT_PRIVATE, question);

	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_POST, 1L);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				     (curl_off_t)question->body.len);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_POSTFIELDS, question->body.text);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_WRITEDATA, question);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head);
	if (!r)
		r = curl_easy_setopt(easy, CURLOPT_HEADERDATA, question);
	return r;
}

int transfer_begin(struct question *question)
{
	struct interceptors *interceptors = question->asker->interceptor->interceptors;
	CURL *easy = curl_easy_init();

	if (!easy)
		return -ENOMEM;
	if (set_address(easy, question) || set_manners(easy, interceptors) ||
	    set_sockets(easy, interceptors) || set_question(easy, question) ||
	    curl_multi_add_handle(interceptors->multi, easy)) {
		curl_easy_cleanup(easy);
		return -EIO;
	}
	question->easy = easy;
	return 0;
}

void transfer_end(struct interceptors *interceptors, CURL *easy)
{
	if (!easy)
		return;
	(void)curl_multi_remove_handle(interceptors->multi, easy);
	curl_easy_cleanup(easy);
}

/* What became of a transfer; the status of one that is whole is looked at as well. */
static enum session_result result_of(const struct question *question, CURLcode code)
{
	long status = 0;

	switch (code) {
	case CURLE_OK:
		break;
	case CURLE_OPERATION_TIMEDOUT:
		return SESSION_INTERCEPTOR_TIMEOUT;
	case CURLE_WRITE_ERROR:
		return question->too_long ? SESSION_VERDICT_INVALID : SESSION_INTERCEPTOR_FAILED;
	default:
		return SESSION_INTERCEPTOR_FAILED;
	}
	if (curl_easy_getinfo(question->easy, CURLINFO_RESPONSE_CODE, &status) || status != 200)
		return SESSION_INTERCEPTOR_FAILED;
	return SESSION_OK;
}

static void explain_late(struct question *question)
{
	uint32_t timeout_ms = question->asker->interceptor->config->timeout_ms;

	if (question->found_full)
		question_explain(question,
				 "its queue of connections was full, and no verdict in %u ms",
				 timeout_ms);
	else
		question_explain(question, "no verdict in %u ms", timeout_ms);
}

/* For the operator; the text of no message is in it. */
static void explain(struct question *question, CURLcode code)
{
	long status = 0, error = 0;

	(void)curl_easy_getinfo(question->easy, CURLINFO_RESPONSE_CODE, &status);
	(void)curl_easy_getinfo(question->easy, CURLINFO_OS_ERRNO, &error);
	if (code == CURLE_OK)
		question_explain(question, "status %ld", status);
	else if (code == CURLE_OPERATION_TIMEDOUT)
		explain_late(question);
	else if (question->too_long)
		question_explain(question, "more than %u bytes of an answer", VERDICT_SIZE_MAX);
	else if (code == CURLE_WRITE_ERROR)
		question_explain(question, "no memory for its answer");
	else if (code == CURLE_OUT_OF_MEMORY)
		question_explain(question, "no memory, or a line of its answer's head is too long");
	else if (code == CURLE_UNSUPPORTED_PROTOCOL)
		question_explain(question, "what it answers is not HTTP/1");
	else if (code == CURLE_COULDNT_CONNECT && error)
		question_explain(question, "%s", strerror((int)error));
	else
		question_explain(question, "%s", curl_easy_strerror(code));
}

static struct question *find_failed(const struct interceptors *interceptors)
{
	struct interceptor *interceptor;

	TAILQ_FOREACH(interceptor, &interceptors->list, entry)
	{
		if (!LIST_EMPTY(&interceptor->lost))
			return LIST_FIRST(&interceptor->lost);
	}
	return NULL;
}

/* Each answer may end streams, and with them other questions: nothing is kept over one. */
static void take_answers(struct interceptors *interceptors)
{
	struct question *question;
	enum session_result result;
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(interceptors->multi, &left))) {
		if (message->msg != CURLMSG_DONE ||
		    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &question))
			continue;
		if (again_is_due(question, message->data.result)) {
			again_add(question);
			continue;
		}
		result = result_of(question, message->data.result);
		if (result != SESSION_OK)
			explain(question, message->data.result);
		question_settle(question, result);
	}
	while ((question = find_failed(interceptors))) {
		question_explain(question, "it could not be asked");
		question_settle(question, SESSION_INTERCEPTOR_FAILED);
	}
	interceptors_step(interceptors);
	stream_reap(interceptors->daemon);
}

void transfer_act(struct interceptors *interceptors, curl_socket_t fd, int what)
{
	int running;

	(void)curl_multi_socket_action(interceptors->multi, fd, what, &running);
	take_answers(interceptors);
}

static void on_timer(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	transfer_act(context, CURL_SOCKET_TIMEOUT, 0);
}

static void on_wake(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	take_answers(context);
}

void transfer_wake(struct interceptors *interceptors)
{
	event_active(&interceptors->wake, 0, 0);
}

/* What libcurl wants to be told of a socket; whether it is told already, by curl_multi_assign(). */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *is_watched)
{
	struct interceptors *interceptors = context;
	uint32_t events =
		(what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		sockets_rest(interceptors, fd);
		return 0;
	}
	if (sockets_watch(interceptors, fd, events, is_watched))
		return -1;
	return curl_multi_assign(interceptors->multi, fd, interceptors) ? -1 : 0;
}

static int on_timeout(CURLM *multi, long timeout_ms, void *context)
{
	struct interceptors *interceptors = context;
	const struct timeval in = {
		.tv_sec = timeout_ms / 1000,
		.tv_usec = timeout_ms % 1000 * 1000,
	};

	(void)multi;
	if (timeout_ms < 0)
		return event_del(&interceptors->timer);
	return event_add(&interceptors->timer, &in);
}

static int configure(struct interceptors *interceptors)
{
	CURLM *multi = interceptors->multi;
	CURLMcode r = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);

	if (!r)
		r = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, interceptors);
	if (!r)
		r = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timeout);
	if (!r)
		r = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, interceptors);
	if (!r)
		r = curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
	if (!r)
		r = curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)LIMIT_QUESTIONS);
	return r ? -EIO : 0;
}

static struct curl_slist *make_headers(void)
{
	static const char *const lines[] = {"Content-Type: application/json",
					    "Accept: application/json", "Expect:"};
	struct curl_slist *headers = NULL, *grown;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		grown = curl_slist_append(headers, lines[i]);
		if (!grown) {
			curl_slist_free_all(headers);
			return NULL;
		}
		headers = grown;
	}
	return headers;
}

int interceptors_new(struct daemon *daemon, struct interceptors **ret_interceptors)
{
	struct interceptors *interceptors = calloc(1, sizeof(*interceptors));

	if (!interceptors)
		return -ENOMEM;
	interceptors->daemon = daemon;
	interceptors->busy_fd = interceptors->idle_fd = -1;
	TAILQ_INIT(&interceptors->list);
	LIST_INIT(&interceptors->totals);
	*ret_interceptors = interceptors;
	return 0;
}

int interceptors_start(struct interceptors *interceptors)
{
	struct event_base *base = interceptors->daemon->base;
	int r = sockets_start(interceptors);

	if (r)
		return r;
	(void)evtimer_assign(&interceptors->timer, base, on_timer, interceptors);
	(void)evtimer_assign(&interceptors->wake, base, on_wake, interceptors);
	again_init(interceptors);
	if (curl_global_init(CURL_GLOBAL_NOTHING))
		return -EIO;
	interceptors->headers = make_headers();
	interceptors->multi = curl_multi_init();
	if (!interceptors->headers || !interceptors->multi)
		return -ENOMEM;
	return configure(interceptors);
}

void interceptors_free(struct interceptors *interceptors)
{
	if (!interceptors)
		return;
	if (interceptors->multi)
		(void)curl_multi_cleanup(interceptors->multi);
	if (event_initialized(&interceptors->timer)) {
		(void)event_del(&interceptors->timer);
		(void)event_del(&interceptors->wake);
	}
	again_stop(interceptors);
	sockets_stop(interceptors);
	curl_slist_free_all(interceptors->headers);
	interceptor_totals_free(interceptors);
	free(interceptors);
}
