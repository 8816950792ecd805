#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sluicectl: every subcommand with wrong arguments, without a daemon, and with --json."""
import json
import os

import peers
from sluice_test import POLICY, SLUICECTL, SLUICED, line, main
from waiting import check, equal, wait_for

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
    check('exposure_bound_runes' in status['policies'][0], 'no exposure bound')


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
    done = bench.run([SLUICED, '--check'])
    equal(done.returncode, 0, 'exit status of sluiced --check; %r' % done.stderr)
    json.loads(done.stdout)


if __name__ == '__main__':
    main([help_and_version, wrong_usage, without_a_daemon, queries_in_json, policy_check, replay,
          framing_auto, doctor])
