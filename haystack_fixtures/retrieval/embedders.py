"""Embedding models: local, served, with a cache of vectors."""

from __future__ import annotations

import json
import math
import os
import random
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from needlework.core.errors import InputError, printable
from needlework.core.files import cache_key
from needlework.core.redact import redactor, url_secrets, without_credentials
from needlework.haystack_fixtures.retrieval.search import missing_packages
from needlework.models.checkpoints import checkpoint_folder, joint_sha256
from needlework.models.served.connection import ServerOptions, is_loopback, is_usable, shown_url
from needlework.models.served.errors import AttemptFault, HttpError, Retries, fault_of, fault_of_status
from needlework.models.served.http_client import Allowed, HttpClient

OPTION, BASE_URL, KEY_ENV = "--embedder", "--embedder-base-url", "--embedder-api-key-env"
_OPENAI = "https://api.openai.com/v1"
_WEIGHTS = ("*.safetensors", "*.bin", "*.json", "*.txt", "*.model")


@dataclass(frozen=True, slots=True)
class Embedder:
    """What turns texts into vectors. `name`: as it was asked for. `identity`: everything that can change a vector.

    `texts`, `queries`: embed texts to be searched, and questions; some models want them told apart.
    """

    name: str
    identity: str
    texts: Callable[[Sequence[str]], list[Embedded]]
    queries: Callable[[Sequence[str]], list[Embedded]]


def check_embedder(spec: str | None) -> None:
    """Refuse a spec that names no embedder. Raises `InputError`."""
    kind, _, name = (spec or "").partition(":")
    if spec is None:
        raise InputError(OPTION, "", f"--retriever dense needs a model: {OPTION} st:NAME_OR_FOLDER or openai:NAME")
    if kind not in ("st", "openai") or not name.strip():
        raise InputError(OPTION, spec, "write st:NAME_OR_FOLDER (sentence-transformers) or openai:NAME (a server)")


def load_embedder(spec: str | None, connection: ServerOptions, cache_dir: Path) -> Embedder:
    """The embedder of a spec; weights are loaded and a server is asked when there is something to embed.

    `connection`: how a server is reached. Raises `InputError`.
    """
    check_embedder(spec)
    name = spec or ""
    kind, _, model = name.partition(":")
    return _sentence_transformers(name, model, cache_dir) if kind == "st" else _served(name, model, connection)


def _sentence_transformers(spec: str, model: str, cache_dir: Path) -> Embedder:
    folder = _folder(spec, model)
    files = sorted({path for pattern in _WEIGHTS for path in folder.rglob(pattern) if path.is_file()})
    if not files:
        raise InputError(OPTION, spec, "the folder has no model; give one that sentence-transformers wrote")
    loaded: list[Callable[[Sequence[str], bool], list[Embedded]]] = []

    def embed(texts: Sequence[str], query: bool) -> list[Embedded]:
        if not loaded:
            loaded.append(open_embedder(spec, folder))
        return loaded[0](texts, query)

    return Embedder(
        name=spec,
        identity=f"{spec} {joint_sha256(files, cache_dir)}",
        texts=lambda texts: embed(texts, False),
        queries=lambda texts: embed(texts, True),
    )


def _folder(spec: str, model: str) -> Path:
    named = model if "/" in model or Path(model).is_dir() else f"sentence-transformers/{model}"
    try:
        return checkpoint_folder(named, revision=None, weights=True)
    except ImportError:
        raise missing_packages("dense") from None
    except InputError as error:
        raise InputError(OPTION, spec, str(error).rpartition(": ")[2]) from None


def _served(spec: str, model: str, connection: ServerOptions) -> Embedder:
    url = connection.base_url or _OPENAI
    if not is_usable(url):
        raise InputError(BASE_URL, shown_url(url), "use an address such as http://127.0.0.1:8000/v1")
    key = os.environ.get(connection.api_key_env, "").strip()
    if not key and not is_loopback(url):
        remedy = "the environment variable with the embedder's key is not set; set it or name another"
        raise InputError(KEY_ENV, connection.api_key_env, remedy)

    server = ServedEmbedder(spec, model, url, key, connection)
    return Embedder(spec, f"{spec} {without_credentials(url)}", server.embed, server.embed)


