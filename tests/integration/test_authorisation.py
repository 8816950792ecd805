#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Who may ask the daemon what: by the credentials of the peer, as the socket
recorded them when it connected; and nonsense, and those who ask too much."""
import grp
import json
import os
import signal
import socket
import subprocess
import time

from sluice_test import NOBODY, Control, main
from waiting import check, equal

READS = ('status', 'streams', 'policy.show', 'audit.head')
CHANGES = ('deny', 'watch', 'unwatch', 'run.create', 'run.finish', 'policy.load', 'policy.reload')
FORBIDDEN = -32001

# As another user, in those groups: {what was asked: its answer, or how connecting failed}.
ASK = '''
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(10)
try:
    s.connect(sys.argv[1])
except OSError as error:
    print(json.dumps({'connect': type(error).__name__}))
    sys.exit()
said = {'pid': __import__('os').getpid()}
file = s.makefile('rwb')
for line in sys.stdin:
    try:
        file.write(line.encode())
        file.flush()
    except OSError:
        pass
    answer = file.readline()
    if not answer:
        break
    said[json.loads(line)['method']] = json.loads(answer)
print(json.dumps(said))
'''


def groups():
    """Two groups of this host that nobody who is asked for has by himself."""
    gids = [g for g in grp.getgrall() if g.gr_gid not in (0, os.getgid(), 65534)]
    return gids[0], gids[1]


def daemon_with_groups(bench):
    group, view = groups()
    daemon = bench.daemon(start=False)
    daemon.options = ['--group', group.gr_name, '--view-group', view.gr_name]
    return daemon.start(), group.gr_gid, view.gr_gid


def ask(bench, daemon, requests, gids=(), uid=NOBODY):
    """What a process of that user and those groups is told."""
    lines = ''.join(json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': params})
                    + '\n' for method, params in requests)
    how = ['--groups=' + ','.join(map(str, gids))] if gids else ['--clear-groups']
    done = bench.run(['setpriv', '--reuid', str(uid), '--regid', '65534', *how,
                      '/usr/bin/python3', '-c', ASK, daemon.socket], stdin=lines.encode())
    return json.loads(done.stdout)


def records(daemon, event='control'):
    rows = []
    for name in sorted(os.listdir(daemon.audit)):
        with open(os.path.join(daemon.audit, name), encoding='utf-8') as file:
            rows += [json.loads(row) for row in file]
    return [row for row in rows if row['event'] == event]


def view_group_reads(bench):
    """members of the view group read all and change nothing; each attempt is in the trail"""
    daemon, _, view = daemon_with_groups(bench)
    said = ask(bench, daemon, [(name, {}) for name in READS + CHANGES], [view])
    for name in READS:
        check('result' in said[name], '%s said %r', name, said[name])
    for name in CHANGES:
        equal(said[name]['error']['code'], FORBIDDEN, 'the code of %s' % name)
        check(groups()[0].gr_name in said[name]['error']['message'], 'it said %r', said[name])
    rows = records(daemon)
    equal([row['method'] for row in rows], list(CHANGES), 'the methods recorded')
    for row in rows:
        equal((row['uid'], row['pid']), (NOBODY, said['pid']), 'who it was')
        check(row['result'].startswith('refused'), 'it has %r', row)


def group_changes(bench):
    """members of the group change all; the trail has each call, failed ones too, and whose"""
    daemon, group, view = daemon_with_groups(bench)
    cgroup = bench.cgroup()
    said = ask(bench, daemon, [
        ('status', {}), ('watch', {'cgroup': cgroup}), ('policy.reload', {}),
        ('deny', {'id': 77}), ('unwatch', {'cgroup': cgroup}), ('run.finish', [])],
        [group, view])
    for name in ('status', 'watch', 'policy.reload', 'unwatch'):
        check('result' in said[name], '%s said %r', name, said[name])
    rows = records(daemon)
    equal([row['method'] for row in rows],
          ['watch', 'policy.reload', 'deny', 'unwatch', 'run.finish'], 'the methods recorded')
    equal([row['result'] == 'done' for row in rows], [True, True, False, True, False],
          'which were done')
    equal(rows[0]['target'], cgroup, 'the target')
    equal({(row['uid'], row['pid']) for row in rows}, {(NOBODY, said['pid'])}, 'who it was')


def others_are_refused(bench):
    """anybody else cannot connect, and where he can is told why not"""
    daemon, _, _ = daemon_with_groups(bench)
    equal(ask(bench, daemon, [('status', {})])['connect'], 'PermissionError', 'connecting')
    # As where the file system has no access lists.
    os.chmod(daemon.socket, 0o666)
    said = ask(bench, daemon, [('status', {})])['status']['error']['message']
    check('uid %d' % NOBODY in said and 'refused' in said, 'it said %r', said)
    equal(records(daemon), [], 'records')


def groups_that_are_absent(bench):
    """groups that the host does not have admit nobody, root works"""
    daemon = bench.daemon(start=False)
    daemon.options = ['--group', 'none-of-that-name', '--view-group', 'none-of-that-name-2']
    daemon.start()
    equal(os.stat(daemon.socket).st_mode & 0o777, 0o600, 'the mode of the socket')
    os.chmod(daemon.socket, 0o666)
    said = ask(bench, daemon, [('status', {})], [g.gr_gid for g in groups()])
    check('refused' in said['status']['error']['message'], 'it said %r', said)
    equal(daemon.status()['instance'], daemon.instance, 'the instance')


def groups_as_when_connected(bench):
    """a peer's groups are those it had when it connected, not those of its file or later"""
    daemon, group, _ = daemon_with_groups(bench)
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        os.setgroups([group])
        os.setgid(65534)
        os.setuid(NOBODY)
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(daemon.socket)
        sock.sendall(b'{"jsonrpc":"2.0","id":1,"method":"policy.reload"}\n')
        os.write(write_end, sock.recv(10000))
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, 'rb') as said:
        answer = json.loads(said.read())
    os.waitpid(child, 0)
    check('result' in answer, 'it said %r', answer)


