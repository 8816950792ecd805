#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The counting of scripts/tap.sh: what fails, crashes, stops short or hangs must
# never be counted as passed.
set -uo pipefail
tap=$(realpath "$(dirname "$0")/../../scripts/tap.sh")
count=0

# expect NAME SUMMARY STATUS SCRIPT: what the summary says of a program that is SCRIPT.
expect() {
	local name=$1 summary=$2 wanted=$3 script=$4 output status=0
	output=$(bash -c '. "$1"; tap_program it 1 bash -c "$2"; tap_summary' - "$tap" "$script") ||
		status=$?
	count=$((count + 1))
	if [ "$(tail -n 1 <<<"$output")" = "$summary" ] && [ "$status" -eq "$wanted" ]; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		sed 's/^/# /' <<<"$output"
	fi
}

expect "passed tests" "2 passed, 0 failed" 0 'echo 1..2; echo ok 1 - a; echo ok 2 - b'
expect "a failed test" "1 passed, 1 failed" 1 'echo 1..2; echo ok 1 - a; echo not ok 2 - b; exit 1'
expect "failures behind status 0" "0 passed, 2 failed" 1 'echo 1..1; echo not ok 1 - a'
expect "a status nothing explains" "1 passed, 1 failed" 1 'echo 1..1; echo ok 1 - a; exit 3'
expect "a crash in the middle" "1 passed, 1 failed" 1 'echo 1..2; echo ok 1 - a; kill -SEGV $$'
expect "fewer tests than planned" "1 passed, 1 failed" 1 'echo 1..2; echo ok 1 - a'
expect "no test at all" "0 passed, 1 failed" 1 'true'
expect "a program that hangs" "1 passed, 1 failed" 1 'echo 1..2; echo ok 1 - a; sleep 9'
expect "a skipped program" "0 passed, 0 failed, 1 skipped" 1 'echo no such thing here; exit 77'
expect "a skipped test" "1 passed, 0 failed, 1 skipped" 0 \
	'echo 1..2; echo ok 1 - a; echo "ok 2 - b # SKIP no IPv6"'
expect "a test that cmocka skipped" "1 passed, 0 failed, 1 skipped" 0 \
	'echo 1..2; echo ok 1 - a; echo " no such thing"; echo "not ok 2 # SKIP b"'
expect "groups that plan for themselves" "2 passed, 0 failed" 0 \
	'echo 1..1; echo ok 1 - a; echo 1..1; echo ok 1 - b'

# Side by side, in order, and what is a step of its own alone.
count=$((count + 1))
output=$(TAP_JOBS=3 bash -c '. "$1"
	for i in 5 4 3 2 1; do
		tap_program "p$i" 5 bash -c "sleep 0.$i; echo 1..1; echo ok 1 - t; exit 3"
	done
	tap_step alone true
	tap_program last 5 bash -c "echo 1..1; echo ok 1 - t"
	tap_summary' - "$tap" 2>/dev/null)
wanted=$(for i in 5 4 3 2 1; do
	echo "ok - p$i: t"
	echo "not ok - p$i: exit status 3, though no test failed"
done; printf '%s\n' 'ok - alone' 'ok - last: t' '7 passed, 5 failed')
if [ "$(grep -v '^#' <<<"$output")" = "$wanted" ]; then
	echo "ok $count - programs side by side are told in their order"
else
	echo "not ok $count - programs side by side are told in their order"
	sed 's/^/# /' <<<"$output"
fi

echo "1..$count"
