#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong at a handover: successors that cannot start, that read slowly, and either
side killed or stopped at any moment. Nothing uncleared leaves, each session settles once."""
import contextlib
import fcntl
import os
import random
import signal
import socket
import subprocess
import threading
import time

from sluice_test import TERM, main
from test_death import HTTP, PASS, Watched, all_settled, verify
from test_handover import COMMIT, Fake, Handover, exchange, is_as_before, serve
from waiting import check, equal, wait_for


def other(it, *options):
    """A successor with those options, and not the ones of the running one."""
    own, it.daemon.options = it.daemon.options, list(options)
    try:
        return Handover(it.daemon, '2')
    finally:
        it.daemon.options = own


def one_that_cannot_start_is_refused(bench):
    """a trail, a socket or an address that cannot be had: nothing has changed"""
    it = Watched(bench, HTTP)
    connection = it.connect()
    exchange(it, connection)
    locked, served = bench.file('lock', ''), os.path.join(bench.folder, 'served')
    folder = os.path.join(bench.folder, 'trail')
    os.mkdir(folder, 0o700)
    os.rename(locked, os.path.join(folder, 'lock'))
    with open(os.path.join(folder, 'lock'), 'rb') as lock, \
            socket.socket(socket.AF_UNIX) as server:
        fcntl.flock(lock, fcntl.LOCK_EX)
        server.bind(served)
        server.listen()
        for options, text in ((('--audit', '/dev/null/x'), '/dev/null/x'),
                              (('--audit', folder), 'another daemon writes'),
                              (('--socket', '/nonexistent/x'), '/nonexistent/x'),
                              (('--socket', served), served),
                              (('--metrics', '192.0.2.1:9469'), '192.0.2.1:9469')):
            other(it, *options).refused(text)
            is_as_before(it, connection)
    check(os.path.exists(served), 'the socket of another is gone')
    Handover(it.daemon).done()
    is_as_before(it, connection)
    verify(bench, it.daemon)


def without_what_is_taken(bench):
    """an address of metrics that another has, --no-audit, a new trail: it goes on with those"""
    it = Watched(bench, HTTP)
    connection = it.connect()
    exchange(it, connection)
    with socket.create_server(('127.0.0.1', 0)) as taken:
        address = '127.0.0.1:%d' % taken.getsockname()[1]
        other(it, '--metrics', address).done()
        check(address + ' is in use: metrics' in it.daemon.read_log(), 'the log')
        is_as_before(it, connection)
    other(it, '--no-audit').done()
    is_as_before(it, connection)
    verify(bench, it.daemon)
    own, it.daemon.audit = it.daemon.audit, os.path.join(bench.folder, 'new-trail')
    Handover(it.daemon).done()
    is_as_before(it, connection)
    verify(bench, it.daemon)
    it.daemon.audit = own
    Handover(it.daemon).done()
    is_as_before(it, connection)
    verify(bench, it.daemon)


def one_that_reads_slowly_is_given_up(bench):
    """one message a second: all of it may take 3 seconds, whatever is read meanwhile"""
    unread = threading.Event()
    bench.undo.append(unread.set)
    it = Watched(bench, PASS, handler=lambda connection: unread.wait(30))
    agent = bench.in_cgroup(it.cgroup, """
import socket, sys
streams = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(6)]
for stream in streams:
    stream.settimeout(0.3)
    try:
        while True:
            stream.sendall(bytes(65536))
    except TimeoutError:
        pass
