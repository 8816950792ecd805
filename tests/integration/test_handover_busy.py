#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A handover amid other work: a reload, questions to an interceptor, thousands of streams, a run
that cannot end, one handover after another, and a successor that never gets ready."""
import os
import resource
import selectors
import signal
import socket
import threading
import time

from sluice_test import main
from test_death import HTTP, Watched, all_settled, answer, request, trail, verify
from test_handover import PREPARED, WELCOME, Between, Handover, all_settled_but, exchange, \
    is_as_before
from test_interceptors import REQUESTS, Served
from test_policy_life import write
from waiting import check, equal, wait_for


def denies(it, key, word):
    it.send(request(word), key)
    equal(bytes.fromhex(it.tell('read', key, 12)), b'HTTP/1.1 403', 'the answer to %r' % word)


def until_prepared(it):
    """Who stands between the two, and an event that is set once the successor is prepared."""
    prepared = threading.Event()

    def told(kind, data):
        if kind == PREPARED:
            prepared.set()
        return data

    return Between(it.daemon, told), prepared


def held_up(bench):
    """Once a stream amid a message is there, which a handover waits for."""
    it = Watched(bench, HTTP)
    busy = it.connect()
    it.send(request(b'x', b'hello'))
    it.arrived(busy, request(b'x', b'hello'))
    return (it, busy, *until_prepared(it))


def a_reload_meanwhile(bench):
    """reloaded while the successor waits: it has the new text, and what was captured the old"""
    it, _, between, prepared = held_up(bench)
    # As long as it may park: nothing is accepted from when it is prepared.
    handover = Handover(it.daemon, '1')
    check(prepared.wait(10), 'the successor is not prepared')
    time.sleep(0.1)
    equal(it.tell('connect', 'old', it.server.port), 'done', 'a connect that waits')
    write(it.daemon.policy, HTTP.replace('"forbidden"', '"verboten"'))
    equal(it.daemon.call('policy.reload')['reloaded'], ['test'], 'what is reloaded')
    handover.done()
    between.close()
    exchange(it, it.server.connection(1), b'verboten', 'old')
    denies(it, 'old', b'forbidden')
    new = it.connect('new')
    exchange(it, new, b'forbidden', 'new')
    denies(it, 'new', b'verboten')
    equal(it.daemon.call('policy.reload')['unchanged'], ['test'], 'what is not reloaded again')


def questions_in_flight(bench):
    """asked before, answered in time: it goes on over the handover; not in time: it is withheld"""
    server = Served(bench)
    bench.undo.append(server.gate.set)
    it = Watched(bench, REQUESTS % (server.url('/gate'), ''))
    connection, whole = it.connect(), request(b'x', b'hello')
    it.send(whole)
    wait_for(lambda: server.requests, 5, 'the question')
    handover = Handover(it.daemon, '15')
    wait_for(lambda: 'prepares to take' in it.daemon.read_log(), 10, 'the successor')
    time.sleep(0.3)
    equal(bytes(connection.data), b'', 'what left unanswered')
    server.gate.set()
    it.arrived(connection, whole)
    connection.sock.sendall(answer(b'fine'))
    it.read(answer(b'fine'))
    handover.done()
    asked = len(server.requests)
    exchange(it, connection, b'again')
    check(len(server.requests) > asked, 'the successor did not ask')
    server.gate.clear()
    asked, left = len(server.requests), len(connection.data)
    it.send(whole)
    wait_for(lambda: len(server.requests) > asked, 5, 'the question')
    Handover(it.daemon, '1').done()
    server.gate.set()
    equal(it.tell('read', 'a', 1), 'ConnectionResetError', 'what the agent read')
    it.server.ended()
    equal(len(connection.data), left, 'bytes that left')
    ends = [one for one in trail(it.daemon) if one['event'] == 'stream_settled']
    equal([(one['end'], one['reason']) for one in ends], [('failed', 'handed_over')], 'its end')
    equal(all_settled_but(it, 0), 3, 'sessions')


def a_young_stream_is_not_stale(bench):
    """half a head that came a moment before the handover has all its time to become whole"""
    it, busy, between, prepared = held_up(bench)
    handover = Handover(it.daemon, '15')
    check(prepared.wait(10), 'the successor is not prepared')
    whole, young = request(b'x', b'hello'), it.connect('young')
    it.send(whole[:25], 'young')
    busy.sock.sendall(answer(b'fine'))
    it.read(answer(b'fine'))
    handover.done()
    between.close()
    # Longer than the daemon takes to look at its timeouts.
    time.sleep(0.6)
    it.send(whole[25:], 'young')
    it.arrived(young, whole)
    young.sock.sendall(answer(b'fine'))
    it.read(answer(b'fine'), 'young')
    equal(all_settled_but(it, 2), 2, 'sessions')


class Answers:
    """Answers each request of any number of connections, in one thread."""

    def __init__(self, bench):
        self.sock = socket.create_server(('127.0.0.1', 0), backlog=4096)
        self.port, self.count = self.sock.getsockname()[1], 0
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.sock, selectors.EVENT_READ)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        bench.undo.append(self.close)

    def run(self):
        while not self.stop.is_set():
            for key, _ in self.selector.select(0.1):
                if key.fileobj is self.sock:
                    self.selector.register(self.sock.accept()[0], selectors.EVENT_READ)
                    self.count += 1
                elif key.fileobj.recv(65536):
                    key.fileobj.sendall(answer(b'fine'))
                else:
                    self.selector.unregister(key.fileobj)
                    key.fileobj.close()

    def close(self):
        self.stop.set()
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()


MANY = 2000
MANY_STREAMS = """
import resource, socket, sys
port, count = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, count + 100))
said = (b"POST /x HTTP/1.1\\r\\nHost: x\\r\\nContent-Type: text/plain\\r\\n"
        b"Content-Length: 5\\r\\n\\r\\nhello")
