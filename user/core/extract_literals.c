/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_literals.h"

#include <stdlib.h>
#include <string.h>

#include "core/extract_members.h"
#include "core/extract_pairing.h"
#include "core/extract_stop.h"
#include "core/json_string.h"
#include "core/utf8.h"

/* Of a literal that nobody asked for yet so much is held, in case it has an escape. */
#define HELD_MAX 256u
/* Unescaped bytes that go to the channel at once, and runs that are copied to them. */
#define OUT_SIZE 512u
#define RUN_MAX	 128u

static const uint8_t nothing[1];

enum state { PLAIN, ESCAPE, HEX };

struct extract_literals {
	struct channel_set *set;
	struct extract_literals *root; /* of the whole text */
	unsigned int names;	       /* of the root: those of the whole text */
	uint8_t depth;
	uint8_t state;
	uint8_t digits[4]; /* of the escape under way */
	uint8_t digit_count;
	bool awake;	/* a quote has come */
	bool active;	/* what lies here is evaluated */
	bool fresh;	/* the same, and nothing of it was yet */
	uint8_t member; /* 1 + position of the one it belongs to, or 0: it ends with itself */
	struct extract_pairing pairings[2];
	struct extract_pairing *here; /* the one that has a literal here */
	struct extract_pairing *between;
	struct channel *channel;	/* of literals that end with themselves, and what is */
	struct extract_literals *inner; /* found in them; NULL: none came yet */
	struct extract_members members;
	size_t held_len; /* of a literal that is not active */
	uint8_t held[HELD_MAX];
	char name[]; /* of the channels */
};

/* What is unescaped, on its way to the channel. */
struct output {
	size_t len;
	bool quote; /* an escape spelled one */
	uint8_t bytes[OUT_SIZE];
};

/* Before any quote; what is in a literal may have come before, and have been a list's. */
static void fall_asleep(struct extract_literals *l)
{
	l->awake = false;
	l->here = &l->pairings[1];
	l->between = &l->pairings[0];
	extract_pairing_reset(l->here, l->depth > 1);
	extract_pairing_reset(l->between, false);
}

/* In the text of that name, of what is in this one; NULL: it is in none. */
static struct extract_literals *make(struct channel_set *set, struct extract_literals *outer,
				     const char *name)
{
	static const char suffix[] = ".literals";
	size_t len = strlen(name);
	struct extract_literals *l = calloc(1, sizeof(*l) + len + sizeof(suffix));

	if (!l)
		return NULL;
	memcpy(l->name, name, len);
	memcpy(l->name + len, suffix, sizeof(suffix));
	l->set = set;
	l->root = outer ? outer->root : l;
	l->depth = outer ? (uint8_t)(outer->depth + 1) : 1;
	l->members.set = set;
	l->members.name = l->name;
	for (size_t i = 0; i < ARRAY_SIZE(l->pairings); i++) {
		/* An address is what a peer does not know. */
		l->pairings[i].seed = (uint64_t)(uintptr_t)l->root;
		l->pairings[i].odd = i;
	}
	fall_asleep(l);
	return l;
}

struct extract_literals *extract_literals_new(struct channel_set *set, const char *name, bool joins)
{
	struct extract_literals *l = make(set, NULL, name);

	if (l && !joins)
		l->names = EXTRACT_NAMES_MAX;
	return l;
}

void extract_literals_free(struct extract_literals *l)
{
	if (!l)
		return;
	extract_literals_free(l->inner);
	extract_members_done(&l->members);
	free(l);
}

/* Of the literal under way: its member, and where it goes. */
static struct extract_member *member_of(const struct extract_literals *l)
{
	return l->member ? &l->members.all[l->member - 1] : NULL;
}

static enum fault channel_of(struct extract_literals *l, struct channel **ret_channel)
{
	const struct extract_member *member = member_of(l);

