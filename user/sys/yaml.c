/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Built on libyaml's events: its document API forgets anchors and where an alias
 * stood, which is what has to be refused here by line and column.
 */
#include "sys/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

struct reader {
	yaml_parser_t parser;
	struct yaml_error *error;
	/* From the document's root down to where the next node goes. */
	struct doc_node *open[YAML_DEPTH_MAX];
	unsigned int depth;
	struct doc_node *root; /* owns every node read so far */
	size_t nodes;
	char *key; /* of the map entry whose value comes next */
	yaml_mark_t key_mark;
	unsigned int documents;
};

static unsigned int mark_line(yaml_mark_t mark)
{
	return (unsigned int)mark.line + 1;
}

static unsigned int mark_column(yaml_mark_t mark)
{
	return (unsigned int)mark.column + 1;
}

static int refuse(struct reader *r, int error, yaml_mark_t mark, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static int refuse(struct reader *r, int error, yaml_mark_t mark, const char *format, ...)
{
	va_list args;

	r->error->line = mark_line(mark);
	r->error->column = mark_column(mark);
	va_start(args, format);
	(void)vsnprintf(r->error->message, sizeof(r->error->message), format, args);
	va_end(args);
	return error;
}

/* A scalar in a map where no key is waiting is the next entry's key. */
static int read_key(struct reader *r, const yaml_event_t *event)
{
	const struct doc_node *map = r->open[r->depth - 1];
	const char *key = (const char *)event->data.scalar.value;

	if (map->count == YAML_MAP_KEYS_MAX)
		return refuse(r, -EFBIG, event->start_mark, "more than %u keys in one map",
			      YAML_MAP_KEYS_MAX);
	if (doc_node_get(map, key))
		return refuse(r, -EINVAL, event->start_mark, "key '%.64s' stands here twice", key);
	r->key = strdup(key);
	if (!r->key)
		return -ENOMEM;
	r->key_mark = event->start_mark;
	return 0;
}

static int add_node(struct reader *r, enum doc_kind kind, const yaml_event_t *event,
		    const char *scalar)
{
	struct doc_node *node cleanup(doc_node_freep) = NULL;
	struct doc_node *added;
	int err;

	if (++r->nodes > YAML_NODES_MAX)
		return refuse(r, -EFBIG, event->start_mark, "more than %u values", YAML_NODES_MAX);
	if (kind != DOC_SCALAR && r->depth == YAML_DEPTH_MAX)
		return refuse(r, -EFBIG, event->start_mark, "nested deeper than %u levels",
			      YAML_DEPTH_MAX);
	err = doc_node_new(kind, r->key, scalar, mark_line(event->start_mark),
			   mark_column(event->start_mark), &node);
	if (err)
		return err;
	if (r->key) {
		node->key_line = mark_line(r->key_mark);
		node->key_column = mark_column(r->key_mark);
		free(take_ptr(r->key));
	}
	added = node;
	if (!r->root) {
		r->root = take_ptr(node);
	} else {
		err = doc_node_append(r->open[r->depth - 1], node);
		if (err)
			return err;
		node = NULL;
	}
	if (kind == DOC_SCALAR)
		added->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	else
		r->open[r->depth++] = added;
	return 0;
}

static int read_node(struct reader *r, const yaml_event_t *event)
{
	const yaml_char_t *anchor, *tag;
	enum doc_kind kind;
	bool key_due = r->depth && r->open[r->depth - 1]->kind == DOC_MAP && !r->key;

	if (event->type == YAML_SCALAR_EVENT) {
		kind = DOC_SCALAR;
		anchor = event->data.scalar.anchor;
		tag = event->data.scalar.tag;
	} else if (event->type == YAML_SEQUENCE_START_EVENT) {
		kind = DOC_LIST;
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
	} else {
		kind = DOC_MAP;
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
	}
	if (anchor)
		return refuse(r, -EINVAL, event->start_mark, "anchors are not allowed: '&%.64s'",
			      (const char *)anchor);
	if (tag)
		return refuse(r, -EINVAL, event->start_mark, "tags are not allowed: '%.64s'",
			      (const char *)tag);
	if (kind == DOC_SCALAR && memchr(event->data.scalar.value, 0, event->data.scalar.length))
		return refuse(r, -EINVAL, event->start_mark, "a NUL character is not allowed");
	if (key_due && kind != DOC_SCALAR)
		return refuse(r, -EINVAL, event->start_mark, "a key must be a plain word");
	if (key_due)
		return read_key(r, event);
	return add_node(r, kind, event,
			kind == DOC_SCALAR ? (const char *)event->data.scalar.value : NULL);
}

static int read_event(struct reader *r, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (r->documents++)
			return refuse(r, -EINVAL, event->start_mark,
				      "a second document begins here; one is allowed");
		return 0;
	case YAML_ALIAS_EVENT:
		return refuse(r, -EINVAL, event->start_mark, "aliases are not allowed: '*%.64s'",
			      (const char *)event->data.alias.anchor);
	case YAML_SCALAR_EVENT:
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return read_node(r, event);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		r->depth--;
		return 0;
	default:
		return 0;
	}
}

