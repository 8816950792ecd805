#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes packages of what is built, or builds it first: `package.sh deb` puts
# Debian packages into $BUILD/deb. --quick leaves out those of debug symbols.
set -euo pipefail
cd "$(dirname "$0")/.." || exit 1
BUILD=$(realpath -m "${BUILD:-build}")
export BUILD

usage() {
	echo "usage: scripts/package.sh deb [--quick]" >&2
	exit 2
}

[ "${1:-}" = deb ] || usage
options=nocheck
case "$#:${2:-}" in
1:) ;;
2:--quick) options="$options noautodbgsym" ;;
*) usage ;;
esac

for tool in dpkg-buildpackage dh; do
	command -v "$tool" >/dev/null || {
		echo "$tool is missing: apt-get install --no-install-recommends dpkg-dev debhelper" >&2
		exit 1
	}
done

# dpkg-buildpackage wants debian/ at the top of a tree, and puts packages beside it.
out=$BUILD/deb
tree=$out/tree
rm -rf "$out"
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"
for entry in Makefile README.md LICENSE LICENSES bpf examples include man packaging scripts tests user; do
	ln -s "$PWD/$entry" "$tree/$entry"
done
cp -r packaging/debian "$tree/debian"

# -d: what building needs is the Makefile's to find, wherever it comes from.
(cd "$tree" && DEB_BUILD_OPTIONS="$options parallel=$(nproc)" dpkg-buildpackage -d -b -us -uc)
ls "$out"/*.deb