	if (!member && !l->channel && channel_set_join(l->set, l->name, false, &l->channel) < 0)
		return FAULT_NO_MEMORY;
	*ret_channel = member ? member->channel : l->channel;
	return FAULT_NONE;
}

static struct extract_literals **inner_of(struct extract_literals *l)
{
	struct extract_member *member = member_of(l);

	return member ? &member->inner : &l->inner;
}

/* What is unescaped goes to its channel, and is scanned where there is a quote in it. */
static enum fault emit(struct extract_literals *l, const uint8_t *text, size_t len, bool quote)
{
	struct extract_literals **inner = inner_of(l);
	struct channel *channel;
	enum fault fault;

	if (!len)
		return FAULT_NONE;
	fault = channel_of(l, &channel);
	if (fault)
		return fault;
	fault = channel_text(l->set, channel, text, len, utf8_count(text, len));
	if (fault || l->depth == EXTRACT_LITERALS_DEEP || !(quote || (*inner && (*inner)->awake)))
		return fault;
	if (!*inner)
		*inner = make(l->set, l, l->name);
	return *inner ? extract_literals_text(*inner, text, len) : FAULT_NO_MEMORY;
}

static enum fault flush(struct extract_literals *l, struct output *out)
{
	size_t len = out->len;
	bool quote = out->quote;

	if (!len)
		return FAULT_NONE;
	out->len = 0;
	out->quote = false;
	return emit(l, out->bytes, len, quote);
}

static inline enum fault put(struct extract_literals *l, struct output *out, const uint8_t *text,
			     size_t len)
{
	enum fault fault = FAULT_NONE;

	if (!len)
		return FAULT_NONE;
	if (out->len + len > OUT_SIZE || len > RUN_MAX)
		fault = flush(l, out);
	if (!fault && len > RUN_MAX)
		return emit(l, text, len, false);
	memcpy(out->bytes + out->len, text, fault ? 0 : len);
	out->len += len;
	return fault;
}

/* The literal under way is evaluated: what is held of it goes first. */
static enum fault activate(struct extract_literals *l, struct output *out)
{
	size_t held = l->held_len;

	l->active = true;
	l->held_len = 0;
	return put(l, out, l->held, held);
}

/* A run of plain text that does not end the literal under way; escape: one is behind it. */
static enum fault take_run(struct extract_literals *l, struct output *out, const uint8_t *text,
			   size_t len, bool escape)
{
	enum fault fault = FAULT_NONE;

	extract_pairing_pass(l->between, text, len);
	extract_pairing_keep(l->here, text, len);
	l->fresh = false;
	if (!l->active && !escape && l->held_len + len <= HELD_MAX) {
		memcpy(l->held + l->held_len, text, len);
		l->held_len += len;
		return FAULT_NONE;
	}
	if (!l->active)
		fault = activate(l, out);
	return fault ? fault : put(l, out, text, len);
}

/* Is the literal under way evaluated, which ends with so much more? */
static bool is_evaluated(const struct extract_literals *l, size_t len)
{
	return l->active || l->held_len + len > HELD_MAX;
}

/* It is. */
static enum fault end_literal(struct extract_literals *l, struct output *out, const uint8_t *text,
			      size_t len)
{
	enum fault fault = l->active ? FAULT_NONE : activate(l, out);

	if (!fault)
		fault = put(l, out, text, len);
	if (!fault)
		fault = flush(l, out);
	if (fault || l->member)
		return fault;
	if (l->channel)
		fault = channel_end(l->set, l->channel);
	return !fault && l->inner ? extract_literals_end(l->inner) : fault;
}

/* A literal without an escape, all of it, that belongs to a member. */
static enum fault take_literal(struct extract_literals *l, const uint8_t *text, size_t len)
{
	struct extract_member *member = member_of(l);

	if (member->inner && member->inner->awake)
		return emit(l, text, len, false);
	return extract_members_literal(&l->members, member, text, len);
}

