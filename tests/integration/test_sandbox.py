#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a command under `run` may not do, tried by a hostile one."""
import json
import os
import re
import signal
import time

import peers
from sluice_test import POLICY, PYTHON, SLUICED, cgroup2_mount, line, main
from waiting import check, equal, wait_for

# Each attempt's outcome by name: "ok", or the errno's name.
PROBE = r'''
import ctypes, errno, json, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
out = {}

def attempt(name, function):
    try:
        value = function()
        out[name] = "ok" if value is None else value
    except OSError as error:
        out[name] = errno.errorcode.get(error.errno, str(error.errno))

def call(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a
                                                   for a in args])
    if result < 0:
        raise OSError(ctypes.get_errno(), "")

def make(family, kind, protocol=0):
    socket.socket(family, kind, protocol).close()

def send_udp(family, address):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.sendto(b"leak", address)

def send_connected_udp(address):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(address)
    s.send(b"leak")

def listen():
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen()
    c = socket.socket()
    c.settimeout(1)
    c.connect(s.getsockname())
    c.send(b"x")
    s.settimeout(1)
    return "accepted " + str(len(s.accept()[0].recv(1)))

status = dict(row.rstrip("\n").split(":\t", 1) for row in open("/proc/self/status")
              if ":\t" in row)
out["uid"] = status["Uid"].split()
out["gid"] = status["Gid"].split()
out["groups"] = status["Groups"].split()
out["capabilities"] = [status[n] for n in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")]
out["no_new_privs"] = status["NoNewPrivs"]
out["seccomp"] = status["Seccomp"]
out["pid"] = os.getpid()
out["descriptors"] = sorted(int(n) for n in os.listdir("/proc/self/fd"))[:20]
out["pids"] = sorted(int(n) for n in os.listdir("/proc") if n.isdigit())

for name, family, kind in (("packet", 17, socket.SOCK_RAW), ("vsock", 40, socket.SOCK_STREAM),
                           ("xdp", 44, socket.SOCK_RAW),
                           ("alg", 38, socket.SOCK_SEQPACKET), ("key", 15, socket.SOCK_RAW),
                           ("bluetooth", 31, socket.SOCK_RAW), ("tipc", 30, socket.SOCK_STREAM),
                           ("rds", 21, socket.SOCK_SEQPACKET), ("smc", 43, socket.SOCK_STREAM)):
    attempt(name, lambda f=family, k=kind: make(f, k))
# Of netlink, getaddrinfo() needs the routing protocol and nothing else.
attempt("netlink_route", lambda: make(16, socket.SOCK_RAW, 0))
attempt("netlink_diag", lambda: make(16, socket.SOCK_RAW, 4))
attempt("netlink_uevent", lambda: make(16, socket.SOCK_DGRAM, 15))
attempt("netlink_hidden_bits", lambda: call(41, 16 | 1 << 40, 3 | 1 << 33, 4))
attempt("vsock_hidden_bits", lambda: call(41, 40 | 1 << 40, 1, 0))
attempt("raw", lambda: make(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("raw6", lambda: make(socket.AF_INET6, socket.SOCK_RAW, 58))
attempt("ping", lambda: make(socket.AF_INET, socket.SOCK_DGRAM, 1))
attempt("sctp", lambda: make(socket.AF_INET, socket.SOCK_STREAM, 132))
attempt("mptcp", lambda: make(socket.AF_INET, socket.SOCK_STREAM, 262))
attempt("udplite", lambda: make(socket.AF_INET, socket.SOCK_DGRAM, 136))
attempt("tcp", lambda: make(socket.AF_INET, socket.SOCK_STREAM))
attempt("udp", lambda: send_udp(socket.AF_INET, ("127.0.0.1", int(sys.argv[1]))))
attempt("udp_connected", lambda: send_connected_udp(("127.0.0.1", int(sys.argv[1]))))
attempt("udp6", lambda: send_udp(socket.AF_INET6, ("::1", int(sys.argv[1]))))
attempt("udp_mapped", lambda: send_udp(socket.AF_INET6, ("::ffff:127.0.0.1", int(sys.argv[1]))))
attempt("listen", listen)
attempt("bind_daemon_port", lambda: socket.socket().bind(("127.0.0.1", int(sys.argv[2]))))
attempt("connect_daemon_port",
        lambda: socket.create_connection(("127.0.0.1", int(sys.argv[2])), 2).close())
attempt("unix_control", lambda: socket.socket(socket.AF_UNIX).connect(sys.argv[3]))
attempt("unix_other", lambda: socket.socket(socket.AF_UNIX).connect(sys.argv[4]))
attempt("unix_datagram",
        lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", sys.argv[4] + ".d")
        and None)
attempt("socketpair", lambda: [s.close() for s in socket.socketpair()] and None)

attempt("io_uring_setup", lambda: call(425, 8, ctypes.create_string_buffer(256)))
attempt("bpf", lambda: call(321, 0, ctypes.create_string_buffer(128), 128))
attempt("ptrace_traceme", lambda: call(101, 0, 0, 0, 0))
attempt("process_vm_readv", lambda: call(310, 1, 0, 0, 0, 0, 0))
attempt("pidfd_getfd", lambda: call(438, 0, 0, 0))
attempt("setns", lambda: call(308, os.open("/proc/self/ns/net", os.O_RDONLY), 0))
attempt("unshare_user", lambda: call(272, 0x10000000))
attempt("unshare_net", lambda: call(272, 0x40000000))
attempt("clone_user", lambda: call(56, 0x10000000 | 17, 0, 0, 0, 0))
attempt("mount", lambda: call(165, b"none", b"/mnt", b"bpf", 0, 0))
attempt("keyctl", lambda: call(250, 0, 0))
attempt("perf_event_open", lambda: call(298, ctypes.create_string_buffer(128), 0, -1, -1, 0))
attempt("userfaultfd", lambda: call(323, 0))
attempt("setuid", lambda: os.setuid(0))
attempt("bpffs", lambda: os.listdir(sys.argv[5] + "/sluice") and None)
attempt("pin", lambda: open(sys.argv[6], "rb").close())
out["bpffs_entries"] = os.listdir(sys.argv[5]) if os.path.isdir(sys.argv[5]) else []
attempt("cgroup_mkdir", lambda: os.mkdir(sys.argv[7] + "/escape"))
def join_root():
    with open(sys.argv[7] + "/cgroup.procs", "w") as procs:
        procs.write("0")
attempt("cgroup_join", join_root)
def proc_root():
    os.listdir("/proc/1/root/sys/fs/bpf/sluice")
attempt("proc_1_root", proc_root)
print(json.dumps(out))
'''

