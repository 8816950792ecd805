#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Limits on what is held: a full hold stops reading, nothing is lost, and the
clock of a message runs only while its flow is read."""
import time

import peers
from sluice_test import POLICY, line, main
from waiting import Skip, check, equal, wait_for

# One clean line per connection, then lines without end; stops when told.
FLOOD = '''
import socket, sys, threading, time
port, count, total = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
unit = b'{"t": "' + b"x" * 1000 + b'"}\\n'
faults = []
def one():
    try:
        s = socket.create_connection(("127.0.0.1", port))
        s.settimeout(40)
        sent = 0
        while sent < total:
            s.sendall(unit)
            sent += len(unit)
        s.shutdown(socket.SHUT_WR)
        assert s.recv(1) == b""
    except BaseException as fault:
        faults.append(repr(fault))
threads = [threading.Thread(target=one) for _ in range(count)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(faults)
'''


# Round trips for some seconds, or until one takes too long; says the longest.
ECHO = '''
import socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(10)
print("ready", flush=True)
sys.stdin.readline()
longest, end = 0, time.monotonic() + 2
while time.monotonic() < end:
    began = time.monotonic()
    s.sendall(b'{"t": "x"}\\n')
    assert s.recv(100) == b'{"t": "x"}\\n'
    longest = max(longest, time.monotonic() - began)
    time.sleep(0.01)
print(longest)
'''

# Unfinished messages of many short texts that all could still begin a term.
PARTIAL = '''
import socket, sys, time
unit = b"[" + b",".join(b'{"k%d":"f"}' % n for n in range(15000))
streams = []
for n in range(int(sys.argv[2])):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.settimeout(0.5)
    streams.append(s)
    try:
        s.sendall(unit)
    except OSError:
        pass
sys.stdin.readline()
'''


def held_of(daemon):
    return [f['held'] for s in daemon.call('streams')['streams']
            for f in (s['request'], s['response'])]


def still(daemon, count):
    """The held bytes of all flows once nothing moves."""
    last, since = None, time.monotonic()
    end = since + 25
    while time.monotonic() < end:
        now = held_of(daemon)
        if now != last:
            last, since = now, time.monotonic()
        elif len(now) == 2 * count and sum(now) and time.monotonic() - since > 0.7:
            return now
        time.sleep(0.05)
    raise AssertionError('the flows never stood still: %r' % (last,))


def flood(bench, count, limits, total):
    go = []

    def handler(connection):
        wait_for(lambda: go, 60, 'the test')
        connection.read_all()

    server = bench.server(handler)
    daemon = bench.daemon(POLICY + 'limits: %s\n' % limits)
    agent = daemon.start_agent(FLOOD, server.port, count, total)
    held = still(daemon, count)
    go.append(True)
    out, err = agent.communicate(timeout=60)
    equal((agent.returncode, out), (0, b'[]\n'), 'status, faults; %r' % err)
    arrived = {len(server.ended(n).data) for n in range(count)}
    unit = len(line('x' * 1000))
    equal(arrived, {(total + unit - 1) // unit * unit}, 'bytes that arrived')
    return held


def full_hold_stops_reading(bench):
    """no flow holds more than hold_bytes_per_flow, and all arrives in the end"""
    held = flood(bench, 4, '{max_message_bytes: 65536, hold_bytes_per_flow: 524288}', 16 << 20)
    for count in held:
        check(count <= 524288, 'a flow holds %d bytes, over its limit', count)


def full_total_stops_reading(bench):
    """all flows together hold no more than hold_bytes_total, and all arrives in the end"""
    held = flood(bench, 8, '{max_message_bytes: 65536, hold_bytes_per_flow: 1048576, '
                 'hold_bytes_total: 2097152}', 12 << 20)
    check(sum(held) <= 2097152, 'the flows hold %d bytes together, over the limit', sum(held))


def others_go_on(bench, daemon, begin):
    """Another agent's round trips go on before and after `begin` filled what it may."""
    echo = bench.server(peers.echo)
    other = daemon.start_agent(ECHO, echo.port)
    equal(other.stdout.readline(), b'ready\n', 'the first line of the other agent')
    begin()
    out, err = other.communicate(b'\n', timeout=60)
    equal(other.returncode, 0, 'exit status of the other agent; %r' % err)
    check(float(out) < 2, 'a round trip of the other agent took %s s', out)


def one_agent_leaves_room_for_others(bench):
    """an agent whose peer does not read cannot stop the streams of another"""
    go = []

    def handler(connection):
        wait_for(lambda: go, 60, 'the test')
        connection.read_all()

    def begin():
        floods.append(daemon.start_agent(FLOOD, server.port, 12, 12 << 20))
        still(daemon, 13)

    server, floods = bench.server(handler), []
    daemon = bench.daemon(POLICY + 'limits: {max_message_bytes: 65536, '
                          'hold_bytes_per_flow: 262144, hold_bytes_total: 1048576}\n')
    others_go_on(bench, daemon, begin)
    go.append(True)
    out, err = floods[0].communicate(timeout=60)
    equal((floods[0].returncode, out), (0, b'[]\n'), 'status, faults; %r' % err)


