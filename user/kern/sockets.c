/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/socket.h>

#include "kern/internal.h"

/* -EXDEV: the socket was made outside the daemon's cgroup, and no gate would ever see it. */
static int require_gated(const struct kern *kern, int fd)
{
	struct sluice_gate gate;
	int r;

	r = bpf_map_lookup_elem(bpf_map__fd(kern->skel->maps.gates), &fd, &gate);
	return r == -ENOENT ? -EXDEV : r;
}

static int mark(struct kern *kern, int fd, const struct sluice_socket *socket)
{
	int r;

	r = require_gated(kern, fd);
	if (r < 0)
		return r;
	return bpf_map_update_elem(bpf_map__fd(kern->skel->maps.sockets), &fd, socket, BPF_ANY);
}

int kern_mark_listener(struct kern *kern, int fd)
{
	const struct sluice_socket socket = {.flags = SLUICE_SOCKET_LISTENER};
	struct sluice_socket old;
	int listens = 0;
	socklen_t len = sizeof(listens);
	int r;

	r = require_gated(kern, fd);
	if (r < 0)
		return r;
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0)
		return -errno;
	if (!listens)
		return mark(kern, fd, &socket);
	/* What it accepted before it had the mark has none, and never will. */
	r = bpf_map_lookup_elem(bpf_map__fd(kern->skel->maps.sockets), &fd, &old);
	if (r < 0)
		return r == -ENOENT ? -EINVAL : r;
	return old.flags == SLUICE_SOCKET_LISTENER ? 0 : -EINVAL;
}

int kern_mark_exempt(struct kern *kern, int fd)
{
	const struct sluice_socket socket = {.flags = SLUICE_SOCKET_EXEMPT};

	return mark(kern, fd, &socket);
}

int kern_mark_data(struct kern *kern, int fd, uint32_t slot, uint16_t generation, bool open,
		   uint64_t stream)
{
	const struct sluice_socket socket = {
		.slot = slot,
		.generation = generation,
		.flags = (uint16_t)(SLUICE_SOCKET_DATA | (open ? SLUICE_SOCKET_OPEN : 0)),
		.stream = stream,
	};

	if (slot == 0 || slot >= SLUICE_SLOTS)
		return -EINVAL;
	return mark(kern, fd, &socket);
}

int kern_accepted_origin(struct kern *kern, int fd, struct sluice_origin *ret_origin)
{
	struct sluice_origin origin;
	int r;

	r = bpf_map_lookup_elem(bpf_map__fd(kern->skel->maps.socket_origins), &fd, &origin);
	if (r < 0)
		return r;
	*ret_origin = origin;
	return 0;
}

int kern_gate_state(struct kern *kern, int fd, struct sluice_gate *ret_gate)
{
	struct sluice_gate gate;
	int r;

	r = bpf_map_lookup_elem(bpf_map__fd(kern->skel->maps.gates), &fd, &gate);
	if (r < 0)
		return r;
	if (!gate.valid)
		return -ENOENT;
	*ret_gate = gate;
	return 0;
}
