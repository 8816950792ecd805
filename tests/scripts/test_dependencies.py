#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Header dependencies, for both compilers: touching a header rebuilds what
includes it, directly or not, and nothing else.

What make would rebuild (`make -n -W HEADER` on a built tree) is compared with
the include graph as this file reads it from the sources, so that neither a lost
nor a surplus dependency passes.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..'))
BUILD = os.environ.get('BUILD', 'build')
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
COMPILE = re.compile(r'\s-c (\S+\.c) -o (\S+\.o)')


def make(*args):
    env = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MAKELEVEL', 'MFLAGS')}
    run = subprocess.run(['make', '-C', ROOT, '-s', 'BUILD=' + BUILD, *args, 'test-programs'],
                         capture_output=True, text=True, env=env, check=False)
    if run.returncode:
        sys.exit('make %s: %s' % (' '.join(args), run.stderr.strip()))
    return run.stdout


def included(path, seen):
    """Adds every file of the project that path includes, however deep."""
    with open(os.path.join(ROOT, path), encoding='utf-8') as source:
        names = INCLUDE.findall(source.read())
    for name in names:
        for folder in (os.path.dirname(path), 'include', 'user', 'bpf', 'tests'):
            found = os.path.normpath(os.path.join(folder, name))
            if os.path.exists(os.path.join(ROOT, found)):
                if found not in seen:
                    seen.add(found)
                    included(found, seen)
                break
    return seen


def compiled(text):
    return {match.group(2) for match in COMPILE.finditer(text)}


def main():
    everything = {out: src for src, out in COMPILE.findall(make('-n', '-B'))}
    graph = {out: included(src, set()) for out, src in everything.items()}
    headers = sorted(set().union(*graph.values()) if graph else ())
    chosen = [h for h in headers if h.startswith(('include/', 'bpf/', 'user/'))]
    if not chosen:
        sys.exit('no headers found')
    pending = compiled(make('-n'))
    print('%s 1 - a built tree rebuilds nothing' % ('not ok' if pending else 'ok'))
    for out in sorted(pending)[:10]:
        print('# would rebuild', out)
    failed = bool(pending)
    for number, header in enumerate(chosen, 2):
        want = {out for out, files in graph.items() if header in files}
        got = compiled(make('-n', '-W', header))
        # The skeleton is made of the BPF objects: what includes it follows them.
        if any('.bpf.o' in out for out in want):
            got = {out for out in got if '/user/kern/' not in out or out in want}
        print('%s %d - %s: %d objects' % ('ok' if want == got else 'not ok', number, header,
                                          len(want)))
        for out in sorted(want - got)[:10]:
            print('# lost: %s includes it' % out)
        for out in sorted(got - want)[:10]:
            print('# surplus: %s does not include it' % out)
        failed |= want != got
    print('1..%d' % (len(chosen) + 1))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
