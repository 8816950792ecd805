#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sluicectl top on a pseudo-terminal: what it draws, how it takes keys and sizes, and that the
terminal is as it was afterwards, however it ends."""
import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import time

from sluice_test import SLUICECTL, main
from waiting import check, equal, wait_for

AGENT = ('import socket, sys\n'
         's = socket.create_connection(("127.0.0.1", int(sys.argv[1])))\n'
         's.sendall(b\'{"t":"\' + b"half " * int(sys.argv[2]))\n'
         'sys.stdin.read()\n')
LEFT = b'\x1b[?7h\x1b[?25h\x1b[?1049l'


class Terminal:
    """A pseudo-terminal and what of it can be seen: enough of a screen for the frames of top."""

    def __init__(self, bench, command, rows=24, columns=120):
        self.master, self.slave = pty.openpty()
        bench.undo.append(lambda: [os.close(fd) for fd in (self.master, self.slave)])
        self.size(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.bytes, self.frames = b'', []
        environment = dict(os.environ, TERM='xterm-256color', LC_ALL='C.UTF-8')
        environment.pop('NO_COLOR', None)
        self.process = bench.spawn(command, stdin=self.slave, stdout=self.slave,
                                   stderr=subprocess.PIPE, env=environment,
                                   preexec_fn=self._take_control)

    def _take_control(self):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def size(self, rows, columns):
        self.rows, self.columns = rows, columns
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def read(self, seconds=0.05):
        while select.select([self.master], [], [], seconds)[0]:
            piece = os.read(self.master, 65536)
            self.bytes += piece
            self.frames.append(piece)

    def screen(self):
        """The lines on the screen: each frame is drawn from the top, line by line."""
        self.read()
        last = self.bytes.rsplit(b'\x1b[H', 1)[-1].split(LEFT)[0].decode()
        return [re.sub(r'\x1b\[[0-9;?]*[A-Za-z]', '', row) for row in re.split('\r+\n', last)]

    def shows(self, text, seconds=5):
        return wait_for(lambda: any(text in row for row in self.screen()), seconds,
                        '%r on the screen' % text)

    def type(self, keys):
        os.write(self.master, keys)

    def ended(self, seconds=5):
        self.process.wait(seconds)
        self.read()
        check(self.bytes.endswith(LEFT), 'the screen was left as %r', self.bytes[-40:])
        equal(termios.tcgetattr(self.slave), self.before, 'the modes of the terminal')
        return self.process.returncode


def top(bench, daemon, *options, **size):
    return Terminal(bench, [SLUICECTL, '--socket', daemon.socket, 'top', '--interval-ms', '100',
                            *options], **size)


def start_streams(bench, daemon, *sizes):
    server = bench.server()
    for size in sizes:
        daemon.start_agent(AGENT, server.port, size)
    wait_for(lambda: sum(stream['request']['held'] > 0 for stream in
                         daemon.call('streams')['streams']) == len(sizes), 10, 'the streams')
    return server


def draws_and_quits(bench):
    """who holds what for whom, live; sorted, filtered, in detail; q ends it"""
    daemon = bench.daemon()
    server = start_streams(bench, daemon, 10, 1000)
    terminal = top(bench, daemon, columns=200)
    rows = terminal.shows('python3') and terminal.screen()
    check(any('enforcing' in row and 'streams 2' in row for row in rows[:1]), 'summary %r', rows[0])
    listed = [row for row in rows if 'python3' in row]
    equal(len(listed), 2, 'rows of streams')
    check('4.9K' in listed[0] and '56' in listed[1], 'not by what is held: %r', listed)
    ids = [str(stream['id']) for stream in daemon.call('streams')['streams']]
    check(all(number in '\n'.join(listed) for number in ids), 'not all of %r in %r', ids, listed)
    for words in ('127.0.0.1:%d' % server.port, 'ndjson', 'blocking', 'waits for the rest of a'):
        check(words in listed[0], 'no %r in %r', words, listed[0])
    terminal.type(b'r')
    wait_for(lambda: '56' in [row for row in terminal.screen() if 'python3' in row][0], 5,
             'the other order')
    terminal.type(b'/nothing of the kind')
    terminal.shows('filter: nothing of the kind')
    wait_for(lambda: not any('python3' in row for row in terminal.screen()), 5, 'no row')
    terminal.type(b'\x1b')
    terminal.shows('python3')
    terminal.type(b'\r')
    terminal.shows('request  56 received, 0 released, 56 held')
    terminal.type(b'\x1b[B')
    terminal.shows('request  5006 received, 0 released, 5006 held')
    terminal.type(b'q')
    equal(terminal.ended(), 0, 'exit status')


def no_flicker(bench):
    """a frame goes over the last one, which is not cleared, and none where nothing changed"""
    daemon = bench.daemon()
    start_streams(bench, daemon, 10)
    terminal = top(bench, daemon, '--color', 'never')
    terminal.shows('python3')
    terminal.frames.clear()
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        terminal.read(0.01)
    # A read may end in the middle of a frame.
    read = b''.join(terminal.frames)
    drawn = read.split(b'\x1b[H')[1:]
    check(0 < len(drawn) < 20, '%d frames', len(drawn))
    check(b'\x1b[2J' not in read, 'the screen was cleared')
    check(all(one != other for one, other in zip(drawn, drawn[1:])), 'a frame was drawn twice')
    terminal.type(b'q')
    equal(terminal.ended(), 0, 'exit status')


def sizes(bench):
    """narrow, short, and resized: no line is wider than the terminal, none below its last row"""
    daemon = bench.daemon()
    start_streams(bench, daemon, 10)
    terminal = top(bench, daemon, columns=200)
    terminal.shows('SLOWEST')
    number = daemon.call('streams')['streams'][0]['id']
    for rows, columns in ((24, 80), (10, 40), (3, 20), (1, 1), (24, 120)):
        terminal.size(rows, columns)
        terminal.bytes = b''
        # What clears the screen comes before the first frame of the new size.
        wait_for(lambda: b'\x1b[H' in terminal.bytes.partition(b'\x1b[2J')[2] or
                 terminal.read(), 5, 'a frame')
        screen = terminal.screen()
        check(len(screen) <= rows, '%d rows of %d', len(screen), rows)
        for row in screen:
            check(len(row) <= columns, '%d columns of %d: %r', len(row), columns, row)
        equal(any(str(number) in row for row in screen), columns >= 40 and rows > 4,
              'the id at %d' % columns)
        equal(any('HELD' in row for row in screen), columns >= 20, 'HELD at %d' % columns)
    terminal.type(b'q')
    equal(terminal.ended(), 0, 'exit status')


def ends_by_signals(bench):
    """SIGINT, by key and sent, SIGTERM, SIGHUP, SIGQUIT: the terminal is put back"""
    daemon = bench.daemon()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, None):
        terminal = top(bench, daemon)
        terminal.shows('q quit')
        if number:
            terminal.process.send_signal(number)
        else:
            terminal.type(b'\x03')
        equal(terminal.ended(), -(number or signal.SIGINT), 'exit status')


def stops_and_goes_on(bench):
    """stopped, the terminal is as it was; continued, it draws again"""
    daemon = bench.daemon()
    terminal = top(bench, daemon)
    terminal.shows('q quit')
    terminal.process.send_signal(signal.SIGTSTP)
    wait_for(lambda: terminal.read() or terminal.bytes.endswith(LEFT), 5, 'the screen left')
    equal(termios.tcgetattr(terminal.slave), terminal.before, 'the modes of the terminal')
    terminal.bytes = b''
    terminal.process.send_signal(signal.SIGCONT)
    terminal.shows('q quit')
    terminal.type(b'q')
    equal(terminal.ended(), 0, 'exit status')


def daemon_goes_and_comes(bench):
    """a daemon that ends is said on the screen, and one that comes back is shown"""
    daemon = bench.daemon()
    terminal = top(bench, daemon)
    terminal.shows('0 streams')
    daemon.stop()
    terminal.shows('no daemon answers')
    daemon.start()
    terminal.shows('0 streams')
    terminal.type(b'q')
    equal(terminal.ended(), 0, 'exit status')


def daemon_that_hangs(bench):
    """a daemon that takes no connections any more keeps the keys waiting no longer than a look"""
    path = os.path.join(bench.folder, 'hangs.sock')
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as first:
        server.bind(path)
        server.listen(0)
        terminal = Terminal(bench, [SLUICECTL, '--socket', path, 'top', '--interval-ms', '100'])
        server.accept()[0].close()
        first.connect(path)
        terminal.shows('no daemon answers')
        terminal.type(b'q')
        equal(terminal.ended(), 0, 'exit status')


def no_terminal(bench):
    """without a terminal, or without a daemon: a line that says what to do, and status 1"""
    daemon = bench.daemon()
    done = daemon.ctl('top')
    equal((done.returncode, done.stdout), (1, b''), 'exit status and output')
    check(b'sluicectl streams' in done.stderr, 'it said %r', done.stderr)
    path = os.path.join(bench.folder, 'none.sock')
    terminal = Terminal(bench, [SLUICECTL, '--socket', path, 'top'])
    said = terminal.process.communicate(timeout=5)[1]
    equal(terminal.process.returncode, 1, 'exit status')
    check(path.encode() in said, 'it said %r', said)
    terminal.read()
    equal(terminal.bytes, b'', 'what was drawn')


if __name__ == '__main__':
    main([draws_and_quits, no_flicker, sizes, ends_by_signals, stops_and_goes_on,
          daemon_goes_and_comes, daemon_that_hangs, no_terminal])
