#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a successor settles: the daemon is killed (-9) at each step of a session, and the
next one settles each session that was open once, none that had ended, with the offset
that was reached and what was left."""
import collections
import fcntl
import glob
import json
import os
import random
import re
import shutil
import socket
import subprocess
import time

from sluice_test import POLICY, SLUICECTL, TERM, line, main
from waiting import Skip, check, equal, wait_for

HTTP = POLICY.replace('ndjson', 'http1').replace('"path:t"', 'raw')
PASS = POLICY + 'destinations:\n  - {match: "*:*", action: pass}\n'

# Reads commands from standard input, one a line, and answers each on one line.
AGENT = '''
import socket, sys
streams = {}
for row in sys.stdin:
    word, key, *args = row.split()
    said = "done"
    try:
        if word == "connect":
            streams[key] = socket.socket()
            streams[key].settimeout(5)
            streams[key].connect(("127.0.0.1", int(args[0])))
        elif word == "begin":
            streams[key] = socket.socket()
            streams[key].setblocking(False)
            streams[key].connect_ex(("127.0.0.1", int(args[0])))
        elif word == "send":
            streams[key].sendall(bytes.fromhex(args[0]))
        elif word == "read":
            said = b""
            while len(said) < int(args[0]):
                piece = streams[key].recv(int(args[0]) - len(said))
                if not piece:
                    break
                said += piece
            said = said.hex()
    except OSError as error:
        said = type(error).__name__
    print(said, flush=True)
'''

TRACK = r'received (\d+), released (\d+), withheld (\d+) bytes, cleared (\d+) of (\d+) runes'
LEFT = re.compile(r'stream (\d+) host_died, host_error:streaming_unsupported: sessions (\d+); '
                  'request: ' + TRACK + '; response: ' + TRACK + '; to ')


class Track:
    def __init__(self, words):
        self.received, self.released, self.withheld, self.cleared, self.runes = map(int, words)
        equal(self.withheld, self.received - self.released, 'what was left')
        check(self.cleared <= self.runes, 'more runes cleared than there were')


class Left:
    """One stream as a successor's log says that it was left."""

    def __init__(self, row):
        self.stream, self.sessions = int(row[0]), int(row[1])
        self.request, self.response = Track(row[2:7]), Track(row[7:12])


def trail(daemon):
    """The records of the audit trail."""
    records = []
    for path in sorted(glob.glob(os.path.join(daemon.audit, 'audit-*.jsonl'))):
        with open(path, encoding='utf-8') as rows:
            records += [json.loads(row) for row in rows]
    return records


def all_settled(daemon):
    """Each session and each stream of the trail settled once, and nothing that never began."""
    counts = collections.defaultdict(collections.Counter)
    for record in trail(daemon):
        counts[record['event']][record.get('stream'), record.get('session')] += 1
    for kind in ('session', 'stream'):
        settled, opened = counts[kind + '_settled'], counts[kind + '_opened']
        again = [key for key, count in settled.items() if count != 1]
        equal(again, [], kind + 's settled more than once')
        equal(sorted(set(opened) - set(settled)), [], kind + 's that were opened and not settled')
    return len(counts['session_settled'])


def verify(bench, daemon):
    done = bench.run([SLUICECTL, 'audit', 'verify', daemon.audit])
    equal(done.returncode, 0, 'exit status of audit verify; %r %r' % (done.stdout, done.stderr))


