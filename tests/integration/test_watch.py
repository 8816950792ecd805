#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""watch and unwatch of a cgroup with live processes in it."""
import json
import os

import peers
from sluice_test import POLICY, line, main
from waiting import check, equal, wait_for

AGENT = '''
import socket, sys
socks = {}
for row in sys.stdin:
    word, *args = row.split()
    try:
        said = "done"
        if word == "connect":
            s = socks[args[0]] = socket.socket()
            s.settimeout(5)
            s.connect(("127.0.0.1", int(args[1])))
        elif word == "make":
            kind = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}[args[1]]
            s = socks[args[0]] = socket.socket(socket.AF_INET, kind)
            s.settimeout(5)
        elif word == "dial":
            socks[args[0]].connect(("127.0.0.1", int(args[1])))
        elif word == "pair":
            socks[args[0]], socks[args[0] + "'"] = socket.socketpair()
        elif word == "vsock":
            s = socks[args[0]] = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
        elif word == "close":
            socks.pop(args[0]).close()
        elif word == "listen":
            s = socks[args[0]] = socket.socket()
            s.bind(("127.0.0.1", 0))
            s.listen()
        elif word == "udp":
            s = socks[args[0]] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.connect(("127.0.0.1", int(args[1])))
        elif word == "send":
            socks[args[0]].sendall(bytes.fromhex(args[1]))
        elif word == "receive":
            said = socks[args[0]].recv(1000).hex() or "eof"
        print(said, flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
'''


class Inside:
    """An agent in a cgroup that is watched later, or (born: elsewhere) not in it yet."""

    def __init__(self, bench, born=None):
        self.daemon = bench.daemon()
        self.cgroup = bench.cgroup()
        self.agent = bench.in_cgroup(born or self.cgroup, AGENT)

    def move_in(self):
        with open(os.path.join(self.cgroup, 'cgroup.procs'), 'w', encoding='ascii') as procs:
            procs.write(str(self.agent.pid))

    def tell(self, *words):
        self.agent.stdin.write((' '.join(map(str, words)) + '\n').encode())
        self.agent.stdin.flush()
        return self.agent.stdout.readline().decode().strip()

    def watch(self, *options, status=0):
        done = self.daemon.ctl('watch', *options, self.cgroup)
        equal(done.returncode, status, 'exit status of watch; it said %r' % done.stderr)
        return done


def watched_and_unwatched(bench):
    """a live process is judged from watch to unwatch, and neither before nor after"""
    server = bench.server(peers.echo)
    it = Inside(bench)
    equal(it.tell('connect', 'a', server.port), 'done', 'connect before watch')
    equal(it.tell('send', 'a', b'forbidden'.hex()), 'done', 'send before watch')
    equal(it.tell('receive', 'a'), b'forbidden'.hex(), 'the echo before watch')
    done = it.watch('--destroy')
    check(done.stdout or done.stderr, 'watch said nothing of what stays open')
    equal(it.tell('connect', 'b', server.port), 'done', 'connect while watched')
    it.tell('send', 'b', line('clean').hex())
    equal(it.tell('receive', 'b'), line('clean').hex(), 'the echo while watched')
    it.tell('send', 'b', line('forbidden').hex())
    equal(it.tell('receive', 'b'), 'ConnectionResetError', 'a refused term while watched')
    equal(bytes(server.ended(1).data), line('clean'), 'what arrived while watched')
    watches = it.daemon.status()['watches']
    equal([(w['path'], w['kind']) for w in watches], [(it.cgroup, 'watch')], 'watches')
    done = it.daemon.ctl('watch', '/tmp')
    check(done.returncode == 1 and b"'/tmp' is not a cgroup v2 directory" in done.stderr,
          'watch /tmp said %r', done.stderr)
    ways = watches[0]['open_ways']
    for way in ('vsock', 'hands over', 'io_uring', 'moved into'):
        check(any(way in listed for listed in ways), '%r is not listed as open: %r', way, ways)
    equal(it.daemon.ctl('unwatch', it.cgroup).returncode, 0, 'exit status of unwatch')
    equal(it.daemon.status()['watches'], [], 'watches after unwatch')
    equal(it.tell('connect', 'c', server.port), 'done', 'connect after unwatch')
    equal(it.tell('send', 'c', b'forbidden'.hex()), 'done', 'send after unwatch')
    equal(it.tell('receive', 'c'), b'forbidden'.hex(), 'the echo after unwatch')


