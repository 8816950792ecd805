#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Benchmarks, one after the other: nothing else should run meanwhile. Without
# arguments all of them, else the parts that are named:
#
#   ndjson sse terms regex session audit     core alone, without privileges
#   idle_memory round_trips audit_cost bulk  streams through the daemon, beside HAProxy
#   tokens streams                           token streams of model servers over HTTP
#   control                                  asking about 5,000 streams
#   page                                     the status page in a browser, 1,000 streams
#   waiting moderated release                streams that wait for interceptors, and others
#   observed scrape handover                 what operators do, and what it costs streams
#
# The last six lines need root. Called by `make bench`.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export BUILD=${BUILD:-build}
status=0
parts=("$@")
all="ndjson sse terms regex session audit idle_memory round_trips audit_cost bulk tokens streams"
all+=" control page waiting moderated release observed scrape handover"

for part in "${parts[@]}"; do
	if [[ " $all " != *" $part "* ]]; then
		echo "bench.sh: no part '$part'; there are: $all" >&2
		exit 2
	fi
done

# chosen PART...: those of them that are to run, in order.
chosen() {
	local part
	for part in "$@"; do
		if [ "${#parts[@]}" -eq 0 ] || [[ " ${parts[*]} " == *" $part "* ]]; then
			echo "$part"
		fi
	done
}

# run TITLE NEEDS COMMAND... -- PART...: COMMAND with those of the parts that are chosen.
run() {
	local title=$1 needs=$2 command=() names
	shift 2
	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	shift
	mapfile -t names < <(chosen "$@")
	[ "${#names[@]}" -gt 0 ] || return 0
	if [ "$needs" = root ] && [ "$(id -u)" -ne 0 ]; then
		echo "# $title: left out, they need root"
		return 0
	fi
	echo "# $title: ${names[*]}"
	"${command[@]}" "${names[@]}" || status=1
}

echo "# $(uname -sr), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
run "core" nothing "$BUILD/tests/bench/bench_core" -- ndjson sse
run "searching for terms" nothing "$BUILD/tests/bench/bench_terms" -- terms
run "searching for patterns" nothing "$BUILD/tests/bench/bench_regex" -- regex
run "accounting" nothing "$BUILD/tests/bench/bench_session" -- session
run "records of the audit trail" nothing "$BUILD/tests/bench/bench_audit" -- audit
run "streams through the daemon, beside HAProxy" root \
	/usr/bin/python3 tests/bench/net.py -- idle_memory round_trips audit_cost bulk
run "token streams over HTTP" root /usr/bin/python3 tests/bench/streams.py -- tokens streams
run "asking about open streams" root /usr/bin/python3 tests/bench/control.py -- control
run "the status page" root /usr/bin/python3 tests/bench/page.py -- page
run "tasks that wait for interceptors" root \
	/usr/bin/python3 tests/bench/tasks.py -- waiting moderated release
run "operators" root /usr/bin/python3 tests/bench/operators.py -- observed scrape handover
exit "$status"
