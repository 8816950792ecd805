/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which cgroup is meant by a systemd unit or a container: found by its name in the cgroup v2
 * tree, which is what the kernel enforces by, whoever manages it.
 */
#ifndef SLUICE_CLI_CGROUP_FIND_H
#define SLUICE_CLI_CGROUP_FIND_H

#include <limits.h>
#include <stdbool.h>

#include "base/macros.h"

/* Fewer characters of a container's id name too many. */
#define CONTAINER_ID_MIN 4u

/*
 * Does a directory's name stand for a container whose id begins so (hexadecimal, lower case): ID,
 * "docker-ID.scope", "cri-containerd-ID.scope", "crio-ID.scope", "libpod-ID.scope"?
 * The conmon of crio and libpod is not the container.
 */
bool cgroup_names_container(const char *directory, const char *id);

/*
 * Each says in one line why it finds none, or not one alone, and what to do. -EINVAL: that is
 * no name of a unit, no id. -ENOENT. -EEXIST: several; they are listed. -ENAMETOOLONG.
 */
int cgroup_find_unit(const char *unit, char ret_path[static PATH_MAX]) must_check;
int cgroup_find_container(const char *id, char ret_path[static PATH_MAX]) must_check;

#endif
