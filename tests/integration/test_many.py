#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A thousand streams at once, each with its own verdict."""
import json
import resource
import selectors
import socket
import threading

from sluice_test import main
from waiting import check, equal, wait_for

COUNT = 1000

# Opens them all, then a round of clean lines over all, then a last line on each: refused on
# every tenth. Every answer must belong to its own stream.
AGENT = '''
import json, resource, selectors, socket, sys
port, count = int(sys.argv[1]), int(sys.argv[2])
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * count + 100), hard))
socks = []
for n in range(count):
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(30)
    socks.append(s)
print("open", flush=True)
sys.stdin.readline()
for round in range(5):
    for n, s in enumerate(socks):
        s.sendall(b'{"t": "stream %d round %d"}\\n' % (n, round))
    for n, s in enumerate(socks):
        want = b'{"t": "stream %d round %d"}\\n' % (n, round)
        got = b""
        while len(got) < len(want):
            got += s.recv(len(want) - len(got))
        assert got == want, (got, want)
outcomes = {"clean": 0, "reset": 0}
for n, s in enumerate(socks):
    s.sendall(b'{"t": "forbidden"}\\n' if n % 10 == 0 else b'{"t": "last"}\\n')
for n, s in enumerate(socks):
    try:
        got = s.recv(100)
        assert got == b'{"t": "last"}\\n', got
        assert n % 10
        outcomes["clean"] += 1
    except ConnectionResetError:
        assert n % 10 == 0
        outcomes["reset"] += 1
print(json.dumps(outcomes), flush=True)
'''


class EchoMany:
    """One thread that echoes on any number of connections and remembers the last bytes of each."""

    def __init__(self):
        self.listener = socket.socket()
        self.listener.bind(('127.0.0.1', 0))
        self.listener.listen(4096)
        self.port = self.listener.getsockname()[1]
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.last, self.accepted, self.stop = {}, 0, False
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.stop:
            for key, _ in self.selector.select(0.2):
                if key.fileobj is self.listener:
                    sock, _ = self.listener.accept()
                    self.selector.register(sock, selectors.EVENT_READ)
                    self.accepted += 1
                    continue
                self.echo(key.fileobj)

    def echo(self, sock):
        try:
            data = sock.recv(4096)
            if data:
                self.last[sock] = data
                sock.sendall(data)
                return
        except OSError:
            pass
        self.selector.unregister(sock)
        sock.close()

    def close(self):
        self.stop = True
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()


def a_thousand_streams(bench):
    """1,000 concurrent streams, every tenth denied, none confused with another"""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 5000), hard))
    server = EchoMany()
    bench.undo.append(server.close)
    bench.undo.append(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))
    daemon = bench.daemon()
    agent = daemon.start_agent(AGENT, server.port, COUNT)
    equal(agent.stdout.readline(), b'open\n', 'the agent\'s first word')
    wait_for(lambda: daemon.status()['streams']['open'] == COUNT, 20, 'all streams to be open')
    out, err = agent.communicate(b'go\n', timeout=60)
    equal(agent.returncode, 0, 'exit status; %r' % err)
    equal(json.loads(out), {'clean': COUNT * 9 // 10, 'reset': COUNT // 10}, 'outcomes')
    equal(server.accepted, COUNT, 'connections at the server')
    check(not any(b'forbidden' in data for data in server.last.values()), 'a refused term arrived')
    streams = daemon.status()['streams']
    equal((streams['total'], streams['open'], streams['denied']), (COUNT, 0, COUNT // 10),
          'streams total, open, denied')


if __name__ == '__main__':
    main([a_thousand_streams])
