/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_members.h"

#include <stdlib.h>
#include <string.h>

#include "core/extract_literals.h"
#include "core/utf8.h"

void extract_members_done(struct extract_members *m)
{
	for (uint8_t i = 0; i < m->count; i++) {
		channel_free(m->set, m->all[i].channel);
		extract_literals_free(m->all[i].inner);
	}
	free(m->all);
	m->all = NULL;
	m->count = m->capacity = 0;
}

static uint8_t *bucket_of(struct extract_members *m, uint64_t key)
{
	return &m->buckets[key % EXTRACT_NAMES_MAX];
}

static void link_member(struct extract_members *m, uint8_t at, uint64_t key)
{
	uint8_t *bucket = bucket_of(m, key);

	m->all[at].key = key;
	m->all[at].next = *bucket;
	*bucket = (uint8_t)(at + 1);
}

static void unlink_member(struct extract_members *m, uint8_t at)
{
	uint8_t *link = bucket_of(m, m->all[at].key);

	while (*link != at + 1)
		link = &m->all[*link - 1].next;
	*link = m->all[at].next;
}

static enum fault add(struct extract_members *m, uint8_t *ret_at)
{
	uint8_t capacity = m->capacity ? (uint8_t)(m->capacity * 2) : 4;
	struct extract_member member = {0}, *grown;

	if (m->count == m->capacity) {
		grown = realloc(m->all, capacity * sizeof(*grown));
		if (!grown)
			return FAULT_NO_MEMORY;
		m->all = grown;
		m->capacity = capacity;
	}
	member.channel = channel_new(m->set);
	if (!member.channel)
		return FAULT_NO_MEMORY;
	member.channel->name = m->name;
	m->all[m->count] = member;
	*ret_at = m->count++;
	return FAULT_NONE;
}

static enum fault end_member(struct extract_members *m, struct extract_member *member)
{
	enum fault fault = channel_end(m->set, member->channel);

	return !fault && member->inner ? extract_literals_end(member->inner) : fault;
}

/* The next that was not used since this came by: its text ends. */
static enum fault give_up(struct extract_members *m, uint8_t *ret_at)
{
	struct extract_member *member;
	enum fault fault;

	for (;;) {
		m->hand = (uint8_t)((m->hand + 1) % m->count);
		member = &m->all[m->hand];
		if (!member->used)
			break;
		member->used = false;
	}
	fault = end_member(m, member);
	if (fault)
		return fault;
	unlink_member(m, m->hand);
	*ret_at = m->hand;
	return FAULT_NONE;
}

enum fault extract_members_find(struct extract_members *m, uint64_t key, unsigned int *names,
				struct extract_member **ret_member)
{
	enum fault fault;
	uint8_t at;

	for (at = *bucket_of(m, key); at; at = m->all[at - 1].next)
		if (m->all[at - 1].key == key) {
			m->all[at - 1].used = true;
			*ret_member = &m->all[at - 1];
			return FAULT_NONE;
		}
	if (*names == EXTRACT_NAMES_MAX && !m->count) {
		*ret_member = NULL;
		return FAULT_NONE;
	}
	fault = *names < EXTRACT_NAMES_MAX ? add(m, &at) : give_up(m, &at);
	if (fault)
		return fault;
	*names += *names < EXTRACT_NAMES_MAX;
	link_member(m, at, key);
	m->all[at].used = true;
	*ret_member = &m->all[at];
	return FAULT_NONE;
}

static bool is_idle(const struct channel_set *set, const struct channel *channel)
{
	return !channel->waiting && !channel_pending(set, channel);
}

/* Is it certain that it is cleared again? */
static bool is_known(const struct extract_members *m, const struct extract_member *member,
		     const uint8_t *text, size_t len)
{
	return !m->set->span_count && len == member->known_len &&
	       memcmp(text, member->known, len) == 0 && m->set->ceiling - m->set->track >= len &&
	       is_idle(m->set, member->channel);
}

enum fault extract_members_literal(struct extract_members *m, struct extract_member *member,
				   const uint8_t *text, size_t len)
{
	struct channel_set *set = m->set;
	enum fault fault;
	bool idle;

	if (!len)
		return FAULT_NONE;
	if (is_known(m, member, text, len)) {
		set->track += utf8_count(text, len);
		if (set->on_text)
			set->on_text(set->context, m->name, text, len);
		return FAULT_NONE;
	}
	idle = len <= EXTRACT_LITERAL_MAX && is_idle(set, member->channel);
	fault = channel_text(set, member->channel, text, len, utf8_count(text, len));
	if (!fault && idle && is_idle(set, member->channel)) {
		member->known_len = (uint8_t)len;
		memcpy(member->known, text, len);
	}
	return fault;
}

enum fault extract_members_end(struct extract_members *m)
{
	enum fault fault = FAULT_NONE;

	for (uint8_t i = 0; i < m->count && !fault; i++)
		fault = end_member(m, &m->all[i]);
	return fault;
}

size_t extract_members_memory(const struct extract_members *m)
{
	size_t bytes = m->capacity * sizeof(*m->all);

	for (uint8_t i = 0; i < m->count; i++)
		bytes += channel_memory(m->set, m->all[i].channel) +
			 extract_literals_memory(m->all[i].inner);
	return bytes;
}
