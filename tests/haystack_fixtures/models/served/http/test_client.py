"""The HTTP client against sockets that say exactly what a test wants, when it wants."""

from __future__ import annotations

import gzip
import logging
import resource
import time
import zlib
from collections.abc import Callable

import pytest

from needlework.core.errors import InputError
from needlework.models.event_loop import event_loop
from needlework.models.served import http_client
from needlework.models.served.errors import HangUpError, TooSlowError, UnreachableError, UnreadableError
from needlework.models.served.http_client import Allowed, HttpClient, allow_open_files
from tests.haystack_fixtures.models.served.http.scripted import (
    HELLO,
    SOON,
    Script,
    Scripted,
    abort_in_flight,
)

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_a_request(server: Scripted, ask: Callable[..., bytes]) -> None:
    assert ask([HELLO]) == b"hello"
    head = server.requests[0].decode().split("\r\n")
    assert head[0] == "POST /v1/x?y=1 HTTP/1.1"
    assert {"X-Team: a", f"Host: 127.0.0.1:{server.port}", "Content-Length: 2"} <= set(head)


@pytest.mark.parametrize(
    ("header", "line"),
    [
        ("x-team", "x-team: b"),
        ("user-agent", "user-agent: b"),
        ("Host", "Host: b"),
        ("accept-encoding", "accept-encoding: b"),
    ],
)
def test_a_header_that_is_given_later_stands_in_place_of_one_before(server: Scripted, header: str, line: str) -> None:
    server.scripts = [[HELLO]]
    client = HttpClient(server.url, {"X-Team": "a", header: "b"})
    client.send("GET", server.url, None, SOON)
    sent = server.requests[0].decode().split("\r\n")
    assert [each for each in sent if each.lower().startswith(f"{header.lower()}:")] == [line]
    assert not any(each.startswith("Content-Length") for each in sent)


def test_signs_that_no_address_has_are_written_otherwise(server: Scripted) -> None:
    server.scripts = [[HELLO]]
    HttpClient(server.url, {}).send("GET", server.url + "/ä%20b?q=ü x", None, SOON)
    assert server.requests[0].split(b"\r\n")[0] == b"GET /v1/%C3%A4%20b?q=%C3%BC%20x HTTP/1.1"


def test_a_connection_is_used_again(server: Scripted, ask: Callable[..., bytes]) -> None:
    in_chunks = [CHUNKED, b"5\r\nhello\r\n", b"0\r\n\r\n"]
    assert ask([HELLO], in_chunks, [HELLO]) == b"hello"
    assert server.connections == 1


def test_a_stream_that_is_left_at_its_last_event_is_read_to_its_end(server: Scripted) -> None:
    client = HttpClient(server.url, {})
    server.scripts = [[CHUNKED, b"5\r\nhello\r\n", 0.02, b"0\r\n\r\n"], [HELLO]]
    pieces: list[bytes] = []

    async def left_at_the_first_piece() -> None:
        async with client.exchange("POST", server.url, b"{}", SOON) as answer:
            await answer.read(lambda piece: pieces.append(piece) or True)

    event_loop().wait(left_at_the_first_piece())
    assert pieces == [b"hello"]
    client.send("POST", server.url, b"{}", SOON)
    assert server.connections == 1


def test_a_connection_that_the_server_has_closed_is_not_used_again(server: Scripted, ask: Callable[..., bytes]) -> None:
    server.hangs_up = True
    for _ in range(3):
        assert ask([HELLO]) == b"hello"
        time.sleep(0.02)
    assert server.connections == 3


def test_nor_one_that_the_server_is_about_to_close(
    server: Scripted, ask: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "_IDLE_S", 0.0)
    assert ask([HELLO], [HELLO]) == b"hello"
    assert server.connections == 2


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
        ([CHUNKED, *[b"100000\r\n" + b"." * 2**20 + b"\r\n"] * 500], Allowed(9, 0.05), 0.05),
        ([CHUNKED, 0.3, b"1\r\n.\r\n", 0.4, b"0\r\n\r\n"], Allowed(0.5, 0.5), 0.5),
        ([step for sign in HELLO for step in (bytes([sign]), 0.05)], Allowed(0.2, 0.5), 0.5),
    ],
    ids=[
        "no answer",
        "half an answer",
        "an endless trickle",
        "an endless flood",
        "an end that comes too late",
        "a head that drips in",
    ],
)
def test_time_is_bounded(ask: Callable[..., bytes], script: Script, allowed: Allowed, seconds: float) -> None:
    begun = time.perf_counter()
    with pytest.raises(TimeoutError):
        ask(script, allowed=allowed)
    assert time.perf_counter() - begun >= seconds * 0.9


def test_an_answer_that_had_begun_is_late_and_not_missing(ask: Callable[..., bytes]) -> None:
    soon = Allowed(0.1, 0.3)
    for script in ([CHUNKED, b"1\r\n.\r\n", 5.0], [CHUNKED, *[b"1\r\n.\r\n", 0.05] * 100]):
        with pytest.raises(TooSlowError, match="had begun"):
            ask(script, allowed=soon)
    with pytest.raises(TimeoutError) as caught:
        ask([CHUNKED, 5.0], allowed=soon)
    assert not isinstance(caught.value, TooSlowError)


