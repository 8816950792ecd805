#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the conformance driver over the recorded cases and prints TAP.

Every framing case runs in three chunkings (as given, as one read, byte by
byte), and must agree in all fields each time. What no framing, extractor or
option of this build is must be refused as `unsupported`, never answered by a
guess.

Recorded streams of real model servers are not part of the project. Where a folder
of them is at hand ($SLUICE_CASES, or shared/cases beside the checkout), each
runs in those chunkings and in random ones: units tile it, and every text that its
manifest tells of is the text of one channel.
"""
import argparse
import hashlib
import json
import os
import random
import re
import subprocess
import sys

import conformance

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'data')
CASES = os.environ.get('SLUICE_CASES') or os.path.join(
    os.path.realpath(os.path.join(DATA, '..', '..')), '..', 'shared', 'cases')
# These codes are compared exactly; all others mean "malformed".
EXACT = {'truncated', 'too_large', 'blocked', 'duplicate_key', 'unsupported', 'bad_record'}
FIELDS = ('messages_hex', 'ends', 'starts', 'text', 'channels', 'runes', 'complete',
          'residue_bytes', 'dropped_bytes')
LEAST_CASES = {'framing.jsonl': 102, 'accounting.jsonl': 150}
RANDOM_CHUNKINGS = 3


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

    def skip(self, reason, name):
        self.count += 1
        print('ok %d - %s # SKIP %s' % (self.count, name, reason))


def load(name):
    with open(os.path.join(DATA, name), encoding='utf-8') as lines:
        cases = [json.loads(line) for line in lines if line.strip()]
    if len(cases) < LEAST_CASES[name]:
        sys.exit('%s has %d cases, %d are known' % (name, len(cases), LEAST_CASES[name]))
    return cases


def ask(driver, call, records, status=0):
    """The driver's answers by id; the expectations are not shown to it."""
    text = ''.join(json.dumps({k: v for k, v in record.items() if k != 'expect'}) + '\n'
                   for record in records)
    run = subprocess.run([driver, *call], input=text, capture_output=True, text=True, timeout=100,
                         check=False)
    if run.returncode != status:
        print('# %s ended with status %d: %s' % (call, run.returncode, run.stderr[-400:]))
    answers = {}
    for line in run.stdout.splitlines():
        answer = json.loads(line)
        answers[answer['id']] = answer
    return answers


def error_class(code):
    return code if code is None or code in EXACT else 'malformed'


def framing_fault(case, answer):
    if answer is None:
        return 'no answer'
    expect = case['expect']
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


# What is asked of the driver that it cannot do, or that makes no sense.
REFUSED = [
    ('framing', 'smtp', {}, 'unsupported'),
    ('framing', 'h2', {}, 'unsupported'),
    ('framing', 'http1>grpc', {'http': 'response'}, 'unsupported'),
    ('extract', 'sse', {'extract': 'nobody_chat'}, 'unsupported'),
    ('coding', 'grpc', {'grpc_encoding': 'snappy'}, 'unsupported'),
    ('text', 'h2+grpc', {'extract': 'raw'}, 'unsupported'),
    ('terms', 'h2+grpc', {'policy': {'terms': ['x'], 'fold': []}}, 'unsupported'),
    ('surrogate', 'ndjson', {'lone_surrogate': 'keep'}, 'unsupported'),
    ('keys', 'ndjson', {'dup_keys': 'last'}, 'unsupported'),
    ('fold', 'ndjson', {'policy': {'terms': ['x'], 'fold': ['rot13']}}, 'unsupported'),
    ('side', 'ws', {}, 'bad_record'),
    ('side', 'http1', {}, 'bad_record'),
    ('type', 'lenprefix', {'len': {'type': 'u7'}}, 'bad_record'),
    ('delimiter', 'sentinel', {'sentinel_hex': ''}, 'bad_record'),
    ('strict', 'sse', {'extract': 'auto', 'strict': True}, 'unsupported'),
    ('word for strict', 'sse', {'extract': 'openai_chat', 'strict': 'yes'}, 'bad_record'),
    ('level', 'sse', {'extract': 'openai_chat', 'safety_level': 'partial'}, 'bad_record'),
    ('level in a number', 'sse', {'extract': 'raw', 'safety_level': 1}, 'bad_record'),
]


