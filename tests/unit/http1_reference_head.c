/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/http1_reference_head.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

#define T	"[-!#$%&'*+.^_`|~0-9A-Za-z]"
#define V	"[\t -~\x80-\xff]"
#define H	"[-!$%&'()*+,.0-9;=A-Z_a-z~]"
#define HOST	"(\\[([-!$%&'()*+,.0-9:;=A-Z_a-z~]+)]|" H "+)"
#define QUOTED	"\"([]\t !#-[^-~\x80-\xff]|\\\\" V ")*\""
#define ITEM(s) "(^|,)[ \t]*" s "[ \t]*(,|$)"

enum pattern {
	REQUEST_LINE,
	STATUS_LINE,
	PATH,
	CONNECT_TARGET,
	ABSOLUTE,
	AUTHORITY,
	FIELD,
	DIGITS,
	CHUNKED_LAST,
	CHUNKED_BEFORE,
	IDENTITY,
	UPGRADE,
	HOP_BY_HOP,
	CONTINUE,
	EXTENSIONS,
	_PATTERN_MAX,
};

static const struct {
	const char *text;
	bool any_case;
} patterns[] = {
	[REQUEST_LINE] = {"^(" T "+) ([!-\"$-~\x80-\xff]+) HTTP/([0-9])\\.([0-9])$", false},
	[STATUS_LINE] = {"^HTTP/([0-9])\\.([0-9]) ([1-9][0-9][0-9]) " V "*$", false},
	[PATH] = {"^/", false},
	[CONNECT_TARGET] = {"^" HOST ":[0-9]+$", false},
	[ABSOLUTE] = {"^http(s?)://(" HOST "(:[0-9]*)?)([/?].*)?$", true},
	[AUTHORITY] = {"^(" HOST "(:[0-9]*)?)?$", false},
	[FIELD] = {"^(" T "+):[ \t]*(|" V "*[!-~\x80-\xff])[ \t]*$", false},
	[DIGITS] = {"^[0-9]+$", false},
	[CHUNKED_LAST] = {"^(" T "+[ \t]*,[ \t]*)*chunked$", true},
	[CHUNKED_BEFORE] = {"(^|[, \t])chunked[ \t]*,", true},
	[IDENTITY] = {ITEM("identity"), true},
	[UPGRADE] = {ITEM("upgrade"), true},
	[HOP_BY_HOP] = {ITEM("(content-length|transfer-encoding)"), true},
	[CONTINUE] = {ITEM("100-continue"), true},
	[EXTENSIONS] = {"^(;" T "+(=(" T "+|" QUOTED "))?)*$", false},
};

struct http1_reference {
	regex_t compiled[_PATTERN_MAX];
};

static const char *const names[] = {"content-length",
				    "transfer-encoding",
				    "content-encoding",
				    "content-type",
				    "connection",
				    "upgrade",
				    "host",
				    "expect"};

struct http1_reference *http1_reference_new(void)
{
	struct http1_reference *reference = calloc(1, sizeof(*reference));

	assert_non_null(reference);
	for (size_t i = 0; i < _PATTERN_MAX; i++)
		assert_int_equal(regcomp(&reference->compiled[i], patterns[i].text,
					 REG_EXTENDED | (patterns[i].any_case ? REG_ICASE : 0)),
				 0);
	return reference;
}

void http1_reference_free(struct http1_reference *reference)
{
	for (size_t i = 0; i < _PATTERN_MAX; i++)
		regfree(&reference->compiled[i]);
	free(reference);
}

/* parts[0] is the whole match. */
static bool matches(const struct http1_reference *reference, enum pattern pattern,
		    struct part subject, struct part *parts, size_t count)
{
	regmatch_t found[16] = {{.rm_so = 0, .rm_eo = (regoff_t)subject.len}};

	if (regexec(&reference->compiled[pattern], subject.at, ARRAY_SIZE(found), found,
		    REG_STARTEND) != 0)
		return false;
	for (size_t i = 0; i < count; i++)
		parts[i] = found[i].rm_so < 0
				   ? (struct part){0}
				   : (struct part){subject.at + found[i].rm_so,
						   (size_t)(found[i].rm_eo - found[i].rm_so)};
	return true;
}

static bool is(struct part part, const char *text)
{
	return part.len == strlen(text) && memcmp(part.at, text, part.len) == 0;
}

static bool is_like(struct part part, const char *text)
{
	return part.len == strlen(text) && strncasecmp(part.at, text, part.len) == 0;
}

static enum fault version(struct message *message, struct part major, struct part minor)
{
	if (major.at[0] != '1' || minor.at[0] > '1')
		return FAULT_PROTOCOL;
	message->old = minor.at[0] == '0';
	return FAULT_NONE;
}

