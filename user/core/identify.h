/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a connection speaks, by the first bytes of its client. Nothing is guessed: what
 * is not one of these is unframed, and so is a connection whose server speaks first.
 *
 *  http1       a method that IANA has registered (RFC 9110 16.1.1), or QUERY, in upper
 *		case, and a space; but PRI, which is HTTP/2's preface (RFC 9113 3.4)
 *  jsonrpc_cl  "Content-Length:" or "Content-Type:", in any case
 *  ndjson      { or [
 *  TLS	        a record of type handshake (RFC 8446 5.1)
 */
#ifndef SLUICE_CORE_IDENTIFY_H
#define SLUICE_CORE_IDENTIFY_H

#include <stddef.h>
#include <stdint.h>

/* So many bytes tell them all apart. */
#define IDENTIFY_MAX 20u

enum identity {
	IDENTITY_MORE, /* more bytes are needed */
	IDENTITY_HTTP1,
	IDENTITY_JSONRPC_CL,
	IDENTITY_NDJSON,
	IDENTITY_TLS,
	IDENTITY_UNKNOWN,
};

/* Of the first len bytes. Once it is not IDENTITY_MORE more bytes do not change it. */
enum identity identify(const uint8_t *bytes, size_t len);

#endif
