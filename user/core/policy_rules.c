/* SPDX-License-Identifier: Apache-2.0 */
/* What a task of a policy searches for: terms, patterns, rule sets by name, or an interceptor. */
#include <errno.h>
#include <stdlib.h>

#include "core/policy_parse.h"

static const struct policy_choice folds[] = {
	{"casefold", TERMS_FOLD_CASEFOLD, true}, {"nfkc", TERMS_FOLD_NFKC, true},
	{"nfc", TERMS_FOLD_NFC, true},		 {"ignorable", TERMS_FOLD_IGNORABLE, true},
	{"strip_mn", TERMS_FOLD_STRIP_MN, true}, {"confusable", TERMS_FOLD_CONFUSABLE, true},
};

const char *policy_fold_name(unsigned int i)
{
	return i < ARRAY_SIZE(folds) ? folds[i].name : NULL;
}

static int read_folds(struct policy_error *error, const struct doc_node *node,
		      unsigned int *ret_folds)
{
	unsigned int set = 0;
	size_t i;
	int err, fold = 0;

	for (i = 0; node && i < node->count; i++) {
		err = policy_get_choice(error, node->children[i], "fold", folds, ARRAY_SIZE(folds),
					&fold);
		if (err)
			return err;
		if (set & (unsigned int)fold)
			return policy_refuse(error, -EINVAL, node->children[i],
					     "fold '%s' stands here twice",
					     node->children[i]->scalar);
		set |= (unsigned int)fold;
	}
	*ret_folds = set;
	return 0;
}

