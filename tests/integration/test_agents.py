#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Unmodified programs in C, Python and Node as agents, by every way to send."""
import json
import os
import random
import shutil
import threading

import peers
from sluice_test import PYTHON, line, main
from waiting import Skip, check, equal

WAYS = ('plain', 'nonblocking', 'fastopen', 'vectors', 'sendfile', 'splice', 'zerocopy')
TERM = b'{"t":"so FORBIDDEN"}\n'

NODE = '''
const net = require('net');
const lines = Number(process.argv[3]), refused = process.argv[4] === 'refused';
const socket = net.connect(Number(process.argv[2]), '127.0.0.1');
let got = '', sent = '', n = 0;
function next() {
    const unit = JSON.stringify({t: `node line ${n++} \\u00e9\\u{1f600}`}) + '\\n';
    sent += unit;
    socket.write(unit);
}
socket.setEncoding('utf8');
socket.on('connect', next);
socket.on('data', (data) => {
    got += data;
    if (got !== sent)
        return;
    if (n < lines)
        next();
    else if (refused)
        socket.write('{"t":"forbidden"}\\n');
    else
        socket.end();
});
socket.on('error', (error) => { console.log(error.code); process.exit(3); });
socket.on('close', () => { console.log(got === sent ? 'same' : 'different'); });
'''

THREADS = '''
import asyncio, json, sys
port, count = int(sys.argv[1]), int(sys.argv[2])
async def one(number):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for n in range(20):
        unit = json.dumps({"t": "task %d, %d" % (number, n)}).encode() + b"\\n"
        writer.write(unit)
        await writer.drain()
        assert await reader.readline() == unit
    writer.write_eof()
    assert await reader.read() == b""
    writer.close()
async def main():
    await asyncio.gather(*(one(n) for n in range(count)))
asyncio.run(main())
print("same")
'''


def data_file(bench, tail=b''):
    rng = random.Random(3)
    data = b''.join(line('r%d ' % rng.getrandbits(64) * rng.randrange(1, 20))
                    for _ in range(800)) + tail
    path = bench.file('data', data.decode())
    return path, data


def c_program(bench):
    """a C program by seven ways of sending, all of it cleared"""
    server = bench.server(peers.echo)
    daemon = bench.daemon()
    path, data = data_file(bench)
    for number, way in enumerate(WAYS):
        done = bench.run(daemon.run_command([bench.program('agent_stream'), way,
                                             str(server.port), path]))
        equal(done.returncode, 0, '%s: exit status; it said %r' % (way, done.stderr))
        equal(bytes(server.ended(number).data), data, way + ': what arrived')


def c_program_refused(bench):
    """the same with a refused term at the end: it is withheld, whatever the way"""
    server = bench.server(peers.echo)
    daemon = bench.daemon()
    path, data = data_file(bench, TERM)
    clean = data[:-len(TERM)]
    for number, way in enumerate(WAYS):
        done = bench.run(daemon.run_command([bench.program('agent_stream'), way,
                                             str(server.port), path]))
        equal(done.returncode, 3, '%s: exit status; it said %r' % (way, done.stderr))
        arrived = bytes(server.ended(number).data)
        check(clean.startswith(arrived), '%s: more arrived than was clean', way)
        check(arrived.endswith(b'\n') or not arrived, '%s: a part of a unit arrived', way)


def node_program(bench):
    """a Node.js program, cleared and refused"""
    node = shutil.which('node')
    if not node:
        raise Skip('node is not installed')
    server = bench.server(peers.echo)
    daemon = bench.daemon()
    script = bench.file('agent.js', NODE)
    done = bench.run(daemon.run_command([os.path.realpath(node), script, str(server.port), '30']))
    equal((done.returncode, done.stdout), (0, b'same\n'), 'cleared; it said %r' % done.stderr)
    done = bench.run(daemon.run_command([os.path.realpath(node), script, str(server.port), '30',
                                         'refused']))
    equal((done.returncode, done.stdout), (3, b'ECONNRESET\n'), 'refused; %r' % done.stderr)
    for number in (0, 1):
        arrived = bytes(server.ended(number).data)
        equal(arrived.count(b'\n'), 30, 'lines of connection %d' % number)
        check(b'forbidden' not in arrived, 'the refused term arrived')


def python_asyncio(bench):
    """a Python program with fifty streams of asyncio"""
    server = bench.server(peers.echo)
    done = bench.daemon().agent(THREADS, server.port, 50)
    equal((done.returncode, done.stdout), (0, b'same\n'), 'it said %r' % done.stderr)


def two_runs_do_not_mix(bench):
    """two runs at once, each under a policy of its own"""
    server = bench.server(peers.echo)
    daemon = bench.daemon()
    agent = '''
import json, socket, sys
outcome = {}
for word in ("apple", "berry"):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.settimeout(10)
    s.sendall(json.dumps({"t": word}).encode() + b"\\n")
    try:
        outcome[word] = s.recv(100).decode() and "ok"
    except ConnectionResetError:
        outcome[word] = "reset"
print(json.dumps(outcome))
'''
    outcomes = {}

    def run(word):
        policy = ('version: 1\nname: no-%s\nframing: ndjson\nextract: raw\n'
                  'request: {tasks: [words]}\ntasks:\n'
                  '  words: {kind: terms, terms: ["%s"]}\n' % (word, word))
        path = bench.file(word + '.py', agent)
        done = bench.run(daemon.run_command([PYTHON, path, str(server.port)], policy))
        outcomes[word] = json.loads(done.stdout or b'null')

    threads = [threading.Thread(target=run, args=(word,)) for word in ('apple', 'berry')]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(outcomes, {'apple': {'apple': 'reset', 'berry': 'ok'},
                     'berry': {'apple': 'ok', 'berry': 'reset'}}, 'outcomes')


def reconnecting_socket(bench):
    """one socket, disconnected and connected elsewhere: judged by its new destination"""
    one, two = bench.server(peers.echo), bench.server(peers.echo)
    agent = '''
import ctypes, json, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
s = socket.socket()
s.settimeout(10)
names = []
for port in map(int, sys.argv[1:3]):
    s.connect(("127.0.0.1", port))
    s.sendall(b'{"t":"to %d"}\\n' % port)
    got = s.recv(100)
    assert got == b'{"t":"to %d"}\\n' % port, got
    names.append(s.getpeername()[1])
    assert libc.connect(s.fileno(), struct.pack("H14x", socket.AF_UNSPEC), 16) == 0
print(json.dumps(names))
'''
    done = bench.daemon().agent(agent, one.port, two.port)
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    equal(json.loads(done.stdout), [one.port, two.port], 'getpeername')
    for server in (one, two):
        equal(bytes(server.connection().data), b'{"t":"to %d"}\n' % server.port, 'what arrived')


if __name__ == '__main__':
    main([c_program, c_program_refused, node_program, python_asyncio, two_runs_do_not_mix,
          reconnecting_socket])
