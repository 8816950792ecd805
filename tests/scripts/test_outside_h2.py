#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 frames, and the gRPC messages in them, as nghttp2 reads them, and as the core does.

The core is given what comes behind the header blocks, as they are dealt with elsewhere;
nghttp2's session gets a preface, settings and a request for each stream before it.
"""
import ctypes
import struct
import sys

import outside

try:
    NGHTTP2 = ctypes.CDLL('libnghttp2.so.14')
except OSError:
    outside.skip('libnghttp2 is not installed')

ROUNDS = 3000
STREAMS = (1, 3, 5)
QUIET = 7  # a stream that messages of no other fault are on
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = \
    0, 1, 2, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
# POST http://a/ by the static table of HPACK (RFC 7541).
REQUEST = bytes.fromhex('838684') + b'\x41\x01a'

EXPLAINED = {
    'stricter: padding of text': 'padding is zeros (RFC 9113 6.1 lets a receiver refuse others, '
                                 'which would pass unread)',
    'stricter: PING of text': 'its eight bytes are read as text, which nobody else does',
    'stricter: unknown frame': 'as above',
    'stricter: message cut by its end': 'nghttp2 knows of no messages, and the test does not ask',
    'laxer: damaged, of a stream without a request': 'which streams there are is known to who read '
                                                     'the header blocks',
    'laxer: damaged, of a session\'s state': 'so is what it has acknowledged, and said goodbye to',
    'laxer: DATA behind an empty end': 'a stream is remembered from its first byte of data on; what '
                                       'comes behind is framed and judged all the same',
    'laxer: damaged, behind an end': 'as above, where the end was that of a stream without data',
    'stricter: damaged': 'what one byte makes of a frame may be one of the above',
}

CHUNK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint8, ctypes.c_int32,
                         ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t, ctypes.c_void_p)
NGHTTP2.nghttp2_session_mem_recv.restype = ctypes.c_ssize_t
NGHTTP2.nghttp2_session_mem_recv.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
NGHTTP2.nghttp2_session_mem_send.restype = ctypes.c_ssize_t
NGHTTP2.nghttp2_session_mem_send.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
for name in ('nghttp2_session_del', 'nghttp2_session_callbacks_del'):
    getattr(NGHTTP2, name).argtypes = (ctypes.c_void_p,)
NGHTTP2.nghttp2_session_callbacks_set_on_data_chunk_recv_callback.argtypes = (
    ctypes.c_void_p, CHUNK)


def frame(kind, flags, stream, payload):
    return struct.pack('>I', len(payload))[1:] + struct.pack('>BBI', kind, flags, stream) + payload


def grpc(payload):
    return b'\0' + struct.pack('>I', len(payload)) + payload


class Reader:
    """A server's session: bytes of DATA by stream, and whether something was wrong."""

    def __init__(self):
        self.data = {stream: b'' for stream in (*STREAMS, QUIET)}
        self.order = []
        self.callbacks = ctypes.c_void_p()
        self.session = ctypes.c_void_p()
        NGHTTP2.nghttp2_session_callbacks_new(ctypes.byref(self.callbacks))
        self.on_chunk = CHUNK(self.chunk)
        NGHTTP2.nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
            self.callbacks, self.on_chunk)
        NGHTTP2.nghttp2_session_server_new(ctypes.byref(self.session), self.callbacks, None)

    def chunk(self, _session, _flags, stream, data, size, _context):
        self.data[stream] = self.data.get(stream, b'') + ctypes.string_at(data, size)
        self.order.append((stream, len(self.data[stream])))
        return 0

    def feed(self, data):
        return NGHTTP2.nghttp2_session_mem_recv(self.session, data, len(data)) == len(data)

    def complains(self):
        """Does it answer with an error of the stream or the connection?"""
        out, sent = ctypes.c_void_p(), b''
        while True:
            size = NGHTTP2.nghttp2_session_mem_send(self.session, ctypes.byref(out))
            if size <= 0:
                break
            sent += ctypes.string_at(out, size)
        while sent:
            size, kind = int.from_bytes(sent[:3], 'big'), sent[3]
            error = sent[9:13] if kind == RST_STREAM else sent[13:17]
            if kind in (RST_STREAM, GOAWAY) and any(error):
                return True
            sent = sent[9 + size:]
        return False

    def close(self):
        NGHTTP2.nghttp2_session_del(self.session)
        NGHTTP2.nghttp2_session_callbacks_del(self.callbacks)


