"""The HTTP client against sockets that say exactly what a test wants, when it wants; proxies and encryption."""

import asyncio
import contextlib
import logging
import shutil
import socket
import socketserver
import ssl
import subprocess
import threading
import time

import pytest

from needlework.core.errors import InputError
from needlework.models.event_loop import event_loop
from needlework.models.served.errors import HangUpError, TooSlowError, UnreachableError, UnreadableError
from needlework.models.served.http_client import Allowed, HttpClient, proxy_for

SOON = Allowed(silence_s=5, total_s=5)
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

ENCRYPT = "encrypt"


class Scripted(socketserver.ThreadingTCPServer):
    """A server that plays one script a request: bytes are sent, numbers are seconds to wait, functions are called,
    `ENCRYPT` says what it is, the end hangs up if `hangs_up`. The last script is played again and again.
    """

    daemon_threads = True

    def __init__(self):
        self.scripts = []
        self.requests = []
        self.connections = 0
        self.hangs_up = False
        self.tls = None
        self.is_proxy = False
        self.greets = threading.Event()
        self.greets.set()
        super().__init__(("127.0.0.1", 0), None)
        self.port = self.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def finish_request(self, connection, _address):
        self.connections += 1
        with contextlib.suppress(OSError):
            self._play(self._encrypted(connection) if self.tls and not self.is_proxy else connection)

    def _encrypted(self, connection):
        assert self.tls is not None
        self.greets.wait(10)
        return self.tls.wrap_socket(connection, server_side=True)

    def _play(self, connection):
        while head := self._head(connection):
            self.requests.append(head)
            for step in self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]:
                if isinstance(step, bytes):
                    connection.sendall(step)
                elif step == ENCRYPT:
                    connection = self._encrypted(connection)
                elif callable(step):
                    step()
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
        self.shutdown()
        self.server_close()


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
        thread.join(20)
    with pytest.raises(HangUpError):
        client.send("POST", url, b"", SOON)
    return len(ended)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def server():
    scripted = Scripted()
    yield scripted
    scripted.close()


@pytest.fixture
def ask(server):
    """`ask(script, ...)`: one request for each script; the last body."""
    client = HttpClient(server.url, {"X-Team": "a"})

    def send(*scripts, allowed=SOON):
        server.scripts = list(scripts)
        body = b""
        for _ in scripts:
            reply = client.send("POST", server.url + "/x?y=1", b"{}", allowed)
            assert reply.status == 200
            body = reply.body
        return body

    yield send
    client.abort()


@pytest.mark.parametrize("header", ["x-team", "Host"])
def test_a_header_that_is_given_later_stands_in_place_of_one_before(server, header):
    server.scripts = [[HELLO]]
    HttpClient(server.url, {"X-Team": "a", header: "b"}).send("GET", server.url + "/ä%20b?q=ü x", None, SOON)
    lines = server.requests[0].decode().split("\r\n")
    assert lines[0] == "GET /v1/%C3%A4%20b?q=%C3%BC%20x HTTP/1.1"
    assert [line for line in lines if line.lower().startswith(f"{header.lower()}:")] == [f"{header}: b"]


def test_a_stream_that_is_left_at_its_last_event_is_read_to_its_end(server):
    client = HttpClient(server.url, {})
    server.scripts = [[CHUNKED, b"5\r\nhello\r\n", 0.02, b"0\r\n\r\n"], [HELLO]]
    pieces = []

    async def left_at_the_first_piece():
        async with client.exchange("POST", server.url, b"{}", SOON) as answer:
            await answer.read(lambda piece: pieces.append(piece) or True)

    event_loop().wait(left_at_the_first_piece())
    assert pieces == [b"hello"]
    client.send("POST", server.url, b"{}", SOON)
    assert server.connections == 1


def test_a_connection_that_is_closed_is_not_used_again(server, ask):
    server.hangs_up = True
    for _ in range(3):
        assert ask([HELLO]) == b"hello"
        time.sleep(0.02)
    assert server.connections == 3


