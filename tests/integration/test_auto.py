#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A policy that says nothing of framing: curl, a client of JSON lines, one of a language
server and a WebSocket's are told by their first bytes; TLS, and what cannot be told, is
refused, and its server never gets a byte."""
import json

import peers
from http_bench import KEY, POLICY as HTTP, ChatServer, Curl, Raw, all_at_once, ask, request
from sluice_test import PYTHON, TERM, line, main
from test_jsonrpc import CLIENT, INITIALIZE, hover, language_server, said_to
from test_websocket import WebSocketClient, WebSocketServer, same_bytes
from waiting import check, equal, wait_for

POLICY = HTTP.replace('framing: http1\n', '')
LIMITS = POLICY + 'limits: {incomplete_message_timeout_s: 1}\n'
ANSWERS = {'clean': {'pieces': ['Once ', 'upon ', 'a time']},
           'bad': {'pieces': ['fine ', 'it is %s' % TERM, 'never seen']}}

LINES = '''
import json, socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(15)
got, end = b"", "eof"
try:
    for text in sys.argv[2:]:
        s.sendall(json.dumps({"t": text}).encode() + b"\\n")
        got += s.recv(65536)
    s.shutdown(socket.SHUT_WR)
    while piece := s.recv(65536):
        got += piece
except ConnectionResetError:
    end = "reset"
print(json.dumps([got.decode(), end]))
'''

TLS = '''
import socket, ssl, sys
context = ssl.create_default_context()
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
try:
    context.wrap_socket(s, server_hostname="localhost")
except (OSError, ssl.SSLError) as error:
    print(type(error).__name__)
'''


def curl(bench, daemon):
    server = ChatServer(bench, ANSWERS)
    client = Curl(bench, daemon, POLICY)
    got = client.ask(ask('clean', url=server.url()))
    equal((got.status, got.code), (200, 0), str(got))
    equal(got.body, client.ask(ask('clean', url=server.url()), direct=True).body, 'the body')
    got = client.ask(ask('clean', 'my key is ' + KEY, url=server.url()))
    equal((got.status, got.type), (403, 'application/problem+json'), str(got))
    got = client.ask(ask('bad', url=server.url()))
    equal((got.status, got.code), (200, 18), str(got))
    check(b'event: error' in got.body and TERM.encode() not in got.body, 'the body: %s', got)
    check(KEY.encode() not in server.everything(), 'a refused prompt reached the server')


def json_lines(bench, daemon):
    server = bench.server(peers.echo)
    for number, (texts, end) in enumerate(((['one', 'two'], 'eof'), (['one', KEY], 'reset'))):
        done = bench.run(daemon.run_command([PYTHON, bench.file('lines.py', LINES),
                                             str(server.port), *texts]))
        clean = [text for text in texts if text != KEY]
        equal(json.loads(done.stdout), [''.join(line(text).decode() for text in clean), end],
              'what the client got; %r' % done.stderr)
        equal(bytes(server.ended(number).data), b''.join(map(line, clean)), 'what arrived')


def language(bench, daemon):
    server = bench.server(language_server)
    plans = ([INITIALIZE, hover(2, 'fine')], [INITIALIZE, hover(2, KEY)], [hover(1, KEY)])
    for number, plan in enumerate(plans):
        path = bench.file('plan%d.json' % number, json.dumps(plan))
        done = bench.run(daemon.run_command([PYTHON, bench.file('lsp.py', CLIENT),
                                             str(server.port), path]))
        rows, end, _ = json.loads(done.stdout)
        clean = [message for message in plan if KEY not in json.dumps(message)]
        sent, answers = said_to(clean)
        equal((rows[:len(answers)], end), (answers, 'eof'), 'the answers; %r' % done.stderr)
        equal([row['error']['data']['task'] for row in rows[len(answers):]],
              ['keys'] * (len(plan) - len(clean)), 'errors; %r' % done.stderr)
        equal(bytes(server.ended(number).data), sent, 'what reached the server')


def web_socket(bench, daemon):
    server = WebSocketServer(bench, 'py')
    said = WebSocketClient('py', bench, daemon).talk(server, '/echo', [
        {'text': '{"a": "fine"}'}, {'expect': 1}], POLICY)
    equal((said.got, said.error), (['{"a": "fine"}'], ''), str(said))
    same_bytes(server, '/echo', said)


def recognised(bench):
    """curl, JSON lines, a language server's client, a WebSocket: under the same policy"""
    daemon = bench.daemon(POLICY)
    all_at_once({'curl': curl, 'lines': json_lines, 'language': language,
                 'web socket': web_socket}, bench, daemon)
    equal(daemon.status()['streams']['open'], 0, 'open streams')


def told_apart(bench):
    """the first bytes one by one: streams shows what they turn out to be"""
    server = bench.server()
    daemon = bench.daemon(POLICY)
    agent = '''
import socket, sys
for first in sys.argv[2:]:
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in first.encode():
        s.sendall(bytes([byte]))
        if first == sys.argv[2]:
            print(byte, flush=True)
            sys.stdin.readline()
    globals()[first] = s
print("sent", flush=True)
sys.stdin.read()
'''
    firsts = {'GET / HTTP/1.1\r\n': 'http1', 'PROPPATCH /': 'http1',
              'content-LENGTH: 2': 'jsonrpc_cl', 'Content-Type: x': 'jsonrpc_cl',
              '{"t"': 'ndjson', '[1': 'ndjson', 'PATC': 'auto', '': 'auto'}
    process = daemon.start_agent(agent, server.port, *firsts)
    for number, byte in enumerate(list(firsts)[0].encode(), 1):
        equal(process.stdout.readline(), b'%d\n' % byte, 'the agent')
        [stream] = wait_for(lambda n=number: [s for s in daemon.call('streams')['streams']
                                              if s['request']['received'] == n], 5, 'a byte')
        equal(stream['framing'], 'http1' if number > 3 else 'auto', 'after %d bytes' % number)
        process.stdin.write(b'\n')
        process.stdin.flush()
    equal(process.stdout.readline(), b'sent\n', 'the agent')
    wait_for(lambda: sorted(s['framing'] for s in daemon.call('streams')['streams']) ==
             sorted(firsts.values()), 5, 'the framings %s' % daemon.call('streams'))
    process.communicate(timeout=10)


