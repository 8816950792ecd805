/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests for the rest of a response, and attempts that go on from one another in one table.
 * Option 0: the runes that are kept. The data is attempts, a byte of 0xff between two: two bytes
 * of what no line says (enum), then lines, each ended by LF: the target, the request's fields,
 * an empty line, the answer's fields, an empty line; the rest is the text.
 *
 * What goes on goes on from an attempt at the same peer, whose last text it is shown; of bytes
 * from where that ended, and only where all that ended there ended in the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/attempt.h"
#include "core/percent.h"
#include "core/resume_marks.h"
#include "core/utf8.h"
#include "fuzz/fuzz.h"
#include "fuzz/targets.h"

#define ATTEMPTS_MAX 12u
#define TEXT_MAX     64u
#define MEMORY_MAX   (1u << 20)

/* The first byte of an attempt; the second is its status. */
enum { PEER = 1, CHANNEL = 2, SSE = 4, CODED = 8, BODILESS = 16, UNCLEARED = 32, HELD = 64 };

static const char *const channels[] = {"a", "b"};
static const uint16_t statuses[] = {200, 206, 200, 206, 201, 204, 404, 416};

/* Where an attempt ended. */
struct end {
	uint8_t peer;
	uint8_t text[2][2 * TEXT_MAX]; /* per channel, over all attempts before it */
	size_t len[2];
	int last;
	uint64_t runes, next;
	bool by_range;
	struct http1_slice target;
	struct resume_request request;
};

struct story {
	const struct fuzz_input *input;
	struct resume_scope scope;
	struct end ends[ATTEMPTS_MAX];
	size_t count;
};

/* One attempt as it is told. */
struct told {
	uint8_t flags, status;
	struct http1_slice target, fields, answer, text;
};

static void take_fields(struct http1_slice *rest, struct http1_slice *ret_fields)
{
	struct http1_slice line;

	*ret_fields = *rest;
	do
		line = http1_until(rest, '\n');
	while (rest->at && line.len);
	ret_fields->len = (size_t)((rest->at ? rest->at : line.at + line.len) - ret_fields->at);
}

static bool read_told(struct http1_slice bytes, struct told *ret_told)
{
	struct http1_slice rest = bytes;
	uint64_t runes;

	if (bytes.len < 2)
		return false;
	ret_told->flags = bytes.at[0];
	ret_told->status = bytes.at[1] % ARRAY_SIZE(statuses);
	http1_drop(&rest, 2);
	ret_told->target = http1_until(&rest, '\n');
	/* A path, or behind a scheme (core/http1_head.h). */
	if (!rest.at || !ret_told->target.len ||
	    (ret_told->target.at[0] != '/' &&
	     !memchr(ret_told->target.at, ':', ret_told->target.len)))
		return false;
	take_fields(&rest, &ret_told->fields);
	if (!rest.at)
		return false;
	take_fields(&rest, &ret_told->answer);
	ret_told->text = rest;
	ret_told->text.len =
		rest.at ? utf8_prefix(rest.at, MIN(rest.len, (size_t)TEXT_MAX), &runes) : 0;
	return true;
}

/* Each line in memory of exactly its size. */
static void read_fields(struct http1_slice lines, struct resume_request *request,
			struct resume_answer *answer)
{
	while (lines.len) {
		struct http1_slice line = http1_until(&lines, '\n');
		uint8_t *copy = fuzz_copy(line.at, line.len);
		bool field = line.len && memchr(copy, ':', line.len);

		line.at = copy;
		if (field && request)
			resume_request_field(request, line);
		else if (field)
			resume_answer_field(answer, line);
		free(copy);
	}
}

static void read_request(const struct told *told, bool other_case, struct resume_request *request)
{
	uint8_t *target = fuzz_copy(told->target.at, told->target.len);
	uint8_t *fields = fuzz_copy(told->fields.at, told->fields.len);
	bool name = true;

	resume_request_target(request, (struct http1_slice){target, told->target.len});
	for (size_t i = 0; i < told->fields.len && other_case; i++) {
		name = fields[i] != ':' && (name || fields[i] == '\n');
		if (name && ((fields[i] | 0x20) >= 'a' && (fields[i] | 0x20) <= 'z'))
			fields[i] ^= 0x20;
	}
	read_fields((struct http1_slice){fields, told->fields.len}, request, NULL);
	free(fields);
	free(target);
}

/* The query holds the letters of starting_after, decoded at once and searched from each place. */
static bool names_after(struct http1_slice target)
{
	struct percent percent = {.plus = true};
	struct http1_slice path, query;
	char *plain;
	size_t used, len, count = 0;
	bool found;

	resume_split_target(target, &path, &query);
	plain = malloc(query.len + 4);
	fuzz_check(plain != NULL);
	len = query.at ? percent_decode(&percent, query.at, query.len, (uint8_t *)plain,
					query.len + 3, &used)
		       : 0;
	for (size_t i = 0; i < len; i++)
		if (plain[i] && plain[i] != '_' && plain[i] != '-')
			plain[count++] = plain[i];
	plain[count] = '\0';
	found = strcasestr(plain, "startingafter");
	free(plain);
	return found;
}

