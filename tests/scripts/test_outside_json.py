#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""JSON texts as Python's json reads them, and as the core does: what is one, and what the
string of a member is."""
import json
import sys

import outside

ROUNDS = 6000
REPLACEMENT = '\ufffd'

EXPLAINED = {}

STRINGS = ('', 'a', 'bo', '\\u0061', '\\n', '\\\\', '\\"', '\\/', '\\b\\f\\r\\t', '\u00e9', '\u4e16',
           '\U0001f600', '\\ud83d\\ude00', '\\ud83d', '\\ude00', '\\uD83D\\u0041', '\\ude00\\ud83d',
           '\\u0000', '\x7f', '\\uFFFD', '\u2028', '\\u00e9')
NUMBERS = ('0', '-0', '1', '-12.5', '1e5', '1E+5', '1.0e-3', '123456789012345678901234567890')
SPACE = ('', '', '', ' ', '\t', '\n', '\r', ' \r\n ')
# What is none of JSON, though some readers take it.
ODD = ('01', '+1', '.5', '1.', '1e', '-', '0x1', 'NaN', 'Infinity', '-Infinity', 'True', 'nul', "'a'",
       '"\\x41"', '"\\u12"', '"\n"', '"\t"', '"\x00"', '[1,]', '[,1]', '{"a":1,}', '{"a"}', '{a:1}',
       '{"a" 1}', '[1 2]', '//', '/**/', '\ufeff', '"', '[', '{', ']', '}', ',', ':', '"a" "b"',
       '{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '{"\u00e9":1,"\\u00e9":2}', '{"":1,"":2}')


class Maker:
    def __init__(self, random):
        self.random = random

    def string(self):
        return '"%s"' % ''.join(self.random.choices(STRINGS, k=self.random.randrange(4)))

    def space(self):
        return self.random.choice(SPACE)

    def value(self, depth):
        kind = self.random.randrange(8 if depth < 5 else 4)
        if kind == 0:
            return self.random.choice(NUMBERS)
        if kind == 1:
            return self.random.choice(('true', 'false', 'null'))
        if kind < 4:
            return self.string()
        if self.random.random() < .01:
            return self.random.choice(ODD)
        if kind < 6:
            items = [self.space() + self.value(depth + 1) + self.space()
                     for _ in range(self.random.randrange(4))]
            return '[%s]' % ','.join(items)
        return self.object(depth)

    def object(self, depth):
        members = [self.space() + name + self.space() + ':' + self.space() +
                   self.value(depth + 1) + self.space() for name in self.names(depth)]
        return '{%s}' % ','.join(members)

    def names(self, depth):
        names = [self.string() for _ in range(self.random.randrange(3))]
        if depth == 0 and self.random.random() < .8:
            names.append(self.random.choice(('"t"', '"\\u0074"')))
        return names

    def text(self):
        if self.random.random() < .1:
            text = self.random.choice(ODD)
        else:
            text = self.space() + (self.object(0) if self.random.random() < .9
                                   else self.value(0)) + self.space()
        data = bytearray(text.encode('utf-8', 'surrogatepass'))
        if data and self.random.random() < .4:
            at = self.random.randrange(len(data))
            if self.random.random() < .3:
                del data[at]
            else:
                data[at] = self.random.choice(b'"\\{}[]:,0e-+.tu \n\x00\x1f\x80\xc0\xed\xf5\xff')
        return bytes(data)


def no_constant(name):
    raise ValueError('%s is no JSON' % name)


def as_read(text):
    """Halves of surrogate pairs as the core shows them."""
    pairs = text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')
    return pairs


def names_once(members):
    names = [as_read(name) for name, _ in members]
    if len(set(names)) != len(names):
        raise ValueError('a member twice')
    return dict(members)


def read(data):
    """Whether it is JSON, and the text of t; None: it is no string."""
    try:
        value = json.loads(data.decode('utf-8'), object_pairs_hook=names_once,
                           parse_constant=no_constant)
    except ValueError:
        return False, None
    text = value.get('t') if isinstance(value, dict) else None
    return True, as_read(text) if isinstance(text, str) else None


def main():
    maker = Maker(outside.generator())
    inputs = [maker.text() for _ in range(ROUNDS)]
    answers = outside.ask([{
        'id': str(number), 'kind': 'outside', 'framing': 'jsonrpc_cl',
        'options': {'extract': 'path:t', 'eof': True},
        'chunks_hex': [(b'Content-Length: %d\r\n\r\n' % len(data) + data).hex()],
    } for number, data in enumerate(inputs)])
    comparison = outside.Comparison('JSON beside Python', EXPLAINED)
    for data, ours in zip(inputs, answers):
        taken, text = read(data)
        our_text = ours['text'][0] if ours.get('text') else None
        shown = '%r: %s %r, Python %s %r' % (data, ours['error'], our_text, taken, text)
        if taken != (ours['error'] is None):
            comparison.differ('laxer' if not taken else 'stricter', shown)
        elif text and text != our_text:
            comparison.differ('another text', shown)
        else:
            comparison.agree('taken' if taken else 'refused')
    return outside.report([comparison], ROUNDS)


if __name__ == '__main__':
    sys.exit(main())
