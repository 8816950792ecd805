#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ways past the hooks of a watched cgroup, where no filter of system calls helps: each is
tried with words that policy refuses, and none of them may arrive. All in a network
namespace of the test's own.
"""
import json
import os
import socket
import sys

from sluice_test import NOBODY, POLICY, TERM, enter_own_network, main
from waiting import check, equal, wait_for

RESOLVER, SINK = '127.0.0.53', '127.0.0.54'
SECRET = TERM.encode()

PRELUDE = r'''
import ctypes, errno, json, mmap, os, socket, struct, sys, threading
os.setgid(%d)
os.setuid(%d)
libc = ctypes.CDLL(None, use_errno=True)
port = int(sys.argv[1])
RESOLVER, SINK, HERE = ("127.0.0.53", 53), ("127.0.0.54", 53), ("127.0.0.1", port)
WORDS = b'{"t":"forbidden"}\n'
out = {}
def attempt(function):
    try:
        out[function.__name__] = function() or "done"
    except OSError as error:
        out[function.__name__] = errno.errorcode.get(error.errno, type(error).__name__)
def call(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(number, *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), "system call %%d" %% number)
    return result
def stream(family=socket.AF_INET):
    s = socket.socket(family)
    s.settimeout(5)
    return s
def end(s):
    try:
        while s.recv(4096):
            pass
    except ConnectionResetError:
        return "reset"
    return "end"
''' % (NOBODY, NOBODY)

STREAMS = PRELUDE + r'''
IPV6_ADDRFORM = 1

def converted_to_ipv4():
    s = stream(socket.AF_INET6)
    s.connect(("::ffff:127.0.0.1", port))
    s.setsockopt(socket.IPPROTO_IPV6, IPV6_ADDRFORM, socket.AF_INET)
    s.sendall(WORDS)
    return end(s)

def converted_and_connected_again():
    s = stream(socket.AF_INET6)
    s.connect(("::ffff:127.0.0.1", port))
    s.setsockopt(socket.IPPROTO_IPV6, IPV6_ADDRFORM, socket.AF_INET)
    if libc.connect(s.fileno(), bytes(16), 16):
        raise OSError(ctypes.get_errno(), "disconnect")
    address = struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", port, b"\x7f\0\0\x01")
    if libc.connect(s.fileno(), address, 16) and ctypes.get_errno() not in (0, errno.EINPROGRESS):
        raise OSError(ctypes.get_errno(), "connect")
    s.sendall(WORDS)
    return end(s)

def several_at_once():
    s = stream()
    s.connect(HERE)
    text = ctypes.create_string_buffer(WORDS, len(WORDS))
    vector = struct.pack("=QQ", ctypes.addressof(text), len(WORDS))
    vectors = ctypes.create_string_buffer(vector, 16)
    one = struct.pack("=QI4xQQQQi4xI4x", 0, 0, ctypes.addressof(vectors), 1, 0, 0, 0, 0)
    call(307, s.fileno(), one * 3, 3, 0)  # sendmmsg
    return end(s)

def pages_of_memory():
    s = stream()
    s.connect(HERE)
    pages = mmap.mmap(-1, 4096)
    pages.write(WORDS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    read_end, write_end = os.pipe()
    vector = struct.pack("=QQ", address, len(WORDS))
    call(278, write_end, vector, 1, 8)  # vmsplice, SPLICE_F_GIFT
    os.splice(read_end, s.fileno(), len(WORDS))
    return end(s)

def by_a_child():
    s = stream()
    s.connect(HERE)
    if os.fork() == 0:
        s.sendall(WORDS)
        os._exit(0)
    os.wait()
    return end(s)

def passed_through_a_pair():
    here, there = socket.socketpair()
    s = stream()
    socket.send_fds(here, [b"x"], [s.fileno()])
    _, fds, _, _ = socket.recv_fds(there, 1, 1)
    again = socket.socket(fileno=fds[0])
    again.settimeout(5)
    again.connect(HERE)
    again.sendall(WORDS)
    return end(again)

def own_listener():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    listener.settimeout(1)
    s = stream()
    s.connect(listener.getsockname())
    return listener.accept() and "accepted"

def itself():
    s = stream()
    s.bind(("127.0.0.1", 0))
    s.connect(s.getsockname())
    return "connected"

def repaired():
    stream().setsockopt(socket.IPPROTO_TCP, 19, 1)  # TCP_REPAIR

def with_another_protocol_over():
    s = stream()
    s.connect(HERE)
    s.setsockopt(socket.IPPROTO_TCP, 31, b"tls\0")  # TCP_ULP
    s.sendall(WORDS)
    return end(s)

class Ring:
    """An io_uring of one entry."""
    def __init__(self, flags=0):
        params = ctypes.create_string_buffer(120)
        struct.pack_into("=IIIII", params, 0, 0, 0, flags, 0, 100)
        self.fd = call(425, 1, params)
        self.flags = flags
        sq = struct.unpack_from("=8I", params, 40)
        cq = struct.unpack_from("=8I", params, 80)
        _, self.tail, self.mask, _, _, _, self.array, _ = sq
        self.head, self.done, _, _, _, self.entries, _, _ = cq
        self.sq = mmap.mmap(self.fd, 4096, offset=0)
        self.cq = mmap.mmap(self.fd, 4096, offset=0x8000000)
        self.sqes = mmap.mmap(self.fd, 4096, offset=0x10000000)
    def run(self, opcode, fd, off=0, address=0, length=0, more=0):
        tail = struct.unpack_from("=I", self.sq, self.tail)[0]
        self.sqes[0:64] = struct.pack("=BBHiQQIIQ24x", opcode, 0, 0, fd, off, address, length,
                                      more, 7)
        struct.pack_into("=I", self.sq, self.array, 0)
        struct.pack_into("=I", self.sq, self.tail, tail + 1)
        call(426, self.fd, 1, 1, 1 | (2 if self.flags else 0), None, 0)  # GETEVENTS, SQ_WAKEUP
        head = struct.unpack_from("=I", self.cq, self.head)[0]
        result = struct.unpack_from("=Qi", self.cq, self.entries + 16 * (head & 1))[1]
        struct.pack_into("=I", self.cq, self.head, head + 1)
        if result < 0:
            raise OSError(-result, "operation %d of io_uring" % opcode)
        return result

def rung(flags):
    ring = Ring(flags)
    fd = ring.run(45, socket.AF_INET, off=socket.SOCK_STREAM)  # SOCKET
    s = socket.socket(fileno=fd)
    s.settimeout(5)
    address = struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", port, b"\x7f\0\0\x01")
    where = ctypes.create_string_buffer(address, 16)
    os.set_blocking(fd, True)
    ring.run(16, fd, off=16, address=ctypes.addressof(where))  # CONNECT
    text = ctypes.create_string_buffer(WORDS, len(WORDS))
    ring.run(26 if not flags else 47, fd, address=ctypes.addressof(text), length=len(WORDS))
    return end(s)  # SEND, or SEND_ZC

def by_a_ring():
    return rung(0)

def by_a_thread_of_the_kernel():
    return rung(2)  # IORING_SETUP_SQPOLL

for function in (converted_to_ipv4, converted_and_connected_again, several_at_once,
                 pages_of_memory, by_a_child, passed_through_a_pair, own_listener, itself,
                 repaired, with_another_protocol_over, by_a_ring, by_a_thread_of_the_kernel):
    attempt(function)
print(json.dumps(out), flush=True)
'''

DATAGRAMS = PRELUDE + r'''
MSG_MORE, UDP_CORK, UDP_SEGMENT, IP_RETOPTS, IPV6_RTHDR = 0x8000, 1, 103, 7, 57
def datagram(family=socket.AF_INET):
    return socket.socket(family, socket.SOCK_DGRAM)

def resolver_is_asked():
    datagram().sendto(b"a question", RESOLVER)

def turned_away_while_corked():
    s = datagram()
    s.setsockopt(socket.IPPROTO_UDP, UDP_CORK, 1)
    s.sendto(b"corked ", RESOLVER)
    s.sendto(b"forbidden", SINK)
    s.setsockopt(socket.IPPROTO_UDP, UDP_CORK, 0)

def connected_to_the_resolver():
    s = datagram()
    s.connect(RESOLVER)
    s.sendto(b"forbidden", SINK)

def segmented():
    s = datagram()
    s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 9)
    s.sendto(b"forbidden" * 3, SINK)

def routed_by_its_source():
    route = bytes((1, 131, 7, 4)) + socket.inet_aton(SINK[0])
    datagram().sendmsg([b"forbidden"], [(socket.IPPROTO_IP, IP_RETOPTS, route)], 0, RESOLVER)

def routed_by_its_header():
    header = bytes((0, 2, 2, 1, 0, 0, 0, 0)) + socket.inet_pton(socket.AF_INET6, "::1")
    datagram(socket.AF_INET6).sendmsg([b"forbidden"],
                                      [(socket.IPPROTO_IPV6, IPV6_RTHDR, header)], 0, ("::1", 53))

def to_many():
    s = datagram()
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
    s.sendto(b"forbidden", ("224.0.0.1", 53))

for function in (resolver_is_asked, turned_away_while_corked, connected_to_the_resolver,
                 segmented, routed_by_its_source, routed_by_its_header, to_many):
    attempt(function)
print(json.dumps(out), flush=True)
'''


def tried(bench, path, source, *args):
    agent = bench.in_cgroup(path, source, *args)
    out, err = agent.communicate(timeout=60)
    check(out, 'it said %r', err)
    return json.loads(out)


def streams_of_a_watched_cgroup(bench):
    """streams made and written in every way there is are judged, none arrives unjudged"""
    daemon, path, server = bench.daemon(), bench.cgroup(), bench.server()
    daemon.ctl('watch', path)
    out = tried(bench, path, STREAMS, server.port)
    reached = ('converted_to_ipv4', 'converted_and_connected_again', 'pages_of_memory',
               'by_a_child', 'passed_through_a_pair')
    equal({name: out[name] for name in reached}, dict.fromkeys(reached, 'reset'), 'denied')
    # The reset that the second message met is not told again.
    check(out['several_at_once'] in ('reset', 'end'), 'several at once: %r', out)
    for name in ('by_a_ring', 'by_a_thread_of_the_kernel'):
        # Where the machine has no io_uring, or none for everybody.
        check(out[name] in ('reset', 'ENOSYS', 'EPERM', 'EINVAL'), '%s: %s', name, out[name])
    check(out['own_listener'] in ('ETIMEDOUT', 'TimeoutError'), 'own listener: %r', out)
    equal((out['itself'], out['repaired']), ('ECONNREFUSED', 'EPERM'), 'itself, repaired')
    wait_for(lambda: not daemon.status()['streams']['open'], 10, 'the last stream to end')
    equal([bytes(c.data) for c in server.connections if SECRET in c.data], [], 'what arrived')
    denied = daemon.status()['streams']['denied']
    check(denied >= len(reached) + 1, '%d streams were denied', denied)


def datagrams_of_a_watched_cgroup(bench):
    """what is addressed to a resolver and meant for another arrives nowhere else"""
    daemon = bench.daemon(POLICY + 'dns: resolvers\nresolvers: ["%s", "::1"]\n' % RESOLVER)
    path, listeners = bench.cgroup(), {}
    for address in (RESOLVER, SINK, ''):
        listeners[address] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        listeners[address].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listeners[address].bind((address, 53))
        listeners[address].setblocking(False)
        bench.undo.append(listeners[address].close)
    daemon.ctl('watch', path)
    out = tried(bench, path, DATAGRAMS, 0)
    heard = {address: heard_by(sock) for address, sock in listeners.items()}
    equal(heard[RESOLVER][0], b'a question', 'what the resolver heard first; %r' % out)
    equal(heard[SINK] + heard[''], [], 'what others heard; %r' % out)
    equal(out['connected_to_the_resolver'], 'EPERM', 'connected to the resolver')
    check(all(data in (b'a question', b'corked forbidden') for data in heard[RESOLVER]),
          'the resolver heard %r', heard[RESOLVER])


def heard_by(sock):
    heard = []
    try:
        while True:
            heard.append(sock.recv(4096))
    except BlockingIOError:
        return heard


if __name__ == '__main__':
    enter_own_network()
    main([streams_of_a_watched_cgroup, datagrams_of_a_watched_cgroup])
