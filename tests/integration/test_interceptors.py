#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Interceptors: what a real daemon makes of each answer of a real server, and of none; what a
slow one costs the stream that it judges, and that it costs no other anything."""
import json
import os
import re
import threading
import time

from interceptors import FORBIDDEN, Interceptors
from sluice_test import POLICY as WORDS, main
from test_levels import DONE, HEAD, Steps, chunk, event
from test_websocket_hostile import AGREED, UPGRADE, frame
from waiting import check, equal, wait_for

# Long enough for a machine that has other work; where a timeout is what is tested it is short.
POLICY = """\
version: 1
name: asked
response: {tasks: [judge]}
tasks:
  judge: {kind: interceptor, url: "%s", timeout_ms: 9000, cadence: unit, span_runes: 64,
          window_runes: 128%s}
"""
REQUESTS = POLICY.replace('response:', 'request:')


def answer(text):
    body = text.encode()
    return (b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s' % (
        len(body), body))


def serve_text(text):
    """A server that answers each request with this text."""
    def serve(connection):
        while piece := connection.sock.recv(65536):
            connection.take(piece)
            for _ in range(piece.count(b'\r\n\r\n')):
                connection.sock.sendall(answer(text))
    return serve


def curl(bench, daemon, policy, text, seconds=10):
    """What curl got of such a server under that policy: its body, and its status."""
    server = bench.server(serve_text(text))
    words = ['curl', '-sSN', '-m', str(seconds), '-w', '\nstatus %{http_code}',
             'http://127.0.0.1:%d/' % server.port]
    done = bench.run(daemon.run_command(words, policy), seconds=seconds + 10)
    body, _, status = done.stdout.partition(b'\nstatus ')
    return body, int(status or 0)


def reasons_of(daemon):
    return daemon.status()['reasons']


def requests_of(daemon, name='judge'):
    """The counts of a task, of whatever policy is loaded and has it."""
    for policy in daemon.status()['policies']:
        for task in policy['tasks']:
            if task['name'] == name and task.get('requests'):
                return task['requests']
    return None


class Served:
    """A server of verdicts that is closed with the bench."""

    def __new__(cls, bench, **options):
        server = Interceptors(**options)
        bench.undo.append(server.close)
        return server


def allowed_and_denied(bench):
    """allow releases as it came; deny is a refusal with the verdict's reason, over TCP and Unix"""
    daemon = bench.daemon(WORDS)
    for unix in (None, os.path.join(bench.folder, 'judge.sock')):
        server = Served(bench, unix=unix)
        policy = POLICY % (server.url('/word'), '')
        equal(curl(bench, daemon, policy, 'a word'), (b'a word', 200), 'what was allowed')
        body, status = curl(bench, daemon, policy, 'a %s word' % FORBIDDEN)
        equal(status, 403, 'the status')
        problem = json.loads(body)
        check('test_word' in body.decode() and 'judge' in body.decode(), 'the problem: %r', problem)
        check(FORBIDDEN.encode() not in body, 'the text came back: %r', body)
    equal(reasons_of(daemon), {'denied:judge': 2}, 'reasons')
    equal(daemon.status()['sessions']['denied'], 2, 'denied sessions')


def contexts_say_what_is_judged(bench):
    """what is asked: points, tracks, windows, numbers; and each text once"""
    daemon, server = bench.daemon(WORDS), Served(bench)
    curl(bench, daemon, POLICY % (server.url('/allow'), ''), 'some words')
    requests = server.requests
    text = ''.join(r.text for r in requests)
    check('some words' in text and 'HTTP/1.1 200 OK' in text, 'the texts: %r', text)
    numbers = [r.context['sequence'] for r in requests]
    equal(sorted(set(numbers)), sorted(numbers), 'the numbers')
    for request in requests:
        context = request.context
        equal(context['interception_point'], 'post_model_call', 'the point')
        equal(context['target'], context['response'], 'the target')
        equal(context['extensions']['sluice']['task'], 'judge', 'the task')
        check(request.span['end'] > request.span['start'], 'the span: %r', request.span)
    curl(bench, daemon, REQUESTS % (server.url('/allow'), ''), 'x')
    inputs = server.requests[len(requests):]
    check(inputs and all(r.context['interception_point'] == 'input' for r in inputs), 'inputs')
    check(any('GET / HTTP/1.1' in r.text for r in inputs), 'the head was asked about')


