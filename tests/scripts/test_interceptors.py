#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The interceptors below examples/, each over TCP and over a Unix socket, asked with contexts
as they are on the wire: by curl, over one connection that is kept, by requests all sent at
once, and with what is no context. Prints TAP."""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'examples',
                        'interceptors')
PROGRAMS = {'interceptor.py': ['/usr/bin/python3'], 'interceptor.mjs': ['node']}
ALLOW, DENY = {'decision': 'allow'}, {'decision': 'deny', 'reason': 'listed_word'}


def context(content, point='post_model_call'):
    """A context as the mediator writes it."""
    target = {'content': content}
    envelope = {'spec': 'agent-hooks/0.1', 'interception_point': point,
                'timestamp': '2026-06-19T14:03:11.123Z', 'sequence': 1,
                'agent': {'id': 'policy', 'framework': 'sluice'}, 'session': {'id': '42.1'}}
    if point == 'post_model_call':
        target |= {'tool_calls': [], 'finish_reason': 'incremental'}
        envelope |= {'model': {'id': 'm'}, 'response': target}
    elif point == 'input':
        target['role'] = 'user'
        envelope['input'] = target
    else:
        envelope['output'] = target
    envelope['target'] = target
    envelope['extensions'] = {'sluice': {
        'stream': '42', 'task': 'moderation', 'channel': 'content',
        'span': {'start': 256, 'end': 512, 'before': 768, 'final': False}}}
    return json.dumps(envelope, ensure_ascii=False).encode()


class Interceptor:
    """One that runs, and how it is reached."""

    def __init__(self, program, path):
        where = ['--unix', path] if path else ['--port', '0']
        self.path = path
        self.process = subprocess.Popen(
            PROGRAMS[program] + [os.path.join(EXAMPLES, program), *where, 'Forbidden', 'caf\u00e9'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ready = self.process.stdout.readline().split()
        assert ready[:1] == ['ready'], self.process.communicate()[1]
        self.port = None if path else int(ready[1])

    def connect(self):
        if self.path:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(20)
            sock.connect(self.path)
            return sock
        return socket.create_connection(('127.0.0.1', self.port), timeout=20)

    def client(self):
        client = http.client.HTTPConnection('localhost')
        client.sock = self.connect()
        client.auto_open = 0
        return client

    def stop(self):
        """Ends it; what it printed beside `ready` is none of anybody's business: nothing."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=20)


def ask(client, body, method='POST', path='/evaluate'):
    client.request(method, path, body)
    response = client.getresponse()
    data = response.read()
    return response.status, json.loads(data) if data else None


def expect(got, wanted):
    assert got == wanted, 'got %r, not %r' % (got, wanted)


def decides_by_its_words(interceptor):
    client = interceptor.client()
    for point in ('input', 'post_model_call', 'output'):
        expect(ask(client, context('what nobody minds', point)), (200, ALLOW))
        expect(ask(client, context('of a FORBIDDEN word', point)), (200, DENY))
    expect(ask(client, context('un caf\u00e9\u2028')), (200, DENY))
    expect(ask(client, context('caf')), (200, ALLOW))
    expect(ask(client, context('')), (200, ALLOW))
    expect(ask(client, context(None)), (200, ALLOW))
    expect(ask(client, context('x' * (2 << 20) + 'forbidden')), (200, DENY))
    client.close()


def answers_curl(interceptor):
    where = ['--unix-socket', interceptor.path] if interceptor.path else []
    url = 'http://127.0.0.1:%s/evaluate' % (interceptor.port or 80)
    for content, verdict in (('fine', ALLOW), ('forbidden', DENY)):
        run = subprocess.run(
            ['curl', '-sS', '--fail', '--max-time', '20', '-H', 'Content-Type: application/json',
             '--data-binary', '@-'] + where + [url], input=context(content),
            capture_output=True, check=False)
        expect((run.returncode, run.stderr), (0, b''))
        expect(json.loads(run.stdout), verdict)


def answers_requests_in_their_order(interceptor):
    wanted = [DENY if i % 3 == 0 else ALLOW for i in range(60)]
    requests = b''
    for verdict in wanted:
        body = context('forbidden' if verdict is DENY else 'fine')
        requests += b'POST /evaluate HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s' % (
            len(body), body)
    with interceptor.connect() as sock:
        sock.sendall(requests)
        for verdict in wanted:
            response = http.client.HTTPResponse(sock)
            # Answers that came together must not be read away with the first.
            response.fp = sock.makefile('rb', buffering=0)
            response.begin()
            expect((response.status, json.loads(response.read())), (200, verdict))


def keeps_a_connection_after_errors(interceptor):
    client = interceptor.client()
    bad = (b'', b'{', b'[]', b'1', b'{"target":1}', b'{"target":{}}', b'\xff',
           context(0), context(False), context({}),
           context({'a': 'b'}), context(['forbidden']), b'{"target":{"content":"\xff"}}')
    for body in bad:
        expect(ask(client, body)[0], 400)
    expect(ask(client, context('fine'), path='/other')[0], 404)
    expect(ask(client, context('forbidden')), (200, DENY))
    client.close()


def refuses_what_is_too_large(interceptor):
    client = interceptor.client()
    try:
        expect(ask(client, b'x' * (9 << 20))[0], 413)
    except (BrokenPipeError, ConnectionResetError):
        pass  # it was refused before all of it was sent
    client.close()
    client = interceptor.client()
    expect(ask(client, context('fine')), (200, ALLOW))
    client.close()


def outlives_its_clients(interceptor):
    for cut in (b'', b'POST /eva', b'POST /evaluate HTTP/1.1\r\nContent-Length: 9\r\n\r\n{'):
        with interceptor.connect() as sock:
            sock.sendall(cut)
    expect(interceptor.process.poll(), None)
    client = interceptor.client()
    expect(ask(client, context('forbidden')), (200, DENY))
    client.close()


TESTS = (decides_by_its_words, answers_curl, answers_requests_in_their_order,
         keeps_a_connection_after_errors, refuses_what_is_too_large, outlives_its_clients)


class Report:
    def __init__(self):
        self.count = self.failed = 0

    def run(self, name, test, *arguments):
        self.count += 1
        try:
            test(*arguments)
            print('ok %d - %s' % (self.count, name))
        except (AssertionError, OSError, ValueError, http.client.HTTPException) as error:
            self.failed += 1
            print('not ok %d - %s' % (self.count, name))
            print('# %s: %.400s' % (type(error).__name__, str(error).replace('\n', '\n# ')))


def says_nothing(printed):
    expect(printed, ('', ''))


def main():
    report = Report()
    with tempfile.TemporaryDirectory() as directory:
        for program, command in PROGRAMS.items():
            if not shutil.which(command[0]):
                report.count += 1
                print('ok %d - %s # SKIP no %s' % (report.count, program, command[0]))
                continue
            for path in (None, os.path.join(directory, program + '.sock')):
                interceptor = Interceptor(program, path)
                name = '%s over %s: ' % (program, 'a Unix socket' if path else 'TCP')
                try:
                    for test in TESTS:
                        report.run(name + test.__name__.replace('_', ' '), test, interceptor)
                finally:
                    printed = interceptor.stop()
                report.run(name + 'prints nothing of what it saw', says_nothing, printed)
    print('1..%d' % report.count)
    return 1 if report.failed else 0


if __name__ == '__main__':
    sys.exit(main())
