#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the conformance driver over the recorded cases and prints TAP.

Every framing case runs in three chunkings (as given, as one read, byte by
byte): the answer must be the same. A case whose framing and extractor this
build has must agree in all fields; `unsupported` is then a failure. A case that
needs another framing must be refused as `unsupported`, never answered by a
guess.
"""
import argparse
import hashlib
import json
import os
import subprocess
import sys

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'data')
# What this build frames, and the text sources it knows.
FRAMINGS = {'ndjson', 'sentinel', 'lenprefix'}
EXTRACTORS = {None, 'raw', 'path', 'ollama_chat'}
# These codes are compared exactly; all others mean "malformed".
EXACT = {'truncated', 'too_large', 'blocked', 'duplicate_key', 'unsupported'}
FIELDS = ('messages_hex', 'ends', 'starts', 'text', 'channels', 'runes', 'complete',
          'residue_bytes', 'dropped_bytes')
LEAST_CASES = {'framing.jsonl': 102, 'accounting.jsonl': 150}


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def result(self, fault, name):
        self.count += 1
        if fault:
            self.failed += 1
            print('not ok %d - %s' % (self.count, name))
            print('# %s' % fault)
        else:
            print('ok %d - %s' % (self.count, name))


def load(name):
    with open(os.path.join(DATA, name), encoding='utf-8') as lines:
        cases = [json.loads(line) for line in lines if line.strip()]
    if len(cases) < LEAST_CASES[name]:
        sys.exit('%s has %d cases, %d are known' % (name, len(cases), LEAST_CASES[name]))
    return cases


def ask(driver, call, records):
    """The driver's answers by id; the expectations are not shown to it."""
    text = ''.join(json.dumps({k: v for k, v in record.items() if k != 'expect'}) + '\n'
                   for record in records)
    run = subprocess.run([driver, *call], input=text, capture_output=True, text=True, timeout=100,
                         check=False)
    if run.returncode:
        print('# %s ended with status %d: %s' % (call, run.returncode, run.stderr[-400:]))
    answers = {}
    for line in run.stdout.splitlines():
        answer = json.loads(line)
        answers[answer['id']] = answer
    return answers


def built(case):
    options = case['options']
    extractor = options.get('extract')
    return (case['framing'] in FRAMINGS and
            (extractor.split(':')[0] if extractor else None) in EXTRACTORS)


def error_class(code):
    return code if code is None or code in EXACT else 'malformed'


def framing_fault(case, answer):
    if answer is None:
        return 'no answer'
    expect = case['expect']
    if not built(case):
        if answer.get('error') != 'unsupported':
            return 'not built, yet answered with error %r' % answer.get('error')
        return None
    if error_class(answer.get('error')) != error_class(expect.get('error')):
        return 'error %r, expected %r' % (answer.get('error'), expect.get('error'))
    if expect.get('error') == 'blocked':
        # Releasing less than the case allows is safe, releasing more is a leak.
        released = answer.get('messages_hex', [])
        if released != expect['messages_hex'][:len(released)]:
            return 'released %r, at most %r may be' % (released, expect['messages_hex'])
        return None
    for field in FIELDS:
        if field in expect and answer.get(field) != expect[field]:
            return '%s %.70r, expected %.70r' % (field, answer.get(field), expect[field])
    return None


def session_fault(case, answer):
    if answer is None:
        return 'no answer'
    expect = case['expect']
    if answer.get('new') != expect['new']:
        return 'new %r, expected %r' % (answer.get('new'), expect['new'])
    got, want = answer.get('results', []), expect.get('results', [])
    for number, (mine, theirs) in enumerate(zip(got, want)):
        if mine != theirs:
            return 'op %d %r: %r, expected %r' % (number, case['ops'][number], mine, theirs)
    return None if len(got) == len(want) else '%d results, expected %d' % (len(got), len(want))


PARTIAL = hashlib.sha256(b'{"a":').hexdigest()
UNFRAMED = ('DISCARD_AND_RESET',
            'HALT: Unframed stream cannot be parsed reliably. Implement framing.', 'UNFRAMED')
