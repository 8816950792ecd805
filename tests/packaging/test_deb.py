#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian package in a minimal root with a systemd of its own, from its
installation to its purge. Each test goes on where the one before ended."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import machine
from machine import BUILD, Machine, run
import peers
from sluice_test import ROOT, stopped
from waiting import Skip, check, equal, wait_for

EXPOSURE_MAX = 4.2
POLICY = """\
version: 1
name: agents
framing: ndjson
extract: "path:t"
request: {tasks: [words]}
tasks:
  words: {kind: terms, terms: ["forbidden"]}
"""
# Sends what it reads from a FIFO on one connection, and meanwhile tries, on new ones, what is
# refused: whoever listens there never gets a byte while this cgroup is watched.
AGENT = """\
#!/bin/bash
[ -p /root/say ] || mkfifo /root/say
(while :; do
	(exec 4<>/dev/tcp/127.0.0.1/%d && printf '{"t":"forbidden"}\\n' >&4) 2>/dev/null
	sleep 0.05
done) &
while :; do
	exec 3<>/dev/tcp/127.0.0.1/%d && break
	sleep 0.1
done
while :; do
	while IFS= read -r line; do
		printf "$line" >&3 || exit 1
	done </root/say
done
"""
FILES = {
    'sluice': ['/usr/sbin/sluiced', '/usr/bin/sluicectl', '/lib/systemd/system/sluiced.service',
               '/lib/systemd/system/sluice-watch@.service', '/usr/lib/sysusers.d/sluice.conf',
               '/usr/lib/tmpfiles.d/sluice.conf', '/etc/sluice/policy.yaml', '/etc/default/sluice',
               '/usr/share/bash-completion/completions/sluicectl',
               '/usr/share/man/man8/sluiced.8.gz', '/usr/share/man/man8/sluicectl.8.gz',
               '/usr/share/man/man5/sluice-policy.5.gz',
               '/usr/share/doc/sluice/examples/interceptors/interceptor.py',
               '/usr/share/doc/sluice/examples/policies/secrets.yaml',
               '/usr/share/doc/sluice/examples/systemd/guarded.conf',
               '/usr/share/doc/sluice/examples/monitoring/alerts.yaml',
               '/usr/share/doc/sluice/copyright'],
    'libsluice0': ['/usr/lib/x86_64-linux-gnu/libsluice.so.0'],
    'libsluice-dev': ['/usr/include/sluice/sluice.h', '/usr/lib/x86_64-linux-gnu/libsluice.a',
                      '/usr/lib/x86_64-linux-gnu/libsluice.so',
                      '/usr/lib/x86_64-linux-gnu/pkgconfig/sluice.pc',
                      '/usr/share/man/man3/libsluice.3.gz'],
}


class Scene:
    """What the tests share: the packages, the machine, an agent in it and its peers outside."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix='sluice-deb-%d-' % os.getpid())
        self.machine = Machine()
        self.servers = []
        self.deb = self.later = self.lintian = None

    def clean(self):
        if self.lintian and self.lintian.poll() is None:
            self.lintian.kill()
            self.lintian.wait()
        for server in self.servers:
            server.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        return self.machine.clean()

    def status(self):
        return json.loads(self.machine.ok('sluicectl', 'status', '--json'))

    def daemon_pid(self):
        return int(self.machine.ok('systemctl', 'show', '--value', '-p', 'MainPID', 'sluiced'))

    def states(self, *units):
        return self.machine.call('systemctl', 'is-active', *units).stdout.split()

    def say(self, text):
        """Has the agent send that, in which a backslash is one of printf's."""
        with open(self.machine.path('/root/say'), 'w', encoding='utf-8') as out:
            out.write(text + '\n')

    def watches(self):
        return [watch['path'] for watch in self.status()['watches']]

    def is_guarded(self):
        """Whether the agent's slice is watched and what it tries has got nowhere."""
        equal([os.path.basename(path) for path in self.watches()], ['agents.slice'], 'watches')
        nothing_got_through(self)


def nothing_got_through(scene):
    got = b''.join(bytes(connection.data) for connection in scene.servers[1].connections)
    equal(got, b'', 'what was refused arrived')


def contents(package):
    rows = run(['dpkg-deb', '-c', package]).stdout.splitlines()
    return {row.split()[5][1:].rstrip('/'): row.split()[:2] for row in rows}


def version_of(package):
    return run(['dpkg-deb', '-f', package, 'Version']).stdout.strip()