def existing_sockets_are_destroyed(bench):
    """with --destroy the sockets a process has are destroyed; without, the watch is refused"""
    server = bench.server(peers.echo)
    it = Inside(bench)
    equal(it.tell('connect', 'a', server.port), 'done', 'connect before watch')
    it.tell('send', 'a', line('before').hex())
    equal(it.tell('receive', 'a'), line('before').hex(), 'the echo before watch')
    done = it.watch(status=1)
    check(b'--destroy' in done.stderr, 'it said %r', done.stderr)
    equal(it.daemon.status()['watches'], [], 'watches after a refusal')
    it.tell('send', 'a', line('still').hex())
    equal(it.tell('receive', 'a'), line('still').hex(), 'the echo after a refusal')
    it.watch('--destroy')
    first, then = it.tell('send', 'a', line('late').hex()), it.tell('receive', 'a')
    check(not (first == 'done' and then == line('late').hex()), 'the old socket still works')
    check(b'late' not in server.connection().data, 'the old socket still sends')


def existing_udp_is_destroyed(bench):
    """a connected UDP socket from before the watch sends nothing more"""
    receiver = peers.socket.socket(peers.socket.AF_INET, peers.socket.SOCK_DGRAM)
    receiver.bind(('127.0.0.1', 0))
    receiver.settimeout(2)
    bench.undo.append(receiver.close)
    it = Inside(bench)
    equal(it.tell('udp', 'u', receiver.getsockname()[1]), 'done', 'a UDP socket')
    it.tell('send', 'u', b'before'.hex())
    equal(receiver.recv(100), b'before', 'a datagram before watch')
    it.watch('--destroy')
    it.tell('send', 'u', b'after'.hex())
    receiver.settimeout(0.3)
    try:
        raise AssertionError('a datagram after watch: %r' % receiver.recv(100))
    except TimeoutError:
        pass


def refused_for_strangers(it, count, *options):
    done = it.watch(*options, status=1)
    said = done.stderr.decode()
    equal(len(said.strip().splitlines()), 1, 'lines of %r' % said)
    for what in (it.cgroup, 'first %d' % it.agent.pid, '(%d)' % count, 'made outside'):
        check(what in said, 'no %r in %r', what, said)
    equal(it.daemon.status()['watches'], [], 'watches after a refusal')


def sockets_made_outside(bench):
    """a process that was moved in with TCP or UDP sockets made elsewhere is refused, --destroy or not"""
    server = bench.server(peers.echo)
    it = Inside(bench, born=bench.cgroup('elsewhere'))
    equal(it.tell('make', 'idle', 'tcp'), 'done', 'a TCP socket')
    it.move_in()
    refused_for_strangers(it, 1)
    refused_for_strangers(it, 1, '--destroy')
    # Untouched: what it has connects, unseen, as if nothing had been asked for.
    equal(it.tell('dial', 'idle', server.port), 'done', 'connect after a refusal')
    it.tell('send', 'idle', b'forbidden'.hex())
    equal(it.tell('receive', 'idle'), b'forbidden'.hex(), 'the echo after a refusal')
    refused_for_strangers(it, 1, '--destroy')
    it.tell('send', 'idle', b'still'.hex())
    equal(it.tell('receive', 'idle'), b'still'.hex(), 'the echo after another refusal')
    equal(it.tell('close', 'idle'), 'done', 'close')
    it.watch()


def udp_made_outside(bench):
    """the same for a UDP socket, connected or not; one of TCP made inside does not matter"""
    it = Inside(bench, born=bench.cgroup('elsewhere'))
    equal(it.tell('make', 'a', 'udp'), 'done', 'a UDP socket')
    equal(it.tell('udp', 'b', 9), 'done', 'a connected UDP socket')
    it.move_in()
    equal(it.tell('make', 'c', 'tcp'), 'done', 'a TCP socket')
    refused_for_strangers(it, 2, '--destroy')
    it.tell('close', 'a')
    refused_for_strangers(it, 1)
    it.tell('close', 'b')
    it.watch()


