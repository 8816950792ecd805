#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An interceptor: denies text that has one of the words it is given, and allows any other.
    interceptor.py --port 8080 forbidden secret      http://127.0.0.1:8080/evaluate
    interceptor.py --unix /run/mod.sock forbidden    http+unix:///run/mod.sock:/evaluate

It gets an agent context (AGENT-HOOKS-0.1 section 4) with POST /evaluate and answers with a
verdict (section 5): {"decision": "allow"}, or "deny" with a reason. The text is a window: its
first extensions.sluice.span.before runes were in an earlier one too, so that a word which was
cut is seen whole. Connections are kept; requests one behind the other are answered in order.
What is no context gets an HTTP error, which counts as a deny. Nothing of the text is printed
or kept. Prints `ready ADDRESS` once it listens."""
import argparse
import http.server
import json
import socketserver


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, wbufsize = 'HTTP/1.1', -1  # one write for each answer

    def do_POST(self):
        length = self.headers.get('Content-Length', '')
        if not (length.isascii() and length.isdigit() and int(length) <= 8 << 20):
            self.close_connection = True  # where the next request begins is not known
            return self.answer(413)
        try:
            content = json.loads(self.rfile.read(int(length)))['target']['content']
            text = '' if content is None else content.casefold()
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return self.answer(400)
        denied = any(word in text for word in options.words)
        verdict = {'decision': 'deny', 'reason': 'listed_word'} if denied else {'decision': 'allow'}
        return self.answer(200, verdict) if self.path == '/evaluate' else self.answer(404)

    def answer(self, status, verdict=None):
        body = json.dumps(verdict).encode() if verdict else b''
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


arguments = argparse.ArgumentParser()
arguments.add_argument('--port', type=int, default=8080)
arguments.add_argument('--unix')
arguments.add_argument('words', nargs='+', type=str.casefold)
options = arguments.parse_args()
socketserver.TCPServer.request_queue_size = 512
socketserver.BaseServer.handle_error = Handler.log_message  # a client that is gone
socketserver.ThreadingMixIn.daemon_threads = True
Handler.disable_nagle_algorithm = not options.unix
server = (socketserver.ThreadingUnixStreamServer(options.unix, Handler) if options.unix else
          http.server.ThreadingHTTPServer(('127.0.0.1', options.port), Handler))
print('ready', options.unix or server.server_port, flush=True)
server.serve_forever()
