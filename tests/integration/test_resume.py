#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The retry boundary with real clients: what is broken off and goes on is judged as one
text, and a rest whose beginning nobody knows is refused before the server sees a byte.
"""
import json
import os
import re

from sluice_test import main
from waiting import check, equal, wait_for

POLICY = """\
version: 1
name: resume
framing: auto
extract: auto
response: {tasks: [words]}
tasks:
  words: {kind: terms, terms: ["forbidden"], fold: [casefold]}
"""

# A file of which the first request gets a part; the word is cut, or would be the term.
BEFORE, CUT = b'once upon a time there was a ', 3
FILES = {'/clean': BEFORE + b'fortress\n', '/term': BEFORE + b'forbidden\n'}
PARTS = {
    '/events': ['once upon', ' a for', 'tress'],
    '/events-term': ['once upon', ' a for', 'bidden', ' thing'],
}

# How both read: what came, and whether a reset ended it, as it does behind a denial.
READ = """
import http.client, json, sys
def read(answer):
    body = b''
    try:
        while piece := answer.read1(65536):
            body += piece
    except ConnectionResetError:
        return body.decode(), True
    return body.decode(), False
"""

# An event source: goes on from the last event that came, until the server has no more.
EVENT_SOURCE = READ + """
port, path, tries, last, said, statuses = int(sys.argv[1]), sys.argv[2], 6, None, [], []
if len(sys.argv) > 3:
    last = sys.argv[3]
for _ in range(tries):
    client = http.client.HTTPConnection('127.0.0.1', port, timeout=20)
    client.request('GET', path, headers={'Last-Event-ID': last} if last else {})
    answer = client.getresponse()
    statuses.append(answer.status)
    body, broken = read(answer)
    if answer.status != 200:
        said.append(body if answer.status == 403 else '')
        break
    for block in body.split('\\n\\n'):
        fields = dict(row.split(': ', 1) for row in block.splitlines() if ': ' in row)
        if fields.get('event') == 'error':
            said.append('!')
        elif 'data' in fields:
            said.append(fields['data'])
            last = fields['id']
    client.close()
    if broken or '!' in said:
        break
print(json.dumps([statuses, said]))
"""

# A client of the Responses API: creates one, and goes on behind the last number that came.
RESPONSES = READ + """
port, name, statuses, text, number, made = int(sys.argv[1]), sys.argv[2], [], '', None, None
for _ in range(6):
    client = http.client.HTTPConnection('127.0.0.1', port, timeout=20)
    if made is None:
        client.request('POST', '/v1/responses', json.dumps({'model': name, 'stream': True}),
                       {'Content-Type': 'application/json'})
    else:
        client.request('GET', '/v1/responses/%s?stream=true&starting_after=%d' % (made, number))
    answer = client.getresponse()
    statuses.append(answer.status)
    body, broken = read(answer)
    if answer.status != 200:
        break
    for row in body.splitlines():
        event = json.loads(row[6:]) if row.startswith('data: {') else {}
        if 'sequence_number' not in event:
            continue
        number = event['sequence_number']
        made = event.get('response', {}).get('id', made)
        text += event.get('delta', '')
    client.close()
    if broken:
        break
