"""An HTTP/1 answer taken in as its bytes come: where its head ends, where its body ends, and what the body is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from needlework.haystack_fixtures.models.served.http.failures import HangUpError, UnreadableError

_HEADERS = 100  # as many as `http.client` takes
_LINE = 65_536  # bytes; the longest line of a head, or between two chunks
_STATUS = re.compile(rb"HTTP/(1\.\d) +(\d{3})(?: [^\r\n]*)?\r?")
_SIZE = re.compile(rb"([0-9A-Fa-f]+)[ \t]*(?:;.*)?")
_BODILESS = (204, 304)

Part = Literal["head", "length", "size", "chunk", "behind", "trailers", "rest", "over"]


class Incoming:
    """One answer (RFC 9112). `status` is 0 until its head has come; `headers` have names in small letters.

    `reusable`: whether the connection may be used again once the answer is over.
    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.reusable = False
        self.begun = False
        self._held = b""
        self._body: list[bytes] = []
        self._part: Part = "head"
        self._left = 0  # bytes, of the body or of its chunk

    @property
    def is_over(self) -> bool:
        return self._part == "over"

    def take(self, data: bytes) -> None:
        """Take in what has come.

        Raises `HangUpError` for what is no answer, `UnreadableError` for a head that cannot be read.
        """
        self.begun = True
        self._held = self._held + data if self._held else data
        if self._part == "head":
            self._take_head()
        while self._held and self._part not in ("head", "over"):
            if self._part in ("length", "chunk", "rest"):
                self._body.append(self._piece())
            elif not self._take_line():
                return
        if self._held and self.is_over:
            self.reusable = False  # more than was asked for

    def body(self) -> bytes:
        """What has come of the body since the last look."""
        found, self._body = self._body, []
        return found[0] if len(found) == 1 else b"".join(found)

    def end(self) -> None:
        """Nothing more comes. Raises `HangUpError` where the answer was not over."""
        if self._part == "rest":
            self._part = "over"
        if not self.begun:
            raise HangUpError("RemoteDisconnected: Remote end closed connection without response")
        if not self.is_over:
            raise HangUpError("the connection was closed in the middle of the answer", begun=bool(self.status))

    def _piece(self) -> bytes:
        held = self._held
        if self._part == "rest":
            self._held = b""
            return held
        piece, self._held = (held, b"") if len(held) <= self._left else (held[: self._left], held[self._left :])
        self._left -= len(piece)
        if not self._left:
            self._part = "behind" if self._part == "chunk" else "over"
        return piece

    def _take_line(self) -> bool:
        """Read one line between the chunks, or behind them; whether it was there whole."""
        end = self._held.find(b"\n")
        if end < 0:
            if len(self._held) > _LINE:
                raise self._broken
            return False
        line, self._held = self._held[:end].rstrip(b"\r"), self._held[end + 1 :]
        if self._part == "behind":
            self._part = "size"
        elif self._part == "trailers":
            self._part = "trailers" if line else "over"
        elif (size := _SIZE.fullmatch(line)) is None:
            raise self._broken
        else:
            self._left = int(size[1], 16)
            self._part = "chunk" if self._left else "trailers"
        return True

    @property
    def _broken(self) -> HangUpError:
        return HangUpError("the connection was closed in the middle of the answer", begun=True)

    def _take_head(self) -> None:
        while (found := re.search(rb"\n\r?\n", self._held)) is not None:
            head, self._held = self._held[: found.start()], self._held[found.end() :]
            lines = head.split(b"\n")
            status = _STATUS.fullmatch(lines[0])
            if status is None:
                raise self._no_answer(lines[0])
            if int(status[2]) < 200 and status[2] != b"101":  # the server goes on: another head follows
                continue
            self._begin(status[1], int(status[2]), _headers(lines[1:]))
            return
        first, newline, _ = self._held.partition(b"\n")
        if newline and _STATUS.fullmatch(first) is None:
            raise self._no_answer(first)
        if self._held.count(b"\n") > _HEADERS + 1:
            raise UnreadableError(f"the head of the answer cannot be read: more than {_HEADERS} headers")
        if len(self._held.rpartition(b"\n")[2]) > _LINE:
            raise UnreadableError(f"the head of the answer cannot be read: a line of more than {_LINE} bytes")

    def _no_answer(self, line: bytes) -> HangUpError:
        return HangUpError(f"BadStatusLine: {line[:200].decode('latin-1').strip()}")

    def _begin(self, version: bytes, status: int, headers: dict[str, str]) -> None:
        self.status, self.headers = status, headers
        said = headers.get("connection", "").lower()
        self.reusable = "keep-alive" in said if version == b"1.0" else "close" not in said
        length = headers.get("content-length", "").strip()
        if status in _BODILESS or status == 101:
            self._part = "over"
        elif headers.get("transfer-encoding", "").strip().lower() == "chunked":
            self._part = "size"
        elif length.isascii() and length.isdigit():
            self._left = int(length)
            self._part = "length" if self._left else "over"
        else:  # it lasts as long as the connection
            self._part, self.reusable = "rest", False


def _headers(lines: list[bytes]) -> dict[str, str]:
    """The first header of each name. Raises `UnreadableError` for too many."""
    if len(lines) > _HEADERS:
        raise UnreadableError(f"the head of the answer cannot be read: more than {_HEADERS} headers")
    found: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(b":")
        found.setdefault(name.strip().lower().decode("latin-1"), value.strip().decode("latin-1"))
    return found
