#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What keeps the daemon or a run from starting: one clear line, a non-zero exit,
nothing half attached."""
import ctypes
import errno
import json
import os
import shutil
import socket
import struct
import subprocess

from sluice_test import POLICY, SLUICECTL, SLUICED, Daemon, cgroup2_mount, main
from waiting import Skip, check, equal


def fails(bench, command, *words, status=1, **options):
    """The command ends with `status`, says one line, which has each of the words."""
    done = bench.run(command, seconds=20, **options)
    equal(done.returncode, status, 'exit status; it said %r' % done.stderr)
    rows = done.stderr.decode().strip().splitlines()
    equal(len(rows), 1, 'lines on standard error: %r' % rows)
    for word in words:
        check(word in rows[0], '%r does not say %r', rows[0], word)
    return rows[0]


def nothing_is_left(daemon):
    for path in (daemon.pins, daemon.cgroup, daemon.socket, *daemon.state):
        check(not os.path.exists(path), '%s was left', path)


def bad_policies(bench):
    """a bad policy file, with line and column"""
    daemon = bench.daemon(start=False)
    for text, words in (
            ('version: 1\nname: x\nnonsense: 1\n', (':3:1', 'nonsense')),
            ('version: 2\nname: x\n', (':1:', 'version')),
            ('version: 1\nname: [\n', (':',)),
            (POLICY + 'limits: {eager_bytes: lots}\n', ('eager_bytes',)),
            (POLICY + 'limits: {eager_bytes: 4096}\n', ('eager_bytes', 'reset')),
            (POLICY.replace('terms: ["forbidden"]', 'terms: [""]'), ('term',)),
            (POLICY.replace('kind: terms', 'kind: regex'), (':8:', 'terms', 'patterns')),
            (POLICY.replace('kind: terms', 'kind: interceptor'), (':8:', 'terms', 'url')),
            (POLICY.replace('[words]', '[other]', 1), ('other',)),
            (POLICY + 'mode: watch\n', (':9:7', 'watch', 'observe')),
            (POLICY + 'safety_level: full\n', (':9:15', 'full', 'deferred')),
            (POLICY + 'safety_level: deferred\non_deny: reset\nlimits: {eager_bytes: 1}\n',
             (':11:23', 'eager_bytes', 'deferred')),
            (POLICY + 'output: {tasks: [other]}\n', (':9:18', 'other')),
            (POLICY.replace('[words]', '[]') + 'output: {tasks: [words]}\n',
             (':9:17', 'no track is mediated')),
            (POLICY + 'strict: true\n', (':9:1', 'openai_chat')),
            (POLICY + 'audit: {on_full: stop}\n', (':9:18', 'drop')),
            ('version: 1\nname: x\nframing: ws\nextract: raw\n', ('ws',)),
            ('\xff\0', ())):
        daemon.policy = bench.file('bad.yaml', text)
        fails(bench, daemon.arguments(), daemon.policy, *words)
        nothing_is_left(daemon)
        fails(bench, [SLUICECTL, 'policy', 'check', daemon.policy], daemon.policy, *words)
    daemon.policy = '/nonexistent/policy.yaml'
    fails(bench, daemon.arguments(), '/nonexistent/policy.yaml')
    nothing_is_left(daemon)


def no_privileges(bench):
    """without privileges: daemon and run say what is missing"""
    daemon = bench.daemon(start=False)
    program = os.path.join(bench.folder, 'sluiced')
    shutil.copy(SLUICED, program)
    nobody = ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups', '--inh-caps=-all']
    fails(bench, nobody + [program] + daemon.arguments()[1:], 'root')
    nothing_is_left(daemon)
    fails(bench, ['setpriv', '--bounding-set=-bpf,-sys_admin', '--inh-caps=-all']
          + daemon.arguments())
    nothing_is_left(daemon)
    control = os.path.join(bench.folder, 'sluicectl')
    shutil.copy(SLUICECTL, control)
    fails(bench, nobody + [control, 'run', '--policy', bench.file('run.yaml', POLICY), '--',
                           '/bin/true'], 'root', status=125)


def without_bpf(command, error):
    """For preexec_fn: from now on bpf(2) fails for that command, or for any with None."""
    load, jump, give = 0x20, 0x15, 0x06  # LD|W|ABS, JMP|JEQ|K, RET|K of classic BPF
    number, first_argument, allow, fail = 0, 16, 0x7fff0000, 0x00050000 | error
    bpf = {'x86_64': 321, 'aarch64': 280}[os.uname().machine]
    program = [(load, 0, 0, number), (jump, 0, 3, bpf), (load, 0, 0, first_argument),
               (jump, 0, 1, command or 0), (give, 0, 0, fail), (give, 0, 0, allow)]
    if command is None:
        program[2:4] = [(give, 0, 0, fail), (give, 0, 0, fail)]
    code = b''.join(struct.pack('HBBI', *row) for row in program)

    def apply():
        libc = ctypes.CDLL(None, use_errno=True)
        rows = ctypes.create_string_buffer(code)
        filter_ = struct.pack('HxxxxxxP', len(program), ctypes.addressof(rows))
        set_seccomp, mode_filter = 22, 2
        if libc.prctl(set_seccomp, mode_filter, filter_, 0, 0):
            raise OSError(ctypes.get_errno(), 'prctl')
    return apply


def missing_kernel_features(bench):
    """a kernel without BPF, without programs of ours, or without links"""
    daemon = bench.daemon(start=False)
    program_load, link_create = 5, 28
    for command, error in ((None, errno.ENOSYS), (program_load, errno.EINVAL),
                           (link_create, errno.EINVAL)):
        fails(bench, daemon.arguments(), 'kernel', preexec_fn=without_bpf(command, error))
        nothing_is_left(daemon)


def no_cgroup2(bench):
    """a machine without a cgroup v2 hierarchy"""
    daemon = bench.daemon(start=False)
    bare = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c',
            'umount "$0" && exec "$@"', cgroup2_mount()]
    fails(bench, bare + daemon.arguments(), 'cgroup')
    nothing_is_left(daemon)


def busy_socket_path(bench):
    """a control socket that another daemon answers on, or that is no socket"""
    first = bench.daemon()
    second = bench.daemon(start=False)
    second.socket = first.socket
    fails(bench, second.arguments(), first.socket)
    check(not os.path.exists(second.pins), 'pins were left')
    equal(first.status()['instance'], first.instance, 'the first daemon')
    second.socket = bench.file('no-socket', 'precious\n')
    fails(bench, second.arguments(), second.socket)
    with open(second.socket, encoding='ascii') as file:
        equal(file.read(), 'precious\n', 'the file in the way')
    second.socket = '/nonexistent/folder/x.sock'
    fails(bench, second.arguments(), '/nonexistent/folder')
    check(not os.path.exists(second.pins), 'pins were left')


def stale_socket_path(bench):
    """a socket nobody answers on is taken over"""
    daemon = bench.daemon()
    daemon.kill()
    check(os.path.exists(daemon.socket), 'the killed daemon\'s socket')
    daemon.start()


def live_owner(bench):
    """pins of a live daemon are refused, with --remove too"""
    first = bench.daemon()
    second = Daemon(bench, first.instance + 'b')
    second.instance = first.instance
    fails(bench, second.arguments(), first.instance, str(first.process.pid))
    fails(bench, [SLUICED, '--instance', first.instance, '--remove'], first.instance)
    check(os.path.isdir(first.pins), 'the pins of the live daemon')
    equal(first.status()['instance'], first.instance, 'the first daemon')


def config_map(daemon):
    for name in os.listdir(daemon.pins):
        path = os.path.join(daemon.pins, name)
        if 'config' in name and os.path.isfile(path):
            return path
    raise AssertionError('no pinned config map among %r' % os.listdir(daemon.pins))


def other_abi(bench):
    """pins of another ABI are refused with the command that clears them, which does"""
    bpftool = next((p for p in ('/usr/sbin/bpftool', '/usr/bin/bpftool') if os.path.exists(p)),
                   None)
    if not bpftool:
        raise Skip('bpftool is not installed')
    daemon = bench.daemon()
    path = config_map(daemon)
    daemon.kill()
    dump = json.loads(subprocess.check_output([bpftool, '-j', 'map', 'dump', 'pinned', path]))
    value = [int(byte, 16) for byte in dump[0]['value']]
    value[0] = 3  # the version before this one
    subprocess.run([bpftool, 'map', 'update', 'pinned', path, 'key', '0', '0', '0', '0', 'value',
                    *map(str, value)], check=True)
    fails(bench, daemon.arguments(), 'ABI', 'sluiced --instance %s --remove' % daemon.instance)
    done = bench.run([SLUICED, '--instance', daemon.instance, '--remove'])
    equal(done.returncode, 0, 'exit status of --remove; %r' % done.stderr)
    check(not os.path.exists(daemon.pins), 'pins were left')
    daemon.start()


def removal_is_complete(bench):
    """--remove after a crash leaves no pin, cgroup, link or program behind"""
    daemon = bench.daemon()
    cgroup = bench.cgroup()
    equal(daemon.ctl('watch', cgroup).returncode, 0, 'exit status of watch')
    daemon.kill()
    done = bench.run([SLUICED, '--instance', daemon.instance, '--remove'])
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    equal(done.stderr.decode().splitlines(),
          ["sluiced: '%s' is no longer mediated" % cgroup], 'what it says')
    nothing = [path for path in (daemon.pins, daemon.cgroup) if os.path.exists(path)]
    equal(nothing, [], 'left over')
    # The cgroup is free: a connect from inside is nobody's business any more.
    agent = bench.in_cgroup(cgroup, 'import socket\n'
                            's = socket.socket()\n'
                            's.bind(("127.0.0.1", 0))\n'
                            's.listen()\n'
                            'socket.create_connection(s.getsockname())\n'
                            'print("free")\n')
    equal(agent.communicate(timeout=10)[0], b'free\n', 'an agent in the cgroup')


def nothing_to_remove(bench):
    """--remove of an instance that is unknown: one line, and nothing made"""
    daemon = bench.daemon(start=False)
    fails(bench, [SLUICED, '--instance', daemon.instance, '--remove'], 'nothing to remove',
          status=0)
    nothing_is_left(daemon)


def starters_never_share_the_lock(bench):
    """starts that fail at once and at once again remove a lock only while they hold it"""
    daemon = bench.daemon()
    lock = daemon.state[2]
    before = os.stat(lock)
    starts = [bench.spawn([SLUICED, '--instance', daemon.instance, '--remove'],
                          stderr=subprocess.PIPE) for _ in range(4)]
    for start in starts:
        equal((start.wait(20), b'live sluiced' in start.stderr.read()), (1, True), 'the refusal')
    check(os.path.samestat(before, os.stat(lock)), 'the lock of a live daemon was replaced')
    daemon.kill()
    starts = [bench.spawn([SLUICED, '--instance', daemon.instance, '--remove'],
                          stderr=subprocess.PIPE) for _ in range(6)]
    ended = [(start.wait(20), start.stderr.read()) for start in starts]
    check(any(status == 0 for status, _ in ended), 'nobody removed: %r', ended)
    for status, said in ended:
        check(status == 0 or b'live sluiced' in said, 'a removal said %r', said)
    check(not os.path.exists(lock) and not os.path.exists(daemon.pins), 'left over')


def bad_arguments(bench):
    """unknown and malformed arguments of the daemon"""
    daemon = bench.daemon(start=False)
    for words, named in ((['--nonsense'], "unknown option '--nonsense'"),
                         (['--nonsense=1'], "unknown option '--nonsense=1'"),
                         (['--audit-f', '3'], "'--audit-f', or the beginning of several"),
                         (['-x'], "unknown option '-x'"), (['-xy'], "unknown option '-x'"),
                         (['--port'], "'--port' needs an argument"),
                         (['--private=1'], "'--private=1' takes no argument"),
                         (['--port', '0x'], "--port: '0x'"), (['--port', '70000'], "'70000'"),
                         (['--port', '8080'], "'8080'"), (['--instance', '../x'], "'../x'"),
                         (['--ready-fd', '77'], '77'), (['stray'], "'stray'")):
        fails(bench, daemon.arguments() + words, named, status=2)
        nothing_is_left(daemon)


def busy_port(bench):
    """a listener's port that somebody else has"""
    daemon = bench.daemon(start=False)
    squatter = socket.socket()
    squatter.bind(('127.0.0.1', daemon.port))
    squatter.listen()
    bench.undo.append(squatter.close)
    fails(bench, daemon.arguments(), str(daemon.port))
    nothing_is_left(daemon)


