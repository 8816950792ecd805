#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Interceptors that enforce nothing, those of the output, and what runs beside them: what has
arrived at each step, what waits for whom, and what the trail says of it."""
import hashlib
import json
import os

from interceptors import EVIDENCE, FORBIDDEN
from sluice_test import main
from test_interceptors import ECHO, POLICY, Served, WORDS, curl, echo, reasons_of, requests_of, \
    serve_text
from test_levels import DONE, HEAD, Steps, chunk, event
from test_metrics import samples, scrape, served, value
from test_resume import set_up as set_up_resume
from test_resume import curl as fetch
from test_websocket_hostile import AGREED, UPGRADE, frame
from waiting import check, equal, wait_for

REQUESTS = POLICY.replace('response:', 'request:')
OUTPUT = """\
version: 1
name: after
request: {tasks: [keys]}
output: {tasks: [judge]}
tasks:
  keys: {kind: terms, terms: ["sk-live"]}
  judge: {kind: interceptor, url: "%s", timeout_ms: 5000}
"""
BESIDE = """\
version: 1
name: beside
response: {tasks: [words, numbers, slow, sentences]}
tasks:
  words: {kind: terms, terms: ["forbidden"]}
  numbers: {kind: regex, patterns: ["[0-9]{6}"]}
  slow: {kind: interceptor, url: "%s", timeout_ms: 9000, cadence: unit}
  sentences: {kind: interceptor, url: "%s", timeout_ms: 9000, cadence: sentence}
"""
ONE, TWO, BAD = event('once upon'), event(' a time'), event(' ' + FORBIDDEN)
END = b'0\r\n\r\n'


def rows_of(daemon, kind='outcome'):
    """The trail's records of a kind, of a daemon that is stopped for that."""
    daemon.stop()
    name = os.path.join(daemon.audit, sorted(os.listdir(daemon.audit))[0])
    with open(name, encoding='utf-8') as trail:
        text = trail.read()
    check(FORBIDDEN not in text, 'the text is in the trail: %s', text)
    return [row for row in map(json.loads, text.splitlines()) if row['event'] == kind]


def watching(policy):
    """The same task, which enforces nothing, beside one that does."""
    return policy.replace('response:', 'request: {tasks: [keys]}\nresponse:').replace(
        'span_runes', 'warn_only: true, span_runes') + \
        '  keys: {kind: terms, terms: ["sk-live"]}\n'


# Reads all that comes, closes, and stays until it is told to end.
STAY = '''
import os, socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")
got = b""
while piece := s.recv(65536):
    got += piece
s.close()
print(got.hex(), flush=True)
sys.stdin.read()
'''


class Stayer:
    """A client that has all of the answer, and whose run goes on; ended with its bench."""

    def __init__(self, bench, policy, data):
        def serve(connection):
            connection.take(connection.sock.recv(65536))
            connection.sock.sendall(data)
        self.daemon = bench.daemon(WORDS)
        self.agent = self.daemon.start_agent(STAY, bench.server(serve).port, policy=policy)
        self.got = bytes.fromhex(self.agent.stdout.readline().decode())

    def finding(self):
        return wait_for(lambda: self.daemon.status()['findings'], 10, 'a finding')

    def end(self):
        wait_for(lambda: not self.daemon.status()['streams']['open'], 10, 'the end of the stream')
        status = self.daemon.status()
        self.agent.stdin.close()
        self.agent.wait(10)
        return status


def warned_after_all_has_left(bench):
    """warn_only: everything arrives before a verdict; the finding comes, and ends nothing"""
    server, data = Served(bench), HEAD + chunk(ONE) + chunk(BAD) + chunk(DONE) + END
    policy = (watching(POLICY) % (server.url('/gate'), ''))
    client = Stayer(bench, policy, data)
    equal(client.got, data, 'what came')
    equal(client.daemon.status().get('findings', {}), {}, 'findings before the verdict')
    server.gate.set()
    equal(client.finding(), {'judge': 1}, 'findings')
    status = client.end()
    equal((status['sessions']['complete'], status['reasons']), (1, {}), 'how it ended')
    said = client.daemon.read_log()
    check("task 'judge' would deny, not enforcing: reason 'test_word' at" in said, 'log: %s', said)
    equal([(r['task'], r['decision'], r['by'], r['enforcing'], r['reason'], r['rule'])
           for r in rows_of(client.daemon)],
          [('judge', 'denied', 'watcher', False, 'test_word', None)], 'outcomes')