# Of each: the reason of the stream, and how its session ended.
ANSWERS = {
    '/transform': ('denied:judge', 'rewritten'),
    '/hang': ('interceptor_timeout', 'failed'),
    '/late': ('interceptor_timeout', 'failed'),
    '/drip': ('interceptor_timeout', 'failed'),
    '/close': ('interceptor_failed', 'failed'),
    '/reset': ('interceptor_failed', 'failed'),
    '/cut': ('interceptor_failed', 'failed'),
    '/status': ('interceptor_failed', 'failed'),
    '/redirect': ('interceptor_failed', 'failed'),
    '/nothing': ('interceptor_failed', 'failed'),
    '/huge': ('verdict_invalid', 'failed'),
    '/endless': ('verdict_invalid', 'failed'),
    '/invalid-json': ('verdict_invalid', 'failed'),
    '/invalid-utf8': ('verdict_invalid', 'failed'),
    '/no-object': ('verdict_invalid', 'failed'),
    '/malformed': ('verdict_invalid', 'failed'),
}


def bad_answers_fail_closed(bench):
    """each bad answer, and none at all, ends the stream with its reason, and nothing leaves"""
    daemon, server = bench.daemon(WORDS), Served(bench, late=2.0, drip=0.1)
    for path, (reason, end) in ANSWERS.items():
        before = daemon.status()
        policy = POLICY % (server.url(path), '')
        if reason == 'interceptor_timeout':
            policy = policy.replace(': 9000', ': 600')
        body, status = curl(bench, daemon, policy, 'a word')
        check(b'a word' not in body and status != 200, '%s: %r, status %d', path, body, status)
        after = daemon.status()
        equal(after['reasons'].get(reason, 0) - before['reasons'].get(reason, 0), 1,
              '%s: streams that ended by %s, of %r' % (path, reason, after['reasons']))
        equal(after['sessions'][end] - before['sessions'][end], 1, path + ': sessions ' + end)


def nobody_listens(bench):
    """an address where nobody listens, and a socket that is not there, are failures"""
    daemon = bench.daemon(WORDS)
    for url in ('http://127.0.0.1:1/x', 'http+unix:///nonexistent.sock:/x'):
        check(curl(bench, daemon, POLICY % (url, ''), 'a word')[1] != 200, url)
    equal(reasons_of(daemon), {'interceptor_failed': 2}, 'reasons')


def failures_are_named(bench):
    """who gave no verdict, where and why: in the log and by run; the agent is told the task"""
    daemon, server = bench.daemon(WORDS), Served(bench, late=2.0, drip=0.1)
    for url, error in (('http://127.0.0.1:1/x', 'Connection refused'),
                       (server.url('/status'), 'status '),
                       (server.url('/malformed'), 'no verdict: '),
                       (server.url('/late'), 'no verdict in 600 ms')):
        policy = (POLICY % (url, '')).replace(': 9000', ': 600')
        done = bench.run(daemon.run_command(
            ['curl', '-sS', 'http://127.0.0.1:%d/' % bench.server(serve_text('a word')).port],
            policy))
        line = "task 'judge' at %s: %s" % (url, error)
        check(line in done.stderr.decode(), 'run said %r, not %r', done.stderr, line)
        wait_for(lambda text=line: text in daemon.read_log(), 5, 'in the log: ' + line)
        check(b'"task":"judge"' in done.stdout and url.encode() not in done.stdout,
              'the agent got %r', done.stdout)


def answered_twice(bench):
    """a second answer to one question is no answer to the next"""
    daemon, server = bench.daemon(WORDS), Served(bench)
    policy = POLICY % (server.url('/twice'), '')
    for _ in range(5):
        # The second verdict is always of the other kind.
        body, status = curl(bench, daemon, policy, 'a %s word' % FORBIDDEN)
        check(status == 403, 'it was allowed: %r, status %d; %r', body, status,
              (reasons_of(daemon), [(r.path, r.text, r.span) for r in server.requests[-4:]]))


def requests_wait_in_order(bench):
    """requests sent at once each wait for their verdicts, and a denied one is the last"""
    daemon, server = bench.daemon(WORDS), Served(bench)
    upstream = bench.server(serve_text('ok'))
    policy = REQUESTS % (server.url('/word'), '')
    source = '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"".join(b"GET /%s HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n" % p.encode() for p in sys.argv[2:]))
got = b""
try:
    while got.count(b"ok") < int(sys.argv[2]):
        piece = s.recv(65536)
        if not piece:
            break
        got += piece
except ConnectionResetError:
    pass
