#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The status page in a real browser: what it shows of real streams, that nothing of theirs is
markup to it, that it asks nobody but the daemon; and the list of streams behind it."""
import base64
import http.client
import json
import re
import resource
import socket
import threading
import time

from browser import Browser
from observers import check_clean
from peers import echo, reset
from scenes import Scene, request_cases, response_cases
from sluice_test import TERM, main
from test_many import EchoMany
from waiting import check, equal, wait_for

NAME = '<img src=x onerr'  # 15 bytes of it are the process's name
MARKUP = NAME[:15]
OBSERVING = '''\
version: 1
name: watching
mode: observe
framing: ndjson
extract: "path:t"
request: {tasks: [words]}
tasks:
  words: {kind: terms, terms: ["%s"]}
''' % TERM

# Its name, then what to do: "flow" sends a line every 20 ms, "half" sends half a line and waits,
# "idle" waits, "deny" sends what is refused, at a word.
AGENT = '''
import ctypes, socket, sys, time
port, name, what = int(sys.argv[1]), sys.argv[2], sys.argv[3]
ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
s = socket.create_connection(("127.0.0.1", port))
print("open", flush=True)
if what == "flow":
    while True:
        s.sendall(b'{"t": "%s"}\\n' % (b"x" * 300))
        s.recv(65536)
        time.sleep(0.02)
if what == "half":
    s.sendall(b'{"t": "half')
sys.stdin.readline()
if what == "deny":
    s.sendall(b'{"t": "forbidden"}\\n')
    sys.stdin.readline()
'''

# Connections that are there for a moment each.
CHURN = '''
import socket, sys, time
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    some = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for n in range(10)]
    for s in some:
        s.sendall(b'{"t": "a"}\\n')
    for s in some:
        s.recv(100)
        s.close()
    time.sleep(0.02)
'''

MANY = '''
import resource, socket, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 5000), hard))
socks = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for n in range(int(sys.argv[2]))]
print("open", flush=True)
sys.stdin.readline()
'''


def served(bench, **options):
    """A daemon with a page."""
    daemon = bench.daemon(start=False, **options)
    daemon.web = bench.free_port()
    return daemon.start()


def url(daemon):
    return 'http://127.0.0.1:%d/' % daemon.web


def get(daemon, path, method='GET', headers=None):
    """(status, headers, body) of one request on a connection of its own."""
    connection = http.client.HTTPConnection('127.0.0.1', daemon.web, timeout=10)
    try:
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def rows(daemon):
    """The rows of /streams.json as objects, as its columns name them."""
    answer = json.loads(get(daemon, '/streams.json')[2])
    found = []
    for values in answer['streams']:
        equal(len(values), len(answer['columns']), 'the values of a row')
        row = dict(zip(answer['columns'], values))
        for track in ('request', 'response'):
            equal(len(row[track]), len(answer['track_columns']), 'the values of a track')
            row[track] = dict(zip(answer['track_columns'], row[track]))
        found.append(row)
    return found


def start(daemon, server, name, what, **how):
    agent = daemon.start_agent(AGENT, server.port, name, what, **how)
    equal(agent.stdout.readline(), b'open\n', 'what the agent said')
    return agent


def row(name):
    """The row of the stream of the process with this name, in the page."""
    return ('[...document.querySelectorAll(".row")].find((row) => '
            'row.querySelector("b").textContent.startsWith(%s))' % json.dumps(name + ' ('))


def browse(bench, daemon):
    browser = Browser(bench)
    browser.open(url(daemon))
    return browser


def check_quiet(browser, daemon):
    """Nothing was refused, nothing failed, and nobody but the daemon was asked."""
    equal(browser.complaints(), [], 'what the browser complains of')
    for asked in browser.requests():
        check(asked.startswith((url(daemon), 'data:')), 'it asked for %s', asked)


def the_document(bench):
    """the page is one document under a policy that admits its own style and scripts alone"""
    daemon = served(bench)
    status, headers, body = get(daemon, '/')
    equal(status, 200, 'the status')
    equal(headers['Content-Type'], 'text/html; charset=utf-8', 'the type')
    equal((headers['X-Content-Type-Options'], headers['Referrer-Policy'], headers['Cache-Control'],
           headers['X-Frame-Options']), ('nosniff', 'no-referrer', 'no-store', 'DENY'), 'headers')
    policy = dict(part.strip().split(' ', 1) for part in
                  headers['Content-Security-Policy'].split(';'))
    equal({name: value for name, value in policy.items() if 'sha256' not in value}, {
        'default-src': "'none'", 'img-src': 'data:', 'connect-src': "'self'", 'base-uri': "'none'",
        'form-action': "'none'", 'frame-ancestors': "'none'",
        'require-trusted-types-for': "'script'", 'trusted-types': "'none'"}, 'the policy')
    for name in ('script-src', 'style-src'):
        check(re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", policy[name]), '%s', policy[name])
    links = re.findall(rb'(?:src|href|action)\s*=\s*"([^"]*)"|url\(([^)]*)\)|@import', body)
    check(all(link.startswith((b'#', b'data:')) for pair in links for link in pair if link),
          'it refers to %s', links)
    equal(get(daemon, '/', 'HEAD')[1:][1], b'', 'the body of HEAD')
    equal(int(get(daemon, '/', 'HEAD')[1]['Content-Length']), len(body), 'its length')


def bars_move(bench):
    """the bars of a stream move between answers as it flows, and without motion only with them"""
    daemon, server = served(bench), bench.server(echo)
    start(daemon, server, 'flows', 'flow')
    browser = browse(bench, daemon)
    browser.wait('!!' + row('flows'), 'the row of the stream')
    browser.wait(row('flows') + '.dataset.kind === "flowing"', 'it to be called flowing')
    first = moves(browser)
    for part in ('received', 'cleared', 'released'):
        check(len(first[part]) > 12, '%s was drawn at %s alone', part, first[part])
    check(len(first['answers']) < len(first['released']), 'it asks for each frame')
    browser.media(prefers_reduced_motion='reduce')
    time.sleep(0.3)
    still = moves(browser)
    check(0 < len(still['released']) <= len(still['answers']) + 1, 'without motion: %s', still)
    check_quiet(browser, daemon)


def moves(browser):
    """Where the bar of the response was drawn at the frames of a second, and the words beside."""
    return browser.js('''new Promise((done) => {
        const row = %s, seen = {received: [], cleared: [], released: [], answers: []};
        const note = (list, value) => { if (list.at(-1) !== value) list.push(value); };
        const end = performance.now() + 1000;
        requestAnimationFrame(function look(now) {
            for (const part of ["received", "cleared", "released"])
                note(seen[part], row.querySelector(".response ." + part).style.transform);
            note(seen.answers, row.querySelector(".response .words").textContent);
            now < end ? requestAnimationFrame(look) : done(seen);
        });
    })''' % row('flows'))


def held_and_why(bench):
    """a stream that waits is called held, with its bytes; its detail says why, by mouse and keys"""
    daemon, server = served(bench), bench.server(echo)
    start(daemon, server, 'waits', 'half')
    browser = browse(bench, daemon)
    browser.wait('%s?.dataset.kind === "held"' % row('waits'), 'it to be called held')
    text = browser.js(row('waits') + '.textContent')
    check('waits for the rest of a message' in text and '11 B held' in text, 'it says %r', text)
    part = browser.js('["received", "released"].map((part) => new DOMMatrix(getComputedStyle('
                      '%s.querySelector(".request ." + part)).transform).m41)' % row('waits'))
    check(part[0] > part[1], 'received and released are drawn alike: %s', part)
    browser.click('.row[data-kind=held]')
    browser.wait('document.querySelector("#detail-body").textContent.includes("11")', 'the detail')
    shown = browser.js('document.querySelector("#detail").innerText')
    for word in ('waits for', 'held', 'runes cleared', 'slowest', 'words', 'sessions', 'framing',
                 'ndjson', daemon.call('streams')['streams'][0]['cgroup']):
        check(word in shown, 'the detail does not say %r: %s', word, shown)
    equal(browser.js('document.activeElement.id'), 'detail-title', 'the focus')
    browser.press('Escape', 27)
    equal(browser.js('document.querySelector("#detail").hidden'), True, 'whether it is closed')
    equal(browser.js('document.activeElement === ' + row('waits')), True, 'the focus is back')
    browser.press('Enter', 13)
    browser.wait('!document.querySelector("#detail").hidden', 'the detail by the keyboard')
    check_quiet(browser, daemon)


def filters(bench):
    """words find streams by process, peer, policy, state and cgroup; choices and order too"""
    daemon, server, other = served(bench), bench.server(echo), bench.server(echo)
    start(daemon, server, 'alpha', 'half')
    start(daemon, other, 'beta', 'idle')
    start(daemon, server, 'gamma', 'idle', policy=OBSERVING)
    browser = browse(bench, daemon)
    browser.wait('%s?.dataset.kind === "held"' % row('alpha'), 'the held one')
    cgroup = next(row['cgroup'] for row in rows(daemon) if row['comm'] == 'gamma')
    for words, found in (('alpha', ['alpha']), (':%d' % other.port, ['beta']),
                         ('HELD', ['alpha']), ('watching', ['gamma']), (cgroup, ['gamma']),
                         ('alp %d' % server.port, ['alpha']), ('nobody', []),
                         ('', ['gamma', 'beta', 'alpha'])):
        browser.js('(() => { const filter = document.querySelector("#filter"); filter.value = %s;'
                   'filter.dispatchEvent(new Event("input")); })()' % json.dumps(words))
        browser.wait('%s.join() === %s' % (NAMES, json.dumps(','.join(found))), words)
    for field, value, found in (('show', 'held', 'alpha'), ('show', 'unjudged', 'gamma'),
                                ('show', 'denied', ''), ('show', 'all', 'gamma,beta,alpha'),
                                ('order', 'oldest', 'alpha,beta,gamma'),
                                ('order', 'held', 'alpha,gamma,beta')):
        browser.js('(() => { const field = document.querySelector("#%s"); field.value = "%s";'
                   'field.dispatchEvent(new Event("input")); })()' % (field, value))
        browser.wait('%s.join() === %s' % (NAMES, json.dumps(found)), value)
    check('not enforcing' in browser.js(row('gamma') + '.textContent'), 'who only watches')
    check_quiet(browser, daemon)


NAMES = ('[...document.querySelectorAll(".place")].sort((a, b) => a.getAttribute("aria-posinset") '
         '- b.getAttribute("aria-posinset")).map((place) => place.querySelector("b").textContent'
         '.split(" ")[0])')


def denied(bench):
    """a denied stream stays to be read, with its reason, and is counted; what is gone goes"""
    daemon, server = served(bench), bench.server(echo)
    agent = start(daemon, server, 'leaks', 'deny')
    browser = browse(bench, daemon)
    browser.wait('!!' + row('leaks'), 'the row of the stream')
    agent.stdin.write(b'go\n')
    agent.stdin.flush()
    browser.wait('%s?.dataset.kind === "denied"' % row('leaks'), 'it to be called denied')
    check('denied:words' in browser.js(row('leaks') + '.textContent'), 'its reason')
    browser.wait('[...document.querySelectorAll("#figures div")].some((group) => '
                 'group.innerText.replace(/\\s+/g, " ").trim() === "Denied 1")', 'the figure')
    equal([found['end'] for found in rows(daemon)], ['denied'], 'what the list says')
    wait_for(lambda: not rows(daemon), 6, 'the list to forget it')
    check(TERM not in browser.js('document.documentElement.outerHTML'), 'the term is in the page')
    check_quiet(browser, daemon)


def names_are_text(bench):
    """what an agent names itself is text, and no script but the page's own can run in it"""
    daemon, server = served(bench), bench.server(echo)
    start(daemon, server, NAME, 'idle')
    browser = browse(bench, daemon)
    browser.wait('!!' + row(MARKUP), 'the row of the stream, by its name')
    browser.click('.row')
    browser.wait('document.querySelector("#detail-title").textContent.includes(%s)' %
                 json.dumps(MARKUP), 'its name in the detail')
    equal(browser.js('document.querySelectorAll("main img, main script").length'), 0, 'elements')
    check_quiet(browser, daemon)
    for attack in ('document.body.innerHTML = "<img src=x onerror=window.got=1>"',
                   'eval("window.got = 1")',
                   '(() => { const s = document.createElement("script"); s.text = "window.got = 1";'
                   'document.body.append(s); })()'):
        browser.js('(() => { try { %s } catch (error) { return error.name; } })()' % attack)
    equal(browser.js('window.got'), None, 'what an attack left behind')
    check(len(browser.js('window.refusals')) >= 3, 'the browser refused %s',
          browser.js('window.refusals'))


