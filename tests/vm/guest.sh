#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# First process of the guest once tests/vm/init has made it a root: sets up what
# an init would, with cgroup v2 alone, runs the tests, and says their lines and
# their count on the second serial line. The first has the kernel's messages.
#
# usage: guest.sh TREE BUILD SCRIPT
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root BUILD=$2

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t securityfs security /sys/kernel/security
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf
mount -t tmpfs -o mode=755 run /run
mkdir -p /dev/pts /dev/shm
mount -t devpts -o gid=5,mode=620,ptmxmode=666 pts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
ln -sf /proc/self/fd /dev/fd
mv /run-busybox /run/modprobe
echo /run/modprobe >/proc/sys/kernel/modprobe
ip link set lo up

# No terminal: what reads standard input finds its end.
exec </dev/null >/dev/ttyS1 2>&1
stty -F /dev/ttyS1 raw
# shellcheck source=tests/vm/tests.sh
cd "$1" && . scripts/tap.sh && . "./$3"
# The machine was started without leave to reboot: it ends.
sync
echo b >/proc/sysrq-trigger
sleep 60