REFUSED = {'EPERM', 'EACCES', 'EAFNOSUPPORT', 'EPROTONOSUPPORT', 'ESOCKTNOSUPPORT'}


def probe(bench, daemon):
    """What the hostile command found out."""
    other = peers.socket.socket(peers.socket.AF_UNIX)
    other_path = os.path.join(bench.folder, 'o')
    other.bind(other_path)
    other.listen()
    os.chmod(other_path, 0o777)
    datagram = peers.socket.socket(peers.socket.AF_UNIX, peers.socket.SOCK_DGRAM)
    datagram.bind(other_path + '.d')
    os.chmod(other_path + '.d', 0o777)
    bench.undo += [other.close, datagram.close]
    udp = peers.socket.socket(peers.socket.AF_INET, peers.socket.SOCK_DGRAM)
    udp.bind(('127.0.0.1', 0))
    bench.undo.append(udp.close)
    pins = sorted(os.listdir(daemon.pins))
    # A descriptor that run inherits and its command must not.
    spare = os.open('/etc/hostname', os.O_RDONLY)
    bench.undo.append(lambda: os.close(spare))
    done = daemon.agent(PROBE, udp.getsockname()[1], daemon.port, daemon.socket, other_path,
                        '/sys/fs/bpf', os.path.join(daemon.pins, pins[0]), cgroup2_mount(),
                        pass_fds=[spare])
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    udp.setblocking(False)
    try:
        raise AssertionError('a datagram arrived: %r' % udp.recv(100))
    except BlockingIOError:
        pass
    return json.loads(done.stdout), done


def kernel_has(bench, feature):
    """Does this kernel offer what doctor lists under that name?"""
    rows = json.loads(bench.run([SLUICED, '--check']).stdout)
    return [row['present'] for row in rows if row['name'] == feature] == [True]


