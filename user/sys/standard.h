/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptors that a program is started with, 0 to 2. One that is closed would be the next
 * socket's number, and what is meant for a terminal would be written to a peer.
 */
#ifndef SLUICE_SYS_STANDARD_H
#define SLUICE_SYS_STANDARD_H

/*
 * main() of a program, around its body: opens the log under its name and the descriptors that
 * are closed, before anything else, and sees in the end that all was written. The body's status,
 * or EXIT_FAILURE where that was EXIT_SUCCESS and something failed, which is logged.
 */
int standard_main(const char *program, int (*body)(int argc, char **argv), int argc, char **argv);

#endif
