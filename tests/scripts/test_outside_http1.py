#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""HTTP/1 messages as Node's parser (llhttp) and Python's http.client read them, and as the
core does: what is accepted, where each message ends, and the bodies.

That a message is refused here which llhttp takes is a choice (core/frame_http1.h), to be
explained in STRICTER by what was done to the message. What llhttp refuses and the core does
not, or a body that is another one, is what smuggling is made of: LAXER has the few that
are none, and why.
"""
import io
import http.client
import json
import os
import shutil
import subprocess
import sys

import outside

LLHTTP = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'llhttp.js')
ROUNDS = 25     # of each thing that is done to a message
DAMAGED = 1500  # messages with a byte changed
INNER_MAX = 1 << 16

CRLF = b'\r\n'
# What is done to a request, or a response: a line of its head replaced or added, and a body.
# Each: label, side, head, body.
BODY = b'hello'
CHUNKED = b'5\r\nhello\r\n0\r\n\r\n'
CL = b'Content-Length: 5\r\n'
TE = b'Transfer-Encoding: chunked\r\n'
HOST = b'Host: a\r\n'
OK = b'HTTP/1.1 200 OK\r\n'
POST = b'POST /p HTTP/1.1\r\n'

STRICTER = {
    'TE twice': 'chunked has to be there once',
    'TE gzip, chunked': 'no body with a transfer coding beside chunked is undone',
    'TE in 1.0': 'RFC 9112 6.1: faulty framing',
    'TE identity': 'it is no coding any more (RFC 9112 7)',
    'TE empty item': 'an empty item may hide one',
    'TE not last': 'of responses llhttp reads up to the end of the connection',
    'TE 204': 'RFC 9112 6.1: no such field where there is no body',
    'CL 204': 'RFC 9110 8.6: no such field where there is no body',
    'CL named by Connection': 'a hop would drop it (RFC 9110 7.6.1)',
    'no Host': 'RFC 9112 3.2: 400; llhttp leaves that to the server above it',
    'two Host': 'RFC 9112 3.2: 400; as above',
    'bad Host': 'RFC 9112 3.2: 400; as above',
    'Host is not the target\'s': 'the target counts (RFC 9112 3.2.2); two readers could differ',
    'user information': 'RFC 9110 4.2.4 has it treated as an error',
    'fragment': 'no target has one (RFC 9112 3.2)',
    'no SP behind the status': 'RFC 9112 4: the SP is not optional',
    'extension without a name': 'not to the letter of RFC 9112 7.1.1',
    'trailer frames': 'RFC 9110 6.5.1 forbids what says how to read the message',
    'long chunk size': 'at most 16 digits, as many as 64 bits have',
    'unknown content coding': 'a body that nobody could read is not passed',
    'two content codings': 'as above',
    '101 not asked for': 'a protocol changes where both want it',
    # Versions 6 of llhttp alone, which are Node 18's.
    'bare LF ends a head': 'RFC 9112 2.2 allows a bare LF to be taken, and not to be',
    'bare LF in a start line': 'as above',
    'extension with a quote': 'it does not end (RFC 9112 7.1.1)',
    'no name': 'a field has a name (RFC 9112 5.1)',
    'space before a name': 'RFC 9112 2.2 has such a line refused, or the field left out',
    'two digits': 'a status has three (RFC 9112 4)',
    # All of them.
    'two spaces': 'RFC 9112 3: one SP; who reads another count reads another target',
    'version 0.9': 'a request without a version is HTTP/0.9, which has no heads',
    'version 2.0': 'only 1.0 and 1.1 are read as these',
    'damaged': 'a message that one byte makes strange may be refused',
}
# Of damaged messages by llhttp's error.
LAXER = {
    'chunked and a tab': 'white space around a value is none of it (RFC 9110 5.5); llhttp finds '
                         'no chunks then',
    '304': 'it has no body whatever its length is (RFC 9112 6.3); versions 6 of llhttp wait for one',
    'unknown method': 'llhttp has a list of methods; a token is one (RFC 9110 9.1)',
    'damaged: HPE_INVALID_METHOD': 'as above',
    'CL in pieces': 'white space around a value is none of it (RFC 9110 5.5); llhttp takes no tab',
    'damaged: HPE_INVALID_CONTENT_LENGTH': 'as above',
    'damaged: HPE_INVALID_TRANSFER_ENCODING': 'as above',
    'damaged: HPE_INVALID_URL': 'obs-text in a target; it is text to be judged like any other',
    'behind close': 'what comes behind Connection: close is framed and judged all the same; '
                    'who closes does not read it',
}


def request(lines=HOST, body=b'', start=POST):
    return start + lines + CRLF + body


def response(lines=b'', body=b'', start=OK):
    return start + lines + CRLF + body


# label, is a response, bytes. A label without an entry in the tables says that both agree.
CASES = (
    ('plain', False, request(HOST + CL, BODY)),
    ('plain', False, request(HOST + TE, CHUNKED)),
    ('plain', False, b'GET / HTTP/1.1\r\nHost: a\r\n\r\n'),
    ('plain', True, response(CL, BODY)),
    ('plain', True, response(TE, CHUNKED)),
    ('until close', True, response(b'', BODY)),
    ('CL and TE', False, request(HOST + CL + TE, CHUNKED)),
    ('CL and TE', True, response(TE + CL, CHUNKED)),
    ('two CL, the same', False, request(HOST + CL + CL, BODY)),
    ('two CL, the same', True, response(b'Content-Length: 5, 5\r\n', BODY)),
    ('two CL', False, request(HOST + CL + b'Content-Length: 6\r\n', BODY)),
    ('CL with a sign', False, request(HOST + b'Content-Length: +5\r\n', BODY)),
    ('CL with a sign', True, response(b'Content-Length: -1\r\n', BODY)),
    ('CL in hex', False, request(HOST + b'Content-Length: 0x5\r\n', BODY)),
    ('CL with a space', False, request(HOST + b'Content-Length: 5 5\r\n', BODY)),
    ('CL empty', False, request(HOST + b'Content-Length: \r\n', BODY)),
    ('CL huge', False, request(HOST + b'Content-Length: 99999999999999999999\r\n', BODY)),
    ('CL with zeros', False, request(HOST + b'Content-Length: 0005\r\n', BODY)),
    ('CL in pieces', False, request(HOST + b'Content-Length: \t 5 \t\r\n', BODY)),
    ('TE twice', False, request(HOST + TE + TE, CHUNKED)),
    ('TE twice', True, response(b'Transfer-Encoding: chunked, chunked\r\n', CHUNKED)),
    ('TE gzip, chunked', False, request(HOST + b'Transfer-Encoding: gzip, chunked\r\n', CHUNKED)),
    ('TE in 1.0', False, request(HOST + TE, CHUNKED, b'POST /p HTTP/1.0\r\n')),
    ('TE identity', True, response(b'Transfer-Encoding: identity\r\n', BODY)),
    ('TE parameters', False, request(HOST + b'Transfer-Encoding: chunked;q=1\r\n', CHUNKED)),
    ('TE empty item', False, request(HOST + b'Transfer-Encoding: , chunked\r\n', CHUNKED)),
    ('TE not last', False, request(HOST + b'Transfer-Encoding: chunked, gzip\r\n', CHUNKED)),
    ('TE not last', True, response(b'Transfer-Encoding: chunked, gzip\r\n', CHUNKED)),
    ('TE misspelt', False, request(HOST + b'Transfer-Encoding: xchunked\r\n', CHUNKED)),
    ('TE in any case', False, request(HOST + b'tRANSFER-eNCODING: ChUnKeD\r\n', CHUNKED)),
    ('TE 204', True, response(TE, b'', b'HTTP/1.1 204 No Content\r\n')),
    ('CL 204', True, response(CL, b'', b'HTTP/1.1 204 No Content\r\n')),
    ('304', True, response(CL, b'', b'HTTP/1.1 304 Not Modified\r\n')),
    ('CL named by Connection', False,
     request(HOST + CL + b'Connection: content-length\r\n', BODY)),
    ('bare LF in a start line', False, request(HOST + CL, BODY, b'POST / HTTP/1.1\n')),
    ('bare LF in a head', False, request(b'Host: a\n' + CL, BODY)),
    ('bare LF ends a head', False, b'GET / HTTP/1.1\r\nHost: a\r\n\n'),
    ('bare CR in a value', False, request(HOST + b'X: a\rb\r\n' + CL, BODY)),
    ('bare CR ends a line', False, request(b'Host: a\rX: b\r\n' + CL, BODY)),
    ('folded line', False, request(HOST + b'X: a\r\n b\r\n' + CL, BODY)),
    ('folded line', True, response(b'X: a\r\n\tb\r\n' + CL, BODY)),
    ('space before the colon', False, request(HOST + b'Content-Length : 5\r\n', BODY)),
    ('space before a name', False, request(b' Host: a\r\n' + CL, BODY)),
    ('no colon', False, request(HOST + b'nonsense\r\n' + CL, BODY)),
    ('no name', False, request(HOST + b': x\r\n' + CL, BODY)),
    ('name is no token', False, request(HOST + b'X(: x\r\n' + CL, BODY)),
    ('value with a NUL', False, request(HOST + b'X: a\0b\r\n' + CL, BODY)),
    ('value with obs-text', False, request(HOST + b'X: \xe9\xff\r\n' + CL, BODY)),
    ('value with a DEL', False, request(HOST + b'X: a\x7fb\r\n' + CL, BODY)),
    ('empty value', False, request(HOST + b'X:\r\n' + CL, BODY)),
    ('no Host', False, request(CL, BODY)),
    ('two Host', False, request(HOST + HOST + CL, BODY)),
    ('bad Host', False, request(b'Host: a b\r\n' + CL, BODY)),
    ('Host is not the target\'s', False, request(HOST + CL, BODY, b'POST http://b/ HTTP/1.1\r\n')),
    ('whole target', False, request(HOST + CL, BODY, b'POST http://a/x?y HTTP/1.1\r\n')),
    ('user information', False, request(HOST + CL, BODY, b'POST http://u@a/ HTTP/1.1\r\n')),
    ('fragment', False, request(HOST + CL, BODY, b'POST /a#b HTTP/1.1\r\n')),
    ('method in lower case', False, request(HOST, b'', b'head / HTTP/1.1\r\n')),
    ('unknown method', False, request(HOST + CL, BODY, b'QUERYING / HTTP/1.1\r\n')),
    ('method is no token', False, request(HOST + CL, BODY, b'P(ST / HTTP/1.1\r\n')),
    ('version 2.0', False, request(HOST + CL, BODY, b'POST / HTTP/2.0\r\n')),
    ('version 1.2', False, request(HOST + CL, BODY, b'POST / HTTP/1.2\r\n')),
    ('version 0.9', False, b'GET /\r\n\r\n'),
    ('version in lower case', False, request(HOST + CL, BODY, b'POST / http/1.1\r\n')),
    ('two spaces', False, request(HOST + CL, BODY, b'POST  / HTTP/1.1\r\n')),
    ('space behind the version', False, request(HOST + CL, BODY, b'POST / HTTP/1.1 \r\n')),
    ('tab in the start line', False, request(HOST + CL, BODY, b'POST\t/ HTTP/1.1\r\n')),
    ('no SP behind the status', True, response(CL, BODY, b'HTTP/1.1 200\r\n')),
    ('no reason', True, response(CL, BODY, b'HTTP/1.1 200 \r\n')),
    ('four digits', True, response(CL, BODY, b'HTTP/1.1 2000 OK\r\n')),
    ('two digits', True, response(CL, BODY, b'HTTP/1.1 20 OK\r\n')),
    ('interim', True, b'HTTP/1.1 100 Continue\r\n\r\n' + response(CL, BODY)),
    ('interim', True, b'HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n' + response(CL, BODY)),
    ('101 not asked for', True,
     response(b'Connection: upgrade\r\nUpgrade: x\r\n', b'', b'HTTP/1.1 101 S\r\n')),
    ('chunk in capitals', False, request(HOST + TE, b'0A\r\n0123456789\r\n0\r\n\r\n')),
    ('chunk with zeros', False, request(HOST + TE, b'0005\r\nhello\r\n000\r\n\r\n')),
    ('long chunk size', False, request(HOST + TE, b'0' * 20 + b'5\r\nhello\r\n0\r\n\r\n')),
    ('huge chunk size', False, request(HOST + TE, b'f' * 17 + b'\r\nhello\r\n0\r\n\r\n')),
    ('chunk with a sign', False, request(HOST + TE, b'+5\r\nhello\r\n0\r\n\r\n')),
    ('chunk with 0x', False, request(HOST + TE, b'0x5\r\nhello\r\n0\r\n\r\n')),
    ('chunk with a space', False, request(HOST + TE, b'5 \r\nhello\r\n0\r\n\r\n')),
    ('chunk without a size', False, request(HOST + TE, b'\r\nhello\r\n0\r\n\r\n')),
    ('chunk too short', False, request(HOST + TE, b'4\r\nhello\r\n0\r\n\r\n')),
    ('chunk too long', False, request(HOST + TE, b'6\r\nhello\r\n0\r\n\r\n')),
    ('chunk ends in LF', False, request(HOST + TE, b'5\r\nhello\n0\r\n\r\n')),
    ('size ends in LF', False, request(HOST + TE, b'5\nhello\r\n0\r\n\r\n')),
    ('size ends in CR', False, request(HOST + TE, b'5\rhello\r\n0\r\n\r\n')),
    ('extension', False, request(HOST + TE, b'5;a=b;c="d;e"\r\nhello\r\n0;x\r\n\r\n')),
    ('extension with spaces', False, request(HOST + TE, b'5 ; a = b\r\nhello\r\n0\r\n\r\n')),
    ('extension without a name', False, request(HOST + TE, b'5;\r\nhello\r\n0\r\n\r\n')),
    ('extension with a quote', False, request(HOST + TE, b'5;a="b\r\nhello\r\n0\r\n\r\n')),
    ('extension with LF', False, request(HOST + TE, b'5;a\nhello\r\n0\r\n\r\n')),
    ('trailer', False, request(HOST + TE, b'5\r\nhello\r\n0\r\nX: y\r\n\r\n')),
    ('trailer frames', False, request(HOST + TE, b'5\r\nhello\r\n0\r\nContent-Length: 3\r\n\r\n')),
    ('trailer ends in LF', False, request(HOST + TE, b'5\r\nhello\r\n0\r\nX: y\n\r\n')),
    ('no last chunk', False, request(HOST + TE, b'5\r\nhello\r\n')),
    ('no end of trailers', False, request(HOST + TE, b'5\r\nhello\r\n0\r\n')),
    ('body cut', False, request(HOST + CL, b'hell')),
    ('body cut', True, response(CL, b'hell')),
    ('head cut', False, b'GET / HTTP/1.1\r\nHost: a\r\n'),
    ('empty lines first', False, b'\r\n\r\n' + request(HOST + CL, BODY)),
    ('two requests', False, request(HOST + CL, BODY) + request(HOST + TE, CHUNKED)),
    ('behind close', False,
     request(HOST + b'Connection: close\r\n' + CL, BODY) + request(HOST + CL, BODY)),
    ('behind close', True, response(b'Connection: close\r\n' + CL, BODY) + response(CL, BODY)),
    ('unknown content coding', True, response(b'Content-Encoding: x\r\n' + CL, BODY)),
    ('two content codings', True, response(b'Content-Encoding: gzip, br\r\n' + CL, BODY)),
)


def vary(random, data):
    """The same in another shape: fields that say nothing, at some place between lines."""
    if random.random() < .3:
        return data
    head, end, body = data.partition(b'\r\n\r\n')
    lines = head.split(CRLF)
    if not end or len(lines) < 2 or b'' in lines:
        return data
    field = b'X-%d: %s' % (random.randrange(99), bytes(random.choices(b'abc ,;="\t', k=6)) + b'z')
    lines.insert(random.randrange(1, len(lines) + 1), field)
    if lines[-1] == field and lines[-2][:1] in (b' ', b'\t'):
        return data
    return CRLF.join(lines) + end + body


def damage(random):
    """A good message, or several, and a byte of them changed, left out or put in."""
    side = random.random() < .5
    good = [data for label, response_side, data in CASES
            if response_side == side and label in ('plain', 'extension', 'trailer', 'interim')]
    data = bytearray(b''.join(random.choice(good) for _ in range(random.randrange(1, 3))))
    at = random.randrange(len(data))
    byte = random.choice(b'\r\n\t :;,0159aZ"{}%+\\\0\x7f\x80\xff')
    kind = random.randrange(3)
    if kind == 0:
        data[at] = byte
    elif kind == 1:
        del data[at]
    else:
        data.insert(at, byte)
    return 'damaged', side, bytes(data)


def make():
    random = outside.generator()
    for label, side, data in CASES:
        for round_number in range(ROUNDS):
            yield label, side, vary(random, data) if round_number else data
    for _ in range(DAMAGED):
        yield damage(random)


def ask_node(inputs):
    text = ''.join(json.dumps({'id': number, 'response': side, 'methods': ['GET'] * 4,
                               'hex': data.hex()}) + '\n'
                   for number, (_, side, data) in enumerate(inputs))
    run = subprocess.run(['node', '--no-deprecation', LLHTTP], input=text, capture_output=True,
                         text=True, timeout=60, check=False)
    if run.returncode:
        sys.exit('node ended with status %d: %s' % (run.returncode, run.stderr[-400:]))
    return [json.loads(line) for line in run.stdout.splitlines()]


def ask_sluice(inputs):
    return outside.ask([{
        'id': str(number), 'kind': 'outside', 'framing': 'http1',
        'options': {'http': 'response' if side else 'request', 'requests': ['GET'] * 4,
                    'eof': True},
        'chunks_hex': [data.hex()]} for number, (_, side, data) in enumerate(inputs)])


def has_tab_behind(data):
    """Where llhttp of a response reads no chunks, but up to the end of the connection."""
    return b'chunked\t' in data or b'\tchunked' in data


def same_messages(ours, theirs):
    """Bodies of whole messages, as far as both tell of them."""
    bodies = [message['hex'] for message in theirs['messages']]
    count = min(len(bodies), len(ours['messages_hex']))
    return bodies[:count] == ours['messages_hex'][:count]


def is_refused(ours):
    """Not where all that is wrong is that fewer responses came than were asked for."""
    return ours['error'] is not None and not (
        ours['error'] == 'truncated' and not ours['residue_bytes'] and ours['starts'])


def compare_llhttp(inputs, sluice):
    comparison = outside.Comparison('HTTP/1 beside llhttp', {**STRICTER, **LAXER})
    for (label, _, data), ours, theirs in zip(inputs, sluice, ask_node(inputs)):
        shown = '%r: %s %s, llhttp %s %s' % (data, ours['error'], ours['messages_hex'],
                                             theirs['error'], theirs['messages'])
        refused, they_refused = is_refused(ours), theirs['error'] is not None
        if not same_messages(ours, theirs):
            comparison.differ('chunked and a tab' if has_tab_behind(data) else 'another body',
                              shown)
        elif refused == they_refused:
            if not refused and len(ours['messages_hex']) != len(theirs['messages']):
                comparison.differ(label if label == 'behind close'
                                  else 'another count of messages', shown)
            else:
                comparison.agree('refused' if refused else 'taken')
        elif refused:
            comparison.differ(label if label in STRICTER else 'stricter: ' + label, shown)
        else:
            if label == 'damaged':
                label += ': ' + theirs['error']
            comparison.differ(label if label in LAXER else 'laxer: ' + label, shown)
    return comparison


class Wire(io.BytesIO):
    """What http.client takes for a connection."""

    def makefile(self, *_):
        return self


def read_response(data):
    """The body of the first final response, and how much is left; None: refused."""
    wire = Wire(data)
    answer = http.client.HTTPResponse(wire, method='GET')
    try:
        answer.begin()
        # Without closing what it reads from.
        wire.close = lambda: None
        body = answer.read()
    except (http.client.HTTPException, ValueError, OSError):
        return None
    return body.hex()


def compare_http_client(inputs, sluice):
    """http.client takes nearly anything: what the core takes it reads alike."""
    comparison = outside.Comparison('HTTP/1 responses beside http.client', {})
    for (_, side, data), ours in zip(inputs, sluice):
        statuses = [start.split(' ')[1] if start else None for start in ours['starts']]
        # Of interim responses http.client knows 100 alone; a start that is no UTF-8 has no text.
        if not side or is_refused(ours) or not ours['messages_hex'] or None in statuses or \
                any(status.startswith('1') and status != '100' for status in statuses):
            continue
        final = [body for status, body in zip(statuses, ours['messages_hex']) if status != '100']
        theirs = read_response(data)
        if final and final[0] == theirs:
            comparison.agree('taken')
        else:
            comparison.differ('another body', '%r: %s, http.client %s' % (data, final, theirs))
    return comparison


def main():
    if not shutil.which('node'):
        outside.skip('node is not installed')
    inputs = list(make())
    sluice = ask_sluice(inputs)
    return outside.report([compare_llhttp(inputs, sluice), compare_http_client(inputs, sluice)],
                          200)


if __name__ == '__main__':
    sys.exit(main())
