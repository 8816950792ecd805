#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is not a message of HTTP that everybody reads alike is refused before anything of
it leaves; secrets are found wherever a message has room for them; TLS, tunnels and other
protocols do not pass unread."""
import json
import os
import time

import peers
from http_bench import KEY, POLICY, TERM, Curl, Raw, answers, refused, request
from sluice_test import main
from waiting import check, equal, wait_for

BODY = b'{"model": "m", "messages": []}'
HOST = b'Host: test\r\n'
JSON = b'Content-Type: application/json\r\n'
PERCENT = KEY.replace('-', '%2D').replace('k', '%6b')
# A second request in the body of the first, for those who read another length.
INNER = b'GET /smuggled HTTP/1.1\r\nHost: test\r\n\r\n'


def post(fields, body=BODY, line=b'POST /v1/chat/completions HTTP/1.1'):
    return line + b'\r\n' + HOST + JSON + fields + b'\r\n' + body


def chunked(body, fields=b''):
    return post(b'Transfer-Encoding: chunked\r\n' + fields, body)


LENGTH = b'Content-Length: %d\r\n' % len(BODY)
SHAPES = {
    'ambiguous_length': [
        post(LENGTH + b'Transfer-Encoding: chunked\r\n', b'0\r\n\r\n' + INNER),
        post(b'Transfer-Encoding: chunked\r\n' + LENGTH, b'0\r\n\r\n' + INNER),
        post(b'Content-Length: 0\r\n' + LENGTH, INNER),
        post(LENGTH + LENGTH),
        post(b'Content-Length: 5, 5\r\n', b'aaaaa' + INNER),
        post(b'Content-Length: +30\r\n'),
        post(b'Content-Length: 0x1e\r\n'),
        post(b'Content-Length: 3 0\r\n'),
        post(b'Content-Length: -1\r\n'),
        post(b'Content-Length: 18446744073709551646\r\n'),
        post(b'Transfer-Encoding: chunked, identity\r\n', b'0\r\n\r\n' + INNER),
        post(b'Transfer-Encoding: xchunked\r\n', b'0\r\n\r\n' + INNER),
        post(b'Transfer-Encoding: identity\r\n', INNER),
        post(b'Transfer-Encoding: chunked\r\n', b'0\r\n\r\n' + INNER,
             b'POST / HTTP/1.0'),
    ],
    'bad_header': [
        post(b'Transfer-Encoding : chunked\r\n', b'0\r\n\r\n' + INNER),
        post(b'Transfer-Encoding:\r\n chunked\r\n', b'0\r\n\r\n' + INNER),
        post(b'X: a\rTransfer-Encoding: chunked\r\n' + LENGTH),
        post(b'X: a\x00b\r\n' + LENGTH),
        post(b': empty\r\n' + LENGTH),
        post(b'no colon\r\n' + LENGTH),
        post(b'Host: other\r\n' + LENGTH),
        b'GET / HTTP/1.1\r\n\r\n',
        b'GET  / HTTP/1.1\r\n' + HOST + b'\r\n',
        b'GET / x HTTP/1.1\r\n' + HOST + b'\r\n',
        b'GET /\r\n\r\n',
        b'G\x00T / HTTP/1.1\r\n' + HOST + b'\r\n',
    ],
    'bare_lf': [
        b'GET / HTTP/1.1\n' + HOST + b'\r\n',
        post(b'X: a\nTransfer-Encoding: chunked\r\n' + LENGTH),
        post(LENGTH).replace(b'\r\n\r\n', b'\r\n\n'),
        chunked(b'1e\n' + BODY + b'\r\n0\r\n\r\n'),
    ],
    'bad_frame': [
        chunked(b'0x1e\r\n' + BODY + b'\r\n0\r\n\r\n'),
        chunked(b'-1\r\n' + BODY + b'\r\n0\r\n\r\n'),
        chunked(b'\r\n' + BODY + b'\r\n0\r\n\r\n'),
        chunked(b'1e' + BODY + b'\r\n0\r\n\r\n'),
        chunked(b'1d\r\n' + BODY + b'\r\n0\r\n\r\n'),
        chunked(b'1000000000000001e\r\n' + BODY + b'\r\n0\r\n\r\n'),
    ],
    'unsupported_coding': [
        post(b'Transfer-Encoding: gzip, chunked\r\n', b'0\r\n\r\n' + INNER),
        post(b'Content-Encoding: compress\r\n' + LENGTH),
    ],
    'protocol': [
        b'GET / HTTP/1.2\r\n' + HOST + b'\r\n',
        b'GET / HTTP/2.0\r\n' + HOST + b'\r\n',
        b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    ],
    'too_large': [
        post(b'X: ' + b'a' * 70000 + b'\r\n' + LENGTH),
        chunked(b'1e;' + b'a' * 70000 + b'\r\n' + BODY + b'\r\n0\r\n\r\n'),
    ],
}


def reasons(run):
    """{reason: count} of a run's summary."""
    listed = run.split('; reasons: ')[1].split('\n')[0] if '; reasons: ' in run else ''
    return {row.split()[0]: int(row.split()[1]) for row in listed.split(', ') if row}


