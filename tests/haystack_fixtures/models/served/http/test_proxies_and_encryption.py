"""The HTTP client behind proxies, and over encrypted connections."""

from __future__ import annotations

import shutil
import ssl
import subprocess

import pytest

from needlework.core.errors import InputError
from needlework.models.served.errors import UnreachableError
from needlework.models.served.http_client import HttpClient, proxy_for
from tests.haystack_fixtures.models.served.http.scripted import (
    ENCRYPT,
    HELLO,
    SOON,
    Scripted,
    abort_in_flight,
)


def test_a_proxy_for_plain_http_is_told_the_whole_address(server: Scripted) -> None:
    server.scripts = [[HELLO]]
    client = HttpClient("http://model.test/v1", {}, proxy=f"http://me:p%40ss@127.0.0.1:{server.port}")
    assert client.send("POST", "http://model.test/v1/x", b"", SOON).body == b"hello"
    head = server.requests[0].decode().split("\r\n")
    assert head[0] == "POST http://model.test/v1/x HTTP/1.1"
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
    assert found == ("http://proxy.test:3128", None)
    assert proxy_for("http://inside.test/v1", None, environment=True) is None
    assert proxy_for("http://model.test/v1", None, environment=False) is None
    monkeypatch.setenv("http_proxy", "socks5://proxy.test:1080")
    with pytest.raises(InputError, match="http://"):
        proxy_for("http://model.test/v1", None, environment=True)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Certificate and key of `localhost`, which nobody vouches for."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    found, key = str(folder / "certificate.pem"), str(folder / "key.pem")
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    subprocess.run([*made.split(), "-keyout", key, "-out", found], check=True, capture_output=True)
    return found, key


@pytest.fixture
def encrypting(server: Scripted, certificate: tuple[str, str]) -> Scripted:
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.tls.load_cert_chain(*certificate)
    server.scripts = [[HELLO]]
    return server


@pytest.fixture
def vouched(certificate: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", certificate[0])


def test_nothing_is_sent_to_whom_we_do_not_trust(encrypting: Scripted) -> None:
    url = f"https://localhost:{encrypting.port}/v1"
    with pytest.raises(UnreachableError, match="certificate"):
        HttpClient(url, {}).send("POST", url, b"", SOON)
    assert encrypting.requests == []


def test_an_encrypted_connection_is_used_again(encrypting: Scripted, vouched: None) -> None:
    url = f"https://localhost:{encrypting.port}/v1"
    client = HttpClient(url, {})
    for _ in range(3):
        assert client.send("POST", url, b"", SOON).body == b"hello"
    assert encrypting.connections == 1


def test_encryption_reaches_through_a_proxy(encrypting: Scripted, vouched: None) -> None:
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


def test_abort_ends_what_is_in_flight_encrypted(encrypting: Scripted, vouched: None) -> None:
    encrypting.scripts = [[30.0]]
    assert abort_in_flight(f"https://localhost:{encrypting.port}/v1", 3, lambda: len(encrypting.requests) == 3) == 3


def test_abort_ends_what_is_still_connecting(encrypting: Scripted, vouched: None) -> None:
    encrypting.greets.clear()
    url = f"https://localhost:{encrypting.port}/v1"
    assert abort_in_flight(url, 1, lambda: encrypting.connections == 1, encrypting.greets.set) == 1
    assert encrypting.requests == []
