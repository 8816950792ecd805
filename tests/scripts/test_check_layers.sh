#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The layer check must fail on each kind of offence, and only then: a small tree
# of its own is clean, then one offence at a time is planted.
set -uo pipefail
check=$(realpath "$(dirname "$0")/../../scripts/check-layers.sh")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export BUILD=$work/build
count=0

plant_clean_tree() {
	rm -rf "$work/tree" "$BUILD"
	mkdir -p "$work"/tree/{include/sluice,bpf,user/{base,core,lib,sys,kern,daemon,cli}}
	cd "$work/tree" || exit 1
	printf '#include <linux/types.h>\n' >include/sluice/abi.h
	printf '#include <stddef.h>\n' >user/base/macros.h
	printf '#include "base/macros.h"\nsize_t length(const char *text);\n' >user/core/length.h
	cat >user/core/length.c <<-'C'
		#include "core/length.h"
		#include <string.h>
		static const char *const names[] = {"a", "b"};
		size_t length(const char *text) { return strlen(text) + strlen(names[*text & 1]); }
	C
	printf '#include <stdio.h>\nint log_line(FILE *to);\n' >user/sys/log.h
	printf '#include "core/length.h"\nsize_t out(void) { return length(""); }\n' >user/lib/lib.c
	printf '#include "sys/log.h"\n#include <bpf/libbpf.h>\n' >user/kern/kern.c
	printf '#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n' >bpf/gate.bpf.c
}

compile_core() {
	mkdir -p "$BUILD"/obj/user/{base,core,lib}
	local source
	for source in user/core/*.c user/lib/*.c; do
		gcc -std=gnu11 -O1 -fPIE -Iinclude -Iuser -c "$source" \
			-o "$BUILD/obj/${source%.c}.o" || exit 1
	done
}

# expect NAME PATTERN: the check fails and says so; an empty pattern: it passes in silence.
expect() {
	local name=$1 pattern=$2 output status=0
	compile_core
	output=$("$check" "$PWD" 2>&1) || status=$?
	count=$((count + 1))
	if { [ -z "$pattern" ] && [ "$status" -eq 0 ] && [ -z "$output" ]; } ||
		{ [ -n "$pattern" ] && [ "$status" -ne 0 ] && grep -qE "$pattern" <<<"$output" &&
			[ "$(wc -l <<<"$output")" -eq 1 ]; }; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		echo "# status $status: $output"
	fi
	plant_clean_tree
}

plant_clean_tree
expect "a clean tree passes" ""

echo '#include "sys/log.h"' >>user/core/length.c
expect "core including sys" 'length.c: core may not include sys/log.h'

echo '#include <unistd.h>' >>user/core/length.c
expect "core including libc I/O" 'length.c: core may not include unistd.h'

echo '#include "sys/log.h"' >>user/lib/lib.c
expect "the library including sys" 'lib.c: lib may not include sys/log.h'

echo 'int puts(const char *); int say(void) { return puts("x"); }' >>user/lib/lib.c
expect "the library printing" 'base, core and lib use puts'

echo '#include "lib/lib.h"' >>user/core/length.c
touch user/lib/lib.h
expect "core including the library" 'length.c: core may not include lib/lib.h'

echo '#  include   <time.h>' >>user/base/macros.h
expect "spaces do not hide an include" 'macros.h: base may not include time.h'

echo '#include "kern/kern.h"' >user/cli/run.c
echo 'int kern;' >user/kern/kern.h
expect "the CLI including kern" 'run.c: cli may not include kern/kern.h'

echo '#include <bpf/libbpf.h>' >user/daemon/main.c
expect "the daemon including libbpf" 'main.c: daemon may not include bpf/libbpf.h'

echo '#include <string.h>' >>bpf/gate.bpf.c
expect "a BPF program including the C library" 'gate.bpf.c: bpf may not include string.h'

echo '#include "length.h"' >>user/core/length.c
expect "an include without its layer" 'includes "length.h", which names no layer'

echo 'struct thing { uint32_t number; };' >user/core/thing.h
expect "a header that does not compile alone" 'thing.h: does not compile alone'

printf '#ifndef A\n#define A\n#include "base/b.h"\n#endif\n' >user/base/a.h
printf '#ifndef B\n#define B\n#include "base/a.h"\n#endif\n' >user/base/b.h
expect "a cycle of headers" 'headers include each other: .*user/base/a.h'

printf 'int puts(const char *); int say(void); int say(void) { return puts("x"); }\n' >user/core/say.c
expect "core printing" 'base, core and lib use puts'

printf 'long time(long *); long now(void); long now(void) { return time(0); }\n' >user/core/now.c
expect "core reading the clock" 'base, core and lib use time'

printf 'int next(void); int next(void) { static int n; return n++; }\n' >user/core/next.c
expect "a static that changes" 'bytes of state in .bss'

printf 'int next(void); int next(void) { static int n = 7; return n++; }\n' >user/core/next.c
expect "a static with a first value" 'bytes of state in .data'

printf 'int next(void); int next(void) { static __thread int n; return n++; }\n' >user/core/next.c
expect "a thread's own static" 'bytes of state in .tbss'

printf '#include "core/length.h"\nint other(void); int other(void) { return (int)length(""); }\n' \
	>user/core/other.c
expect "a symbol of a sibling is not undefined" ""

echo "1..$count"
