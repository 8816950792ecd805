/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of the daemon's events (sluiced(8), CONTROL SOCKET), as who tells them and who asks
 * for them know them: X(CONSTANT, "name") of each.
 */
#ifndef SLUICE_BASE_EVENT_TYPES_H
#define SLUICE_BASE_EVENT_TYPES_H

#define EVENT_TYPES(X)                        \
	X(STREAM_OPENED, "stream_opened")     \
	X(STREAM_REFUSED, "stream_refused")   \
	X(STREAM_SETTLED, "stream_settled")   \
	X(SESSION_OPENED, "session_opened")   \
	X(SESSION_SETTLED, "session_settled") \
	X(OUTCOME, "outcome")                 \
	X(REFUSAL, "refusal")                 \
	X(WATERMARK, "watermark")             \
	X(CONTROL, "control")                 \
	X(FENCE, "fence")                     \
	X(WATCH, "watch")                     \
	X(UNWATCH, "unwatch")                 \
	X(POLICY, "policy")

#endif
