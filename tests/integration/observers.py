# SPDX-License-Identifier: Apache-2.0
"""What an observer of the daemon can read, and whether withheld text is in it.

Outlets are a table, name -> function of the scene (scenes.py) that returns what can be read
there, as bytes: a new outlet is a new row. Rows named `control METHOD`, `sluicectl
COMMAND` and `web PATH` stand for those there are; uncovered() tells which have none.
"""
import base64
import contextlib
import ctypes
import functools
import glob
import json
import mmap
import os
import pty
import re
import select
import socket
import subprocess
import time
import urllib.parse

from scenes import MARKER, WIDE
from sluice_test import ROOT, SLUICECTL, SLUICED, Control
from waiting import check

WINDOW = 6


def base64_pieces(data):
    """What base64 makes of these bytes wherever they begin: the characters they decide."""
    for before in range(3):
        text = base64.b64encode(bytes(before) + data + bytes(3)).decode()
        inner = text[(before * 8 + 5) // 6:(before + len(data)) * 8 // 6]
        yield inner
        yield inner.translate(str.maketrans('+/', '-_'))


def json_units(text):
    """Each UTF-16 unit as JSON's \\u escape."""
    units = text.encode('utf-16-be')
    return ''.join('\\u' + units[i:i + 2].hex() for i in range(0, len(units), 2))


@functools.lru_cache(maxsize=None)
def forms(text):
    """{name: ways to write the text}, in lower case but for base64."""
    data = text.encode()
    listed = ', '.join('0x%02x' % byte for byte in data)
    ways = {
        'text': [data, text.encode('utf-16-le'), text.encode('utf-16-be')],
        'percent': [''.join('%%%02x' % byte for byte in data), urllib.parse.quote(text)],
        'hex': [data.hex(), data.hex(' '), data.hex(':'), listed, listed.replace(' ', ''),
                ''.join('\\x%02x' % byte for byte in data)],
        'JSON': [json_units(text), json.dumps(text)[1:-1]],
        'decimal': [', '.join(map(str, data)), ','.join(map(str, data))],
    }
    found = {name: {(way if isinstance(way, bytes) else way.encode()).lower() for way in listed}
             for name, listed in ways.items()}
    return {**found, 'base64': {piece.encode() for piece in base64_pieces(data)}}


def pieces(marker):
    return [marker[at:at + WINDOW] for at in range(len(marker) - WINDOW + 1)]


def leaks(data, markers=(MARKER, WIDE)):
    """[(form, piece)] of what of the markers is in the data."""
    # Byte by byte, as in forms(): what is not ASCII stays as it is.
    folded = data.lower()
    return [(name, piece) for marker in markers for piece in pieces(marker)
            for name, ways in forms(piece).items()
            for way in ways if way in (data if name == 'base64' else folded)]


# --- outlets ---

def read(path):
    with open(path, 'rb') as file:
        return file.read()


def files_below(*patterns):
    """Names and contents of the regular files that the patterns find."""
    found = [path for pattern in patterns
             for path in [*glob.glob(pattern), *glob.glob(pattern + '/**', recursive=True)]]
    return b'\n'.join(path.encode() + b'\n' + read(path) for path in sorted(set(found))
                      if os.path.isfile(path) and not path.endswith('/'))


def ask(method, **fixed):
    """A row of a control method: its answer, or its error."""
    def call(scene, **params):
        control = Control(scene.daemon.socket)
        try:
            return json.dumps(control.raw(json.dumps(
                {'jsonrpc': '2.0', 'id': 1, 'method': method,
                 'params': {**fixed, **params}}).encode() + b'\n'), ensure_ascii=False).encode()
        finally:
            control.close()
    return call


def ask_of_each(method):
    """The same of each stream, and of one that is not there."""
    def call(scene):
        ids = [stream['id'] for stream in scene.daemon.call('streams')['streams']] + [1 << 40]
        return b'\n'.join(ask(method)(scene, id=number) for number in ids)
    return call


def watch_and_unwatch(scene):
    cgroup = scene.bench.cgroup('outlet%d' % len(scene.bench.cgroups))
    return ask('watch')(scene, cgroup=cgroup) + ask('unwatch')(scene, cgroup=cgroup)


def run_and_finish(scene):
    # A run belongs to the connection that made it.
    control = Control(scene.daemon.socket)
    try:
        made = control.call('run.create')
        return json.dumps([made, control.call('run.finish', id=made['id'])]).encode()
    finally:
        control.close()


def ctl(*words):
    """A row of a command: what it prints, as text and, where it can, as JSON."""
    def call(scene):
        return b''.join(done.stdout + done.stderr for done in (
            scene.daemon.ctl(*words), scene.daemon.ctl(*words, '--json')))
    return call


def ctl_of_each(*words):
    def call(scene):
        streams = scene.daemon.call('streams')['streams']
        return b''.join(ctl(*words, str(stream['id']))(scene) for stream in streams)
    return call


def ctl_watch(scene):
    cgroup = scene.bench.cgroup('outlet%d' % len(scene.bench.cgroups))
    return ctl('watch', cgroup)(scene) + ctl('unwatch', cgroup)(scene)


def ctl_run(scene):
    """The run's own words, once it has ended, and a run beside it."""
    done = scene.bench.run(scene.daemon.run_command(['/bin/true']))
    return (scene.said or b'') + done.stdout + done.stderr


def ctl_replay(scene):
    found = b''
    for case in scene.cases:
        for track, data in (('request', case.sends), ('response', case.answers)):
            path = scene.bench.file('capture', '')
            with open(path, 'wb') as out:
                out.write(b''.join(data))
            found += ctl('replay', '--policy', scene.daemon.policy, '--track', track,
                         '--framing', 'http1', path)(scene)
    return found


def ctl_deny(scene):
    """Of one that waits, where any does, and of one that is not there."""
    ids = [stream['id'] for stream in scene.waits()[:1]] + [1 << 40]
    return b''.join(ctl('deny', str(number))(scene) for number in ids)


def ctl_handover(scene):
    """To successors that end before they take over: one with a word, one without."""
    return b''.join(ctl('handover', '--wait', '1', '--', *command)(scene) for command in (
        [SLUICED, '--policy', '/nonexistent', '--instance', scene.daemon.instance], ['/bin/false']))


def ctl_audit(scene):
    return ctl('audit', 'head')(scene) + ctl('audit', 'verify', scene.daemon.audit)(scene)


def ctl_policy(scene):
    return ctl('policy', 'check', scene.daemon.policy)(scene) + ctl('policy', 'show')(scene)


def ctl_top(scene):
    """Some frames, the last of them with all of a stream."""
    master, slave = pty.openpty()
    process = scene.bench.spawn(
        [SLUICECTL, '--socket', scene.daemon.socket, 'top', '--interval-ms', '100'],
        stdin=slave, stdout=slave, stderr=slave, env=dict(os.environ, TERM='xterm'))
    os.close(slave)
    found = b''
    with contextlib.suppress(OSError):  # its end
        for keys in (b'', b'\r', b'q'):
            os.write(master, keys)
            while select.select([master], [], [], 0.3)[0] and len(found) < 1 << 20:
                found += os.read(master, 65536)
                if keys != b'q' and found.count(b'\x1b[H') % 3 == 0:
                    break
    process.wait(10)
    os.close(master)
    return found


def ctl_events(scene):
    """What is told while something happens; all of it is in what `control events` has."""
    found = b''
    for words in ([], ['--json']):
        process = scene.bench.spawn([SLUICECTL, '--socket', scene.daemon.socket, 'events', *words],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        end = time.monotonic() + 10
        while not select.select([process.stdout], [], [], 0.1)[0] and time.monotonic() < end:
            watch_and_unwatch(scene)
        process.terminate()
        found += process.communicate(timeout=10)[0]
    return found


def ctl_completion(scene):
    return b''.join(scene.daemon.ctl('completion', word).stdout
                    for word in ('bash', 'streams', 'watches', 'policies'))


def web(path):
    """A row of a path of the web listener: its head and body, as they come."""
    def call(scene):
        with socket.create_connection(('127.0.0.1', scene.daemon.web), 10) as client:
            client.sendall(b'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' %
                           path.encode())
            return b''.join(iter(lambda: client.recv(1 << 16), b''))
    return call


def web_streams(scene):
    """The list, and each stream of it, and one that is not there."""
    ids = [stream['id'] for stream in scene.daemon.call('streams')['streams']] + [1 << 40]
    return web('/streams.json')(scene) + b'\n'.join(web('/streams.json?id=%d' % number)(scene)
                                                    for number in ids)


def handover(scene):
    """Of what is no successor: the line with which it is sent away, and no more."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.settimeout(10)
        client.connect(handover_socket(scene.daemon))
        client.sendall(b'hello')
        return b''.join(iter(lambda: client.recv(1 << 16), b''))


def handover_socket(daemon):
    return '/run/sluice/%s.handover' % daemon.instance


def process(scene):
    """What /proc tells of the daemon without reading its memory."""
    folder, found = '/proc/%d' % scene.daemon.process.pid, b''
    for name in ('cmdline', 'environ', 'comm', 'maps', 'smaps', 'status', 'stat', 'wchan', 'stack',
                 'mountinfo', 'cgroup', 'limits', 'io', 'fdinfo', 'task/*/comm'):
        found += files_below(os.path.join(folder, name))
    for name in os.listdir(folder + '/fd'):
        with contextlib.suppress(OSError):
            found += os.readlink(folder + '/fd/' + name).encode() + b'\n'
    return found


class Object(ctypes.Structure):
    """union bpf_attr, as BPF_OBJ_GET reads it."""
    _fields_ = [('path', ctypes.c_uint64), ('fd', ctypes.c_uint32), ('flags', ctypes.c_uint32)]


SYS_BPF = 321 if os.uname().machine == 'x86_64' else 280
BPF_OBJ_GET, BPF_F_MMAPABLE = 7, 1 << 10
# Values of these are found by socket alone: slot, generation, flags, sequence numbers.
BY_SOCKET = ('sk_storage', 'sockmap', 'sockhash')


def mapped(path, length, offset=0):
    """The memory of a pinned map."""
    name = ctypes.create_string_buffer(path.encode())
    asked = Object(ctypes.addressof(name), 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(SYS_BPF, BPF_OBJ_GET, ctypes.byref(asked), ctypes.sizeof(asked))
    check(fd >= 0, '%s: errno %d', path, ctypes.get_errno())
    try:
        with mmap.mmap(fd, length, prot=mmap.PROT_READ, offset=offset) as memory:
            return memory[:]
    finally:
        os.close(fd)


def bytes_in(value):
    """The bytes that a dump lists as hexadecimal words, wherever they are."""
    if isinstance(value, list) and value and all(
            isinstance(word, str) and re.fullmatch('0x[0-9a-f]{2}', word) for word in value):
        return bytes(int(word, 16) for word in value) + b'\n'
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return b''.join(map(bytes_in, inner))


def contents(path, shown):
    kind, entries = shown['type'], shown['max_entries']
    if kind in BY_SOCKET:
        return b'%s\n' % kind.encode()
    if kind == 'ringbuf':
        return mapped(path, mmap.PAGESIZE + 2 * entries, mmap.PAGESIZE)
    if shown.get('flags', 0) & BPF_F_MMAPABLE:
        size = entries * (shown['bytes_value'] + 7 & ~7)
        return mapped(path, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
    done = subprocess.run(['bpftool', '-j', 'map', 'dump', 'pinned', path], capture_output=True,
                          timeout=60, check=True)
    return bytes_in(json.loads(done.stdout))


def maps(scene):
    """What the pinned maps hold."""
    found, count = b'', 0
    for path in sorted(glob.glob(scene.daemon.pins + '/**', recursive=True)):
        shown = subprocess.run(['bpftool', '-j', 'map', 'show', 'pinned', path],
                               capture_output=True, timeout=60, check=False)
        if os.path.isdir(path) or shown.returncode:
            continue  # a program, a link
        # Most of it is of slots that nobody has.
        found += path.encode() + b'\n' + re.sub(rb'\0{64,}', bytes(64), contents(
            path, json.loads(shown.stdout)))
        count += 1
    check(count > 5, 'only %d maps are below %s', count, scene.daemon.pins)
    return found


OUTLETS = {
    'control status': ask('status'),
    'control streams': ask('streams'),
    'control stream': ask_of_each('stream'),
    'control deny': ask('deny', id=1 << 40),
    'control watch': watch_and_unwatch,
    'control unwatch': watch_and_unwatch,
    'control run.create': run_and_finish,
    'control run.finish': run_and_finish,
    'control policy.load': ask('policy.load', text='version: 1\nname: outlet\n'),
    'control policy.show': ask('policy.show'),
    'control policy.reload': ask('policy.reload'),
    'control events': lambda scene: scene.events(),
    'control audit.head': ask('audit.head'),
    'sluicectl run': ctl_run,
    'sluicectl watch': ctl_watch,
    'sluicectl unwatch': ctl_watch,
    'sluicectl status': ctl('status'),
    'sluicectl streams': ctl('streams'),
    'sluicectl stream': ctl_of_each('stream'),
    'sluicectl deny': ctl_deny,
    'sluicectl replay': ctl_replay,
    'sluicectl policy': ctl_policy,
    'sluicectl audit': ctl_audit,
    'sluicectl doctor': ctl('doctor'),
    'sluicectl handover': ctl_handover,
    'sluicectl version': ctl('version'),
    'sluicectl top': ctl_top,
    'sluicectl events': ctl_events,
    'sluicectl completion': ctl_completion,
    'web /': web('/'),
    'web /metrics': web('/metrics'),
    'web /streams.json': web_streams,
    'web /status.json': web('/status.json'),
    'the handover socket': handover,
    'the log': lambda scene: scene.daemon.read_log().encode(),
    'the audit trail': lambda scene: files_below(scene.daemon.audit),
    'state files': lambda scene: files_below('/run/sluice/%s*' % scene.daemon.instance),
    'the process': process,
    'pinned maps': maps,
}
# Empty where no stream is open, and where there are no files.
MAY_BE_EMPTY = {'sluicectl stream', 'state files'}


def take(scene, names=None):
    """{outlet: what can be read there now}."""
    found = {name: OUTLETS[name](scene) for name in (names or OUTLETS)}
    for name, data in found.items():
        check(data or name in MAY_BE_EMPTY, '%s: nothing can be read there', name)
    return found


def check_clean(found, when, markers=(MARKER, WIDE)):
    for name, data in found.items():
        shown = leaks(data, markers)
        check(not shown, '%s, %s: withheld text as %s', name, when, shown[:3])


def methods():
    """The control methods there are, as the table of the daemon's source has them."""
    source = read(os.path.join(ROOT, 'user', 'daemon', 'control_rpc.c')).decode()
    table = re.search(r'(?s)\bmethods\[\] = \{(.*?)\n\};', source)
    check(table, 'control_rpc.c has no table of methods any more')
    return re.findall(r'\{"([^"]+)",', table[1])


def commands():
    """The commands that sluicectl lists."""
    said = subprocess.run([SLUICECTL, 'help'], capture_output=True, text=True, timeout=10,
                          check=True).stdout
    listed = said.split('commands:\n')[1].split('\n\n')[0]
    return [row.split()[0] for row in listed.splitlines() if row.split()[0] != 'help']


def paths():
    """The paths that the web listener answers, as the table of the daemon's source has them."""
    source = read(os.path.join(ROOT, 'user', 'daemon', 'web.c')).decode()
    table = re.search(r'(?s)\broutes\[\] = \{(.*?)\n\};', source)
    check(table, 'web.c has no table of routes any more')
    return re.findall(r'\{"([^"]+)",', table[1])


def uncovered():
    """Methods, commands and paths that no outlet stands for, and the rows without one."""
    there = {'control ' + name for name in methods()} | {'web ' + name for name in paths()} | {
        'sluicectl ' + name for name in commands()}
    rows = {name for name in OUTLETS if name.startswith(('control ', 'sluicectl ', 'web '))}
    return sorted(there ^ rows)


def listening(pid):
    """The addresses at which a process listens: ('unix', path) or ('tcp', port)."""
    inodes = set()
    for name in os.listdir('/proc/%d/fd' % pid):
        with contextlib.suppress(OSError):
            found = re.fullmatch(r'socket:\[(\d+)\]', os.readlink('/proc/%d/fd/%s' % (pid, name)))
            inodes |= {found[1]} if found else set()
    for table in ('tcp', 'tcp6', 'udp', 'udp6'):
        for row in read('/proc/%d/net/%s' % (pid, table)).decode().splitlines()[1:]:
            words = row.split()
            if words[9] in inodes and (table.startswith('udp') or words[3] == '0A'):
                yield table.rstrip('6'), int(words[1].split(':')[1], 16)
    for row in read('/proc/%d/net/unix' % pid).decode().splitlines()[1:]:
        words = row.split()
        if words[6] in inodes and int(words[3], 16) & 0x10000:
            yield 'unix', words[7]


def written(pid):
    """The regular files that a process has open for writing."""
    for name in os.listdir('/proc/%d/fd' % pid):
        with contextlib.suppress(OSError):
            path = os.readlink('/proc/%d/fd/%s' % (pid, name))
            if os.path.isfile(path) and int(re.search(r'flags:\s+0*(\d+)', read(
                    '/proc/%d/fdinfo/%s' % (pid, name)).decode())[1], 8) & 3:
                yield path


def holds(pid, text):
    """Is the text in the writable memory of a process?"""
    with open('/proc/%d/maps' % pid, encoding='utf-8') as rows, \
            open('/proc/%d/mem' % pid, 'rb', buffering=0) as memory:
        for row in rows:
            start, end = (int(word, 16) for word in row.split()[0].split('-'))
            # What is larger is a sanitizer's, and mostly not there.
            if row.split()[1].startswith('rw') and end - start < 1 << 30:
                with contextlib.suppress(OSError):
                    memory.seek(start)
                    if text.encode() in memory.read(end - start):
                        return True
    return False

