#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What tasks that wait for somebody cost others, and what they cost themselves.

waiting    STREAMS (1,000) streams, each of which always waits for an interceptor that takes
           200 ms, and another stream of TOKENS_A_SECOND under terms alone: how long a token
           of that one is on its way while they wait, beside the same while they rest; in
           turn, ROUNDS (5) times. The direct way in the same turns says what of it the
           machine adds, which the servers and agents share; those yield to the daemon.
moderated  a stream of a token each 20 ms under an evaluator that takes 200 ms, which stands
           behind the reference interceptors of Python and of Node: the delay of a token in
           the last quarter beside that in the first. A queue that grows shows.
release    an interceptor that allows at once: from when its verdict leaves until the agent has
           the released line, beside a line of a plain server on loopback; in turn, ROUNDS
           times LINES (200).

One JSON line per figure. As root.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from net import a_bench, report  # noqa: E402
from sluice_test import PYTHON, ROOT  # noqa: E402
from streams import Measurement, wait_for_listener, whole  # noqa: E402
from waiting import wait_for  # noqa: E402

STREAMS = int(os.environ.get('STREAMS', '1000'))
ROUNDS = int(os.environ.get('ROUNDS', '5'))
RUN_SECONDS = float(os.environ.get('RUN_SECONDS', '2'))
TOKENS = int(os.environ.get('TOKENS', '600'))
TOKENS_A_SECOND = 500
JUDGE_MS = 200
TOKEN_MS = 20
LINES = 200
LINE_MS = 5
WAITING = '''\
version: 1
name: waiting
framing: ndjson
extract: "path:t"
join: unit
request: {tasks: [judge]}
tasks:
  judge: {kind: interceptor, url: "http+unix://%s:/evaluate", timeout_ms: 20000, cadence: unit,
          concurrency: 512}
'''
RELEASED = '''\
version: 1
name: released
framing: ndjson
extract: "path:t"
join: unit
response: {tasks: [judge]}
tasks:
  judge: {kind: interceptor, url: "http+unix://%s:/evaluate", cadence: unit}
'''
MODERATED = '''\
version: 1
name: moderated
framing: http1
extract: auto
response: {tasks: [judge]}
tasks:
  judge: {kind: interceptor, url: "http+unix://%s:/evaluate", timeout_ms: 5000, cadence: unit}
'''


class Ends:
    """Processes of ends.py, where agents, which are not root, can read it."""

    def __init__(self, bench):
        self.bench = bench
        here = os.path.dirname(os.path.abspath(__file__))
        self.program = os.path.join(bench.folder, 'ends.py')
        shutil.copy(os.path.join(here, 'ends.py'), self.program)

    def words(self, *args):
        return [PYTHON, self.program, *map(str, args)]

    def serve(self, mode, *args):
        """On a port of its own, which is returned, once it listens."""
        port = self.bench.free_port()
        self.bench.spawn(['nice', *self.words(mode, port, *args)])
        wait_for_listener(port)
        return port

    def serve_unix(self, mode, *args):
        path = os.path.join(self.bench.folder, mode + '%d.sock' % len(self.bench.processes))
        self.bench.spawn(['nice', *self.words(mode, path, *args)])
        wait_for(lambda: os.path.exists(path), 10, 'the socket of ' + mode)
        return path

    def agent(self, daemon, *args, policy=None):
        """Once it says that it is ready."""
        agent = Agent(self.bench, daemon.run_command(['nice', *self.words(*args)], policy=policy))
        agent.answer()
        return agent


class Agent:
    def __init__(self, bench, command):
        self.process = bench.spawn(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True)

    def answer(self):
        said = self.process.stdout.readline()
        if not said:
            raise AssertionError('an agent ended with status %d' % self.process.wait(20))
        return json.loads(said)

    def tell(self, word):
        self.process.stdin.write(word + '\n')
        self.process.stdin.flush()

    def finish(self):
        self.process.stdin.close()
        self.process.wait(30)


def keep_awake(bench):
    """Cores that rest take tens of us to come back in a virtual machine: none does, and whoever
    has something to do goes before what keeps them up."""
    for _ in range(os.cpu_count()):
        bench.spawn(['chrt', '--idle', '0', 'sh', '-c', 'while :; do :; done'])