def test_an_endless_body_is_no_answer(server: Scripted) -> None:
    server.scripts = [[CHUNKED, *[b"100000\r\n" + b"." * 2**20 + b"\r\n"] * 50]]
    with pytest.raises(UnreadableError, match="longer than 4 MiB"):
        HttpClient(server.url, {}).send("POST", server.url, b"", SOON, most=4 * 2**20)


def test_a_slow_stream_may_take_longer_than_the_longest_silence(ask: Callable[..., bytes]) -> None:
    slow = [CHUNKED, *[b"1\r\n.\r\n", 0.1] * 5, b"0\r\n\r\n"]
    assert ask(slow, allowed=Allowed(0.3, 5)) == b"....."


def test_nobody_there() -> None:
    with pytest.raises(UnreachableError, match="ConnectionRefusedError"):
        HttpClient("http://127.0.0.1:9/v1", {}).send("POST", "http://127.0.0.1:9/v1", b"", SOON)


def test_a_refusal_before_the_body_has_come_is_read() -> None:
    server = Scripted(hangs_up=True)
    server.scripts = [[b"HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nlarge", 0.2]]
    reply = HttpClient(server.url, {}).send("POST", server.url, b"x" * 20_000_000, SOON)
    assert (reply.status, reply.body) == (413, b"large")
    server.close()


def test_abort_ends_what_is_in_flight(server: Scripted) -> None:
    server.scripts = [[30.0]]
    assert abort_in_flight(server.url, 3, lambda: len(server.requests) == 3) == 3
    assert server.connections == 3


def test_abort_ends_an_answer_that_has_begun(server: Scripted) -> None:
    server.scripts = [[HELLO[:-2], 30.0]]
    client = HttpClient(server.url, {})

    async def aborted_in_the_middle() -> None:
        async with client.exchange("POST", server.url, b"", Allowed(30, 30)) as answer:
            await answer.read(lambda _piece: client.abort())

    with pytest.raises(HangUpError) as caught:
        event_loop().wait(aborted_in_the_middle())
    assert caught.value.begun


def test_user_and_password_of_the_address_are_sent_in_place_of_a_key(server: Scripted) -> None:
    server.scripts = [[HELLO]]
    url = server.url.replace("://", "://me:p%40ss@")
    assert HttpClient(url, {"authorization": "Bearer key"}).send("POST", url, b"", SOON).body == b"hello"
    head = server.requests[0].lower().decode().split("\r\n")
    assert [line for line in head if line.startswith("authorization")] == ["authorization: basic bwu6cebzcw=="]


def test_the_query_of_the_address_is_sent_and_never_logged(
    server: Scripted, ask: Callable[..., bytes], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.scripts = [[HELLO]]
    client = HttpClient(server.url + "?key=sesame", {})
    for path in ("/a", "/b?model=m"):
        client.send("GET", server.url + path, None, SOON)
    assert [head.split()[1] for head in server.requests] == [b"/v1/a?key=sesame", b"/v1/b?model=m&key=sesame"]
    assert "sesame" not in caplog.text


def test_a_redirect_is_an_answer(server: Scripted) -> None:
    server.scripts = [[b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"]]
    reply = HttpClient(server.url, {}).send("POST", server.url, b"", SOON)
    assert (reply.status, reply.headers["location"]) == (307, "http://127.0.0.1:9/")


PACKED = gzip.compress(b'{"answer": "2582150"}')


@pytest.mark.parametrize(
    ("body", "packing"),
    [
        (PACKED[:-8], "gzip"),
        (PACKED[:-1], "gzip"),
        (PACKED[: len(PACKED) // 2], "gzip"),
        (PACKED[:-8] + b"12345678", "gzip"),
        (b"no gzip at all", "gzip"),
        (zlib.compress(b"hello")[:-4], "deflate"),
        (PACKED, "br"),
    ],
    ids=["no trailer", "one byte short", "half", "another checksum", "garbage", "deflate cut", "not asked for"],
)
def test_a_packed_answer_that_is_not_whole_is_none(ask: Callable[..., bytes], body: bytes, packing: str) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {packing}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with pytest.raises(UnreadableError, match="packed"):
        ask([head + body])


@pytest.mark.parametrize(
    "body", [zlib.compress(b"hello"), zlib.compress(b"hello")[2:-4], b""], ids=["zlib", "raw", "empty"]
)
def test_both_kinds_of_deflate_are_read(ask: Callable[..., bytes], body: bytes) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    assert ask([head + body]) == (b"hello" if body else b"")


def test_more_connections_than_open_files_are_refused_before_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [(256, 4096)]
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _kind, pair: limits.append(pair))
    allow_open_files(100)
    assert limits == [(256, 4096)]
    allow_open_files(400)
    assert limits[-1] == (500, 4096)

    def refuse(_kind: int, _pair: tuple[int, int]) -> None:
        raise ValueError

    monkeypatch.setattr(resource, "setrlimit", refuse)
    with pytest.raises(InputError, match=r"may open 500 files: .*ulimit -n 900.*, or give --concurrency 400"):
        allow_open_files(800)
