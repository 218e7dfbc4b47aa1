"""A scripted server, and a client that asks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from needlework.models.served.http_client import Allowed, HttpClient
from tests.haystack_fixtures.models.served.http.scripted import SOON, Script, Scripted


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
            reply = client.send("POST", server.url + "/x?y=1", b"{}", allowed)
            assert reply.status == 200
            body = reply.body
        return body

    yield send
    client.abort()
