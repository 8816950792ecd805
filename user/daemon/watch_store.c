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

	object = json_pack("{s:s, s:s%}", "kind", watch->kind == WATCH_RUN ? "run" : "watch",
			   "policy", watch->policy->text, watch->policy->text_len);
	text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	json_decref(object);
	if (!text)
		return -ENOMEM;
	file_name(instance, watch->id, path, sizeof(path));
	r = fs_write_file(path, 0600, text, strlen(text));
	free(text);
	return r;
}

int watch_store_read(const struct instance *instance, uint64_t id, enum watch_kind *ret_kind,
		     char **ret_text, size_t *ret_len)
{
	char path[INSTANCE_PATH_LEN + 64], *file, *copy;
	const char *kind, *policy;
	json_t *object;
	size_t len;
	int r;

	file_name(instance, id, path, sizeof(path));
	r = fs_read_file(path, FILE_MAX, &file, &len);
	if (r)
		return r;
	object = json_loadb(file, len, JSON_REJECT_DUPLICATES, NULL);
	free(file);
	if (json_unpack(object, "{s:s, s:s%}", "kind", &kind, "policy", &policy, &len)) {
		json_decref(object);
		return -EBADMSG;
	}
	copy = malloc(len + 1);
	if (copy) {
		(void)memcpy(copy, policy, len);
		copy[len] = '\0';
		*ret_text = copy;
		*ret_len = len;
		*ret_kind = strcmp(kind, "run") ? WATCH_PLAIN : WATCH_RUN;
	}
	json_decref(object);
	return copy ? 0 : -ENOMEM;
}

void watch_store_remove(const struct instance *instance, uint64_t id)
{
	char path[INSTANCE_PATH_LEN + 64];

	file_name(instance, id, path, sizeof(path));
	(void)unlink(path);
}
