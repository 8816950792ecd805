#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Messages of HTTP/1.1 as they come: connections that are kept, pipelines, heads without
bodies, a body that waits for a 100, coded and opaque bodies, Ollama's lines."""
import gzip
import json
import os
import random
import time
import zlib

from http_bench import (CLIENTS, CLOSE, KEY, POLICY, TERM, ChatServer, Curl, Raw, all_at_once,
                        answers, ask, chat, refused, request)
from sluice_test import ROOT, main
from waiting import check, equal, wait_for

ANSWERS = {
    'clean': {'pieces': ['Once ', 'upon ', 'a time']},
    'trailers': {'pieces': ['Once ', 'upon '], 'extension': ';part=1',
                 'trailers': [['X-Sum', '5']]},
    'refused': {'pieces': ['fine ', 'words ', TERM, 'never seen']},
    'tools': {'pieces': ['fine ', {'tool': {'name': 'f', 'arguments': '{"q": "%s"}' % TERM}}]},
    'slow': {'pieces': ['one ', 'two ', 'three '], 'pause': 0.4},
    'none': {'status': 204},
    'same': {'status': 304, 'headers': [['ETag', '"x"']]},
}
CODED = {'%s-%s-%s' % (coding, framing, text): {
    'pieces': ['fine ', 'words ', *(['which are %s' % TERM] if text == 'refused' else []),
               'never seen'], 'coding': coding, 'framing': framing,
    'flush': framing != 'close'}
    for coding in ('gzip', 'deflate') for framing in ('chunked', 'length', 'close')
    for text in ('clean', 'refused')}


def set_up(bench, policy=POLICY, **more):
    server = ChatServer(bench, {**ANSWERS, **more})
    daemon = bench.daemon(policy)
    return server, daemon, Raw(bench, daemon, policy)


def kept_connections(bench):
    """several exchanges on one connection: all pass, and one that is refused ends it"""
    server, daemon, _ = set_up(bench)
    steps = [ask('clean', url=server.url()), ask('', 'hello there', url=server.url()),
             ask('clean', stream=False, url=server.url()),
             {'method': 'GET', 'url': server.url('/models')}]
    bad = [ask('clean', content=KEY, url=server.url()), ask('clean', url=server.url())]

    def kept(name):
        client = CLIENTS[name](bench, daemon, POLICY)
        got, want = client.ask_all(steps), client.ask_all(steps, direct=True)
        equal([(o.status, o.body, o.error) for o in got],
              [(o.status, o.body, o.error) for o in want], 'the answers')
        # Node opens another where it cannot tell soon enough that the first is free again.
        streams = ('streams 1,',) if name == 'http.client' else ('streams 1,', 'streams 2,')
        check(any(words in got[0].run for words in streams), 'not kept: %s', got[0].run)
        check('sessions complete 4,' in got[0].run, 'not four sessions: %s', got[0].run)
        got = client.ask_all(steps[:2] + bad)
        equal([o.status for o in got], [200, 200, 403, 200], 'the answers of a refused one')
        equal([o.body for o in got[:2]], [o.body for o in want[:2]], 'the first two answers')
        check('denied 1,' in got[0].run and 'sessions complete 3,' in got[0].run, 'it says %s',
              got[0].run)

    all_at_once({name: lambda name=name: kept(name) for name in ('http.client', 'node')})
    check(KEY.encode() not in server.everything(), 'a refused prompt reached the server')


def pipelines(bench):
    """requests written at once: answered in order; from a refused one on nothing arrives"""
    server, _, raw = set_up(bench)
    good = chat('clean') + chat('trailers') + request('/models') + chat('none') + CLOSE
    bad = chat('clean') + request('/models') + chat('clean', KEY) + CLOSE
    [want], _ = raw.talk(server.port, [[good]], direct=True)
    chance, cut = random.Random(5), []
    for _ in range(8):
        cuts = [0, *sorted(chance.sample(range(1, len(good)), 4)), len(good)]
        cut.append([good[a:b] for a, b in zip(cuts, cuts[1:])])
    [*got, one], run = raw.talk(server.port, [[good], *cut, [bad]])
    equal(got, [want] * 9, 'the answers, to one write and to five')
    equal([server.received(n) for n in range(1, 11)], [good] * 10, 'what arrived')
    # The refusal may overtake the answers that were not back yet, and then ends the stream.
    before = bad[:bad.index(b'POST', 10)]
    check(before.startswith(server.received(11)), 'more arrived: %r', server.received(11))
    check(b'403' in one[0] or one[1] == 'reset', 'no refusal in %r', one)
    check('denied:keys 1' in run, 'the summary does not say denied:keys: %s', run)


def refused_behind_a_stream(bench):
    """a refused request behind one whose answer still streams: no word of it arrives"""
    server, _, raw = set_up(bench)
    [(data, _)], run = raw.talk(server.port, [[chat('slow'), chat('clean', KEY)]])
    equal(server.received(1), chat('slow'), 'what arrived')
    check(b'data: [DONE]' not in data, 'the answer was completed: %r', data)
    check('denied:keys 1' in run, 'the summary does not say denied:keys: %s', run)


