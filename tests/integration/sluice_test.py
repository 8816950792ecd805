# SPDX-License-Identifier: Apache-2.0
"""What the integration tests share: a daemon of their own, watched cgroups,
servers that record what reached them, agents, and TAP.

Everything made here carries the test's process id in its name and is taken away
by `Bench.clean`, which also runs after a failure, on SIGTERM and at exit.
Processes are ended by id. Only loopback is used.
"""
import contextlib
import fcntl
import hashlib
import json
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

from peers import Server
from waiting import Skip, check, equal

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
SLUICED = os.path.join(BUILD, 'sluiced')
SLUICECTL = os.path.join(BUILD, 'sluicectl')
PYTHON = '/usr/bin/python3'
BPFFS = '/sys/fs/bpf'
NOBODY = pwd.getpwnam('nobody').pw_uid
TERM = 'forbidden'

POLICY = """\
version: 1
name: test
framing: ndjson
extract: "path:t"
request: {tasks: [words]}
response: {tasks: [words]}
tasks:
  words: {kind: terms, terms: ["forbidden"], fold: [casefold]}
"""


def line(text):
    """One ndjson unit whose text is `text`."""
    return json.dumps({'t': text}).encode() + b'\n'


def cgroup2_mount():
    with open('/proc/self/mountinfo', encoding='utf-8') as mounts:
        for row in mounts:
            before, after = row.split(' - ', 1)
            if after.split()[0] == 'cgroup2':
                return before.split()[4]
    raise Skip('no cgroup v2 is mounted')


class Control:
    """A JSON-RPC connection to a daemon."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(20)
        self.sock.connect(path)
        self.file = self.sock.makefile('rwb')
        self.last = 0

    def raw(self, data):
        self.file.write(data)
        self.file.flush()
        answer = self.file.readline()
        check(answer, 'the daemon closed the control connection')
        return json.loads(answer)

    def call(self, method, **params):
        self.last += 1
        answer = self.raw(json.dumps({'jsonrpc': '2.0', 'id': self.last, 'method': method,
                                      'params': params}).encode() + b'\n')
        equal(answer.get('id'), self.last, 'the id of the answer to ' + method)
        if 'error' in answer:
            raise RuntimeError('%s: %s' % (method, answer['error']['message']))
        return answer['result']

    def close(self):
        self.file.close()
        self.sock.close()


class Daemon:
    """A sluiced of this test's own."""

    def __init__(self, bench, name, policy=None):
        self.bench, self.instance = bench, name
        self.socket = os.path.join(bench.folder, name + '.sock')
        self.log = os.path.join(bench.folder, name + '.log')
        self.policy = bench.file(name + '.yaml', policy) if policy else None
        self.pins = os.path.join(BPFFS, 'sluice', name)
        self.cgroup = os.path.join(cgroup2_mount(), 'sluice.' + name)
        self.state = [os.path.join('/run/sluice', name + end)
                      for end in ('', '.sock', '.lock', '.handover')]
        self.process = None
        self.audit = os.path.join(bench.folder, name + '.audit')
        self.options = []
        self.port = bench.free_port()
        self.web = None  # a port of 127.0.0.1, for metrics and the page

    def arguments(self):
        web = ['--metrics', '127.0.0.1:%d' % self.web] if self.web else ['--no-metrics']
        arguments = [SLUICED, '--instance', self.instance, '--socket', self.socket,
                     '--port', str(self.port), '--audit', self.audit, *web, *self.options]
        return arguments + (['--policy', self.policy] if self.policy else [])

    def start(self, seconds=20):
        """Starts it and waits until it is open for business."""
        read_end, write_end = os.pipe()
        with open(self.log, 'ab') as log:
            self.process = self.bench.spawn(
                self.arguments() + ['--ready-fd', str(write_end)], pass_fds=[write_end],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        os.close(write_end)
        with os.fdopen(read_end, 'rb') as ready:
            said = self._ready_line(ready, seconds)
        check(said == b'ready\n', 'the daemon said %r; its log: %s', said, self.read_log())
        return self

    def _ready_line(self, ready, seconds):
        timer = threading.Timer(seconds, self.process.kill)
        timer.start()
        try:
            return ready.readline()
        finally:
            timer.cancel()

    def read_log(self):
        with open(self.log, encoding='utf-8', errors='replace') as log:
            return log.read()

    def call(self, method, **params):
        control = Control(self.socket)
        try:
            return control.call(method, **params)
        finally:
            control.close()

    def status(self):
        return self.call('status')

    def counters(self):
        return self.status()['counters']

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, seconds=15):
        """A graceful stop; returns its exit status."""
        self.process.terminate()
        return self.process.wait(seconds)

    def clean(self):
        """Ends it and takes away what it made; returns what could not be removed."""
        if self.process and self.process.poll() is None:
            self.kill()
        made = [self.pins, self.cgroup, *self.state]
        if not any(map(os.path.exists, made)):
            return []
        remove = subprocess.run([SLUICED, '--instance', self.instance, '--remove'], text=True,
                                capture_output=True, timeout=30, check=False)
        return ['%s (--remove said %r)' % (path, remove.stderr) for path in made
                if os.path.exists(path)]

    # --- what tests do through the command line ---

    def ctl(self, *args, seconds=30, **options):
        return self.bench.run([SLUICECTL, '--socket', self.socket, *args], seconds=seconds,
                              **options)

    def run_command(self, command, policy=None, options=()):
        """The command line that runs an agent under a policy of its own, or the daemon's."""
        under = ['--policy', self.bench.file('run.yaml', policy)] if policy else []
        return [SLUICECTL, '--socket', self.socket, 'run', *under, *options, '--', *command]

    def agent(self, source, *args, policy=None, seconds=60, options=(), **how):
        """Runs a Python agent to its end; returns the completed process."""
        path = self.bench.file('agent.py', source)
        return self.bench.run(self.run_command([PYTHON, path, *map(str, args)], policy, options),
                              seconds=seconds, **how)

    def start_agent(self, source, *args, policy=None, options=(), **how):
        path = self.bench.file('agent.py', source)
        return self.bench.spawn(self.run_command([PYTHON, path, *map(str, args)], policy, options),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **how)


