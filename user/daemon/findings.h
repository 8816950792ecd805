/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings: what tasks that gate nothing find. They are counted, recorded and said, marked as
 * not enforcing, and reach no session: but those of `output`, which the exchange is told of.
 */
#ifndef SLUICE_DAEMON_FINDINGS_H
#define SLUICE_DAEMON_FINDINGS_H

#include "core/fault.h"
#include "core/pipeline.h"

struct stream;

/* A pipeline's on_finding; context: its flow. */
void findings_take(void *context, const struct pipeline_finding *finding);

/* A policy that observes met that fault: the stream is not judged any more. */
void findings_unjudged(struct stream *stream, enum fault fault);

#endif
