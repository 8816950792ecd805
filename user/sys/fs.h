/* SPDX-License-Identifier: Apache-2.0 */
/* Files: read whole, written whole or not at all, directories made, bpffs mounted. */
#ifndef SLUICE_SYS_FS_H
#define SLUICE_SYS_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/macros.h"

/* The whole file with a NUL behind it; -EFBIG: over max bytes. The caller frees *ret_text. */
int fs_read_file(const char *path, size_t max, char **ret_text, size_t *ret_len) must_check;
/* Through a temporary file and rename(2): a reader sees the old content or the new. */
int fs_write_file(const char *path, mode_t mode, const char *text, size_t len) must_check;
/* Writes all of it. */
int fs_write(int fd, const char *text, size_t len) must_check;
/* Writes a short text into a file of the kernel's (cgroupfs, procfs). */
int fs_write_value(const char *path, const char *value) must_check;
/* One directory; an existing one of this user gets the mode. -ENOTDIR: something else is there. */
int fs_make_dir(const char *path, mode_t mode) must_check;
/* Removes a directory and the plain files in it. A missing one is fine. */
int fs_remove_dir(const char *path);
/* Whether path lies on a bpf file system. */
bool fs_is_bpffs(const char *path);
/* Mounts one there unless it is one. */
int fs_mount_bpffs(const char *path) must_check;

#endif
