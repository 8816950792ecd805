#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A live daemon is handed over to a successor: connects are not refused, streams between two
messages go on, what is amid one settles, each session once."""
import contextlib
import os
import re
import select
import signal
import socket
import struct
import subprocess
import threading
import time

from peers import echo
from sluice_test import NOBODY, PYTHON, command_line, main
from test_death import HTTP, PASS, Watched, all_settled, answer, request, trail, verify
from test_notify import Manager
from waiting import check, equal, wait_for


class Handover:
    """Starts a successor; the daemon of the bench is it from then on, if it succeeds."""

    def __init__(self, daemon, wait='5', prefix=()):
        self.daemon, self.before = daemon, daemon.process
        read_end, write_end = os.pipe()
        self.began = time.monotonic()
        self.error = os.path.join(daemon.bench.folder, 'successor.log')
        with open(self.error, 'ab') as log:
            self.process = daemon.bench.spawn(
                [*prefix, *daemon.arguments(), '--takeover', wait, '--ready-fd', str(write_end)],
                pass_fds=[write_end], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        os.close(write_end)
        self.ready = os.fdopen(read_end, 'rb')

    def said(self):
        try:
            return self.ready.readline()
        finally:
            self.ready.close()

    def done(self):
        said = self.said()
        check(said == b'ready\n', 'the successor said %r; the log: %s', said,
              self.daemon.read_log())
        equal(self.before.wait(5), 0, 'exit status of the daemon before')
        self.daemon.process = self.process
        return self

    def refused(self, text):
        said = self.said().decode()
        check(said.startswith('error: ') and text in said, 'the successor said %r', said)
        equal(self.process.wait(5), 1, 'exit status of the successor')
        equal(self.before.poll(), None, 'the daemon before')


def exchange(it, connection, body=b'hello', key='a'):
    """One request and its answer on a connection that is kept."""
    whole, reply = request(b'x', body), answer(body)
    have = len(connection.data)
    it.send(whole, key)
    wait_for(lambda: bytes(connection.data[have:]) == whole, 8, 'the request')
    connection.sock.sendall(reply)
    it.read(reply, key)


def kept_connections_go_on(bench):
    """a connection that is kept, between two exchanges: the next goes over it, and settles once"""
    it = Watched(bench, HTTP)
    connection = it.connect()
    exchange(it, connection)
    Handover(it.daemon).done()
    exchange(it, connection, b'again')
    equal(it.daemon.status()['streams']['open'], 1, 'open streams')
    Handover(it.daemon).done()
    exchange(it, connection, b'third')
    it.agent.stdin.close()
    it.server.ended()
    wait_for(lambda: not it.daemon.status()['streams']['open'], 5, 'the end of the stream')
    equal(all_settled(it.daemon), 3, 'sessions')
    ends = [one for one in trail(it.daemon) if one['event'] == 'stream_settled']
    equal([(one['end'], one['reason']) for one in ends], [('complete', 'complete')], 'its end')
    equal(ends[0]['sessions']['complete'], 3, 'sessions of the stream')
    equal(len([1 for one in trail(it.daemon) if one['event'] == 'handed_over']), 2, 'handovers')
    verify(bench, it.daemon)



def nobody_is_refused(bench):
    """connects all the time: none is refused or reset, each gets its answer"""
    it = Watched(bench, HTTP, handler=serve)
    agent = bench.in_cgroup(it.cgroup, """
import http.client, sys, time
port, end = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
count, longest = 0, 0
while time.monotonic() < end:
    began = time.monotonic()
    server = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    server.request("POST", "/x", b"hello", {"Content-Type": "text/plain"})
    answer = server.getresponse()
    assert answer.status == 200 and answer.read() == b"fine"
    server.close()
    count, longest = count + 1, max(longest, time.monotonic() - began)
print(count, longest)
""", it.server.port, 2.5)
    wait_for(lambda: it.server.connections, 8, 'the first connection')
    first = Handover(it.daemon).done()
    Handover(it.daemon).done()
    out, err = agent.communicate(timeout=20)
    equal(agent.returncode, 0, 'exit status of the agent; %r' % err[-800:])
    count, longest = out.split()
    check(float(longest) < 3, 'a connection took %s s', longest)
    check(int(count) > 20, '%s connections', count)
    print('# %s connections through two handovers, the longest took %.0f ms' %
          (count.decode(), 1000 * float(longest)))
    all_settled(it.daemon)
    check(first, 'a handover')


AGENTS = {
    'Python': (PYTHON, """