def one_agent_leaves_streams_for_others(bench):
    """an agent that opens all the streams it can leaves some to another"""
    agent = '''
import socket, sys
open_streams = []
for n in range(int(sys.argv[2])):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.settimeout(10)
    try:
        s.sendall(b'{"t": "x"}\\n')
        if s.recv(100):
            open_streams.append(s)
    except OSError:
        pass
print(len(open_streams), flush=True)
sys.stdin.readline()
'''
    echo = bench.server(peers.echo)
    daemon = bench.daemon(start=False)
    arguments = daemon.arguments()
    daemon.arguments = lambda: ['prlimit', '--nofile=600:600', *arguments]
    daemon.start()
    most = daemon.status()['limits']['streams_max']
    if most > 200:
        raise Skip('the daemon may have more descriptors than the test gave it')
    greedy = daemon.start_agent(agent, echo.port, most)
    got = int(greedy.stdout.readline())
    check(most // 2 < got < most * 9 // 10, 'the first agent got %d streams of %d', got, most)
    done = daemon.agent(agent, echo.port, 5)
    equal((done.returncode, done.stdout), (0, b'5\n'), 'of the other; %r' % done.stderr)
    greedy.communicate(b'\n', timeout=30)
    wait_for(lambda: daemon.status()['streams']['open'] == 0, 5, 'the streams to end')
    done = daemon.agent(agent, echo.port, most // 2)
    equal(done.stdout, b'%d\n' % (most // 2), 'streams once the first agent is gone')


def memory_of_judging_counts_as_held(bench):
    """texts that wait in unfinished messages count with the memory they take"""
    def begin():
        started.append(daemon.start_agent(PARTIAL, server.port, count))
        wait_for(lambda: len(daemon.call('streams')['streams']) == count + 1, 30, 'the streams')
        time.sleep(1)

    server, count, started = bench.server(), 12, []
    daemon = bench.daemon(POLICY + 'limits: {max_message_bytes: 1048576, '
                          'hold_bytes_per_flow: 2097152, hold_bytes_total: 12582912}\n')
    others_go_on(bench, daemon, begin)
    received = [s['request']['received'] for s in daemon.call('streams')['streams']]
    limits = daemon.status()['limits']
    check(limits['held_bytes'] < 1 << 20, '%d bytes are held', limits['held_bytes'])
    check(received.count(0) >= 2, 'all streams were read: %r', received)
    started[0].communicate(b'\n', timeout=30)


def stopped_reading_stops_the_clock(bench):
    """a peer that stalls longer than the message timeouts does not make its stream stale"""
    go = []

    def handler(connection):
        wait_for(lambda: go, 60, 'the test')
        connection.read_all()

    server = bench.server(handler)
    daemon = bench.daemon(POLICY + 'limits: {max_message_bytes: 65536, hold_bytes_per_flow: 262144,'
                          ' incomplete_message_timeout_s: 1, message_deadline_s: 2}\n')
    agent = daemon.start_agent(FLOOD, server.port, 1, 16 << 20)
    still(daemon, 1)
    time.sleep(2.5)
    equal(daemon.status()['streams']['failed'], 0, 'failed streams')
    go.append(True)
    out, err = agent.communicate(timeout=60)
    equal((agent.returncode, out), (0, b'[]\n'), 'status, faults; %r' % err)


def idle_between_messages_is_no_fault(bench):
    """a stream that is idle at a message boundary outlives every message timeout"""
    agent = '''
import json, socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(10)
for n in range(2):
    s.sendall(b'{"t": "x"}\\n')
    time.sleep(2.6)
print("done")
'''
    server = bench.server()
    daemon = bench.daemon(POLICY + 'limits: {incomplete_message_timeout_s: 1, '
                          'message_deadline_s: 2, hold_timeout_s: 1}\n')
    done = daemon.agent(agent, server.port)
    equal(done.stdout, b'done\n', 'it said %r' % done.stderr)
    equal(bytes(server.ended().data), line('x') * 2, 'what arrived')


def empty_streams(bench):
    """connections that are opened and closed without a byte settle as complete"""
    agent = '''
import socket, sys
for n in range(20):
    socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()
'''
    server = bench.server()
    daemon = bench.daemon()
    done = daemon.agent(agent, server.port)
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    for number in range(20):
        equal(bytes(server.ended(number).data), b'', 'what arrived')
    wait_for(lambda: daemon.status()['streams']['open'] == 0, 5, 'the streams to end')
    streams = daemon.status()['streams']
    equal((streams['total'], streams['complete']), (20, 20), 'streams total, complete')


if __name__ == '__main__':
    main([full_hold_stops_reading, full_total_stops_reading, one_agent_leaves_room_for_others,
          one_agent_leaves_streams_for_others, memory_of_judging_counts_as_held,
          stopped_reading_stops_the_clock, idle_between_messages_is_no_fault, empty_streams])
