# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # tap_work is of tap.sh, daemon_PID of coproc
#
# What runs inside a guest, sourced by guest.sh after scripts/tap.sh: every BPF
# test, a daemon's start through its self-test, doctor, and those integration
# tests that between them use every program, the sandbox and the pins.

start_daemon() {
	local ready status=1
	coproc daemon { exec "$BUILD/sluiced" --private --instance vm --ready-fd 3 3>&1 >&2; }
	read -r -t 60 ready <&"${daemon[0]}"
	echo "it said: $ready"
	if [ "$ready" = ready ]; then
		verified "$daemon_PID"
		status=0
	fi
	kill "$daemon_PID"
	wait "$daemon_PID" || status=1
	return "$status"
}

# How many instructions the verifier went through for each program that a process holds.
verified() {
	local fd id count
	for fd in "/proc/$1/fdinfo"/*; do
		id=$(sed -n 's/^prog_id:\t//p' "$fd" 2>/dev/null)
		count=$(sed -n 's/^verified_insns:\t//p' "$fd" 2>/dev/null)
		[ -z "$count" ] || echo "$count $(bpftool prog show id "$id" | sed -n '1s/.* name \([^ ]*\).*/\1/p')"
	done | sort -rnu >"/run/verified"
}

# integration NAME [TEST...]: those of a file's tests, or all.
integration() {
	local name=test_$1 from=$SECONDS
	shift
	tap_program "$name" 240 /usr/bin/python3 "tests/integration/$name.py" "$@"
	echo "# $name: $((SECONDS - from)) s"
}

for program in "$BUILD"/tests/bpf/test_*; do
	[ ! -x "$program" ] || tap_program "${program##*/}" 240 "$program"
done
echo "# BPF tests: $SECONDS s"
tap_step "daemon: its self-test holds" start_daemon
echo "# instructions verified: $(tr '\n' ',' </run/verified)"
tap_step "doctor" "$BUILD/sluicectl" doctor
sed 's/^/# /' "$tap_work/out"
integration clean every_unit_comes_before_the_next_is_written bulk_is_identical_when_written_ahead \
	names_are_those_of_a_direct_connection the_run_is_summed_up
integration deny refused_request_at_every_cut_when_written_ahead refused_response_at_every_cut \
	refused_term_over_units the_stream_says_why denied_by_the_operator
integration halfclose_reset
integration kill before_connect in_mid_hold held_by_the_gate graceful_stop \
	orphan_after_its_cgroup_is_gone private_daemon_killed
integration sandbox found_by_a_hostile_command attacks_on_the_pins grandchildren \
	a_private_daemon_serves_one_run a_killed_run_takes_its_command_along
integration watch watched_and_unwatched existing_sockets_are_destroyed sockets_made_outside \
	local_and_foreign_sockets survives_a_restart
tap_summary
