#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Limits on what is held: a full hold stops reading, nothing is lost, and the
clock of a message runs only while its flow is read."""
import time

from sluice_test import POLICY, line, main
from waiting import check, equal, wait_for

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


def stopped_reading_stops_the_clock(bench):
    """a peer that stalls longer than the message timeouts does not make its stream stale"""
    go = []

    def handler(connection):
        wait_for(lambda: go, 60, 'the test')
        connection.read_all()

    server = bench.server(handler)
    daemon = bench.daemon(POLICY + 'limits: {max_message_bytes: 65536, hold_bytes_per_flow: 131072,'
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
    main([full_hold_stops_reading, full_total_stops_reading, stopped_reading_stops_the_clock,
          idle_between_messages_is_no_fault, empty_streams])
