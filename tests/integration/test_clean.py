#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cleared text arrives byte for byte, both ways, as it comes and not at the end."""
import json
import random

import peers
from sluice_test import POLICY, line, main, sha256
from waiting import check, equal

LOCKSTEP = '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(10)
lines = s.makefile("rb")
for n in range(50):
    s.sendall(b'{"t":"line %d"}\\n' % n)
    # The next line is written only after the answer to this one has come back.
    assert lines.readline() == b'{"t":"line %d"}\\n' % n
s.shutdown(socket.SHUT_WR)
assert lines.read() == b""
'''

BOTH_WAYS = '''
import hashlib, random, socket, sys, threading
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
data = open(sys.argv[2], "rb").read()
def send():
    rng, at = random.Random(1), 0
    while at < len(data):
        size = rng.choice([1, 7, 100, 1460, 9000, 65536, 300000])
        s.sendall(data[at:at + size])
        at += size
    s.shutdown(socket.SHUT_WR)
sender = threading.Thread(target=send)
sender.start()
digest = hashlib.sha256()
while True:
    piece = s.recv(100000)
    if not piece:
        break
    digest.update(piece)
sender.join()
print(digest.hexdigest())
'''

NAMES = '''
import json, socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b'{"t":"a"}\\n')
s.recv(100)
print(json.dumps([s.getpeername(), s.getsockname()]))
'''


def every_unit_comes_before_the_next_is_written(bench):
    """each unit arrives before the next is written, both ways"""
    server = bench.server(peers.echo)
    done = bench.daemon().agent(LOCKSTEP, server.port, seconds=20)
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    equal(bytes(server.ended().data), b''.join(line('line %d' % n).replace(b'": ', b'":')
                                               for n in range(50)), 'what arrived')


def bulk(bench, policy):
    rng = random.Random(7)
    words = ['forbid', 'den', 'for', 'biden', 'caf\u00e9', '\U0001f600', 'plain', '"\\', 'x' * 300]
    # Text joins across lines: each ends so that the next cannot complete a term.
    data = b''.join(line(' '.join(rng.choices(words, k=rng.randrange(1, 40))) + '.')
                    for _ in range(25000))
    path = bench.file('data', data.decode())
    server = bench.server(peers.echo)
    done = bench.daemon(policy).agent(BOTH_WAYS, server.port, path, seconds=60)
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    equal(sha256(server.ended().data), sha256(data), 'SHA-256 at the server')
    equal(done.stdout.decode().strip(), sha256(data), 'SHA-256 at the agent')
    check(len(data) > 4000000, 'only %d bytes', len(data))


def bulk_is_identical(bench):
    """megabytes in both directions at once arrive byte for byte"""
    bulk(bench, POLICY)


def bulk_is_identical_when_written_ahead(bench):
    """the same with on_deny: reset and eager writing"""
    bulk(bench, POLICY + 'on_deny: reset\nlimits: {eager_bytes: 1048576}\n')


def bulk_is_identical_unobserved(bench):
    """the same on tracks without tasks"""
    bulk(bench, 'version: 1\nname: bare\nframing: ndjson\nextract: auto\n')


def names_are_those_of_a_direct_connection(bench):
    """getpeername and getsockname answer as on a direct connection"""
    server = bench.server(peers.echo)
    done = bench.daemon().agent(NAMES, server.port)
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    peer, local = json.loads(done.stdout)
    equal(peer, ['127.0.0.1', server.port], 'getpeername')
    equal(local, list(server.connection().peer), 'getsockname')


def the_run_is_summed_up(bench):
    """run says in one line what was released and withheld, and passes the status on"""
    server = bench.server(peers.echo)
    daemon = bench.daemon()
    done = daemon.agent(LOCKSTEP + 'sys.exit(7)', server.port)
    equal(done.returncode, 7, 'exit status')
    rows = done.stderr.decode().strip().splitlines()
    equal(len(rows), 1, 'lines on standard error: %r' % rows)
    # The member's name is text as well: it counts one rune a line.
    runes = sum(len('t' + 'line %d' % n) for n in range(50))
    check('runes released %d,' % (2 * runes) in rows[0], 'no %d released runes in %r', 2 * runes,
          rows[0])
    status = daemon.status()
    equal(status['streams']['total'], 1, 'streams')
    equal(status['streams']['complete'], 1, 'complete streams')
    equal(status['streams']['open'], 0, 'open streams')
    equal(status['runes']['withheld'], 0, 'withheld runes')
    equal(status['runes']['released'], 2 * runes, 'released runes')


if __name__ == '__main__':
    main([every_unit_comes_before_the_next_is_written, bulk_is_identical,
          bulk_is_identical_when_written_ahead, bulk_is_identical_unobserved,
          names_are_those_of_a_direct_connection, the_run_is_summed_up])
