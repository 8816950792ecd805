#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Policies by name: several at once, read again while streams go on, loaded by a
call, refused as a whole where one is bad, and bound again after a restart."""
import hashlib
import os
import signal
import socket
import threading
import time

from sluice_test import POLICY, Control, line, main
from waiting import check, equal, wait_for

# Connects where it is told to, line by line: "port" begins a stream, "port word" sends on it.
AGENT = '''
import json, socket, sys
socks = {}
for row in sys.stdin:
    words = row.split()
    name, port = words[0], int(words[1])
    try:
        if name not in socks:
            socks[name] = socket.create_connection(('127.0.0.1', port))
            socks[name].settimeout(5)
        if words[2:]:
            socks[name].sendall(json.dumps({'t': words[2]}).encode() + b'\\n')
            print('got' if socks[name].recv(1000) else 'end', flush=True)
        else:
            print('ok', flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
'''


def policy(term, name='test'):
    return POLICY.replace('forbidden', term).replace('name: test', 'name: ' + name)


class Agent:
    """A process in a watched cgroup that does what it is told."""

    def __init__(self, bench, cgroup, port):
        self.process, self.port = bench.in_cgroup(cgroup, AGENT), port

    def does(self, name, word=''):
        self.process.stdin.write(('%s %d %s\n' % (name, self.port, word)).encode())
        self.process.stdin.flush()
        return self.process.stdout.readline().decode().strip()


def write(path, text):
    with open(path + '.new', 'w', encoding='utf-8') as file:
        file.write(text)
    os.rename(path + '.new', path)


def hang_up(daemon):
    """SIGHUP, and what the log says of it."""
    before = len(daemon.read_log())
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: 'reload: ' in daemon.read_log()[before:], 5, 'a line about the reload')
    return daemon.read_log()[before:]


def with_two(bench, start=True):
    """A daemon of two policies of files: "test" refuses one, "other" two."""
    daemon = bench.daemon(policy('apple'), start=False)
    other = bench.file('other.yaml', policy('tiger', 'other'))
    daemon.options += ['--policy', other]
    # The daemon's own comes last on its command line, and is then not the default.
    return (daemon.start() if start else daemon), other


def answers(connection):
    """Says to whatever comes what no policy here could hold back."""
    while True:
        piece = connection.sock.recv(65536)
        if not piece:
            return
        connection.take(piece)
        connection.sock.sendall(line('hi'))


def echo(bench):
    return bench.server(answers)


def reload_keeps_old_streams(bench):
    """SIGHUP gives new streams the file's new text; those that are open keep theirs"""
    daemon, server = bench.daemon(policy('apple')), echo(bench)
    cgroup = bench.cgroup()
    daemon.call('watch', cgroup=cgroup, policy_name='test')
    agent = Agent(bench, cgroup, server.port)
    equal(agent.does('old', 'clean'), 'got', 'the old stream')
    write(daemon.policy, policy('tiger'))
    said = hang_up(daemon)
    check('1 policies changed' in said, 'it said %r', said)
    equal(agent.does('new', 'apple'), 'got', 'what only the old policy refuses, on a new stream')
    check(agent.does('new2', 'tiger') != 'got', 'what the new policy refuses went through')
    equal(agent.does('old', 'tiger'), 'got', 'what only the new policy refuses, on the old stream')
    check(agent.does('old', 'apple') != 'got', 'what the old policy refuses went through')
    shown = daemon.call('policy.show')['policies'][0]
    equal(shown['digest'], hashlib.sha256(policy('tiger').encode()).hexdigest(), 'the digest')


def a_bad_file_changes_nothing(bench):
    """where one of two files is bad neither is taken, and line and column of it are told"""
    daemon, other = with_two(bench)
    before = daemon.call('policy.show')
    write(daemon.policy, policy('three'))
    write(other, policy('tiger', 'other').replace('framing:', 'framin:'))
    said = hang_up(daemon)
    check('%s:3:' % other in said, 'it said %r', said)
    control = Control(daemon.socket)
    try:
        control.call('policy.reload')
        raise AssertionError('a bad file was taken')
    except RuntimeError as error:
        check('%s:3:' % other in str(error), 'it said %s', error)
    control.close()
    equal(daemon.call('policy.show'), before, 'the policies')
    for text, word in ((policy('tiger', 'renamed'), 'renamed'), ('', other),
                       (None, 'No such file')):
        if text is None:
            os.unlink(other)
        else:
            write(other, text)
        check(word in hang_up(daemon), 'the log has no %r', word)
        equal(daemon.call('policy.show'), before, 'the policies')
    write(other, policy('tiger', 'other'))
    equal(daemon.call('policy.reload'), {'reloaded': ['test'], 'unchanged': ['other']},
          'what is reloaded')


