#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ways out, and ways to harm others, that hostile agents tried: devices other than
loopback, floods of connects, names that are terminal escapes, closed sockets whose
peers stay. All in a network namespace of the test's own.
"""
import json
import os
import socket
import subprocess
import sys
import threading
import time

import peers
from sluice_test import NOBODY, enter_own_network, main
from waiting import check, equal, wait_for

WIRE, FAR_END = 'wire0', 'wire1'
SECRET = b'LEAKED-BYTES'

# What a socket may not reach: a wire, with the daemon's own address as destination.
DEVICE_AGENT = r'''
import errno, json, os, socket, sys
wire, late = sys.argv[1].encode() + b"\0", sys.argv[2] == "late"
out = []
for family, near, far, port in ((socket.AF_INET, "127.0.0.1", "192.0.2.99", int(sys.argv[3])),
                                (socket.AF_INET6, "::1", "2001:db8::99", int(sys.argv[4]))):
    s = socket.socket(family)
    s.settimeout(1)
    try:
        if late:
            s.connect((near, port))
        s.setsockopt(socket.SOL_SOCKET, 25, wire)
        if late:
            s.send(b"LEAKED-BYTES" * 10)
            out.append("sent")
        else:
            s.setsockopt(socket.IPPROTO_TCP, 34, 1)  # TCP_FASTOPEN_NO_COOKIE
            s.sendto(b"LEAKED-BYTES", 0x20000000, (far, 80))  # MSG_FASTOPEN
            out.append("sent")
    except OSError as error:
        out.append(errno.errorcode.get(error.errno, str(error)))
print(json.dumps(out), flush=True)
'''

# Sends pages of a file, which it goes on changing, and tells what each stream came to.
PAGES_AGENT = r'''
import mmap, os, socket, sys, tempfile, threading
clean = b'{"t":"a clean line"}\n' * 200
dirty = clean.replace(b"clean line", b"forbidden ")
file = tempfile.TemporaryFile()
file.write(clean)
file.flush()
pages, over = mmap.mmap(file.fileno(), len(clean)), threading.Event()
def change():
    while not over.is_set():
        pages[:] = dirty
        pages[:] = clean
thread = threading.Thread(target=change)
thread.start()
for way in range(60):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
        try:
            if way % 3 == 0:
                os.sendfile(s.fileno(), file.fileno(), 0, len(clean))
            elif way % 3 == 1:
                read_end, write_end = os.pipe()
                moved = os.splice(file.fileno(), write_end, len(clean), offset_src=0)
                os.splice(read_end, s.fileno(), moved)
                os.close(read_end)
                os.close(write_end)
            else:
                s.setsockopt(socket.SOL_SOCKET, 60, 1)  # SO_ZEROCOPY
                s.sendmsg([pages], [], 0x4000000)  # MSG_ZEROCOPY
            s.shutdown(socket.SHUT_WR)
            s.settimeout(5)
            while s.recv(4096):
                pass
        except OSError:
            pass  # denied: the pages were the changed ones
over.set()
thread.join()
'''

EAGER = '''\
version: 1
name: eager
framing: ndjson
extract: "path:t"
on_deny: reset
limits: {eager_bytes: 65536}
'''

BECOME_NOBODY = 'import os; os.setgid(%d); os.setuid(%d)\n' % (NOBODY, NOBODY)

# As fast as it can until it is told that this was too fast, then for some seconds as what the
# others leave it: the victim is to want for connections, not for a processor.
FLOOD_AGENT = r'''
import ctypes, os, select, socket, sys, time
port, seconds = int(sys.argv[1]), float(sys.argv[2])
libc, nowhere = ctypes.CDLL(None), bytes(16)
s = socket.socket()
s.setblocking(False)
attempts = 0
def flood():
    global attempts
    for _ in range(64):
        s.connect_ex(("127.0.0.1", port))
        libc.connect(s.fileno(), nowhere, 16)
        attempts += 1
while not select.select([sys.stdin], [], [], 0)[0]:
    flood()
os.nice(19)
end = time.monotonic() + seconds
while time.monotonic() < end:
    flood()
print(attempts, flush=True)
'''

VICTIM_AGENT = r'''
import socket, sys
for _ in range(int(sys.argv[2])):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=20)
    s.sendall(b'{"t":"hello"}\n')
    print(s.recv(100).decode(), end="", flush=True)
    s.close()
'''

NAMED_AGENT = r'''
import ctypes, socket, sys
ctypes.CDLL(None).prctl(15, b"a\xc2\x9b2J\x1b[m\n\xff", 0, 0, 0)
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10)
s.sendall(b'{"t":"hello"}\n')
print(s.recv(100).decode(), end="", flush=True)
sys.stdin.read()
s.sendall(b"no json\n")
s.recv(1)
'''

CLOSING_AGENT = r'''
import socket, sys
for _ in range(3):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10)
    s.sendall(b'{"t":"hello"}\n')
    s.recv(100)
    s.close()
print("closed", flush=True)
sys.stdin.read()
'''

OPTIONS_AGENT = r'''
import socket, sys
s = socket.socket()
s.settimeout(1)
s.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, bytes((7, 7, 4, 0, 0, 0, 0, 0)))
try:
    s.connect(("127.0.0.1", int(sys.argv[1])))
    print("connected", flush=True)
except OSError as error:
    print(type(error).__name__, flush=True)
'''


def ip(*words):
    subprocess.run(['ip', *words], check=True)


class Wire:
    """A pair of devices; what leaves by the first is seen at the second."""

    def __init__(self, bench):
        bench.undo.append(lambda: subprocess.run(['ip', 'link', 'del', WIRE], check=False,
                                                 stderr=subprocess.DEVNULL))
        ip('link', 'add', WIRE, 'arp', 'off', 'type', 'veth', 'peer', 'name', FAR_END)
        ip('address', 'add', '192.0.2.1/24', 'dev', WIRE)
        ip('-6', 'address', 'add', '2001:db8::1/64', 'dev', WIRE, 'nodad')
        ip('link', 'set', FAR_END, 'up')
        ip('link', 'set', WIRE, 'up')
        # A way for every address, the loopback ones of a socket bound to the wire too.
        ip('route', 'add', 'default', 'dev', WIRE)
        ip('-6', 'route', 'add', 'default', 'dev', WIRE)
        self.far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.far.bind((FAR_END, 0))
        self.far.settimeout(0.3)
        # That it sees what there is to see is shown first.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.sendto(SECRET, ('192.0.2.99', 9))
        wait_for(lambda: any(SECRET in packet for packet in self.packets()), 5,
                 'a packet that the wire shows')

    def packets(self):
        seen = []
        end = time.monotonic() + 2
        while time.monotonic() < end:
            try:
                seen.append(self.far.recv(65536))
            except TimeoutError:
                break
        return seen

    def check_silent(self, when):
        leaked = [packet.hex() for packet in self.packets() if SECRET in packet]
        equal(leaked, [], 'packets on the wire with bytes of the agent, ' + when)


def both_ports(bench):
    return [bench.server(peers.echo, family).port for family in (socket.AF_INET, socket.AF_INET6)]


def device_of_a_run(bench):
    """a command cannot bind a socket to a device, before or after it connects"""
    daemon, wire, ports = bench.daemon(), Wire(bench), both_ports(bench)
    for when in ('early', 'late'):
        done = daemon.agent(DEVICE_AGENT, WIRE, when, *ports)
        equal(json.loads(done.stdout), ['EPERM', 'EPERM'], when + ' binding to a device')
        wire.check_silent(when)


def device_of_a_watched_cgroup(bench):
    """a watched socket that is bound to a device puts nothing on its wire"""
    daemon, wire, ports = bench.daemon(), Wire(bench), both_ports(bench)
    path = bench.cgroup()
    daemon.ctl('watch', path)
    for when, expected in (('early', 'EPERM'), ('late', 'sent')):
        agent = bench.in_cgroup(path, BECOME_NOBODY + DEVICE_AGENT, WIRE, when, *ports)
        out, err = agent.communicate(timeout=20)
        equal(json.loads(out or b'[]'), [expected] * 2, '%s; it said %s' % (when, err))
        wire.check_silent(when)


def options_are_refused(bench):
    """a packet with IP options is not plainly TCP, and stays"""
    daemon, server = bench.daemon(), bench.server(peers.echo)
    done = daemon.agent(OPTIONS_AGENT, server.port)
    equal(done.stdout.strip(), b'TimeoutError', 'connecting with IP options')
    check(daemon.counters()['fence_protocol'] > 0, 'the fence counted nothing')


def flood_is_paced(bench):
    """one agent's flood of connects does not shut the others out"""
    daemon, server = bench.daemon(), bench.server(peers.echo)
    started = time.monotonic()
    flood = daemon.start_agent(FLOOD_AGENT, server.port, 6)
    wait_for(lambda: daemon.counters()['paced'], 30, 'a SYN that was held back')
    flood.stdin.write(b'\n')
    flood.stdin.flush()
    began = time.monotonic()
    done = daemon.agent(VICTIM_AGENT, server.port, 5)
    took = time.monotonic() - began
    equal(done.stdout.count(b'hello'), 5, 'answers the victim got; %r' % done.stderr)
    check(took < 20, 'the victim took %.1f s', took)
    out, _ = flood.communicate(timeout=40)
    most = 2048 + 2000 * (time.monotonic() - started)
    total = daemon.status()['streams']['total']
    check(total < most, 'the flood of %d got %d streams, and not %d', int(out), total, most)


