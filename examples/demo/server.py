#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A streaming server: reads one JSON object a line, answers the first with a
stream of lines. It records what reached it, and when. Standard library only."""
import socket
import threading
import time


class StreamingServer:
    """Listens on loopback; answers each connection with `writes`, `pause` seconds apart."""

    def __init__(self, writes=(), pause=0.1):
        self.writes, self.pause = list(writes), pause
        self.arrived = bytearray()  # of all connections, in order
        self.end = None             # how the last connection ended
        self.connections = 0
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            try:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while self.writes and b'\n' not in self.arrived:
                    piece = connection.recv(65536)
                    if not piece:
                        break
                    self.arrived += piece
                for write in self.writes:
                    connection.sendall(write)
                    time.sleep(self.pause)
                if self.writes:
                    connection.shutdown(socket.SHUT_WR)
                while True:
                    piece = connection.recv(65536)
                    if not piece:
                        self.end = 'end of stream'
                        return
                    self.arrived += piece
            except OSError as error:
                self.end = error.strerror

    def close(self):
        self.listener.close()
