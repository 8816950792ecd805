# SPDX-License-Identifier: Apache-2.0
"""Conformance of the driver with two specifications, for compare.py.

Agent-hooks vectors of incremental mediation (AGENT-HOOKS-0.1, 12.1): our own ones below, and
those of the specification where they are at hand. A vector's expectations are compared as
its test kit does, records and contexts included.

Buffer-mode fixtures of the Agent Control Specification, where they are at hand: each as the
body of an HTTP response under `strict` at the level `complete`, in every chunking and in random
ones. What it allows is released as it came, and of what it refuses nothing is.
"""
import copy
import glob
import json
import os
import random
import re
import subprocess

ALLOW = {'decision': 'allow'}
POST = 'post_model_call'
STREAMING = 'host_error:streaming_unsupported'


def dotted(values):
    """Names as paths, with _ for the dot of those that have none."""
    return {name if '.' in name else name.replace('_', '.', 1): value
            for name, value in values.items()}


def rule(at, answer, **match):
    """A rule of a script."""
    entry = {'at': at}
    if match:
        entry['match'] = dotted(match)
    entry.update(answer if 'fault' in answer else {'return': answer})
    return entry


def deny(reason='ctk:no', **more):
    return {'decision': 'deny', 'reason': reason, **more}


def transform(path='$target.content', **more):
    return {'decision': 'transform', 'transform': {'path': path, 'value': 'REPLACED'}, **more}


def reply(*chunks, truncated=False, calls=(), plain=False):
    respond = {'content': ''.join(chunks), 'tool_calls': list(calls), 'finish_reason': 'stop'}
    if not plain:
        respond['stream'] = list(chunks)
    if truncated:
        respond['stream_truncated'] = True
    return {'respond': respond}


def vector(name, rules, *replies, released='', final=None, outcome='blocked', **expect):
    """With rules a list of lists there are several interceptors."""
    several = not rules or isinstance(rules[0], list)
    return {'id': name, 'part': 'streaming/incremental',
            'scenario': {'input': {'content': 'the question', 'role': 'user'},
                         'model_script': list(replies) or [reply('one ', 'two ', 'three')]},
            'interceptor_scripts' if several else 'interceptor_script': rules,
            'expect': {'released_output': released, 'final_output': final, 'run_outcome': outcome,
                       'sequence_strict': True, **expect}}


def seen(point, **context):
    entry = {'interception_point': point}
    if context:
        entry['context'] = dotted(context)
    return entry


def segment(content, finish='incremental'):
    return seen(POST, response_content=content, response_finish_reason=finish)


def recorded(point, decision, reason=None, absent=(), **more):
    entry = {'interception_point': point, 'assert': {'verdict.decision': decision, **more},
             'absent': list(absent)}
    if reason:
        entry['assert']['verdict.reason'] = reason
    return entry


def failed(name, answer, reason):
    """A verdict that is none, on the second segment."""
    rules = [rule(POST, answer, response_content='one two '), rule(POST, ALLOW)]
    return vector(name, rules, released='one ',
                  session='denied' if reason == 'ctk:no' else reason.split(':')[1],
                  interceptions=BEFORE + [segment('one '), segment('one two '), END],
                  records=[recorded(POST, 'allow'), recorded(POST, 'deny', reason)])


BEFORE = [seen('agent_startup'), seen('input', input_content='the question', input_role='user'),
          seen('pre_model_call', model_id='ctk')]
END = seen('agent_shutdown', summary_reason='error')
DONE = seen('agent_shutdown', summary_reason='completed')
WHOLE = 'one two three'
SEGMENTS = [segment('one '), segment('one two '), segment(WHOLE, 'stop')]
OUTPUT = seen('output', output_content=WHOLE)
ALL = {'released': WHOLE, 'final': WHOLE, 'outcome': 'completed', 'session': 'complete'}
CALL = {'id': 'c', 'name': 'look', 'args': {'at': 1}}
TOOLS = [{'name': 'look', 'behavior': [{'when_args': {'at': 2}, 'return': 'not this'},
                                       {'return': 'found'}]}]


