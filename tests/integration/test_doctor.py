#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""doctor: rows about this machine, warnings about netfilter rules, routes and sockets
that see held bytes, and what stays open.

Rules are made in network namespaces of the test's own, which end with their process.
"""
import json
import os
import shutil
import subprocess

from sluice_test import PYTHON, SLUICECTL, main
from waiting import Skip, check, equal

UP = 'ip link set lo up\n'


def doctor(bench, setup=UP, status=0, before=(), after='', extra=()):
    """What doctor says in a new network namespace, made as `setup` has it."""
    nobody = os.path.join(bench.folder, 'none.sock')
    script = bench.file('setup.sh', 'set -e\n' + setup + '\n' + ' '.join(
        [*before, SLUICECTL, '--socket', nobody, 'doctor', '--json', *extra]) + after)
    done = bench.run(['unshare', '--net', 'sh', script])
    equal(done.returncode, status, 'exit status; it said %r' % done.stderr)
    return json.loads(done.stdout)


def warnings(bench, setup, **options):
    return {(w['kind'], w['place']) for w in doctor(bench, setup, **options)['warnings']}


def nft(rules):
    return UP + "nft -f - <<'END'\n" + rules + '\nEND\n'


def state(said, name):
    rows = [row for row in said['checks'] if row['name'] == name]
    equal(len(rows), 1, 'rows of %s' % name)
    return rows[0]['state']


def quiet(bench):
    """rows of a supported kernel, and no warning where there is nothing"""
    said = doctor(bench)
    equal(said['warnings'], [], 'warnings')
    equal(said['daemon'], None, 'the daemon')
    equal(said['ok'], True, 'whether all is there')
    for row in said['checks']:
        equal(set(row), {'name', 'state', 'required', 'use', 'loss', 'detail'}, 'members of a row')
        check(row['state'] == 'yes' or not row['required'], 'required and not there: %r', row)
        check(row['name'] and row['use'] and row['loss'], 'an empty row: %r', row)
    for name in ('root', 'kernel 6.1', 'cgroup v2', 'bpf file system', 'seccomp', 'libbpf 1.1',
                 'BTF of the kernel', 'memory-mapped array', 'socket storage with clone',
                 'INET_DIAG_DESTROY', 'mount namespaces', 'CAP_NET_ADMIN'):
        equal(state(said, name), 'yes', name)
    # Nothing leads out of a namespace that has the loopback interface alone.
    equal([state(said, 'IPv4 route'), state(said, 'IPv6 route')], ['no', 'no'], 'routes')
    route = UP + 'ip link add va type veth peer vb; ip link set va up; ip link set vb up\n' \
        'ip addr add 192.0.2.1/24 dev va\n'
    said = doctor(bench, route)
    equal([state(said, 'IPv4 route'), state(said, 'IPv6 route')], ['yes', 'no'], 'routes')


def rules_of_nftables(bench):
    """nftables: what logs, copies and redirects, in chains that local hooks reach"""
    found = warnings(bench, nft('''
table inet watch {
    chain out {
        type filter hook output priority 0
        tcp dport 80 jump deep
        log prefix "to the kernel's log: "
    }
    chain deep { log group 5; log group 6; goto deeper; }
    chain deeper { log group 5; }
    chain orphan { log group 5; }
    chain forward {
        type filter hook forward priority 0
        log group 3
    }
    chain post {
        type filter hook postrouting priority 0
    }
    chain in {
        type filter hook input priority 0
        log group 7
    }
}
table inet chooser {
    chain post {
        type filter hook postrouting priority 0
        tcp dport vmap { 81 : jump chosen }
    }
    chain chosen { log group 9; }
}
table ip nat {
    chain out {
        type nat hook output priority -100
        tcp dport 81 redirect to :82
        tcp dport 82 dnat to 192.0.2.1
    }
    chain pre {
        type nat hook prerouting priority -100
        tcp dport 81 redirect to :82
    }
    chain post {
        type nat hook postrouting priority 100
        masquerade
    }
    chain steer {
        type filter hook prerouting priority -150
        meta l4proto tcp tproxy to :5000
    }
}
table ip6 copy {
    chain out {
        type filter hook output priority 0
        dup to 2001:db8::1
    }
}
'''))
    equal(found, {
        ('netfilter_log', 'nftables: table inet watch, chain deep, 2 rules'),
        ('netfilter_log', 'nftables: table inet watch, chain deeper, 1 rule'),
        ('netfilter_log', 'nftables: table inet watch, chain in, 1 rule'),
        ('netfilter_log', 'nftables: table inet chooser, chain chosen, 1 rule'),
        ('netfilter_redirect', 'nftables: table ip nat, chain out, 2 rules'),
        ('netfilter_tproxy', 'nftables: table ip nat, chain steer, 1 rule'),
        ('netfilter_copy', 'nftables: table ip6 copy, chain out, 1 rule'),
    }, 'warnings')


def what_it_sees(bench):
    """of a rule before the gate it says so, and of one for arriving packets that"""
    rule = 'table ip t { chain c { type filter hook %s priority 0; log group 1; }; }'
    for hook, waits in (('output', True), ('postrouting', True), ('input', False),
                        ('prerouting', False)):
        said = doctor(bench, nft(rule % hook))['warnings']
        equal(len(said), 1, 'warnings of a rule at %s' % hook)
        equal('eager_bytes' in said[0]['sees'], waits, 'whether %s sees what waits' % hook)
        equal(said[0]['namespace'], 'own', 'the namespace')
        check(said[0]['remedy'], 'no remedy: %r', said)


def many_rules(bench):
    """a ruleset of many messages is read whole"""
    rules = ''.join('add rule ip t c%d tcp dport %d counter log group 1\n' % (i % 300, i)
                    for i in range(6000))
    chains = ''.join('add chain ip t c%d\nadd rule ip t out jump c%d\n' % (i, i)
                     for i in range(300))
    path = bench.file('many.nft', 'add table ip t\nadd chain ip t out '
                      '{ type filter hook output priority 0; }\n' + chains + rules)
    found = warnings(bench, UP + 'nft -f %s' % path)
    equal(found, {('netfilter_log', 'nftables: table ip t, chain c%d, 20 rules' % i)
                  for i in range(300)}, 'warnings')


def rules_of_iptables(bench):
    """iptables, the older one and the one over nftables, and a name that is no text"""
    names = '/proc/net/ip_tables_names'
    if not os.path.exists(names) or not shutil.which('iptables-legacy'):
        raise Skip('no iptables-legacy')
    rules = '''
%(four)s -t mangle -N BEHIND
%(four)s -t mangle -N UNUSED
%(four)s -t mangle -A UNUSED -j TEE --gateway 192.0.2.1
%(four)s -t mangle -A BEHIND -j TEE --gateway 192.0.2.1
%(four)s -t mangle -A BEHIND -j NFLOG --nflog-group 3
%(four)s -t mangle -A OUTPUT -p tcp -m mark --mark 1 -j BEHIND
%(four)s -t nat -A OUTPUT -p tcp -j REDIRECT --to-ports 99
%(four)s -N "$(printf 'ODD\\377')"
%(four)s -A "$(printf 'ODD\\377')" -j NFLOG --nflog-group 3
%(four)s -A INPUT -j "$(printf 'ODD\\377')"
%(four)s -A FORWARD -j NFQUEUE --queue-num 1
%(six)s -A INPUT -j NFQUEUE --queue-num 1
'''
    expected = (('netfilter_copy', '%s: table ip mangle, chain BEHIND, 1 rule'),
                ('netfilter_log', '%s: table ip mangle, chain BEHIND, 1 rule'),
                ('netfilter_log', '%s: table ip filter, chain ODD?, 1 rule'),
                ('netfilter_redirect', '%s: table ip nat, chain OUTPUT, 1 rule'),
                ('netfilter_queue', '%s: table ip6 filter, chain INPUT, 1 rule'))
    for kind in ('legacy', 'nft'):
        words = {'four': 'iptables-' + kind, 'six': 'ip6tables-' + kind}
        found = warnings(bench, UP + rules % words)
        source = {'ip ': 'iptables', 'ip6': 'ip6tables'} if kind == 'legacy' else \
            {'ip ': 'nftables', 'ip6': 'nftables'}
        equal(found, {(k, p % source[p.split('table ')[1][:3]]) for k, p in expected},
              'warnings of ' + kind)


def nothing_is_made(bench):
    """looking makes no table, and the rules are as they were"""
    script = bench.file('before.sh', '''set -e
ip link set lo up
nft add table ip kept
nft list ruleset
cat /proc/net/ip_tables_names /proc/net/ip6_tables_names 2>/dev/null || true
echo ---
%s --socket %s/none.sock doctor > /dev/null 2>&1
nft list ruleset
cat /proc/net/ip_tables_names /proc/net/ip6_tables_names 2>/dev/null || true
''' % (SLUICECTL, bench.folder))
    done = bench.run(['unshare', '--net', 'sh', script])
    equal(done.returncode, 0, 'exit status; %r' % done.stderr)
    before, after = done.stdout.split(b'---\n')
    check(b'kept' in before, 'it said %r', before)
    equal(after, before, 'rules and tables')


def routes_and_rules(bench):
    """policy routing, routes that wrap, IPsec and the loopback route"""
    equal(warnings(bench, 'true'), {('loopback_route', '127.0.0.1')}, 'without the interface')
    equal(warnings(bench, UP + '''
ip rule add pref 5 to 10.0.0.0/8 lookup 100
ip rule add pref 6 fwmark 1 lookup 100
ip rule add pref 7 to 127.0.0.0/8 lookup 100
ip rule add pref 9 to 127.0.0.0/8 nop
ip rule del pref 0
ip rule add pref 10 lookup local
ip rule add pref 11 fwmark 1 lookup 100
ip -6 rule add pref 20 lookup 100
ip -6 rule del pref 0
ip -6 rule add pref 21 lookup local
'''), {('routing_rule', 'IPv4 rule of priority 6'), ('routing_rule', 'IPv4 rule of priority 7'),
       ('routing_rule', 'IPv6 rule of priority 20')}, 'rules of policy routing')
    # The route itself, not a rule: there is none, and one of another kind.
    for route in ('blackhole 127.0.0.0/8', '127.0.0.0/8 dev lo'):
        equal(warnings(bench, UP + 'ip route del local 127.0.0.1 table local\n'
                       'ip route del local 127.0.0.0/8 table local\n'
                       'ip route add %s\n' % route),
              {('loopback_route', '127.0.0.1')}, 'with ' + route)
    found = warnings(bench, UP + 'ip xfrm policy add src 192.0.2.1 dst 192.0.2.2 dir in '
                     'tmpl proto esp mode transport')
    equal(found, set(), 'of an incoming IPsec policy')
    found = warnings(bench, UP + 'ip xfrm policy add src 192.0.2.1 dst 192.0.2.2 dir out '
                     'tmpl proto esp mode transport')
    equal(found, {('ipsec', 'IPsec, 1 outgoing policy')}, 'of an outgoing IPsec policy')


def routes_that_wrap(bench):
    """a route whose packets the gate cannot read"""
    link = UP + 'ip link add va type veth peer vb; ip link set va up; ip link set vb up\n'
    route = 'ip -6 route add 2001:db8::/32 encap %s dev va\n'
    try:
        found = warnings(bench, link + route % 'seg6 mode encap segs 2001:db8:1::1')
    except AssertionError as error:
        if 'Not supported' in str(error) or 'not supported' in str(error):
            raise Skip('no seg6 routes') from None
        raise
    equal(found, {('route_wraps', 'IPv6 route 2001:db8::/32, encap seg6')}, 'warnings')
    found = warnings(bench, link + 'ip -6 route add 2001:db8::/32 '
                     'nexthop encap seg6 mode encap segs 2001:db8:1::1 via fe80::1 dev va '
                     'nexthop via fe80::2 dev va')
    equal(found, {('route_wraps', 'IPv6 route 2001:db8::/32, encap seg6')}, 'of several paths')


def sockets_and_settings(bench):
    """packet sockets on loopback, and how long TCP is patient"""
    holder = bench.file('holder.py', '''
import socket, subprocess, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(int(sys.argv[1], 16)))
if sys.argv[2] != "any":
    s.bind((sys.argv[2], int(sys.argv[1], 16)))
sys.exit(subprocess.call(sys.argv[3:]))
''')
    for protocol, interface, seen in (('0003', 'any', True), ('0800', 'lo', True),
                                      ('0806', 'any', False), ('0003', 'va', False)):
        found = warnings(bench, UP + 'ip link add va type veth peer vb\n',
                         before=[PYTHON, holder, protocol, interface])
        equal(found, {('packet_sockets', 'loopback interface, 1 packet socket')} if seen else set(),
              'of a packet socket for %s on %s' % (protocol, interface))
    found = warnings(bench, UP + 'sysctl -qw net.ipv4.tcp_retries2=14')
    equal(found, {('tcp_patience', 'net.ipv4.tcp_retries2 = 14')}, 'of few retries')


def without_capabilities(bench):
    """root without what BPF takes: what cannot be probed is unknown, and the status is 1"""
    setup = nft('table ip t { chain c { type filter hook output priority 0; log group 1; }; }')
    said = doctor(bench, setup, status=1,
                  before=['setpriv', '--bounding-set=-net_admin,-bpf,-perfmon,-sys_admin'])
    equal(said['ok'], False, 'whether all is there')
    equal([state(said, name) for name in ('CAP_NET_ADMIN', 'CAP_BPF', 'sockops')],
          ['no', 'no', 'unknown'], 'states')
    found = {w['place'].split(':')[0] for w in said['warnings'] if w['kind'] == 'unknown'}
    check({'nftables', 'IPsec policies'} <= found, 'it could not look at %r', said['warnings'])


def without_parts(bench):
    """without cgroup v2, and without a sluiced: a row, a line, status 1"""
    bare = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c',
            'umount -R -l /sys/fs/cgroup && exec "$@"', 'sh']
    words = [SLUICECTL, '--socket', os.path.join(bench.folder, 'none.sock'), 'doctor']
    done = bench.run([*bare, *words, '--json'])
    equal(done.returncode, 1, 'exit status without cgroup v2; %r' % done.stderr)
    equal(state(json.loads(done.stdout), 'cgroup v2'), 'no', 'cgroup v2')
    done = bench.run([*bare, *words])
    row = [r for r in done.stdout.decode().splitlines() if r.startswith('cgroup v2 ')]
    check(len(row) == 1 and 'MISSING' in row[0] and 'mount -t cgroup2' in row[0], 'it said %r', row)
    alone = os.path.join(bench.folder, 'sluicectl')
    shutil.copy(SLUICECTL, alone)
    done = bench.run([alone, *words[1:]], env={'PATH': '/nowhere'})
    equal(done.returncode, 1, 'exit status without sluiced')
    check(b'there is no sluiced' in done.stderr, 'it said %r', done.stderr)


def daemon_elsewhere(bench):
    """A daemon in a network namespace of its own, in which there is a rule that logs."""
    daemon = bench.daemon(start=False)
    setup = bench.file('setup.sh', nft('table ip t { chain c { type filter hook output '
                                       'priority 0; tcp dport 9 log group 1; }; }')
                       + 'exec "$@"\n')
    plain = daemon.arguments()
    daemon.arguments = lambda: ['unshare', '--net', 'sh', setup, *plain]
    return daemon.start()


RULE = ('netfilter_log', 'nftables: table ip t, chain c, 1 rule')


def of_the_daemon(bench):
    """the daemon's namespace is looked at too, and what stays open is told"""
    daemon = daemon_elsewhere(bench)
    said = json.loads(daemon.ctl('doctor', '--json').stdout)
    equal([(w['kind'], w['place']) for w in said['warnings'] if w['namespace'] == 'daemon'],
          [RULE], 'warnings')
    check(RULE not in [(w['kind'], w['place']) for w in said['warnings']
                       if w['namespace'] == 'own'], 'of its own namespace: %r', said['warnings'])
    equal(said['daemon']['pid'], daemon.process.pid, 'the daemon')
    cgroup = bench.cgroup()
    equal(daemon.ctl('watch', cgroup).returncode, 0, 'watch')
    text = daemon.ctl('doctor').stdout.decode()
    check("warning: in the daemon's network namespace, nftables: table ip t" in text,
          'it said %r', text)
    ways = daemon.status()['watches'][0]['open_ways']
    check(ways, 'no open ways in %r', daemon.status())
    for way in ways:
        check(': %s\n' % way in text, '%r is not in %r', way, text)
    check('held bytes: none wait in the kernel\n' in text, 'it said %r', text)


