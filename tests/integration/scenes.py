# SPDX-License-Identifier: Apache-2.0
"""A scene is a real daemon with real traffic: each case of it puts a marker where it is
withheld, by a denial, by a fault, or since its message is never whole."""
import contextlib
import functools
import json
import urllib.parse

from http_bench import request
from sluice_test import TERM, Control
from test_websocket_hostile import AGREED, UPGRADE, client, frame
from waiting import equal, wait_for

# Of neither do six runes stand in a row in any word; a header takes the first alone.
MARKER = 'wqzjxvkfpyghtbnmdrcl'
WIDE = 'zk\u00e9vx\u4e2dqj\U0001f600wf\u00dfyq\u0416hx'

POLICY = """\
version: 1
name: scene
request: {tasks: [words]}
response: {tasks: [words]}
tasks:
  words: {kind: terms, terms: ["%s"], fold: [casefold]}
audit: {watermarks: true}
""" % TERM


class Case:
    """A connection: what the agent sends, what the server answers to that, and how it ends:
    the reason that the stream is given, or None where it waits."""

    def __init__(self, name, sends, answers=(), ends='denied:words'):
        self.name, self.sends, self.answers, self.ends = name, sends, answers, ends


def json_request(value):
    return request(body=json.dumps(value).encode())


def response(body, kind='application/json', fields=(), length=None):
    rows = ['HTTP/1.1 200 OK', 'Content-Type: ' + kind, *fields,
            'Content-Length: %d' % (len(body) if length is None else length)]
    return '\r\n'.join([*rows, '', '']).encode() + body


def events(*rows, fields=()):
    """A response that is a stream, in chunks, and not at its end."""
    head = ['HTTP/1.1 200 OK', 'Content-Type: text/event-stream', 'Transfer-Encoding: chunked',
            *fields]
    return '\r\n'.join([*head, '', '']).encode() + b''.join(
        b'%x\r\n%s\r\n' % (len(row), row) for row in map(str.encode, rows))


def tool_call(arguments):
    return 'data: %s\n\n' % json.dumps({'object': 'chat.completion.chunk', 'choices': [
        {'index': 0, 'delta': {'tool_calls': [{'index': 0, 'id': 'c', 'type': 'function',
                                               'function': {'name': 'f',
                                                            'arguments': arguments}}]}}]})


BOTH = '%s %s %s' % (MARKER, TERM, MARKER)
BOTH_WIDE = '%s %s %s' % (WIDE, TERM, WIDE)
ASK = json_request({'say': 'it'})
CLEAN = 'data: {"say": "clean"}\n\n'


def request_cases():
    return [
        Case('a line', [json.dumps({'t': BOTH_WIDE}).encode() + b'\n']),
        Case('a line, as it is', [json.dumps({'t': BOTH_WIDE}, ensure_ascii=False).encode() +
                                  b'\n']),
        Case('half a line', [b'{"t":"so"}\n{"t":"' + WIDE.encode()], ends=None),
        Case('no JSON', [b'{"t":' + MARKER.encode() + b'}\n'], ends='bad_json'),
        Case('a name twice', [('{"%s":1,"%s":2}\n' % (WIDE, WIDE)).encode()],
             ends='duplicate_key'),
        Case('no framing', [MARKER.encode() + b'\n'], ends='unframed'),
        Case('a body', [json_request({'say': BOTH_WIDE})]),
        Case('half a body', [json_request({'say': WIDE})[:-4]], ends=None),
        Case('a header', [request(fields=['X-Note: ' + BOTH])]),
        Case('half a head', [('GET / HTTP/1.1\r\nX-Note: ' + MARKER).encode()], ends=None),
        Case('a bad header', [('GET / HTTP/1.1\r\nX ' + MARKER + ': 1\r\n\r\n').encode()],
             ends='bad_header'),
        Case('a target', [request('/%s?%s=%s' % (MARKER, TERM, MARKER))]),
        Case('a target, coded', [request('/' + urllib.parse.quote(BOTH_WIDE))]),
        Case('arguments of a tool', [json_request({'messages': [{
            'role': 'assistant', 'tool_calls': [{'id': 'c', 'type': 'function', 'function': {
                'name': 'f', 'arguments': json.dumps({'a': BOTH_WIDE})}}]}]})]),
        Case('a rest', [request('/', fields=['Last-Event-ID: ' + MARKER])],
             ends='resume_refused'),
        Case('a WebSocket message', [UPGRADE, client(BOTH_WIDE.encode())], [AGREED + b'\r\n']),
        Case('half a WebSocket message', [UPGRADE, client(WIDE.encode())[:-3]],
             [AGREED + b'\r\n'], ends=None),
        Case('a ping', [UPGRADE, client(BOTH.encode(), 9)], [AGREED + b'\r\n']),
    ]


