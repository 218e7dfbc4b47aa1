"""Where connections go: the server or a proxy before it, and whose certificates are trusted."""

from __future__ import annotations

import os
import ssl
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from urllib3 import HTTPConnectionPool, PoolManager, ProxyManager

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


def pool_to(server: Place, proxy: Place | None) -> HTTPConnectionPool:
    """The connections to a server: as many as are asked for at once, all of them kept."""
    tls = trusted() if server.secure or (proxy is not None and proxy.secure) else None
    every = 0  # as for a queue: no bound
    if proxy is None:
        return PoolManager(maxsize=every, ssl_context=tls).connection_from_url(server.root)
    via = ProxyManager(proxy.root, proxy_headers=proxy.headers, proxy_ssl_context=tls, maxsize=every, ssl_context=tls)
    return via.connection_from_url(server.root)


def trusted() -> ssl.SSLContext:
    """The machine's certificates and those of `certifi`; only your own where `SSL_CERT_FILE` or `_DIR` names them."""
    context = ssl.create_default_context()
    if not os.environ.get("SSL_CERT_FILE") and not os.environ.get("SSL_CERT_DIR"):
        with suppress(ImportError):
            import certifi

            context.load_verify_locations(certifi.where())
    return context
