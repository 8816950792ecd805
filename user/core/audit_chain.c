/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit_chain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HEX_LEN	   (SHA256_HEX_SIZE - 1u)
#define SEAL_BEGIN ",\"hash\":\""
#define SEAL_END   "\"}\n"
_Static_assert(sizeof(AUDIT_GENESIS) == SHA256_HEX_SIZE, "the genesis is a hash");
_Static_assert(sizeof(SEAL_BEGIN) - 1 + HEX_LEN + sizeof(SEAL_END) - 1 == AUDIT_SEAL_LEN,
	       "what a seal adds");

void audit_head_init(struct audit_head *head)
{
	*head = (struct audit_head){.hash = AUDIT_GENESIS};
}

static bool is_hash(const char *text)
{
	return strspn(text, "0123456789abcdef") >= HEX_LEN;
}

/* Reads a number without leading zeros; NULL: there is none. text ends in no digit. */
static const char *read_number(const char *text, uint64_t *ret_number)
{
	uint64_t number = 0;

	if (*text < '0' || *text > '9' || (*text == '0' && text[1] >= '0' && text[1] <= '9'))
		return NULL;
	for (; *text >= '0' && *text <= '9'; text++) {
		unsigned int digit = (unsigned int)(*text - '0');

		if (number > (UINT64_MAX - digit) / 10)
			return NULL;
		number = number * 10 + digit;
	}
	*ret_number = number;
	return text;
}

int audit_head_parse(const char *text, struct audit_head *ret_head)
{
	struct audit_head head;

	text = read_number(text, &head.seq);
	if (!text || !head.seq || *text != ':' || !is_hash(text + 1) || text[1 + HEX_LEN])
		return -EINVAL;
	(void)memcpy(head.hash, text + 1, SHA256_HEX_SIZE);
	*ret_head = head;
	return 0;
}

void audit_head_format(const struct audit_head *head, char ret_text[static AUDIT_HEAD_TEXT_LEN])
{
	(void)snprintf(ret_text, AUDIT_HEAD_TEXT_LEN, "%" PRIu64 ":%s", head->seq, head->hash);
}

void audit_name_format(uint64_t first, char ret_name[static AUDIT_NAME_LEN])
{
	(void)snprintf(ret_name, AUDIT_NAME_LEN, "audit-%020" PRIu64 ".jsonl", first);
}

uint64_t audit_name_first(const char *name)
{
	const char *digits = name + sizeof("audit-") - 1;
	char again[AUDIT_NAME_LEN];
	uint64_t first;

	if (strlen(name) != AUDIT_NAME_LEN - 1)
		return 0;
	while (*digits == '0')
		digits++;
	if (!read_number(digits, &first))
		return 0;
	audit_name_format(first, again);
	return strcmp(name, again) ? 0 : first;
}

int audit_chain_init(struct audit_chain *chain, const struct audit_head *head)
{
	struct sha256 sha256 = {0};
	int r = sha256_init(&sha256);

	if (r)
		return r;
	*chain = (struct audit_chain){.head = *head, .sha256 = sha256};
	return 0;
}

void audit_chain_done(struct audit_chain *chain)
{
	sha256_done(&chain->sha256);
}

int audit_chain_seal(struct audit_chain *chain, char *record, size_t len)
{
	char hash[SHA256_HEX_SIZE];
	int r = sha256_two_hex(&chain->sha256, chain->head.hash, HEX_LEN, record, len, hash);

	if (r)
		return r;
	record += len;
	(void)memcpy(record, SEAL_BEGIN, sizeof(SEAL_BEGIN) - 1);
	record += sizeof(SEAL_BEGIN) - 1;
	(void)memcpy(record, hash, HEX_LEN);
	(void)memcpy(record + HEX_LEN, SEAL_END, sizeof(SEAL_END) - 1);
	(void)memcpy(chain->head.hash, hash, sizeof(hash));
	chain->head.seq++;
	return 0;
}

