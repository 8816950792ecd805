#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Makes the status page one document and prints it as C: its style and its scripts inside, and
# the Content-Security-Policy that names their SHA-256.
#
# usage: page.sh FOLDER [html]; with html the document alone, for a browser.
set -eu
export LC_ALL=C
folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
scripts='format model list detail summary main'

cat "$folder/page.css" >"$work/style"
for name in $scripts; do
	cat "$folder/$name.js"
done >"$work/script"

# inline NAME: what stands for it on a line of its own becomes the file of that name.
inline() {
	sed -e "/^@$1@\$/{" -e "r $work/$1" -e d -e '}'
}
inline style <"$folder/page.html" | inline script >"$work/page"
if grep -q '^@[a-z]*@$' "$work/page"; then
	echo "page.sh: page.html has a place that nothing fills" >&2
	exit 1
fi

# The hash of what a browser sees between the tags: the line ends around it count.
digest() {
	{
		echo
		cat "$work/$1"
	} | sha256sum | cut -c 1-64 | tr a-f A-F | basenc --base16 -d | base64
}
policy="default-src 'none'; script-src 'sha256-$(digest script)'; \
style-src 'sha256-$(digest style)'; img-src data:; connect-src 'self'; base-uri 'none'; \
form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

if [ "${2:-}" = html ]; then
	cat "$work/page"
	exit
fi
cat <<END
#include "daemon/web_page.h"
const char web_page_policy[] = "$policy";
const size_t web_page_len = $(wc -c <"$work/page");
const unsigned char web_page_text[] = {
END
od -An -v -tu1 "$work/page" | sed 's/\([0-9][0-9]*\) */\1,/g'
echo '};'
