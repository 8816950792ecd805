/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private keys by their first line: RFC 7468 section 2 (the encapsulation boundary), 10 and
 * 11 (PKCS #8), RFC 4880 section 6.2 (OpenPGP's armor), RFC 5915 section 4 (EC), PROTOCOL.key of
 * OpenSSH, and what OpenSSL calls RSA and DSA keys (PEM_read_bio_PrivateKey(3)). RFC 4716 section
 * 3.1 has four hyphens and a space; SSH.com's encrypted private keys have the same.
 */
#include "core/builtin.h"

static const struct builtin_rule rules[] = {
	{
		.name = "pem",
		.pattern = "-----BEGIN (?:(?:RSA|DSA|EC|OPENSSH|ENCRYPTED) )?PRIVATE KEY-----",
		.good = {"-----BEGIN "
			 "PRIVATE KEY-----",
			 "-----BEGIN RSA "
			 "PRIVATE KEY-----\nMIIB",
			 "-----BEGIN OPENSSH "
			 "PRIVATE KEY-----",
			 "-----BEGIN ENCRYPTED "
			 "PRIVATE KEY-----"},
		.bad = {"-----BEGIN PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----",
			"-----END PRIVATE KEY-----", "BEGIN PRIVATE KEY"},
	},
	{
		.name = "openpgp",
		.pattern = "-----BEGIN PGP PRIVATE KEY BLOCK-----",
		.good = {"-----BEGIN PGP "
			 "PRIVATE KEY BLOCK-----"},
		.bad = {"-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----BEGIN PGP MESSAGE-----"},
	},
	{
		.name = "ssh_com",
		.pattern = "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----",
		.good = {"---- BEGIN SSH2 ENCRYPTED "
			 "PRIVATE KEY ----"},
		.bad = {"---- BEGIN SSH2 PUBLIC KEY ----"},
	},
};

const struct builtin_set builtin_private_keys = {"private_keys", rules, ARRAY_SIZE(rules)};
