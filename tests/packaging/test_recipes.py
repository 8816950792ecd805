#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is packaged for other systems says the same as the unit of systemd and the sources: the RPM
spec, which is built from what `make` left, the container's recipe, the DaemonSet, the policies."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'integration'))
from waiting import Skip, check, equal  # noqa: E402

BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
PACKAGING = os.path.join(ROOT, 'packaging')
UNIT = os.path.join(PACKAGING, 'systemd', 'sluiced.service')
# Not Debian's: what systemd-rpm-macros and the distribution would define.
MACROS = {'_unitdir': '/usr/lib/systemd/system', '_sysusersdir': '/usr/lib/sysusers.d',
          '_tmpfilesdir': '/usr/lib/tmpfiles.d', 'systemd_post()': '%{nil}',
          'systemd_preun()': '%{nil}', 'systemd_postun_with_restart()': '%{nil}',
          '_libdir': '/usr/lib64', '_docdir': '/usr/share/doc', 'debug_package': '%{nil}',
          '__os_install_post': '%{nil}', '_build_id_links': 'none'}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as text:
        return text.read()


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, timeout=120, **options)


def version():
    return re.search(r'(?m)^VERSION\s*:= (\S+)$', read('Makefile'))[1]


def unit_capabilities():
    words = re.search(r'(?m)^CapabilityBoundingSet=(.*)$', read(UNIT))[1].split()
    return sorted(word.removeprefix('CAP_') for word in words)


def daemonset():
    try:
        import yaml  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise Skip('python3-yaml is not installed') from None
    return list(yaml.safe_load_all(read('packaging', 'kubernetes', 'daemonset.yaml')))


def versions_agree(folder):
    """the Makefile, the changelog, the spec, the image and the DaemonSet name one version"""
    del folder
    wanted = version()
    equal(re.match(r'sluice \(([^)]+)\)', read('packaging', 'debian', 'changelog'))[1], wanted,
          'of debian/changelog')
    spec = read('packaging', 'rpm', 'sluice.spec')
    equal(re.search(r'(?m)^Version:\s+(\S+)$', spec)[1], wanted, 'of the spec')
    equal(re.search(r'> - (\S+)-1$', spec, re.M)[1], wanted, 'of the changelog of the spec')
    equal(set(re.findall(r'sluice:([0-9.]+[0-9])', read('packaging', 'container', 'Containerfile') +
                         read('packaging', 'kubernetes', 'daemonset.yaml'))), {wanted}, 'of images')


def capabilities_agree(folder):
    """the unit, the container and the DaemonSet grant the same, and all that the daemon keeps"""
    del folder
    granted = unit_capabilities()
    kept = re.search(r'kept\[\] = \{(.*?)\}', read('user', 'daemon', 'start.c'), re.S)[1]
    missing = set(re.findall(r'CAP_([A-Z_]+)', kept)) - set(granted)
    equal(missing, set(), 'what the daemon keeps and the unit does not grant')
    recipe = re.sub(r'\\\n#\s*', '', read('packaging', 'container', 'Containerfile'))
    equal(sorted(re.search(r'--cap-add=(\S+)', recipe)[1].split(',')), granted, 'the container')
    pod = daemonset()[2]['spec']['template']['spec']
    equal(sorted(pod['containers'][0]['securityContext']['capabilities']['add']), granted,
          'the DaemonSet')


def the_daemonset_is_whole(folder):
    """the DaemonSet selects its own pods, mounts what it declares and has nothing it does not need"""
    kinds = [document['kind'] for document in daemonset()]
    equal(kinds, ['Namespace', 'ConfigMap', 'DaemonSet'], 'kinds')
    namespace, config, daemon = daemonset()
    equal({d['metadata']['namespace'] for d in (config, daemon)}, {namespace['metadata']['name']},
          'namespaces')
    template = daemon['spec']['template']
    equal(daemon['spec']['selector']['matchLabels'], template['metadata']['labels'], 'labels')
    pod, container = template['spec'], template['spec']['containers'][0]
    volumes = {volume['name']: volume for volume in pod['volumes']}
    mounts = {mount['name']: mount for mount in container['volumeMounts']}
    equal(sorted(volumes), sorted(mounts), 'volumes and mounts')
    for name, volume in volumes.items():
        if 'hostPath' in volume:
            equal(volume['hostPath']['path'], mounts[name]['mountPath'], 'the place of ' + name)
    equal(volumes['policy']['configMap']['name'], config['metadata']['name'], 'the ConfigMap')
    policy = container['args'][container['args'].index('--policy') + 1]
    equal(policy, mounts['policy']['mountPath'] + '/' + next(iter(config['data'])), 'the policy')
    security = container['securityContext']
    equal((pod['hostPID'], pod['hostNetwork'], pod['automountServiceAccountToken'],
           security['privileged'], security['allowPrivilegeEscalation'],
           security['readOnlyRootFilesystem'], security['capabilities']['drop']),
          (True, True, False, False, False, True, ['ALL']), 'what it may')
    port = container['ports'][0]['containerPort']
    equal(str(port), template['metadata']['annotations']['prometheus.io/port'], 'the port')
    loads(folder, next(iter(config['data'].values())), 'the ConfigMap')


def loads(folder, text, what):
    path = os.path.join(folder, 'policy.yaml')
    with open(path, 'w', encoding='utf-8') as out:
        out.write(text)
    done = run(os.path.join(BUILD, 'sluicectl'), 'policy', 'check', path)
    equal(done.returncode, 0, '%s: %s' % (what, done.stdout))
    return done.stdout


