#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The audit trail of a real daemon: what is recorded of real traffic, that no text of it
is, that the chain holds over rotation, kills and restarts, and what a full disk and a
quota do."""
import collections
import contextlib
import fcntl
import glob
import json
import os
import re
import socket
import subprocess
import time

from peers import echo
from sluice_test import POLICY, PYTHON, SLUICECTL, Control, line, main
from waiting import check, equal, wait_for

MARKER = 'quagmire-zebra-4711'
DROP = POLICY + 'audit: {on_full: drop, quota_bytes_per_hour: 1048576}\n'
CLOSE = POLICY + 'audit: {quota_bytes_per_hour: 1048576}\n'
WATERMARKS = POLICY + 'audit: {watermarks: true}\n'
RELAY = POLICY + 'destinations: [{match: "127.0.0.1:*", action: pass}]\n'
HTTP = """\
version: 1
name: web
framing: http1
extract: raw
request: {tasks: [words]}
response: {tasks: [words]}
tasks:
  words: {kind: terms, terms: ["forbidden"], fold: [casefold]}
"""
HASH = re.compile('[0-9a-f]{64}')
TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z')

# Sends each line and waits for its echo; says how it ended.
ECHO = '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(10)
try:
    for text in sys.argv[2:]:
        s.sendall(bytes.fromhex(text))
        if not s.recv(4096):
            print("end")
            break
    else:
        s.shutdown(socket.SHUT_WR)
        while s.recv(4096):
            pass
        print("complete")
except OSError as error:
    print(type(error).__name__)
'''

# So many connections, one after the other; says how many were complete.
MANY = '''
import socket, sys
port, count, good = int(sys.argv[1]), int(sys.argv[2]), 0
for _ in range(count):
    try:
        s = socket.create_connection(("127.0.0.1", port))
        s.settimeout(10)
        s.sendall(b'{"t":"x"}\\n')
        if s.recv(100):
            good += 1
        s.shutdown(socket.SHUT_WR)
        while s.recv(100):
            pass
    except OSError:
        pass
    s.close()
print(good)
'''

# Reads words from standard input: a line is sent and its echo awaited.
LIVE = '''
import socket, sys
s = None
for row in sys.stdin:
    try:
        if s is None:
            s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
            s.settimeout(5)
        s.sendall(b'{"t":"%s"}\\n' % row.strip().encode())
        print("echo" if s.recv(4096) else "end", flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
        s = None
'''


def files(daemon):
    return sorted(glob.glob(os.path.join(daemon.audit, 'audit-*.jsonl')))


def records(daemon):
    rows = []
    for path in files(daemon):
        with open(path, encoding='utf-8') as trail:
            # On a full disk the last one waits for room in the middle.
            rows += [json.loads(row, object_pairs_hook=collections.OrderedDict)
                     for row in trail if row.endswith('\n')]
    return rows


def events(daemon, name):
    return [row for row in records(daemon) if row['event'] == name]


def verify(daemon, *options, status=0):
    """What `audit verify` says, without the daemon; checks its exit status."""
    done = subprocess.run([SLUICECTL, 'audit', 'verify', '--json', *options, daemon.audit],
                          capture_output=True, timeout=30, check=False)
    equal(done.returncode, status, 'verify said %r %r' % (done.stdout, done.stderr))
    return json.loads(done.stdout)


def head(daemon):
    return daemon.ctl('audit', 'head').stdout.decode().strip()


def run_echo(daemon, server, *texts, policy=None):
    done = daemon.agent(ECHO, server.port, *[text.hex() for text in texts], policy=policy)
    return done.stdout.decode().strip()


def settled(daemon, count):
    return wait_for(lambda: len(events(daemon, 'stream_settled')) >= count and
                    events(daemon, 'stream_settled'), 10, '%d settled streams' % count)


def every_record_has_its_form(bench):
    """Every record is one JSON object with its number, time, event and hash in place."""
    daemon, server = bench.daemon(), bench.server(echo)
    equal(run_echo(daemon, server, line('clean')), 'complete', 'the end of a clean stream')
    settled(daemon, 1)
    daemon.stop()
    for number, row in enumerate(records(daemon), 1):
        names = list(row)
        equal(names[:3] + names[-1:], ['seq', 'time', 'event', 'hash'], 'members of %r' % row)
        equal(row['seq'], number, 'the number')
        check(TIME.fullmatch(row['time']), 'time %r', row['time'])
        check(HASH.fullmatch(row['hash']), 'hash %r', row['hash'])
    equal([row['event'] for row in records(daemon)],
          ['file', 'started', 'control', 'stream_opened', 'session_opened', 'session_settled',
           'stream_settled', 'control', 'stopped'], 'events')
    equal(os.stat(daemon.audit).st_mode & 0o777, 0o700, 'mode of the directory')
    equal(os.stat(files(daemon)[0]).st_mode & 0o777, 0o600, 'mode of a file')
    equal(verify(daemon)['records'], 9, 'records verified')


def a_clean_stream_is_counted(bench):
    """A clean stream: who it was, and runes and bytes on both tracks."""
    daemon, server = bench.daemon(), bench.server(echo)
    run_echo(daemon, server, line('four'), line('fivefive'))
    settled(daemon, 1)
    opened, session = events(daemon, 'stream_opened')[0], events(daemon, 'session_settled')[0]
    equal((opened['policy'], opened['peer'], opened['comm'], opened['action']),
          ('test', '127.0.0.1:%d' % server.port, 'python3', 'mediate'), 'the stream')
    check('/sluice.' in opened['cgroup'] and opened['pid'] > 0 and opened['uid'], 'who: %r', opened)
    equal((session['session'], session['end'], session['error'], session['reason']),
          (0, 'complete', None, None), 'the session')
    equal(events(daemon, 'session_opened')[0]['level'], 'blocking', 'the level')
    # Each line's text has a rune beside it that keeps it apart from others.
    runes, size = 4 + 1 + 8 + 1, len(line('four') + line('fivefive'))
    for track in ('request', 'response'):
        equal(dict(session[track]), {
            'received': runes, 'confirmed': runes, 'residue': 0, 'flow_runes_received': runes,
            'flow_runes_released': runes, 'flow_bytes_received': size, 'flow_bytes_released': size},
              track)
    stream = events(daemon, 'stream_settled')[0]
    equal((stream['end'], stream['reason'], dict(stream['sessions'])), (
        'complete', 'complete', {'complete': 1, 'denied': 0, 'rewritten': 0, 'failed': 0}),
          'the end of the stream')


def a_denial_is_recorded(bench):
    """A denial: which task and rule, and where."""
    daemon, server = bench.daemon(), bench.server(echo)
    run_echo(daemon, server, line('abc'), line('so forbidden ' + MARKER))
    settled(daemon, 1)
    outcome, session = events(daemon, 'outcome')[0], events(daemon, 'session_settled')[0]
    # Each line's text has a rune beside it that keeps it apart from others.
    equal([outcome[name] for name in ('track', 'start', 'end', 'task', 'rule', 'decision', 'by',
                                      'enforcing')],
          ['request', 4, 4 + 1 + len('so forbidden'), 'words', 0, 'denied', 'task', True],
          'the outcome')
    equal((session['end'], session['request']['confirmed']), ('denied', 4), 'the session')
    equal(events(daemon, 'refusal'), [], 'refusals, where the protocol has no words for one')
    equal(events(daemon, 'stream_settled')[0]['reason'], 'denied:words', 'the reason')


def no_text_is_recorded(bench):
    """What flows, and what is withheld, is nowhere in the trail."""
    daemon, server = bench.daemon(WATERMARKS), bench.server(echo)
    run_echo(daemon, server, line(MARKER), line(MARKER + ' forbidden ' + MARKER))
    run_echo(daemon, server, line(MARKER), line(MARKER)[:-3])
    settled(daemon, 2)
    daemon.stop()
    for path in files(daemon):
        with open(path, 'rb') as trail:
            data = trail.read()
        for text in (MARKER, MARKER[:8], MARKER[-8:], MARKER.encode().hex()[:16]):
            check(text.encode() not in data, '%r is in the trail', text)


def watermarks_are_recorded_where_the_policy_asks(bench):
    """Watermarks: one a movement where the policy asks, else none."""
    daemon, server = bench.daemon(), bench.server(echo)
    run_echo(daemon, server, line('a'), policy=WATERMARKS)
    settled(daemon, 1)
    moved = [(row['track'], row['confirmed']) for row in events(daemon, 'watermark')]
    equal(moved, [('request', 2), ('response', 2)], 'watermarks')
    run_echo(daemon, server, line('a'))
    settled(daemon, 2)
    equal(len(events(daemon, 'watermark')), 2, 'watermarks of a policy that does not ask')


def refused_reset_and_relayed_streams(bench):
    """Streams without a session: refused by the peer, reset, relayed."""
    daemon = bench.daemon()
    server = bench.server(lambda connection: connection.sock.recv(10))
    run_echo(daemon, server, line('x'))
    settled(daemon, 1)
    run_echo(daemon, bench.server(echo), line(MARKER), policy=RELAY)
    rows = settled(daemon, 2)
    relayed = events(daemon, 'stream_opened')[1]
    equal((relayed['action'], rows[1]['reason']), ('pass', 'complete'), 'the relayed stream')
    equal(len(events(daemon, 'session_opened')), 1, 'sessions')
    equal(events(daemon, 'session_settled')[0]['end'], 'failed', 'the session of the other')


def exchanges_of_one_connection(bench):
    """Several HTTP exchanges on one connection: a session each, numbered."""
    def serve(connection):
        data = b''
        while True:
            piece = connection.sock.recv(4096)
            if not piece:
                return
            data += piece
            while b'\r\n\r\n' in data:
                data = data.split(b'\r\n\r\n', 1)[1]
                connection.sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n'
                                        b'Content-Type: text/plain\r\n\r\nok')
    agent = '''
import http.client, sys
c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
for path in ("/a", "/b", "/forbidden"):
    c.request("GET", path)
    r = c.getresponse()
    print(r.status, flush=True)
    r.read()
'''
    daemon = bench.daemon(HTTP + 'audit: {watermarks: true}\n')
    server = bench.server(serve)
    done = daemon.agent(agent, server.port)
    equal(done.stdout.split(), [b'200', b'200', b'403'], 'answers')
    settled(daemon, 1)
    equal([row['session'] for row in events(daemon, 'session_opened')], [0, 1, 2], 'opened')
    equal([(row['session'], row['end']) for row in events(daemon, 'session_settled')],
          [(0, 'complete'), (1, 'complete'), (2, 'denied')], 'settled')
    equal([(row['session'], row['track']) for row in events(daemon, 'watermark')
           if row['session'] < 2],
          [(0, 'request'), (0, 'response'), (1, 'request'), (1, 'response')], 'watermarks')
    refusal = events(daemon, 'refusal')[0]
    equal((refusal['session'], refusal['place'], refusal['task'], refusal['reason']),
          (2, 'message', 'words', 'blocked'), 'the refusal')


def control_calls_are_recorded(bench):
    """Calls that change something: by whom, of what, and what came of it."""
    daemon, server = bench.daemon(), bench.server(echo)
    cgroup = bench.cgroup()
    pid = os.getpid()
    control = Control(daemon.socket)
    control.call('watch', cgroup=cgroup)
    agent = bench.in_cgroup(cgroup, LIVE, server.port)
    agent.stdin.write(b'one\n')
    agent.stdin.flush()
    equal(agent.stdout.readline(), b'echo\n', 'the echo')
    stream = control.call('streams')['streams'][0]['id']
    control.call('deny', id=stream)
    with contextlib.suppress(RuntimeError):
        control.call('deny', id=stream + 1000)
    control.call('unwatch', cgroup=cgroup)
    control.close()
    rows = [(row['method'], row['pid'], row['uid'], row['target'])
            for row in events(daemon, 'control')]
    equal(rows, [('watch', pid, 0, cgroup), ('deny', pid, 0, str(stream)),
                 ('deny', pid, 0, str(stream + 1000)), ('unwatch', pid, 0, cgroup)], 'calls')
    results = [row['result'] for row in events(daemon, 'control')]
    equal(results[:2], ['done', 'done'], 'results')
    check('no stream' in results[2], 'the failed call: %r', results[2])
    outcome = events(daemon, 'outcome')[0]
    equal((outcome['by'], outcome['task'], outcome['decision']), ('operator', None, 'denied'),
          'the outcome of an operator')


def rotation_keeps_the_chain(bench):
    """Files are begun anew at their size; old ones go; what is left verifies."""
    daemon, server = bench.daemon(start=False), bench.server(echo)
    daemon.options = ['--audit-file-bytes', '65536', '--audit-files', '3']
    daemon.start()
    daemon.agent(MANY, server.port, 400)
    wait_for(lambda: files(daemon)[0] != os.path.join(daemon.audit, 'audit-%020d.jsonl' % 1), 20,
             'the oldest file goes')
    equal(len(files(daemon)), 3, 'files')
    for path in files(daemon)[:-1]:
        size = os.path.getsize(path)
        check(65536 <= size < 65536 + 4096, 'a file of %d bytes', size)
    kept = head(daemon)
    seen = verify(daemon, '--head', kept)
    check(seen['first'] > 1 and seen['head_met'], 'the head is not met: %r', seen)
    daemon.stop()
    os.unlink(files(daemon)[1])
    equal(verify(daemon, status=1)['fault'], 'missing', 'a file that is missing')
    os.unlink(files(daemon)[0])
    equal(verify(daemon, status=1)['fault'], 'oldest_gone', 'the oldest is missing')


def a_kill_loses_no_record(bench):
    """kill -9, and a torn last line: the next start goes on with the chain."""
    daemon, server = bench.daemon(), bench.server(echo)
    run_echo(daemon, server, line('x'))
    settled(daemon, 1)
    kept, before = head(daemon), len(records(daemon))
    daemon.kill()
    equal(verify(daemon, '--head', kept)['records'], before, 'records after the kill')
    with open(files(daemon)[0], 'ab') as trail:
        trail.write(b'{"seq":99,"time"')
    equal(verify(daemon, status=1)['fault'], 'cut_off', 'a torn line')
    daemon.start()
    check('16 bytes of a record' in daemon.read_log(), 'the log says nothing of it')
    daemon.stop()
    equal(events(daemon, 'recovered')[0]['bytes'], 16, 'bytes cut off')
    equal(events(daemon, 'started')[1]['continues'], True, 'the second start')
    verify(daemon, '--head', kept)


def a_turn_of_the_loop_is_on_disk_when_it_is_over(bench):
    """Killed at once behind what it did, the daemon has recorded it."""
    daemon, server = bench.daemon(), bench.server(echo)
    cgroup = bench.cgroup()
    daemon.call('watch', cgroup=cgroup)
    for count in (1, 2, 3):
        agent = bench.in_cgroup(cgroup, LIVE, server.port)
        equal(talk(agent, b'one'), b'echo', 'the echo')
        daemon.kill()
        equal(len(events(daemon, 'session_opened')), count, 'sessions recorded')
        daemon.start()


def a_head_finds_truncation(bench):
    """A head that was kept finds what was cut off and what was written anew."""
    daemon, server = bench.daemon(), bench.server(echo)
    run_echo(daemon, server, line('x'))
    settled(daemon, 1)
    daemon.stop()
    rows = records(daemon)
    kept = '%d:%s' % (rows[-1]['seq'], rows[-1]['hash'])
    check('audit head ' + kept in daemon.read_log(), 'the log has no head')
    verify(daemon, '--head', kept)
    with open(files(daemon)[0], 'rb+') as trail:
        lines = trail.read().splitlines(True)
        trail.truncate(len(b''.join(lines[:-2])))
    equal(verify(daemon)['ok'], True, 'without a head')
    equal(verify(daemon, '--head', kept, status=1)['fault'], 'truncated', 'with a head')
    done = subprocess.run([SLUICECTL, 'audit', 'verify', daemon.audit, '--head', 'x'],
                          capture_output=True, timeout=30, check=False)
    equal(done.returncode, 2, 'a head that is none')
    with open(files(daemon)[0], 'rb+') as trail:
        trail.seek(len(lines[0]) + 60)
        trail.write(b'X')
    seen = verify(daemon, status=1)
    equal((seen['line'], seen['file']), (2, files(daemon)[0]), 'where the edit is')


def a_live_trail_verifies(bench):
    """A record under way, or a file without one, is no fault while a daemon writes."""
    daemon, server = bench.daemon(), bench.server(echo)
    run_echo(daemon, server, line('x'))
    daemon.stop()
    whole, last = len(records(daemon)), files(daemon)[-1]
    follows = os.path.join(daemon.audit, 'audit-%020d.jsonl' % (whole + 1))
    with open(os.path.join(daemon.audit, 'lock'), 'rb') as lock:
        with open(follows, 'wb'):
            equal(verify(daemon, status=1)['fault'], 'cut_off', 'an empty file')
            fcntl.flock(lock, fcntl.LOCK_EX)
            seen = verify(daemon)
            equal((seen['live'], seen['records']), (True, whole), 'with a daemon')
        os.unlink(follows)
        with open(last, 'ab') as trail:
            trail.write(b'{"seq":99,"time"')
        seen = verify(daemon)
        equal((seen['live'], seen['records']), (True, whole), 'half a record')
        os.rename(last, follows)
        equal(verify(daemon, status=1)['fault'], 'misnamed', 'the number in a name')
        with open(last, 'wb'):
            equal(verify(daemon, status=1)['fault'], 'cut_off', 'a file in the middle')


def what_cannot_be_read_is_no_fault(bench):
    """verify exits with 2 where it cannot read what it is to verify."""
    daemon = bench.daemon()
    daemon.stop()
    gone = files(daemon)[0] + '.gone'
    for path in (gone, os.path.join(bench.folder, 'nothing')):
        done = subprocess.run([SLUICECTL, 'audit', 'verify', path], capture_output=True,
                              timeout=30, check=False)
        equal((done.returncode, b'cannot read' in done.stderr), (2, True), 'of %s' % path)
    os.rename(files(daemon)[0], gone)
    os.mkdir(gone[:-len('.gone')])
    equal(subprocess.run([SLUICECTL, 'audit', 'verify', daemon.audit], capture_output=True,
                         timeout=30, check=False).returncode, 2, 'a directory for a file')


def a_lost_file_closes(bench):
    """A file that is removed, renamed or cut: as a full disk, until it is as it was."""
    daemon, server = bench.daemon(), bench.server(echo)
    cgroup = bench.cgroup()
    daemon.call('watch', cgroup=cgroup)
    agent = bench.in_cgroup(cgroup, LIVE, server.port)
    equal(talk(agent, b'one'), b'echo', 'before')
    path = files(daemon)[0]
    os.rename(path, path + '.old')
    wait_for(lambda: daemon.status()['reasons'].get('audit_full'), 10, 'a stream ends')
    check('is lost' in daemon.read_log(), 'the log says nothing of it')
    check(talk(agent, b'two') != b'echo', 'the stream goes on')
    check(talk(agent, b'three') != b'echo', 'a new stream is not refused')
    os.rename(path + '.old', path)
    wait_for(lambda: not daemon.status()['audit']['failing'], 10, 'it can write again')
    equal(talk(agent, b'four'), b'echo', 'after')
    daemon.stop()
    verify(daemon)


def a_limit_of_size_is_a_full_disk(bench):
    """RLIMIT_FSIZE, at the start and later: an error, and no signal."""
    daemon, server = bench.daemon(), bench.server(echo)
    run_echo(daemon, server, line('x'))
    subprocess.run(['prlimit', '--pid', str(daemon.process.pid), '--fsize=%d' %
                    (os.path.getsize(files(daemon)[0]) + 100)], check=True)
    wait_for(lambda: run_echo(daemon, server, line('x')) != 'complete', 10, 'a refusal')
    equal(daemon.status()['audit']['failing'], True, 'failing')
    second = bench.daemon(start=False)
    done = bench.run(['prlimit', '--fsize=100', *second.arguments()])
    check(done.returncode == 1 and b'cannot be written' in done.stderr, 'it ended with %d: %r',
          done.returncode, done.stderr)


def connections_of_nobody_are_told(bench):
    """Connections to the listener that no agent made are counted in the trail."""
    daemon = bench.daemon()
    for _ in range(20):
        with contextlib.suppress(OSError), socket.create_connection(
                ('127.0.0.1', daemon.port), 2) as one:
            one.recv(10)
    count = wait_for(lambda: daemon.status()['reasons'].get('no_origin'), 10, 'the count')
    daemon.stop()
    rows = events(daemon, 'dropped')
    equal({row['reason'] for row in rows}, {'no_origin'}, 'the reason')
    equal(sum(row['streams_refused'] for row in rows), count, 'streams refused')


class SmallDisk:
    """A daemon whose trail is on a tmpfs that the test fills and empties."""

    def __init__(self, bench, policy, size='256k', options=()):
        self.daemon = bench.daemon(policy, start=False)
        self.daemon.options = list(options)
        self.ballast = os.path.join(self.daemon.audit, 'ballast')
        os.mkdir(self.daemon.audit, 0o700)
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=%s,mode=0700' % size, 'none',
                        self.daemon.audit], check=True)
        bench.undo.append(self.unmount)
        self.daemon.start()
        self.cgroup = bench.cgroup()
        self.daemon.call('watch', cgroup=self.cgroup)

    def fill(self):
        with open(self.ballast, 'wb', buffering=0) as out, contextlib.suppress(OSError):
            while True:
                out.write(bytes(4096))
        with open(files(self.daemon)[-1], 'rb') as trail:
            return os.fstat(trail.fileno()).st_size

    def unmount(self):
        if self.daemon.process:
            self.daemon.kill()
        subprocess.run(['umount', '-l', self.daemon.audit], check=False)

    def empty(self):
        os.unlink(self.ballast)


def talk(agent, word):
    agent.stdin.write(word + b'\n')
    agent.stdin.flush()
    return agent.stdout.readline().strip()


def fill_up(disk, agent):
    """Fills the disk and talks on new streams until a record cannot be written."""
    disk.fill()
    for _ in range(200):
        if disk.daemon.status()['audit']['failing']:
            return
        agent()
    raise AssertionError('the disk is not full: %r' % disk.daemon.status()['audit'])


def filled_disk(bench, policy):
    """One that is full now, an agent whose stream was open before, and who it talks to."""
    server = bench.server(echo)
    disk = SmallDisk(bench, policy)
    agent = bench.in_cgroup(disk.cgroup, LIVE, server.port)
    equal(talk(agent, b'one'), b'echo', 'before')

    def once():
        bench.in_cgroup(disk.cgroup, MANY, server.port, 3).wait(20)
    fill_up(disk, once)
    return disk, agent, server


def a_full_disk_closes(bench):
    """A full disk: mediated streams end with audit_full, new ones are refused; then not."""
    disk, agent, _ = filled_disk(bench, POLICY)
    daemon = disk.daemon
    wait_for(lambda: daemon.status()['reasons'].get('audit_full'), 10, 'a stream ends')
    check(talk(agent, b'two') != b'echo', 'the stream goes on')
    check(talk(agent, b'three') != b'echo', 'a new stream is not refused')
    check(daemon.status()['audit']['refused'] > 0, 'refused: %r', daemon.status()['audit'])
    disk.empty()
    wait_for(lambda: not daemon.status()['audit']['failing'], 10, 'it can write again')
    equal(talk(agent, b'four'), b'echo', 'after')
    equal(daemon.stop(), 0, 'exit status')
    lost = events(daemon, 'dropped')[0]
    equal(lost['reason'], 'audit_full', 'what was lost')
    check(lost['streams_refused'] > 0, 'streams refused: %r', lost)
    verify(daemon)


def a_full_disk_drops(bench):
    """A full disk under on_full: drop: streams go on, what is dropped is counted."""
    disk, agent, server = filled_disk(bench, DROP)
    daemon = disk.daemon
    equal(talk(agent, b'two'), b'echo', 'meanwhile')
    bench.in_cgroup(disk.cgroup, MANY, server.port, 100).wait(30)
    dropped = daemon.status()['audit']['dropped']
    check(dropped > 0, 'nothing was dropped')
    disk.empty()
    wait_for(lambda: events(daemon, 'dropped'), 10, 'the record of it')
    equal(events(daemon, 'dropped')[0]['records'], dropped, 'records dropped')
    equal(talk(agent, b'three'), b'echo', 'after')
    daemon.stop()
    verify(daemon)


def a_disk_of_the_size_of_the_trail(bench):
    """Files that need all of the disk: the oldest makes room, which is said, and no more."""
    server = bench.server(echo)
    disk = SmallDisk(bench, POLICY, '128k', ['--audit-file-bytes', '65536', '--audit-files', '2'])
    daemon = disk.daemon
    agent = bench.in_cgroup(disk.cgroup, MANY, server.port, 300)
    equal(agent.stdout.read(), b'300\n', 'complete streams')
    check(events(daemon, 'pruned'), 'no record of it')
    equal(daemon.status()['audit']['errors'], 0, 'errors')
    daemon.stop()
    verify(daemon)


def a_disk_that_others_fill(bench):
    """Who fills the disk from elsewhere costs the trail one file of those that are kept."""
    server = bench.server(echo)
    disk = SmallDisk(bench, POLICY, '512k', ['--audit-file-bytes', '65536', '--audit-files', '3'])
    daemon = disk.daemon

    def once():
        bench.in_cgroup(disk.cgroup, MANY, server.port, 50).wait(20)
    while len(files(daemon)) < 3:
        once()
    disk.fill()
    for _ in range(20):
        once()
        with open(disk.ballast, 'ab', buffering=0) as out, contextlib.suppress(OSError):
            while True:
                out.write(bytes(4096))
    equal(daemon.status()['audit']['failing'], True, 'failing')
    check(len(files(daemon)) >= 2, 'files that are left: %r', files(daemon))


def a_long_session_keeps_within_a_quota(bench):
    """One session that has used its cgroup's share up ends, whatever its records are."""
    daemon = bench.daemon(CLOSE.replace('audit: {', 'audit: {watermarks: true, '))
    server = bench.server(echo)
    # So many that their records would be several times the quota.
    end = run_echo(daemon, server, *[line('a')] * 6000)
    check(end != 'complete', 'it was complete')
    equal(daemon.status()['reasons'], {'audit_quota': 1}, 'the reason')
    check(os.path.getsize(files(daemon)[0]) < 1048576 + 16384, 'the size of the trail')
    equal([row['end'] for row in events(daemon, 'session_settled')], ['failed'], 'settled')


