/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What an idle extractor keeps for paths: bytes, and names. */
#define KEEP_PATH  256u
#define KEEP_NAMES 32u

static const char meta_name[] = "meta";
static const char raw_name[] = "raw";
static const char root_name[] = "$";

static bool name_is(const struct json *json, uint32_t depth, const char *name, size_t len)
{
	size_t at_len;
	const uint8_t *at = json_names_at(&json->names, depth, &at_len);

	return at_len == len && memcmp(at, name, len) == 0;
}

/* Is the value under way at that path? Compared from the innermost name outwards. */
static bool is_at(const struct json *json, const struct extract_joined *joined)
{
	const char *end = joined->path + strlen(joined->path), *begin;

	if (json->names.object_count != joined->names)
		return false;
	for (uint32_t depth = joined->names; depth-- > 0; end = begin - 1) {
		begin = memrchr(joined->path, '.', (size_t)(end - joined->path));
		begin = begin ? begin + 1 : joined->path;
		if (!name_is(json, depth, begin, (size_t)(end - begin)))
			return false;
	}
	return true;
}

static enum fault append_path(struct extractor *x, const void *text, size_t len)
{
	size_t need = x->path_len + len + 1, capacity = MAX(x->path_capacity * 2, need);
	char *grown;

	if (need > x->path_capacity) {
		grown = realloc(x->path, capacity);
		if (!grown)
			return FAULT_NO_MEMORY;
		x->path = grown;
		x->path_capacity = capacity;
	}
	memcpy(x->path + x->path_len, text, len);
	x->path_len += len;
	x->path[x->path_len] = '\0';
	return FAULT_NONE;
}

/* A name, with the path's own separator escaped, and what stands for the root. */
static enum fault append_name(struct extractor *x, const uint8_t *name, size_t len)
{
	bool root = len == sizeof(root_name) - 1 && memcmp(name, root_name, len) == 0;
	enum fault fault = root ? append_path(x, "\\", 1) : FAULT_NONE;

	if (fault)
		return fault;
	if (!memchr(name, '.', len) && !memchr(name, '\\', len))
		return append_path(x, name, len);
	for (size_t i = 0; i < len && !fault; i++) {
		if (name[i] == '.' || name[i] == '\\')
			fault = append_path(x, "\\", 1);
		if (!fault)
			fault = append_path(x, &name[i], 1);
	}
	return fault;
}

static enum fault reserve_ends(struct extractor *x, uint32_t count)
{
	uint32_t capacity = MAX(x->path_ends_capacity * 2, count + 4), *grown;

	if (count <= x->path_ends_capacity)
		return FAULT_NONE;
	grown = realloc(x->path_ends, capacity * sizeof(*grown));
	if (!grown)
		return FAULT_NO_MEMORY;
	x->path_ends = grown;
	x->path_ends_capacity = capacity;
	return FAULT_NONE;
}

/*
 * The path of the string under way, from the first name that is not what it was:
 * of many strings deep in a unit each costs only what is new. A text that may go
 * on has to be told from any other by it; for an observer what fits is enough.
 */
static enum fault build_path(struct extractor *x)
{
	const struct json_names *names = &x->scanner.names;
	uint32_t depth = MIN(x->path_names, names->object_count);
	enum fault fault = reserve_ends(x, names->object_count);

	x->path_len = depth ? x->path_ends[depth - 1] : 0;
	if (!fault)
		fault = append_path(x, "", 0);
	if (!fault && !names->object_count)
		return append_path(x, root_name, sizeof(root_name) - 1);
	for (; depth < names->object_count && !fault; depth++) {
		size_t len;
		const uint8_t *name = json_names_at(names, depth, &len);

		if (depth)
			fault = append_path(x, ".", 1);
		if (!fault && len > EXTRACT_NAME_MAX - MIN(x->path_len, EXTRACT_NAME_MAX))
			return x->park ? FAULT_TOO_LARGE : FAULT_NONE;
		if (!fault)
			fault = append_name(x, name, len);
		x->path_ends[depth] = (uint32_t)x->path_len;
		x->path_names = depth + 1;
	}
	return fault;
}

/* A name begins: the path is another from there on. */
static void new_name(struct extractor *x)
{
	x->path_names = MIN(x->path_names, x->scanner.names.object_count - 1);
}

/* Chooses the channel of the token that begins. */
static enum fault begin(struct extractor *x, enum json_token token)
{
	enum fault fault = FAULT_NONE;

	x->park = false;
	if (token != JSON_STRING) {
		if (token == JSON_NAME)
			new_name(x);
		x->current = channel_set_scratch(x->set, meta_name);
		return FAULT_NONE;
	}
	for (uint32_t i = 0; i < x->joined_count; i++) {
		if (is_at(&x->scanner, &x->joined[i])) {
			x->current = x->joined[i].channel;
			return FAULT_NONE;
		}
	}
	x->park = x->scanner.arrays > 0;
	if (x->park || x->set->on_text)
		fault = build_path(x);
	if (!fault)
		x->current = x->park ? channel_set_find(x->set, x->path, x->path_len)
				     : channel_set_scratch(x->set, x->path);
	return fault;
}

