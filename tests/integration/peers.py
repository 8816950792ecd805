# SPDX-License-Identifier: Apache-2.0
"""The other side of an agent's stream: servers on loopback that record what
reached them, byte for byte and with its time."""
import contextlib
import socket
import struct
import threading
import time
import traceback

from waiting import check, wait_for


def receive_all(sock):
    """Everything until the end, and how it ended: 'eof' or the errno's name."""
    data = bytearray()
    try:
        while True:
            piece = sock.recv(65536)
            if not piece:
                return bytes(data), 'eof'
            data += piece
    except OSError as error:
        return bytes(data), type(error).__name__


class Connection:
    """What one connection brought to a server, in order, with arrival times."""

    def __init__(self, sock, peer):
        self.sock, self.peer = sock, peer
        self.data, self.arrivals = bytearray(), []
        self.end = None  # 'eof', 'reset', or another error's name, once it ended

    def take(self, piece):
        self.data += piece
        self.arrivals.append((time.monotonic(), len(piece)))

    def read_all(self):
        while True:
            piece = self.sock.recv(262144)
            if not piece:
                self.end = 'eof'
                return
            self.take(piece)


class Server:
    """Accepts on loopback; each connection runs handler(connection) in a thread."""

    def __init__(self, handler=Connection.read_all, family=socket.AF_INET, address=None):
        self.handler, self.connections, self.faults = handler, [], []
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind((address or ('127.0.0.1' if family == socket.AF_INET else '::1'), 0))
        self.sock.listen(1024)
        self.address, self.port = self.sock.getsockname()[:2]
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def _accept(self):
        while True:
            try:
                sock, peer = self.sock.accept()
            except OSError:
                return
            connection = Connection(sock, peer)
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            with connection.sock:
                self.handler(connection)
        except (ConnectionResetError, BrokenPipeError):
            connection.end = connection.end or 'reset'
        except OSError as error:
            connection.end = connection.end or type(error).__name__
        except Exception:  # pylint: disable=broad-except
            self.faults.append(traceback.format_exc())
        finally:
            connection.end = connection.end or 'closed'

    def connection(self, number=0, seconds=10):
        wait_for(lambda: len(self.connections) > number, seconds,
                 'connection %d at the server' % number)
        return self.connections[number]

    def ended(self, number=0, seconds=10):
        """The connection, once it has ended."""
        connection = self.connection(number, seconds)
        wait_for(lambda: connection.end, seconds, 'the end of connection %d' % number)
        check(not self.faults, 'the server failed: %s', self.faults)
        return connection

    def close(self):
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)


def echo(connection):
    """Handler: returns what it reads, and passes a half-close on."""
    while True:
        piece = connection.sock.recv(65536)
        if not piece:
            connection.end = 'eof'
            connection.sock.shutdown(socket.SHUT_WR)
            return
        connection.take(piece)
        connection.sock.sendall(piece)


def reset(sock):
    """Closes a socket so that the other end sees a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    sock.close()
