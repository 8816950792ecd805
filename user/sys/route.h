/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes of this process's network namespace, by rtnetlink(7): is there a way
 * out other than the loopback interface, per family?
 *
 * A route counts where it is unicast, outside the local table, leaves by another
 * interface than the loopback one, and is neither link-local nor multicast: a
 * link-local IPv6 prefix alone reaches no destination that an agent asks for.
 */
#ifndef SLUICE_SYS_ROUTE_H
#define SLUICE_SYS_ROUTE_H

#include <stdbool.h>

#include "base/macros.h"

/* A non-blocking descriptor, readable when routes, addresses or links change. */
int route_watch(int *ret_fd) must_check;
/* Reads away what is there; the reader asks route_exists() anew whatever it was. */
void route_drain(int fd);
/* family: AF_INET or AF_INET6. -EAGAIN: routes change faster than they can be read. */
int route_exists(int family, bool *ret_exists) must_check;

#endif