EAGER = """\
version: 1
name: eager
framing: ndjson
on_deny: reset
limits: {eager_bytes: 4096}
request: {tasks: [words]}
tasks:
  words: {kind: terms, terms: ["forbidden"]}
"""


def what_waits_in_the_kernel(bench):
    """what of held bytes the daemon's policies let wait where others may see it"""
    daemon = bench.daemon(EAGER)
    text = daemon.ctl('doctor').stdout.decode()
    check('held bytes: up to 4096 of a flow wait in the kernel under policy eager\n' in text and
          'none wait' not in text, 'it said %r', text)
    equal([policy['eager_bytes'] for policy in daemon.status()['policies']], [4096], 'status')


def in_one_namespace(bench):
    """a daemon in the same namespace is not looked at twice"""
    daemon = daemon_elsewhere(bench)
    done = bench.run(['nsenter', '--net', '-t', str(daemon.process.pid), SLUICECTL, '--socket',
                      daemon.socket, 'doctor', '--json'])
    said = json.loads(done.stdout)
    equal([(w['kind'], w['place'], w['namespace']) for w in said['warnings']], [(*RULE, 'own')],
          'warnings')
    equal(said['daemon']['pid'], daemon.process.pid, 'the daemon')


if __name__ == '__main__':
    if subprocess.run(['unshare', '--net', 'true'], check=False).returncode:
        print('1..0 # SKIP no network namespaces')
    else:
        main([quiet, rules_of_nftables, what_it_sees, many_rules, rules_of_iptables,
              nothing_is_made, routes_and_rules, routes_that_wrap, sockets_and_settings,
              without_capabilities, without_parts, of_the_daemon, what_waits_in_the_kernel,
              in_one_namespace])
