/* SPDX-License-Identifier: Apache-2.0 */
#include "core/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/coverage.h"
#include "core/policy_parse.h"

static const struct policy_key policy_keys[] = {
	{"version", POLICY_FORM_SCALAR, true},
	{"name", POLICY_FORM_SCALAR, false},
	{"mode", POLICY_FORM_SCALAR, false},
	{"safety_level", POLICY_FORM_SCALAR, false},
	{"destinations", POLICY_FORM_LIST, false},
	{"framing", POLICY_FORM_SCALAR | POLICY_FORM_MAP, false},
	{"extract", POLICY_FORM_SCALAR, false},
	{"join", POLICY_FORM_SCALAR, false},
	{"strict", POLICY_FORM_SCALAR, false},
	{"request", POLICY_FORM_MAP, false},
	{"response", POLICY_FORM_MAP, false},
	{"output", POLICY_FORM_MAP, false},
	{"tasks", POLICY_FORM_MAP, false},
	{"on_deny", POLICY_FORM_SCALAR, false},
	{"opaque_bodies", POLICY_FORM_SCALAR, false},
	{"dns", POLICY_FORM_SCALAR, false},
	{"resolvers", POLICY_FORM_LIST, false},
	{"unix", POLICY_FORM_LIST, false},
	{"limits", POLICY_FORM_MAP, false},
	{"audit", POLICY_FORM_MAP, false},
};

static const struct policy_choice modes[] = {
	{"enforce", POLICY_ENFORCE, true},
	{"observe", POLICY_OBSERVE, true},
};
static const struct policy_choice levels[] = {
	{"blocking", SESSION_BLOCKING, true},
	{"complete", SESSION_COMPLETE, true},
	{"deferred", SESSION_DEFERRED, true},
};
static const struct policy_choice on_denies[] = {
	{"refuse", POLICY_REFUSE, true},
	{"reset", POLICY_RESET, true},
};
static const struct policy_choice opaques[] = {{"refuse", false, true}, {"release", true, true}};

const char *policy_mode_name(enum policy_mode mode)
{
	return mode < ARRAY_SIZE(modes) ? modes[mode].name : "none";
}

/* A key that chooses one word; without it *value stays as it is. */
static int read_choice(struct policy_error *error, const struct doc_node *document, const char *key,
		       const struct policy_choice *choices, size_t count, int *value)
{
	const struct doc_node *node = doc_node_get(document, key);

	return node ? policy_get_choice(error, node, key, choices, count, value) : 0;
}

static int read_head(struct policy_error *error, const struct doc_node *document,
		     struct policy *policy)
{
	const struct doc_node *version = doc_node_get(document, "version");
	const struct doc_node *name = doc_node_get(document, "name");
	const char *text = "default";
	int err;

	if (version->quoted || strcmp(version->scalar, "1") != 0)
		return policy_refuse(error, -EINVAL, version,
				     "version '%.16s' is unknown; allowed: 1", version->scalar);
	if (name) {
		err = policy_get_text(error, name, &text);
		if (!err)
			err = policy_get_name(error, name, text, POLICY_NAME_MAX);
		if (err)
			return err;
	}
	memcpy(policy->name, text, strlen(text) + 1);
	return 0;
}

static int read_words(struct policy_error *error, const struct doc_node *document,
		      struct policy *policy)
{
	int err, mode = POLICY_ENFORCE, level = SESSION_BLOCKING;
	int on_deny = POLICY_REFUSE, opaque = false;

	err = read_choice(error, document, "mode", modes, ARRAY_SIZE(modes), &mode);
	if (!err)
		err = read_choice(error, document, "safety_level", levels, ARRAY_SIZE(levels),
				  &level);
	if (!err)
		err = read_choice(error, document, "on_deny", on_denies, ARRAY_SIZE(on_denies),
				  &on_deny);
	if (!err)
		err = read_choice(error, document, "opaque_bodies", opaques, ARRAY_SIZE(opaques),
				  &opaque);
	policy->mode = (enum policy_mode)mode;
	policy->level = (enum session_level)level;
	policy->on_deny = (enum policy_on_deny)on_deny;
	policy->release_opaque = opaque;
	return err;
}

/* The framing and extractor of what matches no destination, and what destinations inherit. */
static int read_defaults(struct policy_error *error, const struct doc_node *document,
			 struct policy *policy)
{
	const struct doc_node *framing = doc_node_get(document, "framing");
	const struct doc_node *extract = doc_node_get(document, "extract");
	const struct doc_node *join = doc_node_get(document, "join");
	const struct doc_node *strict = doc_node_get(document, "strict");
	bool join_unit = false;
	int err = 0;