def response_cases():
    return [
        Case('an answer', [ASK], [response(json.dumps({'say': BOTH_WIDE}).encode())]),
        Case('half an answer', [ASK], [response(json.dumps({'say': WIDE}).encode(), length=999)],
             ends=None),
        Case('a header of an answer', [ASK], [response(b'{}', fields=['X-Note: ' + BOTH])]),
        Case('a status line', [ASK], [('HTTP/1.1 200 %s\r\nContent-Length: 0\r\n\r\n' %
                                       BOTH).encode()]),
        Case('an event', [ASK], [events(CLEAN, 'data: %s\n\n' % json.dumps({'say': BOTH_WIDE}))]),
        Case('half an event', [ASK], [events(CLEAN, 'data: {"say": "' + WIDE)], ends=None),
        Case('the id of an event', [ASK], [events(CLEAN, 'id: %s\ndata: {}\n\n' % BOTH)]),
        Case('the name of an event', [ASK], [events(CLEAN, 'event: %s\ndata: {}\n\n' % BOTH)]),
        Case('a comment', [ASK], [events(CLEAN, ': %s\n\n' % BOTH)]),
        Case('a tool call', [ASK], [events(tool_call(BOTH_WIDE),
                                           'data: %s\n\n' % json.dumps({
                                               'object': 'chat.completion.chunk', 'choices': [
                                                   {'index': 0, 'delta': {},
                                                    'finish_reason': 'tool_calls'}]}))]),
        Case('half a tool call', [ASK], [events(tool_call(WIDE))], ends=None),
        Case('a WebSocket answer', [UPGRADE], [AGREED + b'\r\n' + frame(BOTH_WIDE.encode())]),
        Case('half a WebSocket answer', [UPGRADE],
             [AGREED + b'\r\n' + frame(WIDE.encode())[:-2]], ends=None),
    ]


# A connection for each case; says "sent", and at the word "end" what came of each.
AGENT = '''
import json, socket, sys, threading
rows, threads = {}, []
def read(name, s, data):
    try:
        while piece := s.recv(65536):
            data += piece
    except OSError:
        pass
def talk(name, port, sends):
    s = socket.create_connection(("127.0.0.1", port))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = bytearray()
    rows[name] = s, data
    try:
        s.sendall(bytes.fromhex(sends[0]))
        for send in sends[1:]:
            while b"\\r\\n\\r\\n" not in data:
                piece = s.recv(65536)
                if not piece:
                    break
                data += piece
            s.sendall(bytes.fromhex(send))
    except OSError:
        pass
    threads.append(threading.Thread(target=read, args=(name, s, data), daemon=True))
    threads[-1].start()
for case in json.load(open(sys.argv[1])):
    talk(*case)
print("sent", flush=True)
sys.stdin.readline()
for s, data in rows.values():
    try:
        s.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
for thread in threads:
    thread.join(5)
print(json.dumps({name: data.hex() for name, (s, data) in rows.items()}))
'''


EVENTS = ['stream_opened', 'stream_refused', 'stream_settled', 'session_opened',
          'session_settled', 'outcome', 'refusal', 'watermark', 'control', 'fence', 'watch',
          'unwatch', 'policy']


class Scene:
    """A daemon with the traffic of the cases: begin() until each stream is denied or waits,
    end() until the agent has gone."""

    def __init__(self, bench, cases, policy=POLICY):
        self.bench, self.cases = bench, cases
        self.daemon = bench.daemon(policy, start=False)
        self.daemon.options = ['--verbose']
        self.daemon.web = bench.free_port()
        self.daemon.start()
        self.follower = Control(self.daemon.socket)
        self.follower.call('events', types=EVENTS)
        self.told = b''
        self.servers = [bench.server(functools.partial(self.serve, case)) for case in cases]
        self.run = self.said = None
        self.came = {}

    @staticmethod
    def serve(case, connection):
        for answer in case.answers:
            connection.take(connection.sock.recv(65536))
            connection.sock.sendall(answer)
        connection.read_all()

    def begin(self):
        plan = self.bench.file('plan.json', json.dumps(
            [[case.name, server.port, [data.hex() for data in case.sends]]
             for case, server in zip(self.cases, self.servers)]))
        self.run = self.daemon.start_agent(AGENT, plan)
        equal(self.run.stdout.readline(), b'sent\n', 'what the agent said')
        waiting = sum(case.ends is None for case in self.cases)
        wait_for(lambda: self.daemon.status()['streams']['open'] == waiting, 10,
                 '%d streams that wait' % waiting)
        return self

    def events(self):
        """All that was told so far to a client that follows since before the first stream."""
        self.follower.sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while piece := self.follower.sock.recv(1 << 20):
                self.told += piece
        return self.told

    def waits(self):
        """The streams that wait."""
        return [stream for stream in self.daemon.call('streams')['streams'] if not stream['ended']]

    def hold(self):
        """Until each of them holds something."""
        wait_for(lambda: all(stream['request']['held'] or stream['response']['held']
                             for stream in self.waits()), 10, 'what is to wait')

    def end(self):
        out, self.said = self.run.communicate(b'end\n', timeout=30)
        self.came = {name: bytes.fromhex(data) for name, data in json.loads(out).items()}
        wait_for(lambda: not self.daemon.status()['streams']['open'], 10, 'the end of all streams')
        return self

    def peers(self):
        return b''.join(bytes(connection.data) for server in self.servers
                        for connection in server.connections)
