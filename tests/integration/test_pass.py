#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What policy passes is relayed without being judged, byte for byte."""
import hashlib
import json

import peers
from sluice_test import main
from waiting import check, equal

POLICY = '''version: 1
name: pass
destinations:
  - {match: "127.0.0.0/8:*", action: pass}
framing: ndjson
extract: raw
request: {tasks: [words]}
response: {tasks: [words]}
tasks:
  words: {kind: terms, terms: ["forbidden"]}
'''

# Blocks that differ, without spending the time on making a gigabyte of random bytes.
SEND = '''
import hashlib, os, socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
blocks, size, digest = int(sys.argv[2]), 1 << 20, hashlib.sha256()
seed = os.urandom(2 * size)
for n in range(blocks):
    at = (n * 7919) % size
    block = memoryview(seed)[at:at + size]
    digest.update(block)
    s.sendall(block)
s.shutdown(socket.SHUT_WR)
answer = b""
while True:
    piece = s.recv(100)
    if not piece:
        break
    answer += piece
print(digest.hexdigest(), answer.decode())
'''


def digest_of(connection):
    """Handler: answers with the SHA-256 of all it read."""
    digest, count, buffer = hashlib.sha256(), 0, bytearray(1 << 20)
    while True:
        got = connection.sock.recv_into(buffer)
        if not got:
            break
        count += got
        digest.update(memoryview(buffer)[:got])
    connection.arrivals.append(count)
    connection.sock.sendall(digest.hexdigest().encode())
    connection.end = 'eof'


def a_gigabyte(bench):
    """1 GB arrives with the same SHA-256"""
    server = bench.server(digest_of)
    daemon = bench.daemon(POLICY)
    done = daemon.agent(SEND, server.port, 954, seconds=90)
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    sent, arrived = done.stdout.decode().split()
    equal(arrived, sent, 'SHA-256')
    equal(server.ended().arrivals, [954 << 20], 'bytes')
    status = daemon.status()
    check(status['bytes']['released'] >= 954 << 20, 'released only %d bytes',
          status['bytes']['released'])
    equal(status['runes']['received'], 0, 'runes')
    equal(status['streams']['complete'], 1, 'complete streams')


def no_framing_is_asked(bench):
    """neither text that would be refused nor bytes that are no unit are looked at"""
    agent = '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(10)
s.sendall(b'{"t":"forbidden"}\\n\\xff\\x00 no unit')
data = s.recv(1000)
while b"unit" not in data:
    data += s.recv(1000)
print(data.hex())
'''
    server = bench.server(peers.echo)
    daemon = bench.daemon(POLICY)
    done = daemon.agent(agent, server.port)
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    equal(bytes.fromhex(done.stdout.decode()), b'{"t":"forbidden"}\n\xff\x00 no unit', 'the echo')


def shown_as_passed(bench):
    """a passed stream is listed with its action"""
    agent = '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"x")
s.recv(1)
sys.stdin.read()
'''
    server = bench.server(peers.echo)
    daemon = bench.daemon(POLICY)
    process = daemon.start_agent(agent, server.port)
    server.connection()
    listed = json.loads(daemon.ctl('streams', '--json').stdout)
    streams = listed['streams'] if isinstance(listed, dict) else listed
    equal([s['action'] for s in streams], ['pass'], 'actions')
    process.communicate(timeout=10)


if __name__ == '__main__':
    main([a_gigabyte, no_framing_is_asked, shown_as_passed])