import http.client, sys, threading, time
end, told = time.monotonic() + float(sys.argv[2]), []
def keep():
    server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
    server.connect()
    server.auto_open, count, longest = 0, 0, 0
    while time.monotonic() < end:
        began = time.monotonic()
        server.request("POST", "/x", b"hello", {"Content-Type": "text/plain"})
        answer = server.getresponse()
        assert answer.status == 200 and answer.read() == b"fine"
        count, longest = count + 1, max(longest, time.monotonic() - began)
    told.append((count, longest))
threads = [threading.Thread(target=keep) for _ in range(16)]
for one in threads:
    one.start()
for one in threads:
    one.join()
assert len(told) == len(threads)
print(min(count for count, _ in told), max(longest for _, longest in told))
"""),
    'Node': ('/usr/bin/node', """
const http = require("http");
const agent = new http.Agent({keepAlive: true, maxSockets: 1});
const end = Date.now() + 1000 * process.argv[3];
let count = 0, longest = 0;
function next() {
  const began = Date.now();
  const call = http.request({port: process.argv[2], host: "127.0.0.1", path: "/x", method: "POST",
    agent, headers: {"Content-Type": "text/plain", "Content-Length": 5}}, answer => {
    answer.resume();
    answer.on("end", () => {
      count += 1;
      longest = Math.max(longest, (Date.now() - began) / 1000);
      if (Date.now() < end) next();
      else { console.log(count, longest); agent.destroy(); }
    });
  });
  call.on("error", error => { console.error(error); process.exit(1); });
  call.end("hello");
}
next();
"""),
}


def busy_clients_notice_nothing(bench):
    """clients of Python and Node that never rest keep their connections over two handovers"""
    it = Watched(bench, HTTP, handler=lambda connection: serve(connection, 0.02))
    agents = {}
    for name, (program, source) in AGENTS.items():
        if os.path.exists(program):
            path = bench.file('agent', source)
            agents[name] = bench.spawn(
                ['/bin/sh', '-c', 'echo 0 > "$0/cgroup.procs"; exec "$@"', it.cgroup, program,
                 path, str(it.server.port), '2.5'],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: len(it.server.connections) == len(agents) + 15, 8, 'the connections')
    Handover(it.daemon, '2').done()
    Handover(it.daemon, '2').done()
    for name, agent in agents.items():
        out, err = agent.communicate(timeout=20)
        equal(agent.returncode, 0, 'exit status of %s; %r' % (name, err[-800:]))
        count, longest = out.split()
        check(int(count) > 20, '%s: %s exchanges', name, count)
        print('# %s: at least %s exchanges on one connection, the longest took %.0f ms' %
              (name, count.decode(), 1000 * float(longest)))
    equal(len(it.server.connections), len(agents) + 15, 'connections at the server')
    wait_for(lambda: not it.daemon.status()['streams']['open'], 5, 'the end of the streams')
    all_settled(it.daemon)
    equal([one['settled'] for one in trail(it.daemon) if one['event'] == 'handed_over'], [0, 0],
          'streams that were settled')


def serve(connection, pause=0):
    """Handler: answers each request of a kept connection, after a while."""
    data = b''
    while piece := connection.sock.recv(65536):
        data += piece
        connection.take(piece)
        while b'hello' in data:
            data = data.split(b'hello', 1)[1]
            time.sleep(pause)
            connection.sock.sendall(answer(b'fine'))


def tokens(connection, count, pause):
    """An answer of chunks, one a while."""
    connection.sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n'
                            b'Transfer-Encoding: chunked\r\n\r\n')
    said = b''
    for number in range(count):
        event = b'data: token %d\n\n' % number
        said += b'%x\r\n%s\r\n' % (len(event), event)
        connection.sock.sendall(b'%x\r\n%s\r\n' % (len(event), event))
        time.sleep(pause)
    connection.sock.sendall(b'0\r\n\r\n')
    return said + b'0\r\n\r\n'


HEAD = (b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n'
        b'Transfer-Encoding: chunked\r\n\r\n')


def what_ends_in_time_arrives(bench):
    """a stream of tokens that ends while it is waited for is whole, and its connection goes on"""
    it = Watched(bench, HTTP)
    connection = it.connect()
    it.send(request(b'x', b'hello'))
    it.arrived(connection, request(b'x', b'hello'))
    handover = Handover(it.daemon, '8')
    said = tokens(connection, 15, 0.05)
    handover.done()
    check('handed over to process %d: 1 stream, 0 settled\n' % it.daemon.process.pid in
          it.daemon.read_log(), 'the log')
    it.read(HEAD + said, 'a')
    exchange(it, connection)
    equal(all_settled_but(it, 1), 2, 'sessions')


def all_settled_but(it, streams):
    """Sessions that ended, once each; so many streams are open."""
    equal(it.daemon.status()['streams']['open'], streams, 'open streams')
    records = trail(it.daemon)
    opened = {(one['stream'], one['session']) for one in records
              if one['event'] == 'session_opened'}
    ended = [(one['stream'], one['session']) for one in records
             if one['event'] == 'session_settled']
    equal(sorted(set(ended)), sorted(ended), 'sessions settled twice')
    equal(sorted(opened), sorted(ended), 'sessions that were opened, and that ended')
    return len(ended)


def what_does_not_ends_as_failed(bench):
    """one that does not end in time settles as handed_over, and nothing uncleared of it leaves"""
    it = Watched(bench, HTTP)
    connection, kept = it.connect(), it.connect('b')
    exchange(it, kept, key='b')
    it.send(request(b'x', b'hello'))
    it.arrived(connection, request(b'x', b'hello'))
    connection.sock.sendall(HEAD + b'1c\r\ndata: so this is forbi')
    it.read(HEAD, 'a')
    began = time.monotonic()
    Handover(it.daemon, '1').done()
    check(0.9 < time.monotonic() - began < 4, 'it took %g s', time.monotonic() - began)
    equal(it.tell('read', 'a', 1), 'ConnectionResetError', 'what the agent read then')
    it.server.ended()
    exchange(it, kept, b'again', 'b')
    ends = [one for one in trail(it.daemon) if one['event'] == 'stream_settled']
    equal([(one['end'], one['reason']) for one in ends], [('failed', 'handed_over')], 'its end')
    equal(all_settled_but(it, 1), 3, 'sessions')
    over = [one for one in trail(it.daemon) if one['event'] == 'handed_over']
    equal([(one['streams'], one['settled'], one['pid']) for one in over],
          [(1, 1, it.daemon.process.pid)], 'what the trail says of it')


def half_a_message_goes_along(bench):
    """half a head is judged anew: its session is the same, and a term over both halves denies"""
    it = Watched(bench, HTTP)
    connection, bad = it.connect(), it.connect('b')
    whole, denied = request(b'x', b'hello'), request(b'forbidden', b'hello')
    at = denied.index(b'forb') + 4
    it.send(whole[:30])
    it.send(denied[:at], 'b')
    wait_for(lambda: it.sessions('open') == 2, 5, 'the sessions')
    Handover(it.daemon).done()
    equal(it.sessions('open'), 2, 'open sessions, of a successor')
    it.send(whole[30:])
    it.arrived(connection, whole)
    connection.sock.sendall(answer(b'fine'))
    it.read(answer(b'fine'))
    it.tell('send', 'b', denied[at:].hex())
    said = bytes.fromhex(it.tell('read', 'b', 12))
    equal(said, b'HTTP/1.1 403', 'what the agent reads')
    equal(bytes(bad.data), b'', 'what left of it')
    wait_for(lambda: it.daemon.status()['streams']['open'] == 1, 5, 'the end of the stream')
    records = trail(it.daemon)
    opened = [(one['stream'], one['session']) for one in records
              if one['event'] == 'session_opened']
    equal(len(opened), 2, 'sessions that were opened')
    equal(all_settled_but(it, 1), 2, 'sessions')


def kept_and_half(bench):
    """A stream whose exchange is over, which stays open, and one amid its request."""
    it = Watched(bench, HTTP)
    kept, half = it.connect(), it.connect('h')
    exchange(it, kept)
    it.send(request(b'x', b'hello')[:25], 'h')
    wait_for(lambda: it.sessions('open') == 1, 5, 'the session')
    return it, kept, half


def a_killed_successor_leaves_what_it_had(bench):
    """a successor that is killed: the next settles what it was given, each session once"""
    it, kept, _ = kept_and_half(bench)
    Handover(it.daemon).done()
    exchange(it, kept)
    # A session that has ended may be told as open until its record is written, which status awaits.
    wait_for(lambda: it.sessions('open') == 1, 5, 'the end of the exchange')
    it.succeed(2, 1)


def what_passes_goes_on(bench):
    """relayed streams go on amid their bytes, a half-closed one too, byte for byte"""
    it = Watched(bench, PASS, handler=echo)
    source = """
