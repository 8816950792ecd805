#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Metrics: both forms against their own tools, what they count against what was done, a real
Prometheus, and clients of the listener that do what none should."""
import http.client
import json
import os
import re
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request

from interceptors import Interceptors
from peers import echo
from sluice_test import ROOT, SLUICED, main
from test_interceptors import POLICY as ASKED, curl
from waiting import Skip, check, equal, wait_for

OPENMETRICS = 'application/openmetrics-text;version=1.0.0'
MONITORING = os.path.join(ROOT, 'packaging', 'monitoring')
CLIENTS_MAX, IDLE_S = 32, 10  # user/daemon/limits.h

# Sends lines one by one, reads each back, and says what it could not.
AGENT = '''
import socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(10)
for text in sys.argv[2:]:
    data = text.encode().decode("unicode_escape").encode() + b"\\n"
    s.sendall(data)
    got = b""
    while len(got) < len(data):
        piece = s.recv(100)
        if not piece:
            sys.exit("ended")
        got += piece
s.shutdown(socket.SHUT_WR)
assert s.recv(1) == b""
'''


def served(bench, **options):
    daemon = bench.daemon(start=False, **options)
    daemon.web = bench.free_port()
    return daemon.start()


def ask(daemon, method='GET', path='/metrics', **headers):
    """The answer, read, and its body."""
    connection = http.client.HTTPConnection('127.0.0.1', daemon.web, timeout=10)
    try:
        connection.request(method, path, headers={name.replace('_', '-'): value
                                                  for name, value in headers.items()})
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def scrape(daemon, accept='*/*'):
    answer, body = ask(daemon, Accept=accept)
    equal(answer.status, 200, 'the status of a scrape')
    return body.decode()


SAMPLE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')


def samples(text):
    """{(name, frozenset of labels): value} of Prometheus text."""
    found = {}
    for row in text.splitlines():
        if row.startswith('#'):
            continue
        match = SAMPLE.match(row)
        check(match, 'a line that is no sample: %r', row)
        key = (match[1], frozenset(LABEL.findall(match[2] or '')))
        check(key not in found, 'twice: %r', row)
        found[key] = float(match[3])
    return found


def value(found, name, **labels):
    """The sum of those of the name that have these labels; None: there are none."""
    chosen = [v for (n, l), v in found.items() if n == name and set(labels.items()) <= set(l)]
    return sum(chosen) if chosen else None


def names(text):
    return {row.split()[2] for row in text.splitlines() if row.startswith('# TYPE ')}


def tool(bench, *command, stdin=b'', seconds=30):
    try:
        return bench.run(list(command), stdin=stdin, seconds=seconds)
    except FileNotFoundError:
        raise Skip('%s is not installed' % command[0]) from None


# --- forms ---

def both_forms_are_what_their_tools_read(bench):
    """promtool takes the text without a word, the strict parser the other; they say the same"""
    try:
        from prometheus_client.openmetrics import parser
    except ImportError:
        raise Skip('python3-prometheus-client is not installed') from None
    daemon = served(bench)
    server = bench.server(echo)
    equal(daemon.agent(AGENT, server.port, '{"t": "a"}').returncode, 0, 'the agent')
    text, other = scrape(daemon), scrape(daemon, OPENMETRICS)
    done = tool(bench, 'promtool', 'check', 'metrics', stdin=text.encode())
    equal((done.returncode, done.stdout + done.stderr), (0, b''), 'promtool')
    families = list(parser.text_string_to_metric_families(other))
    check(len(families) > 50, 'only %d families', len(families))
    check(all(f.documentation for f in families), 'one has no help')
    equal({f.name for f in families if f.unit}, {f.name for f in families
          if f.name.endswith(('_bytes', '_seconds', '_runes'))}, 'families with a unit')
    equal({(s.name, frozenset(s.labels.items())) for f in families for s in f.samples},
          set(samples(text)), 'what both have')


def the_form_is_negotiated(bench):
    """Accept decides; HEAD is told the length and gets no body"""
    daemon = served(bench)
    for accept, form in ((None, 'text/plain'), ('*/*', 'text/plain'),
                         (OPENMETRICS, 'application/openmetrics-text'),
                         (OPENMETRICS + ';q=0.2,text/plain;q=0.3', 'text/plain'),
                         ('application/openmetrics-text;version=0.0.1', 'text/plain')):
        answer, body = ask(daemon, **({'Accept': accept} if accept else {}))
        equal(answer.getheader('Content-Type').split(';')[0], form, 'what %s gets' % accept)
        equal(body.endswith(b'\n# EOF\n'), form != 'text/plain', 'the end of it')
        equal(answer.getheader('Vary'), 'Accept', 'Vary')
        equal(answer.getheader('Cache-Control'), 'no-store', 'Cache-Control')
    answer = _raw(daemon, b'HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n')
    head, _, body = answer.partition(b'\r\n\r\n')
    equal((head.split(b'\r\n')[0], body), (b'HTTP/1.1 200 OK', b''), 'what HEAD gets')
    check(int(re.search(rb'Content-Length: (\d+)', head)[1]) > 1000, 'the length: %r', head)


# --- what is counted ---

def _agrees(daemon):
    """Metrics and status have the same figures, where nothing moves."""
    found, status = samples(scrape(daemon)), daemon.status()
    for what, metric in (('bytes', 'bytes'), ('runes', 'runes')):
        received = value(found, 'sluice_received_%s_total' % metric)
        released = value(found, 'sluice_released_%s_total' % metric)
        equal((received, released), (status[what]['received'], status[what]['released']), what)
        equal(received - released, value(found, 'sluice_withheld_%s_total' % metric) +
              value(found, 'sluice_held_%s' % metric), 'what of the %s did not leave' % what)
    streams = status['streams']
    equal({end: value(found, 'sluice_streams_ended_total', end=end)
           for end in ('complete', 'denied', 'failed')},
          {end: streams[end] for end in ('complete', 'denied', 'failed')}, 'streams that ended')
    equal(value(found, 'sluice_streams_open'), streams['open'], 'streams that are open')
    for end, count in status['sessions'].items():
        got = (value(found, 'sluice_sessions_open') if end == 'open' else
               value(found, 'sluice_sessions_ended_total', end=end))
        equal(got, count, 'sessions: %s' % end)
    return found


def counts_are_of_what_was_done(bench):
    """bytes, runes, ends, denials, hold times; open streams too; nothing goes back"""
    daemon, server = served(bench), bench.server(echo)
    equal(daemon.agent(AGENT, server.port, *['{"t": "h\\u00e9llo"}'] * 3).returncode, 0, 'it')
    found = wait_for(lambda: (lambda f: f if value(f, 'sluice_streams_ended_total',
                                                   end='complete') else None)(_agrees(daemon)),
                     5, 'the stream settles')
    for track in ('request', 'response'):
        equal(value(found, 'sluice_received_runes_total', track=track),
              value(found, 'sluice_released_runes_total', track=track), 'runes of ' + track)
        check(value(found, 'sluice_received_runes_total', track=track) >= 15, 'too few runes')
        equal(value(found, 'sluice_hold_seconds_count', track=track), 3, 'hold times, ' + track)
        equal(value(found, 'sluice_release_latency_seconds_count', track=track), 3,
              'release latencies, ' + track)
        equal(value(found, 'sluice_withheld_bytes_total', track=track), 0, 'withheld')
    check(daemon.agent(AGENT, server.port, '{"t": "a"}', '{"t": "forbidden"}').returncode,
          'what was forbidden came back')
    later = wait_for(lambda: (lambda f: f if value(f, 'sluice_denied_streams_total')
                              else None)(_agrees(daemon)), 5, 'the denial')
    equal(value(later, 'sluice_denied_streams_total', reason='task', task='words'), 1, 'by words')
    equal(value(later, 'sluice_withheld_bytes_total', track='request'), 19, 'withheld of it')
    equal(value(later, 'sluice_held_bytes'), 0, 'held')
    _none_went_back(found, later)


def _none_went_back(before, after):
    for (name, labels), count in before.items():
        if name.endswith(('_total', '_count', '_sum', '_bucket')):
            check(after.get((name, labels), -1) >= count, '%s %s went from %s to %s', name,
                  sorted(labels), count, after.get((name, labels)))


HOLDS = '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b'{"t": "whole"}\\n{"t": "a part')
print("sent", flush=True)
sys.stdin.readline()
s.sendall(b'"}\\n')
s.shutdown(socket.SHUT_WR)
while s.recv(100):
    pass
'''


def what_is_held_shows_while_it_is(bench):
    """held bytes and streams are gauges: up while a message is half there, and then not"""
    daemon, server = served(bench), bench.server(echo)
    agent = daemon.start_agent(HOLDS, server.port)
    equal(agent.stdout.readline(), b'sent\n', 'what the agent says')
    found = wait_for(lambda: (lambda f: f if value(f, 'sluice_held_bytes', track='request') == 13
                              else None)(samples(scrape(daemon))), 5, '13 bytes are held')
    equal(value(found, 'sluice_streams_open'), 1, 'open streams')
    equal(value(found, 'sluice_sessions_open'), 1, 'open sessions')
    equal(value(found, 'sluice_buffered_bytes'), 13, 'buffered')
    check(value(found, 'sluice_hold_memory_bytes') >= 13, 'memory of what is held')
    equal(value(found, 'sluice_watches', kind='run', enforcing='true'), 1, 'the run')
    time.sleep(0.6)
    agent.stdin.write(b'\n')
    agent.stdin.flush()
    equal(agent.wait(10), 0, 'the agent')
    found = wait_for(lambda: (lambda f: f if value(f, 'sluice_streams_ended_total',
                                                   end='complete') else None)(
        samples(scrape(daemon))), 5, 'it settles')
    equal((value(found, 'sluice_held_bytes'), value(found, 'sluice_streams_open'),
           value(found, 'sluice_sessions_open')), (0, 0, 0), 'what is left')
    slow = {le: value(found, 'sluice_hold_seconds_bucket', track='request', le=le)
            for le in ('0.5', '5.0')}
    equal(slow['5.0'] - slow['0.5'], 1, 'holds of half a second and more')
    # Of the run's policy and watch nothing is left, of what it counted all.
    equal(value(found, 'sluice_received_bytes_total', track='request'), 31, 'bytes')


def interceptors_are_counted_by_task(bench):
    """verdicts, failures, latency; the counts outlive the policy that they were made under"""
    daemon = served(bench)
    server = Interceptors(late=0.3)
    bench.undo.append(server.close)
    for path, words in (('/word', 'a word'), ('/word', 'a forbidden word'), ('/close', 'a word')):
        curl(bench, daemon, ASKED % (server.url(path), ''), words)
    wait_for(lambda: len(daemon.status()['policies']) == 1, 5, 'the runs and their policies go')
    found = samples(scrape(daemon))
    asked = value(found, 'sluice_interceptor_questions_total', task='judge')
    check(asked >= 3, 'questions: %s', asked)
    check(value(found, 'sluice_verdicts_total', task='judge', decision='allow') >= 1, 'allowed')
    equal(value(found, 'sluice_verdicts_total', task='judge', decision='deny'), 1, 'denied')
    equal(value(found, 'sluice_verdicts_total', task='judge', decision='transform'), 0, 'rewritten')
    check(value(found, 'sluice_interceptor_failures_total', task='judge', failure='failed') >= 1,
          'failures')
    came = sum(value(found, name, task='judge') for name in
               ('sluice_verdicts_total', 'sluice_interceptor_failures_total'))
    equal(value(found, 'sluice_interceptor_latency_seconds_count', task='judge'), came, 'latencies')
    equal(asked, came + value(found, 'sluice_interceptor_cancelled_total', task='judge'), 'asked')
    equal(value(found, 'sluice_denied_streams_total', task='judge'), 1, 'denied streams')
    equal(value(found, 'sluice_fail_closed_total', reason='interceptor_failed'), 1, 'failed')
    for name in ('waiting', 'in_flight'):
        equal(value(found, 'sluice_interceptor_' + name, task='judge'), 0, name)


def a_scrape_has_the_same_size_with_many_streams(bench):
    """300 streams add no line, and it stays quick"""
    daemon, server = served(bench), bench.server(echo)
    before = len(samples(scrape(daemon)))
    agent = daemon.start_agent('''
import socket, sys
socks = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(300)]
print("open", flush=True)
sys.stdin.readline()
''', server.port)
    equal(agent.stdout.readline(), b'open\n', 'what the agent says')
    wait_for(lambda: value(samples(scrape(daemon)), 'sluice_streams_open') == 300, 5, '300 open')
    took = []
    for _ in range(10):
        began = time.monotonic()
        text = scrape(daemon)
        took.append(time.monotonic() - began)
    equal(len(samples(text)), before, 'samples')
    check(min(took) < 0.02, 'the quickest of ten scrapes took %.4f s', min(took))
    agent.stdin.close()
    agent.wait(10)


# --- who may not ---

REACH = '''
import json, socket, sys
port, got = int(sys.argv[1]), {}
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"),
                     (socket.AF_INET6, "::ffff:127.0.0.1")):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.settimeout(5)
    try:
        s.connect((host, port))
        s.sendall(b"GET /metrics HTTP/1.0\\r\\n\\r\\n")
        got[host] = s.recv(100).decode()
    except OSError as error:
        got[host] = type(error).__name__
print(json.dumps(got))
'''
OPEN = """\
version: 1
name: open
destinations:
  - {match: "127.0.0.1:*", action: pass}
  - {match: "*:*", action: pass}