def watchers_that_fail(bench):
    """warn_only and mode observe: no verdict is a finding, and everything arrives"""
    server, data = Served(bench), HEAD + chunk(ONE) + chunk(DONE) + END
    for policy in (watching(POLICY), POLICY.replace('name: asked', 'name: asked\nmode: observe')):
        for path, reason in (('/hang', 'host_error:interceptor_timeout'),
                             ('/close', 'host_error:interceptor_failed'),
                             ('/malformed', 'host_error:verdict_invalid')):
            client = Stayer(bench, policy.replace(': 9000', ': 400') % (server.url(path), ''), data)
            equal(client.got, data, path + ': what came')
            equal(client.finding(), {'judge': 1}, path + ': findings')
            equal(client.end()['reasons'], {}, path + ': reasons')
            equal([(r['decision'], r['enforcing'], r['reason']) for r in rows_of(client.daemon)],
                  [('failed', False, reason)], path + ': outcomes')


def nobody_waits_for_a_watcher(bench):
    """a run that ends while a watcher has verdicts to come: complete, and said to be unjudged"""
    server = Served(bench)
    policy = (watching(POLICY) % (server.url('/gate'), ''))
    client = Stayer(bench, policy, HEAD + chunk(ONE) + chunk(DONE) + END)
    client.agent.stdin.close()
    equal(client.agent.wait(10), 0, 'the status of the run')
    status = client.daemon.status()
    equal((status['findings'], status['reasons'], status['sessions']['complete']),
          ({'judge': 1}, {}, 1), 'how it ended')
    equal([(r['decision'], r['enforcing']) for r in rows_of(client.daemon)],
          [('unjudged', False)], 'outcomes')


def output_is_waited_for(bench):
    """output: all but the end arrives, the whole is asked about once, and the end waits"""
    for bad in (False, True):
        server = Served(bench)
        steps = Steps(bench, OUTPUT % server.url('/gate'))
        text = ONE + (BAD if bad else TWO)
        steps.send(HEAD, chunk(ONE), chunk(BAD if bad else TWO))
        steps.arrives(text)
        equal(server.requests, [], 'what is asked before the end')
        steps.send(chunk(DONE), END)
        wait_for(lambda: len(server.requests) >= 2, 10, 'the questions')
        steps.arrives(text + DONE)
        check(steps.client.poll() is None, 'the client has seen an end')
        texts = [r.text for r in server.requests]
        check('once upon' + (' ' + FORBIDDEN if bad else ' a time') in texts, 'asked: %r', texts)
        for request in server.requests:
            equal(request.context['interception_point'], 'output', 'the point')
            equal(request.context['target'], request.context['output'], 'the target')
        server.gate.set()
        data, said = steps.end()
        if not bad:
            equal(data, text + DONE, 'the answer')
            steps.settled(complete=1)
            continue
        check('curl: (' in said, 'curl takes it for whole: %s, %r', said, data)
        steps.settled('denied:judge', denied=1)
        rows = rows_of(steps.daemon)
        equal([(r['task'], r['by'], r['enforcing'], r['reason']) for r in rows],
              [('judge', 'output', True, 'test_word')], 'outcomes')


def output_without_a_verdict(bench):
    """output: without a verdict the response does not end, and its session fails by that"""
    server = Served(bench)
    policy = (OUTPUT % server.url('/hang')).replace('5000', '300')
    steps = Steps(bench, policy)
    steps.send(HEAD, chunk(ONE), chunk(DONE), END)
    said = steps.end()[1]
    check('curl: (' in said, 'curl takes it for whole: %s', said)
    steps.settled('interceptor_timeout', failed=1)
    rows = rows_of(steps.daemon)
    equal([(r['task'], r['decision'], r['reason']) for r in rows],
          [('judge', 'failed', 'host_error:interceptor_timeout')], 'outcomes')


def complete_asks_once(bench):
    """complete: the text of a message is asked about once, whole"""
    server = Served(bench)
    policy = (POLICY % (server.url('/word'), '')).replace(
        'name: asked', 'name: asked\nsafety_level: complete').replace(': 128', ': 4096')
    steps = Steps(bench, policy)
    steps.send(HEAD, chunk(ONE), chunk(TWO), chunk(DONE))
    steps.stays(b'')
    steps.send(END)
    equal(steps.end()[0], ONE + TWO + DONE, 'the answer')
    texts = [r.text for r in server.requests]
    equal(texts.count('once upon a time'), 1, 'the text among %r' % texts)
    equal(len(texts), 2, 'the questions: %r' % texts)
    steps.settled(complete=1)


