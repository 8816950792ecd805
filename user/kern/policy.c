/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "kern/internal.h"

/* The keys of one policy, or none of them: deleting while iterating would start over. */
static int clear_unix(int fd, uint32_t policy)
{
	struct sluice_unix_key key, next;
	bool more;
	int r;

	r = bpf_map_get_next_key(fd, NULL, &next);
	more = r == 0;
	while (more) {
		key = next;
		more = bpf_map_get_next_key(fd, &key, &next) == 0;
		if (key.policy != policy)
			continue;
		r = bpf_map_delete_elem(fd, &key);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return 0;
}

/*
 * A program may read a policy while it is written. So the first rule, whose
 * deciding word changes at once, denies everything while the rest changes.
 */
static void close_first(struct sluice_policy *policy)
{
	policy->rules[0].prefix_len = 0;
	policy->rules[0].action = SLUICE_RULE_DENY;
	policy->rules[0].port = 0;
}

int kern_policy_set(struct kern *kern, uint32_t policy, const struct sluice_policy *rules,
		    const struct sluice_unix_key *unix_keys, size_t unix_count)
{
	int fd = bpf_map__fd(kern->skel->maps.policies);
	int unix_fd = bpf_map__fd(kern->skel->maps.unix_addresses);
	struct sluice_policy *closed;
	const __u32 one = 1;
	size_t i;
	int r;

	if (policy == 0 || policy >= SLUICE_POLICIES)
		return -EINVAL;
	closed = malloc(sizeof(*closed));
	if (!closed)
		return -ENOMEM;
	r = bpf_map_lookup_elem(fd, &policy, closed);
	if (r == 0) {
		close_first(closed);
		r = bpf_map_update_elem(fd, &policy, closed, BPF_ANY);
	}
	if (r == 0)
		r = clear_unix(unix_fd, policy);
	for (i = 0; r == 0 && i < unix_count; i++) {
		struct sluice_unix_key key = unix_keys[i];

		key.policy = policy;
		r = bpf_map_update_elem(unix_fd, &key, &one, BPF_ANY);
	}
	if (r == 0) {
		*closed = *rules;
		close_first(closed);
		r = bpf_map_update_elem(fd, &policy, closed, BPF_ANY);
	}
	if (r == 0)
		r = bpf_map_update_elem(fd, &policy, rules, BPF_ANY);
	free(closed);
	return r;
}

void kern_policy_clear(struct kern *kern, uint32_t policy)
{
	struct sluice_policy *closed;

	if (policy == 0 || policy >= SLUICE_POLICIES)
		return;
	closed = calloc(1, sizeof(*closed));
	if (!closed)
		return;
	close_first(closed);
	(void)bpf_map_update_elem(bpf_map__fd(kern->skel->maps.policies), &policy, closed, BPF_ANY);
	(void)clear_unix(bpf_map__fd(kern->skel->maps.unix_addresses), policy);
	free(closed);
}