enum fault reference_request_line(const struct http1_reference *reference, struct message *message,
				  struct part line)
{
	struct part part[5], target[3];
	enum fault fault;

	if (!matches(reference, REQUEST_LINE, line, part, 5)) {
		/* Another version is told whatever the target is, if the line has three parts. */
		const char *first = memchr(line.at, ' ', line.len);
		const char *last =
			first ? memchr(first + 1, ' ', line.len - (size_t)(first + 1 - line.at))
			      : NULL;
		char rest[16] = "";

		if (last && line.len - (size_t)(last - line.at) == 9 && first > line.at)
			memcpy(rest, last + 1, 8);
		for (const char *c = line.at; first && c < first; c++)
			if (!isgraph((unsigned char)*c) || strchr("\"(),/:;<=>?@[\\]{}", *c))
				return FAULT_BAD_HEADER;
		if (strncmp(rest, "HTTP/", 5) == 0 && isdigit(rest[5]) && rest[6] == '.' &&
		    isdigit(rest[7]) && (rest[5] != '1' || rest[7] > '1'))
			return FAULT_PROTOCOL;
		return FAULT_BAD_HEADER;
	}
	fault = version(message, part[3], part[4]);
	if (fault)
		return fault;
	message->head.request.head = is(part[1], "HEAD");
	message->head.request.connect = is(part[1], "CONNECT");
	if ((is_like(part[1], "head") && !is(part[1], "HEAD")) ||
	    (is_like(part[1], "connect") && !is(part[1], "CONNECT")))
		return FAULT_BAD_HEADER;
	if (message->head.request.connect)
		return matches(reference, CONNECT_TARGET, part[2], NULL, 0) ? FAULT_NONE
									    : FAULT_BAD_HEADER;
	if (matches(reference, PATH, part[2], NULL, 0) ||
	    (is(part[2], "*") && is(part[1], "OPTIONS")))
		return FAULT_NONE;
	if (!matches(reference, ABSOLUTE, part[2], target, 3))
		return FAULT_BAD_HEADER;
	message->https = target[1].len > 0;
	message->authority = target[2];
	return FAULT_NONE;
}

enum fault reference_status_line(const struct http1_reference *reference, struct message *message,
				 struct part line)
{
	struct part part[4];
	unsigned int major, minor;

	if (line.len >= 8 && line.at[5] != '\0' && (line.len == 8 || line.at[8] == ' ') &&
	    isdigit(line.at[5]) && isdigit(line.at[7]) &&
	    sscanf(line.at, "HTTP/%1u.%1u", &major, &minor) == 2 && (major != 1 || minor > 1))
		return FAULT_PROTOCOL;
	if (!matches(reference, STATUS_LINE, line, part, 4))
		return FAULT_BAD_HEADER;
	message->head.status = (uint16_t)strtoul(part[3].at, NULL, 10);
	return version(message, part[1], part[2]);
}

static struct part less_port(struct part host, const char *port)
{
	size_t len = strlen(port);

	if (host.len > len && memcmp(host.at + host.len - len, port, len) == 0)
		host.len -= len;
	return host;
}

static enum fault host(const struct http1_reference *reference, const struct message *message,
		       struct part value)
{
	const char *port = message->https ? ":443" : ":80";
	struct part named = less_port(message->authority, port), given = less_port(value, port);

	if (message->said[HOSTS].lines > 1 || !matches(reference, AUTHORITY, value, NULL, 0))
		return FAULT_BAD_HEADER;
	if (message->authority.at &&
	    (named.len != given.len || strncasecmp(named.at, given.at, named.len) != 0))
		return FAULT_BAD_HEADER;
	return FAULT_NONE;
}

static void say(struct said *said, struct part value)
{
	char *joined;

	if (asprintf(&joined, "%s%s%.*s", said->value ? said->value : "", said->lines ? "," : "",
		     (int)value.len, value.at) < 0)
		fail_msg("no memory");
	free(said->value);
	said->value = joined;
	said->lines++;
}

enum fault reference_field_line(const struct http1_reference *reference, struct message *message,
				struct part line, bool trailer)
{
	struct part part[3];

	if (!matches(reference, FIELD, line, part, 3))
		return FAULT_BAD_HEADER;
	for (size_t i = 0; i < _REFERENCE_NAME_MAX; i++) {
		enum media_class media;

		if (!is_like(part[1], names[i]))
			continue;
		if (trailer)
			return FAULT_BAD_HEADER;
		/* An empty coding is none. */
		if (i != CODING || part[2].len)
			say(&message->said[i], part[2]);
		if (i == HOSTS && !message->response)
			return host(reference, message, part[2]);
		if (i != TYPE)
			continue;
		media = media_type_class((const uint8_t *)part[2].at, part[2].len);
		if (message->said[TYPE].lines > 1 && media != message->media)
			media = MEDIA_OPAQUE;
		message->media = media;
	}
	return FAULT_NONE;
}

