#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sluicectl: every subcommand with wrong arguments, without a daemon, and with --json."""
import json
import os

import peers
from sluice_test import POLICY, ROOT, SLUICECTL, SLUICED, line, main
from waiting import check, equal, wait_for

# Two tasks that enforce, one of each track, one on trial, and one of the output.
MIXED = """\
version: 1
name: mixed
framing: ndjson
extract: "path:t"
request: {tasks: [nine]}
response: {tasks: [five, trial]}
output: {tasks: [after]}
tasks:
  nine: {kind: terms, terms: ["forbidden"]}
  five: {kind: terms, terms: ["abcde"]}
  trial: {kind: terms, terms: ["hush"], warn_only: true}
  after: {kind: terms, terms: ["late"]}
"""

QUERIES = ['status', 'streams', 'doctor']
COMMANDS = ['run', 'watch', 'unwatch', 'status', 'streams', 'stream', 'deny', 'policy', 'replay',
            'doctor']


def help_and_version(bench):
    """--help and --version of both programs, and of every subcommand"""
    for command in ([SLUICED], [SLUICECTL]):
        done = bench.run(command + ['--version'])
        equal(done.returncode, 0, 'exit status of --version')
        check(done.stdout.strip() and not done.stderr, '--version said %r', done.stdout)
        done = bench.run(command + ['--help'])
        equal(done.returncode, 0, 'exit status of --help')
        check(b'--socket' in done.stdout, '--help said %r', done.stdout)
    said = bench.run([SLUICECTL, '--help']).stdout.decode()
    for name in COMMANDS:
        check(name in said, '--help does not name %s', name)
        done = bench.run([SLUICECTL, name, '--help'])
        equal((done.returncode, done.stderr), (0, b''), '%s --help' % name)
        check(done.stdout.strip(), '%s --help said nothing', name)


def wrong_usage(bench):
    """wrong arguments: exit status 2 and something said"""
    for words in ([], ['nonsense'], ['--nonsense'], ['status', 'stray'], ['status', '--nonsense'],
                  ['watch'], ['watch', 'a', 'b'], ['unwatch'], ['stream'], ['stream', 'x'],
                  ['stream', '1', '2'], ['deny'], ['deny', '-1'], ['deny', 'x'], ['policy'],
                  ['policy', 'nonsense'], ['policy', 'check'], ['replay'], ['--socket'],
                  ['streams', '--json=x']):
        done = bench.run([SLUICECTL, *words])
        equal(done.returncode, 2, 'exit status of %r; it said %r' % (words, done.stderr))
        check(done.stderr.strip(), '%r: nothing was said', words)
        equal(done.stdout, b'', 'standard output of %r' % words)
    for words in (['run'], ['run', '--'], ['run', '--nonsense', '--', '/bin/true'],
                  ['run', '--policy']):
        done = bench.run([SLUICECTL, *words])
        check(done.returncode in (2, 125), 'exit status %d of %r', done.returncode, words)
        check(done.stderr.strip(), '%r: nothing was said', words)


def without_a_daemon(bench):
    """where no daemon answers: status 1 and one line that names the socket"""
    path = os.path.join(bench.folder, 'none.sock')
    for words in (['status'], ['streams'], ['stream', '1'], ['deny', '1'], ['watch', '/x'],
                  ['unwatch', '/x'], ['status', '--json']):
        done = bench.run([SLUICECTL, '--socket', path, *words])
        equal(done.returncode, 1, 'exit status of %r; it said %r' % (words, done.stderr))
        rows = done.stderr.decode().strip().splitlines()
        equal(len(rows), 1, 'lines of %r: %r' % (words, rows))
        check(path in rows[0], '%r does not name the socket', rows[0])


