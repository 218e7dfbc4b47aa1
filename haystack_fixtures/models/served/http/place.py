"""Where connections go: the server or a proxy before it, and whose certificates are trusted."""

from __future__ import annotations

import os
import ssl
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from needlework.haystack_fixtures.errors import InputError


@dataclass(frozen=True, slots=True)
class Place:
    """One end of a connection. `root`: its address up to the path, without user and password.

    `headers`: the user and password, as the header that carries them.
    """

    root: str
    headers: Mapping[str, str] = field(repr=False)

    @property
    def secure(self) -> bool:
        return self.root.startswith("https:")

    @property
    def at(self) -> tuple[str, int]:
        """Its name and its port."""
        parts = urlsplit(self.root)
        return parts.hostname or "", parts.port or self.default_port

    @property
    def default_port(self) -> int:
        return HTTPSConnection.default_port if self.secure else HTTPConnection.default_port


def place_of(url: str, header: str = "Authorization") -> Place:
    """The place that an address names."""
    parts = urlsplit(url)
    login, _, host = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    pair = f"{unquote(user)}:{unquote(password)}".encode()
    return Place(f"{parts.scheme}://{host}", {header: f"Basic {b64encode(pair).decode()}"} if login else {})


def proxy_for(url: str, given: str | None, environment: bool) -> Place | None:
    """The proxy before a server: the given one, or by `environment` that of `HTTPS_PROXY`, `NO_PROXY` and so on."""
    server = urlsplit(url)
    address = given
    if address is None and environment and not proxy_bypass(server.hostname or ""):
        found = getproxies()
        address = found.get(server.scheme) or found.get("all")
    if not address:
        return None
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError("proxy", parts.scheme, "use an http:// proxy (environment variables, or --model-arg proxy=)")
    if parts.scheme == server.scheme == "https":
        raise InputError("proxy", "https://...", "an https server is reached through an http:// proxy only")
    return place_of(parts.geturl(), "Proxy-Authorization")


@dataclass(frozen=True, slots=True)
class Way:
    """How a server is reached: at once, through a tunnel of a proxy, or by a proxy that is told the whole address."""

    server: Place
    proxy: Place | None
    tls: ssl.SSLContext | None

    @property
    def prefix(self) -> str:
        """What stands before the path of a request."""
        return self.server.root if self.proxy is not None and not self.server.secure else ""

    @property
    def tunnels(self) -> bool:
        """Whether a proxy passes on what it cannot read."""
        return self.proxy is not None and self.server.secure

    @property
    def headers(self) -> Mapping[str, str]:
        """What the proxy wants of each request; of a tunnel it is told when it is made."""
        return self.proxy.headers if self.proxy is not None and self.prefix else {}

    def connection(self) -> HTTPConnection:
        """A connection that is not open yet."""
        first = self.proxy or self.server
        if self.proxy is not None and self.tunnels:
            tunnel = HTTPSConnection(*first.at, context=self.tls)
            tunnel.set_tunnel(*self.server.at, headers=self.proxy.headers)
            return tunnel
        return HTTPSConnection(*first.at, context=self.tls) if first.secure else HTTPConnection(*first.at)


def way_to(server: Place, proxy: Place | None) -> Way:
    """The way to a server, and to a proxy before it, if there is one."""
    return Way(server, proxy, trusted() if server.secure or (proxy is not None and proxy.secure) else None)


def trusted() -> ssl.SSLContext:
    """The machine's certificates and those of `certifi`; only your own where `SSL_CERT_FILE` or `_DIR` names them."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if not os.environ.get("SSL_CERT_FILE") and not os.environ.get("SSL_CERT_DIR"):
        with suppress(ImportError):
            import certifi

            context.load_verify_locations(certifi.where())
    return context