class Bench:
    """What a test works on; owns all that it makes."""

    def __init__(self, name):
        self.name = 't%d-%s' % (os.getpid(), name)
        self.folder = tempfile.mkdtemp(prefix=self.name + '-')
        os.chmod(self.folder, 0o755)
        self.daemons, self.processes, self.servers, self.cgroups = [], [], [], []
        self.port_locks, self.undo, self.files = [], [], 0

    def file(self, name, text):
        """A file that agents, which are not root, can read."""
        self.files += 1
        path = os.path.join(self.folder, '%d-%s' % (self.files, name))
        with open(path, 'w', encoding='utf-8') as out:
            out.write(text)
        os.chmod(path, 0o755)
        return path

    def program(self, name):
        """A copy of a built agent, where agents can reach it."""
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            shutil.copy(os.path.join(BUILD, 'tests', 'integration', name), path)
            os.chmod(path, 0o755)
        return path

    def free_port(self):
        """A port below 1024, free on both families and reserved among concurrent tests."""
        candidates = random.sample(range(600, 1000), 400)
        for port in candidates:
            lock = open('/tmp/sluice-test-port-%d.lock' % port, 'wb')  # pylint: disable=R1732
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Who held it before may have removed the file that this locked.
                if not os.path.samestat(os.fstat(lock.fileno()), os.stat(lock.name)):
                    raise FileNotFoundError(lock.name)
            except OSError:
                lock.close()
                continue
            try:
                for family, address in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
                    with socket.socket(family, socket.SOCK_STREAM) as probe:
                        probe.bind((address, port))
            except OSError:
                os.unlink(lock.name)
                lock.close()
                continue
            self.port_locks.append(lock)
            return port
        raise AssertionError('no free port below 1024')

    def daemon(self, policy=POLICY, start=True):
        daemon = Daemon(self, '%s-%d' % (self.name, len(self.daemons)), policy)
        self.daemons.append(daemon)
        return daemon.start() if start else daemon

    def server(self, *args, **options):
        server = Server(*args, **options)
        self.servers.append(server)
        return server

    def spawn(self, command, **options):
        process = subprocess.Popen(command, **options)  # pylint: disable=R1732
        self.processes.append(process)
        return process

    def run(self, command, seconds=30, stdin=b'', **options):
        """Runs to the end within `seconds`; output as bytes."""
        process = self.spawn(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, **options)
        try:
            out, err = process.communicate(stdin, timeout=seconds)
        except subprocess.TimeoutExpired:
            process.terminate()
            out, err = process.communicate()
            raise AssertionError('%s still ran after %d s; it said %r %r' % (
                command, seconds, out[-500:], err[-500:])) from None
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def private_run(self, command, policy, options=(), **how):
        """Starts a run where no daemon answers, so that it brings a private one."""
        nobody = os.path.join(self.folder, 'no-daemon.sock')
        return self.spawn([SLUICECTL, '--socket', nobody, 'run', '--policy',
                           self.file('run.yaml', policy), *options, '--', *command],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          **how)

    def private_daemon(self, run):
        """The process id of a run's private daemon, whose leavings are removed in the end."""
        for pid in children(run.pid):
            words = command_line(pid)
            if words and os.path.basename(words[0]) == 'sluiced':
                instance = words[words.index('--instance') + 1]
                self.undo.append(lambda: subprocess.run(
                    [SLUICED, '--instance', instance, '--remove'], capture_output=True,
                    timeout=30, check=False))
                return pid
        raise AssertionError('run %d has no private daemon' % run.pid)

    def cgroup(self, name='watched'):
        """A cgroup v2 directory of the test's own, for `watch`."""
        path = os.path.join(cgroup2_mount(), '%s.%d.%s' % (self.name, len(self.cgroups), name))
        os.mkdir(path)
        self.cgroups.append(path)
        return path

    def in_cgroup(self, path, source, *args, **options):
        """Starts a Python agent inside a cgroup: it has joined before its first line runs."""
        def join():
            with open(os.path.join(path, 'cgroup.procs'), 'w', encoding='ascii') as procs:
                procs.write('0')
        return self.spawn([PYTHON, self.file('agent.py', source), *map(str, args)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=join, **options)

    def clean(self):
        """Takes everything away, the youngest first; returns complaints."""
        complaints = []
        for undo in reversed(self.undo):
            undo()
        self.undo.clear()
        for process in reversed(self.processes):
            if process.poll() is None and not any(d.process is process for d in self.daemons):
                process.terminate()
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe:
                    with contextlib.suppress(OSError):
                        pipe.close()
        for server in self.servers:
            server.close()
        for daemon in self.daemons:
            complaints += daemon.clean()
        for path in reversed(self.cgroups):
            complaints += remove_cgroup(path)
        for lock in self.port_locks:
            os.unlink(lock.name)
            lock.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.processes, self.servers, self.daemons, self.cgroups = [], [], [], []
        self.port_locks = []
        return complaints


def children(pid):
    with open('/proc/%d/task/%d/children' % (pid, pid), encoding='ascii') as listed:
        return [int(word) for word in listed.read().split()]


def command_line(pid):
    with open('/proc/%d/cmdline' % pid, 'rb') as words:
        return [word.decode() for word in words.read().split(b'\0')[:-1]]


def remove_cgroup(path):
    """Kills what is left inside and removes it; returns complaints."""
    if not os.path.isdir(path):
        return []
    end = time.monotonic() + 5
    while True:
        with contextlib.suppress(OSError):
            with open(os.path.join(path, 'cgroup.kill'), 'w', encoding='ascii') as kill:
                kill.write('1')
        try:
            os.rmdir(path)
            return []
        except OSError as error:
            if time.monotonic() > end:
                return ['%s: %s' % (path, error)]
        time.sleep(0.05)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def stopped(number, _frame):
    sys.exit('ended by signal %d' % number)


def run_one(name, function):
    """Runs one test on a bench of its own; returns a skip reason or None. Raises on failure."""
    bench = Bench(name)
    failed = True
    try:
        function(bench)
        failed = False
    except Skip as reason:
        failed = False
        return str(reason)
    finally:
        logs = [(d.instance, d.read_log()) for d in bench.daemons if os.path.exists(d.log)]
        complaints = bench.clean()
        if failed:
            for instance, log in logs:
                print('# log of %s:' % instance)
                for row in log.splitlines()[-40:]:
                    print('#   ' + row)
        elif complaints:
            raise AssertionError('left over: %s' % '; '.join(complaints))
    return None


def enter_own_network():
    """Begins the program again in a network namespace of its own, with a loopback."""
    if os.geteuid() != 0:
        return
    if os.environ.get('SLUICE_TEST_NETNS') != str(os.getpid()):
        # The id stays over both calls: only the process that set it is inside.
        os.environ['SLUICE_TEST_NETNS'] = str(os.getpid())
        os.execvp('unshare', ['unshare', '--net', sys.executable, os.path.abspath(sys.argv[0]),
                              *sys.argv[1:]])
    subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)


def main(tests):
    """Runs the named test functions (or those the command line names), printing TAP."""
    if os.geteuid() != 0:
        print('these tests make cgroups and load BPF programs: run them as root')
        sys.exit(77)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stopped)
    sys.stdout.reconfigure(line_buffering=True)
    unknown = set(sys.argv[1:]) - {t.__name__ for t in tests}
    if unknown:
        print('there is no test %s' % ', '.join(sorted(unknown)))
        sys.exit(2)
    chosen = [t for t in tests if not sys.argv[1:] or t.__name__ in sys.argv[1:]]
    print('1..%d' % len(chosen))
    failed = 0
    for number, test in enumerate(chosen, 1):
        title = (test.__doc__ or test.__name__).strip().splitlines()[0].rstrip('.')
        began = time.monotonic()
        try:
            reason = run_one(test.__name__.replace('_', '-')[:20], test)
            print('ok %d - %s%s' % (number, title, ' # SKIP ' + reason if reason else ''))
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            print('not ok %d - %s' % (number, title))
            for row in ''.join(traceback.format_exception(error)).splitlines():
                print('# ' + row)
        if os.environ.get('TIMES'):
            print('# %.2f s' % (time.monotonic() - began))
    sys.exit(1 if failed else 0)