class Watched:
    """A daemon, a watched cgroup, a server, and an agent that outlives the daemon."""

    def __init__(self, bench, policy=POLICY, **server):
        self.bench = bench
        self.server = bench.server(**server)
        self.daemon = bench.daemon(policy)
        self.cgroup = bench.cgroup()
        done = self.daemon.ctl('watch', self.cgroup)
        equal(done.returncode, 0, 'exit status of watch; %r' % done.stderr)
        self.agent = bench.in_cgroup(self.cgroup, AGENT)
        self.told = []  # the trail's records of the sessions that were settled last

    def tell(self, *words):
        self.agent.stdin.write((' '.join(map(str, words)) + '\n').encode())
        self.agent.stdin.flush()
        return self.agent.stdout.readline().decode().strip()

    def connect(self, key='a'):
        number = len(self.server.connections)
        equal(self.tell('connect', key, self.server.port), 'done', 'connect')
        return self.server.connection(number)

    def send(self, data, key='a'):
        equal(self.tell('send', key, data.hex()), 'done', 'send')

    def read(self, want, key='a'):
        equal(bytes.fromhex(self.tell('read', key, len(want))), want, 'what the agent read')

    def sessions(self, end):
        return self.daemon.status()['sessions'].get(end, 0)

    def arrived(self, connection, data):
        wait_for(lambda: bytes(connection.data) == data, 5, 'what the server is to get')

    def succeed(self, streams, sessions):
        """The daemon dies, a successor starts: so many are settled, and never again."""
        self.daemon.kill()
        return self.start(streams, sessions)

    def succeed_without_the_trail(self, streams, sessions):
        """The same, where what was settled before is known from the pins alone."""
        self.daemon.kill()
        shutil.rmtree(self.daemon.audit)
        return self.start(streams, sessions)

    def start(self, streams, sessions):
        said = len(self.daemon.read_log())
        self.daemon.start()
        left = [Left(row) for row in LEFT.findall(self.daemon.read_log()[said:])]
        equal(len(left), streams, 'streams settled; the log says %r' %
              self.daemon.read_log()[said:])
        equal(sum(one.sessions for one in left), sessions, 'sessions settled')
        status = self.daemon.status()
        equal(status['sessions'].get('failed', 0), sessions, 'sessions failed, in the status')
        equal(status['streams']['open'], 0, 'open streams')
        equal(status['reasons'].get('host_died', 0), streams, 'streams counted as host_died')
        died = [record for record in trail(self.daemon) if record['event'] == 'session_settled'
                and record['error'] == 'host_died']
        self.told = died[len(died) - sessions:]
        self.named(streams, sessions)
        equal(len({(one['stream'], one['session']) for one in died}), len(died), 'settled twice')
        all_settled(self.daemon)
        said = len(self.daemon.read_log())
        self.daemon.kill()
        self.daemon.start()
        equal(self.daemon.read_log()[said:].count('host_died'), 0, 'settled twice')
        equal(self.daemon.status()['sessions'].get('failed', 0), 0, 'counted twice')
        return left[0] if streams == 1 else left


    def named(self, streams, sessions):
        """What was left has its names, though its predecessor alone had them; and its count."""
        ends = [record for record in trail(self.daemon)
                if record.get('reason') == 'host_died'][-streams:] if streams else []
        equal(sum(one['sessions']['failed'] for one in ends), sessions, 'sessions of the streams')
        equal({(one['policy'], one['cgroup']) for one in ends + self.told},
              {('test', self.cgroup)} if streams else set(), 'policy and cgroup')


def nothing_open(bench):
    """nothing had begun: nothing is settled"""
    it = Watched(bench)
    it.succeed(0, 0)


def handshake(bench):
    """the upstream has not answered: a session without a byte"""
    it = Watched(bench)
    full = socket.socket()
    full.bind(('127.0.0.1', 0))
    full.listen(0)
    # What fills the queue of the listener, so that it answers nobody else.
    waiting = [socket.socket() for _ in range(4)]
    for one in waiting:
        one.setblocking(False)
        one.connect_ex(full.getsockname())
    time.sleep(0.2)
    it.tell('begin', 'a', full.getsockname()[1])
    wait_for(lambda: it.daemon.status()['streams']['open'] == 1, 5, 'the stream')
    left = it.succeed(1, 1)
    equal((left.request.received, left.response.received), (0, 0), 'bytes received')
    for one in [*waiting, full]:
        one.close()


