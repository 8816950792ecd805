# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Runs test programs that speak TAP and counts what they say; to be sourced.
#
# A program fails as a whole, by one more failure, where it ends with a status
# that its lines do not explain, where it runs fewer tests than it planned, or
# none at all: a test that was not run never counts as passed. Exit status 77
# skips a program; the last line it printed says why.

tap_passed=0
tap_failed=0
tap_skipped=0
tap_work=$(mktemp -d)
# Programs run beside each other, up to TAP_JOBS; what they said is told in the order they were named.
tap_jobs=${TAP_JOBS:-1}
tap_names=()
tap_limits=()
tap_pids=()
tap_told=0

tap_ok() {
	echo "ok - $1"
	tap_passed=$((tap_passed + 1))
}

tap_not_ok() {
	echo "not ok - $1"
	tap_failed=$((tap_failed + 1))
}

tap_skip() {
	echo "ok - $1 # SKIP $2"
	tap_skipped=$((tap_skipped + 1))
}

# tap_step NAME COMMAND...: a command that is one test by itself.
tap_step() {
	local name=$1 status=0
	shift
	tap_wait
	"$@" >"$tap_work/out" 2>&1 || status=$?
	if [ "$status" -eq 0 ]; then
		tap_ok "$name"
	elif [ "$status" -eq 77 ]; then
		tap_skip "$name" "$(tail -n 1 "$tap_work/out")"
	else
		sed 's/^/# /' "$tap_work/out"
		tap_not_ok "$name (exit status $status)"
	fi
}

# tap_program NAME SECONDS COMMAND...: a program that prints TAP of its own.
tap_program() {
	local number=${#tap_names[@]} limit=$2
	tap_names+=("$1")
	tap_limits+=("$limit")
	shift 2
	tap_room
	(
		status=0
		CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 10 "$limit" "$@" >"$tap_work/out.$number" \
			2>"$tap_work/err.$number" || status=$?
		echo "$status" >"$tap_work/end.$number"
	) &
	tap_pids+=($!)
	while [ "$tap_told" -le "$number" ] && [ -s "$tap_work/end.$tap_told" ]; do
		tap_tell
	done
}

# Returns when there is room for one more program.
tap_room() {
	local pid running
	while :; do
		running=()
		for pid in "${tap_pids[@]:tap_told}"; do
			! kill -0 "$pid" 2>/dev/null || running+=("$pid")
		done
		[ "${#running[@]}" -ge "$tap_jobs" ] || return 0
		wait -n "${running[@]}" 2>/dev/null || :
	done
}

# What comes next, comes alone.
tap_wait() {
	while [ "$tap_told" -lt "${#tap_names[@]}" ]; do
		wait "${tap_pids[tap_told]}" || :
		tap_tell
	done
}

# The same of a program that needs the machine for itself.
tap_alone() {
	tap_wait
	tap_program "$@"
	tap_wait
}

# The lines of the next program in order, and what they count.
tap_tell() {
	local number=$tap_told name status passed failed skipped planned limit
	name=${tap_names[number]} limit=${tap_limits[number]}
	tap_told=$((tap_told + 1))
	read -r status <"$tap_work/end.$number" || status=1
	mv "$tap_work/out.$number" "$tap_work/out"
	mv "$tap_work/err.$number" "$tap_work/err"
	if [ "$status" -eq 77 ]; then
		tap_skip "$name" "$(cat "$tap_work/err" "$tap_work/out" | sed -n '$p')"
		return
	fi
	# cmocka says `not ok 1 # SKIP name` of a test that skipped itself, and why, in a line before.
	awk -v name="$name" '
		match($0, /^(not )?ok [0-9]+( - )? ?/) {
			rest = substr($0, RLENGTH + 1)
			if (rest ~ /^# SKIP/) {
				sub(/^# SKIP /, "", rest)
				print "ok - " name ": " rest " # SKIP " why
			} else {
				print (/^not/ ? "not ok - " : "ok - ") name ": " rest
			}
			why = ""
			next
		}
		{ why = $0; gsub(/^[ \t#]+/, "", why) }' "$tap_work/out"
	skipped=$(grep -cE '^(not )?ok [0-9]+.*# SKIP' "$tap_work/out")
	passed=$(grep -E '^ok [0-9]+' "$tap_work/out" | grep -cv '# SKIP')
	failed=$(grep -E '^not ok [0-9]+' "$tap_work/out" | grep -cv '# SKIP')
	planned=$(sed -nE 's/^[[:space:]]*1\.\.([0-9]+).*/\1/p' "$tap_work/out" | awk '{n += $1} END {print n + 0}')
	tap_passed=$((tap_passed + passed))
	tap_failed=$((tap_failed + failed))
	tap_skipped=$((tap_skipped + skipped))
	if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
		tap_not_ok "$name: stopped after $limit s"
	elif [ "$planned" -ne $((passed + failed + skipped)) ]; then
		tap_not_ok "$name: planned $planned tests, ran $((passed + failed + skipped)) (exit status $status)"
	elif [ "$planned" -eq 0 ]; then
		tap_not_ok "$name: ran no test (exit status $status)"
	elif [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
		tap_not_ok "$name: exit status $status, though no test failed"
	elif [ "$status" -eq 0 ] && [ "$failed" -ne 0 ]; then
		tap_not_ok "$name: exit status 0, though $failed tests failed"
	fi
	if [ "$status" -ne 0 ]; then
		grep -vE '^(not )?ok [0-9]+|^[[:space:]]*1\.\.' "$tap_work/out" | cat - "$tap_work/err" |
			tail -n 120 | sed 's/^[^#]/# &/'
	fi
}

# Prints the count, alone on its line, and returns whether all went well.
tap_summary() {
	local line
	tap_wait
	line="$tap_passed passed, $tap_failed failed"
	rm -rf "$tap_work"
	[ "$tap_skipped" -eq 0 ] || line="$line, $tap_skipped skipped"
	echo "$line"
	[ "$tap_failed" -eq 0 ] && [ "$tap_passed" -gt 0 ]
}
