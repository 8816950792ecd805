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

/* -ENOENT: the record is gone. */
static int read_left(const struct kern *kern, uint64_t id, struct sluice_open_stream *ret_open,
		     struct kern_left *ret_left)
{
	int r = bpf_map_lookup_elem(bpf_map__fd(kern->skel->maps.streams), &id, ret_open);

	if (r == 0)
		kern_ledger_read(kern, ret_open, ret_left);
	return r;
}

/* The slots last: as long as the record names them they are nobody else's. */
static void forget(struct kern *kern, uint64_t id, const struct sluice_open_stream *open)
{
	size_t side;

	kern_stream_forget(kern, id);
	kern_upstream_clear(kern, id);
	for (side = 0; side < ARRAY_SIZE(open->slot); side++)
		kern_slot_give(kern, open->slot[side]);
}

static int end_told(struct kern *kern, uint64_t id, const struct kern_settling *settling)
{
	struct sluice_open_stream open;
	struct kern_left left;
	unsigned int i;
	int r = read_left(kern, id, &open, &left);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (i = 0; i < left.session_count; i++) {
		const uint64_t session = left.first_session + i;

		if (!settling->is_told(settling->context, id, &session))
			break;
		kern_ledger_end(kern, open.slot[1], open.generation[1], session);
	}
	if (settling->is_told(settling->context, id, NULL))
		forget(kern, id, &open);
	return 0;
}

static int settle(struct kern *kern, uint64_t id, const struct kern_settling *settling)
{
	struct sluice_open_stream open;
	struct kern_left_session session;
	struct kern_left left;
	unsigned int i;
	int r = read_left(kern, id, &open, &left);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (i = 0; r == 0 && i < left.session_count; i++) {
		kern_ledger_read_session(kern, &left, left.first_session + i, &session);
		r = settling->session(settling->context, &left, &session);
	}
	if (r == 0)
		r = settling->stream(settling->context, &left);
	if (r == 0)
		forget(kern, id, &open);
	return r;
}

static int check_socket(const struct kern *kern, int fd, uint64_t id, uint32_t slot,
			uint16_t generation)
{
	struct sluice_socket mark;
	int r = bpf_map_lookup_elem(bpf_map__fd(kern->skel->maps.sockets), &fd, &mark);

	if (r < 0)
		return r == -ENOENT ? -EXDEV : r;
	if (mark.slot != slot || mark.generation != generation || mark.stream != id ||
	    !(mark.flags & SLUICE_SOCKET_DATA))
		return -EXDEV;
	return 0;
}

int kern_stream_take(struct kern *kern, uint64_t stream, const int sockets[2],
		     struct sluice_open_stream *ret_open)
{
	struct sluice_open_stream open;
	size_t at = 0, side;
	int r;

	while (at < kern->left_count && kern->left[at] != stream)
		at++;
	if (at == kern->left_count)
		return -ENOENT;
	r = bpf_map_lookup_elem(bpf_map__fd(kern->skel->maps.streams), &stream, &open);
	for (side = 0; r == 0 && side < ARRAY_SIZE(open.slot); side++)
		r = check_socket(kern, sockets[side], stream, open.slot[side],
				 open.generation[side]);
	if (r < 0)
		return r;
	kern->left[at] = kern->left[--kern->left_count];
	*ret_open = open;
	return 0;
}

int kern_settle_left(struct kern *kern, const struct kern_settling *settling)
{
	char path[PATH_MAX];
	size_t i;
	int r;

	r = kern_pins_path(path, kern->pin_dir, kern_gate_hooks.dir);
	/* Connections wait in the listeners that were handed over. */
	if (r == 0 && !kern->predecessor)
		r = kern_pins_each_id(path, destroy_gated, NULL);
	/* Before anything new is told of, behind which a successor would not find it. */
	for (i = 0; r == 0 && i < kern->left_count; i++)
		r = end_told(kern, kern->left[i], settling);
	for (; r == 0 && kern->left_count > 0; kern->left_count -= r == 0)
		r = settle(kern, kern->left[kern->left_count - 1], settling);
	return r;
}