def withheld(bench):
    """what is withheld is nowhere in the page, neither in a list, nor in a detail, nor in a name"""
    scene = Scene(bench, [case for case in request_cases() + response_cases()
                          if case.ends in (None, 'denied:words')]).begin()
    scene.hold()
    browser = browse(bench, scene.daemon)
    browser.wait('document.querySelectorAll(".row[data-kind=held]").length > 2', 'held ones')
    for stream in scene.waits():
        browser.js('page.open(page.streams.all.get(%d))' % stream['id'])
        browser.wait('document.querySelector("#detail-body").textContent.includes("slowest")',
                     'its detail')
        check_clean({'the page': page_text(browser)}, 'in the detail')
    bodies = b''.join(base64.b64decode(body['body']) if body['base64Encoded'] else
                      body['body'].encode() for body in answers(browser))
    check(len(bodies) > 10000, 'only %d bytes of answers', len(bodies))
    check_clean({'the answers': bodies}, 'to the browser')
    scene.end()
    check_clean({'the page': page_text(browser)}, 'after the end')


def page_text(browser):
    return browser.js('document.documentElement.outerHTML').encode()


def answers(browser):
    """The bodies of those answers that the browser still has."""
    for asked in browser.of_kind('Network.loadingFinished')[-20:]:
        yield browser.call('Network.getResponseBody', requestId=asked['requestId'])


