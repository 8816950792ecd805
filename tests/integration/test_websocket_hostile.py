#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""WebSockets whose every byte the test chooses: bad frames of either side are refused by a
close frame behind what was released, a bad handshake before it arrives."""
import json
import os

from http_bench import KEY, POLICY as HTTP, TERM, refused, request
from sluice_test import main
from waiting import check, equal

POLICY = HTTP.replace('extract: auto', 'extract: raw') + \
    'limits: {max_message_bytes: 1000, incomplete_message_timeout_s: 1}\n'
MASK = b'\x12\x34\x56\x78'
UPGRADE = request('/chat', fields=[
    'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='])
AGREED = b'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' \
    b'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n'
DEFLATE = b'Sec-WebSocket-Extensions: permessage-deflate\r\n'

# Asks, and once a head has come sends each of the other writes; says all that came.
AGENT = '''
import json, socket, sys, time
rows = []
for ask, *writes in json.load(open(sys.argv[2])):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.settimeout(10)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data, end = b"", "eof"
    try:
        s.sendall(bytes.fromhex(ask))
        while b"\\r\\n\\r\\n" not in data:
            piece = s.recv(65536)
            if not piece:
                break
            data += piece
        for write in writes:
            s.sendall(bytes.fromhex(write))
            time.sleep(0.05)
        while piece := s.recv(65536):
            data += piece
    except (ConnectionResetError, BrokenPipeError):
        end = "reset"
    s.close()
    rows.append([data.hex(), end])
print(json.dumps(rows))
'''


def frame(payload, opcode=1, masked=False, first=0x80, length=None):
    """One frame; of a client where it is masked."""
    size = len(payload) if length is None else length
    head = bytes([first | opcode])
    flag = 0x80 if masked else 0
    if size < 126:
        head += bytes([flag | size])
    else:
        head += bytes([flag | 126]) + size.to_bytes(2, 'big')
    if masked:
        head += MASK
        payload = bytes(byte ^ MASK[i % 4] for i, byte in enumerate(payload))
    return head + payload


def client(payload, opcode=1, **how):
    return frame(payload, opcode, True, **how)


def close(reason, task=None):
    return frame((1008).to_bytes(2, 'big') + (
        '%s, task %s' % (reason, task) if task else reason).encode(), 8)


FINE = client(b'fine')


class Case:
    """Each connection is answered by the next of the answers."""

    def __init__(self, bench, answers):
        self.bench, self.daemon = bench, bench.daemon(POLICY)
        answers = iter(answers)

        def tell(connection):
            answer = next(answers)
            connection.take(connection.sock.recv(65536))
            connection.sock.sendall(answer)
            connection.read_all()

        self.server = bench.server(tell)

    def talk(self, connections, policy=POLICY):
        """[(bytes, how it ended)] of each connection, and how often each reason came."""
        plan = self.bench.file('plan.json', json.dumps(
            [[write.hex() for write in writes] for writes in connections]))
        done = self.daemon.agent(AGENT, self.server.port, plan, policy=policy)
        equal(done.returncode, 0, 'exit status; it said %r' % done.stderr)
        return [(bytes.fromhex(data), end) for data, end in json.loads(done.stdout)], \
            done.stderr.decode()


def bad_client(bench):
    """frames of a client that are none: a close follows, and no more reaches the server"""
    agreed = AGREED + b'\r\n'
    half = client(b'first half', first=0)
    bad = [(frame(b'unmasked'), 'protocol'), (client(b'x', 3), 'protocol'),
           (client(b'x', first=0xc0), 'protocol'), (client(b'x', 0), 'protocol'),
           (client(b'x', 9, first=0), 'protocol'), (client(b'x' * 126, 9), 'protocol'),
           (client(b'\x03\xed', 8), 'protocol'), (half + client(b'x'), 'protocol'),
           (client(b'\xff'), 'bad_utf8'), (client(b'\xc3', first=0) + client(b'x', 0), 'bad_utf8'),
           (client(b'x' * 1001), 'too_large'), (client(b'', length=1001)[:8], 'too_large'),
           (half, 'truncated'), (client(b'text')[:7], 'truncated')]
    case = Case(bench, [agreed] * len(bad))
    got, run = case.talk([[UPGRADE, FINE, wrong] for wrong, _ in bad])
    equal(got, [(agreed + close(reason), 'eof') for _, reason in bad], 'what came; %s' % run)
    for number in range(len(bad)):
        connection = case.server.ended(number)
        equal((bytes(connection.data), connection.end), (UPGRADE + FINE, 'reset'),
              'at the server: %r' % (bad[number],))
    for reason in {reason for _, reason in bad}:
        check('%s %d' % (reason, [why for _, why in bad].count(reason)) in run,
              'the run says %s', run)


def bad_server(bench):
    """frames of a server that are none: what was whole before them arrives"""
    fine, agreed = frame(b'fine'), AGREED + b'\r\n'
    bad = [(client(b'masked'), 'protocol'), (frame(b'x', 3), 'protocol'),
           (frame(b'x', first=0xc0), 'protocol'), (frame(b'\x00', 8), 'protocol'),
           (frame(b'\xff'), 'bad_utf8'), (frame(b'x' * 1001), 'too_large'),
           (frame(b'half', first=0), 'truncated')]
    case = Case(bench, [agreed + fine + wrong for wrong, _ in bad])
    got, run = case.talk([[UPGRADE] for _ in bad])
    equal(got, [(agreed + fine + close(reason), 'eof') for _, reason in bad],
          'what came; %s' % run)


def behind_a_close(bench):
    """where the server has closed a refusal says nothing more"""
    said = AGREED + b'\r\n' + frame((1000).to_bytes(2, 'big'), 8)
    case = Case(bench, [said, said + frame(b'more')])
    got, run = case.talk([[UPGRADE, client(KEY.encode())], [UPGRADE]])
    for data, end in got:
        equal((data, end), (said, 'reset'), 'what came; %s' % run)
    equal([bytes(case.server.ended(n).data) for n in range(2)], [UPGRADE] * 2,
          'what reached the server')
    check('denied:keys 1' in run and 'protocol 1' in run, 'the run says %s', run)


def bad_handshakes(bench):
    """a 101 that agrees on what was not asked, or on what is not known, or says a term"""
    answers = [(AGREED + DEFLATE, 'unframed'),
               (AGREED + b'Sec-WebSocket-Extensions: x-other\r\n', 'unframed'),
               (AGREED.replace(b'Upgrade: websocket', b'Upgrade: other'), 'unframed'),
               (AGREED + b'X-Word: so %s\r\n' % TERM.encode(), 'words')]
    case = Case(bench, [answer + b'\r\n' + frame(b'hello') for answer, _ in answers])
    got, run = case.talk([[UPGRADE] for _ in answers])
    for (data, end), (_, word) in zip(got, answers):
        refused(data, word)
        equal(end, 'eof', 'how it ended')
    for number in range(len(answers)):
        equal(bytes(case.server.ended(number).data), UPGRADE, 'what reached the server')
    check('unframed 3' in run and 'denied:words 1' in run, 'the run says %s', run)


def declined(bench):
    """an offer that the server answers in HTTP: no WebSocket, and no frame passes"""
    answer = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
    case = Case(bench, [answer])
    [(data, _)], run = case.talk([[UPGRADE, FINE]])
    check(data.startswith(answer), 'the answer: %r', data)
    check(b'\x88' not in data, 'a close frame in HTTP: %r', data)
    equal(bytes(case.server.ended().data), UPGRADE, 'what reached the server; %s' % run)


def every_cut(bench):
    """a conversation and a refusal, cut after each byte"""
    fragments = client(b'in pa', first=0) + client(os.urandom(4), 9) + client(b'rts', 0)
    clean, bad = FINE + fragments, client(b'my key: ' + KEY.encode())
    agreed = AGREED + b'\r\n'
    whole = clean + bad
    cuts = range(1, len(whole), 3)
    case = Case(bench, [agreed + frame(b'fine')] * len(cuts))
    got, run = case.talk([[UPGRADE, whole[:cut], whole[cut:]] for cut in cuts])
    want = agreed + frame(b'fine') + close('blocked', 'keys')
    equal(set(got), {(want, 'eof')}, 'what came; %s' % run)
    equal({bytes(case.server.ended(n).data) for n in range(len(cuts))}, {UPGRADE + clean},
          'what reached the server')


if __name__ == '__main__':
    main([bad_client, bad_server, behind_a_close, bad_handshakes, declined, every_cut])