def name_is_no_escape(bench):
    """what a process calls itself cannot speak to the operator's terminal"""
    daemon, server = bench.daemon(), bench.server(peers.echo)
    agent = daemon.start_agent(NAMED_AGENT, server.port)
    equal(agent.stdout.readline(), b'{"t":"hello"}\n', 'the answer')
    name = 'a??2J?[m??'
    equal(daemon.call('streams')['streams'][0]['comm'], name, 'comm by JSON-RPC')
    check(name.encode() in daemon.ctl('streams').stdout, 'the table shows another name')
    agent.communicate(b'', timeout=20)
    check("'%s'" % name in daemon.read_log(), 'the log has another name')
    rows = daemon.read_log().splitlines()
    check(all(row.startswith('sluiced: ') and row.isascii() and row.isprintable()
              for row in rows), 'the log: %s', rows)


def closed_and_forgotten(bench):
    """a stream ends whose agent closed its socket and whose peer never does"""
    with open('/proc/sys/net/ipv4/tcp_fin_timeout', 'w', encoding='ascii') as timeout:
        timeout.write('1')
    over = threading.Event()
    bench.undo.append(over.set)

    def stay(connection):
        connection.sock.sendall(connection.sock.recv(100))
        over.wait(100)

    daemon, server = bench.daemon(), bench.server(stay)
    agent = daemon.start_agent(CLOSING_AGENT, server.port)
    equal(agent.stdout.readline(), b'closed\n', 'the agent')
    wait_for(lambda: daemon.status()['streams']['open'] == 0, 45, 'the streams to end')
    agent.communicate(b'', timeout=20)


