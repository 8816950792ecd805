/* SPDX-License-Identifier: Apache-2.0 */
/* Small macros every layer uses. */
#ifndef SLUICE_BASE_MACROS_H
#define SLUICE_BASE_MACROS_H

#include <stddef.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Statement-expression versions, so that arguments are evaluated once. */
#define MIN(a, b)                                  \
	({                                         \
		__typeof__(a) min_a_ = (a);        \
		__typeof__(b) min_b_ = (b);        \
		min_a_ < min_b_ ? min_a_ : min_b_; \
	})
#define MAX(a, b)                                  \
	({                                         \
		__typeof__(a) max_a_ = (a);        \
		__typeof__(b) max_b_ = (b);        \
		max_a_ > max_b_ ? max_a_ : max_b_; \
	})

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define must_check __attribute__((warn_unused_result))

/* A local that is freed, or closed, when it leaves its scope. */
#define cleanup(f) __attribute__((cleanup(f)))

/* Defines f##p, which frees what the variable points to; f accepts NULL. */
#define DEFINE_CLEANUP(type, f)          \
	static inline void f##p(type *p) \
	{                                \
		f(*p);                   \
	}

/* Hands the pointer on: the cleanup then finds NULL. */
#define take_ptr(p)                          \
	({                                   \
		__typeof__(p) take_p_ = (p); \
		(p) = NULL;                  \
		take_p_;                     \
	})

#endif
