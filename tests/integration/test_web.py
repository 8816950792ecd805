#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The listener of metrics and of the status page, with clients that do what none should."""
import http.client
import json
import os
import re
import socket
import time

from peers import reset
from sluice_test import main
from test_metrics import CLIENTS_MAX, IDLE_S, ask, served
from waiting import check, equal, wait_for

GET = b'GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n'


def connect(daemon):
    return socket.create_connection(('127.0.0.1', daemon.web), 10)


def read_answer(file):
    """(status, headers, body) of the next answer."""
    status = int(file.readline().split()[1])
    headers = http.client.parse_headers(file)
    return status, headers, file.read(int(headers['Content-Length']))


def rest_of(sock):
    """What comes until the end."""
    data = b''
    while piece := sock.recv(65536):
        data += piece
    return data


def byte_by_byte(bench):
    """requests in pieces of a byte are answered as others are, one after the other"""
    daemon = served(bench)
    paths = (b'/status.json', b'/metrics', b'/none', b'/')
    with connect(daemon) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number, byte in enumerate(b''.join(GET % path for path in paths)):
            sock.sendall(bytes([byte]))
            if number % 8 == 0:
                equal(ask(daemon, 'HEAD')[0].status, 200, 'the status for another')
        file = sock.makefile('rb')
        answers = [read_answer(file) for _ in paths[:3]]
        equal([answer[0] for answer in answers], [200, 200, 404], 'the statuses')
        equal(json.loads(answers[0][2])['instance'], daemon.instance, 'the first answer')
        equal((answers[2][1]['Connection'], file.read()), ('close', b''),
              'what follows a refusal')
        file.close()


def ends_as_asked(bench):
    """Connection: close and HTTP/1.0 end with the answer, to HEAD too; others may ask again"""
    daemon = served(bench)
    for path in (b'/', b'/metrics', b'/status.json', b'/streams.json'):
        for method in (b'GET', b'HEAD'):
            for version, header in ((b'1.1', b'Connection: close\r\n'), (b'1.0', b'')):
                with connect(daemon) as sock:
                    sock.sendall(b'%s %s HTTP/%s\r\nHost: [::1]:1\r\n%s\r\n' % (
                        method, path, version, header))
                    head, end, body = rest_of(sock).partition(b'\r\n\r\n')
                check(head.split(b' ')[1] == b'200' and end, '%s %s: %r', method, path, head)
                equal(bool(body), method == b'GET', 'whether %s %s has a body' % (method, path))
    with connect(daemon) as sock:
        file = sock.makefile('rb')
        for path in (b'/', b'/status.json', b'/metrics'):
            sock.sendall((GET % path).replace(b'GET', b'HEAD', 1))
            equal(int(file.readline().split()[1]), 200, 'the status of HEAD')
            http.client.parse_headers(file)
            sock.sendall(GET % path)
            equal(read_answer(file)[0], 200, 'the status behind HEAD')
        file.close()


def foreign_hosts(bench):
    """what a page of a foreign name makes a browser send reads nothing, whatever the path"""
    daemon = served(bench)
    for host in (b'evil.example:%d' % daemon.web, b'localhost.evil.example', b'evil@127.0.0.1',
                 b'127.0.0.1@evil.example', b'127.0.0.1 evil', b'[::1', b'[::1]80', b'[localhost]', b'.',
                 b'localhost:80:80', b'0x7f.1', b'2130706433', b'\xff', b':80'):
        for path in (b'/', b'/metrics', b'/status.json', b'/streams.json', b'/streams.json?id=1'):
            with connect(daemon) as sock:
                sock.sendall(b'GET %s HTTP/1.1\r\nHost: %s\r\n\r\n' % (path, host))
                head, _, body = rest_of(sock).partition(b'\r\n\r\n')
            equal(head.split(b' ')[1], b'403', 'the status of %r at %r' % (path, host))
            check(host not in head + body or host in (b'.', b'\xff'), 'it repeats %r', host)
    for target, status in ((b'http://evil.example/', b'403'), (b'http://127.0.0.1/', b'200'),
                           (b'http://localhost:1/metrics', b'200'), (b'//evil.example/', b'403'),
                           (b'http://evil.example@localhost/', b'200')):
        with connect(daemon) as sock:
            sock.sendall(b'HEAD %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' %
                         target)
            equal(rest_of(sock).split(b' ')[1], status, 'the status of %r' % target)


def heads_that_are_odd(bench):
    """header names and values of every byte, folded, without a name, many: none ends the daemon"""
    daemon = served(bench)
    for byte in range(256):
        with connect(daemon) as sock:
            piece = bytes([byte])
            sock.sendall(b'GET /metrics?%s HTTP/1.1\r\nHost: localhost\r\n%sX%s: a%sb\r\n%s'
                         b'Connection: close\r\n\r\n' % ((piece,) * 5))
            sock.shutdown(socket.SHUT_WR)
            try:
                answer = rest_of(sock)
            except ConnectionError:
                answer = b''
        check(not answer or re.match(rb'HTTP/1\.[01] (200|400|403|404) ', answer),
              'byte %d: %r', byte, answer[:100])
    equal(ask(daemon)[0].status, 200, 'the status after all of it')


def a_crowd(bench):
    """of 200 that connect at once and ask nothing none stays, and who asks behind them is served"""
    daemon = served(bench)
    folder = '/proc/%d/fd' % daemon.process.pid
    before = len(os.listdir(folder))
    crowd = []
    for _ in range(200):
        sock = socket.socket()
        sock.setblocking(False)
        sock.connect_ex(('127.0.0.1', daemon.web))
        crowd.append(sock)
    wait_for(lambda: len(os.listdir(folder)) >= before + CLIENTS_MAX - 1, 5, 'a full house')
    time.sleep(0.6)
    check(len(os.listdir(folder)) <= before + CLIENTS_MAX + 1, 'it took more than it serves')
    equal(daemon.status()['instance'], daemon.instance, 'the instance, by the control socket')
    for number, sock in enumerate(crowd):
        if number % 2:
            reset(sock)
        else:
            sock.close()
    began = time.monotonic()
    equal(ask(daemon)[0].status, 200, 'the status of who asks next')
    check(time.monotonic() - began < IDLE_S / 2, 'after %.1f s', time.monotonic() - began)
    wait_for(lambda: len(os.listdir(folder)) <= before + 1, 10, 'all of them to be gone')


if __name__ == '__main__':
    main([byte_by_byte, ends_as_asked, foreign_hosts, heads_that_are_odd, a_crowd])
