/* SPDX-License-Identifier: Apache-2.0 */
/* The handle of the library is that of core, by another name. */
#include "core/resume.h"

#include <errno.h>

#include "core/utf8.h"
#include "sluice/sluice.h"

int sluice_resume_new(uint32_t keep, struct sluice_resume **ret_resume)
{
	struct resume *resume;
	int r = resume_new(keep, &resume);

	if (r == 0)
		*ret_resume = (struct sluice_resume *)resume;
	return r;
}

void sluice_resume_free(struct sluice_resume *resume)
{
	resume_free((struct resume *)resume);
}

int sluice_resume_delivered(struct sluice_resume *resume, const char *channel, const void *text,
			    size_t len)
{
	uint64_t runes;

	if (utf8_prefix(text, len, &runes) != len) {
		resume_spoil((struct resume *)resume);
		return -EILSEQ;
	}
	return resume_delivered((struct resume *)resume, channel, text, len);
}

void sluice_resume_attempt(struct sluice_resume *resume, uint64_t cleared, uint64_t delivered)
{
	resume_attempt((struct resume *)resume, cleared, delivered);
}

uint64_t sluice_resume_offset(const struct sluice_resume *resume)
{
	return resume_offset((const struct resume *)resume);
}

int sluice_resume_may_begin(const struct sluice_resume *resume, uint64_t start)
{
	return resume_may_begin((const struct resume *)resume, start);
}

int sluice_resume_tails(const struct sluice_resume *resume,
			int (*each)(void *context, const char *channel, const uint8_t *text,
				    size_t len),
			void *context)
{
	return resume_tails((const struct resume *)resume, each, context);
}
