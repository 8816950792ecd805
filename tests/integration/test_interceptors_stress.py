#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Interceptors under stress: answers in every form that HTTP allows and in many that it does not,
servers that vanish, fill up or never read, thousands of questions, and what happens to those that
are out when a policy, a stream or an operator goes another way."""
import contextlib
import json
import os
import queue
import resource
import socket
import threading
import time

from interceptors import ALLOW, DENY
from peers import Server, reset
from sluice_test import main
from test_interceptors import POLICY, READ, Served, WORDS, answer, curl, echo, \
    reasons_of, serve_text
from test_metrics import resident, samples, scrape, served, value
from test_policy_life import write as replace
from waiting import check, equal, wait_for

SAYS_ALLOW, SAYS_DENY = json.dumps(ALLOW).encode(), json.dumps(DENY).encode()
VERDICT_SIZE, MIB = 64 << 10, 1 << 20


def body_of(body, head=b'HTTP/1.1 200 OK'):
    return b'%s\r\nContent-Length: %d\r\n\r\n%s' % (head, len(body), body)


def chunked(*pieces, trailers=b''):
    return b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s0\r\n%s\r\n' % (
        b''.join(b'%x\r\n%s\r\n' % (len(p), p) for p in pieces), trailers)


GOOD = body_of(SAYS_ALLOW)


def asked(act):
    """A handler that reads one question after another, each answered by act(connection); the
    connection ends where that returns False."""
    def serve(connection):
        with connection.sock.makefile('rb') as file:
            while True:
                length, row = 0, file.readline()
                while row not in (b'\r\n', b''):
                    name, _, number = row.partition(b':')
                    length = int(number) if name.lower() == b'content-length' else length
                    row = file.readline()
                file.read(length)
                if not row or act(connection) is False:
                    return
    return serve


def says(*pieces, then=True):
    """Answers with these bytes, a piece at a time; `then` False ends the connection."""
    def act(connection):
        if connection.sock.family != socket.AF_UNIX:
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            connection.sock.sendall(piece)
            if len(pieces) > 1:
                time.sleep(0.001)
        return then
    return act


def each(data):
    return [data[i:i + 1] for i in range(len(data))]


def url_of(server):
    return 'http://127.0.0.1:%d/judge' % server.port


# Of each: what is said, and the reason for which the stream ends; None: it is allowed.
FORMS = {
    'bytes': (says(*each(GOOD)), None),
    'chunks': (says(chunked(*each(SAYS_ALLOW))), None),
    'chunks in bytes': (says(*each(chunked(SAYS_ALLOW[:7], SAYS_ALLOW[7:]))), None),
    'trailers': (says(chunked(SAYS_ALLOW, trailers=b'X-Decision: deny\r\n')), None),
    'continue': (says(b'HTTP/1.1 100 Continue\r\n\r\n', GOOD), None),
    'hints': (says(b'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n' + GOOD), None),
    'old': (says(b'HTTP/1.0 200 OK\r\n\r\n' + SAYS_ALLOW, then=False), None),
    'until the end': (says(b'HTTP/1.1 200 OK\r\n\r\n', SAYS_ALLOW, then=False), None),
    'closed after each': (says(GOOD, then=False), None),
    'close': (says(body_of(SAYS_ALLOW, b'HTTP/1.1 200 OK\r\nConnection: close'), then=False), None),
    'white space': (says(body_of(b' \r\n\t' + SAYS_ALLOW + b'\n')), None),
    'no content': (says(b'HTTP/1.1 204 No Content\r\n\r\n'), 'interceptor_failed'),
    'created': (says(body_of(SAYS_ALLOW, b'HTTP/1.1 201 Created')), 'interceptor_failed'),
    'moved': (says(body_of(SAYS_ALLOW, b'HTTP/1.1 301 Moved\r\nLocation: /judge')),
              'interceptor_failed'),
    'unauthorised': (says(body_of(SAYS_ALLOW, b'HTTP/1.1 401 No\r\nWWW-Authenticate: Basic')),
                     'interceptor_failed'),
    'too much': (says(body_of(SAYS_ALLOW, b'HTTP/1.1 417 No')), 'interceptor_failed'),
    'error': (says(body_of(SAYS_ALLOW, b'HTTP/1.1 500 No')), 'interceptor_failed'),
    'switched': (says(b'HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n' +
                      SAYS_ALLOW), 'interceptor_timeout'),
    'cut in the head': (says(GOOD[:20], then=False), 'verdict_invalid'),
    'cut in a chunk': (says(chunked(SAYS_ALLOW)[:-12], then=False), 'interceptor_failed'),
    'cut before the last chunk': (says(chunked(SAYS_ALLOW)[:-5], then=False),
                                  'interceptor_failed'),
    'cut where it ends': (says(b'HTTP/1.0 200 OK\r\n\r\n' + SAYS_ALLOW[:-1], then=False),
                          'verdict_invalid'),
    'no head': (says(SAYS_ALLOW, then=False), 'interceptor_failed'),
    'no HTTP': (says(b'\x16\x03\x01\x00\x00', then=False), 'interceptor_failed'),
    'bad chunk': (says(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n' + SAYS_ALLOW),
                  'interceptor_failed'),
    'negative length': (says(b'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n' + SAYS_ALLOW,
                             then=False), 'interceptor_failed'),
    'head without an end': (says(b'HTTP/1.1 200 OK\r\n' + b'X: %s\r\n' % (b'x' * 900) * 100),
                            'verdict_invalid'),
    'a line without an end': (says(b'HTTP/1.1 200 OK\r\nX: ' + b'x' * 150000),
                              'interceptor_failed'),
    'NUL in the head': (says(b'HTTP/1.1 200 OK\r\nX: \0\r\n\r\n' + SAYS_ALLOW, then=False),
                        'interceptor_failed'),
    'coded': (says(body_of(SAYS_ALLOW, b'HTTP/1.1 200 OK\r\nContent-Encoding: br')),
              None),
    'empty': (says(body_of(b'')), 'verdict_invalid'),
    'NUL': (says(body_of(b'{"decision":"allow","message":"\0"}')), 'verdict_invalid'),
    'NUL behind': (says(body_of(SAYS_ALLOW + b'\0')), 'verdict_invalid'),
    'escaped NUL': (says(body_of(b'{"decision":"allow\\u0000"}')), 'verdict_invalid'),
    'two verdicts': (says(body_of(SAYS_ALLOW + SAYS_ALLOW)), 'verdict_invalid'),
    'a huge number': (says(body_of(b'{"x":1%s,"decision":"allow"}' % (b'0' * 400))), None),
    'a huge exponent': (says(body_of(b'{"x":-1e9999999,"decision":"allow"}')), None),
    'largest': (says(body_of(SAYS_ALLOW.ljust(VERDICT_SIZE))), None),
    'too large': (says(body_of(SAYS_ALLOW.ljust(VERDICT_SIZE + 1))), 'verdict_invalid'),
}
LINES = """\
version: 1
name: lines
framing: ndjson
extract: "path:t"
join: unit
request: {tasks: [judge]}
tasks:
  judge: {kind: interceptor, url: "%s", timeout_ms: 9000, cadence: unit, span_runes: 65536,
          window_runes: 262144}
