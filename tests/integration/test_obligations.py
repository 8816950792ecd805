#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The host's obligations: for each, the tests that fail when its mechanism is taken out.
Those that no other file has are here."""
import gzip
import json
import os
import re

from http_bench import request
from observers import check_clean, take
from peers import reset
from scenes import POLICY as OF_A_SCENE
from scenes import MARKER, WIDE, Case, Scene, request_cases, response_cases
from sluice_test import POLICY, ROOT, TERM, line, main
from test_death import trail
from waiting import check, equal, wait_for

TESTS = {
    'coverage': ['unit/test_coverage.c a_window_that_is_too_small_is_refused',
                 'unit/test_coverage.c nothing_falls_between_windows'],
    'exact hold-back': ['integration/test_levels.py blocking_moves',
                        'integration/test_levels.py blocking_withholds'],
    'verdict before durability': ['unit/test_session_retry.c what_is_kept_was_cleared_and_has_left',
                                  'integration/test_obligations.py nothing_durable_has_text'],
    'observers are callers': ['integration/test_observers.py withheld_requests',
                              'integration/test_observers.py withheld_responses',
                              'integration/test_observers.py every_outlet_has_a_row',
                              'integration/test_observers.py no_core_is_left',
                              'integration/test_observers.py memory_is_not_readable',
                              'integration/test_observers.py memory_is_locked'],
    'retry boundary': ['unit/test_pipeline_resume.c a_term_over_many_short_attempts',
                       'integration/test_resume.py file_broken_off',
                       'integration/test_resume.py no_tail',
                       'integration/test_resume.py event_source'],
    'released text identity': ['integration/test_obligations.py released_as_it_came',
                               'integration/test_clean.py bulk_is_identical'],
    'settlement': ['integration/test_obligations.py each_session_settles_once',
                   'integration/test_death.py at_any_moment'],
    'after the fact': ['unit/test_session_output.c finish_waits_for_every_output_task',
                       'integration/test_levels.py output_denies',
                       'integration/test_levels.py deferred_cuts'],
    'enforcement only': ['integration/test_levels.py observe',
                         'integration/test_levels.py warn_only'],
    'declaration': ['integration/test_obligations.py status_declares'],
}

LIMITED = POLICY + 'limits: {hold_timeout_s: 2, incomplete_message_timeout_s: 2}\n'

# Reads commands from standard input, one a line, and answers each on one line.
AGENT = '''
import socket, struct, sys
streams = {}
for row in sys.stdin:
    word, key, *args = row.split()
    said = "done"
    try:
        if word == "connect":
            streams[key] = socket.create_connection(("127.0.0.1", int(args[0])))
        elif word == "send":
            streams[key].sendall(bytes.fromhex(args[0]))
        elif word == "shut":
            streams[key].shutdown(socket.SHUT_WR)
        elif word == "reset":
            streams[key].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            streams[key].close()
    except OSError as error:
        said = type(error).__name__
    print(said, flush=True)
'''


def each_obligation_has_its_tests(_bench):
    """every test that the table names is there, and is run"""
    for obligation, tests in TESTS.items():
        check(tests, 'none for %s', obligation)
        for name in tests:
            path, test = name.split()
            with open(os.path.join(ROOT, 'tests', path), encoding='utf-8') as file:
                source = file.read()
            # Where it is defined, and where it is listed.
            uses = re.findall(r'\b%s\b' % test, source.replace(name, ''))
            check(len(uses) >= 2, 'there is no %s', name)


def nothing_durable_has_text(bench):
    """at every level no text is in any file of the daemon, what has left no more than the rest"""
    clean = [Case('released', [json.dumps({'t': WIDE}).encode() + b'\n'], ends=None),
             Case('a clean head', [request(fields=['X-Note: ' + MARKER])], ends=None)]
    for level in ('blocking', 'complete', 'deferred'):
        cases = [case for case in request_cases() + response_cases() if case.ends]
        scene = Scene(bench, cases + clean, 'safety_level: %s\n' % level + OF_A_SCENE)
        scene.begin()
        wait_for(lambda scene=scene: MARKER.encode() in scene.peers(), 10, 'the clean text')
        files = ['the log', 'the audit trail', 'state files']
        check_clean(take(scene, files), level)
        scene.end()
        scene.daemon.stop()
        check_clean(take(scene, files), level + ', after the daemon')


def released_as_it_came(bench):
    """escapes, spaces, order, coding and chunks of what is cleared arrive as they were sent"""
    odd = b'{ "b":"\\u0066orb\\/\\u00e9",\t"a" : 1.50e+00 , "b2":"\xc3\xa9"}'
    coded = gzip.compress(odd)
    chunks = b''.join(b'%X;x=y\r\n%s\r\n' % (len(piece), piece)
                      for piece in (odd[:7], odd[7:8], odd[8:])) + b'0\r\nX-End:  t \r\n\r\n'
    kind = ['Content-Type: application/json']
    cases = [
        Case('spaces', [odd + b'\n'], ends=None),
        Case('gzip', [request(body=coded, fields=[*kind, 'Content-Encoding: gzip'])], ends=None),
        Case('chunks', [request('/a%2Fb?c=%66', body=chunks, fields=[
            *kind, 'Transfer-Encoding: chunked', 'x-nOTE:  two  spaces ']).replace(
                b'Host: test', b'hOST:test')], ends=None),
    ]
    scene = Scene(bench, cases).begin()
    for case, server in zip(cases, scene.servers):
        sent = b''.join(case.sends)
        wait_for(lambda server=server, sent=sent: len(server.connection().data) >= len(sent), 10,
                 'all of ' + case.name)
        equal(bytes(server.connection().data), sent, case.name)
    scene.end()


class Ends:
    """Streams that end in each way there is."""

    def __init__(self, bench):
        self.daemon = bench.daemon(LIMITED)
        self.server = bench.server(self.serve)
        cgroup = bench.cgroup()
        equal(self.daemon.ctl('watch', cgroup).returncode, 0, 'exit status of watch')
        self.agent = bench.in_cgroup(cgroup, AGENT)
        self.keys = 0

    @staticmethod
    def serve(connection):
        while piece := connection.sock.recv(65536):
            if b'reset' in piece:
                reset(connection.sock)
                return
            connection.sock.sendall(piece)

    def tell(self, *words):
        self.agent.stdin.write((' '.join(map(str, words)) + '\n').encode())
        self.agent.stdin.flush()
        equal(self.agent.stdout.readline(), b'done\n', words[0])

    def stream(self, data):
        """A new stream that sends this."""
        self.keys += 1
        self.tell('connect', self.keys, self.server.port)
        self.tell('send', self.keys, data.hex())

    def open(self):
        return [row for row in self.daemon.call('streams')['streams'] if not row['ended']]

    def none_open(self):
        wait_for(lambda: not self.open(), 10, 'the end of all streams')

    def held(self):
        wait_for(lambda: self.open() and all(row['request']['held'] for row in self.open()), 5,
                 'a hold')


def each_session_settles_once(bench):
    """however it ends, each session that was opened is settled once, with its reason"""
    ends, half = Ends(bench), line('half')[:-4]
    for data, then in ((line('clean'), 'shut'), (line(TERM), None), (line('reset'), None),
                       (half, 'shut'), (half, 'reset'), (half, 'denied'),
                       (half, None), (line('so forb'), None)):  # both time out
        ends.stream(data)
        if then == 'denied':
            ends.held()
            ends.daemon.call('deny', id=ends.open()[0]['id'])
        elif then:
            ends.tell(then, ends.keys)
        ends.none_open()
    ends.stream(half)
    ends.held()
    ends.daemon.stop()
    ends.daemon.start()
    ends.stream(half)
    ends.held()
    ends.daemon.kill()
    ends.daemon.start()
    ends.daemon.stop()
    rows = trail(ends.daemon)
    opened = [(row['stream'], row['session']) for row in rows if row['event'] == 'session_opened']
    settled = [(row['stream'], row['session']) for row in rows if row['event'] == 'session_settled']
    equal(len(opened), ends.keys, 'sessions opened')
    equal(sorted(settled), sorted(opened), 'sessions settled')
    equal([row['reason'] for row in rows if row['event'] == 'stream_settled'],
          ['complete', 'denied:words', 'peer_reset', 'truncated', 'client_reset', 'operator',
           'stale', 'hold_timeout', 'shutdown', 'host_died'], 'how the streams ended')
    equal([row['error'] or row['end'] for row in rows if row['event'] == 'session_settled'],
          ['complete', 'denied', 'disconnected', 'framing_fault', 'disconnected', 'operator',
           'framing_fault', 'hold_timeout', 'disconnected', 'host_died'],
          'how the sessions ended')
    for row in rows:
        if row['event'] == 'session_settled' and row['error'] not in (None, 'operator'):
            equal(row['reason'], 'host_error:streaming_unsupported', 'the reason')


def status_declares(bench):
    """status: buffered_output is false; the exposure bound of each policy and track"""
    text = """\
