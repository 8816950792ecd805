#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A peer that reads slowly slows its own stream down and nothing else; nothing
is killed for it, and all of it arrives."""
import hashlib
import time

import peers
from sluice_test import POLICY, line, main, sha256
from waiting import check, equal, wait_for

LIMITED = POLICY + 'limits: {max_message_bytes: 65536, hold_bytes_per_flow: 1048576}\n'

# Says every half second how much was written, and the digest at the end.
FLOOD = '''
import hashlib, socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
total, sent, digest = int(sys.argv[2]), 0, hashlib.sha256()
unit = b'{"t": "' + b"x" * 1000 + b'"}\\n'
s.settimeout(60)
said = time.monotonic()
while sent < total:
    s.sendall(unit)
    sent += len(unit)
    digest.update(unit)
    if time.monotonic() - said > 0.2:
        said = time.monotonic()
        print(sent, flush=True)
print("all", digest.hexdigest(), flush=True)
s.shutdown(socket.SHUT_WR)
s.recv(1)
'''

ECHO = '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(10)
lines = s.makefile("rb")
for n in range(200):
    s.sendall(b'{"t": "%d"}\\n' % n)
    assert lines.readline() == b'{"t": "%d"}\\n' % n
'''


def resident_kib(pid):
    with open('/proc/%d/status' % pid, encoding='ascii') as status:
        return next(int(row.split()[1]) for row in status if row.startswith('VmRSS'))


def stalls(daemon):
    """The stream's byte counts once they have not moved for a while."""
    last, since = None, time.monotonic()
    end = since + 20
    while time.monotonic() < end:
        streams = daemon.call('streams')['streams']
        now = streams and (streams[0]['request']['received'], streams[0]['request']['held'])
        if now != last:
            last, since = now, time.monotonic()
        elif now and time.monotonic() - since > 0.7:
            return now
        time.sleep(0.05)
    raise AssertionError('the flow never stood still: %r' % (last,))


def stalled_peer(bench):
    """a peer that does not read: the agent stops in send(), memory stays bounded, then all comes"""
    go = []

    def handler(connection):
        wait_for(lambda: go, 60, 'the test')
        connection.read_all()

    server = bench.server(handler)
    echo = bench.server(peers.echo)
    daemon = bench.daemon(LIMITED)
    before = resident_kib(daemon.process.pid)
    total = 64 << 20
    agent = daemon.start_agent(FLOOD, server.port, total)
    server.connection()
    received, held = stalls(daemon)
    check(received < total, 'all %d bytes were taken from the agent', received)
    check(held <= 1048576, '%d bytes are held, over the limit', held)
    grown = resident_kib(daemon.process.pid) - before
    check(grown < 8192, 'the daemon grew by %d KiB', grown)
    # Another stream of the same daemon is not slowed down.
    began = time.monotonic()
    done = daemon.agent(ECHO, echo.port)
    equal(done.returncode, 0, 'exit status beside a stalled stream; %r' % done.stderr)
    check(time.monotonic() - began < 5, 'slow beside a stalled stream')
    go.append(True)
    connection = server.ended(seconds=40)
    equal(len(connection.data) >= total, True, 'all arrived')
    connection.sock.close()
    out, err = agent.communicate(timeout=20)
    equal(agent.returncode, 0, 'exit status; %r' % err)
    equal(out.decode().split()[-1], sha256(connection.data), 'SHA-256')


def dripping_peer(bench):
    """a peer that reads a little at a time gets everything, exactly"""
    def handler(connection):
        for _ in range(300):
            time.sleep(0.005)
            piece = connection.sock.recv(3000)
            if not piece:
                break
            connection.take(piece)
        connection.read_all()

    server = bench.server(handler)
    daemon = bench.daemon(LIMITED)
    done = daemon.agent(FLOOD, server.port, 6 << 20, seconds=40)
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    equal(done.stdout.decode().split()[-1], sha256(server.ended().data), 'SHA-256')
    equal(daemon.status()['streams']['failed'], 0, 'failed streams')


def stalled_agent(bench):
    """an agent that does not read stalls the peer, and gets everything in the end"""
    unit = line('y' * 1000)
    total = 32 << 20
    sent = []

    def handler(connection):
        data = unit * (total // len(unit))
        view = memoryview(data)
        while view:
            count = connection.sock.send(view[:65536])
            sent.append(count)
            view = view[count:]
        connection.sock.shutdown(peers.socket.SHUT_WR)
        connection.read_all()

    slow = '''
import hashlib, socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
sys.stdin.readline()
digest = hashlib.sha256()
while True:
    piece = s.recv(65536)
    if not piece:
        break
    digest.update(piece)
print(digest.hexdigest())
'''
    server = bench.server(handler)
    daemon = bench.daemon(LIMITED)
    agent = daemon.start_agent(slow, server.port)
    server.connection()

    def still():
        before = sum(sent)
        time.sleep(0.7)
        return before and sum(sent) == before

    wait_for(still, 20, 'the peer to stall')
    check(sum(sent) < total, 'all was taken from the peer')
    out, err = agent.communicate(b'go\n', timeout=40)
    equal(agent.returncode, 0, 'exit status; %r' % err)
    digest = hashlib.sha256(unit * (total // len(unit))).hexdigest()
    equal(out.decode().strip(), digest, 'SHA-256')


if __name__ == '__main__':
    main([stalled_peer, dripping_peer, stalled_agent])