static enum fault finish(struct extractor *x)
{
	if (x->current->joined)
		return FAULT_NONE;
	if (x->park)
		return channel_park(x->set, x->current, x->path, x->path_len);
	return channel_end(x->set, x->current);
}

/* A piece of a token, or a whole string. Out of line, to keep token_text() short. */
__attribute__((noinline)) static enum fault token_piece(struct extractor *x, enum json_token token,
							unsigned int flags, const uint8_t *text,
							size_t len, uint64_t runes)
{
	bool whole = flags == (JSON_FIRST | JSON_LAST);
	enum fault fault = flags & JSON_FIRST ? begin(x, token) : FAULT_NONE;

	if (fault)
		return fault;
	if (whole && !x->park && !x->current->joined)
		return channel_set_whole(x->set, x->current->name, text, len, runes, true);
	fault = channel_text(x->set, x->current, text, len, runes);
	return !fault && (flags & JSON_LAST) ? finish(x) : fault;
}

static enum fault token_text(void *context, enum json_token token, unsigned int flags,
			     const uint8_t *text, size_t len, uint64_t runes)
{
	struct extractor *x = context;

	if (flags != (JSON_FIRST | JSON_LAST) || token == JSON_STRING)
		return token_piece(x, token, flags, text, len, runes);
	if (token == JSON_NAME)
		new_name(x);
	/* Names come again and again, numbers seldom. */
	return channel_set_whole(x->set, meta_name, text, len, runes, token == JSON_NAME);
}

static enum fault token_surrogate(void *context, enum json_token token, unsigned int flags,
				  uint32_t unit)
{
	struct extractor *x = context;
	enum fault fault = flags & JSON_FIRST ? begin(x, token) : FAULT_NONE;

	return fault ? fault : channel_surrogate(x->set, x->current, unit);
}

static void token_literal(void *context, uint8_t first)
{
	struct extractor *x = context;

	if (x->kind == EXTRACT_OLLAMA_CHAT && first == 't' && x->scanner.depth == 1 &&
	    x->scanner.names.object_count == 1 && name_is(&x->scanner, 0, "done", 4))
		x->end_in_unit = true;
}

static const struct json_sink sink = {token_text, token_surrogate, token_literal};

static int join(struct extractor *x, const char *path, const char *name)
{
	struct extract_joined *joined = &x->joined[x->joined_count];
	int r = channel_set_join(x->set, name, &joined->channel);

	if (r < 0)
		return r;
	joined->path = path;
	joined->names = 1;
	for (const char *at = path; (at = strchr(at, '.')); at++)
		joined->names++;
	x->joined_count++;
	return 0;
}

static int join_path(struct extractor *x, const struct extract *config)
{
	size_t len = strnlen(config->path, EXTRACT_PATH_MAX);

	if (len == 0 || len == EXTRACT_PATH_MAX)
		return -EINVAL;
	/* A text that ends with its unit is what any other string is. */
	if (config->join_unit)
		return 0;
	x->own_path = strdup(config->path);
	return x->own_path ? join(x, x->own_path, x->own_path) : -ENOMEM;
}

static int set_up(struct extractor *x, const struct extract *config)
{
	int r;

	switch (config->kind) {
	case EXTRACT_NONE:
		return 0;
	case EXTRACT_RAW:
		x->raw = true;
		return channel_set_join(x->set, raw_name, &x->current);
	case EXTRACT_PATH:
		x->json = true;
		return join_path(x, config);
	case EXTRACT_AUTO:
		x->json = true;
		return 0;
	case EXTRACT_OLLAMA_CHAT:
		x->json = true;
		r = join(x, "message.content", "content");
		return r < 0 ? r : join(x, "message.thinking", "thinking");
	default:
		return -EINVAL;
	}
}

int extractor_init(struct extractor *x, const struct extract *config, struct channel_set *set,
		   bool lines, bool json, bool evaluate)
{
	bool tokens = evaluate && config->kind != EXTRACT_NONE && config->kind != EXTRACT_RAW;
	int r = 0;

	memset(x, 0, sizeof(*x));
	x->set = set;
	x->kind = (uint8_t)config->kind;
	x->lines = lines;
	x->json = json;
	x->join_unit = config->join_unit;
	x->replace = config->replace_ill_formed;
	json_init(&x->scanner, tokens ? &sink : NULL, x);
	x->scanner.by_line = lines;
	x->scanner.replace = x->replace;
	if (evaluate)
		r = set_up(x, config);
	if (r < 0)
		extractor_done(x);
	return r;
}

void extractor_done(struct extractor *x)
{
	json_done(&x->scanner);
	free(x->own_path);
	free(x->path);
	free(x->path_ends);
	x->own_path = x->path = NULL;
	x->path_ends = NULL;
}

