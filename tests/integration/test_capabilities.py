#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon under no more than its unit grants, and where it is not let take over a watch."""
import ctypes
import os
import re
import struct

import peers
from sluice_test import ROOT, main
from waiting import check, equal, wait_for

AGENT = '''
import socket, sys
sys.stdin.readline()
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10)
s.sendall(b'{"t":"forbidden"}\\n')
print("sent", s.recv(100))
'''
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
OPEN_BY_HANDLE_AT = 304  # x86-64
EPERM_RETURNED, ALLOWED = 0x00050001, 0x7fff0000


def granted():
    with open(os.path.join(ROOT, 'packaging', 'systemd', 'sluiced.service'), encoding='utf-8') as unit:
        words = re.search(r'(?m)^CapabilityBoundingSet=(.*)$', unit.read())[1].split()
    return [word.removeprefix('CAP_').lower() for word in words]


def forbid_handles():
    """open_by_handle_at(2) fails with EPERM from now on."""
    program = b''.join(struct.pack('HBBI', *row) for row in (
        (0x20, 0, 0, 0),                  # the number of the call
        (0x15, 0, 1, OPEN_BY_HANDLE_AT),  # is it that one?
        (0x06, 0, 0, EPERM_RETURNED),
        (0x06, 0, 0, ALLOWED)))
    rows = ctypes.create_string_buffer(program)
    filters = struct.pack('HxxxxxxQ', len(program) // 8, ctypes.addressof(rows))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
            PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filters, 0, 0):
        raise OSError(ctypes.get_errno(), 'prctl')


def watched(bench, daemon):
    """A cgroup that is watched, and an agent in it that waits for a line."""
    server = bench.server(peers.Connection.read_all)
    cgroup = bench.cgroup()
    agent = bench.in_cgroup(cgroup, AGENT, server.port)
    wait_for(lambda: open(os.path.join(cgroup, 'cgroup.procs'), encoding='ascii').read(), 5,
             'a process in the cgroup')
    done = daemon.ctl('watch', cgroup)
    equal(done.returncode, 0, 'watch: %r' % done.stderr)
    return server, cgroup, agent


def the_unit_grants_enough(bench):
    """with the capabilities of the unit alone it starts, watches, holds, and takes over"""
    keep = ','.join('+' + name for name in granted())
    spawn = bench.spawn

    def reduced(command, **options):
        if '--ready-fd' in command:
            command = ['setpriv', '--bounding-set=-all,' + keep, '--no-new-privs', *command]
        return spawn(command, **options)
    bench.spawn = reduced
    daemon = bench.daemon()
    server, cgroup, agent = watched(bench, daemon)
    daemon.kill()
    daemon.start()
    equal([watch['path'] for watch in daemon.status()['watches']], [cgroup], 'watches')
    check(daemon.status()['memory_locked'], 'memory is not locked')
    agent.communicate(b'\n', timeout=10)
    equal(bytes(server.ended().data), b'', 'what was denied arrived')
    check('bounding' not in daemon.read_log(), 'it complains: %s', daemon.read_log())


def a_watch_that_cannot_be_found_stays_closed(bench):
    """a successor that cannot look a cgroup up does not start, and what is watched stays closed"""
    daemon = bench.daemon()
    server, cgroup, agent = watched(bench, daemon)
    daemon.kill()
    spawn = bench.spawn
    bench.spawn = lambda command, **options: spawn(command, preexec_fn=forbid_handles, **options)
    try:
        daemon.start()
    except AssertionError as error:
        check('cannot take over' in str(error), 'it said: %s', error)
    else:
        raise AssertionError('it started')
    daemon.process.wait(10)
    bench.spawn = spawn
    out, _ = agent.communicate(b'\n', timeout=10)
    equal((out, server.connections), (b'', []), 'what the agent got through to')
    daemon.start()
    equal([watch['path'] for watch in daemon.status()['watches']], [cgroup], 'watches')


if __name__ == '__main__':
    main([the_unit_grants_enough, a_watch_that_cannot_be_found_stays_closed])
