/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/audit_syncer.h"

#define SD_JOURNAL_SUPPRESS_LOCATION

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <syslog.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

/* All of a thread's memory may be locked. */
#define STACK_SIZE (256u << 10)

/* Where no journal runs there is nobody to tell. */
static void tell(const struct audit_syncer *syncer, const struct audit_head *head)
{
	(void)sd_journal_send("MESSAGE=audit head %" PRIu64 ":%s", head->seq, head->hash,
			      "PRIORITY=%d", LOG_INFO, "SLUICE_INSTANCE=%s", syncer->instance,
			      "SLUICE_AUDIT_SEQ=%" PRIu64, head->seq, "SLUICE_AUDIT_HASH=%s",
			      head->hash, NULL);
}

static int do_job(const struct audit_syncer *syncer, const struct audit_syncer_job *job)
{
	int r = fdatasync(job->fd) ? -errno : 0;

	if (job->last)
		(void)close(job->fd);
	if (!r && job->head.seq)
		tell(syncer, &job->head);
	return r;
}

static void *run(void *context)
{
	struct audit_syncer *syncer = context;

	(void)pthread_mutex_lock(&syncer->mutex);
	for (;;) {
		struct audit_syncer_job job;
		int r;

		while (!syncer->count && !syncer->stop)
			(void)pthread_cond_wait(&syncer->given, &syncer->mutex);
		if (!syncer->count)
			break;
		job = syncer->jobs[0];
		(void)pthread_mutex_unlock(&syncer->mutex);
		r = do_job(syncer, &job);
		(void)pthread_mutex_lock(&syncer->mutex);
		syncer->result = r;
		syncer->count--;
		(void)memmove(syncer->jobs, syncer->jobs + 1,
			      syncer->count * sizeof(syncer->jobs[0]));
		(void)pthread_cond_broadcast(&syncer->done);
	}
	(void)pthread_mutex_unlock(&syncer->mutex);
	return NULL;
}

void audit_syncer_init(struct audit_syncer *syncer, const char *instance)
{
	*syncer = (struct audit_syncer){.instance = instance};
	(void)pthread_mutex_init(&syncer->mutex, NULL);
	(void)pthread_cond_init(&syncer->given, NULL);
	(void)pthread_cond_init(&syncer->done, NULL);
}

int audit_syncer_start(struct audit_syncer *syncer)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int r;

	(void)sigfillset(&all);
	r = pthread_attr_init(&attributes);
	if (r)
		return -r;
	(void)pthread_attr_setstacksize(&attributes, STACK_SIZE);
	/* A thread begins with the signals blocked that its maker has blocked. */
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&syncer->thread, &attributes, run, syncer);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	syncer->running = !r;
	return -r;
}

int audit_syncer_give(struct audit_syncer *syncer, const struct audit_syncer_job *job)
{
	int r = 0;

	(void)pthread_mutex_lock(&syncer->mutex);
	if (syncer->count == AUDIT_SYNCER_JOBS) {
		r = -EAGAIN;
	} else {
		syncer->jobs[syncer->count++] = *job;
		(void)pthread_cond_signal(&syncer->given);
	}
	(void)pthread_mutex_unlock(&syncer->mutex);
	return r;
}

bool audit_syncer_is_busy(struct audit_syncer *syncer)
{
	bool busy;

	(void)pthread_mutex_lock(&syncer->mutex);
	busy = syncer->count + 3 > AUDIT_SYNCER_JOBS;
	(void)pthread_mutex_unlock(&syncer->mutex);
	return busy;
}

int audit_syncer_result(struct audit_syncer *syncer, bool *ret_idle)
{
	int r;

	(void)pthread_mutex_lock(&syncer->mutex);
	r = syncer->result;
	*ret_idle = !syncer->count;
	(void)pthread_mutex_unlock(&syncer->mutex);
	return r;
}

int audit_syncer_wait(struct audit_syncer *syncer)
{
	int r;

	(void)pthread_mutex_lock(&syncer->mutex);
	while (syncer->count)
		(void)pthread_cond_wait(&syncer->done, &syncer->mutex);
	r = syncer->result;
	(void)pthread_mutex_unlock(&syncer->mutex);
	return r;
}

void audit_syncer_done(struct audit_syncer *syncer)
{
	if (syncer->running) {
		(void)pthread_mutex_lock(&syncer->mutex);
		syncer->stop = true;
		(void)pthread_cond_signal(&syncer->given);
		(void)pthread_mutex_unlock(&syncer->mutex);
		(void)pthread_join(syncer->thread, NULL);
	}
	(void)pthread_cond_destroy(&syncer->done);
	(void)pthread_cond_destroy(&syncer->given);
	(void)pthread_mutex_destroy(&syncer->mutex);
}
