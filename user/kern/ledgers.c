/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/mman.h>

#include "kern/internal.h"

#define LEDGERS_BYTES (SLUICE_SLOTS * sizeof(struct sluice_ledger))

/* In the order of the program: a successor sees what a kill left of it. */
static void store(__u64 *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static uint64_t load(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

int kern_ledgers_init(struct kern *kern)
{
	void *ledgers = mmap(NULL, LEDGERS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			     bpf_map__fd(kern->skel->maps.ledgers), 0);

	if (ledgers == MAP_FAILED)
		return -errno;
	kern->ledgers = ledgers;
	return 0;
}

void kern_ledgers_done(struct kern *kern)
{
	if (kern->ledgers)
		(void)munmap(kern->ledgers, LEDGERS_BYTES);
	kern->ledgers = NULL;
}

void kern_ledger_clear(struct kern *kern, uint32_t slot, uint16_t generation)
{
	kern->ledgers[slot] = (struct sluice_ledger){.generation = generation};
}

/* NULL: the slot is another flow's by now, or none. */
static struct sluice_ledger *find(const struct kern *kern, uint32_t slot, uint16_t generation)
{
	struct sluice_ledger *ledger;

	if (slot == 0 || slot >= SLUICE_SLOTS)
		return NULL;
	ledger = &kern->ledgers[slot];
	return ledger->generation == generation ? ledger : NULL;
}

void kern_ledger_received(struct kern *kern, uint32_t slot, uint16_t generation, uint64_t bytes)
{
	struct sluice_ledger *ledger = find(kern, slot, generation);

	if (ledger)
		store(&ledger->received, bytes);
}

void kern_ledger_released(struct kern *kern, uint32_t slot, uint16_t generation, uint64_t bytes)
{
	struct sluice_ledger *ledger = find(kern, slot, generation);

	if (ledger)
		store(&ledger->released, bytes);
}

void kern_ledger_runes(struct kern *kern, uint32_t slot, uint16_t generation, uint64_t session,
		       uint32_t received, uint32_t confirmed)
{
	struct sluice_ledger *ledger = find(kern, slot, generation);

	if (ledger)
		store(&ledger->runes[session % SLUICE_LEDGER_RUNES],
		      sluice_runes_word(received, confirmed));
}

/* L4: the runes of the session that its flow counts from now on, then the number of sessions. */
static void move_on(struct sluice_ledger *ledger, uint64_t current, uint64_t sessions)
{
	if (!ledger)
		return;
	store(&ledger->runes[current % SLUICE_LEDGER_RUNES], 0);
	store(&ledger->sessions, sessions);
}

void kern_ledger_begin(struct kern *kern, uint32_t request_slot, uint16_t generation,
		       uint64_t session)
{
	move_on(find(kern, request_slot, generation), session, session + 1);
}

void kern_ledger_end(struct kern *kern, uint32_t response_slot, uint16_t generation,
		     uint64_t session)
{
	move_on(find(kern, response_slot, generation), session + 1, session + 1);
}

/* What both tracks' entries say of the sessions: none where one is another's. */
static void read_sessions(const struct sluice_ledger *const ledgers[2], struct kern_left *left)
{
	uint64_t begun, ended;

	if (!ledgers[0] || !ledgers[1])
		return;
	begun = load(&ledgers[0]->sessions);
	ended = load(&ledgers[1]->sessions);
	/* Also where more ended than began. */
	if (begun - ended > SLUICE_SESSIONS_MAX)
		return;
	left->first_session = ended;
	left->session_count = (unsigned int)(begun - ended);
}

void kern_ledger_read(const struct kern *kern, const struct sluice_open_stream *open,
		      struct kern_left *ret_left)
{
	const struct sluice_ledger *ledgers[ARRAY_SIZE(open->slot)];
	size_t side;

	*ret_left = (struct kern_left){.open = open};
	for (side = 0; side < ARRAY_SIZE(open->slot); side++) {
		ledgers[side] = find(kern, open->slot[side], open->generation[side]);
		if (!ledgers[side])
			continue;
		ret_left->received[side] = load(&ledgers[side]->received);
		ret_left->released[side] = load(&ledgers[side]->released);
	}
	read_sessions(ledgers, ret_left);
}

static void set_runes(struct kern_left_track *track, uint64_t word)
{
	track->known = true;
	track->received = sluice_runes_received(word);
	track->confirmed = sluice_runes_confirmed(word);
}

void kern_ledger_read_session(const struct kern *kern, const struct kern_left *left,
			      uint64_t number, struct kern_left_session *ret_session)
{
	const struct sluice_open_stream *open = left->open;
	const uint64_t end = left->first_session + left->session_count;
	const size_t i = number % SLUICE_LEDGER_RUNES;

	*ret_session = (struct kern_left_session){.number = number};
	/* L3. */
	if (end - number <= SLUICE_LEDGER_RUNES)
		set_runes(&ret_session->track[0], load(&kern->ledgers[open->slot[0]].runes[i]));
	set_runes(&ret_session->track[1],
		  number == left->first_session ? load(&kern->ledgers[open->slot[1]].runes[i]) : 0);
}