def with_version(scene, package, version):
    """The same package, of another version."""
    tree = os.path.join(scene.folder, 'tree')
    run(['dpkg-deb', '-R', package, tree])
    control = os.path.join(tree, 'DEBIAN', 'control')
    with open(control, encoding='utf-8') as text:
        changed = re.sub(r'(?m)^Version: .*$', 'Version: ' + version, text.read())
    with open(control, 'w', encoding='utf-8') as out:
        out.write(changed)
    made = os.path.join(scene.folder, 'sluice_%s_amd64.deb' % version)
    done = run(['dpkg-deb', '-Zgzip', '-z1', '--root-owner-group', '-b', tree, made])
    equal(done.returncode, 0, 'dpkg-deb: %s' % done.stdout)
    return made


def packages_are_built(scene):
    """three packages are built, with the files that belong in each and nothing set-uid"""
    if not shutil.which('dh'):
        raise Skip('debhelper is not installed')
    done = run([os.path.join(ROOT, 'scripts', 'package.sh'), 'deb', '--quick'], seconds=240,
               env={**os.environ, 'BUILD': BUILD})
    check(done.returncode == 0, 'package.sh: %s', done.stdout[-3000:])
    version = run(['dpkg-parsechangelog', '-l', os.path.join(ROOT, 'packaging/debian/changelog'),
                   '-S', 'Version']).stdout.strip()
    for name, wanted in FILES.items():
        found = glob.glob(os.path.join(BUILD, 'deb', '%s_*.deb' % name))
        equal([os.path.basename(path) for path in found], ['%s_%s_amd64.deb' % (name, version)],
              'packages')
        listed = contents(found[0])
        missing = [path for path in wanted if path not in listed]
        equal(missing, [], 'files missing in ' + name)
        strange = [path for path, (mode, owner) in listed.items()
                   if owner != 'root/root' or 's' in mode[1:] or mode[8] == 'w' and mode[0] != 'l']
        equal(strange, [], 'files of strange modes or owners in ' + name)
    scene.deb = glob.glob(os.path.join(BUILD, 'deb', 'sluice_*.deb'))[0]
    scene.later = with_version(scene, scene.deb, version + '+later')
    if shutil.which('lintian'):
        scene.lintian = subprocess.Popen(  # pylint: disable=R1732
            ['lintian', '--allow-root', '--fail-on', 'error,warning',
             *glob.glob(os.path.join(BUILD, 'deb', '*.changes'))],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def it_installs_and_runs(scene):
    """installed, the daemon is up and ready, sandboxed as its unit says"""
    scene.servers += [peers.Server(), peers.Server()]
    box = scene.machine
    box.start(machine.root_of(scene.deb))
    port = free_port()
    box.write('/etc/systemd/system/sluiced.service.d/port.conf',
              '[Service]\nEnvironment=SLUICED_OPTIONS=--port=%d\n' % port)
    box.copy(scene.deb, '/root/sluice.deb')
    box.ok('dpkg', '-i', '/root/sluice.deb')
    check(box.ok('sluiced', '--version').startswith('sluiced '), 'no version')
    equal(scene.states('sluiced'), ['active'], 'the state; %s' % box.journal('sluiced'))
    for group in ('sluice', 'sluice-view'):
        box.ok('getent', 'group', group)
    status = scene.status()
    equal(status['memory_locked'], True, 'memory locked')
    equal(status['watches'], [], 'watches')
    with open('/proc/%d/status' % host_pid(scene), encoding='ascii') as text:
        fields = dict(row.rstrip('\n').split(':\t', 1) for row in text if ':\t' in row)
    equal((fields['NoNewPrivs'], fields['Seccomp'], fields['CapBnd']),
          ('1', '2', fields['CapEff']), 'what the daemon may')
    # SYS_MODULE, SYS_RAWIO, SETUID, KILL, NET_RAW, SYS_BOOT, MKNOD
    for capability in (16, 17, 7, 5, 13, 22, 27):
        equal(int(fields['CapBnd'], 16) >> capability & 1, 0, 'capability %d' % capability)


def host_pid(scene):
    """The daemon's number outside the machine."""
    with open(os.path.join(scene.machine.cgroup, 'sluice.main', 'daemon', 'cgroup.procs'),
              encoding='ascii') as procs:
        return int(procs.read())


def free_port():
    taken = run(['ss', '-Htln']).stdout
    return next(port for port in range(1001, 600, -7) if ':%d ' % port not in taken)


def systemd_is_content(scene):
    """systemd-analyze verifies the units, and rates the daemon's exposure as documented"""
    box = scene.machine
    box.write('/etc/sluice/agents.yaml', POLICY)
    equal(box.ok('systemd-analyze', 'verify', '--man=no', 'sluiced.service',
                 'sluice-watch@agents.service'), '', 'what it says')
    rated = box.ok('systemd-analyze', '--no-pager', 'security', 'sluiced.service')
    exposure = float(re.search(r'exposure level for sluiced.service: ([0-9.]+)', rated)[1])
    check(exposure <= EXPOSURE_MAX, 'exposure %g', exposure)


def a_unit_is_guarded(scene):
    """a unit with the drop-in starts only once its slice is watched, and is held to the policy"""
    box = scene.machine
    box.write('/root/agent', AGENT % (scene.servers[1].port, scene.servers[0].port))
    box.ok('chmod', '755', '/root/agent')
    box.write('/etc/systemd/system/agent.service',
              '[Service]\nExecStart=/root/agent\nRestart=always\nRestartSec=0.2\n')
    box.ok('mkdir', '-p', '/etc/systemd/system/agent.service.d')
    box.ok('cp', '/usr/share/doc/sluice/examples/systemd/guarded.conf',
           '/etc/systemd/system/agent.service.d/sluice.conf')
    box.ok('systemctl', 'daemon-reload')
    # Without a policy there is no watch, and without a watch nothing to guard.
    box.ok('mv', '/etc/sluice/agents.yaml', '/root/')
    check(box.call('systemctl', 'start', 'agent').returncode != 0, 'it started unwatched')
    equal(scene.states('agent'), ['inactive'], 'the agent, without a watch')
    box.ok('mv', '/root/agents.yaml', '/etc/sluice/')
    box.ok('systemctl', 'start', 'agent')
    connection = scene.servers[0].connection()
    scene.say('{"t":"plain"}\\n{"t":"for')
    wait_for(lambda: bytes(connection.data) == b'{"t":"plain"}\n', 5, 'the line that is whole')
    scene.is_guarded()


def it_is_started_again(scene):
    """killed, it is started again and goes on watching; what waited never leaves"""
    box = scene.machine
    before = scene.daemon_pid()
    connection = scene.servers[0].connection()
    box.ok('kill', '-KILL', str(before))
    wait_for(lambda: scene.daemon_pid() not in (0, before) and scene.states('sluiced') ==
             ['active'], 15, 'another daemon')
    scene.is_guarded()
    wait_for(lambda: connection.end, 10, 'the end of the stream')
    equal(bytes(connection.data), b'{"t":"plain"}\n', 'what arrived of it')
    check('host_died' in box.ok('cat', *trail(scene)), 'no record of what it left open')


def trail(scene):
    return [path[len(scene.machine.path('')):] for path in
            glob.glob(scene.machine.path('/var/log/sluice/main/audit-*.jsonl'))]


def an_upgrade_keeps_what_is_watched(scene):
    """an upgrade restarts the daemon; the watch outlives it, open streams are settled"""
    box = scene.machine
    before, count = scene.daemon_pid(), len(scene.servers[0].connections)
    box.ok('systemctl', 'restart', 'agent')
    connection = scene.servers[0].connection(count)
    scene.say('{"t":"again"}\\n{"t":"half')
    wait_for(lambda: bytes(connection.data) == b'{"t":"again"}\n', 5, 'the line that is whole')
    box.copy(scene.later, '/root/later.deb')
    box.ok('dpkg', '-i', '/root/later.deb')
    equal(box.ok('dpkg-query', '-W', '-f', '${Version}', 'sluice'),
          version_of(scene.later), 'the version')
    check(scene.daemon_pid() not in (0, before), 'the daemon was not restarted')
    equal(scene.states('sluiced', 'sluice-watch@agents', 'agent')[:2], ['active', 'active'],
          'units')
    scene.is_guarded()
    wait_for(lambda: connection.end, 10, 'the end of the stream')
    equal(bytes(connection.data), b'{"t":"again"}\n', 'what arrived of it')
    check('"shutdown"' in box.ok('cat', *trail(scene)), 'no record of the settled stream')


def no_removal_under_a_running_daemon(scene):
    """a removal fails, and says why, while a daemon runs that no unit started"""
    box = scene.machine
    own = subprocess.Popen(  # pylint: disable=R1732
        ['nsenter', '--target', str(box.init), '--mount', '--pid', '--cgroup', '--ipc', '--uts',
         '--root', '--wd', '/usr/sbin/sluiced', '--instance', 'own', '--no-audit',
         '--no-metrics', '--port',
         str(free_port())], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: box.exists('/run/sluice/own.sock'), 10, 'a daemon of one\'s own')
        before = scene.daemon_pid()
        done = box.call('dpkg', '-r', 'sluice')
        check(done.returncode != 0, 'it was removed')
        check('own.lock' in done.stdout, 'it said %s', done.stdout)
        equal(scene.daemon_pid(), before, 'the daemon of the unit')
        scene.is_guarded()
    finally:
        box.call('sh', '-c', 'kill $(cat /run/sluice/own.lock)')
        own.wait(10)


def a_removal_leaves_nothing(scene):
    """a removal ends what is guarded, then watches, gate and pins; configuration and trail stay"""
    box = scene.machine
    box.ok('systemctl', 'start', 'agent')
    scene.servers[0].connection(len(scene.servers[0].connections) - 1)
    scene.is_guarded()
    box.ok('dpkg', '-r', 'sluice')
    equal(scene.states('agent', 'sluice-watch@agents', 'sluiced')[0], 'inactive', 'the agent')
    left = [path for path in ('/usr/sbin/sluiced', '/run/sluice', '/sys/fs/bpf/sluice',
                              '/sys/fs/cgroup/sluice.main', '/sys/fs/cgroup/sluice.own')
            if box.exists(path)]
    equal(left, [], 'what is left')
    equal(attached(box.cgroup), [], 'programs on cgroups')
    check(box.exists('/etc/sluice/policy.yaml') and trail(scene), 'the configuration or the trail '
          'is gone')
    nothing_got_through(scene)


def attached(cgroup):
    found = json.loads(run(['bpftool', '-j', 'cgroup', 'tree', cgroup]).stdout or '[]')
    return [program['name'] for at in found for program in at['programs']
            if program['name'].startswith('sluice')]


def a_purge_leaves_nothing(scene):
    """a purge takes configuration, trail and links of units; the groups stay"""
    box = scene.machine
    box.ok('rm', '-r', '/etc/sluice/agents.yaml', '/etc/systemd/system/agent.service.d',
           '/etc/systemd/system/sluiced.service.d')
    box.ok('dpkg', '-P', 'sluice')
    left = box.ok('find', '/', '-xdev', '(', '-path', '/proc', '-o', '-path', '/sys', '-o', '-path',
                  '/root', '-o', '-path', '/var/lib/dpkg', ')', '-prune', '-o', '-name', '*sluice*',
                  '-print').split()
    equal(left, [], 'what is left')
    box.ok('getent', 'group', 'sluice')
    equal(box.call('dpkg', '-s', 'sluice').returncode, 1, 'the status of the package')


def lintian_is_content(scene):
    """lintian, which has run meanwhile, found no error and no warning"""
    if not scene.lintian:
        raise Skip('lintian is not installed')
    said, _ = scene.lintian.communicate(timeout=60)
    equal((scene.lintian.returncode, said), (0, ''), 'lintian')


TESTS = [packages_are_built, it_installs_and_runs, systemd_is_content,
         a_unit_is_guarded, it_is_started_again, an_upgrade_keeps_what_is_watched,
         no_removal_under_a_running_daemon, a_removal_leaves_nothing, a_purge_leaves_nothing, lintian_is_content]


def say_log(scene):
    if scene.machine.init:
        for row in scene.machine.call('journalctl', '--no-pager', '-n', '40').stdout.splitlines():
            print('#   ' + row)


def run_tests(scene):
    """Prints TAP; after a failure or a skip the rest, which builds on it, ends alike."""
    failed, over = False, None
    for number, test in enumerate(TESTS, 1):
        title, began = test.__doc__.strip(), time.monotonic()
        try:
            if over and not (test is lintian_is_content and scene.lintian):
                raise over
            test(scene)
            print('ok %d - %s' % (number, title))
        except Skip as reason:
            over = reason
            print('ok %d - %s # SKIP %s' % (number, title, reason))
        except Exception as error:  # pylint: disable=broad-except
            print('not ok %d - %s' % (number, title))
            if not failed:
                print('# ' + '\n# '.join(''.join(traceback.format_exception(error)).splitlines()))
                say_log(scene)
            failed, over = True, AssertionError('what it builds on failed')
        if os.environ.get('TIMES'):
            print('# %.2f s' % (time.monotonic() - began))
    return failed


def main():
    if os.geteuid() != 0:
        print('these tests boot a root of their own: run them as root')
        sys.exit(77)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stopped)
    sys.stdout.reconfigure(line_buffering=True)
    print('1..%d' % len(TESTS))
    scene, failed, left = Scene(), True, []
    try:
        failed = run_tests(scene)
    finally:
        left = scene.clean()
    for path in left:
        print('# left over: ' + path)
    sys.exit(1 if failed or left else 0)


if __name__ == '__main__':
    main()
