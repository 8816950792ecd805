#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The WebSocket libraries of Python and Node, as agents and as servers: what is clean
passes to the byte, compressed as they agree on it; what is refused never arrives, and
the library says why."""
import collections
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading

from http_bench import POLICY, Client, all_at_once
from peers import reset
from sluice_test import PYTHON, ROOT, TERM, main
from waiting import Skip, check, equal, wait_for

NODE_LIBRARIES = '/usr/share/nodejs'
TEXT = POLICY.replace('extract: auto', 'extract: raw')
SAID = 'blocked, task words'
CASES = TEXT.replace('keys]', 'words]')
BINARY = bytes(range(256)).hex()
# A text that deflate shortens, of several lengths of length, and then one message in parts.
LONG = 'caf\u00e9 \U0001f600 and so on; ' * 400
TALK = [{'text': 'one'}, {'text': ''}, {'text': LONG}, {'text': LONG * 12},
        {'fragments': ['in ', 'three ', 'p\u00e4rts']}, {'text': LONG}, {'text': '{"a": "b"}'}]
SPOKEN = [item.get('text', ''.join(item.get('fragments', ''))) for item in TALK]
ANSWERS = {
    '/echo': [],
    '/talk': TALK,
    '/bad': [{'text': 'fine'}, {'text': 'it is ' + TERM}, {'text': 'never seen'}],
    '/parts': [{'text': 'fine'}, {'fragments': ['it is forb', 'idden']}, {'text': 'never seen'}],
    '/split': [{'text': 'fine'}, {'text': 'it is forb'}, {'text': 'idden'},
               {'text': 'never seen'}],
    '/binary': [{'text': 'fine'}, {'binary': BINARY}, {'text': 'never seen'}],
    '/event': [{'text': '{"type": "session.created"}'},
               {'text': json.dumps({'type': 'x', 'delta': {'text': 'so ' + TERM}})}],
}


class Relay:
    """Stands before a server and keeps the bytes of both directions, as they are."""

    def __init__(self, bench, port):
        self.port, self.answers = port, {}
        self.server = bench.server(self.serve)

    def serve(self, connection):
        upstream = socket.create_connection(('127.0.0.1', self.port))
        answer = self.answers[connection.peer[1]] = bytearray()

        def back():
            with contextlib.suppress(OSError):
                while piece := upstream.recv(65536):
                    answer.extend(piece)
                    connection.sock.sendall(piece)
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=back, daemon=True)
        thread.start()
        try:
            while piece := connection.sock.recv(65536):
                connection.take(piece)
                upstream.sendall(piece)
            connection.end = 'eof'
            upstream.shutdown(socket.SHUT_WR)
            thread.join()
            upstream.close()
        except OSError:
            upstream.shutdown(socket.SHUT_RD)  # wakes the thread
            thread.join()
            reset(upstream)
            raise


class WebSocketServer:
    """A server of the libraries' own, with a relay before it; its records."""

    def __init__(self, bench, library, options=()):
        self.record = os.path.join(tempfile.mkdtemp(dir=bench.folder), 'record')
        program = os.path.join(ROOT, 'tests', 'servers', 'ws_server.' + library)
        command = [PYTHON, program] if library == 'py' else [node(), program]
        self.process = bench.spawn(
            [*command, '--answers', bench.file('answers.json', json.dumps(ANSWERS)), '--record',
             self.record, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env={**os.environ, 'NODE_PATH': NODE_LIBRARIES})
        said = self.process.stdout.readline().split()
        check(said[:1] == [b'ready'], 'the server said %r', said)
        self.relay = Relay(bench, int(said[1]))

    def notes(self, path):
        with open(self.record, encoding='utf-8') as file:
            return [row for row in map(json.loads, file) if row.pop('path') == path]

    def messages(self, path):
        return [row for row in self.notes(path) if 'end' not in row]

    def connection(self, path):
        """What the relay has of the one connection that asked for a path, once it ended."""
        start = b'GET %s HTTP/1.1\r\n' % path.encode()
        found = wait_for(lambda: [c for c in self.relay.server.connections
                                  if c.data.startswith(start) and c.end], 10, 'the end of ' + path)
        equal(len(found), 1, 'connections to ' + path)
        return found[0], bytes(self.relay.answers[found[0].peer[1]])


class WebSocketClient(Client):
    def __init__(self, library, *args):
        super().__init__(*args)
        self.script = self.agent('ws_client.' + library)
        self.words = [PYTHON] if library == 'py' else [node()]

    def talk(self, server, path, steps, policy, **more):
        """Does the steps; what the client says, and the run."""
        plan = self.file('plan.json', json.dumps(
            {'url': 'ws://127.0.0.1:%d%s' % (server.relay.server.port, path), 'steps': steps,
             **more}))
        command = self.daemon.run_command([*self.words, self.script, plan], options=[
            '--policy', self.file('policy.yaml', policy)])
        done = self.bench.run(command, seconds=60,
                              env={**os.environ, 'NODE_PATH': NODE_LIBRARIES})
        check(done.stdout, 'the client said %r', done.stderr)
        return Said(json.loads(done.stdout), done.stderr.decode(errors='replace').strip())


class Said:
    def __init__(self, said, run):
        self.got, self.end, self.error, self.run = said['got'], said['end'], said['error'], run
        self.sent, self.received = bytes.fromhex(said['sent']), bytes.fromhex(said['received'])

    def __str__(self):
        return '%r, %r, %r, run says %r' % (self.end, self.error, self.got, self.run)


def node():
    found = shutil.which('node')
    if not found or not os.path.isdir(os.path.join(NODE_LIBRARIES, 'ws')):
        raise Skip('node, or its ws library, is not installed')
    return os.path.realpath(found)


def frames(data):
    """[(opcode, whether its message is compressed)] of what follows a head."""
    found, at = [], data.index(b'\r\n\r\n') + 4
    while at < len(data):
        first, length = data[at], data[at + 1] & 0x7f
        size = {126: 2, 127: 8}.get(length, 0)
        if size:
            length = int.from_bytes(data[at + 2:at + 2 + size], 'big')
        found.append((first & 15, bool(first & 0x40)))
        at += 2 + size + (4 if data[at + 1] & 0x80 else 0) + length
    equal(at, len(data), 'the end of the last frame')
    return found


def same_bytes(server, path, said):
    """What one side sent the other has, to the byte."""
    asked, answered = server.connection(path)
    equal(bytes(asked.data), said.sent, 'bytes at the server')
    equal(said.received, answered, 'bytes at the client')


def clean_with(client, server, deflate):
    """The same messages both ways, each returned."""
    path = '/talk'
    said = client.talk(server, path, [{'expect': len(TALK)}, *TALK, {'expect': len(TALK)},
                                      {'ping': BINARY[-240:]}], TEXT)
    equal((said.got, said.error), (SPOKEN + SPOKEN, ''), 'what the client got: %s' % said)
    equal(said.end[0], 1000, 'the close code')
    equal(server.messages(path), [{'text': text} for text in SPOKEN], 'what the server got')
    same_bytes(server, path, said)
    for data in (said.sent, said.received):
        equal(b'permessage-deflate' in said.received.split(b'\r\n\r\n')[0], deflate, 'deflate')
        equal(any(coded for _, coded in frames(data)), deflate, 'coded frames')
    check('denied 0, failed 0; sessions complete 1,' in said.run, 'the run says %s', said.run)


def clean(bench):
    """clean text both ways, byte for byte, compressed as the two agree on it"""
    daemon = bench.daemon(TEXT)
    cases = {}
    for client in ('py', 'js'):
        for library, options, deflate in (('py', (), True), ('js', (), False),
                                          ('js', ('--deflate',), True)):
            words = (WebSocketClient(client, bench, daemon),
                     WebSocketServer(bench, library, options), deflate)
            name = '%s to %s %s' % (client, library, options)
            cases[name] = lambda words=words: clean_with(*words)
    all_at_once(cases)
    equal(daemon.status()['streams']['open'], 0, 'open streams')


def pings(bench):
    """pings of random bytes both ways, over several of their intervals"""
    server = WebSocketServer(bench, 'py', ['--ping', '0.2'])
    said = WebSocketClient('py', bench, bench.daemon(TEXT)).talk(
        server, '/echo', [{'text': 'one'}, {'pause': 1.5}, {'text': 'two'}, {'expect': 2}], TEXT,
        ping=0.2)
    equal((said.got, said.error), (['one', 'two'], ''), str(said))
    same_bytes(server, '/echo', said)
    for data in (said.sent, said.received):
        counts = collections.Counter(opcode for opcode, _ in frames(data))
        check(counts[9] >= 4 and counts[10] >= 4, 'pings and pongs: %s', counts)


class Refusals:
    """What is asked of one client; each case has a path of its own."""

    def __init__(self, bench, daemon, library):
        self.client = WebSocketClient(library, bench, daemon)
        self.server = WebSocketServer(bench, 'py')
        self.library = library

    def refused(self, path, steps, policy=CASES, reason=SAID, code=1008, got=(), arrives=(),
                raises=True):
        """The client gets `got` and the close, the server `arrives` and no more."""
        said = self.client.talk(self.server, path, steps, policy)
        equal(said.got, list(got), 'what the client got: %s' % said)
        equal(said.end, [code, reason], 'the close: %s' % said)
        if self.library == 'py' and code == 1008:
            equal(bool(said.error), raises, 'whether it raises: %s' % said)
        if said.error and self.library == 'py' and code == 1008:
            check('%d' % code in said.error and reason in said.error, 'the exception: %s', said)
        asked, answered = self.server.connection(path)
        equal(asked.end, 'reset', 'how it ended at the server')
        check(said.sent.startswith(bytes(asked.data)), 'other bytes at the server')
        check(len(asked.data) < len(said.sent), 'all of it reached the server')
        equal(self.server.messages(path), [{'text': text} for text in arrives], 'messages')
        released = len(os.path.commonprefix([said.received, answered]))
        if code == 1008:
            check(said.received[released:].startswith(b'\x88'), 'no close frame follows: %r',
                  said.received[released:])
        return said

    def client_message(self):
        said = self.refused('/echo?1', [{'text': 'hello'}, {'expect': 1}, {'text': 'so ' + TERM},
                                        {'text': 'later'}, {'expect': 1}],
                            got=['hello'], arrives=['hello'])
        check('denied:words 1' in said.run, 'the run says %s', said.run)

    def long_client_message(self):
        """Node compresses no short one."""
        self.refused('/echo?2', [{'text': LONG + TERM + LONG}, {'expect': 1}])

    def client_fragments(self):
        self.refused('/echo?3', [{'text': 'one'}, {'expect': 1},
                                 {'fragments': ['so forb', 'idd', 'en']}, {'expect': 1}],
                     got=['one'], arrives=['one'])

    def client_messages(self):
        self.refused('/echo?4', [{'text': 'one'}, {'expect': 1}, {'text': 'so forb'},
                                 {'text': 'idden'}, {'expect': 1}], got=['one'], arrives=['one'])

    def client_messages_by_unit(self):
        said = self.client.talk(self.server, '/echo?5', [
            {'text': 'so forb'}, {'text': 'idden'}, {'expect': 2}], CASES + 'join: unit\n')
        equal((said.got, said.error), (['so forb', 'idden'], ''), str(said))

    def client_ping(self):
        self.refused('/echo?6', [{'text': 'one'}, {'expect': 1},
                                 {'ping': b'\xff forbidden'.hex()}, {'expect': 1}],
                     got=['one'], arrives=['one'])

    def client_binary(self):
        self.refused('/echo?7', [{'text': 'one'}, {'expect': 1}, {'binary': BINARY},
                                 {'expect': 1}],
                     got=['one'], arrives=['one'], reason='opaque_body')

    def client_event(self):
        """JSON, of which every string is text."""
        self.refused('/echo?8', [{'text': '{"type": "x"}'}, {'expect': 1}, {'text': json.dumps(
            {'type': 'response.create', 'items': [{'text': 'so ' + TERM}]})}, {'expect': 1}],
                     policy=CASES.replace('extract: raw', 'extract: auto'),
                     got=['{"type": "x"}'], arrives=['{"type": "x"}'])

    def client_close(self):
        """The reason of a close is text as well."""
        self.refused('/echo?10', [{'text': 'one'}, {'expect': 1}, {'close': 'so ' + TERM}],
                     got=['one'], arrives=['one'], raises=False)

    def client_reset(self):
        """Under on_deny: reset there is no close frame."""
        self.refused('/echo?9', [{'text': 'one'}, {'expect': 1}, {'text': TERM}, {'expect': 1}],
                     policy=CASES + 'on_deny: reset\n', code=1006, reason='', got=['one'],
                     arrives=['one'])

    def server_message(self):
        self.server_refused('/bad', CASES)

    def server_refused(self, path, policy, got=('fine',), reason=SAID):
        said = self.client.talk(self.server, path, [{'expect': 3}], policy)
        equal(said.got, list(got), 'what the client got: %s' % said)
        equal(said.end, [1008, reason], 'the close: %s' % said)
        for never in (b'never seen', TERM.encode()):
            check(never not in said.received, '%r arrived', never)
        equal(self.server.connection(path)[0].end, 'reset', 'how it ended at the server')

    def server_fragments(self):
        self.server_refused('/parts', CASES)

    def server_messages(self):
        self.server_refused('/split', CASES)

    def server_binary(self):
        self.server_refused('/binary', CASES, reason='opaque_body')

    def server_event(self):
        self.server_refused('/event', CASES.replace('extract: raw', 'extract: auto'),
                            got=['{"type": "session.created"}'])


def refusals_of(bench, library):
    daemon = bench.daemon(CASES)
    cases = Refusals(bench, daemon, library)
    all_at_once({name: getattr(cases, name) for name in (
        'client_message', 'long_client_message', 'client_fragments', 'client_messages',
        'client_messages_by_unit', 'client_ping', 'client_binary', 'client_event',
        'client_close', 'client_reset', 'server_message', 'server_fragments', 'server_messages',
        'server_binary', 'server_event')})
    equal(daemon.status()['streams']['open'], 0, 'open streams')


def python_refusals(bench):
    """what Python's client is refused, each way; the close frame says why"""
    refusals_of(bench, 'py')


def node_refusals(bench):
    """the same with Node's"""
    refusals_of(bench, 'js')


def binary_released(bench):
    """binary messages with opaque_bodies: release"""
    daemon = bench.daemon(TEXT)
    for library in ('py', 'js'):
        server = WebSocketServer(bench, library)
        said = WebSocketClient(library, bench, daemon).talk(
            server, '/binary', [{'expect': 3}, {'binary': BINARY}, {'expect': 1}],
            TEXT + 'opaque_bodies: release\n')
        equal((said.got, said.error), (['fine', {'binary': BINARY}, 'never seen',
                                        {'binary': BINARY}], ''), str(said))
        equal(server.messages('/binary'), [{'binary': BINARY}], 'what the server got')
        same_bytes(server, '/binary', said)


if __name__ == '__main__':
    main([clean, pings, python_refusals, node_refusals, binary_released])