def held_lines(bench):
    """half a line, and a line that could begin a term: bytes and runes are told to the one"""
    it = Watched(bench)
    connection = it.connect()
    clean, half = line('clean'), b'{"t":"hal'
    it.send(clean + half)
    it.arrived(connection, clean)
    left = it.succeed(1, 1)
    equal(left.request.received, len(clean + half), 'bytes of the request')
    equal(left.request.released, len(clean), 'bytes of the request that left')
    # The name of the member counts as well.
    equal((left.request.runes, left.request.cleared), (10, 6), 'runes of the request')
    equal((left.response.received, left.response.runes), (0, 0), 'of the response')

    connection = it.connect('b')
    held = line('so forb')
    it.send(clean + clean + held, 'b')
    connection.sock.sendall(clean)
    it.arrived(connection, clean * 2)
    it.read(clean, 'b')
    left = it.succeed(1, 1)
    equal((left.request.received, left.request.released),
          (len(clean * 2 + held), len(clean * 2)), 'bytes of the request')
    equal((left.request.runes, left.request.cleared), (20, 16), 'runes of the request')
    equal((left.response.received, left.response.released, left.response.withheld),
          (len(clean), len(clean), 0), 'bytes of the response')
    equal((left.response.runes, left.response.cleared), (6, 6), 'runes of the response')


def request(path, body=b''):
    head = b'POST /%s HTTP/1.1\r\nHost: h\r\n' % path
    head += b'Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n' % len(body)
    return head + body


def answer(body, length=None):
    return b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n' % (
        len(body) if length is None else length) + body


def http_heads(bench):
    """in the middle of a request's head, and of a response's"""
    it = Watched(bench, HTTP)
    it.connect()
    it.send(request(b'x')[:20])
    wait_for(lambda: it.sessions('open') == 1, 5, 'the session')
    left = it.succeed(1, 1)
    equal((left.request.received, left.request.released), (20, 0), 'bytes of the request')

    connection = it.connect('b')
    whole = request(b'x', b'hello')
    it.send(whole, 'b')
    it.arrived(connection, whole)
    connection.sock.sendall(answer(b'hello')[:30])
    wait_for(lambda: it.daemon.status()['bytes']['received'] == len(whole) + 30, 5, 'the head')
    left = it.succeed(1, 1)
    equal((left.request.received, left.request.released), (len(whole), len(whole)), 'the request')
    equal(left.request.cleared, left.request.runes, 'runes cleared of a request that was whole')
    check(left.request.runes >= 5, 'runes of the request')
    equal((left.response.received, left.response.released), (30, 0), 'bytes of the response')


def http_event(bench):
    """in the middle of an event, and with text held behind one"""
    it = Watched(bench, HTTP)
    head = b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n'
    for key, rest, runes in (('a', b'data: and th', 7), ('b', b'data: is forb\n\n', 10)):
        connection = it.connect(key)
        whole, event = request(b'x'), b'data: so it is\n\n'
        it.send(whole, key)
        it.arrived(connection, whole)
        connection.sock.sendall(head + event + rest)
        it.read(head + event, key)
        wait_for(lambda n=len(whole + head + event + rest):
                 it.daemon.status()['bytes']['received'] == n, 5, 'the rest')
        left = it.succeed(1, 1)
        equal((left.response.received, left.response.released),
              (len(head + event + rest), len(head + event)), 'bytes of the response')
        check(left.response.runes >= left.response.cleared >= runes, 'runes: %d of %d',
              left.response.cleared, left.response.runes)


def between_exchanges(bench):
    """exchanges that have ended are not settled; the one after them is, and alone"""
    it = Watched(bench, HTTP)
    connection = it.connect()
    whole, back = request(b'x', b'hello'), answer(b'a longer answer')
    for number in range(1, 8):
        it.send(whole)
        it.arrived(connection, whole * number)
        connection.sock.sendall(back)
        it.read(back)
    equal((it.sessions('open'), it.sessions('complete')), (0, 7), 'sessions')
    left = it.succeed_without_the_trail(1, 0)
    equal((left.request.received, left.request.withheld), (len(whole) * 7, 0), 'the request')
    equal((left.response.received, left.response.withheld), (len(back) * 7, 0), 'the response')
    equal((left.request.runes, left.response.runes), (0, 0), 'runes of what had ended')

    connection = it.connect('b')
    for number in range(1, 8):
        it.send(whole, 'b')
        it.arrived(connection, whole * number)
        connection.sock.sendall(back)
        it.read(back, 'b')
    it.send(request(b'yz', b'and'), 'b')
    it.arrived(connection, whole * 7 + request(b'yz', b'and'))
    left = it.succeed(1, 1)
    equal(left.request.withheld, 0, 'the request')
    check(left.request.runes == left.request.cleared > 0, 'runes of the request')
    equal((left.response.withheld, left.response.runes), (0, 0), 'the response')