def heads_without_bodies(bench):
    """HEAD, 204 and 304 have no body, whatever their fields say; the next answer follows"""
    server, _, raw = set_up(bench)
    told = [b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\nContent-Type: image/png\r\n\r\n',
            b'HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\nETag: "x"\r\n\r\n',
            b'HTTP/1.1 204 No Content\r\n\r\n',
            b'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'
            b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok']
    asked = [request('/a', method='HEAD'), request('/b'), request('/c'), request('/d')]

    def tell(connection):
        for question, answer in zip(asked, told):
            before = len(connection.data)
            while len(connection.data) < before + len(question):
                connection.take(connection.sock.recv(len(question)))
            connection.sock.sendall(answer)

    peer = bench.server(tell)
    [got], run = raw.talk(peer.port, [[asked[0], *asked[1:]]])
    equal(got, (b''.join(told), 'eof'), 'what the agent got; %s' % run)
    equal(bytes(peer.ended().data), b''.join(asked), 'what the server got')
    mixed = request('/a', method='HEAD') + chat('none') + chat('same') + CLOSE
    [want], _ = raw.talk(server.port, [[mixed]], direct=True)
    equal(answers(want[0]), [200, 204, 304, 200], 'the answers')
    [got], _ = raw.talk(server.port, [[mixed]])
    equal(got, want, 'what the agent got of the chat server')


def expect_continue(bench):
    """a body that waits for a 100 gets one, and is judged as any other"""
    server, daemon, _ = set_up(bench)
    curl = Curl(bench, daemon, POLICY)
    for content, status in (('word ' * 500000, 200), ('word ' * 500000 + KEY, 403)):
        step = ask('clean', content, url=server.url())
        step['headers']['Expect'] = '100-continue'
        began = time.monotonic()
        got = curl.ask(step)
        # Without a 100 it would take the 30 s that this curl waits for one.
        check(time.monotonic() - began < 10, 'it took %g s', time.monotonic() - began)
        equal(got.status, status, str(got))
    check(server.received(2).endswith(b'\r\n\r\n'), 'more than a head arrived')
    check(server.received(1).endswith(b'word "}], "stream": true}'), 'the body did not arrive')
    check(KEY.encode() not in server.everything(), 'a refused prompt reached the server')


def coded_answers(bench):
    """gzip and deflate: clean ones come as they were sent, of refused ones no word comes"""
    server, daemon, _ = set_up(bench, **CODED)

    def coded(model):
        client = CLIENTS['http.client'](bench, daemon, POLICY)
        want = client.ask(ask(model, url=server.url()), direct=True)
        got = client.ask(ask(model, url=server.url()))
        if model.endswith('clean'):
            equal((got.status, got.body, got.error), (200, want.body, ''), 'the answer')
            check('streams 1, denied 0, failed 0;' in got.run, 'it says %s', got.run)
            return
        check('denied:words 1' in got.run, 'the summary does not say denied:words: %s', got.run)
        coder = zlib.decompressobj(wbits=47)
        common = os.path.commonprefix([got.body, want.body])
        plain = coder.decompress(common)
        check(TERM.encode() not in plain and b'never' not in plain, 'it arrived: %r', plain)
        check(not coder.eof, 'the coded body was completed: %r', got.body)

    all_at_once({model: lambda model=model: coded(model) for model in CODED})


def coded_documents(bench):
    """a coded document is one message: all of it, or a refusal"""
    bodies = [json.dumps({'answer': text}).encode() for text in ('fine words', 'so ' + TERM)]
    [fine, bad] = [gzip.compress(body, mtime=0) for body in bodies]
    head = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n' \
        b'Content-Length: %d\r\n\r\n'
    # What is more than the cap says of itself, and what is no gzip at all.
    bomb = gzip.compress(b'"' + b' ' * (64 << 20) + b'"')
    told = [head % len(body) + body for body in (fine, bad, bomb, b'no gzip')]

    def tell(connection):
        connection.take(connection.sock.recv(65536))
        connection.sock.sendall(told[peer.connections.index(connection)])
        connection.read_all()

    peer = bench.server(tell)
    _, _, raw = set_up(bench)
    got, run = raw.talk(peer.port, [[request('/')]] * 4, wait=2)
    equal(got[0], (told[0], 'open'), 'the clean document')
    refused(got[1][0], 'words')
    refused(got[2][0], 'too_large')
    refused(got[3][0], 'bad_encoding')
    check(all(reason in run for reason in ('denied:words 1', 'too_large 1', 'bad_encoding 1')),
          'the summary says %s', run)


def opaque_bodies(bench):
    """a body that is not text is refused; with opaque_bodies: release it passes"""
    blob = bench.file('blob', '\x00\x01 opaque \x7f' * 5000)
    server, daemon, _ = set_up(bench, blob={'file': blob, 'type': 'application/octet-stream'},
                               image={'file': blob, 'type': 'image/png', 'framing': 'chunked'})
    for model in ('blob', 'image'):
        step = ask(model, stream=False, url=server.url())
        client = CLIENTS['http.client'](bench, daemon, POLICY)
        want, got = client.ask(step, direct=True), client.ask(step)
        equal((got.status, got.type), (403, 'application/problem+json'), str(got))
        check(b'opaque_body' in got.body and 'opaque_body 1' in got.run, 'no reason: %s', got)
        check(b'\x01 opaque' not in got.body, 'it arrived: %s', got)
        got = CLIENTS['http.client'](bench, daemon, POLICY + 'opaque_bodies: release\n').ask(step)
        equal((got.status, got.body, got.error), (200, want.body, ''), str(got))


def lines(bench):
    """Ollama's lines: clean; refused in a word and in a tool call, with an error line"""
    server, daemon, _ = set_up(bench)
    url = server.url('/api/chat')

    def one(name):
        client = CLIENTS[name](bench, daemon, POLICY)
        step = ask('clean', url=url)
        want, got = client.ask(step, direct=True), client.ask(step)
        equal((got.status, got.body, got.error), (200, want.body, ''), str(got))
        for model, cleared in (('refused', 2), ('tools', 1)):
            want, got = (client.ask(ask(model, url=url), direct=direct) for direct in (True, False))
            rows = got.body.strip().split(b'\n')
            equal(rows[:cleared], want.body.split(b'\n')[:cleared], 'the cleared lines')
            equal(len(rows), cleared + 1, 'lines: %s' % got)
            check('words' in json.dumps(json.loads(rows[-1])['error']), 'no error: %r', rows[-1])
            check(got.error, 'the answer looks whole: %s', got)
        got = client.ask(ask('clean', 'keep ' + KEY, url=url))
        equal((got.status, got.type), (403, 'application/problem+json'), str(got))

    all_at_once({name: lambda name=name: one(name) for name in CLIENTS if name != 'go'})
    check(KEY.encode() not in server.everything(), 'a refused prompt reached the server')


def stopped_in_mid_event(bench):
    """a server that stops in mid-event: truncated at the timeout, the rest is withheld"""
    policy = POLICY + 'limits: {incomplete_message_timeout_s: 1}\n'
    begun = [{'raw': 'data: {"choices": [{"index": 0, "delta": {"content": "half'}]
    server, daemon, _ = set_up(bench, policy,
                               hang={'pieces': ['fine ', *begun, {'then': 'hang'}]},
                               close={'pieces': ['fine ', *begun, {'then': 'close'}]},
                               reset={'pieces': ['fine ', *begun, {'then': 'reset'}]},
                               until={'pieces': ['fine ', *begun, {'then': 'close'}],
                                      'framing': 'close'})
    reasons = {'hang': 'truncated', 'close': 'truncated', 'reset': 'peer_reset',
               'until': 'truncated'}

    def stop(name, model):
        client = CLIENTS[name](bench, daemon, policy)
        began = time.monotonic()
        got = client.ask(ask(model, url=server.url()))
        took = time.monotonic() - began
        check('"fine "' in got.events()[0].decode(), 'the whole event did not arrive: %s', got)
        check(b'half' not in got.body, 'a part of an event arrived: %s', got)
        check(b'event: error' in got.body or got.error, 'the answer looks whole: %s', got)
        check(' %s 1' % reasons[model] in got.run, 'the reason is not %s: %s', reasons[model],
              got.run)
        check('failed 1;' in got.run, 'the session did not fail: %s', got.run)
        check(model != 'hang' or 0.9 < took < 10, 'it took %g s', took)

    all_at_once({name + ', ' + model: lambda name=name, model=model: stop(name, model)
                 for name in ('curl', 'http.client', 'node') for model in reasons})
    wait_for(lambda: daemon.status()['streams']['open'] == 0, 5, 'the streams to settle')


def example_policies(bench):
    """under examples/policies a name that is split over OpenAI's events, or Ollama's lines"""
    server, daemon, _ = set_up(bench, named={
        'pieces': ['fine ', 'words ', 'Lark', 'spur', 'never seen']})

    def split(policy, path):
        with open(os.path.join(ROOT, 'examples', 'policies', policy), encoding='utf-8') as file:
            text = file.read().replace(':11434"', ':%d"' % server.port)
        got = Curl(bench, daemon, text).ask(ask('named', url=server.url(path)))
        check(b'words' in got.body and b'error' in got.body, 'no refusal: %s', got)
        for never in (b'Lark', b'spur', b'never seen'):
            check(never not in got.body, '%r arrived: %s', never, got)
        check('denied:names 1' in got.run, 'the run says %s', got.run)

    all_at_once({policy + ' ' + path: lambda policy=policy, path=path: split(policy, path)
                 for policy in ('chat.yaml', 'ollama.yaml')
                 for path in ('/v1/chat/completions', '/api/chat')})


if __name__ == '__main__':
    main([kept_connections, pipelines, refused_behind_a_stream, heads_without_bodies,
          expect_continue, coded_answers, coded_documents, opaque_bodies, lines,
          stopped_in_mid_event, example_policies])
