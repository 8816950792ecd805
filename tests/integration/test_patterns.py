#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Patterns and rule sets with a real daemon and curl: what is split over events is refused,
what is clean is not delayed, and what cannot be judged ends closed."""
import json
import os
import re

from http_bench import ChatServer, Curl, all_at_once, ask
from sluice_test import ROOT, SLUICECTL, main
from waiting import check, equal, wait_for

POLICY = """\
version: 1
name: patterns
framing: http1
extract: auto
request: {tasks: [tokens]}
response: {tasks: [secrets, costly, loud]}
tasks:
  tokens: {kind: builtin, rules: [jwt, private_keys]}
  secrets: {kind: builtin, rules: [api_keys, payment_cards, iban]}
  costly: {kind: regex, patterns: ['(?:(?:a{1,9}){1,9}){1,9}b']}
  loud: {kind: regex, patterns: ['never', '(?i)\\bn[o0]ise\\b'], warn_only: true}
"""
KEYS = """\
version: 1
name: keys
framing: http1
extract: auto
response: {tasks: [keys]}
tasks:
  keys: {kind: regex, patterns: ['AKIA[0-9A-Z]{16}']}
"""
# No secrets: the documentation's examples, in parts.
KEY = ['AKIA', 'IOSFODNN7', 'EXAMPLE']
CARD = ['4242 42', '42-4242 ', '4242']
JWT = 'eyJhbGciOiJub25lIn0.' + 'eyJpc3MiOiJqb2UifQ.'
PAUSE = 0.5


def pieces(*words):
    return {'pieces': ['fine ', 'words ', *words, ' and more']}


ANSWERS = {
    'clean': pieces('AKIA', 'BLE ', '4242 42', '42-4242 4243', ' aaac? ', 'noise'),
    'key': pieces(*KEY),
    'card': pieces(*CARD),
    'account': pieces('GB82 WE', 'ST 1234 5698 76', '54 32'),
    'costly': pieces('a' * 40, 'c'),
    'paced': {'pieces': ['one ', 'AKI', 'A two', ' three'], 'pause': PAUSE},
    'paced-clean': {'pieces': ['one ', 'BKI', 'A two', ' three'], 'pause': PAUSE},
}


def set_up(bench, policy=POLICY):
    server = ChatServer(bench, ANSWERS)
    daemon = bench.daemon(policy)
    return server, daemon, Curl(bench, daemon, policy)


def split_over_events(bench):
    """a key, a card's and an account's number in pieces: refused, and nothing of them arrives"""
    server, daemon, curl = set_up(bench)

    def split(name, parts, stream):
        got = curl.ask(ask(name, url=server.url(), stream=stream))
        check(stream == (b'words' in got.body), 'what came before: %s', got)
        check(b'error' in got.body, 'no refusal: %s', got)
        for never in (*parts, 'and more'):
            check(never.encode() not in got.body, '%r arrived: %s', never, got)
        check('denied:secrets 1' in got.run, 'the run says %s', got.run)

    all_at_once({'%s %s' % (name, stream): lambda name=name, parts=parts, stream=stream:
                 split(name, parts, stream)
                 for name, parts in (('key', KEY), ('card', CARD), ('account', ['GB82', '1234']))
                 for stream in (True, False)})
    wait_for(lambda: daemon.status()['streams']['open'] == 0, 5, 'the streams to settle')
    equal(daemon.status()['reasons'], {'denied:secrets': 6}, 'reasons')


def clean(bench):
    """what only begins as they do passes to the byte, and what a task that warns finds is told"""
    server, daemon, curl = set_up(bench)
    for stream in (True, False):
        step = ask('clean', url=server.url(), stream=stream)
        equal(curl.ask(step).body, curl.ask(step, direct=True).body, 'the answer')
    wait_for(lambda: daemon.status()['streams']['open'] == 0, 5, 'the streams to settle')
    status = daemon.status()
    equal((status['reasons'], status['findings']), ({}, {'loud': 2}), 'what is counted')


def a_token_in_a_request(bench):
    """a JSON Web Token does not reach the server; its first part alone does"""
    server, _, curl = set_up(bench)
    got = curl.ask(ask('clean', content='here: %s' % JWT, url=server.url()))
    equal(got.status, 403, 'the status of %s' % got)
    check(b'eyJ' not in server.everything(), 'it reached the server')
    got = curl.ask(ask('clean', content='here: %s.' % JWT.split('.', maxsplit=1)[0],
                       url=server.url()))
    equal(got.status, 200, 'the status of %s' % got)


def past_the_limit(bench):
    """a pattern that takes too many steps ends the stream, closed, counted by its name"""
    server, daemon, curl = set_up(bench)
    got = curl.ask(ask('costly', url=server.url()))
    check(b'words' in got.body and b'aaaa' not in got.body, 'what arrived: %s', got)
    check(b'and more' not in got.body, 'it went on: %s', got)
    check('match_limit 1' in got.run, 'the run says %s', got.run)
    wait_for(lambda: daemon.status()['streams']['open'] == 0, 5, 'the stream to settle')
    equal(daemon.status()['reasons'], {'match_limit': 1}, 'reasons')
    equal(curl.ask(ask('clean', url=server.url())).status, 200, 'the status of another')


def held_no_longer_than_it_has_to(bench):
    """an event that ends as a match begins waits for the next; all others arrive as they come"""
    server, daemon, curl = set_up(bench, KEYS)

    def arrivals(name):
        got = curl.ask(ask(name, url=server.url()))
        text = [event for event in got.events() if b'content' in event]
        check(len(text) == 4, 'not whole: %s', got)
        return [round((at - got.times[0]) / PAUSE) for at in got.times]

    held, prompt = arrivals('paced'), arrivals('paced-clean')
    check({0, 1, 2, 3} <= set(prompt), 'text that begins nothing came after pauses %s', prompt)
    check(1 not in held and {0, 2, 3} <= set(held), 'what is held came after pauses %s', held)
    equal(daemon.status()['reasons'], {}, 'reasons')


def what_a_policy_comes_to(bench):
    """policy check lists kinds, rules and bounds; status the kinds; replay the rule's name"""
    path = os.path.join(ROOT, 'examples', 'policies', 'secrets.yaml')
    view = json.loads(bench.run([SLUICECTL, 'policy', 'check', '--json', path]).stdout)
    tasks = {task['name']: task for task in view['tasks']}
    equal([task['kind'] for task in view['tasks']], ['builtin', 'builtin', 'regex'], 'kinds')
    check({'api_keys', 'private_keys', 'jwt'} == set(tasks['keys']['active']), 'sets %s', tasks)
    equal(tasks['keys']['active']['jwt'], ['jwt'], 'rules of a set')
    equal(tasks['numbers']['rules'], sum(map(len, tasks['numbers']['active'].values())), 'rules')
    equal((tasks['tickets']['patterns'], tasks['tickets']['longest']), (2, 76), 'of a regex')
    equal(view['hold_back_runes']['response'], 75, 'hold-back')
    equal(view['exposure_bound_runes'], {'request': 0, 'response': 0}, 'exposure bounds')
    said = bench.run([SLUICECTL, 'policy', 'check', path]).stdout.decode()
    for words in ('task tickets: regex, 2 patterns, longest 76 runes', 'active jwt: jwt\n'):
        check(words in said, 'it said %s', said)
    for row in said.splitlines():
        check(not row.endswith(' '), 'spaces at the end of %r', row)
        check(len(row) <= 80 or not row.startswith(('  active ', '    ')), 'a long line: %r', row)
    active = re.sub(r'\n {4}', ' ', said)
    for name, rules in tasks['numbers']['active'].items():
        check('active %s: %s\n' % (name, ', '.join(rules)) in active, 'no %s in %s', name, said)

    policy = bench.file('policy.yaml', POLICY)
    capture = bench.file('capture', 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n'
                         'data: noise.\n\ndata: x %s\n\n' % ''.join(CARD))
    replay = [SLUICECTL, 'replay', '--policy', policy, '--track', 'response']
    done = bench.run([*replay, '--json', capture])
    view = json.loads(done.stdout)
    equal(done.returncode, 3, 'exit status')
    equal((view['denial']['task'], view['denial']['rule_name']), ('secrets', 'visa'), 'the denial')
    equal((view['findings'][0]['rule'], view['findings'][0]['kind']), (1, 'regex'), 'the finding')
    said = bench.run([*replay, capture]).stdout.decode()
    check('(visa), at runes' in said and "'loud', pattern 1" in said, 'it said %s', said)

    daemon = bench.daemon(POLICY)
    rows = {task['name']: task for task in daemon.status()['policies'][0]['tasks']}
    equal([rows[name]['kind'] for name in ('tokens', 'costly')], ['builtin', 'regex'], 'kinds')
    equal(rows['costly']['patterns'], 1, 'patterns')
    said = daemon.ctl('status').stdout.decode()
    check('loud (regex): 2 patterns' in said, 'status says %s', said)


if __name__ == '__main__':
    main([split_over_events, clean, a_token_in_a_request, past_the_limit,
          held_no_longer_than_it_has_to, what_a_policy_comes_to])