def found_by_a_hostile_command(bench):
    """identity, capabilities, descriptors, sockets, system calls, pins, cgroups"""
    daemon = bench.daemon()
    out, done = probe(bench, daemon)
    check('0' not in out['uid'] + out['gid'] + out['groups'], 'ids %r', out)
    equal(out['capabilities'], ['0' * 16] * 5, 'capabilities')
    equal(out['no_new_privs'], '1', 'no new privileges')
    equal(out['seccomp'], '2', 'seccomp mode')
    # 0 to 2, and the directory that was listed.
    equal(out['descriptors'], [0, 1, 2, 3], 'descriptors')
    check(len(out['pids']) <= 3, 'processes of its namespace: %r', out['pids'])
    for name in ('packet', 'vsock', 'vsock_hidden_bits', 'xdp', 'netlink_diag', 'netlink_uevent',
                 'netlink_hidden_bits', 'alg', 'key', 'bluetooth', 'tipc', 'rds', 'smc', 'raw',
                 'raw6', 'ping', 'sctp', 'mptcp', 'udplite', 'udp', 'udp_connected', 'udp6',
                 'udp_mapped'):
        check(out[name] in REFUSED, '%s: %r', name, out[name])
    check(not out['listen'].startswith('accepted'), 'an agent that listens: %r', out['listen'])
    equal(out['tcp'], 'ok', 'a TCP socket')
    equal(out['netlink_route'], 'ok', 'a routing socket')
    equal(out['socketpair'], 'ok', 'a socket pair')
    check(out['bind_daemon_port'] in ('EACCES', 'EPERM', 'EADDRINUSE'), 'bind: %r',
          out['bind_daemon_port'])
    check(out['connect_daemon_port'] in ('ECONNREFUSED', 'EPERM', 'EACCES'), 'connect: %r',
          out['connect_daemon_port'])
    check(out['unix_control'] in ('EPERM', 'EACCES', 'ENOENT', 'ECONNREFUSED'),
          'the control socket: %r', out['unix_control'])
    for name, hook in (('unix_other', 'connect_unix'), ('unix_datagram', 'sendmsg_unix')):
        # Without the hook (before Linux 6.7) what file permissions allow is open, and said to be.
        if not kernel_has(bench, hook):
            equal(out[name], 'ok', name)
            continue
        check(out[name] in ('EPERM', 'EACCES', 'ENOENT', 'ECONNREFUSED'), '%s: %r', name, out[name])
    equal(out['io_uring_setup'], 'ENOSYS', 'io_uring_setup')
    equal(out['bpf'], 'EPERM', 'bpf')
    for name in ('ptrace_traceme', 'process_vm_readv', 'pidfd_getfd', 'setns', 'unshare_user',
                 'unshare_net', 'clone_user', 'mount', 'perf_event_open', 'setuid'):
        check(out[name] in ('EPERM', 'EACCES', 'ENOSYS'), '%s: %r', name, out[name])
    for name in ('bpffs', 'pin', 'proc_1_root'):
        check(out[name] in ('EPERM', 'EACCES', 'ENOENT'), '%s: %r', name, out[name])
    equal(out['bpffs_entries'], [], 'entries of bpffs')
    for name in ('cgroup_mkdir', 'cgroup_join'):
        check(out[name] in ('EPERM', 'EACCES', 'EROFS', 'ENOENT'), '%s: %r', name, out[name])
    check(re.search(rb'refused by the fence \d+ \(.*udp \d', done.stderr),
          'the summary does not name what the fence refused: %r', done.stderr)
    check('refused fence_' in daemon.read_log() and '[::]:0' not in daemon.read_log(),
          'the log of refusals: %s', daemon.read_log())
    counters = daemon.counters()
    for name in ('fence_udp', 'fence_socket'):
        check(counters[name] > 0, 'the counter %s is %r', name, counters[name])


