/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/policies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel.h"
#include "daemon/interceptor.h"
#include "daemon/limits.h"
#include "daemon/policy_rules.h"
#include "kern/kern.h"
#include "sys/yaml.h"

void policies_init(struct policies *policies, struct kern *kern, bool initial_netns)
{
	*policies = (struct policies){.kern = kern, .initial_netns = initial_netns};
	LIST_INIT(&policies->list);
	TAILQ_INIT(&policies->named);
}

struct loaded_policy *loaded_policy_ref(struct loaded_policy *loaded)
{
	loaded->references++;
	return loaded;
}

const struct interceptor *loaded_policy_interceptor(const struct loaded_policy *loaded,
						    const char *task)
{
	for (size_t i = 0; i < loaded->policy->task_count; i++)
		if (!strcmp(loaded->policy->tasks[i].name, task))
			return loaded->askable[i];
	return NULL;
}

void loaded_policy_unref(struct loaded_policy *loaded)
{
	if (!loaded || --loaded->references)
		return;
	LIST_REMOVE(loaded, entry);
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		free(loaded->tasks[track]);
		free(loaded->names[track]);
		free(loaded->watchers[track]);
		free(loaded->interceptors[track]);
	}
	for (size_t i = 0; loaded->askable && i < loaded->policy->task_count; i++)
		interceptor_free(loaded->askable[i]);
	free(loaded->askable);
	free(loaded->output_names);
	for (size_t i = 0; loaded->denied && i < loaded->policy->task_count; i++)
		free(loaded->denied[i]);
	free(loaded->denied);
	policy_unref(loaded->policy);
	free(loaded->text);
	free(loaded);
}

void policies_done(struct policies *policies)
{
	struct loaded_policy *loaded;
	struct named_policy *named;

	while ((named = TAILQ_FIRST(&policies->named)))
		policies_forget_name(policies, named);
	/* What is left has the reference of its publication. */
	while ((loaded = LIST_FIRST(&policies->list))) {
		loaded->references = 1;
		loaded_policy_unref(loaded);
	}
}

static struct pipeline_task pipeline_task_of(const struct policy_task *task)
{
	return (struct pipeline_task){
		.name = task->name,
		.matcher = policy_task_matcher(task),
		.spans = task->interceptor ? &task->interceptor->spans : NULL,
	};
}

static int fill_gating(struct loaded_policy *loaded, enum session_track track)
{
	const struct policy *policy = loaded->policy;
	size_t count = policy->track_task_count[track];

	/* One more than needed, so that no tasks are no failed allocation. */
	loaded->tasks[track] = calloc(count + 1, sizeof(*loaded->tasks[track]));
	loaded->names[track] = calloc(count + 1, sizeof(*loaded->names[track]));
	if (!loaded->tasks[track] || !loaded->names[track])
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct policy_task *task = &policy->tasks[policy->track_tasks[track][i]];

		loaded->names[track][i] = task->name;
		loaded->tasks[track][i] = pipeline_task_of(task);
	}
	return 0;
}

static int fill_watchers(struct loaded_policy *loaded, enum session_track track)
{
	const struct policy *policy = loaded->policy;
	const struct policy_task_list *warn = &policy->warn[track];
	size_t output = track == SESSION_RESPONSE ? policy->output.count : 0;
	struct pipeline_task *watchers = calloc(warn->count + output + 1, sizeof(*watchers));

	loaded->watchers[track] = watchers;
	if (!watchers)
		return -ENOMEM;
	for (size_t i = 0; i < warn->count; i++)
		watchers[i] = pipeline_task_of(&policy->tasks[warn->tasks[i]]);
	for (size_t i = 0; i < output; i++) {
		watchers[warn->count + i] =
			pipeline_task_of(&policy->tasks[policy->output.tasks[i]]);
		watchers[warn->count + i].output = true;
	}
	loaded->watcher_count[track] = warn->count + output;
	return 0;
}

