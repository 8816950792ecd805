#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs that fuzzing begins with: FOLDER/TARGET/NAME.

Made of the recorded framing cases and of small messages for what these leave out, each
behind the head that its target reads (tests/fuzz/fuzz.h and target_TARGET.c).
"""
import binascii
import gzip
import json
import os
import re
import struct
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, '..', 'data', 'framing.jsonl')
PIPELINE_H = os.path.join(HERE, '..', '..', 'user', 'core', 'pipeline.h')
# Of each four cuts: byte by byte; small; mixed; large.
CUTS = (b'\0\0\0\0', b'\2\0\6\1', b'\0\x1f\3\x80', b'\xff\xff\xff\xff')
LONGEST = 4000
# What 0xff and these say in a stream's data.
REQUESTS, RESPONSES, ENDS = b'\xffq', b'\xffr', b'\xffe'


def enumerators(name):
    """The values of an enum of core/pipeline.h, by name."""
    with open(PIPELINE_H, encoding='utf-8') as source:
        body = re.search(r'enum %s \{(.*?)\};' % name, source.read(), re.S).group(1)
    body = re.sub(r'/\*.*?\*/', '', body, flags=re.S)
    return {item.strip(): value for value, item in enumerate(body.split(',')) if item.strip()}


FRAMING = enumerators('framing_kind')
EXTRACT = enumerators('extract_kind')
LENGTHS = enumerators('lenprefix_type')
KINDS = {'ndjson': 'NDJSON', 'sentinel': 'SENTINEL', 'lenprefix': 'LENPREFIX', 'sse': 'SSE',
         'http1': 'HTTP1', 'http1>sse': 'HTTP1', 'http1>ws': 'HTTP1', 'jsonrpc_cl': 'JSONRPC_CL',
         'ws': 'WS', 'grpc': 'GRPC'}


class Seeds:
    def __init__(self, folder):
        self.folder = folder
        self.count = 0

    def add(self, target, name, options, data):
        """One input, unless it is too long to be fuzzed; how its data is cut goes round."""
        if len(data) > LONGEST:
            return
        options = bytes(options) + bytes(6 - len(options))
        folder = os.path.join(self.folder, target)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name), 'wb') as seed:
            seed.write(options + CUTS[self.count % len(CUTS)] + data)
        self.count += 1


def extract_of(options):
    name = options.get('extract', 'raw')
    kind = 'EXTRACT_' + name.split(':')[0].upper()
    return EXTRACT.get(kind, EXTRACT['EXTRACT_AUTO'])


def stream_data(case, data):
    """Both flows, the response behind what it answers."""
    options = case['options']
    if options.get('http') != 'response':
        return data
    requests = b''.join(b'%s / HTTP/1.1\r\nHost: a\r\n%s\r\n' % (
        method.encode(), b'Connection: upgrade\r\nUpgrade: websocket\r\n'
        if case['framing'] == 'http1>ws' else b'') for method in options.get('requests', ['GET']))
    return REQUESTS + requests + RESPONSES + data


def parameter_of(case):
    options = case['options']
    length = options.get('len', {})
    parameter = LENGTHS['LENPREFIX_' + length['type'].upper()] if length else 0
    if length.get('endian') == 'big' or options.get('grpc_web'):
        parameter |= 8
    if options.get('permessage_deflate') or options.get('grpc_encoding') == 'gzip':
        parameter |= 1
    return parameter


def add_pipeline(seeds, case, number, data):
    options = case['options']
    kind = FRAMING['FRAMING_' + KINDS[case['framing']]]
    responses = options.get('from') == 'server' or options.get('http') == 'response'
    for variant, terms in enumerate((0x00, 0x11, 0x88, 0x44)):
        head = (kind | parameter_of(case) << 4,
                extract_of(options) | (0x40 if options.get('eof', True) else 0) |
                (0x80 if variant == 1 else 0),
                terms, (4 if responses else 0) | (8 if options.get('final_newline') else 0),
                4 if 'max_message' in options else 0)
        seeds.add('pipeline', '%s-%d' % (case['id'], variant), head, stream_data(case, data))


def add_case(seeds, case, number):
    options, name, kind = case['options'], case['id'], case['framing']
    data = b''.join(bytes.fromhex(chunk) for chunk in case['chunks_hex'])
    limit = 4 if 'max_message' in options else 0
    parameter = parameter_of(case)
    if kind in KINDS:
        add_pipeline(seeds, case, number, data)
    if kind == 'sse':
        seeds.add('frame_sse', name, [limit], data)
        for message in case['expect']['messages_hex']:
            seeds.add('json', name, [0], bytes.fromhex(message))
    elif kind.startswith('http1'):
        methods = {'HEAD': 1, 'CONNECT': 2}
        asked = sum(methods.get(method, 3 if kind == 'http1>ws' else 0) << 2 * i
                    for i, method in enumerate(options.get('requests', [])[:4]))
        seeds.add('frame_http1', name, [options['http'] == 'response', asked & 255], data)
    elif kind == 'ws':
        client = options['from'] == 'client'
        seeds.add('frame_ws', name, [limit, client | parameter << 1], data)
    elif kind == 'grpc':
        seeds.add('frame_grpc', name, [limit, parameter & 1, parameter >> 3], data)
    elif kind == 'h2+grpc':
        seeds.add('frame_h2', name, [0, 1], data)
        seeds.add('frame_h2', name + '-frames', [0, 0], data)
    elif kind == 'jsonrpc_cl':
        seeds.add('frame_jsonrpc', name, [limit], data)
    elif kind == 'ndjson':
        seeds.add('frame_plain', name, [0, limit, 1], data)
        seeds.add('json', name, [1], data)
        seeds.add('extract', name, [extract_of(options), 2], data)
    elif kind == 'sentinel':
        sentinel = bytes.fromhex(options['sentinel_hex'])
        seeds.add('frame_plain', name, [1, 0, 0, 0, len(sentinel) - 1], sentinel + data)
    elif kind == 'lenprefix':
        flags = 2 if parameter & 8 else 0
        seeds.add('frame_plain', name, [2, limit, flags, parameter & 7], data)
    if 'policy' in options:
        terms = '\n'.join(options['policy']['terms']).encode()
        steps = ('casefold', 'nfkc', 'nfc', 'ignorable', 'strip_mn', 'confusable')
        fold = sum(1 << steps.index(step) for step in options['policy'].get('fold', []))
        text = ''.join(case['expect'].get('text', {}).values()) \
            if isinstance(case['expect'].get('text'), dict) else ''
        seeds.add('terms', name, [fold], terms + b'\xff' + text.encode() + terms)


def eventstream(headers, payload):
    prelude = struct.pack('>II', 16 + len(headers) + len(payload), len(headers))
    prelude += struct.pack('>I', binascii.crc32(prelude))
    message = prelude + headers + payload
    return message + struct.pack('>I', binascii.crc32(message))


def stored_br(text):
    """A brotli stream of one block that is not compressed (RFC 7932 9.2)."""
    size = len(text) - 1
    return bytes((0x0b | (size & 1) << 7, size >> 1 & 255, 0x80 | size >> 9)) + text + b'\3'


def stored_zstd(text):
    """A frame of zstd with one raw block (RFC 8878 3.1.1), of less than 256 bytes."""
    return b'\x28\xb5\x2f\xfd\x20' + bytes((len(text),)) + \
        (len(text) << 3 | 1).to_bytes(3, 'little') + text


CODINGS = (('gzip', 0, lambda text: gzip.compress(text, mtime=0)), ('deflate', 1, zlib.compress),
           ('deflate', 1, lambda text: zlib.compress(text)[2:-4]), ('br', 2, stored_br),
           ('zstd', 3, stored_zstd))
REQUEST = b'GET / HTTP/1.1\r\nHost: a\r\n\r\n'


def chunks(data, size):
    pieces = [data[at:at + size] for at in range(0, len(data), size)]
    return b''.join(b'%x\r\n%s\r\n' % (len(piece), piece) for piece in pieces) + b'0\r\n\r\n'


def response(media, body, coding=None, size=None):
    head = b'HTTP/1.1 200 OK\r\nContent-Type: %s\r\n' % media
    if coding:
        head += b'Content-Encoding: %s\r\n' % coding.encode()
    if size:
        return head + b'Transfer-Encoding: chunked\r\n\r\n' + chunks(body, size)
    return head + b'Content-Length: %d\r\n\r\n' % len(body) + body


def add_coded(seeds, text):
    events = b'data: bo\n\ndata: mb\n\n: c\n\n'
    for number, (name, coding, encode) in enumerate(CODINGS):
        name_of = '%s-%d' % (name, number)
        data = encode(text)
        seeds.add('content_coding', name_of, [coding, 1], data)
        seeds.add('frame_grpc', name_of, [0, coding + 1],
                  b'\1' + struct.pack('>I', len(data)) + data)
        for media, body in ((b'text/event-stream', encode(events)), (b'application/json', data),
                            (b'application/x-ndjson', encode(text + b'\n'))):
            for size in (None, 7, 200):
                seeds.add('pipeline', 'coded-%s-%s-%s' % (name_of, media[-6:].decode().replace('/', '-'), size),
                          (FRAMING['FRAMING_HTTP1'], 0x41, 0x11),
                          REQUEST + RESPONSES + response(media, body, name, size))


def add_chats(seeds):
    call = b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":' \
           b'{"name":"f","arguments":"{\\"x\\":"}}]}}]}'
    more = b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":' \
           b'{"arguments":"1}"}}]}}]}'
    stop = b'{"choices":[{"index":0,"delta":{"content":"bo"},"finish_reason":"tool_calls"}]}'
    events = b''.join(b'data: %s\n\n' % data for data in (call, more, stop, b'[DONE]'))
    lines = b'{"model":"m","message":{"role":"assistant","content":"bo","thinking":"t",' \
            b'"tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]},"done":false}\n' \
            b'{"model":"m","message":{"role":"assistant","content":"mb"},"done":true}\n'
    for kind, media, body in (('EXTRACT_OPENAI_CHAT', b'text/event-stream', events),
                              ('EXTRACT_OLLAMA_CHAT', b'application/x-ndjson', lines)):
        seeds.add('extract', kind, [EXTRACT[kind], 4 if kind.startswith('EXTRACT_OPENAI') else 2],
                  (b'\xff'.join((call, more, stop, b'[DONE]'))
                   if kind.startswith('EXTRACT_OPENAI') else lines))
        for terms in (0x00, 0x11, 0x88):
            for extract in (EXTRACT[kind], EXTRACT['EXTRACT_AUTO']):
                seeds.add('pipeline', '%s-%d-%d' % (kind, terms, extract),
                          (FRAMING['FRAMING_HTTP1'], 0x40 | extract, terms),
                          REQUEST + RESPONSES + response(media, body, size=50))


def add_torn(seeds):
    """A term that comes letter by letter, each in a unit of its own."""
    letters = ('x', 'b', 'o', 'm', 'y', 'b', 'o', 'm', 'b', 'z')
    lines = b''.join(b'{"t":"%s"}\n' % letter.encode() for letter in letters)
    deltas = b''.join(b'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n' %
                      letter.encode() for letter in letters)
    for terms in (0x11, 0x44, 0x88, 0x99, 0xdd, 0xee, 0xff):
        for kind, extract, data in (
                ('NDJSON', 'PATH', lines), ('SSE', 'OPENAI_CHAT', deltas),
                ('HTTP1', 'AUTO', REQUEST + RESPONSES +
                 response(b'text/event-stream', deltas, size=30)),
                ('SENTINEL', 'RAW', b'b\r\n--o\r\n--m\r\n--b\r\n--')):
            seeds.add('pipeline', 'torn-%s-%d' % (kind, terms),
                      (FRAMING['FRAMING_' + kind], 0x40 | EXTRACT['EXTRACT_' + extract], terms),
                      data)


def add_others(seeds):
    string = b'\x05:type\x07\x00\x05event'
    others = b''.join((b'\x01b\x00', b'\x01c\x01', b'\x01d\x02\x7f', b'\x01e\x03\x01\x02',
                       b'\x01f\x04\0\0\1\0', b'\x01g\x05' + bytes(8), b'\x01h\x06\x00\x02hi',
                       b'\x01i\x08' + bytes(8), b'\x01j\x09' + bytes(range(16))))
    events = eventstream(string, b'{"bytes":"aGk="}') + eventstream(string + others, b'')
    seeds.add('frame_eventstream', 'all-types', [0], events)
    array = b' [ {"a":[1,"]"]} , "x\\"" ,\n12 , true ] \n'
    seeds.add('frame_json_array', 'elements', [0], array)
    text = b'{"a":{"b":"te\\u0078t"},"c":[1,-2.5e3,true,null,"\\ud83d\\ude00"]}'
    add_coded(seeds, text)
    add_chats(seeds)
    add_torn(seeds)
    names = b'{%s}' % b','.join(b'"n%d":%d' % (number, number) for number in range(40))
    seeds.add('json', 'many-names', [0], names)
    seeds.add('pipeline', 'many-names', (FRAMING['FRAMING_NDJSON'], 0x43, 0x11), names + b'\n')
    for kind in EXTRACT.values():
        for flags in range(7):
            seeds.add('extract', 'all-%d-%d' % (kind, flags), [kind, flags],
                      text + (b'\n' if flags in (1, 2) else b'\xff') + text)
    seeds.add('json', 'all', [0], text)
    for name, data in (('sse', events), ('array', array)):
        kind = 'FRAMING_EVENTSTREAM' if name == 'sse' else 'FRAMING_JSON_ARRAY'
        if kind in FRAMING:
            seeds.add('pipeline', 'other-' + kind, (FRAMING[kind], 0x43, 0x11, 4), data)
    for number, line in enumerate((
            b'application/json; charset=utf-8', b'text/event-stream', b'application/vnd.a+json',
            b'multipart/form-data; boundary="a;b"', b'application/x-www-form-urlencoded',
            b'permessage-deflate; client_no_context_takeover; server_max_window_bits=10',
            b'a%20b%zz+%c3%a9%', b'GET / HTTP/1.1', b'Content-Length: 5', b'{"a":1}',
            'h\u00e9\u4e16\U0001f600'.encode(), b'\xed\xa0\x80\xf4\x90\x80\x80\xc0\x80')):
        seeds.add('words', 'word-%d' % number, [number], line)
    # Patterns are spelled by bytes; see target_regex.c.
    for number, spelled in enumerate((
            b'\x01\x01\x00\x00\x01\x00', b'\x00\x02\xc9\x00\x00\x01\x42',
            b'\x03\x00\x00\x45\x00\x01\x41', b'\x00\x01\xa0\x00\x01\x02\x00\x01\x00\x43',
            b'\x00\x03\xc2\x00\x00\x07\x42\xc1\x06\x46')):
        seeds.add('regex', 'spelled-%d' % number, [number, 0 if number & 1 else 6, 3],
                  spelled * 3 + b'\xffab abc\nAab caab \xc3\xa9ab')
    seeds.add('terms', 'folds', [63], 'bomb\nstra\u00dfe\nfi\xff'.encode('latin-1') +
              'STRASSE \ufb01 b\u200bomb o\u0301'.encode())


def add_verdicts(seeds):
    for number, verdict in enumerate((
            {'decision': 'allow'}, {'decision': 'deny', 'reason': 'a.b', 'approval': {}},
            {'decision': 'deny', 'reason': 'host_error:x', 'message': 'm'},
            {'decision': 'allow', 'warnings': [{'reason': 'a', 'message': 'b'}],
             'evidence': {'a': [1e3, None, {'b': 'c'}]}, 'result_labels': ['x']},
            {'decision': 'transform', 'transform': {'path': '$target.a[0]["b"]', 'value': 1}})):
        seeds.add('verdict', 'shape-%d' % number, [number & 1], json.dumps(verdict).encode())


def attempt(target, request, answer, text, flags=0, status=0):
    """One of target_resume.c."""
    return bytes((flags, status)) + b'\n'.join((target, *request, b'', *answer, b'', text))


def add_resumes(seeds):
    tag, sse = b'ETag: "v"', 4
    whole = attempt(b'/f', [b'Host: a'], [tag], b'forb')
    rest = (b'/f', [b'Host: a', b'Range: bytes=4-'], [tag, b'Content-Range: bytes 4-8/9'], b'idden')
    stories = {
        'part': [whole, attempt(*rest, status=1)],
        'peer': [whole, attempt(b'/f', [b'Host: a'], [tag], b'xxxx', 1), attempt(*rest, 1, 1)],
        'versions': [whole, attempt(b'/f', [b'Host: a'], [b'ETag: "w"'], b'xxxx'),
                     attempt(*rest, status=1)],
        'anew': [whole, attempt(*rest[:2], [tag], b'forbi')],
        'condition': [whole, attempt(b'/f', rest[1] + [b'If-Range: "v"'], *rest[2:], status=1)],
        'event': [attempt(b'/s', [], [], b'1forb', sse),
                  attempt(b'/s', [b'Last-Event-ID: 1'], [], b'2idd', sse | 2),
                  attempt(b'/s', [b'Last-Event-ID: 2'], [], b'3en', sse)],
        'number': [attempt(b'/r', [], [], b'1forb', sse),
                   attempt(b'/v/r?starting_after=1', [], [], b'idden', sse)],
    }
    for name, story in stories.items():
        seeds.add('resume', name, [7], b'\xff'.join(story))


def main():
    if len(sys.argv) != 2:
        sys.exit('usage: %s FOLDER' % sys.argv[0])
    seeds = Seeds(sys.argv[1])
    with open(CASES, encoding='utf-8') as cases:
        for number, line in enumerate(cases):
            add_case(seeds, json.loads(line), number)
    add_others(seeds)
    add_verdicts(seeds)
    add_resumes(seeds)
    print('%d inputs in %s' % (seeds.count, sys.argv[1]))


if __name__ == '__main__':
    main()
