#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""JSON-RPC with a header before each message, as language servers speak it: what is clean
passes to the byte, and what is refused is answered by an error object."""
import json

from sluice_test import TERM, main
from waiting import check, equal

POLICY = """\
version: 1
name: jsonrpc
framing: jsonrpc_cl
extract: auto
request: {tasks: [words]}
response: {tasks: [words]}
tasks:
  words: {kind: terms, terms: ["%s"], fold: [casefold]}
""" % TERM

# Sends each message of a JSON file with its header, waits for the answers to those that
# have an id, and says all that came, and how it ended.
CLIENT = '''
import json, socket, sys
plan = json.load(open(sys.argv[2]))
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(15)
file, raw, rows, end = s.makefile("rb"), bytearray(), [], "eof"

def take(data):
    raw.extend(data)
    return data

def read():
    length = None
    while (line := take(file.readline())) not in (b"\\r\\n", b""):
        name, value = line.split(b":", 1)
        if name.lower() == b"content-length":
            length = int(value)
    if length is None:
        return None
    body = take(file.read(length))
    rows.append(json.loads(body))
    return rows[-1]

try:
    for message in plan:
        if isinstance(message, str):
            s.sendall(bytes.fromhex(message))
            continue
        body = json.dumps(message).encode()
        s.sendall(b"Content-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
        wanted = message.get("id")
        while wanted is not None:
            got = read()
            if got is None or got.get("id", 0) in (wanted, None):
                break
    s.shutdown(socket.SHUT_WR)
    while read() is not None:
        pass
except (ConnectionResetError, BrokenPipeError):
    end = "reset"
print(json.dumps([rows, end, raw.hex()]))
'''

INITIALIZE = {'jsonrpc': '2.0', 'id': 1, 'method': 'initialize',
              'params': {'processId': None, 'capabilities': {}}}
INITIALIZED = {'jsonrpc': '2.0', 'method': 'initialized', 'params': {}}


def hover(number, text):
    return {'jsonrpc': '2.0', 'id': number, 'method': 'textDocument/hover',
            'params': {'textDocument': {'uri': 'file:///x'}, 'text': text}}


def framed(message):
    body = json.dumps(message, ensure_ascii=False).encode()
    return b'Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; ' \
        b'charset=utf-8\r\n\r\n%s' % (len(body), body)


def answers_to(request):
    """What the language server says to a message; a diagnosis goes before an answer."""
    if request['method'] == 'initialize':
        return [{'jsonrpc': '2.0', 'id': request['id'], 'result': {'capabilities': {}}}]
    if 'id' not in request:
        return []
    text = request['params']['text']
    # What no request may hold an answer can, where it is asked for it.
    text = {'say it': TERM, 'say more': 'x' * 70000}.get(text, text)
    return [{'jsonrpc': '2.0', 'method': 'textDocument/publishDiagnostics',
             'params': {'uri': 'file:///x', 'diagnostics': []}},
            {'jsonrpc': '2.0', 'id': request['id'], 'result': {'contents': {'value': text}}}]


def language_server(connection):
    """Handler: a language server; keeps what it said."""
    connection.said = bytearray()
    file = connection.sock.makefile('rb')
    while head := file.readline():
        connection.take(head)
        while line := file.readline():
            connection.take(line)
            if line == b'\r\n':
                break
            head += line
        length = next(int(row.split(b':')[1]) for row in head.splitlines()
                      if row.lower().startswith(b'content-length'))
        body = file.read(length)
        connection.take(body)
        if len(body) < length:
            return
        for answer in answers_to(json.loads(body)):
            connection.said += framed(answer)
            connection.sock.sendall(framed(answer))
    connection.end = 'eof'


class Case:
    def __init__(self, bench, policy=POLICY):
        self.bench, self.daemon = bench, bench.daemon(policy)
        self.server = bench.server(language_server)
        self.talks = 0

    def talk(self, plan, policy=None):
        """What the client got, how it ended, what the run says, the server's connection, and
        what the client got as bytes."""
        path = self.bench.file('plan.json', json.dumps(plan))
        done = self.daemon.agent(CLIENT, self.server.port, path, policy=policy)
        equal(done.returncode, 0, 'exit status; it said %r' % done.stderr)
        rows, end, raw = json.loads(done.stdout)
        connection = self.server.ended(self.talks)
        self.talks += 1
        return rows, end, done.stderr.decode(), connection, bytes.fromhex(raw)

    def refused(self, plan, got, arrives, reason, policy=None):
        """The client gets `got` and an error; the messages of `arrives` reach the server."""
        rows, end, run, connection, raw = self.talk(plan, policy)
        equal(rows[:-1], got, 'what the client got before; the run says %s' % run)
        refusal = rows[-1]
        equal((refusal['id'], refusal['error']['code']), (None, -32000), 'the error %s' % refusal)
        equal(refusal['error']['data']['reason'], reason, 'its reason')
        check(TERM not in json.dumps(refusal), 'it says what was refused: %s', refusal)
        equal((end, connection.end), ('eof', 'reset'), 'the ends')
        equal(bytes(connection.data), arrives, 'what reached the server')
        released = b''.join(map(framed, got))
        check(raw.startswith(released + b'Content-Length: '), 'other bytes at the client')
        return refusal, run


def said_to(plan):
    """The bytes of the client's messages, and the answers to them."""
    sent = b''.join(bytes.fromhex(m) if isinstance(m, str) else b'Content-Length: %d\r\n\r\n%s' % (
        len(json.dumps(m)), json.dumps(m).encode()) for m in plan)
    return sent, [answer for m in plan if isinstance(m, dict) for answer in answers_to(m)]