import hashlib, select, socket, sys, threading
stream = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
block = bytes(range(256)) * 256
want, got = hashlib.sha256(), hashlib.sha256()
def read():
    while piece := stream.recv(262144):
        got.update(piece)
reader = threading.Thread(target=read)
reader.start()
print("begun", flush=True)
count = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    stream.sendall(block)
    want.update(block)
    count += len(block)
stream.shutdown(socket.SHUT_WR)
reader.join()
print(want.digest() == got.digest(), count)
"""
    agent = bench.in_cgroup(it.cgroup, source, it.server.port)
    half = it.connect('h')
    it.send(b'abc', 'h')
    it.read(b'abc', 'h')
    agent.stdout.readline()
    Handover(it.daemon, '1').done()
    Handover(it.daemon, '1').done()
    out, err = agent.communicate(timeout=60)
    same, count = out.split()
    equal(same, b'True', 'whether what came back is what was sent; %r' % err)
    it.send(b'def', 'h')
    it.read(b'def', 'h')
    it.agent.stdin.close()
    wait_for(lambda: half.end, 5, 'the end')
    wait_for(lambda: not it.daemon.status()['streams']['open'], 5, 'the end of the streams')
    ends = [one for one in trail(it.daemon) if one['event'] == 'stream_settled']
    equal([one['end'] for one in ends], ['complete', 'complete'], 'ends')
    equal(sorted(one['request']['flow_bytes_received'] for one in ends), [6, int(count)],
          'bytes')


# --- the messages, as daemon/handover_wire.h has them ---

(HELLO, WELCOME, PREPARED, LISTENERS, POLICY, STREAM, BYTES, RUN, END, READY, COMMIT,
 REFUSED) = range(1, 13)
MAGIC, VERSION = 0x53484f56, 1


def message(kind, body=b'', magic=MAGIC, version=VERSION, length=None):
    return struct.pack('=IHHII', magic, version, kind, len(body) if length is None else length,
                       0) + body


def hello(daemon, abi=None, wait=1000, port=None, instance=None):
    return message(HELLO, struct.pack('=II68sI', abi or daemon.status()['abi'], wait,
                                      (instance or daemon.instance).encode(),
                                      port or daemon.port))


class Fake:
    """A successor of the test's own, which speaks as far as it is told to."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(10)
        self.sock.connect('/run/sluice/%s.handover' % daemon.instance)
        self.fds = []

    def send(self, data):
        self.sock.send(data)

    def receive(self):
        """The type of the next message and its body; (None, b'') at the end."""
        data, fds, _, _ = socket.recv_fds(self.sock, 70000, 4)
        self.fds += fds
        if not data:
            return None, b''
        return struct.unpack('=IHHII', data[:16])[2], data[16:]

    def refused(self, text):
        kind, body = self.receive()
        equal(kind, REFUSED, 'the answer; %r' % body)
        check(text in body.decode(), 'it said %r', body)
        equal(self.receive()[0], None, 'what followed')
        self.close()

    def prepared(self, wait=1000, streams=1000):
        self.send(hello(self.daemon, wait=wait))
        equal(self.receive()[0], WELCOME, 'the answer')
        self.send(message(PREPARED, struct.pack('=Q', streams)))

    def everything(self):
        """What is sent up to the end of it, by type."""
        kinds = []
        while not kinds or kinds[-1] != END:
            kinds.append(self.receive()[0])
            check(kinds[-1], 'the daemon hung up after %r', kinds)
        return kinds

    def close(self):
        for fd in self.fds:
            os.close(fd)
        self.fds = []
        self.sock.close()


