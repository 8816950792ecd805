#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sluicectl replay: raw streams and captures of packets, made here packet by packet and, where
there are the rights to, with dumpcap. Prints TAP."""
import json
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import traceback

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
SLUICECTL = os.path.join(ROOT, os.environ.get('BUILD', 'build'), 'sluicectl')

FIN, SYN, RST, ACK = 1, 2, 4, 16
TERM = 'forbidden'
NDJSON = """\
version: 1
name: lines
framing: ndjson
extract: "path:t"
request: {tasks: [words]}
response: {tasks: [words]}
tasks:
  words: {kind: terms, terms: ["forbidden"], fold: [casefold]}
"""
AUTO = NDJSON.replace('framing: ndjson\nextract: "path:t"\n', '')
ASKING = """\
version: 1
name: asking
framing: ndjson
extract: "path:t"
response: {tasks: [first]}
tasks:
  first: {kind: interceptor, url: "http+unix:///nonexistent:/", span_runes: 8, window_runes: 16,
          detectable_runes: 4}
"""


def equal(found, wanted, what):
    assert found == wanted, '%s: %r, not %r' % (what, found, wanted)


def line(text):
    return json.dumps({'t': text}).encode() + b'\n'


def answer(*texts):
    """HTTP: events in chunks, each with its content."""
    chunks = [b'data: {"choices": [{"index": 0, "delta": {"content": "%s"}}]}\n\n' % text.encode()
              for text in texts] + [b'data: [DONE]\n\n']
    return (b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n'
            b'\r\n' + b''.join(b'%x\r\n%s\r\n' % (len(chunk), chunk) for chunk in chunks)
            + b'0\r\n\r\n')


class Capture:
    """Packets of TCP between hosts, in the order of the calls, a millisecond apart."""

    def __init__(self, six=False, vlan=False, first=(1000, 5000)):
        self.packets, self.six, self.vlan = [], six, vlan
        self.first, self.ports = list(first), (4000, 80)
        self.sent = [0, 0]

    def frame(self, side, segment):
        names = ('2001:db8::1', '2001:db8::2') if self.six else ('192.0.2.1', '192.0.2.2')
        family = socket.AF_INET6 if self.six else socket.AF_INET
        ends = [socket.inet_pton(family, names[side]), socket.inet_pton(family, names[1 - side])]
        if self.six:
            packet = struct.pack('!IHBB', 6 << 28, len(segment), 6, 64) + b''.join(ends) + segment
        else:
            packet = struct.pack('!BBHHHBBH', 0x45, 0, 20 + len(segment), len(self.packets),
                                 0, 64, 6, 0) + b''.join(ends) + segment
        kind = b'\x86\xdd' if self.six else b'\x08\x00'
        return bytes(12) + (b'\x81\x00\x00\x07' if self.vlan else b'') + kind + packet

    def packet(self, side, flags, at=0, data=b'', acknowledged=0, keep=None):
        """at, acknowledged: of the flow, and of the other one; keep: bytes of the snapshot."""
        source, target = self.ports[side], self.ports[1 - side]
        sequence = (self.first[side] + at + (0 if flags & SYN else 1)) % (1 << 32)
        other = (self.first[1 - side] + 1 + acknowledged) % (1 << 32) if flags & ACK else 0
        frame = self.frame(side, struct.pack('!HHIIBBHHH', source, target, sequence, other, 5 << 4,
                                             flags, 65535, 0, 0) + data)
        self.packets.append((frame if keep is None else frame[:keep], len(frame)))
        return self

    def shake(self):
        return self.packet(0, SYN).packet(1, SYN | ACK).packet(0, ACK)

    def data(self, side, data, size=None):
        for start in range(0, len(data), size or len(data)):
            part = data[start:start + (size or len(data))]
            self.packet(side, ACK, self.sent[side], part, self.sent[1 - side])
            self.sent[side] += len(part)
        return self

    def close(self):
        for side in (0, 1):
            self.packet(side, FIN | ACK, self.sent[side], b'', self.sent[1 - side])
        return self

    def pcap(self, order='<', nano=False, cut=0):
        unit = 1000000 if nano else 1000
        out = struct.pack(order + 'IHHiIII', 0xa1b23c4d if nano else 0xa1b2c3d4, 2, 4, 0, 0, 262144,
                          1)
        out += b''.join(struct.pack(order + 'IIII', 1700000000 + i // 1000, i % 1000 * unit,
                                    len(frame), length) + frame
                        for i, (frame, length) in enumerate(self.packets))
        return out[:len(out) - cut]

    def pcapng(self, order='<'):
        def block(kind, body):
            body += bytes(-len(body) % 4)
            size = struct.pack(order + 'I', len(body) + 12)
            return struct.pack(order + 'I', kind) + size + body + size
        out = block(0x0a0d0d0a, struct.pack(order + 'IHHq', 0x1a2b3c4d, 1, 0, -1))
        out += block(1, struct.pack(order + 'HHI', 1, 0, 262144))
        for i, (frame, length) in enumerate(self.packets):
            time = 1700000000 * 1000000 + i * 1000
            out += block(6, struct.pack(order + 'IIIII', 0, time >> 32, time & 0xffffffff,
                                        len(frame), length) + frame)
        return out


class Replay:
    def __init__(self, folder):
        self.folder = folder

    def file(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, 'wb') as out:
            out.write(data if isinstance(data, bytes) else data.encode())
        return path

    def call(self, words, status, env=None):
        done = subprocess.run([SLUICECTL, 'replay', *words], capture_output=True, timeout=60,
                              check=False, env=env)
        equal(done.returncode, status, 'exit status of %s; %r' % (words, done.stderr))
        assert TERM.encode() not in done.stdout + done.stderr, 'it says the term'
        return done

    def run(self, policy, data, *words, status=0, env=None):
        """What it prints as JSON."""
        options = list(words)
        if policy:
            options += ['--policy', self.file('policy.yaml', policy)]
        self.last = [*options, self.file('input', data)], status
        done = self.call(['--json', *self.last[0]], status, env)
        self.error = done.stderr.decode()
        return json.loads(done.stdout) if done.stdout else None

    @property
    def said(self):
        """The same call's text, which an 80 column terminal shows."""
        text = self.call(*self.last).stdout.decode()
        for row in text.split('\n'):
            assert len(row) <= 80, row
        return text

    def one(self, policy, capture, *words, status=0):
        """Of a capture with one stream, that."""
        data = capture if isinstance(capture, bytes) else capture.pcap()
        view = self.run(policy, data, *words, status=status)
        equal(len(view['streams']), 1, 'streams')
        return view['streams'][0]


