#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The main job, three times, with an ordinary client and server:

1. clean text arrives byte for byte, as it comes;
2. a refused word, split over three writes, does not arrive, nor any part of it;
3. the same with what is not cleared already in the kernel, and the daemon killed.

Prints what was sent, what arrived and what was withheld; exits non-zero where
that is not what it should be. Takes away all that it made.
"""
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from server import StreamingServer

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get('BUILD', 'build'))
SLUICED, SLUICECTL = os.path.join(BUILD, 'sluiced'), os.path.join(BUILD, 'sluicectl')
BPFTOOL = next((p for p in ('/usr/sbin/bpftool', '/usr/bin/bpftool') if os.path.exists(p)),
               'bpftool')
INSTANCE = 'demo-%d' % os.getpid()
# Numbers of counters, as in include/sluice/abi.h.
HELD_PACKETS, HELD_BYTES = 10, 11


class Unexpected(Exception):
    """Something was not as it has to be."""


def expect(condition, text, *args):
    if not condition:
        raise Unexpected(text % args)


def unit(text):
    return json.dumps({'t': text}).encode() + b'\n'


def heading(text):
    print('\n== %s\n' % text, flush=True)


def verdict(text):
    print('\n   OK: %s' % text, flush=True)


class Demo:
    def __init__(self):
        # The client runs as an unprivileged user, who must be able to read it.
        self.folder = tempfile.mkdtemp(prefix='sluice-demo-')
        os.chmod(self.folder, 0o755)
        self.client = os.path.join(self.folder, 'client.py')
        shutil.copy(os.path.join(HERE, 'client.py'), self.client)
        os.chmod(self.client, 0o644)
        self.socket = os.path.join(self.folder, 'demo.sock')
        self.daemon, self.processes, self.servers = None, [], []

    def spawn(self, command, **options):
        process = subprocess.Popen(command, **options)
        self.processes.append(process)
        return process

    def server(self, *args, **options):
        server = StreamingServer(*args, **options)
        self.servers.append(server)
        return server

    def run(self, policy, *words):
        """An ordinary client under `sluicectl run`; a private daemon serves the run."""
        shown = 'sluicectl run --policy %s -- python3 client.py %s' % (policy, ' '.join(words))
        print('   $ ' + shown)
        run = self.spawn([SLUICECTL, '--socket', self.socket, 'run', '--policy',
                          os.path.join(HERE, policy), '--', '/usr/bin/python3', self.client,
                          *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = run.communicate(timeout=60)
        rows = out.decode().splitlines()
        for row in rows[:-1]:
            print('     ' + row)
        summary = err.decode().strip()
        print('   run says: %s' % summary)
        expect(run.returncode == 0 and rows, 'run ended with status %d', run.returncode)
        return rows[:-1], json.loads(rows[-1]), summary

    def start_daemon(self, policy):
        read_end, write_end = os.pipe()
        self.daemon = self.spawn(
            [SLUICED, '--instance', INSTANCE, '--socket', self.socket, '--port', str(free_port()),
             '--policy', os.path.join(HERE, policy), '--ready-fd', str(write_end)],
            pass_fds=[write_end], stderr=subprocess.PIPE)
        os.close(write_end)
        with os.fdopen(read_end) as ready:
            said = ready.readline().strip()
        expect(said == 'ready', 'sluiced said %r', said)

    def counters(self):
        """The kernel's counters as the daemon reports them."""
        said = subprocess.check_output([SLUICECTL, '--socket', self.socket, 'status', '--json'])
        return json.loads(said)['counters']

    def close(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        for server in self.servers:
            server.close()
        if self.daemon:
            subprocess.run([SLUICED, '--instance', INSTANCE, '--remove'], check=False,
                           stdout=subprocess.DEVNULL)
        shutil.rmtree(self.folder, ignore_errors=True)


def free_port():
    """A port below 1024 that nobody has; it is bound only for this moment."""
    for port in random.sample(range(600, 1000), 400):
        try:
            socket.create_server(('127.0.0.1', port)).close()
            return port
        except OSError:
            continue
    raise Unexpected('no free port below 1024')


def clean(demo):
    heading('1. Clean text: byte for byte, as it comes')
    words = 'once upon a time a forbearing river ran to the sea caf\u00e9'.split()
    writes = [unit(word) for word in words]
    server = demo.server(writes, pause=0.12)
    rows, got, _ = demo.run('policy.yaml', 'ask', str(server.port))
    sent = hashlib.sha256(b''.join(writes)).hexdigest()
    print('   sent     %3d bytes, SHA-256 %s' % (len(b''.join(writes)), sent))
    print('   arrived  %3d bytes, SHA-256 %s, then: %s' % (got['bytes'], got['sha256'], got['end']))
    expect(got['sha256'] == sent, 'other bytes arrived')
    expect(bytes(server.arrived) == unit('tell me a story'), 'the request arrived as %r',
           bytes(server.arrived))
    times = [float(row.split()[0]) for row in rows]
    expect(len(times) == len(writes), '%d lines arrived', len(times))
    expect(times[-1] - times[0] > 0.09 * (len(writes) - 1), 'the lines came at once, in the end')
    verdict('what arrived is what was sent, each line when it was written')


def refused(demo):
    heading('2. A refused word, split over three writes')
    first = [unit('a fine line'), unit('another one')]
    split = [b'{"t": "this is forb', b'idd', b'en knowledge"}\n']
    server = demo.server(first + split + [unit('never seen')], pause=0.15)
    print('   the server writes: %s' % ', '.join(repr(w.decode()) for w in server.writes))
    _, got, summary = demo.run('policy.yaml', 'ask', str(server.port))
    cleared = b''.join(first)
    print('   arrived  %3d bytes, then: %s' % (got['bytes'], got['end']))
    withheld = re.search(r'runes released \d+, withheld (\d+); bytes released \d+, withheld (\d+);'
                         r'.* reasons: (\S+)', summary)
    expect(withheld, 'the summary does not say what was withheld, and why')
    print('   withheld %s runes in %s bytes: %s' % withheld.groups())
    expect(got['sha256'] == hashlib.sha256(cleared).hexdigest(), 'other bytes arrived')
    expect(got['end'] == 'Connection reset by peer', 'the client saw %r', got['end'])
    expect(withheld.group(3) == 'denied:words', 'the reason is %s', withheld.group(3))
    verdict('the units before the refused one arrived, nothing of it did')


def pinned_counters(pins):
    """The kernel's counters by number, from the pinned map, without a daemon."""
    for name in sorted(os.listdir(pins)):
        if 'counter' not in name:
            continue
        said = subprocess.run([BPFTOOL, '-j', 'map', 'dump', 'pinned', os.path.join(pins, name)],
                              capture_output=True, check=False)
        if said.returncode:
            continue
        sums = {}
        for entry in json.loads(said.stdout):
            key = int.from_bytes(bytes(int(b, 16) for b in entry['key']), 'little')
            sums[key] = sum(int.from_bytes(bytes(int(b, 16) for b in cpu['value']), 'little')
                            for cpu in entry['values'])
        return sums
    raise Unexpected('no pinned counters below %s' % pins)


def until_held(demo, server, cleared):
    """Waits until the cleared units have arrived and the gate holds the rest; its counters."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        counters = demo.counters()
        if bytes(server.arrived) == cleared and counters['held_packets']:
            return counters
        time.sleep(0.05)
    raise Unexpected('the server has %r, the gate counts %r' % (bytes(server.arrived), counters))


def killed(demo):
    heading('3. Written ahead into the kernel, and the daemon killed in mid-hold')
    server = demo.server()
    demo.start_daemon('policy-reset.yaml')
    print('   $ sluiced --policy policy-reset.yaml &\n'
          '   $ sluicectl run -- python3 client.py upload %d' % server.port)
    run = demo.spawn([SLUICECTL, '--socket', demo.socket, 'run', '--', '/usr/bin/python3',
                      demo.client, 'upload', str(server.port)], stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    print('     ' + run.stdout.readline().decode().strip())
    cleared = unit('line one') + unit('line two')
    counters = until_held(demo, server, cleared)
    print('   arrived at the server: %r' % bytes(server.arrived).decode())
    print('   the gate holds: %d packets refused so far, %d payload bytes in them' % (
        counters['held_packets'], counters['held_bytes']))
    demo.daemon.kill()
    demo.daemon.wait()
    print('   $ kill -9 %d   (the daemon)' % demo.daemon.pid)
    run.stdin.write(b'\n')
    run.stdin.flush()
    time.sleep(2)
    out, _ = run.communicate(timeout=20)
    for row in out.decode().splitlines():
        print('     ' + row)
    pins = os.path.join('/sys/fs/bpf/sluice', INSTANCE)
    sums = pinned_counters(pins)
    print('   2 s later the pinned counters say: %d packets refused, %d bytes (the kernel tried '
          'again)' % (sums[HELD_PACKETS], sums[HELD_BYTES]))
    print('   arrived at the server: %r, then: %s' % (bytes(server.arrived).decode(),
                                                      server.end or 'nothing'))
    expect(bytes(server.arrived) == cleared, 'more arrived after the daemon was killed')
    expect(sums[HELD_PACKETS] >= counters['held_packets'], 'the pinned counters went back')
    expect(b'a new connection: Connection refused' in out, 'a new connection was not refused')
    expect(server.connections == 1, 'another connection reached the server')
    verdict('with the daemon dead nothing more arrived, and new connections are refused')


def main():
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit('ended by signal %d' % number))
    demo = Demo()
    print('Sluice: what an unmodified program sends and receives is held until it is cleared.')
    try:
        for part in (clean, refused, killed):
            part(demo)
    except (Unexpected, OSError, subprocess.SubprocessError, ValueError) as error:
        print('\n   FAILED: %s' % error, flush=True)
        return 1
    finally:
        demo.close()
    print('\nAll three runs went as they must.')
    return 0


if __name__ == '__main__':
    sys.exit(main())
