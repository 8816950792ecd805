#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The status page with STREAMS (1,000) streams of a token every TOKEN_S (2) seconds each, in a
real Chromium on the same machine: the time between its frames, as requestAnimationFrame tells,
over SECONDS (10), while the page follows all of them and while it is scrolled through them; and
how long the list of them takes. One JSON line per figure. As root.
"""
import http.client
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from browser import Browser  # noqa: E402
from net import a_bench, report  # noqa: E402
from streams import CLEAR, CONNECTS_A_SECOND, Measurement, cpu_of, policy  # noqa: E402
from streams import wait_for_listener  # noqa: E402

STREAMS = int(os.environ.get('STREAMS', '1000'))
TOKEN_S = float(os.environ.get('TOKEN_S', '2'))
SECONDS = float(os.environ.get('SECONDS', '10'))

FRAMES = '''new Promise((done) => {
    const times = [], end = performance.now() + %d;
    requestAnimationFrame(function frame(now) {
        times.push(now);
        %s
        now < end ? requestAnimationFrame(frame) : done(times);
    });
})'''


def frames(browser, name, each_frame):
    times = browser.js(FRAMES % (SECONDS * 1000, each_frame))
    between = sorted(later - earlier for earlier, later in zip(times, times[1:]))
    report('status page, %d streams, %s' % (STREAMS, name),
           (len(times) - 1) * 1000 / (times[-1] - times[0]), 'frames/s', at_least=59,
           p50_ms=round(between[len(between) // 2], 1),
           p99_ms=round(between[len(between) * 99 // 100], 1), longest_ms=round(between[-1], 1))


def lists(daemon):
    connection = http.client.HTTPConnection('127.0.0.1', daemon.web, timeout=30)
    took, size = [], 0
    for _ in range(20):
        began = time.monotonic()
        connection.request('GET', '/streams.json')
        size = len(connection.getresponse().read())
        took.append((time.monotonic() - began) * 1000)
    connection.close()
    report('/streams.json of %d streams' % STREAMS, statistics.median(took), 'ms', bytes=size)


def measure(bench):
    measurement = Measurement(bench)
    measurement.daemon.stop()
    daemon = measurement.daemon
    daemon.web = bench.free_port()
    daemon.start()
    seconds = 3 * SECONDS + STREAMS / CONNECTS_A_SECOND + 10
    program = measurement.programs['bench_stream']
    server = bench.spawn([program, 'serve', str(measurement.port), str(STREAMS), str(1 / TOKEN_S),
                          str(seconds)], stdout=subprocess.DEVNULL)
    wait_for_listener(measurement.port)
    client = bench.spawn(daemon.run_command(
        [program, 'read', '127.0.0.1', str(measurement.port), str(STREAMS),
         str(CONNECTS_A_SECOND), str(seconds)], policy=policy(CLEAR)),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while daemon.status()['streams']['open'] < STREAMS:
        time.sleep(0.1)
    lists(daemon)
    browser = Browser(bench)
    browser.open('http://127.0.0.1:%d/' % daemon.web)
    browser.wait('document.querySelectorAll(".row").length > 5', 'rows')
    time.sleep(2)
    used = cpu_of(daemon.process.pid)
    frames(browser, 'at rest', '')
    report('cores used by the daemon meanwhile',
           (cpu_of(daemon.process.pid) - used) / SECONDS, 'cores')
    frames(browser, 'scrolled', 'scrollBy(0, 25);')
    for process in (client, server):
        process.terminate()
        process.wait(20)


if __name__ == '__main__':
    with a_bench() as whole_bench:
        measure(whole_bench)