def restarts(bench):
    """a daemon that is away is said to be; when it is back, the page goes on by itself"""
    daemon, server = served(bench), bench.server(echo)
    browser = browse(bench, daemon)
    browser.wait('document.querySelector("#enforcing").textContent === "Nothing is watched"',
                 'the badge')
    equal(daemon.stop(), 0, 'exit status')
    browser.wait('!document.querySelector("#trouble").hidden && document.querySelector('
                 '"#enforcing").textContent.startsWith("Not known")', 'the trouble')
    daemon.start()
    start(daemon, server, 'again', 'idle')
    browser.wait('document.querySelector("#trouble").hidden && !!' + row('again'), 'the recovery', 15)
    browser.wait('document.querySelector("#enforcing").textContent === "Enforcing for 1 cgroup"',
                 'the badge')


def come_and_go(bench):
    """page and list stay right while streams come and go by the hundred"""
    daemon, server = served(bench), bench.server(echo)
    start(daemon, server, 'stays', 'idle')
    browser = browse(bench, daemon)
    agent = daemon.start_agent(CHURN, server.port, '2.5')
    seen = set()
    while agent.poll() is None:
        found = rows(daemon)
        ids = [row['id'] for row in found]
        equal(len(ids), len(set(ids)), 'rows of a list, without those that are there twice')
        equal(sum(row['comm'] == 'stays' for row in found), 1, 'rows of the one that stays')
        seen |= set(ids)
    equal(agent.returncode, 0, 'exit status; %r' % agent.stderr.read())
    check(len(seen) > 100, 'only %d streams were seen', len(seen))
    browser.wait('Number(document.querySelector("#count").textContent.split(" ")[0]) > 20',
                 'the page to have followed')
    check_quiet(browser, daemon)


