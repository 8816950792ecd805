/* SPDX-License-Identifier: Apache-2.0 */
#include "core/resume.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>

#include "core/utf8.h"

struct tail {
	char *channel;
	uint8_t *text;
	size_t len, capacity;
};

struct resume {
	uint32_t keep;
	bool spoiled;
	uint64_t offset;
	struct tail *tails; /* in the order in which their channels came */
	size_t count;
	size_t last;	 /* of these, the one that came last */
	uint8_t *before; /* U6 */
	size_t before_len;
};

int resume_new(uint32_t keep, struct resume **ret_resume)
{
	struct resume *resume = calloc(1, sizeof(*resume));

	if (!resume)
		return -ENOMEM;
	resume->keep = keep;
	*ret_resume = resume;
	return 0;
}

void resume_free(struct resume *resume)
{
	if (!resume)
		return;
	for (size_t i = 0; i < resume->count; i++) {
		free(resume->tails[i].channel);
		free(resume->tails[i].text);
	}
	free(resume->tails);
	free(resume->before);
	free(resume);
}

/* Does a rune stay one of its own, whatever folds it? U5. What is cut off is none that does not. */
static bool is_counted(const uint8_t *at, size_t left)
{
	unsigned int len = utf8_length(at[0]);
	UErrorCode error = U_ZERO_ERROR;
	const UNormalizer2 *nfkc;
	UChar32 rune = at[0];

	if (len < 2 || len > left)
		return true;
	rune &= 0x7f >> len;
	for (unsigned int i = 1; i < len; i++)
		rune = rune << 6 | (at[i] & 0x3f);
	nfkc = unorm2_getNFKCInstance(&error);
	/* What composes with what stands before it, in whatever form, is no rune of its own. */
	return U_SUCCESS(error) && unorm2_hasBoundaryBefore(nfkc, rune) &&
	       !u_hasBinaryProperty(rune, UCHAR_DEFAULT_IGNORABLE_CODE_POINT) &&
	       u_charType(rune) != U_NON_SPACING_MARK &&
	       u_getIntPropertyValue(rune, UCHAR_NFC_QUICK_CHECK) == 1;
}

size_t resume_tail_length(const uint8_t *text, size_t len, uint32_t keep)
{
	size_t at = len;

	for (uint32_t runes = 0; at && runes < keep;) {
		while (--at && (text[at] & 0xc0) == 0x80)
			;
		runes += is_counted(text + at, len - at);
	}
	return len - at;
}

static struct tail *find(const struct resume *resume, const char *channel)
{
	for (size_t i = 0; i < resume->count; i++)
		if (strcmp(resume->tails[i].channel, channel) == 0)
			return &resume->tails[i];
	return NULL;
}

/* U6 */
static int begin(const struct resume *resume, const char *channel, struct tail *ret_tail)
{
	size_t len = resume->before_len;
	struct tail tail = {strdup(channel), len ? malloc(len) : NULL, len, len};

	if (!tail.channel || (len && !tail.text)) {
		free(tail.channel);
		free(tail.text);
		return -ENOMEM;
	}
	if (len)
		memcpy(tail.text, resume->before, len);
	*ret_tail = tail;
	return 0;
}