def the_end_says_why(bench):
    """the last window of a text has the finish reason that came with it, the others none yet"""
    server = Served(bench)
    steps = Steps(bench, POLICY % (server.url('/word'), ''))
    last = event(' a time').replace(b'"index": 0,', b'"index": 0, "finish_reason": "length",')
    steps.send(HEAD, chunk(ONE), chunk(last), chunk(DONE), END)
    equal(steps.end()[0], ONE + last + DONE, 'the answer')
    reasons = {r.text: r.context['response']['finish_reason'] for r in server.requests}
    equal((reasons['once upon'], reasons['once upon a time']), ('incremental', 'length'),
          'finish reasons among %r' % reasons)


def trail_of_a_verdict(bench):
    """the trail: reason, digest of the evidence, warnings, the task that gave no verdict"""
    server = Served(bench)
    daemon = bench.daemon(WORDS)
    equal(curl(bench, daemon, POLICY % (server.url('/warn'), ''), 'a word'), (b'a word', 200),
          'what was allowed')
    rows = rows_of(daemon)
    check(rows, 'there is no record of the warnings')
    for row in rows:
        equal((row['task'], row['decision'], row['by'], row['enforcing']),
              ('judge', 'cleared', 'task', True), 'a warning')
        equal((row['warnings'], row['warned']), (3, ['tone', 'unnamed', '']), 'warnings')
    daemon = bench.daemon(WORDS)
    equal(curl(bench, daemon, POLICY % (server.url('/evidence'), ''), 'a word')[1], 403, 'status')
    digest = hashlib.sha256(json.dumps(EVIDENCE).encode()).hexdigest()
    rows = rows_of(daemon)
    equal([(r['task'], r['decision'], r['reason'], r['evidence'], r['rule']) for r in rows],
          [('judge', 'denied', 'test_word', digest, None)], 'a denial')
    daemon = bench.daemon(WORDS)
    curl(bench, daemon, POLICY % (server.url('/close'), ''), 'a word')
    rows = rows_of(daemon)
    equal([(r['task'], r['decision'], r['reason'], r['enforcing']) for r in rows],
          [('judge', 'failed', 'host_error:interceptor_failed', True)], 'a failure')


def concurrency_is_of_both_tracks(bench):
    """concurrency is a task's over both tracks, and what waits for it is counted"""
    server = Served(bench)
    policy = (POLICY % (server.url('/gate'), ', concurrency: 1')).replace(
        'response:', 'request: {tasks: [judge]}\nresponse:')
    daemon, upstream = served(bench, policy=WORDS), bench.server(serve_text('a word'))
    for _ in range(3):
        bench.spawn(daemon.run_command(['curl', '-sS', '-m', '30', 'http://127.0.0.1:%d/' %
                                        upstream.port], policy), stdout=-3, stderr=-3)
    counts = wait_for(lambda: (lambda c: c if c and c['waiting'] == 2 else None)(
        requests_of(daemon)), 10, 'what waits: %r' % requests_of(daemon))
    equal(counts['in_flight'], 1, 'questions out at once')
    equal(len(server.requests), 1, 'questions that came')
    server.gate.set()

    def count(name, **labels):
        return value(samples(scrape(daemon)), name, task='judge', **labels)
    # Status forgets them with the policy, which goes with the last run.
    wait_for(lambda: count('sluice_verdicts_total', decision='allow') >= 6, 10, 'the verdicts')
    check(count('sluice_interceptor_waits_total') >= 2, 'few had to wait')


def deferred_upgrade(bench):
    """deferred: a 101 that comes before its request's verdicts is no fault"""
    server = Served(bench)
    policy = (REQUESTS % (server.url('/gate'), '')).replace(
        'name: asked', 'name: asked\nsafety_level: deferred\nextract: raw')
    agreed = AGREED + b'\r\n'
    steps = Steps(bench, policy, UPGRADE)
    wait_for(lambda: server.requests, 10, 'the question')
    steps.send(agreed + frame(b'one'))
    steps.arrives(agreed + frame(b'one'))
    equal(reasons_of(steps.daemon), {}, 'reasons')
    server.gate.set()
    steps.send(frame(b'two'))
    steps.arrives(agreed + frame(b'one') + frame(b'two'))
    steps.end()
    wait_for(lambda: not steps.daemon.status()['streams']['open'], 10, 'the end')
    check('protocol' not in json.dumps(reasons_of(steps.daemon)), 'reasons: %r',
          reasons_of(steps.daemon))


