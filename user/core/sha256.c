/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sha256.h"

#include <errno.h>
#include <openssl/evp.h>

static void free_context(EVP_MD_CTX **context)
{
	EVP_MD_CTX_free(*context);
}

int sha256_init(struct sha256 *sha256)
{
	cleanup(free_context) EVP_MD_CTX *context = EVP_MD_CTX_new();

	if (!context)
		return -ENOMEM;
	if (!EVP_DigestInit_ex(context, EVP_sha256(), NULL))
		return -EIO;
	sha256->context = take_ptr(context);
	return 0;
}

int sha256_update(struct sha256 *sha256, const void *data, size_t len)
{
	return EVP_DigestUpdate(sha256->context, data, len) ? 0 : -EIO;
}

static void format_hex(const unsigned char *digest, unsigned int len,
		       char ret_hex[static SHA256_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned int i = 0; i < len; i++) {
		ret_hex[2 * i] = digits[digest[i] >> 4];
		ret_hex[2 * i + 1] = digits[digest[i] & 0xf];
	}
	ret_hex[2 * len] = '\0';
}

int sha256_hex(const struct sha256 *sha256, char ret_hex[static SHA256_HEX_SIZE])
{
	cleanup(free_context) EVP_MD_CTX *copy = EVP_MD_CTX_new();
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int len;

	if (!copy)
		return -ENOMEM;
	if (!EVP_MD_CTX_copy_ex(copy, sha256->context) || !EVP_DigestFinal_ex(copy, digest, &len))
		return -EIO;
	format_hex(digest, len, ret_hex);
	return 0;
}

int sha256_two_hex(struct sha256 *sha256, const void *first, size_t first_len, const void *second,
		   size_t second_len, char ret_hex[static SHA256_HEX_SIZE])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int len;

	/* Without a type the context keeps its own, and what it has allocated. */
	if (!EVP_DigestInit_ex(sha256->context, NULL, NULL) ||
	    !EVP_DigestUpdate(sha256->context, first, first_len) ||
	    !EVP_DigestUpdate(sha256->context, second, second_len) ||
	    !EVP_DigestFinal_ex(sha256->context, digest, &len))
		return -EIO;
	format_hex(digest, len, ret_hex);
	return 0;
}

void sha256_done(struct sha256 *sha256)
{
	EVP_MD_CTX_free(sha256->context);
	sha256->context = NULL;
}
