#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The main job on real processes; see examples/demo/demo.py. Called by `make demo`.
set -eu
cd "$(dirname "$0")/.."
if [ "$(id -u)" -ne 0 ]; then
	echo "the demo loads BPF programs and makes a cgroup: run it as root" >&2
	exit 1
fi
BUILD=${BUILD:-build} exec /usr/bin/python3 examples/demo/demo.py