def pipelined(bench):
    """requests that wait for their answers are each a session; answered ones are none"""
    it = Watched(bench, HTTP)
    runes = 0  # of one of these requests
    for count, answered in ((1, 0), (3, 0), (3, 1), (5, 4), (12, 0), (12, 6), (64, 0)):
        key = '%d-%d' % (count, answered)
        connection = it.connect(key)
        whole = b''.join(request(b'x%02d' % n, b'hello') for n in range(count))
        back = answer(b'an answer') * answered
        it.send(whole, key)
        it.arrived(connection, whole)
        if answered:
            connection.sock.sendall(back + answer(b'half', 9))
            it.read(back, key)
            wait_for(lambda n=len(whole + back + answer(b'half', 9)):
                     it.daemon.status()['bytes']['received'] == n, 5, 'the half')
        left = it.succeed(1, count - answered)
        equal((left.request.received, left.request.withheld), (len(whole), 0), key)
        equal(left.request.cleared, left.request.runes, 'runes of the requests')
        # Those of the last four requests are kept.
        runes = runes or left.request.runes
        equal(left.request.runes, runes * min(4, count - answered), 'runes of ' + key)
        equal([one['session'] for one in it.told], list(range(answered, count)), 'told')
        check(runes > 5, 'a request has no more runes than its body')
        check(left.response.released >= len(back), 'bytes of the answers')


def websocket(bench):
    """a WebSocket is open: the exchange that it goes on in is"""
    it = Watched(bench, HTTP)
    connection = it.connect()
    ask = (b'GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
           b'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n')
    agree = (b'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
             b'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n')
    it.send(ask)
    it.arrived(connection, ask)
    message = b'\x81\x05hello'
    connection.sock.sendall(agree + message)
    it.read(agree + message)
    half = b'\x81\x7e\x01\x00half'
    connection.sock.sendall(half)
    wait_for(lambda: it.daemon.status()['bytes']['received'] == len(ask + agree + message + half),
             5, 'half a message')
    left = it.succeed(1, 1)
    equal((left.response.received, left.response.released),
          (len(agree + message + half), len(agree + message)), 'bytes of the response')
    check(left.response.cleared >= 5, 'runes cleared: %d', left.response.cleared)


def after_a_denial(bench):
    """a session that was denied has ended, though its refusal is still on its way"""
    it = Watched(bench, HTTP)
    connection = it.connect()
    whole = request(b'x')
    it.send(whole)
    it.arrived(connection, whole)
    connection.sock.sendall(answer(b'so ' + TERM.encode() + b' a word'))
    wait_for(lambda: it.sessions('denied') == 1, 5, 'the denial')
    it.succeed_without_the_trail(0, 0)


def relayed(bench):
    """a stream that is only relayed is settled, without a session"""
    it = Watched(bench, PASS)
    connection = it.connect()
    it.send(b'anything')
    it.arrived(connection, b'anything')
    it.succeed(1, 0)


def busy(connection):
    """Answers each request as it is whole, in pieces."""
    piece = connection.sock.recv(65536)
    waiting = b''
    while piece:
        connection.take(piece)
        waiting += piece
        while b'hello' in waiting:
            waiting = waiting.split(b'hello', 1)[1]
            for part in (answer(b'one, ', 13), b'two', b', and'):
                connection.sock.sendall(part)
        piece = connection.sock.recv(65536)


MANY = '''
import socket, sys
for row in sys.stdin:
    for _ in range(100):
        s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
        s.sendall(b'{"t":"x"}\\n')
        s.shutdown(socket.SHUT_WR)
        while s.recv(100):
            pass
        s.close()
    print("done", flush=True)
'''