def one_that_cannot_be_given(bench):
    """where a watch cannot be given its new policy every watch keeps the old one"""
    daemon = bench.daemon(policy('apple'))
    cgroups = [bench.cgroup('a'), bench.cgroup('b')]
    for cgroup in cgroups:
        daemon.call('watch', cgroup=cgroup)
    watches = daemon.status()['watches']
    numbers = {p['name']: p['number'] for p in daemon.status()['policies']}
    # Of the one that is given its policy last, the file cannot be written.
    blocked = '/run/sluice/%s/watch-%d.json.new' % (daemon.instance, watches[-1]['id'])
    os.mkdir(blocked)
    try:
        write(daemon.policy, policy('tiger'))
        said = hang_up(daemon)
    finally:
        os.rmdir(blocked)
    check('cannot be given the new policy' in said, 'it said %r', said)
    equal({p['name']: p['number'] for p in daemon.status()['policies'] if p['number'] in
           numbers.values()}, numbers, 'the policies')
    server = echo(bench)
    for cgroup in cgroups:
        agent = Agent(bench, cgroup, server.port)
        equal(agent.does('a', 'tiger'), 'got', 'what the new policy refuses')
        check(agent.does('b', 'apple') != 'got', 'what the old policy refuses went through')
    check('1 policies changed' in hang_up(daemon), 'it cannot be reloaded afterwards')
    for cgroup in cgroups:
        agent = Agent(bench, cgroup, server.port)
        equal(agent.does('a', 'apple'), 'got', 'what the old policy refuses')


def several_policies(bench):
    """watches are bound to policies by name; one of its own text is left alone by a reload"""
    daemon, other = with_two(bench)
    cgroups = [bench.cgroup(name) for name in ('first', 'second', 'own')]
    daemon.call('watch', cgroup=cgroups[0], policy_name='test')
    daemon.call('watch', cgroup=cgroups[1], policy_name='other')
    # The same text as a named policy's, but not bound to the name.
    daemon.call('watch', cgroup=cgroups[2], policy_text=policy('apple'))
    shown = {p['name']: p for p in daemon.call('policy.show')['policies']}
    equal([shown[name]['watches'] for name in ('test', 'other')], [cgroups[:1], cgroups[1:2]],
          'what is bound to each')
    equal([p['name'] for p in shown.values() if p['default']], ['other'], 'the default')
    equal(shown['other']['loaded_from'], other, 'where it is from')
    write(daemon.policy, policy('three'))
    write(other, policy('four', 'other'))
    equal(daemon.call('policy.reload'), {'reloaded': ['other', 'test'], 'unchanged': []},
          'what is reloaded')
    server = echo(bench)
    for cgroup, refused, passes in zip(cgroups, ('three', 'four', 'apple'),
                                       ('apple', 'tiger', 'three')):
        agent = Agent(bench, cgroup, server.port)
        equal(agent.does('a', passes), 'got', '%s in %s' % (passes, cgroup))
        check(agent.does('b', refused) != 'got', '%s in %s went through', refused, cgroup)
    for bad in ({'policy_name': 'none'}, {'policy_name': 7},
                {'policy_name': 'test', 'policy_text': policy('apple')}):
        try:
            daemon.call('watch', cgroup=cgroups[0], **bad)
            raise AssertionError('%r was taken' % bad)
        except RuntimeError as error:
            check('polic' in str(error), 'it said %s', error)


