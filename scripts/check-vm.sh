#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The tests on Debian's own kernels, each in a machine of QEMU's (no KVM, no
# root): what is oldest supported, and a newer one. Called by `make check-vm`,
# which built what runs. Kernels come from apt, once, and are unpacked below
# BUILD/vm, never installed. The guest's root is the host's, read-only, with a
# layer in memory; tests/vm/ has what runs inside.
#
# env VM_KERNELS names other kernel packages, VM_SCRIPT (below the tree) what runs
# instead of tests/vm/tests.sh, ACCEL another accelerator of QEMU.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
mkdir -p "${BUILD:=build}"
BUILD=$(realpath "$BUILD")
tree=$PWD
vm=$BUILD/vm
seconds=900
# Of a kernel package: the kernel, and of its modules those that a machine without devices can use.
wanted=('./boot/vmlinuz-*' './lib/modules/*/modules.*' './lib/modules/*/kernel/drivers/net/[!/]*.ko*')
for part in arch/x86/crypto crypto drivers/virtio fs lib net; do
	wanted+=("./lib/modules/*/kernel/$part/*")
done
. scripts/tap.sh

# The kernel package that a meta package stands for today.
package_of() {
	apt-cache depends "$1" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1
}

# fetch PACKAGE: has apt download a package, unless it was unpacked before.
fetch() {
	[ ! -d "$vm/$1" ] || return 0
	rm -rf "$vm/download" && mkdir "$vm/download" && (cd "$vm/download" && apt-get download -q "$1") \
		>"$vm/log" 2>&1
}

# unpack PACKAGE PATTERN...: what of it is wanted, to BUILD/vm/PACKAGE.
unpack() {
	local package=$1
	shift
	[ ! -d "$vm/$package" ] || return 0
	rm -rf "$vm/new" && mkdir "$vm/new" && dpkg-deb --fsys-tarfile "$vm"/download/*.deb |
		tar -x -C "$vm/new" --wildcards --no-same-owner "$@" && mv "$vm/new" "$vm/$package" &&
		rm -rf "$vm/download"
}

# Modules as the guest's loader reads them, and which need which.
prepare_modules() {
	local root=$vm/linux-image-$1
	[ ! -e "$root/lib/modules/$1/modules.dep" ] || return 0
	find "$root/lib/modules" -name '*.ko.xz' -exec xz -d {} + && "$busybox" depmod -b "$root" "$1"
}

make_initramfs() {
	local from=$vm/linux-image-$1 root=$vm/initramfs modules=lib/modules/$1 module file
	rm -rf "$root"
	mkdir -p "$root"/{bin,dev,host,memory,root,"$modules"} &&
		cp "$busybox" "$root/bin/busybox" && cp tests/vm/init "$root/init" &&
		chmod 755 "$root/init" && cp "$from/$modules"/modules.* "$root/$modules" || return 1
	for module in virtio_pci 9pnet_virtio 9p overlay; do
		# Itself and what it needs; a module that is built in has no line here.
		for file in $(sed -n "s|^\(.*/$module\.ko\):|\1|p" "$root/$modules/modules.dep"); do
			install -D -m 644 "$from/$modules/$file" "$root/$modules/$file" || return 1
		done
	done
	printf "%s='%s'\n" tree "$tree" build "$BUILD" modules "$from/lib/modules" \
		script "${VM_SCRIPT:-tests/vm/tests.sh}" >"$root/settings"
	(cd "$root" && find . | "$busybox" cpio -o -H newc 2>/dev/null) >"$vm/initramfs.cpio"
}

# Boots a kernel; the guest's lines on standard output, the kernel's in BUILD/vm/VERSION.console.
# Without ERMS the kernel copies by words: QEMU carries out `rep movsb` byte by byte.
boot() {
	exec timeout -k 10 "$seconds" qemu-system-x86_64 -accel "${ACCEL:-tcg}" -cpu max,-erms,-fsrm -smp 2 -m 2048 \
		-kernel "$vm/linux-image-$1/boot/vmlinuz-$1" -initrd "$vm/initramfs.cpio" \
		-append "console=ttyS0 loglevel=4 panic=-1 rdinit=/init" \
		-virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
		-nodefaults -display none -no-reboot \
		-serial "file:$vm/$1.console" -serial stdio </dev/null
}

# count VERSION: passes the guest's lines on, under the kernel's version, and counts them.
count() {
	local version=$1 line said=
	while IFS= read -r line; do
		line=${line%$'\r'}
		case $line in
		'ok - '*'# SKIP '*) tap_skipped=$((tap_skipped + 1)) ;;
		'ok - '*) tap_passed=$((tap_passed + 1)) ;;
		'not ok - '*) tap_failed=$((tap_failed + 1)) ;;
		*' passed, '*' failed'*) said=$line && continue ;;
		esac
		printf '%s\n' "${line/ok - /ok - $version: }"
	done
	if [ -z "$said" ]; then
		tail -n 20 "$vm/$version.console" | sed 's/^/# /'
		tap_not_ok "$version: the machine ended, or its $seconds s did, before the last test"
	else
		echo "# $version: $said"
	fi
}

stop_machine() {
	[ -z "$machine" ] || kill "$machine" 2>/dev/null
	machine=
}

# prepare PACKAGE VERSION: all that boots a kernel which apt has downloaded.
prepare() {
	unpack "$1" "${wanted[@]}" && prepare_modules "$2" && make_initramfs "$2"
}

try_kernel() {
	local package version
	package=$(package_of "$1")
	version=${package#linux-image-}
	if [ -z "$package" ]; then
		tap_skip "$1" "apt knows no such package (apt-get update?)"
	elif ! fetch "$package"; then
		tap_skip "$1" "apt could not download it: $(tail -n 1 "$vm/log")"
	elif ! prepare "$package" "$version" >"$vm/log" 2>&1; then
		sed 's/^/# /' "$vm/log"
		tap_not_ok "$version: cannot make what boots it"
	else
		exec 5< <(boot "$version" 2>&1)
		machine=$!
		count "$version" <&5
		stop_machine
	fi
}

machine=
trap 'stop_machine; rm -rf "$tap_work"' EXIT
trap 'exit 130' INT TERM HUP

skip_all() {
	tap_skip "check-vm" "$1"
	tap_summary
	exit 0
}

for tool in qemu-system-x86_64 apt-get dpkg-deb xz; do
	command -v "$tool" >/dev/null ||
		skip_all "there is no $tool here; as root: apt-get install --no-install-recommends qemu-system-x86 xz-utils"
done
mkdir -p "$vm"
fetch busybox-static || skip_all "apt could not download busybox-static: $(tail -n 1 "$vm/log")"
unpack busybox-static ./bin/busybox || exit 1
busybox=$vm/busybox-static/bin/busybox
for kernel in ${VM_KERNELS:-linux-image-amd64 linux-image-6.12-amd64}; do
	try_kernel "$kernel"
done
tap_summary
