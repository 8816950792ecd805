#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Safety levels, tasks of the output, and what only watches, with ordinary clients: what
has arrived at each step of a server that sends one piece, and waits until the test has seen
where it is."""
import json
import os
import queue
import socket
import subprocess
import threading
import time

from sluice_test import POLICY as LINES, TERM, line, main
from test_websocket_hostile import AGREED, UPGRADE, frame
from waiting import check, equal, wait_for

POLICY = """\
version: 1
name: levels
safety_level: %s
response: {tasks: [words]}
tasks:
  words: {kind: terms, terms: ["forbidden"], fold: [casefold]}
"""
BLOCKING, COMPLETE, DEFERRED = (POLICY % level for level in ('blocking', 'complete', 'deferred'))
OUTPUT = """\
version: 1
name: after
request: {tasks: [keys]}
output: {tasks: [words]}
tasks:
  keys: {kind: terms, terms: ["sk-live"]}
  words: {kind: terms, terms: ["forbidden"], fold: [casefold]}
"""
WARNING = BLOCKING.replace('fold: [casefold]', 'fold: [casefold], warn_only: true')
OBSERVING = BLOCKING.replace('safety_level: blocking', 'mode: observe')

# Long enough that what would arrive has arrived.
A_WHILE = 0.4

# Asks, and writes what comes, as it comes, to standard output.
READ = '''
import os, socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(bytes.fromhex(sys.argv[2]))
try:
    while piece := s.recv(65536):
        os.write(1, piece)
except ConnectionResetError:
    os.write(2, b"reset\\n")
'''


def event(text):
    return b'data: %s\n\n' % json.dumps({'choices': [
        {'index': 0, 'delta': {'content': text}}], 'object': 'chat.completion.chunk'}).encode()


def chunk(data):
    return b'%x\r\n%s\r\n' % (len(data), data)


HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'
DONE = b'data: [DONE]\n\n'
FIRST, BEGINS, ENDS, OTHER = map(event, ('once upon', ' a for', 'bidden', 'tress'))


class Steps:
    """A server that sends a piece when it is told to, and a client that reads: curl, or READ."""

    def __init__(self, bench, policy, ask=None):
        self.bench, self.pieces = bench, queue.Queue()
        self.daemon = bench.daemon(policy, start=False)
        self.daemon.web = bench.free_port()
        self.daemon.start()
        self.server = bench.server(self.serve)
        if ask is None:
            words = ['curl', '-sSN', '-m', '30', '-w', '\nstatus %{http_code}',
                     'http://127.0.0.1:%d/' % self.server.port]
            self.client = bench.spawn(self.daemon.run_command(words), stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        else:
            self.client = self.daemon.start_agent(READ, self.server.port, ask.hex())
        self.got, self.status = bytearray(), None
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def serve(self, connection):
        connection.take(connection.sock.recv(65536))
        while piece := self.pieces.get(timeout=30):  # an empty one is the end
            connection.sock.sendall(piece)

    def read(self):
        while piece := os.read(self.client.stdout.fileno(), 65536):
            self.got += piece

    def send(self, *pieces):
        for piece in pieces:
            self.pieces.put(piece)

    def arrives(self, data):
        """Exactly these bytes have come, and no more do for a while."""
        wait_for(lambda: len(self.got) >= len(data), 10, '%r; there is %r' % (
            data[-200:], bytes(self.got[-200:])))
        self.stays(data)

    def stays(self, data):
        time.sleep(A_WHILE)
        equal(bytes(self.got), data, 'what has arrived')

    def end(self):
        """The server closes; what came of all, and what the client and its run said."""
        self.pieces.put(b'')
        said = self.client.stderr.read().decode()
        self.reader.join(10)
        self.client.wait(10)
        data, found, status = bytes(self.got).partition(b'\nstatus ')
        self.status = int(status) if found else None
        return data, said

    def settled(self, reason=None, **sessions):
        """Each session ended so: {end: how many}, and the stream got that reason, or none."""
        wait_for(lambda: not self.daemon.status()['streams']['open'], 10, 'the end')
        status = self.daemon.status()
        equal({end: n for end, n in status['sessions'].items() if n}, sessions, 'sessions')
        equal(status['reasons'], {reason: 1} if reason else {}, 'reasons')
        return status


def blocking_moves(bench):
    """blocking: each event leaves when it is cleared, before the next is sent"""
    steps = Steps(bench, BLOCKING)
    steps.send(HEAD, chunk(FIRST))
    steps.arrives(FIRST)
    steps.send(chunk(BEGINS))
    steps.stays(FIRST)  # it could begin the term
    steps.send(chunk(OTHER))
    steps.arrives(FIRST + BEGINS + OTHER)
    steps.send(chunk(DONE), b'0\r\n\r\n')
    equal(steps.end()[0], FIRST + BEGINS + OTHER + DONE, 'the answer')
    equal(steps.status, 200, 'the status')
    steps.settled(complete=1)


def blocking_withholds(bench):
    """blocking: no rune of the term leaves, in whatever events it comes"""
    steps = Steps(bench, BLOCKING)
    steps.send(HEAD, chunk(FIRST))
    steps.arrives(FIRST)
    steps.send(chunk(BEGINS), chunk(ENDS))
    data, said = steps.end()
    check(data.startswith(FIRST + b'event: error'), 'what came: %r', data)
    check(b'bidden' not in data, 'some of the term came: %r', data)
    check('denied 1,' in said and 'sessions complete 0, denied 1,' in said, 'the run said %s', said)
    steps.settled('denied:words', denied=1)


def complete_holds_the_body(bench):
    """complete: nothing of a stream arrives before its end, and then all of it"""
    steps = Steps(bench, COMPLETE)
    steps.send(HEAD, chunk(FIRST))
    steps.stays(b'')
    steps.send(chunk(BEGINS), chunk(OTHER), chunk(DONE))
    steps.stays(b'')
    steps.send(b'0\r\n\r\n')
    equal(steps.end()[0], FIRST + BEGINS + OTHER + DONE, 'the answer')
    equal(steps.status, 200, 'the status')
    steps.settled(complete=1)


def complete_denies(bench):
    """complete: a denial is a 403, and no byte of the body or its head arrives"""
    steps = Steps(bench, COMPLETE)
    steps.send(HEAD, chunk(FIRST), chunk(BEGINS), chunk(ENDS))
    data, _ = steps.end()
    equal(steps.status, 403, 'the status')
    equal(json.loads(data)['status'], 403, 'the problem')
    for never in (b'once', b'data:', b'bidden'):
        check(never not in data, '%r arrived', never)
    steps.settled('denied:words', denied=1)


def complete_of_lines(bench):
    """complete: a line is a message: each arrives when it is whole and cleared"""
    steps = Steps(bench, LINES.replace('name: test', 'name: test\nsafety_level: complete'),
                  line('go'))
    steps.send(line('one') + line('two')[:5])
    steps.arrives(line('one'))
    steps.send(line('two')[5:])
    steps.arrives(line('one') + line('two'))
    steps.send(line('a for'))
    steps.stays(line('one') + line('two'))  # it could begin the term
    steps.send(line('tress'))
    whole = b''.join(map(line, ('one', 'two', 'a for', 'tress')))
    steps.arrives(whole)
    steps.send(line('so ' + TERM))
    data, _ = steps.end()
    equal(data, whole, 'what arrived')
    steps.settled('denied:words', denied=1)


def complete_of_a_websocket(bench):
    """complete: a WebSocket message arrives when its last part has come and it is cleared"""
    agreed = AGREED + b'\r\n'
    first, last, begins, other = (frame(b'in ', first=0), frame(b'parts', 0), frame(b'a for'),
                                  frame(b'tress'))
    steps = Steps(bench, COMPLETE.replace('version: 1', 'version: 1\nextract: raw'), UPGRADE)
    steps.send(agreed + frame(b'one'))
    steps.arrives(agreed + frame(b'one'))
    steps.send(first)
    steps.stays(agreed + frame(b'one'))
    steps.send(last)
    whole = agreed + frame(b'one') + first + last
    steps.arrives(whole)
    steps.send(begins)
    steps.stays(whole)
    steps.send(other)
    whole += begins + other
    steps.arrives(whole)
    steps.send(frame(b'a ' + TERM.encode()))
    data, _ = steps.end()
    check(data.startswith(whole + b'\x88') and TERM.encode() not in data, 'what came: %r', data)
    steps.settled('denied:words', denied=1)


def deferred_lets_go(bench):
    """deferred: an event that could begin the term arrives at once; what is clean completes"""
    steps = Steps(bench, DEFERRED)
    steps.send(HEAD, chunk(FIRST))
    steps.arrives(FIRST)
    steps.send(chunk(BEGINS))
    steps.arrives(FIRST + BEGINS)
    steps.send(chunk(OTHER), chunk(DONE), b'0\r\n\r\n')
    equal(steps.end()[0], FIRST + BEGINS + OTHER + DONE, 'the answer')
    steps.settled(complete=1)


def deferred_cuts(bench):
    """deferred: a late denial cuts the stream; the refusal follows, nothing completes"""
    steps = Steps(bench, DEFERRED)
    steps.send(HEAD, chunk(FIRST), chunk(BEGINS))
    steps.arrives(FIRST + BEGINS)
    steps.send(chunk(ENDS), chunk(FIRST), chunk(DONE), b'0\r\n\r\n')
    data, said = steps.end()
    check(data.startswith(FIRST + BEGINS + b'event: error'), 'what came: %r', data)
    check(b'bidden' not in data and b'[DONE]' not in data, 'more came: %r', data)
    check('curl: (18)' in said or 'curl: (56)' in said, 'curl takes it for whole: %s', said)
    steps.settled('denied:words', denied=1)


def output_denies(bench):
    """output: all that was sent has left; the stream is closed, and ends as denied"""
    steps = Steps(bench, OUTPUT)
    steps.send(HEAD, chunk(FIRST))
    steps.arrives(FIRST)
    steps.send(chunk(BEGINS), chunk(ENDS))
    steps.arrives(FIRST + BEGINS + ENDS)
    steps.send(chunk(DONE), b'0\r\n\r\n')
    data, said = steps.end()
    check(data.startswith(FIRST + BEGINS + ENDS), 'what came: %r', data)
    check('curl: (' in said, 'curl takes it for whole: %s, %r', said, data)
    status = steps.settled('denied:words', denied=1)
    equal(status['policies'][0]['output_tasks'], ['words'], 'tasks of the output')


def output_clears(bench):
    """output: what it clears is complete"""
    steps = Steps(bench, OUTPUT)
    steps.send(HEAD, chunk(FIRST), chunk(DONE), b'0\r\n\r\n')
    equal(steps.end()[0], FIRST + DONE, 'the answer')
    steps.settled(complete=1)


def everything_arrives(steps):
    """All at once, also what could begin the term; the finding is said."""
    steps.send(HEAD, chunk(FIRST), chunk(BEGINS))
    steps.arrives(FIRST + BEGINS)
    steps.send(chunk(ENDS), chunk(DONE), b'0\r\n\r\n')
    data, said = steps.end()
    equal(data, FIRST + BEGINS + ENDS + DONE, 'the answer')
    check('denied 0,' in said and 'found, not enforced: words 1' in said, 'the run said %s', said)
    check("task 'words' would deny, not enforcing" in steps.daemon.read_log(), 'the log says %s',
          steps.daemon.read_log())


def warn_only(bench):
    """warn_only: everything arrives, at once; the finding is counted, and no session has it"""
    policy = WARNING.replace('response:', 'request: {tasks: [keys]}\nresponse:') + \
        '  keys: {kind: terms, terms: ["sk-live"]}\n'
    steps = Steps(bench, policy)
    everything_arrives(steps)
    status = steps.settled(complete=1)
    equal((status['findings'], status['streams']['denied']), ({'words': 1}, 0), 'what is counted')
    check_outcomes(steps)


def check_outcomes(steps):
    """The trail has one outcome, which is marked as not enforcing."""
    steps.daemon.stop()
    name = os.path.join(steps.daemon.audit, sorted(os.listdir(steps.daemon.audit))[0])
    with open(name, encoding='utf-8') as trail:
        rows = [json.loads(row) for row in trail]
    found = [(row['task'], row['enforcing'], row['by']) for row in rows
             if row['event'] == 'outcome']
    equal(found, [('words', False, 'watcher')], 'outcomes')
    return rows


def observe(bench):
    """mode observe: everything arrives; found is counted, no session is opened"""
    steps = Steps(bench, OBSERVING)
    everything_arrives(steps)
    status = steps.settled()
    equal(status['findings'], {'words': 1}, 'findings')
    rows = check_outcomes(steps)
    equal([row for row in rows if row['event'].startswith('session_')], [], 'sessions recorded')


def observe_a_fault(bench):
    """mode observe: what cannot be read goes on, unjudged, and is counted"""
    steps = Steps(bench, OBSERVING.replace('version: 1', 'version: 1\nframing: ndjson'), b'{}\n')
    steps.send(b'{"t": no}\n', line('so ' + TERM))
    steps.arrives(b'{"t": no}\n' + line('so ' + TERM))
    equal(steps.end()[0], b'{"t": no}\n' + line('so ' + TERM), 'what came')
    status = steps.settled()
    equal(status['findings'], {'bad_json': 1}, 'findings')
    check('goes on unjudged' in steps.daemon.read_log(), 'the log says %s', steps.daemon.read_log())


# Hears that the peer has nothing to say, asks all the same, and ends.
ASK_A_CLOSED_PEER = '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
assert s.recv(10) == b""
s.sendall(b"GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")
s.shutdown(socket.SHUT_WR)
'''


def observe_settles(bench):
    """mode observe: a stream settles though its request is unanswered when both sides end"""
    def close_first(connection):
        connection.sock.shutdown(socket.SHUT_WR)
        connection.read_all()

    daemon = bench.daemon(OBSERVING)
    server = bench.server(close_first)
    equal(daemon.agent(ASK_A_CLOSED_PEER, server.port).returncode, 0, 'exit status')
    check(bytes(server.ended().data).startswith(b'GET /'), 'the server got the request')
    wait_for(lambda: not daemon.status()['streams']['open'], 10, 'the end')
    equal(daemon.status()['streams']['complete'], 1, 'complete streams')
    equal(daemon.status()['findings'], {'truncated': 1}, 'findings')


if __name__ == '__main__':
    main([blocking_moves, blocking_withholds, complete_holds_the_body, complete_denies,
          complete_of_lines, complete_of_a_websocket, deferred_lets_go, deferred_cuts,
          output_denies, output_clears, warn_only, observe, observe_a_fault,
          observe_settles])
