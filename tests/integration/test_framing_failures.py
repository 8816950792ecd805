#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How streams of messages fail where nothing frames them, on real sockets and under every
cut: two messages become one (merging), one becomes two (splitting), one that was cut off
is taken for whole (silent truncation), and what one connection left behind is put before
what the next one brings (stale contamination)."""
import base64
import collections
import hashlib
import itertools
import json
import socket
import struct

from sluice_test import line, main, sha256
from waiting import check, equal, wait_for

ONE, TWO = b'Transfer $10', b'Transfer $100'
MERGED = ONE + TWO
POLICY = """\
version: 1
name: framing
framing: %s
extract: %s
on_deny: reset
request: {tasks: [words]}
response: {tasks: [words]}
tasks:
  words: {kind: terms, terms: ["forbidden", "%s"], fold: [casefold]}
limits: {incomplete_message_timeout_s: %d}
"""
SENTINEL = b'\r\n.\r\n'
KEY = b'dGhlIHNhbXBsZSBub25jZQ=='
UPGRADE = b'GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' \
    b'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n' % KEY
SWITCH = b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' \
    b'Sec-WebSocket-Accept: %s\r\n\r\n' % base64.b64encode(hashlib.sha1(
        KEY + b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest())
ASK = b'GET / HTTP/1.1\r\nHost: a\r\n\r\n' * 2

# Says each case of a plan on a connection of its own: its pieces one by one, then its end;
# prints what came back of each, and how it ended.
AGENT = '''
import errno, json, socket, struct, sys, time
plan = json.load(open(sys.argv[2]))

def welcome(s):
    s.sendall(bytes.fromhex(plan["hello"]))
    data = b""
    while plan["welcomed"] and not data.endswith(b"\\r\\n\\r\\n"):
        piece = s.recv(1)
        if not piece:
            raise ConnectionResetError
        data += piece

def talk(case):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.settimeout(20)
    data = b""
    try:
        welcome(s)
        for piece in case["pieces"]:
            s.sendall(bytes.fromhex(piece))
            time.sleep(0.004)
        if case["end"] == "reset":
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()
            return "", "gone"
        if case["end"] == "close":
            s.close()
            return "", "gone"
        if case["end"] == "shut":
            s.shutdown(socket.SHUT_WR)
        while piece := s.recv(65536):
            data += piece
    except OSError as error:
        # A shutdown that comes after the reset finds no connection.
        lost = error.errno in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN)
        return data.hex(), "reset" if lost else str(error)
    return data.hex(), "eof"

began = time.monotonic()
print(json.dumps([talk(case) for case in plan["cases"]]))
print(time.monotonic() - began)
'''


def masked(payload):
    mask = b'\x01\x02\x03\x04'
    return struct.pack('!BB', 0x81, 0x80 | len(payload)) + mask + bytes(
        byte ^ mask[at % 4] for at, byte in enumerate(payload))


def response(payload):
    return b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s' % (
        len(payload), payload)


def request(payload):
    return b'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n' \
        b'\r\n%s' % (len(payload), payload)


def call(payload):
    return b'Content-Length: %d\r\n\r\n%s' % (len(payload), payload)


class Speech:
    """How two messages are said in one of the framings, by an agent and by its peer."""

    def __init__(self, name, framing, form, answer=None, extract='raw\njoin: unit', **how):
        self.name, self.framing, self.extract = name, framing, extract
        self.one, self.two = form(ONE), form(TWO)
        self.answers = [(answer or form)(ONE), (answer or form)(TWO)]
        # A connection's beginning, and whether it is answered before anything is said.
        self.hello, self.welcomed = how.get('hello', b''), bool(how.get('hello'))
        # What an agent says so that its peer may speak.
        self.ask = how.get('ask', self.hello)
        # The rest of a message may pass: as another message, or as fields that nobody reads.
        self.rest_passes = how.get('rest_passes', False)
        # What is said where a message stops coming.
        self.stale = how.get('stale', 'stale')
        self.element = how['element']

    def policy(self, timeout=30, term='no such text'):
        return POLICY % (self.framing, self.extract, term, timeout)

    def serve(self, connection):
        """Handler: takes what comes, and answers what has to be answered."""
        if self.welcomed:
            head = b''
            while not head.endswith(b'\r\n\r\n'):
                piece = connection.sock.recv(1)
                if not piece:
                    return
                head += piece
            connection.sock.sendall(SWITCH)
        connection.read_all()
        if self.framing == 'http1':
            connection.sock.sendall(b'HTTP/1.1 204 No Content\r\n\r\n' *
                                    connection.data.count(b'POST '))


SPEECHES = [
    Speech('ndjson', 'ndjson', lambda text: line(text.decode()), extract='auto', element='LF'),
    Speech('lenprefix', '{kind: lenprefix, type: u32, endian: big}',
           lambda text: struct.pack('!I', len(text)) + text, element='u32 big-endian length'),
    Speech('sentinel', '{kind: sentinel, hex: "%s"}' % SENTINEL.hex(),
           lambda text: text + SENTINEL, rest_passes=True, element=SENTINEL.hex()),
    Speech('sse', 'sse', lambda text: b'data: %s\n\n' % text, rest_passes=True,
           stale='truncated', element='event stream blank line'),
    Speech('http1', 'http1', request, response, ask=ASK, rest_passes=True, stale='truncated',
           element='HTTP/1 head and body'),
    Speech('jsonrpc_cl', 'jsonrpc_cl', lambda text: call(b'{"t": "%s"}' % text), extract='auto',
           element='Content-Length header'),
    Speech('websocket', 'http1', masked,
           lambda text: struct.pack('!BB', 0x81, len(text)) + text, hello=UPGRADE,
           stale='truncated', element='HTTP/1 head and body'),
]


def said(*pieces, end='shut'):
    return {'pieces': [piece.hex() for piece in pieces], 'end': end}


class Talk:
    """An agent that says the cases in one framing, one connection each, to a server of its own."""

    def __init__(self, bench, daemon, speech, cases, **how):
        self.bench, self.speech, self.cases = bench, speech, cases
        self.server = bench.server(how.get('handler', speech.serve))
        hello = how.get('hello', speech.hello)
        plan = bench.file('plan.json', json.dumps({
            'hello': hello.hex(), 'welcomed': speech.welcomed, 'cases': cases}))
        self.run = daemon.start_agent(AGENT, self.server.port, plan,
                                      policy=how.get('policy', speech.policy()))

    def ends(self, seconds=100):
        """What came back, and how each ended; the seconds it took; what the run says."""
        out, err = self.run.communicate(timeout=seconds)
        equal(self.run.returncode, 0, '%s: exit status; %r' % (self.speech.name, err))
        rows, took = out.splitlines()
        ends = [(bytes.fromhex(data), end) for data, end in json.loads(rows)]
        return ends, float(took), err

    def connections(self):
        """(case, connection) of each, once it has ended."""
        return [(case, self.server.ended(number)) for number, case in enumerate(self.cases)]


def all_speeches(bench, cases, **how):
    """Says each framing's cases, all framings at once, and hands its ends on one by one."""
    daemon = bench.daemon(SPEECHES[0].policy())
    talks = [Talk(bench, daemon, speech, cases(speech), **{
        name: make(speech) for name, make in how.items()}) for speech in SPEECHES]
    for talk in talks:
        yield talk, *talk.ends()
    equal(daemon.status()['streams']['open'], 0, 'open streams')