def smuggled(bench):
    """requests that two readers would read differently: not a byte reaches the server"""
    server = bench.server()
    raw = Raw(bench, bench.daemon(POLICY))
    shapes = [[shape] for group in SHAPES.values() for shape in group]
    got, run = raw.talk(server.port, shapes, wait=3)
    for (data, end), [shape] in zip(got, shapes):
        check(end != 'open', 'it is still open: %r', shape[:200])
        check(answers(data) in ([], [403]), '%r answered %r', data, shape[:200])
    equal([bytes(c.data) for c in server.connections], [b''] * len(server.connections),
          'what reached the server')
    equal(reasons(run), {reason: len(group) for reason, group in SHAPES.items()}, 'the reasons')


def smuggled_behind_a_request(bench):
    """the same behind a good request, in one write: the good one is all that arrives"""
    good = request('/good')
    server = bench.server()
    raw = Raw(bench, bench.daemon(POLICY))
    shapes = [[good + shape] for group in SHAPES.values() for shape in group]
    got, run = raw.talk(server.port, shapes, wait=3)
    for (data, end), [shape] in zip(got, shapes):
        equal((data, end), (b'', 'reset'), 'the end after %r' % shape[len(good):200])
    arrived = [bytes(c.data) for c in server.connections]
    equal(len(arrived), len(shapes), 'connections')
    for data in arrived:
        check(data in (b'', good), 'it arrived: %r', data)
    equal(sum(reasons(run).values()), len(shapes), 'the reasons in %s' % run)


OK = b'HTTP/1.1 200 OK\r\n'
DOCUMENT = b'{"answer": "fine"}'
SIZE = b'Content-Length: %d\r\n' % len(DOCUMENT)
SPLIT = {
    'ambiguous_length': [
        OK + JSON + SIZE + b'Transfer-Encoding: chunked\r\n\r\n' + DOCUMENT,
        OK + JSON + SIZE + b'Content-Length: 0\r\n\r\n' + DOCUMENT,
        b'HTTP/1.0 200 OK\r\n' + JSON + b'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    'bad_header': [
        OK + b'X: a\r\n folded\r\n' + JSON + SIZE + b'\r\n' + DOCUMENT,
        OK + b'X : a\r\n' + JSON + SIZE + b'\r\n' + DOCUMENT,
        b'HTTP/1.1 2000 OK\r\n' + SIZE + b'\r\n' + DOCUMENT,
        b'HTTP/1.1 OK\r\n' + SIZE + b'\r\n' + DOCUMENT,
        b'SSH-2.0-OpenSSH_9.2\r\n\r\n',
    ],
    'bare_lf': [
        OK + b'X: a\n\nHTTP/1.1 200 OK\r\n' + JSON + SIZE + b'\r\n' + DOCUMENT,
    ],
    'unsupported_coding': [
        OK + JSON + b'Content-Encoding: dcz\r\n' + SIZE + b'\r\n' + DOCUMENT,
        OK + JSON + b'Content-Encoding: gzip, br\r\n' + SIZE + b'\r\n' + DOCUMENT,
    ],
    'bad_json': [
        OK + JSON + SIZE + b'\r\n' + DOCUMENT[:-1] + b'x',
    ],
    'bad_utf8': [
        OK + JSON + SIZE + b'\r\n' + DOCUMENT.replace(b'f', b'\xff'),
        OK + b'X: \xff\r\n' + JSON + SIZE + b'\r\n' + DOCUMENT,
    ],
}


def each_answers(bench, told):
    """A server that gives each connection the next of these answers to its first bytes."""
    def tell(connection):
        connection.take(connection.sock.recv(65536))
        connection.sock.sendall(told[server.connections.index(connection)])
        connection.read_all()

    server = bench.server(tell)
    return server


