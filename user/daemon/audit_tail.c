/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/audit_tail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/audit_file.h"
#include "sys/fd.h"

#define OF_STREAM UINT64_MAX

static int add(struct audit_tail *tail, uint64_t stream, uint64_t session)
{
	if (tail->count == tail->capacity) {
		size_t capacity = tail->capacity ? tail->capacity * 2 : 64;
		struct audit_told *told = reallocarray(tail->told, capacity, sizeof(*told));

		if (!told)
			return -ENOMEM;
		tail->told = told;
		tail->capacity = capacity;
	}
	tail->told[tail->count++] = (struct audit_told){stream, session};
	return 0;
}

/* The number behind a name, which has to stand at *at; moves on behind it. */
static bool read_number(const char **at, const char *end, const char *name, uint64_t *ret_number)
{
	size_t len = strlen(name);
	const char *text = *at;
	uint64_t number = 0;

	if ((size_t)(end - text) < len || memcmp(text, name, len) != 0)
		return false;
	for (text += len; text < end && *text >= '0' && *text <= '9'; text++)
		number = number * 10 + (uint64_t)(*text - '0');
	*ret_number = number;
	*at = text;
	return true;
}

/* Members stand in a fixed order, and a quote within a text is escaped. */
static int add_line(struct audit_tail *tail, const char *line, size_t len)
{
	static const char event[] = "\",\"event\":\"", session_end[] = "session_settled\"",
			  stream_end[] = "stream_settled\"";
	const char *end = line + len, *at = memmem(line, len, event, sizeof(event) - 1);
	uint64_t stream, session = OF_STREAM;
	bool of_session;

	if (!at)
		return 0;
	at += sizeof(event) - 1;
	of_session = (size_t)(end - at) > sizeof(session_end) &&
		     !memcmp(at, session_end, sizeof(session_end) - 1);
	if (of_session)
		at += sizeof(session_end) - 1;
	else if ((size_t)(end - at) > sizeof(stream_end) &&
		 !memcmp(at, stream_end, sizeof(stream_end) - 1))
		at += sizeof(stream_end) - 1;
	else
		return 0;
	if (!read_number(&at, end, ",\"stream\":", &stream) ||
	    (of_session && !read_number(&at, end, ",\"session\":", &session)))
		return 0;
	return add(tail, stream, session);
}

int audit_tail_add(struct audit_tail *tail, const char *text, size_t len)
{
	const char *end = text + len, *newline;
	int r = 0;

	for (; !r && text < end && (newline = memchr(text, '\n', (size_t)(end - text)));
	     text = newline + 1)
		if (*text == '{')
			r = add_line(tail, text, (size_t)(newline - text));
	return r;
}

static int compare(const void *left, const void *right)
{
	const struct audit_told *a = left, *b = right;

	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	return (a->session > b->session) - (a->session < b->session);
}

void audit_tail_sort(struct audit_tail *tail)
{
	if (tail->count)
		qsort(tail->told, tail->count, sizeof(*tail->told), compare);
}

bool audit_tail_has(const struct audit_tail *tail, uint64_t stream, const uint64_t *session)
{
	const struct audit_told told = {stream, session ? *session : OF_STREAM};

	return tail->count && bsearch(&told, tail->told, tail->count, sizeof(told), compare);
}

void audit_tail_done(struct audit_tail *tail)
{
	free(tail->told);
	*tail = (struct audit_tail){0};
}

/* Reads the last *len bytes of a file and takes what it read from *len. */
static int read_file(struct audit_tail *tail, const struct audit_file *file, uint64_t first,
		     size_t *len)
{
	char name[AUDIT_NAME_LEN], *text;
	int fd cleanup(fd_closep) = -1;
	struct stat found;
	ssize_t n;
	int r;

	audit_name_format(first, name);
	fd = openat(file->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &found))
		return -errno;
	if ((uint64_t)found.st_size < *len)
		*len = (size_t)found.st_size;
	text = malloc(*len + 1);
	if (!text)
		return -ENOMEM;
	n = pread(fd, text, *len, found.st_size - (off_t)*len);
	r = n < 0 ? -errno : audit_tail_add(tail, text, (size_t)n);
	free(text);
	return r;
}

int audit_tail_read(struct audit_tail *tail, const struct audit_file *file, size_t len)
{
	size_t i = file->count, part;
	int r = 0;

	for (; !r && i && len; i--, len -= part) {
		part = len;
		r = read_file(tail, file, file->firsts[i - 1], &part);
	}
	audit_tail_sort(tail);
	return r;
}
