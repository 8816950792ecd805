#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sluicectl about streams and what is enforced: why each is held, in words and as JSON; what
status says first; and lists of many, while streams come and go."""
import json
import select
import subprocess
import threading

from interceptors import Interceptors
from sluice_test import POLICY, SLUICECTL, Control, line, main
from waiting import check, equal, wait_for

SENDER = ('import socket, sys\n'
          's = socket.create_connection(("127.0.0.1", int(sys.argv[1])))\n'
          's.sendall(bytes.fromhex(sys.argv[2]))\n'
          'sys.stdin.read()\n')
LENPREFIX = POLICY.replace('framing: ndjson', 'framing: {kind: lenprefix, type: u32, endian: big}')
JOINED = POLICY.replace('framing: ndjson', 'framing: ndjson\njoin: stream')
HTTP = POLICY.replace('framing: ndjson', 'safety_level: complete\nframing: http1').replace(
    'extract: "path:t"', 'extract: raw')
ASKING = '''\
version: 1
name: asking
framing: ndjson
extract: "path:t"
request: {tasks: [words, judge]}
tasks:
  words: {kind: terms, terms: ["forbidden"]}
  judge: {kind: interceptor, url: "http://127.0.0.1:%d/gate", timeout_ms: 20000, span_runes: 4,
          window_runes: 12, detectable_runes: 9}
'''


def held(bench, policy, data, waits_for):
    """A daemon and its one stream, once its request waits for that."""
    server = bench.server()
    daemon = bench.daemon(policy)
    daemon.start_agent(SENDER, server.port, data.hex())

    def found():
        streams = daemon.call('streams')['streams']
        return streams and streams[0]['request']['waits_for'] == waits_for and streams[0]
    return daemon, wait_for(found, 10, 'a request that waits for ' + waits_for)


def explained(bench, policy, data, waits_for, *words):
    daemon, stream = held(bench, policy, data, waits_for)
    said = daemon.ctl('stream', str(stream['id'])).stdout.decode()
    for word in words:
        check(word in said, 'no %r in %s', word, said)
    listed = daemon.ctl('streams').stdout.decode().splitlines()
    equal(len(listed), 2, 'rows of streams')
    check(words[0] in listed[1], 'no %r in %r', words[0], listed[1])
    return daemon, stream


def rest_of_a_message(bench):
    """held for the rest of a message, of a size that is not known, and of one that is"""
    explained(bench, POLICY, line('clear') + b'{"t":"ha', 'rest',
              'waits for the rest of a message, of which 8 bytes came', 'held for', 'cleared')
    _, stream = explained(bench, LENPREFIX, b'\0\0\0\x20{"t":"ha', 'rest',
                          'waits for the rest of a message: 12 bytes came of 32 that its length')
    equal(stream['request']['held'], 12, 'bytes held')
    check(0 <= stream['request']['held_age_s'] < 10, 'an age of %r', stream['request'])


def text_that_could_match(bench):
    """held for text that could complete a match, with the task and how much"""
    _, stream = explained(bench, JOINED, line('a forbid'), 'text',
                          "waits for more text: 6 runes wait, the end of which could begin what "
                          "task 'words' refuses",
                          'slowest: words')
    equal((stream['request']['runes_received'] - stream['request']['runes_cleared'],
           stream['request']['slowest']), (6, 'words'), 'the watermark')


def end_of_the_message(bench):
    """held for the end of the message, under safety_level complete"""
    explained(bench, HTTP, b'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-ndjson\r\n'
              b'Transfer-Encoding: chunked\r\n\r\nd\r\n{"t":"abcd"}\n\r\n', 'message_end',
              'waits for the end of the message (safety_level complete)')


def verdicts(bench):
    """held for verdicts: of whom, how many, since when"""
    judge = Interceptors()
    bench.undo.append(judge.close)
    daemon, stream = held(bench, ASKING % judge.port, line('clear words'), 'verdicts')
    wait_for(lambda: 'asked, the oldest' in daemon.ctl('stream', str(stream['id'])).stdout.decode(),
             5, 'the sentence')
    said = daemon.ctl('stream', str(stream['id'])).stdout.decode()
    for words in ("waits for verdicts of interceptor 'judge' over ", 'slowest: judge'):
        check(words in said, 'no %r in %s', words, said)
    judge.gate.set()
    # What does not fill a span waits for text.
    why = wait_for(lambda: [request['why'] for request in
                            [daemon.call('stream', id=stream['id'])['request']]
                            if request['waits_for'] == 'text'], 5, 'the clearance of whole spans')
    equal(why, ["waits for more text: 3 runes wait, and the last fill no span of interceptor "
                "'judge'"], 'why')


def reader(bench):
    """held because the peer does not read"""
    gate = threading.Event()
    bench.undo.append(gate.set)
    server = bench.server(lambda connection: gate.wait(30))
    daemon = bench.daemon()
    daemon.start_agent('import socket, sys\n'
                       's = socket.create_connection(("127.0.0.1", int(sys.argv[1])))\n'
                       's.settimeout(2)\n'
                       'try:\n'
                       '    while True: s.sendall(b\'{"t":"%s"}\\n\' % (b"x" * 60000))\n'
                       'except OSError: pass\n'
                       'sys.stdin.read()\n', server.port)

    def found():
        streams = daemon.call('streams')['streams']
        return streams and streams[0]['request']['waits_for'] == 'reader' and streams[0]
    stream = wait_for(found, 15, 'a request that waits for its reader')
    said = daemon.ctl('stream', str(stream['id'])).stdout.decode()
    check('waits for the peer to read: ' in said, 'it said %s', said)


def nothing_is_held(bench):
    """nothing is held; and what was relayed has no tasks, no level of its own"""
    daemon, stream = held(bench, POLICY, line('clear'), 'nothing')
    said = daemon.ctl('stream', str(stream['id'])).stdout.decode()
    check('nothing is held' in said and 'level      blocking' in said, 'it said %s', said)
    equal(stream['response']['why'], 'nothing is held', 'why')


def what_is_enforced(bench):
    """status begins with whether anything is enforced, for whom, and what stays open"""
    daemon = bench.daemon()
    rows = daemon.ctl('status').stdout.decode().splitlines()
    check(rows[0].startswith('enforcement   OFF: no cgroup is watched'), 'it said %r', rows[0])
    one, two = bench.cgroup(), bench.cgroup()
    equal(daemon.ctl('watch', one).returncode, 0, 'watch')
    rows = daemon.ctl('status').stdout.decode().splitlines()
    check(rows[0].startswith('enforcement   on for 1 cgroup: /') and '(policy test)' in rows[0],
          'it said %r', rows[0])
    check(rows[1].startswith('stays open    '), 'it said %r', rows[1])
    observing = bench.file('observe.yaml', 'mode: observe\n' + POLICY)
    equal(daemon.ctl('watch', '--policy', observing, two).returncode, 0, 'watch')
    rows = daemon.ctl('status').stdout.decode().splitlines()
    check('on for 1 cgroup' in rows[0] and 'only observed: ' in rows[0], 'it said %r', rows[0])
    equal(daemon.ctl('unwatch', one).returncode, 0, 'unwatch')
    rows = daemon.ctl('status').stdout.decode().splitlines()
    check(rows[0].startswith('enforcement   OFF; only observed: '), 'it said %r', rows[0])


def colours(bench):
    """colours with --color always alone, where standard output is no terminal"""
    daemon = bench.daemon()
    for words in (['status'], ['--color', 'auto', 'status'], ['status', '--color', 'never']):
        check(b'\x1b' not in daemon.ctl(*words).stdout, '%r has colours', words)
    for words in (['status', '--color', 'always'], ['--color=always', 'status']):
        check(b'\x1b[31mOFF\x1b[0m' in daemon.ctl(*words).stdout, '%r has no colours', words)
    equal(daemon.ctl('status', '--color', 'blue').returncode, 2, 'exit status of --color blue')


def lists_of_many(bench):
    """a list is whole, each stream once, while streams come and go and clients leave"""
    server = bench.server()
    daemon = bench.daemon()
    daemon.start_agent('import socket, sys\n'
                       'port = int(sys.argv[1])\n'
                       'kept = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]\n'
                       'print("ready", flush=True)\n'
                       'for _ in range(3000):\n'
                       '    socket.create_connection(("127.0.0.1", port)).close()\n'
                       'sys.stdin.read()\n', server.port)
    wait_for(lambda: daemon.status()['streams']['open'] >= 300, 20, 'the streams')
    kept = {stream['id'] for stream in daemon.call('streams')['streams'][:250]}
    for _ in range(10):
        gone = Control(daemon.socket)
        gone.file.write(b'{"jsonrpc":"2.0","id":1,"method":"streams"}\n')
        gone.file.flush()
        gone.close()
        done = daemon.ctl('streams', '--json')
        ids = [stream['id'] for stream in json.loads(done.stdout)['streams']]
        equal(len(ids), len(set(ids)), 'streams that are listed once')
        check(kept <= set(ids), 'streams that stayed are missing')
        equal(len(done.stdout.splitlines()), len(ids) + 1, 'lines')
    brief = daemon.call('streams', brief=True)['streams'][0]
    whole = daemon.call('stream', id=brief['id'])
    check(set(brief) < set(whole) and set(brief['request']) < set(whole['request']), 'members')


def several_at_once(bench):
    """one list at a time for a client; another call of it is answered meanwhile"""
    daemon = bench.daemon()
    control = Control(daemon.socket)
    asked = [b'{"jsonrpc":"2.0","id":%d,"method":"%s"}\n' % (number, method)
             for number, method in ((1, b'streams'), (2, b'streams'), (3, b'status'))]
    control.file.write(b''.join(asked))
    control.file.flush()
    answers = {answer['id']: answer for answer in
               (json.loads(control.file.readline()) for _ in asked)}
    equal(answers[1]['result'], {'streams': []}, 'the list')
    # The first may be done by then.
    check('is being made' in answers[2].get('error', {'message': 'is being made'})['message'],
          'it said %r', answers[2])
    check('version' in answers[3]['result'], 'it said %r', answers[3])
    equal(control.call('streams'), {'streams': []}, 'the next list')
    answer = control.raw(b'{"jsonrpc":"2.0","id":9,"method":"streams","params":{"brief":1}}\n')
    equal(answer['error']['code'], -32602, 'the code of wrong parameters')
    control.close()


def policies(bench):
    """policy load, show and reload, and a watch by the name of a policy"""
    daemon = bench.daemon()
    other = bench.file('other.yaml', POLICY.replace('name: test', 'name: other'))
    for verb in ('loaded', 'replaced'):
        done = daemon.ctl('policy', 'load', other)
        check(done.returncode == 0 and verb in done.stdout.decode(), '%s: %r', verb, done)
        with open(other, 'a', encoding='utf-8') as out:
            out.write('mode: enforce\n')
    cgroup = bench.cgroup()
    equal(daemon.ctl('watch', '--named', 'other', cgroup).returncode, 0, 'watch --named')
    said = daemon.ctl('policy', 'show', 'other').stdout.decode()
    check(cgroup in said and 'terms: ["forbidden"]' in said, 'it said %s', said)
    shown = json.loads(daemon.ctl('policy', 'show', '--json').stdout)['policies']
    equal(sorted(policy['name'] for policy in shown), ['other', 'test'], 'policies')
    done = daemon.ctl('policy', 'reload')
    check(done.returncode == 0 and b'unchanged  test' in done.stdout, 'it said %r', done)
    done = daemon.ctl('policy', 'load', bench.file('bad.yaml', 'version: 1\nname: x\nno: 1\n'))
    check(done.returncode == 1 and b'bad.yaml:3:' in done.stderr, 'it said %r', done)


def events(bench):
    """events follows, as lines and as objects, only what is asked for; the daemon's end ends it"""
    daemon = bench.daemon()
    cgroup = bench.cgroup()
    all_of_it = bench.spawn([SLUICECTL, '--socket', daemon.socket, 'events'],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    chosen = bench.spawn([SLUICECTL, '--socket', daemon.socket, 'events', '--json', '--types',
                          'watch,unwatch'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)

    def heard():
        daemon.ctl('watch', cgroup)
        daemon.ctl('unwatch', cgroup)
        return all(select.select([process.stdout], [], [], 0.1)[0]
                   for process in (all_of_it, chosen))
    wait_for(heard, 10, 'events')
    daemon.stop()
    for process in (all_of_it, chosen):
        out, err = process.communicate(timeout=10)
        check(process.returncode == 1 and daemon.socket in err, 'the end: %r', err)
        for row in out.splitlines():
            if process is chosen:
                check(json.loads(row)['type'] in ('watch', 'unwatch'), 'an event %r', row)
            else:
                check(row.startswith('20') and 'T' in row[:12], 'a line %r', row)
        check(cgroup in out, 'it said %r', out)
    done = daemon.start().ctl('events', '--types', 'nonsense')
    check(done.returncode == 1 and b'nonsense' in done.stderr, 'it said %r', done)


if __name__ == '__main__':
    main([rest_of_a_message, text_that_could_match, end_of_the_message, verdicts, reader,
          nothing_is_held, what_is_enforced, colours, lists_of_many, several_at_once,
          policies, events])
