#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A refused term never reaches the other side, however it is cut; what does
arrive is exactly the units before it."""
import json
import time

from sluice_test import POLICY, line, main
from waiting import check, equal, wait_for

AHEAD = POLICY + 'on_deny: reset\nlimits: {eager_bytes: 65536}\n'
CLEAN = line('first') + line('second, a forbid den thing')
REFUSED = b'{"t":"a forbidden word","n":1}\n'

# Sends the clean lines, waits until the server has them, then the refused line in two
# writes cut at each position in turn, on a new connection each.
REQUEST = '''
import json, socket, sys, time
port, clean, refused = int(sys.argv[1]), bytes.fromhex(sys.argv[2]), bytes.fromhex(sys.argv[3])
ends = []
for cut in range(1, len(refused)):
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(10)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.sendall(clean)
    got = s.recv(100)
    try:
        s.sendall(refused[:cut])
        time.sleep(0.008)
        s.sendall(refused[cut:])
        end = s.recv(100).decode() or "eof"
    except (ConnectionResetError, BrokenPipeError):
        end = "reset"
    ends.append(end)
    s.close()
print(json.dumps(ends))
'''

RESPONSE = '''
import json, socket, sys
port, count = int(sys.argv[1]), int(sys.argv[2])
rows = []
for number in range(count):
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(10)
    data, end = b"", "eof"
    try:
        while True:
            piece = s.recv(4096)
            if not piece:
                break
            data += piece
            s.sendall(b'{"t":"ok"}\\n')
    except (ConnectionResetError, BrokenPipeError):
        end = "reset"
    rows.append([data.hex(), end])
    s.close()
print(json.dumps(rows))
'''

SENDS = '''
import socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(10)
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
try:
    for piece in sys.argv[2:]:
        s.sendall(bytes.fromhex(piece))
        time.sleep(0.05)
    print(s.recv(100))
except (ConnectionResetError, BrokenPipeError):
    print("reset")
'''


def acknowledge(connection):
    """Handler: answers once the clean lines are complete, then reads on."""
    while len(connection.data) < len(CLEAN):
        piece = connection.sock.recv(65536)
        if not piece:
            return
        connection.take(piece)
    connection.sock.sendall(b'{"t":"ok"}\n')
    connection.read_all()


def every_cut(bench, policy):
    server = bench.server(acknowledge)
    daemon = bench.daemon(policy)
    cuts = len(REFUSED) - 1
    done = daemon.agent(REQUEST, server.port, CLEAN.hex(), REFUSED.hex())
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    for cut, end in enumerate(json.loads(done.stdout), 1):
        equal(end, 'reset', 'what the agent saw, cut at %d' % cut)
    equal(len(server.connections), cuts, 'connections')
    for cut in range(1, cuts + 1):
        connection = server.ended(cut - 1)
        equal(bytes(connection.data), CLEAN, 'what arrived, cut at %d' % cut)
        equal(connection.end, 'reset', 'how the server\'s side ended, cut at %d' % cut)
    streams = daemon.status()['streams']
    equal((streams['total'], streams['denied'], streams['open']), (cuts, cuts, 0),
          'streams total, denied, open')


def refused_request_at_every_cut(bench):
    """a refused term of the agent, cut at every byte position"""
    every_cut(bench, POLICY)


def refused_request_at_every_cut_when_written_ahead(bench):
    """the same with on_deny: reset and eager writing: the gate alone holds it"""
    every_cut(bench, AHEAD)


def every_cut_of_the_peer(bench, policy):
    cuts = iter(range(1, len(REFUSED)))

    def send(connection):
        cut = next(cuts)
        connection.sock.sendall(CLEAN)
        connection.take(connection.sock.recv(100))
        connection.sock.sendall(REFUSED[:cut])
        time.sleep(0.008)
        connection.sock.sendall(REFUSED[cut:])
        connection.read_all()

    server = bench.server(send)
    done = bench.daemon(policy).agent(RESPONSE, server.port, len(REFUSED) - 1)
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    rows = json.loads(done.stdout)
    equal(len(rows), len(REFUSED) - 1, 'connections')
    for cut, (data, end) in enumerate(rows, 1):
        equal(bytes.fromhex(data), CLEAN, 'what the agent got, cut at %d' % cut)
        equal(end, 'reset', 'how it ended, cut at %d' % cut)
        equal(server.ended(cut - 1).end, 'reset', 'how the server\'s side ended, cut at %d' % cut)


def refused_response_at_every_cut(bench):
    """a refused term of the peer, cut at every byte position"""
    every_cut_of_the_peer(bench, POLICY)


def refused_response_at_every_cut_when_written_ahead(bench):
    """the same with on_deny: reset and eager writing"""
    every_cut_of_the_peer(bench, AHEAD)


def arrived(bench, *units, policy=POLICY):
    """What reaches the server of units that are written one by one."""
    server = bench.server()
    daemon = bench.daemon(policy)
    done = daemon.agent(SENDS, server.port, *(unit.hex() for unit in units))
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    equal(done.stdout.decode().strip(), 'reset', 'what the agent saw')
    return bytes(server.ended().data), daemon


def refused_term_over_units(bench):
    """a term spread over three messages: none of the three leaves"""
    data, daemon = arrived(bench, line('clean'), line('for'), line('bid'), line('den'))
    equal(data, line('clean'), 'what arrived')
    runes = daemon.status()['runes']
    # The member's name is text as well: it counts one rune a line.
    equal((runes['received'], runes['released'], runes['withheld']), (18, 6, 12),
          'runes received, released, withheld')


def near_miss_is_released_at_once(bench):
    """what began a term and did not end it leaves with the next message"""
    data, _ = arrived(bench, line('for'), line('est'), REFUSED)
    equal(data, line('for') + line('est'), 'what arrived')


def refused_in_disguise(bench):
    """a term in escapes and capitals"""
    data, _ = arrived(bench, line('clean'), b'{"t":"FO\\u0052bid\\u0044EN"}\n')
    equal(data, line('clean'), 'what arrived')


def refused_outside_the_path(bench):
    """a term in a member the extractor does not know"""
    data, _ = arrived(bench, line('clean'), b'{"t":"x","other":["forbidden"]}\n')
    equal(data, line('clean'), 'what arrived')


def refused_as_a_name(bench):
    """a term as a member's name"""
    data, _ = arrived(bench, line('clean'), b'{"t":"x","forbidden":1}\n')
    equal(data, line('clean'), 'what arrived')