BUSY = '''
import socket, sys, threading
port, whole, back = int(sys.argv[1]), bytes.fromhex(sys.argv[2]), int(sys.argv[3])
got = [0] * 8
def ask(n):
    try:
        s = socket.create_connection(("127.0.0.1", port))
        while True:
            s.sendall(whole)
            left = back
            while left:
                piece = s.recv(left)
                if not piece:
                    return
                got[n] += len(piece)
                left -= len(piece)
    except OSError:
        pass
threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
for thread in threads:
    thread.start()
print("begun", flush=True)
for thread in threads:
    thread.join()
print(*got, flush=True)
'''


def beyond_a_quota(bench):
    """a session whose records the quota drops has ended all the same"""
    it = Watched(bench, POLICY + 'audit: {on_full: drop, quota_bytes_per_hour: 1048576}\n')
    agent = bench.in_cgroup(it.cgroup, MANY, it.server.port)
    rounds = 0
    while rounds < 5:
        agent.stdin.write(b'go\n')
        agent.stdin.flush()
        equal(agent.stdout.readline(), b'done\n', 'the agent')
        rounds += it.daemon.status()['audit']['quota']['dropped'] > 0
    # Shorter than the time between two ticks.
    time.sleep(0.02)
    it.daemon.kill()
    said = len(it.daemon.read_log())
    it.daemon.start()
    equal(it.daemon.read_log()[said:].count('host_died'), 0, 'streams settled')


