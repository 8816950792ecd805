/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of kind interceptor: where they are asked, and what with. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "core/policy_parse.h"

#define TIMEOUT_MAX_MS	600000u
#define SPAN_DEFAULT	256u
#define SPAN_MAX	65536u
#define WINDOW_MAX	(1u << 20)
#define WINDOW_SPANS	4u
#define CONCURRENCY_MAX 1024u
#define URL_MAX		1024u
#define SOCKET_PATH_MAX 107u
#define HTTP		"http://"
#define HTTP_UNIX	"http+unix://"

static const struct policy_choice cadences[] = {
	{"runes", SPAN_RUNES, true},
	{"unit", SPAN_UNIT, true},
	{"sentence", SPAN_SENTENCE, true},
};

const char *policy_cadence_name(enum span_cadence cadence)
{
	return (unsigned int)cadence < ARRAY_SIZE(cadences) ? cadences[cadence].name : "none";
}

void policy_interceptor_free(struct policy_interceptor *interceptor)
{
	if (!interceptor)
		return;
	free(interceptor->url);
	free(interceptor->http_url);
	free(interceptor->socket_path);
	free(interceptor);
}

/* Printable ASCII without what would be read as something else than a path. */
static bool is_plain(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~' || strchr("#\"<>\\^`{|}", *text))
			return false;
	return true;
}

/* ADDRESS:PORT, of which the address is no name, since nobody asks a name server. */
static bool is_authority(const char *text, size_t len)
{
	const char *colon = memrchr(text, ':', len);
	uint8_t addr[ADDRESS_LEN];
	uint16_t port;
	bool v6, bracketed;

	if (!colon || policy_parse_port(colon + 1, (size_t)(text + len - colon - 1), &port) < 0)
		return false;
	len = (size_t)(colon - text);
	bracketed = len > 2 && text[0] == '[' && text[len - 1] == ']';
	if (bracketed) {
		text++;
		len -= 2;
	}
	return policy_parse_address(text, len, addr, &v6) == 0 && v6 == bracketed;
}

static int take_http(const char *url, struct policy_interceptor *interceptor)
{
	const char *authority = url + strlen(HTTP), *path = strchr(authority, '/');

	if (!path || !is_authority(authority, (size_t)(path - authority)))
		return -EINVAL;
	interceptor->http_url = strdup(url);
	return interceptor->http_url ? 0 : -ENOMEM;
}

/* The path of the socket ends at the first ":/". */
static int take_unix(const char *url, struct policy_interceptor *interceptor)
{
	const char *path = url + strlen(HTTP_UNIX), *end = strstr(path, ":/");
	size_t len;

	if (*path != '/' || !end || (size_t)(end - path) > SOCKET_PATH_MAX)
		return -EINVAL;
	interceptor->socket_path = strndup(path, (size_t)(end - path));
	len = strlen(HTTP "localhost") + strlen(end + 1) + 1;
	interceptor->http_url = malloc(len);
	if (!interceptor->socket_path || !interceptor->http_url)
		return -ENOMEM;
	memcpy(interceptor->http_url, HTTP "localhost", strlen(HTTP "localhost"));
	memcpy(interceptor->http_url + strlen(HTTP "localhost"), end + 1, strlen(end + 1) + 1);
	return 0;
}

static int read_url(struct policy_error *error, const struct doc_node *node,
		    struct policy_interceptor *interceptor)
{
	const char *url;
	int err = policy_get_text(error, node, &url);

	if (err)
		return err;
	interceptor->url = strdup(url);
	if (!interceptor->url)
		return -ENOMEM;
	err = -EINVAL;
	if (strlen(url) <= URL_MAX && is_plain(url)) {
		if (strncmp(url, HTTP, strlen(HTTP)) == 0)
			err = take_http(url, interceptor);
		else if (strncmp(url, HTTP_UNIX, strlen(HTTP_UNIX)) == 0)
			err = take_unix(url, interceptor);
	}
	if (err == -EINVAL)
		return policy_refuse(error, -EINVAL, node,
				     "'url' must be http://ADDRESS:PORT/PATH (no name: none is "
				     "resolved) or http+unix:///PATH-OF-SOCKET:/PATH");
	return err;
}