static int add(struct resume *resume, const char *channel, struct tail **ret_tail)
{
	struct tail *grown;
	int r;

	if (resume->count == RESUME_CHANNELS_MAX)
		return -E2BIG;
	grown = realloc(resume->tails, (resume->count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	resume->tails = grown;
	r = begin(resume, channel, &grown[resume->count]);
	if (r)
		return r;
	*ret_tail = &grown[resume->count++];
	return 0;
}

static void trim(const struct resume *resume, struct tail *tail)
{
	size_t len = resume_tail_length(tail->text, tail->len, resume->keep);

	if (len < tail->len)
		memmove(tail->text, tail->text + tail->len - len, len);
	tail->len = len;
}

static size_t most(const struct resume *resume)
{
	return (size_t)resume->keep * UTF8_MAX + RESUME_EXTRA_MAX;
}

/* Room for len more; what is no tail any more goes once it is as much as what is one. */
static int reserve(const struct resume *resume, struct tail *tail, size_t len)
{
	size_t capacity = tail->capacity ? tail->capacity : 32;
	uint8_t *grown;

	trim(resume, tail);
	if (tail->len + len > most(resume))
		return -E2BIG;
	while (capacity < 2 * tail->len + len)
		capacity *= 2;
	if (capacity == tail->capacity)
		return 0;
	grown = realloc(tail->text, capacity);
	if (!grown)
		return -ENOMEM;
	tail->text = grown;
	tail->capacity = capacity;
	return 0;
}

static int append(struct resume *resume, const char *channel, const uint8_t *text, size_t len)
{
	struct tail *tail = find(resume, channel);
	size_t kept = len;
	int r = 0;

	if (!tail)
		r = add(resume, channel, &tail);
	if (!r && kept > UTF8_MAX * (size_t)resume->keep)
		kept = resume_tail_length(text, len, resume->keep);
	if (!r && (!tail->capacity || tail->len + kept > MIN(tail->capacity, most(resume))))
		r = reserve(resume, tail, kept);
	if (r)
		return r;
	if (kept)
		memcpy(tail->text + tail->len, text + len - kept, kept);
	tail->len += kept;
	resume->last = (size_t)(tail - resume->tails);
	return 0;
}

int resume_delivered(struct resume *resume, const char *channel, const uint8_t *text, size_t len)
{
	int r;

	if (resume->spoiled || !len)
		return 0;
	r = append(resume, channel, text, len);
	if (r)
		resume->spoiled = true;
	return r;
}

void resume_restart(struct resume *resume, const char *channel)
{
	struct tail *tail = find(resume, channel);

	if (tail)
		tail->len = 0;
}

void resume_spoil(struct resume *resume)
{
	resume->spoiled = true;
}

void resume_attempt(struct resume *resume, uint64_t cleared, uint64_t delivered)
{
	resume->spoiled |= delivered > cleared;
	resume->spoiled |= __builtin_add_overflow(resume->offset, delivered, &resume->offset);
}

uint64_t resume_offset(const struct resume *resume)
{
	return resume->offset;
}

int resume_may_begin(const struct resume *resume, uint64_t start)
{
	if (resume->spoiled)
		return -EPERM;
	return start == resume->offset ? 0 : -ERANGE;
}

/* The last runes of a tail, of which there may be more than are kept. */
static size_t tail_of(const struct resume *resume, const struct tail *tail,
		      const uint8_t **ret_text)
{
	size_t len = resume_tail_length(tail->text, tail->len, resume->keep);

	*ret_text = tail->text + (tail->len - len);
	return len;
}

size_t resume_tail(const struct resume *resume, const char *channel, const uint8_t **ret_text)
{
	const struct tail *tail = find(resume, channel);

	if (tail)
		return tail_of(resume, tail, ret_text);
	*ret_text = resume->before;
	return resume->before_len;
}

static size_t last_of(const struct resume *resume, const uint8_t **ret_text)
{
	return resume->count ? tail_of(resume, &resume->tails[resume->last], ret_text) : 0;
}

int resume_tails(const struct resume *resume,
		 int (*each)(void *context, const char *channel, const uint8_t *text, size_t len),
		 void *context)
{
	for (size_t i = 0; i < resume->count; i++) {
		const uint8_t *text;
		size_t len = tail_of(resume, &resume->tails[i], &text);
		int r = len ? each(context, resume->tails[i].channel, text, len) : 0;

		if (r)
			return r;
	}
	return 0;
}

/* U6 */
static int copy_last(const struct resume *resume, struct resume *copy)
{
	const uint8_t *text;
	size_t len = last_of(resume, &text);
	const struct tail *last = len ? find(copy, resume->tails[resume->last].channel) : NULL;

	if (!last)
		return 0;
	copy->before = malloc(len);
	if (!copy->before)
		return -ENOMEM;
	memcpy(copy->before, text, len);
	copy->before_len = len;
	copy->last = (size_t)(last - copy->tails);
	return 0;
}

static int copy_tail(void *context, const char *channel, const uint8_t *text, size_t len)
{
	return append(context, channel, text, len);
}

int resume_copy(const struct resume *resume, struct resume **ret_copy)
{
	cleanup(resume_freep) struct resume *copy = NULL;
	int r = resume_new(resume->keep, &copy);

	if (!r)
		r = resume_tails(resume, copy_tail, copy);
	if (!r)
		r = copy_last(resume, copy);
	if (r)
		return r;
	copy->offset = resume->offset;
	copy->spoiled = resume->spoiled;
	*ret_copy = take_ptr(copy);
	return 0;
}

static int compare_tail(void *context, const char *channel, const uint8_t *text, size_t len)
{
	const struct resume *other = context;
	const struct tail *tail = find(other, channel);
	const uint8_t *theirs;

	return !tail || tail_of(other, tail, &theirs) != len || memcmp(theirs, text, len) != 0;
}

static bool same_last(const struct resume *a, const struct resume *b)
{
	const uint8_t *ours, *theirs;
	size_t len = last_of(a, &ours);

	return last_of(b, &theirs) == len && (!len || memcmp(ours, theirs, len) == 0);
}

bool resume_same(const struct resume *a, const struct resume *b)
{
	return a->keep == b->keep && a->spoiled == b->spoiled && same_last(a, b) &&
	       !resume_tails(a, compare_tail, (void *)b) &&
	       !resume_tails(b, compare_tail, (void *)a);
}

size_t resume_memory(const struct resume *resume)
{
	size_t bytes =
		sizeof(*resume) + resume->count * sizeof(*resume->tails) + resume->before_len;

	for (size_t i = 0; i < resume->count; i++)
		bytes += strlen(resume->tails[i].channel) + 1 + resume->tails[i].capacity;
	return bytes;
}
