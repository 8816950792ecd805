#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The control socket with clients that do what none should, and the times that it tells."""
import json
import os
import socket
import time

from sluice_test import Control, main
from waiting import check, equal, wait_for

# What each method takes, with values of the type that is wanted.
MEMBERS = {
    'streams': {'brief': True}, 'stream': {'id': 1}, 'deny': {'id': 1},
    'watch': {'cgroup': '/none', 'destroy': True},
    'unwatch': {'id': 1, 'cgroup': '/none'}, 'run.finish': {'id': 1, 'cgroup': '/none'},
    'run.create': {'policy_text': 'x', 'policy_file': '/none', 'policy_name': 'none'},
    'policy.load': {'text': 'x', 'name': 'none'}, 'policy.show': {'name': 'none'},
    'events': {'types': ['fence'], 'stream': 1, 'cgroup': '/none'},
}
VALUES = (None, True, 7, 1.5, 'x', ['x'], {'x': 1})
INVALID_PARAMS = -32602  # JSON-RPC 2.0, 5.1
INVALID_REQUEST = -32600

HOLDS = '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b'{"t": "a part')
print("sent", flush=True)
sys.stdin.readline()
s.sendall(b' more')
print("sent", flush=True)
sys.stdin.readline()
'''


def connect(daemon):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(10)
    sock.connect(daemon.socket)
    return sock


def request(method, **params):
    return json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': method,
                       'params': params}).encode() + b'\n'


def wrong_types(bench):
    """every member of every method, with a value of each type that is not its own"""
    daemon = bench.daemon()
    control = Control(daemon.socket)
    asked = 0
    for method, members in MEMBERS.items():
        for name, right in members.items():
            for value in VALUES:
                if isinstance(value, type(right)) and isinstance(value, bool) == \
                        isinstance(right, bool):
                    continue
                # The others of `watch` are looked at first, and there is no such cgroup.
                params = {name: value} if method != 'watch' else {**members, name: value}
                answer = control.raw(request(method, **params))
                equal(answer.get('error', {}).get('code'), INVALID_PARAMS,
                      '%s with %s %r' % (method, name, value))
                asked += 1
    check(asked > 80, 'only %d were asked', asked)
    equal(daemon.status()['watches'], [], 'cgroups that are watched')
    control.close()


def byte_by_byte(bench):
    """a request in pieces of a byte is answered as one, and nobody waits for its rest"""
    daemon = bench.daemon()
    slow, other = connect(daemon), Control(daemon.socket)
    for byte in request('status') * 2:
        slow.sendall(bytes([byte]))
        other.call('policy.show')
    file = slow.makefile('rb')
    for _ in range(2):
        equal(json.loads(file.readline())['result']['instance'], daemon.instance, 'the answer')
    slow.sendall(request('status')[:20])
    equal(other.call('status')['instance'], daemon.instance, 'the answer to another')
    slow.sendall(request('status')[20:])
    equal(json.loads(file.readline())['result']['instance'], daemon.instance, 'the late answer')
    file.close()
    slow.close()
    other.close()


def a_line_without_end(bench):
    """10 MB without an end are no request: it is said, and the client ended"""
    daemon = bench.daemon()
    sock = connect(daemon)
    try:
        for _ in range(160):
            sock.sendall(b'\0x' * 32768)
    except OSError:
        pass
    answer = b''
    try:
        while piece := sock.recv(65536):
            answer += piece
    except ConnectionError:
        pass
    equal(json.loads(answer)['error']['code'], INVALID_REQUEST, 'the answer')
    sock.close()


def gone_amid_an_answer(bench):
    """clients that go before, amid and behind their answers leave nothing, and get nobody else's"""
    daemon = bench.daemon()
    folder = '/proc/%d/fd' % daemon.process.pid
    before = len(os.listdir(folder))
    wanted = request('status') * 20 + request('streams') + request('events') + request('status')
    for turn in range(60):
        sock = connect(daemon)
        sock.sendall(wanted)
        if turn % 3:
            sock.recv(1 if turn % 2 else 30000)
        if turn % 4 == 1:
            sock.shutdown(socket.SHUT_WR)
        sock.close()
        # It may have the number of the one that has gone.
        control = Control(daemon.socket)
        equal(control.call('policy.show').keys(), {'policies'}, 'the answer to the next')
        control.close()
    # The journal, once it was told of the trail, has one too.
    wait_for(lambda: len(os.listdir(folder)) <= before + 1, 10, 'their descriptors to be closed')
    daemon.call('policy.reload')
    equal(daemon.status()['instance'], daemon.instance, 'the instance')


def ages_count_from_the_first_byte(bench):
    """how long the oldest byte is held is right from the first answer on, whatever follows it"""
    daemon, server = bench.daemon(), bench.server()
    agent = daemon.start_agent(HOLDS, server.port)
    earliest, latest = -float('inf'), float('inf')

    def look():
        """Narrows down when the byte came, by one answer."""
        nonlocal earliest, latest
        asked = time.monotonic()
        streams = daemon.call('streams')['streams']
        answered = time.monotonic()
        age = streams[0]['request']['held_age_s'] if streams else None
        if age is not None:
            # It is told in whole milliseconds.
            earliest = max(earliest, asked - age - 0.002)
            latest = min(latest, answered - age)
            check(earliest <= latest, 'an age of %s s is another byte\'s', age)
        return age is not None
    equal(agent.stdout.readline(), b'sent\n', 'the agent\'s word')
    sent = time.monotonic()
    wait_for(look, 10, 'the byte to be held')
    check(earliest <= sent, 'it came %s s after it was sent', earliest - sent)
    agent.stdin.write(b'\n')
    agent.stdin.flush()
    equal(agent.stdout.readline(), b'sent\n', 'the agent\'s word')
    # Two looks at the clocks of the flow, and more.
    while time.monotonic() < sent + 0.7:
        look()
    agent.communicate(b'\n', timeout=10)


if __name__ == '__main__':
    main([wrong_types, byte_by_byte, a_line_without_end, gone_amid_an_answer,
          ages_count_from_the_first_byte])
