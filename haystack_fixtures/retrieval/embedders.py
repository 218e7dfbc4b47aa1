"""Embedding models: local, served, with a cache of vectors."""

import json
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from needlework.core.errors import InputError, printable
from needlework.core.files import cache_key, read_cached, write_cached
from needlework.core.redact import redactor, url_secrets, without_credentials
from needlework.haystack_fixtures.retrieval.search import ChunkScores, missing_packages
from needlework.models.checkpoints import checkpoint_folder, joint_sha256
from needlework.models.model import json_of
from needlework.models.served.connection import ServerOptions, is_loopback, is_usable, shown_url
from needlework.models.served.errors import AttemptFault, HttpError, fault_of, fault_of_status
from needlework.models.served.http_client import Allowed, HttpClient
from needlework.models.served.limiter import Retries

OPTION, BASE_URL, KEY_ENV = "--embedder", "--embedder-base-url", "--embedder-api-key-env"
_OPENAI = "https://api.openai.com/v1"
_WEIGHTS = ("*.safetensors", "*.bin", "*.json", "*.txt", "*.model")
_LOCAL_BATCH = 32
_SERVED_BATCH = 64  # texts in one request
_LARGEST_NUMBER = 1e15  # single precision can square as many of it as a vector has; NaN is not below it
_LARGEST = 256 * 2**20  # bytes of a reply; 64 vectors of 4,096 numbers have about 6 million


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedText:
    """A text's vector."""

    vector: NDArray[np.float32]
    cut: bool = False  # the embedder took the beginning of the text only


@dataclass(frozen=True, slots=True)
class Embedder:
    """Turns texts into vectors."""

    name: str  # as it was asked for
    identity: str  # everything that can change a vector
    # Of texts to be searched, or of questions (`True`); some models want them told apart.
    embed: Callable[[Sequence[str], bool], list[EmbeddedText]]


def embed_once(
    embedder: Embedder, texts: Sequence[str], cache_dir: Path, *, is_query: bool = False
) -> list[EmbeddedText]:
    """The embeddings of texts, from the cache where possible: a file each. Raises `InputError`."""
    folder, kind = cache_dir / "embeddings", "query" if is_query else "text"
    paths = {text: folder / cache_key(f"{embedder.identity} {kind}", text) for text in texts}
    known = {
        text: EmbeddedText(np.frombuffer(content, "<f4", offset=1).astype(np.float32), bool(content[0]))
        for text, path in paths.items()
        if (content := read_cached(path)) is not None
    }
    missing = [text for text in paths if text not in known]
    if missing:
        for text, embedded in zip(missing, embedder.embed(missing, is_query), strict=True):
            write_cached(paths[text], bytes([embedded.cut]) + embedded.vector.astype("<f4").tobytes())
            known[text] = embedded
    return [known[text] for text in texts]


def dense_index(texts: Sequence[str], embedder: Embedder, cache_dir: Path) -> tuple[ChunkScores, int]:
    """Index texts by their vectors, and count those that the embedder cut. Raises `InputError`."""
    embedded = embed_once(embedder, texts, cache_dir)
    vectors = _unit(embedded, embedder)

    def scores(query: str) -> NDArray[np.float64]:
        (question,) = _unit(embed_once(embedder, [query], cache_dir, is_query=True), embedder)
        if question.shape != vectors.shape[1:]:
            problem = f"gives vectors of {vectors.shape[1]} numbers and of {len(question)}; use another model"
            raise InputError(OPTION, embedder.name, problem)
        return np.asarray(vectors @ question, np.float64)

    return scores, sum(each.cut for each in embedded)


def _unit(embedded: Sequence[EmbeddedText], embedder: Embedder) -> NDArray[np.float64]:
    """The vectors at length 1; one of zeros stays one."""
    if len({each.vector.shape for each in embedded}) != 1:
        raise InputError(OPTION, embedder.name, "its vectors are of several lengths; use another model")
    vectors = np.stack([each.vector for each in embedded]).astype(np.float64)
    sizes = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float64] = vectors / np.where(sizes == 0, 1, sizes)
    return unit


def check_embedder(spec: str | None) -> str:
    """The spec. Raises `InputError` for one that names no embedder."""
    kind, _, name = (spec or "").partition(":")
    if spec is None:
        raise InputError(OPTION, "", f"--retriever dense needs a model: {OPTION} st:NAME_OR_FOLDER or openai:NAME")
    if kind not in ("st", "openai") or not name.strip():
        raise InputError(OPTION, spec, "write st:NAME_OR_FOLDER (sentence-transformers) or openai:NAME (a server)")
    return spec


def load_embedder(spec: str | None, connection: ServerOptions, cache_dir: Path) -> Embedder:
    """The embedder of a spec. `connection`: how a server is reached. Raises `InputError`."""
    name = check_embedder(spec)
    kind, _, model = name.partition(":")
    return _sentence_transformers(name, model, cache_dir) if kind == "st" else _served(name, model, connection)


