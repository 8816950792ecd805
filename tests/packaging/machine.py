# SPDX-License-Identifier: Apache-2.0
"""A small machine for packages: Debian's minimal root, made by mmdebstrap, and
in it a systemd of its own as process 1, on this kernel.

It has a cgroup, a bpf file system and mounts of its own, which go with it; the
network is the host's. The root, before anything of ours is in it, is kept as a
tar in the build directory.
"""
import glob
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'integration'))
from sluice_test import BUILD, cgroup2_mount, children, remove_cgroup  # noqa: E402
from waiting import Skip, check, equal, wait_for  # noqa: E402

MIRROR = os.environ.get('SLUICE_MIRROR', 'http://deb.debian.org/debian')
PATH = 'PATH=/usr/sbin:/usr/bin:/sbin:/bin'


def run(command, seconds=120, **options):
    return subprocess.run(command, timeout=seconds, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **options)


def release():
    with open('/etc/os-release', encoding='utf-8') as lines:
        words = dict(line.strip().split('=', 1) for line in lines if '=' in line)
    if 'VERSION_CODENAME' not in words or words.get('ID') != 'debian':
        raise Skip('this is no Debian, for which these packages are')
    return words['VERSION_CODENAME']


def dependencies(package):
    """Names of what a package depends on, each time the first that would do."""
    field = subprocess.run(['dpkg-deb', '-f', package, 'Depends'], text=True, check=True,
                           stdout=subprocess.PIPE).stdout
    return sorted({part.split('|')[0].split('(')[0].strip() for part in field.split(',')})


def memory_folder():
    usage = shutil.disk_usage('/dev/shm')
    return '/dev/shm' if usage.free > 2 << 30 else None


def root_of(package):
    """The tar of a root in which all is there that the package depends on."""
    suite = release()
    names = ','.join(['systemd', *dependencies(package)])
    digest = hashlib.sha256((suite + names).encode()).hexdigest()[:16]
    tar = os.path.join(BUILD, 'packaging', 'root-%s.tar' % digest)
    if os.path.exists(tar):
        return tar
    if not shutil.which('mmdebstrap'):
        raise Skip('mmdebstrap is not installed')
    try:
        with urllib.request.urlopen('%s/dists/%s/InRelease' % (MIRROR, suite), timeout=20):
            pass
    except (urllib.error.URLError, OSError) as error:
        raise Skip('no network: %s: %s' % (MIRROR, error)) from None
    os.makedirs(os.path.dirname(tar), exist_ok=True)
    for old in glob.glob(os.path.join(os.path.dirname(tar), 'root-*.tar')):
        os.unlink(old)
    # In memory, where there is some: most of it is small files. Gone also when this is stopped.
    with tempfile.TemporaryDirectory(prefix='sluice-root-', dir=memory_folder()) as folder:
        os.chmod(folder, 0o755)
        made = run(['mmdebstrap', '--quiet', '--variant=apt', '--include=' + names,
                    '--aptopt=Acquire::Languages "none"',
                    '--dpkgopt=path-exclude=/usr/share/locale/*', '--format=tar', suite,
                    tar + '.new', MIRROR], seconds=300, env={**os.environ, 'TMPDIR': folder})
    equal(made.returncode, 0, 'mmdebstrap; it said %s' % made.stdout[-2000:])
    os.rename(tar + '.new', tar)
    return tar


class Machine:
    """Booted by start(); everything inside is run by call()."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix='sluice-machine-%d-' % os.getpid())
        self.cgroup = os.path.join(cgroup2_mount(), 'sluice-machine-%d' % os.getpid())
        self.process = self.init = None

    def start(self, tar):
        os.mkdir(self.cgroup)
        os.mkdir(os.path.join(self.folder, 'root'))

        def join():
            with open(os.path.join(self.cgroup, 'cgroup.procs'), 'w', encoding='ascii') as procs:
                procs.write('0')
        with open(os.path.join(self.folder, 'log'), 'wb') as log:
            self.process = subprocess.Popen(  # pylint: disable=R1732
                ['unshare', '--mount', '--pid', '--fork', '--cgroup', '--ipc', '--uts',
                 '--kill-child', os.path.join(HERE, 'machine.sh'), tar,
                 os.path.join(self.folder, 'root')],
                preexec_fn=join, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.init = wait_for(lambda: self._alive() and children(self.process.pid), 10,
                             'a process in the namespaces')[0]
        wait_for(lambda: self._alive() and self.call('systemctl', 'is-system-running').stdout in
                 ('running\n', 'degraded\n'), 30, 'a booted system')

    def _alive(self):
        if self.process.poll() is not None:
            with open(os.path.join(self.folder, 'log'), encoding='utf-8') as log:
                raise AssertionError('the machine ended: ' + log.read()[-2000:])
        return True

    def call(self, *command, seconds=60):
        return run(['nsenter', '--target', str(self.init), '--mount', '--pid', '--cgroup', '--ipc',
                    '--uts', '--root', '--wd', 'env', '-i', PATH, 'DEBIAN_FRONTEND=noninteractive',
                    *command], seconds)

    def ok(self, *command, seconds=60):
        """Runs what has to succeed; what it printed."""
        done = self.call(*command, seconds=seconds)
        equal(done.returncode, 0, '%s; it said %s' % (' '.join(command), done.stdout[-2000:]))
        return done.stdout

    def path(self, path):
        """Where a file of the machine is to be reached from outside."""
        return '/proc/%d/root%s' % (self.init, path)

    def exists(self, path):
        return os.path.lexists(self.path(path))

    def write(self, path, text):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        with open(self.path(path), 'w', encoding='utf-8') as out:
            out.write(text)

    def copy(self, source, path):
        shutil.copy(source, self.path(path))

    def journal(self, unit):
        self.call('journalctl', '--sync')
        return self.call('journalctl', '--no-pager', '--output=cat', '--unit', unit).stdout

    def clean(self):
        """Ends it; returns what is left over of it."""
        if self.process:
            if self.init and self.process.poll() is None:
                os.kill(self.init, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
        left = []
        for path, _, _ in os.walk(self.cgroup, topdown=False):
            left += remove_cgroup(path)
        shutil.rmtree(self.folder, ignore_errors=True)
        return left + [path for path in (self.folder, self.cgroup) if os.path.exists(path)]
