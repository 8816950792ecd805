#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The last that interceptors hear of a response: the emission that says why it has finished,
and what they are told of one that breaks off."""
import json
import socket
import struct

from interceptors import FORBIDDEN
from sluice_test import main
from test_interceptors import POLICY, Served, requests_of
from test_interceptors_watch import rows_of
from test_levels import DONE, HEAD, Steps, chunk, event
from test_metrics import samples, scrape, value
from waiting import check, equal, wait_for

END = b'0\r\n\r\n'
ONE, TWO = event('once upon'), event(' a time')
BEGUN = b'100\r\ndata: {"choices": [{"index": 0, "delta": {"content": " a %s' % FORBIDDEN.encode()


def data(document):
    return b'data: %s\n\n' % json.dumps(document).encode()


def anthropic(text):
    return data({'type': 'content_block_delta', 'index': 0,
                 'delta': {'type': 'text_delta', 'text': text}})


def call(text):
    return data({'choices': [{'index': 0, 'delta': {'tool_calls': [
        {'index': 0, 'function': {'arguments': text}}]}}]})


LENGTH = data({'choices': [{'index': 0, 'delta': {}, 'finish_reason': 'length'}]})
CALLED = data({'choices': [{'index': 0, 'delta': {}, 'finish_reason': 'tool_calls'}]})
STOPPED = data({'type': 'message_delta', 'delta': {'stop_reason': 'max_tokens'}})


class Resetting(Steps):
    """Whose server resets the connection in the end."""

    def serve(self, connection):
        super().serve(connection)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        connection.sock.close()


def the_last_says_why(bench):
    """a chat of either form: one emission is the last, says why, and the end waits for it"""
    rows = ((ONE, TWO, LENGTH, 'length'),
            (anthropic('once upon'), anthropic(' a time'), STOPPED, 'max_tokens'))
    for first, second, finish, reason in rows:
        server = Served(bench)
        server.gate.set()
        steps = Steps(bench, POLICY % (server.url('/gate'), ''))
        body = first + second + finish + DONE
        steps.send(HEAD, *map(chunk, (first, second, finish, DONE)))
        steps.arrives(body)
        equal({r.reason for r in server.requests}, {'incremental'}, 'reasons before the end')
        before = len(server.requests)
        server.gate.clear()
        steps.send(END)
        wait_for(lambda: len(server.requests) > before, 10, 'the last')
        steps.stays(body)
        check(steps.client.poll() is None, 'the client has seen an end')
        last = server.requests[-1]
        equal((last.reason, last.text, last.span['before']), (reason, 'once upon a time', 16),
              'the last')
        equal(last.span['start'], last.span['end'], 'its span')
        server.gate.set()
        equal(steps.end()[0], body, 'the answer')
        equal(len(server.requests), before + 1, 'the questions')
        numbers = [r.context['sequence'] for r in server.requests]
        equal(len(numbers), len(set(numbers)), 'numbers')
        equal(last.context['sequence'], max(numbers), 'the number of the last')
        steps.settled(complete=1)


def the_last_denies(bench):
    """a denial of the last emission withholds the end, and is the session's"""
    server = Served(bench)
    steps = Steps(bench, POLICY % (server.url('/last'), ''))
    steps.send(HEAD, chunk(ONE), chunk(DONE))
    steps.arrives(ONE + DONE)
    steps.send(END)
    said = steps.end()[1]
    check('curl: (' in said, 'curl takes it for whole: %s', said)
    equal([r.reason for r in server.requests].count('stop'), 1, 'last ones')
    steps.settled('denied:judge', denied=1)


def told_of(server):
    return [r for r in server.requests if r.reason == 'stream_incomplete']


def break_off(steps, how):
    if how == 'client':
        steps.client.kill()
    elif how == 'operator':
        stream, = steps.daemon.call('streams')['streams']
        steps.daemon.ctl('deny', str(stream['id']))
    else:
        steps.send(b'')


