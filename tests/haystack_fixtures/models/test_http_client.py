"""The HTTP client against sockets that say exactly what a test wants, when it wants."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from haystack_fixtures.errors import InputError
from haystack_fixtures.models.http_client import Allowed, HangUpError, HttpClient, UnreachableError, joined
from haystack_fixtures.models.http_place import proxy_for

SOON = Allowed(silence_s=5, total_s=5)
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

Script = list[bytes | float]


class Scripted:
    """A server that plays one script a request: bytes are sent, numbers are seconds to wait, the end hangs up if
    `hangs_up`. The last script is played again and again.
    """

    def __init__(self, hangs_up: bool = False) -> None:
        self.scripts: list[Script] = []
        self.requests: list[bytes] = []
        self.connections = 0
        self.hangs_up = hangs_up
        self.tls: ssl.SSLContext | None = None
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            self._play(self.tls.wrap_socket(connection, server_side=True) if self.tls else connection)

    def _play(self, connection: socket.socket) -> None:
        while head := self._head(connection):
            self.requests.append(head)
            for step in self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]:
                if isinstance(step, bytes):
                    connection.sendall(step)
                else:
                    time.sleep(step)
            if self.hangs_up:
                connection.shutdown(socket.SHUT_RDWR)
                return

    def _head(self, connection: socket.socket) -> bytes:
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

    def close(self) -> None:
        self._listening.close()


@pytest.fixture
def server() -> Iterator[Scripted]:
    scripted = Scripted()
    yield scripted
    scripted.close()


@pytest.fixture
def ask(server: Scripted) -> Iterator[Callable[..., bytes]]:
    """`ask(script, ...)`: one request for each script; the last body."""
    client = HttpClient(server.url, {"X-Team": "a"})

    def send(*scripts: Script, allowed: Allowed = SOON) -> bytes:
        server.scripts = list(scripts)
        body = b""
        for _ in scripts:
            with client.send("POST", server.url + "/x?y=1", b"{}", allowed) as answer:
                assert answer.status == 200
                body = answer.read()
        return body

    yield send
    client.abort()


def test_a_request(server: Scripted, ask: Callable[..., bytes]) -> None:
    assert ask([HELLO]) == b"hello"
    head = server.requests[0].decode().split("\r\n")
    assert head[0] == "POST /v1/x?y=1 HTTP/1.1"
    assert {"X-Team: a", f"Host: 127.0.0.1:{server.port}", "Content-Length: 2"} <= set(head)


def test_a_connection_is_used_again(server: Scripted, ask: Callable[..., bytes]) -> None:
    in_chunks = [CHUNKED, b"5\r\nhello\r\n", b"0\r\n\r\n"]
    assert ask([HELLO], in_chunks, [HELLO]) == b"hello"
    assert server.connections == 1


def test_a_stream_that_is_left_at_its_last_event_is_read_to_its_end(server: Scripted) -> None:
    client = HttpClient(server.url, {})
    server.scripts = [[CHUNKED, b"5\r\nhello\r\n", 0.02, b"0\r\n\r\n"], [HELLO]]
    with client.send("POST", server.url, b"{}", SOON) as answer:
        assert next(answer.chunks()) == b"hello"
    client.send("POST", server.url, b"{}", SOON)
    assert server.connections == 1


def test_a_connection_that_the_server_has_closed_is_not_used_again(server: Scripted, ask: Callable[..., bytes]) -> None:
    server.hangs_up = True
    for _ in range(3):
        assert ask([HELLO]) == b"hello"
        time.sleep(0.02)
    assert server.connections == 3


def test_what_comes_after_an_answer_is_nobodys_answer(server: Scripted, ask: Callable[..., bytes]) -> None:
    ask([HELLO, 0.02, HELLO.replace(b"hello", b"other")])
    time.sleep(0.1)
    assert ask([HELLO]) == b"hello"
    assert server.connections == 2


@pytest.mark.parametrize(
    ("script", "begun"),
    [
        ([], False),
        ([HELLO[:-2]], True),
        ([CHUNKED, b"5\r\nhel"], True),
        ([CHUNKED, b"5\r\nhello\r\n"], True),
        ([CHUNKED, b"what?\r\n"], True),
        ([b"I speak no HTTP\r\n\r\n"], False),
    ],
)
def test_an_answer_that_ends_too_early(
    server: Scripted, ask: Callable[..., bytes], script: Script, begun: bool
) -> None:
    server.hangs_up = True
    with pytest.raises(HangUpError) as caught:
        ask(script)
    assert caught.value.begun == begun
    assert ask([HELLO]) == b"hello"


@pytest.mark.parametrize(
    ("script", "allowed", "seconds"),
    [
        ([5.0], Allowed(0.2, 9), 0.2),
        ([HELLO[:-2], 5.0], Allowed(0.2, 9), 0.2),
        ([CHUNKED, *[b"1\r\n.\r\n", 0.05] * 100], Allowed(0.2, 0.5), 0.5),
    ],
    ids=["no answer", "half an answer", "an endless trickle"],
)
def test_time_is_bounded(ask: Callable[..., bytes], script: Script, allowed: Allowed, seconds: float) -> None:
    begun = time.perf_counter()
    with pytest.raises(TimeoutError):
        ask(script, allowed=allowed)
    assert time.perf_counter() - begun >= seconds * 0.9


def test_a_slow_stream_may_take_longer_than_the_longest_silence(ask: Callable[..., bytes]) -> None:
    slow = [CHUNKED, *[b"1\r\n.\r\n", 0.1] * 5, b"0\r\n\r\n"]
    assert ask(slow, allowed=Allowed(0.3, 5)) == b"....."


def test_nobody_there() -> None:
    with pytest.raises(UnreachableError, match="ConnectionRefusedError"):
        HttpClient("http://127.0.0.1:9/v1", {}).send("POST", "http://127.0.0.1:9/v1", b"", SOON)


def test_a_refusal_before_the_body_has_come_is_read() -> None:
    server = Scripted(hangs_up=True)
    server.scripts = [[b"HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nlarge", 0.2]]
    with HttpClient(server.url, {}).send("POST", server.url, b"x" * 20_000_000, SOON) as answer:
        assert (answer.status, answer.read()) == (413, b"large")
    server.close()


def test_abort_ends_what_is_in_flight(server: Scripted) -> None:
    server.scripts = [[30.0]]
    client, ended = HttpClient(server.url, {}), []

    def wait() -> None:
        try:
            client.send("POST", server.url, b"", Allowed(30, 30))
        except HangUpError as error:
            ended.append(error)

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    while len(server.requests) < 3:
        time.sleep(0.01)
    client.abort()
    for thread in threads:
        thread.join(5)
    assert len(ended) == 3
    with pytest.raises(HangUpError):
        client.send("POST", server.url, b"", SOON)


def test_later_headers_replace_earlier_ones_whatever_their_case() -> None:
    assert joined({"Authorization": "a", "B": "b"}, {"authorization": "c"}) == {"authorization": "c", "B": "b"}


def test_a_proxy_for_plain_http_is_told_the_whole_address(server: Scripted) -> None:
    server.scripts = [[HELLO]]
    client = HttpClient("http://model.test/v1", {}, proxy=f"http://me:p%40ss@127.0.0.1:{server.port}")
    with client.send("POST", "http://model.test/v1/x", b"", SOON) as answer:
        assert answer.read() == b"hello"
    head = server.requests[0].decode().split("\r\n")
    assert head[0] == "POST http://model.test:80/v1/x HTTP/1.1"
    assert "Proxy-Authorization: Basic bWU6cEBzcw==" in head


def test_a_proxy_for_https_is_asked_for_a_tunnel(server: Scripted) -> None:
    server.scripts = [[b"HTTP/1.1 403 Forbidden\r\n\r\n"]]
    client = HttpClient("https://model.test/v1", {"X-Secret": "s"}, proxy=f"http://127.0.0.1:{server.port}")
    with pytest.raises(UnreachableError, match="403"):
        client.send("POST", "https://model.test/v1/x", b"", SOON)
    assert server.requests[0].startswith(b"CONNECT model.test:443")
    assert b"X-Secret" not in server.requests[0]


def test_proxies_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.test:3128")
    monkeypatch.setenv("no_proxy", "inside.test")
    found = proxy_for("http://model.test/v1", None, environment=True)
    assert found is not None
    assert (found.host, found.port) == ("proxy.test", 3128)
    assert proxy_for("http://inside.test/v1", None, environment=True) is None
    assert proxy_for("http://model.test/v1", None, environment=False) is None
    monkeypatch.setenv("http_proxy", "socks5://proxy.test:1080")
    with pytest.raises(InputError, match="http://"):
        proxy_for("http://model.test/v1", None, environment=True)


def test_encrypted_and_only_to_whom_we_trust(server: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    subprocess.run([*made.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.tls.load_cert_chain(certificate, key)
    server.scripts = [[HELLO]]
    url = f"https://localhost:{server.port}/v1"
    with pytest.raises(UnreachableError, match="certificate"):
        HttpClient(url, {}).send("POST", url, b"", SOON)

    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    before, client = server.connections, HttpClient(url, {})
    for _ in range(3):
        with client.send("POST", url, b"", SOON) as answer:
            assert answer.read() == b"hello"
    assert server.connections == before + 1
