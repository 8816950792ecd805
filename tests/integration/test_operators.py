#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the operators' side withstands: no descriptors left, a port that is taken, peers that
are gone or become watched, messages that are cut, more policies than there is room for."""
import json
import os
import signal
import socket
import subprocess
import time
import urllib.request

from sluice_test import Control, main
from waiting import Skip, check, equal

WEB_PORT = 9469  # user/daemon/options.h
NAMES_MAX = 256  # user/daemon/limits.h
POLICY = 'version: 1\nname: %s\nframing: ndjson\nextract: raw\n'


def cpu_s(pid):
    with open('/proc/%d/stat' % pid, encoding='utf-8') as stat:
        fields = stat.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def limit_files(pid, count):
    subprocess.run(['prlimit', '--pid', str(pid), '--nofile=%d:' % count], check=True)


def descriptors(pid):
    """Numbers that are in use all the time."""
    numbers = set(range(1000))
    for _ in range(5):
        numbers &= {int(name) for name in os.listdir('/proc/%d/fd' % pid)}
        time.sleep(0.05)
    return numbers


def without_descriptors_it_rests(bench):
    """clients that cannot be accepted cost no time and no log, and are served later"""
    daemon = bench.daemon(start=False)
    daemon.web = bench.free_port()
    daemon.start()
    pid = daemon.process.pid
    numbers = descriptors(pid)
    limit_files(pid, min(set(range(len(numbers) + 1)) - numbers))
    waiting = socket.create_connection(('127.0.0.1', daemon.web))
    waiting.settimeout(10)
    waiting.sendall(b'GET /metrics HTTP/1.0\r\n\r\n')
    asking = socket.socket(socket.AF_UNIX)
    asking.connect(daemon.socket)
    log, before = len(daemon.read_log()), cpu_s(pid)
    time.sleep(0.8)
    check(cpu_s(pid) - before < 0.2, 'it worked for %.2f s', cpu_s(pid) - before)
    check(len(daemon.read_log()) - log < 1000, 'it said %s', daemon.read_log()[log:log + 500])
    limit_files(pid, 1024)
    equal(waiting.recv(12), b'HTTP/1.0 200', 'the answer')
    equal(daemon.status()['instance'], daemon.instance, 'the instance')
    waiting.close()
    asking.close()


def default_port_in_use(bench):
    """what is guarded does not wait for a port that nobody asked for; status and doctor say so"""
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind(('127.0.0.1', WEB_PORT))
        taken.listen()
    except OSError:
        pass  # another has it
    daemon = bench.daemon(start=False)
    told = daemon.arguments()
    daemon.arguments = lambda: [word for word in told if word != '--no-metrics']
    daemon.start()
    equal(daemon.status()['metrics'], {'address': '127.0.0.1:%d' % WEB_PORT, 'served': False,
                                       'reason': 'port in use'}, 'what status tells')
    equal(daemon.read_log().count('127.0.0.1:%d is in use' % WEB_PORT), 1, 'lines about it')
    check(b'not served (port in use)' in daemon.ctl('status').stdout, 'status does not say it')
    check(b'metrics: not served (port in use)' in daemon.ctl('doctor').stdout, 'nor does doctor')
    equal(daemon.stop(), 0, 'the exit status')
    taken.close()
    # Told to serve there, it serves there or does not start.
    other = bench.daemon(start=False)
    other.web = bench.free_port()
    other.start()
    equal(other.status()['metrics'], {'address': '127.0.0.1:%d' % other.web, 'served': True},
          'what status tells')
    check(b'http://127.0.0.1:%d/metrics' % other.web in other.ctl('status').stdout, 'not said')
    third = bench.daemon(start=False)
    third.web = other.web
    done = bench.run(third.arguments(), seconds=10)
    check(done.returncode and b'is in use' in done.stderr, 'it said %r', done.stderr)
    with urllib.request.urlopen('http://127.0.0.1:%d/status.json' % other.web, timeout=5) as got:
        equal(json.load(got)['instance'], other.instance, 'who serves')


def a_number_that_is_used_again(bench):
    """a peer that is gone is refused, also where another process has its number by then"""
    daemon = bench.daemon()
    try:
        with open('/proc/sys/kernel/ns_last_pid', encoding='utf-8') as last:
            last.read()
    except OSError as error:
        raise Skip('process numbers cannot be chosen here') from error
    sock = socket.socket(socket.AF_UNIX)
    daemon.process.send_signal(signal.SIGSTOP)
    connecting = os.fork()
    if not connecting:
        sock.connect(daemon.socket)
        os._exit(0)
    os.waitpid(connecting, 0)
    for _ in range(200):
        with open('/proc/sys/kernel/ns_last_pid', 'w', encoding='utf-8') as last:
            last.write(str(connecting - 1))
        other = os.fork()
        if not other:
            signal.pause()
            os._exit(0)
        if other == connecting:
            break
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)
    try:
        equal(other, connecting, 'the number of another process')
        daemon.process.send_signal(signal.SIGCONT)
        sock.settimeout(10)
        said = json.loads(sock.makefile('rb').readline())
        check('cannot be told' in said['error']['message'], 'it said %r', said)
    finally:
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)
    sock.close()


HOLD = '''
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
file = s.makefile('rwb')
file.write(b'{"jsonrpc":"2.0","id":1,"method":"events"}\\n')
file.flush()
print(b'result' in file.readline(), flush=True)
for row in sys.stdin:
    file.write(row.encode())
    file.flush()
print(file.read().decode(), flush=True)
'''


def clients_in_a_cgroup_that_becomes_watched(bench):
    """they end with the watch; who asked for it has its answer first, and others stay"""
    daemon = bench.daemon()
    cgroup = bench.cgroup()
    inside = bench.in_cgroup(cgroup, HOLD, daemon.socket)
    asking = bench.in_cgroup(cgroup, HOLD, daemon.socket)
    equal([p.stdout.readline() for p in (inside, asking)], [b'True\n'] * 2, 'before')
    outside = Control(daemon.socket)
    outside.call('status')
    request = {'jsonrpc': '2.0', 'id': 7, 'method': 'watch',
               'params': {'cgroup': cgroup, 'destroy': True}}
    said = asking.communicate(json.dumps(request).encode() + b'\n', timeout=10)[0].splitlines()
    check(any('"id":7,"result"' in row.decode().replace(' ', '') for row in said),
          'the answer is %r', said)
    inside.stdin.close()
    inside.wait(10)
    equal(len(outside.call('status')['watches']), 1, 'watches')
    outside.close()


def messages_cut_inside_a_rune(bench):
    """an error that quotes what was asked is an answer, wherever the quote is cut"""
    daemon = bench.daemon()
    control = Control(daemon.socket)
    for shift in range(3):
        long = 'x' * (62 + shift) + '\u00e9' * 300
        for method, params in ((long, {}), ('policy.show', {'name': long}),
                               ('events', {'types': [long]}), ('unwatch', {'cgroup': long}),
                               ('watch', {'cgroup': long}), ('run.create', {'policy_name': long})):
            try:
                control.call(method, **params)
                check(False, '%s was done', method)
            except RuntimeError as error:
                check('xxx' in str(error), 'it said %s', error)
    for name in os.listdir(daemon.audit):
        with open(os.path.join(daemon.audit, name), encoding='utf-8') as rows:
            for row in rows:
                json.loads(row)
    control.close()


def names_of_policies_are_bounded(bench):
    """more are refused with a reason; those that there are can be replaced"""
    daemon = bench.daemon()
    control = Control(daemon.socket)
    for number in range(NAMES_MAX - 1):
        control.call('policy.load', text=POLICY % ('p%d' % number))
    try:
        control.call('policy.load', text=POLICY % 'more')
        check(False, 'it was loaded')
    except RuntimeError as error:
        check('%d policies' % NAMES_MAX in str(error), 'it said %s', error)
    equal(control.call('policy.load', text=POLICY % 'p7' + '# anew\n')['replaced'], True, 'p7')
    equal(len(control.call('policy.show')['policies']), NAMES_MAX, 'names')
    control.close()


def numbers_of_policies_run_out(bench):
    """too many policies in a minute: a reload says so, and what is watched keeps its policy"""
    daemon = bench.daemon()
    cgroup = bench.cgroup()
    control = Control(daemon.socket)
    control.call('watch', cgroup=cgroup)
    kept, error = None, None
    with open(daemon.policy, encoding='utf-8') as file:
        text = file.read()
    for number in range(NAMES_MAX + 1):
        try:
            control.call('policy.load', text=text + '# %d\n' % number)
            kept = number
        except RuntimeError as refused:
            error = str(refused)
            break
    check(error and 'try again in a minute' in error, 'it said %s', error)
    shown = control.call('policy.show', name='test')['policies'][0]
    equal(shown['text'], text + '# %d\n' % kept, 'the policy of the name')
    equal(shown['watches'], [cgroup], 'its watches')
    equal(daemon.status()['watches'][0]['enforcing'], True, 'enforcing')
    done = daemon.agent('import sys\n')
    equal(done.returncode, 0, 'a run under the policy that is known')
    control.close()


if __name__ == '__main__':
    main([without_descriptors_it_rests, default_port_in_use, a_number_that_is_used_again,
          clients_in_a_cgroup_that_becomes_watched, messages_cut_inside_a_rune,
          names_of_policies_are_bounded, numbers_of_policies_run_out])
