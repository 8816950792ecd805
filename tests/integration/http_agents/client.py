#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An ordinary HTTP client; it knows nothing of Sluice.

client.py http.client|urllib PLAN: asks what the JSON file PLAN lists, one after the
other, over one connection where the library keeps one; a line of JSON on each.
"""
import http.client
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request


class HttpClient:
    """http.client, a connection per host and port."""

    def __init__(self):
        self.connections = {}

    def ask(self, method, url, headers, body):
        parts = urllib.parse.urlsplit(url)
        if parts.netloc not in self.connections:
            self.connections[parts.netloc] = http.client.HTTPConnection(parts.netloc, timeout=30)
        connection = self.connections[parts.netloc]
        connection.request(method, url.split(parts.netloc, 1)[1], body, headers)
        return connection.getresponse()

    def broken(self):
        """What was kept is of no use any more."""
        self.connections.clear()


class Urllib:
    """urllib.request, a connection per request."""

    def broken(self):
        """There is none."""

    def ask(self, method, url, headers, body):
        request = urllib.request.Request(url, body, headers, method=method)
        try:
            return urllib.request.urlopen(request, timeout=30)
        except urllib.error.HTTPError as error:
            return error


def pieces(answer):
    """What comes, as it comes; urllib's errors hide read1()."""
    read = getattr(answer, 'read1', None) or answer.fp.read1
    while piece := read(65536):
        yield piece


def tell(client, step):
    said = {'status': 0, 'type': '', 'body': '', 'error': '', 'times': []}
    body = bytearray()
    began = time.monotonic()
    try:
        sent = step.get('body')
        answer = client.ask(step.get('method', 'POST'), step['url'], step.get('headers', {}),
                            sent.encode() if sent is not None else None)
        said['status'], said['type'] = answer.status, answer.headers.get('Content-Type', '')
        for piece in pieces(answer):
            body += piece
            said['times'].append(time.monotonic() - began)
            if len(body) >= step.get('leave', 1 << 62):
                sys.exit(4)
        answer.close()
    except (OSError, http.client.HTTPException) as error:
        client.broken()
        said['error'] = '%s: %s' % (type(error).__name__, error)
    said['body'] = body.hex()
    print(json.dumps(said), flush=True)
    return not said['error']


def main():
    client = {'http.client': HttpClient, 'urllib': Urllib}[sys.argv[1]]()
    with open(sys.argv[2], encoding='utf-8') as plan:
        steps = json.load(plan)
    return 0 if all([tell(client, step) for step in steps]) else 1


if __name__ == '__main__':
    sys.exit(main())