def test_what_comes_after_an_answer_is_nobodys_answer(server, ask):
    came = threading.Event()
    ask([HELLO, 0.02, HELLO.replace(b"hello", b"other"), came.set])
    came.wait()
    event_loop().wait(asyncio.sleep(0.01))  # it is there: the loop reads it before it sleeps
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
def test_an_answer_that_ends_too_early(server, ask, script, begun):
    server.hangs_up = True
    with pytest.raises(HangUpError) as caught:
        ask(script)
    assert caught.value.begun == begun
    assert ask([HELLO]) == b"hello"


@pytest.mark.parametrize(
    ("script", "allowed", "seconds", "has_begun"),
    [
        ([5.0], Allowed(0.2, 9), 0.2, False),
        ([CHUNKED, b"1\r\n.\r\n", 5.0], Allowed(0.8, 9), 0.8, True),
        ([CHUNKED, *[b"1\r\n.\r\n", 0.05] * 100], Allowed(9, 0.8), 0.8, True),
        ([CHUNKED, *[b"1\r\n.\r\n" * 1000] * 10_000], Allowed(9, 0.8), 0.8, True),
        ([CHUNKED, 0.5, b"1\r\n.\r\n", 0.6, b"0\r\n\r\n"], Allowed(0.8, 0.8), 0.8, True),
        ([step for sign in HELLO for step in (bytes([sign]), 0.05)], Allowed(0.2, 0.5), 0.5, False),
    ],
    ids=["none", "stuck", "trickle", "flood", "late end", "head that drips in"],
)
def test_time_is_bounded(ask, script, allowed, seconds, has_begun):
    begun = time.perf_counter()
    with pytest.raises(TimeoutError) as caught:
        ask(script, allowed=allowed)
    assert time.perf_counter() - begun >= seconds * 0.9
    assert isinstance(caught.value, TooSlowError) == has_begun


def test_an_endless_body_is_no_answer(server):
    server.scripts = [[CHUNKED, *[b"100000\r\n" + b"." * 2**20 + b"\r\n"] * 50]]
    with pytest.raises(UnreadableError, match="longer than 4 MiB"):
        HttpClient(server.url, {}).send("POST", server.url, b"", SOON, most=4 * 2**20)


def test_a_refusal_before_the_body_has_come_is_read(server):
    server.hangs_up = True
    server.scripts = [[b"HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nlarge", 5.0]]
    reply = HttpClient(server.url, {}).send("POST", server.url, b"x" * 20_000_000, SOON)
    assert (reply.status, reply.body) == (413, b"large")


def test_abort_ends_what_is_in_flight(server):
    server.scripts = [[30.0]]
    assert abort_in_flight(server.url, 3, lambda: len(server.requests) == 3) == 3
    assert server.connections == 3


def test_abort_ends_an_answer_that_has_begun(server):
    server.scripts = [[HELLO[:-2], 30.0]]
    client = HttpClient(server.url, {})

    async def aborted_in_the_middle():
        async with client.exchange("POST", server.url, b"", Allowed(30, 30)) as answer:
            await answer.read(lambda _piece: client.abort())

    with pytest.raises(HangUpError) as caught:
        event_loop().wait(aborted_in_the_middle())
    assert caught.value.begun


def test_user_and_password_of_the_address_are_sent_in_place_of_a_key(server):
    server.scripts = [[HELLO]]
    url = server.url.replace("://", "://me:p%40ss@")
    assert HttpClient(url, {"authorization": "Bearer key"}).send("POST", url, b"", SOON).body == b"hello"
    head = server.requests[0].lower().decode().split("\r\n")
    assert [line for line in head if line.startswith("authorization")] == ["authorization: basic bwu6cebzcw=="]