def malformed_answers(bench):
    """answers that two readers would read differently: a 403 instead, and not a byte of them"""
    told = [answer for group in SPLIT.values() for answer in group]
    server = each_answers(bench, told)
    raw = Raw(bench, bench.daemon(POLICY))
    got, run = raw.talk(server.port, [[request('/')]] * len(told), wait=3)
    names = [reason for reason, group in SPLIT.items() for _ in group]
    for (data, _), reason in zip(got, names):
        refused(data, reason)
    equal(reasons(run), {reason: len(group) for reason, group in SPLIT.items()}, 'the reasons')


def split_answers(bench):
    """an answer that nobody asked for, behind the one that was: it does not arrive"""
    good = OK + JSON + SIZE + b'\r\n' + DOCUMENT
    server = each_answers(bench, [good + good, good + b'junk', good + OK[:9]])
    raw = Raw(bench, bench.daemon(POLICY))
    got, run = raw.talk(server.port, [[request('/')]] * 3, wait=3)
    equal(got, [(good, 'reset')] * 3, 'what arrived')
    equal(sum(reasons(run).values()), 3, 'reasons: %s' % run)


def secrets_of_a_request(bench):
    """a secret in the target, a field, a form, a chunk's extension, a trailer, in disguise"""
    form = 'Content-Type: application/x-www-form-urlencoded'
    text = 'Content-Type: text/plain'
    parts = KEY.encode()[:5], KEY.encode()[5:]
    chunk = b'%x\r\n%s\r\n'
    told = {
        'target': [request('/find?q=' + KEY)],
        'percent-encoded target': [request('/find?q=' + PERCENT)],
        'path': [request('/' + PERCENT + '/x')],
        'field': [request('/', fields=['X-Note: my ' + KEY])],
        'field name': [request('/', fields=[KEY + ': x'])],
        'capitals': [request('/', fields=['Cookie: a=' + KEY.upper()])],
        'form': [request('/', b'a=1&key=' + PERCENT.encode(), fields=[form])],
        'form in plain': [request('/', b'a=1&key=' + KEY.encode(), fields=[form])],
        'text': [request('/', b'so ' + KEY.encode(), fields=[text])],
        'JSON as text': [request('/', b'{"a": "sk\\u002dlive-4711"}', fields=[text])],
        'escapes': [request('/', b'{"messages": [{"content": "sk\\u002dlive-4711"}]}')],
        'name': [request('/', b'{"%s": 1}' % KEY.encode())],
        'system': [request('/', json.dumps({'system': KEY}).encode())],
        'tools': [request('/', json.dumps({'tools': [{'function': {
            'name': 'f', 'description': 'use ' + KEY}}]}).encode())],
        'two chunks': [request('/', b''.join(chunk % (len(p), p) for p in (
            b'{"a": "' + parts[0], parts[1] + b'"}')) + b'0\r\n\r\n',
            fields=['Transfer-Encoding: chunked'])],
        'two writes': [request('/', b'{"a": "%s"}' % KEY.encode())[:-6], b'4711"}'],
        'extension': [request('/', b'2;x=%s\r\n{}\r\n0\r\n\r\n' % KEY.encode(),
                              fields=['Transfer-Encoding: chunked'])],
        'quoted extension': [request('/', b'2;x="%s"\r\n{}\r\n0\r\n\r\n' % KEY.encode(),
                                     fields=['Transfer-Encoding: chunked'])],
        'trailer': [request('/', b'2\r\n{}\r\n0\r\nX-Sum: %s\r\n\r\n' % KEY.encode(),
                            fields=['Transfer-Encoding: chunked'])],
        'multipart': [request('/', b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n%s\r\n'
                              b'--b--\r\n' % KEY.encode(),
                              fields=['Content-Type: multipart/form-data; boundary=b'])],
    }
    server = bench.server()
    got, run = Raw(bench, bench.daemon(POLICY)).talk(server.port, list(told.values()), wait=3)
    for (data, end), name in zip(got, told):
        check(answers(data) == [403] and end == 'eof', '%s: %r, %s', name, data, end)
        refused(data, 'keys')
    equal(reasons(run), {'denied:keys': len(told)}, 'the reasons')
    equal([bytes(c.data) for c in server.connections], [b''] * len(server.connections),
          'what reached the server')