print("full", flush=True)
sys.stdin.read()
""", it.server.port)
    equal(agent.stdout.readline(), b'full\n', 'what the agent said')
    fake = Fake(it.daemon)
    fake.prepared(wait=0)
    began = time.monotonic()
    stop = threading.Event()

    def drip():
        with contextlib.suppress(OSError):
            while fake.receive()[0] is not None and not stop.wait(1):
                pass

    reader = threading.Thread(target=drip)
    reader.start()
    try:
        it.daemon.status()
        took = time.monotonic() - began
    finally:
        stop.set()
        reader.join()
        fake.close()
    check(2.5 < took < 4.5, 'the daemon answered after %g s', took)
    check('is given up: Connection timed out' in it.daemon.read_log(), 'the log')


class Between:
    """Stands between a daemon and its successors, and holds the daemon's last word back."""

    def __init__(self, daemon, seconds):
        self.path = '/run/sluice/%s.handover' % daemon.instance
        self.seconds, self.behind = seconds, self.path + '-behind'
        os.rename(self.path, self.behind)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.path)
        self.listener.listen()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        successor, _ = self.listener.accept()
        with successor, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as daemon:
            daemon.connect(self.behind)
            back = threading.Thread(target=self.carry, args=(successor, daemon))
            back.start()
            self.carry(daemon, successor)
            back.join()
        os.unlink(self.behind)

    def carry(self, source, sink):
        with contextlib.suppress(OSError):
            while True:
                data, fds, _, _ = socket.recv_fds(source, 70000, 4)
                if not data:
                    break
                if data[6] == COMMIT:
                    time.sleep(self.seconds)
                socket.send_fds(sink, [data], fds)
                for fd in fds:
                    os.close(fd)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.close()
        self.thread.join()


def a_slow_last_word_is_waited_for(bench):
    """what was given up is taken, however long the daemon, or its disk, takes to say so"""
    it = Watched(bench, HTTP)
    connection = it.connect()
    exchange(it, connection)
    between = Between(it.daemon, 3.5)
    try:
        Handover(it.daemon).done()
    finally:
        between.close()
    is_as_before(it, connection)
    verify(bench, it.daemon)


# Begins exchanges all the time, half of them with the term in two pieces, and keeps its
# connection for as long as that goes on.
RESTLESS = """
import socket, sys, threading, time
word, end = sys.argv[2].encode(), time.monotonic() + float(sys.argv[3])
head = (b"POST /%s HTTP/1.1\\r\\nHost: x\\r\\nContent-Type: text/plain\\r\\n"
        b"Content-Length: 5\\r\\n\\r\\n")
def work(number):
    while time.monotonic() < end:
        try:
            with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5) as stream:
                while time.monotonic() < end:
                    said = head % (word if number % 2 else b"x") + b"hello"
                    stream.sendall(said[:10])
                    time.sleep(0.005)
                    stream.sendall(said[10:])
                    if not stream.recv(65536):
                        break
        except OSError:
            time.sleep(0.02)
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for one in threads:
    one.start()
for one in threads:
    one.join()
"""


def disturb(it, chance):
    """One handover, of which a side is killed or stopped for a moment; who is left goes on."""
    handover = Handover(it.daemon, '1')
    victim = chance.choice((handover.process, handover.before))
    time.sleep(chance.uniform(0, 0.5))
    if chance.random() < 0.5:
        victim.send_signal(signal.SIGSTOP)
        time.sleep(0.2)
        victim.send_signal(signal.SIGCONT)
    else:
        victim.kill()
    said = handover.said()
    if said == b'ready\n':
        handover.before.wait(5)
        it.daemon.process = handover.process
    else:
        handover.process.wait(10)
    # Of who was killed, or had given everything up, the end may take a moment.
    with contextlib.suppress(subprocess.TimeoutExpired):
        it.daemon.process.wait(0.3)
    if it.daemon.process.poll() is not None:
        it.daemon.start()


def either_side_at_any_moment(bench, rounds=6):
    """killed or stopped at random under streams: no term leaves, each session settles once"""
    seed = random.randrange(1 << 32)
    print('# seed %d' % seed)
    chance = random.Random(seed)
    it = Watched(bench, HTTP, handler=serve)
    agent = bench.in_cgroup(it.cgroup, RESTLESS, it.server.port, TERM, rounds * 0.8)
    for _ in range(rounds):
        disturb(it, chance)
    agent.stdin.close()
    equal(agent.wait(60), 0, 'exit status of the agent')
    wait_for(lambda: not it.daemon.status()['streams']['open'], 10, 'the end of the streams')
    check(it.server.connections and
          not any(TERM.encode() in one.data for one in it.server.connections), 'the term left')
    Handover(it.daemon).done()
    equal(it.daemon.ctl('unwatch', it.cgroup).returncode, 0, 'exit status of unwatch')
    all_settled(it.daemon)
    verify(bench, it.daemon)


if __name__ == '__main__':
    main([one_that_cannot_start_is_refused, without_what_is_taken,
          one_that_reads_slowly_is_given_up, a_slow_last_word_is_waited_for,
          either_side_at_any_moment])