def user_zero_is_refused(bench):
    """--user root and --user 0 are refused; the invoking user under sudo is taken"""
    daemon = bench.daemon()
    for user in ('root', '0'):
        done = daemon.agent('print("ran")', options=['--user', user])
        equal((done.returncode, done.stdout), (125, b''), '--user %s' % user)
    env = dict(os.environ, SUDO_UID='1234', SUDO_GID='1234', SUDO_USER='someone')
    done = daemon.agent('import os; print(os.getuid(), os.getgid())', env=env)
    equal(done.stdout, b'1234 1234\n', 'ids under sudo; it said %r' % done.stderr)
    env = dict(os.environ, SUDO_UID='0', SUDO_GID='0', SUDO_USER='root')
    done = daemon.agent('import os; print(os.getuid())', env=env)
    check(done.stdout.strip() not in (b'0',), 'uid 0 under sudo of root')


def attacks_on_the_pins(bench):
    """no pinned map can be opened or written, no pinned link detached, no pin even seen"""
    daemon = bench.daemon()
    attack = r'''
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
class Path(ctypes.Structure):
    _fields_ = [("path", ctypes.c_uint64), ("fd", ctypes.c_uint32), ("flags", ctypes.c_uint32)]
found, refused = 0, 0
for folder, _, names in os.walk("/sys/fs/bpf"):
    for name in names:
        found += 1
text = ctypes.create_string_buffer(sys.argv[1].encode())
attr = Path(ctypes.addressof(text), 0, 0)
for command in (7, 1, 2, 22, 34):
    ctypes.set_errno(0)
    if libc.syscall(321, command, ctypes.byref(attr), 16) < 0 and ctypes.get_errno() == errno.EPERM:
        refused += 1
print(os.getuid(), found, refused)
'''
    pin = next(os.path.join(folder, name) for folder, _, names in os.walk(daemon.pins)
               for name in names)
    done = daemon.agent(attack, pin)
    uid, found, refused = (int(word) for word in done.stdout.split())
    check(uid != 0, 'the agent is uid 0')
    equal((found, refused), (0, 5), 'pins found, bpf commands refused')


def exit_statuses(bench):
    """the command's status; 126 not executable, 127 not found, 128+n for a signal"""
    daemon = bench.daemon()
    for command, status in ((['/bin/true'], 0), (['/bin/false'], 1), (['sh', '-c', 'exit 42'], 42),
                            (['/nonexistent/program'], 127), (['no-such-program-here'], 127),
                            ([bench.file('data', 'no program')], 126), ([bench.folder], 126),
                            (['sh', '-c', 'kill -TERM $$'], 128 + signal.SIGTERM),
                            (['sh', '-c', 'kill -KILL $$'], 128 + signal.SIGKILL)):
        if status == 126 and os.path.isfile(command[0]):
            os.chmod(command[0], 0o644)
        done = bench.run(daemon.run_command(command), seconds=15)
        equal(done.returncode, status, 'status of %r; it said %r' % (command, done.stderr))
        equal(done.stderr.count(b'; refused by the fence 0'), 1, 'summaries of %r' % command)
    done = bench.run(daemon.run_command(['/bin/true'], options=['--user', 'no-such-user-here']))
    equal(done.returncode, 125, 'status with an unknown user')


def signals_are_passed_on(bench):
    """SIGTERM, SIGINT, SIGHUP and SIGUSR1 to run reach the command"""
    agent = '''
import os, signal, sys, time
name = sys.argv[1]
def handler(number, frame):
    os.write(1, b"got %s\\n" % name.encode())
    os._exit(9)
signal.signal(getattr(signal, name), handler)
print("ready", flush=True)
# Short sleeps: a signal between Python's last look and a long one would wait for its end.
for _ in range(400):
    time.sleep(0.05)
'''
    daemon = bench.daemon()
    for name in ('SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR1'):
        run = daemon.start_agent(agent, name)
        equal(run.stdout.readline(), b'ready\n', 'the first word')
        run.send_signal(getattr(signal, name))
        out, err = run.communicate(timeout=10)
        equal((out, run.returncode), (b'got %s\n' % name.encode(), 9), name + '; %r' % err)