/* libyaml's own refusal. A reader problem (bad UTF-8) has an offset but no mark. */
static int refuse_parser(struct reader *r)
{
	const yaml_parser_t *parser = &r->parser;

	if (parser->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	if (parser->error == YAML_READER_ERROR) {
		r->error->line = r->error->column = 0;
		(void)snprintf(r->error->message, sizeof(r->error->message), "%s at byte %zu",
			       parser->problem, parser->problem_offset);
		return -EINVAL;
	}
	return refuse(r, -EINVAL, parser->problem_mark, "%s%s%s",
		      parser->context ? parser->context : "", parser->context ? ": " : "",
		      parser->problem ? parser->problem : "not YAML");
}

static int read_events(struct reader *r)
{
	yaml_event_t event;
	bool end = false;
	int err;

	while (!end) {
		if (!yaml_parser_parse(&r->parser, &event))
			return refuse_parser(r);
		end = event.type == YAML_STREAM_END_EVENT;
		err = read_event(r, &event);
		yaml_event_delete(&event);
		if (err)
			return err;
	}
	if (!r->root) {
		r->error->line = r->error->column = 0;
		(void)snprintf(r->error->message, sizeof(r->error->message), "it is empty");
		return -EINVAL;
	}
	return 0;
}

int yaml_parse(const char *text, size_t len, struct doc_node **ret_document,
	       struct yaml_error *ret_error)
{
	struct reader r = {.error = ret_error};
	int err;

	if (len > YAML_BYTES_MAX) {
		ret_error->line = ret_error->column = 0;
		(void)snprintf(ret_error->message, sizeof(ret_error->message),
			       "it is larger than %u bytes", YAML_BYTES_MAX);
		return -EFBIG;
	}
	if (!yaml_parser_initialize(&r.parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
	err = read_events(&r);
	yaml_parser_delete(&r.parser);
	free(r.key);
	if (err) {
		doc_node_free(r.root);
		return err;
	}
	*ret_document = r.root;
	return 0;
}

static int read_all(int fd, char **ret_text, size_t *ret_len)
{
	size_t room = 65536, len = 0;
	char *text = malloc(room + 1), *grown;
	ssize_t got;

	while (text) {
		got = read(fd, text + len, room - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 || len + (size_t)got > YAML_BYTES_MAX) {
			int err = got < 0 ? -errno : -EFBIG;

			free(text);
			return err;
		}
		if (got == 0) {
			text[len] = '\0';
			*ret_text = text;
			*ret_len = len;
			return 0;
		}
		len += (size_t)got;
		if (len == room) {
			room *= 2;
			grown = realloc(text, room + 1);
			if (!grown)
				free(text);
			text = grown;
		}
	}
	return -ENOMEM;
}

int yaml_read_file(const char *path, char **ret_text, size_t *ret_len)
{
	int fd, err;

	if (strcmp(path, "-") == 0)
		return read_all(STDIN_FILENO, ret_text, ret_len);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	err = read_all(fd, ret_text, ret_len);
	(void)close(fd);
	return err;
}
