"""HTTP answers taken in piece by piece: what `http.client` reads of the same bytes, however they are cut."""

from __future__ import annotations

import io
from http.client import HTTPResponse
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.models.served.errors import HangUpError, UnreadableError
from needlework.models.served.http_connection import Incoming


class Received:
    """A socket of which only what has been received is left."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


def by_http_client(data: bytes) -> tuple[int, bytes, bool]:
    """Status, body and whether the connection stays open."""
    response = HTTPResponse(cast("Any", Received(data)))
    response.begin()
    stays_open = not response.will_close
    return response.status, response.read(), stays_open


def by_us(pieces: list[bytes]) -> tuple[int, bytes, bool]:
    incoming, body = Incoming(), b""
    for piece in pieces:
        incoming.take(piece)
        body += incoming.body()
    if not incoming.is_over:
        incoming.end()
    return incoming.status, body, incoming.reusable


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    body = draw(st.binary(max_size=40))
    end = draw(st.sampled_from([b"\r\n", b"\n"]))
    lines = [draw(st.sampled_from([b"HTTP/1.1 200 OK", b"HTTP/1.1 429", b"HTTP/1.0 200 -", b"HTTP/1.1 503 Not now"]))]
    lines += draw(st.lists(st.sampled_from([b"X-Y: z", b"Q:"])))
    lines += draw(st.sampled_from([[], [b"Connection: close"], [b"connection:keep-alive"]]))
    match draw(st.sampled_from(["length", "chunks", "close"])):
        case "length":
            lines.append(b"Content-Length: %d" % len(body))
        case "chunks":
            lines.append(b"Transfer-Encoding: chunked")
            size = draw(st.integers(1, 20))
            parts = [body[at : at + size] for at in range(0, len(body), size)]
            note = draw(st.sampled_from([b"", b";note=1"]))
            trailer = draw(st.sampled_from([b"", b"X-Sum: 1\r\n"]))
            body = (
                b"".join(b"%x%b\r\n%b\r\n" % (len(part), note, part) for part in parts) + b"0\r\n" + trailer + b"\r\n"
            )
    before = draw(st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n"]))
    return before + end.join([*lines, b"", b""]) + body


@given(answers(), st.data())
def test_an_answer_is_what_http_client_makes_of_it_however_it_is_cut(answer: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(1, len(answer)), max_size=6)))
    pieces = [answer[a:b] for a, b in zip([0, *cuts], [*cuts, len(answer)], strict=True) if a < b]
    assert by_us(pieces) == by_us([bytes([byte]) for byte in answer]) == by_http_client(answer)


def test_headers_are_found_in_small_letters_and_the_first_counts() -> None:
    incoming = Incoming()
    incoming.take(b"HTTP/1.1 200 OK\r\nX-Team:  a \r\nx-team: b\r\nContent-Length: 0\r\n\r\n")
    assert incoming.headers == {"x-team": "a", "content-length": "0"}
    assert incoming.is_over


def test_what_comes_behind_an_answer_spoils_its_connection() -> None:
    incoming = Incoming()
    incoming.take(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab")
    assert (incoming.body(), incoming.is_over, incoming.reusable) == (b"a", True, False)


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (b"I speak no HTTP\r\n", HangUpError, "BadStatusLine: I speak no HTTP"),
        (b"HTTP/1.1 200 OK\r\nno header\r\n\r\n", UnreadableError, "the head of the answer cannot be read: Invalid"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n", HangUpError, "in the middle"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 150, UnreadableError, "more than 100 headers"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000, UnreadableError, "more than 65536 bytes"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1" + b" " * 70_000, HangUpError, "in the middle"),
    ],
    ids=["no HTTP", "no header", "negative size", "endless headers", "endless header", "endless size"],
)
def test_what_is_no_answer_is_told_before_all_of_it_has_come(data: bytes, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Incoming().take(data)


def test_an_interrupt_while_an_answer_is_read_is_no_fault_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Incoming, "on_body", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Incoming().take(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
