"""Encoded documents on disk: a document is tokenised once per machine and tokenizer."""

from __future__ import annotations

import contextlib
import os
import tempfile
import zlib
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from haystack_fixtures.haystacks.sentences import sentence_ends
from haystack_fixtures.tokenizers.tokenizer import Encoded, Tokenizer

# Part of the key: raise it when sentence ends or the file layout change.
_VERSION = 2
# Encoding a shorter document takes no longer than reading a file.
_WORTH_A_FILE = 1500
_HEAD = 3  # numbers before the arrays: how many tokens, how many ends, the CRC of the arrays


@dataclass(frozen=True)
class EncodedDocument:
    """A document's tokens and its sentence ends (int64 character offsets)."""

    encoded: Encoded
    ends: NDArray[np.int64]


def encode_document(text: str, tokenizer: Tokenizer, folder: Path) -> EncodedDocument:
    """Encode a document, or read what an earlier run encoded. A damaged or unwritable cache costs time only."""
    if len(text) < _WORTH_A_FILE:
        return EncodedDocument(tokenizer.encode(text), sentence_ends(text))
    key = sha256(f"{_VERSION}\n{tokenizer.fingerprint}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
    path = folder / "encoded" / key[:2] / f"{key}.tokens"
    found = _read(path, text)
    if found is None:
        found = EncodedDocument(tokenizer.encode(text), sentence_ends(text))
        with contextlib.suppress(OSError):
            _write(path, found)
    return found


def _read(path: Path, text: str) -> EncodedDocument | None:
    """The cached arrays, if the file is there, whole, and of this text."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    numbers = np.frombuffer(data, "<i4", len(data) // 4)
    if len(data) % 4 or len(numbers) < _HEAD:
        return None
    tokens, sentences, check = numbers[:_HEAD].tolist()
    body = numbers[_HEAD:]
    if tokens < 0 or sentences < 1 or len(body) != 2 * tokens + sentences or _crc(body) != check:
        return None
    starts = np.cumsum(body[tokens : 2 * tokens], dtype=np.int64)
    ends = body[2 * tokens :].astype(np.int64)
    if ends[-1] > len(text):
        return None
    return EncodedDocument(Encoded(text, body[:tokens].astype(np.int32), starts), ends)


def _write(path: Path, document: EncodedDocument) -> None:
    """Write to a name of its own, then move: readers and other writers never see half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    steps = np.diff(document.encoded.starts, prepend=0)
    body = np.concatenate((document.encoded.ids, steps, document.ends)).astype("<i4")
    head = np.asarray([len(document.encoded.ids), len(document.ends), _crc(body)], "<i4")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:8]}-", suffix=".tokens")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(head.tobytes() + body.tobytes())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _crc(body: NDArray[np.int32]) -> int:
    """31 bits, so that it fits among the numbers."""
    return zlib.crc32(body.tobytes()) & 0x7FFFFFFF
