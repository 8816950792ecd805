#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""IPv6, and IPv4 through an IPv6 socket: captured, judged and named the same."""
import json
import os
import socket

import peers
from sluice_test import line, main
from waiting import Skip, equal

AGENT = '''
import json, socket, sys
address, port, clean, refused = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
s = socket.socket(socket.AF_INET6)
s.settimeout(10)
s.connect((address, port))
s.sendall(bytes.fromhex(clean))
got = s.recv(1000)
names = [s.getpeername()[:2], s.getsockname()[:2]]
try:
    s.sendall(bytes.fromhex(refused))
    end = s.recv(100).hex() or "eof"
except (ConnectionResetError, BrokenPipeError):
    end = "reset"
print(json.dumps([got.hex(), end, names]))
'''

TERM = b'{"t":"Forbidden"}\n'


def handler(connection):
    connection.take(connection.sock.recv(1000))
    connection.sock.sendall(line('answer'))
    connection.read_all()


def both(bench, server, address, shown):
    done = bench.daemon().agent(AGENT, address, server.port, line('clean').hex(), TERM.hex())
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    got, end, names = json.loads(done.stdout)
    equal(bytes.fromhex(got), line('answer'), 'what the agent got')
    equal(end, 'reset', 'how the agent\'s side ended')
    equal(names[0], [shown, server.port], 'getpeername')
    equal(names[1][1], server.connection().peer[1], 'the port of getsockname')
    equal(bytes(server.ended().data), line('clean'), 'what the server got')
    equal(server.ended().end, 'reset', 'how the server\'s side ended')


def over_ipv6(bench):
    """a stream over IPv6"""
    if not os.path.exists('/proc/net/if_inet6'):
        raise Skip('this kernel has no IPv6')
    both(bench, bench.server(handler, socket.AF_INET6), '::1', '::1')


def over_mapped_ipv4(bench):
    """IPv4 spoken by an IPv6 socket"""
    both(bench, bench.server(handler), '::ffff:127.0.0.1', '::ffff:127.0.0.1')


def destinations_of_both_families(bench):
    """a destination rule for IPv4 covers its mapped form, and one for IPv6 does not"""
    policy = '''version: 1
name: rules
destinations:
  - {match: "127.0.0.1:*", action: deny}
  - {match: "[::1]:*", action: pass}
framing: ndjson
extract: raw
'''
    probe = '''
import json, socket, sys
out = []
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1"),
                        (socket.AF_INET6, "::1")):
    s = socket.socket(family)
    s.settimeout(10)
    try:
        s.connect((address, int(sys.argv[1])))
        s.sendall(b"no unit")
        out.append(s.recv(100).decode())
    except OSError as error:
        out.append(type(error).__name__)
print(json.dumps(out))
'''
    server = bench.server(peers.echo, socket.AF_INET6)
    done = bench.daemon(policy).agent(probe, server.port)
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    refused, mapped, passed = json.loads(done.stdout)
    equal(passed, 'no unit', 'over IPv6')
    for what in (refused, mapped):
        if what not in ('ConnectionRefusedError', 'PermissionError'):
            raise AssertionError('a denied destination answered %r' % what)


if __name__ == '__main__':
    main([over_ipv6, over_mapped_ipv4, destinations_of_both_families])