def encrypted(bench):
    """TLS: refused, with the line that would let it pass"""
    server = bench.server()
    daemon = bench.daemon(POLICY)
    script = bench.file('tls.py', TLS)
    advice = 'tls_unmediated: to relay it unread: - {match: "127.0.0.1:%d", action: pass}' \
        % server.port
    for number, command in enumerate(([PYTHON, script, str(server.port)], [
            '/usr/bin/curl', '-sSk', 'https://127.0.0.1:%d/' % server.port])):
        done = bench.run(daemon.run_command(command))
        check(done.returncode or done.stdout, 'it went well')
        rows = done.stderr.decode().splitlines()
        check(advice in rows[-1], 'the last line of %s is no advice', rows)
        check('reasons: tls_unmediated 1' in rows[-2], 'the summary is %s', rows)
        connection = server.ended(number)
        equal((bytes(connection.data), connection.end), (b'', 'reset'), 'at the server')
    passed = bench.server(peers.echo)
    policy = POLICY + 'destinations:\n  - {match: "127.0.0.1:%d", action: pass}\n' % passed.port
    bench.run(daemon.run_command([PYTHON, script, str(passed.port)], policy))
    check(bytes(passed.ended().data).startswith(b'\x16\x03'), 'it did not pass')


def cannot_be_told(bench):
    """first bytes of no protocol that is told, and a server that speaks first: unframed"""
    firsts = [b'SSH-2.0-client\r\n', b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', b'\0\0\0\5clean',
              b' GET / HTTP/1.1\r\n', b'\r\nGET / HTTP/1.1\r\n', b'get / HTTP/1.1\r\n',
              b'data: x\n\n', b'"text"\n', b'\xef\xbb\xbf{}\n', b'GETX', b'Content-Lengths: 1']
    server = bench.server()
    speaker = bench.server(lambda c: (c.sock.sendall(b'220 ready\r\n'), c.read_all()))
    raw = Raw(bench, bench.daemon(POLICY), POLICY)
    got, run = raw.talk(server.port, [[first] for first in firsts])
    equal(got, [(b'', 'reset')] * len(firsts), 'what came back')
    equal([bytes(server.ended(n).data) for n in range(len(firsts))], [b''] * len(firsts),
          'what reached the server')
    check('unframed %d' % len(firsts) in run, 'the run says %s', run)
    got, run = raw.talk(speaker.port, [[]])
    equal(got, [(b'', 'reset')], 'what came of a server that speaks first')
    check('unframed 1' in run, 'the run says %s', run)


def never_enough(bench):
    """first bytes that do not suffice: unframed, at the timeout or at the end"""
    server = bench.server()
    raw = Raw(bench, bench.daemon(LIMITS), LIMITS)
    [got], run = raw.talk(server.port, [[b'GE']])
    equal(got, (b'', 'reset'), 'what came back')
    check('unframed 1' in run, 'the run says %s', run)
    done = raw.daemon.agent('''
import socket, sys
for first in (b"GE", b""):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.sendall(first)
    s.shutdown(socket.SHUT_WR)
    s.settimeout(5)
    try:
        print(s.recv(1))
    except ConnectionResetError:
        print("reset")
''', server.port)
    equal(done.stdout.split(), [b'reset', b"b''"], 'the ends; %r' % done.stderr)
    check(b'streams 2, denied 0, failed 1' in done.stderr and b'unframed 1' in done.stderr,
          'the run says %r', done.stderr)
    equal([bytes(server.ended(n).data) for n in range(3)], [b''] * 3, 'what reached the server')


def advice_of_a_private_run(bench):
    """where a private daemon logs warnings alone, run itself says what would help"""
    picture = request(body=b'\x89PNG\r\n', fields=['Content-Type: image/png'])
    expected = {
        b'\x16\x03\x01\0\5': 'tls_unmediated: to relay it unread: - {match: "127.0.0.1:%d", '
                             'action: pass}',
        b'EHLO x\r\n': 'unframed: to relay it unread: - {match: "127.0.0.1:%d", action: pass}; '
                       'to mediate it: name its framing there',
        picture: 'opaque_body: to release it unread: opaque_bodies: release',
        b'{"t": "fine"}\n': '',
    }
    agent = bench.file('agent.py', '''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(5)
s.sendall(bytes.fromhex(sys.argv[2]))
try:
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
except OSError:
    pass  # it was reset, before or after
''')
    server = bench.server()
    for first, wanted in expected.items():
        run = bench.private_run([PYTHON, agent, str(server.port), first.hex()], POLICY)
        _, said = run.communicate(timeout=30)
        rows = [row.split(': ', 1)[1] for row in said.decode().splitlines()]
        check(rows[0].startswith('streams 1, '), 'the summary is %r', rows)
        equal(rows[1:], [wanted.replace('%d', str(server.port))] * bool(wanted), 'the advice')


if __name__ == '__main__':
    main([recognised, told_apart, encrypted, cannot_be_told, never_enough,
          advice_of_a_private_run])
