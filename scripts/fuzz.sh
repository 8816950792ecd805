#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Fuzzes each target for FUZZ_SECONDS (60), one after the other, or those that FUZZ_TARGETS
# names. What it learns stays below the build directory, and is where the next run begins.
# Called by `make fuzz`, which built what it runs.
#
# An input that breaks a promise is kept in $BUILD/fuzz/found; cut down to what matters and
# named for what it is, it belongs to tests/fuzz/regressions/TARGET, which `make check` runs.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export BUILD=${BUILD:-build}
. scripts/tap.sh

seconds=${FUZZ_SECONDS:-60}
fuzzer=$BUILD/fuzz/sluice-fuzz
work=$BUILD/fuzz
read -ra targets <<<"${FUZZ_TARGETS:-$("$fuzzer" --targets | tr '\n' ' ')}"

# Which dictionaries help a target.
dictionaries() {
	case $1 in
	frame_http1) echo http1 ;;
	frame_sse) echo sse ;;
	frame_jsonrpc) echo jsonrpc ;;
	frame_json_array | json) echo json ;;
	extract) echo json chat ;;
	resume) echo http1 resume ;;
	verdict) echo json verdict ;;
	pipeline) echo http1 sse json chat jsonrpc stream ;;
	words | terms) echo words ;;
	esac
}

# fuzz TARGET: ends when the time is up, or with an input that is at fault.
fuzz() {
	local target=$1 folder=$work/corpus/$1 name
	local arguments=("--target=$target" "-max_total_time=$seconds" -max_len=4096 -timeout=20
		-rss_limit_mb=1500 -print_final_stats=1 "-artifact_prefix=$work/found/$target-")

	mkdir -p "$folder" "$work/found" "$work/seeds/$target"
	: >"$work/$target.dict"
	for name in $(dictionaries "$target"); do
		cat "tests/fuzz/dictionaries/$name.dict" >>"$work/$target.dict"
	done
	[ ! -s "$work/$target.dict" ] || arguments+=("-dict=$work/$target.dict")
	arguments+=("$folder" "$work/seeds/$target")
	[ ! -d "tests/fuzz/regressions/$target" ] || arguments+=("tests/fuzz/regressions/$target")
	"$fuzzer" "${arguments[@]}" >"$work/$target.log" 2>&1 && return 0
	tail -n 60 "$work/$target.log"
	echo "again: $fuzzer --target=$target FILE; smaller: with -minimize_crash=1 -runs=100000"
	return 1
}

rm -rf "$work/seeds"
/usr/bin/python3 tests/fuzz/seed.py "$work/seeds" || exit 1
for target in "${targets[@]}"; do
	tap_step "$target: $seconds s" fuzz "$target"
	sed -n 's/^stat::average_exec_per_sec: */# executions a second: /p' "$work/$target.log"
done
tap_summary
