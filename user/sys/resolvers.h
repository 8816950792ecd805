/* SPDX-License-Identifier: Apache-2.0 */
/* The name servers of this host, from resolv.conf(5). */
#ifndef SLUICE_SYS_RESOLVERS_H
#define SLUICE_SYS_RESOLVERS_H

#include <stddef.h>
#include <stdint.h>

#define RESOLVERS_FILE "/etc/resolv.conf"

/* Addresses of 16 bytes (IPv4 as v4-mapped); returns how many were found, at most max. */
size_t resolvers_parse(const char *text, uint8_t (*ret_list)[16], size_t max);
/* Those of RESOLVERS_FILE; without that file, none. */
size_t resolvers_of_host(uint8_t (*ret_list)[16], size_t max);

#endif