# They are rows of one SQLite file and no files of the cache: there are thousands, and on a busy disk 5,000 small files
# take some 10 s to write where 5,000 rows take 0.5 s.
_FILE = "embeddings.sqlite3"
_WAIT_S = 30.0  # for another worker that writes
_AT_ONCE = 500  # keys in one question; SQLite takes 999


@dataclass(frozen=True, slots=True, eq=False)
class Embedded:
    """A text's vector; `cut`: the embedder took the beginning of the text only."""

    vector: NDArray[np.float32]
    cut: bool = False


def stored(folder: Path, identity: str, texts: Iterable[str]) -> dict[str, Embedded]:
    """What is there of the texts' embeddings. A damaged or unreadable cache costs time only."""
    keys = {_key(identity, text): text for text in texts}
    found: dict[str, Embedded] = {}
    with suppress(sqlite3.Error, OSError), closing(_open(folder)) as cache:
        wanted = list(keys)
        for at in range(0, len(wanted), _AT_ONCE):
            part = wanted[at : at + _AT_ONCE]
            marks = ",".join("?" * len(part))
            for key, data in cache.execute(f"SELECT key, data FROM embedding WHERE key IN ({marks})", part):  # noqa: S608 - question marks alone
                embedded = _read(data)
                if embedded is not None:
                    found[keys[key]] = embedded
    return found


def embedded_once(
    cache_dir: Path, texts: Sequence[str], identity: str, embed: Callable[[Sequence[str]], list[Embedded]]
) -> list[Embedded]:
    """The embeddings of texts, those that were made before from the cache."""
    folder = cache_dir / "embeddings"
    found = stored(folder, identity, texts)
    missing = list(dict.fromkeys(text for text in texts if text not in found))
    if missing:
        made = dict(zip(missing, embed(missing), strict=True))
        store(folder, identity, made)
        found |= made
    return [found[text] for text in texts]


def store(folder: Path, identity: str, embedded: Mapping[str, Embedded]) -> None:
    """Keep embeddings; one that cannot be written will be made again."""
    rows: Sequence[tuple[bytes, bytes]] = [(_key(identity, text), _written(each)) for text, each in embedded.items()]
    with suppress(sqlite3.Error, OSError), closing(_open(folder)) as cache, cache:
        cache.executemany("INSERT OR REPLACE INTO embedding VALUES (?, ?)", rows)


def _open(folder: Path) -> sqlite3.Connection:
    folder.mkdir(parents=True, exist_ok=True)
    cache = sqlite3.connect(folder / _FILE, timeout=_WAIT_S)
    cache.execute("CREATE TABLE IF NOT EXISTS embedding (key BLOB PRIMARY KEY, data BLOB) WITHOUT ROWID")
    return cache


def _key(identity: str, text: str) -> bytes:
    return bytes.fromhex(cache_key(identity, text))


def _written(embedded: Embedded) -> bytes:
    body = bytes([embedded.cut]) + embedded.vector.astype("<f4").tobytes()
    return body + zlib.crc32(body).to_bytes(4, "little")


def _read(data: object) -> Embedded | None:
    if not isinstance(data, bytes) or len(data) < 9 or (len(data) - 5) % 4:
        return None
    body, check = data[:-4], data[-4:]
    if zlib.crc32(body).to_bytes(4, "little") != check:
        return None
    return Embedded(np.frombuffer(body, "<f4", offset=1).astype(np.float32), bool(body[0]))


_BATCH = 32


def open_embedder(spec: str, folder: Path) -> Callable[[Sequence[str], bool], list[Embedded]]:
    """Load the model in a folder. What it gives embeds texts, or questions where its second argument is true.

    Texts that are longer than the model's window are cut by the library; these are marked. Raises `InputError`.
    """
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise missing_packages("dense") from None
    try:
        model = SentenceTransformer(str(folder), trust_remote_code=False, local_files_only=True)
    except Exception as error:  # noqa: BLE001 - the library and what it loads with raise many kinds
        why = " ".join(str(error).split())[:160]
        raise InputError("--embedder", spec, f"sentence-transformers cannot load it ({why})") from None

    def embed(texts: Sequence[str], query: bool) -> list[Embedded]:
        encode = model.encode_query if query else model.encode_document
        vectors = encode(list(texts), batch_size=_BATCH, show_progress_bar=False, convert_to_numpy=True)
        most = model.max_seq_length or math.inf
        cut = [len(ids) > most for ids in model.tokenizer(list(texts), verbose=False)["input_ids"]]
        return [Embedded(vector.astype("float32"), long) for vector, long in zip(vectors, cut, strict=True)]

    return embed