print(json.dumps([statuses, text]))
"""


def answer(kind, body, *fields, status='200 OK'):
    """A response that ends with its connection, as that of a server which breaks off does."""
    head = ['HTTP/1.1 ' + status, 'Content-Type: ' + kind, 'Connection: close', *fields]
    return ('\r\n'.join(head) + '\r\n\r\n').encode() + body


def serve_file(path, fields):
    whole, tag = FILES[path], 'ETag: "%s"' % path
    asked = re.fullmatch(r'bytes=(\d+)-', fields.get('range', ''))
    if not asked:
        return answer('text/plain', whole[:len(BEFORE) + CUT], tag, 'Accept-Ranges: bytes')
    start = int(asked[1])
    return answer('text/plain', whole[start:], tag, 'Content-Range: bytes %d-%d/%d' % (
        start, len(whole) - 1, len(whole)), status='206 Partial Content')


def serve_events(path, fields):
    parts, at = PARTS[path], int(fields.get('last-event-id', '0'))
    if at == len(parts):
        return b'HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n'
    return answer('text/event-stream', b''.join(
        b'id: %d\ndata: %s\n\n' % (n + 1, parts[n].encode())
        for n in range(at, min(at + 2, len(parts)))))


def serve_response(path, request):
    """Two deltas for each request: one breaks off in the middle of a word."""
    asked = re.search(r'/v1/responses/(resp-\w+)\?stream=true&starting_after=(\d+)', path)
    name = asked[1] if asked else 'resp-' + json.loads(request.split('\r\n\r\n')[1])['model']
    deltas = PARTS['/events-term' if name.endswith('term') else '/events']
    events = [{'type': 'response.created', 'response': {'id': name, 'status': 'in_progress'}}]
    events += [{'type': 'response.output_text.delta', 'delta': delta, 'output_index': 0,
                'content_index': 0, 'item_id': 'm'} for delta in deltas]
    events.append({'type': 'response.completed', 'response': {'id': name}})
    first = int(asked[2]) + 1 if asked else 0
    if first == len(events):
        return answer('application/json', b'{}', status='404 Not Found')
    return answer('text/event-stream', b''.join(
        b'data: %s\n\n' % json.dumps({**event, 'sequence_number': first + n}).encode()
        for n, event in enumerate(events[first:first + 3 - bool(asked)])))


def part(body, span, *fields, status='206 Partial Content'):
    return answer('text/plain', body, 'Content-Range: ' + span, *fields, status=status)


def read_head(connection):
    """False: there was none."""
    while b'\r\n\r\n' not in connection.data:
        piece = connection.sock.recv(65536)
        if not piece:
            return False
        connection.take(piece)
    return True


def serve(connection):
    if not read_head(connection):
        return
    request = connection.data.decode()
    length = re.search(r'(?i)content-length: *(\d+)', request)
    while length and len(request.split('\r\n\r\n', 1)[1]) < int(length[1]):
        connection.take(connection.sock.recv(65536))
        request = connection.data.decode()
    path = request.split(' ', 2)[1]
    fields = {row.split(':', 1)[0].lower(): row.split(':', 1)[1].strip()
              for row in request.split('\r\n\r\n')[0].splitlines()[1:]}
    if path in FILES:
        data = serve_file(path, fields)
    else:
        data = serve_events(path, fields) if path in PARTS else serve_response(path, request)
    connection.sock.sendall(data)


def set_up(bench):
    bench.out = os.path.join(bench.folder, 'out')
    os.mkdir(bench.out)
    os.chmod(bench.out, 0o777)
    return bench.server(serve), bench.daemon(POLICY)


def curl(bench, daemon, server, path, *options):
    """What curl fetched into the file so far, its exit status, and what it said."""
    to = os.path.join(bench.out, path.strip('/'))
    done = bench.run(daemon.run_command(
        ['curl', '-sS', '-f', '-m', '20', *options, '-o', to,
         'http://127.0.0.1:%d%s' % (server.port, path)]))
    with open(to, 'rb') as file:
        return file.read(), done.returncode, done.stderr.decode()


def asked(server, number):
    server.ended(number)
    return bytes(server.connections[number].data)


def file_broken_off(bench):
    """curl -C - goes on with a file; where the term is cut in two it gets no more"""
    server, daemon = set_up(bench)
    for number, path in enumerate(('/clean', '/term')):
        begun = FILES[path][:len(BEFORE) + CUT]
        equal(curl(bench, daemon, server, path)[0], begun, 'the part that came first')
        got, status, said = curl(bench, daemon, server, path, '-C', '-')
        check(b'Range: bytes=%d-' % len(begun) in asked(server, 2 * number + 1),
              'the server was not asked for the rest')
        if path == '/clean':
            equal((got, status), (FILES[path], 0), 'the file: %s' % said)
        else:
            equal(got, begun, 'what came of the term')
            check(status != 0 and '403' in said, 'curl ended with %d: %s', status, said)
    equal(daemon.status()['reasons'].get('denied:words'), 1, 'denials')


def no_tail(bench):
    """the rest of what nobody knows is refused, and the server sees not a byte"""
    server, daemon = set_up(bench)
    curl(bench, daemon, server, '/clean')
    for fields in (['-r', '31-'], ['-r', '33-'], ['-r', '-5'], ['-r', '0-1,5-'],
                   ['-H', 'Last-Event-ID: 7'],
                   ['-H', 'Range: bytes=32-', '-H', 'If-Range: "other"']):
        number = len(server.connections)
        _, status, said = curl(bench, daemon, server, '/clean', *fields)
        check(status == 22 and '403' in said, '%s: curl ended with %d: %s', fields, status, said)
        for connection in server.connections[number:]:
            wait_for(lambda c=connection: c.end, 10, 'the end of the refused connection')
            equal(bytes(connection.data), b'', '%s: what the server saw' % fields)
    equal(daemon.status()['reasons'].get('resume_refused'), 6, 'refusals')
    problem = daemon.agent(EVENT_SOURCE, server.port, '/events', '1')
    check(b'resume_refused' in problem.stdout, 'the answer does not say why: %s', problem.stdout)


def restart(bench):
    """after a restart nothing is known any more: the rest is refused"""
    server, daemon = set_up(bench)
    begun, status, said = curl(bench, daemon, server, '/term')
    equal((begun, status), (FILES['/term'][:len(BEFORE) + CUT], 0), 'the first part: %s' % said)
    daemon.stop()
    daemon.start()
    got, status, said = curl(bench, daemon, server, '/term', '-C', '-')
    equal((got, status), (begun, 22), 'what came: %s' % said)
    for connection in server.connections[1:]:
        equal(bytes(connection.data), b'', 'what the server saw')


# The first part of the term, which every one of these begins with, and the rest.
FIRST, REST, TAG = b'forb', b'idden', 'ETag: "v"'


def another_host(bench):
    """a server of the agent's own that is asked by another's name says nothing of its files"""
    def honest(connection):
        if read_head(connection):
            first = b'bytes=0-3' in connection.data
            connection.sock.sendall(part(FIRST, 'bytes 0-3/9', TAG) if first else
                                    part(REST, 'bytes 4-8/9', TAG))

    def own(connection):
        if read_head(connection):
            tags = ['ETag: "other"', TAG]
            connection.sock.sendall(part(b'xxxx', 'bytes 0-3/9', tags[len(server.connections) - 1]))

    _, daemon = set_up(bench)
    victim, server = bench.server(honest), bench.server(own)
    host = ['-H', 'Host: example.org']
    equal(curl(bench, daemon, victim, '/f', '-r', '0-3', *host)[0], FIRST, 'the first part')
    for _ in range(2):
        equal(curl(bench, daemon, server, '/f', '-r', '0-3', *host)[0], b'xxxx', 'the other text')
    got, status, said = curl(bench, daemon, victim, '/f', '-r', '4-', *host)
    equal((got, status), (b'xxxx', 22), 'the file, and how curl ended: %s' % said)
    equal(daemon.status()['reasons'].get('denied:words'), 1, 'denials')


def part_told_otherwise(bench):
    """curl -C - takes any Content-Range for the part it asked for; none but that one arrives"""
    _, daemon = set_up(bench)
    early = b'HTTP/1.1 103 Early Hints\r\nContent-Range: bytes 4-8/9\r\n\r\n'
    rests = [part(REST, span, TAG, status='200 OK') for span in (
        'items 4-8/9', 'bytes: 4-8/9', 'bytes=4-8/9', '4-8/9', 'bytes\t4-8/9')]
    rests += [early + answer('text/plain', REST, TAG),
              part(REST, 'bytes 4-8/9', TAG, status='203 Other')]
    for rest in rests:
        def serve_part(connection, rest=rest):
            if read_head(connection):
                first = b'bytes=0-3' in connection.data
                connection.sock.sendall(part(FIRST, 'bytes 0-3/9', TAG) if first else rest)

        server = bench.server(serve_part)
        equal(curl(bench, daemon, server, '/f', '-r', '0-3')[0], FIRST, 'the first part')
        got, status, said = curl(bench, daemon, server, '/f', '-C', '-')
        check(b'Range: bytes=4-' in asked(server, 1), 'the server was not asked for the rest')
        equal((got, status), (FIRST, 22), '%s: the file, and how curl ended: %s' % (rest, said))
    equal(daemon.status()['reasons'].get('resume_refused'), len(rests), 'refusals')


def event_source(bench):
    """an event source reconnects with the id of its last event; the term cut in two is denied"""
    server, daemon = set_up(bench)
    done = daemon.agent(EVENT_SOURCE, server.port, '/events')
    equal(json.loads(done.stdout), [[200, 200, 204], [*PARTS['/events'], '']], 'what it read')
    check(b'Last-Event-ID: 2' in asked(server, 1), 'the server was not asked to go on')
    done = daemon.agent(EVENT_SOURCE, server.port, '/events-term')
    statuses, said = json.loads(done.stdout)
    equal(said[:2], PARTS['/events-term'][:2], 'what it read before')
    check('bidden' not in ''.join(said), 'the rest of the term came: %s', said)
    equal((statuses, said[2:]), ([200, 200], ['!']), 'how it ended')


def response_by_number(bench):
    """a Responses stream goes on behind a number; the term cut in two is denied"""
    server, daemon = set_up(bench)
    done = daemon.agent(RESPONSES, server.port, 'clean')
    equal(json.loads(done.stdout), [[200, 200, 404], ''.join(PARTS['/events'])], 'what it read')
    check(b'starting_after=2' in asked(server, 1), 'the server was not asked to go on')
    done = daemon.agent(RESPONSES, server.port, 'term')
    statuses, text = json.loads(done.stdout)
    equal(text, ''.join(PARTS['/events-term'][:2]), 'what it read of the term')
    equal(statuses, [200, 200], 'the answers')
    equal(daemon.status()['reasons'].get('denied:words'), 1, 'denials')


if __name__ == '__main__':
    main([file_broken_off, no_tail, restart, another_host, part_told_otherwise, event_source,
          response_by_number])
