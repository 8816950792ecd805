/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared header as two compilers see it: what gcc laid out here against the
 * BTF of an object that clang built for BPF. Reads a file; needs no privileges.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <bpf/btf.h>

#include "base/macros.h"
#include "sluice/abi.h"

struct member {
	const char *name;
	size_t offset, size;
};

struct layout {
	const char *name;
	size_t size;
	struct member members[16];
};

#define MEMBER(type, field)                                                             \
	{                                                                               \
#field, offsetof(struct type, field), sizeof(((struct type *)0)->field) \
	}
#define LAYOUT(type, ...)                   \
	{                                   \
#type, sizeof(struct type), \
		{                           \
			__VA_ARGS__         \
		}                           \
	}

static const struct layout layouts[] = {
	LAYOUT(sluice_address, MEMBER(sluice_address, addr), MEMBER(sluice_address, port),
	       MEMBER(sluice_address, family), MEMBER(sluice_address, reserved)),
	LAYOUT(sluice_socket, MEMBER(sluice_socket, slot), MEMBER(sluice_socket, generation),
	       MEMBER(sluice_socket, flags), MEMBER(sluice_socket, stream)),
	LAYOUT(sluice_gate, MEMBER(sluice_gate, position), MEMBER(sluice_gate, held),
	       MEMBER(sluice_gate, base), MEMBER(sluice_gate, valid), MEMBER(sluice_gate, holding),
	       MEMBER(sluice_gate, reserved)),
	LAYOUT(sluice_origin, MEMBER(sluice_origin, stream), MEMBER(sluice_origin, cgroup),
	       MEMBER(sluice_origin, policy), MEMBER(sluice_origin, pid),
	       MEMBER(sluice_origin, uid), MEMBER(sluice_origin, reach),
	       MEMBER(sluice_origin, peer), MEMBER(sluice_origin, comm)),
	LAYOUT(sluice_origin_key, MEMBER(sluice_origin_key, netns), MEMBER(sluice_origin_key, addr),
	       MEMBER(sluice_origin_key, port), MEMBER(sluice_origin_key, family),
	       MEMBER(sluice_origin_key, reserved)),
	LAYOUT(sluice_route_key, MEMBER(sluice_route_key, netns), MEMBER(sluice_route_key, family),
	       MEMBER(sluice_route_key, reserved)),
	LAYOUT(sluice_watch, MEMBER(sluice_watch, cgroup), MEMBER(sluice_watch, policy),
	       MEMBER(sluice_watch, dns)),
	LAYOUT(sluice_rule, MEMBER(sluice_rule, addr), MEMBER(sluice_rule, prefix_len),
	       MEMBER(sluice_rule, action), MEMBER(sluice_rule, port),
	       MEMBER(sluice_rule, reserved)),
	LAYOUT(sluice_policy, MEMBER(sluice_policy, rules), MEMBER(sluice_policy, resolvers)),
	LAYOUT(sluice_unix_key, MEMBER(sluice_unix_key, policy), MEMBER(sluice_unix_key, len),
	       MEMBER(sluice_unix_key, path)),
	LAYOUT(sluice_config, MEMBER(sluice_config, abi), MEMBER(sluice_config, owner_pid),
	       MEMBER(sluice_config, owner_start), MEMBER(sluice_config, daemon_cgroup),
	       MEMBER(sluice_config, listen_port), MEMBER(sluice_config, reserved)),
	LAYOUT(sluice_open_stream, MEMBER(sluice_open_stream, origin),
	       MEMBER(sluice_open_stream, opened_ns), MEMBER(sluice_open_stream, slot),
	       MEMBER(sluice_open_stream, generation), MEMBER(sluice_open_stream, reserved)),
	LAYOUT(sluice_ledger, MEMBER(sluice_ledger, received), MEMBER(sluice_ledger, released),
	       MEMBER(sluice_ledger, sessions), MEMBER(sluice_ledger, runes),
	       MEMBER(sluice_ledger, generation), MEMBER(sluice_ledger, reserved)),
	LAYOUT(sluice_refusal_key, MEMBER(sluice_refusal_key, cgroup),
	       MEMBER(sluice_refusal_key, kind), MEMBER(sluice_refusal_key, reserved)),
	LAYOUT(sluice_refusals, MEMBER(sluice_refusals, count),
	       MEMBER(sluice_refusals, told_second)),
	LAYOUT(sluice_event, MEMBER(sluice_event, time_ns), MEMBER(sluice_event, stream),
	       MEMBER(sluice_event, type), MEMBER(sluice_event, slot), MEMBER(sluice_event, value),
	       MEMBER(sluice_event, origin)),
	LAYOUT(sluice_census, MEMBER(sluice_census, inode), MEMBER(sluice_census, cgroup),
	       MEMBER(sluice_census, pid), MEMBER(sluice_census, fd), MEMBER(sluice_census, family),
	       MEMBER(sluice_census, type), MEMBER(sluice_census, protocol),
	       MEMBER(sluice_census, state), MEMBER(sluice_census, inside)),
};

