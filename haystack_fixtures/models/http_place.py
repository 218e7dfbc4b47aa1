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

from haystack_fixtures.errors import InputError


@dataclass(frozen=True, slots=True)
class Place:
    """One end of a connection. `headers`: the user and password of its address, as the header that carries them."""

    secure: bool
    host: str
    port: int
    headers: Mapping[str, str] = field(repr=False)


def place_of(url: str, header: str = "Authorization") -> Place:
    """The place that an address names."""
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    named: dict[str, str] = {}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        named[header] = f"Basic {b64encode(pair.encode()).decode()}"
    return Place(secure, parts.hostname or "", parts.port or (443 if secure else 80), named)


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


def trusted() -> ssl.SSLContext:
    """The machine's certificates and those of `certifi`; only your own where `SSL_CERT_FILE` or `_DIR` names them."""
    context = ssl.create_default_context()
    if not os.environ.get("SSL_CERT_FILE") and not os.environ.get("SSL_CERT_DIR"):
        with suppress(ImportError):
            import certifi

            context.load_verify_locations(certifi.where())
    return context