/* One rune of raw text that did not come in one piece, or stands for what was ill-formed. */
static enum fault raw_rune(struct extractor *x, const uint8_t *text, size_t len)
{
	x->utf8.have = 0;
	return x->current->waiting ? channel_arrived(x->set, x->current, text, len)
				   : channel_text(x->set, x->current, text, len, 1);
}

static enum fault raw_ill_formed(struct extractor *x)
{
	if (!x->replace)
		return FAULT_BAD_UTF8;
	return raw_rune(x, (const uint8_t *)UTF8_REPLACEMENT, UTF8_REPLACEMENT_LEN);
}

/* A byte that utf8_prefix() stopped at, or that follows a sequence under way. */
static enum fault raw_byte(struct extractor *x, const uint8_t *byte, size_t *ret_taken)
{
	struct utf8 done;

	*ret_taken = 1;
	switch (utf8_push(&x->utf8, *byte)) {
	case UTF8_MORE:
		return FAULT_NONE;
	case UTF8_DONE:
		done = x->utf8;
		return raw_rune(x, done.bytes, done.have);
	default:
		/* What broke a sequence off is looked at anew. */
		*ret_taken = x->utf8.have == 0;
		return raw_ill_formed(x);
	}
}

static enum fault raw_text(struct extractor *x, const uint8_t *data, size_t len)
{
	enum fault fault = FAULT_NONE;

	while (len && !fault) {
		uint64_t runes = 0;
		size_t taken = x->utf8.have ? 0 : utf8_prefix(data, len, &runes);

		if (taken)
			fault = channel_text(x->set, x->current, data, taken, runes);
		else
			fault = raw_byte(x, data, &taken);
		data += taken;
		len -= taken;
	}
	return fault;
}

/* Raw payload; the CR of a CRLF is not part of it. */
static enum fault raw_payload(struct extractor *x, const uint8_t *data, size_t len)
{
	enum fault fault = FAULT_NONE;

	if (!x->lines || !len)
		return raw_text(x, data, len);
	if (x->cr)
		fault = raw_text(x, (const uint8_t *)"\r", 1);
	x->cr = data[len - 1] == '\r';
	return fault ? fault : raw_text(x, data, len - x->cr);
}

enum fault extractor_feed(struct extractor *x, const uint8_t *data, size_t len, size_t *ret_used)
{
	enum fault fault = FAULT_NONE, raw = FAULT_NONE;

	*ret_used = len;
	if (x->json) {
		fault = json_scan(&x->scanner, data, len, ret_used);
	} else if (x->lines) {
		const uint8_t *lf = memchr(data, '\n', len);

		*ret_used = lf ? (size_t)(lf - data) : len;
	}
	/* What lies before a byte at fault came before it. */
	if (x->raw)
		raw = raw_payload(x, data, *ret_used);
	return raw ? raw : fault;
}

bool extractor_blank(const struct extractor *x)
{
	return x->json && json_blank(&x->scanner);
}

static enum fault raw_unit_end(struct extractor *x, bool delimited)
{
	enum fault fault = FAULT_NONE;

	if (x->cr && !delimited)
		fault = raw_text(x, (const uint8_t *)"\r", 1);
	x->cr = false;
	if (!fault && x->utf8.have && x->join_unit)
		fault = raw_ill_formed(x);
	else if (!fault && x->utf8.have && !x->current->waiting)
		fault = channel_wait(x->set, x->current);
	if (!fault && x->join_unit)
		fault = channel_end(x->set, x->current);
	return fault;
}

static void forget_path(struct extractor *x)
{
	x->path_names = 0;
	if (x->path_capacity > KEEP_PATH) {
		free(x->path);
		x->path = NULL;
		x->path_capacity = 0;
	}
	if (x->path_ends_capacity > KEEP_NAMES) {
		free(x->path_ends);
		x->path_ends = NULL;
		x->path_ends_capacity = 0;
	}
}

enum fault extractor_unit_end(struct extractor *x, bool delimited)
{
	enum fault fault = FAULT_NONE;

	if (x->json && !(x->lines && json_blank(&x->scanner)))
		fault = json_end(&x->scanner);
	if (!fault && x->raw)
		fault = raw_unit_end(x, delimited);
	if (!fault)
		fault = channel_set_unit_end(x->set);
	if (fault)
		return fault;
	x->complete |= x->end_in_unit;
	x->end_in_unit = false;
	forget_path(x);
	return FAULT_NONE;
}

enum fault extractor_end(struct extractor *x)
{
	enum fault fault = x->raw && x->utf8.have ? raw_ill_formed(x) : FAULT_NONE;

	return fault ? fault : channel_set_end(x->set);
}

size_t extractor_memory(const struct extractor *x)
{
	return json_memory(&x->scanner) + x->path_capacity +
	       x->path_ends_capacity * sizeof(*x->path_ends) +
	       (x->own_path ? strlen(x->own_path) + 1 : 0);
}
