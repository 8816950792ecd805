#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every test that needs no root and no network: unit tests, conformance cases,
# layers, header dependencies. Called by `make check`, which built what it runs.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export BUILD=${BUILD:-build}
export TAP_JOBS=${TAP_JOBS:-$(nproc)}
. scripts/tap.sh

programs=0
for program in "$BUILD"/tests/unit/test_*; do
	[ -x "$program" ] || continue
	programs=$((programs + 1))
	tap_program "${program##*/}" 120 "$program"
done
[ "$programs" -gt 0 ] || tap_not_ok "unit tests: there are none below $BUILD/tests/unit"

# What fuzzing begins with, and what it found; and whoever else reads these protocols.
rm -rf "$BUILD/fuzz/seeds"
tap_step "fuzz seeds" /usr/bin/python3 tests/fuzz/seed.py "$BUILD/fuzz/seeds"
tap_program fuzz-replay 120 "$BUILD/tests/fuzz/replay" "$BUILD/fuzz/seeds" tests/fuzz/regressions
for program in tests/scripts/test_outside_*.py; do
	tap_program "$(basename "$program" .py)" 60 /usr/bin/python3 "$program"
done

tap_program cases 120 /usr/bin/python3 tests/driver/compare.py --driver "$BUILD/sluice-driver"
tap_step "layers: includes, headers, symbols, state" scripts/check-layers.sh
tap_program check-layers 120 tests/scripts/test_check_layers.sh
tap_program libsluice 120 tests/scripts/test_libsluice.sh
tap_program header-dependencies 120 /usr/bin/python3 tests/scripts/test_dependencies.py
tap_program packaging-recipes 120 /usr/bin/python3 tests/packaging/test_recipes.py
tap_program tap 60 tests/scripts/test_tap.sh
tap_program replay 120 /usr/bin/python3 tests/scripts/test_replay.py
tap_program readme 60 /usr/bin/python3 tests/scripts/test_readme.py

tap_summary
