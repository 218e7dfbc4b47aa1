"""Embedding models: sentence-transformers on this machine, or any OpenAI-compatible server."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.checksums import joint_sha256
from needlework.haystack_fixtures.models.hub import checkpoint_folder
from needlework.haystack_fixtures.models.served.connection import Connection, is_loopback, is_usable, shown_url
from needlework.haystack_fixtures.redact import without_credentials
from needlework.haystack_fixtures.retrieval.bm25 import missing_packages
from needlework.haystack_fixtures.retrieval.embedded import Embedded

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


def load_embedder(spec: str | None, connection: Connection, cache_dir: Path) -> Embedder:
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
            from needlework.haystack_fixtures.retrieval.sentence_embedder import open_embedder

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


def _served(spec: str, model: str, connection: Connection) -> Embedder:
    url = connection.base_url or _OPENAI
    if not is_usable(url):
        raise InputError(BASE_URL, shown_url(url), "use an address such as http://127.0.0.1:8000/v1")
    key = os.environ.get(connection.api_key_env, "").strip()
    if not key and not is_loopback(url):
        remedy = "the environment variable with the embedder's key is not set; set it or name another"
        raise InputError(KEY_ENV, connection.api_key_env, remedy)
    from needlework.haystack_fixtures.retrieval.served_embedder import ServedEmbedder

    server = ServedEmbedder(spec, model, url, key, connection)
    return Embedder(spec, f"{spec} {without_credentials(url)}", server.embed, server.embed)