_SERVED_EMBEDDER_BATCH = 64  # texts in one request
_LARGEST_NUMBER = 1e15  # NaN is not below it
_LARGEST = 256 * 2**20  # bytes of a reply; 64 vectors of 4,096 numbers have about 6 million


class ServedEmbedder:
    """Asks for a batch at a time. What failed in passing is tried again, as for models under test."""

    def __init__(self, spec: str, model: str, url: str, key: str, connection: ServerOptions) -> None:
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
        batches = (texts[at : at + _SERVED_EMBEDDER_BATCH] for at in range(0, len(texts), _SERVED_EMBEDDER_BATCH))
        return [embedded for batch in batches for embedded in self._batch(batch)]

    def _batch(self, texts: Sequence[str]) -> list[Embedded]:
        body = json.dumps({"model": self._model, "input": list(texts), "encoding_format": "float"}).encode()
        spent, jitter = Retries(self._connection.retries), random.Random()
        while True:
            outcome = self._attempt(body, len(texts))
            if not isinstance(outcome, AttemptFault):
                return outcome
            pause_s = spent.pause_s(outcome, outage=False, jitter=jitter)
            if pause_s is None:
                why = printable(self._redactor.clean(outcome.message))
                remedy = "give a smaller --chunk-size" if outcome.too_long else "see --embedder-base-url"
                raise InputError("--embedder", self._spec, f"{self._shown} gave no embeddings ({why}); {remedy}")
            time.sleep(pause_s)

    def _attempt(self, body: bytes, count: int) -> list[Embedded] | AttemptFault:
        allowed = Allowed(self._connection.timeout_s, self._connection.timeout_s)
        try:
            reply = self._http.send("POST", self._url, body, allowed, _LARGEST)
        except TimeoutError:
            return AttemptFault("timeout", f"no answer in {self._connection.timeout_s:g} s", retry=True, sign="slow")
        except Exception as error:  # noqa: BLE001 - whatever a server thinks of is one line
            return fault_of(error) or AttemptFault("protocol", f"{type(error).__name__}: {error}")
        try:
            told: Any = json.loads(reply.body)
        except (ValueError, RecursionError):
            told = None
        if reply.status != 200:
            text = reply.body[:65_536].decode("utf-8", "replace")
            return fault_of_status(HttpError(reply.status, told, text, reply.headers))
        if told is None:
            return AttemptFault("protocol", "the reply is not JSON", retry=True, sign="broken")
        return _vectors(told, count)


def _vectors(told: Any, count: int) -> list[Embedded] | AttemptFault:
    """The vectors of a reply, by their index; a fault where it is not one finite vector for each text, all alike."""
    rows = told.get("data") if isinstance(told, dict) else None
    if not isinstance(rows, list) or len(rows) != count:
        there = f"{len(rows)} vectors" if isinstance(rows, list) else "no list of vectors"
        return AttemptFault("protocol", f"the reply to {count} texts has {there}")
    found: dict[int, list[float]] = {}
    for at, row in enumerate(rows):
        vector = row.get("embedding") if isinstance(row, dict) else None
        index = row.get("index", at) if isinstance(row, dict) else None
        numbers = isinstance(vector, list) and bool(vector) and all(map(_is_number, vector))
        if not numbers or not isinstance(index, int):
            return AttemptFault("protocol", "a vector of the reply is no list of numbers")
        found[index] = cast("list[float]", vector)
    if found.keys() != set(range(count)) or len({len(vector) for vector in found.values()}) != 1:
        return AttemptFault("protocol", "the vectors of the reply are not one for each text, of one length")
    return [Embedded(np.asarray(found[at], np.float32)) for at in range(count)]


def _is_number(value: object) -> bool:
    """A number of which single precision can square as many as a vector has."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _LARGEST_NUMBER
