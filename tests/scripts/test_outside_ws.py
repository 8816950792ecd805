#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""WebSocket messages as Python's websockets reads them, and as the core does, from clients
and servers, with permessage-deflate and without."""
import struct
import sys
import zlib

import outside

try:
    from websockets import connection, exceptions
    from websockets.extensions.permessage_deflate import PerMessageDeflate
    from websockets.frames import Opcode
except ImportError:
    outside.skip('python3-websockets is not installed')

ROUNDS = 4000
LIMIT = 3000

EXPLAINED = {
    'another message: damaged coding': 'behind a final block (RFC 7692 7.2.3.4) another one follows; '
                                       'websockets gives nothing out any more',
    'stricter: long length': 'a length has one form, its shortest (RFC 6455 5.2); websockets takes '
                             'any',
    'stricter: behind close': 'nothing follows a close (RFC 6455 5.5.1); websockets drops it',
    'stricter: coded control': 'as far as websockets looks, RSV1 of a control frame says nothing',
    'stricter: damaged': 'what one byte makes of a frame may be one of the above',
}

CLOSES = (b'', struct.pack('>H', 1000), struct.pack('>H', 1000) + 'ad\u00e9'.encode(),
          struct.pack('>H', 1007), struct.pack('>H', 1012), struct.pack('>H', 3000),
          struct.pack('>H', 4999))
BAD_CLOSES = (b'\x03', struct.pack('>H', 1005), struct.pack('>H', 999), struct.pack('>H', 1016),
              struct.pack('>H', 5000), struct.pack('>H', 1000) + b'\xff')


class Maker:
    """One flow of frames."""

    def __init__(self, random):
        self.random = random
        self.client = random.random() < .5
        self.deflate = random.random() < .4
        self.label = 'plain'
        self.bytes = b''
        self.packer = zlib.compressobj(wbits=-15)

    def frame(self, opcode, payload, fin=True, rsv=0, mask=None, form=None):
        masked = self.client if mask is None else mask
        size = len(payload)
        if form is None:
            form = 0 if size < 126 else 1 if size < 65536 else 2
        length = (b'', b'\x7e' + struct.pack('>H', size), b'\x7f' + struct.pack('>Q', size))[form]
        length = length or bytes((size,))
        head = bytes((fin << 7 | rsv << 4 | opcode, length[0] | masked << 7)) + length[1:]
        if masked:
            key = self.random.randbytes(4)
            payload = key + bytes(byte ^ key[at % 4] for at, byte in enumerate(payload))
        self.bytes += head + payload

    def payload(self):
        size = self.random.choice((0, 1, 5, 20, 125, 126, 400))
        text = ''.join(self.random.choices('ab \u00e9\u4e16\U0001f600', k=size)).encode()
        binary = self.random.random() < .3
        return (2, self.random.randbytes(size)) if binary else (1, text[:2000])

    def pack(self, payload):
        packed = self.packer.compress(payload) + self.packer.flush(zlib.Z_SYNC_FLUSH)
        return packed[:-4]

    def control(self):
        self.frame(self.random.choice((9, 10)), self.random.randbytes(self.random.randrange(9)))

    def message(self):
        opcode, payload = self.payload()
        if opcode == 1:
            payload = payload.decode('utf-8', 'ignore').encode()
        rsv = 0
        if self.deflate and self.random.random() < .7:
            payload, rsv = self.pack(payload), 4
        cuts = sorted(self.random.randrange(len(payload) + 1)
                      for _ in range(self.random.choice((0, 0, 1, 3))))
        at = 0
        for cut in cuts:
            self.frame(opcode, payload[at:cut], fin=False, rsv=rsv)
            opcode, rsv, at = 0, 0, cut
            if self.random.random() < .3:
                self.control()
        self.frame(opcode, payload[at:], rsv=rsv)

    def odd(self):
        """Something that a receiver has to refuse, or might."""
        kind = self.random.randrange(15)
        self.label = ('long length', 'wrong mask', 'reserved bits', 'reserved opcode',
                      'long control', 'control in pieces', 'continuation of nothing',
                      'message in a message', 'bad close', 'behind close', 'too large',
                      'ill text', 'ill text in pieces', 'coded control', 'bad coding')[kind]
        if kind == 0:
            self.frame(2, b'abc', form=self.random.choice((1, 2)))
        elif kind == 1:
            self.frame(2, b'abc', mask=not self.client)
        elif kind == 2:
            self.frame(2, b'abc', rsv=self.random.choice((1, 2, 3) if self.deflate else
                                                         (1, 2, 4)))
        elif kind == 3:
            self.frame(self.random.choice((3, 7, 11, 15)), b'abc')
        elif kind == 4:
            self.frame(9, bytes(126))
        elif kind == 5:
            self.frame(9, b'a', fin=False)
        elif kind == 6:
            self.frame(0, b'abc')
        elif kind == 7:
            self.frame(1, b'a', fin=False)
            self.frame(1, b'b')
        elif kind == 8:
            self.frame(8, self.random.choice(BAD_CLOSES))
        elif kind == 9:
            self.frame(8, b'')
            self.frame(9, b'a')
        elif kind == 10:
            self.frame(2, bytes(LIMIT + 1))
        elif kind == 11:
            self.frame(1, b'a\xff')
        elif kind == 12:
            self.frame(1, b'a\xc3', fin=False)
            self.frame(0, b'b')
        elif kind == 13 and self.deflate:
            self.frame(9, b'a', rsv=4)
        elif self.deflate:
            self.label = 'bad coding'
            self.frame(1, b'\xff\xff\xff', rsv=4)

    def damage(self):
        if self.random.random() < .7 or not self.bytes:
            return
        self.label = 'damaged'
        data = bytearray(self.bytes)
        at = self.random.randrange(len(data))
        data[at] = self.random.randrange(256)
        self.bytes = bytes(data[:len(data) - self.random.randrange(2)])

    def make(self):
        for _ in range(self.random.randrange(1, 4)):
            self.random.choice((self.message, self.message, self.control))()
        if self.random.random() < .4:
            self.odd()
        elif self.random.random() < .3:
            self.frame(8, self.random.choice(CLOSES))
        if self.label == 'plain':
            self.damage()
        return self


def read(flow):
    """Whole messages, and what is wrong; None: nothing is."""
    side = connection.Side.SERVER if flow.client else connection.Side.CLIENT
    reader = connection.Connection(side, connection.State.OPEN, max_size=LIMIT)
    if flow.deflate:
        reader.extensions = [PerMessageDeflate(False, False, 15, 15)]
    reader.receive_data(flow.bytes)
    if not reader.parser_exc and reader.close_rcvd is None:
        reader.receive_eof()
    messages, parts, text = [], None, False
    for frame in reader.events_received():
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY):
            parts, text = [], frame.opcode is Opcode.TEXT
        elif frame.opcode is not Opcode.CONT:
            continue
        parts.append(frame.data)
        if not frame.fin:
            continue
        whole = b''.join(parts)
        parts = None
        if text:
            try:
                whole.decode()
            except UnicodeDecodeError:
                return messages, 'ill text'
        messages.append(whole.hex())
    error = reader.parser_exc
    # The connection may end between two messages.
    if isinstance(error, EOFError) and str(error) == 'unexpected end of stream' and parts is None:
        error = None
    return messages, error and repr(error)


def main():
    random = outside.generator()
    flows = [Maker(random).make() for _ in range(ROUNDS)]
    answers = outside.ask([{
        'id': str(number), 'kind': 'outside', 'framing': 'ws',
        'options': {'from': 'client' if flow.client else 'server', 'max_message': LIMIT,
                    'permessage_deflate': flow.deflate, 'eof': True},
        'chunks_hex': [flow.bytes.hex()]} for number, flow in enumerate(flows)])
    comparison = outside.Comparison('WebSocket beside websockets', EXPLAINED)
    for flow, ours in zip(flows, answers):
        messages, error = read(flow)
        shown = '%s %s %s: %s %s, websockets %s %s' % (
            'client' if flow.client else 'server', 'deflate' if flow.deflate else '',
            flow.bytes[:200].hex(), ours['error'], ours['messages_hex'], error, messages)
        count = min(len(messages), len(ours['messages_hex']))
        if messages[:count] != ours['messages_hex'][:count]:
            comparison.differ('another message: ' + flow.label +
                              (' coding' if flow.deflate else ''), shown)
        elif (ours['error'] is None) == (error is None):
            agree = error is not None or len(messages) == len(ours['messages_hex'])
            if agree:
                comparison.agree('refused' if error else 'taken')
            else:
                comparison.differ('another count of messages', shown)
        else:
            comparison.differ(('laxer: ' if error else 'stricter: ') + flow.label, shown)
    return outside.report([comparison], ROUNDS)


if __name__ == '__main__':
    sys.exit(main())
