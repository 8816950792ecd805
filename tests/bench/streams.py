#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What token streams cost on their way through Sluice: event streams in chunked HTTP,
a token an event, an event a chunk, read by an agent under `sluicectl run`.

tokens   one stream of 50 tokens a second: how long a token is on its way, directly,
         through a forwarder that only copies (one loopback hop more), and through
         Sluice, in turn, ROUNDS times in one run; medians of the rounds.
streams  5,000 streams at once, at several rates a stream: how long a token is on its way
         in the first half of the time and in the second (a queue that builds up shows as
         the second being longer), how late the server is with what it sends, and what
         of the machine's cores is used, directly and through Sluice. The server and the
         client share the machine with the daemon, so that the highest rates saturate it
         without Sluice already: what the direct run needs says so.

ROUNDS, RUN_SECONDS, STREAMS, RATES (events per stream and second) may be set in the
environment. One JSON line per figure. As root.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from net import a_bench, report  # noqa: E402
from sluice_test import BUILD  # noqa: E402

ROUNDS = int(os.environ.get('ROUNDS', '7'))
STREAMS = int(os.environ.get('STREAMS', '5000'))
RATES = [float(rate) for rate in os.environ.get('RATES', '2 5 10 50').split()]
TOKENS_A_SECOND = 50
# Of a watched cgroup 2,000 a second are let through.
CONNECTS_A_SECOND = 1500
# No token of the bench ends as one of these begins, so that none waits for the next.
CLEAR = ('alpha', 'blocked', 'classified', 'hidden', 'internal', 'password', 'payload', 'token',
         'urgent', 'vault')
# Three in eight do: what a suffix that could begin a term costs is the gap between two tokens.
WAITING = ('alpha', 'forbidden', 'secret', 'token', 'key', 'payload', 'exploit', 'password',
           'internal', 'draft')
POLICY = '''\
version: 1
name: bench
framing: http1
extract: auto
request: {tasks: [refused]}
response: {tasks: [refused]}
tasks:
  refused: {kind: terms, terms: %s}
'''


def policy(first):
    """100 terms that begin with these words."""
    return POLICY % json.dumps(['%s-%s' % (word, second) for word in first for second in (
        'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten')])