def a_quota_refuses(bench):
    """A cgroup that has used its share up gets no new stream; another cgroup does."""
    daemon, server = bench.daemon(CLOSE), bench.server(echo)
    good = int(daemon.agent(MANY, server.port, 1500).stdout)
    check(300 < good < 1500, '%d streams were complete', good)
    equal(daemon.status()['reasons'].get('audit_quota', 0) > 0, True, 'the reason')
    equal(run_echo(daemon, server, line('x')), 'complete', 'another cgroup')
    wait_for(lambda: events(daemon, 'dropped'), 10, 'the record of it')
    rows = events(daemon, 'dropped')
    equal({row['reason'] for row in rows}, {'audit_quota'}, 'the reason')
    check(sum(row['streams_refused'] for row in rows) ==
          daemon.status()['audit']['quota']['refused'], 'streams refused: %r', rows)
    check(os.path.getsize(files(daemon)[0]) < 1048576 + 65536, 'the size of the trail')
    verify(daemon)


def a_quota_drops(bench):
    """Under on_full: drop the streams go on, and their records are counted."""
    daemon, server = bench.daemon(DROP), bench.server(echo)
    began = time.monotonic()
    good = int(daemon.agent(MANY, server.port, 1200).stdout)
    equal(good, 1200, 'complete streams')
    wait_for(lambda: events(daemon, 'dropped'), 10, 'the record of it')
    check(daemon.status()['audit']['quota']['dropped'] > 0, 'nothing was dropped')
    told = len(events(daemon, 'dropped'))
    check(told <= time.monotonic() - began + 2, '%d records of it', told)
    verify(daemon)