/* The texts of a list of 1 to max; *ret_list is the caller's to free, its texts the node's. */
static int read_list(struct policy_error *error, const struct doc_node *node, const char *what,
		     size_t max, const char ***ret_list)
{
	const char **list;
	size_t i;
	int err = 0;

	if (node->count < 1 || node->count > max)
		return policy_refuse(error, -EINVAL, node, "a task has 1 to %zu %ss", max, what);
	list = calloc(node->count, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (i = 0; i < node->count && !err; i++) {
		const struct doc_node *text = node->children[i];

		/* It would be found everywhere. */
		if (text->kind == DOC_SCALAR && text->quoted && !*text->scalar)
			err = policy_refuse(error, -EINVAL, text, "a %s must not be empty", what);
		else
			err = policy_get_text(error, text, &list[i]);
	}
	if (err) {
		free(list);
		return err;
	}
	*ret_list = list;
	return 0;
}

static int build_terms(struct policy_error *error, const struct doc_node *node,
		       const char *const *list, struct policy_task *task)
{
	size_t bad = 0;
	int err = terms_new(list, node->count, task->fold, &bad, &task->terms);

	if (err == -EINVAL && bad < node->count)
		return policy_refuse(error, -EINVAL, node->children[bad],
				     "nothing of this term is left after folding");
	if (err == -E2BIG)
		return policy_refuse(error, -EINVAL, node,
				     "the terms are too large together: over %u states",
				     TERMS_STATES_MAX);
	if (err == -EINVAL)
		return policy_refuse(error, -EINVAL, node, "these terms cannot be matched");
	return err;
}

static int read_terms(struct policy_error *error, const struct doc_node *node,
		      struct policy_task *task)
{
	static const struct policy_key keys[] = {
		{"kind", POLICY_FORM_SCALAR, true},
		{"terms", POLICY_FORM_LIST, true},
		{"fold", POLICY_FORM_LIST, false},
		{"warn_only", POLICY_FORM_SCALAR, false},
	};
	const struct doc_node *terms = doc_node_get(node, "terms");
	const char **list;
	int err;

	err = policy_check_keys(error, node, node->key, keys, ARRAY_SIZE(keys));
	if (!err)
		err = read_folds(error, doc_node_get(node, "fold"), &task->fold);
	if (!err)
		err = read_list(error, terms, "term", POLICY_TERMS_MAX, &list);
	if (err)
		return err;
	err = build_terms(error, terms, list, task);
	free(list);
	task->rule_count = terms->count;
	return err;
}

static int build_patterns(struct policy_error *error, const struct doc_node *node,
			  const char *const *list, struct policy_task *task)
{
	const struct regex_options options = {.max_runes = task->max_runes};
	struct regex_error bad;
	int err = regex_new(list, node->count, &options, &bad, &task->regex);

	if (err == -EINVAL)
		return policy_refuse(error, -EINVAL, node->children[bad.pattern],
				     "at byte %zu of the pattern: %s", bad.offset, bad.message);
	if (err == -E2BIG)
		return policy_refuse(error, -EINVAL, node, "the patterns are too large together");
	return err;
}

static int read_patterns(struct policy_error *error, const struct doc_node *node,
			 struct policy_task *task)
{
	static const struct policy_key keys[] = {
		{"kind", POLICY_FORM_SCALAR, true},
		{"patterns", POLICY_FORM_LIST, true},
		{"max_runes", POLICY_FORM_SCALAR, false},
		{"warn_only", POLICY_FORM_SCALAR, false},
	};
	const struct doc_node *patterns = doc_node_get(node, "patterns");
	const struct doc_node *max_runes = doc_node_get(node, "max_runes");
	const char **list;
	uint64_t runes = 0;
	int err;

	err = policy_check_keys(error, node, node->key, keys, ARRAY_SIZE(keys));
	if (!err && max_runes)
		err = policy_get_number(error, max_runes, 1, REGEX_RUNES_MAX, &runes);
	if (!err)
		err = read_list(error, patterns, "pattern", REGEX_PATTERNS_MAX, &list);
	if (err)
		return err;
	task->max_runes = (uint32_t)runes;
	err = build_patterns(error, patterns, list, task);
	free(list);
	task->rule_count = patterns->count;
	return err;
}

static int add_set(struct policy_error *error, const struct doc_node *node,
		   struct policy_task *task)
{
	struct policy_choice choices[BUILTIN_SETS];
	const struct builtin_set *set;
	size_t i;
	int err, index = 0;

	for (i = 0; i < BUILTIN_SETS; i++)
		choices[i] = (struct policy_choice){builtin_at(i)->name, (int)i, true};
	err = policy_get_choice(error, node, "rule set", choices, BUILTIN_SETS, &index);
	if (err)
		return err;
	set = builtin_at((size_t)index);
	for (i = 0; i < task->set_count; i++)
		if (task->sets[i] == set)
			return policy_refuse(error, -EINVAL, node,
					     "rule set '%s' stands here twice", set->name);
	task->sets[task->set_count++] = set;
	task->rule_count += set->count;
	return 0;
}

static int read_sets(struct policy_error *error, const struct doc_node *node,
		     struct policy_task *task)
{
	static const struct policy_key keys[] = {
		{"kind", POLICY_FORM_SCALAR, true},
		{"rules", POLICY_FORM_LIST, true},
		{"warn_only", POLICY_FORM_SCALAR, false},
	};
	const struct doc_node *rules = doc_node_get(node, "rules");
	size_t i;
	int err;

	err = policy_check_keys(error, node, node->key, keys, ARRAY_SIZE(keys));
	if (!err && !rules->count)
		err = policy_refuse(error, -EINVAL, rules, "a task has 1 to %u rule sets",
				    BUILTIN_SETS);
	for (i = 0; !err && i < rules->count; i++)
		err = add_set(error, rules->children[i], task);
	return err ? err : builtin_regex(task->sets, task->set_count, &task->regex);
}

static const struct {
	const char *unit;
	int (*read)(struct policy_error *error, const struct doc_node *node,
		    struct policy_task *task);
} kinds[] = {
	[POLICY_TASK_TERMS] = {"terms", read_terms},
	[POLICY_TASK_REGEX] = {"patterns", read_patterns},
	[POLICY_TASK_BUILTIN] = {"rules", read_sets},
	[POLICY_TASK_INTERCEPTOR] = {"rules", policy_read_interceptor},
};

const char *policy_task_unit_name(enum policy_task_kind kind)
{
	return kind < ARRAY_SIZE(kinds) ? kinds[kind].unit : "none";
}

int policy_read_rules(struct policy_error *error, const struct doc_node *node,
		      struct policy_task *task)
{
	const struct doc_node *warn_only;
	int err = kinds[task->kind].read(error, node, task);

	/* A key of any kind, once the node is known to be a map of such. */
	warn_only = err ? NULL : doc_node_get(node, "warn_only");
	return warn_only ? policy_get_bool(error, warn_only, &task->warn_only) : err;
}