"""


def a_watched_cgroup_cannot_ask(bench):
    """whatever its policy says, and by whatever name of the address"""
    daemon = served(bench)
    for policy in (None, OPEN):
        before = daemon.counters()['refused_denied']
        done = daemon.agent(REACH, daemon.web, policy=policy)
        equal(set(json.loads(done.stdout).values()), {'PermissionError'}, 'what it got')
        equal(daemon.counters()['refused_denied'] - before, 3, 'refusals')
    found = samples(scrape(daemon))
    equal(value(found, 'sluice_fence_refusals_total', kind='destination'), 6, 'the metric of it')
    # And on an unspecified address none of the addresses that it has.
    daemon = bench.daemon(start=False)
    daemon.web = bench.free_port()
    daemon.options = ['--metrics', '0.0.0.0:%d' % daemon.web]
    daemon.start()
    equal(ask(daemon)[0].status, 200, 'from outside')
    done = daemon.agent(REACH, daemon.web, policy=OPEN)
    equal(set(json.loads(done.stdout).values()), {'PermissionError'}, 'what it got')


def only_get_and_head_of_known_hosts(bench):
    """405 for other methods, 403 for other hosts, 404 for other paths, 400 for what is no request"""
    daemon = bench.daemon(start=False)
    daemon.web = bench.free_port()
    daemon.options = ['--metrics-host', 'box.example']
    daemon.start()
    for method in ('POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'):
        answer, _ = ask(daemon, method)
        equal((answer.status, answer.getheader('Allow')), (405, 'GET, HEAD'), method)
    for host, status in (('evil.example', 403), ('127.0.0.1.evil.example', 403), ('', 403),
                         ('localhost', 200), ('box.example:1', 200), ('[::1]:9', 200)):
        equal(ask(daemon, Host=host)[0].status, status, 'the status of host %r' % host)
    for path, status in (('/metrics?x=1', 200), ('/metrics/', 404), ('/etc/passwd', 404),
                         ('//metrics', 403), ('/%6detrics', 404)):
        equal(ask(daemon, path=path)[0].status, status, 'the status of %s' % path)
    equal(_raw(daemon, b'GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n')[:12],
          b'HTTP/1.1 403', 'the host of the request line')
    equal(_raw(daemon, b'GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n')[:12],
          b'HTTP/1.1 403', 'two hosts')
    for garbage in (b'hello\r\n\r\n', b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
                    b'GET\r\n\r\n', b'\0' * 100 + b'\r\n\r\n'):
        answer = _raw(daemon, garbage)
        check(answer[:12] in (b'', b'HTTP/1.1 400', b'HTTP/1.0 400'), '%r: %r', garbage, answer)
    equal(ask(daemon)[0].status, 200, 'after all of it')


def _raw(daemon, data, seconds=5):
    """What a client gets that sends this and then no more, to the end or the first 64 KiB."""
    with socket.create_connection(('127.0.0.1', daemon.web), timeout=seconds) as sock:
        got = b''
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            while len(got) < 65536 and (piece := sock.recv(65536)):
                got += piece
        except OSError:
            pass
        return got


# --- clients that cost ---

def resident(daemon):
    with open('/proc/%d/statm' % daemon.process.pid, encoding='ascii') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGESIZE')


def what_is_too_large_is_refused(bench):
    """10 MB of heads, a line that does not end, a body: none is kept"""
    daemon = served(bench)
    scrape(daemon)
    before = resident(daemon)
    for data in (b'GET /metrics HTTP/1.1\r\n' + b'X: %s\r\n' % (b'y' * 1000) * 10000,
                 b'GET /' + b'a' * (10 << 20)):
        with socket.create_connection(('127.0.0.1', daemon.web), timeout=5) as sock:
            try:
                sock.sendall(data)
                answer = sock.recv(64)
            except OSError:
                answer = b''
        check(not answer.startswith(b'HTTP/1.1 200'), 'it was served: %r', answer)
    # A body all but its last byte, which is not waited for.
    with socket.create_connection(('127.0.0.1', daemon.web), timeout=2) as sock:
        try:
            sock.sendall(b'POST /metrics HTTP/1.1\r\nHost: localhost\r\n'
                         b'Content-Length: 10485761\r\n\r\n' + b'z' * (10 << 20))
            answer = sock.recv(64)
        except ConnectionError:
            answer = b''
        check(answer == b'' or answer.startswith(b'HTTP/1.1 4'), 'it was answered %r', answer)
        equal(ask(daemon)[0].status, 200, 'the status for others')
        check(resident(daemon) - before < 2 << 20, 'it grew by %d', resident(daemon) - before)


def requests_may_come_at_once(bench):
    """fifty in one write get fifty answers, in order"""
    daemon = served(bench)
    with socket.create_connection(('127.0.0.1', daemon.web), timeout=10) as sock:
        sock.sendall(b''.join(b'GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n' %
                              (b'metrics' if n < 49 else b'none') for n in range(50)))
        file = sock.makefile('rb')
        statuses = []
        for _ in range(50):
            statuses.append(int(file.readline().split()[1]))
            headers = http.client.parse_headers(file)
            file.read(int(headers['Content-Length']))
        equal(statuses, [200] * 49 + [404], 'the statuses')
        file.close()


def clients_that_stay_are_ended(bench):
    """those that never read, never end a request, or never begin one go; others are served"""
    daemon = served(bench)
    request = b'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n'
    socks = []
    for kind in ('idle', 'half', 'deaf', 'drip') * 4:
        sock = socket.socket()
        if kind == 'deaf':
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(('127.0.0.1', daemon.web))
        sock.settimeout(IDLE_S + 10)
        if kind == 'half':
            sock.sendall(request[:20])
        if kind == 'deaf':
            # More than the kernel takes of their answers.
            sock.setblocking(False)
            try:
                while True:
                    sock.send(request * 100)
            except BlockingIOError:
                sock.settimeout(IDLE_S + 10)
        socks.append((kind, sock))
    before = resident(daemon)
    stop = threading.Event()

    def drip():
        while not stop.wait(0.5):
            for kind, sock in socks:
                try:
                    if kind == 'drip':
                        sock.sendall(b'X')
                except OSError:
                    pass
    thread = threading.Thread(target=drip)
    thread.start()
    try:
        # Before anything is read of them: whoever then reads would be served on.
        wait_for(lambda: ask(daemon)[0].status == 200 and not _clients(daemon), IDLE_S + 10,
                 'the end of all, while others are served')
        check(resident(daemon) - before < 4 << 20, 'it grew by %d', resident(daemon) - before)
        for kind, sock in socks:
            wait_for(lambda s=sock: _has_ended(s), 10, 'the end of one that is %s' % kind)
    finally:
        stop.set()
        thread.join()
        for _, sock in socks:
            sock.close()
    equal(ask(daemon)[0].status, 200, 'after all of it')


def _has_ended(sock):
    """Reads what there is; True at the end."""
    sock.setblocking(False)
    try:
        while sock.recv(65536):
            pass
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


def _clients(daemon):
    """How many connections at the port of metrics the daemon has accepted."""
    shown = subprocess.run(['ss', '-Htnp', 'sport', '=', ':%d' % daemon.web], capture_output=True,
                           text=True, check=True).stdout
    return sum('pid=%d,' % daemon.process.pid in row for row in shown.splitlines())


def few_are_served_at_once(bench):
    """the next one waits for one to go, and costs the daemon nothing meanwhile"""
    daemon = served(bench)
    socks = [socket.create_connection(('127.0.0.1', daemon.web)) for _ in range(2 * CLIENTS_MAX)]
    wait_for(lambda: _clients(daemon) == CLIENTS_MAX, 5, '%d served' % CLIENTS_MAX)
    time.sleep(0.6)
    equal(_clients(daemon), CLIENTS_MAX, 'clients that are served')
    check(daemon.status(), 'no status')
    for sock in socks:
        sock.close()
    equal(ask(daemon)[0].status, 200, 'after they went')
    wait_for(lambda: not _clients(daemon), 5, 'nothing is left of them')


# --- the command line ---

def addresses_on_the_command_line(bench):
    """one in use, or that is none, is a line and no daemon; a private one has no listener"""
    daemon = served(bench)
    other = bench.daemon(start=False)
    other.web = daemon.web
    for options, word in ((['--metrics', '127.0.0.1:%d' % daemon.web], b'--no-metrics'),
                          (['--metrics', '192.0.2.1:80'], b'cannot serve metrics at 192.0.2.1:80'),
                          (['--metrics', '127.0.0.1'], b'ADDRESS:PORT'),
                          (['--metrics', 'localhost:80'], b'ADDRESS:PORT'),
                          (['--metrics', '::1:80'], b'ADDRESS:PORT'),
                          (['--metrics', '127.0.0.1:0'], b'ADDRESS:PORT'),
                          (['--metrics', '127.0.0.1:65536'], b'ADDRESS:PORT'),
                          (['--metrics-host', 'a:1'], b'without a port'),
                          (['--metrics-host', ''], b'without a port'),
                          (['--metrics-host', 'x'] * 17, b'more than 16')):
        other.options = options
        done = bench.run(other.arguments(), seconds=10)
        check(done.returncode and word in done.stderr, '%s: %s %r', options, done.returncode,
              done.stderr)
        check(not os.path.exists(other.pins), '%s: %s is there', options, other.pins)
    other.options = ['--metrics', '[::1]:%d' % daemon.web]
    other.start()
    with urllib.request.urlopen('http://[::1]:%d/metrics' % daemon.web, timeout=5) as answer:
        check(other.instance.encode() in answer.read(), 'not the other one')
    equal(other.stop(), 0, 'the exit status')
    other.options = ['--no-metrics']
    other.start()
    sockets = subprocess.run(['ss', '-Hltnp'], capture_output=True, text=True, check=True).stdout
    ports = {row.split()[3].rsplit(':', 1)[1] for row in sockets.splitlines()
             if 'pid=%d,' % other.process.pid in row}
    equal(ports, {str(other.port)}, 'ports that it listens at')


def a_private_daemon_has_no_listener(bench):
    """unless it is told"""
    port = bench.free_port()
    for options, served_ in (([], False), (['--metrics', '127.0.0.1:%d' % port], True)):
        read_end, write_end = os.pipe()
        name = bench.name + '-private'
        process = bench.spawn([SLUICED, '--private', '--instance', name, '--ready-fd',
                               str(write_end), *options], pass_fds=[write_end],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        os.close(write_end)
        with os.fdopen(read_end, 'rb') as ready:
            equal(ready.readline(), b'ready\n', 'what it says')
            sockets = subprocess.run(['ss', '-Hltnp'], capture_output=True, text=True,
                                     check=True).stdout
            ports = {int(row.split()[3].rsplit(':', 1)[1]) for row in sockets.splitlines()
                     if 'pid=%d,' % process.pid in row}
            equal(len(ports - {port}), 1, 'ports beside that of metrics')
            equal(port in ports, served_, 'metrics')
        equal(process.wait(15), 0, 'its exit status')


# --- documents and tools ---

def documents_name_what_there_is(bench):
    """man page and scrape name the same; alerts and dashboard name only what a scrape has"""
    daemon = served(bench)
    text = scrape(daemon)
    there = {name: set() for name in names(text)}
    for name, labels in samples(text):
        base = re.sub(r'_(bucket|count|sum)$', '', name)
        there[name if name in there else base] |= {label for label, _ in labels} - {'le'}
    with open(os.path.join(ROOT, 'man', 'sluiced.8'), encoding='utf-8') as page:
        section = page.read().split('.Sh METRICS\n')[1].split('\n.Sh ')[0]
    told = {}
    for row in re.findall(r'^\.It Ic (\S+)(.*)$', section, re.M):
        check(row[0] not in told, 'the page has %s twice', row[0])
        told[row[0]] = set(re.findall(r'Cm (\S+)', row[1]))
    # On kernels that do not tell.
    if os.stat('/proc/self/fd').st_size == 0:
        told.pop('process_open_fds')
    equal(sorted(told), sorted(there), 'the metrics of sluiced(8)')
    # Of what nothing happened to there is no sample, and so no label.
    for name, labels in there.items():
        check(not labels or labels == told[name], '%s has labels %s, the page %s', name,
              sorted(labels), sorted(told[name]))
    for path in ('alerts.yaml', 'alerts_test.yaml', 'dashboard.json'):
        with open(os.path.join(MONITORING, path), encoding='utf-8') as file:
            used = set(re.findall(r'\b(?:sluice|process)_[a-z_]+\b', file.read()))
        wrong = {name for name in used if name not in there and
                 re.sub(r'_(bucket|count|sum)$', '', name) not in there}
        check(not wrong, '%s names %s', path, sorted(wrong))
        check(len(used) > 10, '%s names only %s', path, used)
    with open(os.path.join(MONITORING, 'dashboard.json'), encoding='utf-8') as file:
        dashboard = json.load(file)
    shown = set(re.findall(r'\b(?:sluice|process)_[a-z_]+\b', json.dumps(dashboard['panels'])))
    shown = {re.sub(r'_(bucket|count|sum)$', '', name) for name in shown}
    told = set(told) | {'process_open_fds'}
    equal(sorted(told - shown), [], 'metrics that the dashboard does not show')
    ids = [panel['id'] for panel in dashboard['panels']]
    equal(len(set(ids)), len(ids), 'panels of one id')


def alerts_fire_as_they_should(bench):
    """promtool: the rules, the configuration, and a case of each alert and against it"""
    with open(os.path.join(MONITORING, 'alerts.yaml'), encoding='utf-8') as file:
        alerts = re.findall(r'- alert: (\S+)', file.read())
    with open(os.path.join(MONITORING, 'alerts_test.yaml'), encoding='utf-8') as file:
        cases = re.findall(r'  - name: (.*)', file.read())
    equal(sorted(cases), sorted(name + end for name in alerts for end in ('', ' does not fire')),
          'the cases')
    for command in (('check', 'rules', 'alerts.yaml'), ('test', 'rules', 'alerts_test.yaml'),
                    ('check', 'config', 'prometheus.yaml')):
        done = tool(bench, 'promtool', *command[:2], os.path.join(MONITORING, command[2]))
        equal(done.returncode, 0, '%s: %s%s' % (' '.join(command), done.stdout.decode(),
                                                done.stderr.decode()))


def _query(port, expression):
    with urllib.request.urlopen('http://127.0.0.1:%d/api/v1/query?%s' % (
            port, urllib.parse.urlencode({'query': expression})), timeout=5) as answer:
        return [float(one['value'][1]) for one in json.load(answer)['data']['result']]


def a_real_prometheus_scrapes_it(bench):
    """its own configuration with this daemon as the target: up, a counter, every dashboard query"""
    daemon, server = served(bench), bench.server(echo)
    equal(daemon.agent(AGENT, server.port, '{"t": "a"}').returncode, 0, 'the agent')
    with open(os.path.join(MONITORING, 'prometheus.yaml'), encoding='utf-8') as file:
        config = file.read().replace('127.0.0.1:9469', '127.0.0.1:%d' % daemon.web)
    config = config.replace('15s', '1s').replace('[alerts.yaml]',
                                                 '["%s/alerts.yaml"]' % MONITORING)
    port = bench.free_port()
    try:
        prometheus = bench.spawn(
            ['prometheus', '--config.file=' + bench.file('prometheus.yaml', config),
             '--web.listen-address=127.0.0.1:%d' % port, '--storage.tsdb.retention.time=1h',
             '--storage.tsdb.path=' + os.path.join(bench.folder, 'tsdb')],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except FileNotFoundError:
        raise Skip('prometheus is not installed') from None

    def answers(expression):
        try:
            return _query(port, expression)
        except OSError:
            check(prometheus.poll() is None, 'prometheus ended: %s', prometheus.poll())
            return []
    wait_for(lambda: answers('up{job="sluice"} == 1'), 20, 'prometheus has scraped it')
    counted = samples(scrape(daemon))
    equal(_query(port, 'sum(sluice_received_bytes_total)'),
          [value(counted, 'sluice_received_bytes_total')], 'bytes, as Prometheus has them')
    equal(_query(port, 'sluice_streams_ended_total{end="complete"}'), [1], 'streams')
    equal(_query(port, 'count(sluice_build_info{version!="",instance="127.0.0.1:%d"})' %
                 daemon.web), [1], 'build')
    with open(os.path.join(MONITORING, 'dashboard.json'), encoding='utf-8') as file:
        panels = json.load(file)['panels']
    for panel in panels:
        for target in panel.get('targets', ()):
            expression = (target['expr'].replace('$__rate_interval', '1m')
                          .replace('$job', '.*').replace('$instance', '.*'))
            _query(port, expression)  # HTTP 400 where it cannot be read
    prometheus.terminate()
    equal(prometheus.wait(10), 0, 'its exit status')


if __name__ == '__main__':
    main([
        both_forms_are_what_their_tools_read, the_form_is_negotiated, counts_are_of_what_was_done,
        what_is_held_shows_while_it_is, interceptors_are_counted_by_task,
        a_scrape_has_the_same_size_with_many_streams, a_watched_cgroup_cannot_ask,
        only_get_and_head_of_known_hosts, what_is_too_large_is_refused, requests_may_come_at_once,
        clients_that_stay_are_ended, few_are_served_at_once, addresses_on_the_command_line,
        a_private_daemon_has_no_listener, documents_name_what_there_is, alerts_fire_as_they_should,
        a_real_prometheus_scrapes_it,
    ])