def secrets_of_an_answer(bench):
    """a refused word in an answer's head, comments, ids, names, extensions and trailers"""
    term = TERM.encode()
    stream = OK + b'Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n'
    event = b'data: {"choices": [{"index": 0, "delta": {"content": "fine"}}]}\n\n'
    first = b'%x\r\n%s\r\n' % (len(event), event)

    def then(text):
        return stream + b'\r\n' + first + b'%x\r\n%s\r\n0\r\n\r\n' % (len(text), text)

    heads = {
        'reason phrase': b'HTTP/1.1 200 %s\r\n' % term + SIZE + b'\r\n' + DOCUMENT,
        'field': OK + b'X-A: so %s\r\n' % term + SIZE + b'\r\n' + DOCUMENT,
        'field of a stream': stream + b'X-A: %s\r\n\r\n' % term + first,
        'interim': b'HTTP/1.1 103 Early Hints\r\nLink: <%s>\r\n\r\n' % term + OK + SIZE + b'\r\n'
                   + DOCUMENT,
        'document': OK + JSON + SIZE + b'\r\n' + DOCUMENT.replace(b'fine', term)[:len(DOCUMENT)],
    }
    heads['document'] = OK + JSON + b'Content-Length: 24\r\n\r\n{"answer": "%s"}\r\n' % term
    bodies = {
        'comment': then(b': %s\n\n' % term),
        'id': then(b'id: %s\n' % term + event),
        'event': then(b'event: %s\n' % term + event),
        'unknown field': then(b'%s: x\n' % term + event),
        'lines of data': then(b'data: {"a":\ndata: "%s"}\n\n' % term),
        'unknown member': then(b'data: {"other": {"x": ["%s"]}}\n\n' % term),
        'log probabilities': then(event[:-5] + b', "logprobs": {"content": [{"token": "%s"}]}'
                                  b'}]}\n\n' % term),
        'extension': stream + b'\r\n' + first + first.replace(b'\r\n', b';x=%s\r\n' % term, 1),
        'trailer': stream + b'\r\n' + first + b'0\r\nX-A: %s\r\n\r\n' % term,
    }
    told = [*heads.values(), *bodies.values()]
    server = each_answers(bench, told)
    got, run = Raw(bench, bench.daemon(POLICY)).talk(server.port, [[request('/')]] * len(told),
                                                     wait=3)
    for (data, _), name in zip(got, heads):
        check(answers(data) == [403], '%s: %r', name, data)
    for (data, end), name in zip(got[len(heads):], bodies):
        check(data.startswith(stream + b'\r\n' + first[:-2]), '%s: no clean event came: %r',
              name, data)
        check(b'event: error' in data and not data.endswith(b'0\r\n\r\n'),
              '%s: it looks whole: %r', name, data)
        check(term not in data, '%s: it arrived: %r', name, data)
        equal(end, 'eof', '%s: the end' % name)
    expected = {'denied:words': len(told)}
    equal(reasons(run), expected, 'the reasons')


def every_cut(bench):
    """a secret of a request and a word of an answer, cut at every byte: neither arrives"""
    bad = request('/', b'{"a": "%s"}' % KEY.encode())
    first = bad.index(b'Content-Length') + 10
    clean = b'data: {"choices": [{"index": 0, "delta": {"content": "fine"}}]}\n\n'
    event = clean.replace(b'fine', TERM.encode())
    told = OK + b'Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n' \
        b'%x\r\n%s%s\r\n0\r\n\r\n' % (len(clean + event), clean, event)
    cuts = range(told.index(clean) + len(clean) - 3, len(told) - 8)

    def tell(connection):
        connection.take(connection.sock.recv(65536))
        cut = cuts[telling.connections.index(connection)]
        connection.sock.setsockopt(peers.socket.IPPROTO_TCP, peers.socket.TCP_NODELAY, 1)
        connection.sock.sendall(told[:cut])
        time.sleep(0.02)
        connection.sock.sendall(told[cut:])
        connection.read_all()

    server, telling = bench.server(), bench.server(tell)
    raw = Raw(bench, bench.daemon(POLICY))
    got, run = raw.talk(server.port, [[bad[:at], bad[at:]] for at in range(first, len(bad))],
                        wait=3)
    for data, _ in got:
        refused(data, 'keys')
    equal([bytes(c.data) for c in server.connections], [b''] * len(server.connections),
          'what reached the server')
    equal(reasons(run), {'denied:keys': len(got)}, 'the reasons')
    got, run = raw.talk(telling.port, [[request('/')]] * len(cuts), wait=3)
    for (data, end), cut in zip(got, cuts):
        check(data.startswith(told[:told.index(event)]), 'cut at %d: %r', cut, data)
        check(TERM[:5].encode() not in data and b'event: error' in data, 'cut at %d: %r', cut, data)
        equal(end, 'eof', 'the end, cut at %d' % cut)
    equal(reasons(run), {'denied:words': len(got)}, 'the reasons')


