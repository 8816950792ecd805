/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of gRPC in frames of HTTP/2, which are framed by their codec and no pipeline. */
#ifndef SLUICE_TESTS_DRIVER_FRAME_H2_H
#define SLUICE_TESTS_DRIVER_FRAME_H2_H

#include "driver/frame_run.h"

/* Runs the connection under way. */
void frame_h2_run(struct frame_run *run, bool last);

#endif
