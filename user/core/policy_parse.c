/* SPDX-License-Identifier: Apache-2.0 */
#include "core/policy_parse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int policy_refuse(struct policy_error *error, int err, const struct doc_node *node,
		  const char *format, ...)
{
	va_list args;

	error->line = node ? node->line : 0;
	error->column = node ? node->column : 0;
	va_start(args, format);
	(void)vsnprintf(error->message, sizeof(error->message), format, args);
	va_end(args);
	return err;
}

int policy_refuse_key(struct policy_error *error, int err, const struct doc_node *node,
		      const char *format, ...)
{
	va_list args;

	error->line = node->key_line;
	error->column = node->key_column;
	va_start(args, format);
	(void)vsnprintf(error->message, sizeof(error->message), format, args);
	va_end(args);
	return err;
}

/* Appends to the line as far as it has room. */
static void add(struct policy_error *error, const char *text)
{
	size_t have = strlen(error->message);
	size_t room = sizeof(error->message) - 1 - have;
	size_t len = strlen(text);

	if (len > room)
		len = room;
	memcpy(error->message + have, text, len);
	error->message[have + len] = '\0';
}

static const char *form_name(enum doc_kind kind)
{
	switch (kind) {
	case DOC_SCALAR:
		return "a value";
	case DOC_LIST:
		return "a list";
	case DOC_MAP:
		return "a map";
	}
	return "nothing";
}

static int refuse_form(struct policy_error *error, const struct doc_node *node, const char *name,
		       unsigned int forms)
{
	enum doc_kind kind;
	const char *join = "";
	const char *given = form_name(node->kind);

	if (node->kind == DOC_SCALAR && !node->quoted && !*node->scalar)
		given = "nothing";
	(void)policy_refuse(error, -EINVAL, node, "'%.32s' is %s here; it must be ", name, given);
	for (kind = DOC_SCALAR; kind <= DOC_MAP; kind++) {
		if (!(forms & (1u << kind)))
			continue;
		add(error, join);
		add(error, form_name(kind));
		join = " or ";
	}
	return -EINVAL;
}

static int refuse_unknown_key(struct policy_error *error, const struct doc_node *node,
			      const struct policy_key *keys, size_t count)
{
	size_t i;

	(void)policy_refuse_key(error, -EINVAL, node, "unknown key '%.32s'; allowed: ", node->key);
	for (i = 0; i < count; i++) {
		add(error, i ? ", " : "");
		add(error, keys[i].name);
	}
	return -EINVAL;
}

static int check_key(struct policy_error *error, const struct doc_node *node,
		     const struct policy_key *keys, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (strcmp(keys[i].name, node->key) != 0)
			continue;
		if (keys[i].forms & (1u << node->kind))
			return 0;
		return refuse_form(error, node, node->key, keys[i].forms);
	}
	return refuse_unknown_key(error, node, keys, count);
}

int policy_check_keys(struct policy_error *error, const struct doc_node *node, const char *what,
		      const struct policy_key *keys, size_t count)
{
	size_t i;
	int err;

	if (node->kind != DOC_MAP)
		return refuse_form(error, node, what, POLICY_FORM_MAP);
	for (i = 0; i < node->count; i++) {
		err = check_key(error, node->children[i], keys, count);
		if (err)
			return err;
	}
	for (i = 0; i < count; i++)
		if (keys[i].required && !doc_node_get(node, keys[i].name))
			return policy_refuse(error, -EINVAL, node, "'%.32s' has no '%s'", what,
					     keys[i].name);
	return 0;
}

int policy_get_text(struct policy_error *error, const struct doc_node *node, const char **ret_text)
{
	if (node->kind != DOC_SCALAR)
		return policy_refuse(error, -EINVAL, node, "a value must stand here, not %s",
				     form_name(node->kind));
	if (!*node->scalar)
		return policy_refuse(error, -EINVAL, node, "an empty value is not allowed here");
	if (!node->quoted && (strcmp(node->scalar, "~") == 0 || strcmp(node->scalar, "null") == 0))
		return policy_refuse(error, -EINVAL, node,
				     "null is not allowed here; quote it where text is meant");
	*ret_text = node->scalar;
	return 0;
}

int policy_get_bool(struct policy_error *error, const struct doc_node *node, bool *ret_value)
{
	const char *text = node->kind == DOC_SCALAR && !node->quoted ? node->scalar : "";

	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return policy_refuse(error, -EINVAL, node, "'%.32s' must be true or false",
				     node->key ? node->key : "it");
	*ret_value = strcmp(text, "true") == 0;
	return 0;
}

/* Decimal digits alone: no sign, no spaces, no overflow. */
static bool read_number(const char *text, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' ||
		    __builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return false;
	}
	*ret_value = value;
	return true;
}

int policy_get_number(struct policy_error *error, const struct doc_node *node, uint64_t min,
		      uint64_t max, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (node->kind != DOC_SCALAR || node->quoted || !read_number(node->scalar, &value) ||
	    value < min || value > max)
		return policy_refuse(error, -EINVAL, node,
				     "'%.32s' must be a whole number from %llu to %llu",
				     node->key ? node->key : "it", (unsigned long long)min,
				     (unsigned long long)max);
	*ret_value = value;
	return 0;
}

int policy_get_choice(struct policy_error *error, const struct doc_node *node, const char *what,
		      const struct policy_choice *choices, size_t count, int *ret_value)
{
	const char *text = node->kind == DOC_SCALAR ? node->scalar : "";
	const char *join = "";
	int err = -EINVAL;
	size_t i;

	for (i = 0; i < count; i++) {
		if (strcmp(choices[i].name, text) != 0)
			continue;
		if (!choices[i].built) {
			err = -EOPNOTSUPP;
			break;
		}
		*ret_value = choices[i].value;
		return 0;
	}
	if (err == -EOPNOTSUPP)
		(void)policy_refuse(error, err, node, "%s '%s' is not built yet; allowed: ", what,
				    text);
	else
		(void)policy_refuse(error, err, node, "%s '%.32s' is unknown; allowed: ", what,
				    text);
	for (i = 0; i < count; i++) {
		if (!choices[i].built)
			continue;
		add(error, join);
		add(error, choices[i].name);
		join = ", ";
	}
	return err;
}

int policy_get_name(struct policy_error *error, const struct doc_node *node, const char *name,
		    size_t max)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_.-";
	size_t len = strlen(name);

	if (len >= 1 && len <= max && strspn(name, letters) == len)
		return 0;
	return policy_refuse_key(error, -EINVAL, node,
				 "name '%.64s' must be 1 to %zu of letters, digits, '_', '.', '-'",
				 name, max);
}
