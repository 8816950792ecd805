#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Events: what happens, told to the clients that follow it, and never its text."""
import json
import os
import socket
import time

from sluice_test import POLICY, TERM, Control, line, main
from waiting import check, equal, wait_for

AGENT = '''
import socket, sys
for text in sys.argv[2:]:
    s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
    s.sendall(text.encode() + b'\\n')
    s.shutdown(socket.SHUT_WR)
    try:
        while s.recv(1000):
            pass
    except OSError:
        pass
'''


class Follower:
    """A control client that follows."""

    def __init__(self, daemon, **params):
        self.control = Control(daemon.socket)
        equal(self.control.call('events', **params), {'subscribed': True}, 'the answer')
        self.seen, self.text = [], b''

    def next(self, seconds=10):
        self.control.sock.settimeout(seconds)
        row = self.control.file.readline()
        check(row, 'the daemon closed the connection')
        self.text += row
        notification = json.loads(row)
        equal((notification['jsonrpc'], notification['method'], 'id' in notification),
              ('2.0', 'event', False), 'what it is')
        self.seen.append(notification['params'])
        return self.seen[-1]

    def until(self, **wanted):
        """The first event that has those members."""
        while True:
            event = self.next()
            if all(event.get(name) == value for name, value in wanted.items()):
                return event

    def types(self):
        return [event['type'] for event in self.seen]

    def close(self):
        self.control.close()


def talk(bench, daemon, cgroup, *texts, server=None):
    server = server or bench.server()
    agent = bench.in_cgroup(cgroup, AGENT, server.port,
                            *[line(text).decode().strip() for text in texts])
    agent.wait(20)


def what_is_told(bench):
    """streams, sessions, denials, refusals, watches, policies and calls, in order, with members"""
    daemon = bench.daemon()
    follower = Follower(daemon)
    cgroup = bench.cgroup()
    daemon.call('watch', cgroup=cgroup)
    talk(bench, daemon, cgroup, 'clean', 'a %s word' % TERM)
    daemon.call('policy.load', text=POLICY.replace(TERM, 'other'))
    daemon.call('unwatch', cgroup=cgroup)
    follower.until(type='control', method='unwatch')
    kinds = follower.types()
    equal([kind for kind in kinds if kind in ('watch', 'unwatch', 'policy', 'control')],
          ['watch', 'control', 'policy', 'control', 'unwatch', 'control'], 'what was steered')
    equal([kind for kind in kinds if kind.startswith('s') or kind == 'outcome'],
          ['stream_opened', 'session_opened', 'session_settled', 'stream_settled',
           'stream_opened', 'session_opened', 'outcome', 'session_settled', 'stream_settled'],
          'what the streams did')
    by = {event['type']: event for event in follower.seen}
    equal(by['stream_settled']['end'], 'denied', 'how the last ended')
    equal((by['outcome']['task'], by['outcome']['decision'], by['outcome']['enforcing']),
          ('words', 'denied', True), 'the outcome')
    equal(by['watch']['cgroup'], cgroup, 'the cgroup')
    equal((by['control']['uid'], by['control']['pid'], by['control']['result']),
          (0, os.getpid(), 'done'), 'who called')
    check(all('time' in event and 'seq' not in event and 'hash' not in event
              for event in follower.seen), 'it has %r', follower.seen)
    check(TERM.encode() not in follower.text and b'clean' not in follower.text, 'text was told')
    equal(by['policy']['policy'], 'test', 'the policy')
    follower.close()


def filters(bench):
    """by type, by stream and by cgroup; watermarks only where they are asked for"""
    daemon = bench.daemon()
    cgroups = [bench.cgroup('a'), bench.cgroup('b')]
    for cgroup in cgroups:
        daemon.call('watch', cgroup=cgroup)
    every, marks = Follower(daemon), Follower(daemon, types=['watermark', 'control'])
    one = Follower(daemon, cgroup=cgroups[1])
    talk(bench, daemon, cgroups[0], 'clean')
    talk(bench, daemon, cgroups[1], 'clean')
    stream = every.until(type='stream_settled', cgroup=cgroups[1])['stream']
    first = every.seen[0]['stream']
    single = Follower(daemon, stream=first)
    daemon.call('policy.reload')
    check('watermark' not in every.types(), 'watermarks were told unasked')
    one.until(type='stream_settled')
    equal({event['stream'] for event in one.seen}, {stream}, 'streams of the cgroup')
    marks.until(type='control')
    equal(set(marks.types()), {'watermark', 'control'}, 'types')
    equal([event['confirmed'] for event in marks.seen if event['type'] == 'watermark'], [6, 6],
          'watermarks')
    single.control.sock.settimeout(0.2)
    try:
        raise AssertionError('it was told %r' % single.next(0.2))
    except TimeoutError:
        pass
    for params, word in (({'types': 'x'}, 'list'), ({'types': [1]}, 'list'),
                         ({'types': ['none']}, "'none'"), ({'stream': -1}, 'number'),
                         ({'cgroup': '/none'}, 'cgroup')):
        try:
            daemon.call('events', **params)
            raise AssertionError('%r was taken' % params)
        except RuntimeError as error:
            check(word in str(error), 'it said %s', error)
    for follower in (every, marks, one, single):
        follower.close()


