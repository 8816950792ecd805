# SPDX-License-Identifier: Apache-2.0
"""An interceptor that does what no interceptor may: the path of a request says what.

  /allow /deny      a verdict, at once            /transform     one that rewrites the text
  /word             denies where the text has FORBIDDEN in it
  /warn             allows, with warnings         /evidence      denies, with evidence
  /gate             as /word, once `gate` is set
  /last             denies the last of a response, and allows all before
  /left             never answers of what was broken off, and allows all else
  /hang             never answers                 /close         closes, without an answer
  /reset            resets, without an answer     /cut           closes amid an answer
  /late             answers after `late` seconds  /drip          a byte each `drip` seconds
  /twice            answers two times, the second time with a verdict of the other kind
  /wrong            as /word, and names the span of the request before it
  /huge             10 MB of a verdict            /endless       a body without an end
  /invalid-json     /invalid-utf8                 /no-object     what is no verdict
  /malformed        a verdict that says host_error: itself
  /deep             a verdict with arrays in arrays, 20,000 of them
  /status           500, with a verdict           /redirect      307, to /allow

What each request brought is kept in `requests`, in the order of arrival.
"""
import http.server
import json
import socket
import socketserver
import struct
import threading

ALLOW, DENY = {'decision': 'allow'}, {'decision': 'deny', 'reason': 'test_word'}
FORBIDDEN = 'forbidden'
WARN = {'decision': 'allow', 'warnings': [
    {'reason': 'tone', 'message': FORBIDDEN}, {'reason': FORBIDDEN + ' Words'}, {'message': 'x'}]}
EVIDENCE = {'quote': FORBIDDEN}
HUGE = 10 << 20


class Request:
    """A context that was asked about."""

    def __init__(self, path, body):
        self.path, self.body = path, body
        try:
            self.context = json.loads(body)
        except ValueError:
            self.context = None

    @property
    def text(self):
        return self.context['target']['content']

    @property
    def reason(self):
        return self.context['response']['finish_reason']

    @property
    def span(self):
        return self.context['extensions']['sluice'].get('span')

    def verdict(self):
        return DENY if self.context and FORBIDDEN in (self.text or '') else ALLOW


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, wbufsize = 'HTTP/1.1', -1
    before = None  # the last request of this connection

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        request = Request(self.path, body)
        with self.server.lock:
            self.server.requests.append(request)
        act = getattr(self, 'do' + request.path.replace('/', '_').replace('-', '_'), None)
        if act:
            act(request)
        else:
            self.answer(b'', 404)
        self.before = request

    def answer(self, body, status=200, headers=()):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def do_allow(self, _):
        self.answer(ALLOW)

    def do_deny(self, _):
        self.answer(DENY)

    def do_transform(self, _):
        self.answer({'decision': 'transform',
                     'transform': {'path': '$target.content', 'value': ''}})

    def do_word(self, request):
        self.answer(request.verdict())

    def do_warn(self, _):
        self.answer(WARN)

    def do_evidence(self, _):
        self.answer(DENY | {'evidence': EVIDENCE, 'message': FORBIDDEN})

    def do_gate(self, request):
        self.server.gate.wait(30)
        self.answer(request.verdict())

    def do_last(self, request):
        self.answer(ALLOW if request.reason == 'incremental' else DENY)

    def do_left(self, request):
        if request.reason == 'stream_incomplete':
            self.do_hang(request)
        else:
            self.answer(ALLOW)

    def do_hang(self, _):
        self.server.stopped.wait()
        self.close_connection = True

    def do_close(self, _):
        self.close_connection = True

    def do_reset(self, _):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.connection.close()
        self.close_connection = True

    def do_cut(self, request):
        verdict = json.dumps(request.verdict()).encode()
        self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s' % (
            len(verdict) + 1, verdict))
        self.close_connection = True

    def do_late(self, request):
        self.server.stopped.wait(self.server.late)
        self.answer(request.verdict())

    def do_drip(self, request):
        verdict = json.dumps(request.verdict()).encode()
        answer = b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s' % (len(verdict), verdict)
        for i in range(len(answer)):
            self.wfile.write(answer[i:i + 1])
            self.wfile.flush()
            if self.server.stopped.wait(self.server.drip):
                self.close_connection = True
                return

    def do_twice(self, request):
        verdict = request.verdict()
        self.answer(verdict)
        self.answer(ALLOW if verdict is DENY else DENY)

    def do_wrong(self, request):
        other = self.before or request
        self.answer(request.verdict() | {'extensions': {'sluice': {'span': other.span}}})

    def do_huge(self, request):
        self.answer(request.verdict() | {'message': 'x' * HUGE})

    def do_endless(self, _):
        self.wfile.write(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
                         b'c\r\n{"message":"\r\n')
        while not self.server.stopped.is_set():
            self.wfile.write(b'10000\r\n%s\r\n' % (b'x' * 0x10000))
            self.wfile.flush()

    def do_invalid_json(self, _):
        self.answer(b'{"decision":"allow"')

    def do_invalid_utf8(self, _):
        self.answer(b'{"decision":"allow","message":"\xff"}')

    def do_no_object(self, _):
        self.answer(['allow'])

    def do_malformed(self, _):
        self.answer({'decision': 'deny', 'reason': 'host_error:interceptor_failed'})

    def do_deep(self, _):
        depth = 20000
        self.answer(b'{"decision":"allow","x":%s%s}' % (b'[' * depth, b']' * depth))

    def do_status(self, _):
        self.answer(ALLOW, 500)

    def do_redirect(self, _):
        self.answer(b'', 307, [('Location', '/allow')])

    def log_message(self, *_):
        pass


class Interceptors:
    """Serves until it is closed, at `url` of a path: on loopback, or at a Unix socket's path."""

    def __init__(self, unix=None, late=1.0, drip=0.05):
        self.unix = unix
        if unix:
            self.server = socketserver.ThreadingUnixStreamServer(unix, Handler)
        else:
            self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        # Clients that went away are what is tested.
        self.server.handle_error = lambda *_: None
        self.server.requests, self.server.lock = [], threading.Lock()
        self.server.stopped = threading.Event()
        self.gate = self.server.gate = threading.Event()
        self.server.late, self.server.drip = late, drip
        self.port = None if unix else self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    @property
    def requests(self):
        with self.server.lock:
            return list(self.server.requests)

    def url(self, path):
        if self.unix:
            return 'http+unix://%s:%s' % (self.unix, path)
        return 'http://127.0.0.1:%d%s' % (self.port, path)

    def close(self):
        self.server.stopped.set()
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