def run_without_a_policy(bench):
    """a run without a policy, or with one that cannot be read"""
    daemon = bench.daemon(policy=None)
    control = [SLUICECTL, '--socket', daemon.socket]
    fails(bench, control + ['run', '--', '/bin/true'], '--policy FILE', status=125)
    fails(bench, control + ['run', '--user', 'no-such-user', '--policy',
                            bench.file('good.yaml', POLICY), '--', '/bin/true'], 'no-such-user',
          '--user', status=125)
    fails(bench, control + ['run', '--policy', '/nonexistent', '--', '/bin/true'], '/nonexistent',
          status=125)
    bad = bench.file('bad.yaml', 'version: 1\nname: x\nwhat: 1\n')
    fails(bench, control + ['run', '--policy', bad, '--', '/bin/true'], bad, ':3:1', status=125)
    left = [name for name in os.listdir(daemon.cgroup) if name.startswith('run-')]
    equal(left, [], 'cgroups of failed runs')
    check(os.path.isdir(cgroup2_mount()), 'the cgroup mount')


if __name__ == '__main__':
    main([bad_policies, no_privileges, missing_kernel_features, no_cgroup2, busy_socket_path,
          stale_socket_path, live_owner, other_abi, removal_is_complete, nothing_to_remove,
          starters_never_share_the_lock, bad_arguments, busy_port, run_without_a_policy])