def what_breaks_off_is_told(bench):
    """a server that resets or ends early, a client that is gone, an operator: each is told"""
    for how in ('reset', 'close', 'client', 'operator'):
        server = Served(bench)
        kind = Resetting if how == 'reset' else Steps
        steps = kind(bench, POLICY % (server.url('/word'), ''))
        steps.send(HEAD, chunk(ONE))
        steps.arrives(ONE)
        steps.send(BEGUN)
        steps.stays(ONE)
        break_off(steps, how)
        told, = wait_for(lambda: told_of(server), 10, '%s: what is told' % how)
        check(told.text.startswith('once upon'), 'its text: %r', told.text)
        counts = wait_for(lambda: (lambda c: c if c['told'] else None)(requests_of(steps.daemon)),
                          10, 'the count')
        equal((counts['told'], counts['untold'], counts['denied']), (1, 0, 0), how + ': counts')
        noted = samples(scrape(steps.daemon))
        equal([value(noted, 'sluice_interceptor_notes_total', task='judge', result=result)
               for result in ('told', 'untold')], [1, 0], how + ': metrics')
        check(told is server.requests[-1] and len(told_of(server)) == 1, 'it is not the last')
        wait_for(lambda: not steps.daemon.status()['streams']['open'], 10, 'the end')
        row, = rows_of(steps.daemon, 'session_settled')
        check(row['end'] == 'failed' and (
            how == 'operator' or 'host_error:streaming_unsupported' in row.values()),
            '%s: the session: %r', how, row)
        steps.send(b'')


def what_is_told_delays_nobody(bench):
    """an interceptor that never answers what it is told judges another stream meanwhile"""
    server = Served(bench)
    steps = Resetting(bench, POLICY % (server.url('/left'), ', concurrency: 1'))
    steps.send(HEAD, chunk(ONE))
    steps.arrives(ONE)
    steps.send(b'')
    wait_for(lambda: told_of(server), 10, 'what is told')
    equal(requests_of(steps.daemon)['in_flight'], 1, 'what is out')
    wait_for(lambda: not steps.daemon.status()['streams']['open'], 10, 'the end')
    after = bench.run(steps.daemon.run_command(
        ['curl', '-sS', '-m', '8', 'http://127.0.0.1:%d/' % bench.server(serve_whole).port]))
    equal(after.stdout, ONE + DONE, 'what another stream got')
    counts = requests_of(steps.daemon)
    equal((counts['told'], counts['untold']), (0, 1), 'counts')
    equal(value(samples(scrape(steps.daemon)), 'sluice_interceptor_notes_total', result='untold'), 1,
          'metrics')


def serve_whole(connection):
    connection.take(connection.sock.recv(65536))
    connection.sock.sendall(HEAD + chunk(ONE) + chunk(DONE) + END)


def what_is_whole_is_not_told_of(bench):
    """a connection that is reset behind a whole answer has nothing that was left"""
    server = Served(bench)
    steps = Resetting(bench, POLICY % (server.url('/word'), ''))
    steps.send(HEAD, chunk(ONE), chunk(DONE), END)
    steps.arrives(ONE + DONE + b'\nstatus 200')
    steps.send(b'')
    wait_for(lambda: not steps.daemon.status()['streams']['open'], 10, 'the end')
    equal([r.reason for r in server.requests if r.reason != 'incremental'], ['stop'], 'reasons')
    counts = requests_of(steps.daemon)
    equal((counts['told'], counts['untold']), (0, 0), 'counts')


def a_call_is_asked_about_whole(bench):
    """a tool call that comes in pieces is one question, once it is complete"""
    server = Served(bench)
    steps = Steps(bench, POLICY % (server.url('/word'), ''))
    pieces = [call(text) for text in ('{"path": ', '"a. b', '.c"}')]
    steps.send(HEAD, *map(chunk, pieces))
    steps.stays(b'')
    steps.send(chunk(CALLED))
    steps.arrives(b''.join(pieces) + CALLED)
    texts = [r.text for r in server.requests
             if r.context['extensions']['sluice']['channel'] == 'c0.tool0']
    equal(texts, ['{"path": "a. b.c"}'], 'what is asked of the call')
    steps.send(chunk(DONE), END)
    steps.end()
    steps.settled(complete=1)


if __name__ == '__main__':
    main([the_last_says_why, the_last_denies, what_breaks_off_is_told, what_is_told_delays_nobody,
          what_is_whole_is_not_told_of, a_call_is_asked_about_whole])