def units(flow):
    return [(row['start'], row['end'], row['units'], row['runes'], row['state'])
            for row in flow['timeline']]


GET = b'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
CLEAN = answer('one ', 'two forb', 'three ', 'four')
REFUSED = answer('one ', 'two forb', 'idden', ' four')


def exchange(response, size=None, **options):
    return Capture(**options).shake().data(0, GET).data(1, response, size).close()


def plain(replay):
    """both tracks of a capture, the timeline of each, and the agent as the server"""
    found = replay.one(AUTO, exchange(CLEAN, 40))
    equal((found['client'], found['server'], found['end'], found['session'], found['sessions']),
          ('192.0.2.1:4000', '192.0.2.2:80', 'closed', 'complete', 1), 'the stream')
    for track, data in (('request', GET), ('response', CLEAN)):
        flow = found[track]
        equal((flow['framing'], flow['received'], flow['released'], flow['cleared']),
              ('http1', len(data), len(data), len(data)), track)
        rows = flow['timeline']
        equal((rows[0]['start'], rows[-1]['end']), (0, len(data)), 'the ends')
        assert all(a['end'] == b['start'] for a, b in zip(rows, rows[1:])), rows
    waited = [row for row in found['response']['timeline'] if row['why'] != 'nothing']
    equal([(row['why'], row['task'], row['state']) for row in waited],
          [('text', 'words', 'released')], 'what waited')
    assert waited[0]['delay'] >= 1000 and waited[0]['left'][0] > waited[0]['whole'][0], waited
    assert "ms: more text ('words')" in replay.said, replay.said
    assert '|' + '=' * 60 + '|' in replay.said, replay.said
    swapped = replay.one(NDJSON, Capture().shake().data(0, line('a')).data(1, line('bc')).close(),
                         '--server')
    equal((swapped['agent'], swapped['request']['received'], swapped['response']['received']),
          ('server', len(line('bc')), len(line('a'))), 'the agent as the server')


