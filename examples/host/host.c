/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host of libsluice: text comes on standard input in pieces, as a model writes it, and leaves
 * on standard output once two tasks have cleared it: `length` refuses long texts, `term` a word,
 * no beginning of which gets out. Exits 0 (all released), 3 (denied) or 1 (the session failed).
 *   cc host.c $(pkg-config --cflags --libs sluice) -o host && printf 'a forbidden word' | ./host
 */
#define _GNU_SOURCE /* memmem */
#include <sluice/sluice.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TERM	   "forbidden"
#define TERM_RUNES 9u	  /* and bytes: it is ASCII */
#define SPAN	   256u	  /* runes evaluated at once */
#define TEXT_RUNES 10000u /* more are refused */

enum { LENGTH, TERM_SEARCH };
static const char *const tasks[] = {"length", "term"};
static char text[4 * TEXT_RUNES + 1]; /* room for all that is not refused, and one byte more */
static size_t len, left;	      /* bytes that came, and that left */
static uint64_t cleared;	      /* runes */

/* All offsets are runes: where one begins. What was observed is well-formed UTF-8. */
static char *at(uint64_t rune)
{
	size_t i = 0;

	for (; i < len && (rune > 0 || (text[i] & 0xc0) == 0x80); i++)
		rune -= (text[i] & 0xc0) != 0x80;
	return text + i;
}

/* The tasks look at what came since, span by span, and what they clear leaves. false: enough. */
static bool mediate(struct sluice_session *session, uint64_t received, bool last)
{
	const struct sluice_coverage coverage = {SPAN, SPAN + TERM_RUNES - 1, TERM_RUNES};
	uint64_t from, watermark;
	bool found;

	while (cleared < received) {
		uint64_t start = cleared;
		uint64_t end = received - start > SPAN ? start + SPAN : received;
		/* The word may begin in the last runes and end in what has not come: they wait. */
		uint64_t keep = last && end == received ? 0 : TERM_RUNES - 1;

		if (end - start <= keep)
			break;
		/* After a denial the session is closed, and says so. */
		if (sluice_session_outcome(session, SLUICE_RESPONSE, LENGTH, start, end,
					   end > TEXT_RUNES ? SLUICE_DENIED : SLUICE_CLEARED) ||
		    sluice_coverage_of(&coverage, start, end, &from) < 0)
			return false;
		/* The window begins below the span: so may the word. */
		found = memmem(at(from), (size_t)(at(end) - at(from)), TERM, TERM_RUNES) != NULL;
		cleared = end - keep;
		if (sluice_session_outcome(session, SLUICE_RESPONSE, TERM_SEARCH, start,
					   found ? end : cleared,
					   found ? SLUICE_DENIED : SLUICE_CLEARED))
			return false;
		if (!sluice_session_advance(session, SLUICE_RESPONSE, &watermark))
			continue;
		left += fwrite(text + left, 1, (size_t)(at(watermark) - text) - left, stdout);
		if (fflush(stdout) || text + left != at(watermark))
			return false;
	}
	return !last || sluice_session_finish(session) == SLUICE_OK;
}

int main(void)
{
	const struct sluice_config config = {
		.size = sizeof(config), .tasks = {NULL, tasks}, .task_count = {0, 2}};
	struct sluice_state state = {.size = sizeof(state)};
	struct sluice_session *session;
	uint64_t received;
	bool more = true;
	ssize_t n = 1;

	if (sluice_session_new(&config, &session) != SLUICE_OK)
		return 1;
	while (more && n > 0 && (n = read(0, text + len, sizeof(text) - len)) >= 0) {
		more = !sluice_session_observe_text(session, SLUICE_RESPONSE, text + len, (size_t)n,
						    &received);
		len += (size_t)n;
		if (more && n == 0) /* a rune that was cut fails here, before more leaves */
			more = !sluice_session_end_of_payloads(session);
		more = more && mediate(session, received, n == 0);
	}
	/* Settled on every path; what has ended by now stays as it ended. */
	sluice_session_fail(session, SLUICE_DISCONNECTED);
	if (sluice_session_get(session, &state) == SLUICE_OK)
		fprintf(stderr, "%s\n", sluice_end_name(state.end));
	if (!sluice_session_free(session))
		return 1;
	return state.end == SLUICE_END_COMPLETE ? 0 : state.end == SLUICE_END_DENIED ? 3 : 1;
}
