#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the service manager hears: that the daemon is ready, that its loop turns, that it stops."""
import os
import signal
import socket
import time

from sluice_test import main
from waiting import check, equal

WATCHDOG_US = 400000


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

    def heard(self, seconds):
        """Messages and when they came, within so long."""
        end = time.monotonic() + seconds
        messages = []
        while (left := end - time.monotonic()) > 0:
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
    messages = manager.heard(1.5)
    equal(messages[0][0], 'READY=1', 'the first message')
    signs = [when for text, when in messages if text == 'WATCHDOG=1']
    check(4 <= len(signs) <= 8, '%d signs of life in 1.5 s', len(signs))
    longest = max(later - earlier for earlier, later in zip(signs, signs[1:]))
    check(longest < WATCHDOG_US / 1e6, '%g s without a sign', longest)
    daemon.process.send_signal(signal.SIGSTOP)
    manager.heard(0.05)
    equal(manager.texts(0.6), [], 'what a stopped process said')
    daemon.process.send_signal(signal.SIGCONT)
    check('WATCHDOG=1' in manager.texts(0.5), 'no sign after it went on')


def a_watchdog_of_another_process_is_not_ours(bench):
    """WATCHDOG_PID of another process: nothing is said"""
    manager = Manager(bench)
    os.environ['WATCHDOG_USEC'] = str(WATCHDOG_US)
    os.environ['WATCHDOG_PID'] = str(os.getpid())
    bench.undo.append(lambda: os.environ.pop('WATCHDOG_PID', None))
    bench.daemon()
    equal(manager.texts(0.6), ['READY=1'], 'what was said')


if __name__ == '__main__':
    main([it_says_ready_and_stopping, it_says_that_its_loop_turns,
          a_watchdog_of_another_process_is_not_ours])