def denied(replay):
    """a term over two events: released up to the first of them, withheld from there, status 3"""
    found = replay.one(AUTO, exchange(REFUSED), status=3)
    head = REFUSED.index(b'two forb')
    released = found['response']['released']
    assert REFUSED.index(b'one ') < released <= head, found
    equal((found['fault'], found['fault_track'], found['session'], found['denial']['task']),
          ('blocked', 'response', 'denied', 'words'), 'the denial')
    equal(found['request']['released'], len(GET), 'the request')
    equal(found['response']['timeline'][-1]['state'], 'withheld', 'the last row')
    assert 'withheld: blocked' in replay.said and "denied       by task 'words'" in replay.said
    observed = replay.one(AUTO + 'mode: observe\n', exchange(REFUSED))
    equal((observed['response']['released'], observed['response']['findings'][0]['enforcing']),
          (len(REFUSED), False), 'under observe')
    several = Capture().shake().data(0, GET).data(1, CLEAN).close()
    several.ports, several.sent = (4001, 80), [0, 0]
    several.shake().data(0, GET).data(1, REFUSED).close()
    view = replay.run(AUTO, several.pcap(), status=3)
    equal([row['session'] for row in view['streams']], ['complete', 'denied'], 'of two streams')
    passed = AUTO + 'destinations: [{match: "192.0.2.2:80", action: %s}]\n'
    equal(replay.one(passed % 'pass', exchange(REFUSED))['response']['released'], len(REFUSED),
          'passed')
    equal(replay.one(passed % 'deny', exchange(REFUSED), status=3)['reason'], 'policy_denied',
          'a destination that is denied')
    equal(replay.one(passed % 'deny', exchange(CLEAN), '--destination', '192.0.2.9:80')['action'],
          'mediate', 'another destination')


def renumbered(packet, number):
    """The same packet with another port of the client's."""
    for pair in (struct.pack('!HH', 4000, 80), struct.pack('!HH', 80, 4000)):
        packet = packet.replace(pair, pair.replace(struct.pack('!H', 4000),
                                                   struct.pack('!H', 5000 + number)), 1)
    return packet


def shuffled(seed, wrap):
    """The exchange with its answer in any order, some of it twice, some overlapping."""
    rng = random.Random(seed)
    capture = Capture(first=((1 << 32) - 9, (1 << 32) - 50) if wrap else (7, 9)).shake()
    capture.data(0, GET)
    cuts = sorted(rng.sample(range(1, len(REFUSED)), 12))
    parts = list(zip([0] + cuts, cuts + [len(REFUSED)]))
    parts += rng.sample(parts, 4)
    parts += [(max(0, start - 5), min(len(REFUSED), end + 9)) for start, end in parts[:4]]
    rng.shuffle(parts)
    for start, end in parts:
        capture.packet(1, ACK, start, REFUSED[start:end], len(GET))
    # What begins below the first byte counts from there; a keep-alive has a byte of no meaning.
    capture.packet(1, ACK, -5, b'?????' + REFUSED[:20], len(GET))
    capture.packet(1, ACK, len(REFUSED) - 1, b'\0', len(GET))
    capture.sent[1] = len(REFUSED)
    return capture.close()