def policy_files_are_for_root(bench):
    """a file of root's is not read for a member of the group, who sends text instead"""
    daemon, group, _ = daemon_with_groups(bench)
    cgroup = bench.cgroup()
    secret = bench.file('secret', 'root: secret\n')
    os.chmod(secret, 0o600)
    said = ask(bench, daemon, [('watch', {'cgroup': cgroup, 'policy_file': secret})], [group])
    equal(said['watch']['error']['code'], FORBIDDEN, 'the code')
    check('secret' not in said['watch']['error']['message'], 'it said %r', said)
    control = Control(daemon.socket)
    control.call('watch', cgroup=cgroup, policy_file=daemon.policy)
    control.close()


def root_is_never_kept_out(bench):
    """one user has a few clients, all that are not root's leave room for root's"""
    daemon, _, view = daemon_with_groups(bench)
    hold = '''
import socket, sys, os
os.setgroups([int(sys.argv[2])]); os.setgid(65534); os.setuid(int(sys.argv[3]))
kept = []
for _ in range(20):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    try:
        s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"audit.head"}\\n')
    except BrokenPipeError:
        pass
    kept.append((s, b'result' in s.recv(1000)))
print(sum(good for _, good in kept), flush=True)
sys.stdin.read()
'''
    counts, holders = [], []
    for uid in range(30001, 30007):
        holder = bench.spawn(['/usr/bin/python3', '-c', hold, daemon.socket, str(view), str(uid)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        holders.append(holder)
        counts.append(int(holder.stdout.readline()))
    equal(counts, [8, 8, 8, 8, 0, 0], 'clients of each user')
    equal(daemon.status()['instance'], daemon.instance, 'what root is told')
    for holder in holders:
        holder.stdin.close()
        holder.wait()
    equal('result' in ask(bench, daemon, [('status', {})], [view])['status'], True, 'afterwards')


def refused_calls_do_not_fill_the_trail(bench):
    """of a flood of refused calls a few a second are recorded, and how many more there were"""
    daemon, _, view = daemon_with_groups(bench)
    began = time.monotonic()
    ask(bench, daemon, [('policy.reload', {})] * 500, [view])
    seconds = time.monotonic() - began
    time.sleep(1.1)
    ask(bench, daemon, [('policy.reload', {})], [view])
    rows = records(daemon)
    check(2 <= len(rows) <= 10 * (seconds + 3), '%d records in %.1f s', len(rows), seconds)
    told = sum(int(row['result'].split('; ')[1].split()[0]) for row in rows if ';' in row['result'])
    equal(told + len(rows), 501, 'calls told')


def bad_requests(bench):
    """what is no request is answered by the standard's codes, and ends nothing"""
    daemon = bench.daemon()
    control = Control(daemon.socket)
    call = b'{"jsonrpc":"2.0","id":1,"method":"status","params":%s}\n'
    for sent, code in (
            (b'\xff\xfe\n', -32700), (b'{"jsonrpc":"2.0"\n', -32700), (b'\0\n', -32700),
            (b'{"jsonrpc":"2.0","id":1,"method":"sta\0tus"}\n', -32700),
            (b'{"jsonrpc":"2.0","id":1,"method":"sta\\u0000tus"}\n', -32700),
            (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"status"}\n', -32700),
            (b'[' * 100000 + b']' * 100000 + b'\n', -32700),
            (b'[{"jsonrpc":"2.0","id":1,"method":"status"}]\n', -32600),
            (b'"status"\n', -32600), (b'{}\n', -32600), (b'null\n', -32600),
            (b'{"jsonrpc":"1.0","id":1,"method":"status"}\n', -32600),
            (b'{"jsonrpc":2.0,"id":1,"method":"status"}\n', -32600),
            (b'{"jsonrpc":"2.0","id":{},"method":"status"}\n', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":7}\n', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"' + b'x' * 100000 + b'"}\n', -32601),
            (call % b'[1]', -32602), (call % b'"x"', -32602)):
        equal(control.raw(sent)['error']['code'], code, 'the code for %.80r' % sent)
    equal(control.call('status')['instance'], daemon.instance, 'the instance')
    control.close()


def cut_and_never_read(bench):
    """a request that is cut, and answers that nobody reads, cost others nothing"""
    daemon = bench.daemon()
    cut = socket.socket(socket.AF_UNIX)
    cut.connect(daemon.socket)
    cut.sendall(b'{"jsonrpc":"2.0","id":1,"meth')
    cut.close()
    deaf = socket.socket(socket.AF_UNIX)
    deaf.connect(daemon.socket)
    deaf.settimeout(0.5)
    asked = b'{"jsonrpc":"2.0","id":1,"method":"status"}\n' * 1000
    sent = 0
    try:
        while sent < 64 << 20:
            sent += deaf.send(asked)
    except OSError:
        pass
    check(sent < 8 << 20, 'it took %d bytes of requests whose answers nobody reads', sent)
    equal(daemon.status()['instance'], daemon.instance, 'the instance')
    # Once they are read, what was asked is answered.
    deaf.settimeout(10)
    got = 0
    while got < 2 << 20:
        got += len(deaf.recv(1 << 20))
    deaf.close()


def one_request_a_turn(bench):
    """many requests in one write do not keep another client waiting"""
    daemon = bench.daemon()
    greedy, control = socket.socket(socket.AF_UNIX), Control(daemon.socket)
    greedy.connect(daemon.socket)
    greedy.settimeout(10)
    control.call('status')
    daemon.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, daemon.process.pid, os.WSTOPPED)
    greedy.sendall(b'{"jsonrpc":"2.0","id":1,"method":"policy.reload"}\n' * 60)
    control.file.write(b'{"jsonrpc":"2.0","id":1,"method":"deny","params":{"id":77}}\n')
    control.file.flush()
    daemon.process.send_signal(signal.SIGCONT)
    left = 60
    while left:
        left -= greedy.recv(1 << 20).count(b'\n')
    at = [row['method'] for row in records(daemon)].index('deny')
    check(at < 5, '%d requests were answered before another client', at)
    control.close()
    greedy.close()


if __name__ == '__main__':
    main([view_group_reads, group_changes, others_are_refused, groups_that_are_absent,
          groups_as_when_connected, policy_files_are_for_root, root_is_never_kept_out,
          refused_calls_do_not_fill_the_trail, bad_requests, cut_and_never_read,
          one_request_a_turn])