def streams_and_verdicts():
    yield vector('allowed', [rule(POST, ALLOW)], **ALL,
                 interceptions=BEFORE + SEGMENTS + [OUTPUT, DONE],
                 records=[recorded(POST, 'allow', interceptors_registered=1, decided_by=None)] * 3,
                 persisted=['the question', WHOLE])
    yield vector('no rules', [rule('output', ALLOW)], **ALL)
    yield vector('denied in the middle',
                 [rule(POST, deny(), response_content='one two '), rule(POST, ALLOW)],
                 released='one ',
                 interceptions=BEFORE + [segment('one '), segment('one two '), END],
                 interceptions_absent=['output'], persisted=['the question', 'one '],
                 persisted_must_not_contain=['two', 'three'],
                 records=[recorded(POST, 'allow'),
                          recorded(POST, 'deny', 'ctk:no', decided_by=0)])
    yield vector('denied first', [rule(POST, deny())], persisted=['the question'],
                 interceptions=BEFORE + [segment('one '), END])
    yield vector('denied last',
                 [rule(POST, deny(), response_finish_reason='stop'), rule(POST, ALLOW)],
                 released='one two ', persisted_must_not_contain=['three'],
                 interceptions=BEFORE + SEGMENTS + [END])
    yield vector('the first rule that fits',
                 [rule(POST, deny('ctk:other'), response_content='one'),
                  rule(POST, deny('ctk:index'), **{'response_tool_calls': [1]}),
                  rule(POST, deny('ctk:first')), rule(POST, ALLOW)],
                 records=[recorded(POST, 'deny', 'ctk:first')])
    yield vector('a deny that could be lifted', [rule(POST, deny(approval={'who': 'me'}))],
                 records=[recorded(POST, 'deny', 'ctk:no', ['verdict.approval.who'],
                                   **{'verdict.approval': {}})])
    warned = {**ALLOW, 'warnings': [{'reason': 'ctk:odd', 'message': 'm' * 300}],
              'result_labels': ['l']}
    yield vector('warned', [rule(POST, warned)], **ALL,
                 records=[recorded(POST, 'allow', **{
                     'verdict.warnings': [{'reason': 'ctk:odd', 'message': 'm' * 256 + '…'}],
                     'verdict.result_labels': ['l']})])
    yield vector('runes of several bytes', [rule(POST, deny(), response_content='é😀'),
                                            rule(POST, ALLOW)], reply('é', '😀', '!'),
                 released='é', persisted_must_not_contain=['😀'])
    yield vector('an empty segment', [rule(POST, ALLOW)], reply('one ', '', 'two three'), **ALL)
    yield vector('an empty segment is denied',
                 [rule(POST, deny(), response_content='', response_finish_reason='incremental')],
                 reply('', WHOLE), interceptions=BEFORE + [segment(''), END])
    yield vector('in one piece', [rule(POST, ALLOW)], reply(WHOLE, plain=True), **ALL,
                 interceptions=BEFORE + [segment(WHOLE, 'stop'), OUTPUT, DONE])
    yield vector('in one piece, denied', [rule(POST, deny())], reply(WHOLE, plain=True),
                 persisted_must_not_contain=['one'])
    yield vector('nothing to say', [rule(POST, ALLOW)], reply('', plain=True), final='',
                 outcome='completed')


def points():
    for name, point, emitted in (('startup', 'agent_startup', []), ('input', 'input', BEFORE[:1]),
                                 ('call', 'pre_model_call', BEFORE[:2])):
        yield vector('denied at ' + name, [rule(point, deny())],
                     interceptions=emitted + [seen(point), END], persisted=[],
                     session={'startup': None, 'input': 'denied', 'call': 'disconnected'}[name],
                     records=[recorded(point, 'deny', 'ctk:no')])
    yield vector('denied at output', [rule('output', deny())], released=WHOLE, session='denied',
                 interceptions=BEFORE + SEGMENTS + [OUTPUT, END],
                 records=[recorded('output', 'deny', 'ctk:no')])
    yield vector('denied at shutdown', [rule('agent_shutdown', deny())], **ALL,
                 records=[recorded('agent_shutdown', 'deny', 'ctk:no')])
    yield vector('rewritten first', [rule(POST, transform())], session='rewritten',
                 interceptions=BEFORE + [segment('one '), END],
                 records=[recorded(POST, 'transform', None, ['verdict.transform.value'],
                                   **{'verdict.transform.path': '$target.content'})])
    yield vector('rewritten too late',
                 [rule(POST, transform(), response_content='one two '), rule(POST, ALLOW)],
                 released='one ', session='transform_too_late',
                 records=[recorded(POST, 'allow'), recorded(POST, 'deny', STREAMING)])
    for point in ('input', 'pre_model_call'):
        yield vector('rewritten at ' + point, [rule(point, transform())],
                     interceptions_absent=[POST, 'output'], sequence_strict=False,
                     interceptions=[seen(point), END], records=[recorded(point, 'transform')])
    yield vector('rewritten at output', [rule('output', transform())], released=WHOLE,
                 records=[recorded('output', 'deny', STREAMING)])
    yield vector('rewritten at startup', [rule('agent_startup', transform())],
                 records=[recorded('agent_startup', 'deny',
                                   'host_error:transform_target_forbidden')])
    yield vector('rewritten at shutdown', [rule('agent_shutdown', transform())], **ALL,
                 records=[recorded('agent_shutdown', 'deny',
                                   'host_error:transform_target_forbidden')])