"""
# Sends lines of so many letters, and counts the answers.
MANY = """
import json, socket, sys, threading
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
n, size = map(int, sys.argv[2:])
rows = [json.dumps({"t": ("%d " % i).ljust(size, "x")}).encode() + b"\\n" for i in range(n)]
threading.Thread(target=lambda: [s.sendall(row) for row in rows], daemon=True).start()
got = 0
try:
    while got < n:
        piece = s.recv(65536)
        if not piece:
            break
        got += piece.count(b"\\n")
except OSError:
    pass
print(got)
"""


def soon(policy):
    return policy.replace(': 9000', ': 1000')


def many(daemon, policy, count, upstream, size=0):
    """How many of so many lines came back that were sent under that policy."""
    return int(daemon.agent(MANY, upstream.port, count, size, policy=policy).stdout)


def balance(daemon):
    """What was asked is settled, out or waiting, each once, over all policies."""
    found = samples(scrape(daemon))

    def count(name):
        return value(found, 'sluice_' + name, task='judge')
    counts = {name: count(name) for name in (
        'interceptor_questions_total', 'verdicts_total', 'interceptor_failures_total',
        'interceptor_cancelled_total', 'interceptor_waiting', 'interceptor_in_flight')}
    asked, *ends = counts.values()
    equal(sum(ends), asked, 'questions of %r' % counts)
    return counts


def at_rest(daemon):
    """All streams have ended, and nothing is asked any more."""
    wait_for(lambda: not daemon.status()['streams']['open'], 10, 'the end of the streams')
    counts = balance(daemon)
    equal((counts['interceptor_waiting'], counts['interceptor_in_flight']), (0, 0), 'questions')
    return counts


def named(daemon, url, log, error=''):
    """Behind that offset the log has one line of who gave no verdict, where and why."""
    text = "task 'judge' at %s: %s" % (url, error)
    rows = daemon.read_log()[log:].splitlines()
    equal(sum(text in row for row in rows), 1, 'lines with %r of %r' % (text, rows))


def every_form_of_an_answer(bench):
    """answers in each form: a verdict is one in all that HTTP has, and else fails by its name"""
    daemon = served(bench, policy=WORDS)
    for name, (act, reason) in FORMS.items():
        server = bench.server(asked(act))
        before, log = reasons_of(daemon), len(daemon.read_log())
        policy = POLICY % (url_of(server), '')
        if reason == 'interceptor_timeout':
            policy = soon(policy)
        body, status = curl(bench, daemon, policy, 'a word')
        if not reason:
            equal((body, status, reasons_of(daemon)), (b'a word', 200, before), name)
            continue
        check(status == 403 and b'a word' not in body, '%s: %d, %r', name, status, body)
        equal(reasons_of(daemon), before | {reason: before.get(reason, 0) + 1}, name)
        named(daemon, url_of(server), log)
    at_rest(daemon)


def cut_at_each_byte(bench):
    """an answer in two pieces, cut at each of its bytes: each is the verdict that it is"""
    daemon, upstream = served(bench, policy=WORDS), bench.server(echo)
    count, cuts = len(GOOD) - 1, iter(range(1, len(GOOD)))

    def act(connection):
        return says(GOOD[:(cut := next(cuts))], GOOD[cut:])(connection)
    judge = bench.server(asked(act))
    equal(many(daemon, LINES % url_of(judge), count, upstream), count, 'lines')
    check(next(cuts, None) is None, 'not each cut was asked for')
    equal(at_rest(daemon)['verdicts_total'], count, 'verdicts')


def memory_and_descriptors_stay(bench):
    """thousands of questions, on kept connections and on new ones: nothing stays of any"""
    daemon, upstream, count = served(bench, policy=WORDS), bench.server(echo), 2000
    for then in (True, False):
        policy = LINES % url_of(bench.server(asked(says(GOOD, then=then))))
        # As many before: what is held at once is not what is measured.
        equal(many(daemon, policy, count, upstream), count, 'lines')
        at_rest(daemon)
        files, size = files_of(daemon), resident(daemon)
        equal(many(daemon, policy, count, upstream), count, 'lines')
        at_rest(daemon)
        # Of each question that may be out at once a connection is kept.
        check(files_of(daemon) <= files + 32, 'descriptors: %d, %d before', files_of(daemon), files)
        check(resident(daemon) < size + MIB, 'bytes: %d, %d before', resident(daemon), size)


def files_of(daemon):
    return len(os.listdir('/proc/%d/fd' % daemon.process.pid))


def early(verdict):
    """A handler that answers once it has a question's head, and reads the rest behind that."""
    def serve(connection):
        data = b''
        while piece := connection.sock.recv(4096):
            data += piece
            head, end, rest = data.partition(b'\r\n\r\n')
            if not end:
                continue
            connection.sock.sendall(body_of(verdict))
            left = int(head.lower().partition(b'content-length:')[2].split()[0]) - len(rest)
            while left > 0:
                left -= len(connection.sock.recv(min(left, 65536)))
            data = b''
    return serve


