#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Recorded streams of model servers, served in chunks of random sizes and read by
ordinary clients: byte for byte the same, and with a term out of the middle of one,
exactly the events before it.

The recordings are not part of the project. Where a folder of them is at hand
($SLUICE_CASES, or shared/cases beside the checkout), those below peer/streams whose
framing, by its manifest.jsonl, is sse or ndjson are used.
"""
import json
import os
import random
import re

from http_bench import CLIENTS, POLICY, ChatServer, ask
from sluice_test import ROOT, main
from waiting import Skip, check, equal

CASES = os.environ.get('SLUICE_CASES') or os.path.join(ROOT, '..', 'shared', 'cases')
TYPES = {'sse': 'text/event-stream', 'ndjson': 'application/x-ndjson'}
# The text that an answer is made of, part by part; and what else goes on from event to event.
PARTS = ('content', 'reasoning', 'reasoning_content', 'thinking', 'response')
OTHERS = ('text', 'token', 'refusal', 'arguments', 'name', 'message')
TERM_RUNES = 16
LEAST_RUNES = 12


class Recording:
    def __init__(self, path, framing, extract):
        self.path, self.type, self.extract = path, TYPES[framing], extract
        self.name = os.path.basename(path)
        with open(path, 'rb') as file:
            self.data = file.read()
        end = rb'\n' if framing == 'ndjson' else rb'\r\n\r\n|\n\n'
        self.events = re.findall(rb'(?s).+?(?:%s)' % end, self.data)
        read = self.data_of if framing == 'sse' else bytes.decode
        self.parsed = [self.parse(read(event)) for event in self.events]
        # What is no JSON is read under `extract: raw`, as one text.
        self.raw = any(isinstance(value, str) and value not in ('', '[DONE]')
                       for value in self.parsed)
        if self.raw:
            self.parsed = [read(event) for event in self.events]
        self.joined = self.channels(self.joins)

    @staticmethod
    def data_of(event):
        rows = [row[5:] for row in event.splitlines() if row.startswith(b'data:')]
        return b'\n'.join(row.removeprefix(b' ') for row in rows).decode()

    @staticmethod
    def parse(text):
        try:
            return json.loads(text)
        except ValueError:
            return text

    def texts(self):
        """(path, event, text) of every string."""
        def walk(value, path, number):
            if isinstance(value, str):
                yield path, number, value
            elif isinstance(value, dict):
                choice = (value['index'],) if 'delta' in value and 'index' in value else ()
                for name, inner in value.items():
                    yield from walk(inner, path + choice + (name,), number)
            elif isinstance(value, list):
                for inner in value:
                    yield from walk(inner, path, number)

        for number, value in enumerate(self.parsed):
            yield from walk(value, (), number)

    def joins(self, path):
        """Does the text there go on from event to event?"""
        openai, ollama = self.extract == 'openai_chat', self.extract.startswith('ollama')
        return self.raw or bool(path) and path[-1] in PARTS and (
            openai and 'delta' in path or ollama and (path[0] == 'message' or len(path) == 1))

    def may_join(self, path):
        return self.joins(path) or bool(path) and path[-1] in OTHERS

    def channels(self, joins, others=True):
        """Texts, those of one path as one where joins(path), and with the others or without;
        and the event of each rune."""
        found = {}
        for at, (path, number, text) in enumerate(self.texts()):
            if not joins(path) and not others:
                continue
            whole, events = found.setdefault(path if joins(path) else at, ([], []))
            whole.append(text)
            events += [number] * len(text)
        return [(''.join(whole), events) for whole, events in found.values()]

    def first(self, term):
        """The first event that brings a rune of a term, or how many there are."""
        found = [events[text.index(term)] for text, events in self.joined if term in text]
        return min(found, default=len(self.events))

    def term(self):
        """A piece of text that begins, if any does, where half of the recording has come."""
        long = [(text, events) for text, events in self.joined if len(text) >= LEAST_RUNES]
        joined = [(text, events) for text, events in long if len(set(events)) > 4]
        terms = {text[len(text) // 2:][:TERM_RUNES] for text, _ in joined or long}
        return min(sorted(terms), key=lambda t: abs(self.first(t) - len(self.events) // 2))

    def bounds(self, terms):
        """What precedes the first event that brings a rune of a term: all of it may have
        arrived, and at least what no text that could begin a term holds back."""
        most = least = min(map(self.first, terms))
        for text, events in self.channels(self.may_join, others=False):
            came = text[:sum(number < most for number in events)]
            for at in range(max(0, len(came) - TERM_RUNES + 1), len(came)):
                if any(term.startswith(came[at:]) for term in terms):
                    least = min(least, events[at])
        # A call is held until it is complete, and everything behind it.
        calls = [n for n, event in enumerate(self.events) if any(word in event for word in CALLS)]
        least = min([least, *calls])
        return b''.join(self.events[:least]), b''.join(self.events[:most])


CALLS = (b'tool_calls', b'function_call', b'code_interpreter_call', b'tool_use')


def recordings():
    folder = os.path.join(CASES, 'peer', 'streams')
    if not os.path.exists(os.path.join(folder, 'manifest.jsonl')):
        raise Skip('there is no folder of recorded streams ($SLUICE_CASES)')
    with open(os.path.join(folder, 'manifest.jsonl'), encoding='utf-8') as rows:
        listed = [json.loads(row) for row in rows]
    return [Recording(os.path.join(folder, row['file']), row['framing'], row['extract'])
            for row in listed if row['framing'] in TYPES]


def served(bench, streams, seeds):
    """A chat server whose models are the recordings, each in chunks by several seeds."""
    server = ChatServer(bench, {
        '%s %d' % (stream.name, seed): {'file': stream.path, 'type': stream.type, 'seed': seed}
        for stream in streams for seed in seeds})
    return [(stream, seed, ask('%s %d' % (stream.name, seed), url=server.url()))
            for stream in streams for seed in seeds]


def some_seeds(count):
    """Seeds for chunks: those of $SEEDS where one failed before."""
    seeds = [int(seed) for seed in os.environ.get('SEEDS', '').split()] or [
        random.randrange(1 << 32) for _ in range(count)]
    print('# SEEDS="%s"' % ' '.join(map(str, seeds)))
    return seeds


def by_extractor(steps, policy):
    """The steps that a policy can read, and those that need the other extractor."""
    for raw in (False, True):
        yield ([step for step in steps if step[0].raw == raw],
               policy.replace('extract: auto', 'extract: raw') if raw else policy)


def identical(bench):
    """each recording arrives byte for byte, whatever the chunks, on connections that are kept"""
    daemon = bench.daemon(POLICY)
    for steps, policy in by_extractor(served(bench, recordings(), some_seeds(3)), POLICY):
        for name in ('http.client', 'node'):
            got = CLIENTS[name](bench, daemon, policy).ask_all([step for _, _, step in steps])
            equal(len(got), len(steps), 'answers; %s' % got[-1])
            for (stream, seed, _), outcome in zip(steps, got):
                what = '%s, %s, seed %d' % (name, stream.name, seed)
                equal((outcome.status, outcome.error), (200, ''), what)
                check(outcome.body == stream.data, '%s: other bytes arrived', what)
            check(' denied 0, failed 0; sessions complete %d,' % len(steps) in got[0].run,
                  'the summary says %s', got[0].run)


def refused_in_the_middle(bench):
    """a term out of the middle of each: the events before it arrive, and nothing after"""
    streams = recordings()
    terms = sorted({stream.term() for stream in streams})
    listed = POLICY.split('  words:')[0] + '  words: {kind: terms, terms: %s}\n' % json.dumps(terms)
    daemon = bench.daemon(POLICY)
    for steps, policy in by_extractor(served(bench, streams, some_seeds(2)), listed):
        got = CLIENTS['http.client'](bench, daemon, policy).ask_all([step for _, _, step in steps])
        equal(len(got), len(steps), 'answers; %s' % got[-1])
        for (stream, seed, _), outcome in zip(steps, got):
            cut_off(stream, terms, outcome, '%s, seed %d' % (stream.name, seed))
        check(' denied %d,' % len(steps) in got[0].run, 'the summary says %s', got[0].run)


def cut_off(stream, terms, outcome, what):
    least, most = stream.bounds(terms)
    check(len(most) < len(stream.data), '%s: there is no term in it', what)
    mark = b'event: error' if stream.type == TYPES['sse'] else b'{"error"'
    arrived, found, _ = outcome.body.partition(mark)
    check(found and outcome.error, '%s: the answer looks whole: %s', what, outcome)
    # A chunk with no room for the error is filled first: by a comment, or by spaces.
    ends = [sum(map(len, stream.events[:n])) for n in range(len(stream.events))]
    end = max(end for end in ends if stream.data[:end] == arrived[:end])
    check(re.fullmatch(rb'(:? *\n)?| *', arrived[end:]), '%s: more than events: %r', what,
          arrived[end:])
    check(len(least) <= end <= len(most), '%s: %d bytes arrived, expected %d to %d', what, end,
          len(least), len(most))


if __name__ == '__main__':
    main([identical, refused_in_the_middle])
