#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""curl, Python's http.client and urllib, Node's fetch and Go's net/http talk to a chat
server: what is clean is the same as without Sluice, what is refused never arrives, and
each client shows that the answer is not whole."""
import json
import re

from http_bench import CLIENTS, KEY, POLICY, TERM, ChatServer, all_at_once, ask
from waiting import check, equal

STRICT = POLICY + 'limits: {incomplete_message_timeout_s: 2}\n'
FIRST, SECOND = TERM[:4], TERM[4:]

TOOL = [{'tool': {'index': 0, 'id': 'call_1', 'type': 'function', 'name': 'search',
                  'arguments': '{"query": '}},
        {'tool': {'index': 0, 'arguments': '"the %s' % FIRST}},
        {'tool': {'index': 0, 'arguments': '%s fruit"}' % SECOND}}]
ANSWERS = {
    'clean': {'pieces': ['Once ', 'upon ', {'reasoning': 'a time'}, 'caf\u00e9 \U0001f600',
                         {'content': 'twice', 'choice': 1}, *TOOL[:1],
                         {'tool': {'index': 0, 'arguments': '"plain"}'}}], 'pause': 0.02},
    'cut': {'pieces': ['Once ', 'upon ', 'a ', 'time '] * 20, 'cut': 333},
    'length': {'pieces': ['Once ', 'upon ', 'a time'], 'framing': 'length'},
    'close': {'pieces': ['Once ', 'upon ', 'a time'], 'framing': 'close'},
    'first': {'pieces': ['%s it is' % TERM, 'never seen']},
    'split': {'pieces': ['fine ', 'words ', 'for%s' % FIRST, SECOND, 'never seen'], 'pause': 0.05},
    'chunk': {'pieces': ['a ', 'b ', 'c ', 'd ', 'e ', TERM, 'f ', 'g '], 'per_chunk': 4},
    'in-length': {'pieces': ['fine ', 'words ', TERM, *['never seen'] * 8], 'framing': 'length'},
    'in-close': {'pieces': ['fine ', 'words ', TERM, 'never seen'], 'framing': 'close'},
    'tool': {'pieces': ['fine ', *TOOL, 'never seen']},
    'document': {'pieces': ['fine ', TERM]},
    'slow': {'pieces': ['one ', 'two ', 'three '], 'pause': 1.5},
    'slower': {'pieces': ['one ', {'pause': 2.6}, 'two ', 'three ']},
    'quick': {'pieces': ['one ', 'two ', 'three ']},
    'endless': {'pieces': ['again '] * 400, 'pause': 0.05},
}

# What each client shows of an answer that Sluice ended: its exit status and error.
CHUNKED = {
    'curl': (18, 'curl: (18) transfer closed with outstanding read data remaining'),
    'http.client': (1, 'IncompleteRead: IncompleteRead(0 bytes read)'),
    'urllib': (1, 'IncompleteRead: IncompleteRead(0 bytes read)'),
    'node': (1, 'TypeError: terminated (UND_ERR_SOCKET: other side closed)'),
    'go': (1, '*errors.errorString: unexpected EOF'),
}
RESET = {
    'curl': (56, 'curl: (56) Recv failure: Connection reset by peer'),
    'http.client': (1, 'ConnectionResetError: [Errno 104] Connection reset by peer'),
    'urllib': (1, 'ConnectionResetError: [Errno 104] Connection reset by peer'),
    # Node takes a reset for the end of a body that nothing else ends.
    'node': (0, ''),
    'go': (1, '*net.OpError: read tcp ADDRESSES: read: connection reset by peer'),
}


class Cases:
    """What is asked of one client."""

    def __init__(self, name, server, client, strict):
        self.name, self.server, self.client, self.strict = name, server, client, strict

    def step(self, model, **more):
        return ask(model, url=self.server.url(), **more)

    def ask(self, model, **more):
        return self.client.ask(self.step(model, **more))

    def same(self, steps, wanted=None, client=None):
        """The answers are the same, to the byte, with and without Sluice."""
        got = (client or self.client).ask_all(steps)
        want = self.client.ask_all(wanted or steps, direct=True)
        equal(len(got), len(want), 'answers')
        for one, other in zip(got, want):
            check(other.body, 'a direct answer is empty: %s', other)
            equal((one.status, one.type, one.error, one.code), (200, other.type, '', 0), str(one))
            equal(one.body, other.body, 'the body')
        return got[0]

    def clean(self):
        self.same([*map(self.step, ('clean', 'cut', 'length', 'close')),
                   self.step('clean', stream=False),
                   self.step('unknown', content='a question \u00e9 ' * 3000)])

    def slow(self):
        got = self.same([self.step('slow')], [self.step('quick')])
        check(got.times[-1] - got.times[0] > 2.5, 'the events came at once: %s', got.times)

    def slower(self):
        """Longer between events than an unfinished message may lie: none is unfinished."""
        self.same([self.step('slower')], [self.step('quick')], self.strict)

    def prompt(self):
        # The last is refused long before the client has written all of it.
        for content, stream in (('my key is %s, keep it' % KEY, True), ('my key is ' + KEY, False),
                                (KEY + ' is my key' * 400000, True)):
            got = self.ask('clean', content=content, stream=stream)
            equal((got.status, got.type, got.error), (403, 'application/problem+json', ''),
                  str(got))
            problem = json.loads(got.body)
            equal((problem['status'], problem['task']), (403, 'keys'), 'the problem')
            check(KEY not in got.body.decode(), 'the problem repeats what was refused')
            check('denied:keys' in got.run, 'the summary does not say denied:keys: %s', got.run)

    def refused(self, model, cleared, shown):
        """What was cleared arrived, then an error; the rest did not, and it shows."""
        want = self.client.ask(self.step(model), direct=True).events()
        got = self.ask(model)
        equal(got.status, 200, str(got))
        before = b''.join(want[:cleared])
        check(got.body.startswith(before), 'other bytes arrived: %s', got)
        # A chunk with no room for the error is filled first, by a comment.
        found = re.match(rb'(?::? *\n)?event: error\ndata: (.*)\n\n(?::? *\n)?\Z',
                         got.body[len(before):])
        check(found, 'no error follows, or more than that: %s', got)
        error = json.loads(found.group(1))
        check('words' in json.dumps(error), 'the error %r does not name the task', error)
        for never in (b'[DONE]', b'never seen', TERM.encode(), SECOND.encode(), b'tool_calls'):
            check(never not in got.body, '%r arrived: %s', never, got)
        if shown:
            error = re.sub(r'[0-9.]+:[0-9]+->[0-9.]+:[0-9]+', 'ADDRESSES', got.error)
            equal((got.code, error), shown[self.name], 'what the client shows')
        else:
            equal((got.code, got.error), (0, ''), 'what the client shows')
        check('denied:words' in got.run, 'the summary does not say denied:words: %s', got.run)

    def first(self):
        self.refused('first', 0, CHUNKED)

    def split(self):
        self.refused('split', 2, CHUNKED)

    def mid_chunk(self):
        self.refused('chunk', 5, CHUNKED)

    def tool(self):
        self.refused('tool', 1, CHUNKED)

    def in_length(self):
        self.refused('in-length', 2, None)

    def in_close(self):
        self.refused('in-close', 2, RESET)

    def document(self):
        got = self.ask('document', stream=False)
        equal((got.status, got.type, got.error), (403, 'application/problem+json', ''), str(got))
        check('words' in got.body.decode(), 'the problem %r does not name the task', got.body)
        for never in (b'fine', TERM.encode()):
            check(never not in got.body, '%r arrived: %s', never, got)


def disconnected(name, bench, daemon):
    """A client that goes away in mid-stream: its session settles, and the server notices."""
    server = ChatServer(bench, ANSWERS)
    got = CLIENTS[name](bench, daemon, POLICY).ask(
        ask('endless', url=server.url(), leave=1000))
    equal(got.code, 28 if name == 'curl' else 4, 'exit status: %s' % got)
    equal(server.end(1), 'reset', 'how the connection ended at the server')
    check('failed 1;' in got.run, 'the summary does not say that one failed: %s', got.run)
    check('client_reset 1' in got.run, 'the summary does not say client_reset: %s', got.run)


def cases_of(name, bench):
    server = ChatServer(bench, ANSWERS)
    daemon = bench.daemon(POLICY)
    client = CLIENTS[name](bench, daemon, POLICY)
    cases = Cases(name, server, client, CLIENTS[name](bench, daemon, STRICT))
    # What takes long comes first.
    names = ('slow', 'slower', 'clean', 'prompt', 'first', 'split', 'mid_chunk', 'tool',
             'in_length', 'in_close', 'document')
    all_at_once({**{case: getattr(cases, case) for case in names},
                 'disconnected': lambda: disconnected(name, bench, daemon)})
    check(KEY.encode() not in server.everything(), 'a refused prompt reached the server')
    equal(daemon.status()['streams']['open'], 0, 'open streams')


def curl(bench):
    """curl: clean, slow and refused answers, a refused prompt, a client that leaves"""
    cases_of('curl', bench)


def python_http_client(bench):
    """the same with Python's http.client"""
    cases_of('http.client', bench)


def python_urllib(bench):
    """the same with Python's urllib"""
    cases_of('urllib', bench)


def node_fetch(bench):
    """the same with Node's fetch"""
    cases_of('node', bench)


def go_net_http(bench):
    """the same with Go's net/http"""
    cases_of('go', bench)


if __name__ == '__main__':
    from sluice_test import main
    main([curl, python_http_client, python_urllib, node_fetch, go_net_http])