def an_answer_before_the_question(bench):
    """an answer while its question of many KiB is still going out is the verdict that it is"""
    daemon, upstream = served(bench, policy=WORDS), bench.server(echo)
    for verdict, lines, reasons in ((SAYS_ALLOW, 3, {}), (SAYS_DENY, 0, {'denied:judge': 1})):
        policy = LINES % url_of(bench.server(early(verdict)))
        equal(many(daemon, policy, 3, upstream, MIB), lines, 'lines')
        equal(reasons_of(daemon), reasons, 'reasons')
    at_rest(daemon)


def ipv6_is_asked(bench):
    """an interceptor at [::1]"""
    daemon = served(bench, policy=WORDS)
    judge = bench.server(asked(says(GOOD)), family=socket.AF_INET6)
    policy = POLICY % ('http://[::1]:%d/judge' % judge.port, '')
    equal(curl(bench, daemon, policy, 'a word'), (b'a word', 200), 'what was allowed')
    equal(at_rest(daemon)['verdicts_total'], 2, 'verdicts')


class UnixServer(Server):
    """At a path. Without a handler nothing is accepted."""

    def __init__(self, path, handler=None, backlog=64):  # pylint: disable=super-init-not-called
        self.handler, self.connections, self.faults = handler, [], []
        self.path, self.url = path, 'http+unix://%s:/judge' % path
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.bind(path)
        self.sock.listen(backlog)
        if handler:
            threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        super().close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)


