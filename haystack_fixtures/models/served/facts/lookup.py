"""Small questions to a server about itself, apart from those to its model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from needlework.haystack_fixtures.models.served.facts.window import QUICK_S, Fetch
from needlework.haystack_fixtures.models.served.http.client import Allowed, HttpClient
from needlework.haystack_fixtures.models.served.http.failures import HangUpError, UnreachableError, UnreadableError

_NOT_READY = (502, 503, 504)  # llama.cpp while it loads, a proxy before a server that is not up
_LARGEST = 32 * 2**20  # bytes; OpenRouter's list of models has about one million


def json_fetch(http: HttpClient) -> Fetch:
    """A `Fetch` through an open HTTP client, which speaks to its own server alone and follows no redirects."""

    def fetch(url: str, body: Mapping[str, Any] | None = None, wait_s: float = QUICK_S) -> Any:
        sent = None if body is None else json.dumps(body).encode()
        try:
            with http.send("GET" if sent is None else "POST", url, sent, Allowed(wait_s, wait_s)) as answer:
                if answer.status in _NOT_READY:
                    raise UnreachableError(f"HTTP {answer.status}")
                if answer.status != 200:
                    return None
                found = bytearray()
                for chunk in answer.chunks():
                    found += chunk
                    if len(found) > _LARGEST:
                        return None
            return json.loads(found)
        except TimeoutError:
            raise UnreachableError("no answer in time") from None
        except (HangUpError, UnreadableError, ValueError, RecursionError):
            return None

    return fetch