def failures():
    invalid = 'host_error:verdict_invalid'
    yield failed('raises', {'fault': 'raise'}, 'host_error:interceptor_failed')
    yield failed('raises and returns', {'fault': 'raise', 'return': ALLOW},
                 'host_error:interceptor_failed')
    yield failed('no such fault', {'fault': 'sleep'}, 'host_error:interceptor_failed')
    yield failed('malformed', {'fault': 'malformed_verdict'}, invalid)
    for name, verdict in (('reserved', deny('host_error:verdict_invalid')),
                          ('no decision', {'reason': 'x'}), ('no object', 'allow'),
                          ('no such decision', {'decision': 'warn'}),
                          ('approval', {**ALLOW, 'approval': {}}),
                          ('evidence', deny(evidence={'artefact': 'x' * 10240})),
                          ('root', transform('$context.input')),
                          ('warnings', {**ALLOW, 'warnings': [{'reason': 'host_error:x'}]})):
        yield failed('malformed: ' + name, verdict, invalid)
    yield failed('fails late', deny(), 'ctk:no')
    yield vector('raises at output', [rule('output', {'fault': 'raise'})], released=WHOLE,
                 records=[recorded('output', 'deny', 'host_error:interceptor_failed')])
    yield vector('raises at input', [rule('input', {'fault': 'raise'})], persisted=[],
                 records=[recorded('input', 'deny', 'host_error:interceptor_failed')])
    yield vector('changes its copy', [rule(POST, {'fault': 'mutate'})], **ALL)
    yield vector('no interceptor', [], interceptions=[],
                 records=[recorded('agent_startup', 'deny', 'host_error:no_interceptor',
                                   interceptors_registered=0)])
    yield vector('breaks off', [rule(POST, ALLOW)], reply('one ', 'two ', 'th', truncated=True),
                 released='one two ', persisted_must_not_contain=['th '],
                 persisted=['the question', 'one two '], session='framing_fault',
                 interceptions=BEFORE + SEGMENTS[:2] + [END],
                 records=[recorded(POST, 'allow')] * 2 + [recorded(POST, 'deny', STREAMING)])
    yield vector('breaks off at once', [rule(POST, ALLOW)], reply('one', truncated=True),
                 interceptions=BEFORE + [END], records=[recorded(POST, 'deny', STREAMING)])
    yield vector('breaks off without a rest', [rule(POST, ALLOW)],
                 reply('one ', '', truncated=True), released='one ',
                 records=[recorded(POST, 'allow'), recorded(POST, 'deny', STREAMING)])
    yield vector('denied before it breaks off', [rule(POST, deny())],
                 reply('one ', 'two', truncated=True),
                 records=[recorded(POST, 'deny', 'ctk:no')])