def the_stream_says_why(bench):
    """the summary and the daemon name the task, and nothing repeats the withheld text"""
    server = bench.server()
    daemon = bench.daemon()
    done = daemon.agent(SENDS, server.port, line('clean').hex(),
                        line('zebra forbidden giraffe').hex())
    rows = done.stderr.decode().strip().splitlines()
    equal(len(rows), 1, 'lines on standard error: %r' % rows)
    check('words' in rows[0], 'the summary %r does not name the task', rows[0])
    said = done.stderr.decode() + daemon.read_log() + json.dumps(
        [daemon.status(), daemon.call('streams')])
    for word in ('zebra', 'giraffe', 'clean'):
        check(word not in said, 'the content %r is in %r', word, said)


def denied_by_the_operator(bench):
    """sluicectl deny ends a live stream, with what it held withheld"""
    server = bench.server()
    daemon = bench.daemon()
    agent = daemon.start_agent(SENDS, server.port, line('clean').hex(), b'{"t":"half'.hex())
    connection = server.connection()
    wait_for(lambda: bytes(connection.data) == line('clean'), 5, 'the clean line')
    stream = wait_for(lambda: [s for s in daemon.call('streams')['streams']
                               if s['request']['received'] > len(line('clean'))], 5,
                      'the half line at the daemon')[0]
    done = daemon.ctl('deny', str(stream['id']))
    equal(done.returncode, 0, 'exit status of deny; %r' % done.stderr)
    out, _ = agent.communicate(timeout=10)
    equal(out.decode().strip(), 'reset', 'what the agent saw')
    equal(bytes(server.ended().data), line('clean'), 'what arrived')
    equal(server.ended().end, 'reset', 'how the server\'s side ended')
    check(daemon.ctl('deny', '999999999').returncode == 1, 'an unknown stream was denied')


if __name__ == '__main__':
    main([refused_request_at_every_cut, refused_request_at_every_cut_when_written_ahead,
          refused_response_at_every_cut, refused_response_at_every_cut_when_written_ahead,
          refused_term_over_units, near_miss_is_released_at_once, refused_in_disguise,
          refused_outside_the_path, refused_as_a_name, the_stream_says_why, denied_by_the_operator])
