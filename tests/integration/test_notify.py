#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the service manager hears: that the daemon is ready, that its loop turns, that it stops."""
import os
import signal
import socket
import time

from sluice_test import main
from waiting import check, equal

# A sign each second: longer than a busy machine lets a process wait for its turn.
WATCHDOG_US = 2000000


class Manager:
    """The receiving end of sd_notify(3)."""

    def __init__(self, bench):
        self.path = os.path.join(bench.folder, 'notify')
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(self.path)
        bench.undo.append(self.sock.close)
        bench.undo.append(lambda: os.environ.pop('NOTIFY_SOCKET', None))
        bench.undo.append(lambda: os.environ.pop('WATCHDOG_USEC', None))
        os.environ['NOTIFY_SOCKET'] = self.path

    def heard(self, seconds, most=None):
        """Messages and when they came, within so long, or until there are so many."""
        end = time.monotonic() + seconds
        messages = []
        while len(messages) != most and (left := end - time.monotonic()) > 0:
            self.sock.settimeout(left)
            try:
                messages.append((self.sock.recv(4096).decode(), time.monotonic()))
            except TimeoutError:
                break
        return messages

    def texts(self, seconds):
        return [text for text, _ in self.heard(seconds)]


def it_says_ready_and_stopping(bench):
    """READY=1 once open for business, STOPPING=1 when told to stop, nothing else unasked"""
    manager = Manager(bench)
    daemon = bench.daemon()
    equal(manager.texts(1), ['READY=1'], 'what was said after the start')
    daemon.stop()
    equal(manager.texts(0.2), ['STOPPING=1'], 'what was said after the stop')


def it_says_that_its_loop_turns(bench):
    """WATCHDOG=1 twice as often as asked for, and not once the process hangs"""
    manager = Manager(bench)
    os.environ['WATCHDOG_USEC'] = str(WATCHDOG_US)
    daemon = bench.daemon()
    messages = manager.heard(10, 4)
    equal([text for text, _ in messages], ['READY=1'] + ['WATCHDOG=1'] * 3, 'what was said')
    first, second, third = [when for _, when in messages[1:]]
    longest = max(second - first, third - second)
    check(longest < WATCHDOG_US / 1e6, '%g s without a sign', longest)
    check(third - first > 0.6 * WATCHDOG_US / 1e6, 'three signs in %g s', third - first)
    daemon.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, daemon.process.pid, os.WSTOPPED)
    manager.heard(0.01)
    equal(manager.texts(1.2), [], 'what a stopped process said')
    daemon.process.send_signal(signal.SIGCONT)
    equal([text for text, _ in manager.heard(5, 1)], ['WATCHDOG=1'], 'what it says as it goes on')


def a_watchdog_of_another_process_is_not_ours(bench):
    """WATCHDOG_PID of another process: nothing is said"""
    manager = Manager(bench)
    os.environ['WATCHDOG_USEC'] = str(WATCHDOG_US)
    os.environ['WATCHDOG_PID'] = str(os.getpid())
    bench.undo.append(lambda: os.environ.pop('WATCHDOG_PID', None))
    bench.daemon()
    equal(manager.texts(1.2), ['READY=1'], 'what was said')


if __name__ == '__main__':
    main([it_says_ready_and_stopping, it_says_that_its_loop_turns,
          a_watchdog_of_another_process_is_not_ours])
