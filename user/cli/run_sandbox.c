/* SPDX-License-Identifier: Apache-2.0 */
/* What the command can see, and who it is. Runs in the child, before the command does. */
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "cli/run.h"
#include "sys/fs.h"

#define MOUNTINFO_MAX (16u << 20)

static void free_text(char *text)
{
	free(text);
}
DEFINE_CLEANUP(char *, free_text)

/* What becomes of a mount, by the type of its file system. */
enum view { VIEW_READ_ONLY, VIEW_HIDDEN, VIEW_FRESH_PROC };

struct view_rule {
	const char *type;
	unsigned long magic;
	enum view view;
	const char *step;
};

static const struct view_rule view_rules[] = {
	/* A process that could write cgroup.procs might leave the watched cgroup. */
	{"cgroup2", CGROUP2_SUPER_MAGIC, VIEW_READ_ONLY, "making cgroup2 read-only"},
	{"cgroup", CGROUP_SUPER_MAGIC, VIEW_READ_ONLY, "making cgroupfs read-only"},
	{"bpf", BPF_FS_MAGIC, VIEW_HIDDEN, "hiding bpffs"},
	/* The host's procfs shows the memory of what has the same uid outside. */
	{"proc", PROC_SUPER_MAGIC, VIEW_FRESH_PROC, "mounting a new /proc"},
};

/* mountinfo writes space, tab, newline and backslash as octal. */
static void decode_octal(char *text)
{
	char *to = text;

	while (*text) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' &&
		    text[2] <= '7' && text[3] >= '0' && text[3] <= '7') {
			*to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
				       (text[3] - '0'));
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

/* The mount point and the type in a line of mountinfo, which is cut up for it. */
static bool split_line(char *line, char **ret_path, char **ret_type)
{
	char *rest = line, *field = NULL, *path = NULL;
	int i;

	for (i = 0; i < 5; i++) {
		field = strsep(&rest, " ");
		if (!field)
			return false;
	}
	path = field;
	/* Optional fields end with a lone hyphen. */
	while ((field = strsep(&rest, " ")) && strcmp(field, "-") != 0)
		;
	field = field ? strsep(&rest, " ") : NULL;
	if (!field)
		return false;
	decode_octal(path);
	*ret_path = path;
	*ret_type = field;
	return true;
}

static int make_read_only(const char *path)
{
	struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};

	return mount_setattr(AT_FDCWD, path, 0, &attributes, sizeof(attributes)) ? -errno : 0;
}

static int change_mount(const struct view_rule *rule, const char *path)
{
	const unsigned long quiet = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	struct statfs found;

	/* What another mount covers cannot be reached, and is not what path means. */
	if (statfs(path, &found))
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	if ((unsigned long)found.f_type != rule->magic)
		return 0;
	switch (rule->view) {
	case VIEW_READ_ONLY:
		return make_read_only(path);
	case VIEW_HIDDEN:
		return mount("none", path, "tmpfs", quiet | MS_RDONLY, "mode=0555,size=4k") ? -errno
											    : 0;
	case VIEW_FRESH_PROC:
		return mount("proc", path, "proc", quiet, NULL) ? -errno : 0;
	}
	return -EINVAL;
}

static int change_mounts(char *mountinfo, const char **ret_step)
{
	char *line, *path = NULL, *type = NULL;
	size_t i;
	int err;

	while ((line = strsep(&mountinfo, "\n"))) {
		if (!split_line(line, &path, &type))
			continue;
		for (i = 0; i < ARRAY_SIZE(view_rules); i++) {
			if (strcmp(view_rules[i].type, type) != 0)
				continue;
			err = change_mount(&view_rules[i], path);
			if (err) {
				*ret_step = view_rules[i].step;
				return err;
			}
		}
	}
	return 0;
}

int run_sandbox_view(const char **ret_step)
{
	char *directory cleanup(free_textp) = NULL;
	char *mountinfo cleanup(free_textp) = NULL;
	size_t len;
	int err;

	*ret_step = "finding the current directory";
	directory = getcwd(NULL, 0);
	if (!directory)
		return -errno;
	*ret_step = "detaching the mounts";
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -errno;
	*ret_step = "reading the mounts";
	err = fs_read_file("/proc/self/mountinfo", MOUNTINFO_MAX, &mountinfo, &len);
	if (err)
		return err;
	err = change_mounts(mountinfo, ret_step);
	if (err)
		return err;
	/*
	 * The directory is looked up again: as it was, it could lie on a mount
	 * that has just been covered, and lead back to it.
	 */
	*ret_step = "entering the current directory";
	return chdir(directory) ? -errno : 0;
}

/* Bits that let uid 0 or a kept capability come back are set, and locked. */
static int lock_privileges(void)
{
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
				   SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
				   SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	capng_clear(CAPNG_SELECT_BOUNDS);
	if (capng_apply(CAPNG_SELECT_BOUNDS))
		return -EPERM;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		return -errno;
	return prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) ? -errno : 0;
}

static int change_identity(const struct run_user *user)
{
	if (setgroups((size_t)user->group_count, user->groups) ||
	    setresgid(user->gid, user->gid, user->gid) ||
	    setresuid(user->uid, user->uid, user->uid))
		return -errno;
	return 0;
}

static int drop_capabilities(void)
{
	capng_clear(CAPNG_SELECT_BOTH);
	if (capng_apply(CAPNG_SELECT_CAPS))
		return -EPERM;
	/* Read back: what is believed to be gone has to be gone. */
	if (capng_get_caps_process())
		return -EPERM;
	if (capng_have_capabilities(CAPNG_SELECT_CAPS) != CAPNG_NONE ||
	    capng_have_capabilities(CAPNG_SELECT_BOUNDS) != CAPNG_NONE)
		return -EPERM;
	return 0;
}

static int set_environment(const struct run_user *user)
{
	if (setenv("HOME", user->home, true) || setenv("USER", user->name, true) ||
	    setenv("LOGNAME", user->name, true))
		return -errno;
	return 0;
}

int run_sandbox_drop(const struct run_user *user, const char **ret_step)
{
	uid_t real, effective, saved;
	int err;

	*ret_step = "giving up capabilities";
	err = lock_privileges();
	if (err)
		return err;
	*ret_step = "changing the user";
	err = change_identity(user);
	if (err)
		return err;
	*ret_step = "giving up capabilities";
	err = drop_capabilities();
	if (err)
		return err;
	*ret_step = "changing the user";
	if (getresuid(&real, &effective, &saved) || real != user->uid || effective != user->uid ||
	    saved != user->uid)
		return -EPERM;
	*ret_step = "forbidding new privileges";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	*ret_step = "setting the environment";
	return set_environment(user);
}