print(got.count(b"200 OK"), got.count(b"403"))
'''
    done = daemon.agent(source, upstream.port, '3', 'two', 'three', policy=policy)
    equal(done.stdout.split()[:2], [b'3', b'0'], 'answers')
    done = daemon.agent(source, upstream.port, '3', 'two', FORBIDDEN, 'four', policy=policy)
    reached = b''.join(bytes(c.data) for c in upstream.connections)
    check(FORBIDDEN.encode() not in reached and b'/four' not in reached, 'reached: %r', reached)
    equal(reasons_of(daemon), {'denied:judge': 1}, 'reasons')


def messages_of_a_websocket(bench):
    """a WebSocket: its head and each message leave with their verdicts, a denied one does not"""
    server = Served(bench)
    policy = (POLICY % (server.url('/word'), '')).replace('version: 1', 'version: 1\nextract: raw')
    agreed = AGREED + b'\r\n'
    steps = Steps(bench, policy, UPGRADE)
    steps.send(agreed + frame(b'one'))
    steps.arrives(agreed + frame(b'one'))
    steps.send(frame(b'two'))
    steps.arrives(agreed + frame(b'one') + frame(b'two'))
    steps.send(frame(b'a ' + FORBIDDEN.encode()))
    data, _ = steps.end()
    check(data.startswith(agreed + frame(b'one') + frame(b'two') + b'\x88'), 'came: %r', data)
    check(FORBIDDEN.encode() not in data, 'the text came: %r', data)
    steps.settled('denied:judge', denied=1)


def levels_hold_or_let_go(bench):
    """complete: nothing before the last verdict; deferred: at once, and ended by a late denial"""
    server = Served(bench)
    policy = POLICY % (server.url('/gate'), '')
    steps = Steps(bench, policy.replace('name: asked', 'name: asked\nsafety_level: complete'))
    one, two = event('one'), event('two')
    steps.send(HEAD, chunk(one), chunk(two), chunk(DONE))
    steps.stays(b'')
    server.gate.set()
    wait_for(lambda: answered(requests_of(steps.daemon), 2), 10, 'the verdicts so far')
    steps.stays(b'')
    steps.send(b'0\r\n\r\n')
    equal(steps.end()[0], one + two + DONE, 'the answer')
    steps.settled(complete=1)
    server.gate.clear()
    steps = Steps(bench, policy.replace('name: asked', 'name: asked\nsafety_level: deferred'))
    steps.send(HEAD, chunk(one), chunk(event(FORBIDDEN)))
    wait_for(lambda: FORBIDDEN.encode() in steps.got, 5, 'what leaves before its verdict')
    server.gate.set()
    wait_for(lambda: b'event: error' in steps.got, 5, 'the refusal')
    steps.end()
    steps.settled('denied:judge', denied=1)


def answered(counts, least):
    """Whether so many questions were asked and nothing is left to be answered."""
    return counts and counts['allowed'] >= least and not (counts['in_flight'] or counts['waiting'])


READ = '''
import os, socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")
while piece := s.recv(65536):
    os.write(1, piece)
'''


class Tokens:
    """A stream of numbered tokens, and which have arrived."""

    def __init__(self, bench, daemon, policy, count, gap):
        self.count, self.gap = count, gap
        self.server = bench.server(self.serve)
        self.agent = daemon.start_agent(READ, self.server.port, policy=policy)
        self.got = b''
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def serve(self, connection):
        connection.take(connection.sock.recv(65536))
        connection.sock.sendall(HEAD)
        for i in range(self.count):
            time.sleep(self.gap)
            connection.sock.sendall(chunk(event('token-%d ' % i)))
        connection.sock.sendall(chunk(DONE) + b'0\r\n\r\n')

    def read(self):
        while piece := os.read(self.agent.stdout.fileno(), 65536):
            self.got += piece

    def arrived(self):
        return [int(token) for token in re.findall(rb'token-(\d+) ', self.got)]


def asked_of_tokens(server):
    return set(re.findall(r'token-\d+ ', ''.join(request.text for request in server.requests)))


def a_token_stream_flows(bench):
    """tokens are asked about as they come: none waits for the verdict of those before it"""
    daemon, server = bench.daemon(WORDS), Served(bench)
    policy = POLICY % (server.url('/gate'), ', concurrency: 64')
    tokens = Tokens(bench, daemon, policy, 20, 0.02)
    wait_for(lambda: len(asked_of_tokens(server)) == tokens.count, 8, 'a question of each token')
    equal(tokens.arrived(), [], 'what came before its verdict')
    server.gate.set()
    wait_for(lambda: len(tokens.arrived()) == tokens.count, 5, 'the last token')
    equal(tokens.arrived(), list(range(tokens.count)), 'the order')


HOLD = '''
import socket, sys, time
n = int(sys.argv[2])
held = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(n)]
for s in held:
    s.sendall(b"GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")
print("held", flush=True)
sys.stdin.read()
'''
ECHO = '''
import json, socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
took = []
for i in range(int(sys.argv[2])):
    line = json.dumps({"t": "line %d" % i}).encode() + b"\\n"
    start = time.perf_counter()
    s.sendall(line)
    got = b""
    while len(got) < len(line):
        got += s.recv(65536)
    took.append(time.perf_counter() - start)
    time.sleep(0.001)