def unconnected_inside_is_captured(bench):
    """sockets made inside and not connected yet stay, and are judged or refused when they do"""
    receiver = peers.socket.socket(peers.socket.AF_INET, peers.socket.SOCK_DGRAM)
    receiver.bind(('127.0.0.1', 0))
    receiver.settimeout(0.3)
    bench.undo.append(receiver.close)
    server = bench.server()
    it = Inside(bench)
    equal(it.tell('make', 'a', 'tcp'), 'done', 'a TCP socket')
    equal(it.tell('make', 'u', 'udp'), 'done', 'a UDP socket')
    it.watch()
    equal(it.tell('dial', 'a', server.port), 'done', 'connect while watched')
    it.tell('send', 'a', (line('clean') + line('forbidden')).hex())
    equal(it.tell('receive', 'a'), 'ConnectionResetError', 'a refused term while watched')
    equal(bytes(server.ended().data), line('clean'), 'what arrived')
    equal(it.daemon.status()['streams']['denied'], 1, 'denied streams')
    it.tell('dial', 'u', receiver.getsockname()[1])
    it.tell('send', 'u', b'after'.hex())
    try:
        raise AssertionError('a datagram while watched: %r' % receiver.recv(100))
    except TimeoutError:
        pass


def destroyed_inside_is_captured(bench):
    """a socket made inside and destroyed by the watch is judged when it connects again"""
    server = bench.server()
    it = Inside(bench)
    equal(it.tell('connect', 'a', server.port), 'done', 'connect before watch')
    it.watch('--destroy')
    # The kernel first reports what became of the old connection.
    said = [it.tell(*words) for words in (('receive', 'a'), ('dial', 'a', server.port),
                                          ('dial', 'a', server.port))]
    equal(said[-1], 'done', 'connect anew while watched, after %r' % said)
    it.tell('send', 'a', (line('clean') + line('forbidden')).hex())
    equal(it.tell('receive', 'a'), 'ConnectionResetError', 'a refused term while watched')
    equal(bytes(server.ended(1).data), line('clean'), 'what arrived')


def listeners_inside(bench):
    """a listener made inside is destroyed with --destroy; without, the watch is refused"""
    it = Inside(bench)
    equal(it.tell('listen', 'l'), 'done', 'a listener')
    done = it.watch(status=1)
    check(b'hold 1 TCP or UDP sockets' in done.stderr and b'--destroy' in done.stderr,
          'it said %r', done.stderr)
    it.watch('--destroy')


def local_and_foreign_sockets(bench):
    """Unix sockets stay, and are told of; a vsock socket refuses the watch by its name"""
    it = Inside(bench)
    equal(it.tell('pair', 'p'), 'done', 'a pair of Unix sockets')
    if it.tell('vsock', 'v') == 'done':
        done = it.watch('--destroy', status=1)
        check(b'holds a vsock socket' in done.stderr, 'it said %r', done.stderr)
        it.tell('close', 'v')
    done = it.watch()
    check(b'2 Unix sockets' in done.stdout, 'it said %r', done.stdout)
    ways = it.daemon.status()['watches'][0]['open_ways']
    check(any('2 Unix sockets' in way for way in ways), 'open_ways are %r', ways)


def threaded_is_refused(bench):
    """a threaded cgroup is refused: its threads share descriptors with others outside"""
    it = Inside(bench)
    below = os.path.join(it.cgroup, 'below')
    os.mkdir(below)
    bench.cgroups.append(below)
    with open(os.path.join(below, 'cgroup.type'), 'w', encoding='ascii') as kind:
        kind.write('threaded')
    done = it.daemon.ctl('watch', below)
    equal(done.returncode, 1, 'exit status; it said %r' % done.stderr)
    check(b'threaded' in done.stderr, 'it said %r', done.stderr)
    equal(it.daemon.status()['watches'], [], 'watches')
    it.watch()


def nested_is_refused(bench):
    """neither a cgroup below nor one above a watched one can be watched, nor the same twice"""
    it = Inside(bench)
    below = os.path.join(it.cgroup, 'below')
    os.mkdir(below)
    bench.cgroups.append(below)
    it.watch()
    for path in (below, it.cgroup):
        done = it.daemon.ctl('watch', path)
        equal(done.returncode, 1, 'exit status for %s; %r' % (path, done.stderr))
        check(done.stderr.strip(), 'nothing was said')
    equal(it.daemon.ctl('unwatch', it.cgroup).returncode, 0, 'exit status of unwatch')
    equal(it.daemon.ctl('watch', below).returncode, 0, 'watch of the lower one')
    it.watch(status=1)


