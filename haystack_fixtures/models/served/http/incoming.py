"""An HTTP/1 answer taken in as its bytes come: where its head ends, where its body ends, and what the body is."""

from __future__ import annotations

from collections.abc import Mapping

import httptools

from needlework.haystack_fixtures.models.served.http.failures import HangUpError, UnreadableError

_HEADERS = 100  # as many as `http.client` takes
_HEAD = 65_536  # bytes that may come before a head has ended, or between two pieces of a body
# What servers and `http.client` get along with, though the standard does not have it.
_LENIENT = {
    "lenient_optional_cr_before_lf": True,
    "lenient_optional_lf_after_cr": True,
    "lenient_chunked_length": True,
    "lenient_spaces_after_chunk_size": True,
    "lenient_data_after_close": True,
    "lenient_headers": True,
}


class Incoming:
    """One answer (RFC 9112). `status` is 0 until its head has come; `headers` have names in small letters.

    `reusable`: whether the connection may be used again once the answer is over.
    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.reusable = False
        self.begun = False
        self.is_over = False
        self._found: dict[str, str] = {}
        self._lines = 0
        self._unparsed = 0  # bytes since the last piece of the body, or since the beginning
        self._first = b""
        self._body: list[bytes] = []
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(**_LENIENT)

    def take(self, data: bytes) -> None:
        """Take in what has come.

        Raises `HangUpError` for what is no answer, `UnreadableError` for a head that cannot be read.
        """
        self.begun = True
        if self.is_over:
            self.reusable = False  # more than was asked for
            return
        if not self.status:
            self._first = (self._first + data)[:200]
        self._unparsed += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.is_over = True
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, KeyboardInterrupt):  # came while the parser called us
                raise error.__context__ from None
            if self.is_over:
                self.reusable = False
            elif self.status:
                raise self._broken from None
            elif isinstance(error.__context__, UnreadableError):
                raise error.__context__ from None
            elif self._first.startswith(b"HTTP/1."):
                raise UnreadableError(f"the head of the answer cannot be read: {error}") from None
            else:
                line = self._first.partition(b"\n")[0]
                raise HangUpError(f"BadStatusLine: {line.decode('latin-1').strip()}") from None
        if self._unparsed > _HEAD and not self.is_over:
            if self.status:
                raise self._broken
            raise UnreadableError(f"the head of the answer cannot be read: more than {_HEAD} bytes")

    def body(self) -> bytes:
        """What has come of the body since the last look."""
        found, self._body = self._body, []
        return found[0] if len(found) == 1 else b"".join(found)

    def end(self) -> None:
        """Nothing more comes. Raises `HangUpError` where the answer was not over."""
        if self.status and self._until_closed:
            self.is_over = True
        if not self.begun:
            raise HangUpError("RemoteDisconnected: Remote end closed connection without response")
        if not self.is_over:
            raise HangUpError("the connection was closed in the middle of the answer", begun=bool(self.status))

    @property
    def _until_closed(self) -> bool:
        """Whether the body lasts as long as the connection."""
        chunked = self.headers.get("transfer-encoding", "").lower().endswith("chunked")
        return not chunked and "content-length" not in self.headers

    @property
    def _broken(self) -> HangUpError:
        return HangUpError("the connection was closed in the middle of the answer", begun=True)

    # What the parser calls.

    def on_message_begin(self) -> None:
        if self.is_over:
            self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.status:  # behind the body
            return
        self._lines += 1
        if self._lines > _HEADERS:
            raise UnreadableError(f"the head of the answer cannot be read: more than {_HEADERS} headers")
        self._found.setdefault(name.strip().lower().decode("latin-1"), value.strip().decode("latin-1"))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != 101:  # the server goes on: another head follows
            self._found.clear()
        elif not self.status:
            self.status, self.headers = status, self._found

    def on_body(self, piece: bytes) -> None:
        self._unparsed = 0
        if not self.is_over:
            self._body.append(piece)

    def on_message_complete(self) -> None:
        if self.status and not self.is_over:
            self.is_over = True
            self.reusable = self._parser.should_keep_alive()
