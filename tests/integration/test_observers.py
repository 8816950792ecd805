#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Observers: whatever the daemon withholds is in no query, log, file, map and answer, under
no form, while it waits and afterwards; and its memory is locked, and hidden from others."""
import base64
import grp
import json
import os
import re
import resource
import signal
import urllib.parse

import observers
from observers import (check_clean, forms, holds, leaks, listening, pieces, read, take, uncovered,
                       written)
from scenes import MARKER, POLICY, WIDE, Scene, request_cases, response_cases
from sluice_test import PYTHON, TERM, line, main
from peers import echo
from waiting import Skip, check, equal, wait_for

WATCHES = POLICY.replace('fold: [casefold]', 'fold: [casefold], warn_only: true')
NO_SUCH_METHOD = -32601  # JSON-RPC 2.0, 5.1

# One line, and what came back.
TALK = '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(10)
s.sendall(bytes.fromhex(sys.argv[2]))
print(s.recv(4096).hex())
'''

# Half a line that is long, until a word comes.
MUCH = '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b'{"t":"' + b"x" * (12 << 20))
print("sent", flush=True)
sys.stdin.readline()
'''


def forms_are_found(_bench):
    """the harness finds a marker, and six runes of it, under each form; and nothing in noise"""
    for text in [MARKER, WIDE, *pieces(MARKER), *pieces(WIDE)]:
        data = text.encode()
        ways = [data, data.upper(), text.encode('utf-16-le'), text.encode('utf-16-be'),
                *(base64.b64encode(b'?' * n + data + b'??') for n in range(4)),
                *(base64.urlsafe_b64encode(b'?' * n + data) for n in range(4)),
                b''.join(b'%%%02X' % byte for byte in data), urllib.parse.quote(text).encode(),
                data.hex().encode(), data.hex(' ').upper().encode(),
                json.dumps(text).encode(), b', '.join(b'%d' % byte for byte in data),
                b', '.join(b'0x%02x' % byte for byte in data)]
        for way in ways:
            check(leaks(b'noise ' + way + b' noise'), '%r is not found as %r', text, way)
    check(leaks(''.join('\\u%04X' % ord(rune) for rune in MARKER).encode()), 'nor in escapes')
    for noise in (os.urandom(1 << 16), read('/proc/self/maps'), os.urandom(1 << 14).hex().encode(),
                  MARKER[:5].encode() + b' ' + MARKER[6:11].encode()):
        equal(leaks(noise), [], 'what is found in noise')
    equal(set(forms(MARKER)), {'text', 'base64', 'percent', 'hex', 'JSON', 'decimal'}, 'the forms')


def every_outlet_has_a_row(bench):
    """no control method, command, listening socket and file of the daemon is left out"""
    equal(uncovered(), [], 'methods and commands without a row, or rows without one')
    daemon = bench.daemon(POLICY, start=False)
    daemon.web = bench.free_port()
    daemon.start()
    for method in observers.methods():
        answer = json.loads(observers.ask(method)(Scope(daemon)))
        check(answer.get('error', {}).get('code') != NO_SUCH_METHOD, '%s: %s', method, answer)
    sockets = set(listening(daemon.process.pid))
    equal(sockets, {('unix', daemon.socket), ('unix', observers.handover_socket(daemon)),
                    ('tcp', daemon.port), ('tcp', daemon.web)},
          'what the daemon listens at')
    for path in written(daemon.process.pid):
        check(path == daemon.log or path.startswith((daemon.audit + '/', '/run/sluice/')),
              'the daemon writes to %s', path)


class Scope:
    """As much of a scene as a control method needs."""

    def __init__(self, daemon):
        self.daemon = daemon


def reasons(cases):
    found = {}
    for case in cases:
        if case.ends:
            found[case.ends] = found.get(case.ends, 0) + 1
    return found


def withheld(bench, cases):
    """The outlets while streams wait, and after all has ended, and after the daemon has."""
    scene = Scene(bench, cases).begin()
    scene.hold()
    check(any(holds(scene.daemon.process.pid, marker) for marker in (MARKER, WIDE)),
          'the daemon holds no marker')
    equal(scene.daemon.status()['reasons'], reasons(cases), 'how the others ended')
    found = take(scene)
    check(b'python3' in found['pinned maps'], 'the maps show no stream: who connected is there')
    check_clean(found, 'while they wait')
    scene.end()
    check(b' denied ' in scene.said, 'the run said %r', scene.said)
    check_clean(take(scene), 'after the end')
    scene.daemon.stop()
    check_clean(take(scene, ['the log', 'the audit trail', 'state files']), 'after the daemon')
    check(b'"reason":"denied:words"' in read_trail(scene), 'the trail has no denial')
    return scene


def read_trail(scene):
    return take(scene, ['the audit trail'])['the audit trail']


def withheld_requests(bench):
    """requests: text, head, target, tool arguments, WebSocket; denied, faulty and half"""
    scene = withheld(bench, request_cases())
    check_clean({'the peers': scene.peers(), **scene.came}, 'at the end')
    told = [name for name, data in scene.came.items() if b'words' in data]
    check(len(told) > 5, 'the agent was told why of %s alone', told)


def withheld_responses(bench):
    """responses: text, head, events, tool calls, WebSocket; denied and half"""
    scene = withheld(bench, response_cases())
    check_clean(scene.came, 'at the agent')
    check(b'clean' in scene.came['an event'] and b'event: error' in scene.came['an event'],
          'the agent got %r', scene.came['an event'])


def found_and_not_enforced(bench):
    """what a task that only watches finds arrives, and is shown to no observer"""
    cases = [case for case in request_cases() + response_cases()
             if case.ends in ('denied:words', None)]
    for case in cases:
        case.ends = None
    scene = Scene(bench, cases, WATCHES).begin()
    wait_for(lambda: scene.daemon.status()['findings'].get('words', 0) > 10, 10, 'the findings')
    check_clean(take(scene), 'while they last')
    scene.end()
    check(leaks(scene.peers()), 'the text did not arrive')
    check(b'found, not enforced: words' in scene.said, 'the run said %r', scene.said)
    check_clean(take(scene), 'after the end')


def memory_field(daemon, name):
    found = re.search(r'(?m)^%s:\s+(\d+) kB' % name, read(
        '/proc/%d/status' % daemon.process.pid).decode())
    check(found, 'the kernel shows no %s', name)
    return int(found[1])


def memory_is_locked(bench):
    """all of its memory is locked, that which it takes later too, and status says so"""
    daemon = bench.daemon()
    equal(daemon.status()['memory_locked'], True, 'memory_locked')
    check(memory_field(daemon, 'VmLck') > memory_field(daemon, 'VmRSS') // 2, 'VmLck is small')
    before = memory_field(daemon, 'VmLck')
    agent = daemon.start_agent(MUCH, bench.server(echo).port)
    equal(agent.stdout.readline(), b'sent\n', 'what the agent said')
    wait_for(lambda: daemon.status()['limits']['held_bytes'] >= 12 << 20, 10, 'all to be held')
    # Some of it had been taken before, and was free.
    check(memory_field(daemon, 'VmLck') >= before + (8 << 10), 'VmLck went from %d to %d kB',
          before, memory_field(daemon, 'VmLck'))
    agent.communicate(b'end\n', timeout=10)
    equal('memory cannot be locked' in daemon.read_log(), False, 'whether it warns')


def wrapped(daemon, *words):
    """The daemon is started through these words."""
    arguments = daemon.arguments()
    daemon.arguments = lambda: [*words, *arguments]
    return daemon


def without_the_capability(bench):
    """without CAP_IPC_LOCK it warns, status says that nothing is locked, and it works"""
    daemon = wrapped(bench.daemon(start=False), 'setpriv', '--bounding-set', '-ipc_lock').start()
    equal(daemon.status()['memory_locked'], False, 'memory_locked')
    equal(memory_field(daemon, 'VmLck'), 0, 'VmLck')
    check('memory cannot be locked: held text may reach swap' in daemon.read_log(),
          'it does not warn: %s', daemon.read_log())
    server = bench.server(echo)
    done = daemon.agent(TALK, server.port, line('clean').hex())
    equal(bytes.fromhex(done.stdout.decode()), line('clean'), 'what came back')
    daemon.agent(TALK, server.port, line(TERM).hex())
    equal(daemon.status()['reasons'].get('denied:words'), 1, 'denials')


def core_folder(bench):
    """An empty folder where what is killed leaves a core, as a process shows that does."""
    pattern = read('/proc/sys/kernel/core_pattern').decode().strip()
    if pattern.startswith(('|', '/')) or not pattern:
        raise Skip('cores go elsewhere: core_pattern is %r' % pattern)
    folder = os.path.join(bench.folder, 'cores')
    os.mkdir(folder)
    run_there = ['/bin/sh', '-c', 'cd %s && ulimit -c unlimited && exec "$@"' % folder, 'sh']
    bench.run([*run_there, PYTHON, '-c', 'import os; os.abort()'])
    if not os.listdir(folder):
        raise Skip('nothing leaves a core here')
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    return folder, run_there


def raise_core_limit(pid):
    """False: that takes a capability which this process does not have."""
    try:
        resource.prlimit(pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    except PermissionError:
        return False
    return True


def no_core_is_left(bench):
    """a crash leaves no core: the limit is 0, and where somebody raises it, not even then"""
    folder, run_there = core_folder(bench)
    for number in (signal.SIGABRT, signal.SIGSEGV):
        for raised in (False, True):
            daemon = wrapped(bench.daemon(start=False), *run_there).start()
            pid = daemon.process.pid
            check(re.search(r'(?m)^Max core file size +0 +0 ', read('/proc/%d/limits' % pid)
                            .decode()), 'the limit of cores is not 0')
            raised = raised and raise_core_limit(pid)
            os.kill(pid, number)
            equal(daemon.process.wait(10), -number, 'how it ended')
            equal(os.listdir(folder), [], 'what it left, with the limit raised: %s' % raised)


def memory_is_not_readable(bench):
    """its own user cannot read its memory without capabilities: it is not dumpable"""
    group = grp.getgrnam('nogroup').gr_gid
    daemon = wrapped(bench.daemon(start=False), 'setpriv', '--regid', str(group),
                     '--clear-groups').start()
    folder = '/proc/%d' % daemon.process.pid
    equal(os.stat(folder).st_gid, group, 'the group it runs as')
    # The kernel gives these to root alone where a process is not dumpable.
    equal(os.stat(folder + '/mem').st_gid, 0, 'the group of its memory')
    for name in ('mem', 'maps', 'environ'):
        done = bench.run(['setpriv', '--bounding-set', '-all', PYTHON, '-c',
                          'print(len(open("%s/%s", "rb").read(1)))' % (folder, name)])
        check(not done.stdout and b'Permission denied' in done.stderr, '%s: %r %r', name,
              done.stdout, done.stderr)


if __name__ == '__main__':
    main([forms_are_found, every_outlet_has_a_row, withheld_requests, withheld_responses,
          found_and_not_enforced, memory_is_locked, without_the_capability, no_core_is_left,
          memory_is_not_readable])
