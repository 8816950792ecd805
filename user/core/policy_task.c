/* SPDX-License-Identifier: Apache-2.0 */
#include "core/policy_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel.h"

#define TASK_NAME_MAX 64u

static const struct policy_choice task_kinds[] = {
	[POLICY_TASK_TERMS] = {"terms", POLICY_TASK_TERMS, true},
	[POLICY_TASK_REGEX] = {"regex", POLICY_TASK_REGEX, true},
	[POLICY_TASK_BUILTIN] = {"builtin", POLICY_TASK_BUILTIN, true},
	[POLICY_TASK_INTERCEPTOR] = {"interceptor", POLICY_TASK_INTERCEPTOR, true},
};

const char *policy_task_kind_name(enum policy_task_kind kind)
{
	return kind <= POLICY_TASK_INTERCEPTOR ? task_kinds[kind].name : "none";
}

/* The kind is read first: what another kind takes is unknown here. */
static int read_kind(struct policy_error *error, const struct doc_node *node,
		     enum policy_task_kind *ret_kind)
{
	const struct doc_node *kind = doc_node_get(node, "kind");
	int value = 0, err;

	if (node->kind == DOC_MAP && !kind)
		return policy_refuse_key(error, -EINVAL, node, "task '%.64s' has no 'kind'",
					 node->key);
	if (!kind)
		return policy_refuse(error, -EINVAL, node, "task '%.64s' must be a map", node->key);
	err = policy_get_choice(error, kind, "task kind", task_kinds, ARRAY_SIZE(task_kinds),
				&value);
	if (!err)
		*ret_kind = (enum policy_task_kind)value;
	return err;
}

static int read_task(struct policy_error *error, const struct doc_node *node,
		     struct policy_task *task)
{
	int err;

	err = policy_get_name(error, node, node->key, TASK_NAME_MAX);
	if (!err)
		err = read_kind(error, node, &task->kind);
	if (err)
		return err;
	task->name = strdup(node->key);
	return task->name ? policy_read_rules(error, node, task) : -ENOMEM;
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

static size_t interceptors_of(const struct policy *policy, const size_t *tasks, size_t count)
{
	size_t interceptors = 0;

	for (size_t i = 0; i < count; i++)
		interceptors += policy->tasks[tasks[i]].interceptor != NULL;
	return interceptors;
}

/* Those of `output` evaluate the response as well, and so do those that enforce nothing. */
static int check_interceptors(struct policy_error *error, const struct doc_node *node,
			      const struct policy *policy, enum session_track track)
{
	const struct policy_task_list *warn = &policy->warn[track];
	size_t count = interceptors_of(policy, policy->track_tasks[track],
				       policy->track_task_count[track]) +
		       interceptors_of(policy, warn->tasks, warn->count);

	if (track == SESSION_RESPONSE)
		count += interceptors_of(policy, policy->output.tasks, policy->output.count);
	if (count <= CHANNEL_SPANS_MAX)
		return 0;
	return policy_refuse(error, -EINVAL, node, "a track has at most %u interceptors%s",
			     CHANNEL_SPANS_MAX,
			     track == SESSION_RESPONSE ? ", with those of 'output'" : "");
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
		err = read_task(error, node->children[i], &policy->tasks[i]);
		if (err)
			return err;
		if (policy->tasks[i].interceptor && !policy->tasks[i].interceptor->timeout_ms)
			policy->tasks[i].interceptor->timeout_ms =
				policy->limits.verdict_timeout_ms;
	}
	return bind_tasks(error, document, policy);
}
