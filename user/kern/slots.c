/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "kern/internal.h"

#define SLOTS_BYTES (SLUICE_SLOTS * sizeof(uint64_t))

static uint64_t word_get(const struct kern *kern, uint32_t slot)
{
	return __atomic_load_n(&kern->slots.words[slot], __ATOMIC_RELAXED);
}

static void word_set(struct kern *kern, uint32_t slot, uint16_t generation, uint64_t offset)
{
	__atomic_store_n(&kern->slots.words[slot], sluice_slot_word(generation, offset),
			 __ATOMIC_RELEASE);
}

/* The next generation, with nothing released: closes what still has the old one. */
static void slot_renew(struct kern *kern, uint32_t slot)
{
	word_set(kern, slot, (uint16_t)(sluice_slot_generation(word_get(kern, slot)) + 1), 0);
}

static void free_push(struct kern_slots *slots, uint32_t slot)
{
	slots->free[(slots->head + slots->count) % SLUICE_SLOTS] = slot;
	slots->count++;
}

/* Slots that a predecessor's streams still name stay taken until they are settled. */
static int take_left(struct kern *kern)
{
	struct sluice_open_stream open;
	size_t i, side;
	int r;

	for (i = 0; i < kern->left_count; i++) {
		r = bpf_map_lookup_elem(bpf_map__fd(kern->skel->maps.streams), &kern->left[i],
					&open);
		if (r < 0)
			return r;
		for (side = 0; side < ARRAY_SIZE(open.slot); side++)
			if (open.slot[side] < SLUICE_SLOTS)
				kern->slots.taken[open.slot[side]] = true;
	}
	return 0;
}

int kern_slots_init(struct kern *kern)
{
	struct kern_slots *slots = &kern->slots;
	void *words;
	uint32_t slot;
	int r;

	words = mmap(NULL, SLOTS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		     bpf_map__fd(kern->skel->maps.slots), 0);
	if (words == MAP_FAILED)
		return -errno;
	slots->words = words;
	slots->free = calloc(SLUICE_SLOTS, sizeof(*slots->free));
	slots->taken = calloc(SLUICE_SLOTS, sizeof(*slots->taken));
	if (!slots->free || !slots->taken)
		return -ENOMEM;
	r = take_left(kern);
	/* Slot 0 is never handed out: it is the mark of what has none. */
	for (slot = 1; r == 0 && slot < SLUICE_SLOTS; slot++) {
		if (slots->taken[slot])
			continue;
		slot_renew(kern, slot);
		free_push(slots, slot);
	}
	return r;
}

void kern_slots_done(struct kern *kern)
{
	if (kern->slots.words)
		(void)munmap(kern->slots.words, SLOTS_BYTES);
	free(kern->slots.free);
	free(kern->slots.taken);
	kern->slots = (struct kern_slots){0};
}

int kern_slot_take(struct kern *kern, uint32_t *ret_slot, uint16_t *ret_generation)
{
	struct kern_slots *slots = &kern->slots;
	uint32_t slot;

	if (slots->count == 0)
		return -ENOSPC;
	slot = slots->free[slots->head];
	slots->head = (slots->head + 1) % SLUICE_SLOTS;
	slots->count--;
	slots->taken[slot] = true;
	*ret_slot = slot;
	*ret_generation = sluice_slot_generation(word_get(kern, slot));
	kern_ledger_clear(kern, slot, *ret_generation);
	return 0;
}

void kern_slot_give(struct kern *kern, uint32_t slot)
{
	if (slot == 0 || slot >= SLUICE_SLOTS || !kern->slots.taken[slot])
		return;
	kern->slots.taken[slot] = false;
	slot_renew(kern, slot);
	free_push(&kern->slots, slot);
}

void kern_release(struct kern *kern, uint32_t slot, uint16_t generation, uint64_t offset)
{
	uint64_t word;

	if (slot == 0 || slot >= SLUICE_SLOTS || offset > SLUICE_OFFSET_MAX)
		return;
	word = word_get(kern, slot);
	if (sluice_slot_generation(word) != generation || offset <= sluice_slot_offset(word))
		return;
	word_set(kern, slot, generation, offset);
}
