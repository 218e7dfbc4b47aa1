"""How a served model is reached."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from needlework.haystack_fixtures.models.served.batch.answer_files import AnswerFiles


@dataclass(frozen=True)
class Connection:
    """The options that say how to reach a server; it holds names of secrets, never the secrets.

    `api_key_env` names the environment variable with the key. `headers_env` names one that holds extra headers as a
    JSON object. `timeout_s` is for one attempt with a short prompt (it grows with the prompt). `retries` counts the
    attempts after the first. `concurrency`: requests in flight at once, of this process. `strict_model`: answers of
    another model than the one under test do not count. `too_long_pattern`: how this server says that a prompt does not
    fit, where its words are not known here. `workers`: processes that ask this server at the same time. `batch`:
    nobody is asked: requests are written to files, or `answers` are read from some. `ended`: says why a server that the
    run has started cannot come back, empty while it may. `tell`: is given a line for who waits, at once, in threads.
    `pausing`: is told 1 when a request begins to pause before it is tried again, and -1 when it goes on; in threads.
    """

    base_url: str | None = field(default=None, repr=False)  # may carry a user and password
    api_key_env: str = "OPENAI_API_KEY"
    timeout_s: float = 120.0
    retries: int = 5
    headers_env: str | None = None
    concurrency: int = 8
    strict_model: bool = False
    too_long_pattern: re.Pattern[str] | None = None
    workers: int = 1
    batch: bool = False
    answers: AnswerFiles | None = None
    ended: Callable[[], str] | None = field(default=None, repr=False, compare=False)
    tell: Callable[[str], object] | None = field(default=None, repr=False, compare=False)
    pausing: Callable[[int], object] | None = field(default=None, repr=False, compare=False)


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


def is_usable(url: str) -> bool:
    """Whether this is an HTTP address at all."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:  # a bracket that is not closed, a port that is no number
        return False


def shown_url(url: str) -> str:
    """What of a URL that nobody can use may be shown: nothing before an `@`, nothing of a query."""
    return re.split(r"[?#&;=]", url.rpartition("@")[2])[0]
