#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ends of connections: half-closes pass in both directions, resets are passed
on, an upstream that refuses is a reset at once, a truncated tail is withheld."""
import json
import signal
import time

import peers
from sluice_test import line, main
from waiting import check, equal

AGENT_CLOSES_FIRST = '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(10)
s.sendall(b'{"t": "ask"}\\n')
s.shutdown(socket.SHUT_WR)
data = b""
while True:
    piece = s.recv(100)
    if not piece:
        break
    data += piece
print(data.hex())
'''

PEER_CLOSES_FIRST = '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(10)
assert s.makefile("rb").read() == b'{"t": "only"}\\n'
for n in range(5):
    s.sendall(b'{"t": "late %d"}\\n' % n)
s.shutdown(socket.SHUT_WR)
'''

RESET_BY_AGENT = '''
import socket, struct, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(10)
s.sendall(b'{"t": "clean"}\\n')
s.recv(100)
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
s.close()
'''

HOW_IT_ENDS = '''
import json, socket, sys, time
began = time.monotonic()
s = socket.socket()
s.settimeout(10)
data = b""
try:
    s.connect(("127.0.0.1", int(sys.argv[1])))
    s.sendall(bytes.fromhex(sys.argv[2]))
    if len(sys.argv) > 3:
        s.shutdown(socket.SHUT_WR)
    while True:
        piece = s.recv(100)
        if not piece:
            end = "eof"
            break
        data += piece
except (ConnectionResetError, BrokenPipeError):
    end = "reset"
print(json.dumps([end, data.hex(), time.monotonic() - began]))
'''


def agent_half_closes(bench):
    """the agent's half-close reaches the peer, whose answer still comes"""
    def answer(connection):
        connection.read_all()
        for number in range(5):
            connection.sock.sendall(line('late %d' % number))
            time.sleep(0.02)

    server = bench.server(answer)
    done = bench.daemon().agent(AGENT_CLOSES_FIRST, server.port)
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    equal(bytes.fromhex(done.stdout.decode()), b''.join(line('late %d' % n) for n in range(5)),
          'what the agent got')
    equal(bytes(server.ended().data), line('ask'), 'what the server got')
    equal(server.ended().end, 'eof', 'how the server\'s side ended')


def peer_half_closes(bench):
    """the peer's half-close reaches the agent, which goes on sending"""
    def first(connection):
        connection.sock.sendall(line('only'))
        connection.sock.shutdown(peers.socket.SHUT_WR)
        connection.read_all()

    server = bench.server(first)
    daemon = bench.daemon()
    done = daemon.agent(PEER_CLOSES_FIRST, server.port)
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    equal(bytes(server.ended().data), b''.join(line('late %d' % n) for n in range(5)),
          'what the server got')
    equal(server.ended().end, 'eof', 'how the server\'s side ended')
    equal(daemon.status()['streams']['complete'], 1, 'complete streams')


def agent_resets(bench):
    """the agent's reset reaches the peer"""
    def handler(connection):
        connection.take(connection.sock.recv(100))
        connection.sock.sendall(line('ok'))
        connection.read_all()

    server = bench.server(handler)
    daemon = bench.daemon()
    done = daemon.agent(RESET_BY_AGENT, server.port)
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    equal(server.ended().end, 'reset', 'how the server\'s side ended')
    equal(bytes(server.ended().data), line('clean'), 'what the server got')
    equal(daemon.status()['streams']['failed'], 1, 'failed streams')


def peer_resets(bench):
    """the peer's reset reaches the agent"""
    def handler(connection):
        connection.take(connection.sock.recv(100))
        peers.reset(connection.sock)

    server = bench.server(handler)
    done = bench.daemon().agent(HOW_IT_ENDS, server.port, line('clean').hex())
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    equal(json.loads(done.stdout)[0], 'reset', 'how the agent\'s side ended')


CONNECTS_WHEN_TOLD = '''
import socket, sys, time
print("ready", flush=True)
sys.stdin.readline()
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print("connected", flush=True)
sys.stdin.readline()
s.settimeout(10)
began = time.monotonic()
try:
    s.sendall(b'{"t": "clean"}\\n')
    print(s.recv(100))
except (ConnectionResetError, BrokenPipeError):
    print("reset", time.monotonic() - began)
'''


def nobody_listens(bench):
    """a connect to the loopback where nobody listens is refused, as without Sluice"""
    server = bench.server()
    server.close()
    daemon = bench.daemon()
    done = daemon.agent(HOW_IT_ENDS, server.port, line('clean').hex())
    check(b'ConnectionRefusedError' in done.stderr, 'the agent said %r', done.stderr)
    equal(daemon.status()['streams']['total'], 0, 'streams')
    equal(daemon.counters()['refused_no_peer'], 1, 'the counter')


def refused_upstream(bench):
    """an upstream that listened and then refuses the connection is a reset at once"""
    server = bench.server()
    daemon = bench.daemon()
    agent = daemon.start_agent(CONNECTS_WHEN_TOLD, server.port)
    equal(agent.stdout.readline(), b'ready\n', 'the agent\'s first word')
    # Accepted by the kernel for the daemon, which connects when it can again.
    daemon.process.send_signal(signal.SIGSTOP)
    agent.stdin.write(b'\n')
    agent.stdin.flush()
    equal(agent.stdout.readline(), b'connected\n', 'the agent\'s second word')
    server.close()
    daemon.process.send_signal(signal.SIGCONT)
    out, err = agent.communicate(b'\n', timeout=20)
    end, seconds = out.split()
    equal(end, b'reset', 'how the agent\'s side ended; run said %r' % err)
    # That nobody answers is another reason, and takes longer.
    check(float(seconds) < 5, 'only after %s s', seconds)
    equal(daemon.status()['streams']['failed'], 1, 'failed streams')
    check(b'upstream_refused 1' in err, 'the summary says %r', err)


def truncated_request(bench):
    """a half-close inside a unit: the residue is withheld and the peer sees a reset"""
    server = bench.server()
    daemon = bench.daemon()
    done = daemon.agent(HOW_IT_ENDS, server.port, (line('clean') + b'{"t":"ha').hex(), 'shut')
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    equal(json.loads(done.stdout)[0], 'reset', 'how the agent\'s side ended')
    equal(bytes(server.ended().data), line('clean'), 'what the server got')
    equal(server.ended().end, 'reset', 'how the server\'s side ended')
    check(b'truncated' in done.stderr, 'the summary does not say truncated: %r', done.stderr)


def truncated_response(bench):
    """the same by the peer"""
    def handler(connection):
        connection.sock.sendall(line('clean') + b'{"t":"ha')
        connection.sock.shutdown(peers.socket.SHUT_WR)
        connection.read_all()

    server = bench.server(handler)
    done = bench.daemon().agent(HOW_IT_ENDS, server.port, '')
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    end, data, _ = json.loads(done.stdout)
    equal((end, bytes.fromhex(data)), ('reset', line('clean')), 'what the agent got')


if __name__ == '__main__':
    main([agent_half_closes, peer_half_closes, agent_resets, peer_resets, nobody_listens,
          refused_upstream, truncated_request, truncated_response])
