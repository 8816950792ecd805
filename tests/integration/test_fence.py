#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the fence keeps in, and how a run tells of it. All in a network namespace of the
test's own.
"""
import json
import os
import re
import socket
import subprocess
import sys
import threading

import peers
from sluice_test import NOBODY, enter_own_network, line, main
from waiting import check, equal, wait_for

SECRET = b'LEAKED-BYTES'

# TPROXY gives what arrives for the daemon's port to a listener of its own, of each family.
RULES = '''
table ip taker {
    chain pre {
        type filter hook prerouting priority -150
        meta l4proto tcp tcp dport %(port)d tproxy to 127.0.0.1:%(v4)d meta mark set 1 accept
    }
}
table ip6 taker {
    chain pre {
        type filter hook prerouting priority -150
        meta l4proto tcp tcp dport %(port)d tproxy to [::1]:%(v6)d meta mark set 1 accept
    }
}
'''

# Says the words in one of the ways there are, and tells what came back.
SPEAKER = r'''
import json, socket, sys
out = []
for family, address, port in ((socket.AF_INET, "127.0.0.1", int(sys.argv[2])),
                              (socket.AF_INET6, "::1", int(sys.argv[3]))):
    s = socket.socket(family)
    s.settimeout(2.5)
    try:
        if sys.argv[1] == "with the SYN":
            s.setsockopt(socket.IPPROTO_TCP, 34, 1)  # TCP_FASTOPEN_NO_COOKIE
            s.sendto(sys.argv[4].encode() + b"\n", 0x20000000, (address, port))  # MSG_FASTOPEN
        else:
            s.connect((address, port))
            s.sendall(sys.argv[4].encode() + b"\n")
        if sys.argv[1] == "urgent":
            s.send(sys.argv[4].encode(), socket.MSG_OOB)
        out.append(s.recv(100).decode())
    except OSError as error:
        out.append(type(error).__name__)
print(json.dumps(out), flush=True)
'''

REFUSED_AGENT = r'''
import socket, sys
for _ in range(4):
    socket.socket().connect_ex(("127.0.0.1", int(sys.argv[1])))
for _ in range(3):
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("203.0.113.1", 9))
    except OSError:
        pass
'''


class Taker:
    """Another's listener, to which a rule leads all that is for the daemon's."""

    def __init__(self, bench, port):
        self.port, self.heard, self.accepted, self.sockets = port, [], 0, {}
        for name, family in (('v4', socket.AF_INET), ('v6', socket.AF_INET6)):
            listener = socket.socket(family)
            level, transparent = ((socket.IPPROTO_IP, 19) if family == socket.AF_INET
                                  else (socket.IPPROTO_IPV6, 75))
            listener.setsockopt(level, transparent, 1)
            listener.setsockopt(socket.IPPROTO_TCP, 23, 16)  # TCP_FASTOPEN
            listener.bind(('127.0.0.1' if name == 'v4' else '::1', 0))
            listener.listen()
            bench.undo.append(listener.close)
            self.sockets[name] = listener
            threading.Thread(target=self.take, args=(listener,), daemon=True).start()
        bench.undo.append(self.leave)

    def take(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self.hear, args=(sock,), daemon=True).start()

    def hear(self, sock):
        try:
            sock.send(b'of another')
            while True:
                said = sock.recv(4096)
                if not said:
                    return
                self.heard.append(said)
        except OSError:
            pass

    def come(self):
        ports = {name: sock.getsockname()[1] for name, sock in self.sockets.items()}
        subprocess.run(['nft', '-f', '-'], input=RULES % dict(ports, port=self.port), text=True,
                       check=True)

    def leave(self):
        for family in ('ip', 'ip6'):
            subprocess.run(['nft', 'delete', 'table', family, 'taker'], check=False,
                           stderr=subprocess.DEVNULL)


def both_ports(bench):
    return [bench.server(peers.echo, family).port for family in (socket.AF_INET, socket.AF_INET6)]


def speak(bench, path, *args):
    agent = bench.in_cgroup(path, 'import os; os.setgid(%d); os.setuid(%d)\n' % (NOBODY, NOBODY)
                            + SPEAKER, *args)
    out, err = agent.communicate(timeout=20)
    check(out, 'it said %r', err)
    return json.loads(out)


def taken_by_another_listener(bench):
    """where a rule leads connections to another's listener, no payload passes either way"""
    daemon, ports, path = bench.daemon(), both_ports(bench), bench.cgroup()
    with open('/proc/sys/net/ipv4/tcp_fastopen', 'w', encoding='ascii') as setting:
        setting.write(str(0x607))  # as a server without cookies as well
    taker = Taker(bench, daemon.port)
    daemon.ctl('watch', path)
    taker.come()
    # That the rule takes connections is shown first, by a client that nobody watches.
    with socket.create_connection(('127.0.0.1', daemon.port), timeout=5) as client:
        client.sendall(b'seen')
        equal(client.recv(100), b'of another', 'what answers at the port of the daemon')
        wait_for(lambda: taker.heard == [b'seen'], 5, 'what the client said')
    taker.heard.clear()
    for way in ('after the handshake', 'urgent', 'with the SYN'):
        before, accepted = daemon.counters()['fence_diverted'], taker.accepted
        equal(speak(bench, path, way, *ports, SECRET.decode()), ['TimeoutError'] * 2, way)
        equal((taker.heard, taker.accepted - accepted), ([], 2), 'heard, accepted; ' + way)
        check(daemon.counters()['fence_diverted'] > before, 'nothing was counted ' + way)
    check('refused fence_diverted to 127.0.0.1:%d' % daemon.port in daemon.read_log(),
          'the log of it: %s', daemon.read_log())
    taker.leave()
    said = line('hello').decode()
    equal(speak(bench, path, 'after the handshake', *ports, said.strip()), [said] * 2,
          'without the rule')


def every_refusal_is_told(bench):
    """the last line of a run has every refusal, not one a second"""
    daemon = bench.daemon()
    done = daemon.agent(REFUSED_AGENT, daemon.port)
    found = re.search(rb'refused by the fence (\d+) \((.*?)\)', done.stderr)
    check(found, 'the summary: %r', done.stderr)
    kinds = dict(kind.rsplit(b' ', 1) for kind in found[2].split(b', '))
    equal((kinds.get(b'refused_listener_port'), kinds.get(b'udp')), (b'4', b'3'), 'in %r' % found[2])
    equal(int(found[1]), sum(map(int, kinds.values())), 'the sum in %r' % done.stderr)
    done = daemon.agent('pass')
    check(b'listener_port' not in done.stderr and b'udp' not in done.stderr,
          'of another run: %r', done.stderr)


if __name__ == '__main__':
    enter_own_network()
    main([taken_by_another_listener, every_refusal_is_told])