CLEAN = ('MESSAGE_COMPLETE',
         'PROCEED: No partial buffer. Stream is at a clean message boundary.', 'CLEAN')


def waiting(age, expected):
    return ('MESSAGE_IN_PROGRESS', 'WAIT: Partial message in progress. Await remaining bytes.',
            '{"age": "%s", "buffer": "%s", "expected": "%s"}' % (age, PARTIAL, expected))


def stale(age, limit):
    return ('STALE_PARTIAL_BUFFER',
            'HALT: Partial buffer is %ss old, exceeding %ss timeout. Discard.' % (age, limit),
            'STALE:' + age)


# mode, hash, last byte, expected size, timeout, now -> verdict, directive, text of the digest
GUARD = [
    ('UNFRAMED', None, 0.0, None, 30.0, 0.0, UNFRAMED),
    ('UNFRAMED', PARTIAL, 0.0, 7, 30.0, 99.0, UNFRAMED),
    ('DELIMITED', None, 0.0, None, 30.0, 99.0, CLEAN),
    ('LENGTH_PREFIXED', '', 0.0, 12, 30.0, 99.0, CLEAN),
    ('DELIMITED', PARTIAL, 1000.0, None, 30.0, 1000.0, waiting('0.0', 'UNKNOWN')),
    ('LENGTH_PREFIXED', PARTIAL, 1000.0, 0, 30.0, 1000.5, waiting('0.5', 'UNKNOWN')),
    ('LENGTH_PREFIXED', PARTIAL, 1000.0, 65536, 30.0, 1012.25, waiting('12.2', '65536')),
    ('LENGTH_PREFIXED', PARTIAL, 1000.0, 1, 30.0, 1030.0, waiting('30.0', '1')),
    ('DELIMITED', PARTIAL, 1000.0, 4, 30.0, 995.0, waiting('-5.0', '4')),
    ('DELIMITED', PARTIAL, 1000.0, None, 30.0, 1030.5, stale('30.5', '30.0')),
    ('DELIMITED', PARTIAL, 0.0, None, 0.05, 0.25, stale('0.2', '0.05')),
    ('DELIMITED', PARTIAL, 0.0, 9, 5.5, 100000.0, stale('100000.0', '5.5')),
]


def guard_cases():
    for number, (mode, partial, last, expected, limit, now, want) in enumerate(GUARD):
        yield {'id': 'guard-%02d' % number, 'framing_mode': mode, 'partial_buffer_hash': partial,
               'last_byte_epoch': last, 'expected_size': expected,
               'incomplete_timeout_sec': limit, 'current_epoch': now,
               'expect': {'verdict': want[0], 'directive': want[1],
                          'manifest_digest': hashlib.sha256(want[2].encode()).hexdigest()}}


def guard_fault(case, answer):
    if answer is None:
        return 'no answer'
    for field, want in case['expect'].items():
        if answer.get(field) != want:
            return '%s %r, expected %r' % (field, answer.get(field), want)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--driver', default='build/sluice-driver')
    driver = parser.parse_args().driver
    tap = Tap()
    framing = load('framing.jsonl')
    for chunking in ('given', 'one', 'bytes'):
        answers = ask(driver, ['frame', '--chunking', chunking], framing)
        for case in framing:
            suffix = '' if built(case) else ', refused as not built'
            tap.result(framing_fault(case, answers.get(case['id'])),
                       'frame %s %s%s' % (chunking, case['id'], suffix))
    for call, cases, fault in (('session', load('accounting.jsonl'), session_fault),
                               ('guard', list(guard_cases()), guard_fault)):
        answers = ask(driver, [call], cases)
        for case in cases:
            tap.result(fault(case, answers.get(case['id'])), '%s %s' % (call, case['id']))
    print('1..%d' % tap.count)
    return 1 if tap.failed else 0


if __name__ == '__main__':
    sys.exit(main())