def refused_cases():
    for what, framing, options, error in REFUSED:
        yield {'id': 'no such %s of %s' % (what, framing), 'framing': framing,
               'options': options, 'chunks_hex': ['61'], 'expect': {'error': error}}


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


def cut(data, rng):
    chunks, at = [], 0
    while at < len(data):
        step = rng.choice([1, 2, 3, 7, 61, 700, 1460, 9000])
        chunks.append(data[at:at + step].hex())
        at += step
    return chunks


def streams(folder):
    """The recordings as records, in random cuts."""
    with open(os.path.join(folder, 'manifest.jsonl'), encoding='utf-8') as lines:
        entries = [json.loads(line) for line in lines if line.strip()]
    for entry in entries:
        with open(os.path.join(folder, entry['file']), 'rb') as file:
            data = file.read()
        for number in range(RANDOM_CHUNKINGS):
            yield {'id': '%s, cuts %d' % (entry['file'], number), 'framing': entry['framing'],
                   'chunks_hex': cut(data, random.Random(number)),
                   'options': {'extract': entry['extract'], 'eof': True, 'units': True},
                   'expect': {**entry, 'size': len(data)}}


def channel_name(name):
    """The recorder's name of a channel as the extractors say it; None where they may differ."""
    match = re.fullmatch(r'(?:choice(\d+)\.)?(content|reasoning|refusal)', name)
    return match and ('c%s.' % match[1] if match[1] else '') + match[2]


def stream_fault(case, answer):
    if answer is None:
        return 'no answer'
    expect = case['expect']
    if expect.get('complete') and answer.get('error'):
        return 'error %r in a complete recording' % answer['error']
    at = 0
    for start, end in answer.get('units', []):
        if start != at or end <= start:
            return 'a unit from %d to %d behind one that ends at %d' % (start, end, at)
        at = end
    if not answer.get('error') and at != expect['size']:
        return 'the last unit ends at %d of %d' % (at, expect['size'])
    texts = dict(zip(answer.get('channels', []), answer.get('text', [])))
    for name, text in (expect.get('expected_text') or {}).items():
        if text and text not in texts.values():
            return 'no channel has the text of %s (%.40r)' % (name, text)
        mine = channel_name(name)
        if text and mine and texts.get(mine) != text:
            return 'channel %s %.70r, expected %.70r' % (mine, texts.get(mine), text)
    return None


def check_streams(tap, driver):
    folder = os.path.join(CASES, 'peer', 'streams')
    if not os.path.isfile(os.path.join(folder, 'manifest.jsonl')):
        tap.skip('no recordings at hand ($SLUICE_CASES)', 'recorded streams')
        return
    cases = list(streams(folder))
    tap.result(None if cases else 'none in %s' % folder,
               'recorded streams: %d with their cuts' % len(cases))
    for chunking in ('given', 'one', 'bytes'):
        # The cuts are nobody's business where they are not used.
        chosen = cases if chunking == 'given' else cases[::RANDOM_CHUNKINGS]
        answers = ask(driver, ['frame', '--chunking', chunking], chosen)
        for case in chosen:
            name = case['id'] if chunking == 'given' else case['expect']['file']
            tap.result(stream_fault(case, answers.get(case['id'])),
                       'stream %s %s' % (chunking, name))


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
            tap.result(framing_fault(case, answers.get(case['id'])),
                       'frame %s %s' % (chunking, case['id']))
    answers = ask(driver, ['frame'], list(refused_cases()), status=1)
    for case in refused_cases():
        tap.result(framing_fault(case, answers.get(case['id'])), 'frame ' + case['id'])
    for call, cases, fault in (('session', load('accounting.jsonl'), session_fault),
                               ('guard', list(guard_cases()), guard_fault)):
        answers = ask(driver, [call], cases)
        for case in cases:
            tap.result(fault(case, answers.get(case['id'])), '%s %s' % (call, case['id']))
    check_streams(tap, driver)
    conformance.check_vectors(tap, driver, CASES, ask)
    conformance.check_fixtures(tap, driver, CASES, ask, cut)
    print('1..%d' % tap.count)
    return 1 if tap.failed else 0


if __name__ == '__main__':
    sys.exit(main())