def clean(bench):
    """a session of a language server, byte for byte"""
    case = Case(bench)
    plan = [INITIALIZE, INITIALIZED, *(hover(n, 'text %d caf\u00e9 \U0001f600 forb' % n)
                                       for n in range(2, 30)), hover(30, 'say more')]
    rows, end, run, connection, raw = case.talk(plan)
    sent, answers = said_to(plan)
    equal((rows, end), (answers, 'eof'), 'what the client got; the run says %s' % run)
    equal(bytes(connection.data), sent, 'what reached the server')
    equal(raw, bytes(connection.said), 'bytes at the client')
    check('failed 0; sessions complete 1, denied 0' in run, 'the run says %s', run)
    check('bytes released %d, withheld 0' % (len(sent) + len(connection.said)) in run,
          'bytes: %s', run)


def denied(bench):
    """a term in a request, in a notification, escaped, as a name; and in an answer"""
    case = Case(bench)
    before = [INITIALIZE, hover(2, 'fine')]
    sent, answers = said_to(before)
    escaped = json.dumps(hover(3, 'X')).replace('X', '\\u0066orbidden').encode()
    for bad in (hover(3, 'so ' + TERM), {**INITIALIZED, 'params': {'text': [TERM.upper()]}},
                {**INITIALIZED, 'params': {TERM: 1}},
                (b'Content-Length: %d\r\n\r\n%s' % (len(escaped), escaped)).hex()):
        refusal, run = case.refused([*before, bad, hover(4, 'later')], answers, sent, 'blocked')
        equal(refusal['error']['data']['task'], 'words', 'the task')
        check('denied:words 1' in run, 'the run says %s', run)
    sent, _ = said_to([*before, hover(3, 'say it')])
    refusal, run = case.refused([*before, hover(3, 'say it'), hover(4, 'later')],
                                answers + answers_to(hover(3, ''))[:1], sent, 'blocked')
    equal(refusal['error']['data']['task'], 'words', 'the task')
    check('denied:words 1' in run, 'the run says %s', run)


def first_message(bench):
    """a term in the very first message: the server gets no byte"""
    Case(bench).refused([hover(1, TERM), INITIALIZE], [], b'', 'blocked')


def malformed(bench):
    """headers and bodies that are none are refused by their names"""
    case = Case(bench, POLICY + 'limits: {max_message_bytes: 1000}\n')
    sent, answers = said_to([INITIALIZE])
    for bad, reason in ((b'Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ', 'ambiguous_length'),
                        (b'Content-Length: 4\r\n\r\n{"a"', 'bad_json'),
                        (b'Content-Length: 1001\r\n\r\n{', 'too_large'),
                        (b'Content-Type: x\r\n\r\n{}', 'bad_header'),
                        (b'X-Other: x\r\nContent-Length: 2\r\n\r\n{}', 'bad_header'),
                        (b'Content-Length: 20\r\n\r\n{}', 'truncated')):
        case.refused([INITIALIZE, bad.hex()], answers, sent, reason)


if __name__ == '__main__':
    main([clean, denied, first_message, malformed])