struct number {
	const char *name;
	int value;
};

#define NUMBER(n)     \
	{             \
#n, n \
	}

/* The ends of each enumeration: in between, the compilers count alike. */
static const struct number numbers[] = {
	NUMBER(SLUICE_SOCKET_LISTENER), NUMBER(SLUICE_SOCKET_DATA),
	NUMBER(SLUICE_SOCKET_OPEN),	NUMBER(SLUICE_SOCKET_EXEMPT),
	NUMBER(SLUICE_DNS_DENY),	NUMBER(SLUICE_DNS_ANY),
	NUMBER(SLUICE_RULE_NONE),	NUMBER(SLUICE_RULE_ALLOW),
	NUMBER(SLUICE_REACH_NONE),	NUMBER(SLUICE_REACH_DAEMON),
	NUMBER(SLUICE_EVENT_MARKED),	NUMBER(SLUICE_EVENT_REFUSED),
	NUMBER(SLUICE_COUNT_CAPTURED),	NUMBER(SLUICE_COUNT_FENCE_UNIX),
	NUMBER(SLUICE_COUNT_PACED),	NUMBER(_SLUICE_COUNTER_MAX),
};

static int load(void **state)
{
	const char *build = getenv("BUILD");
	char path[4096];
	struct btf *btf;

	(void)snprintf(path, sizeof(path), "%s/bpf/abi_check.bpf.o", build ? build : "build");
	btf = btf__parse_elf(path, NULL);
	if (!btf) {
		print_error("cannot read the BTF of '%s'\n", path);
		return -1;
	}
	*state = btf;
	return 0;
}

static int unload(void **state)
{
	btf__free(*state);
	return 0;
}

static void check_layout(const struct btf *btf, const struct layout *layout)
{
	const int id = btf__find_by_name_kind(btf, layout->name, BTF_KIND_STRUCT);
	const struct btf_type *type = btf__type_by_id(btf, (__u32)id);
	const struct btf_member *members;
	size_t i, end = 0;

	if (id < 0)
		fail_msg("BTF has no struct %s", layout->name);
	assert_int_equal(type->size, layout->size);
	members = btf_members(type);
	for (i = 0; i < btf_vlen(type); i++) {
		const struct member *member = &layout->members[i];

		assert_true(i < ARRAY_SIZE(layout->members));
		assert_non_null(member->name);
		assert_string_equal(btf__name_by_offset(btf, members[i].name_off), member->name);
		assert_int_equal(btf_member_bit_offset(type, (__u32)i), member->offset * 8);
		assert_int_equal(btf__resolve_size(btf, members[i].type), member->size);
		/* Padding that the compiler chose could hold anything. */
		assert_int_equal(member->offset, end);
		end = member->offset + member->size;
	}
	assert_int_equal(end, layout->size);
	assert_true(i == ARRAY_SIZE(layout->members) || !layout->members[i].name);
}

