/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the two forms of metrics a scraper asks for (RFC 9110 12.5.1). */
#ifndef SLUICE_DAEMON_METRICS_ACCEPT_H
#define SLUICE_DAEMON_METRICS_ACCEPT_H

#include <stdbool.h>

#define METRICS_TYPE_TEXT	 "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

/*
 * Of each form counts the most specific range that has it; one that names another version of it
 * has it not. OpenMetrics where it is liked better than text, and text otherwise: where both are
 * liked the same, where neither is, and without the header (NULL).
 */
bool metrics_accept_openmetrics(const char *accept);

#endif