def read(data):
    """Messages by stream, whole ones; and whether something was wrong."""
    reader = Reader()
    before = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(SETTINGS, 0, 0, b'')
    for stream in (*STREAMS, QUIET):
        before += frame(HEADERS, END_HEADERS, stream, REQUEST)
    good = reader.feed(before) and reader.feed(data) and not reader.complains()
    reader.close()
    whole = []
    for stream in (*STREAMS, QUIET):
        bytes_of, at = reader.data[stream], 0
        while len(bytes_of) - at >= 5:
            size = int.from_bytes(bytes_of[at + 1:at + 5], 'big')
            if bytes_of[at]:
                good = False
                break
            if len(bytes_of) - at - 5 < size:
                break
            end = at + 5 + size
            # Which of the chunks completed it.
            when = next(number for number, (of, so_far) in enumerate(reader.order)
                        if of == stream and so_far >= end)
            whole.append((when, end, bytes_of[at + 5:end].hex()))
            at = end
        good = good and at == len(bytes_of)
    return [message for _, _, message in sorted(whole)], good


class Maker:
    """What a client sends behind its requests."""

    def __init__(self, random):
        self.random = random
        self.bytes = b''
        self.label = 'plain'
        self.ended = set()

    def data(self, stream, payload, flags=0, padding=None):
        if padding is None and self.random.random() < .3:
            padding = bytes(self.random.randrange(6))
        if padding is not None:
            payload = bytes((len(padding),)) + payload + padding
            flags |= PADDED
        self.bytes += frame(DATA, flags, stream, payload)

    def messages(self):
        """Some of each stream, in pieces, one after the other."""
        rest = {stream: b''.join(grpc(self.random.randbytes(self.random.choice((0, 1, 9, 200))))
                                 for _ in range(self.random.randrange(1, 3)))
                for stream in STREAMS if stream not in self.ended}
        while any(rest.values()):
            stream = self.random.choice([stream for stream in rest if rest[stream]])
            size = self.random.choice((0, 1, 4, 5, 6, 300))
            ends = size >= len(rest[stream]) and self.random.random() < .2
            self.data(stream, rest[stream][:size], END_STREAM if ends else 0)
            rest[stream] = rest[stream][size:]
            if ends:
                self.ended.add(stream)
            if self.random.random() < .2:
                self.other()

    def other(self):
        """A frame that is fine, and says nothing of messages."""
        self.bytes += self.random.choice((
            frame(PING, 0, 0, b'pingpong'), frame(PING, ACK, 0, bytes(8)),
            frame(SETTINGS, 0, 0, b''), frame(SETTINGS, 0, 0, struct.pack('>HI', 4, 70000)),
            frame(SETTINGS, 0, 0, struct.pack('>HI', 0xf0, 7)),
            frame(WINDOW_UPDATE, 0, 0, struct.pack('>I', 1000)),
            frame(WINDOW_UPDATE, 0, 1, struct.pack('>I', 1000)),
            frame(PRIORITY, 0, 3, struct.pack('>IB', 0, 7)),
            frame(GOAWAY, 0, 0, struct.pack('>II', 0, 0) + b'bye')))

    def odd(self):
        """One that has to be refused, or might."""
        label, data = self.random.choice((
            ('padding too long', frame(DATA, PADDED, 1, b'\x05abc')),
            ('padding of nothing', frame(DATA, PADDED, 1, b'')),
            ('padding of text', frame(DATA, PADDED, 1, b'\x03' + grpc(b'a') + b'abc')),
            ('DATA of no stream', frame(DATA, 0, 0, grpc(b'a'))),
            ('PING too short', frame(PING, 0, 0, b'pong')),
            ('PING of a stream', frame(PING, 0, 1, b'pingpong')),
            ('PING of text', frame(PING, 0, 0, b'\xff' * 8)),
            ('SETTINGS cut', frame(SETTINGS, 0, 0, b'\0\1\0')),
            ('SETTINGS of a stream', frame(SETTINGS, 0, 1, b'')),
            ('SETTINGS acknowledged with a payload', frame(SETTINGS, ACK, 0, bytes(6))),
            ('SETTINGS out of range', frame(SETTINGS, 0, 0, struct.pack('>HI', 5, 1))),
            ('SETTINGS out of range', frame(SETTINGS, 0, 0, struct.pack('>HI', 2, 2))),
            ('SETTINGS out of range', frame(SETTINGS, 0, 0, struct.pack('>HI', 4, 1 << 31))),
            ('WINDOW_UPDATE of 0', frame(WINDOW_UPDATE, 0, 0, bytes(4))),
            ('WINDOW_UPDATE too short', frame(WINDOW_UPDATE, 0, 0, bytes(3))),
            ('RST_STREAM too short', frame(RST_STREAM, 0, 1, b'\0')),
            ('RST_STREAM of no stream', frame(RST_STREAM, 0, 0, bytes(4))),
            ('PRIORITY too short', frame(PRIORITY, 0, 1, b'\0')),
            ('PRIORITY of no stream', frame(PRIORITY, 0, 0, bytes(5))),
            ('GOAWAY too short', frame(GOAWAY, 0, 0, bytes(7))),
            ('GOAWAY of a stream', frame(GOAWAY, 0, 1, bytes(8))),
            ('frame too long', frame(DATA, 0, 1, bytes(16385))),
            ('unknown frame', frame(0x77, 0, 1, b'\xff\xfe')),
            ('unknown frame of text', frame(0x77, 0, 0, b'text')),
            ('flag of a message', frame(DATA, 0, 1, b'\2\0\0\0\0')),
            ('DATA behind the end', frame(DATA, END_STREAM, 1, b'') + frame(DATA, 0, 1, grpc(b'a'))),
            ('DATA behind an empty end',
             frame(DATA, END_STREAM, QUIET, b'') + frame(DATA, 0, QUIET, grpc(b'a'))),
            ('message cut by its end', frame(DATA, END_STREAM, 1, grpc(b'abc')[:-1])),
            ('message cut', frame(DATA, 0, 1, grpc(b'abc')[:-1])),
        ))
        # One stream may have ended: then another fault is in the way.
        if 1 not in self.ended:
            self.label = label
            self.bytes += data

    def make(self):
        self.messages()
        if self.random.random() < .4:
            self.odd()
        elif self.random.random() < .3:
            self.label = 'damaged'
            data = bytearray(self.bytes)
            data[self.random.randrange(len(data))] = self.random.randrange(256)
            self.bytes = bytes(data)
        return self


