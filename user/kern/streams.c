/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "kern/internal.h"

int kern_upstream_set(struct kern *kern, uint64_t stream, const struct sluice_address *local)
{
	return bpf_map_update_elem(bpf_map__fd(kern->skel->maps.upstreams), &stream, local,
				   BPF_ANY);
}

void kern_upstream_clear(struct kern *kern, uint64_t stream)
{
	(void)bpf_map_delete_elem(bpf_map__fd(kern->skel->maps.upstreams), &stream);
}

int kern_stream_record(struct kern *kern, uint64_t stream, const struct sluice_open_stream *open)
{
	return bpf_map_update_elem(bpf_map__fd(kern->skel->maps.streams), &stream, open, BPF_ANY);
}

void kern_stream_forget(struct kern *kern, uint64_t stream)
{
	(void)bpf_map_delete_elem(bpf_map__fd(kern->skel->maps.streams), &stream);
}

int kern_streams_begin(struct kern *kern)
{
	int fd = bpf_map__fd(kern->skel->maps.stream_ids);
	struct timespec now;
	uint64_t next, floor;
	__u32 zero = 0;
	int r;

	/*
	 * From the microseconds of the calendar: no daemon captures more than one
	 * stream in each, so that ids do not repeat when pins were removed meanwhile.
	 */
	(void)clock_gettime(CLOCK_REALTIME, &now);
	floor = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	r = bpf_map_lookup_elem(fd, &zero, &next);
	if (r < 0)
		return r;
	if (next == 0 || next < floor)
		next = floor ? floor : 1;
	return bpf_map_update_elem(fd, &zero, &next, BPF_ANY);
}

int kern_streams_load(struct kern *kern)
{
	int fd = bpf_map__fd(kern->skel->maps.streams);
	size_t max = bpf_map__max_entries(kern->skel->maps.streams);
	uint64_t id, *list;
	bool first = true;
	int r;

	list = calloc(max, sizeof(*list));
	if (!list)
		return -ENOMEM;
	kern->left = list;
	while (kern->left_count < max) {
		r = bpf_map_get_next_key(fd, first ? NULL : &id, &id);
		if (r == -ENOENT)
			return 0;
		if (r < 0)
			return r;
		first = false;
		list[kern->left_count++] = id;
	}
	return 0;
}

static int destroy_gated(void *context, const char *path, uint64_t id)
{
	size_t left;
	int r;

	(void)path;
	(void)context;
	/* Twice, since a socket may finish its handshake meanwhile. */
	r = kern_diag_destroy_cgroup(id, true, &left);
	if (r == 0 && left)
		r = kern_diag_destroy_cgroup(id, true, &left);
	return r;
}

/* What the slot of one track had released; 0 where it was another's by then. */
static uint64_t offset_of(const struct kern *kern, const struct sluice_open_stream *open,
			  size_t side)
{
	uint64_t word;

	if (open->slot[side] == 0 || open->slot[side] >= SLUICE_SLOTS)
		return 0;
	word = __atomic_load_n(&kern->slots.words[open->slot[side]], __ATOMIC_RELAXED);
	if (sluice_slot_generation(word) != open->generation[side])
		return 0;
	return sluice_slot_offset(word);
}

static int settle(struct kern *kern, uint64_t id,
		  void (*each)(void *context, const struct sluice_open_stream *open,
			       const uint64_t offset[2]),
		  void *context)
{
	struct sluice_open_stream open;
	uint64_t offset[ARRAY_SIZE(open.slot)];
	size_t side;
	int r;

	r = bpf_map_lookup_elem(bpf_map__fd(kern->skel->maps.streams), &id, &open);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (side = 0; side < ARRAY_SIZE(open.slot); side++) {
		offset[side] = offset_of(kern, &open, side);
		kern_slot_give(kern, open.slot[side]);
	}
	kern_stream_forget(kern, id);
	kern_upstream_clear(kern, id);
	each(context, &open, offset);
	return 0;
}

int kern_settle_left(struct kern *kern,
		     void (*each)(void *context, const struct sluice_open_stream *open,
				  const uint64_t offset[2]),
		     void *context)
{
	char path[PATH_MAX];
	int r;

	r = kern_pins_path(path, kern->pin_dir, kern_gate_hooks.dir);
	if (r == 0)
		r = kern_pins_each_id(path, destroy_gated, NULL);
	while (r == 0 && kern->left_count > 0)
		r = settle(kern, kern->left[--kern->left_count], each, context);
	return r;
}