def load_by_a_call(bench):
    """policy.load replaces what has its name until the next reload, and adds a new name"""
    daemon = bench.daemon(policy('apple'))
    cgroup, server = bench.cgroup(), echo(bench)
    daemon.call('watch', cgroup=cgroup)
    loaded = daemon.call('policy.load', text=policy('tiger'))
    equal((loaded['name'], loaded['replaced'], loaded['watches']), ('test', True, 1), 'the answer')
    agent = Agent(bench, cgroup, server.port)
    equal(agent.does('a', 'apple'), 'got', 'what the file refuses')
    check(agent.does('b', 'tiger') != 'got', 'what the text refuses went through')
    new = daemon.call('policy.load', text=policy('x', 'new'), name='new')
    equal((new['replaced'], new['watches'], 'number' in new), (False, 0, False), 'a new name')
    shown = daemon.call('policy.show')['policies']
    equal([(p['name'], p['loaded_from'], p['file']) for p in shown],
          [('test', None, daemon.policy), ('new', None, None)], 'what there is')
    equal([p['loaded_by'] for p in shown], [{'uid': os.getuid(), 'pid': os.getpid()}] * 2,
          'who called')
    said = daemon.ctl('policy', 'show', 'test').stdout.decode()
    check('loaded by call (uid %d, pid %d); a reload brings back %s'
          % (os.getuid(), os.getpid(), daemon.policy) in said, 'it said %s', said)
    equal(daemon.call('policy.show', name='new')['policies'][0]['text'], policy('x', 'new'), 'text')
    equal(daemon.call('policy.reload'), {'reloaded': ['test'], 'unchanged': []}, 'the reload')
    shown = daemon.call('policy.show', name='test')['policies'][0]
    equal((shown['loaded_from'], shown['loaded_by']), (daemon.policy, None), 'after the reload')
    check(agent.does('c', 'apple') != 'got', 'what the file refuses went through')
    before = daemon.call('policy.show')
    for params, word in (({'text': policy('x', 'new'), 'name': 'other'}, "not 'other'"),
                         ({'text': 'version: 1\nname: bad\nnone: 1\n'}, 'policy:3:1'),
                         ({'text': 7}, 'text has to be'), ({}, 'text has to be')):
        try:
            daemon.call('policy.load', **params)
            raise AssertionError('%r was taken' % params)
        except RuntimeError as error:
            check(word in str(error), 'it said %s', error)
    equal(daemon.call('policy.show'), before, 'what there is')


def bound_again_after_a_restart(bench):
    """after a crash what is bound to a name has the file's text of today, the rest its own"""
    daemon, other = with_two(bench)
    cgroups = [bench.cgroup(name) for name in ('named', 'own', 'called', 'gone')]
    daemon.call('watch', cgroup=cgroups[0], policy_name='test')
    daemon.call('watch', cgroup=cgroups[1], policy_text=policy('apple'))
    daemon.call('policy.load', text=policy('called', 'called'))
    daemon.call('watch', cgroup=cgroups[2], policy_name='called')
    daemon.call('watch', cgroup=cgroups[3], policy_name='other')
    daemon.kill()
    write(daemon.policy, policy('three'))
    daemon.options.clear()
    daemon.start()
    server = echo(bench)
    for cgroup, refused, passes in zip(cgroups, ('three', 'apple', 'called', 'tiger'),
                                       ('apple', 'three', 'apple', 'apple')):
        agent = Agent(bench, cgroup, server.port)
        equal(agent.does('a', passes), 'got', '%s in %s' % (passes, cgroup))
        check(agent.does('b', refused) != 'got', '%s in %s went through', refused, cgroup)
    # What is loaded under a name again is bound to it still.
    equal(daemon.call('policy.load', text=policy('more', 'called'))['watches'], 1, 'watches')
    check(Agent(bench, cgroups[2], server.port).does('a', 'more') != 'got', 'it went through')
    write(daemon.policy, policy('five'))
    daemon.call('policy.reload')
    check(Agent(bench, cgroups[0], server.port).does('a', 'five') != 'got', 'it went through')
    equal(Agent(bench, cgroups[1], server.port).does('a', 'five'), 'got', 'its own text')
    # The other keeps what it was bound to last, over one more start.
    equal(os.path.exists(other), True, 'the file')
    daemon.stop()
    daemon.start()
    check(Agent(bench, cgroups[3], server.port).does('a', 'tiger') != 'got', 'it went through')


def captured_before_accepted_after(bench):
    """what was captured under the old number and is accepted later finds the old policy"""
    daemon, server = bench.daemon(policy('apple')), echo(bench)
    cgroup = bench.cgroup()
    daemon.call('watch', cgroup=cgroup)
    agent, control = Agent(bench, cgroup, server.port), Control(daemon.socket)
    control.call('status')
    write(daemon.policy, policy('tiger'))
    # What is ready first, the daemon takes first: the call, and then what waits at its listener.
    daemon.process.send_signal(signal.SIGSTOP)
    control.file.write(b'{"jsonrpc":"2.0","id":1,"method":"policy.reload"}\n')
    control.file.flush()
    equal(agent.does('old'), 'ok', 'connecting to a daemon that is stopped')
    daemon.process.send_signal(signal.SIGCONT)
    check(b'reloaded' in control.file.readline(), 'it was not reloaded')
    control.close()
    check(agent.does('old', 'tiger') == 'got', 'it was refused: %s', daemon.read_log())
    equal(daemon.status()['streams']['total'], 1, 'streams')


