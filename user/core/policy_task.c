/* SPDX-License-Identifier: Apache-2.0 */
#include "core/policy_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel.h"
#define TASK_NAME_MAX 64u

enum task_kind { KIND_TERMS, KIND_INTERCEPTOR };

static const struct policy_choice task_kinds[] = {
	{"terms", KIND_TERMS, true},
	{"regex", -1, false},
	{"builtin", -1, false},
	{"interceptor", KIND_INTERCEPTOR, true},
};

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

static int build_terms(struct policy_error *error, const struct doc_node *node, const char **list,
		       struct policy_task *task)
{
	size_t i, bad = 0;
	int err;

	for (i = 0; i < node->count; i++) {
		const struct doc_node *term = node->children[i];

		/* It would be found everywhere. */
		if (term->kind == DOC_SCALAR && term->quoted && !*term->scalar)
			return policy_refuse(error, -EINVAL, term, "a term must not be empty");
		err = policy_get_text(error, term, &list[i]);
		if (err)
			return err;
	}
	err = terms_new(list, node->count, task->fold, &bad, &task->terms);
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
	const char **list;
	int err;

	if (node->count < 1 || node->count > POLICY_TERMS_MAX)
		return policy_refuse(error, -EINVAL, node, "a task has 1 to %u terms",
				     POLICY_TERMS_MAX);
	list = calloc(node->count, sizeof(*list));
	if (!list)
		return -ENOMEM;
	err = build_terms(error, node, list, task);
	free(list);
	task->term_count = node->count;
	return err;
}

/* The kind is read first: what another kind takes is unknown here. */
static int check_kind(struct policy_error *error, const struct doc_node *node, int *ret_kind)
{
	const struct doc_node *kind = doc_node_get(node, "kind");

	if (node->kind == DOC_MAP && !kind)
		return policy_refuse_key(error, -EINVAL, node, "task '%.64s' has no 'kind'",
					 node->key);
	if (!kind)
		return policy_refuse(error, -EINVAL, node, "task '%.64s' must be a map", node->key);
	return policy_get_choice(error, kind, "task kind", task_kinds, ARRAY_SIZE(task_kinds),
				 ret_kind);
}

static int check_task_keys(struct policy_error *error, const struct doc_node *node, int kind)
{
	static const struct policy_key terms[] = {
		{"kind", POLICY_FORM_SCALAR, true},
		{"terms", POLICY_FORM_LIST, true},
		{"fold", POLICY_FORM_LIST, false},
		{"warn_only", POLICY_FORM_SCALAR, false},
	};
	static const struct policy_key interceptor[] = {
		{"kind", POLICY_FORM_SCALAR, true},
		{"url", POLICY_FORM_SCALAR, true},
		{"timeout_ms", POLICY_FORM_SCALAR, false},
		{"span_runes", POLICY_FORM_SCALAR, false},
		{"window_runes", POLICY_FORM_SCALAR, false},
		{"detectable_runes", POLICY_FORM_SCALAR, false},
		{"cadence", POLICY_FORM_SCALAR, false},
		{"concurrency", POLICY_FORM_SCALAR, false},
		{"warn_only", POLICY_FORM_SCALAR, false},
	};

	if (kind == KIND_INTERCEPTOR)
		return policy_check_keys(error, node, node->key, interceptor,
					 ARRAY_SIZE(interceptor));
	return policy_check_keys(error, node, node->key, terms, ARRAY_SIZE(terms));
}

static int read_task(struct policy_error *error, const struct doc_node *node,
		     const struct policy *policy, struct policy_task *task)
{
	const struct doc_node *warn_only = doc_node_get(node, "warn_only");
	int err, kind = KIND_TERMS;

	err = policy_get_name(error, node, node->key, TASK_NAME_MAX);
	if (!err)
		err = check_kind(error, node, &kind);
	if (!err)
		err = check_task_keys(error, node, kind);
	if (!err && warn_only)
		err = policy_get_bool(error, warn_only, &task->warn_only);
	if (!err)
		err = read_folds(error, doc_node_get(node, "fold"), &task->fold);
	if (err)
		return err;
	task->name = strdup(node->key);
	if (!task->name)
		return -ENOMEM;
	if (kind == KIND_INTERCEPTOR)
		return policy_read_interceptor(error, node, policy->limits.verdict_timeout_ms,
					       &task->interceptor);
	return read_terms(error, doc_node_get(node, "terms"), task);
}

static int find_task(const struct policy *policy, const char *name, size_t *ret_index)
{
	size_t i;

	for (i = 0; i < policy->task_count; i++) {
		if (strcmp(policy->tasks[i].name, name) != 0)
			continue;
		*ret_index = i;
		return 0;
	}
	return -ENOENT;
}

/* A list holds no task twice, so it is never longer than the tasks are. */
static int append(const struct policy *policy, size_t index, size_t **list, size_t *count)
{
	if (!*list)
		*list = calloc(policy->task_count, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	(*list)[(*count)++] = index;
	return 0;
}

static bool has(const struct policy_task_list *list, size_t index)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (list->tasks[i] == index)
			return true;
	return false;
}