static void check_request(const struct told *told, const struct resume_request *request)
{
	struct resume_request other = {.kind = RESUME_NONE};

	read_request(told, true, &other);
	fuzz_check(!memcmp(request, &other, sizeof(other)));
	fuzz_check(request->kind != RESUME_RANGE || (request->ranged && request->from));
	fuzz_check(request->kind != RESUME_EVENT || request->refused || request->event.len);
	fuzz_check(request->kind != RESUME_AFTER || names_after(told->target));
	fuzz_check(request->event.len <= RESUME_ID_MAX && request->host_len <= RESUME_HOST_MAX);
	fuzz_check(memchr(request->condition, 0, sizeof(request->condition)));
}

/* What a channel of an attempt that goes on from that end is shown first. */
static size_t tail_of(const struct story *story, const struct end *end, int channel,
		      const uint8_t **ret_text)
{
	int of = end->len[channel] ? channel : end->last;
	size_t len = resume_tail_length(end->text[of], end->len[of], story->scope.keep);

	*ret_text = end->text[of] + end->len[of] - len;
	return len;
}

static bool same_tail(const struct story *story, const struct end *end,
		      const struct attempt *attempt)
{
	for (int channel = 0; channel < 2; channel++) {
		const uint8_t *ours, *theirs;
		size_t len = tail_of(story, end, channel, &ours);

		if (attempt_tail(attempt, channels[channel], &theirs) != len ||
		    memcmp(ours, theirs, len) != 0)
			return false;
	}
	return attempt_start(attempt) == end->runes;
}

static bool same_place(const struct end *end, const struct told *told, uint8_t peer,
		       const struct resume_request *request)
{
	return end->by_range && end->next == request->from && end->peer == peer &&
	       end->target.len == told->target.len &&
	       !memcmp(end->target.at, told->target.at, told->target.len) &&
	       end->request.host_len == request->host_len &&
	       !memcmp(end->request.host, request->host, request->host_len);
}

/* Do both have text of the same channels, and go on in the same one? */
static bool same_channels(const struct end *a, const struct end *b)
{
	return !a->len[0] == !b->len[0] && !a->len[1] == !b->len[1] && a->last == b->last;
}

/* What it may go on from. NULL: one of two, which differ in what nobody sees yet. */
static const struct end *explain(const struct story *story, const struct told *told, uint8_t peer,
				 struct attempt *attempt)
{
	const struct resume_request *request = attempt_request(attempt);
	const struct end *found = NULL;
	bool ambiguous = false;

	for (size_t i = 0; i < story->count; i++) {
		const struct end *end = &story->ends[i];
		bool same = same_tail(story, end, attempt);

		fuzz_check(request->kind != RESUME_RANGE || same ||
			   !same_place(end, told, peer, request));
		if (!same || end->peer != peer ||
		    (request->kind == RESUME_RANGE &&
		     (!end->by_range || end->next != request->from)))
			continue;
		ambiguous |= found && !same_channels(found, end);
		found = end;
	}
	fuzz_check(found != NULL);
	return ambiguous ? NULL : found;
}

static size_t whole_runes(struct http1_slice text, size_t want)
{
	want = MIN(want, text.len);
	while (want < text.len && (text.at[want] & 0xc0) == 0x80)
		want++;
	return want;
}

/* Delivers units, of which the last may stay held; adds what was delivered to the end. */
static void deliver(const struct story *story, const struct told *told, struct attempt *attempt,
		    struct end *end)
{
	int channel = !!(told->flags & CHANNEL);
	uint64_t runes = attempt_start(attempt), more, released = 0, base = end->runes;
	struct http1_slice rest = told->text;
	size_t n = 0, delivered;

	while (rest.len) {
		size_t len = whole_runes(rest, fuzz_cut(story->input, n++));
		uint8_t *copy = fuzz_copy(rest.at, len);

		attempt_text(attempt, channels[channel], copy, len, false);
		free(copy);
		(void)utf8_prefix(rest.at, len, &more);
		http1_drop(&rest, len);
		if (!rest.len && (told->flags & HELD))
			break;
		released = told->text.len - rest.len;
		runes += more;
		attempt_unit(attempt, released, runes, released);
	}
	delivered = (size_t)released;
	attempt_released(attempt, released);
	if (delivered && !end->len[channel] && end->last >= 0) {
		memcpy(end->text[channel], end->text[end->last], end->len[end->last]);
		end->len[channel] = end->len[end->last];
	}
	if (delivered)
		memcpy(end->text[channel] + end->len[channel], told->text.at, delivered);
	end->len[channel] += delivered;
	end->last = delivered ? channel : end->last;
	end->runes = base + (runes - attempt_start(attempt));
	end->next += delivered;
}

