/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tasks that a stream under a fuzzer may have, and a search for their terms. A task has terms,
 * or patterns, or is asked elsewhere about spans, by someone who denies what has its terms.
 */
#ifndef SLUICE_TESTS_FUZZ_STREAM_TERMS_H
#define SLUICE_TESTS_FUZZ_STREAM_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/pipeline.h"

#define FUZZ_TASKS_MAX 2u
#define FUZZ_TERMS_MAX 4u

enum fuzz_task_kind { FUZZ_TERMS, FUZZ_PATTERNS, FUZZ_ASKED };

struct fuzz_terms {
	size_t task_count;
	const char *words[FUZZ_TASKS_MAX][FUZZ_TERMS_MAX];
	unsigned int fold[FUZZ_TASKS_MAX];
	enum fuzz_task_kind kind[FUZZ_TASKS_MAX];
	struct span_config spans[FUZZ_TASKS_MAX]; /* of those that are asked */
	struct pipeline_task tasks[FUZZ_TASKS_MAX];
	const char *names[FUZZ_TASKS_MAX];
};

/* NULL: no tasks. They are made once, and live on. */
const struct fuzz_terms *fuzz_terms_get(uint8_t option);
bool fuzz_terms_fold(const struct fuzz_terms *terms);
/* Is one of the tasks asked elsewhere? */
bool fuzz_terms_ask(const struct fuzz_terms *terms);

/*
 * Where the first of the terms that a plain search can find begins in the text, or SIZE_MAX:
 * those that do not fold, or by case alone, and then in ASCII; and those of patterns. Of a task
 * that is asked, where its last letter is.
 */
size_t fuzz_terms_find(const struct fuzz_terms *terms, const uint8_t *text, size_t len);

#endif