def orders(replay):
    """however one stream was sent and captured, it is the same units and the same end"""
    def told(found):
        return (units(found['request']), units(found['response']), found['denial'],
                found['client_lacks'], found['server_lacks'], found['end'])
    wanted = told(replay.one(AUTO, exchange(REFUSED), '--units', status=3))
    whole = exchange(REFUSED, 33)
    early = Capture().packet(0, SYN, 0, GET).packet(1, SYN | ACK, 0, b'', len(GET))
    early.data(1, REFUSED)
    early.sent[0] = len(GET)
    late_fin = Capture().shake().data(0, GET).packet(1, FIN | ACK, len(REFUSED), b'', len(GET))
    late_fin.data(1, REFUSED).packet(0, FIN | ACK, len(GET), b'', len(REFUSED) + 1)
    no_syn = exchange(REFUSED)
    del no_syn.packets[0]
    streams = {'bytes': exchange(REFUSED, 1), 'IPv6': exchange(REFUSED, 50, six=True),
               'VLAN': exchange(REFUSED, 50, vlan=True), 'data in the SYN': early.close(),
               'a FIN before the data': late_fin, 'the SYN missing': no_syn}
    for seed in range(8):
        streams['shuffled %d' % seed] = shuffled(seed, seed % 2)
    every = Capture()
    for number, capture in enumerate(streams.values()):
        every.packets += [(renumbered(packet, number), size) for packet, size in capture.packets]
    found = replay.run(AUTO, every.pcap(), '--units', status=3)['streams']
    equal(len(found), len(streams), 'streams')
    for name, stream in zip(streams, found):
        equal(told(stream), wanted, name)
    for name, data in {'big endian': whole.pcap('>'), 'nanoseconds': whole.pcap(nano=True),
                       'pcapng': whole.pcapng(), 'pcapng, big endian': whole.pcapng('>')}.items():
        equal(told(replay.one(AUTO, data, '--units', status=3)), wanted, name)


def lacking(replay):
    """a gap, a lost end, a short snapshot, no start, two versions: told, and never status 0"""
    def told(capture):
        found = replay.one(AUTO, capture, status=1)
        assert 'lacking' in replay.said, replay.said
        return found['server_lacks'], found['response']['received'], found['response']['released']
    gap = exchange(CLEAN, 40)
    del gap.packets[6]
    lack, received, released = told(gap)
    equal((lack, received), ('gap', 80), 'a gap')
    assert released <= 80, released
    lost = Capture().shake().data(0, GET).data(1, CLEAN).packet(0, ACK, len(GET), b'',
                                                                 len(CLEAN) + 7)
    equal(told(lost)[:2], ('gap', len(CLEAN)), 'bytes that were acknowledged')
    snapped = Capture().shake().data(0, GET)
    snapped.packet(1, ACK, 0, CLEAN, len(GET), keep=54 + 60)
    equal(told(snapped)[:2], ('gap', 60), 'a short snapshot')
    other = Capture().shake().data(0, GET).data(1, CLEAN)
    other.packet(1, ACK, 60, b'?' + CLEAN[61:90], len(GET))
    equal(told(other)[:2], ('contradicted', len(CLEAN)), 'two versions')
    other = Capture().shake().data(0, GET).packet(1, ACK, 60, b'?' + CLEAN[61:90], len(GET))
    equal(told(other.data(1, CLEAN[:80]))[:2], ('contradicted', 80), 'the other first')
    middle = exchange(CLEAN)
    del middle.packets[:3]
    found = replay.one(AUTO, middle, status=1)
    equal((found['start_seen'], found['client_lacks'], found['server_lacks'],
           found['response']['received']), (False, 'no_start', 'no_start', 0), 'no start')


def ends(replay):
    """a reset, a stream that stays open, and one that is cut inside a message"""
    whole = Capture().shake().data(0, GET).data(1, CLEAN)
    equal(replay.one(AUTO, whole)['end'], 'open', 'an open one, all of it complete')
    found = replay.one(AUTO, whole.packet(0, RST | ACK, len(GET)))
    equal((found['end'], found['session']), ('reset', 'complete'), 'a reset behind it')
    part = Capture().shake().data(0, GET).data(1, CLEAN[:-60])
    found = replay.one(AUTO, part, status=1)
    equal((found['end'], found['session'], found['fault'],
           found['response']['timeline'][-1]['state']), ('open', 'failed', 'none', 'held'),
          'one that is open inside a message')
    found = replay.one(AUTO, part.packet(1, RST | ACK, len(CLEAN) - 60), status=1)
    equal((found['end'], found['session']), ('reset', 'failed'), 'a reset inside a message')
    part = Capture().shake().data(0, GET).data(1, CLEAN[:-60]).close()
    found = replay.one(AUTO, part, status=1)
    equal((found['fault'], found['response']['timeline'][-1]['why']), ('truncated', 'truncated'),
          'one that ends inside a message')


