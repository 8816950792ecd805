#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Input that is malformed fails its own stream closed, with a named reason; the
daemon goes on."""
import json
import socket

from sluice_test import POLICY, SLUICECTL, Control, line, main
from waiting import check, equal, wait_for

LIMITS = POLICY + 'limits: {max_message_bytes: 65536, incomplete_message_timeout_s: 1, ' \
    'message_deadline_s: 2}\n'

SEND = '''
import json, socket, sys, time
port, pieces = int(sys.argv[1]), [bytes.fromhex(p) for p in open(sys.argv[2]).read().split()]
s = socket.create_connection(("127.0.0.1", port))
s.settimeout(15)
began = time.monotonic()
end = "eof"
try:
    for piece in pieces:
        s.sendall(piece)
        time.sleep(0.05)
    while s.recv(65536):
        pass
except (ConnectionResetError, BrokenPipeError):
    end = "reset"
print(json.dumps([end, time.monotonic() - began]))
'''

RECEIVE = '''
import json, socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(15)
data, end = b"", "eof"
try:
    while True:
        piece = s.recv(65536)
        if not piece:
            break
        data += piece
except (ConnectionResetError, BrokenPipeError):
    end = "reset"
print(json.dumps([end, data.hex()]))
'''


class Case:
    """One daemon, one server; bad input is sent again and again, each on its own stream."""

    def __init__(self, bench, policy=LIMITS):
        self.bench, self.daemon = bench, bench.daemon(policy)
        self.server = bench.server()
        self.sent = 0

    def fails(self, reason, *pieces, arrives=line('clean'), policy=None):
        """The pieces fail with `reason`; exactly `arrives` reaches the server."""
        before = self.daemon.status()
        path = self.bench.file('pieces', ' '.join(piece.hex() for piece in pieces))
        done = self.daemon.agent(SEND, self.server.port, path, policy=policy)
        equal(done.returncode, 0, '%s: exit status; %r' % (reason, done.stderr))
        end, seconds = json.loads(done.stdout)
        connection = self.server.ended(self.sent)
        self.sent += 1
        equal(bytes(connection.data), arrives, reason + ': what arrived')
        equal((end, connection.end), ('reset', 'reset'), reason + ': the ends')
        check(reason.encode() in done.stderr, '%s: the summary says %r', reason, done.stderr)
        after = self.daemon.status()['streams']
        equal(after['open'], 0, reason + ': open streams')
        equal(after['failed'] - before['streams']['failed'] +
              after['denied'] - before['streams']['denied'], 1, reason + ': settled streams')
        return seconds

    def still_works(self):
        path = self.bench.file('pieces', line('clean').hex())
        self.daemon.start_agent(SEND, self.server.port, path)
        connection = self.server.connection(self.sent)
        wait_for(lambda: bytes(connection.data) == line('clean'), 10, 'a clean line afterwards')


def malformed_text(bench):
    """malformed JSON and UTF-8, duplicate names, raw surrogates, deep nesting"""
    case = Case(bench)
    clean = line('clean')
    case.fails('bad_json', clean, b'{"t":"x"\n')
    case.fails('bad_json', clean, b'{"t":"x"} {"t":"y"}\n')
    case.fails('bad_json', clean, b'no json at all\n')
    case.fails('bad_json', clean, b'{"t":"a\x01b"}\n')
    case.fails('bad_utf8', clean, b'{"t":"\xff"}\n')
    case.fails('bad_utf8', clean, b'{"t":"\xed\xa0\x80"}\n')
    case.fails('bad_utf8', clean, b'{"t":"\xc0\xafx"}\n')
    case.fails('duplicate_key', clean, b'{"t":"x","t":"y"}\n')
    case.fails('too_large', clean, b'[' * 20000 + b'\n')
    case.still_works()


def malformed_response(bench):
    """the same from the peer"""
    daemon = bench.daemon(LIMITS)

    def handler(connection):
        connection.sock.sendall(line('clean') + b'{"t":"\xff"}\n')
        connection.read_all()

    server = bench.server(handler)
    done = daemon.agent(RECEIVE, server.port)
    end, data = json.loads(done.stdout)
    equal((end, bytes.fromhex(data)), ('reset', line('clean')), 'what the agent got')
    check(b'bad_utf8' in done.stderr, 'the summary says %r', done.stderr)


def oversize(bench):
    """a message of max_message_bytes passes, one byte more fails too_large, ended or not"""
    case = Case(bench)
    # The limit is on the payload: the line's end is not counted.
    largest = b'{"t":"' + b'x' * (65536 - 8) + b'"}\n'
    equal(len(largest), 65537, 'the size of the largest unit')
    case.fails('too_large', line('clean'), largest[:-3] + b'y"}\n')
    case.fails('too_large', line('clean'), b'{"t":"' + b'x' * 200000)
    case.fails('bad_json', largest, b'x\n', arrives=largest)
    case.still_works()


def truncated(bench):
    """the end of the stream inside a message withholds the rest"""
    daemon = bench.daemon(LIMITS)
    server = bench.server()
    agent = '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b'{"t": "clean"}\\n{"t":"tail"}')
s.close()
'''
    done = daemon.agent(agent, server.port)
    connection = server.ended()
    equal((bytes(connection.data), connection.end), (line('clean'), 'reset'), 'at the server')
    check(b'truncated' in done.stderr, 'the summary says %r', done.stderr)


def stale_partial(bench):
    """half a message that stays half goes stale by its timeout"""
    case = Case(bench)
    seconds = case.fails('stale', line('clean'), b'{"t":"half')
    check(0.8 < seconds < 5, 'after %g s, the timeout is 1 s', seconds)


def dripping_message(bench):
    """a message that drips in byte by byte ends at its deadline"""
    case = Case(bench)
    seconds = case.fails('stale', line('clean'), *[b' ' for _ in range(120)])
    check(1.5 < seconds < 6, 'after %g s, the deadline is 2 s', seconds)


def held_too_long(bench):
    """text that waits for more text, which never comes, ends at hold_timeout_s"""
    case = Case(bench, POLICY + 'limits: {hold_timeout_s: 1}\n')
    seconds = case.fails('hold_timeout', line('clean'), line('forbid'))
    check(0.8 < seconds < 5, 'after %g s, the timeout is 1 s', seconds)


def other_framings(bench):
    """sentinel and length-prefixed messages fail closed too"""
    case = Case(bench)
    sentinel = POLICY.replace('framing: ndjson', 'framing: {kind: sentinel, hex: "0d0a2e0d0a"}') \
        .replace('"path:t"', 'raw')
    case.fails('bad_utf8', b'clean\r\n.\r\n', b'\xff\r\n.\r\n', arrives=b'clean\r\n.\r\n',
               policy=sentinel)
    prefix = POLICY.replace('framing: ndjson', 'framing: {kind: lenprefix, type: u32, endian: big}') \
        .replace('"path:t"', 'raw') + 'limits: {max_message_bytes: 1000}\n'
    clean = b'\0\0\0\5clean'
    case.fails('too_large', clean, b'\0\0\3\xe9', arrives=clean, policy=prefix)
    case.fails('denied:words', clean, b'\0\0\0\x09forb', b'idden', arrives=clean, policy=prefix)
    case.still_works()


def denied_destination(bench):
    """a destination that policy denies is refused at connect and reaches nobody"""
    server = bench.server()
    policy = POLICY.replace('framing:', 'destinations:\n  - {match: "127.0.0.1:%d", action: deny}\n'
                            'framing:' % server.port)
    agent = '''
import socket, sys
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    print("connected")
except OSError as error:
    print(type(error).__name__)
'''
    daemon = bench.daemon(policy)
    done = daemon.agent(agent, server.port)
    check(done.stdout.strip() in (b'ConnectionRefusedError', b'PermissionError'), 'connect said %r',
          done.stdout)
    equal(server.connections, [], 'connections at the server')
    equal(daemon.counters()['refused_denied'], 1, 'the counter')
    advice = 'refused_denied: 127.0.0.1:%d is denied by rule 1 ("127.0.0.1:%d")' % (
        (server.port,) * 2)
    check(advice in done.stderr.decode(), 'run said %r, not %r', done.stderr, advice)
    # The first rule that matches; what is built in comes before those of the file.
    policy = policy.replace('  - {', '  - {match: "127.0.0.1:1", action: deny}\n  - {')
    for address, rule in (('127.0.0.1', 'rule 2 ("127.0.0.1:%d")' % server.port),
                          ('169.254.1.2', 'a built-in rule ("169.254.0.0/16:*")')):
        done = daemon.agent(agent.replace('127.0.0.1', address), server.port, policy=policy)
        advice = 'refused_denied: %s:%d is denied by %s' % (address, server.port, rule)
        check(advice in done.stderr.decode(), 'run said %r, not %r', done.stderr, advice)


def unframed_destination(bench):
    """a protocol that cannot be told is reset, never guessed, and its peer gets no byte"""
    case = Case(bench)
    bare = 'version: 1\nname: bare\ndestinations:\n' \
        '  - {match: "10.0.0.0/8:1", action: mediate, framing: ndjson}\nextract: raw\n'
    case.fails('unframed', b'EHLO clean\r\n', line('clean'), arrives=b'', policy=bare)
    case.fails('bad_json', line('clean'), b'EHLO clean\r\n', policy=bare.replace('raw', 'auto'))
    case.still_works()


def bad_control_requests(bench):
    """nonsense on the control socket is answered by the standard's codes and ends nothing"""
    daemon = bench.daemon()
    control = Control(daemon.socket)
    for sent, code in ((b'no json\n', -32700), (b'[]\n', -32600), (b'{"id":1}\n', -32600),
                       (b'{"jsonrpc":"2.0","id":1,"method":"none"}\n', -32601),
                       (b'{"jsonrpc":"2.0","id":1,"method":"stream","params":{"id":"x"}}\n',
                        -32602),
                       (b'{"jsonrpc":"2.0","id":1,"method":"stream","params":{"id":77}}\n',
                        -32000)):
        equal(control.raw(sent)['error']['code'], code, 'the code for %r' % sent)
    equal(control.call('status')['instance'], daemon.instance, 'the instance')
    control.close()
    flood = socket.socket(socket.AF_UNIX)
    flood.connect(daemon.socket)
    flood.settimeout(5)
    try:
        for _ in range(400):
            flood.sendall(b'x' * 65536)
    except OSError:
        pass
    flood.close()
    equal(daemon.status()['instance'], daemon.instance, 'the instance after a flood')


