#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The main job, four times, with curl as the agent and a chat server that streams:

1. a clean answer arrives byte for byte, as it comes;
2. a refused word, split over two events, does not arrive, nor any part of it;
3. the same with what is not cleared already in the kernel, and the daemon killed;
4. a secret in the prompt: curl is told so, and the server gets no byte of it.

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

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER = os.path.join(HERE, '..', '..', 'tests', 'servers', 'chat_server.py')
BUILD = os.path.abspath(os.environ.get('BUILD', 'build'))
SLUICED, SLUICECTL = os.path.join(BUILD, 'sluiced'), os.path.join(BUILD, 'sluicectl')
BPFTOOL = next((p for p in ('/usr/sbin/bpftool', '/usr/bin/bpftool') if os.path.exists(p)),
               'bpftool')
INSTANCE = 'demo-%d' % os.getpid()
# Numbers of counters, as in include/sluice/abi.h.
HELD_PACKETS, HELD_BYTES = 10, 11
SECRET = 'sk-live-4eC39HqLyjWDarjtT1zdp7dc'

HALF = 'data: {"choices": [{"index": 0, "delta": {"content": "which nobody'
ANSWERS = {
    'clean': {'pieces': ['Once ', 'upon ', 'a ', 'time ', 'a ', 'forbearing ', 'river ', 'ran ',
                         'to ', 'the ', 'caf\u00e9.'], 'pause': 0.12},
    'split': {'pieces': ['This ', 'answer ', 'is ', 'about ', 'for', 'bidden ', 'knowledge, ',
                         'all ', 'of ', 'it.'], 'pause': 0.12},
    'half': {'pieces': ['Here ', 'is ', 'some ', 'news, ', {'raw': HALF}, {'then': 'hang'}],
             'pause': 0.12},
}


class Unexpected(Exception):
    """Something was not as it has to be."""


def expect(condition, text, *args):
    if not condition:
        raise Unexpected(text % args)


def heading(text):
    print('\n== %s\n' % text, flush=True)


def verdict(text):
    print('\n   OK: %s' % text, flush=True)


def shown(line):
    """A line of a body for people: of an event, the part that differs from event to event."""
    text = line.decode(errors='replace').rstrip()
    found = re.search(r'"content": ("(?:[^"\\]|\\.)*")', text)
    return 'data: {... "content": %s ...}' % found.group(1) if found else text


class Answer:
    """What a run of curl printed, and when; ends with the run."""

    def __init__(self, process):
        self.process, self.body, self.times, self.shown = process, b'', [], 0
        self.began = time.monotonic()

    def read(self, until=None):
        """Prints lines as they come, to the end or up to the first that holds `until`."""
        while True:
            piece = self.process.stdout.read1(65536)
            self.body += piece
            while b'\n' in self.body[self.shown:] or (not piece and self.body[self.shown:]):
                end = self.body.find(b'\n', self.shown) + 1 or len(self.body)
                line, self.shown = self.body[self.shown:end], end
                if line.strip():
                    self.times.append(time.monotonic() - self.began)
                    print('   %6.2f s  %s' % (self.times[-1], shown(line)), flush=True)
                if until and until in line:
                    return
            if not piece:
                return

    def end(self):
        """The exit status, and what curl and the run said besides."""
        self.read()
        said = self.process.stderr.read().decode().strip().splitlines()
        status = self.process.wait(20)
        for line in said:
            print('   %s' % line)
        print('   exit status %d' % status, flush=True)
        return status, '\n'.join(said)