def queries_in_json(bench):
    """--json gives one JSON document; without it, text"""
    server = bench.server(peers.echo)
    daemon = bench.daemon()
    agent = daemon.start_agent('import socket, sys\n'
                               's = socket.create_connection(("127.0.0.1", int(sys.argv[1])))\n'
                               's.sendall(b\'{"t": "x"}\\n{"t":"half\')\n'
                               'sys.stdin.read()\n', server.port)
    connection = server.connection()
    wait_for(lambda: bytes(connection.data) == line('x'), 5, 'the line')
    for name in QUERIES:
        done = daemon.ctl(name, '--json')
        equal(done.returncode, 0, 'exit status of %s --json; %r' % (name, done.stderr))
        json.loads(done.stdout)
        done = daemon.ctl(name)
        equal(done.returncode, 0, 'exit status of %s; %r' % (name, done.stderr))
        check(done.stdout.strip(), '%s said nothing', name)
    listed = json.loads(daemon.ctl('streams', '--json').stdout)
    stream = (listed['streams'] if isinstance(listed, dict) else listed)[0]
    equal(stream['peer'], '127.0.0.1:%d' % server.port, 'the peer')
    equal(stream['request']['sent'], len(line('x')), 'bytes sent')
    one = json.loads(daemon.ctl('stream', str(stream['id']), '--json').stdout)
    equal(one['id'], stream['id'], 'the id')
    check(daemon.ctl('stream', str(stream['id'])).stdout.strip(), 'stream said nothing')
    agent.communicate(timeout=10)
    status = json.loads(daemon.ctl('status', '--json').stdout)
    equal(status['self_test'], 'held', 'the self-test')
    equal(status['buffered_output'], False, 'buffered_output')
    policy = status['policies'][0]
    equal((policy['mode'], policy['safety_level'], policy['exposure_bound_runes'],
           policy['output_tasks'], policy['tasks'][0]['warn_only']),
          ('enforce', 'blocking', {'request': 0, 'response': 0}, [], False), 'the policy')
    equal(status['watches'][0]['enforcing'] if status['watches'] else True, True, 'the watch')


def status_says_the_level(bench):
    """status: mode, level, exposure bound, tasks of the output, and which watch enforces nothing"""
    daemon = bench.daemon(MIXED.replace('framing:', 'safety_level: deferred\nframing:'))
    observing = bench.file('observe.yaml', MIXED.replace('mixed', 'looking')
                           .replace('framing:', 'mode: observe\nframing:'))
    for options in ((), ('--policy', observing)):
        done = daemon.ctl('watch', *options, bench.cgroup())
        equal(done.returncode, 0, 'exit status of watch; %r' % done.stderr)
    said = daemon.ctl('status').stdout.decode()
    for words in ('mixed (default), mode enforce, safety_level deferred; exposure bound in runes, '
                  'request 8, response 4\n',
                  'looking, mode observe, safety_level blocking; exposure bound in runes, '
                  'request unbounded, response unbounded\n',
                  'trial (terms): 1 term, longest 4 runes, warn only\n',
                  'output      after\n', 'policy mixed\n', 'policy looking, enforces nothing\n',
                  'buffered      no\n'):
        check(words in said, 'no %r in %s', words, said)
    equal([(policy['name'], policy['default']) for policy in daemon.status()['policies']],
          [('mixed', True), ('looking', False)], 'policies and which is the default')


def policy_levels(bench):
    """policy check: mode, level, tasks, exposure bound, output and audit, as text and as JSON"""
    def view(text):
        done = bench.run([SLUICECTL, 'policy', 'check', '--json', bench.file('level.yaml', text)])
        equal(done.returncode, 0, 'exit status; %r' % done.stderr)
        said = bench.run([SLUICECTL, 'policy', 'check', bench.file('level.yaml', text)])
        return json.loads(done.stdout), said.stdout.decode()

    for level, request, response in (('blocking', 0, 0), ('complete', 0, 0), ('deferred', 8, 4)):
        found, said = view(MIXED + 'safety_level: %s\n' % level)
        equal((found['mode'], found['safety_level'], found['buffered_output']),
              ('enforce', level, False), 'the words')
        equal(found['exposure_bound_runes'], {'request': request, 'response': response}, 'bounds')
        equal(found['output_tasks'], ['after'], 'tasks of the output')
        equal(list(found['hold_back_runes'].values()), [0, 0] if level == 'deferred' else [8, 4],
              'hold-back')
        equal({row['name']: (row['tracks'], row['warn_only'], row['enforcing'])
               for row in found['tasks']},
              {'nine': (['request'], False, True), 'five': (['response'], False, True),
               'trial': (['response'], True, False), 'after': (['output'], False, True)}, 'tasks')
        equal(found['audit'], {'watermarks': False, 'on_full': 'close',
                               'quota_bytes_per_hour': 67108864}, 'audit')
        check('exposure bound: the request track %d runes, the response track %d runes; buffered '
              'output: no\n' % (request, response) in said, 'it said %s', said)
        check('on response, warn only\n' in said, 'it said %s', said)
        equal(any('deferred' in note for note in found['notes']), level == 'deferred', 'a note')
    found, said = view(MIXED + 'mode: observe\naudit: {watermarks: true, on_full: drop, '
                       'quota_bytes_per_hour: 1048576}\n')
    equal((found['mode'], found['exposure_bound_runes'], found['output_tasks']),
          ('observe', {'request': None, 'response': None}, []), 'what observes')
    equal([row['enforcing'] for row in found['tasks']], [False] * 4, 'what enforces')
    check(said.startswith('policy mixed: observe (its tasks enforce nothing), blocking, '),
          'it said %s', said)
    check('the request track unbounded, the response track unbounded;' in said, 'it said %s', said)
    equal(sum('goes on unjudged' in note for note in found['notes']), 1, 'a note on faults')
    check('audit: watermarks=true on_full=drop quota_bytes_per_hour=1048576\n' in said,
          'it said %s', said)
    found, said = view('version: 1\nframing: sse\nextract: openai_chat\nstrict: true\n')
    equal(found['destinations'][-1]['extract'], 'openai_chat strict', 'the extractor')


