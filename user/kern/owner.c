/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kern/internal.h"
#include "sys/fd.h"

int kern_owner_start(pid_t pid, uint64_t *ret_start)
{
	char path[64], text[1024], *at;
	unsigned long long start;
	size_t len;
	FILE *file;
	int field;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return -ESRCH;
	len = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[len] = '\0';
	/* The name of the program, field 2, may hold blanks and brackets itself. */
	at = strrchr(text, ')');
	/* One that nobody has waited for is dead all the same. */
	if (at && strlen(at) > 2 && (at[2] == 'Z' || at[2] == 'X'))
		return -ESRCH;
	for (field = 2; at && field < 22; field++) {
		at = strchr(at, ' ');
		if (at)
			at++;
	}
	if (!at || sscanf(at, "%llu", &start) != 1)
		return -ESRCH;
	*ret_start = start;
	return 0;
}

static bool owner_lives(uint32_t pid, uint64_t start)
{
	uint64_t now;

	if (!pid || pid == (uint32_t)getpid())
		return false;
	return kern_owner_start((pid_t)pid, &now) == 0 && now == start;
}

int kern_owner_read(const char *pin_dir, struct kern_owner *ret_owner)
{
	struct bpf_map_info info;
	int fd cleanup(fd_closep) = kern_pins_open_map(pin_dir, "config", &info);
	struct sluice_config *config;
	__u32 zero = 0;
	void *value;
	int r;

	if (fd < 0)
		return fd;
	/* The head of the value means the same in every version; the rest may not be there. */
	value = calloc(1, info.value_size > sizeof(*config) ? info.value_size : sizeof(*config));
	if (!value)
		return -ENOMEM;
	r = bpf_map_lookup_elem(fd, &zero, value);
	if (r == 0) {
		config = value;
		*ret_owner = (struct kern_owner){
			.abi = config->abi,
			.pid = config->owner_pid,
			.alive = owner_lives(config->owner_pid, config->owner_start),
		};
	}
	free(value);
	return r;
}

int kern_owner_write(struct kern *kern, uint16_t listen_port, bool alive)
{
	struct sluice_config config = {
		.abi = SLUICE_ABI_VERSION,
		.daemon_cgroup = kern->daemon_id,
		.listen_port = listen_port,
	};
	__u32 zero = 0;
	uint64_t start;
	int r;

	if (alive) {
		r = kern_owner_start(getpid(), &start);
		if (r < 0)
			return r;
		config.owner_start = start;
		config.owner_pid = (uint32_t)getpid();
	}
	return bpf_map_update_elem(bpf_map__fd(kern->skel->maps.config), &zero, &config, BPF_ANY);
}