def agents_may_not_control(bench):
    """the control socket refuses a process of a watched cgroup, and who is in no group"""
    daemon = bench.daemon()
    cgroup = bench.cgroup()
    equal(daemon.ctl('watch', cgroup).returncode, 0, 'exit status of watch')
    ask = '''
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(5)
try:
    s.connect(sys.argv[1])
    s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"status","params":{}}\\n')
    print(s.recv(1000))
except OSError as error:
    print(type(error).__name__)
'''
    for agent in (bench.in_cgroup(cgroup, ask, daemon.socket),
                  bench.spawn(['setpriv', '--reuid=nobody', '--clear-groups', '/usr/bin/python3',
                               bench.file('agent.py', ask), daemon.socket], stdout=-1)):
        said = agent.communicate(timeout=10)[0]
        check(b'instance' not in said, 'the daemon answered %r', said)
    control = bench.in_cgroup(cgroup, 'import os, sys; os.execv(sys.argv[1], sys.argv[1:])',
                              SLUICECTL, '--socket', daemon.socket, 'status')
    said = control.communicate(timeout=10)[1]
    check(b'in a watched cgroup' in said and b'run this as root' not in said, 'it said %r', said)
    equal(daemon.status()['streams']['total'], 0, 'streams')


if __name__ == '__main__':
    main([malformed_text, malformed_response, oversize, truncated, stale_partial,
          dripping_message, held_too_long, other_framings, denied_destination,
          unframed_destination, bad_control_requests, agents_may_not_control])
