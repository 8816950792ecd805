/* SPDX-License-Identifier: Apache-2.0 */
#include "core/attempt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/byte_queue.h"
#include "core/percent.h"
#include "core/resume_marks.h"
#include "core/utf8.h"

struct shown {
	const char *channel; /* NULL: it is the id of an event */
	size_t len;
	bool begins;
};

struct shown_unit {
	uint64_t end, rune_end, body, sequence;
	bool has_sequence;
	size_t texts;
};

struct attempt {
	struct resume_request request;
	struct resume_answer answer;
	struct resume_marks marks;
	uint8_t *target; /* path and query */
	size_t path_len, query_len;
	struct resume *resume;	    /* over all attempts; NULL: none is recorded */
	char from[SHA256_HEX_SIZE]; /* key of what it goes on from, or "" */
	struct resume_version from_version;
	uint32_t keep;
	uint64_t start; /* of the track */
	bool recorded;	/* the answer is */
	struct resume_version version;
	uint64_t body_start, body_end; /* of the answer in its representation */
	/* Delivered. */
	uint64_t runes, counted, body, sequence;
	bool has_sequence, moved;
	struct resume_id event;
	/* Shown and not delivered; the last texts belong to no unit yet. */
	struct byte_queue bytes, texts, units;
	size_t text_count; /* of the unit under way */
};

int attempt_new(struct attempt **ret_attempt)
{
	struct attempt *attempt = calloc(1, sizeof(*attempt));

	if (!attempt)
		return -ENOMEM;
	*ret_attempt = attempt;
	return 0;
}

void attempt_free(struct attempt *attempt)
{
	if (!attempt)
		return;
	resume_free(attempt->resume);
	free(attempt->target);
	byte_queue_done(&attempt->bytes);
	byte_queue_done(&attempt->texts);
	byte_queue_done(&attempt->units);
	free(attempt);
}

struct resume_request *attempt_request(struct attempt *attempt)
{
	return &attempt->request;
}

uint64_t attempt_start(const struct attempt *attempt)
{
	return attempt->start;
}

static int make_key(const struct attempt *attempt, const struct resume_scope *scope,
		    enum resume_kind kind, const struct resume_id *id, uint64_t number,
		    char ret_key[static SHA256_HEX_SIZE])
{
	const struct resume_request *request = &attempt->request;
	const uint8_t kind_byte = (uint8_t)kind;
	const struct resume_key_part parts[] = {
		{scope->policy, strlen(scope->policy)},
		{&kind_byte, 1},
		/* I6 */
		{request->host, request->host_len},
		{scope->peer, scope->peer_len},
		/* The id of a response is found by whatever path. */
		{attempt->target, kind == RESUME_AFTER ? 0 : attempt->path_len},
		{attempt->target + attempt->path_len,
		 kind == RESUME_AFTER ? 0 : attempt->query_len},
		{id->text, id->len},
		{&number, sizeof(number)},
	};

	return resume_key(parts, ARRAY_SIZE(parts), ret_key);
}

static int keep_target(struct attempt *attempt, struct http1_slice target)
{
	struct http1_slice path, query;

	resume_split_target(target, &path, &query);
	attempt->target = malloc(path.len + query.len + 1);
	if (!attempt->target)
		return -ENOMEM;
	if (path.len)
		memcpy(attempt->target, path.at, path.len);
	if (query.len)
		memcpy(attempt->target + path.len, query.at, query.len);
	attempt->path_len = path.len;
	attempt->query_len = query.len;
	return 0;
}

/* The last name of the path, decoded. False: there is none, or too long a one. */
static bool response_of_path(const struct attempt *attempt, struct resume_id *ret_id)
{
	uint8_t room[RESUME_ID_MAX + 4];
	struct percent percent = {0};
	size_t end = attempt->path_len, at, used, len;

	while (end && attempt->target[end - 1] == '/')
		end--;
	for (at = end; at && attempt->target[at - 1] != '/';)
		at--;
	len = percent_decode(&percent, attempt->target + at, end - at, room, RESUME_ID_MAX + 2,
			     &used);
	len += percent_end(&percent, room + len);
	if (used < end - at || !len || len > RESUME_ID_MAX)
		return false;
	ret_id->len = (uint16_t)len;
	memcpy(ret_id->text, room, len);
	return true;
}