static int fill_output(struct loaded_policy *loaded)
{
	const struct policy *policy = loaded->policy;

	loaded->output_names = calloc(policy->output.count + 1, sizeof(*loaded->output_names));
	for (size_t i = 0; loaded->output_names && i < policy->output.count; i++)
		loaded->output_names[i] = policy->tasks[policy->output.tasks[i]].name;
	return loaded->output_names ? 0 : -ENOMEM;
}

static int fill_denied(struct loaded_policy *loaded)
{
	const struct policy *policy = loaded->policy;

	loaded->denied = calloc(policy->task_count + 1, sizeof(*loaded->denied));
	for (size_t i = 0; loaded->denied && i < policy->task_count; i++)
		if (asprintf(&loaded->denied[i], "denied:%s", policy->tasks[i].name) < 0) {
			loaded->denied[i] = NULL;
			return -ENOMEM;
		}
	return loaded->denied ? 0 : -ENOMEM;
}

/* One of each task, whatever it is bound to: its concurrency is that of all of them. */
static int fill_askable(struct loaded_policy *loaded, struct interceptors *interceptors)
{
	const struct policy *policy = loaded->policy;
	int r = 0;

	loaded->askable = calloc(policy->task_count + 1, sizeof(struct interceptor *));
	if (!loaded->askable)
		return -ENOMEM;
	for (size_t i = 0; !r && i < policy->task_count; i++)
		if (policy->tasks[i].interceptor)
			r = interceptor_new(interceptors, policy->tasks[i].name,
					    policy->tasks[i].interceptor, &loaded->askable[i]);
	return r;
}

static void add_interceptors(struct loaded_policy *loaded, enum session_track track,
			     const size_t *tasks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (loaded->askable[tasks[i]])
			loaded->interceptors[track][loaded->interceptor_count[track]++] =
				loaded->askable[tasks[i]];
}

/* In the order in which a pipeline numbers them. */
static int fill_interceptors(struct loaded_policy *loaded, enum session_track track)
{
	const struct policy *policy = loaded->policy;
	const struct policy_task_list *warn = &policy->warn[track];

	loaded->interceptors[track] = calloc(CHANNEL_SPANS_MAX, sizeof(struct interceptor *));
	if (!loaded->interceptors[track])
		return -ENOMEM;
	add_interceptors(loaded, track, policy->track_tasks[track],
			 policy->track_task_count[track]);
	add_interceptors(loaded, track, warn->tasks, warn->count);
	if (track == SESSION_RESPONSE)
		add_interceptors(loaded, track, policy->output.tasks, policy->output.count);
	return 0;
}

static int fill_tasks(struct loaded_policy *loaded, struct interceptors *interceptors)
{
	int r = fill_denied(loaded);

	if (!r)
		r = fill_askable(loaded, interceptors);
	for (int track = 0; !r && track < _SESSION_TRACK_MAX; track++) {
		r = fill_gating(loaded, (enum session_track)track);
		if (!r)
			r = fill_watchers(loaded, (enum session_track)track);
		if (!r)
			r = fill_interceptors(loaded, (enum session_track)track);
	}
	return r ? r : fill_output(loaded);
}

static void say_where(const char *name, unsigned int line, unsigned int column, const char *message,
		      char *error, size_t error_len)
{
	if (line)
		(void)snprintf(error, error_len, "%s:%u:%u: %s", name, line, column, message);
	else
		(void)snprintf(error, error_len, "%s: %s", name, message);
}

static int read_policy(const char *name, const char *text, size_t len, struct policy **ret_policy,
		       char *error, size_t error_len)
{
	struct doc_node *document cleanup(doc_node_freep) = NULL;
	struct yaml_error yaml = {0};
	struct policy_error wrong = {0};
	int r = yaml_parse(text, len, &document, &yaml);

	if (r && r != -ENOMEM)
		say_where(name, yaml.line, yaml.column, yaml.message, error, error_len);
	if (!r) {
		r = policy_new(document, ret_policy, &wrong);
		if (r && r != -ENOMEM)
			say_where(name, wrong.line, wrong.column, wrong.message, error, error_len);
	}
	if (r == -ENOMEM)
		say_where(name, 0, 0, "out of memory", error, error_len);
	return r;
}