streams = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(count)]
print("open", flush=True)
for _ in sys.stdin:
    for stream in streams:
        stream.sendall(said)
    print(sum(stream.recv(65536).endswith(b"fine") for stream in streams), flush=True)
"""


def thousands_of_streams(bench):
    """2,000 kept connections, each with exchanges before and after: all of them go on"""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MANY + 500
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], wanted), max(before[1], wanted)))
    bench.undo.append(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, before))
    it, server = Watched(bench, HTTP), Answers(bench)
    agent = bench.in_cgroup(it.cgroup, MANY_STREAMS, server.port, MANY)
    equal(agent.stdout.readline(), b'open\n', 'what the agent said')

    def all_answered():
        agent.stdin.write(b'go\n')
        agent.stdin.flush()
        equal(agent.stdout.readline(), b'%d\n' % MANY, 'answers')

    all_answered()
    wait_for(lambda: not it.sessions('open'), 5, 'the end of the sessions')
    began = time.monotonic()
    Handover(it.daemon).done()
    print('# %d streams were handed over, in %.0f ms with the successor\'s start' %
          (MANY, 1000 * (time.monotonic() - began)))
    equal(it.daemon.status()['streams']['open'], MANY, 'open streams')
    all_answered()
    agent.stdin.close()
    wait_for(lambda: not it.daemon.status()['streams']['open'], 10, 'the end of the streams')
    equal(server.count, MANY, 'connections at the server')
    equal(all_settled(it.daemon), 2 * MANY, 'sessions')


def one_after_another(bench):
    """five in a row: a kept connection goes over all of them, and each lets a new one in"""
    it = Watched(bench, HTTP)
    first = it.connect()
    for turn in range(5):
        exchange(it, first, b'turn%d' % turn)
        Handover(it.daemon).done()
        exchange(it, it.connect('k%d' % turn), key='k%d' % turn)
    exchange(it, first, b'last')
    equal(it.daemon.status()['streams']['open'], 6, 'open streams')
    equal(all_settled_but(it, 6), 11, 'sessions')
    over = [(one['streams'], one['settled']) for one in trail(it.daemon)
            if one['event'] == 'handed_over']
    equal(over, [(turn + 1, 0) for turn in range(5)], 'streams of each handover')
    verify(bench, it.daemon)


def events_of(cgroup):
    with open(os.path.join(cgroup, 'cgroup.events'), encoding='utf-8') as file:
        return file.read()


def a_run_that_cannot_end(bench):
    """a run has told its end, and something still lives in its cgroup: nobody waits for that"""
    over = threading.Event()
    bench.undo.append(over.set)
    it = Watched(bench, HTTP, handler=lambda connection: over.wait(30))
    run = it.daemon.start_agent("""
import socket, sys
stream = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
""", it.server.port)
    cgroup = os.path.join(it.daemon.cgroup, 'run-1')
    it.server.connection()
    # Its stream, which the server does not end, keeps it from being removed for a moment.
    wait_for(lambda: 'populated 0' in events_of(cgroup), 5, 'the end of what ran')
    late = bench.in_cgroup(cgroup, 'import time; print("here", flush=True); time.sleep(60)')
    equal(late.stdout.readline(), b'here\n', 'what came late said')
    equal(run.wait(10), 0, 'exit status of the run')
    check(os.path.exists(cgroup), 'the cgroup of the run is gone')
    began = time.monotonic()
    Handover(it.daemon, '20').done()
    check(time.monotonic() - began < 5, 'it took %g s', time.monotonic() - began)
    late.kill()
    late.wait()
    wait_for(lambda: not os.path.exists(cgroup), 5, 'the end of its cgroup')


def one_that_never_prepares(bench):
    """a successor that hangs before it is ready is sent away in time, and another may come"""
    it = Watched(bench, HTTP)
    connection, known = it.connect(), threading.Event()
    exchange(it, connection)
    hanging = []

    def stop(kind, data):
        if kind == WELCOME:
            known.wait(10)
            hanging[0].process.send_signal(signal.SIGSTOP)
        return data

    between = Between(it.daemon, stop)
    hanging.append(Handover(it.daemon, '5'))
    began = time.monotonic()
    known.set()
    wait_for(lambda: 'prepares to take' in it.daemon.read_log(), 10, 'the successor')
    wait_for(lambda: not os.path.exists(between.path + '.real'), 5, 'the socket')
    Handover(it.daemon).refused('another process')
    line = 'the handover to process %d is given up: it has not prepared' % os.getpid()
    wait_for(lambda: line in it.daemon.read_log(), 15, 'the line about it')
    check(time.monotonic() - began > 9, 'it had %g s', time.monotonic() - began)
    is_as_before(it, connection)
    hanging[0].process.send_signal(signal.SIGCONT)
    hanging[0].refused('it has not prepared within 10 seconds')
    between.close()
    Handover(it.daemon).done()
    is_as_before(it, connection)


if __name__ == '__main__':
    main([a_reload_meanwhile, questions_in_flight, a_young_stream_is_not_stale,
          thousands_of_streams, one_after_another, a_run_that_cannot_end,
          one_that_never_prepares])
