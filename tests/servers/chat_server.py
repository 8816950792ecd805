#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A chat server over HTTP/1.1: POST /v1/chat/completions as OpenAI's interface has it
(events, or one document with "stream": false), POST /api/chat as Ollama's (lines).
Standard library only; it says `ready PORT` once it listens.

Who asks for a model that the file of answers names gets that answer, anybody else
the words of the last message. Answers are {"MODEL": {option: value}}; all are optional:

  pieces     the answer: "text", {"content"|"reasoning"|"refusal": "text", "choice": N},
             {"tool": {"index", "id", "name", "arguments": "a part"}}, {"pause": seconds},
             {"raw": "bytes of the body"}, {"then": "hang"|"close"|"reset"}
  pause      seconds before each event         done       false: no end marker
  framing    chunked (default), length, close  type       Content-Type
  per_chunk  events in each chunk              file       a body from a file
  cut        bytes in each chunk               coding     gzip, deflate
  seed       random sizes of chunks            flush      false: not after each event
  extension  of every chunk, from its ";"      status, headers, trailers ([[name, value]])

--record FOLDER keeps what each connection brought, byte for byte, in N.received, and
once it ended, how, in N.end.
"""
import argparse
import http.server
import io
import itertools
import json
import os
import random
import socket
import struct
import sys
import time
import zlib


class Recorder(io.RawIOBase):
    """Reads a socket and keeps what it read."""

    def __init__(self, sock, name):
        super().__init__()
        self.sock, self.name, self.how = sock, name, None
        self.file = open(name + '.received', 'wb', buffering=0) if name else None

    def readable(self):
        return True

    def readinto(self, buffer):
        try:
            count = self.sock.recv_into(buffer)
        except ConnectionError:
            self.ended('reset')
            raise
        if self.file:
            self.file.write(memoryview(buffer)[:count])
        if not count:
            self.ended('eof')
        return count

    def ended(self, how):
        self.how = self.how or how

    def finish(self):
        """Takes what still waits in the socket, and says how the connection ended."""
        try:
            self.sock.setblocking(False)
            while self.readinto(bytearray(65536)):
                pass
        except OSError:
            self.ended('closed')
        if self.file:
            self.file.close()
            with open(self.name + '.part', 'w', encoding='ascii') as out:
                out.write(self.how)
            os.rename(self.name + '.part', self.name + '.end')


def message(pieces, ollama):
    """One message, or the change of one, out of pieces of an answer."""
    said, calls = {'role': 'assistant', 'content': ''}, []
    for piece in pieces:
        said['content'] += piece.get('content', '')
        for kind, name in (('reasoning', 'thinking' if ollama else 'reasoning_content'),
                           ('refusal', 'refusal')):
            if kind in piece:
                said[name] = said.get(name, '') + piece[kind]
        if 'tool' in piece:
            call = dict(piece['tool'])
            function = {key: call.pop(key) for key in ('name', 'arguments') if key in call}
            if ollama:
                call, function['arguments'] = {}, json.loads(function['arguments'])
            calls.append({**call, 'function': function})
    return {**said, 'tool_calls': calls} if calls else said


def document(pieces, ollama, stream=False):
    """The JSON of an event, or of a whole answer."""
    pieces = [piece for piece in pieces if 'then' not in piece and 'pause' not in piece]
    if ollama:
        return json.dumps({'model': 'm', 'created_at': '2026-01-01T00:00:00Z',
                           'message': message(pieces, True), 'done': not stream}).encode()
    key, kind = ('delta', 'chat.completion.chunk') if stream else ('message', 'chat.completion')
    choices = [{'index': choice, key: message([p for p in pieces if p.get('choice', 0) == choice],
                                              False), 'finish_reason': None if stream else 'stop'}
               for choice in sorted({p.get('choice', 0) for p in pieces})]
    return json.dumps({'id': 'chatcmpl-1', 'object': kind, 'created': 1, 'model': 'm',
                       'choices': choices}).encode()


def body(options, stream, ollama):
    """The parts of a body: bytes, and pauses and ends as they stand in the answer."""
    pieces = [p if isinstance(p, dict) else {'content': p} for p in options.get('pieces', [])]
    if 'file' in options:
        with open(options['file'], 'rb') as file:
            yield file.read()
    elif not stream:
        yield document(pieces, ollama)
    else:
        before, after = (b'', b'\n') if ollama else (b'data: ', b'\n\n')
        for piece in pieces:
            if 'then' in piece or 'pause' in piece:
                yield piece
                continue
            yield {'pause': options.get('pause', 0)}
            yield piece['raw'].encode() if 'raw' in piece else (
                before + document([piece], ollama, True) + after)
        if options.get('done', True):
            yield document([{}], True) + after if ollama else b'data: [DONE]\n\n'


def encoded(parts, coding, flush):
    coder = zlib.compressobj(wbits=31 if coding == 'gzip' else 15)
    for part in parts:
        if isinstance(part, dict):
            yield part
            continue
        part = coder.compress(part) + (coder.flush(zlib.Z_SYNC_FLUSH) if flush else b'')
        if part:
            yield part
    yield coder.flush()


def recut(parts, per_chunk, sizes):
    """Joins per_chunk parts to one, or cuts what comes into these sizes."""
    held, count, size = bytearray(), 0, next(sizes)
    for part in parts:
        if isinstance(part, dict):
            if 'then' in part and held:  # what was written before the end has left
                yield bytes(held)
                held.clear()
            yield part
            continue
        held += part
        count += 1
        while size and len(held) >= size:
            yield bytes(held[:size])
            del held[:size]
            size = next(sizes)
        if not size and count % per_chunk == 0:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        record = self.server.record
        self.recorder = Recorder(self.connection,
                                 record and os.path.join(record, str(next(self.server.numbers))))
        self.rfile = io.BufferedReader(self.recorder)

    def handle(self):
        try:
            super().handle()
        except OSError:
            self.recorder.ended('reset')
        self.recorder.finish()

    def log_message(self, *_):
        """Quiet: the record says it all."""

    def do_GET(self):
        self.answer({'pieces': ['You asked for ', self.path]}, False, False)

    do_HEAD = do_GET

    def chunks(self):
        """A request's chunked body."""
        while size := int(self.rfile.readline().split(b';')[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass

    def do_POST(self):
        if self.headers.get('Transfer-Encoding'):
            sent = b''.join(self.chunks())
        else:
            sent = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        try:
            asked = json.loads(sent)
        except ValueError:
            asked = {}
        ollama = self.path == '/api/chat'
        last = (asked.get('messages') or [{'content': '%d bytes came' % len(sent)}])[-1]
        options = self.server.answers.get(asked.get('model')) or {
            'pieces': [word + ' ' for word in last['content'].split()]}
        self.answer(options, asked.get('stream', ollama), ollama)

    def answer(self, options, stream, ollama):
        parts = body(options, stream, ollama)
        if options.get('coding'):
            parts = encoded(parts, options['coding'], options.get('flush', True))
        chance = random.Random(options.get('seed'))
        sizes = (iter(lambda: chance.choice((1, 2, 7, 50, 300, 1500)), 0) if 'seed' in options
                 else itertools.repeat(options.get('cut', 0)))
        parts = recut(parts, options.get('per_chunk', 1), sizes)
        framing = options.get('framing', 'chunked' if stream else 'length')
        kind = 'application/json'
        if stream:
            kind = 'application/x-ndjson' if ollama else 'text/event-stream'
        status = options.get('status', 200)
        self.send_response_only(status)  # no date: the same answer is the same bytes
        self.send_header('Content-Type', options.get('type', kind))
        for name, value in options.get('headers', []):
            self.send_header(name, value)
        if options.get('coding'):
            self.send_header('Content-Encoding', options['coding'])
        if status in (204, 304):
            parts, framing = [], 'none'
        elif framing == 'length':
            parts = list(parts)
            self.send_header('Content-Length', str(sum(len(p) for p in parts
                                                       if isinstance(p, bytes))))
        elif framing == 'close':
            self.send_header('Connection', 'close')
        else:
            self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        if self.command != 'HEAD':
            self.send(parts, framing == 'chunked', options)

    def send(self, parts, chunked, options):
        extension = options.get('extension', '').encode()
        for part in parts:
            if isinstance(part, bytes):
                if chunked and part:
                    part = b'%x%s\r\n%s\r\n' % (len(part), extension, part)
                self.wfile.write(part)
            elif 'pause' in part:
                time.sleep(part['pause'])
            else:
                self.stop(part['then'])
                return
        if chunked:
            self.wfile.write(b'0\r\n%s\r\n' % b''.join(
                b'%s: %s\r\n' % (name.encode(), value.encode())
                for name, value in options.get('trailers', [])))

    def stop(self, then):
        """Ends an answer before its time."""
        self.close_connection = True
        if then == 'hang':
            while self.rfile.read1():
                pass
        elif then == 'reset':
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request, client_address):
        error = sys.exc_info()[1]
        print('%s: %s' % (type(error).__name__, error), file=sys.stderr, flush=True)

    def shutdown_request(self, request):
        """No half-close before the close: what is to be reset would end in order."""
        self.close_request(request)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--port', type=int, default=0)
    parser.add_argument('--answers', help='a JSON file')
    parser.add_argument('--record', help='a folder')
    arguments = parser.parse_args()
    server = Server(('127.0.0.1', arguments.port), Handler)
    server.record, server.numbers, server.answers = arguments.record, itertools.count(1), {}
    if arguments.answers:
        with open(arguments.answers, encoding='utf-8') as file:
            server.answers = json.load(file)
    print('ready %d' % server.server_port, flush=True)
    server.serve_forever()


if __name__ == '__main__':
    main()