	policy->framing.kind = FRAMING_AUTO;
	policy->extract.kind = EXTRACT_AUTO;
	if (framing)
		err = policy_get_framing(error, framing, &policy->framing);
	if (!err && extract)
		err = policy_get_extract(error, extract, &policy->extract);
	if (!err && join)
		err = policy_get_join(error, join, &join_unit);
	policy->extract.join_unit = join_unit;
	if (!err && strict)
		err = policy_get_bool(error, strict, &policy->extract.strict);
	return err ? err : policy_check_strict(error, strict, &policy->framing, &policy->extract);
}

static int read_policy(struct policy_error *error, const struct doc_node *document,
		       struct policy *policy)
{
	int err;

	err = policy_check_keys(error, document, "policy", policy_keys, ARRAY_SIZE(policy_keys));
	if (!err)
		err = read_head(error, document, policy);
	if (!err)
		err = read_words(error, document, policy);
	if (!err)
		err = read_defaults(error, document, policy);
	if (!err)
		err = policy_read_destinations(error, doc_node_get(document, "destinations"),
					       policy);
	if (!err)
		err = policy_read_limits(error, doc_node_get(document, "limits"), policy);
	if (!err)
		err = policy_read_outside(error, document, policy);
	if (!err)
		err = policy_read_audit(error, doc_node_get(document, "audit"), policy);
	if (!err)
		err = policy_read_tasks(error, document, policy);
	return err;
}

int policy_new(const struct doc_node *document, struct policy **ret_policy,
	       struct policy_error *ret_error)
{
	struct policy *policy cleanup(policy_unrefp) = calloc(1, sizeof(*policy));
	int err;

	if (!policy)
		return -ENOMEM;
	policy->references = 1;
	err = read_policy(ret_error, document, policy);
	if (err)
		return err;
	*ret_policy = take_ptr(policy);
	return 0;
}

struct policy *policy_ref(struct policy *policy)
{
	policy->references++;
	return policy;
}

void policy_unref(struct policy *policy)
{
	size_t i;

	if (!policy || --policy->references)
		return;
	for (i = 0; i < policy->task_count; i++) {
		free(policy->tasks[i].name);
		terms_free(policy->tasks[i].terms);
		regex_free(policy->tasks[i].regex);
		policy_interceptor_free(policy->tasks[i].interceptor);
	}
	for (i = 0; i < policy->unix_count; i++)
		free(policy->unix_addresses[i]);
	free(policy->unix_addresses);
	for (i = 0; i < _SESSION_TRACK_MAX; i++) {
		free(policy->track_tasks[i]);
		free(policy->warn[i].tasks);
	}
	free(policy->output.tasks);
	free(policy->tasks);
	free(policy->destinations);
	free(policy);
}

static const struct policy_task *track_task(const struct policy *policy, enum session_track track,
					    size_t i)
{
	return &policy->tasks[policy->track_tasks[track][i]];
}

uint32_t policy_hold_back(const struct policy *policy, enum session_track track)
{
	uint32_t bound = 0;
	size_t i;

	for (i = 0; i < policy->track_task_count[track]; i++) {
		const struct policy_task *task = track_task(policy, track, i);
		const struct matcher matcher = policy_task_matcher(task);

		bound = MAX(bound, task->interceptor ? task->interceptor->spans.coverage.span - 1
						     : coverage_tail(matcher_longest(&matcher)));
	}
	return bound;
}

uint32_t policy_tail(const struct policy *policy, enum session_track track)
{
	uint32_t tail = 0;
	size_t i;

	for (i = 0; i < policy->track_task_count[track]; i++) {
		const struct policy_task *task = track_task(policy, track, i);
		const struct matcher matcher = policy_task_matcher(task);

		tail = MAX(tail,
			   task->interceptor
				   ? coverage_tail(task->interceptor->spans.coverage.detectable)
				   : matcher_tail(&matcher));
	}
	return tail;
}

bool policy_exposure_bound(const struct policy *policy, enum session_track track,
			   uint32_t *ret_runes)
{
	bool deferred = policy->level == SESSION_DEFERRED;
	size_t i;

	if (!policy->track_task_count[track])
		return false;
	for (i = 0; deferred && i < policy->track_task_count[track]; i++)
		if (track_task(policy, track, i)->interceptor)
			return false;
	*ret_runes = deferred ? policy_hold_back(policy, track) : 0;
	return true;
}