def is_as_before(it, connection):
    """The daemon goes on: a kept connection, and a new one."""
    exchange(it, connection)
    key = 'n%d' % len(it.server.connections)
    exchange(it, it.connect(key), key=key)
    equal(it.daemon.process.poll(), None, 'exit status of the daemon')


def who_may_not_is_refused(bench):
    """another ABI, version, instance or port, no message, not root, watched, a second: refused"""
    path = '/run/sluice/%s-0.handover' % bench.name
    it = Watched(bench, HTTP + 'unix: ["%s"]\n' % path)
    connection, daemon = it.connect(), it.daemon
    for data, text in (
            (hello(daemon, abi=77), 'ABI is 77'),
            (hello(daemon, instance='another'), 'is instance'),
            (hello(daemon, port=999), 'has port %d' % daemon.port),
            (message(HELLO, b'short'), 'does not speak this version'),
            (message(HELLO, b'x' * 80, length=79), 'does not speak this version'),
            (message(HELLO, b'x' * 80, version=VERSION + 1), 'does not speak this version'),
            (message(HELLO, b'x' * 80, magic=1), 'does not speak this version'),
            (message(77), 'does not speak this version'),
            (b'x', 'does not speak this version'),
            (message(READY), 'does not belong here'),
            (message(PREPARED, struct.pack('=Q', 9)), 'does not belong here')):
        fake = Fake(daemon)
        fake.send(data)
        fake.refused(text)
    first = Fake(daemon)
    first.send(hello(daemon))
    equal(first.receive()[0], WELCOME, 'the answer')
    Fake(daemon).refused('another process')
    first.send(hello(daemon))
    first.refused('does not belong here')
    full = Fake(daemon)
    full.prepared(streams=0)
    full.refused('it has room for 0 streams, and 1 is open')
    equal(os.stat(path).st_mode & 0o777, 0o600, 'mode of the socket')
    ask = ('import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); '
           's.connect(sys.argv[1]); print(s.recv(999)[16:])')
    os.chmod(path, 0o666)
    other = bench.run([PYTHON, '-c', ask, path], user=NOBODY)
    check(b'only root' in other.stdout, 'another user heard %r %r', other.stdout, other.stderr)
    os.chmod(path, 0o600)
    inside = bench.in_cgroup(it.cgroup, ask, path).communicate(timeout=10)
    check(b'watched cgroup' in inside[0], 'a watched process heard %r', inside)
    is_as_before(it, connection)