static int make_digest(const char *text, size_t len, char ret_digest[static SHA256_HEX_SIZE])
{
	cleanup(sha256_done) struct sha256 sha256 = {0};
	int r = sha256_init(&sha256);

	if (!r)
		r = sha256_update(&sha256, text, len);
	return r ? r : sha256_hex(&sha256, ret_digest);
}

static int new_loaded(struct policies *policies, const char *text, size_t len,
		      struct policy *policy, struct loaded_policy **ret_loaded)
{
	struct loaded_policy *loaded = calloc(1, sizeof(*loaded));

	if (!loaded)
		return -ENOMEM;
	loaded->references = 1;
	loaded->policy = policy_ref(policy);
	loaded->text_len = len;
	LIST_INSERT_HEAD(&policies->list, loaded, entry);
	loaded->text = malloc(len + 1);
	if (!loaded->text || make_digest(text, len, loaded->digest) ||
	    fill_tasks(loaded, policies->interceptors)) {
		loaded_policy_unref(loaded);
		return -ENOMEM;
	}
	(void)memcpy(loaded->text, text, len);
	loaded->text[len] = '\0';
	*ret_loaded = loaded;
	return 0;
}

int policies_load(struct policies *policies, const char *name, const char *text, size_t len,
		  struct loaded_policy **ret_loaded, char *error, size_t error_len)
{
	struct policy *policy cleanup(policy_unrefp) = NULL;
	struct loaded_policy *loaded;
	int r;

	LIST_FOREACH(loaded, &policies->list, entry)
	{
		if (loaded->text_len == len && !memcmp(loaded->text, text, len)) {
			*ret_loaded = loaded_policy_ref(loaded);
			return 0;
		}
	}
	if (len > LIMIT_POLICY_TEXT) {
		(void)snprintf(error, error_len, "%s: %zu bytes, more than %u", name, len,
			       LIMIT_POLICY_TEXT);
		return -EFBIG;
	}
	r = read_policy(name, text, len, &policy, error, error_len);
	if (r)
		return r;
	if (policy->limits.eager_bytes && !policies->initial_netns) {
		(void)snprintf(error, error_len,
			       "%s: limits.eager_bytes over 0 needs a daemon in the initial "
			       "network namespace; elsewhere another's packet filter could read "
			       "what waits in the kernel",
			       name);
		return -EOPNOTSUPP;
	}
	r = new_loaded(policies, text, len, policy, ret_loaded);
	if (r)
		say_where(name, 0, 0, "out of memory", error, error_len);
	return r;
}

void policies_reserve(struct policies *policies, uint32_t number)
{
	if (number < SLUICE_POLICIES)
		policies->taken[number] = true;
}

/* freed_ns: since when no connection is captured under it. */
static void free_up(struct policies *policies, uint32_t number, uint64_t freed_ns)
{
	kern_policy_clear(policies->kern, number);
	policies->taken[number] = false;
	policies->freed_ns[number] = freed_ns;
}

void policies_unreserve(struct policies *policies, uint32_t number, uint64_t now_ns)
{
	if (number < SLUICE_POLICIES && !policies_find(policies, number))
		free_up(policies, number, now_ns);
}

static int free_number(const struct policies *policies, uint64_t now_ns, uint32_t *ret_number)
{
	for (uint32_t step = 1; step < SLUICE_POLICIES; step++) {
		uint32_t number = 1 + (policies->last + step - 1) % (SLUICE_POLICIES - 1);
		uint64_t freed_ns = policies->freed_ns[number];

		if (!policies->taken[number] &&
		    (!freed_ns || now_ns - freed_ns >= POLICIES_REST_NS)) {
			*ret_number = number;
			return 0;
		}
	}
	return -ENOSPC;
}

