#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The layer rule, checked instead of promised. Fails, naming each offence, on
#  (a) an include outside the table below, or a cycle of headers;
#  (b) a header that does not compile alone;
#  (c) an undefined symbol of base, core and lib, joined in one object, that is
#      not pure computation;
#  (d) state that outlives a call there: a non-empty .data, .bss or thread-local
#      section. Constant tables of pointers are in .data.rel.ro and stay legal.
#
# usage: check-layers.sh [TREE]; env BUILD names what `make` built of TREE.
set -uo pipefail
tree=${1:-$(dirname "$0")/..}
cd "$tree" || exit 1
BUILD=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

offend() {
	echo "$*"
	echo offence >>"$work/offences"
}

# Which layers each layer may include. `abi` is include/sluice, `bpf` libbpf and the skeleton.
may_include() {
	case $1 in
	include) echo "abi pure" ;;
	bpf) echo "abi kernel" ;;
	base) echo "base pure" ;;
	core) echo "abi base core pure digest unicode coding regex" ;;
	lib) echo "abi base core lib pure" ;;
	sys) echo "base sys pure io" ;;
	kern) echo "abi base kern sys pure io bpf" ;;
	daemon) echo "abi base core sys kern daemon pure io" ;;
	cli) echo "abi base core sys cli pure io" ;;
	esac
}

# The layer of an include in quotes, and of one in brackets.
layer_of() {
	case $1 in
	sluice/*) echo abi ;;
	base/*) echo base ;;
	core/*) echo core ;;
	lib/*) echo lib ;;
	sys/*) echo sys ;;
	kern/*) echo kern ;;
	daemon/*) echo daemon ;;
	cli/*) echo cli ;;
	bpf/*) echo bpf ;;
	esac
}

system_layer_of() {
	case $1 in
	bpf/*) echo bpf ;;
	assert.h | ctype.h | errno.h | inttypes.h | limits.h | stdarg.h | stdbool.h | stddef.h | \
		stdint.h | stdio.h | stdlib.h | string.h) echo pure ;;
	math.h | stdatomic.h | [ae]mmintrin.h) echo pure ;;
	openssl/evp.h | openssl/sha.h) echo digest ;;
	unicode/*) echo unicode ;;
	zlib.h | brotli/decode.h | zstd.h | zstd_errors.h) echo coding ;;
	pcre2.h) echo regex ;;
	linux/types.h) echo abi ;;
	*) echo io ;;
	esac
}

# Prints "file<TAB>quote or bracket<TAB>name" for every include of the given files.
includes_of() {
	awk 'match($0, /^[ \t]*#[ \t]*include[ \t]*["<][^">]+[">]/) {
		text = substr($0, RSTART, RLENGTH); sub(/^[^"<]*/, "", text)
		print FILENAME "\t" substr(text, 1, 1) "\t" substr(text, 2, length(text) - 2)
	}' "$@" /dev/null
}