def every_cut(speech):
    whole = speech.one + speech.two
    return [said(whole[:cut], whole[cut:]) for cut in range(1, len(whole))]


def cut_second(speech):
    return range(1, len(speech.two))


def merging(bench):
    """merging: two messages cut anywhere are two messages, never one"""
    term = MERGED.decode()
    for talk, ends, _, err in all_speeches(bench, every_cut,
                                           policy=lambda speech: speech.policy(term=term)):
        speech = talk.speech
        for (case, connection), end in zip(talk.connections(), ends):
            what = '%s cut after %d bytes' % (speech.name, len(case['pieces'][0]) // 2)
            equal(bytes(connection.data), speech.one + speech.two, what + ': what arrived')
            equal((connection.end, end[1]), ('eof', 'eof'), what + ': the ends; %r' % err)


def splitting(bench):
    """splitting: a message cut over reads arrives whole or not at all"""
    def drips(speech):
        whole = speech.one + speech.two
        return [*every_cut(speech),
                said(*[whole[at:at + 1] for at in range(len(whole))]),
                said(*[whole[at:at + 3] for at in range(0, len(whole), 3)])]

    for talk, _, _, _ in all_speeches(bench, drips):
        speech = talk.speech
        bounds = {len(speech.one), len(speech.one + speech.two)}
        for case, connection in talk.connections():
            total = 0
            for _, count in connection.arrivals:
                total += count
                check(total in bounds, '%s in %d pieces: %d bytes had arrived', speech.name,
                      len(case['pieces']), total)
            equal(total, max(bounds), speech.name + ': bytes that arrived')


def silent_truncation_of_requests(bench):
    """silent truncation: an agent's message that is cut off never arrives, and no end does"""
    def cases(speech):
        return [said(speech.one, speech.two[:cut]) for cut in cut_second(speech)]

    for talk, ends, _, err in all_speeches(bench, cases):
        speech = talk.speech
        for (case, connection), end in zip(talk.connections(), ends):
            what = '%s cut after %d bytes' % (speech.name, len(case['pieces'][1]) // 2)
            equal((bytes(connection.data), connection.end), (speech.one, 'reset'), what)
            equal(end[1], 'reset', what + ': the agent\'s end')
        check(b'truncated' in err, '%s: the summary says %r', speech.name, err)


def silent_truncation_of_responses(bench):
    """silent truncation: a peer's message that is cut off never arrives, and no end does"""
    def answers(speech):
        cuts = itertools.count(1)

        def handler(connection):
            if speech.ask:
                equal(connection.sock.recv(len(speech.ask), socket.MSG_WAITALL), speech.ask,
                      'what was asked')
            first, second = speech.answers
            start = SWITCH if speech.welcomed else b''
            connection.sock.sendall(start + first)
            connection.sock.sendall(second[:next(cuts)])
        return handler

    def cases(speech):
        return [said(end='wait') for _ in range(1, len(speech.answers[1]))]

    for talk, ends, _, err in all_speeches(bench, cases, handler=answers,
                                           hello=lambda speech: speech.ask):
        speech = talk.speech
        equal(len(ends), len(talk.server.connections), speech.name + ': connections')
        check(not talk.server.faults, '%s: the server failed: %s', speech.name,
              talk.server.faults)
        for cut, end in enumerate(ends, 1):
            equal(end, (speech.answers[0], 'reset'), '%s cut after %d bytes' % (speech.name, cut))
        check(b'truncated' in err, '%s: the summary says %r', speech.name, err)


def stale_contamination_across_reconnects(bench):
    """stale contamination: half a message, a reconnect and the rest are never joined"""
    def cases(speech):
        ends = collections.deque(['shut', 'close', 'reset'])
        found = []
        for cut in cut_second(speech):
            found += [said(speech.one, speech.two[:cut], end=ends[0]), said(speech.two[cut:])]
            ends.rotate()
        return found

    for talk, _, _, _ in all_speeches(bench, cases):
        speech, connections = talk.speech, talk.connections()
        for (case, half), (_, rest) in zip(connections[::2], connections[1::2]):
            what = '%s cut after %d bytes' % (speech.name, len(case['pieces'][1]) // 2)
            came = (speech.one, b'') if case['end'] == 'reset' else (speech.one,)
            check(bytes(half.data) in came, '%s: %r arrived', what, bytes(half.data))
            equal(half.end, 'reset', what + ': the end')
            left = speech.two[len(case['pieces'][1]) // 2:]
            if not speech.rest_passes:
                # White space between two lines is no message.
                equal(rest.data.strip(), b'', what + ': of the rest')
            check(bytes(rest.data) in (b'', left), '%s: of the rest %r arrived', what,
                  bytes(rest.data))


def stale_contamination_across_a_restart(bench):
    """stale contamination: what a killed daemon held is not put before what comes later"""
    for speech in (SPEECHES[0], SPEECHES[1], SPEECHES[5]):
        daemon = bench.daemon(speech.policy())
        cut = len(speech.two) // 2
        first = Talk(bench, daemon, speech, [said(speech.one, speech.two[:cut], end='wait')])
        connection = first.server.connection()
        wait_for(lambda c=connection, s=speech: bytes(c.data) == s.one, 10, 'the first message')
        daemon.kill()
        wait_for(lambda c=connection: c.end, 10, 'the end of the first connection')
        equal((bytes(connection.data), connection.end), (speech.one, 'reset'), speech.name)
        daemon.start()
        equal(daemon.read_log().count('host_died'), 1, 'streams settled as host_died')
        second = Talk(bench, daemon, speech, [said(speech.two[cut:])])
        second.ends()
        rest = second.server.ended()
        equal((bytes(rest.data), rest.end), (b'', 'reset'), speech.name + ': of the rest')
        first.run.communicate(timeout=20)


def stale_partial_messages(bench):
    """a message that stays half fails by its timeout, with the reason of its framing"""
    def cases(speech):
        return [said(speech.one, speech.two[:len(speech.two) // 2], end='wait')]

    for talk, ends, took, err in all_speeches(bench, cases,
                                              policy=lambda speech: speech.policy(1)):
        speech = talk.speech
        connection = talk.server.ended()
        equal((bytes(connection.data), connection.end), (speech.one, 'reset'), speech.name)
        equal(ends[0][1], 'reset', speech.name + ': the agent\'s end')
        check(speech.stale.encode() in err, '%s: the summary says %r', speech.name, err)
        check(0.9 < took < 6, '%s: after %g s, the timeout is 1 s', speech.name, took)


def never_identified(bench):
    """first bytes that never tell what they are wait for the timeout, and are unframed"""
    speech = Speech('auto', 'auto', request, extract='auto', element='not identified yet')
    daemon = bench.daemon(speech.policy(1))
    talk = Talk(bench, daemon, speech, [said(b'POS', end='wait')], policy=speech.policy(1))
    ends, took, err = talk.ends()
    connection = talk.server.ended()
    equal((bytes(connection.data), connection.end, ends[0][1]), (b'', 'reset', 'reset'), 'ends')
    check(b'unframed' in err, 'the summary says %r', err)
    check(0.9 < took < 6, 'after %g s, the timeout is 1 s', took)
    # What tells in time goes on.
    whole = speech.one
    talk = Talk(bench, daemon, speech, [said(whole[:3], whole[3:])],
                handler=SPEECHES[4].serve)
    talk.ends()
    equal(bytes(talk.server.ended().data), whole, 'what arrived')


def recorded_elements(bench):
    """every flow says what ends its messages and what is missing, and never shows a hash"""
    daemon = bench.daemon(SPEECHES[0].policy())
    auto = Speech('auto', 'auto', lambda text: text, extract='auto', element='not identified yet')
    for speech in [*SPEECHES, auto]:
        half = b'POS' if speech is auto else speech.two[:-4]
        before = b'' if speech is auto else speech.one
        talk = Talk(bench, daemon, speech, [said(before, half, end='wait')],
                    policy=speech.policy(77))
        connection = talk.server.connection()
        wait_for(lambda c=connection, b=before: bytes(c.data) == b, 10, 'the first message')

        def flow():
            streams = [stream for stream in daemon.call('streams')['streams']
                       if stream['state'] == 'open']
            return streams[0]['request']['message'] if streams else None
        wait_for(lambda h=half: (flow() or {}).get('partial') == len(h), 10,
                 speech.name + ': half a message')
        message = flow()
        equal(message['message_boundary_delimiter'], speech.element, speech.name)
        equal(message['incomplete_message_timeout'], 77, speech.name + ': the timeout')
        expected = {'lenprefix': len(TWO), 'http1': 4, 'jsonrpc_cl': 4}.get(speech.name)
        equal(message['expected_message_size'], expected, speech.name + ': the expected size')
        shown = json.dumps([daemon.status(), daemon.call('streams')]) + daemon.read_log()
        check(sha256(half) not in shown, '%s: the hash of the held bytes is shown', speech.name)
        talk.run.terminate()
        talk.run.communicate(timeout=20)
        check(sha256(half) not in daemon.read_log(), '%s: the log has the hash', speech.name)


if __name__ == '__main__':
    main([merging, splitting, silent_truncation_of_requests, silent_truncation_of_responses,
          stale_contamination_across_reconnects, stale_contamination_across_a_restart,
          stale_partial_messages, never_identified, recorded_elements])
