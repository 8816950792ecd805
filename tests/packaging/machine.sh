#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# machine.sh TAR DIR: process 1 of a small machine, run by machine.py in mount,
# process-id, cgroup, IPC and UTS namespaces of its own: unpacks a root and
# becomes its systemd. All of it is mounted in here alone, and goes with it. The
# network is the host's; settings of the kernel are read-only.
set -euo pipefail
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$2"
tar -C "$2" -xf "$1"
cd "$2"

mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t bpf -o mode=700 bpf sys/fs/bpf
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
	touch "dev/$device"
	mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd

echo machine >etc/hostname
: >etc/machine-id
rm -f etc/resolv.conf
pivot_root . mnt
umount -l /mnt
exec env -i container=sluice PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --system --show-status=no --log-target=journal