def example_policies(bench):
    """every policy under examples loads, and the two that tell of levels do what they say"""
    folders = [os.path.join(ROOT, 'examples', name) for name in ('policies', 'demo')]
    paths = [os.path.join(folder, name) for folder in folders for name in os.listdir(folder)
             if name.endswith('.yaml')]
    check(len(paths) > 4, 'only %s', paths)
    for path in paths:
        done = bench.run([SLUICECTL, 'policy', 'check', path])
        equal((done.returncode, done.stderr), (0, b''), 'policy check ' + path)
    answer = b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n' + b''.join(
        b'data: {"choices": [{"index": 0, "delta": {"content": "%s"}}]}\n\n' % text
        for text in (b'fine', b' Lark', b'spur')) + b'data: [DONE]\n\n'
    for name, data, status, released in (
            ('complete', answer, 3, 0), ('complete', answer.replace(b'Lark', b'bark'), 0, None),
            ('complete', answer.replace(b'Lark', b'delphinium'), 0, None),
            ('complete', answer.replace(b'data: [DONE]\n\n', b''), 1, 0),
            ('complete', answer.replace(b'"index": 0', b'"index": 1'), 1, 0),
            ('observe', answer, 0, None)):
        done = bench.run([SLUICECTL, 'replay', '--json', '--track', 'response', '--destination',
                          '127.0.0.1:80', '--policy', os.path.join(folders[0], name + '.yaml'),
                          *(('--framing', 'http1') if name == 'observe' else ()), '-'], stdin=data)
        equal(done.returncode, status, '%s: exit status; %r' % (name, done.stdout))
        equal(json.loads(done.stdout)['released'], len(data) if released is None else released,
              '%s: bytes released' % name)


def policy_check(bench):
    """policy check of a good file and a bad one, without a daemon and without root"""
    good = bench.file('good.yaml', POLICY)
    bad = bench.file('bad.yaml', POLICY + 'what: 1\n')
    equal(bench.run([SLUICECTL, 'policy', 'check', good]).returncode, 0, 'exit status')
    done = bench.run([SLUICECTL, 'policy', 'check', bad])
    equal(done.returncode, 1, 'exit status of a bad one')
    check(('%s:%d:1' % (bad, POLICY.count('\n') + 1)).encode() in done.stderr, 'it said %r',
          done.stderr)
    equal(bench.run([SLUICECTL, 'policy', 'check', '/nonexistent']).returncode, 1, 'no file')


def replay(bench):
    """replay of a clean and a refused capture: what would be released, 0 and 3"""
    policy = bench.file('policy.yaml', POLICY)
    clean = bench.file('clean.ndjson', (line('a') + line('b')).decode())
    refused = bench.file('refused.ndjson', (line('a') + line('forbidden') + line('b')).decode())
    broken = bench.file('broken.ndjson', (line('a')).decode() + '{"t"')
    done = bench.run([SLUICECTL, 'replay', '--policy', policy, clean])
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    done = bench.run([SLUICECTL, 'replay', '--policy', policy, refused])
    equal(done.returncode, 3, 'exit status of a refused one; %r' % done.stderr)
    said = done.stdout + done.stderr
    check(b'words' in said, 'it does not name the task: %r', said)
    done = bench.run([SLUICECTL, 'replay', '--policy', policy, broken])
    equal(done.returncode, 1, 'exit status of a truncated one; %r' % done.stderr)
    check(b'truncated' in done.stdout + done.stderr, 'it said %r', done.stdout)
    done = bench.run([SLUICECTL, 'replay', '--json', '--policy', policy, refused])
    denied = bench.run([SLUICECTL, 'replay', '--policy', policy, '--destination',
                        '169.254.169.254:80', clean])
    equal(denied.returncode, 3, 'exit status for a denied destination')
    check(b'policy_denied' in denied.stdout, 'it said %r', denied.stdout)
    stray = bench.run([SLUICECTL, 'replay', '--policy', policy, '--destination', 'foo:1', clean])
    equal((stray.returncode, stray.stdout), (2, b''), 'a destination that is none')
    document = json.loads(done.stdout)
    check(str(len(line('a'))) in json.dumps(document), 'no released offset in %r', document)


