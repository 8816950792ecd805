# SPDX-License-Identifier: Apache-2.0
"""What the comparisons with independent implementations share.

A comparison makes inputs of a seed that it prints ($SLUICE_SEED chooses another one), asks
the conformance driver and somebody else about each, and counts every difference by a label.
A label is explained in a table of the test, or the test fails with an input that shows it.
"""
import collections
import json
import os
import random
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
DRIVER = os.path.join(ROOT, os.environ.get('BUILD', 'build'), 'sluice-driver')
SEED = int(os.environ.get('SLUICE_SEED', '20'))


def skip(reason):
    """Ends the program as skipped, which the runner of tests says."""
    print(reason)
    sys.exit(77)


def ask(records, chunking='bytes'):
    """What the driver says of framing records, in their order."""
    text = ''.join(json.dumps(record) + '\n' for record in records)
    run = subprocess.run([os.path.normpath(DRIVER), 'frame', '--chunking', chunking], input=text,
                         capture_output=True, text=True, timeout=60, check=False)
    if run.returncode:
        sys.exit('sluice-driver ended with status %d: %s' % (run.returncode, run.stderr[-400:]))
    answers = {answer['id']: answer for answer in map(json.loads, run.stdout.splitlines())}
    return [answers[record['id']] for record in records]


class Comparison:
    """One test: inputs compared, and the differences that were found, by label."""

    def __init__(self, name, explained):
        self.name = name
        self.explained = explained
        self.compared = 0
        self.agreed = collections.Counter()
        self.found = collections.Counter()
        self.unexplained = {}

    def agree(self, what):
        self.compared += 1
        self.agreed[what] += 1

    def differ(self, label, shown):
        """A difference of that label; shown: the input, and both answers."""
        self.compared += 1
        self.found[label] += 1
        if label not in self.explained:
            self.unexplained.setdefault(label, shown)


def report(comparisons, least):
    """Prints TAP. A comparison of fewer inputs than `least` is none."""
    failed = 0
    print('# seed %d' % SEED)
    for number, comparison in enumerate(comparisons, 1):
        bad = comparison.unexplained or comparison.compared < least
        failed += bool(bad)
        print('%sok %d - %s: %d inputs, %s, %d explained differences' % (
            'not ' if bad else '', number, comparison.name, comparison.compared,
            ', '.join('%d %s' % (count, what) for what, count in sorted(
                comparison.agreed.items())), sum(comparison.found.values())))
        for label, count in sorted(comparison.found.items()):
            if label in comparison.explained:
                print('# %d %s: %s' % (count, label, comparison.explained[label]))
        for label, shown in sorted(comparison.unexplained.items()):
            print('# %s (%d times): %s' % (label, comparison.found[label], shown))
    print('1..%d' % len(comparisons))
    return 1 if failed else 0


def generator():
    return random.Random(SEED)
