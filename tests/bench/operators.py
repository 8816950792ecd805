#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What those who run a daemon cost the streams, and how long what they do takes.

observed  one stream of 50 tokens a second, with IDLE (1,000) idle streams open: how long a
          token is on its way while nobody looks, beside the same while all look: a scrape
          each second, the list of streams five times a second and the status once, as the
          page asks for them, `sluicectl events`, and `sluicectl top` on a terminal; in turn,
          ROUNDS (5) times.
scrape    of the metrics, without streams and with STREAMS (5,000) open; what is between two
          scrapes is left out.
handover  how long new connections stand still while another daemon takes over, without
          streams and with IDLE idle ones: the longest that a connection with one exchange
          took, of one after the other, a millisecond between them.

One JSON line per figure. As root.
"""
import fcntl
import http.client
import os
import statistics
import struct
import subprocess
import sys
import termios
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from net import report  # noqa: E402
from sluice_test import SLUICECTL  # noqa: E402
from streams import CLEAR, TOKENS_A_SECOND, Measurement, policy, whole  # noqa: E402
from tasks import Agent, run_parts  # noqa: E402
from test_handover import Handover  # noqa: E402
from waiting import wait_for  # noqa: E402

STREAMS = int(os.environ.get('STREAMS', '5000'))
IDLE = int(os.environ.get('IDLE', '1000'))
ROUNDS = int(os.environ.get('ROUNDS', '5'))
RUN_SECONDS = float(os.environ.get('RUN_SECONDS', '4'))
SCRAPES = 30
HANDOVERS = 3


class Asker(threading.Thread):
    """Asks for a path again and again, on one connection, until it is stopped."""

    def __init__(self, daemon, path, every):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection('127.0.0.1', daemon.web, timeout=30)
        self.path, self.every, self.over = path, every, threading.Event()
        self.asked = 0
        self.start()

    def run(self):
        while not self.over.wait(self.every):
            self.connection.request('GET', self.path)
            self.connection.getresponse().read()
            self.asked += 1

    def stop(self):
        self.over.set()
        self.join()
        self.connection.close()


class Reader(threading.Thread):
    """`sluicectl` with a terminal, or with a pipe, and somebody who reads all that it says."""

    def __init__(self, bench, daemon, words, terminal):
        super().__init__(daemon=True)
        self.end, end = os.openpty() if terminal else os.pipe()
        if terminal:
            fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack('HHHH', 50, 160, 0, 0))
        self.process = bench.spawn([SLUICECTL, '--socket', daemon.socket, *words],
                                   stdin=end if terminal else subprocess.DEVNULL, stdout=end,
                                   env=dict(os.environ, TERM='xterm-256color'))
        os.close(end)
        self.said = 0
        self.start()

    def run(self):
        try:
            while data := os.read(self.end, 65536):
                self.said += len(data)
        except OSError:
            pass  # a terminal whose other end is closed says it so

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self.join()
        os.close(self.end)


class Observers:
    """All of them at once."""

    def __init__(self, bench, daemon):
        self.askers = [Asker(daemon, '/metrics', 1), Asker(daemon, '/status.json', 1),
                       Asker(daemon, '/streams.json', 0.2)]
        self.readers = [Reader(bench, daemon, ['events', '--json'], False),
                        Reader(bench, daemon, ['top'], True)]

    def stop(self):
        """How often each was asked, and the bytes that each said."""
        for one in (*self.askers, *self.readers):
            one.stop()
        counts = {one.path: one.asked for one in self.askers}
        counts.update({one.process.args[3]: one.said for one in self.readers})
        if not all(counts.values()):
            raise AssertionError('somebody saw nothing: %r' % counts)
        return counts


def with_web(bench, text):
    daemon = bench.daemon(text, start=False)
    daemon.web = bench.free_port()
    return daemon.start()


def open_streams(ends, daemon, count, server='idle'):
    agent = ends.agent(daemon, 'hold', ends.serve(server), count)
    wait_for(lambda: daemon.status()['streams']['open'] == count, 20, 'the streams')
    return agent


def observed(bench, ends):
    measurement = Measurement(bench)
    measurement.daemon = with_web(bench, policy(CLEAR))
    holder = open_streams(ends, measurement.daemon, IDLE)
    took = {who: {'p50_us': [], 'p99_us': []} for who in ('nobody looks', 'all look')}
    seen = []
    for _ in range(ROUNDS):
        for who, figures in took.items():
            observers = Observers(bench, measurement.daemon) if who == 'all look' else None
            said = measurement.run('sluice', 1, TOKENS_A_SECOND, RUN_SECONDS)
            if observers:
                seen.append(observers.stop())
            for figure, values in figures.items():
                values.append(whole(said, figure))
    holder.finish()
    for who, figures in took.items():
        for figure, values in figures.items():
            report('a token of 50 a second, %d idle, %s, %s' % (IDLE, who, figure[:3]),
                   statistics.median(values), 'us', rounds=[round(v, 1) for v in values])
    for figure, more in (('p50_us', {'at_most': 1.1}), ('p99_us', {})):
        nobody, everybody = (statistics.median(took[who][figure]) for who in took)
        report('a token, all look / nobody looks, %s' % figure[:3], everybody / nobody, 'ratio',
               **more, seen=seen[-1])


def scrapes(daemon):
    """Each on the same connection; ms, and the bytes of the last."""
    connection = http.client.HTTPConnection('127.0.0.1', daemon.web, timeout=30)
    took, size = [], 0
    for _ in range(SCRAPES):
        began = time.monotonic()
        connection.request('GET', '/metrics')
        size = len(connection.getresponse().read())
        took.append((time.monotonic() - began) * 1000)
        time.sleep(0.02)
    connection.close()
    return took, size


def scrape(bench, ends):
    daemon = with_web(bench, policy(CLEAR))
    medians = []
    for count in (0, STREAMS):
        holder = open_streams(ends, daemon, count) if count else None
        took, size = scrapes(daemon)
        medians.append(statistics.median(took))
        report('a scrape, %d streams, p50' % count, medians[-1], 'ms', at_most=20,
               longest=round(max(took), 2), bytes=size)
        if holder:
            holder.finish()
    report('a scrape, %d streams / none' % STREAMS, medians[1] / medians[0], 'ratio')


def handover(bench, ends):
    daemon = bench.daemon(policy(CLEAR))
    port = ends.serve('answer')
    poller = Agent(bench, daemon.run_command(ends.words('poll', port)))
    poller.answer()
    for count in (0, IDLE):
        holder = open_streams(ends, daemon, count, 'answer') if count else None
        stood, undisturbed, whole_ms, failed = [], [], [], 0
        for _ in range(HANDOVERS):
            for taken_over, longest in ((False, undisturbed), (True, stood)):
                poller.tell('go')
                time.sleep(0.5)
                if taken_over:
                    began = Handover(daemon).done().began
                    whole_ms.append((time.monotonic() - began) * 1000)
                    time.sleep(0.5)
                poller.tell('stop')
                said = poller.answer()
                longest.append(said['longest'])
                failed += said['failed']
        report('new connections stand still, a handover of %d streams' % count,
               statistics.median(stood), 'ms', rounds=[round(v, 1) for v in stood],
               otherwise=[round(v, 1) for v in undisturbed], failed=failed,
               the_whole_takes=round(statistics.median(whole_ms), 1))
        if holder:
            holder.finish()
    poller.finish()


PARTS = {'observed': observed, 'scrape': scrape, 'handover': handover}

if __name__ == '__main__':
    run_parts(PARTS)