def hung_up_while_it_starts(bench):
    """SIGHUP before the daemon is ready, after it has read its files: it reads them once more"""
    daemon, server = bench.daemon(policy('apple'), start=False), echo(bench)
    lock = '/run/sluice/%s.lock' % daemon.instance
    starting = threading.Thread(target=daemon.start)
    starting.start()
    # The lock comes after the files, and what comes after the lock takes far longer than this.
    wait_for(lambda: os.path.exists(lock), 10, 'the lock')
    write(daemon.policy, policy('tiger'))
    daemon.process.send_signal(signal.SIGHUP)
    starting.join()
    wait_for(lambda: 'reload: 1 policies changed, 0 did not' in daemon.read_log(), 5,
             'a line about the reload')
    cgroup = bench.cgroup()
    daemon.call('watch', cgroup=cgroup)
    agent = Agent(bench, cgroup, server.port)
    equal(agent.does('a', 'apple'), 'got', 'what the file no longer refuses')
    check(agent.does('b', 'tiger') != 'got', 'it went through')


def many_reloads(bench):
    """a hundred reloads under traffic refuse nothing and leave nothing behind"""
    daemon, server = bench.daemon(policy('word0')), echo(bench)
    cgroup = bench.cgroup()
    daemon.call('watch', cgroup=cgroup)
    agent = Agent(bench, cgroup, server.port)
    control = Control(daemon.socket)
    for turn in range(1, 101):
        write(daemon.policy, policy('word%d' % turn))
        equal(control.call('policy.reload')['reloaded'], ['test'], 'what is reloaded')
        equal(agent.does('s%d' % turn, 'clean'), 'got', 'stream %d' % turn)
    control.close()
    named = [p for p in daemon.status()['policies'] if p['number']]
    check(len(named) <= 101, '%d policies have numbers', len(named))


def told_to_the_service_manager(bench):
    """RELOADING with the time and then READY are told around a reload, a bad one too"""
    daemon = bench.daemon(policy('apple'), start=False)
    path = os.path.join(bench.folder, 'notify')
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(path)
    manager.settimeout(5)
    os.environ['NOTIFY_SOCKET'] = path
    try:
        daemon.start()
    finally:
        del os.environ['NOTIFY_SOCKET']
    equal(manager.recv(1000), b'READY=1', 'what is told at start')
    for text in (policy('tiger'), 'bad'):
        write(daemon.policy, text)
        began = time.monotonic_ns() // 1000
        daemon.process.send_signal(signal.SIGHUP)
        said = manager.recv(1000).decode().split('\n')
        equal(said[0], 'RELOADING=1', 'what is told first')
        check(began <= int(said[1].split('=')[1]) <= time.monotonic_ns() // 1000, 'it has %r', said)
        equal(manager.recv(1000), b'READY=1', 'what is told then')
    manager.close()


def names_at_start(bench):
    """two files of one name, and a bad one of two, are refused at start with the line"""
    daemon = bench.daemon(policy('apple'), start=False)
    for text, word in ((policy('tiger'), b'is that of'), ('bad: 1\n', b':1:')):
        other = bench.file('other.yaml', text)
        done = bench.run([*daemon.arguments(), '--policy', other])
        equal(done.returncode, 1, 'the exit status')
        check(word in done.stderr and os.path.basename(other).encode()[:1] in done.stderr,
              'it said %r', done.stderr)


def nested_watches(bench):
    """a cgroup above or below a watched one is refused with the reason"""
    daemon = bench.daemon(policy('apple'))
    cgroup = bench.cgroup()
    below = os.path.join(cgroup, 'below')
    os.mkdir(below)
    bench.undo.append(lambda: os.rmdir(below))
    daemon.call('watch', cgroup=cgroup)
    for path in (below, cgroup):
        try:
            daemon.call('watch', cgroup=path)
            raise AssertionError('%s is watched twice' % path)
        except RuntimeError as error:
            check("is watched already, under policy 'test'" in str(error), 'it said %s', error)
    daemon.call('unwatch', cgroup=cgroup)
    daemon.call('watch', cgroup=below)
    try:
        daemon.call('watch', cgroup=cgroup)
        raise AssertionError('%s is watched twice' % below)
    except RuntimeError as error:
        check("is watched already, under policy 'test'" in str(error), 'it said %s', error)


if __name__ == '__main__':
    main([reload_keeps_old_streams, a_bad_file_changes_nothing, one_that_cannot_be_given,
          several_policies, load_by_a_call, bound_again_after_a_restart,
          captured_before_accepted_after, hung_up_while_it_starts, many_reloads,
          told_to_the_service_manager, names_at_start, nested_watches])