def a_successor_that_dies_changes_nothing(bench):
    """it goes away at each step up to its last word, or says no: the daemon goes on as it was"""
    it = Watched(bench, HTTP)
    connection, busy = it.connect(), it.connect('busy')
    it.send(request(b'x', b'hello'), 'busy')
    it.arrived(busy, request(b'x', b'hello'))
    daemon = it.daemon
    for step in range(7):
        fake = Fake(daemon)
        if step >= 1:
            fake.send(hello(daemon, wait=300))
        if step >= 2:
            equal(fake.receive()[0], WELCOME, 'the answer')
        if step >= 3:
            fake.send(message(PREPARED, struct.pack('=Q', 100)))
        if step >= 4:
            equal(fake.receive()[0], LISTENERS, 'what came')
        if step >= 5:
            kinds = fake.everything()
            equal(kinds[0], POLICY, 'what came first')
            equal(kinds.count(STREAM), 1 + (step - 5) * 0 + step, 'streams')
        if step == 6:
            fake.send(message(REFUSED, b'it will not do'))
        fake.close()
        key = 's%d' % step
        exchange(it, it.connect(key), key=key)
    check('it will not do' in daemon.read_log(), 'the log has not what it said')
    busy.sock.sendall(answer(b'fine'))
    it.read(answer(b'fine'), 'busy')
    is_as_before(it, connection)
    equal(daemon.status()['reasons'].get('handed_over', 0), 0, 'streams that were settled')


def one_that_hangs_is_given_up(bench):
    """a successor that stops at the last moment: after 3 seconds the daemon goes on"""
    it = Watched(bench, HTTP)
    connection = it.connect()
    fake = Fake(it.daemon)
    fake.prepared(wait=0)
    fake.everything()
    began = time.monotonic()
    exchange(it, connection)
    check(time.monotonic() - began < 5, 'it hung for %g s', time.monotonic() - began)
    fake.close()
    is_as_before(it, connection)


def one_that_dies_after_its_word_is_settled(bench):
    """it said that it is ready, and dies: what it was given is closed, and settles once"""
    it = Watched(bench, HTTP)
    connection, held = it.connect(), it.connect('h')
    exchange(it, connection)
    it.send(request(b'forbidden', b'hello')[:12], 'h')
    wait_for(lambda: it.sessions('open') == 1, 5, 'the session')
    fake = Fake(it.daemon)
    fake.prepared(wait=0)
    fake.everything()
    fake.send(message(READY))
    equal(fake.receive()[0], COMMIT, 'what came')
    equal(it.daemon.process.wait(5), 0, 'exit status of the daemon')
    equal(it.tell('connect', 'x', it.server.port), 'done', 'a connect that waits')
    fake.close()
    equal(it.tell('read', 'a', 1), 'ConnectionResetError', 'what the agent read')
    equal(it.tell('connect', 'y', it.server.port), 'ConnectionRefusedError', 'a connect')
    it.start(2, 1)
    equal((bytes(connection.data), bytes(held.data)), (request(b'x', b'hello'), b''),
          'what left')


def waiting_for_a_busy_one(bench):
    """A daemon with a stream amid an exchange, and a successor that it makes wait."""
    it = Watched(bench, HTTP)
    busy = it.connect()
    it.send(request(b'x', b'hello'))
    it.arrived(busy, request(b'x', b'hello'))
    handover = Handover(it.daemon, '20')
    wait_for(lambda: 'prepares to take' in it.daemon.read_log(), 10, 'the successor')
    time.sleep(0.5)
    return it, handover


def is_told(handover):
    said = handover.said()
    check(b'went away' in said, 'the successor said %r', said)
    equal(handover.process.wait(5), 1, 'its exit status')


def killed_while_it_waits(bench):
    """the daemon is killed while a successor waits: that ends, and the next start settles all"""
    it, handover = waiting_for_a_busy_one(bench)
    it.daemon.kill()
    is_told(handover)
    it.start(1, 1)


