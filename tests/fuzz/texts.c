/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/texts.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/utf8.h"
#include "fuzz/fuzz.h"

struct fuzz_text *fuzz_texts_find(const struct fuzz_texts *texts, const char *name)
{
	for (size_t i = 0; i < texts->count; i++)
		if (strcmp(texts->texts[i].name, name) == 0)
			return &texts->texts[i];
	return NULL;
}

static struct fuzz_text *add_channel(struct fuzz_texts *texts, const char *name)
{
	struct fuzz_text *text;

	if (texts->count == texts->capacity) {
		texts->capacity = texts->capacity * 2 + 8;
		texts->texts = realloc(texts->texts, texts->capacity * sizeof(*texts->texts));
		fuzz_check(texts->texts != NULL);
	}
	text = &texts->texts[texts->count++];
	*text = (struct fuzz_text){.name = strdup(name)};
	fuzz_check(text->name != NULL);
	return text;
}

struct fuzz_text *fuzz_texts_add(struct fuzz_texts *texts, const char *name, const uint8_t *text,
				 size_t len)
{
	struct fuzz_text *at = fuzz_texts_find(texts, name);
	uint64_t runes;

	fuzz_check(len > 0 && utf8_prefix(text, len, &runes) == len);
	if (!at)
		at = add_channel(texts, name);
	if (at->len + len >= at->capacity) {
		at->capacity = MAX(2 * at->capacity, at->len + len + 64);
		at->text = realloc(at->text, at->capacity);
		fuzz_check(at->text != NULL);
	}
	memcpy(at->text + at->len, text, len);
	at->len += len;
	at->text[at->len] = '\0';
	return at;
}

uint64_t fuzz_texts_runes(const struct fuzz_texts *texts)
{
	uint64_t all = 0, runes;

	for (size_t i = 0; i < texts->count; i++) {
		(void)utf8_prefix(texts->texts[i].text, texts->texts[i].len, &runes);
		all += runes;
	}
	return all;
}

bool fuzz_texts_same(const struct fuzz_texts *a, const struct fuzz_texts *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct fuzz_text *x = &a->texts[i], *y = fuzz_texts_find(b, x->name);

		if (!y || x->len != y->len || memcmp(x->text, y->text, x->len) != 0)
			return false;
	}
	return true;
}

void fuzz_texts_done(struct fuzz_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++) {
		free(texts->texts[i].name);
		free(texts->texts[i].text);
	}
	free(texts->texts);
	*texts = (struct fuzz_texts){0};
}