def choosing(replay):
    """--list, --stream, and a port that is used again"""
    capture = exchange(CLEAN)
    capture.first, capture.sent = [900000, 800000], [0, 0]
    capture.shake().data(0, GET).data(1, REFUSED).close()
    data = capture.pcap()
    view = replay.run(None, data, '--list')
    equal([(row['stream'], row['client_bytes'], row['server_bytes'], row['end'])
           for row in view['streams']],
          [(0, len(GET), len(CLEAN), 'closed'), (1, len(GET), len(REFUSED), 'closed')], '--list')
    assert replay.said.split()[:3] == ['STREAM', 'CLIENT', 'SERVER'], replay.said
    equal([row['stream'] for row in replay.run(AUTO, data, '--stream', '0')['streams']], [0],
          '--stream 0')
    equal([row['session'] for row in replay.run(AUTO, data, '--stream', '1', status=3)['streams']],
          ['denied'], '--stream 1')
    replay.run(AUTO, data, '--stream', '2', status=1)
    assert 'no such TCP stream' in replay.error, replay.error
    equal(replay.said, '', 'what is said of no stream')


def bad_files(replay):
    """files that are cut, empty, of no TCP, or not what they begin as"""
    whole = exchange(CLEAN, 40)
    view = replay.run(AUTO, whole.pcap(cut=3), status=1)
    equal((view['capture']['cut_short'], len(view['streams'])), (True, 1), 'a file that is cut')
    assert 'cut short' in replay.said, replay.said
    head = whole.pcap()[:24]
    udp = (bytes(12) + b'\x08\x00' + struct.pack('!BBHHHBBH8sHHHH', 0x45, 0, 28, 1, 0, 64, 17, 0,
                                                  bytes(8), 53, 53, 8, 0))
    others = head + struct.pack('<IIII', 1, 0, len(udp), len(udp)) + udp
    for name, data in (('no packet', head), ('no TCP', others)):
        equal(replay.run(AUTO, data, status=1)['streams'], [], name)
        assert 'no TCP stream' in replay.error, replay.error
    for data in (head[:16] + b'\xff' * 400, whole.pcapng()[:12] + b'\xff' * 400, head[:20]):
        replay.run(AUTO, data, status=1)
    rng = random.Random(5)
    for _ in range(4):
        data = bytearray(whole.pcap())
        for _ in range(30):
            data[rng.randrange(24, len(data))] = rng.randrange(256)
        done = subprocess.run([SLUICECTL, 'replay', '--policy', replay.file('policy.yaml', AUTO),
                               replay.file('input', bytes(data))], capture_output=True, timeout=60,
                              check=False)
        assert done.returncode in (0, 1, 3), done
    # What only looks like it is a raw stream.
    found = replay.run(NDJSON.replace('ndjson', 'sse'), b'\n\r\r\n: a line of text\n\n')
    equal(found['framing'], 'sse', 'the first bytes of pcapng as a text')


def usage(replay):
    """options that do not go together, and a capture from a pipe"""
    capture = exchange(CLEAN).pcap()
    for words in (['--track', 'request'], ['--framing', 'http1'], ['--stream', 'x'],
                  ['--deny-by', 'words@1'], ['--deny-by', 'words'], ['--destination', 'foo']):
        equal(replay.run(AUTO, capture, *words, status=2 if words[0] != '--destination' else 1),
              None, words)
    for words in (['--list'], ['--stream', '0'], ['--server']):
        replay.run(NDJSON, line('a'), *words, status=2)
        assert 'FILE is none' in replay.error, replay.error
    policy = replay.file('policy.yaml', AUTO)
    done = subprocess.run([SLUICECTL, 'replay', '--json', '--policy', policy, '-'], input=capture,
                          capture_output=True, timeout=60, check=True)
    equal(json.loads(done.stdout)['streams'][0]['session'], 'complete', 'from a pipe')
    done = subprocess.run([SLUICECTL, 'replay', '--color', 'always', '--policy', policy,
                           replay.file('input', capture)], capture_output=True, timeout=60,
                          check=True)
    assert b'\x1b[' in done.stdout, 'no colours'


