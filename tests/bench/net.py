#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a stream costs on its way through Sluice, beside HAProxy on the same machine.

Every figure is taken in turn, direct, through HAProxy (`mode tcp`, one thread) and
through Sluice, ROUNDS times in one run; the median of the rounds is reported, with
ratios, since the machine's own speed drifts. One JSON line per figure, as the other
benchmarks print. As root.
"""
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from sluice_test import BUILD, Bench  # noqa: E402

ROUNDS = int(os.environ.get('ROUNDS', '7'))
ROUND_TRIPS = 20000
LINE_BYTES = 120
BULK_BYTES = 8 << 30
IDLE_STREAMS = 2000
TERMS = json.dumps(['%s%s' % (a, b) for a in ('alpha', 'forbidden', 'secret', 'token', 'key', 'payload',
                                              'exploit', 'password', 'internal', 'draft')
                    for b in ('-one', '-two', '-three', '-four', '-five', '-six', '-seven',
                              '-eight', '-nine', '-ten')])
POLICY = '''\
version: 1
name: bench
destinations:
  - {match: "*:%%(bulk)d", action: pass}
framing: ndjson
extract: "path:t"
join: unit
request: {tasks: [refused]}
response: {tasks: [refused]}
tasks:
  refused: {kind: terms, terms: %s}
''' % TERMS
HAPROXY = '''\
global
  nbthread 1
  maxconn 4096
defaults
  mode tcp
  timeout connect 5s
  timeout client 1m
  timeout server 1m
%(options)s
listen echo
  bind 127.0.0.1:%(echo_proxy)d
  server s 127.0.0.1:%(echo)d
listen bulk
  bind 127.0.0.1:%(bulk_proxy)d
  server s 127.0.0.1:%(bulk)d
'''


def report(name, value, unit, **more):
    print(json.dumps({'name': name, 'value': round(value, 3), 'unit': unit, **more}), flush=True)


class Measurement:
    """Servers, HAProxy and a daemon; runs the client on each path in turn."""

    def __init__(self, bench):
        self.bench = bench
        self.program = os.path.join(bench.folder, 'bench_net')
        shutil.copy(os.path.join(BUILD, 'tests', 'bench', 'bench_net'), self.program)
        os.chmod(self.program, 0o755)
        names = ('echo', 'bulk', 'idle', 'echo_proxy', 'bulk_proxy')
        self.ports = {name: bench.free_port() for name in names}
        for name, mode in (('echo', 'echo'), ('bulk', 'source'), ('idle', 'idle')):
            bench.spawn([self.program, mode, str(self.ports[name])])
        # Splice where HAProxy itself finds it worth while: its fastest way.
        config = HAPROXY % {**self.ports, 'options': '  option splice-auto'}
        bench.spawn(['haproxy', '-q', '-db', '-f', bench.file('haproxy.cfg', config)])
        self.daemon = bench.daemon(POLICY % self.ports)
        time.sleep(0.5)

    def client(self, sluice, *args):
        command = [self.program, *map(str, args)]
        done = self.bench.run(self.daemon.run_command(command) if sluice else command, seconds=120)
        if done.returncode:
            raise AssertionError('%s failed: %r' % (args, done.stderr))
        return json.loads(done.stdout)

    def paths(self, server):
        """(name, through Sluice, port) of the three ways to one server."""
        return (('direct', False, self.ports[server]),
                ('haproxy', False, self.ports[server + '_proxy']),
                ('sluice', True, self.ports[server]))


def round_trips(measurement):
    took = {'direct': [], 'haproxy': [], 'sluice': []}
    for _ in range(ROUNDS):
        for name, sluice, port in measurement.paths('echo'):
            took[name].append(measurement.client(sluice, 'rtt', '127.0.0.1', port, ROUND_TRIPS,
                                                 LINE_BYTES)['p50_us'])
    median = {name: statistics.median(values) for name, values in took.items()}
    for name, value in median.items():
        report('round trip of %d bytes, %s, p50' % (LINE_BYTES, name), value, 'us')
    ratios = [(s - d) / (h - d) for d, h, s in zip(took['direct'], took['haproxy'], took['sluice'])]
    report('added round trip, sluice mediated / haproxy blind', statistics.median(ratios), 'ratio',
           at_most=1.25, rounds=[round(r, 2) for r in ratios])


def bulk(measurement):
    speed = {'direct': [], 'haproxy': [], 'sluice': []}
    for _ in range(ROUNDS):
        for name, sluice, port in measurement.paths('bulk'):
            speed[name].append(measurement.client(sluice, 'bulk', '127.0.0.1', port,
                                                  BULK_BYTES)['gb_per_s'])
    for name, values in speed.items():
        report('bulk, %s' % name, statistics.median(values), 'GB/s')
    ratios = [s / h for h, s in zip(speed['haproxy'], speed['sluice'])]
    report('bulk, sluice pass / haproxy splice', statistics.median(ratios), 'ratio', at_least=1.5,
           rounds=[round(r, 2) for r in ratios])


def audit_cost(measurement):
    """A line there and its echo back, each released in the turn that records: with the trail,
    with a record of every watermark in it, and with none."""
    bench = measurement.bench
    plain = bench.daemon(POLICY % measurement.ports, start=False)
    plain.options = ['--no-audit']
    plain.start()
    watermarks = bench.daemon(POLICY % measurement.ports + 'audit: {watermarks: true, '
                              'quota_bytes_per_hour: 1099511627776}\n')
    daemons = {'none': plain, 'trail': measurement.daemon, 'watermarks': watermarks}
    took = {name: [] for name in daemons}
    for _ in range(ROUNDS):
        for name, daemon in daemons.items():
            done = bench.run(daemon.run_command([
                measurement.program, 'rtt', '127.0.0.1', str(measurement.ports['echo']),
                str(ROUND_TRIPS), str(LINE_BYTES)]), seconds=120)
            took[name].append(json.loads(done.stdout)['p50_us'])
    for name, at_most in (('trail', 1.1), ('watermarks', None)):
        ratios = [t / n for n, t in zip(took['none'], took[name])]
        report('round trip, audit %s / none' % name, statistics.median(ratios), 'ratio',
               at_most=at_most, rounds=[round(r, 2) for r in ratios])


def resident_kib(pid):
    with open('/proc/%d/status' % pid, encoding='ascii') as status:
        return next(int(row.split()[1]) for row in status if row.startswith('VmRSS'))


def idle_memory(measurement):
    pid = measurement.daemon.process.pid
    before = resident_kib(pid)
    holder = measurement.bench.spawn(
        measurement.daemon.run_command([measurement.program, 'hold', '127.0.0.1',
                                        str(measurement.ports['idle']), str(IDLE_STREAMS), '60']),
        stdout=subprocess.PIPE)
    holder.stdout.readline()
    time.sleep(1)
    streams = measurement.daemon.status()['streams']['open']
    report('user memory of an idle mediated stream, %d open' % streams,
           (resident_kib(pid) - before) / max(streams, 1), 'KiB', at_most=16)
    holder.terminate()
    holder.wait(20)


@contextlib.contextmanager
def a_bench():
    """One that is taken away again; what is left over of it is told."""
    bench = Bench('bench')
    try:
        yield bench
    finally:
        for complaint in bench.clean():
            print(complaint, file=sys.stderr)


def main():
    with a_bench() as bench:
        measurement = Measurement(bench)
        for measure in (idle_memory, round_trips, audit_cost, bulk):
            if len(sys.argv) < 2 or measure.__name__ in sys.argv[1:]:
                measure(measurement)


if __name__ == '__main__':
    main()
