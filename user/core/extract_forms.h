/* SPDX-License-Identifier: Apache-2.0 */
/* Which forms documents of each kind of extractor may have. */
#ifndef SLUICE_CORE_EXTRACT_FORMS_H
#define SLUICE_CORE_EXTRACT_FORMS_H

#include <stddef.h>

#include "core/extract_form.h"
#include "core/pipeline.h"

/* Every one; of a place that several have, the first counts. */
extern const struct extract_form *const extract_forms_all[];
extern const size_t extract_forms_all_count;

/* NULL: it has none. */
const struct extract_form *const *extract_forms_of(enum extract_kind kind, size_t *ret_count);

#endif