/* What stands at *at is that text: moves behind it. No line has a NUL in it. */
static bool take(const char **at, const char *text)
{
	size_t len = strlen(text);

	if (strncmp(*at, text, len))
		return false;
	*at += len;
	return true;
}

/* Copies the line without its seal, NUL behind it; -EINVAL: it is no record. */
static int open_record(const char *line, size_t len, char text[static AUDIT_RECORD_MAX],
		       struct audit_head *ret_head)
{
	const char *seal, *at = text;
	struct audit_head head;

	if (len > AUDIT_RECORD_MAX || len <= AUDIT_SEAL_LEN || memchr(line, '\0', len))
		return -EINVAL;
	seal = line + len - AUDIT_SEAL_LEN;
	if (strncmp(seal, SEAL_BEGIN, sizeof(SEAL_BEGIN) - 1) ||
	    memcmp(line + len - (sizeof(SEAL_END) - 1), SEAL_END, sizeof(SEAL_END) - 1))
		return -EINVAL;
	seal += sizeof(SEAL_BEGIN) - 1;
	(void)memcpy(head.hash, seal, HEX_LEN);
	head.hash[HEX_LEN] = '\0';
	(void)memcpy(text, line, len - AUDIT_SEAL_LEN);
	text[len - AUDIT_SEAL_LEN] = '\0';
	if (!is_hash(head.hash) || !take(&at, "{\"seq\":"))
		return -EINVAL;
	at = read_number(at, &head.seq);
	if (!at || !head.seq || !take(&at, ",\"time\":\""))
		return -EINVAL;
	*ret_head = head;
	return 0;
}

int audit_record_head(const char *line, size_t len, struct audit_head *ret_head)
{
	char text[AUDIT_RECORD_MAX];

	return open_record(line, len, text, ret_head);
}

/* What stands behind the time, which is the first text of a record and ends in Z. */
static const char *behind_time(const char *text)
{
	const char *at = strchr(text, 'Z');

	return at ? at + 1 : "";
}

/* The last member: the oldest file's first number. */
static int read_oldest(const char *at, uint64_t *ret_oldest)
{
	uint64_t oldest;

	if (!take(&at, "\"oldest\":"))
		return -EINVAL;
	at = read_number(at, &oldest);
	if (!at || *at)
		return -EINVAL;
	*ret_oldest = oldest;
	return 0;
}

/* The record that a file begins with: what it follows, and the oldest file's first number. */
static int read_beginning(const char *text, char previous[static SHA256_HEX_SIZE],
			  uint64_t *ret_oldest)
{
	const char *at = behind_time(text);

	if (!take(&at, "\",\"event\":\"file\",\"version\":1,\"previous\":\"") || !is_hash(at))
		return -EINVAL;
	(void)memcpy(previous, at, HEX_LEN);
	previous[HEX_LEN] = '\0';
	at += HEX_LEN;
	return take(&at, "\",") ? read_oldest(at, ret_oldest) : -EINVAL;
}

/* A record that an older file had to make room. */
static void note_pruned(struct audit_verifier *verifier, const char *text)
{
	const char *at = behind_time(text);

	/* One that is not of this form says nothing. */
	if (take(&at, "\",\"event\":\"pruned\","))
		(void)read_oldest(at, &verifier->oldest);
}

int audit_verifier_init(struct audit_verifier *verifier, const struct audit_head *head)
{
	struct sha256 sha256 = {0};
	int r = sha256_init(&sha256);

	if (r)
		return r;
	*verifier = (struct audit_verifier){.sha256 = sha256};
	audit_head_init(&verifier->last);
	if (head)
		verifier->want = *head;
	return 0;
}

void audit_verifier_done(struct audit_verifier *verifier)
{
	sha256_done(&verifier->sha256);
}