/* What the request goes on from, by what it names. */
static int key_of_request(struct attempt *attempt, const struct resume_scope *scope)
{
	const struct resume_request *request = &attempt->request;
	const struct resume_id none = {0}, *id = &none;

	if (request->kind == RESUME_EVENT)
		id = &request->event;
	if (request->kind == RESUME_AFTER) {
		if (!response_of_path(attempt, &attempt->marks.response))
			return -EPERM;
		id = &attempt->marks.response;
	}
	return make_key(attempt, scope, request->kind, id, request->from, attempt->from);
}

static int go_on(struct attempt *attempt, const struct resume_scope *scope)
{
	const struct resume_request *request = &attempt->request;
	const struct resume_version *version;
	const struct resume *earlier;
	int r = request->long_host ? -EPERM : key_of_request(attempt, scope);

	if (r)
		return r;
	earlier = resume_table_find(scope->table, attempt->from, &version);
	if (!earlier || resume_may_begin(earlier, resume_offset(earlier)))
		return -EPERM;
	if (request->kind == RESUME_RANGE && request->has_condition &&
	    strcmp(request->condition, version->validator) != 0)
		return -EPERM;
	r = resume_copy(earlier, &attempt->resume);
	if (r)
		return r;
	attempt->start = attempt->runes = attempt->counted = resume_offset(earlier);
	attempt->from_version = attempt->version = *version;
	return 0;
}

int attempt_begin(struct attempt *attempt, const struct resume_scope *scope,
		  struct http1_slice target)
{
	int r = attempt->request.refused ? -EPERM : keep_target(attempt, target);

	if (r)
		return r;
	attempt->keep = scope->keep;
	return attempt->request.kind == RESUME_NONE ? resume_new(scope->keep, &attempt->resume)
						    : go_on(attempt, scope);
}

struct resume_answer *attempt_new_answer(struct attempt *attempt)
{
	/* Some clients believe what an interim one says of the part. */
	bool has_range = attempt->answer.has_range;

	attempt->answer = (struct resume_answer){
		.has_range = has_range,
		.bad_range = has_range,
		.length = UINT64_MAX,
	};
	return &attempt->answer;
}

/* I4 */
static int begin_anew(struct attempt *attempt, const struct resume_scope *scope)
{
	resume_free(attempt->resume);
	attempt->resume = NULL;
	attempt->from[0] = '\0';
	return resume_new(scope->keep, &attempt->resume);
}

/* Is it the part that was asked for, of what the part before it was of? */
static bool is_due(const struct attempt *attempt, const struct attempt_head *head)
{
	const struct resume_request *request = &attempt->request;
	const struct resume_answer *answer = &attempt->answer;
	uint64_t from = request->kind == RESUME_RANGE ? request->from : 0;

	if (!request->ranged || !answer->has_range || answer->bad_range || answer->several ||
	    answer->from != from)
		return false;
	if (!from)
		return true;
	/* Where it does not say, the request made it so (RFC 9110 15.3.7). */
	return !head->coded &&
	       (answer->validator[0] ? !strcmp(answer->validator, attempt->version.validator)
				     : request->has_condition);
}

static bool succeeds(const struct attempt_head *head)
{
	return head->status / 100 == 2;
}

/* I5 */
static int answer_rest(struct attempt *attempt, const struct attempt_head *head)
{
	const struct resume_answer *answer = &attempt->answer;

	if (head->status == 206 && is_due(attempt, head) && head->media == attempt->version.media) {
		attempt->recorded = true;
		attempt->body_start = answer->from;
		attempt->body_end = answer->length;
		return 0;
	}
	if (answer->has_range)
		return head->status == 416 && answer->unsatisfied ? 0 : -EPERM;
	return succeeds(head) ? -EPERM : 0;
}