def a_trail_that_cannot_be_kept(bench):
    """A start that cannot open its trail fails and says why; two daemons share none."""
    first, second = bench.daemon(), bench.daemon(start=False)
    second.audit = first.audit
    done = bench.run(second.arguments())
    equal(done.returncode, 1, 'exit status')
    check(b'another daemon writes to' in done.stderr, 'it said %r', done.stderr)
    os.chmod(bench.folder, 0o777)
    second.audit = bench.folder
    done = bench.run(second.arguments())
    os.chmod(bench.folder, 0o755)
    check(done.returncode == 1 and b'others may write' in done.stderr, 'it said %r', done.stderr)
    second.audit = bench.file('plain', '')
    done = bench.run(second.arguments())
    check(done.returncode == 1 and b'audit trail' in done.stderr, 'it said %r', done.stderr)


def a_private_daemon_has_one_where_asked(bench):
    """run --audit DIR: a private daemon keeps a trail; one that answers has its own."""
    folder = os.path.join(bench.folder, 'private')
    server = bench.server(echo)
    run = bench.private_run([PYTHON, bench.file('a.py', MANY), str(server.port), '1'], POLICY,
                            ['--audit', folder])
    run.communicate(timeout=30)
    equal(run.returncode, 0, 'exit status')
    daemon = bench.daemon()
    done = subprocess.run([SLUICECTL, 'audit', 'verify', folder], capture_output=True, timeout=30,
                          check=False)
    equal(done.returncode, 0, 'verify said %r' % done.stdout)
    done = daemon.agent(MANY, server.port, 1, options=['--audit', folder])
    equal(done.returncode, 125, 'exit status beside a daemon that answers')


if __name__ == '__main__':
    main([every_record_has_its_form, a_clean_stream_is_counted, a_denial_is_recorded,
          no_text_is_recorded, watermarks_are_recorded_where_the_policy_asks,
          refused_reset_and_relayed_streams, exchanges_of_one_connection,
          control_calls_are_recorded, rotation_keeps_the_chain, a_kill_loses_no_record,
          a_turn_of_the_loop_is_on_disk_when_it_is_over, a_head_finds_truncation,
          a_live_trail_verifies, what_cannot_be_read_is_no_fault, a_lost_file_closes,
          a_limit_of_size_is_a_full_disk, connections_of_nobody_are_told,
          a_full_disk_closes, a_full_disk_drops, a_disk_of_the_size_of_the_trail,
          a_disk_that_others_fill, a_long_session_keeps_within_a_quota, a_quota_refuses,
          a_quota_drops, a_trail_that_cannot_be_kept, a_private_daemon_has_one_where_asked])