def raised_limit(bench):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 5000), hard))
    bench.undo.append(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))


def many(bench):
    """a thousand streams: elements for what is in sight alone, keys reach all, readers may leave"""
    raised_limit(bench)
    server = EchoMany()
    bench.undo.append(server.close)
    daemon = served(bench)
    agent = daemon.start_agent(MANY, server.port, 1000)
    equal(agent.stdout.readline(), b'open\n', 'the agent\'s first word')
    wait_for(lambda: daemon.status()['streams']['open'] == 1000, 20, 'all streams to be open')
    equal({row['id'] for row in rows(daemon)},
          {stream['id'] for stream in daemon.call('streams')['streams']}, 'the streams')
    leave_early(daemon)
    browser = browse(bench, daemon)
    browser.wait('document.querySelector("#count").textContent === "1,000 streams"', 'the count')
    elements = browser.wait('document.querySelectorAll(".place").length', 'rows')
    check(5 < elements < 40, 'it has %d rows', elements)
    browser.js('document.querySelector(".row").focus()')
    browser.press('ArrowDown', 40)
    browser.press('End', 35)
    equal(browser.js('document.activeElement.parentElement.getAttribute("aria-posinset")'), '1000',
          'where the focus is')
    browser.press('PageUp', 33)
    check(900 < int(browser.js('document.activeElement.parentElement.getAttribute('
                               '"aria-posinset")')) < 1000, 'a page back')
    browser.press('Home', 36)
    equal(browser.js('document.activeElement.parentElement.getAttribute("aria-posinset")'), '1',
          'where the focus is')
    check_quiet(browser, daemon)
    agent.communicate(b'end\n', timeout=20)


