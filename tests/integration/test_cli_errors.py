#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sluicectl where something is wrong: an old daemon, one that cuts its answers, ids and names
that there are not; each is one line that says what to do. And completion, in a real bash."""
import json
import os
import signal
import socket
import subprocess
import threading
import time

from sluice_test import POLICY, SLUICECTL, SLUICED, cgroup2_mount, main, remove_cgroup
from waiting import check, equal

CONTAINER = '0123456789abcdef' * 4
COMMANDS = (['status'], ['streams'], ['streams', '--json'], ['stream', '1'], ['deny', '1'],
            ['watch', '/x'], ['unwatch', '/x'], ['policy', 'show'], ['policy', 'reload'],
            ['events'], ['audit', 'head'])


class Fake:
    """A server that answers each line with what a function makes of the request."""

    def __init__(self, bench, answer):
        self.path = os.path.join(bench.folder, 'fake.sock')
        self.answer = answer
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.bind(self.path)
        self.sock.listen(8)
        bench.undo.append(self.close)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(client,), daemon=True).start()

    def talk(self, client):
        with client, client.makefile('rb') as lines:
            for row in lines:
                answer = self.answer(json.loads(row))
                client.sendall(answer)
                if not answer.endswith(b'\n'):
                    return

    def close(self):
        os.unlink(self.path)
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


def answered(request, **member):
    return json.dumps({'jsonrpc': '2.0', 'id': request['id'], **member}).encode() + b'\n'


def one_line(bench, path, words, *parts):
    done = bench.run([SLUICECTL, '--socket', path, *words])
    equal((done.returncode, done.stdout), (1, b''), 'exit status and output of %r' % words)
    rows = done.stderr.decode().splitlines()
    equal(len(rows), 1, 'lines of %r: %r' % (words, rows))
    for part in parts:
        check(part in rows[0], '%r: no %r in %r', words, part, rows[0])


def old_daemon(bench):
    """a daemon that does not know the method: its version, and what to do"""
    def answer(request):
        if request['method'] == 'status' and not nothing:
            return answered(request, result={'version': '0.0.7'})
        return answered(request, error={'code': -32601, 'message': 'no method'})
    nothing = []
    fake = Fake(bench, answer)
    for words in COMMANDS[1:]:
        one_line(bench, fake.path, words, 'version 0.0.7', 'restart sluiced')
    nothing.append(True)
    for words in COMMANDS:
        one_line(bench, fake.path, words, 'does not know', fake.path)


def older_members(bench):
    """an answer with fewer members than this version has is shown as far as it goes"""
    fake = Fake(bench, lambda request: answered(
        request, result={'streams': [{'id': 7, 'comm': 'a\x1b[31mb', 'request': {'held': 5}}],
                         'policies': [{'name': 'x', 'text': '# a\x9bb\tc\x1b\nd\n'}], 'id': 7}))
    for words in (['streams'], ['stream', '7'], ['status']):
        done = bench.run([SLUICECTL, '--socket', fake.path, *words])
        equal(done.returncode, 0, 'exit status of %r' % words)
        check(b'\x1b' not in done.stdout, 'an escape of %r', words)
    shown = bench.run([SLUICECTL, '--socket', fake.path, 'policy', 'show']).stdout
    check(shown.endswith(b'\n\n# a??b\tc?\nd\n'), 'the text of a policy: %r', shown)
    equal(json.loads(bench.run([SLUICECTL, '--socket', fake.path, 'streams', '--json']).stdout)
          ['streams'][0]['id'], 7, 'the id')


def cut_answers(bench):
    """an answer that is cut, is no JSON, or is that to another call"""
    for answer, words in ((lambda request: answered(request, result={})[:-9], 'hung up'),
                          (lambda request: b'[1, 2\n', 'cannot be read'),
                          (lambda request: b'{"id": 999, "result": {}}\n', 'cannot be read')):
        fake = Fake(bench, answer)
        for command in COMMANDS:
            one_line(bench, fake.path, command, words, fake.path)
        bench.undo.pop()()


def no_answer(bench):
    """SIGINT ends what waits for an answer, a run that has no command yet too"""
    asked = threading.Semaphore(0)
    fake = Fake(bench, lambda request: asked.release() or time.sleep(60))
    for words in (['status'], ['events'], ['run', '--', 'true'],
                  ['run', '--policy', bench.file('p.yaml', POLICY), '--', 'true']):
        waits = bench.spawn([SLUICECTL, '--socket', fake.path, *words], stderr=subprocess.PIPE)
        check(asked.acquire(timeout=10), 'nothing was asked by %r', words)
        waits.send_signal(signal.SIGINT)
        equal((waits.communicate(timeout=5)[1], waits.returncode), (b'', -signal.SIGINT),
              'the end of %r' % words)


def full_output(bench):
    """what cannot be written is said, and is status 1, whichever program and command it is"""
    event = json.dumps({'jsonrpc': '2.0', 'method': 'event', 'params': {'type': 'watch'}})
    fake = Fake(bench, lambda request: answered(request, result={}) + event.encode() + b'\n')
    policy = bench.file('p.yaml', POLICY)
    for words in ([SLUICECTL, '--help'], [SLUICECTL, '--version'], [SLUICECTL, 'help', 'status'],
                  [SLUICECTL, 'status', '--help'], [SLUICECTL, 'completion', 'bash'],
                  [SLUICECTL, 'policy', 'check', policy], [SLUICECTL, 'doctor', '--json'],
                  *([SLUICECTL, '--socket', fake.path, *words] for words in
                    (['status'], ['status', '--json'], ['streams', '--json'], ['events'])),
                  [SLUICED, '--help'], [SLUICED, '--version'], [SLUICED, '--check']):
        for end in ('>/dev/full', '>&-'):
            done = bench.run(['sh', '-c', 'exec "$@" ' + end, 'sh', *words])
            said = done.stderr.decode().splitlines()
            equal((done.returncode, len(said)), (1, 1), '%r %s: %r' % (words, end, said))
            check('cannot write all of standard output' in said[0], '%r %s: %r', words, end, said)


def unknown_ids(bench):
    """a stream, watch or policy that there is not: a line that says where to look"""
    daemon = bench.daemon()
    for words in (['stream', '99'], ['deny', '99']):
        one_line(bench, daemon.socket, words, 'no stream 99', 'sluicectl streams')
    one_line(bench, daemon.socket, ['unwatch', '99'], '99', 'sluicectl status')
    one_line(bench, daemon.socket, ['unwatch', '/none'], '/none', 'sluicectl status')
    one_line(bench, daemon.socket, ['policy', 'show', 'none'], 'none', 'sluicectl policy show')
    one_line(bench, daemon.socket, ['events', '--types', 'none'], "'none'", *types_completed(bench))
    above = bench.cgroup()
    cgroup = os.path.join(above, 'inner')
    os.mkdir(cgroup)
    bench.cgroups.append(cgroup)
    equal(daemon.ctl('watch', cgroup).returncode, 0, 'watch')
    for path in (cgroup, above):
        one_line(bench, daemon.socket, ['watch', path],
                 "'%s' is watched already, under policy 'test'" % cgroup)
    done = bench.run([SLUICECTL, 'run'])
    check(done.returncode == 125 and b'a command is missing' in done.stderr, 'run: %r', done)
    one_line(bench, daemon.socket, ['watch', '--named', 'none', bench.cgroup()], 'none')


def types_completed(bench):
    """What completes --types."""
    return complete(bench, 'events', '--types', '')


def names_of_the_daemon(bench):
    """--instance, SLUICE_SOCKET and --socket name the daemon, in that order; two of them: wrong"""
    path = os.path.join(bench.folder, 'none.sock')
    known = dict(os.environ, SLUICE_SOCKET=path)
    for words, env, text in ((['--instance', 'nobody-here'], known, '/run/sluice/nobody-here.sock'),
                             ([], known, path),
                             (['--socket', path + '2'], known, path + '2'),
                             ([], dict(os.environ, SLUICE_SOCKET=''), '/run/sluice/main.sock')):
        for command in ([*words, 'streams'], ['streams', *words]):
            done = bench.run([SLUICECTL, *command], env=env)
            check(("'%s'" % text).encode() in done.stderr or not words and not env['SLUICE_SOCKET'],
                  '%r said %r', command, done.stderr)
    for words in (['--socket', path, '--instance', 'a'], ['--instance', ''], ['--instance', 'a/b'],
                  ['--instance', 'a' * 200]):
        for command, status in (('streams', 2), ('run', 125)):
            done = bench.run([SLUICECTL, *words, command, *(['true'] if command == 'run' else [])])
            equal((done.returncode, done.stdout), (status, b''), '%r: %r' % (words, done.stderr))
            equal(len(done.stderr.splitlines()), 1, 'lines of %r' % words)


def wrong_targets(bench):
    """watch and unwatch of no cgroup, of two, of what is no unit and no container"""
    for command in ('watch', 'unwatch'):
        for words in ([], ['/a', '--unit', 'a.service'], ['--unit', 'a.service', '--container',
                                                          '0123'],
                      ['--unit', 'a'], ['--unit', 'a/b.service'], ['--unit', '.service'],
                      ['--container', '012'], ['--container', 'ABCDEF'],
                      ['--container', CONTAINER + '0']):
            done = bench.run([SLUICECTL, command, *words])
            equal(done.returncode, 2, 'exit status of %s %r; %r' % (command, words, done.stderr))
        for words, part in ((['--unit', 'nothing-of-the-kind.service'], b'systemctl status'),
                            (['--container', 'fedcba98'], b'docker ps')):
            done = bench.run([SLUICECTL, command, *words])
            equal(done.returncode, 1, 'exit status of %s %r' % (command, words))
            check(part in done.stderr, '%r said %r', words, done.stderr)
    done = bench.run([SLUICECTL, 'watch', '/a', '--named', 'a', '--policy',
                      bench.file('p.yaml', POLICY)])
    equal(done.returncode, 2, 'exit status of two policies')


def units_and_containers(bench):
    """watch --unit and --container find the cgroup, whoever made it; several are listed"""
    daemon = bench.daemon()
    root = os.path.join(cgroup2_mount(), bench.name)
    paths = [root, root + '/%s.service' % bench.name, root + '/docker-%s.scope' % CONTAINER,
             # What a container names as if it were another is not looked at.
             root + '/docker-%s.scope/docker-%s.scope' % (CONTAINER, 'f' * 64)]
    for path in paths:
        os.mkdir(path)
        bench.undo.append(lambda path=path: remove_cgroup(path))
    for words, path in ((['--unit', bench.name + '.service'], paths[1]),
                        (['--container', CONTAINER[:12]], paths[2])):
        for command in ('watch', 'unwatch'):
            done = daemon.ctl(command, *words)
            equal(done.returncode, 0, '%s %r: %r' % (command, words, done.stderr))
            watched = [watch['path'] for watch in daemon.status()['watches']]
            equal(watched, [path] if command == 'watch' else [], 'watched')
    one_line(bench, daemon.socket, ['watch', '--container', 'ffffffff'], 'docker ps')
    other = root + '/libpod-%s.scope' % (CONTAINER[:32] + 'f' * 32)
    os.mkdir(other)
    bench.undo.append(lambda: remove_cgroup(other))
    one_line(bench, daemon.socket, ['watch', '--container', CONTAINER[:12]], paths[2], other)
    equal(daemon.ctl('watch', '--container', CONTAINER[:33]).returncode, 0, 'one by a longer id')


def complete(bench, *words, socket_path=None):
    """What bash completes the last word to."""
    script = bench.file('completion.bash', bench.run([SLUICECTL, 'completion', 'bash'])
                        .stdout.decode())
    asked = 'source %s; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sluicectl; ' \
            'printf "%%s\\n" "${COMPREPLY[@]}"' % script
    path = ['--socket', socket_path] if socket_path else []
    done = subprocess.run(['bash', '--norc', '-uc', asked, 'bash', SLUICECTL, *path, *words],
                          capture_output=True, text=True, timeout=20, check=False,
                          cwd=bench.folder)
    equal(done.stderr, '', 'what bash said of %r' % (words,))
    return [word for word in done.stdout.splitlines() if word]


def completion(bench):
    """commands, options, their words, files, and what only the daemon knows"""
    listed = bench.run([SLUICECTL, 'help']).stdout.decode().split('commands:\n')[1].split('\n\n')[0]
    commands = [row.split()[0] for row in listed.splitlines()]
    equal(sorted(complete(bench, '')), sorted(commands), 'commands')
    for name in commands:
        if name != 'help':
            shown = bench.run([SLUICECTL, name, '--help']).stdout.decode()
            shown = [row.split()[0] for row in shown.splitlines() if row.startswith('  --')]
            equal(sorted(complete(bench, name, '--')), sorted(shown), 'options of ' + name)
    equal(complete(bench, 'stre'), ['streams', 'stream'], 'the beginning of a command')
    equal(complete(bench, 'policy', ''), ['check', 'load', 'show', 'reload'], 'words')
    types = types_completed(bench)
    check('fence' in types and 'lost' not in types, 'types: %r', types)
    equal(complete(bench, 'events', '--types', 'fence,wat'),
          ['fence,watermark', 'fence,watch'], 'a second type')
    equal(complete(bench, '--color', 'a'), ['auto', 'always'], 'words of an option')
    equal(complete(bench, 'status', '--color', '=', 'n'), ['never'], 'behind =')
    equal(complete(bench, 'help', 'unw'), ['unwatch'], 'a command as an argument')
    name = os.path.basename(bench.file('a policy.yaml', POLICY))
    for words in (('policy', 'check'), ('run', '--policy'), ('watch', '--policy'),
                  ('replay', '--policy'), ('run', '--', 'cat')):
        check(name in complete(bench, *words, name[:3]), 'no file completes %r', words)
    check('cat' in complete(bench, 'run', '--', 'ca'), 'no command')
    equal(complete(bench, 'run', '--', 'cat', '--'), [], 'options of the command run')
    check(cgroup2_mount() + '/' + os.path.basename(bench.cgroup()) in
          complete(bench, 'watch', cgroup2_mount() + '/' + bench.name), 'no cgroup')


def completion_asks(bench):
    """ids, watched cgroups and policies come from the daemon; nothing where there is none"""
    daemon = bench.daemon()
    cgroup = bench.cgroup()
    strange = bench.cgroup('$(touch pwned)')
    for path in (cgroup, strange):
        equal(daemon.ctl('watch', path).returncode, 0, 'watch')
    server = bench.server()
    daemon.start_agent('import socket, sys\n'
                       's = socket.create_connection(("127.0.0.1", int(sys.argv[1])))\n'
                       'sys.stdin.read()\n', server.port)
    server.connection()
    number = str(daemon.call('streams')['streams'][0]['id'])
    for words in (('stream',), ('deny',), ('events', '--stream')):
        equal(complete(bench, *words, '', socket_path=daemon.socket), [number], 'ids')
    watched = complete(bench, 'unwatch', '', socket_path=daemon.socket)
    check(cgroup in watched and strange not in watched, 'watched cgroups: %r', watched)
    equal(complete(bench, 'watch', '--named', '', socket_path=daemon.socket), ['test'], 'policies')
    usual = '/run/sluice/%s.sock' % bench.name
    os.symlink(daemon.socket, usual)
    bench.undo.append(lambda: os.unlink(usual))
    equal(complete(bench, '--instance', bench.name), [bench.name], 'instances')
    equal(complete(bench, '--instance', bench.name, 'stream', ''), [number], 'ids of an instance')
    check(not os.path.exists(os.path.join(bench.folder, 'pwned')), 'a name was run')
    none = os.path.join(bench.folder, 'none.sock')
    equal(complete(bench, 'stream', '', socket_path=none), [], 'without a daemon')
    equal(bench.run([SLUICECTL, 'completion', 'nonsense']).returncode, 2, 'exit status')


if __name__ == '__main__':
    main([old_daemon, older_members, cut_answers, no_answer, full_output, unknown_ids,
          names_of_the_daemon, wrong_targets, units_and_containers, completion, completion_asks])