took.sort()
print(took[len(took) // 2], took[len(took) * 99 // 100])
'''


def echo(connection):
    while piece := connection.sock.recv(65536):
        connection.sock.sendall(piece)


def others_do_not_wait(bench):
    """100 streams wait for an interceptor: one with terms alone does not"""
    daemon, server = bench.daemon(WORDS), Served(bench, late=30.0)
    policy = (POLICY % (server.url('/late'), ', concurrency: 16')).replace(': 9000', ': 20000')
    upstream, echoes = bench.server(serve_text('a word')), bench.server(echo)

    def measure():
        done = daemon.agent(ECHO, echoes.port, 1000, policy=WORDS)
        return [float(word) for word in done.stdout.split()[:2]]
    idle = measure()
    holder = daemon.start_agent(HOLD, upstream.port, 100, policy=policy)
    equal(holder.stdout.readline(), b'held\n', 'the streams that wait')
    wait_for(lambda: (requests_of(daemon) or {}).get('waiting', 0) >= 80, 10, 'what waits')
    counts = requests_of(daemon)
    equal(counts['in_flight'], 16, 'questions out at once')
    busy = measure()
    print('# echo p50, p99 in us: idle %.0f, %.0f; with 100 that wait %.0f, %.0f' % tuple(
        1e6 * x for x in idle + busy))
    # That they are as fast is for a benchmark to say; one that waited would wait for seconds.
    check(busy[1] < idle[1] + 0.5, 'p99 %g s, idle %g s', busy[1], idle[1])
    holder.stdin.close()
    holder.wait(10)
    wait_for(lambda: not daemon.status()['streams']['open'], 10, 'the end of the streams')


def a_stream_that_ends_takes_its_questions_along(bench):
    """what was asked for a stream that is gone is cancelled, and its room is another's"""
    daemon, server = bench.daemon(WORDS), Served(bench, late=30.0)
    hanging = (POLICY % (server.url('/hang'), ', concurrency: 2')).replace(': 9000', ': 20000')
    upstream = bench.server(serve_text('a word'))
    holder = daemon.start_agent(HOLD, upstream.port, 5, policy=hanging)
    equal(holder.stdout.readline(), b'held\n', 'the streams that wait')
    wait_for(lambda: (requests_of(daemon) or {}).get('in_flight') == 2, 10, 'two questions')
    streams = daemon.call('streams')
    streams = streams.get('streams', streams) if isinstance(streams, dict) else streams
    for stream in streams[:4]:
        bench.run([*daemon.run_command([])[:3], 'deny', str(stream['id'])])
    counts = wait_for(lambda: (lambda c: c if c and c['cancelled'] >= 4 else None)(
        requests_of(daemon)), 10, 'what is cancelled')
    check(counts['in_flight'] <= 2 and counts['waiting'] <= 1, 'counts: %r', counts)
    holder.stdin.close()
    holder.wait(10)


def status_tells_of_it(bench):
    """status and policy check say what is asked, how, and what came of it; and what bounds it"""
    daemon, server = bench.daemon(WORDS), Served(bench)
    policy = POLICY % (server.url('/word'), '')
    upstream = bench.server(serve_text('a word'))
    holder = daemon.start_agent(HOLD, upstream.port, 3, policy=policy)
    equal(holder.stdout.readline(), b'held\n', 'the streams')
    # A stream asks more than once: no question may be out while the two are compared.
    counts = wait_for(lambda: (lambda c: c if answered(c, 3) else None)(
        requests_of(daemon)), 10, 'verdicts')
    equal(counts['asked'], counts['allowed'], 'asked and allowed')
    said = daemon.ctl('status').stdout.decode()
    check(server.url('/word') in said and 'spans of 64 runes by unit in windows of 128' in said,
          'status: %s', said)
    holder.stdin.close()
    holder.wait(10)
    bad = policy.replace('span_runes: 64', 'span_runes: 4').replace(
        'window_runes: 128', 'window_runes: 10, detectable_runes: 9')
    done = daemon.ctl('policy', 'check', bench.file('bad.yaml', bad))
    equal(done.returncode, 1, 'the exit status')
    check(b'needs 12' in done.stderr, 'it said %r', done.stderr)


if __name__ == '__main__':
    main([allowed_and_denied, contexts_say_what_is_judged, bad_answers_fail_closed, nobody_listens,
          failures_are_named,
          answered_twice, requests_wait_in_order, messages_of_a_websocket, levels_hold_or_let_go,
          a_token_stream_flows, others_do_not_wait, a_stream_that_ends_takes_its_questions_along,
          status_tells_of_it])