version: 1
name: %s
%s
request: {tasks: [nine]}
response: {tasks: [five, trial]}
tasks:
  nine: {kind: terms, terms: ["forbidden", "no"]}
  five: {kind: terms, terms: ["abcde"]}
  trial: {kind: terms, terms: ["what is only watched"], warn_only: true}
"""
    wanted = {'blocking': ('safety_level: blocking', 0, 0),
              'complete': ('safety_level: complete', 0, 0),
              'deferred': ('safety_level: deferred', 8, 4),
              'observe': ('mode: observe', None, None)}
    daemon = bench.daemon(POLICY)
    for name, (key, _, _) in wanted.items():
        done = daemon.ctl('watch', '--policy', bench.file(name, text % (name, key)),
                          bench.cgroup(name))
        equal(done.returncode, 0, 'exit status of watch; %r' % done.stderr)
    status = json.loads(daemon.ctl('status', '--json').stdout)
    equal(status['buffered_output'], False, 'buffered_output')
    bounds = {row['name']: row['exposure_bound_runes'] for row in status['policies']}
    equal({name: bounds.get(name) for name in wanted},
          {name: {'request': request_bound, 'response': response_bound}
           for name, (_, request_bound, response_bound) in wanted.items()}, 'bounds')


if __name__ == '__main__':
    main([each_obligation_has_its_tests, nothing_durable_has_text, released_as_it_came,
          each_session_settles_once, status_declares])
