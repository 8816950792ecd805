/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/age.h"

void age_add(struct age *age, uint64_t end, uint64_t since_ns)
{
	if (age->count == AGE_MARKS) {
		age->marks[(age->first + AGE_MARKS - 1) % AGE_MARKS].end = end;
		return;
	}
	age->marks[(age->first + age->count) % AGE_MARKS].end = end;
	age->marks[(age->first + age->count) % AGE_MARKS].since_ns = since_ns;
	age->count++;
}

bool age_oldest(const struct age *age, uint64_t *ret_since_ns)
{
	if (!age->count)
		return false;
	*ret_since_ns = age->marks[age->first].since_ns;
	return true;
}

bool age_take(struct age *age, uint64_t end, uint64_t *ret_since_ns)
{
	if (!age_oldest(age, ret_since_ns))
		return false;
	while (age->count && age->marks[age->first].end <= end) {
		age->first = (age->first + 1) % AGE_MARKS;
		age->count--;
	}
	return true;
}
