/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/watch_store.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/instance.h"
#include "daemon/limits.h"
#include "daemon/policies.h"
#include "sys/fs.h"

/* JSON may write one byte of a text as six. */
#define FILE_MAX (6u * LIMIT_POLICY_TEXT + 4096u)

static void file_name(const struct instance *instance, uint64_t id, char *path, size_t len)
{
	(void)snprintf(path, len, "%s/watch-%" PRIu64 ".json", instance->state, id);
}

int watch_store_write(const struct instance *instance, const struct watch *watch)
{
	char path[INSTANCE_PATH_LEN + 64];
	json_t *object;
	char *text;
	int r;

	object = json_pack("{s:s, s:s%, s:s*}", "kind", watch->kind == WATCH_RUN ? "run" : "watch",
			   "policy", watch->policy->text, watch->policy->text_len, "name",
			   watch->named ? watch->policy->policy->name : NULL);
	text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	json_decref(object);
	if (!text)
		return -ENOMEM;
	file_name(instance, watch->id, path, sizeof(path));
	r = fs_write_file(path, 0600, text, strlen(text));
	free(text);
	return r;
}

static char *copy_text(const char *text, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return NULL;
	(void)memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

void watch_stored_done(struct watch_stored *stored)
{
	free(stored->text);
	free(stored->name);
}

int watch_store_read(const struct instance *instance, uint64_t id, struct watch_stored *ret_stored)
{
	struct watch_stored stored cleanup(watch_stored_done) = {0};
	char path[INSTANCE_PATH_LEN + 64], *file;
	const char *kind, *policy, *name = NULL;
	json_t *object;
	size_t len;
	int r;

	file_name(instance, id, path, sizeof(path));
	r = fs_read_file(path, FILE_MAX, &file, &len);
	if (r)
		return r;
	object = json_loadb(file, len, JSON_REJECT_DUPLICATES, NULL);
	free(file);
	if (json_unpack(object, "{s:s, s:s%, s?:s}", "kind", &kind, "policy", &policy, &stored.len,
			"name", &name)) {
		json_decref(object);
		return -EBADMSG;
	}
	stored.kind = strcmp(kind, "run") ? WATCH_PLAIN : WATCH_RUN;
	stored.text = copy_text(policy, stored.len);
	stored.name = name ? copy_text(name, strlen(name)) : NULL;
	json_decref(object);
	if (!stored.text || (name && !stored.name))
		return -ENOMEM;
	*ret_stored = stored;
	stored = (struct watch_stored){0};
	return 0;
}

void watch_store_remove(const struct instance *instance, uint64_t id)
{
	char path[INSTANCE_PATH_LEN + 64];

	file_name(instance, id, path, sizeof(path));
	(void)unlink(path);
}
