"""How a served model is reached."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit


@dataclass(frozen=True)
class Connection:
    """The options that say how to reach a server; it holds names of secrets, never the secrets.

    `api_key_env` names the environment variable with the key. `headers_env` names one that holds extra headers as a
    JSON object. `timeout_s` is for one attempt with a short prompt (it grows with the prompt). `retries` counts the
    attempts after the first.
    """

    base_url: str | None = field(default=None, repr=False)  # may carry a user and password
    api_key_env: str = "OPENAI_API_KEY"
    timeout_s: float = 120.0
    retries: int = 5
    headers_env: str | None = None


def is_loopback(url: str) -> bool:
    """Whether a URL points at this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def without_credentials(url: str) -> str:
    """The URL as it may be shown: no user, no password, no query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
