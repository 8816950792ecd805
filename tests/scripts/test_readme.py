#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What README and the manual pages tell people to type: policies load, commands have the options
they are shown with, links lead somewhere, metrics are those that are documented. Prints TAP."""
import os
import re
import shlex
import subprocess
import sys
import textwrap
import traceback

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'integration'))
from waiting import check, equal  # noqa: E402

BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
SLUICECTL, SLUICED = os.path.join(BUILD, 'sluicectl'), os.path.join(BUILD, 'sluiced')
# Of links and paths: what the build makes, or a host has.
MADE = ('build/',)
# Options of every command, of help besides: the page has them once.
EVERYWHERE = {'help', 'socket', 'instance', 'color', 'version'}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as text:
        return text.read()


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, timeout=20, **options)


README = read('README.md')


def blocks(text):
    """Each fenced block of README: its language, and its text without indentation."""
    for found in re.finditer(r'(?ms)^( *)```(\w*)\n(.*?)^\1```$', text):
        yield found[2], textwrap.dedent(found[3])


def spans(text):
    """What stands between backquotes outside of the blocks, each on one line."""
    text = re.sub(r'(?ms)^( *)```.*?^\1```$', '', text)
    return [' '.join(found.split()) for found in re.findall(r'`([^`]+)`', text)]


def examples_of(page):
    """The policies that a manual page displays."""
    for display in re.findall(r'(?ms)^\.Bd [^\n]*\n(.*?)^\.Ed$', read('man', page)):
        if display.startswith('version: 1'):
            yield display.replace(r'\e', '\\').replace(r'\-', '-').replace(r'\(aq', "'")


def check_policy(where, text):
    answer = run(SLUICECTL, 'policy', 'check', '-', input=text)
    equal(answer.returncode, 0, '%s:\n%s\n%s' % (where, text, answer.stdout))


def policies():
    """every policy that README or a manual page shows loads"""
    shown = [text for language, text in blocks(README)
             if language == 'yaml' and text.startswith('version:')]
    check(len(shown) >= 6, 'README shows %d policies', len(shown))
    for number, text in enumerate(shown, 1):
        check_policy('policy %d of README' % number, text)
    paged = list(examples_of('sluice-policy.5'))
    check(len(paged) >= 5, 'sluice-policy(5) shows %d policies', len(paged))
    for number, text in enumerate(paged, 1):
        check_policy('policy %d of sluice-policy(5)' % number, text)
    folder = os.path.join(ROOT, 'examples', 'policies')
    for name in sorted(os.listdir(folder)):
        check_policy(name, read(folder, name))


def lines_of(program, text):
    """The commands that begin with the program: of blocks of sh each line, else each span."""
    for language, block in blocks(text):
        if language in ('sh', ''):
            for line in block.replace('\\\n', ' ').splitlines():
                found = re.search(r'(?:^|[\s/(])(%s(?: .*)?)$' % program, line)
                if found and not line.startswith(program + ':'):
                    yield found[1]
    for span in spans(text):
        if re.match(program + r'(?= |$)', span):
            yield span


def words_of(line):
    """Its words, without what is optional's brackets, and without a comment."""
    line = re.sub(r'\s#.*|[|;].*', '', line).translate({ord(sign): ' ' for sign in '[]()…'})
    try:
        return shlex.split(line)
    except ValueError:  # a quote that goes on in the next line
        return line.split()


def options_in(words):
    """Up to where a command of somebody else's begins."""
    words = words[:words.index('--')] if '--' in words else words
    return [word.split('=')[0] for word in words if word.startswith('--')]