/* The whole of it, a part from its beginning, or the events behind one. */
static int answer_whole(struct attempt *attempt, const struct attempt_head *head)
{
	const struct resume_answer *answer = &attempt->answer;
	bool part = head->status == 206 || (answer->in_bytes && head->status != 416);

	if (part && !is_due(attempt, head))
		return -EPERM;
	attempt->recorded = succeeds(head);
	if (!attempt->recorded)
		return 0;
	if (attempt->from[0] && head->media != attempt->version.media)
		return -EPERM;
	attempt->version.media = head->media;
	(void)stpcpy(attempt->version.validator, head->coded ? "" : answer->validator);
	attempt->body_start = 0;
	attempt->body_end = part ? answer->length : head->length;
	return 0;
}

int attempt_answer(struct attempt *attempt, const struct resume_scope *scope,
		   const struct attempt_head *head)
{
	bool rest = attempt->request.kind == RESUME_RANGE;
	bool anew = rest && head->status == 200 && !attempt->answer.has_range;
	int r = anew ? begin_anew(attempt, scope) : 0;

	attempt->recorded = false;
	if (r || !head->body)
		return r;
	return rest && !anew ? answer_rest(attempt, head) : answer_whole(attempt, head);
}

bool attempt_is_recorded(const struct attempt *attempt)
{
	return attempt->recorded;
}

size_t attempt_tail(const struct attempt *attempt, const char *channel, const uint8_t **ret_text)
{
	return resume_tail(attempt->resume, channel, ret_text);
}

struct resume_marks *attempt_marks(struct attempt *attempt)
{
	return &attempt->marks;
}

/* I2 */
static void lose(struct attempt *attempt)
{
	resume_spoil(attempt->resume);
	attempt->recorded = false;
}

/* More of the channel that was shown last, in the same unit. False: it is not. */
static bool show_more(struct attempt *attempt, const char *channel, const uint8_t *text, size_t len)
{
	struct shown last;
	uint8_t *at;

	if (!attempt->text_count)
		return false;
	at = byte_queue_front(&attempt->texts) + attempt->texts.len - sizeof(last);
	memcpy(&last, at, sizeof(last));
	if (last.channel != channel)
		return false;
	if (byte_queue_push(&attempt->bytes, text, len)) {
		lose(attempt);
		return true;
	}
	last.len += len;
	memcpy(at, &last, sizeof(last));
	return true;
}

static void show(struct attempt *attempt, const struct shown *shown, const uint8_t *text)
{
	if (byte_queue_push(&attempt->texts, shown, sizeof(*shown)) ||
	    (shown->len && byte_queue_push(&attempt->bytes, text, shown->len)))
		lose(attempt);
	else
		attempt->text_count++;
}

void attempt_text(struct attempt *attempt, const char *channel, const uint8_t *text, size_t len,
		  bool begins)
{
	size_t kept = len;

	if (!attempt->recorded)
		return;
	/* Units leave whole: no more of a piece than the tail will ever be asked for. */
	if (kept > UTF8_MAX * (size_t)attempt->keep)
		kept = resume_tail_length(text, len, attempt->keep);
	/* Escapes come one by one: an entry for each would take many times what they spell. */
	if (begins || !show_more(attempt, channel, text + len - kept, kept))
		show(attempt, &(struct shown){.channel = channel, .len = kept, .begins = begins},
		     text + len - kept);
}

void attempt_unit(struct attempt *attempt, uint64_t end, uint64_t rune_end, uint64_t body)
{
	struct resume_marks *marks = &attempt->marks;
	struct shown_unit unit = {
		.end = end,
		.rune_end = rune_end,
		.body = body,
		.has_sequence = marks->has_sequence,
		.sequence = marks->sequence,
	};

	if (!attempt->recorded)
		return;
	if (marks->has_event)
		show(attempt, &(struct shown){.len = marks->event.len}, marks->event.text);
	marks->has_event = marks->has_sequence = false;
	unit.texts = attempt->text_count;
	attempt->text_count = 0;
	if (attempt->recorded && byte_queue_push(&attempt->units, &unit, sizeof(unit)))
		lose(attempt);
}