/* What comes here belongs to this member; NULL: to none. */
static void set_member(struct extract_literals *l, const struct extract_member *member)
{
	l->member = member ? (uint8_t)(member - l->members.all + 1) : 0;
	l->active = l->fresh = member;
	l->held_len = 0;
}

static enum fault begin_literal(struct extract_literals *l)
{
	struct extract_member *member = NULL;
	enum fault fault = FAULT_NONE;
	uint64_t key;

	if (extract_pairing_begin(l->here, &key))
		fault = extract_members_find(&l->members, key, &l->root->names, &member);
	set_member(l, member);
	return fault;
}

/* A quote, behind a run of plain text: one literal ends, and another begins. */
static enum fault quote(struct extract_literals *l, struct output *out, const uint8_t *text,
			size_t len)
{
	struct extract_pairing *last = l->here, *next = l->between;
	enum fault fault = FAULT_NONE;

	extract_pairing_pass(next, text, len);
	if (l->fresh)
		fault = take_literal(l, text, len);
	else if (is_evaluated(l, len))
		fault = end_literal(l, out, text, len);
	extract_pairing_end(last, text, len);
	l->here = next;
	l->between = last;
	if (fault || extract_pairing_may_belong(next))
		return fault ? fault : begin_literal(l);
	extract_pairing_begin_alone(next);
	set_member(l, NULL);
	return FAULT_NONE;
}

/* A line's end, behind a run: no literal goes past it, what lies between literals may. */
static enum fault line_end(struct extract_literals *l, struct output *out, const uint8_t *text,
			   size_t len)
{
	enum fault fault = FAULT_NONE;

	extract_pairing_pass(l->between, text, len);
	if (is_evaluated(l, len))
		fault = end_literal(l, out, text, len);
	extract_pairing_reset(l->here, false);
	set_member(l, NULL);
	return fault;
}

/* A character that an escape spelled. */
static enum fault put_escaped(struct extract_literals *l, struct output *out, const uint8_t *text,
			      size_t len)
{
	l->state = PLAIN;
	extract_pairing_keep(l->here, text, len);
	out->quote |= *text == '"';
	return put(l, out, text, len);
}

/* The escape under way is none: its digits are what they are. */
static enum fault give_up_escape(struct extract_literals *l, struct output *out)
{
	uint8_t text[5] = {'u'};
	size_t len = l->digit_count + 1u;
	bool hex = l->state == HEX;

	l->state = PLAIN;
	if (!hex)
		return FAULT_NONE;
	memcpy(text + 1, l->digits, l->digit_count);
	return put_escaped(l, out, text, len);
}

static enum fault surrogate(struct extract_literals *l, uint32_t unit)
{
	struct extract_literals *inner = *inner_of(l);
	struct channel *channel;
	enum fault fault = channel_of(l, &channel);
	uint8_t bytes[UTF8_MAX];

	extract_pairing_keep(l->here, bytes, utf8_encode(unit, bytes));
	if (!fault)
		fault = channel_surrogate(l->set, channel, unit);
	return !fault && inner ? extract_literals_surrogate(inner, unit) : fault;
}

static enum fault put_unit(struct extract_literals *l, struct output *out)
{
	uint8_t bytes[UTF8_MAX];
	uint32_t unit = 0;
	enum fault fault;

	for (size_t i = 0; i < sizeof(l->digits); i++)
		unit = unit << 4 | (uint32_t)json_hex_digit(l->digits[i]);
	if (unit < 0xd800 || unit > 0xdfff)
		return put_escaped(l, out, bytes, utf8_encode(unit, bytes));
	l->state = PLAIN;
	fault = flush(l, out);
	return fault ? fault : surrogate(l, unit);
}