def commands():
    """every sluicectl that is shown is a command, with options that it has"""
    known = re.findall(r'(?m)^  ([a-z]+) {2,}', run(SLUICECTL, 'help').stdout)
    check('run' in known and 'doctor' in known, 'the commands are %s', known)
    seen = set()
    table = README.split('\n## Commands\n')[1].split('\n## ')[0]
    rows = ['sluicectl ' + span for row in re.findall(r'(?m)^\| (`.*?) \|', table)
            for span in re.findall(r'`([^`]+)`', row)]
    for line in list(lines_of('sluicectl', README)) + rows:
        words = words_of(line)[1:]
        given = options_in(words)
        while words[:1] and words[0].startswith('--'):
            words = words[2 if words[0] in ('--socket', '--color') else 1:]
        if not words or not words[0].islower():
            continue
        check(words[0] in known, 'there is no command %r: %s', words[0], line)
        seen.add(words[0])
        text = run(SLUICECTL, 'help', words[0]).stdout
        for option in given:
            check(re.search(r'(?<![\w-])%s(?![\w-])' % re.escape(option), text),
                  '%s has no option %s: %s', words[0], option, line)
    check(len(seen) > 10, 'only %s are shown', sorted(seen))
    for command in set(known) - {'help', 'version', 'completion'}:
        check(any(line.split()[1] == command for line in rows), 'no row of %r', command)


def daemon():
    """every option of sluiced that is shown is one; the page has all of them"""
    text = run(SLUICED, '--help').stdout
    known = set(re.findall(r'--[a-z][a-z-]+', text))
    shown = [(line, option) for line in lines_of('sluiced', README)
             for option in options_in(words_of(line))]
    check(len(shown) >= 5, 'only %d are shown', len(shown))
    for line, option in shown:
        check(option in known, 'sluiced has no option %s: %s', option, line)
    page = read('man', 'sluiced.8')
    for option in sorted(known - {'--help', '--version'}):
        check(re.search(r'Fl Fl %s(?![\w-])' % option[2:], page), 'sluiced(8) has no %s', option)


def pages():
    """sluicectl(8) has every command with its options"""
    page = read('man', 'sluicectl.8')
    known = re.findall(r'(?m)^  ([a-z]+) {2,}', run(SLUICECTL, 'help').stdout)
    for command in known:
        synopsis = '\n'.join(re.findall(r'(?m)^\.It Cm %s(?: .*)?$' % command, page))
        check(synopsis, 'sluicectl(8) has no %s', command)
        options = set(re.findall(r'(?m)^  --([a-z-]+)', run(SLUICECTL, 'help', command).stdout))
        for option in options - EVERYWHERE:
            check(re.search(r'Fl Fl %s(?![\w-])' % option, synopsis),
                  'sluicectl(8) has no --%s at %s', option, command)


def anchor(title):
    return re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-')


def links():
    """links lead to a heading or a file, and paths of the sources are there"""
    bare = re.sub(r'(?ms)^( *)```.*?^\1```$', '', README)
    titles = re.findall(r'(?m)^#+ (.*)$', bare)
    equal(len(titles), len(set(map(anchor, titles))), 'headings that have an anchor of their own')
    anchors = set(map(anchor, titles))
    targets = re.findall(r'\]\(([^)]+)\)', bare)
    check(len(targets) > 10, 'only %d links', len(targets))
    for target in targets:
        check(target[1:] in anchors if target.startswith('#') else
              os.path.exists(os.path.join(ROOT, target)), 'nothing is at %s', target)
    for path in re.findall(r'(?<![\w/.-])(?:examples|packaging|scripts|tests|include|user|man)'
                           r'/[\w./-]*\w', README):
        if not path.startswith(MADE):
            check(os.path.exists(os.path.join(ROOT, path)), 'there is no %s', path)


def metrics():
    """every metric that README names is documented in sluiced(8)"""
    page = read('man', 'sluiced.8')
    named = set(re.findall(r'\b(?:sluice|process)_[a-z_]+', README))
    named = {name for name in named if not name.startswith('sluice_session_')}
    check(len(named) >= 10, 'only %d are named', len(named))
    for name in sorted(named):
        check(re.search(r'(?m)^\.It Li %s\b' % name, page) or name in page, 'sluiced(8) has no %s',
              name)


TESTS = [policies, commands, daemon, pages, links, metrics]


def main():
    failed = 0
    wanted = [test for test in TESTS if test.__name__ in sys.argv[1:]] or TESTS
    print('1..%d' % len(wanted))
    for number, test in enumerate(wanted, 1):
        name = '%s: %s' % (test.__name__, test.__doc__)
        try:
            test()
        except Exception:
            failed += 1
            print('not ok %d - %s' % (number, name))
            print('# ' + traceback.format_exc().replace('\n', '\n# '), flush=True)
            continue
        print('ok %d - %s' % (number, name), flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