def stopped_while_it_waits(bench):
    """the daemon is told to stop while a successor waits: it stops, and has given nothing"""
    it, handover = waiting_for_a_busy_one(bench)
    equal(it.daemon.stop(), 0, 'exit status of the daemon')
    is_told(handover)
    ends = [one for one in trail(it.daemon) if one['event'] == 'stream_settled']
    equal([one['reason'] for one in ends], ['shutdown'], 'why it ended')
    equal([one for one in trail(it.daemon) if one['event'] == 'handed_over'], [], 'handovers')
    it.start(0, 0)


class Between:
    """Stands between a daemon and its successor, and changes what it is told to."""

    def __init__(self, daemon, change, swap=False):
        self.swap = swap  # the two sockets of each stream
        self.path = '/run/sluice/%s.handover' % daemon.instance
        self.daemon, self.change = daemon, change
        self.inner = Fake(daemon)
        os.rename(self.path, self.path + '.real')
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.path)
        self.listener.listen(1)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        outer, _ = self.listener.accept()
        os.unlink(self.path)
        os.rename(self.path + '.real', self.path)
        with outer, contextlib.suppress(OSError):
            while True:
                readable, _, _ = select.select([outer, self.inner.sock], [], [])
                source = readable[0]
                sink = self.inner.sock if source is outer else outer
                data, fds, _, _ = socket.recv_fds(source, 70000, 4)
                if not data:
                    break
                kind = struct.unpack('=IHHII', data[:16])[2]
                fds = fds[::-1] if self.swap and kind == STREAM else fds
                socket.send_fds(sink, [self.change(kind, data)], fds)
                for fd in fds:
                    os.close(fd)
        self.inner.close()

    def close(self):
        self.thread.join(10)
        self.listener.close()


def bytes_that_changed_are_discarded(bench):
    """what was held of a message has another hash on its way: its stream ends, the other goes on"""
    it, kept, half = kept_and_half(bench)
    between = Between(it.daemon, lambda kind, data: data.replace(b'POST /x', b'POST /y')
                      if kind == BYTES else data)
    Handover(it.daemon).done()
    between.close()
    check('not what was handed over' in it.daemon.read_log(), 'the log does not tell it')
    equal(it.tell('read', 'h', 1), 'ConnectionResetError', 'what the agent read')
    wait_for(lambda: half.end, 5, 'the end of it')
    equal(bytes(half.data), b'', 'what left of it')
    exchange(it, kept)
    died = [one for one in trail(it.daemon) if one['event'] == 'stream_settled']
    equal([(one['reason'], one['sessions']['failed']) for one in died], [('host_died', 1)],
          'its end')
    equal(all_settled_but(it, 1), 3, 'sessions')


def sockets_of_another_are_discarded(bench):
    """a socket that is not bound to the stream's slot: the stream is not gone on with"""
    it = Watched(bench, HTTP)
    exchange(it, it.connect())
    between = Between(it.daemon, lambda kind, data: data, swap=True)
    Handover(it.daemon).done()
    between.close()
    check('not as the kernel knows it' in it.daemon.read_log(), 'the log does not tell it')
    equal(it.tell('read', 'a', 1), 'ConnectionResetError', 'what the agent read')
    equal(all_settled_but(it, 0), 1, 'sessions')


def what_is_not_whole_is_refused(bench):
    """numbers, lengths and bytes that do not fit on the way: refused, and nothing has changed"""
    it, kept, _ = kept_and_half(bench)

    def at(kind, change):
        return lambda one, data: change(data) if one == kind else data

    def set_at(offset, value):
        return lambda data: data[:16 + offset] + value + data[16 + offset + len(value):]

    for change in (
            at(STREAM, set_at(160 + 8, struct.pack('=Q', 1 << 60))),  # released
            at(STREAM, set_at(88, b'0' * 64)),  # policy
            at(POLICY, set_at(8, b'0' * 64)),  # digest
            at(POLICY, set_at(76, struct.pack('=I', 1 << 31))),  # number
            at(BYTES, lambda data: message(BYTES, data[16:] + b'more')),
            at(LISTENERS, set_at(0, struct.pack('=Q', 1))),
            at(LISTENERS, set_at(12, struct.pack('=H', 7))),
            at(END, lambda data: message(BYTES, b'x')),
            at(WELCOME, lambda data: message(REFUSED, b'no'))):
        between = Between(it.daemon, change)
        handover = Handover(it.daemon, '1')
        said = handover.said()
        check(said.startswith(b'error: '), 'the successor said %r', said)
        equal(handover.process.wait(5), 1, 'exit status of the successor')
        between.close()
        equal(it.daemon.process.poll(), None, 'exit status of the daemon')
    is_as_before(it, kept)
    equal(it.sessions('open'), 1, 'open sessions')