def at_any_moment(bench):
    """killed at random moments of exchanges: no peer got more than was told, none is left out"""
    rng = random.Random(7)
    it = Watched(bench, HTTP, handler=busy)
    whole, back = request(b'x', b'hello'), answer(b'one, two, and')
    for _ in range(12):
        before = len(it.server.connections)
        agent = bench.in_cgroup(it.cgroup, BUSY, it.server.port, whole.hex(), len(back))
        equal(agent.stdout.readline(), b'begun\n', 'the agent\'s first word')
        time.sleep(rng.uniform(0.05, 0.3))
        it.daemon.kill()
        got = sum(map(int, agent.stdout.readline().split()))
        agent.wait(10)
        said = len(it.daemon.read_log())
        it.daemon.start()
        left = [Left(row) for row in LEFT.findall(it.daemon.read_log()[said:])]
        equal(len({one.stream for one in left}), len(left), 'streams settled twice')
        check(all(one.sessions <= 1 for one in left), 'an agent that waits has one session open')
        equal(it.daemon.status()['sessions'].get('failed', 0),
              sum(one.sessions for one in left), 'sessions failed')
        arrived = sum(len(c.data) for c in it.server.connections[before:])
        check(all_settled(it.daemon) > 0, 'no session in the trail')
        check(sum(one.request.released for one in left) >= arrived, 'the server got more')
        check(sum(one.response.released for one in left) >= got, 'the agents got more')
        for one in left:
            # What was received makes so many exchanges; the last of them may be open.
            begun = -(-one.request.received // len(whole))
            ended = one.response.received // len(back)
            check(begun - ended <= one.sessions, 'of %d begun and %d ended %d sessions are open',
                  begun, ended, one.sessions)
    verify(bench, it.daemon)


def many_open(it, number, streams):
    """So many streams with a line under way, and the daemon killed; their ids."""
    for n in range(streams):
        it.connect('%d-%d' % (number, n))
        it.send(b'{"t":"h', '%d-%d' % (number, n))
    wait_for(lambda: it.daemon.status()['bytes']['received'] == 7 * streams, 5, 'the bytes')
    ids = [str(stream['id']) for stream in it.daemon.call('streams')['streams']]
    equal(len(ids), streams, 'open streams')
    it.daemon.kill()
    return ids


def killed_as_it_tells(it, lines):
    """Starts a successor that nobody listens to but for so many lines, which it needs to go
    on, and kills it; returns the streams it told of."""
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    it.daemon.process = it.bench.spawn(it.daemon.arguments(), stdin=subprocess.DEVNULL,
                                       stdout=write_end, stderr=write_end)
    os.close(write_end)
    with os.fdopen(read_end, 'rb', 0) as said:
        text = b''
        while text.count(b' host_died,') < lines + 1:
            piece = said.read(100)
            check(piece, 'it ended by itself and said %r', text)
            text += piece
        it.daemon.kill()
        text += said.read() or b''
        while piece := said.read():
            text += piece
    return [row[0] for row in LEFT.findall(text.decode())]


def during_settling(bench):
    """successors are killed as they settle: each session is settled once in the trail"""
    rng = random.Random(3)
    it = Watched(bench)
    streams, rounds, cut = 30, 15, 0
    for number in range(rounds):
        many_open(it, number, streams)
        cut += 0 < len(killed_as_it_tells(it, rng.randrange(6))) < streams
        killed_after(it, rng.uniform(0, 0.02))
        before = sum(record['event'] == 'session_settled' for record in trail(it.daemon))
        it.daemon.start()
        equal(all_settled(it.daemon), streams * (number + 1), 'sessions settled')
        equal(it.daemon.status()['sessions'].get('failed', 0),
              streams * (number + 1) - before, 'sessions that the last one counted')
        equal(it.daemon.status()['streams']['open'], 0, 'open streams')
    equal(cut, rounds, 'successors that were killed as they settled')
    verify(bench, it.daemon)


def killed_after(it, delay):
    """Starts a successor and kills it so long after its trail grew."""
    def size():
        return sum(map(os.path.getsize, glob.glob(os.path.join(it.daemon.audit, '*.jsonl'))))
    before, end = size(), time.monotonic() + 10
    it.daemon.process = it.bench.spawn(it.daemon.arguments(), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while size() <= before and time.monotonic() < end:
        time.sleep(0.0005)
    time.sleep(delay)
    it.daemon.kill()


def bpftool(*words):
    path = next((p for p in ('/usr/sbin/bpftool', '/usr/bin/bpftool') if os.path.exists(p)), None)
    if not path:
        raise Skip('bpftool is not installed')
    return subprocess.check_output([path, '-j', 'map', *words])


def written_and_not_deleted(bench):
    """killed between the trail's record and the deletion of the kernel's: settled once"""
    it = Watched(bench)
    streams = os.path.join(it.daemon.pins, 'streams')
    ids = many_open(it, 0, 3)
    rows = json.loads(bpftool('dump', 'pinned', streams))
    equal(len(rows), 3, 'records of streams')
    it.daemon.start()
    equal(all_settled(it.daemon), 3, 'sessions settled')
    it.daemon.kill()
    for row in rows:
        bpftool('update', 'pinned', streams, 'key', *row['key'], 'value', *row['value'])
    said = len(it.daemon.read_log())
    it.daemon.start()
    equal(all_settled(it.daemon), len(ids), 'sessions settled')
    equal(it.daemon.read_log()[said:].count('host_died'), 0, 'streams told of again')
    equal(it.sessions('failed'), 0, 'sessions counted again')
    equal(json.loads(bpftool('dump', 'pinned', streams)), [], 'records that were left')


def without_a_trail(bench):
    """the same, where nothing but the log remembers: one that was told of as a successor died
    may be told of once more, and none is left out"""
    rng = random.Random(5)
    it = Watched(bench)
    it.daemon.stop()
    it.daemon.options = ['--no-audit']
    it.daemon.start()
    for number in range(5):
        want, seen = many_open(it, number, 30), []
        for _ in range(2):
            told = killed_as_it_tells(it, rng.randrange(5))
            check(told, 'a successor told of nothing')
            check(set(told) & set(seen) <= set(seen[-1:]), 'told again: %r', told)
            seen += told
        said = len(it.daemon.read_log())
        it.daemon.start()
        left = [Left(row) for row in LEFT.findall(it.daemon.read_log()[said:])]
        check({str(one.stream) for one in left} & set(seen) <= set(seen[-1:]), 'told again')
        equal(set(seen) | {str(one.stream) for one in left}, set(want), 'all that was open')
        check(all(one.sessions == 1 for one in left), 'a stream without its session')
        equal(it.daemon.status()['sessions'].get('failed', 0), len(left), 'sessions failed')


if __name__ == '__main__':
    main([nothing_open, handshake, held_lines, http_heads, http_event, between_exchanges,
          pipelined, websocket, after_a_denial, relayed, beyond_a_quota, at_any_moment, during_settling,
          written_and_not_deleted, without_a_trail])