def cpu_of(pid):
    """Seconds of processor time a process has used."""
    with open('/proc/%d/stat' % pid, encoding='ascii') as stat:
        fields = stat.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def cpu_of_machine():
    """Seconds that all its cores have been busy; interrupts are, waiting is not."""
    with open('/proc/stat', encoding='ascii') as stat:
        fields = [int(field) for field in stat.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf('SC_CLK_TCK')


class Measurement:
    """A daemon, a forwarder where it is asked for, and a server for each run."""

    def __init__(self, bench):
        self.bench = bench
        self.programs = {}
        for name in ('bench_stream', 'bench_net'):
            self.programs[name] = os.path.join(bench.folder, name)
            shutil.copy(os.path.join(BUILD, 'tests', 'bench', name), self.programs[name])
            os.chmod(self.programs[name], 0o755)
        self.port, self.forwarded = bench.free_port(), bench.free_port()
        bench.spawn([self.programs['bench_net'], 'forward', str(self.forwarded), '127.0.0.1',
                     str(self.port)])
        self.daemon = bench.daemon(policy(CLEAR))
        self.before = []

    def go_first(self):
        """Daemon and ends run before all else on this machine that would run on other ones."""
        self.before = ['chrt', '--fifo', '1']
        os.sched_setscheduler(self.daemon.process.pid, os.SCHED_FIFO, os.sched_param(1))

    def run(self, path, streams, rate, seconds, first=CLEAR):
        """One run on a path; what client and server say, and the cores that were used."""
        program = self.programs['bench_stream']
        server = self.bench.spawn([*self.before, program, 'serve', str(self.port), str(streams),
                                   str(rate), str(seconds)], stdout=subprocess.PIPE, text=True)
        command = [program, 'read', '127.0.0.1',
                   str(self.forwarded if path == 'forwarder' else self.port), str(streams),
                   str(CONNECTS_A_SECOND), str(seconds)]
        if path == 'sluice':
            command = self.daemon.run_command(command, policy=policy(first))
        wait_for_listener(self.port)
        client = self.bench.spawn([*self.before, *command], stdout=subprocess.PIPE, text=True)
        if not client.stdout.readline() or not server.stdout.readline():
            raise AssertionError('the client ended with status %d before the first event'
                                 % client.wait(60))
        daemon, machine = cpu_of(self.daemon.process.pid), cpu_of_machine()
        said = {'server': json.loads(server.stdout.readline())}
        took = said['server']['seconds']
        said['daemon_cores'] = (cpu_of(self.daemon.process.pid) - daemon) / took
        said['machine_cores'] = (cpu_of_machine() - machine) / took
        said['server_cores'] = said['server']['cpu_seconds'] / took
        last = client.stdout.readline()
        if client.wait(60) or server.wait(60):
            raise AssertionError('%s: the client said %r and ended with status %d; the server: %r'
                                 % (path, last, client.returncode, said['server']))
        said['client'] = json.loads(last)
        said['client_cores'] = said['client']['cpu_seconds'] / took
        return said


def wait_for_listener(port):
    """Until somebody listens; without a connection, which would count as a stream."""
    wanted = ':%04X' % port
    while True:
        with open('/proc/net/tcp', encoding='ascii') as table:
            if any(row.split()[1].endswith(wanted) and row.split()[3] == '0A'
                   for row in list(table)[1:]):
                return


def whole(said, figure):
    """Of both halves together, weighed by how much each counted."""
    halves = [said['client'][half] for half in ('first_half', 'second_half')]
    return sum(half[figure] * half['count'] for half in halves) / sum(h['count'] for h in halves)


def tokens(measurement):
    seconds = float(os.environ.get('RUN_SECONDS', '5'))
    took = {path: {'p50_us': [], 'p99_us': []} for path in ('direct', 'forwarder', 'sluice')}
    for _ in range(ROUNDS):
        for path, figures in took.items():
            said = measurement.run(path, 1, TOKENS_A_SECOND, seconds)
            for figure, values in figures.items():
                values.append(whole(said, figure))
    for path, figures in took.items():
        for figure, values in figures.items():
            report('a token of 50 a second, %s, %s' % (path, figure[:3]),
                   statistics.median(values), 'us', rounds=[round(v, 1) for v in values])
    direct, forwarder, sluice = (statistics.median(took[path]['p50_us']) for path in took)
    report('added per token, sluice / a plain loopback hop (direct), p50',
           (sluice - direct) / direct, 'ratio', at_most=3)
    report('added per token, sluice / the forwarder, p50',
           (sluice - direct) / max(forwarder - direct, 0.1), 'ratio')
    said = measurement.run('sluice', 1, TOKENS_A_SECOND, seconds, WAITING)
    for figure in ('p50_us', 'p90_us'):
        report('a token of 50 a second, sluice, terms that begin as tokens end, %s' % figure[:3],
               whole(said, figure), 'us')


def streams(measurement):
    seconds = float(os.environ.get('RUN_SECONDS', '21'))
    for rate in RATES:
        for path in ('direct', 'sluice'):
            said = measurement.run(path, STREAMS, rate, seconds)
            name = '%d streams of %g a second, %s' % (STREAMS, rate, path)
            for half in ('first_half', 'second_half'):
                for figure in ('p50_us', 'p99_us'):
                    report('%s, %s, %s' % (name, half.replace('_', ' '), figure[:3]),
                           said['client'][half][figure], 'us',
                           server_late=said['server']['late'][half][figure])
            report('%s, second half / first half, p50' % name,
                   said['client']['second_half']['p50_us'] / said['client']['first_half']['p50_us'],
                   'ratio')
            report('%s, sent' % name, said['server']['sent'] / said['server']['seconds'],
                   'events/s', wanted=STREAMS * rate, stalled=said['server']['stalled'])
            report('%s, cores used' % name, said['machine_cores'], 'cores',
                   **{who: round(said[who + '_cores'], 2) for who in ('daemon', 'server', 'client')})


PARTS = {'tokens': tokens, 'streams': streams}


def main():
    unknown = set(sys.argv[1:]) - set(PARTS)
    if unknown:
        sys.exit('there is no part %s; there are %s' % (', '.join(unknown), ', '.join(PARTS)))
    with a_bench() as bench:
        measurement = Measurement(bench)
        for name, measure in PARTS.items():
            if len(sys.argv) < 2 or name in sys.argv[1:]:
                measure(measurement)


if __name__ == '__main__':
    main()
