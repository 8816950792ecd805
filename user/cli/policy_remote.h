/* SPDX-License-Identifier: Apache-2.0 */
/* policy load, show and reload: the policies that a daemon has. */
#ifndef SLUICE_CLI_POLICY_REMOTE_H
#define SLUICE_CLI_POLICY_REMOTE_H

struct cli;

/* Each returns the exit status. name NULL: all of them, or that of the text. */
int policy_remote_load(const struct cli *cli, const char *path);
int policy_remote_show(const struct cli *cli, const char *name);
int policy_remote_reload(const struct cli *cli);

#endif