def upstream_never_answers(bench):
    """a peer that never answers: a reset at the connect timeout, and nothing left before"""
    wire = Wire(bench)
    daemon = bench.daemon()
    done = daemon.agent('''
import socket
s = socket.create_connection(("192.0.2.99", 80), 5)
s.sendall(b"LEAKED-BYTES\\n")
s.settimeout(20)
try:
    print(s.recv(1))
except OSError as error:
    print(type(error).__name__)
''', seconds=40)
    equal(done.stdout, b'ConnectionResetError\n', 'what the agent saw; %r' % done.stderr)
    equal(daemon.status()['reasons'], {'upstream_timeout': 1}, 'reasons')
    wire.check_silent('of a stream without a peer')


def pages_change_under_the_judge(bench):
    """pages that change while they are sent: what is judged is what arrives"""
    daemon, server = bench.daemon(), bench.server()
    done = daemon.agent(PAGES_AGENT, server.port)
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    status = daemon.status()
    equal(status['streams']['total'], 60, 'streams')
    check(status['streams']['denied'] > 0, 'no stream was denied: the pages never changed in time')
    for number in range(len(server.connections)):
        data = bytes(server.ended(number).data)
        check(b'forbidden' not in data, 'stream %d brought what was refused', number)
        check(not data or data.endswith(b'\n'), 'stream %d was cut inside a unit', number)


def eager_writing_stays_at_home(bench):
    """eager writing is refused outside the initial network namespace"""
    daemon = bench.daemon(EAGER, start=False)
    done = bench.run(daemon.arguments(), seconds=20)
    equal(done.returncode, 1, 'exit status')
    check(b'eager_bytes' in done.stderr and b'initial' in done.stderr, '%r', done.stderr)
    check(not os.path.exists(daemon.pins), 'pins were left')


def delegated_is_declared(bench):
    """a cgroup that its processes can leave is watched with a warning, any other without"""
    daemon, above = bench.daemon(), bench.cgroup('above')
    path = os.path.join(above, 'watched')
    os.mkdir(path)
    bench.cgroups.append(path)
    for owner, expected in ((0, False), (NOBODY, True)):
        os.chown(os.path.join(above, 'cgroup.procs'), owner, owner)
        daemon.ctl('watch', path)
        ways = daemon.status()['watches'][0]['open_ways']
        equal(any('another cgroup' in way for way in ways), expected,
              'declared with owner %d; open ways %r' % (owner, ways))
        daemon.ctl('unwatch', path)


if __name__ == '__main__':
    enter_own_network()
    main([device_of_a_run, device_of_a_watched_cgroup, options_are_refused, flood_is_paced,
          upstream_never_answers, pages_change_under_the_judge, eager_writing_stays_at_home,
          name_is_no_escape, closed_and_forgotten, delegated_is_declared])