check_edges() {
	local from=$1 directory=$2 allowed file quote name to
	allowed=" $(may_include "$from") "
	mapfile -t files < <(find "$directory" -name '*.[ch]' | sort)
	[ "${#files[@]}" -gt 0 ] || return 0
	while IFS=$'\t' read -r file quote name; do
		if [ "$quote" = '"' ]; then
			to=$(layer_of "$name")
			if [ -z "$to" ] && [ "$from" = bpf ] && [ -e "bpf/$name" ]; then
				continue
			fi
		elif [ "$from" = bpf ]; then
			# The kernel's own headers and libbpf's helper headers; nothing of a C library.
			case $name in
			linux/* | bpf/bpf_*.h) to=kernel ;;
			stdbool.h | stddef.h | stdint.h | stdarg.h) to=kernel ;; # the compiler's own
			*) to=io ;;
			esac
		else
			to=$(system_layer_of "$name")
		fi
		if [ -z "$to" ]; then
			offend "$file: includes \"$name\", which names no layer"
		elif [[ "$allowed" != *" $to "* ]]; then
			offend "$file: $from may not include $name ($to)"
		fi
	done < <(includes_of "${files[@]}")
}

check_cycles() {
	local file quote name
	mapfile -t files < <(find user include -name '*.h' | sort)
	includes_of "${files[@]}" | while IFS=$'\t' read -r file quote name; do
		[ "$quote" = '"' ] || continue
		if [ -e "user/$name" ]; then
			echo "$file user/$name"
		elif [ -e "include/$name" ]; then
			echo "$file include/$name"
		fi
	done >"$work/edges"
	tsort "$work/edges" >/dev/null 2>"$work/cycle" || offend "headers include each other: $(
		sed -n 's/^tsort: \(.*\.h\)$/\1/p' "$work/cycle" | tr '\n' ' ')"
}

check_headers_alone() {
	local header flags
	flags=$(pkg-config --cflags icu-uc libcrypto libevent yaml-0.1 jansson libbpf libseccomp \
		libcap-ng libsystemd 2>/dev/null)
	while IFS= read -r header; do
		# shellcheck disable=SC2086  # flags are words
		"${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -Iinclude \
			-Iuser -I"$BUILD" $flags -x c - <<<"#include \"$PWD/$header\"" \
			2>"$work/err" ||
			offend "$header: does not compile alone: $(grep -m1 error: "$work/err")"
	done < <(find include user -name '*.h' | sort)
	while IFS= read -r header; do
		"${CLANG:-clang}" -target bpf -mcpu=v3 -g -O2 -Wall -Wno-unused-function -fsyntax-only \
			-idirafter "/usr/include/$(uname -m)-linux-gnu" -Iinclude -Ibpf \
			-x c - <<<"#include \"$PWD/$header\"" 2>"$work/err" ||
			offend "$header: does not compile alone: $(grep -m1 error: "$work/err")"
	done < <(find bpf -name '*.h' | sort)
}

# Nothing but memory, text, formatting into memory, Unicode tables, patterns, digests and
# decompression.
pure_symbol() {
	case $1 in
	_GLOBAL_OFFSET_TABLE_ | __stack_chk_fail | __assert_fail) ;;
	mem* | __mem*_chk | str* | __str*_chk | stpcpy | __stpcpy_chk | __isoc23_strto* | __ctype_b_loc) ;;
	malloc | calloc | realloc | reallocarray | free | qsort | bsearch) ;;
	snprintf | vsnprintf | __snprintf_chk | __vsnprintf_chk) ;;
	u_* | unorm2_* | uspoof_* | ucase_*) ;;
	crc32 | inflate | inflateInit2_ | inflateReset | inflateReset2 | inflateGetHeader | inflateEnd) ;;
	BrotliDecoder*) ;;
	ZSTD_*DCtx* | ZSTD_decompressStream | ZSTD_isError | ZSTD_getErrorCode) ;;
	pcre2_*_8) ;;
	EVP_MD_CTX_* | EVP_Digest* | EVP_sha256 | SHA256*) ;;
	*) return 1 ;;
	esac
}

check_symbols() {
	local symbol name size section
	mapfile -t objects < <(find "$BUILD"/obj/user/{base,core,lib} -name '*.o' | sort)
	if [ "${#objects[@]}" -eq 0 ]; then
		offend "$BUILD: no objects of base, core and lib; run make first"
		return
	fi
	if ! gcc -r -nostdlib -fno-lto -o "$work/joined.o" "${objects[@]}" 2>"$work/err"; then
		offend "base, core and lib do not join: $(head -n 1 "$work/err")"
		return
	fi
	# nm would list what the link-time optimiser sees, before its own inlining.
	objcopy --wildcard --remove-section '.gnu.lto_*' "$work/joined.o"
	while read -r symbol; do
		# ICU appends its version: u_getIntPropertyValue_72.
		name=${symbol%%@*}
		pure_symbol "$name" || offend "base, core and lib use $name, which is not pure"
	done < <(nm -u --format=posix "$work/joined.o" | awk '{print $1}')
	while read -r section size; do
		[ "$size" -eq 0 ] || offend "base, core and lib keep $size bytes of state in $section"
	done < <(size -A "$work/joined.o" |
		awk '$1 ~ /^\.(data|bss|tdata|tbss)(\.|$)/ && $1 !~ /^\.data\.rel\.ro/ {print $1, $2}')
}

check_edges include include
check_edges bpf bpf
for layer in base core lib sys kern daemon cli; do
	check_edges "$layer" "user/$layer"
done
check_cycles
check_headers_alone
check_symbols
[ ! -e "$work/offences" ]
