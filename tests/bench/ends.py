#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Peers of the benchmarks of tasks and of operators, each a process of its own.

  ends.py judge SOCKET MS        an interceptor: allows each text MS after it was asked
  ends.py verdict SOCKET         an interceptor: allows at once, and prints when
  ends.py delay SOCKET PORT MS   relays to PORT; what comes is passed on MS later
  ends.py idle|echo|answer PORT  serves: says nothing, what it read, or 200 to each request
  ends.py token PORT EVERY N     serves N tokens, one each EVERY ms, that tell their time
  ends.py lines PORT EVERY N     serves N lines, one each EVERY ms, that tell their time in ns
  ends.py take PORT              reads what `lines` serves: [when it was sent, when it came], each
  ends.py hold PORT N            opens N streams, a request on each, and keeps them
  ends.py ask PORT N             N streams, each with a line whose echo it waits for
  ends.py poll PORT              an exchange on a connection of its own, each millisecond
  ends.py read PORT              reads what `token` serves

Servers serve until they are ended. Agents print a line once they are ready; `hold`, `ask` and
`poll` obey lines on standard input: `go` begins, `stop` ends that and prints a JSON line with
what was measured; they leave when it is closed. Times are in ms.
"""
import asyncio
import json
import resource
import socket
import sys
import threading
import time

# Of a watched cgroup 2,000 connects a second are let through.
CONNECT_S = 1 / 1500
DRAIN_S = 10
# Streams that have nothing to do with each other do not begin at one moment.
SPREAD_S = 0.4
REQUEST = b'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'
OK = b'HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s'
ALLOW = b'{"decision": "allow"}'
EVENTS = (b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n'
          b'Transfer-Encoding: chunked\r\n\r\n')


def quantile(values, percent):
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) * percent // 100]


class Peer(asyncio.Protocol):
    transport = None

    def connection_made(self, transport):
        self.transport = transport

    def later(self, seconds, data):
        asyncio.get_running_loop().call_later(seconds, self.transport.write, data)


class Judge(Peer):
    def __init__(self, seconds):
        self.seconds, self.got = seconds, b''

    def data_received(self, data):
        self.got += data
        while b'\r\n\r\n' in self.got:
            head, rest = self.got.split(b'\r\n\r\n', 1)
            length = int(head.lower().split(b'content-length:', 1)[1].split(b'\r\n', 1)[0])
            if len(rest) < length:
                break
            self.got = rest[length:]
            self.later(self.seconds, OK % (b'application/json', len(ALLOW), ALLOW))


class Idle(Peer):
    pass


class Echo(Peer):
    def data_received(self, data):
        self.transport.write(data)


class Answer(Peer):
    def data_received(self, data):
        self.transport.write(OK % (b'text/plain', 0, b'') * data.count(b'\r\n\r\n'))


async def serve(make, *, port=None, path=None):
    loop = asyncio.get_running_loop()
    if path:
        server = await loop.create_unix_server(make, path, backlog=1024)
    else:
        server = await loop.create_server(make, '127.0.0.1', port, backlog=8192)
    await server.serve_forever()


async def delay(path, port, seconds):
    """Bytes leave in the order in which they came, each after the same time."""
    loop = asyncio.get_running_loop()

    async def relay(reader, writer):
        there, to = await asyncio.open_connection('127.0.0.1', port)

        async def back():
            while data := await there.read(65536):
                writer.write(data)
        answers = asyncio.create_task(back())
        while data := await reader.read(65536):
            loop.call_later(seconds, to.write, data)
        answers.cancel()
        for end in (to, writer):
            end.close()
    server = await asyncio.start_unix_server(relay, path, backlog=128)
    await server.serve_forever()


async def tokens(port, every, count):
    async def stream(reader, writer):
        await reader.readuntil(b'\r\n\r\n')
        writer.write(EVENTS)
        begin = time.monotonic()
        for number in range(count):
            await asyncio.sleep(max(0, begin + number * every - time.monotonic()))
            event = b'data: ' + json.dumps({
                'id': '%.6f' % time.monotonic(), 'object': 'chat.completion.chunk',
                'model': 'm', 'choices': [{'index': 0, 'finish_reason': None,
                                           'delta': {'content': ' word%d' % number}}]
            }).encode() + b'\n\n'
            writer.write(b'%x\r\n%s\r\n' % (len(event), event))
        writer.write(b'e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n')
        await writer.drain()
        writer.close()
    server = await asyncio.start_server(stream, '127.0.0.1', port)
    await server.serve_forever()


def say(value):
    print(json.dumps(value), flush=True)


def connect(port):
    sock = socket.create_connection(('127.0.0.1', port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def hold(port, count):
    kept = []
    for _ in range(count):
        kept.append(connect(port))
        kept[-1].sendall(REQUEST)
        time.sleep(CONNECT_S)
    say('ready')
    sys.stdin.read()


class Asking(Peer):
    """One line under way at a time, while `going`."""
    going, delays, all = False, [], []

    def __init__(self):
        self.number, self.sent, self.got, self.waits = 0, 0.0, b'', False
        self.all.append(self)

    def ask(self):
        self.number += 1
        self.waits = True
        self.sent = time.monotonic()
        self.transport.write(b'{"t":"line %d of a stream that waits"}\n' % self.number)

    def data_received(self, data):
        self.got += data
        if not self.got.endswith(b'\n'):
            return
        self.got, self.waits = b'', False
        self.delays.append((time.monotonic() - self.sent) * 1000)
        if Asking.going:
            self.ask()


async def ask(port, count):
    loop = asyncio.get_running_loop()
    for _ in range(count):
        await loop.create_connection(Asking, '127.0.0.1', port)
        await asyncio.sleep(CONNECT_S)
    say('ready')
    while word := await loop.run_in_executor(None, sys.stdin.readline):
        Asking.going = word == 'go\n'
        if Asking.going:
            Asking.delays.clear()
            for number, stream in enumerate(Asking.all):
                loop.call_later(SPREAD_S * number / count, stream.ask)
        else:
            over = time.monotonic() + DRAIN_S
            while any(one.waits for one in Asking.all) and time.monotonic() < over:
                await asyncio.sleep(0.01)
            say({'count': len(Asking.delays), 'lost': sum(one.waits for one in Asking.all),
                 'p50': quantile(Asking.delays, 50),
                 'p99': quantile(Asking.delays, 99)})


def accept_one(listener):
    sock = listener.accept()[0]
    if sock.family == socket.AF_INET:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def verdict(path):
    """The last one of a stream is asked on another connection, and is none of a line."""
    answer = OK % (b'application/json', len(ALLOW), ALLOW)

    def judge(sock):
        while question := sock.recv(65536):
            now = time.monotonic_ns()
            sock.sendall(answer)
            if b'"incremental"' in question:
                say(now)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        while True:
            threading.Thread(target=judge, args=(accept_one(listener),), daemon=True).start()


def lines(port, every, count):
    with socket.create_server(('127.0.0.1', port)) as listener:
        while True:
            with accept_one(listener) as sock:
                for _ in range(count):
                    time.sleep(every / 1000)
                    sock.sendall(b'{"t":"%d"}\n' % time.monotonic_ns())


def take(port):
    took = []
    with connect(port) as sock:
        while piece := sock.recv(65536):
            now = time.monotonic_ns()
            took += [(int(line.split(b'"')[3]), now) for line in piece.splitlines()]
    say(took)


class Polling(threading.Thread):
    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.over, self.took, self.failed = port, False, [], 0

    def run(self):
        while not self.over:
            began = time.monotonic()
            try:
                with connect(self.port) as sock:
                    sock.settimeout(20)
                    sock.sendall(REQUEST)
                    self.failed += not sock.recv(1024).startswith(b'HTTP/1.1 200')
            except OSError:
                self.failed += 1
            self.took.append((time.monotonic() - began) * 1000)
            time.sleep(0.001)


def poll(port):
    polling = None
    say('ready')
    for word in sys.stdin:
        if word == 'go\n':
            polling = Polling(port)
            polling.start()
            continue
        polling.over = True
        polling.join()
        say({'count': len(polling.took), 'failed': polling.failed,
             'p50': quantile(polling.took, 50), 'longest': max(polling.took)})


def read(port):
    """How long each token was on its way, by quarters of them."""
    got, delays = b'', []
    with connect(port) as sock:
        sock.sendall(REQUEST)
        while not got.endswith(b'\r\n0\r\n\r\n'):
            piece = sock.recv(65536)
            if not piece:
                raise EOFError('after %d tokens' % len(delays))
            now = time.monotonic()
            got += piece
            whole = got.count(b'"id": "')
            for part in got.split(b'"id": "')[1 + len(delays):1 + whole]:
                delays.append((now - float(part.split(b'"', 1)[0])) * 1000)
    quarter = len(delays) // 4
    say({'count': len(delays), 'p50': [quantile(delays[quarter * i:quarter * (i + 1)], 50)
                                       for i in range(4)], 'longest': max(delays)})


def main():
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    mode, first, *rest = sys.argv[1:]
    rest = [int(word) for word in rest]
    servers = {'idle': Idle, 'echo': Echo, 'answer': Answer}
    if mode == 'judge':
        asyncio.run(serve(lambda: Judge(rest[0] / 1000), path=first))
    elif mode == 'delay':
        asyncio.run(delay(first, rest[0], rest[1] / 1000))
    elif mode == 'verdict':
        verdict(first)
    elif mode in servers:
        asyncio.run(serve(servers[mode], port=int(first)))
    elif mode == 'token':
        asyncio.run(tokens(int(first), rest[0] / 1000, rest[1]))
    elif mode == 'ask':
        asyncio.run(ask(int(first), *rest))
    else:
        {'hold': hold, 'poll': poll, 'read': read, 'lines': lines,
         'take': take}[mode](int(first), *rest)


if __name__ == '__main__':
    main()