def waiting(bench, ends):
    keep_awake(bench)
    measurement = Measurement(bench)
    measurement.go_first()
    judge = ends.serve_unix('judge', JUDGE_MS)
    agent = ends.agent(measurement.daemon, 'ask', ends.serve('echo'), STREAMS,
                       policy=WAITING % judge)
    took = {(path, load): {'p50_us': [], 'p99_us': []}
            for path in ('direct', 'sluice') for load in ('idle', 'loaded')}
    waited = []
    for _ in range(ROUNDS):
        for load in ('idle', 'loaded'):
            if load == 'loaded':
                agent.tell('go')
            for path in ('direct', 'sluice'):
                said = measurement.run(path, 1, TOKENS_A_SECOND, RUN_SECONDS)
                for figure, values in took[path, load].items():
                    values.append(whole(said, figure))
            if load == 'loaded':
                agent.tell('stop')
                waited.append(agent.answer())
                if waited[-1]['lost']:
                    raise AssertionError('%d lines never came back' % waited[-1]['lost'])
    agent.finish()
    for (path, load), figures in took.items():
        for figure, values in figures.items():
            report('a token of another stream, %s, %s, %s' % (path, load, figure[:3]),
                   statistics.median(values), 'us', rounds=[round(v, 1) for v in values])
    for path, more in (('direct', {}), ('sluice', {'at_most': 2})):
        idle, loaded = (took[path, load]['p99_us'] for load in ('idle', 'loaded'))
        report('another stream, %d waiting / idle, %s, p99' % (STREAMS, path),
               statistics.median(loaded) / statistics.median(idle), 'ratio', **more)
    for figure in ('p50', 'p99'):
        report('a line of the streams that wait %d ms, %s' % (JUDGE_MS, figure),
               statistics.median(one[figure] for one in waited), 'ms',
               lines=[one['count'] for one in waited])


def reference(bench, name, port):
    program = {'Python': [PYTHON, 'interceptor.py'], 'Node': ['node', 'interceptor.mjs']}[name]
    process = bench.spawn([program[0], os.path.join(ROOT, 'examples', 'interceptors', program[1]),
                           '--port', str(port), 'forbidden'], stdout=subprocess.PIPE)
    if not process.stdout.readline().startswith(b'ready'):
        raise AssertionError('the interceptor of %s ended with %d' % (name, process.wait(10)))


def moderated(bench, ends):
    daemon = bench.daemon()
    for name in ('Python', 'Node'):
        port = bench.free_port()
        reference(bench, name, port)
        judge = ends.serve_unix('delay', port, JUDGE_MS)
        command = daemon.run_command(ends.words('read', ends.serve('token', TOKEN_MS, TOKENS)),
                                     policy=MODERATED % judge)
        said = Agent(bench, command).answer()
        first, last = said['p50'][0], said['p50'][3]
        report('a token each %d ms, %s judges in %d ms, first quarter, p50' %
               (TOKEN_MS, name, JUDGE_MS), first, 'ms', tokens=said['count'])
        report('the same, last quarter, p50', last, 'ms', longest=round(said['longest'], 1))
        report('last quarter / first quarter, %s' % name, last / first, 'ratio', at_most=1.1)


def release(bench, ends):
    keep_awake(bench)
    daemon = bench.daemon()
    port = ends.serve('lines', LINE_MS, LINES)
    path = os.path.join(bench.folder, 'verdict.sock')
    judge = Agent(bench, ends.words('verdict', path))
    took = {'direct': [], 'sluice': []}
    for _ in range(ROUNDS):
        for way, rounds in took.items():
            command = ends.words('take', port)
            if way == 'sluice':
                command = daemon.run_command(command, policy=RELEASED % path)
            said = Agent(bench, command).answer()
            begins = [sent for sent, _ in said]
            if way == 'sluice':
                begins = [judge.answer() for _ in said]
            rounds.append(statistics.median(
                came - began for began, (_, came) in zip(begins, said)) / 1000)
    direct, sluice = (statistics.median(rounds) for rounds in took.values())
    report('a line on loopback, p50', direct, 'us', rounds=[round(v, 1) for v in took['direct']])
    report('from its verdict to the agent, p50', sluice, 'us',
           rounds=[round(v, 1) for v in took['sluice']])
    report('release after a verdict / a line on loopback', sluice / direct, 'ratio', at_most=3)


PARTS = {'waiting': waiting, 'moderated': moderated, 'release': release}


def run_parts(parts):
    """Those that the command line names, or all, each on a bench of its own."""
    unknown = set(sys.argv[1:]) - set(parts)
    if unknown:
        sys.exit('there is no part %s; there are %s' % (', '.join(unknown), ', '.join(parts)))
    for name, measure in parts.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        with a_bench() as bench:
            measure(bench, Ends(bench))


if __name__ == '__main__':
    run_parts(PARTS)