def several():
    other = [rule(POST, deny('ctk:second'), response_content='one two '), rule(POST, ALLOW)]
    yield vector('two, and the second denies', [[], other], released='one ',
                 records=[recorded(POST, 'allow'),
                          recorded(POST, 'deny', 'ctk:second', decided_by=1,
                                   fold_truncated=False)])
    yield vector('two, and the first denies', [other, [rule(POST, {'fault': 'raise'})]],
                 records=[recorded(POST, 'deny', 'host_error:interceptor_failed', decided_by=1)])
    yield vector('two, and the second is not asked', [[rule(POST, deny())], []],
                 records=[recorded(POST, 'deny', 'ctk:no', decided_by=0, fold_truncated=True)])
    yield vector('two, and both allow', [[], []], **ALL)
    result = [seen('post_tool_call', **{'tool_result.value': 'found'})]
    twice = [reply('look', 'ing ', calls=[CALL]), reply('found ', 'it')]
    for name, rules, invoked in (
            ('tools', [rule(POST, ALLOW)], True),
            ('a tool is denied', [rule('pre_tool_call', deny())], False)):
        case = vector(name, rules, *twice, released='looking found it', final='found it',
                      outcome='completed', tool_invocations=[{'name': 'look', 'args': {'at': 1}}]
                      if invoked else [], sequence_strict=False,
                      interceptions=[segment('look'), segment('looking ', 'stop'),
                                     seen('pre_tool_call')] + result * invoked +
                      [seen('pre_model_call'), segment('found '), DONE])
        case['scenario']['tools'] = TOOLS
        yield case
    yield vector('a denied second reply',
                 [rule(POST, deny(), response_content='found it'), rule(POST, ALLOW)], *twice,
                 released='looking found ', persisted=['the question', 'looking found '])


def own_vectors():
    for part in (streams_and_verdicts, points, failures, several):
        yield from part()


def bad_vectors():
    good = vector('', [rule(POST, ALLOW)])
    for name, path, value, error in (
            ('chunks', ('scenario', 'model_script', 0, 'respond', 'stream', 1), 'TWO ',
             'bad_record'),
            ('too few chunks', ('scenario', 'model_script', 0, 'respond', 'stream'), ['one '],
             'bad_record'),
            ('no chunks', ('scenario', 'model_script', 0, 'respond', 'stream'), [], 'bad_record'),
            ('chunk', ('scenario', 'model_script', 0, 'respond', 'stream', 0), 1, 'bad_record'),
            ('reply', ('scenario', 'model_script', 0, 'respond'), {}, 'bad_record'),
            ('input', ('scenario', 'input'), {}, 'bad_record'),
            ('scenario', ('scenario',), None, 'bad_record'),
            ('mode', ('mode',), 'evaluate_only', 'unsupported'),
            ('composition', ('composition',), {'profile': 'parallel/strictest'}, 'unsupported')):
        case = copy.deepcopy(good)
        at = case
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value
        yield {**case, 'id': 'bad ' + name, 'expect': {'error': error}}


def look_up(value, path):
    for step in re.findall(r'[^.\[\]]+', path):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def scan(wants, entries, strict, differs):
    """The wanted entries in their order, others between them unless strict."""
    if strict and [w['interception_point'] for w in wants] != [
            e['interception_point'] for e in entries]:
        return 'points %r' % [e['interception_point'] for e in entries]
    rest = iter(entries)
    for want in wants:
        at = next((e for e in rest if e['interception_point'] == want['interception_point']), None)
        fault = 'no %s' % want['interception_point'] if at is None else differs(want, at)
        if fault:
            return fault
    return None


def context_differs(want, entry):
    for path, value in want.get('context', {}).items():
        if entry['context'].get(path) != value:
            return '%s is %.70r' % (path, entry['context'].get(path))
    return None


def record_differs(want, entry):
    for path, value in want.get('assert', {}).items():
        if look_up(entry, path) != value:
            return '%s is %.70r' % (path, look_up(entry, path))
    return next(('%s is recorded' % path for path in want.get('absent', [])
                 if look_up(entry, path) is not None), None)


def vector_fault(case, answer):
    if answer is None:
        return 'no answer'
    expect = case['expect']
    for field in ('error', 'released_output', 'final_output', 'run_outcome', 'tool_invocations',
                  'session'):
        if field in expect and answer.get(field) != expect[field]:
            return '%s %r, expected %r' % (field, answer.get(field), expect[field])
    kept = answer.get('persisted', [])
    if 'persisted' in expect and [entry['content'] for entry in kept] != expect['persisted']:
        return 'persisted %r, expected %r' % (kept, expect['persisted'])
    for text in expect.get('persisted_must_not_contain', []):
        if text in json.dumps(kept, ensure_ascii=False):
            return 'persisted %r' % text
    emitted = answer.get('interceptions', [])
    for point in expect.get('interceptions_absent', []):
        if point in [entry['interception_point'] for entry in emitted]:
            return '%s must be absent' % point
    fault = None
    if 'interceptions' in expect:
        fault = scan(expect['interceptions'], emitted, expect.get('sequence_strict', True),
                     context_differs)
    return fault or scan(expect.get('records', []), answer.get('records', []), False,
                         record_differs)