def replayed(bench, policy, track, data, status):
    """What replay says as JSON and as text."""
    words = [SLUICECTL, 'replay', '--policy', bench.file('replayed.yaml', policy), '--track', track]
    done = bench.run([*words, '--json', '-'], stdin=data)
    equal(done.returncode, status, 'exit status for %r; %r' % (data, done.stdout + done.stderr))
    said = bench.run([*words, '-'], stdin=data)
    equal(said.returncode, status, 'exit status without --json')
    for text in (b'forbidden', b'abcde', b'hush', b'late'):
        check(text not in done.stdout + said.stdout, 'it says %r', text)
    return json.loads(done.stdout), said.stdout.decode()


def replay_of_levels(bench):
    """replay under complete and deferred: what would have left before a term was whole"""
    lines = line('fine') + line('abc') + line('de') + line('more')
    for level, released in (('blocking', line('fine')), ('complete', line('fine')),
                            ('deferred', line('fine') + line('abc'))):
        found, said = replayed(bench, MIXED + 'safety_level: %s\n' % level, 'response', lines, 3)
        equal((found['safety_level'], found['released'], found['fault'], found['session']),
              (level, len(released), 'blocked', 'denied'), 'what is found')
        equal(found['denial'], {'task': 'five', 'kind': 'terms', 'rule': 0, 'start': 6,
                                'end': 12}, 'the denial')
        check('safety_level %s\n' % level in said, 'it said %s', said)


def replay_of_watchers(bench):
    """replay: what watches is found and denies nothing, under observe no session is opened"""
    lines = line('hush') + line('hush again') + line('fine')
    found, said = replayed(bench, MIXED, 'response', lines, 0)
    equal(found['findings'], [{'task': 'trial', 'kind': 'terms', 'rule': 0, 'start': 1, 'end': 5,
                               'enforcing': False}], 'findings')
    equal((found['released'], found['session']), (len(lines), 'complete'), 'what is released')
    check("found        by task 'trial', term 0, at runes 1 to 5, not enforcing\n" in said,
          'it said %s', said)
    lines = line('abcde') + line('too late')
    found, said = replayed(bench, MIXED + 'mode: observe\n', 'response', lines, 0)
    equal([(row['task'], row['enforcing']) for row in found['findings']],
          [('five', False), ('after', False)], 'findings')
    equal((found['mode'], found['released'], found['sessions'], found['session']),
          ('observe', len(lines), 0, None), 'what is released')
    found, said = replayed(bench, MIXED + 'mode: observe\n', 'request', line('forbidden'), 0)
    equal([row['task'] for row in found['findings']], ['nine'], 'findings')
    lines = b'no JSON\n' + line('forbidden')
    found, said = replayed(bench, MIXED + 'mode: observe\n', 'request', lines, 0)
    equal((found['fault'], found['unjudged'], found['released'], found['withheld'],
           found['findings']), ('bad_json', True, len(lines), 0, []), 'what cannot be read')
    check('unjudged     bad_json; what follows goes on as it comes' in said, 'it said %s', said)
    found, said = replayed(bench, MIXED, 'request', lines, 1)
    equal((found['fault'], found['unjudged'], found['released']), ('bad_json', False, 0),
          'the same enforced')


def replay_of_the_output(bench):
    """replay: a task of the output denies when all of the response has left"""
    lines = line('fine') + line('too la') + line('te') + line('more')
    only = MIXED.replace('tasks: [five, trial]', 'tasks: []')
    for policy in (MIXED, only):
        found, said = replayed(bench, policy, 'response', lines, 3)
        equal((found['fault'], found['released'], found['session']),
              ('output_denied', len(lines), 'denied'), 'what is found')
        equal(found['denial'], {'task': 'after', 'kind': 'terms', 'rule': 0, 'start': 10,
                                'end': 15}, 'the denial')
        equal(found['findings'][0]['enforcing'], True, 'the finding')
        for label, rest in (('found ', ', of the output'), ('denied', '')):
            check("%s       by task 'after', term 0, at runes 10 to 15%s\n" % (label, rest) in said,
                  'it said %s', said)
        found, said = replayed(bench, policy, 'response', line('fine'), 0)
        equal((found['session'], found['findings']), ('complete', []), 'a clean one')
    found, said = replayed(bench, MIXED, 'request', line('too late'), 0)
    equal((found['session'], found['findings']), ('complete', []), 'the request')
    http = b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\n'
    policy = only.replace('ndjson', 'http1').replace('"path:t"', 'auto')
    found, said = replayed(bench, policy, 'response', http + b'fine' + http + b'late', 3)
    equal((found['fault'], found['denial']['task']), ('output_denied', 'after'), 'of HTTP')
    equal(found['sessions'], 2, 'sessions')


