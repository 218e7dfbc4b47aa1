"""A server of sockets that says exactly what a test wants, when it wants, and what tests of the HTTP client share."""

import contextlib
import socket
import threading
import time

import pytest

from needlework.models.served.errors import HangUpError
from needlework.models.served.http_client import Allowed, HttpClient

SOON = Allowed(silence_s=5, total_s=5)
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

ENCRYPT = "encrypt"


class Scripted:
    """A server that plays one script a request: bytes are sent, numbers are seconds to wait, `ENCRYPT` says what it
    is, the end hangs up if `hangs_up`. The last script is played again and again.
    """

    def __init__(self, hangs_up=False):
        self.scripts = []
        self.requests = []
        self.connections = 0
        self.hangs_up = hangs_up
        self.closes_when_used_again = False
        self._served = []
        self.tls = None
        self.is_proxy = False
        self.greets = threading.Event()
        self.greets.set()
        self._closed = False
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            if self._closed:
                connection.close()
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, contextlib.suppress(OSError):
            self._play(self._encrypted(connection) if self.tls and not self.is_proxy else connection)

    def _encrypted(self, connection):
        assert self.tls is not None
        self.greets.wait(10)
        return self.tls.wrap_socket(connection, server_side=True)

    def _play(self, connection):
        while head := self._head(connection):
            self.requests.append(head)
            if self.closes_when_used_again and connection in self._served:
                connection.close()
                return
            self._served.append(connection)
            for step in self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]:
                if isinstance(step, bytes):
                    connection.sendall(step)
                elif step == ENCRYPT:
                    connection = self._encrypted(connection)
                else:
                    time.sleep(float(step))
            if self.hangs_up:
                connection.shutdown(socket.SHUT_RDWR)
                return

    def _head(self, connection):
        found = b""
        while b"\r\n\r\n" not in found:
            more = connection.recv(65_536)
            if not more:
                return b""
            found += more
        head, _, body = found.partition(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"), 0)
        while len(body) < min(length, 1_000_000):
            body += connection.recv(65_536)
        return head

    def close(self):
        # First its thread has to leave: the next server may have the same descriptor, and one that is about to accept
        # would take that one's connections.
        self._closed = True
        socket.create_connection(("127.0.0.1", self.port), timeout=10).close()
        self._accepting.join(10)
        self._listening.close()


def abort_in_flight(url, requests, begun, then=lambda: None):
    """How many requests end when the client is told to, as soon as they have `begun`; one more is refused."""
    client = HttpClient(url, {})
    ended = []

    def wait():
        try:
            client.send("POST", url, b"", Allowed(30, 30))
        except HangUpError as error:
            ended.append(error)

    threads = [threading.Thread(target=wait) for _ in range(requests)]
    for thread in threads:
        thread.start()
    while not begun():
        time.sleep(0.01)
    client.abort()
    then()
    for thread in threads:
        thread.join(5)
    with pytest.raises(HangUpError):
        client.send("POST", url, b"", SOON)
    return len(ended)