def check_vectors(tap, driver, cases, ask):
    own = list(own_vectors())
    if len({case['id'] for case in own}) != len(own):
        raise ValueError('two vectors of one name')
    for kind, vectors, status in (('own', own, 0), ('bad', list(bad_vectors()), 1)):
        answers = ask(driver, ['ctk'], vectors, status=status)
        for case in vectors:
            tap.result(vector_fault(case, answers.get(case['id'])),
                       'ctk %s %s' % (kind, case['id']))
    paths = sorted(glob.glob(os.path.join(cases, 'peer', 'AH-CTK-*.json')))
    if not paths:
        tap.skip('none at hand ($SLUICE_CASES)', "ctk: the specification's own vectors")
    for path in paths:
        with open(path, encoding='utf-8') as file:
            case = json.load(file)
        run = subprocess.run([driver, 'ctk'], input=json.dumps(case) + '\n', capture_output=True,
                             text=True, timeout=30, check=False)
        answer = json.loads(run.stdout) if run.stdout.strip() else None
        tap.result(vector_fault(case, answer), 'ctk %s' % case['id'])


HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'
RANDOM_CUTS = 20


def chunked(body, rng):
    parts, at = [], 0
    while at < len(body):
        step = rng.choice([1, 2, 5, 61, 150, 700])
        parts.append(b'%x\r\n%s\r\n' % (len(body[at:at + step]), body[at:at + step]))
        at += step
    return HEAD + b''.join(parts) + b'0\r\n\r\n'


def fixtures(folder, entries, cut):
    for entry in entries:
        with open(os.path.join(folder, entry['input']), 'rb') as file:
            body = file.read()
        for number in range(RANDOM_CUTS):
            rng = random.Random(number)
            data = chunked(body, rng)
            yield {'id': '%s, cuts %d' % (entry['name'], number), 'framing': 'http1>sse',
                   'chunks_hex': cut(data, rng),
                   'options': {'http': 'response', 'requests': ['POST'], 'extract': 'openai_chat',
                               'strict': True, 'safety_level': 'complete'},
                   'expect': {**entry, 'size': len(data)}}


def fixture_fault(case, answer):
    if answer is None:
        return 'no answer'
    expect, error, released = case['expect'], answer.get('error'), answer.get('released')
    if expect['outcome'] == 'ok':
        if error or released != expect['size']:
            return 'error %r, released %r of %d' % (error, released, expect['size'])
        return None
    if not error or released != 0 or answer.get('messages_hex'):
        return 'error %r, released %r, %d messages' % (error, released,
                                                       len(answer.get('messages_hex', [])))
    return None


def check_fixtures(tap, driver, cases, ask, cut):
    folder = os.path.join(cases, 'peer', 'acs-streaming')
    path = os.path.join(folder, 'manifest.json')
    if not os.path.isfile(path):
        tap.skip('none at hand ($SLUICE_CASES)', 'buffer-mode fixtures')
        return
    with open(path, encoding='utf-8') as file:
        manifest = json.load(file)
    records = list(fixtures(folder, manifest['assemble'], cut))
    tap.result(None if records else 'none in %s' % folder,
               'buffer-mode fixtures: %d with their cuts' % len(records))
    for chunking in ('given', 'one', 'bytes'):
        chosen = records if chunking == 'given' else records[::RANDOM_CUTS]
        answers = ask(driver, ['frame', '--chunking', chunking], chosen)
        for case in chosen:
            tap.result(fixture_fault(case, answers.get(case['id'])),
                       'fixture %s %s' % (chunking, case['id']))
    for entry in manifest['synthesize']:
        tap.skip('not applicable: no substitute is ever emitted', 'fixture %s' % entry['name'])