def a_process_below_is_watched_too(bench):
    """a process in a cgroup below the watched one is judged"""
    server = bench.server()
    it = Inside(bench)
    below = os.path.join(it.cgroup, 'below')
    os.mkdir(below)
    bench.cgroups.append(below)
    it.watch()
    agent = bench.in_cgroup(below, AGENT)
    agent.stdin.write(b'connect a %d\nsend a %s\nsend a %s\nreceive a\n' % (
        server.port, line('clean').hex().encode(), line('forbidden').hex().encode()))
    agent.stdin.flush()
    said = [agent.stdout.readline().decode().strip() for _ in range(4)]
    check(said[0] == 'done' and said[3] == 'ConnectionResetError', 'it saw %r', said)
    equal(bytes(server.ended().data), line('clean'), 'what arrived')


def impossible_watches(bench):
    """what is no cgroup, holds the daemon, or is gone, is refused in one line"""
    daemon = bench.daemon()
    gone = bench.cgroup('gone')
    os.rmdir(gone)
    for path in (gone, '/tmp', '/nonexistent', daemon.cgroup, os.path.join(daemon.cgroup, 'daemon'),
                 os.path.dirname(daemon.cgroup)):
        done = daemon.ctl('watch', path)
        equal(done.returncode, 1, 'exit status for %s; %r' % (path, done.stderr))
        equal(len(done.stderr.decode().strip().splitlines()), 1, 'lines for %s: %r' % (
            path, done.stderr))
    equal(daemon.ctl('unwatch', gone).returncode, 1, 'unwatch of what is not watched')
    equal(daemon.status()['watches'], [], 'watches')


def open_streams_outlive_their_watch(bench):
    """a stream that is open at unwatch is judged to its end, under the policy it began with"""
    server = bench.server()
    it = Inside(bench)
    it.watch()
    it.tell('connect', 'a', server.port)
    it.tell('send', 'a', (line('clean') + b'{"t":"forb').hex())
    connection = server.connection()
    wait_for(lambda: bytes(connection.data) == line('clean'), 5, 'the clean line')
    equal(it.daemon.ctl('unwatch', it.cgroup).returncode, 0, 'exit status of unwatch')
    it.tell('send', 'a', b'idden"}\n'.hex())
    equal(it.tell('receive', 'a'), 'ConnectionResetError', 'a refused term after unwatch')
    equal(bytes(server.ended().data), line('clean'), 'what arrived')
    wait_for(lambda: it.daemon.status()['streams']['open'] == 0, 5, 'the stream to settle')
    equal(it.daemon.status()['streams']['denied'], 1, 'denied streams')


def survives_a_restart(bench):
    """a watch stays in force over a graceful restart of the daemon"""
    server = bench.server()
    it = Inside(bench)
    it.watch()
    equal(it.daemon.stop(), 0, 'exit status of the stop')
    equal(it.tell('connect', 'a', server.port), 'ConnectionRefusedError', 'connect while stopped')
    it.daemon.start()
    equal([w['path'] for w in it.daemon.status()['watches']], [it.cgroup], 'watches')
    equal(it.tell('connect', 'b', server.port), 'done', 'connect after the restart')
    it.tell('send', 'b', (line('clean') + line('forbidden')).hex())
    equal(it.tell('receive', 'b'), 'ConnectionResetError', 'a refused term after the restart')
    equal(bytes(server.ended().data), line('clean'), 'what arrived')


def its_policy_can_be_its_own(bench):
    """watch --policy takes a policy of the cgroup's own"""
    server = bench.server()
    it = Inside(bench)
    it.watch('--policy', bench.file('own.yaml', POLICY.replace('forbidden', 'elephant')
                                    .replace('name: test', 'name: own')))
    it.tell('connect', 'a', server.port)
    both = line('forbidden') + line('an elephant')
    it.tell('send', 'a', both.hex())
    equal(it.tell('receive', 'a'), 'ConnectionResetError', 'a term of its own policy')
    equal(bytes(server.ended().data), line('forbidden'), 'what arrived')
    names = [p['name'] for p in json.loads(it.daemon.ctl('status', '--json').stdout)['policies']]
    check('own' in names, 'status lists the policies %r', names)


if __name__ == '__main__':
    main([watched_and_unwatched, existing_sockets_are_destroyed, existing_udp_is_destroyed,
          sockets_made_outside, udp_made_outside, unconnected_inside_is_captured,
          destroyed_inside_is_captured, listeners_inside, local_and_foreign_sockets,
          threaded_is_refused, nested_is_refused, a_process_below_is_watched_too, impossible_watches,
          open_streams_outlive_their_watch, survives_a_restart, its_policy_can_be_its_own])