def a_socket_that_vanishes(bench):
    """a Unix socket that goes fails what is asked until it comes back, and no longer"""
    daemon, path = served(bench, policy=WORDS), os.path.join(bench.folder, 'judge.sock')
    for _ in range(2):
        judge = UnixServer(path, asked(says(GOOD)))
        bench.servers.append(judge)
        policy = POLICY % (judge.url, '')
        equal(curl(bench, daemon, policy, 'a word'), (b'a word', 200), 'while it is there')
        judge.close()
        log = len(daemon.read_log())
        equal(curl(bench, daemon, policy, 'a word')[1], 403, 'while it is gone')
        named(daemon, judge.url, log, 'No such file or directory')
    equal(reasons_of(daemon), {'interceptor_failed': 2}, 'reasons')
    at_rest(daemon)


def a_socket_that_is_full(bench):
    """a Unix socket that accepts no more: the question waits for its time, and nothing spins"""
    daemon = served(bench, policy=WORDS)
    judge = UnixServer(os.path.join(bench.folder, 'judge.sock'), backlog=0)
    bench.servers.append(judge)
    with contextlib.ExitStack() as full, contextlib.suppress(BlockingIOError):
        while True:
            client = full.enter_context(socket.socket(socket.AF_UNIX))
            client.setblocking(False)
            client.connect(judge.path)
    used, log = processor_time(daemon), len(daemon.read_log())
    equal(curl(bench, daemon, soon(POLICY % (judge.url, '')), 'a word')[1], 403, 'the status')
    named(daemon, judge.url, log, 'its queue of connections was full, and no verdict in 1000 ms')
    equal(reasons_of(daemon), {'interceptor_timeout': 1}, 'reasons')
    check(processor_time(daemon) < used + 0.3, 'it spun')
    at_rest(daemon)


def a_burst_waits_for_room(bench):
    """more questions at once than a Unix socket has room for: each is answered in the end"""
    daemon = served(bench, policy=WORDS)
    judge = UnixServer(os.path.join(bench.folder, 'judge.sock'), asked(says(GOOD)), backlog=0)
    upstream = bench.server(echo)
    bench.servers.append(judge)
    policy = (LINES % judge.url).replace('cadence: unit', 'cadence: unit, concurrency: 64')
    equal(many(daemon, policy, 500, upstream), 500, 'lines')
    at_rest(daemon)


def processor_time(daemon):
    with open('/proc/%d/stat' % daemon.process.pid, encoding='ascii') as stat:
        fields = stat.read().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def who_never_reads(bench):
    """questions of 1 MiB to who accepts and never reads: a timeout, and no other stream waits"""
    daemon, upstream = served(bench, policy=WORDS), bench.server(echo)
    stopped = threading.Event()
    bench.undo.append(stopped.set)
    judge = bench.server(lambda _: stopped.wait(60))
    policy, log, used = LINES % url_of(judge), len(daemon.read_log()), processor_time(daemon)
    equal(many(daemon, soon(policy), 1, upstream, MIB), 0, 'lines')
    named(daemon, url_of(judge), log, 'no verdict in 1000 ms')
    check(processor_time(daemon) < used + 0.5, 'it spun')
    agent = daemon.start_agent(MANY, upstream.port, 1, MIB, policy=policy.replace('9000', '60000'))
    wait_for(lambda: balance(daemon)['interceptor_in_flight'], 10, 'a question')
    equal(many(daemon, WORDS, 20, upstream), 20, 'lines of another stream')
    check(balance(daemon)['interceptor_in_flight'], 'the other stream waited')
    stopped.set()
    equal(agent.stdout.read(), b'0\n', 'lines')
    equal(reasons_of(daemon), {'interceptor_failed': 1, 'interceptor_timeout': 1}, 'reasons')
    at_rest(daemon)