static bool only_watches(const struct policy *policy, size_t index)
{
	return policy->mode == POLICY_OBSERVE || policy->tasks[index].warn_only;
}

/* What of the output enforces nothing evaluates the response as it passes, once. */
static int bind_task(struct policy *policy, size_t index, enum session_track track, bool output)
{
	struct policy_task_list *warn = &policy->warn[track];

	if (only_watches(policy, index))
		return has(warn, index) ? 0 : append(policy, index, &warn->tasks, &warn->count);
	if (output)
		return append(policy, index, &policy->output.tasks, &policy->output.count);
	return append(policy, index, &policy->track_tasks[track], &policy->track_task_count[track]);
}

static int read_bound_task(struct policy_error *error, const struct doc_node *list, size_t at,
			   const struct policy *policy, size_t *ret_index)
{
	const struct doc_node *node = list->children[at];
	const char *name;
	size_t i;
	int err;

	err = policy_get_text(error, node, &name);
	if (err)
		return err;
	if (find_task(policy, name, ret_index))
		return policy_refuse(error, -EINVAL, node, "task '%.64s' is not defined", name);
	for (i = 0; i < at; i++)
		if (strcmp(list->children[i]->scalar, name) == 0)
			return policy_refuse(error, -EINVAL, node, "task '%s' stands here twice",
					     name);
	return 0;
}

/* What an interceptor may be bound to: an answer that comes later has to have been waited for. */
static int check_interceptor(struct policy_error *error, const struct doc_node *node,
			     const struct policy *policy, size_t index, bool output)
{
	if (!policy->tasks[index].interceptor)
		return 0;
	if (output)
		return policy_refuse(error, -EOPNOTSUPP, node,
				     "interceptors on 'output' are not built");
	if (only_watches(policy, index))
		return policy_refuse(error, -EOPNOTSUPP, node,
				     "interceptors that enforce nothing are not built");
	return 0;
}

static int check_interceptors(struct policy_error *error, const struct doc_node *node,
			      const struct policy *policy, enum session_track track)
{
	size_t count = 0;

	for (size_t i = 0; i < policy->track_task_count[track]; i++)
		count += policy->tasks[policy->track_tasks[track][i]].interceptor != NULL;
	if (count <= CHANNEL_SPANS_MAX)
		return 0;
	return policy_refuse(error, -EINVAL, node, "a track has at most %u interceptors",
			     CHANNEL_SPANS_MAX);
}

/* `{tasks: [NAME, ...]}` of a track or of the output. */
static int read_section(struct policy_error *error, const struct doc_node *node,
			struct policy *policy, enum session_track track, bool output)
{
	static const struct policy_key keys[] = {{"tasks", POLICY_FORM_LIST, true}};
	const struct doc_node *list;
	size_t i, index = 0;
	int err;

	if (!node)
		return 0;
	err = policy_check_keys(error, node, node->key, keys, ARRAY_SIZE(keys));
	if (err)
		return err;
	list = doc_node_get(node, "tasks");
	for (i = 0; i < list->count; i++) {
		err = read_bound_task(error, list, i, policy, &index);
		if (!err)
			err = check_interceptor(error, list->children[i], policy, index, output);
		if (!err)
			err = bind_task(policy, index, track, output);
		if (err)
			return err;
	}
	return check_interceptors(error, list, policy, track);
}

/* A session that mediates no track is none, and there is nothing else that could be denied. */
static int check_output(struct policy_error *error, const struct doc_node *node,
			const struct policy *policy)
{
	if (!policy->output.count || policy->track_task_count[SESSION_REQUEST] ||
	    policy->track_task_count[SESSION_RESPONSE])
		return 0;
	return policy_refuse(error, -EINVAL, doc_node_get(node, "tasks"),
			     "tasks of 'output' need a task of 'request' or 'response' that "
			     "enforces: no track is mediated, so that no session is there to deny");
}

static int bind_tasks(struct policy_error *error, const struct doc_node *document,
		      struct policy *policy)
{
	const struct doc_node *output = doc_node_get(document, "output");
	int err;

	err = read_section(error, doc_node_get(document, "request"), policy, SESSION_REQUEST,
			   false);
	if (!err)
		err = read_section(error, doc_node_get(document, "response"), policy,
				   SESSION_RESPONSE, false);
	if (!err)
		err = read_section(error, output, policy, SESSION_RESPONSE, true);
	return err ? err : check_output(error, output, policy);
}

int policy_read_tasks(struct policy_error *error, const struct doc_node *document,
		      struct policy *policy)
{
	const struct doc_node *node = doc_node_get(document, "tasks");
	size_t count = node ? node->count : 0, i;
	int err;

	if (count > POLICY_TASKS_MAX)
		return policy_refuse(error, -EINVAL, node, "more than %u tasks", POLICY_TASKS_MAX);
	policy->tasks = calloc(count + 1, sizeof(*policy->tasks));
	if (!policy->tasks)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		/* Counted first: a task that is refused half-read is freed with the policy. */
		policy->task_count++;
		err = read_task(error, node->children[i], policy, &policy->tasks[i]);
		if (err)
			return err;
	}
	return bind_tasks(error, document, policy);
}
