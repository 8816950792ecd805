/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cgroup_find.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sys/cgroup.h"
#include "sys/log.h"

/* Container ids of every engine are this long. */
#define CONTAINER_ID_LEN 64u
/* Paths that a line about several lists. */
#define LISTED_MAX 4u
/* No manager nests them deeper; who has a cgroup of their own may. */
#define DEPTH_MAX 24u

static const char hex[] = "0123456789abcdef";

struct search {
	bool (*names)(const char *directory, const char *name);
	const char *name;
	bool container;
	unsigned int depth;
	size_t found;
	char paths[LISTED_MAX][CGROUP_PATH_MAX];
};

static bool names_unit(const char *directory, const char *unit)
{
	return strcmp(directory, unit) == 0;
}

bool cgroup_names_container(const char *directory, const char *id)
{
	static const char scope[] = ".scope";
	const char *dash = strrchr(directory, '-'), *at = dash ? dash + 1 : directory;
	size_t len = strspn(at, hex);

	if (strstr(directory, "conmon"))
		return false;
	/* With its prefix it is a scope of systemd's, without it a directory of the engine's. */
	return len == CONTAINER_ID_LEN && strcmp(at + len, dash ? scope : "") == 0 &&
	       strncmp(at, id, strlen(id)) == 0;
}

static int look_at(void *context, const char *path);

/* A cgroup may be gone, or be too deep: neither is one that is looked for. */
static int look_below(struct search *search, const char *path)
{
	int err;

	if (search->depth == DEPTH_MAX)
		return 0;
	search->depth++;
	err = cgroup_for_each_child(path, look_at, search);
	search->depth--;
	return err == -ENOENT || err == -ENAMETOOLONG ? 0 : err;
}

static int look_at(void *context, const char *path)
{
	struct search *search = context;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	/* A container names its own children as it likes, as others are named too. */
	if (!search->names(name, search->name))
		return search->container && cgroup_names_container(name, "")
			       ? 0
			       : look_below(search, path);
	if (search->found < LISTED_MAX)
		(void)snprintf(search->paths[search->found], CGROUP_PATH_MAX, "%s", path);
	search->found++;
	return 0;
}

static int refuse_many(const struct search *search, const char *what)
{
	char list[LISTED_MAX * (CGROUP_PATH_MAX + 2)] = "";
	size_t i, len = 0;

	for (i = 0; i < MIN(search->found, (size_t)LISTED_MAX); i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "",
					search->paths[i]);
	log_error("%s '%s' is more than one (%zu): %s%s; name one of these cgroups, or more of "
		  "its id",
		  what, search->name, search->found, list,
		  search->found > LISTED_MAX ? ", and more" : "");
	return -EEXIST;
}

/* hint: what to do where there is none. */
static int find(struct search *search, const char *what, const char *hint, char *ret_path)
{
	char mount[CGROUP_PATH_MAX];
	int err = cgroup_mount(mount, sizeof(mount));

	if (!err)
		err = cgroup_for_each_child(mount, look_at, search);
	if (err)
		return log_errno(LOG_ERR, err, "cannot search the cgroup v2 tree");
	if (search->found > 1)
		return refuse_many(search, what);
	if (!search->found) {
		log_error("no cgroup below '%s' is that of %s '%s': %s", mount, what, search->name,
			  hint);
		return -ENOENT;
	}
	(void)snprintf(ret_path, PATH_MAX, "%s", search->paths[0]);
	return 0;
}

int cgroup_find_unit(const char *unit, char ret_path[static PATH_MAX])
{
	struct search search = {.names = names_unit, .name = unit};
	const char *dot = strrchr(unit, '.');

	if (!dot || dot == unit || strchr(unit, '/') ||
	    (strcmp(dot, ".service") != 0 && strcmp(dot, ".scope") != 0 &&
	     strcmp(dot, ".slice") != 0)) {
		log_error("--unit: '%s' is no name of a unit with processes: NAME.service, "
			  "NAME.scope or NAME.slice is",
			  unit);
		return -EINVAL;
	}
	return find(&search, "unit",
		    "a unit has one while it runs; see 'systemctl status', or watch its cgroup "
		    "by path",
		    ret_path);
}

int cgroup_find_container(const char *id, char ret_path[static PATH_MAX])
{
	struct search search = {.names = cgroup_names_container, .name = id, .container = true};
	size_t len = strlen(id);

	if (len < CONTAINER_ID_MIN || len > CONTAINER_ID_LEN || strspn(id, hex) != len) {
		log_error("--container: '%s' is no id of a container: %u to %u of the characters "
			  "0-9 and a-f, as 'docker ps --no-trunc' or 'crictl ps' prints it",
			  id, CONTAINER_ID_MIN, CONTAINER_ID_LEN);
		return -EINVAL;
	}
	return find(&search, "container",
		    "it has one while it runs; see 'docker ps' or 'crictl ps', or watch its "
		    "cgroup by path",
		    ret_path);
}