static bool lists(const struct http1_reference *reference, const struct said *said,
		  enum pattern item)
{
	return said->lines &&
	       matches(reference, item, (struct part){said->value, strlen(said->value)}, NULL, 0);
}

static bool is_ambiguous(const struct http1_reference *reference, const struct message *message,
			 uint64_t *ret_length)
{
	const struct said *length = &message->said[LENGTH], *transfer = &message->said[TRANSFER];
	bool none = message->response
			    ? message->head.status < 200 || message->head.status == 204 ||
				      (message->head.request.connect && message->head.status < 300)
			    : message->head.request.connect;

	if (lists(reference, &message->said[CONNECTION], HOP_BY_HOP))
		return true;
	*ret_length = 0;
	if (length->lines) {
		errno = 0;
		*ret_length = strtoull(length->value, NULL, 10);
		if (length->lines > 1 || errno || !lists(reference, length, DIGITS))
			return true;
	}
	if (transfer->lines &&
	    (length->lines || message->old || !lists(reference, transfer, CHUNKED_LAST) ||
	     lists(reference, transfer, CHUNKED_BEFORE) || lists(reference, transfer, IDENTITY)))
		return true;
	return none && (transfer->lines || *ret_length);
}

static bool coding(const struct said *said, enum content_coding *ret_coding)
{
	*ret_coding = CODING_IDENTITY;
	if (!said->lines || strcasecmp(said->value, "identity") == 0)
		return true;
	if (strcasecmp(said->value, "deflate") == 0)
		*ret_coding = CODING_DEFLATE;
	else if (strcasecmp(said->value, "br") == 0)
		*ret_coding = CODING_BROTLI;
	else if (strcasecmp(said->value, "zstd") == 0)
		*ret_coding = CODING_ZSTD;
	else if (strcasecmp(said->value, "gzip") == 0 || strcasecmp(said->value, "x-gzip") == 0)
		*ret_coding = CODING_GZIP;
	else
		return false;
	return true;
}

/* RFC 9112 6.3, in its order. */
static enum http1_body body_of(const struct message *message, uint64_t length)
{
	const struct http1_head *head = &message->head;

	if (message->response) {
		if (head->status == 101)
			return HTTP1_TUNNEL;
		if (head->request.connect && head->status >= 200 && head->status < 300)
			return HTTP1_TUNNEL;
		if (head->request.head || head->status < 200 || head->status == 204 ||
		    head->status == 304)
			return HTTP1_NO_BODY;
	}
	if (message->said[TRANSFER].lines)
		return HTTP1_CHUNKED;
	if (message->said[LENGTH].lines)
		return length ? HTTP1_LENGTH : HTTP1_NO_BODY;
	return message->response ? HTTP1_UNTIL_CLOSE : HTTP1_NO_BODY;
}

enum fault reference_judge(const struct http1_reference *reference, struct message *message,
			   enum fault *ret_late)
{
	const struct said *said = message->said;
	struct http1_head *head = &message->head;
	bool response = message->response, known, body, upgrade;
	enum fault late = FAULT_NONE;
	uint64_t length;

	if (!response && !message->old && !said[HOSTS].lines)
		return FAULT_BAD_HEADER;
	upgrade = lists(reference, &said[CONNECTION], UPGRADE) && said[UPGRADES].lines &&
		  strspn(said[UPGRADES].value, ",") < strlen(said[UPGRADES].value);
	if (!response)
		head->request.upgrade = upgrade && !message->old;
	head->interim = response && head->status < 200 && head->status != 101;
	head->media = message->media;
	known = coding(&said[CODING], &head->coding);
	if (is_ambiguous(reference, message, &length))
		late = FAULT_AMBIGUOUS_LENGTH;
	else if (response && head->status == 101 && !(upgrade && head->request.upgrade))
		late = FAULT_PROTOCOL;
	head->body = late ? HTTP1_NO_BODY : body_of(message, length);
	body = head->body != HTTP1_NO_BODY && head->body != HTTP1_TUNNEL;
	if (body && (!known || (said[TRANSFER].lines && strchr(said[TRANSFER].value, ',')))) {
		late = FAULT_UNSUPPORTED_CODING;
		head->body = HTTP1_NO_BODY;
	}
	head->length = length;
	head->expect_continue = !response && head->body != HTTP1_NO_BODY && !message->old &&
				lists(reference, &said[EXPECT], CONTINUE);
	*ret_late = late;
	return FAULT_NONE;
}

bool reference_is_extensions(const struct http1_reference *reference, struct part line)
{
	return matches(reference, EXTENSIONS, line, NULL, 0);
}

void reference_message_done(struct message *message)
{
	for (size_t i = 0; i < _REFERENCE_NAME_MAX; i++)
		free(message->said[i].value);
}
