/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the policy reader share: checked access to document nodes.
 * Every function that fails has filled the error: -EINVAL for what is wrong,
 * -EOPNOTSUPP for what this build does not do yet, -ENOMEM.
 */
#ifndef SLUICE_CORE_POLICY_PARSE_H
#define SLUICE_CORE_POLICY_PARSE_H

#include "core/policy.h"

/* What a key's value may be. */
enum policy_form {
	POLICY_FORM_SCALAR = 1 << DOC_SCALAR,
	POLICY_FORM_LIST = 1 << DOC_LIST,
	POLICY_FORM_MAP = 1 << DOC_MAP,
};

struct policy_key {
	const char *name;
	unsigned int forms; /* of enum policy_form */
	bool required;
};

/* A word with a meaning; built: this build does it. */
struct policy_choice {
	const char *name;
	int value;
	bool built;
};

/* Fills *error with a place and a line; returns err. node NULL: the document as a whole. */
int policy_refuse(struct policy_error *error, int err, const struct doc_node *node,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same at the node's key. */
int policy_refuse_key(struct policy_error *error, int err, const struct doc_node *node,
		      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* node is a map of known keys in their forms, and has those required. */
int policy_check_keys(struct policy_error *error, const struct doc_node *node, const char *what,
		      const struct policy_key *keys, size_t count) must_check;

/* node is a scalar that is written out: not empty, and not an unquoted null. */
int policy_get_text(struct policy_error *error, const struct doc_node *node,
		    const char **ret_text) must_check;
int policy_get_bool(struct policy_error *error, const struct doc_node *node,
		    bool *ret_value) must_check;
int policy_get_number(struct policy_error *error, const struct doc_node *node, uint64_t min,
		      uint64_t max, uint64_t *ret_value) must_check;
/* One of the names; what names the key in the line. */
int policy_get_choice(struct policy_error *error, const struct doc_node *node, const char *what,
		      const struct policy_choice *choices, size_t count, int *ret_value) must_check;
/* A name of 1..max letters, digits, '_', '.' and '-'. */
int policy_get_name(struct policy_error *error, const struct doc_node *node, const char *name,
		    size_t max) must_check;

/* framing: and extract: of the policy or of a destination. */
int policy_get_framing(struct policy_error *error, const struct doc_node *node,
		       struct framing *ret_framing) must_check;
int policy_get_extract(struct policy_error *error, const struct doc_node *node,
		       struct extract *ret_extract) must_check;
int policy_get_join(struct policy_error *error, const struct doc_node *node,
		    bool *ret_join_unit) must_check;
/*
 * Strict reading is of chat completions, and of those in events. key: whose key is to blame
 * where that is not so; may be NULL where the extract is not strict.
 */
int policy_check_strict(struct policy_error *error, const struct doc_node *key,
			const struct framing *framing, const struct extract *extract) must_check;

/* Addresses of 16 bytes, IPv4 as v4-mapped; text needs no NUL. -EINVAL, and no error is filled. */
int policy_parse_address(const char *text, size_t len, uint8_t ret_addr[16],
			 bool *ret_v6) must_check;
int policy_parse_port(const char *text, size_t len, uint16_t *ret_port) must_check;

/* The keys of an interceptor; timeout_ms is 0 where it has none of its own. */
int policy_read_interceptor(struct policy_error *error, const struct doc_node *node,
			    struct policy_task *task) must_check;
/* Accepts NULL. */
void policy_interceptor_free(struct policy_interceptor *interceptor);

/* Sections of the file; each fills what is absent with its defaults. */
int policy_read_destinations(struct policy_error *error, const struct doc_node *node,
			     struct policy *policy) must_check;
int policy_read_tasks(struct policy_error *error, const struct doc_node *document,
		      struct policy *policy) must_check;
/* What a task searches for, by its kind, and what else its keys say. */
int policy_read_rules(struct policy_error *error, const struct doc_node *node,
		      struct policy_task *task) must_check;
int policy_read_limits(struct policy_error *error, const struct doc_node *node,
		       struct policy *policy) must_check;
int policy_read_outside(struct policy_error *error, const struct doc_node *document,
			struct policy *policy) must_check;
int policy_read_audit(struct policy_error *error, const struct doc_node *node,
		      struct policy *policy) must_check;

#endif