def a_retry_is_shown_what_came(bench):
    """a file that is broken off and goes on: the window has the end of what came before"""
    interceptors = Served(bench)
    upstream, _ = set_up_resume(bench)
    policy = POLICY % (interceptors.url('/word'), '')
    daemon = bench.daemon(policy)
    got, _, _ = fetch(bench, daemon, upstream, '/term')
    before = len(interceptors.requests)
    got, code, _ = fetch(bench, daemon, upstream, '/term', '-C', '-')
    check(code != 0 and FORBIDDEN.encode() not in got, 'exit %d, the file: %r', code, got)
    texts = [(r.text, r.span['before']) for r in interceptors.requests[before:]]
    check(any(FORBIDDEN in text and first > 3 for text, first in texts), 'asked: %r', texts)
    equal(reasons_of(daemon), {'denied:judge': 1}, 'reasons')


def each_at_its_own_pace(bench):
    """terms, a regex and two interceptors of other cadences: what leaves is what all cleared"""
    slow, other = Served(bench), Served(bench)
    steps = Steps(bench, BESIDE % (slow.url('/gate'), other.url('/word')))
    first, second = event('Once upon. '), event('A time. ')
    steps.send(HEAD, chunk(first), chunk(second))
    # The other task is asked, and has answered, while the slow one says nothing.
    wait_for(lambda: (lambda c: c and c['allowed'] >= 2)(requests_of(steps.daemon, 'sentences')),
             10, 'verdicts of the other')
    steps.stays(b'')
    equal(requests_of(steps.daemon, 'slow')['allowed'], 0, 'verdicts of the slow one')
    slow.gate.set()
    # The space behind the second sentence belongs to one that has not ended.
    steps.arrives(first)
    # What a matcher denies does not wait for anybody.
    slow.gate.clear()
    steps.send(chunk(event('123456 ')))
    data, _ = steps.end()
    check(data.startswith(first) and b'123456' not in data, 'what came: %r', data)
    steps.settled('denied:numbers', denied=1)


def another_stream_goes_on(bench):
    """a stream that waits for a slow interceptor delays no other: in the order of events"""
    server = Served(bench)
    policy = (POLICY % (server.url('/gate'), ''))
    steps, echoes = Steps(bench, policy), bench.server(echo)
    steps.send(HEAD, chunk(ONE))
    wait_for(lambda: server.requests, 10, 'the question')
    done = steps.daemon.agent(ECHO, echoes.port, 200, policy=WORDS)
    equal(len(done.stdout.split()), 2, 'what the other stream said: %r' % done.stdout)
    equal(bytes(steps.got), b'', 'what came of the first meanwhile')
    server.gate.set()
    steps.arrives(ONE)
    steps.send(chunk(DONE), END)
    steps.end()


def spans_of_verdicts(bench):
    """a verdict is on the question that it answers: a span that it names is not looked at"""
    daemon, server = bench.daemon(WORDS), Served(bench)
    equal(curl(bench, daemon, POLICY % (server.url('/wrong'), ''), 'a word'), (b'a word', 200),
          'what was allowed')
    equal(curl(bench, daemon, POLICY % (server.url('/wrong'), ''), FORBIDDEN)[1], 403,
          'the status of what is denied')


def deep_answers(bench):
    """an answer that is nested without end is no verdict"""
    daemon, server = bench.daemon(WORDS), Served(bench)
    status = curl(bench, daemon, POLICY % (server.url('/deep'), ''), 'a word')[1]
    check(status not in (0, 200), 'status %d', status)
    equal(reasons_of(daemon), {'verdict_invalid': 1}, 'reasons')


if __name__ == '__main__':
    main([warned_after_all_has_left, watchers_that_fail, nobody_waits_for_a_watcher,
          output_is_waited_for,
          output_without_a_verdict, complete_asks_once, the_end_says_why, trail_of_a_verdict,
          concurrency_is_of_both_tracks, deferred_upgrade, a_retry_is_shown_what_came,
          each_at_its_own_pace, another_stream_goes_on, spans_of_verdicts, deep_answers])