int policies_watch(struct policies *policies, struct loaded_policy *loaded, uint32_t number,
		   uint64_t now_ns)
{
	int r;

	if (loaded->number && (!number || number == loaded->number)) {
		loaded->watches++;
		return 0;
	}
	if (loaded->number || number >= SLUICE_POLICIES || policies_find(policies, number))
		return -EEXIST;
	if (!number) {
		r = free_number(policies, now_ns, &number);
		if (r)
			return r;
		policies->last = number;
	}
	r = policy_rules_publish(policies->kern, number, loaded->policy, &policies->closed);
	if (r)
		return r;
	policies->taken[number] = true;
	loaded->number = number;
	loaded->watches = 1;
	(void)loaded_policy_ref(loaded);
	return 0;
}

static void unpublish(struct policies *policies, struct loaded_policy *loaded, uint64_t freed_ns)
{
	free_up(policies, loaded->number, freed_ns);
	loaded->number = 0;
	loaded_policy_unref(loaded);
}

void policies_unwatch(struct policies *policies, struct loaded_policy *loaded, uint64_t now_ns)
{
	if (!--loaded->watches)
		unpublish(policies, loaded, now_ns);
}

void policies_retire(struct loaded_policy *loaded, uint64_t now_ns)
{
	if (!--loaded->watches)
		loaded->retired_ns = now_ns;
}

bool loaded_policy_rests(const struct loaded_policy *loaded)
{
	return loaded->number && !loaded->watches;
}

void policies_tick(struct policies *policies, uint64_t now_ns)
{
	struct loaded_policy *loaded, *next;

	for (loaded = LIST_FIRST(&policies->list); loaded; loaded = next) {
		next = LIST_NEXT(loaded, entry);
		if (loaded_policy_rests(loaded) && now_ns - loaded->retired_ns >= POLICIES_REST_NS)
			unpublish(policies, loaded, loaded->retired_ns);
	}
}

struct loaded_policy *policies_find(const struct policies *policies, uint32_t number)
{
	struct loaded_policy *loaded;

	LIST_FOREACH(loaded, &policies->list, entry)
	if (loaded->number == number && number)
		return loaded;
	return NULL;
}

int policies_add_name(struct policies *policies, struct loaded_policy *loaded, const char *file)
{
	struct named_policy *named = calloc(1, sizeof(*named));

	if (!named)
		return -ENOMEM;
	named->loaded = loaded_policy_ref(loaded);
	named->file = file;
	TAILQ_INSERT_TAIL(&policies->named, named, entry);
	return 0;
}

void policies_forget_name(struct policies *policies, struct named_policy *named)
{
	TAILQ_REMOVE(&policies->named, named, entry);
	loaded_policy_unref(named->loaded);
	free(named);
}

void policies_set_name(struct named_policy *named, struct loaded_policy *loaded,
		       const struct unix_peer *by)
{
	struct loaded_policy *before = named->loaded;

	named->loaded = loaded_policy_ref(loaded);
	named->by_call = by != NULL;
	if (by)
		named->by = *by;
	loaded_policy_unref(before);
}

struct named_policy *policies_named(const struct policies *policies, const char *name)
{
	struct named_policy *named;

	TAILQ_FOREACH(named, &policies->named, entry)
	if (!strcmp(named->loaded->policy->name, name))
		return named;
	return NULL;
}

struct named_policy *policies_default(const struct policies *policies)
{
	struct named_policy *first = TAILQ_FIRST(&policies->named);

	return first && first->file ? first : NULL;
}

enum sluice_dns policies_dns(const struct policy *policy)
{
	switch (policy->dns) {
	case POLICY_DNS_ANY:
		return SLUICE_DNS_ANY;
	case POLICY_DNS_RESOLVERS:
		return SLUICE_DNS_RESOLVERS;
	default:
		return SLUICE_DNS_DENY;
	}
}