/* A tail is all that the next needs. */
static void trim(const struct story *story, struct end *end)
{
	for (int channel = 0; channel < 2; channel++) {
		uint8_t *text = end->text[channel];
		size_t len = resume_tail_length(text, end->len[channel], story->scope.keep);

		len = MIN(len, (size_t)TEXT_MAX);
		memmove(text, text + end->len[channel] - len, len);
		end->len[channel] = len;
	}
}

static bool answer(struct story *story, const struct told *told, struct attempt *attempt,
		   struct end *end)
{
	const struct resume_request *request = attempt_request(attempt);
	const struct attempt_head head = {
		.status = statuses[told->status],
		.body = !(told->flags & BODILESS),
		.coded = told->flags & CODED,
		.length = UINT64_MAX,
		.media = told->flags & SSE ? MEDIA_SSE : MEDIA_TEXT,
	};
	struct resume_answer *says = attempt_new_answer(attempt);
	const uint8_t *text;
	bool rest = request->kind == RESUME_RANGE;

	read_fields(told->answer, NULL, says);
	if (attempt_answer(attempt, &story->scope, &head))
		return false;
	/* No success goes by unseen. */
	fuzz_check(attempt_is_recorded(attempt) == (head.body && head.status / 100 == 2));
	if (!attempt_is_recorded(attempt))
		return false;
	end->next = 0;
	end->by_range = !head.coded && says->validator[0];
	if (rest && head.status == 200) {
		*end = (struct end){.peer = end->peer, .last = -1, .by_range = end->by_range};
		fuzz_check(!attempt_tail(attempt, "a", &text) &&
			   !attempt_tail(attempt, "b", &text));
	} else if (rest) {
		fuzz_check(head.status == 206 && says->from == request->from && !says->bad_range);
		end->by_range = true;
		end->next = request->from;
	}
	deliver(story, told, attempt, end);
	end->by_range &= !says->has_range || end->next != says->length;
	return end->runes > 0;
}

static void mark(const struct told *told, struct attempt *attempt)
{
	struct resume_marks *marks = attempt_marks(attempt);

	marks->has_event = marks->has_sequence = told->text.len > 0;
	if (!told->text.len)
		return;
	marks->event = (struct resume_id){.len = 1, .text = {told->text.at[0]}};
	marks->response = (struct resume_id){.len = 1, .text = {'r'}};
	marks->sequence = told->text.at[0] & 7;
}

static void tell(struct story *story, const struct told *told)
{
	cleanup(attempt_freep) struct attempt *attempt = NULL;
	const uint8_t peer = told->flags & PEER;
	struct end end = {.peer = peer, .last = -1};
	const struct end *from = NULL;
	uint8_t *target = fuzz_copy(told->target.at, told->target.len);
	int r;

	fuzz_check(!attempt_new(&attempt));
	story->scope.peer = &peer;
	read_request(told, false, attempt_request(attempt));
	check_request(told, attempt_request(attempt));
	r = attempt_begin(attempt, &story->scope, (struct http1_slice){target, told->target.len});
	free(target);
	if (r)
		return;
	fuzz_check(!attempt_request(attempt)->refused);
	if (attempt_request(attempt)->kind != RESUME_NONE) {
		from = explain(story, told, peer, attempt);
		if (!from) {
			story->count = ATTEMPTS_MAX;
			return;
		}
		end = *from;
	}
	mark(told, attempt);
	if (!answer(story, told, attempt, &end))
		return;
	fuzz_check(attempt_memory(attempt) < MEMORY_MAX);
	attempt_keep(attempt, &story->scope,
		     attempt_start(attempt) + (told->flags & UNCLEARED ? 0 : TEXT_MAX));
	if (told->flags & UNCLEARED)
		return;
	trim(story, &end);
	end.target = told->target;
	end.request = *attempt_request(attempt);
	story->ends[story->count++] = end;
}

void fuzz_resume(const uint8_t *bytes, size_t len)
{
	struct story story = {.scope = {.policy = "policy", .peer_len = 1}};
	struct http1_slice rest;
	struct fuzz_input input;

	if (!fuzz_input_init(&input, bytes, len))
		return;
	story.input = &input;
	story.scope.keep = 1 + input.options[0] % 8;
	fuzz_check(!resume_table_new(&story.scope.table));
	rest = (struct http1_slice){input.data, input.len};
	while (rest.at && story.count < ATTEMPTS_MAX) {
		struct told told;

		if (read_told(http1_until(&rest, 0xff), &told))
			tell(&story, &told);
	}
	resume_table_free(story.scope.table);
}