def grandchildren(bench):
    """orphans of the command are reaped, and killed when it ends"""
    agent = '''
import os, subprocess, sys, time
for _ in range(20):
    subprocess.run(["sh", "-c", "sh -c 'exit 0' & exit 0"], check=True)
time.sleep(0.3)
zombies = 0
for name in os.listdir("/proc"):
    if name.isdigit():
        try:
            zombies += open("/proc/%s/stat" % name).read().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            pass
print("zombies", zombies, flush=True)
subprocess.Popen(["setsid", "sleep", "31.7"], stdin=subprocess.DEVNULL,
                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
'''
    daemon = bench.daemon()
    began = time.monotonic()
    done = daemon.agent(agent, seconds=30)
    equal((done.returncode, done.stdout), (0, b'zombies 0\n'), 'status, output; %r' % done.stderr)
    # Far less than the sleep, and enough for a busy machine.
    check(time.monotonic() - began < 25, 'run waited for a grandchild')
    alive = [pid for pid in os.listdir('/proc') if pid.isdigit() and is_sleep(pid, '31.7')]
    equal(alive, [], 'grandchildren that outlived the run')
    wait_for(lambda: not [name for name in os.listdir(daemon.cgroup) if name.startswith('run-')],
             5, 'the end of the cgroup of a finished run')


def is_sleep(pid, word):
    try:
        with open('/proc/%s/cmdline' % pid, 'rb') as words:
            return words.read().split(b'\0')[:2] == [b'sleep', word.encode()]
    except OSError:
        return False


def streams_are_plain(bench):
    """standard input, output and error are the command's own; the environment is kept"""
    daemon = bench.daemon()
    done = bench.run(daemon.run_command(['sh', '-c', 'cat; echo "$WORD" >&2; exit 3']),
                     stdin=b'through', env=dict(os.environ, WORD='kept'))
    equal((done.returncode, done.stdout), (3, b'through'), 'status and output')
    check(done.stderr.startswith(b'kept\n'), 'standard error: %r', done.stderr)


def a_private_daemon_serves_one_run(bench):
    """where no daemon answers, a private one serves the run and leaves nothing behind"""
    agent = '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(10)
s.sendall(b'{"t": "clean"}\\n')
assert s.recv(100) == b'{"t": "clean"}\\n'
print("ready", flush=True)
sys.stdin.readline()
s.sendall(b'{"t":"forbidden"}\\n')
try:
    print(s.recv(100))
except ConnectionResetError:
    print("reset")
'''
    def state():
        pins = set(os.listdir('/sys/fs/bpf/sluice')) if os.path.isdir('/sys/fs/bpf/sluice') else set()
        groups = {n for n in os.listdir(cgroup2_mount()) if n.startswith('sluice.')}
        return pins, groups

    server = bench.server(peers.echo)
    run = bench.private_run([PYTHON, bench.file('a.py', agent), str(server.port)], POLICY)
    equal(run.stdout.readline(), b'ready\n', 'the first word')
    pid = bench.private_daemon(run)
    with open('/proc/%d/cmdline' % pid, 'rb') as words:
        command = words.read().split(b'\0')
    instance = command[command.index(b'--instance') + 1].decode()
    check(instance in state()[0], 'no pins of %s', instance)
    out, err = run.communicate(b'go\n', timeout=20)
    equal((out, run.returncode), (b'reset\n', 0), 'output, status; it said %r' % err)
    equal(bytes(server.ended().data), line('clean'), 'what arrived')
    wait_for(lambda: not os.path.exists('/proc/%d' % pid), 10, 'the private daemon to end')
    pins, groups = state()
    check(instance not in pins, 'pins of %s are left', instance)
    check('sluice.' + instance not in groups, 'cgroups of %s are left', instance)


def a_killed_run_takes_its_command_along(bench):
    """run itself is killed: its command and its private daemon end, nothing stays"""
    agent = 'import time\nprint("ready", flush=True)\ntime.sleep(33.1)\n'
    run = bench.private_run([PYTHON, bench.file('a.py', agent)], POLICY)
    equal(run.stdout.readline(), b'ready\n', 'the first word')
    pid = bench.private_daemon(run)
    run.kill()
    run.wait()
    wait_for(lambda: not os.path.exists('/proc/%d' % pid), 15, 'the private daemon to end')


if __name__ == '__main__':
    main([found_by_a_hostile_command, user_zero_is_refused, attacks_on_the_pins, exit_statuses,
          signals_are_passed_on, grandchildren, streams_are_plain,
          a_private_daemon_serves_one_run, a_killed_run_takes_its_command_along])