def encrypted(bench):
    """TLS to where it is not mediated: refused by name, with the rule that would pass it"""
    server = bench.server()
    daemon = bench.daemon(POLICY)
    got = Curl(bench, daemon, POLICY).ask({'url': 'https://127.0.0.1:%d/' % server.port,
                                           'method': 'GET'})
    equal(got.code, 35, 'the exit status of curl: %s' % got)
    check('tls_unmediated 1' in got.run, 'the summary does not say tls_unmediated: %s', got.run)
    equal([bytes(c.data) for c in server.connections], [b''] * len(server.connections),
          'what reached the server')
    log = daemon.read_log()
    check('match: "127.0.0.1:%d", action: pass' % server.port in log,
          'the log does not say how to pass it: %s', log)


HELLO = bytes.fromhex('160301002d0100002903035c0b') + os.urandom(33)


def tunnels(bench):
    """CONNECT: what goes through the tunnel is judged as well, and TLS in it refused"""
    established = b'HTTP/1.1 200 Connection established\r\n\r\n'
    inner = OK + JSON + SIZE + b'\r\n' + DOCUMENT

    def tell(connection):
        connection.take(connection.sock.recv(65536))
        connection.sock.sendall(established)
        connection.take(connection.sock.recv(65536))
        connection.sock.sendall(inner)
        connection.read_all()

    server = bench.server(tell)
    connect = b'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n'
    bad = request('/', fields=['X-Key: ' + KEY])
    raw = Raw(bench, bench.daemon(POLICY))
    got, run = raw.talk(server.port, [[connect, b'', request('/')], [connect, b'', bad],
                                      [connect, b'', HELLO]], wait=2)
    equal(got[0], (established + inner, 'open'), 'what came through a tunnel; %s' % run)
    check(got[1][0].startswith(established), 'no tunnel: %r', got[1])
    equal(got[2][0], established, 'what came back to TLS')
    equal([bytes(server.ended(n).data) for n in range(3)],
          [connect + request('/'), connect, connect], 'what reached the server')
    equal({name: count for name, count in reasons(run).items() if name in (
        'denied:keys', 'tls_unmediated')}, {'denied:keys': 1, 'tls_unmediated': 1}, 'the reasons')


def not_waiting_for_the_tunnel(bench):
    """bytes behind a CONNECT or an Upgrade before its answer: refused"""
    server = bench.server()
    connect = b'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n'
    upgrade = request('/', fields=['Connection: Upgrade', 'Upgrade: websocket'])
    got, run = Raw(bench, bench.daemon(POLICY)).talk(
        server.port, [[connect + HELLO], [upgrade + b'\x81\x00'], [connect + request('/')]], wait=3)
    for data, end in got:
        check(end != 'open' and answers(data) in ([], [403]), '%r, %s', data, end)
    for connection in server.connections:
        check(bytes(connection.data) in (b'', connect, upgrade), 'it arrived: %r',
              bytes(connection.data))
    equal(reasons(run), {'tls_unmediated': 1, 'protocol': 2}, 'the reasons')


def upgrades(bench):
    """a 101 to what is not WebSocket is refused before it arrives; declined, an offer passes"""
    upgrade = request('/', fields=['Connection: Upgrade', 'Upgrade: other'])
    web_socket = request('/', fields=['Connection: Upgrade', 'Upgrade: websocket, other'])
    declined = OK + JSON + SIZE + b'Connection: close\r\n\r\n' + DOCUMENT
    switched = b'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n' \
        b'\r\n\x81\x05hello'
    server = each_answers(bench, [switched, switched, declined])
    got, run = Raw(bench, bench.daemon(POLICY)).talk(
        server.port, [[upgrade], [web_socket], [upgrade]], wait=2)
    for data, _ in got[:2]:
        refused(data, 'unframed')
    equal(got[2][0], declined, 'a declined offer')
    equal(reasons(run).get('unframed'), 2, 'unframed in %s' % run)


def kept_for_nobody(bench):
    """a connection on which nothing was asked yet: the server's first word is refused"""
    server = bench.server(lambda c: (c.sock.sendall(OK + SIZE + b'\r\n' + DOCUMENT), c.read_all()))
    [(data, end)], run = Raw(bench, bench.daemon(POLICY)).talk(server.port, [[]], wait=3)
    equal((data, end), (b'', 'reset'), 'what came')
    equal(reasons(run), {'protocol': 1}, 'the reasons')
    wait_for(lambda: server.connection().end, 5, 'the end at the server')


if __name__ == '__main__':
    main([smuggled, smuggled_behind_a_request, malformed_answers, split_answers,
          secrets_of_a_request, secrets_of_an_answer, every_cut, encrypted, tunnels,
          not_waiting_for_the_tunnel, upgrades, kept_for_nobody])