class Demo:
    def __init__(self):
        # curl runs as an unprivileged user, who must be able to read what it sends.
        self.folder = tempfile.mkdtemp(prefix='sluice-demo-')
        os.chmod(self.folder, 0o755)
        self.record = os.path.join(self.folder, 'record')
        os.mkdir(self.record, 0o700)
        self.socket = os.path.join(self.folder, 'demo.sock')
        self.daemon, self.processes = None, []
        self.port = self.start_server()

    def spawn(self, command, **options):
        process = subprocess.Popen(command, **options)
        self.processes.append(process)
        return process

    def start_server(self):
        answers = os.path.join(self.folder, 'answers.json')
        with open(answers, 'w', encoding='utf-8') as file:
            json.dump(ANSWERS, file)
        server = self.spawn(['/usr/bin/python3', SERVER, '--answers', answers, '--record',
                             self.record], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        said = server.stdout.readline().split()
        expect(said[:1] == [b'ready'], 'the chat server said %r', said)
        return int(said[1])

    def received(self):
        """What each connection brought to the server, in order."""
        names = [name for name in os.listdir(self.record) if name.endswith('.received')]
        bodies = []
        for name in sorted(names, key=lambda n: int(n.split('.')[0])):
            with open(os.path.join(self.record, name), 'rb') as file:
                bodies.append(file.read())
        return bodies

    def curl(self, model, prompt, *under):
        """Starts curl with a question, under `sluicectl run` with these words or by itself."""
        question = json.dumps({'model': model, 'stream': True,
                               'messages': [{'role': 'user', 'content': prompt}]})
        url = 'http://127.0.0.1:%d/v1/chat/completions' % self.port
        words = ['curl', '-sS', '-N', '--json', question, url]
        print('   $ %scurl -sS -N --json \'%s\' %s' % (
            'sluicectl run %s-- ' % ''.join(word + ' ' for word in under if word) if under else '',
            question, url), flush=True)
        if under:
            under = [os.path.join(HERE, w) if w.endswith('.yaml') else w for w in under if w]
            words = [SLUICECTL, '--socket', self.socket, 'run', *under, '--', *words]
        return Answer(self.spawn(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE))

    def start_daemon(self, policy):
        read_end, write_end = os.pipe()
        self.daemon = self.spawn(
            [SLUICED, '--instance', INSTANCE, '--socket', self.socket, '--port', str(free_port()),
             '--policy', os.path.join(HERE, policy), '--ready-fd', str(write_end)],
            pass_fds=[write_end], stderr=subprocess.DEVNULL)
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
    heading('1. A clean answer: byte for byte, as it comes')
    without = demo.curl('clean', 'tell me a story')
    without.body = without.process.stdout.read()
    expect(without.process.wait(20) == 0, 'curl alone ended with %s', without.process.returncode)
    answer = demo.curl('clean', 'tell me a story', '--policy', 'policy.yaml')
    status, _ = answer.end()
    for name, body in (('without Sluice', without.body), ('under Sluice', answer.body)):
        print('   %-14s %4d bytes, SHA-256 %s' % (name, len(body),
                                                  hashlib.sha256(body).hexdigest()))
    expect(status == 0 and answer.body == without.body, 'other bytes arrived')
    expect(answer.body.endswith(b'data: [DONE]\n\n'), 'the answer is not whole')
    direct, mediated = demo.received()
    expect(direct == mediated, 'another request reached the server: %r', mediated)
    expect(answer.times[-1] - answer.times[0] > 0.09 * (len(answer.times) - 2),
           'the events came at once, in the end')
    verdict('what arrived is what was sent, each event when it was written')


def refused(demo):
    heading('2. A refused word, split over two events')
    pieces = ANSWERS['split']['pieces']
    print('   the server says: %s' % ', '.join(map(repr, pieces)))
    answer = demo.curl('split', 'what is it about', '--policy', 'policy.yaml')
    status, said = answer.end()
    text = answer.body.decode()
    expect(re.findall(r'"content": "(.*?)"', text) == pieces[:4], 'other text arrived')
    expect('event: error\ndata: ' in text.split(pieces[3])[1], 'no error event follows')
    expect('[DONE]' not in text and 'knowledge' not in text, 'more arrived')
    expect(status == 18, 'curl does not say that the answer is not whole')
    expect('reasons: denied:words' in said, 'the reason is not denied:words')
    verdict('the events before it arrived, nothing of the word did, and curl says that the answer '
            'is not whole')


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


def until_held(demo):
    """Waits until the gate holds half of an event; its counters."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        counters = demo.counters()
        if counters['held_packets']:
            return counters
        time.sleep(0.05)
    raise Unexpected('the gate counts %r' % counters)


def killed(demo):
    heading('3. Written ahead into the kernel, and the daemon killed in mid-answer')
    print('   the server stops in the middle of an event: %s' % HALF)
    print('   $ sluiced --policy policy-reset.yaml &')
    demo.start_daemon('policy-reset.yaml')
    answer = demo.curl('half', 'what is new', '')
    last = ANSWERS['half']['pieces'][3]
    answer.read(last.encode())
    counters = until_held(demo)
    print('   the gate holds: %d packets refused so far, %d payload bytes in them' % (
        counters['held_packets'], counters['held_bytes']))
    cleared = answer.body
    demo.daemon.kill()
    demo.daemon.wait()
    print('   $ kill -9 %d   (the daemon)' % demo.daemon.pid)
    time.sleep(1.5)
    sums = pinned_counters(os.path.join('/sys/fs/bpf/sluice', INSTANCE))
    status, _ = answer.end()
    print('   the pinned counters say: %d packets refused, %d bytes' % (sums[HELD_PACKETS],
                                                                        sums[HELD_BYTES]))
    expect(answer.body == cleared, 'more arrived after the daemon was killed: %r',
           answer.body[len(cleared):])
    expect(re.findall(r'"content": "(.*?)"', cleared.decode()) == ANSWERS['half']['pieces'][:4],
           'other text arrived')
    expect(b'nobody' not in answer.body, 'a part of an event arrived')
    expect(sums[HELD_PACKETS] >= counters['held_packets'], 'the pinned counters went back')
    expect(status != 0, 'the answer looks whole')
    verdict('what had been cleared arrived; with the daemon dead nothing more did')


def secret(demo):
    heading('4. A secret in the prompt')
    before = len(demo.received())
    answer = demo.curl('clean', 'is %s still valid?' % SECRET, '--policy', 'policy.yaml')
    _, said = answer.end()
    problem = json.loads(answer.body)
    expect(problem['status'] == 403 and problem['task'] == 'keys', 'curl was not told so')
    expect(SECRET not in answer.body.decode(), 'the answer repeats the secret')
    expect('reasons: denied:keys' in said, 'the reason is not denied:keys')
    bodies = demo.received()
    arrived = b''.join(bodies[before:])
    print('   the server\'s record: %d connections, %d bytes in them' % (len(bodies) - before,
                                                                          len(arrived)))
    expect(not arrived, 'a part of the request reached the server: %r', arrived)
    expect(SECRET.encode() not in b''.join(bodies), 'the secret reached the server')
    verdict('curl was told why, and not a byte of the request reached the server')


def main():
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit('ended by signal %d' % number))
    print('Sluice: what an unmodified program sends and receives is held until it is cleared.')
    demo = Demo()
    try:
        for part in (clean, refused, killed, secret):
            part(demo)
    except (Unexpected, OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        print('\n   FAILED: %s' % error, flush=True)
        return 1
    finally:
        demo.close()
    print('\nAll four runs went as they must.')
    return 0


if __name__ == '__main__':
    sys.exit(main())