static void test_structs_are_laid_out_alike(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(layouts); i++)
		check_layout(*state, &layouts[i]);
}

/* A struct of the header that no row above names would not be compared. */
static void test_every_shared_struct_is_compared(void **state)
{
	const struct btf *btf = *state;
	__u32 id, found = 0;
	size_t i;

	for (id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *name = btf__name_by_offset(btf, type->name_off);

		if (!btf_is_struct(type) || strncmp(name, "sluice_", 7) != 0)
			continue;
		found++;
		for (i = 0; i < ARRAY_SIZE(layouts); i++)
			if (strcmp(layouts[i].name, name) == 0)
				break;
		if (i == ARRAY_SIZE(layouts))
			fail_msg("struct %s is not compared", name);
	}
	assert_int_equal(found, ARRAY_SIZE(layouts));
}

static void check_number(const struct btf *btf, const struct number *number)
{
	__u32 id, i;

	for (id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);

		if (!btf_is_enum(type))
			continue;
		for (i = 0; i < btf_vlen(type); i++) {
			const struct btf_enum *value = &btf_enum(type)[i];

			if (strcmp(btf__name_by_offset(btf, value->name_off), number->name) != 0)
				continue;
			assert_int_equal(value->val, number->value);
			return;
		}
	}
	fail_msg("BTF has no enumerator %s", number->name);
}

static void test_enumerators_have_the_same_values(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		check_number(*state, &numbers[i]);
}

static void test_slot_words_pack_and_unpack(void **state)
{
	static const uint64_t offsets[] = {0, 1, 0xffffffffull, 0x100000000ull, SLUICE_OFFSET_MAX};
	uint32_t generation;
	size_t i;

	(void)state;
	for (generation = 0; generation <= UINT16_MAX; generation += 4369)
		for (i = 0; i < ARRAY_SIZE(offsets); i++) {
			const uint64_t word = sluice_slot_word((uint16_t)generation, offsets[i]);

			assert_int_equal(sluice_slot_generation(word), generation);
			assert_int_equal(sluice_slot_offset(word), offsets[i]);
		}
	/* An offset that does not fit must not become another generation. */
	assert_int_equal(sluice_slot_generation(sluice_slot_word(3, SLUICE_OFFSET_MAX + 1)), 3);
}

static void test_words_of_runes_pack_and_unpack(void **state)
{
	static const uint32_t counts[] = {0, 1, 0x7fffffff, UINT32_MAX};
	size_t i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(counts); i++)
		for (j = 0; j < ARRAY_SIZE(counts); j++) {
			const uint64_t word = sluice_runes_word(counts[i], counts[j]);

			assert_int_equal(sluice_runes_received(word), counts[i]);
			assert_int_equal(sluice_runes_confirmed(word), counts[j]);
		}
}

/* Any daemon, of any version, reads these to tell whose pins they are. */
static void test_the_head_of_the_configuration_stays(void **state)
{
	(void)state;
	assert_int_equal(offsetof(struct sluice_config, abi), 0);
	assert_int_equal(offsetof(struct sluice_config, owner_pid), 4);
	assert_int_equal(offsetof(struct sluice_config, owner_start), 8);
}

int main(void)
{
	const struct CMUnitTest abi[] = {
		cmocka_unit_test(test_structs_are_laid_out_alike),
		cmocka_unit_test(test_every_shared_struct_is_compared),
		cmocka_unit_test(test_enumerators_have_the_same_values),
		cmocka_unit_test(test_slot_words_pack_and_unpack),
		cmocka_unit_test(test_words_of_runes_pack_and_unpack),
		cmocka_unit_test(test_the_head_of_the_configuration_stays),
	};

	return cmocka_run_group_tests(abi, load, unload);
}
