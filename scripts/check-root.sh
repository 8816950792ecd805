#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests with real BPF programs, sockets and processes. Called by `make
# check-root`. Each test names all that it makes after its own process and takes
# it away again; what is left over is itself a failure.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export BUILD=${BUILD:-build}

if [ "$(id -u)" -ne 0 ]; then
	echo "check-root loads BPF programs and makes cgroups: run it as root" >&2
	exit 1
fi
# Most of the time of most of them is waiting.
export TAP_JOBS=${TAP_JOBS:-$(($(nproc) + 1))}
. scripts/tap.sh

# The longest: its root has to be made first, once.
tap_program packaging 400 /usr/bin/python3 tests/packaging/test_deb.py
programs=0
for program in "$BUILD"/tests/bpf/test_*; do
	[ -x "$program" ] || continue
	programs=$((programs + 1))
	tap_program "${program##*/}" 180 "$program"
done
[ "$programs" -gt 0 ] || tap_not_ok "BPF tests: there are none below $BUILD/tests/bpf"
for program in tests/integration/test_*.py; do
	[ "$program" != tests/integration/test_hostile.py ] || continue
	tap_program "$(basename "$program" .py)" 240 /usr/bin/python3 "$program"
done
# Races with the daemon for a processor.
tap_alone test_hostile 240 /usr/bin/python3 tests/integration/test_hostile.py

tap_summary
