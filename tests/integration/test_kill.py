#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon is killed (-9) at each step: nothing uncleared leaves then or later,
new connections are refused, and a successor adopts what is pinned and settles
each open stream once."""
import os
import random
import signal
import time

import peers
from sluice_test import POLICY, PYTHON, line, main
from waiting import check, equal, wait_for

EAGER = POLICY + 'on_deny: reset\nlimits: {eager_bytes: 65536}\n'

# Reads commands from standard input, one a line, and answers each on one line.
AGENT = '''
import socket, sys
s = None
for row in sys.stdin:
    word, *args = row.split()
    try:
        if word == "connect":
            s = socket.socket()
            s.settimeout(5)
            s.connect(("127.0.0.1", int(args[0])))
        elif word == "send":
            s.sendall(bytes.fromhex(args[0]))
        elif word == "end":
            data = b"x"
            while data:
                data = s.recv(65536)
        print("done", flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
'''

FLOOD = '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
clean, refused = bytes.fromhex(sys.argv[2]), bytes.fromhex(sys.argv[3])
print("connected", flush=True)
try:
    for n in range(20000):
        s.sendall(clean)
    s.sendall(refused)
    while s.recv(65536):
        pass
except OSError as error:
    pass
'''


class Watched:
    """A watched cgroup with an agent inside that outlives the daemon."""

    def __init__(self, bench, policy=POLICY):
        self.bench = bench
        self.server = bench.server()
        self.daemon = bench.daemon(policy)
        self.cgroup = bench.cgroup()
        done = self.daemon.ctl('watch', self.cgroup)
        equal(done.returncode, 0, 'exit status of watch; %r' % done.stderr)
        self.agent = self.new_agent()

    def new_agent(self):
        return self.bench.in_cgroup(self.cgroup, AGENT)

    def tell(self, *words, agent=None):
        agent = agent or self.agent
        agent.stdin.write((' '.join(map(str, words)) + '\n').encode())
        agent.stdin.flush()
        return agent.stdout.readline().decode().strip()

    def connect(self):
        equal(self.tell('connect', self.server.port), 'done', 'connect')
        return self.server.connection()

    def send(self, data):
        return self.tell('send', data.hex())

    def refuses_new_connections(self):
        """A connect of another agent inside is refused and reaches nobody."""
        before = len(self.server.connections)
        other = self.new_agent()
        equal(self.tell('connect', self.server.port, agent=other), 'ConnectionRefusedError',
              'a new connection without a daemon')
        equal(len(self.server.connections), before, 'connections at the server')

    def restart(self, open_streams):
        """A successor settles what was open, once, and serves new connections."""
        said = len(self.daemon.read_log())
        self.daemon.start()
        settled = self.daemon.read_log()[said:].count('host_died')
        equal(settled, open_streams, 'streams settled as host_died')
        equal(self.daemon.status()['streams']['open'], 0, 'open streams')
        other, before = self.new_agent(), len(self.server.connections)
        equal(self.tell('connect', self.server.port, agent=other), 'done', 'connect after restart')
        equal(self.tell('send', line('again').hex(), agent=other), 'done', 'send after restart')
        connection = self.server.connection(before)
        wait_for(lambda: bytes(connection.data) == line('again'), 5, 'a line after the restart')
        other.stdin.close()
        other.wait(10)
        wait_for(lambda: self.daemon.status()['streams']['open'] == 0, 5, 'the stream to end')
        said = len(self.daemon.read_log())
        equal(self.daemon.stop(), 0, 'exit status of a graceful stop')
        self.daemon.start()
        equal(self.daemon.read_log()[said:].count('host_died'), 0, 'streams settled twice')


def nothing_more(connection, data, seconds=0.7):
    """What arrived stays exactly this."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        equal(bytes(connection.data), data, 'what arrived')
        time.sleep(0.05)


def before_connect(bench):
    """killed before a connect: refused, a foreign listener on the port gets nothing"""
    it = Watched(bench)
    it.daemon.kill()
    it.refuses_new_connections()
    caught = []
    squatter = peers.socket.socket()
    squatter.setsockopt(peers.socket.SOL_SOCKET, peers.socket.SO_REUSEADDR, 1)
    squatter.bind(('127.0.0.1', it.daemon.port))
    squatter.listen()
    squatter.settimeout(0.3)
    it.refuses_new_connections()
    try:
        caught.append(squatter.accept())
    except TimeoutError:
        pass
    squatter.close()
    equal(caught, [], 'what a squatter on the port caught')
    it.restart(0)


def after_connect(bench):
    """killed after a connect: nothing sent later arrives"""
    it = Watched(bench)
    connection = it.connect()
    it.daemon.kill()
    it.send(line('late'))
    check(it.tell('end') in ('done', 'ConnectionResetError', 'BrokenPipeError'), 'it still waits')
    nothing_more(connection, b'')
    it.refuses_new_connections()
    it.restart(1)


def in_mid_hold(bench):
    """killed while half a message is held"""
    it = Watched(bench)
    connection = it.connect()
    it.send(line('clean') + b'{"t":"forb')
    wait_for(lambda: bytes(connection.data) == line('clean'), 5, 'the clean line')
    it.daemon.kill()
    it.send(b'idden"}\n')
    nothing_more(connection, line('clean'))
    it.refuses_new_connections()
    it.restart(1)