static void deliver_text(struct attempt *attempt)
{
	struct shown shown;

	memcpy(&shown, byte_queue_front(&attempt->texts), sizeof(shown));
	if (shown.channel) {
		if (shown.begins)
			resume_restart(attempt->resume, shown.channel);
		/* What could not be kept spoiled it. */
		(void)!resume_delivered(attempt->resume, shown.channel,
					byte_queue_front(&attempt->bytes), shown.len);
	} else {
		attempt->event.len = (uint16_t)shown.len;
		if (shown.len)
			memcpy(attempt->event.text, byte_queue_front(&attempt->bytes), shown.len);
	}
	byte_queue_pop(&attempt->bytes, shown.len);
	byte_queue_pop(&attempt->texts, sizeof(shown));
}

static void deliver(struct attempt *attempt, const struct shown_unit *unit)
{
	for (size_t i = 0; i < unit->texts; i++)
		deliver_text(attempt);
	attempt->runes = unit->rune_end;
	attempt->body = unit->body;
	if (unit->has_sequence) {
		attempt->has_sequence = true;
		attempt->sequence = unit->sequence;
	}
	attempt->moved = true;
}

void attempt_released(struct attempt *attempt, uint64_t released)
{
	while (attempt->recorded && attempt->units.len) {
		struct shown_unit unit;

		memcpy(&unit, byte_queue_front(&attempt->units), sizeof(unit));
		if (unit.end > released)
			return;
		deliver(attempt, &unit);
		byte_queue_pop(&attempt->units, sizeof(unit));
	}
}

static void put(const struct attempt *attempt, const struct resume_scope *scope,
		enum resume_kind kind, const struct resume_id *id, uint64_t number)
{
	struct resume_version version = {.media = attempt->version.media};
	char key[SHA256_HEX_SIZE];

	if (kind == RESUME_RANGE)
		version = attempt->version;
	/* What cannot be put is not known. */
	if (!make_key(attempt, scope, kind, id, number, key))
		(void)!resume_table_put(scope->table, scope->owner, key, &version, attempt->resume);
}

static bool is_spoiled(const struct attempt *attempt)
{
	return resume_may_begin(attempt->resume, resume_offset(attempt->resume)) == -EPERM;
}

void attempt_keep(struct attempt *attempt, const struct resume_scope *scope, uint64_t cleared)
{
	static const struct resume_id none = {0};
	uint64_t next = attempt->body_start + attempt->body;

	if (!attempt->resume || (!attempt->moved && !is_spoiled(attempt)))
		return;
	attempt->moved = false;
	resume_attempt(attempt->resume, MAX(cleared, attempt->counted) - attempt->counted,
		       attempt->runes - attempt->counted);
	attempt->counted = attempt->runes;
	if (attempt->from[0] && is_spoiled(attempt))
		(void)!resume_table_put(scope->table, scope->owner, attempt->from,
					&attempt->from_version, attempt->resume);
	if (attempt->request.long_host)
		return;
	if (attempt->version.validator[0] && attempt->body && next != attempt->body_end)
		put(attempt, scope, RESUME_RANGE, &none, next);
	if (attempt->event.len)
		put(attempt, scope, RESUME_EVENT, &attempt->event, 0);
	if (attempt->marks.response.len && attempt->has_sequence)
		put(attempt, scope, RESUME_AFTER, &attempt->marks.response, attempt->sequence);
}

size_t attempt_memory(const struct attempt *attempt)
{
	return sizeof(*attempt) + attempt->path_len + attempt->query_len +
	       (attempt->resume ? resume_memory(attempt->resume) : 0) + attempt->bytes.capacity +
	       attempt->texts.capacity + attempt->units.capacity;
}