def frames_of(data):
    """Type, flags and stream of each frame, as far as their lengths lead."""
    while len(data) >= 9:
        yield data[3], data[4], int.from_bytes(data[5:9], 'big') & 0x7fffffff
        data = data[9 + int.from_bytes(data[:3], 'big'):]


def state_of(data):
    """What of a session's state the frames touch that the core does not have."""
    ended = set()
    for kind, flags, stream in frames_of(data):
        if stream not in (0, QUIET, *STREAMS):
            return ', of a stream without a request'
        if kind == GOAWAY or (kind == SETTINGS and flags & ACK):
            return ", of a session's state"
        if stream in ended:
            return ', behind an end'
        if kind == DATA and flags & END_STREAM:
            ended.add(stream)
    return ''


def main():
    random = outside.generator()
    flows = [Maker(random).make() for _ in range(ROUNDS)]
    answers = outside.ask([{
        'id': str(number), 'kind': 'outside', 'framing': 'h2+grpc', 'options': {'eof': True},
        'chunks_hex': [flow.bytes.hex()]} for number, flow in enumerate(flows)])
    comparison = outside.Comparison('HTTP/2 beside nghttp2', EXPLAINED)
    for flow, ours in zip(flows, answers):
        messages, good = read(flow.bytes)
        shown = '%s: %s %s, nghttp2 %s %s' % (flow.bytes[-120:].hex(), ours['error'],
                                              ours['messages_hex'][-3:], good, messages[-3:])
        count = min(len(messages), len(ours['messages_hex']))
        if messages[:count] != ours['messages_hex'][:count] and flow.label != 'damaged':
            comparison.differ('another message: ' + flow.label, shown)
        elif good == (ours['error'] is None):
            comparison.agree('taken' if good else 'refused')
        else:
            label = flow.label
            if label == 'damaged' and not good:
                label += state_of(flow.bytes)
            comparison.differ(('stricter: ' if good else 'laxer: ') + label, shown)
    return outside.report([comparison], ROUNDS)


if __name__ == '__main__':
    sys.exit(main())
