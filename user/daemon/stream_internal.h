/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of stream.h share. For daemon/stream*.c alone. */
#ifndef SLUICE_DAEMON_STREAM_INTERNAL_H
#define SLUICE_DAEMON_STREAM_INTERNAL_H

#include "base/macros.h"
#include "daemon/stream.h"

/*
 * The exchanges of a mediated stream and a pipeline for each flow, which go on where those of
 * another process stopped, if it was handed over. -ENOMEM; -EINVAL: what it is does not fit the
 * policy.
 */
int stream_new_pipelines(struct stream *stream) must_check;

#endif
