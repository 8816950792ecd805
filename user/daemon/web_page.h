/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status page as the build made it of user/daemon/page (scripts/page.sh): one document with
 * its style and its scripts inside, and the Content-Security-Policy (W3C CSP 3) that admits
 * these, by their SHA-256, and nothing else.
 */
#ifndef SLUICE_DAEMON_WEB_PAGE_H
#define SLUICE_DAEMON_WEB_PAGE_H

#include <stddef.h>

extern const unsigned char web_page_text[];
extern const size_t web_page_len;
extern const char web_page_policy[];

#endif