static enum audit_fault check_beginning(struct audit_verifier *verifier, const char *text,
					uint64_t seq)
{
	char previous[SHA256_HEX_SIZE];

	if (read_beginning(text, previous, &verifier->oldest))
		return AUDIT_NO_BEGINNING;
	/* Of the oldest file that is there, what it says is all that is known. */
	if (!verifier->first && seq > 1) {
		verifier->last.seq = seq - 1;
		(void)memcpy(verifier->last.hash, previous, sizeof(previous));
	}
	if (seq == verifier->last.seq + 1 && strcmp(previous, verifier->last.hash))
		return AUDIT_NO_BEGINNING;
	return AUDIT_OK;
}

enum audit_fault audit_verifier_line(struct audit_verifier *verifier, const char *line, size_t len,
				     bool begins)
{
	char text[AUDIT_RECORD_MAX], hash[SHA256_HEX_SIZE];
	enum audit_fault fault = AUDIT_OK;
	struct audit_head head;

	verifier->found = 0;
	if (!len || line[len - 1] != '\n')
		return AUDIT_CUT_OFF;
	if (open_record(line, len, text, &head))
		return AUDIT_NO_RECORD;
	verifier->found = head.seq;
	if (begins)
		fault = check_beginning(verifier, text, head.seq);
	if (fault)
		return fault;
	if (head.seq != verifier->last.seq + 1)
		return head.seq > verifier->last.seq ? AUDIT_MISSING : AUDIT_OUT_OF_ORDER;
	if (sha256_two_hex(&verifier->sha256, verifier->last.hash, HEX_LEN, text,
			   len - AUDIT_SEAL_LEN, hash))
		return AUDIT_NO_MEMORY;
	if (strcmp(hash, head.hash))
		return AUDIT_CHANGED;
	if (head.seq == verifier->want.seq && strcmp(hash, verifier->want.hash))
		return AUDIT_REWRITTEN;
	if (head.seq == verifier->want.seq)
		verifier->met = true;
	if (!verifier->first)
		verifier->first = head.seq;
	note_pruned(verifier, text);
	verifier->last = head;
	return AUDIT_OK;
}

enum audit_fault audit_verifier_end(struct audit_verifier *verifier, bool whole)
{
	if (!verifier->first)
		return AUDIT_EMPTY;
	if (whole && verifier->first > verifier->oldest)
		return AUDIT_OLDEST_GONE;
	if (!verifier->want.seq || verifier->met)
		return AUDIT_OK;
	return verifier->want.seq > verifier->last.seq ? AUDIT_TRUNCATED : AUDIT_HEAD_GONE;
}

static const struct {
	const char *name, *text;
} faults[] = {
	[AUDIT_OK] = {"ok", "whole"},
	[AUDIT_NO_MEMORY] = {"no_memory", "it could not be verified for want of memory"},
	[AUDIT_CUT_OFF] = {"cut_off", "the line is cut off"},
	[AUDIT_NO_RECORD] = {"no_record", "the line is no record: it was changed or cut"},
	[AUDIT_MISSING] = {"missing", "records are missing before it"},
	[AUDIT_OUT_OF_ORDER] = {"out_of_order", "the record was inserted, repeated or moved"},
	[AUDIT_CHANGED] = {"changed", "the record was changed, or the one before it replaced"},
	[AUDIT_NO_BEGINNING] = {"no_beginning",
				"it is not the record that a file here begins with"},
	[AUDIT_REWRITTEN] = {"rewritten", "the trail was rewritten: the head is of another record"},
	[AUDIT_TRUNCATED] = {"truncated", "the trail ends before the record of the head"},
	[AUDIT_HEAD_GONE] = {"head_gone", "the record of the head is older than the oldest file"},
	[AUDIT_OLDEST_GONE] = {"oldest_gone", "older files that were kept are missing"},
	[AUDIT_MISNAMED] = {"misnamed", "the file's name has another number than this record"},
	[AUDIT_EMPTY] = {"empty", "there is no record"},
};
_Static_assert(ARRAY_SIZE(faults) == _AUDIT_FAULT_MAX, "a text for every fault");

const char *audit_fault_text(enum audit_fault fault)
{
	return faults[fault].text;
}

const char *audit_fault_name(enum audit_fault fault)
{
	return faults[fault].name;
}