LINES = """\
version: 1
name: test
framing: auto
extract: "path:t"
join: unit
request: {tasks: [%s]}
tasks:
  words: {kind: terms, terms: ["forbidden"], fold: [casefold]}
destinations:
"""


def go_on_between(bench, tasks, cases):
    """Streams of these framings, each with what comes before the handover and after it."""
    servers = [bench.server() for _ in cases]
    it = Watched(bench, LINES % tasks + ''.join(
        '  - {match: "127.0.0.1:%d", action: mediate, framing: %s}\n' % (server.port, case[0])
        for server, case in zip(servers, cases)))
    for number, (_, first, _) in enumerate(cases):
        it.tell('connect', number, servers[number].port)
        if first:
            it.send(first, number)
    wait_for(lambda: received(it.daemon) == sum(len(case[1]) for case in cases), 5, 'what came')
    Handover(it.daemon).done()
    for number, (_, first, second) in enumerate(cases):
        it.send(second, number)
        it.arrived(servers[number].connection(), first + second)
    it.agent.stdin.close()
    for server in servers:
        server.ended()
    wait_for(lambda: not it.daemon.status()['streams']['open'], 5, 'the end of the streams')
    ends = [one['end'] for one in trail(it.daemon) if one['event'] == 'stream_settled']
    equal(ends, ['complete'] * len(cases), 'ends')
    equal(all_settled(it.daemon), len(cases) if tasks else 0, 'sessions')


def other_framings_go_on(bench):
    """framings without tasks go on between two units and amid one"""
    go_on_between(bench, '', (('ndjson', b'{"t":"one"}\n{"t":', b'"two"}\n'),
                              ('{kind: lenprefix, type: u8}', b'\3abc\4d', b'efg'),
                              ('{kind: sentinel, hex: "0a2e0a"}', b'one\n.\ntw', b'o\n.\n'),
                              ('auto', b'{"t":"one"}\n{"t":', b'"two"}\n')))


def what_has_not_begun_goes_on(bench):
    """with tasks: before the first unit, and before it is known what the stream speaks"""
    go_on_between(bench, 'words', (('ndjson', b'{"t":"fo', b'ur"}\n'),
                                   ('auto', b'{"t"', b':"five"}\n'),
                                   ('auto', b'{', b'"t":"six"}\n')))


def received(daemon):
    return sum(row['request']['received'] for row in daemon.call('streams')['streams'])


def between_lines_with_tasks(bench):
    """a session over a whole connection that has judged something is not handed over"""
    it = Watched(bench)
    connection = it.connect()
    it.send(b'{"t":"one"}\n')
    it.arrived(connection, b'{"t":"one"}\n')
    Handover(it.daemon, '1').done()
    equal(it.tell('read', 'a', 1), 'ConnectionResetError', 'what the agent read')
    equal(all_settled_but(it, 0), 1, 'sessions')


def each_keeps_its_policy(bench):
    """a stream keeps the policy it began under, though the file says another by now"""
    it = Watched(bench, HTTP)
    old = it.connect()
    exchange(it, old)
    with open(it.daemon.policy, 'w', encoding='utf-8') as file:
        file.write(HTTP.replace('"forbidden"', '"verboten"'))
    Handover(it.daemon).done()
    exchange(it, old, b'verboten')
    new = it.connect('b')
    exchange(it, new, b'forbidden', 'b')
    for key, word in (('a', b'forbidden'), ('b', b'verboten')):
        it.tell('send', key, request(b'x', word).hex())
        equal(bytes.fromhex(it.tell('read', key, 12)), b'HTTP/1.1 403', 'the answer to %r' % word)
    check(b'forbidden' not in old.data and b'verboten' not in new.data, 'a word left')


def few_descriptors(bench):
    """a successor without room for what is open refuses before it has anything"""
    it = Watched(bench, HTTP)
    keys = ['c%d' % number for number in range(12)]
    for key in keys:
        exchange(it, it.connect(key), key=key)
    for limit in (40, 256 + 2 * 12 - 2):
        limited = Handover(it.daemon, prefix=['prlimit', '--nofile=%d' % limit])
        said = limited.said()
        check(said.startswith(b'error: '), 'a successor with %d descriptors said %r', limit, said)
        limited.process.wait(5)
    check('it has room for 11 streams, and 12 are open' in it.daemon.read_log(), 'the log')
    for number, key in enumerate(keys):
        exchange(it, it.server.connections[number], key=key)
    Handover(it.daemon).done()
    for number, key in enumerate(keys):
        exchange(it, it.server.connections[number], key=key)


