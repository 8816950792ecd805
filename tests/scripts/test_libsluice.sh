#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# libsluice as others meet it: installed somewhere, found by pkg-config, linked
# both ways, used from C and C++, exporting what its map says and nothing else.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
prefix=/opt/sluice
here=$root$prefix
export PKG_CONFIG_PATH=$here/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
count=0

# expect NAME COMMAND...: a command that has to succeed.
expect() {
	local name=$1
	shift
	count=$((count + 1))
	if "$@" >"$work/out" 2>&1; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		sed 's/^/# /' "$work/out"
	fi
}

install_all() {
	make --no-print-directory BUILD="$BUILD" DESTDIR="$root" PREFIX="$prefix" install
}

are_installed() {
	local file
	for file in include/sluice/sluice.h lib/libsluice.a lib/libsluice.so lib/libsluice.so.0 \
		lib/pkgconfig/sluice.pc share/man/man3/libsluice.3 bin/sluicectl sbin/sluiced; do
		[ -s "$here/$file" ] || { echo "$file is missing" && return 1; }
	done
	[ "$(find "$root" -type f ! -path "$here/*")" = "" ] || return 1
	! grep -r "$root" "$here/lib/pkgconfig"
}

# The flags of a host: pkg-config's, which prefixes them with the sysroot.
flags() {
	pkg-config "$@" sluice
}

compile_host() {
	local to=$1
	shift
	# shellcheck disable=SC2046  # flags are words
	"${CC:-gcc}" -std=c99 -O1 -Wall -Wextra -Werror -pedantic $(flags --cflags) \
		examples/host/host.c "$@" -o "$work/$to"
}

link_shared() {
	# shellcheck disable=SC2046
	compile_host shared $(flags --libs) &&
		readelf -d "$work/shared" | grep -F 'NEEDED' | grep -F '[libsluice.so.0]'
}

# A static host links whatever else is needed by --static, with no shared libsluice to be found.
link_static() {
	rm -f "$here"/lib/libsluice.so*
	# shellcheck disable=SC2046
	compile_host static $(PKG_CONFIG_SYSROOT_DIR='' pkg-config --static --libs-only-l sluice) \
		-L"$here/lib" && ! readelf -d "$work/static" | grep -F libsluice
}

# A host that has functions of core's names links all the same, and keeps its own.
link_namesakes() {
	cat >"$work/own.c" <<-'C'
		#include <stdio.h>
		int session_new(void), utf8_count(void), json_string_scan(void), sha256_init(void);
		int session_new(void) { return 1; }
		int utf8_count(void) { return 2; }
		int json_string_scan(void) { return 3; }
		int sha256_init(void) { return 4; }
	C
	# shellcheck disable=SC2046
	compile_host namesakes "$work/own.c" -L"$here/lib" \
		$(PKG_CONFIG_SYSROOT_DIR='' pkg-config --static --libs-only-l sluice) &&
		says 'plain text' 'plain text' 0 "$work/namesakes"
}

# says TEXT OUTPUT STATUS PROGRAM: what the host does with a text.
says() {
	local text=$1 wanted=$2 status=0 output
	output=$(printf '%b' "$text" | LD_LIBRARY_PATH=$here/lib "$4") || status=$?
	[ "$output" = "$wanted" ] && [ "$status" -eq "$3" ] && return
	echo "$text: status $status, $output"
	return 1
}

long=$(printf '%10001s' '')
runs() {
	says 'a whole text, \0303\0274ber alles' 'a whole text, über alles' 0 "$1" &&
		says '' '' 0 "$1" &&
		says 'a forbidden word' '' 3 "$1" &&
		says "${long:0:300}forbidden" "${long:0:248}" 3 "$1" &&
		says 'ends as forbidde' 'ends as forbidde' 0 "$1" &&
		says 'ends in half a rune \0303' 'ends in half' 1 "$1" &&
		says 'ill-formed \0377' '' 1 "$1" &&
		says "$long" "${long:0:9920}" 3 "$1"
}

# The released part of a text that comes in pieces, none of which has the word whole.
runs_in_pieces() {
	local output status=0
	output=$( (
		printf 'text of some length, forb'
		sleep 0.2
		printf 'idden'
	) | LD_LIBRARY_PATH=$here/lib "$1") || status=$?
	[ "$status" -eq 3 ] && [ "$output" = 'text of some leng' ] && return
	echo "status $status: $output"
	return 1
}

reads_as() {
	# shellcheck disable=SC2046
	printf '#include <sluice/sluice.h>\n' | "$1" "-std=$2" -pedantic -Wall -Wextra -Werror \
		-Wno-long-long -fsyntax-only $(flags --cflags) -x "$3" -
}

exported() {
	nm -D --defined-only "$here/lib/libsluice.so.0" | awk '$2 == "T" {print $3}' | sort
}

exports_the_map() {
	sed -n 's/^\t\(.*\);$/\1/p' user/lib/sluice.map | grep -v '^\*$' | sort >"$work/map"
	sed 's|/\*.*\*/||' include/sluice/sluice.h | grep -oE '\bsluice_[a-z_]+\(' | tr -d '(' |
		sort -u >"$work/header"
	nm "$here/lib/libsluice.a" | awk '$2 == "T" {print $3}' | sort >"$work/static.names"
	exported | sed 's/@@SLUICE_0$//' >"$work/shared.names"
	[ "$(wc -l <"$work/map")" -gt 30 ] && diff "$work/map" "$work/shared.names" &&
		diff "$work/map" "$work/static.names" && diff "$work/map" "$work/header"
}

exports_nothing_else() {
	! nm -D --defined-only "$here/lib/libsluice.so.0" | awk '{print $3}' |
		grep -vE '^(sluice_[a-z_]+@@SLUICE_0|SLUICE_0(@@SLUICE_0)?)$' &&
		! nm -g --defined-only "$here/lib/libsluice.a" | awk 'NF == 3 {print $3}' |
			grep -v '^sluice_'
}

has_no_state() {
	! size -A "$BUILD/libsluice.o" |
		awk '$1 ~ /^\.(data|bss|tdata|tbss)(\.|$)/ && $1 !~ /^\.data\.rel\.ro/ && $2 > 0' |
		grep . &&
		! readelf -d "$here/lib/libsluice.so.0" | grep TEXTREL
}

# A call whose result is dropped does not compile; the same call whose result is used does.
must_be_checked() {
	local call=$1 error
	printf '#include <sluice/sluice.h>\nvoid f(struct sluice_session *s, struct sluice_resume *r,%s)\n' \
		'uint64_t *v, struct sluice_state *t, struct sluice_verdict *d' >"$work/drop.c"
	cp "$work/drop.c" "$work/use.c"
	printf '{ (void)s, (void)r, (void)v, (void)t, (void)d; %s; }\n' "$call" >>"$work/drop.c"
	printf '{ (void)s, (void)r, (void)v, (void)t, (void)d; if (%s) { *v = 1; } }\n' "$call" \
		>>"$work/use.c"
	# shellcheck disable=SC2046
	"${CC:-gcc}" -std=c99 -Werror -fsyntax-only $(flags --cflags) "$work/use.c" || return 1
	# shellcheck disable=SC2046
	error=$("${CC:-gcc}" -std=c99 -Werror=unused-result -O1 -S -o /dev/null \
		$(flags --cflags) "$work/drop.c" 2>&1) && return 1
	grep -q 'Werror=unused-result' <<<"$error"
}

checked=(
	'sluice_session_new(0, &s)' 'sluice_session_free(s)'
	'sluice_session_observe(s, SLUICE_REQUEST, 1, v)'
	'sluice_session_observe_text(s, SLUICE_REQUEST, "a", 1, v)'
	'sluice_session_outcome(s, SLUICE_REQUEST, 0, 0, 1, SLUICE_CLEARED)'
	'sluice_session_output(s, 0, SLUICE_CLEARED)' 'sluice_session_advance(s, SLUICE_REQUEST, v)'
	'sluice_session_safe_offset(s, SLUICE_REQUEST, v)' 'sluice_session_end_of_payloads(s)'
	'sluice_session_finish(s)' 'sluice_session_get(s, t)'
	'sluice_verdict_parse("", 0, false, d)'
	'sluice_session_verdict(s, SLUICE_REQUEST, 0, 0, 1, d)' 'sluice_session_output_verdict(s, 0, d)'
	'sluice_resume_new(1, &r)' 'sluice_resume_delivered(r, "", "", 0)'
	'sluice_resume_may_begin(r, 0)' 'sluice_resume_tails(r, 0, 0)'
	'sluice_coverage_check(0, v)' 'sluice_coverage_of(0, 0, 1, v)'
)
all_must_be_checked() {
	local call
	for call in "${checked[@]}"; do
		must_be_checked "$call" || { echo "$call" && return 1; }
	done
	[ "${#checked[@]}" -eq "$(grep -c 'SLUICE_MUST_CHECK;' include/sluice/sluice.h)" ]
}

is_short() {
	[ "$(wc -l <examples/host/host.c)" -lt 100 ]
}

expect "make install honours DESTDIR and PREFIX" install_all
expect "everything is where it belongs, without the DESTDIR in it" are_installed
expect "pkg-config knows the version" test "$(flags --modversion)" = \
	"$(sed -n 's/^VERSION *:= *//p' Makefile)"
expect "the header reads as C99" reads_as "${CC:-gcc}" c99 c
expect "the header reads as C++98" reads_as "${CLANG:-clang}++" c++98 c++
expect "the header reads as C++20" reads_as "${CLANG:-clang}++" c++20 c++
expect "header, map and both libraries have the same functions" exports_the_map
expect "and no other names" exports_nothing_else
expect "no state, no relocated text" has_no_state
expect "a result that must be looked at cannot be dropped" all_must_be_checked
expect "the example is short" is_short
expect "the example links with the shared library" link_shared
expect "and does what it says" runs "$work/shared"
expect "also with text in pieces" runs_in_pieces "$work/shared"
expect "the example links with the static library" link_static
expect "and does the same" runs "$work/static"
expect "names of a host's own do not clash" link_namesakes
echo "1..$count"