def framing_auto(bench):
    """where a policy names no framing: policy check says so, replay tells it or asks for it"""
    policy = bench.file('auto.yaml', POLICY.replace('framing: ndjson\n', ''))
    view = json.loads(bench.run([SLUICECTL, 'policy', 'check', '--json', policy]).stdout)
    equal([row['framing'] for row in view['destinations']], [None, None, 'auto'], 'framings')
    check(any('framing auto tells' in note for note in view['notes']), 'notes: %s', view['notes'])
    named = bench.run([SLUICECTL, 'policy', 'check', bench.file('named.yaml', POLICY)])
    check(b'framing auto' not in named.stdout, 'a note without need: %r', named.stdout)
    lines = line('a') + line('b')
    captured = [
        (b'GET / HTTP/1.1\r\nHost: x\r\n\r\n', (), 'http1', 0),
        (b'Content-Length: 9\r\n\r\n{"t":"x"}', (), 'jsonrpc_cl', 0),
        (lines, (), 'ndjson', 0),
        (lines + line('forbidden'), (), 'ndjson', 3),
        (b'HTTP/1.1 204 No Content\r\n\r\n', ('response', 'http1'), 'http1', 0),
        (b'Content-Length: 9\r\n\r\n{"t":"x"}', ('response', 'jsonrpc_cl'), 'jsonrpc_cl', 0),
        (lines, ('response', 'ndjson'), 'ndjson', 0),
        (lines + b'{', ('response', 'ndjson'), 'ndjson', 1),
        (b'EHLO x\r\n', (), 'auto', 1),
        (b'GE', (), 'auto', 1),
    ]
    for data, options, framing, status in captured:
        words = ['--track', options[0], '--framing', options[1]] if options else []
        done = bench.run([SLUICECTL, 'replay', '--json', '--policy', policy, *words, '-'],
                         stdin=data)
        equal(done.returncode, status, 'exit status for %r; %r' % (data, done.stderr))
        said = json.loads(done.stdout)
        equal(said['framing'], framing, 'the framing of %r' % data)
        equal(said['released'] == len(data), status == 0, 'whether all is released: %s' % said)
    said = bench.run([SLUICECTL, 'replay', '--policy', policy, '-'], stdin=b'EHLO x').stdout.decode()
    check('no capture of packets' in said and '|%s|' % ('.' * 60) in said, 'it said %s', said)
    for words in (['--track', 'response'], ['--framing', 'http1'],
                  ['--track', 'response', '--framing', 'sse']):
        done = bench.run([SLUICECTL, 'replay', '--policy', policy, *words, '-'])
        equal((done.returncode, done.stdout), (2, b''), 'replay with %s' % words)
        check(b'--framing' in done.stderr, 'it said %r', done.stderr)


def doctor(bench):
    """doctor without a daemon: one row per kernel feature, status 0 on a supported kernel"""
    path = os.path.join(bench.folder, 'none.sock')
    done = bench.run([SLUICECTL, '--socket', path, 'doctor', '--json'])
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    check('cgroup/connect4' in done.stdout.decode(), 'it said %r', done.stdout)
    json.loads(done.stdout)
    said = bench.run([SLUICECTL, '--socket', path, 'doctor']).stdout.decode()
    last = said.splitlines()[-1]
    check(last.startswith('all that is required is there; ') and
          last.endswith('warnings' if 'warning: ' not in said else 'warning' +
                        's' * (said.count('warning: ') > 1)), 'the last line is %r', last)
    done = bench.run([SLUICED, '--check'])
    equal(done.returncode, 0, 'exit status of sluiced --check; %r' % done.stderr)
    json.loads(done.stdout)


if __name__ == '__main__':
    main([help_and_version, wrong_usage, without_a_daemon, queries_in_json, status_says_the_level,
          policy_check, policy_levels, example_policies, replay, replay_of_levels,
          replay_of_watchers, replay_of_the_output, framing_auto, doctor])