class Steered:
    """A server that answers a request when it is told to, or resets."""

    def __init__(self, bench):
        self.step = queue.Queue()
        bench.undo.append(lambda: self.step.put(None))
        self.server = bench.server(self.serve)
        self.port = self.server.port

    def serve(self, connection):
        connection.take(connection.sock.recv(65536))
        while step := self.step.get(timeout=30):
            step(connection)

    def is_asked(self):
        wait_for(lambda: self.server.connections and self.server.connections[0].data, 10,
                 'the request')


def replies(connection):
    connection.sock.sendall(answer('a word'))


def out_of_descriptors(bench):
    """a daemon that has no descriptor for a question fails that stream, and later asks again"""
    daemon, upstream = served(bench, policy=WORDS), Steered(bench)
    judge = bench.server(asked(says(GOOD)))
    policy = POLICY % (url_of(judge), '')
    agent = daemon.start_agent(READ, upstream.port, policy=policy)
    upstream.is_asked()
    log, pid = len(daemon.read_log()), daemon.process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))
    upstream.step.put(replies)
    got = agent.stdout.read()
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
    check(b' 403 ' in got and b'a word' not in got, 'came: %r', got)
    named(daemon, url_of(judge), log)
    equal(reasons_of(daemon), {'interceptor_failed': 1}, 'reasons')
    equal(curl(bench, daemon, policy, 'a word'), (b'a word', 200), 'the next')
    at_rest(daemon)


def a_policy_that_changes_meanwhile(bench):
    """a policy is read anew while its questions are out: their verdicts count"""
    old, new = Served(bench), Served(bench)
    daemon = served(bench, policy=POLICY % (old.url('/gate'), ''))
    upstream = bench.server(serve_text('a word'))
    agents = [daemon.start_agent(READ, upstream.port) for _ in range(3)]
    wait_for(lambda: len(old.requests) == 6, 10, 'the questions')
    replace(daemon.policy, POLICY % (new.url('/deny'), ''))
    equal(daemon.ctl('policy', 'reload').returncode, 0, 'the reload')
    equal(curl(bench, daemon, None, 'another')[1], 403, 'under the new one')
    equal(len(old.requests), 6, 'questions to the old one')
    old.gate.set()
    for agent in agents:
        equal(os.read(agent.stdout.fileno(), 65536), answer('a word'), 'what waited')
        agent.kill()
    equal(reasons_of(daemon), {'denied:judge': 1}, 'reasons')
    equal(at_rest(daemon)['interceptor_questions_total'], 8, 'questions')


# Asks, and resets when it is told to.
RESET = """
import socket, struct, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")
if sys.stdin.readline():
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
    sys.stdin.read()
"""


def _client_resets(_daemon, agent, _upstream):
    agent.stdin.write(b'\n')
    agent.stdin.flush()


def _server_resets(_daemon, _agent, upstream):
    upstream.step.put(lambda connection: reset(connection.sock))


def _operator_denies(daemon, _agent, _upstream):
    daemon.ctl('deny', str(daemon.call('streams')['streams'][0]['id']))


def streams_that_end_meanwhile(bench):
    """a reset of either side, an operator who denies: what is out is cancelled, once"""
    daemon, reasons = served(bench, policy=WORDS), {}
    for ends, reason in ((_client_resets, 'client_reset'), (_server_resets, 'peer_reset'),
                         (_operator_denies, 'operator')):
        judge, upstream = Served(bench), Steered(bench)
        agent = daemon.start_agent(RESET, upstream.port, policy=POLICY % (judge.url('/hang'), ''))
        upstream.is_asked()
        upstream.step.put(replies)
        wait_for(lambda served_by=judge: len(served_by.requests) == 2, 10, 'the questions')
        before = balance(daemon)
        equal(before['interceptor_in_flight'], 2, 'what is out')
        ends(daemon, agent, upstream)
        after = at_rest(daemon)
        equal(after['interceptor_cancelled_total'] - before['interceptor_cancelled_total'], 2,
              ends.__name__ + ': what is cancelled')
        reasons[reason] = 1
        equal(reasons_of(daemon), reasons, ends.__name__ + ': reasons')
        equal(daemon.status()['sessions']['failed'], len(reasons), 'failed sessions')
        agent.kill()


if __name__ == '__main__':
    main([every_form_of_an_answer, cut_at_each_byte, memory_and_descriptors_stay,
          an_answer_before_the_question, ipv6_is_asked, a_socket_that_vanishes,
          a_socket_that_is_full, a_burst_waits_for_room, who_never_reads, out_of_descriptors,
          a_policy_that_changes_meanwhile, streams_that_end_meanwhile])