def leave_early(daemon):
    """Clients that reset, end or never read in the middle of the list, which costs nobody else."""
    stuck = []
    for number in range(60):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.settimeout(5)
        client.connect(('127.0.0.1', daemon.web))
        client.sendall(b'GET /streams.json HTTP/1.1\r\nHost: localhost\r\n\r\n')
        if number % 3:
            client.recv(100)
        if number % 6 == 5 and len(stuck) < 8:
            stuck.append(client)
        elif number % 2:
            reset(client)
        else:
            client.close()
    equal(len(rows(daemon)), 1000, 'rows beside clients that never read')
    for client in stuck:
        client.close()
    wait_for(lambda: not clients(daemon), 15, 'all of them to be forgotten')


def clients(daemon):
    """The connections of the web listener that the daemon has."""
    with open('/proc/net/tcp', encoding='ascii') as table:
        found = [row.split() for row in list(table)[1:]]
    return [words for words in found if words[1].endswith(':%04X' % daemon.web) and
            words[3] in ('01', '08')]  # established, or ended by the client


def asked_badly(bench):
    """an id that is none, or nobody's, and clients of HTTP/1.0 get an answer that says so"""
    daemon, server = served(bench), bench.server(echo)
    start(daemon, server, 'one', 'idle')
    for query, status in (('id=x', 400), ('id=', 400), ('id=-1', 400), ('id=1x', 400), ('x=1', 400),
                          ('id=99999999999999999999', 400), ('id=9999999', 404)):
        found, headers, body = get(daemon, '/streams.json?' + query)
        equal((found, headers['Content-Type'], set(json.loads(body))),
              (status, 'application/json', {'error'}), query)
    number = rows(daemon)[0]['id']
    one = json.loads(get(daemon, '/streams.json?id=%d' % number)[2])
    equal(set(one), set(daemon.call('stream', id=number)), 'the members of a stream')
    equal(get(daemon, '/streams.json', 'HEAD')[2], b'', 'the body of HEAD')
    status = json.loads(get(daemon, '/status.json')[2])
    equal(set(status), set(daemon.status()), 'the members of the status')
    with socket.create_connection(('127.0.0.1', daemon.web), 5) as client:
        client.sendall(b'GET /streams.json HTTP/1.0\r\nConnection: keep-alive\r\n\r\n')
        answer = b''
        while piece := client.recv(65536):
            answer += piece
    equal(len(json.loads(answer.split(b'\r\n\r\n', 1)[1])['streams']), 1, 'rows, in HTTP/1.0')


GROUND = 'getComputedStyle(document.body).backgroundColor'


def phone_and_dark(bench):
    """nothing is wider than a phone, and text can be read in the light and in the dark"""
    daemon, server = served(bench), bench.server(echo)
    start(daemon, server, 'long-name-of-it', 'half')
    agent = start(daemon, server, 'refused', 'deny')
    browser = browse(bench, daemon)
    browser.wait('%s?.dataset.kind === "held"' % row('long-name-of-it'), 'the held one')
    agent.stdin.write(b'go\n')
    agent.stdin.flush()
    browser.wait('%s?.dataset.kind === "denied"' % row('refused'), 'the denied one')
    grounds = {}
    for theme in ('light', 'dark'):
        browser.media(prefers_color_scheme=theme)
        browser.wait('matchMedia("(prefers-color-scheme: %s)").matches' % theme, theme)
        equal(browser.unreadable(), {}, 'text that cannot be read, ' + theme)
        grounds[theme] = browser.js(GROUND)
    equal(len(set(grounds.values())), 2, 'grounds of light and dark')
    for theme, other in (('light', 'dark'), ('dark', 'light')):
        browser.media(prefers_color_scheme=other)
        browser.js('document.querySelector("#theme").click()')
        equal(browser.js('document.documentElement.dataset.theme'), theme, 'the theme')
        equal(browser.js(GROUND), grounds[theme], 'the ground that was chosen')
        equal(browser.unreadable(), {}, 'text that cannot be read, where %s was chosen' % theme)
    browser.js('document.querySelector("#guarded").open = true')
    for width in (320, 390, 600, 1200):
        browser.size(width, 800, phone=width < 600)
        browser.wait('innerWidth === %d' % width, 'the width')
        time.sleep(0.1)
        equal(browser.js('document.documentElement.scrollWidth'), width, 'how wide the page is')
        equal(browser.js('[...document.querySelectorAll(".row, #search > *")].filter((element) => '
                         'element.getBoundingClientRect().right > innerWidth).length'), 0,
              'what is beyond the edge at %d' % width)
    check_quiet(browser, daemon)


if __name__ == '__main__':
    main([the_document, bars_move, held_and_why, filters, denied, names_are_text, withheld,
          restarts, come_and_go, many, asked_badly, phone_and_dark])
