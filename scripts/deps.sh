#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs what building and testing Sluice needs, from Debian 12's packages: all of it, or the
# groups that are named. Without root it says which packages are missing and how to get them,
# and fails.
set -eu

build='make gcc libc6-dev clang llvm bpftool pkg-config
	libbpf-dev libelf-dev zlib1g-dev libbrotli-dev libzstd-dev libevent-dev libjansson-dev
	libyaml-dev libicu-dev libssl-dev libpcre2-dev libcap-ng-dev libseccomp-dev
	libsystemd-dev libcurl4-openssl-dev'
package='dpkg-dev debhelper'
run='iproute2 procps python3'
tests='libcmocka-dev libclang-rt-14-dev nodejs golang-go haproxy curl nftables iptables shellcheck
	clang-format mandoc util-linux binutils strace psmisc python3-websockets node-ws
	prometheus python3-prometheus-client chromium tshark
	lintian mmdebstrap rpm python3-yaml'

# Any Node.js or Go will do: a machine may have one that is not Debian's package.
have() {
	case $1 in
	nodejs) command -v node >/dev/null 2>&1 && return 0 ;;
	golang-go) command -v go >/dev/null 2>&1 && return 0 ;;
	esac
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

[ $# -gt 0 ] || set -- build package run tests
wanted=
for group; do
	case $group in
	build) wanted="$wanted $build" ;;
	package) wanted="$wanted $package" ;;
	run) wanted="$wanted $run" ;;
	tests) wanted="$wanted $tests" ;;
	*)
		echo "usage: scripts/deps.sh [build|package|run|tests]..." >&2
		exit 2
		;;
	esac
done

missing=
for name in $wanted; do
	have "$name" || missing="$missing $name"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
	echo "missing packages:$missing" >&2
	echo "as root, run: apt-get update && apt-get install -y --no-install-recommends$missing" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086  # the list is words on purpose
apt-get update -q && apt-get install -q -y --no-install-recommends $missing