def raw(replay):
    """a raw stream: however it is fed, the same document"""
    lines = line('a') + line('forb') + line('x') + line('for') + line('bid') + line('z')
    http = answer('one ', 'two forb', 'three ') + answer('four', 'five')
    events = b''.join(b'data: {"t": "%s"}\r\n\r\n' % text for text in (b'a', b'forb', b'b'))
    cases = [(NDJSON, lines, (), 0), (NDJSON, lines + line(TERM) + line('more'), (), 3),
             (NDJSON, lines + b'{"t', (), 1), (NDJSON, lines + b'no JSON\n', (), 1),
             (NDJSON + 'safety_level: complete\n', lines, (), 0),
             (NDJSON + 'safety_level: deferred\n', lines + line(TERM), (), 3),
             (NDJSON.replace('ndjson', 'sse'), events, (), 0),
             (AUTO, http, ('--track', 'response', '--framing', 'http1'), 0),
             (AUTO, GET * 3, (), 0), (ASKING, lines, ('--track', 'response'), 0)]
    for policy, data, words, status in cases:
        wanted = None
        for chunk in ('1', '7', '64', '65536'):
            found = replay.run(policy, data, *words, '--chunk', chunk, status=status)
            wanted = wanted or found
            equal(found, wanted, 'chunk %s of %r' % (chunk, data[:40]))
        assert 'stopped      ' in replay.said, replay.said
        equal(sum(row['units'] for row in wanted['timeline']), wanted['units'], 'units')
        equal(wanted['timeline'][-1]['end'], len(data), 'the end of the timeline')
    found = replay.run(NDJSON, lines)
    equal([(row['start'], row['why'], row.get('delay')) for row in found['timeline']],
          [(0, 'nothing', 0), (11, 'text', 11), (25, 'nothing', 0), (36, 'text', 24),
           (62, 'nothing', 0)], 'what waited')


def asking(replay):
    """interceptors: nobody is asked, and each allows, or denies where it is told to"""
    lines = line('abcdefgh') + line('ijklmnop') + line('qr')
    words = ('--track', 'response')
    found = replay.run(ASKING, lines, *words)
    equal(found['asked'], [{'task': 'first', 'emissions': 6, 'taken_to': 'allow'}], 'emissions')
    equal((found['released'], found['session']), (len(lines), 'complete'), 'released')
    assert "not asked    'first', taken to allow; 6 emissions" in replay.said, replay.said
    found = replay.run(ASKING, lines, *words, '--deny-by', 'first@9', status=3)
    equal((found['denial']['task'], found['fault']), ('first', 'blocked'), 'the denial')
    equal(found['released'], len(line('abcdefgh')), 'released before it')
    assert "not asked    'first', taken to deny; " in replay.said, replay.said
    policy = (ASKING.replace('[first]', '[first, trial]')
              + ASKING[ASKING.index('  first:'):].replace('first', 'trial')
              .replace('4}', '4, warn_only: true}')
              + ASKING[ASKING.index('  first:'):].replace('first', 'after')
              + 'output: {tasks: [after]}\n')
    found = replay.run(policy, lines, *words)
    equal([row['task'] for row in found['asked']], ['first', 'trial', 'after'], 'all kinds')
    found = replay.run(policy, lines, *words, '--deny-by', 'trial@9')
    equal(([(row['task'], row['enforcing']) for row in found['findings']], found['released']),
          ([('trial', False)], len(lines)), 'one that only warns')
    found = replay.run(policy, lines, *words, '--deny-by', 'after@9', status=3)
    equal((found['fault'], found['denial']['task']), ('output_denied', 'after'), 'of the output')
    capture = Capture().shake().data(0, line('q')).data(1, lines).close()
    equal(replay.one(ASKING, capture)['response']['asked'][0]['emissions'], 6, 'of a capture')
    for deny_by in ('first', 'first@', 'first@x', 'none@1'):
        replay.run(ASKING, lines, *words, '--deny-by', deny_by, status=2)