def policies_load(folder):
    """the policies that are installed load, and enforce"""
    for path in ('packaging/policy.yaml', 'packaging/systemd/agents.yaml'):
        said = loads(folder, read(path), path)
        check(': enforce, blocking' in said, '%s: %s', path, said)


def the_unit_starts_what_is_installed(folder):
    """the unit's paths are those that `make install` writes, below another prefix, too"""
    for prefix, etc in (('/usr', '/etc'), ('/opt/sluice', '/opt/sluice/etc')):
        to = os.path.join(folder, prefix.strip('/'))
        done = run('make', '-C', ROOT, '-o', 'all', 'BUILD=' + BUILD, 'DESTDIR=' + to,
                   'PREFIX=' + prefix, 'install')
        equal(done.returncode, 0, 'make install: %s' % done.stdout[-1000:])
        with open(to + prefix + '/lib/systemd/system/sluiced.service', encoding='utf-8') as text:
            unit = text.read()
        program, policy = re.search(r'(?m)^ExecStart=(\S+) --policy (\S+)', unit).groups()
        equal((program, policy), (prefix + '/sbin/sluiced', etc + '/sluice/policy.yaml'), 'paths')
        for path in (program, policy, etc + '/default/sluice'):
            check(os.path.exists(to + path), '%s is not installed', path)


def the_spec_builds(folder):
    """rpmbuild makes three packages of what is built; every installed file is in one of them"""
    if not shutil.which('rpmbuild'):
        raise Skip('rpm is not installed')
    name = 'sluice-' + version()
    os.makedirs(os.path.join(folder, 'SOURCES'))
    tree = os.path.join(folder, name)
    os.mkdir(tree)
    for entry in os.listdir(ROOT):
        if entry not in ('.git', 'build'):
            os.symlink(os.path.join(ROOT, entry), os.path.join(tree, entry))
    run('tar', '-C', folder, '-czhf', os.path.join(folder, 'SOURCES', name + '.tar.gz'), name)
    macros = [word for macro in {**MACROS, '_topdir': folder}.items()
              for word in ('--define', ' '.join(macro))]
    done = run('rpmbuild', '-bb', '--nodeps', *macros, os.path.join(PACKAGING, 'rpm', 'sluice.spec'),
               env={**os.environ, 'BUILD': BUILD, 'MAKEFLAGS': '-o all'})
    check(done.returncode == 0, 'rpmbuild: %s', done.stdout[-3000:])
    made = sorted(os.listdir(os.path.join(folder, 'RPMS', 'x86_64')))
    equal([path.rsplit('-', 2)[0] for path in made], ['sluice', 'sluice-devel', 'sluice-libs'],
          'packages')
    check('warning:' not in done.stdout, 'rpmbuild warns: %s',
          [row for row in done.stdout.splitlines() if 'warning:' in row])


def the_image_is_built_of_sources_alone(folder):
    """the image's build takes along nothing that was built, and installs nothing for tests"""
    equal(read('.containerignore').split('\n')[1:], ['/build/', '/.git/', '**/__pycache__/', ''],
          'what stays outside')
    ran = re.search(r'(?m)^RUN scripts/deps.sh ([a-z ]+) &&', read('packaging', 'container',
                                                                  'Containerfile'))[1]
    # Of a machine that has none, and somebody who may not install them.
    for name, text in (('dpkg-query', 'exit 1'), ('id', 'echo 1000'), ('node', ''), ('go', '')):
        with open(os.path.join(folder, name), 'w', encoding='ascii') as program:
            program.write('#!/bin/sh\n%s\n' % text)
        os.chmod(program.name, 0o755)
    env = {**os.environ, 'PATH': folder + ':' + os.environ['PATH']}

    def missing(*groups):
        done = run(os.path.join(ROOT, 'scripts', 'deps.sh'), *groups, env=env)
        equal(done.returncode, 1, 'exit status of deps.sh; it said %s' % done.stdout)
        return re.match('missing packages:(.*)\n', done.stdout)[1].split()
    groups = {name: missing(name) for name in ('build', 'package', 'run', 'tests')}
    equal(missing(*ran.split()), groups['build'] + groups['package'], 'for the image')
    equal(sorted(missing()), sorted(sum(groups.values(), [])), 'for everything')
    check('libcmocka-dev' in groups['tests'], 'tests: %s', groups['tests'])
    equal(run(os.path.join(ROOT, 'scripts', 'deps.sh'), 'another', env=env).returncode, 2,
          'exit status for a group that is none')


TESTS = [versions_agree, capabilities_agree, the_daemonset_is_whole, policies_load,
         the_unit_starts_what_is_installed, the_image_is_built_of_sources_alone, the_spec_builds]


def main():
    print('1..%d' % len(TESTS))
    failed = 0
    for number, test in enumerate(TESTS, 1):
        with tempfile.TemporaryDirectory(prefix='sluice-recipes-') as folder:
            try:
                test(folder)
                print('ok %d - %s' % (number, test.__doc__))
            except Skip as reason:
                print('ok %d - %s # SKIP %s' % (number, test.__doc__, reason))
            except Exception as error:  # pylint: disable=broad-except
                failed += 1
                print('not ok %d - %s' % (number, test.__doc__))
                print('# ' + '\n# '.join(''.join(traceback.format_exception(error)).splitlines()))
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