/* A number that may be absent: *value stays as it is then. */
static int read_number(struct policy_error *error, const struct doc_node *node, const char *key,
		       uint64_t max, uint32_t *value)
{
	const struct doc_node *number = doc_node_get(node, key);
	uint64_t read = 0;
	int err;

	if (!number)
		return 0;
	err = policy_get_number(error, number, 1, max, &read);
	if (!err)
		*value = (uint32_t)read;
	return err;
}

/*
 * S, N and L. Without L it is what the window covers; without N that is four spans, or what L
 * asks for.
 */
static int read_coverage(struct policy_error *error, const struct doc_node *node,
			 struct coverage *coverage)
{
	const struct doc_node *window = doc_node_get(node, "window_runes");
	const struct doc_node *detectable = doc_node_get(node, "detectable_runes");
	char line[sizeof(error->message)];
	int err;

	coverage->span = SPAN_DEFAULT;
	err = read_number(error, node, "span_runes", SPAN_MAX, &coverage->span);
	coverage->window = WINDOW_SPANS * coverage->span;
	coverage->detectable = 1;
	if (!err)
		err = read_number(error, node, "detectable_runes", WINDOW_MAX / 2,
				  &coverage->detectable);
	if (detectable)
		coverage->window = (uint32_t)coverage_window(coverage->span, coverage->detectable);
	if (!err)
		err = read_number(error, node, "window_runes", WINDOW_MAX, &coverage->window);
	if (err)
		return err;
	if (!detectable && coverage->window >= coverage->span)
		coverage->detectable = coverage->window - coverage->span + 1;
	if (coverage_check(coverage, NULL, line, sizeof(line)) < 0)
		return policy_refuse(error, -EINVAL, window ? window : node, "%s", line);
	return 0;
}

int policy_read_interceptor(struct policy_error *error, const struct doc_node *node,
			    struct policy_task *task)
{
	static const struct policy_key keys[] = {
		{"kind", POLICY_FORM_SCALAR, true},
		{"url", POLICY_FORM_SCALAR, true},
		{"timeout_ms", POLICY_FORM_SCALAR, false},
		{"span_runes", POLICY_FORM_SCALAR, false},
		{"window_runes", POLICY_FORM_SCALAR, false},
		{"detectable_runes", POLICY_FORM_SCALAR, false},
		{"cadence", POLICY_FORM_SCALAR, false},
		{"concurrency", POLICY_FORM_SCALAR, false},
		{"warn_only", POLICY_FORM_SCALAR, false},
	};
	struct policy_interceptor *interceptor;
	const struct doc_node *cadence;
	int err, value = SPAN_RUNES;

	err = policy_check_keys(error, node, node->key, keys, ARRAY_SIZE(keys));
	if (err)
		return err;
	interceptor = calloc(1, sizeof(*interceptor));
	if (!interceptor)
		return -ENOMEM;
	task->interceptor = interceptor;
	cadence = doc_node_get(node, "cadence");
	interceptor->concurrency = POLICY_CONCURRENCY;
	err = read_url(error, doc_node_get(node, "url"), interceptor);
	if (!err)
		err = read_number(error, node, "timeout_ms", TIMEOUT_MAX_MS,
				  &interceptor->timeout_ms);
	if (!err)
		err = read_number(error, node, "concurrency", CONCURRENCY_MAX,
				  &interceptor->concurrency);
	if (!err && cadence)
		err = policy_get_choice(error, cadence, "cadence", cadences, ARRAY_SIZE(cadences),
					&value);
	if (!err)
		err = read_coverage(error, node, &interceptor->spans.coverage);
	interceptor->spans.cadence = (enum span_cadence)value;
	interceptor->spans.in_flight = interceptor->concurrency;
	return err;
}