def tshark(replay):
    """a tshark that is missing, fails, or lies; it has no privileges and no environment"""
    def with_tshark(script, status=1):
        folder = os.path.join(replay.folder, 'bin')
        os.makedirs(folder, exist_ok=True)
        path = replay.file('bin/tshark', '#!/bin/sh\n' + script)
        os.chmod(path, 0o755)
        os.chmod(folder, 0o755)
        os.chmod(replay.folder, 0o755)
        env = {'PATH': folder + ':/usr/bin:/bin', 'SECRET': 'x'}
        found = replay.run(AUTO, exchange(CLEAN).pcap(), status=status, env=env)
        return found, replay.error
    replay.run(AUTO, exchange(CLEAN).pcap(), status=1, env={'PATH': '/nonexistent'})
    assert 'apt-get install tshark' in replay.error, replay.error
    error = with_tshark('printf "one\\n\\033two\\n" >&2; exit 3\n')[1]
    assert '(status 3): ?two' in error, error
    assert '(signal 9)' in with_tshark('kill -9 $$\n')[1]
    fields = '1700000000.000000000\t0\t192.0.2.1\t\t192.0.2.2\t\t%s\t80\t1\t0\t0x0002\t%s\t%s'
    for row in ('nonsense', fields % (1, 0, 'zz'), fields % (1, 0, '00'), fields % (99999, 0, ''),
                fields % (1, -1, ''), fields % (1, 0, '') + '\tmore'):
        error = with_tshark("printf '%s\\n'\n" % row.replace('\t', '\\t'))[1]
        assert 'cannot be read' in error, error
    found = with_tshark("printf '%s\\n'\n" % (fields % (1, '0,0', '')).replace('\t', '\\t'))[0]
    equal(found['capture']['unread'], 1, 'TCP within TCP')
    error = with_tshark('echo "$(id -u) $SECRET$HOME $(grep -c : /proc/net/dev) '
                        '$(sed -n s/NoNewPrivs:.//p /proc/self/status)" >&2; exit 1\n')[1]
    root = os.geteuid() == 0
    said = error.strip().rsplit(': ', 1)[1].split()
    equal((said[0] != '0', said[1], said[-1]), (True, '/nonexistent', '1'), 'what tshark is')
    if root:
        equal(said[2], '1', 'network devices that it sees')


def traffic(replay):
    """a real exchange, captured with dumpcap in a network namespace of its own"""
    if os.geteuid():
        return 'SKIP needs root'
    script = r'''
import socket, subprocess, sys, threading, time
subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
dump = subprocess.Popen(['dumpcap', '-q', '-B', '32', '-i', 'lo', '-w', sys.argv[1]],
                        stderr=subprocess.PIPE)
while b'File:' not in (dump.stderr.readline() or sys.exit('dumpcap has ended')):
    pass
server = socket.create_server(('127.0.0.1', 8080))
client = socket.create_connection(server.getsockname())
peer = server.accept()[0]
data = sys.stdin.buffer.read()
client.sendall(%r)
peer.recv(1000)
threading.Thread(target=lambda: (peer.sendall(data), peer.close())).start()
while client.recv(1 << 16):
    pass
client.close()
# It reads what the kernel has for it twice a second.
time.sleep(1)
dump.terminate()
dump.wait()
''' % GET
    response = answer(*['text number %d ' % i for i in range(3000)])
    path = os.path.join(replay.folder, 'real.pcapng')
    subprocess.run(['unshare', '-n', '/usr/bin/python3', '-c', script, path], input=response,
                   check=True, timeout=60)
    with open(path, 'rb') as captured:
        found = replay.one(AUTO, captured.read())
    equal((found['server'], found['end'], found['server_lacks'], found['session'],
           found['response']['released']),
          ('127.0.0.1:8080', 'closed', 'none', 'complete', len(response)), 'what is found')
    return None


TESTS = [plain, denied, orders, lacking, ends, choosing, bad_files, usage, raw, asking, tshark,
         traffic]


def main():
    failed = 0
    wanted = [test for test in TESTS if test.__name__ in sys.argv[1:]] or TESTS
    print('1..%d' % len(wanted))
    for number, test in enumerate(wanted, 1):
        with tempfile.TemporaryDirectory() as folder:
            name, skip = '%s: %s' % (test.__name__, test.__doc__), None
            try:
                skip = test(Replay(folder))
            except Exception:
                failed += 1
                print('not ok %d - %s' % (number, name))
                print('# ' + traceback.format_exc().replace('\n', '\n# '), flush=True)
                continue
            print('ok %d - %s%s' % (number, name, ' # ' + skip if skip else ''), flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