def held_by_the_gate(bench):
    """killed with bytes written ahead: the gate goes on holding them"""
    it = Watched(bench, EAGER)
    connection = it.connect()
    half = b'{"t":"' + b'held ' * 400
    it.send(line('clean') + half)
    wait_for(lambda: bytes(connection.data) == line('clean'), 5, 'the clean line')
    wait_for(lambda: it.daemon.counters()['held_packets'] > 0, 5, 'the gate to hold a packet')
    held = it.daemon.counters()['held_bytes']
    check(held > 0, 'the gate counts no held bytes')
    it.daemon.kill()
    # Long enough for several retransmissions of what is in the kernel.
    nothing_more(connection, line('clean'), 2.5)
    it.refuses_new_connections()
    it.restart(1)
    equal(bytes(connection.data), line('clean'), 'what arrived in the end')
    check(it.daemon.counters()['held_packets'] > 0, 'the pinned counter was lost')


def in_mid_release(bench):
    """killed at random moments of a flood: what arrived is a prefix without the term"""
    it = Watched(bench, EAGER)
    rng = random.Random(11)
    clean = line('steady, forbid den. ' * 30)
    for number in range(5):
        agent = bench.in_cgroup(it.cgroup, FLOOD, it.server.port, clean.hex(),
                                b'{"t":"forbidden"}\n'.hex())
        equal(agent.stdout.readline(), b'connected\n', 'the agent\'s first word')
        connection = it.server.connection(number)
        wait_for(lambda c=connection: len(c.data) > 0, 5, 'the flood')
        time.sleep(rng.uniform(0.0, 0.06))
        it.daemon.kill()
        agent.wait(10)
        time.sleep(0.2)
        data = bytes(connection.data)
        whole = clean * (len(data) // len(clean) + 1)
        check(whole.startswith(data), 'what arrived is no prefix of what was sent')
        check(len(data) <= 20000 * len(clean), 'more arrived than was clean')
        it.daemon.start()


def during_stop(bench):
    """killed during a graceful stop with streams open"""
    it = Watched(bench)
    connection = it.connect()
    it.send(line('clean') + b'{"t":"for')
    wait_for(lambda: bytes(connection.data) == line('clean'), 5, 'the clean line')
    it.daemon.process.terminate()
    time.sleep(0.002)
    it.daemon.kill()
    nothing_more(connection, line('clean'))
    it.refuses_new_connections()
    it.daemon.start()
    check(it.daemon.read_log().count('host_died') <= 1, 'settled more than once')
    equal(it.daemon.status()['streams']['open'], 0, 'open streams')


def graceful_stop(bench):
    """a graceful stop settles every stream with a reset and leaves the watch closed"""
    it = Watched(bench)
    connection = it.connect()
    it.send(line('clean') + b'{"t":"for')
    wait_for(lambda: bytes(connection.data) == line('clean'), 5, 'the clean line')
    equal(it.daemon.stop(), 0, 'exit status')
    wait_for(lambda: connection.end, 5, 'the end at the server')
    equal((bytes(connection.data), connection.end), (line('clean'), 'reset'), 'at the server')
    equal(it.tell('end'), 'ConnectionResetError', 'at the agent')
    it.refuses_new_connections()
    it.restart(0)


def orphan_after_its_cgroup_is_gone(bench):
    """killed with bytes in the kernel and its cgroup removed: still held"""
    it = Watched(bench, EAGER)
    connection = it.connect()
    it.send(line('clean') + b'{"t":"' + b'held ' * 400)
    wait_for(lambda: bytes(connection.data) == line('clean'), 5, 'the clean line')
    wait_for(lambda: it.daemon.counters()['held_packets'] > 0, 5, 'the gate to hold a packet')
    it.daemon.kill()
    inside = os.path.join(it.daemon.cgroup, 'daemon')
    if os.path.isdir(inside):
        os.rmdir(inside)
    nothing_more(connection, line('clean'), 1.5)
    it.restart(1)


def private_daemon_killed(bench):
    """a run's private daemon is killed: its streams end, new ones are refused, run says 125"""
    server = bench.server()
    agent = bench.file('agent.py', '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b'{"t": "clean"}\\n{"t":"for')
print("sent", flush=True)
try:
    s.recv(1)
except ConnectionResetError:
    pass
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    print("connected")
except OSError as error:
    print(type(error).__name__)
''')
    run = bench.private_run([PYTHON, agent, str(server.port)], POLICY)
    equal(run.stdout.readline(), b'sent\n', 'the agent\'s first word')
    connection = server.connection()
    wait_for(lambda: bytes(connection.data) == line('clean'), 5, 'the clean line')
    os.kill(bench.private_daemon(run), signal.SIGKILL)
    out, err = run.communicate(timeout=20)
    equal(out.split()[-1:], [b'ConnectionRefusedError'], 'a new connection; run said %r' % err)
    equal(run.returncode, 125, 'exit status of run; it said %r' % err)
    nothing_more(connection, line('clean'))


if __name__ == '__main__':
    main([before_connect, after_connect, in_mid_hold, held_by_the_gate, in_mid_release,
          during_stop, graceful_stop, orphan_after_its_cgroup_is_gone,
          private_daemon_killed])
