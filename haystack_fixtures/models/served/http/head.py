"""The head of a request, as `http.client` writes it."""

from __future__ import annotations

from collections.abc import Mapping
from http.client import HTTPConnection
from urllib.parse import quote

from needlework.haystack_fixtures.models.served.http.place import Way

_KEPT = "%/:=&?~#+!$,;'@()*[]"  # signs of an address that are not written otherwise


class _Written(HTTPConnection):
    """One that keeps what it is to send."""

    written = b""

    def send(self, data: object) -> None:
        self.written += bytes(data)  # type: ignore[call-overload]


def head_of(method: str, way: Way, target: str, headers: Mapping[str, str]) -> bytes:
    """A head without the size of its body and without its end. Of headers of one name the last counts, in any case.

    Raises `ValueError` where a header or an address has signs that none can have.
    """
    writing = _Written(*way.server.at)
    writing.default_port = way.server.default_port
    named = {name.lower(): (name, value) for name, value in headers.items()}
    own = {"host": "skip_host", "accept-encoding": "skip_accept_encoding"}
    writing.putrequest(method, way.prefix + quote(target, _KEPT), **{own[name]: True for name in own if name in named})
    for name, value in named.values():
        writing.putheader(name, value)
    writing.endheaders()
    return writing.written.removesuffix(b"\r\n")
