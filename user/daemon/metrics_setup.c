/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/policy.h"
#include "daemon/daemon.h"
#include "daemon/metrics_internal.h"

/* As much of a digest as tells texts apart for a reader. */
#define DIGEST_SHOWN 12u

struct digest {
	char text[DIGEST_SHOWN + 1];
};

static struct digest digest_of(const struct loaded_policy *loaded)
{
	struct digest digest = {0};

	(void)memcpy(digest.text, loaded->digest, DIGEST_SHOWN);
	return digest;
}

static void write_build(struct metrics_text *text, const struct daemon *daemon)
{
	static const struct metrics_family build = {"sluice_build", NULL, METRICS_INFO,
						    "What runs, and under which name"};

	char abi[16];

	(void)snprintf(abi, sizeof(abi), "%u", SLUICE_ABI_VERSION);
	metrics_text_family(text, &build);
	metrics_text_count(text,
			   METRICS_LABELS({"version", SLUICE_VERSION}, {"abi", abi},
					  {"instance", daemon->options->name}),
			   1);
}

static void write_policies(struct metrics_text *text, const struct daemon *daemon)
{
	static const struct metrics_family policy = {
		"sluice_policy", NULL, METRICS_INFO,
		"A policy that is loaded; the digest is the beginning of its SHA-256"};
	const struct loaded_policy *loaded;

	metrics_text_family(text, &policy);
	LIST_FOREACH(loaded, &daemon->policies.list, entry)
	metrics_text_count(text,
			   METRICS_LABELS({"policy", loaded->policy->name},
					  {"digest", digest_of(loaded).text},
					  {"mode", policy_mode_name(loaded->policy->mode)},
					  {"level", session_level_name(loaded->policy->level)},
					  {"buffered_output", "false"}),
			   1);
}

static void write_bounds(struct metrics_text *text, const struct daemon *daemon)
{
	static const struct metrics_family exposure = {
		"sluice_policy_exposure_bound_runes", "runes", METRICS_GAUGE,
		"Runes of what a task denies that may have left before it did"};
	static const char *const tracks[_SESSION_TRACK_MAX] = {"request", "response"};
	const struct loaded_policy *loaded;

	metrics_text_family(text, &exposure);
	LIST_FOREACH(loaded, &daemon->policies.list, entry)
	{
		for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
			uint32_t runes = 0;
			bool bounded = policy_exposure_bound(loaded->policy,
							     (enum session_track)track, &runes);

			metrics_text_bound(text,
					   METRICS_LABELS({"policy", loaded->policy->name},
							  {"digest", digest_of(loaded).text},
							  {"track", tracks[track]}),
					   bounded, runes);
		}
	}
}

static void write_limits(struct metrics_text *text, const struct daemon *daemon)
{
	static const struct metrics_family limit = {
		"sluice_policy_hold_limit_bytes", "bytes", METRICS_GAUGE,
		"limits.hold_bytes_total of a policy, for sluice_hold_memory_bytes"};
	const struct loaded_policy *loaded;

	metrics_text_family(text, &limit);
	LIST_FOREACH(loaded, &daemon->policies.list, entry)
	metrics_text_count(text,
			   METRICS_LABELS({"policy", loaded->policy->name},
					  {"digest", digest_of(loaded).text}),
			   loaded->policy->limits.hold_bytes_total);
}

static bool enforces(const struct watch *watch)
{
	return !watch->policy || watch->policy->policy->mode == POLICY_ENFORCE;
}

static void write_watches(struct metrics_text *text, const struct daemon *daemon)
{
	static const struct metrics_family watches = {"sluice_watches", NULL, METRICS_GAUGE,
						      "Watched cgroups"};
	uint64_t counts[2][2] = {{0}};
	const struct watch *watch;

	LIST_FOREACH(watch, &daemon->watches.list, entry)
	counts[watch->kind == WATCH_RUN][enforces(watch)]++;
	metrics_text_family(text, &watches);
	for (int run = 0; run < 2; run++)
		for (int enforcing = 0; enforcing < 2; enforcing++)
			metrics_text_count(
				text,
				METRICS_LABELS({"kind", run ? "run" : "watch"},
					       {"enforcing", enforcing ? "true" : "false"}),
				counts[run][enforcing]);
}

void metrics_write_setup(struct metrics_text *text, const struct daemon *daemon)
{
	static const struct metrics_family locked = {
		"sluice_memory_locked", NULL, METRICS_GAUGE,
		"1 where what is held cannot reach swap, else 0"};

	write_build(text, daemon);
	write_policies(text, daemon);
	write_bounds(text, daemon);
	write_limits(text, daemon);
	write_watches(text, daemon);
	metrics_write_one(text, &locked, daemon->memory_locked);
}
