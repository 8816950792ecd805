#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What asking the daemon costs with STREAMS (5,000) streams open, each of which holds a part
of a message: `sluicectl streams` end to end, as a table and as JSON, and how long the loop of
the daemon is busy meanwhile, as another client sees it that asks for one stream all the time.

One JSON line per figure. As root.
"""
import os
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from net import a_bench, report  # noqa: E402
from sluice_test import POLICY, SLUICECTL, Control  # noqa: E402
from waiting import wait_for  # noqa: E402

STREAMS = int(os.environ.get('STREAMS', '5000'))
ROUNDS = int(os.environ.get('ROUNDS', '7'))
LIMITS = 'limits: {incomplete_message_timeout_s: 600, message_deadline_s: 600}\n'
# Of a watched cgroup 2,000 a second are let through.
AGENT = '''
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
kept = []
for number in range(int(sys.argv[2])):
    sock = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
    sock.sendall(b'{"t":"a clear line"}\\n{"t":"half of')
    kept.append(sock)
    time.sleep(1 / 1500)
sys.stdin.read()
'''


def took_ms(command):
    began = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return (time.monotonic() - began) * 1000


class Prober(threading.Thread):
    """Asks for one stream again and again, and remembers what each took."""

    def __init__(self, daemon, stream):
        super().__init__(daemon=True)
        self.control, self.stream = Control(daemon.socket), stream
        self.took, self.over = [], False

    def run(self):
        while not self.over:
            began = time.monotonic()
            self.control.call('stream', id=self.stream)
            self.took.append((time.monotonic() - began) * 1000)
            time.sleep(0.0005)

    def finish(self):
        self.over = True
        self.join()
        self.control.close()
        return self.took


def probe(daemon, stream, work):
    prober = Prober(daemon, stream)
    prober.start()
    result = work()
    took = sorted(prober.finish())
    return result, took[len(took) * 99 // 100], took[-1]


def measure(bench):
    server = bench.server()
    daemon = bench.daemon(POLICY + LIMITS)
    daemon.start_agent(AGENT, server.port, STREAMS)
    wait_for(lambda: daemon.status()['streams']['open'] == STREAMS, 120, 'the streams')
    time.sleep(1)
    first = daemon.call('streams')['streams'][0]['id']
    _, p99, most = probe(daemon, first, lambda: time.sleep(1))
    report('another client, idle, p99', p99, 'ms', most=round(most, 2))
    for name, words in (('table', []), ('JSON', ['--json'])):
        command = [SLUICECTL, '--socket', daemon.socket, 'streams', *words]
        took, p99, most = probe(daemon, first,
                                lambda words=command: [took_ms(words) for _ in range(ROUNDS)])
        report('streams of %d, as %s, p50' % (STREAMS, name), statistics.median(took), 'ms',
               rounds=[round(value, 1) for value in took], at_most=200)
        report('another client meanwhile, p99', p99, 'ms', most=round(most, 2))


if __name__ == '__main__':
    with a_bench() as whole_bench:
        measure(whole_bench)
