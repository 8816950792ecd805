#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every benchmark, one after the other: nothing else should run meanwhile. First
# what needs no privileges (core alone), then streams through the daemon beside
# HAProxy, as root. Called by `make bench`.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export BUILD=${BUILD:-build}
status=0

echo "# $(uname -sr), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
for program in "$BUILD"/tests/bench/bench_*; do
	# bench_net is the two ends of the streams below, no benchmark by itself.
	if [ ! -x "$program" ] || [ "${program##*/}" = bench_net ]; then
		continue
	fi
	echo "# ${program##*/}"
	"$program" || status=1
done
if [ "$(id -u)" -ne 0 ]; then
	echo "# streams through the daemon, beside HAProxy: left out, they need root"
	exit "$status"
fi
echo "# streams through the daemon, beside HAProxy"
/usr/bin/python3 tests/bench/net.py || status=1
exit "$status"
