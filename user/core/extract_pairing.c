/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_pairing.h"

#include <string.h>

#include "base/macros.h"

static inline uint64_t load(const uint8_t *text, size_t len)
{
	uint64_t word = 0;

	memcpy(&word, text, len);
	return word;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9fb21c651e98df25ull;
	return hash ^ hash >> 29;
}

static uint64_t hash_name(const struct extract_pairing *pairing, const uint8_t *name, size_t len)
{
	uint64_t hash = (pairing->seed ^ len) * 0x9e3779b97f4a7c15ull;

	/* Words that overlap, so that none is of a length that varies. */
	for (size_t i = 0; i + 8 < len; i += 8)
		hash = mix(hash, load(name + i, 8));
	if (len >= 8)
		return mix(hash, load(name + len - 8, 8));
	if (len >= 4)
		return mix(hash, load(name, 4) << 32 | load(name + len - 4, 4));
	if (len)
		hash = mix(hash,
			   (uint64_t)name[0] << 16 | (uint64_t)name[len / 2] << 8 | name[len - 1]);
	return hash;
}

/* Key of the list behind a name, or behind none. */
static uint64_t list_key(const struct extract_pairing *pairing, const uint8_t *name, size_t len)
{
	return ~hash_name(pairing, name, len) ^ pairing->odd;
}

void extract_pairing_reset(struct extract_pairing *pairing, bool in_list)
{
	pairing->gap = GAP_NONE;
	pairing->last = in_list ? '[' : 0;
	pairing->in_list = false;
	/* What begins here has no quote, and is no name. */
	pairing->name_len = EXTRACT_NAME_BYTES + 1;
}

/* May c stand in a list, beside what is in its literals? */
static bool is_listed(uint8_t c)
{
	switch (c) {
	case '0' ... '9':
	case ',':
	case '[':
	case '+':
	case '-':
	case '.':
	case 'E':
	/* true, false, null */
	case 't':
	case 'r':
	case 'u':
	case 'e':
	case 'f':
	case 'a':
	case 'l':
	case 's':
	case 'n':
		return true;
	default:
		return false;
	}
}

void extract_pairing_widen(struct extract_pairing *pairing, uint8_t c)
{
	enum extract_gap gap = pairing->gap;

	pairing->gap = GAP_NONE;
	switch (gap) {
	case GAP_NAME:
		if (c == ':' && pairing->name_len <= EXTRACT_NAME_BYTES)
			pairing->gap = GAP_COLON;
		else if (c == ',' && pairing->in_list)
			pairing->gap = GAP_LIST;
		break;
	case GAP_COLON:
		if (c != '[')
			break;
		pairing->gap = GAP_LIST;
		pairing->list = list_key(pairing, pairing->name, pairing->name_len);
		break;
	case GAP_LIST:
		if (is_listed(c))
			pairing->gap = GAP_LIST;
		break;
	default:
		break;
	}
}

bool extract_pairing_begin(struct extract_pairing *pairing, uint64_t *ret_key)
{
	enum extract_gap gap = pairing->gap;

	if (gap == GAP_NONE && pairing->last == '[') {
		gap = GAP_LIST;
		pairing->list = list_key(pairing, NULL, 0);
	}
	pairing->in_list = gap == GAP_LIST;
	if (gap == GAP_COLON)
		*ret_key = hash_name(pairing, pairing->name, pairing->name_len);
	else if (gap == GAP_LIST)
		*ret_key = pairing->list;
	pairing->name_len = 0;
	return gap == GAP_COLON || gap == GAP_LIST;
}

void extract_pairing_keep(struct extract_pairing *pairing, const uint8_t *text, size_t len)
{
	size_t kept = MIN(pairing->name_len, EXTRACT_NAME_BYTES);

	memcpy(pairing->kept + kept, text, MIN(len, EXTRACT_NAME_BYTES - kept));
	pairing->name_len += len;
}

void extract_pairing_end(struct extract_pairing *pairing, const uint8_t *text, size_t len)
{
	pairing->gap = GAP_NAME;
	pairing->last = 0;
	pairing->name = pairing->kept;
	if (pairing->name_len) {
		extract_pairing_keep(pairing, text, len);
	} else {
		pairing->name = text;
		pairing->name_len = len;
	}
}

void extract_pairing_pause(struct extract_pairing *pairing)
{
	if (pairing->gap != GAP_NAME && pairing->gap != GAP_COLON)
		return;
	if (pairing->name != pairing->kept)
		memcpy(pairing->kept, pairing->name, MIN(pairing->name_len, EXTRACT_NAME_BYTES));
	pairing->name = pairing->kept;
}