def _sentence_transformers(spec: str, model: str, cache_dir: Path) -> Embedder:
    folder = _folder(spec, model)
    files = sorted({path for pattern in _WEIGHTS for path in folder.rglob(pattern) if path.is_file()})
    if not files:
        raise InputError(OPTION, spec, "the folder has no model; give one that sentence-transformers wrote")
    loaded: list[Any] = []

    def embed(texts: Sequence[str], is_query: bool) -> list[EmbeddedText]:
        """Texts that are longer than the model's window are cut by the library; these are marked."""
        if not loaded:
            loaded.append(_load_sentence_transformer(spec, folder))
        (model,) = loaded
        encode = model.encode_query if is_query else model.encode_document
        vectors = encode(list(texts), batch_size=_LOCAL_BATCH, show_progress_bar=False, convert_to_numpy=True)
        most = model.max_seq_length or math.inf
        cut = [len(ids) > most for ids in model.tokenizer(list(texts), verbose=False)["input_ids"]]
        return [EmbeddedText(vector.astype("float32"), long) for vector, long in zip(vectors, cut, strict=True)]

    return Embedder(spec, f"{spec} {joint_sha256(files, cache_dir)}", embed)


def _folder(spec: str, model: str) -> Path:
    named = model if "/" in model or Path(model).is_dir() else f"sentence-transformers/{model}"
    try:
        return checkpoint_folder(named, revision=None, weights=True)
    except ImportError:
        raise missing_packages("dense") from None
    except InputError as error:
        raise InputError(OPTION, spec, str(error).rpartition(": ")[2]) from None


def _load_sentence_transformer(spec: str, folder: Path) -> Any:
    try:
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(str(folder), trust_remote_code=False, local_files_only=True)
    except ImportError:
        raise missing_packages("dense") from None
    except Exception as error:  # noqa: BLE001 - the library and what it loads with raise many kinds
        why = " ".join(str(error).split())[:160]
        raise InputError(OPTION, spec, f"sentence-transformers cannot load it ({why})") from None


def _served(spec: str, model: str, connection: ServerOptions) -> Embedder:
    """Asks for a batch at a time. What failed in passing is tried again, as for models under test.
    Neither key nor login is ever shown."""
    url = connection.base_url or _OPENAI
    if not is_usable(url):
        raise InputError(BASE_URL, shown_url(url), "use an address such as http://127.0.0.1:8000/v1")
    key = os.environ.get(connection.api_key_env, "").strip()
    if not key and not is_loopback(url):
        remedy = "the environment variable with the embedder's key is not set; set it or name another"
        raise InputError(KEY_ENV, connection.api_key_env, remedy)
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    headers |= {"Authorization": f"Bearer {key}"} if key else {}
    http = HttpClient(url, headers, environment=not is_loopback(url))
    parts = urlsplit(url)
    address = parts._replace(path=f"{parts.path.rstrip('/')}/embeddings").geturl()

    def embed_batch(texts: Sequence[str]) -> list[EmbeddedText]:
        body = json.dumps({"model": model, "input": list(texts), "encoding_format": "float"}).encode()
        retries = Retries(connection.retries)
        while isinstance(vectors := _attempt(http, address, body, len(texts), connection.timeout_s), AttemptFault):
            pause_s = retries.pause_s(vectors)
            if pause_s is None:
                why = printable(redactor([key, *url_secrets(url)]).clean(vectors.message))
                remedy = "give a smaller --chunk-size" if vectors.too_long else f"see {BASE_URL}"
                raise InputError(OPTION, spec, f"{without_credentials(url)} gave no embeddings ({why}); {remedy}")
            time.sleep(pause_s)
        return vectors

    def embed(texts: Sequence[str], _is_query: bool) -> list[EmbeddedText]:
        batches = (texts[at : at + _SERVED_BATCH] for at in range(0, len(texts), _SERVED_BATCH))
        return [embedded for batch in batches for embedded in embed_batch(batch)]

    return Embedder(spec, f"{spec} {without_credentials(url)}", embed)


def _attempt(
    http: HttpClient, url: str, body: bytes, count: int, timeout_s: float
) -> list[EmbeddedText] | AttemptFault:
    """The vectors of one request for `count` texts, or why there are none."""
    try:
        reply = http.send("POST", url, body, Allowed(timeout_s, timeout_s), _LARGEST)
    except Exception as error:  # noqa: BLE001 - whatever a server thinks of is one line
        return fault_of(error, waited_s=timeout_s)
    content = json_of(reply.body)
    if reply.status != 200:
        text = reply.body[:65_536].decode("utf-8", "replace")
        return fault_of_status(HttpError(reply.status, content, text, reply.headers))
    if content is None:
        return AttemptFault("protocol", "the reply is not JSON", retry=True, sign="broken")
    return _vectors(content, count)


class _Row(Struct):
    embedding: Annotated[list[Annotated[float, Meta(gt=-_LARGEST_NUMBER, lt=_LARGEST_NUMBER)]], Meta(min_length=1)]
    index: int | None = None


def _vectors(content: Any, count: int) -> list[EmbeddedText] | AttemptFault:
    """The vectors of a reply, by index; a fault unless it has one finite vector for each text, all alike."""
    try:
        rows = msgspec.convert(content["data"], list[_Row])
    except (TypeError, KeyError, msgspec.ValidationError) as error:
        return AttemptFault("protocol", f"the reply has no list of vectors ({error})")
    by_index = {at if row.index is None else row.index: row.embedding for at, row in enumerate(rows)}
    lengths = {len(vector) for vector in by_index.values()}
    if len(rows) != count or by_index.keys() != set(range(count)) or len(lengths) != 1:
        return AttemptFault("protocol", f"{len(rows)} vectors came, not one for each text, of one length")
    return [EmbeddedText(np.asarray(by_index[at], np.float32)) for at in range(count)]
