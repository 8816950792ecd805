/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chains of nf_tables and what their rules do, out of the messages of its dumps
 * (linux/netfilter/nf_tables.h). Chains come first, then rules. What a message lacks
 * reads as nothing; no message makes it read past its end.
 */
#ifndef SLUICE_SYS_NFT_H
#define SLUICE_SYS_NFT_H

#include <linux/netlink.h>

#include "sys/netfilter.h"

struct nft;

/* NULL: no memory. */
struct nft *nft_new(void) must_check;
void nft_free(struct nft *nft);
DEFINE_CLEANUP(struct nft *, nft_free)

/* A message of either dump; another one is left out. -ENOMEM. */
int nft_read(struct nft *nft, const struct nlmsghdr *message) must_check;
/* Follows the jumps from the hooks, and tells what the chains do that are reached. */
void nft_visit(struct nft *nft, const struct netfilter_visitor *visitor);

#endif