def the_manager_hears_of_it(bench):
    """MAINPID names the successor, which says that it is ready, and stays alive"""
    manager = Manager(bench)
    it = Watched(bench, HTTP)
    equal(manager.texts(0.3), ['READY=1'], 'what was said at the start')
    # As from an operator's shell.
    path = os.environ.pop('NOTIFY_SOCKET')
    Handover(it.daemon).done()
    os.environ['NOTIFY_SOCKET'] = path
    equal(manager.texts(0.5), ['MAINPID=%d' % it.daemon.process.pid, 'READY=1'],
          'what was said of the handover')
    it.daemon.stop()
    equal(manager.texts(0.3), ['STOPPING=1'], 'what the successor said at its stop')


def by_the_command(bench):
    """sluicectl handover: with the running one's command line, or another; a run goes on"""
    it = Watched(bench, HTTP)
    connection = it.connect()
    exchange(it, connection)
    agent = it.daemon.start_agent("""
import http.client, sys
server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
for row in sys.stdin:
    server.request("POST", "/x", b"hello", {"Content-Type": "text/plain"})
    print(server.getresponse().read(), flush=True)
""", it.server.port)

    def ask(number):
        agent.stdin.write(b'go\n')
        agent.stdin.flush()
        answers = it.server.connection(1)
        wait_for(lambda: answers.data.count(b'hello') == number, 5, 'the request')
        answers.sock.sendall(answer(b'fine'))
        equal(agent.stdout.readline(), b"b'fine'\n", 'what the run read')

    ask(1)
    extra = bench.file('extra.yaml', re.sub('(?m)^name: .*', 'name: extra', HTTP))
    equal(it.daemon.ctl('policy', 'load', extra).returncode, 0, 'a policy by a call')
    for number, more in enumerate(((), (*it.daemon.arguments(), '--verbose'), ()), 2):
        before = it.daemon.process
        done = it.daemon.ctl('handover', '--wait', '5', *(('--', *more) if more else ()))
        # Whatever comes of it, the bench ends who serves now.
        it.daemon.process = Adopted(it.daemon.status()['pid'])
        equal((done.returncode, done.stdout.decode()),
              (0, 'took over from process %d: 2 streams, 0 settled\n' % before.pid +
               'policy extra is gone: \'sluicectl policy load FILE\' brings it back\n' *
               (number == 2)), 'handover; %r' % done.stderr)
        equal(before.wait(5), 0, 'exit status of the daemon')
        exchange(it, connection)
        ask(number)
    check('--verbose' in command_line(it.daemon.process.pid), 'an option of the one before')
    out, err = agent.communicate(timeout=20)
    equal(agent.returncode, 0, 'exit status of the run; %r %r' % (out, err))
    for words, text in ((('--', '/nonexistent'), b'could not be started'),
                        (('--', '/bin/true'), b'ended before it was ready'),
                        (('--', *it.daemon.arguments()[:1], '--instance', 'nobody-here',
                          '--no-metrics', '--port', str(it.daemon.port)), b'no daemon of')):
        done = it.daemon.ctl('handover', *words)
        equal(done.returncode, 1, 'exit status of handover %r' % (words,))
        check(text in done.stderr, 'it said %r', done.stderr)
    equal(it.daemon.ctl('handover', '--wait', 'x').returncode, 2, 'exit status')
    exchange(it, connection)
    it.daemon.process.kill()
    it.daemon.process.wait()


class Adopted:
    """A daemon that is no child of this process, as subprocess.Popen has one."""

    def __init__(self, pid):
        self.pid = pid
        self.fd = os.pidfd_open(pid)

    def poll(self):
        return 0 if select.select([self.fd], [], [], 0)[0] else None

    def wait(self, seconds=10):
        wait_for(lambda: self.poll() is not None, seconds, 'the end of process %d' % self.pid)
        return 0

    def kill(self):
        signal.pidfd_send_signal(self.fd, signal.SIGKILL)


if __name__ == '__main__':
    main([kept_connections_go_on, nobody_is_refused, busy_clients_notice_nothing,
          what_ends_in_time_arrives, what_does_not_ends_as_failed, half_a_message_goes_along,
          a_killed_successor_leaves_what_it_had, what_passes_goes_on, who_may_not_is_refused,
          a_successor_that_dies_changes_nothing, one_that_hangs_is_given_up,
          one_that_dies_after_its_word_is_settled, killed_while_it_waits, stopped_while_it_waits,
          bytes_that_changed_are_discarded, sockets_of_another_are_discarded,
          what_is_not_whole_is_refused, other_framings_go_on,
          what_has_not_begun_goes_on, between_lines_with_tasks, each_keeps_its_policy,
          few_descriptors, the_manager_hears_of_it, by_the_command])
