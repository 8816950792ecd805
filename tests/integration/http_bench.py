# SPDX-License-Identifier: Apache-2.0
"""What the tests of HTTP share: the chat server as a process of its own, and
ordinary clients (curl, Python, Node, Go) that are asked the same things with and
without Sluice."""
import atexit
import concurrent.futures
import json
import os
import shutil
import subprocess
import tempfile
import time
import traceback

from sluice_test import PYTHON, ROOT, TERM
from waiting import Skip, check, equal, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER = os.path.join(ROOT, 'tests', 'servers', 'chat_server.py')
# What no request may hold; what no answer may hold is TERM.
KEY = 'sk-live-4711'

POLICY = """\
version: 1
name: http
framing: http1
extract: auto
request: {tasks: [keys]}
response: {tasks: [words]}
tasks:
  keys: {kind: terms, terms: ["%s"], fold: [casefold]}
  words: {kind: terms, terms: ["%s"], fold: [casefold]}
""" % (KEY, TERM)


class ChatServer:
    """tests/servers/chat_server.py, and its records."""

    def __init__(self, bench, answers):
        self.folder = tempfile.mkdtemp(prefix='record-', dir=bench.folder)
        self.process = bench.spawn(
            [PYTHON, SERVER, '--record', self.folder, '--answers',
             bench.file('answers.json', json.dumps(answers))],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        said = self.process.stdout.readline().split()
        check(said[:1] == [b'ready'], 'the chat server said %r', said)
        self.port = int(said[1])

    def url(self, path='/v1/chat/completions'):
        return 'http://127.0.0.1:%d%s' % (self.port, path)

    def connections(self):
        return sum(name.endswith('.received') for name in os.listdir(self.folder))

    def received(self, number):
        with open(os.path.join(self.folder, '%d.received' % number), 'rb') as file:
            return file.read()

    def everything(self):
        """Every byte that reached it, whatever the connection."""
        return b''.join(self.received(n) for n in range(1, self.connections() + 1))

    def end(self, number, seconds=10):
        """How a connection ended, once it has: eof, reset, or closed by the server."""
        path = os.path.join(self.folder, '%d.end' % number)
        wait_for(lambda: os.path.exists(path), seconds, 'the end of connection %d' % number)
        with open(path, encoding='ascii') as file:
            return file.read()


class Outcome:
    """What a client says of one exchange, and how the client and its run ended."""

    def __init__(self, said, status, run):
        self.code, self.run = status, run
        self.status, self.type, self.error = said['status'], said['type'], said['error']
        self.body, self.times = bytes.fromhex(said['body']), said['times']

    def events(self):
        """The events of a stream, each with its end; what follows the last is the last."""
        parts = self.body.split(b'\n\n')
        return [part + b'\n\n' for part in parts[:-1]] + parts[-1:] * bool(parts[-1])

    def __str__(self):
        return 'status %d, %r, %r..., exit status %d, run says %r' % (
            self.status, self.error, self.body[-300:], self.code, self.run)


def ask(model='', content='say it', stream=True, url='', **more):
    """A step of a plan: a question to a chat model."""
    return {'url': url, 'headers': {'Content-Type': 'application/json'}, 'body': json.dumps(
        {'model': model, 'messages': [{'role': 'user', 'content': content}], 'stream': stream}),
            **more}


class Client:
    """An ordinary HTTP client, run under a daemon or, without one, directly."""

    def __init__(self, bench, daemon, policy=None):
        self.bench, self.daemon = bench, daemon
        # Several are written at once, by threads: each file has a name of its own.
        self.folder = tempfile.mkdtemp(prefix='client-', dir=bench.folder)
        os.chmod(self.folder, 0o777)
        self.policy = policy and self.file('policy.yaml', policy)
        self.options = ['--policy', self.policy] if policy else []

    def file(self, name, text):
        path = os.path.join(tempfile.mkdtemp(dir=self.folder), name)
        os.chmod(os.path.dirname(path), 0o777)
        with open(path, 'w', encoding='utf-8') as out:
            out.write(text)
        return path

    def agent(self, name):
        """A copy where agents can read it."""
        path = os.path.join(self.folder, name)
        shutil.copy(os.path.join(HERE, 'http_agents', name), path)
        os.chmod(path, 0o755)
        return path

    def wrap(self, command, direct):
        return command if direct else self.daemon.run_command(command, options=self.options)

    def command(self, plan):
        """The words that ask what a plan lists."""
        raise NotImplementedError

    def ask_all(self, steps, direct=False, seconds=60):
        """Asks one after the other; the outcomes, in order."""
        command = self.wrap(self.command(self.file('plan.json', json.dumps(steps))), direct)
        done = self.bench.run(command, seconds=seconds)
        rows = [json.loads(row) for row in done.stdout.splitlines()]
        run = done.stderr.decode(errors='replace').strip()
        return [Outcome(row, done.returncode, run) for row in rows] or [
            Outcome({'status': 0, 'type': '', 'body': '', 'error': '', 'times': []},
                    done.returncode, run)]

    def ask(self, step, direct=False, seconds=60):
        return self.ask_all([step], direct, seconds)[0]


class Python(Client):
    def __init__(self, library, *args):
        super().__init__(*args)
        self.library, self.script = library, self.agent('client.py')

    def command(self, plan):
        return [PYTHON, self.script, self.library, plan]


class Node(Client):
    def __init__(self, *args):
        super().__init__(*args)
        node = shutil.which('node')
        if not node:
            raise Skip('node is not installed')
        self.words = [os.path.realpath(node), self.agent('client.js')]

    def command(self, plan):
        return [*self.words, plan]


class Go(Client):
    built = None  # once for all tests of a process

    def __init__(self, *args):
        super().__init__(*args)
        go = shutil.which('go')
        if not go:
            raise Skip('go is not installed')
        if not Go.built:
            folder = tempfile.mkdtemp(prefix='sluice-go-')
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            environment = {**os.environ, 'GOCACHE': os.path.join(folder, 'cache'),
                           'GOFLAGS': '-mod=mod', 'GOPROXY': 'off', 'GOTOOLCHAIN': 'local',
                           'HOME': folder}
            done = self.bench.run([go, 'build', '-o', os.path.join(folder, 'client'), os.path.join(
                HERE, 'http_agents', 'client.go')], seconds=120, env=environment)
            equal(done.returncode, 0, 'exit status of go build; it said %r' % done.stderr)
            Go.built = os.path.join(folder, 'client')
        self.program = os.path.join(self.folder, 'client')
        shutil.copy(Go.built, self.program)
        os.chmod(self.program, 0o755)

    def command(self, plan):
        return [self.program, plan]


class Curl(Client):
    """curl, one request a run."""

    def words(self, step, head):
        # A body that waits for a 100 is not to be sent without one, after a second.
        words = ['/usr/bin/curl', '-sS', '-N', '--expect100-timeout', '30', '-D', head, '-X',
                 step.get('method', 'POST')]
        for name, value in step.get('headers', {}).items():
            words += ['-H', '%s: %s' % (name, value)]
        if step.get('body') is not None:
            words += ['--data-binary', '@' + self.file('body', step['body'])]
        if 'leave' in step:
            words += ['--max-time', '1']
        return [*words, step['url']]

    def ask_all(self, steps, direct=False, seconds=60):
        return [self.ask(step, direct, seconds) for step in steps]

    def ask(self, step, direct=False, seconds=60):
        head = os.path.join(tempfile.mkdtemp(dir=self.folder), 'head')
        os.chmod(os.path.dirname(head), 0o777)
        process = self.bench.spawn(self.wrap(self.words(step, head), direct),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        began, body, times = time.monotonic(), bytearray(), []
        while piece := os.read(process.stdout.fileno(), 65536):
            body += piece
            times.append(time.monotonic() - began)
        run = process.stderr.read().decode(errors='replace').strip()
        rows = run.splitlines()
        said = {'status': 0, 'type': '', 'body': body.hex(), 'times': times,
                'error': ' '.join(row for row in rows if row.startswith('curl: '))}
        if os.path.exists(head):
            with open(head, encoding='latin-1', newline='') as file:
                fields = file.read().split('\r\n')
            statuses = [row for row in fields if row.startswith('HTTP/')]
            said['status'] = int(statuses[-1].split()[1]) if statuses else 0
            said['type'] = next((row.split(': ', 1)[1] for row in fields
                                 if row.lower().startswith('content-type: ')), '')
        return Outcome(said, process.wait(seconds), run)


CLIENTS = {
    'curl': Curl,
    'http.client': lambda *args: Python('http.client', *args),
    'urllib': lambda *args: Python('urllib', *args),
    'node': Node,
    'go': Go,
}


def all_at_once(cases, *args):
    """Runs each case(*args) in a thread; fails with all that failed, each under its name."""
    failed = []
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        running = {name: pool.submit(case, *args) for name, case in cases.items()}
        for name, case in running.items():
            error = case.exception()
            if isinstance(error, Skip):
                raise error
            if error:
                failed.append('%s: %s' % (name, ''.join(traceback.format_exception(error)[-2:])))
    check(not failed, '%d of %d: %s', len(failed), len(cases), '\n'.join(failed))


# Opens a connection for each list of writes (hexadecimal) in a JSON file, writes them,
# and says what came until the end, and how it ended.
RAW = '''
import json, socket, sys, time
rows = []
for writes in json.load(open(sys.argv[2])):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.settimeout(float(sys.argv[3]))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data, end = b"", "eof"
    try:
        for number, write in enumerate(writes):
            if number:
                time.sleep(0.03)
            s.sendall(bytes.fromhex(write))
    except (ConnectionResetError, BrokenPipeError):
        pass  # what came before is there still
    try:
        while piece := s.recv(65536):
            data += piece
    except (ConnectionResetError, BrokenPipeError):
        end = "reset"
    except TimeoutError:
        end = "open"
    s.close()
    rows.append([data.hex(), end])
print(json.dumps(rows))
'''


class Raw:
    """What comes back on connections whose every byte the test chooses."""

    def __init__(self, bench, daemon, policy=POLICY):
        self.bench, self.daemon, self.policy = bench, daemon, policy

    def talk(self, port, connections, direct=False, wait=5):
        """[(bytes, 'eof', 'reset' or 'open')] of each connection; what the run says."""
        plan = self.bench.file('plan.json', json.dumps(
            [[write.hex() for write in writes] for writes in connections]))
        command = [PYTHON, self.bench.file('raw.py', RAW), str(port), plan, str(wait)]
        if not direct:
            command = self.daemon.run_command(command, self.policy)
        done = self.bench.run(command, seconds=wait * len(connections) + 30)
        equal(done.returncode, 0, 'exit status; it said %r' % done.stderr)
        return [(bytes.fromhex(data), end) for data, end in json.loads(done.stdout)], \
            done.stderr.decode().strip()


def request(target='/v1/chat/completions', body=None, method=None, fields=()):
    """The bytes of a request."""
    rows = ['%s %s HTTP/1.1' % (method or ('GET' if body is None else 'POST'), target),
            'Host: test', *fields]
    if body is not None and not any(row.startswith('Content-Type') for row in rows):
        rows.append('Content-Type: application/json')
    if body is not None and not any(row.startswith('Transfer-Encoding') for row in rows):
        rows.append('Content-Length: %d' % len(body))
    return '\r\n'.join([*rows, '', '']).encode() + (body or b'')


def chat(model='', content='say it', stream=True, **more):
    """The bytes of a question to a chat model."""
    return request(body=ask(model, content, stream)['body'].encode(), **more)


CLOSE = request('/bye', fields=['Connection: close'])


def answers(data):
    """The status of each response that these bytes begin, as far as chunked bodies allow."""
    return [int(row.split(b' ')[1]) for row in data.split(b'\r\n') if row.startswith(b'HTTP/1.1 ')]


def refused(data, task_or_reason, status=403):
    """These bytes are a refusal in HTTP and nothing else."""
    equal(answers(data), [status], 'the statuses in %r' % data)
    head, body = data.split(b'\r\n\r\n', 1)
    check(b'application/problem+json' in head, 'no problem: %r', data)
    problem = json.loads(body)
    equal(problem['status'], status, 'the status in the problem')
    check(task_or_reason in json.dumps(problem), 'the problem %r does not say %s', problem,
          task_or_reason)