def test_the_query_of_the_address_is_sent_and_never_logged(server, ask, caplog):
    caplog.set_level(logging.DEBUG)
    server.scripts = [[HELLO]]
    client = HttpClient(server.url + "?key=sesame", {})
    for path in ("/a", "/b?model=m"):
        client.send("GET", server.url + path, None, SOON)
    assert [head.split()[1] for head in server.requests] == [b"/v1/a?key=sesame", b"/v1/b?model=m&key=sesame"]
    assert "sesame" not in caplog.text


def test_a_proxy_for_plain_http_is_told_the_whole_address(server):
    server.scripts = [[HELLO]]
    client = HttpClient("http://model.test/v1", {}, proxy=f"http://me:p%40ss@127.0.0.1:{server.port}")
    assert client.send("POST", "http://model.test/v1/x", b"", SOON).body == b"hello"
    head = server.requests[0].decode().split("\r\n")
    assert head[0] == "POST http://model.test/v1/x HTTP/1.1"
    assert "Proxy-Authorization: Basic bWU6cEBzcw==" in head


def test_a_proxy_for_https_is_asked_for_a_tunnel(server):
    server.scripts = [[b"HTTP/1.1 403 Forbidden\r\n\r\n"]]
    client = HttpClient("https://model.test/v1", {"X-Secret": "s"}, proxy=f"http://127.0.0.1:{server.port}")
    with pytest.raises(UnreachableError, match="403"):
        client.send("POST", "https://model.test/v1/x", b"", SOON)
    assert server.requests[0].startswith(b"CONNECT model.test:443")
    assert b"X-Secret" not in server.requests[0]


def test_proxies_of_the_environment(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://proxy.test:3128")
    monkeypatch.setenv("no_proxy", "inside.test")
    found = proxy_for("http://model.test/v1", None, environment=True)
    assert found == ("http://proxy.test:3128", None)
    assert proxy_for("http://inside.test/v1", None, environment=True) is None
    assert proxy_for("http://model.test/v1", None, environment=False) is None
    monkeypatch.setenv("http_proxy", "socks5://proxy.test:1080")
    with pytest.raises(InputError, match="http://"):
        proxy_for("http://model.test/v1", None, environment=True)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Certificate and key of `localhost`, which nobody vouches for."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    found, key = str(folder / "certificate.pem"), str(folder / "key.pem")
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    subprocess.run([*made.split(), "-keyout", key, "-out", found], check=True, capture_output=True)
    return found, key


@pytest.fixture
def encrypting(server, certificate):
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.tls.load_cert_chain(*certificate)
    server.scripts = [[HELLO]]
    return server


@pytest.fixture
def vouched(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", certificate[0])


def test_nothing_is_sent_to_whom_we_do_not_trust(encrypting):
    url = f"https://localhost:{encrypting.port}/v1"
    with pytest.raises(UnreachableError, match="certificate"):
        HttpClient(url, {}).send("POST", url, b"", SOON)
    assert encrypting.requests == []


def test_encryption_reaches_through_a_proxy(encrypting, vouched):
    encrypting.is_proxy = True
    encrypting.scripts = [[b"HTTP/1.1 200 OK\r\n\r\n", ENCRYPT], [HELLO]]
    url = "https://localhost:8443/v1"
    client = HttpClient(url, {"X-Secret": "s"}, proxy=f"http://me:word@127.0.0.1:{encrypting.port}")
    for _ in range(2):
        assert client.send("POST", url, b"", SOON).body == b"hello"
    tunnel, *sent = encrypting.requests
    assert b"CONNECT localhost:8443" in tunnel
    assert b"Proxy-Authorization: Basic bWU6d29yZA==" in tunnel
    assert b"X-Secret" not in tunnel
    assert [b"X-Secret: s" in head and b"Proxy-Authorization" not in head for head in sent] == [True, True]


def test_abort_ends_what_is_still_connecting(encrypting, vouched):
    encrypting.greets.clear()
    url = f"https://localhost:{encrypting.port}/v1"
    assert abort_in_flight(url, 1, lambda: encrypting.connections == 1, encrypting.greets.set) == 1
    assert encrypting.requests == []
