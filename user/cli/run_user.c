/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run.h"
#include "sys/log.h"

#define DEFAULT_USER "nobody"

/* A decimal id as sudo writes it; the id that means "none" is none. */
static bool read_id(const char *text, unsigned int *ret_id)
{
	unsigned long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value >= UINT_MAX)
		return false;
	*ret_id = (unsigned int)value;
	return true;
}

static void fill(struct run_user *user, const struct passwd *entry, const char *name)
{
	(void)snprintf(user->name, sizeof(user->name), "%s", entry ? entry->pw_name : name);
	(void)snprintf(user->home, sizeof(user->home), "%s", entry ? entry->pw_dir : "/");
	if (!entry)
		return;
	user->uid = entry->pw_uid;
	user->gid = entry->pw_gid;
}

/* By number; one without a name is a user too, and has the group of the same number. */
static void find_by_id(unsigned int id, const char *text, struct run_user *user)
{
	user->uid = user->gid = id;
	fill(user, getpwuid(id), text);
}

static int find_by_name(const char *name, struct run_user *user)
{
	const struct passwd *entry = getpwnam(name);
	unsigned int id;

	if (entry) {
		fill(user, entry, name);
		return 0;
	}
	if (read_id(name, &id)) {
		find_by_id(id, name, user);
		return 0;
	}
	log_error("there is no user '%s': name another, or a number, with --user", name);
	return -ENOENT;
}

/* Supplementary groups, without root's: what belongs to it is not the command's. */
static int find_groups(struct run_user *user)
{
	int count = RUN_GROUPS_MAX, i, kept = 0;

	if (getgrouplist(user->name, user->gid, user->groups, &count) < 0) {
		log_error("user '%s' is in more than %d groups", user->name, RUN_GROUPS_MAX);
		return -E2BIG;
	}
	for (i = 0; i < count; i++)
		if (user->groups[i] != 0)
			user->groups[kept++] = user->groups[i];
	user->group_count = kept;
	return 0;
}

int run_user_find(const char *wanted, struct run_user *ret_user)
{
	struct run_user user = {.group_count = 0};
	const char *sudo_uid = getenv("SUDO_UID");
	unsigned int uid = 0, gid = 0;
	int err;

	/* Under sudo it is whoever called it; root calling sudo is nobody in particular. */
	if (!wanted && read_id(sudo_uid, &uid) && read_id(getenv("SUDO_GID"), &gid) && uid != 0) {
		find_by_id(uid, sudo_uid, &user);
		user.gid = gid;
	} else {
		err = find_by_name(wanted ? wanted : DEFAULT_USER, &user);
		if (err)
			return err;
	}
	if (user.uid == 0 || user.gid == 0) {
		log_error("a command never runs as root ('%s'): name another user with --user",
			  user.name);
		return -EPERM;
	}
	err = find_groups(&user);
	if (err)
		return err;
	*ret_user = user;
	return 0;
}
