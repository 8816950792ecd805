/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_path.h"

#include <stdlib.h>
#include <string.h>

/* What an idle extractor keeps for paths: bytes, and names. */
#define KEEP_PATH  256u
#define KEEP_NAMES 32u

static const char root_name[] = "$";

void extract_path_done(struct extract_path *path)
{
	free(path->text);
	free(path->ends);
	memset(path, 0, sizeof(*path));
}

void extract_path_clear(struct extract_path *path)
{
	path->names = 0;
	if (path->capacity > KEEP_PATH || path->ends_capacity > KEEP_NAMES)
		extract_path_done(path);
}

static enum fault append(struct extract_path *path, const void *text, size_t len)
{
	size_t need = path->len + len + 1, capacity = MAX(path->capacity * 2, need);
	char *grown;

	if (need > path->capacity) {
		grown = realloc(path->text, capacity);
		if (!grown)
			return FAULT_NO_MEMORY;
		path->text = grown;
		path->capacity = capacity;
	}
	memcpy(path->text + path->len, text, len);
	path->len += len;
	path->text[path->len] = '\0';
	return FAULT_NONE;
}

/* A name, with the path's own separator escaped, and what stands for the root. */
static enum fault append_name(struct extract_path *path, const uint8_t *name, size_t len)
{
	bool root = len == sizeof(root_name) - 1 && memcmp(name, root_name, len) == 0;
	enum fault fault = root ? append(path, "\\", 1) : FAULT_NONE;

	if (fault)
		return fault;
	if (!memchr(name, '.', len) && !memchr(name, '\\', len))
		return append(path, name, len);
	for (size_t i = 0; i < len && !fault; i++) {
		if (name[i] == '.' || name[i] == '\\')
			fault = append(path, "\\", 1);
		if (!fault)
			fault = append(path, &name[i], 1);
	}
	return fault;
}

static enum fault reserve_ends(struct extract_path *path, uint32_t count)
{
	uint32_t capacity = MAX(path->ends_capacity * 2, count + 4), *grown;

	if (count <= path->ends_capacity)
		return FAULT_NONE;
	grown = realloc(path->ends, capacity * sizeof(*grown));
	if (!grown)
		return FAULT_NO_MEMORY;
	path->ends = grown;
	path->ends_capacity = capacity;
	return FAULT_NONE;
}

enum fault extract_path_make(struct extract_path *path, const struct json_names *names, bool exact)
{
	uint32_t depth = MIN(path->names, names->object_count);
	enum fault fault = reserve_ends(path, names->object_count);

	path->len = depth ? path->ends[depth - 1] : 0;
	if (!fault)
		fault = append(path, "", 0);
	if (!fault && !names->object_count)
		return append(path, root_name, sizeof(root_name) - 1);
	for (; depth < names->object_count && !fault; depth++) {
		size_t len;
		const uint8_t *name = json_names_at(names, depth, &len);

		if (depth)
			fault = append(path, ".", 1);
		if (!fault && len > EXTRACT_NAME_MAX - MIN(path->len, EXTRACT_NAME_MAX))
			return exact ? FAULT_TOO_LARGE : FAULT_NONE;
		if (!fault)
			fault = append_name(path, name, len);
		path->ends[depth] = (uint32_t)path->len;
		path->names = depth + 1;
	}
	return fault;
}

size_t extract_path_memory(const struct extract_path *path)
{
	return path->capacity + path->ends_capacity * sizeof(*path->ends);
}
