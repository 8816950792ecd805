#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An ordinary client program; it knows nothing of Sluice. Standard library only.

client.py ask PORT      sends a request and prints the lines of the answer as they come
client.py upload PORT   sends lines, the last one in three writes, the third after a line
                        on standard input; then tries to connect again
"""
import hashlib
import json
import socket
import sys
import time


def ask(port):
    began = time.monotonic()
    received = bytearray()
    with socket.create_connection(('127.0.0.1', port)) as stream:
        stream.sendall(json.dumps({'t': 'tell me a story'}).encode() + b'\n')
        end = 'end of stream'
        shown = 0
        try:
            while True:
                piece = stream.recv(65536)
                if not piece:
                    break
                received += piece
                while b'\n' in received[shown:]:
                    after = received.index(b'\n', shown) + 1
                    print('%5.2f s  %s' % (time.monotonic() - began,
                                           received[shown:after].decode().rstrip()), flush=True)
                    shown = after
        except ConnectionResetError as error:
            end = error.strerror
    print(json.dumps({'bytes': len(received), 'sha256': hashlib.sha256(received).hexdigest(),
                      'end': end}))


def upload(port):
    writes = [b'{"t": "line one"}\n{"t": "line two"}\n', b'{"t": "this is forb', b'idd',
              b'en knowledge"}\n']
    stream = socket.create_connection(('127.0.0.1', port))
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for number, write in enumerate(writes):
        if number == len(writes) - 1:
            print('two of three writes of the last line are done', flush=True)
            sys.stdin.readline()
        try:
            stream.sendall(write)
            time.sleep(0.2)
        except OSError as error:
            print('the stream: %s' % error.strerror, flush=True)
            break
    try:
        socket.create_connection(('127.0.0.1', port))
        print('a new connection: connected', flush=True)
    except OSError as error:
        print('a new connection: %s' % error.strerror, flush=True)


if __name__ == '__main__':
    {'ask': ask, 'upload': upload}[sys.argv[1]](int(sys.argv[2]))