def fence(bench):
    """what the fence refuses is told with its kind and the process"""
    daemon = bench.daemon()
    cgroup = bench.cgroup()
    daemon.call('watch', cgroup=cgroup)
    follower = Follower(daemon, types=['fence'])
    agent = bench.in_cgroup(cgroup, '''
import socket
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))
except OSError:
    pass
''')
    agent.wait(10)
    event = follower.next()
    equal((event['cgroup'], event['pid'], event['peer']), (cgroup, agent.pid, '127.0.0.1:9'),
          'the event')
    check(event['kind'].startswith('fence_'), 'its kind is %s', event['kind'])
    follower.close()


def without_a_trail(bench):
    """events are told where there is no trail, and SIGHUP and refused calls are among them"""
    daemon = bench.daemon(start=False)
    daemon.options += ['--no-audit']
    daemon.start()
    follower = Follower(daemon, types=['control', 'stream_settled'])
    cgroup = bench.cgroup()
    daemon.call('watch', cgroup=cgroup)
    talk(bench, daemon, cgroup, 'clean')
    daemon.process.send_signal(1)
    equal(follower.until(type='stream_settled')['end'], 'complete', 'its end')
    event = follower.until(type='control', target='SIGHUP')
    equal((event['method'], event['uid'], event['pid'], event['result']),
          ('policy.reload', 0, 0, 'done'), 'the reload')
    follower.close()


def slow_reader(bench):
    """who does not read loses events, is told how many, and keeps nobody waiting"""
    daemon = bench.daemon()
    deaf, quick = Follower(daemon), Follower(daemon, types=['policy'])
    control = Control(daemon.socket)
    began = time.monotonic()
    calls = 6000
    texts = [POLICY.replace(TERM, 'word%d' % (turn % 2)) for turn in range(2)]
    for turn in range(calls):
        control.call('policy.load', text=texts[turn % 2])
        quick.next()
    took = time.monotonic() - began
    with open('/proc/%d/status' % daemon.process.pid, encoding='ascii') as status:
        resident = int([row for row in status if row.startswith('VmRSS')][0].split()[1])
    check(resident < 400 << 10, 'the daemon has %d KiB', resident)
    lost = deaf.until(type='lost')
    told = len(deaf.seen) - 1
    equal(told + lost['count'], 2 * calls, 'events told and lost')
    check(lost['count'] > 1000, 'only %d were lost in %.1f s', lost['count'], took)
    control.call('policy.load', text=texts[1])
    equal([deaf.next()['type'], deaf.next()['type']], ['policy', 'control'], 'what is told then')
    equal(len(quick.seen), calls, 'what the quick one was told')
    for client in (deaf, quick, control):
        client.close()
    equal(daemon.status()['instance'], daemon.instance, 'the instance')


def calls_beside(bench):
    """one who follows asks on, asks for something else, and goes without a word"""
    daemon = bench.daemon()
    follower = Follower(daemon, types=['policy'])
    equal(follower.control.call('status')['instance'], daemon.instance, 'the instance')
    equal(follower.control.call('events', types=['control']), {'subscribed': True}, 'the answer')
    daemon.call('policy.load', text=POLICY.replace(TERM, 'other'))
    equal(follower.next()['type'], 'control', 'what is told')
    follower.control.sock.shutdown(socket.SHUT_RDWR)
    follower.close()
    for _ in range(200):
        gone = Follower(daemon)
        gone.close()
    daemon.call('policy.reload')
    wait_for(lambda: daemon.status()['instance'] == daemon.instance, 5, 'an answer')


if __name__ == '__main__':
    main([what_is_told, filters, fence, without_a_trail, slow_reader, calls_beside])
