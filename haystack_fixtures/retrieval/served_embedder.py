"""Vectors by an OpenAI-compatible server: POST BASE_URL/embeddings."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from typing import Any, cast
from urllib.parse import urlsplit

import numpy as np

from needlework.haystack_fixtures.errors import InputError, printable
from needlework.haystack_fixtures.models.served.connection import Connection, is_loopback
from needlework.haystack_fixtures.models.served.errors import Fault, HttpError, Retries, fault_of, fault_of_status
from needlework.haystack_fixtures.models.served.http.client import Allowed, HttpClient
from needlework.haystack_fixtures.redact import redactor, url_secrets
from needlework.haystack_fixtures.retrieval.embedded import Embedded

_BATCH = 64  # texts in one request
_LARGEST_NUMBER = 1e15  # NaN is not below it
_LARGEST = 256 * 2**20  # bytes of a reply; 64 vectors of 4,096 numbers have about 6 million


class ServedEmbedder:
    """Asks for a batch at a time. What failed in passing is tried again, as for models under test."""

    def __init__(self, spec: str, model: str, url: str, key: str, connection: Connection) -> None:
        """`spec`: what errors name; `key`: empty for a server that wants none. Neither key nor login is ever shown."""
        parts = urlsplit(url)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        self._http = HttpClient(
            url, headers | ({"Authorization": f"Bearer {key}"} if key else {}), environment=not is_loopback(url)
        )
        self._url = parts._replace(path=f"{parts.path.rstrip('/')}/embeddings").geturl()
        self._shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        self._spec = spec
        self._model = model
        self._connection = connection
        self._redactor = redactor([key, *url_secrets(url)])

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """The vectors of texts, in their order. Raises `InputError` when the server gives none."""
        batches = (texts[at : at + _BATCH] for at in range(0, len(texts), _BATCH))
        return [embedded for batch in batches for embedded in self._batch(batch)]

    def _batch(self, texts: Sequence[str]) -> list[Embedded]:
        body = json.dumps({"model": self._model, "input": list(texts), "encoding_format": "float"}).encode()
        spent, jitter = Retries(self._connection.retries), random.Random()
        while True:
            outcome = self._attempt(body, len(texts))
            if not isinstance(outcome, Fault):
                return outcome
            pause_s = spent.pause_s(outcome, outage=False, jitter=jitter)
            if pause_s is None:
                why = printable(self._redactor.clean(outcome.message))
                remedy = "give a smaller --chunk-size" if outcome.too_long else "see --embedder-base-url"
                raise InputError("--embedder", self._spec, f"{self._shown} gave no embeddings ({why}); {remedy}")
            time.sleep(pause_s)

    def _attempt(self, body: bytes, count: int) -> list[Embedded] | Fault:
        allowed = Allowed(self._connection.timeout_s, self._connection.timeout_s)
        page = bytearray()
        try:
            with self._http.send("POST", self._url, body, allowed) as answer:
                for chunk in answer.chunks():
                    page += chunk
                    if len(page) > _LARGEST:
                        return Fault("protocol", f"the reply is over {_LARGEST:,} bytes")
                status, headers = answer.status, answer.headers
        except TimeoutError:
            return Fault("timeout", f"no answer in {self._connection.timeout_s:g} s", retry=True, sign="slow")
        except Exception as error:  # noqa: BLE001 - whatever a server thinks of is one line
            return fault_of(error) or Fault("protocol", f"{type(error).__name__}: {error}")
        try:
            told: Any = json.loads(page)
        except (ValueError, RecursionError):
            told = None
        if status != 200:
            return fault_of_status(HttpError(status, told, page[:65_536].decode("utf-8", "replace"), headers))
        if told is None:
            return Fault("protocol", "the reply is not JSON", retry=True, sign="broken")
        return _vectors(told, count)


def _vectors(told: Any, count: int) -> list[Embedded] | Fault:
    """The vectors of a reply, by their index; a fault where it is not one finite vector for each text, all alike."""
    rows = told.get("data") if isinstance(told, dict) else None
    if not isinstance(rows, list) or len(rows) != count:
        there = f"{len(rows)} vectors" if isinstance(rows, list) else "no list of vectors"
        return Fault("protocol", f"the reply to {count} texts has {there}")
    found: dict[int, list[float]] = {}
    for at, row in enumerate(rows):
        vector = row.get("embedding") if isinstance(row, dict) else None
        index = row.get("index", at) if isinstance(row, dict) else None
        numbers = isinstance(vector, list) and bool(vector) and all(map(_is_number, vector))
        if not numbers or not isinstance(index, int):
            return Fault("protocol", "a vector of the reply is no list of numbers")
        found[index] = cast("list[float]", vector)
    if found.keys() != set(range(count)) or len({len(vector) for vector in found.values()}) != 1:
        return Fault("protocol", "the vectors of the reply are not one for each text, of one length")
    return [Embedded(np.asarray(found[at], np.float32)) for at in range(count)]


def _is_number(value: object) -> bool:
    """A number of which single precision can square as many as a vector has."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _LARGEST_NUMBER