/* A byte of an escape; *ret_taken is 0 where it is none. */
static enum fault escape(struct extract_literals *l, struct output *out, uint8_t c,
			 size_t *ret_taken)
{
	const uint8_t *escaped;

	*ret_taken = 1;
	if (l->state == HEX) {
		if (json_hex_digit(c) < 0) {
			*ret_taken = 0;
			return give_up_escape(l, out);
		}
		l->digits[l->digit_count++] = c;
		return l->digit_count == sizeof(l->digits) ? put_unit(l, out) : FAULT_NONE;
	}
	if (c == 'u') {
		l->state = HEX;
		l->digit_count = 0;
		return FAULT_NONE;
	}
	escaped = json_escaped(c);
	if (escaped)
		return put_escaped(l, out, escaped, 1);
	*ret_taken = 0;
	return give_up_escape(l, out);
}

/* What the stop at `text` + len is; a run of plain text lies before it. */
static enum fault take_stop(struct extract_literals *l, struct output *out, const uint8_t *text,
			    size_t len)
{
	enum fault fault;

	if (text[len] == '"')
		return quote(l, out, text, len);
	if (text[len] != '\\')
		return line_end(l, out, text, len);
	fault = take_run(l, out, text, len, true);
	extract_pairing_break(l->between);
	l->state = ESCAPE;
	return fault;
}

/* Text before the first quote, up to it; that begins a literal, whatever stands before it. */
static enum fault sleep_on(struct extract_literals *l, const uint8_t *text, size_t len,
			   size_t *ret_taken)
{
	const uint8_t *quote = memchr(text, '"', len);
	size_t before = quote ? (size_t)(quote - text) : len;

	if (l->depth == 1)
		extract_pairing_pass(l->here, text, before);
	*ret_taken = quote ? before + 1 : len;
	l->awake = quote;
	return quote ? begin_literal(l) : FAULT_NONE;
}

enum fault extract_literals_text(struct extract_literals *l, const uint8_t *text, size_t len)
{
	const uint8_t *p = text, *end = text + len, *run;
	enum fault fault = FAULT_NONE;
	struct output out;
	size_t taken;

	if (!l->awake) {
		fault = sleep_on(l, text, len, &taken);
		p += taken;
		if (!l->awake)
			return fault;
	}
	out.len = 0;
	out.quote = false;
	while (p < end && !fault) {
		if (l->state != PLAIN) {
			fault = escape(l, &out, *p, &taken);
			p += taken;
			continue;
		}
		run = p;
		p = extract_find_stop(p, end);
		if (p < end)
			fault = take_stop(l, &out, run, (size_t)(p++ - run));
		else
			fault = take_run(l, &out, run, (size_t)(p - run), false);
	}
	if (!fault)
		fault = flush(l, &out);
	extract_pairing_pause(l->between);
	return fault;
}

enum fault extract_literals_surrogate(struct extract_literals *l, uint32_t unit)
{
	struct output out = {.len = 0, .quote = false};
	enum fault fault;

	if (!l->awake)
		return FAULT_NONE;
	fault = give_up_escape(l, &out);
	/* As behind a backslash: it is an escape that spelled it. */
	if (!fault)
		fault = take_run(l, &out, nothing, 0, true);
	extract_pairing_break(l->between);
	if (!fault)
		fault = flush(l, &out);
	return fault ? fault : surrogate(l, unit);
}

enum fault extract_literals_end(struct extract_literals *l)
{
	struct output out = {.len = 0, .quote = false};
	enum fault fault;

	if (!l->awake) {
		fall_asleep(l);
		return FAULT_NONE;
	}
	fault = give_up_escape(l, &out);
	if (!fault)
		fault = line_end(l, &out, nothing, 0);
	if (!fault)
		fault = extract_members_end(&l->members);
	fall_asleep(l);
	return fault;
}

size_t extract_literals_memory(const struct extract_literals *l)
{
	if (!l)
		return 0;
	return sizeof(*l) + extract_literals_memory(l->inner) + extract_members_memory(&l->members);
}
